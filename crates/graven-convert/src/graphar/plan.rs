//! What a graph becomes in GraphAr: its types of vertices and edges, and their columns.
//!
//! # How it works
//! All nodes and all relationships are looked at once. A vertex type is a set of labels; its name
//! is theirs, with `_` between them. An edge type is a relationship type between two vertex types.
//! Folders and YAML files are named alike, without what is no letter or digit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graven::Value;
use graven_files::Shape;

use super::layout::RESERVED;
use super::numbers::Numbers;
use super::types::Form;
use crate::error::{Error, Result};
use crate::graph::{Graph, sorted};
use crate::text::datum;

/// The name of the type of nodes without labels.
const NO_LABELS: &str = "unlabelled";

/// A property of a type.
pub(super) struct Column {
    pub(super) name: Arc<str>,
    pub(super) form: Form,
    /// How many have it.
    pub(super) count: u64,
}

/// A set of labels.
pub(super) struct VertexType {
    pub(super) labels: Vec<Arc<str>>,
    /// As GraphAr's libraries know it.
    pub(super) name: String,
    /// As files are named by it.
    pub(super) file: String,
    pub(super) numbers: Numbers,
    pub(super) columns: Vec<Column>,
}

impl VertexType {
    /// Whether its name is its only label, so that programs that know no labels know it all the
    /// same.
    pub(super) fn is_named_by_label(&self) -> bool {
        matches!(self.labels.as_slice(), [only] if **only == *self.name)
    }
}

/// A relationship type between the nodes of two sets of labels.
pub(super) struct EdgeType {
    pub(super) source: usize,
    pub(super) name: Arc<str>,
    pub(super) target: usize,
    pub(super) file: String,
    pub(super) count: u64,
    pub(super) columns: Vec<Column>,
}

/// See the file header.
pub(super) struct Plan {
    pub(super) vertices: Vec<VertexType>,
    pub(super) edges: Vec<EdgeType>,
}

/// What was seen of the properties of a type, and how many have them.
#[derive(Default)]
struct Seen(BTreeMap<Arc<str>, (Shape, u64)>);

impl Seen {
    fn see(&mut self, properties: &BTreeMap<Arc<str>, Value>) {
        for (key, value) in properties {
            let (shape, count) = self.0.entry(Arc::clone(key)).or_default();
            shape.see(&datum(value));
            *count += 1;
        }
    }

    fn columns(self, of: &str) -> Result<Vec<Column>> {
        let columns = self.0.into_iter().map(|(name, (shape, count))| {
            if RESERVED.contains(&&*name) {
                return Err(Error::Form(format!(
                    "{of}.{name}: GraphAr has a column of that name: rename the property"
                )));
            }
            let form = Form::of(&shape);
            Ok(Column { name, form, count })
        });
        columns.collect()
    }
}

/// Names of files, each once; those of no case that differs, as some file systems have none.
#[derive(Default)]
struct FileNames(BTreeSet<String>);

impl FileNames {
    fn of(&mut self, name: &str) -> String {
        /// Characters of a name.
        const LONGEST: usize = 80;
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        let stem: String = name.chars().map(plain).take(LONGEST).collect();
        let mut file = stem.clone();
        let mut number = 2;
        while !self.0.insert(file.to_ascii_lowercase()) {
            file = format!("{stem}-{number}");
            number += 1;
        }
        file
    }
}

/// The name of a set of labels that no set before it has.
fn name_of(labels: &[Arc<str>], taken: &BTreeSet<String>) -> String {
    let mut name = match labels {
        [] => NO_LABELS.to_owned(),
        labels => labels.join("_"),
    };
    while taken.contains(&name) {
        name.push('_');
    }
    name
}

impl Plan {
    /// Looks at the graph.
    pub(super) fn of(graph: &mut Graph) -> Result<Plan> {
        let mut seen: BTreeMap<Vec<Arc<str>>, (Numbers, Seen)> = BTreeMap::new();
        graph.nodes(|node| {
            let (numbers, properties) = seen.entry(sorted(&node.labels)).or_default();
            numbers.insert(node.id);
            properties.see(&node.properties);
            Ok(())
        })?;
        let (mut names, mut files) = (BTreeSet::new(), FileNames::default());
        let mut vertices = Vec::new();
        for (labels, (mut numbers, properties)) in seen {
            numbers.seal();
            let name = name_of(&labels, &names);
            names.insert(name.clone());
            vertices.push(VertexType {
                file: files.of(&name),
                columns: properties.columns(&name)?,
                labels,
                name,
                numbers,
            });
        }
        let type_of = |node: u64| vertices.iter().position(|v| v.numbers.of(node).is_some());
        let mut seen: BTreeMap<(usize, Arc<str>, usize), (u64, Seen)> = BTreeMap::new();
        graph.relationships(|relationship| {
            // Both are nodes of the transaction that reads the relationship.
            let (Some(source), Some(target)) =
                (type_of(relationship.start), type_of(relationship.end))
            else {
                return Ok(());
            };
            let key = (source, Arc::clone(&relationship.rel_type), target);
            let (count, properties) = seen.entry(key).or_default();
            *count += 1;
            properties.see(&relationship.properties);
            Ok(())
        })?;
        let mut files = FileNames::default();
        let mut edges = Vec::new();
        for ((source, name, target), (count, properties)) in seen {
            let (from, to) = (&vertices[source].name, &vertices[target].name);
            edges.push(EdgeType {
                file: files.of(&format!("{from}_{name}_{to}")),
                columns: properties.columns(&name)?,
                source,
                name,
                target,
                count,
            });
        }
        Ok(Plan { vertices, edges })
    }
}
