//! What a change says of a node, a relationship, a property or an entry, and the keys that changes
//! stand under.

use crate::ids::LabelId;
use crate::ids::NodeId;
use std::sync::Arc;

use crate::ids::{KeyId, TypeId};

/// Whether an entry of a list or of an index comes or goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// It is there from now on.
    Added,
    /// It is gone; it may never have been in the base.
    Removed,
}

/// What happened to a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum NodeChange {
    /// It is new, with these labels, ascending.
    Created(Arc<[LabelId]>),
    /// It has these labels now, ascending.
    Labels(Arc<[LabelId]>),
    /// It is gone; it may never have been in the base.
    Deleted,
}

impl NodeChange {
    /// The labels, `None` if the node is gone.
    pub(crate) fn labels(&self) -> Option<&Arc<[LabelId]>> {
        match self {
            NodeChange::Created(labels) | NodeChange::Labels(labels) => Some(labels),
            NodeChange::Deleted => None,
        }
    }
}

/// What happened to a relationship.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RelationshipChange {
    pub(crate) rel_type: TypeId,
    pub(crate) start: NodeId,
    pub(crate) end: NodeId,
    /// Whether it is new or gone.
    pub(crate) change: Change,
}

/// Which property of what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum ColumnOf {
    Node(KeyId),
    Relationship(TypeId, KeyId),
}

/// Node, neighbour, relationship.
pub(crate) type EdgeKey = (u64, u64, u64);

/// Key and id.
pub(crate) type IndexKey = (Arc<[u8]>, u64);

/// The first and the last key of the list of a node.
pub(super) const fn list_of(node: u64) -> (EdgeKey, EdgeKey) {
    ((node, 0, 0), (node, u64::MAX, u64::MAX))
}
