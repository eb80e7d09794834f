//! `graven export`: the whole graph in a form that other programs read.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use graven::{Connection, Params, Value};
use graven_convert::{
    Exported, GraphArOptions, Schema, export_cypher, export_graphar, export_graphml, export_tables,
};

use crate::failure::Failure;
use crate::open::Open;

/// Write the whole graph in a form that other programs read.
#[derive(Args, Debug)]
#[command(
    group(clap::ArgGroup::new("form").required(true)),
    after_help = "Examples:
  graven export social.graven --cypher social.cypher
  graven export social.graven --graphml - | gzip > social.graphml.gz
  graven export social.graven --neo4j tables
  graven export social.graven --graphar social
  graven export social.graven --folder social --format csv

FILE may be `-`, standard output. A file or folder that exists is not overwritten. The script runs \
in
Graven (`graven shell NEW < FILE`) and Neo4j; --without-schema leaves it to what openCypher has \
words for.
--neo4j makes tables for `neo4j-admin database import full @import.args` and `graven import NEW \
--neo4j`.
--graphar makes chunks of Parquet and their YAML for Spark and GraphAr's libraries; `graven import \
NEW
--graphar DIR` brings them back.
--folder does what EXPORT DATABASE does; IMPORT DATABASE brings it back with every type."
)]
pub(crate) struct Export {
    #[command(flatten)]
    open: Open,
    /// A script of Cypher statements that makes the graph
    #[arg(long, value_name = "FILE", group = "form")]
    cypher: Option<PathBuf>,
    /// Leave indexes and constraints out of the script
    #[arg(long, requires = "cypher")]
    without_schema: bool,
    /// GraphML, as Neo4j's APOC, NetworkX, Gephi and yEd read it
    #[arg(long, value_name = "FILE", group = "form")]
    graphml: Option<PathBuf>,
    /// Tables with headers for neo4j-admin, in a new folder
    #[arg(long, value_name = "DIR", group = "form")]
    neo4j: Option<PathBuf>,
    /// Apache GraphAr's format, as Spark and GraphAr's libraries read it, in a new folder
    #[arg(long, value_name = "DIR", group = "form")]
    graphar: Option<PathBuf>,
    /// Vertices of a chunk of --graphar
    #[arg(long, requires = "graphar", value_name = "N", default_value_t = 1 << 18)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    vertices_per_chunk: u64,
    /// Edges of a chunk of --graphar
    #[arg(long, requires = "graphar", value_name = "N", default_value_t = 1 << 22)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    edges_per_chunk: u64,
    /// Also write the edges in the order of the vertices they end at
    #[arg(long, requires = "graphar")]
    by_target: bool,
    /// Tables and statements that keep everything, in a new folder
    #[arg(long, value_name = "DIR", group = "form")]
    folder: Option<PathBuf>,
    /// Files of --folder: parquet, csv or json
    #[arg(long, requires = "folder", default_value = "parquet")]
    format: String,
}

impl Export {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let db = self.open.database()?;
        let connection = db.connect();
        let schema = match self.without_schema {
            true => Schema::Without,
            false => Schema::With,
        };
        if let Some(path) = &self.cypher {
            to_file(path, |out| export_cypher(&connection, out, schema))?;
        } else if let Some(path) = &self.graphml {
            to_file(path, |out| export_graphml(&connection, out))?;
        } else if let Some(path) = &self.neo4j {
            let exported = export_tables(&connection, path).map_err(Failure::from)?;
            say(path, &exported)?;
        } else if let Some(path) = &self.graphar {
            let options = GraphArOptions {
                vertices_per_chunk: self.vertices_per_chunk,
                edges_per_chunk: self.edges_per_chunk,
                by_target: self.by_target,
            };
            let exported = export_graphar(&connection, path, &options);
            say(path, &exported.map_err(Failure::from)?)?;
        } else if let Some(path) = &self.folder {
            folder(&connection, path, &self.format)?;
        }
        crate::open::close(&db)
    }
}

/// Writes to standard output, or to a new file that is removed again where the export fails.
fn to_file(
    path: &Path,
    export: impl FnOnce(&mut dyn Write) -> graven_convert::Result<Exported>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        let exported = export(&mut BufWriter::new(std::io::stdout().lock()));
        return note(&exported.map_err(Failure::from)?);
    }
    let told = |error: std::io::Error| Failure::failed(format!("{}: {error}", path.display()));
    let file = File::create_new(path).map_err(told)?;
    let exported = export(&mut BufWriter::new(&file));
    if exported.is_err() {
        // The error of the export is the one to tell.
        let _ = std::fs::remove_file(path);
    }
    let exported = exported.map_err(|error| match error {
        graven_convert::Error::Output(source) => graven_convert::Error::Io {
            path: path.to_owned(),
            source,
        },
        error => error,
    });
    let exported = exported.map_err(Failure::from)?;
    file.sync_all().map_err(told)?;
    say(path, &exported)
}

fn say(path: &Path, exported: &Exported) -> Result<(), Failure> {
    note(exported)?;
    let mut out = std::io::stdout().lock();
    Ok(writeln!(
        out,
        "{}: {} nodes, {} relationships",
        path.display(),
        exported.nodes,
        exported.relationships
    )?)
}

fn note(exported: &Exported) -> Result<(), Failure> {
    exported
        .notes
        .iter()
        .for_each(|note| eprintln!("note: {note}"));
    Ok(())
}

fn folder(connection: &Connection, path: &Path, format: &str) -> Result<(), Failure> {
    let known = ["parquet", "csv", "json"];
    if !known.contains(&format.to_ascii_lowercase().as_str()) {
        return Err(Failure::usage(format!(
            "--format {format} is unknown: use parquet, csv or json"
        )));
    }
    let mut name = String::new();
    graven_files::literal::quoted(&mut name, &path.to_string_lossy());
    let text = format!("EXPORT DATABASE {name} (FORMAT {format})");
    let mut out = std::io::stdout().lock();
    for row in connection.query(&text, &Params::new())? {
        let row = row?;
        if let [Value::String(file), Value::Integer(rows), ..] = row.values() {
            writeln!(out, "{}: {rows} rows", path.join(file.as_ref()).display())?;
        }
    }
    Ok(())
}
