//! The records of a log, in order, put together into batches.
//!
//! # How it works
//! Commits enter a [`Batch`] until that takes a part of the memory limit, less what layers in
//! temporary pages keep of it; then it is applied ([`super::apply`]). Where there is a second
//! thread, it applies one batch while this one reads the next; batches are handed over one by one,
//! so there are never more than two. A record with a new schema ends its batch. Where the layers in
//! temporary pages keep too much memory, what was applied is merged into the file before more is
//! read; without temporary pages all is, so there one thread does everything.
//!
//! # Invariants
//! * TX-20: batches are applied in the order of the log, each with the names and ids that were
//!   known when it was complete, whichever thread applies it. An error of one that was applied
//!   comes before an error of what was read after it.
//!
//! # Concurrency
//! The thread that applies ends before [`Replay::run`] does. A panic of either is an error of the
//! opening.

use super::apply::{Complete, apply};
use super::chunk::Chunk;
use super::failed;
use crate::Result;
use crate::bytes::{Malformed, Reader};
use crate::delta::batch::Batch;
use crate::delta::logged_schema::LoggedSchema;
use crate::delta::redo::{Decoder, Head, NAME_KINDS, NamesLogged};
use crate::store::Store;
use crate::store::maintenance::{CHANGES_SHARE, UNPACED};
use crate::transaction::spill::merged;
use foldhash::HashMap;
use graven_pagecache::Reservation;
use graven_wal::{Kind, Record, Recovery};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Commits are put together until their changes take this many bytes, or this part of the memory
/// that nothing else holds. No reader uses that memory yet, and fewer and larger layers are merged
/// less.
const BATCH_BYTES_MAX: u64 = 64 << 20;
const BATCH_SHARE: u64 = 4;
/// A batch may take this much, whatever is left.
const BATCH_BYTES_MIN: u64 = 256 << 10;
/// What batches are charged as, and what page caches give back on request.
const RECOVERED: &str = "recovered changes";
const FRAMES: &str = "page cache frames";
/// Memory of a batch is charged in steps of this many bytes.
const BATCH_STEP: u64 = 128 << 10;

/// Bytes that the next batch may take.
fn room(store: &Store) -> u64 {
    let holders = store.budget().holders();
    let kept = holders
        .iter()
        .filter(|it| ![RECOVERED, FRAMES].contains(&it.tag));
    let kept: u64 = kept.map(|holder| holder.bytes).sum();
    let share = store.budget().limit().saturating_sub(kept) / BATCH_SHARE;
    share.clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX)
}

/// Whether what was applied takes too much memory. What is too much for memory goes to temporary
/// pages, where there are any; what those keep of it is too much in the end. It does not wait for
/// the thread that applies.
fn is_crowded(store: &Store) -> bool {
    let limit = store.budget().limit() / CHANGES_SHARE;
    let applied = store.newest_visible();
    let layers = &applied.committed_base.layers;
    let below = layers.below.iter().map(|lower| lower.memory_bytes());
    below.sum::<u64>() > limit || store.temporary_pages().is_none() && layers.active.bytes() > limit
}

/// Puts the records of a log on top of a store.
pub(super) struct Replay<'a> {
    store: &'a Store,
    /// Chunks of transactions whose commit has not come yet.
    open: HashMap<u64, Vec<Chunk>>,
    batch: Batch,
    /// Bytes that it may take.
    room: u64,
    reservation: Reservation,
    /// What was recovered so far takes too much memory.
    crowded: bool,
    /// End of the newest commit in the batch.
    lsn: u64,
    commits: u64,
    /// What clients called the commits in the batch.
    clients: Vec<[u8; 16]>,
    /// The thread that applies, if this one does not.
    beside: Option<SyncSender<Complete>>,
    /// That thread has failed.
    stopped: bool,
}

/// What a panic says.
fn panicked(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic")
}

impl<'a> Replay<'a> {
    pub(super) fn new(store: &'a Store) -> Replay<'a> {
        Replay {
            store,
            open: HashMap::default(),
            batch: Batch::default(),
            room: room(store),
            reservation: store.budget().empty_reservation(RECOVERED),
            crowded: false,
            lsn: 0,
            commits: 0,
            clients: Vec::new(),
            beside: None,
            stopped: false,
        }
    }

    pub(super) fn run(self, recovery: Recovery, path: &Path) -> Result<()> {
        let store = self.store;
        let several = store.recovery_threads > 1 && store.temporary_pages().is_some();
        // Moved in: where reading panics, the applying thread must see that nothing more comes, as
        // the scope waits for it.
        let mut replay = self;
        let both = move || {
            thread::scope(move |scope| {
                let (hand_over, handed_over) = sync_channel::<Complete>(0);
                let mut applying = handed_over.into_iter();
                let work = move || applying.try_for_each(|batch| apply(store, batch));
                // Where no thread is to be had, this one does all.
                let builder = thread::Builder::new().name("graven-recovery".to_owned());
                let applier = several.then(|| builder.spawn_scoped(scope, work));
                let applier = applier.and_then(std::io::Result::ok);
                replay.beside = applier.is_some().then_some(hand_over);
                let read = replay.read(recovery, path);
                drop(replay);
                let applied = applier.map_or(Ok(()), |applier| {
                    applier.join().unwrap_or_else(|panic| resume_unwind(panic))
                });
                applied.and(read)
            })
        };
        // The store is not opened then: no reader sees what was left half done.
        catch_unwind(AssertUnwindSafe(both)).unwrap_or_else(|panic| {
            let what = panicked(&*panic);
            let what = format!(
                "reading it failed by a mistake of the program: {what}; the log was not changed"
            );
            Err(failed(path, what))
        })?;
        let mut commits = store.commits();
        let active = &commits.applied.committed_base.layers.active;
        let active = active.clone().with_filter(store.budget());
        store.replace(&mut commits, |version| {
            version.committed_base_mut().layers.active = active
        });
        commits.logged = NamesLogged::of(&store.allocator().names());
        if store.read_only().is_some()
            && let Some(pages) = store.temporary_pages()
        {
            // No checkpoint ever merges them, and every reader would look into all. Where there is
            // no room for that, they do.
            let below = &commits.applied.committed_base.layers.below;
            if let Ok(below) = merged(store, &pages, store.sealing(), below) {
                store.replace(&mut commits, |version| {
                    version.committed_base_mut().layers.below = below
                });
            }
        }
        Ok(())
    }

    fn read(&mut self, recovery: Recovery, path: &Path) -> Result<()> {
        for record in recovery {
            if self.stopped {
                return Ok(());
            }
            let record = record.map_err(|error| failed(path, error))?;
            let lsn = record.start;
            self.record(&record, path)?.map_err(|Malformed(what)| {
                let what = format!(
                    "the record at LSN {lsn} cannot be understood: {what}; the log was not \
                        changed, `graven \
                     salvage` copies what can still be read"
                );
                failed(path, what)
            })?;
        }
        self.flush(None)
    }

    /// The inner error is for bytes that make no sense.
    fn record(&mut self, record: &Record, path: &Path) -> Result<Result<(), Malformed>> {
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
        self.clients.extend(head.client_id);
        self.lsn = record.end.0;
        self.commits += 1;
        if head.schema.is_some() || self.is_full() {
            self.flush(head.schema)?;
        }
        Ok(Ok(()))
    }

    /// Whether the batch is to be applied before more comes: it is large, or there is no memory for
    /// more.
    fn is_full(&mut self) -> bool {
        let bytes = self.batch.bytes() + size_of_val(&self.clients[..]) as u64;
        let step = bytes.next_multiple_of(BATCH_STEP);
        bytes > self.room
            || step > self.reservation.bytes() && self.reservation.resize(step).is_err()
    }

    /// Puts sections on top of the batch, which is applied before more comes where it is full.
    fn put(&mut self, reader: &mut Reader<'_>) -> Result<Result<(), Malformed>> {
        let mut decoder = Decoder::new(&self.store.allocator().names());
        loop {
            match decoder.step(reader, &mut self.batch) {
                Ok(true) if reader.remaining() > 0 && self.is_full() => self.flush(None)?,
                Ok(true) => {}
                Ok(false) => return Ok(Ok(())),
                Err(malformed) => return Ok(Err(malformed)),
            }
        }
    }

    /// Merges what was recovered into the file. Not while chunks are open: the log would be cut
    /// between them and their commit (TX-13). Nor after the last record: opening the store does not
    /// wait for that.
    fn make_room(&mut self) -> Result<()> {
        let store = self.store;
        if self.open.is_empty() && store.read_only().is_none() {
            // What is cut off the log may have chunks of a commit that is not applied yet.
            self.flush(None)?;
            if self.beside.is_some() {
                // An empty batch is taken when the one before it has been applied.
                self.hand_over(None)?;
                if self.stopped {
                    return Ok(());
                }
            }
            store.commits().logged = NamesLogged::of(&store.allocator().names());
            store.checkpoint(UNPACED)?;
            self.crowded = false;
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

    /// Applies the batch, with the indexes and constraints of `schema` from there on.
    fn flush(&mut self, schema: Option<LoggedSchema>) -> Result<()> {
        if self.commits == 0 && self.batch.is_empty() {
            return Ok(());
        }
        self.hand_over(schema)
    }

    fn hand_over(&mut self, schema: Option<LoggedSchema>) -> Result<()> {
        let (store, batch) = (self.store, std::mem::take(&mut self.batch));
        let allocator = store.allocator();
        let (nodes, relationships) = batch.ends();
        allocator.seen(nodes, relationships);
        let none = store.budget().empty_reservation(RECOVERED);
        let complete = Complete {
            batch,
            reservation: std::mem::replace(&mut self.reservation, none),
            schema,
            lsn: self.lsn,
            commits: std::mem::take(&mut self.commits),
            clients: std::mem::take(&mut self.clients),
            names: allocator.names(),
            next_node: allocator.next_node(),
            next_relationship: allocator.next_relationship(),
        };
        match &self.beside {
            None => apply(store, complete)?,
            Some(beside) => self.stopped = beside.send(complete).is_err(),
        }
        self.room = room(store);
        self.crowded |= is_crowded(store);
        Ok(())
    }
}
