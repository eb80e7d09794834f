//! Opening with a log: what was committed since the checkpoint becomes the first version again.
//!
//! # How it works
//! Commits are read in order and put together into batches; for each batch the entries of indexes and the counts
//! are derived by comparing the graph before and after it. The result is what the commits had made. What is too much for
//! memory goes to temporary pages, as for a large transaction ([`crate::transaction::spill`]), or, where there are none, is folded
//! into the file. Otherwise nothing is written but the destroyed torn tail (by [`graven_log::Log::open`]), so a crash while recovering changes nothing and
//! recovering twice gives the same.
//!
//! Where [`OpenOptions::threads`] allows it, the maps of a layer that goes to temporary pages are written side by side.
//!
//! The log is made when the first commit needs it: a database that is only read stays as it is. The superblocks
//! then name its generation, and from there on the database does not open without it.
//!
//! # Invariants
//! * TX-11: both superblocks name the log's generation before anything committed to it is acknowledged.
//! * TX-12: recovering is a function of base and log.

use crate::bytes::{Malformed, Reader};
use crate::checkpoint::CheckpointOptions;
use crate::delta::batch::Batch;
use crate::delta::counts::Counts;
use crate::delta::layer::{Change, ColumnOf, Layer, NodeChange, ValueMap};
use crate::delta::redo::{self, Decoder, Head, NAME_KINDS, NamesLogged};
use crate::ids::{LabelId, NodeId, RelId, TypeId};
use crate::index::cut;
use crate::schema::SchemaEntity;
use crate::snapshot::Snapshot;
use crate::store::maintenance::CHANGES_SHARE;
use crate::store::{LogPlace, Root, Store};
use crate::superblock::LogPosition;
use crate::transaction::commit::Changes;
use crate::transaction::index_entries::key_in;
use crate::transaction::options::Isolation;
use crate::transaction::own::Own;
use crate::transaction::schema_change::{drop_lost_indexes, for_each_key};
use crate::transaction::spill::{Sealing, merged, sealed_onto};
use crate::version::recent::Recent;
use crate::{Error, Result};
use foldhash::HashMap;
use graven_io::File;
use graven_log::{Identity, Kind, Log, LogOptions, Lsn, Record, Recovery, Start};
use graven_pagecache::{PageCache, Reservation, SizeClass, SpillFile, TemporaryPage};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Commits are put together until their changes take this many bytes, or this part of the memory limit: nobody else uses it
/// yet, and fewer and larger layers are merged less.
const BATCH_BYTES_MAX: u64 = 64 << 20;
const BATCH_SHARE: u64 = 4;
/// Memory of a batch is charged in steps of this many bytes.
const BATCH_STEP: u64 = 128 << 10;
/// With more relationships than this a batch goes to temporary pages, even where memory would hold it: writing sorted lists
/// there costs a fraction of making maps of them.
const LISTED_MAX: usize = 100_000;
/// Sealed layers that are merged into one.
const RECOVERY_TIER: usize = 32;
/// So many patterns are counted before they go into the layer's counts.
const PATTERNS_MAX: usize = 1024;
/// Chunks of large transactions are kept in temporary pages of 64 KiB.
const CHUNK_PAGE_BYTES: usize = (64 << 10) - 64;

/// How a store with a log is opened.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Where the log is.
    pub log: Box<dyn LogPlace>,
    /// Why nothing may be written; `None` if it may.
    pub read_only: Option<String>,
    /// How a new log is made and an old one driven.
    pub log_options: LogOptions,
    /// Whether a thread makes a checkpoint when changes or log have grown; without it only who asks makes one, and a
    /// commit that finds no room.
    pub own_checkpoints: bool,
    /// Where transactions go that are larger than memory; without it they fail.
    pub spill: Option<Arc<SpillFile>>,
    /// Changes of more bytes than this go there; `None`: than an eighth of the memory limit.
    pub seal_bytes: Option<u64>,
    /// Threads that recover, the calling one among them: what a log says of different stores is put in order side by side.
    pub threads: usize,
}

impl OpenOptions {
    /// For reading and writing, with the log at `log`.
    #[must_use]
    pub fn new(log: Box<dyn LogPlace>) -> OpenOptions {
        OpenOptions {
            log,
            read_only: None,
            log_options: LogOptions::default(),
            own_checkpoints: true,
            spill: None,
            seal_bytes: None,
            threads: 1,
        }
    }
}

/// A log that is part of the store's state.
#[derive(Debug)]
pub(crate) struct LogSetup {
    pub(crate) place: Box<dyn LogPlace>,
    pub(crate) options: LogOptions,
}

fn failed(path: &std::path::Path, error: impl std::fmt::Display) -> Error {
    Error::Log {
        path: path.to_path_buf(),
        what: error.to_string(),
    }
}

impl Store {
    /// How recovery seals layers: a checkpoint merges them soon, so they become one only where they are many.
    fn sealing(&self) -> Sealing {
        Sealing {
            tier: RECOVERY_TIER,
            threads: self.recovery_threads,
        }
    }

    /// Opens `file` with its log: recovers what was committed since the last checkpoint.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Log`] for a log that is missing, damaged, or another store's;
    /// [`Error::Budget`] where the changes since the checkpoint do not fit the memory limit.
    ///
    /// # Panics
    /// Never: a log is set once, here.
    pub fn open_with(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
        options: OpenOptions,
    ) -> Result<Arc<Store>> {
        Store::open_despite(file, cache, options, &mut Err)
    }

    /// As [`Store::open_with`]; `despite` is told of damage to a log that is only read, and whether what lies before it does.
    pub(crate) fn open_despite(
        file: Arc<dyn File>,
        cache: Arc<PageCache>,
        options: OpenOptions,
        despite: &mut dyn FnMut(Error) -> Result<()>,
    ) -> Result<Arc<Store>> {
        let OpenOptions {
            log,
            read_only,
            log_options,
            own_checkpoints,
            spill,
            seal_bytes,
            threads,
        } = options;
        let reading_only = read_only.is_some();
        let setup = LogSetup {
            place: log,
            options: log_options,
        };
        let mut store = Store::open_base(file, cache, Some(setup), read_only)?;
        store.spill = spill;
        store.seal_bytes = seal_bytes.unwrap_or(store.seal_bytes);
        store.recovery_threads = threads;
        if !own_checkpoints {
            store.maintenance().stop();
        }
        let LogPosition {
            generation,
            position,
            clean_end,
        } = store.superblock().superblock.log;
        if generation == 0 {
            return Ok(Arc::new(store));
        }
        let setup = store.log_setup.as_ref().expect("given above");
        let Some(log_file) = setup.place.existing()? else {
            if clean_end > 0 && clean_end == position {
                // Closed cleanly with everything in the data file.
                return Ok(Arc::new(store));
            }
            let what = "the log of this database is missing; put it back beside the data file, or \
                        copy what the data file has with `graven salvage`";
            let path = setup.place.path();
            return Err(failed(&path, what));
        };
        let path = log_file.path().to_path_buf();
        let identity = Identity {
            uuid: store.uuid(),
            generation,
        };
        let start = Start {
            from: Lsn(position),
            clean_end: (clean_end > 0).then_some(Lsn(clean_end)),
        };
        let recovery = if reading_only {
            let opened = Recovery::open_damaged(log_file, identity, start);
            let (recovery, damage) = opened.map_err(|error| failed(&path, error))?;
            damage.map_or(Ok(()), |damage| despite(failed(&path, damage)))?;
            recovery
        } else {
            let opened = Log::open(log_file, identity, start, setup.options);
            let (log, recovery) = opened.map_err(|error| failed(&path, error))?;
            assert!(store.log.set(log).is_ok(), "the log is opened once");
            recovery
        };
        Replay::new(&store).run(recovery, &path)?;
        let store = Arc::new(store);
        let version = store.commits().applied.clone();
        if store.wants_checkpoint(&version, 0) {
            store.maintenance().ask(&store);
        }
        Ok(store)
    }

    /// The log, made if there is none yet; `None` for a store without one.
    pub(crate) fn log_for_writing(&self) -> Result<Option<&Log>> {
        if let Some(log) = self.log() {
            return Ok(Some(log));
        }
        let Some(setup) = &self.log_setup else {
            return Ok(None);
        };
        // The commit lock keeps a second one from being made.
        let mut commits = self.commits();
        if let Some(log) = self.log() {
            return Ok(Some(log));
        }
        let file = setup.place.create()?;
        let path = file.path().to_path_buf();
        let known = self.superblock().superblock.log;
        let identity = Identity {
            uuid: self.uuid(),
            generation: known.generation + 1,
        };
        self.check_unused(&file, identity)?;
        let position = known.position.max(known.clean_end).max(commits.applied.lsn);
        let options = LogOptions {
            first: Lsn(position),
            ..setup.options
        };
        let log = Log::create(file, identity, options).map_err(|error| failed(&path, error))?;
        self.rewrite_superblocks(2, |block| {
            block.log = LogPosition {
                generation: identity.generation,
                position,
                clean_end: 0,
            };
        })?;
        commits.logged = NamesLogged::of(&commits.applied.names);
        // Still under the lock: whoever waits for it must find this log, not make another over it.
        Ok(Some(self.log.get_or_init(|| log)))
    }

    /// Makes sure that what is in a file where the log is to be made is not needed by anybody.
    fn check_unused(&self, file: &Arc<dyn File>, identity: Identity) -> Result<()> {
        let mut head = [0; 64];
        let got = file.read_at(&mut head, 0)?;
        if head[..got].iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        // Made by a process that died before the superblocks named it, or left over from a clean close.
        for generation in [identity.generation, identity.generation - 1] {
            let identity = Identity {
                generation,
                ..identity
            };
            if Recovery::open(file.clone(), identity, Start::default()).is_ok() {
                return Ok(());
            }
        }
        Err(failed(
            file.path(),
            "another file or the log of another database is where the log of this one is to be; move it away",
        ))
    }

    /// Makes everything durable and notes the end of the log in the superblock. Later commits fail.
    ///
    /// # Errors
    /// [`Error::LogFailed`]; the superblock cannot be written.
    pub fn close(&self) -> Result<()> {
        self.maintenance().stop();
        let _no_checkpoint = self.checkpointer().pause();
        let Some(log) = self.log() else {
            return Ok(());
        };
        let commits = self.commits();
        // With the lock held nothing comes after.
        self.settle(commits.applied.lsn, commits.applied.timestamp)?;
        let end = log
            .close()
            .map_err(|error| failed(self.file().path(), error))?;
        if self.superblock().superblock.log.clean_end == end.0 {
            return Ok(());
        }
        self.rewrite_superblocks(1, |block| block.log.clean_end = end.0)
    }
}

/// Puts the records of a log on top of a store.
struct Replay<'a> {
    store: &'a Store,
    /// Chunks of transactions whose commit has not come yet.
    open: HashMap<u64, Vec<Chunk>>,
    batch: Batch,
    reservation: Reservation,
    /// What was recovered so far takes too much memory.
    crowded: bool,
    /// End of the newest commit in the batch.
    lsn: u64,
    commits: u64,
}

impl<'a> Replay<'a> {
    fn new(store: &'a Store) -> Replay<'a> {
        Replay {
            store,
            open: HashMap::default(),
            batch: Batch::default(),
            reservation: store.budget().empty_reservation("recovered changes"),
            crowded: false,
            lsn: 0,
            commits: 0,
        }
    }

    fn run(mut self, recovery: Recovery, path: &std::path::Path) -> Result<()> {
        for record in recovery {
            let record = record.map_err(|error| failed(path, error))?;
            let lsn = record.start;
            self.record(&record, path)?.map_err(|Malformed(what)| {
                let what = format!(
                    "the record at LSN {lsn} cannot be understood: {what}; the log was not changed, `graven \
                     salvage` copies what can still be read"
                );
                failed(path, what)
            })?;
        }
        self.flush(None)?;
        let mut commits = self.store.commits();
        commits.logged = NamesLogged::of(&self.store.allocator().names());
        if self.store.read_only().is_some()
            && let Some(pages) = self.store.temporary_pages()
        {
            // No checkpoint ever merges them, and every reader would look into all. Where there is no room for that, they do.
            let below = &commits.applied.below;
            if let Ok(below) = merged(self.store, &pages, self.store.sealing(), below) {
                self.store
                    .replace(&mut commits, |version| version.below = below);
            }
        }
        Ok(())
    }

    /// The inner error is for bytes that make no sense.
    fn record(&mut self, record: &Record, path: &std::path::Path) -> Result<Result<(), Malformed>> {
        if self.crowded {
            self.make_room()?;
        }
        let mut reader = Reader::new(&record.payload);
        self.store.allocator().seen_transaction(record.transaction);
        match record.kind {
            Kind::Chunk => {
                let chunk = Chunk::keep(self.store, &record.payload)?;
                self.open.entry(record.transaction).or_default().push(chunk);
                return Ok(Ok(()));
            }
            Kind::Abort => {
                self.open.remove(&record.transaction);
                return Ok(Ok(()));
            }
            Kind::Checkpoint => return Ok(Ok(())),
            Kind::Commit => {}
            other => return Err(failed(path, format!("unknown kind of record {other:?}"))),
        }
        let head = match Head::decode(&mut reader) {
            Ok(head) => head,
            Err(malformed) => return Ok(Err(malformed)),
        };
        if let Err(malformed) = self.names(&head) {
            return Ok(Err(malformed));
        }
        if head.schema.is_some() {
            self.flush(None)?;
        }
        // Chunks are parts of the net change: one after the other they come to the same.
        for chunk in self.open.remove(&record.transaction).unwrap_or_default() {
            let payload = chunk.read()?;
            if let Err(malformed) = self.put(&mut Reader::new(&payload))? {
                return Ok(Err(malformed));
            }
            if self.is_full() {
                self.flush(None)?;
            }
        }
        if let Err(malformed) = self.put(&mut reader)? {
            return Ok(Err(malformed));
        }
        self.store.commits().clients.add(head.client_id);
        self.lsn = record.end.0;
        self.commits += 1;
        if head.schema.is_some() || self.is_full() {
            self.flush(head.schema.as_deref())?;
            // What is too much for memory goes to temporary pages, where there are any.
            let applied = self.store.commits().applied.clone();
            let limit = self.store.budget().limit() / CHANGES_SHARE;
            self.crowded = self.store.temporary_pages().is_none() && applied.active.bytes() > limit;
        }
        Ok(Ok(()))
    }

    /// Whether the batch is to be applied before more comes: it is large, or there is no memory for more.
    fn is_full(&mut self) -> bool {
        let bytes = self.batch.bytes();
        let limit = self.store.budget().limit() / BATCH_SHARE;
        let step = bytes.next_multiple_of(BATCH_STEP);
        bytes > limit.min(BATCH_BYTES_MAX)
            || step > self.reservation.bytes() && self.reservation.resize(step).is_err()
    }

    /// Puts sections on top of the batch, which is applied before more comes where it is full.
    fn put(&mut self, reader: &mut Reader<'_>) -> Result<Result<(), Malformed>> {
        let mut decoder = Decoder::new();
        loop {
            match decoder.step(reader, &mut self.batch) {
                Ok(true) if reader.remaining() > 0 && self.is_full() => self.flush(None)?,
                Ok(true) => {}
                Ok(false) => return Ok(Ok(())),
                Err(malformed) => return Ok(Err(malformed)),
            }
        }
    }

    /// Folds what was recovered into the file. Not while chunks are open: the log would be cut between them and their
    /// commit (TX-13). Nor after the last record: whoever opens the store does not wait for that.
    fn make_room(&mut self) -> Result<()> {
        let store = self.store;
        if self.open.is_empty() && store.read_only().is_none() {
            self.crowded = false;
            store.commits().logged = NamesLogged::of(&store.allocator().names());
            store.checkpoint(CheckpointOptions {
                paced: false,
                compact: false,
            })?;
        }
        Ok(())
    }

    fn names(&self, head: &Head) -> Result<(), Malformed> {
        for (kind, (first, names)) in NAME_KINDS.into_iter().zip(&head.names) {
            for (number, name) in (*first..).zip(names) {
                let got = self.store.allocator().intern(kind, name);
                if got != number {
                    return Err(Malformed(format!(
                        "{kind:?} {name:?} has number {number} there and {got} here"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Puts the batch on top of the store, with the indexes and constraints of `schema` from there on.
    fn flush(&mut self, schema: Option<&[u8]>) -> Result<()> {
        if self.commits == 0 && self.batch.is_empty() {
            return Ok(());
        }
        let store = self.store;
        let batch = std::mem::take(&mut self.batch);
        let mut raw = batch.into_layer();
        self.reservation.shrink(self.reservation.bytes());
        let allocator = store.allocator();
        let last = |id: Option<u64>| id.map_or(0, |id| id.saturating_add(1));
        allocator.seen(last(raw.nodes.last()), last(raw.relationships.last()));
        let mut commits = store.commits();
        let before = commits.applied.clone();
        let first = before.active.is_empty() && before.recent.is_empty();
        let listed = before.active.relationships.len() + raw.relationships.len();
        let is_large = |bytes: u64| bytes > store.seal_bytes() || listed > LISTED_MAX;
        let is_sealed = is_large(raw.bytes()) && store.temporary_pages().is_some();
        // What goes to temporary pages at once gets its lists there.
        if !(first && is_sealed && schema.is_none()) {
            raw.enter_lists();
        }
        let own = Arc::new(Own::new(
            before.schema.clone(),
            Isolation::Snapshot,
            allocator.clone(),
        ));
        own.change(|layer| *layer = raw);
        let views = Views {
            before: Snapshot::new(before.clone()),
            after: Snapshot::of_transaction(before.clone(), own.clone()),
            own: &own,
            store,
        };
        views.derive_counts();
        views.derive_entries()?;
        if let Some(bytes) = schema {
            views.change_schema(bytes)?;
        }
        let (layer, below) = own.look(Layer::clone);
        let changes = Changes { below, layer };
        commits.reservation.grow(changes.layer.bytes())?;
        let mut version = before.copy();
        changes.put_on(&mut version, &mut commits, store);
        version.settle();
        let (mut below, mut active) = (version.below, version.active);
        if is_large(active.bytes())
            && let Some(pages) = store.temporary_pages()
        {
            // No checkpoint may begin while part of a transaction is applied.
            below = sealed_onto(store, &pages, store.sealing(), &below, &active)?;
            active = Layer::default();
            let bytes = commits.reservation.bytes();
            commits.reservation.shrink(bytes);
        }
        let (lsn, count) = (self.lsn, std::mem::take(&mut self.commits));
        store.replace(&mut commits, |version| {
            version.below = below;
            version.active = active;
            version.recent = Recent::default();
            version.schema = own.schema();
            drop_lost_indexes(&mut version.active, &version.schema);
            version.timestamp += count;
            version.lsn = lsn;
            version.names = allocator.names();
            version.next_node = allocator.next_node();
            version.next_relationship = allocator.next_relationship();
        });
        Ok(())
    }
}

/// The graph before and after a batch.
struct Views<'a> {
    before: Snapshot,
    after: Snapshot,
    own: &'a Arc<Own>,
    store: &'a Store,
}

/// A chunk of a transaction, in temporary pages where the store has them.
enum Chunk {
    Memory(Vec<u8>),
    Pages(Vec<TemporaryPage>),
}

impl Chunk {
    fn keep(store: &Store, payload: &[u8]) -> Result<Chunk> {
        let Some(out) = store.temporary_pages() else {
            return Ok(Chunk::Memory(payload.to_vec()));
        };
        let mut pages = Vec::new();
        for piece in payload.chunks(CHUNK_PAGE_BYTES) {
            let class = SizeClass::for_payload_bytes(piece.len()).unwrap_or(SizeClass::MAX);
            let mut page = out.allocate(class)?;
            page[..piece.len()].copy_from_slice(piece);
            pages.push(page.finish(piece.len()));
        }
        Ok(Chunk::Pages(pages))
    }

    fn read(self) -> Result<Vec<u8>> {
        match self {
            Chunk::Memory(payload) => Ok(payload),
            Chunk::Pages(pages) => {
                let mut payload = Vec::new();
                for page in pages {
                    payload.extend_from_slice(&page.pin()?);
                }
                Ok(payload)
            }
        }
    }
}

/// Label sets by numbers: those of the base have theirs.
struct LabelSets<'a> {
    base: &'a Root,
    sets: Vec<Arc<[LabelId]>>,
    /// Numbers of those that were met in changes.
    others: HashMap<Arc<[LabelId]>, u32>,
}

impl<'a> LabelSets<'a> {
    fn new(base: &'a Root) -> LabelSets<'a> {
        let sets = base.catalog.label_sets.iter();
        LabelSets {
            base,
            sets: sets.map(|set| set.as_slice().into()).collect(),
            others: HashMap::default(),
        }
    }

    fn number(&mut self, labels: &[LabelId]) -> u32 {
        if let Some(number) = self.others.get(labels) {
            return *number;
        }
        let (labels, number) = (Arc::<[LabelId]>::from(labels), self.sets.len() as u32);
        self.sets.push(labels.clone());
        self.others.insert(labels, number);
        number
    }

    /// The number of a node's labels, of none if there is no such node. `in_base`: no layer of `view` knows any node.
    fn of(&mut self, view: &Snapshot, in_base: bool, node: NodeId) -> u32 {
        match self.base.labels.set_of(node).filter(|_| in_base) {
            Some(set) => set,
            None => view.with_labels(node, |labels| self.number(labels.unwrap_or_default())),
        }
    }
}

/// Relationships counted by the labels of their ends.
#[derive(Default)]
struct Patterns {
    counts: HashMap<(u32, TypeId, u32), i64>,
    /// The pattern that was counted last, with what is not in `counts` yet: mostly the next one is the same.
    last: Option<((u32, TypeId, u32), i64)>,
}

impl Patterns {
    /// Counts `by` relationships; now and then all go to `counts`.
    fn count(
        &mut self,
        pattern: (u32, TypeId, u32),
        by: i64,
        sets: &LabelSets<'_>,
        counts: &mut Counts,
    ) {
        match &mut self.last {
            Some((last, count)) if *last == pattern => *count += by,
            last => {
                if let Some((before, count)) = last.replace((pattern, by)) {
                    *self.counts.entry(before).or_default() += count;
                }
                if self.counts.len() >= PATTERNS_MAX {
                    self.empty_into(sets, counts);
                }
            }
        }
    }

    fn empty_into(&mut self, sets: &LabelSets<'_>, counts: &mut Counts) {
        for ((start, rel_type, end), by) in self.counts.drain().chain(self.last.take()) {
            let [start, end] = [start, end].map(|set| &sets.sets[set as usize]);
            counts.relationships(start, rel_type, end, by);
        }
    }
}

impl Views<'_> {
    /// Seals what was derived so far where it takes too much memory.
    fn make_room(&self) -> Result<()> {
        if self.own.layer().bytes() > self.store.seal_bytes()
            && let Some(pages) = self.store.temporary_pages()
        {
            let (layer, below) = self.own.look(Layer::clone);
            let below = sealed_onto(self.store, &pages, self.store.sealing(), &below, &layer)?;
            self.own.set_layers(below, Layer::default());
        }
        Ok(())
    }

    fn derive_counts(&self) {
        let layer = self.own.layer().clone();
        let mut counts = layer.counts.clone();
        let mut patterns = Patterns::default();
        let mut sets = LabelSets::new(self.before.root());
        let in_base = !self.before.nodes_changed();
        for (id, change) in layer.nodes.iter() {
            let node = NodeId(id);
            if !matches!(change, NodeChange::Created(_)) && self.before.node_exists(node) {
                let number = sets.of(&self.before, in_base, node);
                counts.nodes(&sets.sets[number as usize], -1);
            }
            if let Some(labels) = change.labels() {
                counts.nodes(labels, 1);
            }
        }
        layer.relationships.iter().for_each(|(_, it)| {
            let mut labels = |node: NodeId| {
                // A node that went has those that it had, if its relationship goes with it.
                let changed = layer
                    .nodes
                    .get(node.0)
                    .filter(|_| it.change == Change::Added);
                match changed {
                    Some(change) => sets.number(change.labels().map_or(&[], |labels| labels)),
                    None => sets.of(&self.before, in_base, node),
                }
            };
            let pattern = (labels(it.start), it.rel_type, labels(it.end));
            let by = if it.change == Change::Added { 1 } else { -1 };
            patterns.count(pattern, by, &sets, &mut counts);
        });
        patterns.empty_into(&sets, &mut counts);
        self.own.change(|layer| layer.counts = counts);
    }

    /// Entries of the indexes that were there before.
    fn derive_entries(&self) -> Result<()> {
        let layer = self.own.layer().clone();
        for index in &self.own.schema().indexes {
            let mut ids: BTreeSet<u64> = match index.entity {
                SchemaEntity::Node(_) => layer.nodes.ids().collect(),
                SchemaEntity::Relationship(rel_type) => (layer.relationships.iter())
                    .filter(|(_, it)| it.rel_type == rel_type)
                    .map(|(id, _)| id)
                    .collect(),
            };
            for key in &index.keys {
                let of = match index.entity {
                    SchemaEntity::Node(_) => ColumnOf::Node(*key),
                    SchemaEntity::Relationship(of) => ColumnOf::Relationship(of, *key),
                };
                ids.extend(layer.column(of).into_iter().flat_map(ValueMap::ids));
            }
            for id in ids {
                let key = |view: &Snapshot| match concerns(view, index.entity, id)? {
                    false => Ok(None),
                    true => key_in(view, index, id, None),
                };
                let (before, after) = (key(&self.before)?, key(&self.after)?);
                if before != after {
                    for (key, change) in [(before, Change::Removed), (after, Change::Added)] {
                        if let Some(key) = key {
                            let key: Arc<[u8]> = cut(&key).into();
                            self.own.change(|layer| {
                                layer.put_index_entry(index.number, &key, id, change)
                            });
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn change_schema(&self, bytes: &[u8]) -> Result<()> {
        let names = self.own.allocator().names();
        let schema = redo::read_schema(bytes, &names).map_err(|Malformed(what)| Error::Log {
            path: self.after.path().to_path_buf(),
            what: format!("a schema in the log cannot be understood: {what}"),
        })?;
        let before = self.own.schema();
        for index in &schema.indexes {
            if before
                .indexes
                .iter()
                .all(|known| known.number != index.number)
            {
                for_each_key(&self.after, index, &|| false, &mut |id, key| {
                    let key: Arc<[u8]> = cut(key).into();
                    self.own.change(|layer| {
                        layer.put_index_entry(index.number, &key, id, Change::Added);
                    });
                    self.make_room()
                })?;
            }
        }
        self.own.set_schema(schema);
        Ok(())
    }
}

fn concerns(view: &Snapshot, entity: SchemaEntity, id: u64) -> Result<bool> {
    match entity {
        SchemaEntity::Node(label) => view.has_label(NodeId(id), label),
        SchemaEntity::Relationship(_) => match view.relationship_endpoints(RelId(id)) {
            Ok(_) => Ok(true),
            Err(Error::NoSuchRelationship { .. }) => Ok(false),
            Err(error) => Err(error),
        },
    }
}
