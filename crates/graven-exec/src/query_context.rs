//! What every operator and expression of one running statement shares: snapshot, parameters,
//! budget, cancel flag.
//!
//! # How it works
//! All single look-ups of names, labels, properties and indexes go through here; traversals go to
//! the adjacency itself (see [`crate::pattern`]).

use crate::memory::Memory;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Instant, SystemTime};

use graven_cypher::plan::Inclusion;
use graven_pagecache::stats::PerKind;
use graven_pagecache::{Budget, SpillFile};
use graven_storage::{
    Catalog, Index, IndexRange, KeyId, LabelId, NodeId, NodeRanges, PropertyValue, RelId, Snapshot,
    Transaction, TypeId,
};

use crate::batch::BATCH_ROWS;
use crate::column::{Column, NULL_ID};
use crate::error::{ExecError, Result};
use crate::file_access::FileAccess;
use crate::growth::{Growth, bytes_of_params};
use crate::operators::AdjacencyCache;
use crate::procedures::Procedures;
use crate::property_array::DenseColumns;
use crate::property_gather;
use crate::relationship_runs::RelationshipRuns;
use crate::sources::Sources;
use crate::tuning::Tuning;
use crate::user_function::UserFunctions;
use crate::value::Value;
use crate::writing::{Entity, Writer, deleted};

/// Where the nodes of some labels lie; `None` where that cannot be told.
pub(crate) type Extents = Vec<(LabelId, Option<NodeRanges>)>;

/// Entries of a map, properties of an entity.
pub(crate) type Entries = Vec<(Arc<str>, Value)>;

/// Parameters of a statement by name.
pub type Params = BTreeMap<Arc<str>, Value>;

/// A moment of the system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Seconds since 1970 UTC.
    pub(crate) seconds: i64,
    /// Nanoseconds of the second.
    pub(crate) nanoseconds: u32,
}

impl Moment {
    /// The present one.
    pub(crate) fn now() -> Self {
        Self::of(SystemTime::now())
    }

    fn of(time: SystemTime) -> Self {
        let since = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: since.subsec_nanos(),
        }
    }
}

/// What `date()` and its kin mean by now. What time it was when the statement began is found out
/// when it is first asked for.
#[derive(Debug)]
pub(crate) struct Clocks {
    begun: Instant,
    statement: OnceLock<Moment>,
    transaction: Option<Moment>,
}

impl Clocks {
    /// A statement that began then, in a transaction that began at that time.
    fn new(begun: Instant, transaction: Option<SystemTime>) -> Self {
        Self {
            begun,
            statement: OnceLock::new(),
            transaction: transaction.map(Moment::of),
        }
    }

    /// When the statement began.
    pub(crate) fn statement(&self) -> Moment {
        *self.statement.get_or_init(|| {
            let now = SystemTime::now();
            Moment::of(now.checked_sub(self.begun.elapsed()).unwrap_or(now))
        })
    }

    /// When the transaction began.
    pub(crate) fn transaction(&self) -> Moment {
        self.transaction.unwrap_or_else(|| self.statement())
    }
}

/// What all threads of a statement share and find out as they go.
pub(crate) struct Shared {
    pub(crate) clock: Clocks,
    /// Properties that were asked for often.
    dense: DenseColumns,
    /// Where the nodes of a label lie, of the labels that were asked for.
    extents: Mutex<Extents>,
    /// What threads other than the first did to pages on behalf of the statement.
    pub(crate) thread_pages: Mutex<Option<Box<PerKind>>>,
    /// Lists that were visited so often that all are laid out (EX-40); only where nothing that the
    /// statement sees changes.
    pub(crate) adjacency_cache: Option<AdjacencyCache>,
    /// By which the statement is known where it leaves out rows: no other one has the same.
    pub(crate) leaves_out: Arc<()>,
}

impl Shared {
    /// For a statement that began then, in a transaction that began at that time; `alone`: what it
    /// sees does not change.
    pub(crate) fn new(begun: Instant, transaction: Option<SystemTime>, alone: bool) -> Self {
        Self {
            clock: Clocks::new(begun, transaction),
            dense: DenseColumns::default(),
            extents: Mutex::default(),
            thread_pages: Mutex::default(),
            adjacency_cache: alone.then(AdjacencyCache::new),
            leaves_out: Arc::new(()),
        }
    }
}

/// See the file header.
pub(crate) struct QueryContext {
    pub(crate) snapshot: Snapshot,
    /// Present where the statement writes; the snapshot is then the live one of its transaction.
    pub(crate) writer: Option<Writer>,
    /// The transaction that the statement runs in, whether or not it writes.
    pub(crate) transaction: Option<Arc<Transaction>>,
    /// Nothing that the statement sees changes while it runs, and what it reads is not recorded: it
    /// is in no transaction.
    pub(crate) is_snapshot_stable: bool,
    pub(crate) params: Arc<Params>,
    /// The plan is only shown: nothing runs.
    pub(crate) explains: bool,
    pub(crate) budget: Arc<Budget>,
    pub(crate) spill: Option<Arc<SpillFile>>,
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) procedures: Option<Arc<dyn Procedures>>,
    /// Functions of the program.
    pub(crate) functions: Option<Arc<UserFunctions>>,
    pub(crate) files: FileAccess,
    pub(crate) sources: Arc<Sources>,
    pub(crate) user: Option<Arc<str>>,
    pub(crate) store_uuid: [u8; 16],
    pub(crate) tuning: Tuning,
    pub(crate) batch_limits: BatchLimits,
    /// What the operators hold, for callers that measure it.
    pub(crate) meter: Option<Arc<AtomicU64>>,
    pub(crate) shared: Arc<Shared>,
    /// What the expressions being evaluated hold.
    pub(crate) growth: Arc<Growth>,
}

/// How much a statement makes of rows at once, by the memory limit at its beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchLimits {
    rows: usize,
    bytes: usize,
}

impl BatchLimits {
    /// With a memory limit of `limit` bytes.
    pub(crate) fn within(limit: u64) -> Self {
        /// A batch has a row for so many bytes of the limit, but no fewer rows than these.
        const ROW_SHARE: u64 = 8 << 10;
        const ROWS_LEAST: usize = 64;
        /// The values of a batch of several rows take about this part of the limit, but no less
        /// than these bytes.
        const BYTES_SHARE: u64 = 64;
        const BYTES_LEAST: usize = 4 << 10;
        let part = |share: u64| usize::try_from(limit / share).unwrap_or(usize::MAX);
        Self {
            rows: part(ROW_SHARE).clamp(ROWS_LEAST, BATCH_ROWS),
            bytes: part(BYTES_SHARE).max(BYTES_LEAST),
        }
    }
}

/// A thread is worth this much of the memory limit: it has operators, batches and waiting rows of
/// its own.
const THREAD_BYTES: u64 = 2 << 20;

/// Threads of a statement that may have so many.
pub(crate) fn threads_within(limit: u64, threads: usize) -> usize {
    let worth = usize::try_from(limit / THREAD_BYTES).unwrap_or(usize::MAX);
    threads.min(worth.max(1))
}

impl QueryContext {
    /// Charges what the parameters take here.
    ///
    /// # Errors
    /// The budget has no room for them.
    pub(crate) fn charge_params(&self) -> Result<()> {
        self.growth.keep(bytes_of_params(&self.params))
    }

    /// Nothing held yet, for an operator that can spill.
    pub(crate) fn spilling_memory(&self, operator: &'static str, remedy: &'static str) -> Memory {
        Memory::of_spilling(&self.budget, self.tuning.spill_at, operator, remedy)
    }

    /// What another thread of the same statement, which does not write, runs with.
    pub(crate) fn for_worker(&self) -> Self {
        debug_assert!(
            self.writer.is_none(),
            "CY-50: statements that write run on one thread"
        );
        Self {
            snapshot: self.snapshot.clone(),
            is_snapshot_stable: self.is_snapshot_stable,
            writer: None,
            transaction: self.transaction.clone(),
            params: Arc::clone(&self.params),
            explains: self.explains,
            budget: Arc::clone(&self.budget),
            spill: self.spill.clone(),
            cancel: Arc::clone(&self.cancel),
            procedures: self.procedures.clone(),
            functions: self.functions.clone(),
            files: self.files.clone(),
            sources: Arc::clone(&self.sources),
            user: self.user.clone(),
            store_uuid: self.store_uuid,
            tuning: self.tuning,
            batch_limits: self.batch_limits,
            meter: self.meter.clone(),
            shared: Arc::clone(&self.shared),
            growth: self.growth.for_worker(),
        }
    }

    /// # Errors
    /// [`ExecError::Cancelled`] if the statement was cancelled; [`ExecError::TimedOut`] if its time
    /// is over.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.growth.check()
    }

    /// Rows that what makes rows hands out at once: [`BATCH_ROWS`], and fewer in little memory,
    /// where each may be a long text, or where tests want fewer.
    pub(crate) fn batch_rows(&self) -> usize {
        self.batch_limits.rows.min(self.tuning.batch_rows)
    }

    /// Bytes of values that are computed, or read back, at once.
    pub(crate) fn batch_bytes(&self) -> usize {
        self.batch_limits.bytes
    }

    /// The parameter of this name; where nothing runs, one that was not given is null.
    pub(crate) fn parameter(&self, name: &str) -> Result<&Value> {
        match self.params.get(name) {
            Some(value) => Ok(value),
            None if self.explains => Ok(&Value::Null),
            None => Err(ExecError::MissingParameter {
                name: name.to_owned(),
            }),
        }
    }

    pub(crate) fn label_id(&self, name: &str) -> Option<LabelId> {
        let known = self.snapshot.label(name);
        known.or_else(|| self.writer.as_ref()?.known_label(name))
    }

    pub(crate) fn type_id(&self, name: &str) -> Option<TypeId> {
        let known = self.snapshot.rel_type(name);
        known.or_else(|| self.writer.as_ref()?.known_type(name))
    }

    pub(crate) fn key_id(&self, name: &str) -> Option<KeyId> {
        let known = self.snapshot.key(name);
        known.or_else(|| self.writer.as_ref()?.known_key(name))
    }

    /// The id of a label that the statement writes. A plan that is only shown interns no names: any
    /// number stands for one that is not known.
    pub(crate) fn written_label(&self, name: &str) -> Result<LabelId> {
        Ok(match &self.writer {
            Some(writer) => writer.transaction().label(name)?,
            None => self.label_id(name).unwrap_or(LabelId(u32::MAX)),
        })
    }

    /// As [`QueryContext::written_label`] for a relationship type.
    pub(crate) fn written_type(&self, name: &str) -> Result<TypeId> {
        Ok(match &self.writer {
            Some(writer) => writer.transaction().rel_type(name)?,
            None => self.type_id(name).unwrap_or(TypeId(u32::MAX)),
        })
    }

    /// As [`QueryContext::written_label`] for a property key.
    pub(crate) fn written_key(&self, name: &str) -> Result<KeyId> {
        Ok(match &self.writer {
            Some(writer) => writer.transaction().key(name)?,
            None => self.key_id(name).unwrap_or(KeyId(u32::MAX)),
        })
    }

    /// The id of a key the compiler may not have known: a writing statement may have interned it
    /// since.
    pub(crate) fn key_by_now(&self, compiled: Option<KeyId>, name: &str) -> Option<KeyId> {
        compiled.or_else(|| self.writer.as_ref()?.known_key(name))
    }

    /// A name of the catalogue, which may have come to be after the snapshot was taken.
    fn name(&self, find: impl Fn(&Catalog) -> Option<Arc<str>>) -> Arc<str> {
        if let Some(name) = find(self.snapshot.catalog()) {
            return name;
        }
        let fresh = self.writer.as_ref().map(|w| w.transaction().snapshot());
        let name = fresh.and_then(|snapshot| find(snapshot.catalog()));
        name.unwrap_or_default()
    }

    fn key_name(&self, key: KeyId) -> Arc<str> {
        self.name(|catalog| catalog.key_name(key).cloned())
    }

    /// # Errors
    /// [`ExecError::NoTransaction`] where the statement does not write.
    pub(crate) fn writer(&self) -> Result<&Writer> {
        self.writer.as_ref().ok_or(ExecError::NoTransaction)
    }

    /// Whether something that was read before may be gone.
    fn may_be_gone(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::has_deleted)
    }

    /// # Errors
    /// [`ExecError::DeletedEntity`] if this statement has deleted the node.
    fn check_node(&self, id: u64) -> Result<()> {
        if self.may_be_gone() && !self.snapshot.node_exists(NodeId(id)) {
            return Err(deleted(Entity::Node(NodeId(id))));
        }
        Ok(())
    }

    /// # Errors
    /// [`ExecError::DeletedEntity`] if this statement has deleted the relationship.
    fn check_relationship(&self, id: u64) -> Result<()> {
        if self.may_be_gone() && self.snapshot.relationship_endpoints(RelId(id)).is_err() {
            return Err(deleted(Entity::Relationship(RelId(id))));
        }
        Ok(())
    }

    /// Entries of a map, or the properties of a node or relationship; `None` for null.
    ///
    /// # Errors
    /// Any other value.
    pub(crate) fn property_entries(&self, value: &Value) -> Result<Option<Entries>> {
        Ok(Some(match value {
            Value::Null => return Ok(None),
            Value::Map(map) => map.entries().to_vec(),
            Value::Node(id) => self.all_node_properties(id.0)?,
            Value::Relationship(id) => self.all_relationship_properties(id.0)?,
            other => {
                return Err(ExecError::Type {
                    message: format!(
                        "properties come from a Map, Node or Relationship, this is {}: {other}",
                        other.type_name()
                    ),
                });
            }
        }))
    }

    pub(crate) fn type_name(&self, id: TypeId) -> Arc<str> {
        self.name(|catalog| catalog.type_name(id).cloned())
    }

    pub(crate) fn node_exists(&self, id: u64) -> bool {
        self.snapshot.node_exists(NodeId(id))
    }

    /// Names of the node's labels.
    pub(crate) fn labels_of(&self, id: u64) -> Result<Vec<Arc<str>>> {
        self.check_node(id)?;
        let labels = self.snapshot.labels_of(NodeId(id))?.into_iter();
        let name = |label| self.name(|catalog| catalog.label_name(label).cloned());
        Ok(labels.map(name).collect())
    }

    /// Whether the node has all these labels; `None` is a label the catalogue does not know.
    pub(crate) fn has_all_labels(&self, id: u64, labels: &[Option<LabelId>]) -> Result<bool> {
        self.check_node(id)?;
        for label in labels {
            let Some(label) = label else { return Ok(false) };
            if !self.snapshot.has_label(NodeId(id), *label)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where the nodes with this label lie; `None` in a transaction, which may change it, and where
    /// only asking for each node tells.
    pub(crate) fn extents_of(&self, label: LabelId) -> Option<NodeRanges> {
        self.is_snapshot_stable
            .then(|| self.found_extents(label))
            .flatten()
    }

    /// As [`QueryContext::extents_of`] for a statement that writes nothing.
    fn found_extents(&self, label: LabelId) -> Option<NodeRanges> {
        let extents = self.shared.extents.lock();
        let mut extents = extents.unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = extents.iter().find(|(known, _)| *known == label) {
            return known.clone();
        }
        let ranges = self.snapshot.nodes_with_label(label).ok();
        extents.push((label, ranges.clone()));
        ranges
    }

    /// [`QueryContext::label_ranges`] as far as they lie in `from..to`. Where the statement only
    /// reads, they are found once for all callers: there may be as many as nodes.
    pub(crate) fn label_ranges_within(
        &self,
        label: LabelId,
        (from, to): (u64, u64),
    ) -> Result<Vec<(u64, u64)>> {
        let known = match self.writer {
            None => self.found_extents(label),
            Some(_) => None,
        };
        let known = match known {
            Some(known) => known,
            None => self.snapshot.nodes_with_label(label)?,
        };
        let ranges = known.ranges_from(from);
        let within = ranges.take_while(|range| range.start < to);
        Ok(within
            .map(|range| (range.start, range.end.min(to)))
            .collect())
    }

    /// The nodes with this label, in the little memory that tells them.
    pub(crate) fn labelled(&self, label: LabelId) -> Result<NodeRanges> {
        Ok(self.snapshot.nodes_with_label(label)?)
    }

    /// All nodes.
    pub(crate) fn all_nodes(&self) -> Result<NodeRanges> {
        Ok(self.snapshot.all_nodes()?)
    }

    /// Ascending disjoint id ranges `from..to` of the nodes with this label.
    pub(crate) fn label_ranges(&self, label: LabelId) -> Result<Vec<(u64, u64)>> {
        Ok(pairs(&self.labelled(label)?))
    }

    /// As [`QueryContext::all_node_ranges`] for operators that meet nodes as ends of relationships
    /// alone.
    pub(crate) fn possible_ends(&self) -> Result<Vec<(u64, u64)>> {
        Ok(pairs(&self.snapshot.possible_ends()?))
    }

    /// Ascending disjoint id ranges of all nodes.
    pub(crate) fn all_node_ranges(&self) -> Result<Vec<(u64, u64)>> {
        Ok(pairs(&self.all_nodes()?))
    }

    /// Node ids are below this.
    pub(crate) fn node_id_limit(&self) -> u64 {
        self.snapshot.node_id_limit()
    }

    /// A property of many nodes, [`NULL_ID`] being null; in id order inside, in the given order
    /// outside.
    pub(crate) fn node_properties(&self, ids: &[u64], key: Option<KeyId>) -> Result<Column> {
        if self.may_be_gone() {
            let mut there = ids.iter().filter(|id| **id != NULL_ID);
            there.try_for_each(|id| self.check_node(*id))?;
        }
        let Some(column) = key.and_then(|k| self.snapshot.node_column(k)) else {
            return Ok(Column::Constant(Value::Null, ids.len()));
        };
        if let [only] = ids
            && *only != NULL_ID
        {
            return Ok(Column::Constant(property_gather::one(&column, *only)?, 1));
        }
        if self.is_snapshot_stable
            && !property_gather::ascend(ids)
            && let Some(key) = key
            && let Some(dense) = self.shared.dense.read(key, &column, ids, &self.budget)?
        {
            return Ok(dense);
        }
        property_gather::in_order(ids, |sorted, found| found.append(&column, sorted))
    }

    /// The rows of ascending nodes whose property is this text, found without making values; `None`
    /// if that is not to be had.
    pub(crate) fn nodes_with_text(
        &self,
        ids: &[u64],
        key: Option<KeyId>,
        text: &str,
    ) -> Result<Option<Vec<u32>>> {
        if !self.is_snapshot_stable || self.may_be_gone() || !property_gather::ascend(ids) {
            return Ok(None);
        }
        let mut rows = Vec::new();
        let found = match key.and_then(|key| self.snapshot.node_column(key)) {
            Some(column) => column.find_text(ids, text, &mut rows)?,
            None => true,
        };
        Ok(found.then_some(rows))
    }

    /// A property of many relationships, as [`QueryContext::node_properties`].
    pub(crate) fn relationship_properties(
        &self,
        ids: &[u64],
        key: Option<KeyId>,
    ) -> Result<Column> {
        if self.may_be_gone() {
            let mut there = ids.iter().filter(|id| **id != NULL_ID);
            there.try_for_each(|id| self.check_relationship(*id))?;
        }
        let Some(key) = key else {
            return Ok(Column::Constant(Value::Null, ids.len()));
        };
        if let [only] = ids
            && *only != NULL_ID
        {
            let (rel_type, _) = self.run_of_type(ids, 0)?;
            let column = self.snapshot.relationship_column(rel_type, key);
            let value = column
                .map(|column| property_gather::one(&column, *only))
                .transpose()?;
            return Ok(Column::Constant(value.unwrap_or_default(), 1));
        }
        property_gather::in_order(ids, |sorted, found| {
            // Ids are assigned type by type, so the sorted ids of one type are mostly one run.
            let mut from = 0;
            while from < sorted.len() {
                let (rel_type, to) = self.run_of_type(sorted, from)?;
                match self.snapshot.relationship_column(rel_type, key) {
                    Some(column) => found.append(&column, &sorted[from..to])?,
                    None => found.append_nulls(to - from),
                }
                from = to;
            }
            Ok(())
        })
    }

    /// A property of the relationships of one type that these runs hold, in their order.
    pub(crate) fn properties_of_runs(
        &self,
        rel_type: TypeId,
        runs: &RelationshipRuns,
        key: Option<KeyId>,
    ) -> Result<Column> {
        if !self.may_be_gone()
            && let Some(key) = key
            && let Some(column) = self.snapshot.relationship_column(rel_type, key)
        {
            let mut numbers = Vec::with_capacity(runs.len());
            let mut whole = true;
            for ids in runs.iter() {
                whole = column.gather_integers_in(ids, &mut numbers)?;
                if !whole {
                    break;
                }
            }
            if whole {
                return Ok(Column::Integers(numbers));
            }
        }
        let ids: Vec<u64> = runs.iter().flatten().collect();
        self.relationship_properties(&ids, key)
    }

    /// The type of the relationship at `from` of ascending ids, and where ids of another type
    /// follow.
    fn run_of_type(&self, sorted: &[u64], from: usize) -> Result<(TypeId, usize)> {
        if !self.may_be_gone()
            && let Some((rel_type, end)) = self.snapshot.catalog().extent_of(RelId(sorted[from]))
        {
            let len = sorted[from..].partition_point(|id| *id < end.0);
            return Ok((rel_type, from + len));
        }
        let rel_type = self.relationship_type(sorted[from])?;
        let mut to = from + 1;
        while to < sorted.len() && self.relationship_type(sorted[to])? == rel_type {
            to += 1;
        }
        Ok((rel_type, to))
    }

    /// All properties of a node, by key.
    pub(crate) fn all_node_properties(&self, id: u64) -> Result<Vec<(Arc<str>, Value)>> {
        self.check_node(id)?;
        let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
        for key in self.snapshot.node_keys(NodeId(id))? {
            let value = self.node_properties(&[id], Some(key))?.value(0);
            if !value.is_null() {
                entries.push((self.key_name(key), value));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// All properties of a relationship, by key.
    pub(crate) fn all_relationship_properties(&self, id: u64) -> Result<Vec<(Arc<str>, Value)>> {
        self.check_relationship(id)?;
        let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
        for key in self.snapshot.relationship_keys(RelId(id))? {
            let value = self.relationship_properties(&[id], Some(key))?.value(0);
            if !value.is_null() {
                entries.push((self.key_name(key), value));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    pub(crate) fn relationship_type(&self, id: u64) -> Result<TypeId> {
        if self.may_be_gone()
            && let Some(rel_type) = self.writer.as_ref().and_then(|w| w.deleted_type(id))
        {
            return Ok(rel_type);
        }
        match self.snapshot.catalog().type_of(RelId(id)) {
            Some(rel_type) => Ok(rel_type),
            None => Ok(self.snapshot.relationship_endpoints(RelId(id))?.0),
        }
    }

    /// Start and end of a relationship.
    pub(crate) fn endpoints(&self, id: u64) -> Result<(NodeId, NodeId)> {
        let (_, start, end) = self.snapshot.relationship_endpoints(RelId(id))?;
        Ok((start, end))
    }

    /// The text by which other programs may name a node (`n`) or relationship (`r`).
    pub(crate) fn element_id(&self, kind: char, id: u64) -> String {
        use std::fmt::Write as _;
        let mut text = String::with_capacity(48);
        for byte in self.store_uuid {
            let _ = write!(text, "{byte:02x}");
        }
        let _ = write!(text, ":{kind}:{id}");
        text
    }

    /// The id in a text that [`QueryContext::element_id`] gives; none for any other text, or one of
    /// another store.
    pub(crate) fn of_element_id(&self, kind: char, text: &str) -> Option<u64> {
        let (_, id) = text.rsplit_once(':')?;
        let id = id.parse().ok()?;
        (self.element_id(kind, id) == text).then_some(id)
    }

    /// Whether there is such a relationship.
    pub(crate) fn relationship_exists(&self, id: u64) -> Result<bool> {
        match self.snapshot.relationship_endpoints(RelId(id)) {
            Ok(_) => Ok(true),
            Err(graven_storage::Error::NoSuchRelationship { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds the nodes whose indexed property equals `value`, ascending, if they are few and there
    /// is such an index; `false` if not.
    pub(crate) fn index_find(
        &self,
        label: LabelId,
        key: KeyId,
        value: &Value,
        nodes: &mut Vec<u64>,
    ) -> Result<bool> {
        /// This many are few.
        const FEW: usize = 16;
        self.in_index(label, key, value, |index, value| {
            Ok(index.find(value, FEW, nodes)?)
        })
    }

    /// Adds the nodes whose indexed property equals `value`; false if there is no such index.
    pub(crate) fn index_seek(
        &self,
        label: LabelId,
        key: KeyId,
        value: &Value,
        nodes: &mut Vec<u64>,
    ) -> Result<bool> {
        self.in_index(label, key, value, |index, value| {
            nodes.extend(index.seek(value)?.into_iter().map(|n| n.0));
            Ok(true)
        })
    }

    /// Asks the index on a property for a value; `false` if there is no such index, `true` if no
    /// property can have the value.
    fn in_index(
        &self,
        label: LabelId,
        key: KeyId,
        value: &Value,
        ask: impl FnOnce(&Index, &PropertyValue) -> Result<bool>,
    ) -> Result<bool> {
        match (
            self.snapshot.index(label, key),
            crate::value::convert::to_stored(value),
        ) {
            (None, _) => Ok(false),
            (Some(_), None) => Ok(true),
            (Some(index), Some(value)) => ask(&index, &value),
        }
    }

    /// The nodes whose indexed property lies in the range, one by one; `None` if there is no such
    /// index.
    pub(crate) fn index_range(
        &self,
        label: LabelId,
        key: KeyId,
        low: Option<&(Value, Inclusion)>,
        high: Option<&(Value, Inclusion)>,
    ) -> Result<Option<Found>> {
        let Some(index) = self.snapshot.index(label, key) else {
            return Ok(None);
        };
        let stored = |bound: Option<&(Value, Inclusion)>| {
            bound.map(|(value, inclusion)| (crate::value::convert::to_stored(value), *inclusion))
        };
        let (low, high) = (stored(low), stored(high));
        let is_nothing = |bound: &Option<(Option<PropertyValue>, Inclusion)>| {
            matches!(bound, Some((None | Some(PropertyValue::Null), _)))
        };
        // What is not a stored value compares with no property.
        if is_nothing(&low) || is_nothing(&high) {
            return Ok(Some(Found::Nothing));
        }
        let range = index.range(index_bound(low.as_ref()), index_bound(high.as_ref()))?;
        Ok(Some(Found::Index(Box::new(range))))
    }
}

/// Nodes being found in an index.
pub(crate) enum Found {
    /// No value can match.
    Nothing,
    /// What is left of a range.
    Index(Box<IndexRange>),
}

impl Found {
    /// Adds up to `room` nodes; fewer are added only at the end.
    pub(crate) fn take(&mut self, room: usize, nodes: &mut Vec<u64>) -> Result<()> {
        if let Found::Index(range) = self {
            for node in range.take(room) {
                nodes.push(node?.0);
            }
        }
        Ok(())
    }
}

fn index_bound(bound: Option<&(Option<PropertyValue>, Inclusion)>) -> Bound<&PropertyValue> {
    match bound {
        Some((Some(value), Inclusion::Inclusive)) => Bound::Included(value),
        Some((Some(value), Inclusion::Exclusive)) => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}

fn pairs(ranges: &NodeRanges) -> Vec<(u64, u64)> {
    ranges.ranges().map(|r| (r.start, r.end)).collect()
}
