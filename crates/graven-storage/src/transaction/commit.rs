//! Commit: validate, log, apply, wait, publish.
//!
//! # How it works
//! ```text
//! checks of constraints, bytes of the redo records          no lock
//! validate -> append to the log -> newest version + layer   commit lock, no waiting for the device
//! wait until the log is durable                             no lock; many commits share a sync
//! publish                                                   in the order of timestamps
//! ```
//! The newest *applied* version is what the next commit validates against and builds on; the newest
//! *visible* one is what snapshots get. They differ by the commits that wait for the device.
//!
//! # Invariants
//! * TX-9: versions become visible in the order of their timestamps, each only when its commit may
//!   be acknowledged. So no reader reads what a power cut could take back, except what was
//!   committed with less than full durability.
//! * TX-13: a checkpoint's position in the log never lies between the records of one transaction.
//! * TX-26: what is charged for committed changes is what commits wait for, the bytes of the merged
//!   changes, with what they replaced for as long as an older version holds it; not the sum of what
//!   was committed.
//! * TX-10: a commit that returned an error before its record was appended leaves nothing; one
//!   whose wait failed is never visible to this process, and all later ones fail.

use super::options::{Committed, Durability, Durable};
use super::publish::{VersionSink, Versioned};
use super::schema_change::drop_lost_indexes;
use super::spill::Sealing;
use super::{State, Transaction};
use crate::delta::delta_layer::DeltaLayer;
use crate::delta::immutable_delta::{DeltaView, ImmutableDelta};
use crate::delta::logged_schema::LoggedSchema;
use crate::delta::merged_delta::MergedDelta;
use crate::delta::redo::{self, Head, NamesLogged};
use crate::sequences;
use crate::store::Store;
use crate::store::maintenance::UNPACED;
use crate::transaction::commits::Commits;
use crate::version::Version;
use crate::version::schema::Schema;
use crate::{Error, Result};
use graven_wal::mutant::{self, Mutant};
use graven_wal::{Kind, Log, Lsn, RecordRef};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Redo records of a large transaction are cut into pieces of about this size.
const CHUNK_BYTES: usize = 256 << 10;
/// Room for the redo records of a small transaction.
const SMALL_BYTES: usize = 512;
/// How often a commit makes room by a checkpoint before it fails for want of memory.
const ATTEMPTS_MAX: u32 = 4;

impl From<Durability> for graven_wal::Durability {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Full => graven_wal::Durability::Full,
            Durability::Relaxed(delay) => graven_wal::Durability::Relaxed(delay),
            Durability::Off => graven_wal::Durability::Off,
        }
    }
}

/// The error for a commit whose records the log did not take, or (`durable` unknown) did not make
/// durable.
fn log_error(error: &graven_wal::Error, durable: Durable) -> Error {
    let why = error.to_string();
    match error {
        graven_wal::Error::DiskFull { .. } => Error::DiskFull { durable, why },
        _ => Error::LogFailed { durable, why },
    }
}

/// What a transaction wrote.
pub(crate) struct Changes {
    /// What was too much for memory, oldest first.
    pub(crate) below: Arc<[Arc<ImmutableDelta>]>,
    pub(crate) layer: DeltaLayer,
}

impl Changes {
    fn net(&self) -> MergedDelta<'_> {
        let below = self.below.iter().map(|lower| lower.view());
        MergedDelta {
            views: below.chain([DeltaView::Memory(&self.layer)]).collect(),
        }
    }

    /// Bytes of memory.
    fn bytes(&self) -> u64 {
        let below = self.below.iter().map(|lower| lower.memory_bytes());
        self.layer.bytes() + below.sum::<u64>()
    }

    /// Puts them on top of `version`; the memory of an active layer that becomes a lower one moves
    /// with it.
    pub(crate) fn apply_to(&self, version: &mut Version, commits: &mut Commits, store: &Store) {
        if self.below.is_empty() {
            version.apply(&self.layer);
            return;
        }
        // Merging would take long and the memory that the layers below are to save.
        version.merge_tail();
        let mut write_set = store.budget().empty_reservation("committed changes");
        write_set.force_grow(self.layer.bytes());
        commits.reservation.shrink(self.layer.bytes());
        let before_own = commits.replace_reservation(write_set);
        let committed_base = version.committed_base_mut();
        let active = std::mem::replace(&mut committed_base.layers.active, self.layer.clone());
        let older = (!active.is_empty()).then(|| {
            Arc::new(ImmutableDelta::Memory {
                layer: active,
                reservation: before_own,
            })
        });
        let below = committed_base.layers.below.iter().cloned().chain(older);
        committed_base.layers.below = below.chain(self.below.iter().cloned()).collect();
    }
}

/// Redo records ready for the log.
struct Records {
    /// Distinguishes the transaction in the log.
    number: u64,
    /// Bytes of the chunks that are in the log; 0 of a transaction that one record holds.
    chunk_bytes: u64,
    /// Sections of the last or only record.
    last: Vec<u8>,
}

impl Transaction {
    /// Makes the changes visible to all and durable as asked for.
    ///
    /// # Errors
    /// [`Error::Conflict`] (retryable: what it conflicts with can be seen by then),
    /// [`Error::NodeHasRelationships`], [`Error::MissingProperty`],
    /// [`Error::WrongType`], [`Error::WrongEnds`], [`Error::LogFailed`],
    /// [`Error::DiskFull`], [`Error::TransactionEnded`]. The transaction has ended then.
    pub fn commit(&self) -> Result<Committed> {
        let mut state = self.state.lock();
        if let Some(how) = state.ended {
            return Err(Error::TransactionEnded { how });
        }
        let begun = Instant::now();
        let committed = self.try_commit(&mut state).map(|committed| Committed {
            checkpoint: self.store.checkpointer().activity().since(begun),
            ..committed
        });
        let committed = committed.map_err(|error| self.final_error(error));
        let how = match &committed {
            Ok(_) => "committed",
            Err(error) if error.durable() == Some(Durable::Unknown) => {
                "committed with an unknown outcome"
            }
            Err(_) => "rolled back because its commit failed",
        };
        self.end(&mut state, how);
        if committed.is_err() {
            self.write_set.clear();
        }
        committed
    }

    /// What a commit that failed with `error` says. A conflict may be met again and again unless
    /// what it was with can be seen; where the log has failed that never comes, and no commit will
    /// succeed.
    fn final_error(&self, error: Error) -> Error {
        if !error.is_retryable() {
            return error;
        }
        let met = self.store.commits().applied.timestamp;
        let visible = self.store.publisher().wait_visible(met, &*self.store);
        let failed = self.store.log().and_then(Log::failed);
        match (visible, failed) {
            (Ok(_), None) => error,
            (_, Some(failed)) => log_error(&failed, Durable::No),
            (Err(failed), None) => failed,
        }
    }

    fn try_commit(&self, state: &mut State) -> Result<Committed> {
        let (layer, below) = self.write_set.look(DeltaLayer::clone);
        let changed = state.schema_changed || !state.sequences_changed.is_empty();
        if layer.is_empty() && below.is_empty() && !changed {
            return Ok(Committed {
                timestamp: self.start.timestamp,
                ..Committed::default()
            });
        }
        self.check_deleted(state)?;
        self.check_deferred_at_once(state)?;
        self.check_constraints()?;
        let store = &self.store;
        let write_set = Changes { below, layer };
        if store.log().is_some() {
            store
                .maintenance()
                .wait_for_room(store, write_set.bytes())?;
        }
        let mut attempts = 0;
        let (version, log_bytes) = loop {
            attempts += 1;
            match self.attempt(state, &write_set) {
                Err(error)
                    if error.is_memory() && store.log().is_some() && attempts < ATTEMPTS_MAX =>
                {
                    // What is committed already makes room by going into the file; others may be
                    // faster to take it.
                    store.checkpoint(UNPACED)?;
                }
                other => break other?,
            }
        };
        if store.wants_checkpoint(&version, write_set.layer.bytes()) {
            store.maintenance().request(store);
        }
        // The commit is in the order of all now; the own layer is not needed while the device
        // works.
        drop(write_set);
        let mut committed = Committed {
            timestamp: version.timestamp,
            lsn: version.lsn,
            log_bytes,
            ..Committed::default()
        };
        if let Some(log) = store.log() {
            let durability = self.options.durability;
            let waited = log.wait_committed(Lsn(version.lsn), durability.into());
            let waited = waited.map_err(|error| {
                store.publisher().wake();
                log_error(&error, Durable::Unknown)
            })?;
            committed.waited = waited.waited;
            committed.group = waited.group;
        }
        store.publish(version.timestamp)?;
        Ok(committed)
    }

    /// Logs and applies the layer; the new version and the bytes in the log.
    fn attempt(&self, state: &mut State, write_set: &Changes) -> Result<(Arc<Version>, u64)> {
        let store = &self.store;
        let Some(log) = store.log_for_writing()? else {
            return self.append_and_apply(state, write_set, None);
        };
        // Between the first chunk and the commit record no checkpoint may begin: it would cut the
        // log in between.
        let _whole = store.chunked().read();
        let records = self.records(state, log, write_set)?;
        let applied = self.append_and_apply(state, write_set, Some(&records));
        if applied.is_err() && records.chunk_bytes > 0 {
            abort(log, records.number);
        }
        applied
    }

    /// The redo records; those of a large transaction but for the last are in the log afterwards.
    fn records(&self, state: &State, log: &Log, write_set: &Changes) -> Result<Records> {
        let number = self.store.allocator().transaction();
        let chunk_bytes = AtomicU64::new(0);
        let append = |payload: &mut Vec<u8>| {
            let record = RecordRef {
                kind: Kind::Chunk,
                transaction: number,
                payload,
            };
            chunk_bytes.fetch_add(record.stream_bytes(), Ordering::Relaxed);
            log.append(&[record])
                .map(|_| ())
                .map_err(|error| log_error(&error, Durable::No))
        };
        // Before anything large is logged in vain.
        let validate = || self.validate(state, write_set, &self.store.commits());
        let last = match write_set.below.is_empty() {
            true => {
                let out = Vec::with_capacity(SMALL_BYTES);
                redo::encode(&write_set.layer, out, CHUNK_BYTES, &mut |payload| {
                    if chunk_bytes.load(Ordering::Relaxed) == 0 {
                        validate()?;
                    }
                    append(payload)
                })
            }
            false => validate().and_then(|()| {
                let threads = Sealing::TRANSACTION.threads;
                redo::encode_net(&write_set.net(), CHUNK_BYTES, threads, &append)
            }),
        };
        let chunk_bytes = chunk_bytes.into_inner();
        match last {
            Ok(last) => Ok(Records {
                number,
                chunk_bytes,
                last,
            }),
            Err(error) => {
                if chunk_bytes > 0 {
                    abort(log, number);
                }
                Err(error)
            }
        }
    }

    fn validate(&self, state: &State, write_set: &Changes, commits: &Commits) -> Result<()> {
        let start = self.start.timestamp;
        if commits.applied.timestamp == start || mutant::active(Mutant::UnvalidatedCommit) {
            return Ok(());
        }
        if state.schema_changed {
            return Err(Error::Conflict {
                entity: "the store, whose schema this transaction changes".to_owned(),
            });
        }
        for name in &state.sequences_changed {
            let (then, now) = (&self.start.schema, &commits.applied.schema);
            if sequences::named(&then.sequences, name) != sequences::named(&now.sequences, name) {
                return Err(Error::Conflict {
                    entity: format!("the sequence `{name}`"),
                });
            }
        }
        let schema = self.write_set.schema();
        let conflicts = &commits.conflicts;
        (self.write_set)
            .with_reads(|reads| conflicts.check(&write_set.layer, &schema, reads, start))?;
        write_set
            .below
            .iter()
            .try_for_each(|lower| conflicts.check_lower(lower.view(), &schema, start))
    }

    /// The schema behind this commit, if it changes it: where only sequences changed, that of the
    /// commit before with these sequences.
    fn schema_to_apply(&self, state: &State, applied: &Schema) -> Option<Arc<Schema>> {
        let own = self.write_set.schema();
        if state.schema_changed {
            return Some(own);
        }
        let changed = &state.sequences_changed;
        if changed.is_empty() {
            return None;
        }
        let mut schema = applied.clone();
        schema
            .sequences
            .retain(|known| !changed.contains(&known.name));
        let of_own = own.sequences.iter();
        (schema.sequences).extend(
            of_own
                .filter(|known| changed.contains(&known.name))
                .cloned(),
        );
        schema.sequences.sort_by(|a, b| a.name.cmp(&b.name));
        Some(Arc::new(schema))
    }

    /// The part under the commit lock; the new version and the bytes in the log.
    fn append_and_apply(
        &self,
        state: &mut State,
        write_set: &Changes,
        records: Option<&Records>,
    ) -> Result<(Arc<Version>, u64)> {
        let layer = &write_set.layer;
        let store = &self.store;
        let mut commits = store.commits();
        if let Some(error) = store.log().and_then(Log::failed) {
            return Err(log_error(&error, Durable::No));
        }
        self.validate(state, write_set, &commits)?;
        commits.reservation.grow(layer.bytes())?;
        let timestamp = commits.applied.timestamp + 1;
        let names = self.write_set.allocator().names();
        let schema = self.schema_to_apply(state, &commits.applied.schema);
        if let Some(schema) = &schema {
            commits.charge_schema(schema.memory_bytes());
        }
        let mut lsn = commits.applied.lsn;
        let mut log_bytes = 0;
        if let (Some(log), Some(records)) = (store.log(), records) {
            let head = Head {
                client_id: self.options.client_id,
                names: Head::new_names(&names, commits.logged),
                schema: schema
                    .as_deref()
                    .map(|schema| LoggedSchema::of(&commits.applied.schema, schema)),
            };
            let mut payload = Vec::with_capacity(records.last.len() + 64);
            head.encode(&mut payload);
            payload.extend_from_slice(&records.last);
            let record = RecordRef {
                kind: Kind::Commit,
                transaction: records.number,
                payload: &payload,
            };
            log_bytes = records.chunk_bytes + record.stream_bytes();
            match log.append(&[record]) {
                Ok(end) => lsn = end.0,
                Err(error) => {
                    commits.reservation.shrink(layer.bytes());
                    return Err(log_error(&error, Durable::No));
                }
            }
            commits.logged = NamesLogged::of(&names);
        }
        let before = commits.applied.clone();
        let mut version = before.copy();
        write_set.apply_to(&mut version, &mut commits, store);
        commits.settle(&before, version.changed_bytes());
        if state.schema_changed {
            version.merge_tail();
        }
        if let Some(schema) = schema {
            version.schema = schema;
        }
        if state.schema_changed {
            let schema = version.schema.clone();
            drop_lost_indexes(&mut version.committed_base_mut().layers.active, &schema);
        }
        version.timestamp = timestamp;
        version.lsn = lsn;
        version.names = names;
        version.next_node = self.write_set.allocator().next_node();
        version.next_relationship = self.write_set.allocator().next_relationship();
        let version = Arc::new(version);
        let horizon = store.horizon();
        commits.conflicts.forget(horizon);
        commits.conflicts.record(
            layer,
            !write_set.below.is_empty(),
            state.schema_changed,
            timestamp,
        );
        commits.clients.add(self.options.client_id);
        commits.applied = version.clone();
        // A commit that is acknowledged at once is pushed as ready, so any thread may publish it.
        // No commit then waits for a thread that got no processor.
        let ready = store.log().is_none() || self.options.durability == Durability::Off;
        store.publisher().push(version.clone(), ready);
        // The version before may have been the last to hold much: it is freed after the commit lock
        // is released, so that no other commit waits for that.
        drop(commits);
        drop(before);
        Ok((version, log_bytes))
    }
}

/// Tells the log that the chunks of a transaction are void. Without the record they are void as
/// well, only later.
fn abort(log: &Log, transaction: u64) {
    let payload: &[u8] = &[];
    let _ = log.append(&[RecordRef {
        kind: Kind::Abort,
        transaction,
        payload,
    }]);
}

impl Versioned for Arc<Version> {
    fn timestamp(&self) -> u64 {
        self.timestamp
    }

    fn lsn(&self) -> u64 {
        self.lsn
    }
}

impl VersionSink<Arc<Version>> for Store {
    type Error = Error;

    fn make_visible(&self, version: Arc<Version>) -> Arc<Version> {
        self.set_visible(version)
    }

    fn retire(&self, versions: Vec<Arc<Version>>) {
        self.retired.keep(versions, || self.newest_visible());
    }

    fn durable(&self) -> u64 {
        self.log().map_or(u64::MAX, |log| log.durable().0)
    }

    fn failure(&self) -> Option<Error> {
        let error = self.log().and_then(Log::failed)?;
        Some(log_error(&error, Durable::Unknown))
    }
}

impl Store {
    /// Makes visible what may be, up to the commit of `timestamp`, which may be acknowledged; waits
    /// for those before.
    pub(crate) fn publish(&self, timestamp: u64) -> Result<()> {
        self.publisher().publish(timestamp, self)
    }

    /// Makes what was appended up to `lsn` durable, and the commits up to that of `timestamp`
    /// visible.
    pub(crate) fn settle(&self, lsn: u64, timestamp: u64) -> Result<()> {
        if let Some(log) = self.log() {
            log.sync_up_to(Lsn(lsn))
                .map_err(|error| log_error(&error, Durable::Unknown))?;
        }
        self.publish(timestamp)
    }
}
