//! The catalogue: names, label sets, stores, indexes, statistics of one snapshot, all in memory.
//!
//! # How it works
//! Written as one run of bytes into a chain of catalogue pages ([`crate::overflow_pages`]), read
//! whole when a store is opened. Labels, types and keys are numbered densely in the order they were
//! met. Every node belongs to one *label set*; [`Statistics`] count relationships per (label set,
//! type, label set), from which the counts per label are exact sums.
//!
//! # Costs
//! Memory is charged to the budget by [`crate::Store::open`]. Look-ups by name hash; all else is
//! indexing.

pub(crate) mod encode;
mod numbered;
pub(crate) mod schema;
pub mod statistics;
mod stores;
pub mod value_statistics;

use crate::ids::{Direction, KeyId, LabelId, RelId, StoreId, TypeId};
use crate::macros::MacroDescription;
use crate::notes::Note;
use crate::schema::{ConstraintDescription, SchemaEntity};
use crate::sequences::SequenceDescription;
use crate::users::UserDescription;
use std::sync::Arc;

pub use numbered::{NameList, NumberedList};
pub(crate) use numbered::{Names, Numbered};
pub use schema::IndexDescription;
pub use statistics::{Statistics, TypeStatistics};
pub(crate) use stores::Stores;
pub use value_statistics::ValueStatistics;
pub use value_statistics::sample::grown;

/// What a store holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum StoreKind {
    /// The label set of every node.
    NodeLabels,
    /// One property of nodes.
    NodeColumn(KeyId),
    /// One direction of one relationship type.
    Adjacency(TypeId, Direction),
    /// One property of the relationships of one type.
    RelationshipColumn(TypeId, KeyId),
    /// An index; its [`IndexDescription::number`].
    Index(u32),
    /// Type, start or end of the relationships created after the load, by id.
    Relationships(RelationshipPart),
}

/// What a store of kind [`StoreKind::Relationships`] says of a relationship.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RelationshipPart {
    /// Its type.
    Type,
    /// The node it starts at.
    Start,
    /// The node it ends at.
    End,
}

/// A store as the catalogue describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreDescription {
    /// Its number, the first part of the keys of the segment directory.
    pub id: StoreId,
    /// What it holds.
    pub kind: StoreKind,
    /// Segments in the directory (leaf pages of an index).
    pub segments: u64,
    /// Pages, those of chains and inner pages included.
    pub pages: u64,
    /// Bytes of those pages.
    pub bytes: u64,
    /// Entries: values, relationships, index keys, nodes with labels.
    pub entries: u64,
}

/// A range of relationship ids that belong to one type and ascend with the forward lists: what bulk
/// loading gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RelationshipExtent {
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) rel_type: TypeId,
}

/// Names, stores, indexes and statistics of one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    pub(crate) labels: Names,
    pub(crate) types: Names,
    pub(crate) keys: Names,
    pub(crate) label_sets: Numbered<[LabelId]>,
    pub(crate) stores: Stores,
    pub(crate) indexes: Vec<IndexDescription>,
    pub(crate) constraints: Vec<ConstraintDescription>,
    pub(crate) next_index: u32,
    pub(crate) extents: Vec<RelationshipExtent>,
    pub(crate) next_node: u64,
    pub(crate) next_relationship: u64,
    pub(crate) statistics: Statistics,
    /// Users of a server, by name.
    pub(crate) users: Vec<UserDescription>,
    /// Sequences, by name.
    pub(crate) sequences: Vec<SequenceDescription>,
    /// Macros, by name.
    pub(crate) macros: Vec<MacroDescription>,
    /// Comments and names of types, by kind and name.
    pub(crate) notes: Vec<Note>,
    /// Names that clients gave to the newest commits, oldest first.
    pub(crate) clients: Arc<[CommitToken]>,
}

/// A name that a client gave to a commit.
pub(crate) type CommitToken = [u8; 16];

impl Catalog {
    /// The label called `name`.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.labels.number(name).map(LabelId)
    }

    /// The relationship type called `name`.
    #[must_use]
    pub fn rel_type(&self, name: &str) -> Option<TypeId> {
        self.types.number(name).map(TypeId)
    }

    /// The property key called `name`.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<KeyId> {
        self.keys.number(name).map(KeyId)
    }

    /// Name of a label.
    #[must_use]
    pub fn label_name(&self, id: LabelId) -> Option<&Arc<str>> {
        self.labels.get(id.0)
    }

    /// Name of a relationship type.
    #[must_use]
    pub fn type_name(&self, id: TypeId) -> Option<&Arc<str>> {
        self.types.get(id.0)
    }

    /// Name of a property key.
    #[must_use]
    pub fn key_name(&self, id: KeyId) -> Option<&Arc<str>> {
        self.keys.get(id.0)
    }

    /// All labels; the position is the [`LabelId`].
    #[must_use]
    pub fn labels(&self) -> NameList<'_> {
        self.labels.list()
    }

    /// All relationship types; the position is the [`TypeId`].
    #[must_use]
    pub fn types(&self) -> NameList<'_> {
        self.types.list()
    }

    /// All property keys; the position is the [`KeyId`].
    #[must_use]
    pub fn keys(&self) -> NameList<'_> {
        self.keys.list()
    }

    /// All stores, ascending by id.
    #[must_use]
    pub fn stores(&self) -> &[StoreDescription] {
        &self.stores
    }

    /// The store of `kind`, if the file has one.
    #[must_use]
    pub fn store(&self, kind: StoreKind) -> Option<&StoreDescription> {
        self.stores.of_kind(kind)
    }

    /// What the values of a column of properties are like, if that is known.
    #[must_use]
    pub fn values(&self, kind: StoreKind) -> Option<&ValueStatistics> {
        self.statistics.columns.get(&self.store(kind)?.id)
    }

    /// All indexes, ascending by number.
    #[must_use]
    pub fn indexes(&self) -> &[IndexDescription] {
        &self.indexes
    }

    /// The index of this number.
    #[must_use]
    pub fn index_numbered(&self, number: u32) -> Option<&IndexDescription> {
        self.indexes.iter().find(|index| index.number == number)
    }

    /// The index called `name`.
    #[must_use]
    pub fn index_named(&self, name: &str) -> Option<&IndexDescription> {
        self.indexes.iter().find(|index| &*index.name == name)
    }

    /// All constraints, in the order they were made.
    #[must_use]
    pub fn constraints(&self) -> &[ConstraintDescription] {
        &self.constraints
    }

    /// Users of a server, by name.
    #[must_use]
    pub fn users(&self) -> &[UserDescription] {
        &self.users
    }

    /// Sequences, by name.
    #[must_use]
    pub fn sequences(&self) -> &[SequenceDescription] {
        &self.sequences
    }

    /// Comments and names of types, by kind and name.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Macros, by name.
    #[must_use]
    pub fn macros(&self) -> &[MacroDescription] {
        &self.macros
    }

    /// The user of this name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&UserDescription> {
        self.users.iter().find(|user| &*user.name == name)
    }

    /// Numbers of indexes are below this; a new one gets it.
    #[must_use]
    pub fn index_number_limit(&self) -> u32 {
        self.next_index
    }

    /// The index of (label, key), if there is one.
    #[must_use]
    pub fn index(&self, label: LabelId, key: KeyId) -> Option<&IndexDescription> {
        let entity = SchemaEntity::Node(label);
        self.indexes
            .iter()
            .find(|index| index.entity == entity && index.keys == [key])
    }

    /// The index of these properties, in this order, if there is one.
    #[must_use]
    pub fn index_on(&self, entity: SchemaEntity, keys: &[KeyId]) -> Option<&IndexDescription> {
        self.indexes
            .iter()
            .find(|index| index.entity == entity && index.keys == keys)
    }

    /// The number of a label set, a new one if need be.
    pub(crate) fn intern_set(&mut self, labels: &[LabelId]) -> u32 {
        let number = self.label_sets.intern(labels);
        let sets = self
            .label_sets
            .len()
            .max(self.statistics.label_set_nodes.len());
        self.statistics.label_set_nodes.resize(sets, 0);
        number
    }

    /// A label's or type's name in messages.
    pub(crate) fn entity_name(&self, entity: SchemaEntity) -> &str {
        let name = match entity {
            SchemaEntity::Node(label) => self.label_name(label),
            SchemaEntity::Relationship(rel_type) => self.type_name(rel_type),
        };
        name.map_or("?", |name| name)
    }

    /// Node ids are below this.
    #[must_use]
    pub fn node_id_limit(&self) -> u64 {
        self.next_node
    }

    /// Relationship ids are below this.
    #[must_use]
    pub fn relationship_id_limit(&self) -> u64 {
        self.next_relationship
    }

    /// Counts of nodes and relationships.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Nodes with `label`.
    #[must_use]
    pub fn label_count(&self, label: LabelId) -> u64 {
        let sets = self.label_sets.list().iter();
        sets.zip(&self.statistics.label_set_nodes)
            .filter(|(set, _)| set.contains(&label))
            .map(|(_, count)| count)
            .sum()
    }

    /// Relationships of `rel_type` from a node labelled `start` to one labelled `end`; `None` means
    /// any. With labels it is an estimate where labels changed since the newest checkpoint.
    #[must_use]
    pub fn pattern_count(
        &self,
        start: Option<LabelId>,
        rel_type: Option<TypeId>,
        end: Option<LabelId>,
    ) -> u64 {
        match (start, rel_type, end) {
            (None, None, None) => return self.statistics.relationships,
            (None, Some(of), None) => {
                let of_type = self.statistics.types.get(of.0 as usize);
                return of_type.map_or(0, |it| it.relationships);
            }
            _ => {}
        }
        let matches = |set: u32, label: Option<LabelId>| {
            label.is_none_or(|label| {
                self.label_sets
                    .get(set)
                    .is_some_and(|set| set.contains(&label))
            })
        };
        (self.statistics.patterns.iter())
            .filter(|(pattern, _)| {
                rel_type.is_none_or(|wanted| wanted == pattern.1)
                    && matches(pattern.0, start)
                    && matches(pattern.2, end)
            })
            .map(|(_, count)| count)
            .sum()
    }

    /// Labels of the starts, type and labels of the ends of relationships, with their number: an
    /// estimate as in [`Catalog::pattern_count`].
    pub fn patterns(&self) -> impl Iterator<Item = (&[LabelId], TypeId, &[LabelId], u64)> {
        let labels = |set: u32| self.label_sets.get(set).map_or(&[][..], |set| &set[..]);
        let all = self.statistics.patterns.iter();
        all.map(move |((start, of, end), count)| (labels(*start), *of, labels(*end), *count))
    }

    /// Type of a relationship id that bulk loading gave; those given later are in a store of their
    /// own, see [`crate::Snapshot::relationship_endpoints`].
    #[must_use]
    pub fn type_of(&self, relationship: RelId) -> Option<TypeId> {
        self.extent_of(relationship).map(|(rel_type, _)| rel_type)
    }

    /// As [`Catalog::type_of`], with the end of the ids of that type that go on from there.
    #[must_use]
    pub fn extent_of(&self, relationship: RelId) -> Option<(TypeId, RelId)> {
        let behind = self
            .extents
            .partition_point(|extent| extent.first <= relationship.0);
        let extent = self.extents.get(behind.checked_sub(1)?)?;
        let there = relationship.0 - extent.first < extent.count;
        there.then_some((extent.rel_type, RelId(extent.first + extent.count)))
    }

    /// Whether every node id fits 32 bits.
    #[must_use]
    pub fn node_ids_fit_u32(&self) -> bool {
        self.next_node <= u64::from(u32::MAX)
    }

    /// A store's name in messages and listings.
    #[must_use]
    pub fn store_name(&self, kind: StoreKind) -> String {
        let key = |id| self.key_name(id).map_or("?", |name| &**name);
        let rel_type = |id| self.type_name(id).map_or("?", |name| &**name);
        match kind {
            StoreKind::NodeLabels => "node labels".to_owned(),
            StoreKind::NodeColumn(id) => format!("node property {}", key(id)),
            StoreKind::Adjacency(id, Direction::Out) => format!("adjacency {} out", rel_type(id)),
            StoreKind::Adjacency(id, Direction::In) => format!("adjacency {} in", rel_type(id)),
            StoreKind::RelationshipColumn(rel, id) => {
                format!("relationship property {}.{}", rel_type(rel), key(id))
            }
            StoreKind::Relationships(RelationshipPart::Type) => "relationship types".to_owned(),
            StoreKind::Relationships(RelationshipPart::Start) => "relationship starts".to_owned(),
            StoreKind::Relationships(RelationshipPart::End) => "relationship ends".to_owned(),
            StoreKind::Index(number) => match self.index_numbered(number) {
                None => "index".to_owned(),
                Some(index) => {
                    let of = match index.entity {
                        SchemaEntity::Node(label) => {
                            self.label_name(label).map_or("?", |name| &**name)
                        }
                        SchemaEntity::Relationship(id) => rel_type(id),
                    };
                    let keys: Vec<&str> = index.keys.iter().map(|id| key(*id)).collect();
                    format!("index {of}({})", keys.join(", "))
                }
            },
        }
    }
}
