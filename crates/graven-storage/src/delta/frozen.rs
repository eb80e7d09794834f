//! What a checkpoint folds into segments: one frozen generation of changes, store by store in key order.

use crate::catalog::Catalog;
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::value::PropertyValue;
use std::sync::Arc;

/// Whether an entry of a list or of an index comes or goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It is there from now on.
    Added,
    /// It is gone; it may never have been in the base.
    Removed,
}

/// What happened to a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeChange {
    /// It is new, with these labels.
    Created(Arc<[LabelId]>),
    /// It has these labels now.
    Labels(Arc<[LabelId]>),
    /// It is gone; it may never have been in the base.
    Deleted,
}

/// What happened to a relationship.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelationshipChange {
    /// Where it starts.
    pub start: NodeId,
    /// Where it ends.
    pub end: NodeId,
    /// Whether it is new or gone.
    pub change: Change,
}

/// One frozen generation of changes. Properties of deleted nodes and relationships are listed as Null.
#[derive(Clone, Debug)]
pub struct FrozenDelta {
    _private: (),
}

impl FrozenDelta {
    /// The state of names, label sets, indexes, constraints, id extents, next ids and (roughly) statistics as of this
    /// generation. Stores and the roots of indexes are those of the base: the checkpoint replaces them.
    pub(crate) fn catalog(&self) -> &Catalog {
        unimplemented!()
    }

    /// The newest commit in it; snapshots of this or a later timestamp may use the new base.
    pub(crate) fn timestamp(&self) -> u64 {
        unimplemented!()
    }

    /// The log below this is not needed once the new base is durable.
    pub(crate) fn lsn(&self) -> u64 {
        unimplemented!()
    }

    /// Nodes, ascending.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &NodeChange)> {
        std::iter::empty()
    }

    /// Keys of node properties that changed, ascending.
    pub(crate) fn node_property_keys(&self) -> impl Iterator<Item = KeyId> {
        std::iter::empty()
    }

    /// Values of one property of nodes, ascending by node; Null: removed.
    pub(crate) fn node_property(&self, _key: KeyId) -> impl Iterator<Item = (u64, &PropertyValue)> {
        std::iter::empty()
    }

    /// Types and keys of relationship properties that changed, ascending.
    pub(crate) fn relationship_property_keys(&self) -> impl Iterator<Item = (TypeId, KeyId)> {
        std::iter::empty()
    }

    /// Values of one property of relationships, ascending by relationship; Null: removed.
    pub(crate) fn relationship_property(
        &self,
        _rel_type: TypeId,
        _key: KeyId,
    ) -> impl Iterator<Item = (u64, &PropertyValue)> {
        std::iter::empty()
    }

    /// Types of relationships that changed, ascending.
    pub(crate) fn relationship_types(&self) -> impl Iterator<Item = TypeId> {
        std::iter::empty()
    }

    /// Relationships of one type, ascending.
    pub(crate) fn relationships(
        &self,
        _rel_type: TypeId,
    ) -> impl Iterator<Item = (RelId, &RelationshipChange)> {
        std::iter::empty()
    }

    /// Entries of lists, ascending by (node, neighbour, relationship).
    pub(crate) fn adjacency(
        &self,
        _rel_type: TypeId,
        _direction: Direction,
    ) -> impl Iterator<Item = (NodeId, NodeId, RelId, Change)> {
        std::iter::empty()
    }

    /// Numbers of the indexes with changes, ascending.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = u32> {
        std::iter::empty()
    }

    /// Entries of an index, ascending by (key, id). Keys are cut to [`crate::index::key::KEY_BYTES_MAX`]; an
    /// entry stands for all entries of the base with the same cut key and id.
    pub(crate) fn index(&self, _number: u32) -> impl Iterator<Item = (&[u8], u64, Change)> {
        std::iter::empty()
    }
}
