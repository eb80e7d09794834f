//! A graph of GraphAr into an empty database.
//!
//! # How it works
//! The vertices of all types ([`super::vertices`]), then the edges ([`super::adjacency`]). Edges of
//! types that are not directed become one relationship each, as they are stored. At the end each
//! primary key gets an index.

use std::collections::HashMap;
use std::path::Path;

use graven::{Connection, Params};

use super::info::{self, GraphInfo, VertexInfo};
use super::{adjacency, vertices};
use crate::error::{Error, Result};
use crate::load::Loader;
use crate::neo4j::Imported;
use crate::text::name;

/// Loads a graph of GraphAr into an empty database: the YAML of a graph, or the folder it is in.
///
/// A failed import leaves what it has loaded: load into a new database, and remove that.
///
/// # Errors
/// A file cannot be read or is not what it seems, with row, column and value; or the database
/// refuses a value.
///
/// # Examples
/// ```no_run
/// let db = graven::Database::open("new.graven", graven::Config::default())?;
/// let made = graven_convert::import_graphar(&db.connect(), "social".as_ref())?;
/// println!("{} nodes, {} relationships", made.nodes, made.relationships);
/// # Ok::<(), graven_convert::Error>(())
/// ```
pub fn import_graphar(connection: &Connection, path: &Path) -> Result<Imported> {
    let GraphInfo { vertices, edges } = info::graph(path)?;
    let mut loader = Loader::begin(connection, path)?;
    let mut types = HashMap::new();
    for (place, vertex) in vertices.iter().enumerate() {
        let loaded = vertices::load(&mut loader, place, vertex)?;
        types.insert(vertex.name.as_str(), loaded);
    }
    for edge in &edges {
        let ends = [&edge.source, &edge.target].map(|end| {
            types.get(end.as_str()).ok_or_else(|| Error::File {
                path: edge.path.clone(),
                message: format!(
                    "names the vertex type {end}, which is not among the vertices of the graph"
                ),
            })
        });
        let [source, target] = ends;
        adjacency::load(&mut loader, edge, (source?, target?))?;
    }
    let (nodes, relationships) = loader.end()?;
    for vertex in &vertices {
        let keys = vertex.groups.iter().flat_map(|group| &group.properties);
        for key in keys.filter(|property| property.is_key) {
            index(connection, vertex, &key.name)?;
        }
    }
    Ok(Imported {
        nodes,
        relationships,
    })
}

/// Makes an index of a primary key, by the label that the type is called, or else its first one.
fn index(connection: &Connection, vertex: &VertexInfo, key: &str) -> Result<()> {
    let same = vertex.labels.iter().find(|label| **label == vertex.name);
    let Some(label) = same.or(vertex.labels.first()) else {
        return Ok(());
    };
    let (label, key) = (name(label), name(key));
    let text = format!("CREATE INDEX IF NOT EXISTS FOR (n:{label}) ON (n.{key})");
    connection.query(&text, &Params::new())?;
    Ok(())
}
