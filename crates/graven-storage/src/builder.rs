//! Small graphs made in memory and written as database files: for tests of every layer and for
//! examples.

use crate::ids::{NodeId, RelId};
use crate::index::key::key_bytes;
use crate::store::Store;
use crate::writer::{StoreWriter, Uniqueness, WriterOptions};
use crate::{Error, Result};
use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache};
use graven_types::PropertyValue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Properties = Vec<(String, PropertyValue)>;

#[derive(Clone, Debug)]
struct BuilderNode {
    labels: Vec<String>,
    properties: Properties,
}

#[derive(Clone, Debug)]
struct BuilderRelationship {
    start: u64,
    end: u64,
    properties: Properties,
}

/// A small graph. Node ids are given in the order of [`GraphBuilder::node`], relationship ids by
/// type (in the order the types were met), start, end and the order of
/// [`GraphBuilder::relationship`].
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    nodes: Vec<BuilderNode>,
    types: Vec<String>,
    relationships: Vec<Vec<BuilderRelationship>>,
    indexes: Vec<(String, String, Uniqueness)>,
}

impl GraphBuilder {
    /// An empty graph.
    #[must_use]
    pub fn new() -> GraphBuilder {
        GraphBuilder::default()
    }

    /// Adds a node.
    pub fn node(&mut self, labels: &[&str], properties: &[(&str, PropertyValue)]) -> NodeId {
        self.nodes.push(BuilderNode {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            properties: owned(properties),
        });
        NodeId(self.nodes.len() as u64 - 1)
    }

    /// Adds a relationship.
    ///
    /// # Panics
    /// If an end was not added before.
    pub fn relationship(
        &mut self,
        start: NodeId,
        rel_type: &str,
        end: NodeId,
        properties: &[(&str, PropertyValue)],
    ) {
        let count = self.nodes.len() as u64;
        assert!(
            start.0 < count && end.0 < count,
            "{start} and {end} are nodes of {count}"
        );
        let known = self.types.iter().position(|known| known == rel_type);
        let number = known.unwrap_or_else(|| {
            self.types.push(rel_type.to_owned());
            self.relationships.push(Vec::new());
            self.types.len() - 1
        });
        let properties = owned(properties);
        self.relationships[number].push(BuilderRelationship {
            start: start.0,
            end: end.0,
            properties,
        });
    }

    /// Asks for an index over one property of the nodes with `label`.
    pub fn index(&mut self, label: &str, key: &str, uniqueness: Uniqueness) {
        self.indexes
            .push((label.to_owned(), key.to_owned(), uniqueness));
    }

    /// Writes the graph to `file`, which must be empty.
    ///
    /// # Errors
    /// [`Error::NotUnique`]; what [`StoreWriter`] gives.
    pub fn build(&self, file: Arc<dyn File>) -> Result<()> {
        let options = WriterOptions {
            uuid: Some(*b"graven test file"),
        };
        let mut writer = StoreWriter::create(file, options)?;
        for node in &self.nodes {
            let labels: Vec<_> = node
                .labels
                .iter()
                .map(|label| writer.intern_label(label))
                .collect();
            writer.add_nodes(1, &labels)?;
        }
        let nodes = self.nodes.iter().map(|node| &node.properties).enumerate();
        let mut columns = by_key(nodes.map(|(id, properties)| (id as u64, properties)));
        for (key, values) in &mut columns {
            let key = writer.intern_key(key);
            let mut column = writer.node_column(key)?;
            values
                .iter()
                .try_for_each(|(id, value)| column.push(*id, value))?;
            column.finish()?;
        }
        for (name, relationships) in self.types.iter().zip(&self.relationships) {
            self.write_type(&mut writer, name, relationships)?;
        }
        for (label, key, uniqueness) in &self.indexes {
            self.write_index(&mut writer, label, key, *uniqueness)?;
        }
        writer.finish()
    }

    fn write_type(
        &self,
        writer: &mut StoreWriter,
        name: &str,
        relationships: &[BuilderRelationship],
    ) -> Result<()> {
        let rel_type = writer.intern_type(name);
        let mut forward: Vec<&BuilderRelationship> = relationships.iter().collect();
        forward.sort_by_key(|relationship| (relationship.start, relationship.end));
        let mut adjacency = writer.adjacency(rel_type)?;
        let mut first = None;
        for relationship in &forward {
            let id = adjacency.forward(NodeId(relationship.start), NodeId(relationship.end))?;
            first.get_or_insert(id);
        }
        let mut reverse: Vec<(u64, u64)> =
            forward.iter().map(|pair| (pair.end, pair.start)).collect();
        reverse.sort_unstable();
        for (end, start) in reverse {
            adjacency.reverse(NodeId(end), NodeId(start))?;
        }
        adjacency.finish()?;
        let RelId(first) = first.unwrap_or_default();
        let properties = forward.iter().enumerate();
        for (key, values) in
            by_key(properties.map(|(at, pair)| (first + at as u64, &pair.properties)))
        {
            let key = writer.intern_key(key);
            let mut column = writer.relationship_column(rel_type, key)?;
            values
                .iter()
                .try_for_each(|(id, value)| column.push(*id, value))?;
            column.finish()?;
        }
        Ok(())
    }

    fn write_index(
        &self,
        writer: &mut StoreWriter,
        label: &str,
        key: &str,
        uniqueness: Uniqueness,
    ) -> Result<()> {
        let mut entries = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let value = node.properties.iter().find(|(name, _)| name == key);
            if let Some((_, value)) = value
                && node.labels.iter().any(|known| known == label)
                && let Some(bytes) = key_bytes(value)
            {
                entries.push((bytes, id as u64, value));
            }
        }
        entries.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let (label, key) = (writer.intern_label(label), writer.intern_key(key));
        let mut index = writer.index(label, key, uniqueness)?;
        for (_, id, value) in entries {
            index.push(value, NodeId(id))?;
        }
        index.finish()
    }

    /// Builds into memory and opens it through a page cache of `cache_bytes`.
    ///
    /// # Errors
    /// As [`GraphBuilder::build`]; what the page cache gives.
    pub fn open(&self, cache_bytes: u64) -> Result<Arc<Store>> {
        let file: Arc<dyn File> = Arc::new(MemoryFile::new("memory.graven"));
        self.build(file.clone())?;
        let cache = PageCache::new(Config::new(Budget::new(cache_bytes))).map_err(Error::from)?;
        Store::open(file, cache)
    }
}

fn owned(properties: &[(&str, PropertyValue)]) -> Properties {
    properties
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect()
}

/// Values by key, ascending by id; the last value given for a key wins.
fn by_key<'a>(
    rows: impl Iterator<Item = (u64, &'a Properties)>,
) -> BTreeMap<&'a str, Vec<(u64, &'a PropertyValue)>> {
    let mut columns: BTreeMap<&str, Vec<(u64, &PropertyValue)>> = BTreeMap::new();
    for (id, properties) in rows {
        let mut seen = BTreeSet::new();
        for (key, value) in properties.iter().rev() {
            if seen.insert(key) && !value.is_null() {
                columns.entry(key).or_default().push((id, value));
            }
        }
    }
    columns
}
