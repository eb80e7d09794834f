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

mod columns;
mod indexes;
mod nodes;
mod values;

use crate::adjacency::Adjacency;
use crate::catalog::Catalog;
use crate::data_file::FileRoot;
use crate::delta::change::Change;
use crate::delta::filter_key::FilterKey;
use crate::delta::merged_delta::MergedDelta;
use crate::delta::overlay::{AdjacencyOverlay, Stack, Top};
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::sequences::{self, SequenceDescription};
use crate::store::allocator::{NameKind, NameLists};
use crate::transaction::write_set::{WriteSet, WriteSetSide};
use crate::users::UserDescription;
use crate::version::Version;
use crate::version::schema::Schema;
use crate::{Error, Result};
use graven_pagecache::PageCache;
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

    /// Bytes of all commits since the store was opened, also of what they replaced: a measure of
    /// how much has changed.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.version.written_bytes
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

    /// Relationships in all, which is no read of them.
    #[must_use]
    pub fn relationship_count(&self) -> u64 {
        let stored = self.root().catalog.statistics.relationships;
        let changed = self.stack().counted(|counts| counts.relationships);
        stored.saturating_add_signed(changed)
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

    /// Users of a server, by name.
    #[must_use]
    pub fn users(&self) -> &[UserDescription] {
        &self.version.schema.users
    }

    /// The sequence of this name; of a transaction's snapshot as the transaction leaves it.
    #[must_use]
    pub fn sequence(&self, name: &str) -> Option<SequenceDescription> {
        let schema = self.sequence_schema();
        sequences::named(&schema.sequences, name).cloned()
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

    /// What is committed and not in the file, as one set of changes.
    pub(crate) fn net(&self) -> MergedDelta<'_> {
        self.version.stack(None).net()
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
