//! What a checkpoint merges into the file: the changes since the checkpoint before, store by store,
//! in key order.
//!
//! # How it works
//! A frozen generation of the delta implements [`Changes`]. Every stream ascends by the key of its
//! store and holds the net change per key: what was made and undone again within the generation may
//! be left out or told as its last state; removing what the base does not have changes nothing.
//! Streams may be asked for several times.
//!
//! # Concurrency
//! A checkpoint reads from one thread or several while transactions commit to the next generation.

use crate::Result;
use crate::catalog::Catalog;
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::superblock::LogPosition;
use graven_types::PropertyValue;

/// Changes of one store, ascending.
pub type Stream<'a, T> = Box<dyn Iterator<Item = Result<T>> + Send + 'a>;

/// What became of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeChange {
    /// It is new and has these labels.
    Created(Vec<LabelId>),
    /// It is gone; its properties are told as Null.
    Deleted,
    /// It has these labels now.
    Labels(Vec<LabelId>),
}

/// Whether something came or went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryChange {
    /// It was not there in the base.
    Added,
    /// It is gone; it may never have been in the base.
    Removed,
}

/// A relationship that came or went. Properties of one that went are told as Null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RelationshipChange {
    /// Its id.
    pub id: RelId,
    /// Where it starts.
    pub start: NodeId,
    /// Where it ends.
    pub end: NodeId,
    /// Which of the two.
    pub change: EntryChange,
}

/// An entry of a list of neighbours that came or went.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AdjacencyChange {
    /// The node whose list it is.
    pub node: NodeId,
    /// The node at the other end.
    pub neighbour: NodeId,
    /// The relationship.
    pub relationship: RelId,
    /// Whether it came.
    pub added: bool,
}

/// An entry of an index that came or went.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IndexChange {
    /// Order-preserving bytes of the values ([`crate::key_bytes`]), one after the other for several
    /// keys, cut to 1,024 bytes; with a cut key it stands for all entries of the same cut key and
    /// id.
    pub key: Vec<u8>,
    /// The node or relationship.
    pub id: u64,
    /// Whether it came.
    pub added: bool,
}

/// The changes since the checkpoint before, as of one moment.
pub trait Changes: Send + Sync {
    /// Names, label sets, indexes, constraints and next ids as of this moment. A new index has all
    /// its entries as additions in [`Changes::index`]. Stores, roots of indexes and id extents are
    /// those of the base and ignored.
    fn catalog(&self) -> &Catalog;

    /// Nodes, ascending by id.
    fn nodes(&self) -> Stream<'_, (NodeId, NodeChange)>;

    /// The properties of nodes that have changes.
    fn node_keys(&self) -> Vec<KeyId>;

    /// One property of nodes, ascending by id; Null where it was removed.
    fn node_property(&self, key: KeyId) -> Stream<'_, (u64, PropertyValue)>;

    /// The types of relationships that came or went.
    fn relationship_types(&self) -> Vec<TypeId>;

    /// The relationships that came or went, of all types, ascending by id.
    fn relationships(&self) -> Stream<'_, (TypeId, RelationshipChange)>;

    /// The properties of relationships that have changes.
    fn relationship_keys(&self) -> Vec<(TypeId, KeyId)>;

    /// One property of the relationships of one type, ascending by id; Null where it was removed.
    fn relationship_property(
        &self,
        rel_type: TypeId,
        key: KeyId,
    ) -> Stream<'_, (u64, PropertyValue)>;

    /// The relationships of one type that came or went, by node, neighbour and id. For
    /// [`Direction::In`] the node is the end.
    fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Stream<'_, AdjacencyChange>;

    /// The indexes that have changes, by number.
    fn index_numbers(&self) -> Vec<u32>;

    /// One index, ascending by key and id; of equal ones what went comes first.
    fn index(&self, number: u32) -> Stream<'_, IndexChange>;

    /// Where in the log recovery has to read on once these changes are in the file.
    fn log(&self) -> LogPosition;
}
