//! One version of the graph: what readers see.
//!
//! # Concurrency
//! Immutable; cheap to clone; any number of threads.

use crate::adjacency::Adjacency;
use crate::catalog::{Catalog, StoreKind};
use crate::column::Column;
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::index::Index;
use crate::labels::NodeRanges;
use crate::store::Root;
use crate::{Error, Result};
use graven_pagecache::PageCache;
use std::sync::Arc;

/// One version of the graph; cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    root: Arc<Root>,
}

impl Snapshot {
    pub(crate) fn new(root: Arc<Root>) -> Snapshot {
        Snapshot { root }
    }

    /// Names, indexes, statistics.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.root.catalog
    }

    /// The page cache that reads go through.
    #[must_use]
    pub fn cache(&self) -> &Arc<PageCache> {
        self.root.pages.cache()
    }

    /// Nodes in all.
    #[must_use]
    pub fn node_count(&self) -> u64 {
        self.root.catalog.statistics.nodes
    }

    /// Whether there is such a node.
    #[must_use]
    pub fn node_exists(&self, node: NodeId) -> bool {
        self.root.labels.set_of(node).is_some()
    }

    /// Number of the label set of `node` in [`Catalog::label_sets`].
    #[must_use]
    #[inline]
    pub fn label_set_of(&self, node: NodeId) -> Option<u32> {
        self.root.labels.set_of(node)
    }

    /// The labels of `node`, ascending.
    ///
    /// # Errors
    /// [`Error::NoSuchNode`].
    pub fn labels_of(&self, node: NodeId) -> Result<Vec<LabelId>> {
        let set = self.root.labels.set_of(node).ok_or(Error::NoSuchNode {
            node: node.0,
            limit: self.root.catalog.next_node,
        })?;
        Ok(self.root.catalog.label_sets[set as usize].clone())
    }

    /// Whether `node` exists and has `label`.
    ///
    /// # Errors
    /// None at present.
    #[inline]
    pub fn has_label(&self, node: NodeId, label: LabelId) -> Result<bool> {
        let set = self.root.labels.set_of(node);
        Ok(set.is_some_and(|set| self.root.catalog.label_sets[set as usize].contains(&label)))
    }

    /// The nodes with `label`.
    ///
    /// # Errors
    /// None at present.
    pub fn nodes_with_label(&self, label: LabelId) -> Result<NodeRanges> {
        let sets = &self.root.catalog.label_sets;
        Ok(self
            .root
            .labels
            .ranges(|set| sets[set as usize].contains(&label)))
    }

    /// All nodes.
    #[must_use]
    pub fn all_nodes(&self) -> NodeRanges {
        self.root.labels.ranges(|_| true)
    }

    /// One direction of one relationship type; an empty one if there are none.
    ///
    /// # Errors
    /// None at present.
    pub fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Result<Adjacency> {
        Ok(self.root.adjacency(rel_type, direction))
    }

    /// One property of nodes; `None` if no node has it.
    #[must_use]
    pub fn node_column(&self, key: KeyId) -> Option<Column> {
        self.root.node_column(key)
    }

    /// One property of the relationships of one type; `None` if none has it.
    #[must_use]
    pub fn relationship_column(&self, rel_type: TypeId, key: KeyId) -> Option<Column> {
        self.root
            .column(StoreKind::RelationshipColumn(rel_type, key))
    }

    /// The keys of the properties that `node` has, ascending.
    ///
    /// # Errors
    /// What pinning gives; [`Error::Damaged`].
    pub fn node_keys(&self, node: NodeId) -> Result<Vec<KeyId>> {
        self.keys(node.0, |kind| match kind {
            StoreKind::NodeColumn(key) => Some(key),
            _ => None,
        })
    }

    /// The keys of the properties that `relationship` has, ascending.
    ///
    /// # Errors
    /// What pinning gives; [`Error::Damaged`].
    pub fn relationship_keys(&self, relationship: RelId) -> Result<Vec<KeyId>> {
        let rel_type = self.root.catalog.type_of(relationship);
        self.keys(relationship.0, |kind| match kind {
            StoreKind::RelationshipColumn(of, key) if Some(of) == rel_type => Some(key),
            _ => None,
        })
    }

    fn keys(&self, id: u64, key_of: impl Fn(StoreKind) -> Option<KeyId>) -> Result<Vec<KeyId>> {
        let mut keys = Vec::new();
        for store in &self.root.catalog.stores {
            if let Some(key) = key_of(store.kind)
                && let Some(column) = self.root.column(store.kind)
                && column.has(id)?
            {
                keys.push(key);
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    /// The index over one property of the nodes with `label`, if there is one.
    #[must_use]
    pub fn index(&self, label: LabelId, key: KeyId) -> Option<Index> {
        let description = self.root.catalog.index(label, key)?;
        let column = self.root.node_column(key);
        Some(Index::new(
            self.root.pages.clone(),
            description.clone(),
            column,
        ))
    }

    /// Type, start and end of a relationship.
    ///
    /// # Errors
    /// [`Error::NoSuchRelationship`]; what pinning gives; [`Error::Damaged`].
    pub fn relationship_endpoints(&self, relationship: RelId) -> Result<(TypeId, NodeId, NodeId)> {
        let missing = || Error::NoSuchRelationship {
            relationship: relationship.0,
        };
        let rel_type = self
            .root
            .catalog
            .type_of(relationship)
            .ok_or_else(missing)?;
        let forward = self.root.adjacency(rel_type, Direction::Out);
        let (start, end) = forward.endpoints(relationship)?.ok_or_else(missing)?;
        Ok((rel_type, start, end))
    }
}
