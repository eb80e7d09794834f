//! One state of the graph: what readers see.
//!
//! # How it works
//! A snapshot is a [`Version`], and for readers inside a transaction what that wrote: see
//! [`crate::delta`]. Every question goes to the changes first and then to the file; stores without
//! changes go to the file directly.
//!
//! # Concurrency
//! Cheap to clone; any number of threads. Immutable, except that the snapshot of a transaction sees
//! its later writes; its catalogue is as of the first use.

use crate::adjacency::Adjacency;
use crate::catalog::{Catalog, IndexDescription, StoreKind};
use crate::column::Column;
use crate::data_file::FileRoot;
use crate::delta::change::{Change, ColumnOf, NodeChange};
use crate::delta::filter_key::FilterKey;
use crate::delta::immutable_delta::MergedDelta;
use crate::delta::overlay::{
    AdjacencyOverlay, ColumnOverlay, IndexEntries, IndexOverlay, Stack, Top,
};
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::index::Index;
use crate::labels::NodeRanges;
use crate::schema::SchemaEntity;
use crate::sequences::SequenceDescription;
use crate::store::allocator::{NameKind, NameLists};
use crate::transaction::write_set::{WriteSet, WriteSetSide};
use crate::users::UserDescription;
use crate::version::Version;
use crate::version::schema::Schema;
use crate::{Error, Result};
use graven_pagecache::PageCache;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// One version of the graph; cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    version: Arc<Version>,
    write_set: Option<Arc<WriteSetSide>>,
}

impl Snapshot {
    pub(crate) fn new(version: Arc<Version>) -> Snapshot {
        Snapshot {
            version,
            write_set: None,
        }
    }

    pub(crate) fn of_transaction(version: Arc<Version>, write_set: Arc<WriteSet>) -> Snapshot {
        let side = WriteSetSide {
            write_set,
            catalog: OnceLock::new(),
        };
        Snapshot {
            version,
            write_set: Some(Arc::new(side)),
        }
    }

    pub(crate) fn root(&self) -> &FileRoot {
        &self.version.committed_base.root
    }

    /// The data file.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        self.root().pages.path()
    }

    fn write_set(&self) -> Option<&Arc<WriteSet>> {
        self.write_set.as_ref().map(|side| &side.write_set)
    }

    fn stack(&self) -> Stack<'_> {
        self.version.stack(self.write_set())
    }

    /// Names, indexes, statistics.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        match &self.write_set {
            None => self.version.catalog(),
            Some(side) => side
                .catalog
                .get_or_init(|| self.version.assemble(Some(&side.write_set))),
        }
    }

    /// The number of a label, without putting the whole catalogue together.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.number(NameKind::Label, name).map(LabelId)
    }

    /// The number of a relationship type, as [`Snapshot::label`].
    #[must_use]
    pub fn rel_type(&self, name: &str) -> Option<TypeId> {
        self.number(NameKind::Type, name).map(TypeId)
    }

    /// The number of a property key, as [`Snapshot::label`].
    #[must_use]
    pub fn key(&self, name: &str) -> Option<KeyId> {
        self.number(NameKind::Key, name).map(KeyId)
    }

    fn number(&self, kind: NameKind, name: &str) -> Option<u32> {
        match self.write_set() {
            None => self.version.names.list(kind).number(name),
            // That there is nothing of a name is read as well, and noted by its number.
            Some(write_set) if write_set.records() => {
                Some(write_set.allocator().intern(kind, name))
            }
            Some(write_set) => write_set.allocator().number(kind, name),
        }
    }

    /// All relationship types, for a statement that reads relationships of any type.
    pub fn any_type(&self) -> impl Iterator<Item = TypeId> + use<> {
        let count = u32::try_from(self.catalog().types().len()).unwrap_or(u32::MAX);
        if let Some(write_set) = self.write_set() {
            write_set.read_types(count);
        }
        (0..count).map(TypeId)
    }

    /// Whether it is that of a serialisable transaction, which is told what is read.
    #[must_use]
    pub fn records_reads(&self) -> bool {
        self.write_set()
            .is_some_and(|write_set| write_set.records())
    }

    /// Labels, relationship types and property keys in all. None is ever forgotten: as long as this
    /// stays the same in a database, what [`Snapshot::label`] and its like say does too.
    #[must_use]
    pub fn names_known(&self) -> usize {
        let kinds = [NameKind::Label, NameKind::Type, NameKind::Key];
        let count = |names: &NameLists| kinds.map(|kind| names.list(kind).list().len());
        let counts = match self.write_set() {
            None => count(&self.version.names),
            Some(write_set) => count(&write_set.allocator().names()),
        };
        counts.iter().sum()
    }

    /// Place of the newest commit that is seen in the order of all commits.
    #[must_use]
    pub fn timestamp(&self) -> u64 {
        self.version.timestamp
    }

    /// Node ids are below this. In a transaction it rises with every node created, unlike that of
    /// the catalogue.
    #[must_use]
    pub fn node_id_limit(&self) -> u64 {
        self.write_set()
            .map_or(self.version.next_node, |write_set| {
                write_set.allocator().next_node()
            })
    }

    /// The page cache that reads go through.
    #[must_use]
    pub fn cache(&self) -> &Arc<PageCache> {
        self.root().pages.cache()
    }

    /// Nodes in all.
    #[must_use]
    pub fn node_count(&self) -> u64 {
        if let Some(write_set) = self.write_set() {
            write_set.read_label(None);
        }
        let stored = self.root().catalog.statistics.nodes;
        stored.saturating_add_signed(self.stack().nodes())
    }

    /// Nodes with the label, for choosing a plan: that is no read of them.
    #[must_use]
    pub fn label_count(&self, label: LabelId) -> u64 {
        let stored = self.root().catalog.label_count(label);
        let changed = self.stack().counted(|counts| counts.nodes_with(label));
        stored.saturating_add_signed(changed)
    }

    /// Relationships of the type, for choosing a plan: that is no read of them.
    #[must_use]
    pub fn type_count(&self, rel_type: TypeId) -> u64 {
        let types = &self.root().catalog.statistics.types;
        let stored = types.get(rel_type.0 as usize);
        let changed = self.stack();
        let changed = changed.counted(|counts| counts.relationships_of(rel_type));
        stored
            .map_or(0, |of_type| of_type.relationships)
            .saturating_add_signed(changed)
    }

    /// Whether it sees changes that are not in the data file's stores. If so, the counts in the
    /// catalogue are not its own.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        let version = &*self.version;
        self.write_set.is_some()
            || version.commit_tail.is_some()
            || !version.committed_base.layers.is_merged()
    }

    /// Whether any node came, went or has other labels than in the file.
    #[inline]
    pub(crate) fn nodes_changed(&self) -> bool {
        let version = &*self.version;
        let newest = || {
            version
                .commit_tail
                .as_ref()
                .is_some_and(|it| it.has_nodes())
        };
        self.write_set.is_some() || newest() || version.committed_base.layers.has_nodes()
    }

    /// Calls `look` with the labels of `node`, `None` if there is no such node.
    #[inline]
    pub(crate) fn with_labels<T>(
        &self,
        node: NodeId,
        look: impl FnOnce(Option<&[LabelId]>) -> T,
    ) -> T {
        if self.nodes_changed() {
            if let Some(write_set) = self.write_set() {
                write_set.read_node(node.0);
            }
            let changed = self.stack().find(FilterKey::Node(node.0), |layer| {
                layer.node(node.0).map(|it| it.labels().cloned())
            });
            if let Some(labels) = changed {
                return look(labels.as_deref());
            }
        }
        let set = self.root().labels.set_of(node);
        look(set.map(|set| &self.root().catalog.label_sets[set]))
    }

    /// The error for a node that no layer and no run has.
    fn unknown(&self, node: NodeId) -> Error {
        let lost = self.root().labels.lost_at(node);
        lost.unwrap_or_else(|| Error::NoSuchNode {
            node: node.0,
            limit: self.node_id_limit(),
        })
    }

    /// Whether there is such a node; also where only its labels would tell and cannot be read.
    #[must_use]
    pub fn node_exists(&self, node: NodeId) -> bool {
        self.with_labels(node, |labels| labels.is_some())
            || self.root().labels.lost_at(node).is_some()
    }

    /// The labels of `node`, ascending.
    ///
    /// # Errors
    /// [`Error::NoSuchNode`].
    pub fn labels_of(&self, node: NodeId) -> Result<Vec<LabelId>> {
        self.with_labels(node, |labels| labels.map(<[LabelId]>::to_vec))
            .ok_or_else(|| self.unknown(node))
    }

    /// Whether `node` exists and has `label`.
    ///
    /// # Errors
    /// [`Error::LabelsLost`].
    #[inline]
    pub fn has_label(&self, node: NodeId, label: LabelId) -> Result<bool> {
        let has = self.with_labels(node, |labels| labels.map(|labels| labels.contains(&label)));
        match has {
            Some(has) => Ok(has),
            None => self.root().labels.lost_at(node).map_or(Ok(false), Err),
        }
    }

    /// The nodes whose labels `wanted` accepts.
    fn ranges(&self, wanted: impl Fn(&[LabelId]) -> bool) -> Result<NodeRanges> {
        let catalog = &self.root().catalog;
        let accepted = |set: u32| wanted(&catalog.label_sets[set]);
        let nodes = &catalog.statistics.label_set_nodes;
        match self.root().labels.lost_among(accepted, nodes) {
            Some(lost) => Err(lost),
            None => self.known_ranges(wanted).charged(self.cache().budget()),
        }
    }

    /// All nodes whose labels can be read.
    pub(crate) fn known_nodes(&self) -> NodeRanges {
        self.known_ranges(|_| true)
    }

    fn known_ranges(&self, wanted: impl Fn(&[LabelId]) -> bool) -> NodeRanges {
        let sets = &self.root().catalog.label_sets;
        let mut ranges = self.root().labels.ranges(|set| wanted(&sets[set]));
        if !self.nodes_changed() {
            return ranges;
        }
        let accepts = |change: &NodeChange| change.labels().is_some_and(|it| wanted(it));
        self.stack().for_each_merged(|layer| {
            if layer.has_nodes() {
                let runs = layer.node_runs();
                ranges = ranges.with_changes(runs.map(|(run, change)| (run, accepts(change))));
            }
        });
        ranges
    }

    /// The nodes with `label`.
    ///
    /// # Errors
    /// [`Error::LabelsLost`] if some of them are not known.
    pub fn nodes_with_label(&self, label: LabelId) -> Result<NodeRanges> {
        let find = || self.ranges(|labels| labels.contains(&label));
        if let Some(write_set) = self.write_set() {
            write_set.read_label(Some(label));
            return find();
        }
        let (at, count) = (label.0 as usize, self.version.names.labels.list().len());
        let newest = self.version.commit_tail.as_ref();
        let labels = match newest.is_some_and(|commit_tail| commit_tail.has_nodes()) {
            true => &self.version.views.labels,
            false => &self.version.committed_base.views.labels,
        };
        labels.get(at, count, find)
    }

    /// All nodes.
    ///
    /// # Errors
    /// [`Error::LabelsLost`] if some of them are not known.
    pub fn all_nodes(&self) -> Result<NodeRanges> {
        if let Some(write_set) = self.write_set() {
            write_set.read_label(None);
        }
        self.ranges(|_| true)
    }

    /// As [`Snapshot::all_nodes`], for a reader that meets nodes only as ends of relationships that
    /// it reads. Such an end exists as long as its relationship does. So a serialisable transaction
    /// does not record a read of all nodes.
    ///
    /// # Errors
    /// [`Error::LabelsLost`] if some of them are not known.
    pub fn possible_ends(&self) -> Result<NodeRanges> {
        self.ranges(|_| true)
    }

    /// One direction of one relationship type; an empty one if there are none.
    ///
    /// # Errors
    /// None at present.
    pub fn adjacency(&self, rel_type: TypeId, direction: Direction) -> Result<Adjacency> {
        let version = &*self.version;
        let of = (rel_type, direction);
        let count = 2 * version.names.types.list().len();
        let at = 2 * rel_type.0 as usize + usize::from(direction == Direction::In);
        let committed_base = || {
            let views = &version.committed_base.views;
            (views.adjacencies).get(at, count, || self.settled_adjacency(of))
        };
        let on_top = |top: Top| {
            let mut more = 0;
            self.stack().for_each_newest(|layer| {
                more += layer.counts().relationships_of(rel_type);
            });
            let narrow = self.node_id_limit() <= u64::from(u32::MAX);
            committed_base().with_top(of, top, more, narrow)
        };
        let about = FilterKey::Lists(rel_type, direction);
        if !Top::is_any(self.stack(), about) {
            return Ok(committed_base());
        }
        let make = || on_top(Top::of(self.stack(), about));
        Ok(match &self.write_set {
            Some(_) => make(),
            None => (version.views.adjacencies).get(at, count, make),
        })
    }

    /// An adjacency with the committed changes only.
    fn settled_adjacency(&self, of: (TypeId, Direction)) -> Adjacency {
        let committed_base = &self.version.committed_base;
        let base = committed_base.root.adjacency(of.0, of.1);
        let Some(overlay) = AdjacencyOverlay::new(&committed_base.layers, of) else {
            return base;
        };
        let layers = committed_base.layers.newest_first();
        let more = layers
            .map(|layer| layer.counts().relationships_of(of.0))
            .sum();
        // The nodes of committed changes are among those of this version.
        let narrow = self.version.next_node <= u64::from(u32::MAX);
        base.with_overlay(overlay, more, narrow)
    }

    /// One property of nodes; `None` if no node has it.
    #[must_use]
    pub fn node_column(&self, key: KeyId) -> Option<Column> {
        self.column(ColumnOf::Node(key))
    }

    /// One property of the relationships of one type; `None` if none has it.
    #[must_use]
    pub fn relationship_column(&self, rel_type: TypeId, key: KeyId) -> Option<Column> {
        self.column(ColumnOf::Relationship(rel_type, key))
    }

    pub(crate) fn column(&self, of: ColumnOf) -> Option<Column> {
        let about = FilterKey::Column(of);
        if !Top::is_any(self.stack(), about) {
            return self.settled_column(of);
        }
        let top = || Top::of(self.stack(), about);
        let make = || Some(Column::with_top(self.settled_column(of), of, top()));
        match (of, &self.write_set) {
            (ColumnOf::Node(key), None) => {
                let count = self.version.names.keys.list().len();
                (self.version.views.node_columns).get(key.0 as usize, count, make)
            }
            _ => make(),
        }
    }

    /// One property of what an index or a constraint is about.
    pub(crate) fn column_of(&self, entity: SchemaEntity, key: KeyId) -> Option<Column> {
        self.column(entity.column(key))
    }

    /// A property with the committed changes only.
    fn settled_column(&self, of: ColumnOf) -> Option<Column> {
        let committed_base = &self.version.committed_base;
        let make = |base| match ColumnOverlay::new(&committed_base.layers, of) {
            None => base,
            Some(overlay) => Some(Column::with_overlay(base, overlay)),
        };
        match of {
            ColumnOf::Node(key) => {
                let count = self.version.names.keys.list().len();
                let make = || make(committed_base.root.node_column(key));
                (committed_base.views.node_columns).get(key.0 as usize, count, make)
            }
            ColumnOf::Relationship(rel_type, key) => {
                let kind = StoreKind::RelationshipColumn(rel_type, key);
                make(committed_base.root.column(kind))
            }
        }
    }

    /// The keys of the properties that `node` has, ascending.
    ///
    /// # Errors
    /// What pinning gives; [`Error::Damaged`].
    pub fn node_keys(&self, node: NodeId) -> Result<Vec<KeyId>> {
        if let Some(write_set) = self.write_set() {
            // Where no node has a property, no column is asked, so the read is recorded here.
            write_set.read_node(node.0);
        }
        let keys = self.keys_of(|of| match of {
            ColumnOf::Node(key) => Some(key),
            ColumnOf::Relationship(..) => None,
        });
        self.present(node.0, keys, |key| self.node_column(key))
    }

    /// The keys of the properties that `relationship` has, ascending.
    ///
    /// # Errors
    /// [`Error::NoSuchRelationship`]; what pinning gives; [`Error::Damaged`].
    pub fn relationship_keys(&self, relationship: RelId) -> Result<Vec<KeyId>> {
        let (rel_type, _, _) = self.relationship_endpoints(relationship)?;
        let keys = self.keys_of(|of| match of {
            ColumnOf::Relationship(of, key) if of == rel_type => Some(key),
            _ => None,
        });
        self.present(relationship.0, keys, |key| {
            self.relationship_column(rel_type, key)
        })
    }

    /// Keys of the properties that some node, or some relationship of a type, may have.
    fn keys_of(&self, key_of: impl Fn(ColumnOf) -> Option<KeyId>) -> BTreeSet<KeyId> {
        let stored = self.root().catalog.stores.iter();
        let stored = stored.filter_map(|store| match store.kind {
            StoreKind::NodeColumn(key) => key_of(ColumnOf::Node(key)),
            StoreKind::RelationshipColumn(of, key) => key_of(ColumnOf::Relationship(of, key)),
            _ => None,
        });
        let mut keys: BTreeSet<KeyId> = stored.collect();
        self.stack()
            .for_each(|layer| keys.extend(layer.column_keys().into_iter().filter_map(&key_of)));
        keys
    }

    fn present(
        &self,
        id: u64,
        keys: BTreeSet<KeyId>,
        column: impl Fn(KeyId) -> Option<Column>,
    ) -> Result<Vec<KeyId>> {
        let mut present = Vec::new();
        for key in keys {
            if let Some(column) = column(key)
                && column.has(id)?
            {
                present.push(key);
            }
        }
        Ok(present)
    }

    /// The index over one property of the nodes with `label`, if there is one.
    #[must_use]
    pub fn index(&self, label: LabelId, key: KeyId) -> Option<Index> {
        self.index_on(SchemaEntity::Node(label), &[key])
    }

    /// The index over these properties, in this order, if there is one.
    #[must_use]
    pub fn index_on(&self, entity: SchemaEntity, keys: &[KeyId]) -> Option<Index> {
        let is_on = |index: &IndexDescription| index.entity == entity && index.keys == keys;
        let committed = &self.version.schema.indexes;
        let Some(write_set) = self.write_set() else {
            let at = committed.iter().position(is_on)?;
            return Some(self.committed_index(at));
        };
        // A transaction may have made the index after its catalogue was put together.
        let schema = write_set.schema();
        let index = schema.indexes.iter().find(|index| is_on(index))?;
        let at = (committed.iter()).position(|known| known.number == index.number);
        Some(match at {
            Some(at) => self.committed_index(at),
            None => {
                let committed_base = self.committed_base_index(index);
                committed_base.with_top(Top::of_index(self.stack(), index))
            }
        })
    }

    /// Users of a server, by name.
    #[must_use]
    pub fn users(&self) -> &[UserDescription] {
        &self.version.schema.users
    }

    /// The sequence of this name; of a transaction's snapshot as the transaction leaves it.
    #[must_use]
    pub fn sequence(&self, name: &str) -> Option<SequenceDescription> {
        let schema = self.sequence_schema();
        let mut all = schema.sequences.iter();
        all.find(|known| &*known.name == name).cloned()
    }

    /// All sequences by name, as [`Snapshot::sequence`].
    #[must_use]
    pub fn sequences(&self) -> Vec<SequenceDescription> {
        self.sequence_schema().sequences.clone()
    }

    fn sequence_schema(&self) -> Arc<Schema> {
        match self.write_set() {
            Some(write_set) => write_set.schema(),
            None => self.version.schema.clone(),
        }
    }

    /// The index in this place of the version's schema.
    fn committed_index(&self, at: usize) -> Index {
        let version = &*self.version;
        let index = &version.schema.indexes[at];
        let count = version.schema.indexes.len();
        let committed_base = || {
            let views = &version.committed_base.views;
            views
                .indexes
                .get(at, count, || self.committed_base_index(index))
        };
        if !Top::is_any_of_index(self.stack(), index) {
            return committed_base();
        }
        let make = || committed_base().with_top(Top::of_index(self.stack(), index));
        match &self.write_set {
            Some(_) => make(),
            None => version.views.indexes.get(at, count, make),
        }
    }

    /// An index with the committed changes only.
    fn committed_base_index(&self, index: &IndexDescription) -> Index {
        let committed_base = &self.version.committed_base;
        let stored = committed_base.root.catalog.index_numbered(index.number);
        let columns = (index.keys.iter()).map(|key| self.settled_column(index.entity.column(*key)));
        Index::new(
            committed_base.root.pages.clone(),
            stored.unwrap_or(index).clone(),
            columns.collect(),
            IndexOverlay::committed_base(&committed_base.layers, index.number),
        )
    }

    /// What is committed and not in the file, as one set of changes.
    pub(crate) fn net(&self) -> MergedDelta<'_> {
        self.version.stack(None).net()
    }

    /// Entries of an index, which may be yet to be, that are changed: keys from `low` to `high`
    /// inclusive, cut.
    pub(crate) fn index_changes(&self, number: u32, low: &[u8], high: &[u8]) -> IndexEntries {
        let committed_base =
            IndexOverlay::committed_base(&self.version.committed_base.layers, number);
        let overlay = IndexOverlay {
            committed_base: committed_base.as_deref().unwrap_or(&[]),
            top: &Top::of(self.stack(), FilterKey::Index(number)),
            number,
        };
        overlay.entries(low, Some(high))
    }

    /// Type, start and end of a relationship.
    ///
    /// # Errors
    /// [`Error::NoSuchRelationship`]; what pinning gives; [`Error::Damaged`].
    pub fn relationship_endpoints(&self, relationship: RelId) -> Result<(TypeId, NodeId, NodeId)> {
        let missing = || Error::NoSuchRelationship {
            relationship: relationship.0,
        };
        if let Some(write_set) = self.write_set() {
            write_set.read_relationship(relationship.0);
        }
        let changed = self
            .stack()
            .try_find(FilterKey::Relationship(relationship.0), |layer| {
                layer.relationship(relationship)
            })?;
        match changed {
            Some(it) if it.change == Change::Added => Ok((it.rel_type, it.start, it.end)),
            Some(_) => Err(missing()),
            None => self.root().relationship(relationship)?.ok_or_else(missing),
        }
    }
}
