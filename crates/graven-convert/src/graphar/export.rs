//! A graph as chunks of GraphAr, and the YAML that describes them.
//!
//! # How it works
//! Each vertex type is one query in the order of ids, each adjacency list of an edge type one in
//! the order of the ends; rows go to their chunks as they come. Only what sorts them grows with the
//! graph, and it goes to disk where memory ends. All is read in one transaction.

use std::fs;
use std::path::{Path, PathBuf};

use graven::{Connection, Value};
use graven_files::{Datum, Kind, Shape};

use super::chunks::{Chunks, number, write, write_count};
use super::edges::{Edges, Sizes};
use super::layout::{KINDS, LABELS, PROPERTIES, VERSION, VERTEX, VERTEX_COUNT};
use super::plan::{Column, EdgeType, Plan, VertexType};
use super::yaml::{Yaml, scalar};
use crate::error::{Error, Result};
use crate::graph::{Exported, Graph};
use crate::text::{datum, name};

/// How a graph is written in GraphAr's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphArOptions {
    /// Vertices of a chunk.
    pub vertices_per_chunk: u64,
    /// Edges of a chunk.
    pub edges_per_chunk: u64,
    /// Also the edges in the order of the vertices they end at.
    pub by_target: bool,
}

impl Default for GraphArOptions {
    fn default() -> Self {
        // What GraphAr advises.
        GraphArOptions {
            vertices_per_chunk: 1 << 18,
            edges_per_chunk: 1 << 22,
            by_target: false,
        }
    }
}

/// Writes the graph in GraphAr's format, in a new folder.
///
/// # Errors
/// The folder exists or cannot be written, the graph cannot be read, or a property has the name of
/// a column of GraphAr's. Nothing is left of a failed export.
///
/// # Examples
/// ```no_run
/// use graven_convert::{GraphArOptions, export_graphar};
///
/// let db = graven::Database::open("social.graven", graven::Config::default())?;
/// let exported = export_graphar(&db.connect(), "social".as_ref(), &GraphArOptions::default())?;
/// exported.notes.iter().for_each(|note| eprintln!("note: {note}"));
/// # Ok::<(), graven_convert::Error>(())
/// ```
pub fn export_graphar(
    connection: &Connection,
    folder: &Path,
    options: &GraphArOptions,
) -> Result<Exported> {
    if options.vertices_per_chunk == 0 || options.edges_per_chunk == 0 {
        return Err(Error::Form("a chunk has at least one row".to_owned()));
    }
    fs::create_dir(folder).map_err(Error::io(folder))?;
    let exported = export(connection, folder, options);
    if exported.is_err() {
        // What cannot be removed is no export: the YAML of the graph is written last.
        let _ = fs::remove_dir_all(folder);
    }
    exported
}

fn export(connection: &Connection, folder: &Path, options: &GraphArOptions) -> Result<Exported> {
    let mut graph = Graph::begin(connection)?;
    let plan = Plan::of(&mut graph)?;
    let mut export = Export {
        folder,
        options,
        plan: &plan,
        exported: Exported::default(),
        kinds: Yaml::default(),
    };
    let vertices = plan.vertices.iter();
    let vertices = vertices.map(|vertex| export.vertices(&mut graph, vertex));
    let vertices = vertices.collect::<Result<Vec<String>>>()?;
    let kinds_of_vertices = std::mem::take(&mut export.kinds);
    let edges = plan.edges.iter();
    let edges = edges.map(|edge| export.edges(&mut graph, edge));
    let edges = edges.collect::<Result<Vec<String>>>()?;
    export.write_kinds(&kinds_of_vertices)?;
    let mut yaml = Yaml::default();
    let stem = folder.file_name().unwrap_or_default().to_string_lossy();
    yaml.entry(0, "name", &stem);
    yaml.list(0, "vertices", &vertices);
    yaml.list(0, "edges", &edges);
    yaml.plain(0, "version", VERSION);
    write(
        &folder.join(format!("{stem}.graph.yml")),
        yaml.text.as_bytes(),
    )?;
    Ok(export.exported)
}

/// A pattern of the nodes that have these labels and no others, and the condition for the latter.
fn pattern(variable: &str, vertex: &VertexType) -> (String, String) {
    let labels: String = vertex
        .labels
        .iter()
        .map(|l| format!(":{}", name(l)))
        .collect();
    (
        format!("({variable}{labels})"),
        format!("size(labels({variable})) = {}", vertex.labels.len()),
    )
}

/// Properties of `x` behind other columns.
fn returned(columns: &[Column]) -> String {
    let columns = columns.iter();
    columns
        .map(|column| format!(", x.{}", name(&column.name)))
        .collect()
}

fn with_shapes(columns: &[Column]) -> impl Iterator<Item = (String, Shape)> {
    let columns = columns.iter();
    columns.map(|column| (column.name.to_string(), column.form.shape.clone()))
}

/// The number of a vertex by the id of its node.
fn number_of(vertex: &VertexType, id: &Value) -> u64 {
    let id = id.as_integer().and_then(|id| u64::try_from(id).ok());
    let number = id.and_then(|id| vertex.numbers.of(id));
    number.expect("EG-1: the plan was made in the same transaction")
}

/// What is being exported.
struct Export<'a> {
    folder: &'a Path,
    options: &'a GraphArOptions,
    plan: &'a Plan,
    exported: Exported,
    /// How to read the texts of the vertices, or of the edges.
    kinds: Yaml,
}

impl Export<'_> {
    /// Writes the vertices of a type; the name of its YAML.
    fn vertices(&mut self, graph: &mut Graph, vertex: &VertexType) -> Result<String> {
        let prefix = format!("vertex/{}/", vertex.file);
        let folder = self.folder.join(&prefix);
        let size = self.options.vertices_per_chunk;
        let mut columns = vec![(VERTEX.to_owned(), Shape::of(Kind::Integer))];
        columns.extend(with_shapes(&vertex.columns));
        let mut rows = Chunks::new(folder.join(PROPERTIES), columns, size);
        if !vertex.columns.is_empty() {
            let (nodes, only) = pattern("x", vertex);
            let properties = returned(&vertex.columns);
            let query =
                format!("MATCH {nodes} WHERE {only} RETURN id(x){properties} ORDER BY id(x)");
            graph.rows(&query, |values| {
                let [node, properties @ ..] = values else {
                    return Ok(());
                };
                let own = vertex.columns.iter().zip(properties);
                let own = own.map(|(column, value)| column.form.written(datum(value)));
                rows.push(std::iter::once(number(number_of(vertex, node))).chain(own))
            })?;
        }
        rows.end()?;
        self.labels(&folder, vertex)?;
        let count = vertex.numbers.len();
        write_count(&folder.join(VERTEX_COUNT), count)?;
        self.exported.nodes += count;
        let file = format!("{}.vertex.yml", vertex.file);
        let mut yaml = Yaml::default();
        yaml.entry(0, "type", &vertex.name);
        yaml.plain(0, "chunk_size", size);
        yaml.entry(0, "prefix", &prefix);
        if !vertex.is_named_by_label() {
            yaml.list(0, "labels", &vertex.labels);
        }
        self.properties(&mut yaml, &vertex.columns, (&vertex.name, count), &file);
        yaml.plain(0, "version", VERSION);
        write(&self.folder.join(&file), yaml.text.as_bytes())?;
        Ok(file)
    }

    /// Writes which labels each vertex has, all of its type, where the name of the type does not
    /// say it.
    fn labels(&self, folder: &Path, vertex: &VertexType) -> Result<()> {
        if vertex.labels.is_empty() || vertex.is_named_by_label() {
            return Ok(());
        }
        let columns = vertex.labels.iter();
        let columns = columns.map(|label| (label.to_string(), Shape::of(Kind::Boolean)));
        let size = self.options.vertices_per_chunk;
        let mut rows = Chunks::new(folder.join(LABELS), columns.collect(), size);
        let row = vec![Datum::Value(true.into()); vertex.labels.len()];
        for _ in 0..vertex.numbers.len() {
            rows.push(row.iter().cloned())?;
        }
        rows.end()
    }

    /// Writes the edges of a type; the name of its YAML.
    fn edges(&mut self, graph: &mut Graph, edge: &EdgeType) -> Result<String> {
        let prefix = format!("edge/{}/", edge.file);
        let folder = self.folder.join(&prefix);
        let (source, target) = (
            &self.plan.vertices[edge.source],
            &self.plan.vertices[edge.target],
        );
        self.list(graph, edge, (folder.join("ordered_by_source"), false))?;
        if self.options.by_target {
            self.list(graph, edge, (folder.join("ordered_by_dest"), true))?;
        }
        self.exported.relationships += edge.count;
        let file = format!("{}.edge.yml", edge.file);
        let mut yaml = Yaml::default();
        yaml.entry(0, "src_type", &source.name);
        yaml.entry(0, "edge_type", &edge.name);
        yaml.entry(0, "dst_type", &target.name);
        yaml.plain(0, "chunk_size", self.options.edges_per_chunk);
        yaml.plain(0, "src_chunk_size", self.options.vertices_per_chunk);
        yaml.plain(0, "dst_chunk_size", self.options.vertices_per_chunk);
        yaml.plain(0, "directed", true);
        yaml.entry(0, "prefix", &prefix);
        yaml.line(0, "adj_lists:");
        let ends = [("src", "ordered_by_source/"), ("dst", "ordered_by_dest/")];
        for (aligned_by, prefix) in ends.iter().take(1 + usize::from(self.options.by_target)) {
            yaml.line(1, "- ordered: true");
            yaml.plain(2, "aligned_by", aligned_by);
            yaml.entry(2, "prefix", prefix);
            yaml.plain(2, "file_type", "parquet");
        }
        self.properties(&mut yaml, &edge.columns, (&edge.file, edge.count), &file);
        yaml.plain(0, "version", VERSION);
        write(&self.folder.join(&file), yaml.text.as_bytes())?;
        Ok(file)
    }

    /// Writes an adjacency list of a type, in the order of the vertices at one end.
    fn list(
        &self,
        graph: &mut Graph,
        edge: &EdgeType,
        (folder, by_target): (PathBuf, bool),
    ) -> Result<()> {
        let (source, target) = (
            &self.plan.vertices[edge.source],
            &self.plan.vertices[edge.target],
        );
        let ((a, only_a), (b, only_b)) = (pattern("a", source), pattern("b", target));
        let order = match by_target {
            false => "id(a), id(b), id(x)",
            true => "id(b), id(a), id(x)",
        };
        let query = format!(
            "MATCH {a}-[x:{}]->{b} WHERE {only_a} AND {only_b} \
             RETURN id(a), id(b){} ORDER BY {order}",
            name(&edge.name),
            returned(&edge.columns)
        );
        let sizes = Sizes {
            vertices: self.options.vertices_per_chunk,
            edges: self.options.edges_per_chunk,
        };
        let by = if by_target { target } else { source };
        let columns = with_shapes(&edge.columns).collect();
        let mut edges = Edges::new(folder, columns, by.numbers.len(), sizes);
        graph.rows(&query, |values| {
            let [from, to, properties @ ..] = values else {
                return Ok(());
            };
            let ends = (number_of(source, from), number_of(target, to));
            let at = if by_target { ends.1 } else { ends.0 };
            let own = edge.columns.iter().zip(properties);
            let own = own.map(|(column, value)| column.form.written(datum(value)));
            edges.push(at, ends, own)
        })?;
        edges.end()
    }

    /// Describes the properties of a type, of which there are so many.
    fn properties(&mut self, yaml: &mut Yaml, columns: &[Column], of: (&str, u64), file: &str) {
        if columns.is_empty() {
            return;
        }
        yaml.line(0, "property_groups:");
        yaml.line(1, &format!("- prefix: {PROPERTIES}/"));
        yaml.plain(2, "file_type", "parquet");
        yaml.line(2, "properties:");
        let (name, count) = of;
        for column in columns {
            yaml.line(3, &format!("- name: {}", scalar(&column.name)));
            yaml.plain(4, "data_type", column.form.data_type);
            yaml.plain(4, "is_primary", false);
            yaml.plain(4, "is_nullable", column.count < count);
            let Some(kind) = &column.form.text else {
                continue;
            };
            self.kinds.line(1, &format!("- file: {}", scalar(file)));
            self.kinds.entry(2, "property", &column.name);
            self.kinds.entry(2, "kind", &kind.to_string());
            let what = match kind {
                Kind::Literal => "literals of Cypher".to_owned(),
                kind => format!("{kind} in ISO form"),
            };
            self.exported.notes.push(format!(
                "{name}.{}: its {} values are strings, {what}, as GraphAr has no type that holds \
                 them; {KINDS} says so to `graven import --graphar`",
                column.name, column.count
            ));
        }
    }

    /// Writes how the texts are to be read, if there are any.
    fn write_kinds(&self, of_vertices: &Yaml) -> Result<()> {
        let all = [("vertices", of_vertices), ("edges", &self.kinds)];
        let mut text = String::from(
            "# What strings stand for that GraphAr has no type for. Only Graven reads this file.\n",
        );
        for (of, kinds) in all.iter().filter(|(_, kinds)| !kinds.text.is_empty()) {
            text.push_str(&format!("{of}:\n{}", kinds.text));
        }
        if all.iter().all(|(_, kinds)| kinds.text.is_empty()) {
            return Ok(());
        }
        write(&self.folder.join(KINDS), text.as_bytes())
    }
}
