//! A transaction: a snapshot, and the changes made on top of it until it commits.
//!
//! # How it works
//! Writes go into a layer of the transaction's own, which its readers see on top of everything else
//! ([`crate::delta`]). Entries of indexes are kept in it as well, so that every reader agrees. The
//! commit ([`commit`]) validates, logs, and puts the layer on top of the newest committed one.
//! Rolling back drops it.
//!
//! # Invariants
//! * TX-8: until its commit no other reader sees anything of a transaction; afterwards all later
//!   snapshots see all of it.
//!
//! # Concurrency
//! Writes take the transaction's state lock for their duration, readers never do.
//!
//! # Costs
//! A write reads what the indexes of its property need, nothing else. Memory is charged to the
//! budget as it is used; what is more than an eighth of it goes to temporary pages ([`spill`]).

pub(crate) mod commit;
pub(crate) mod commit_tokens;
pub(crate) mod commits;
pub(crate) mod conflicts;
mod constraints;
pub(crate) mod counters;
mod create_many;
mod deferred_uniqueness;
pub(crate) mod index_entries;
pub(crate) mod options;
pub(crate) mod publish;
#[cfg(test)]
mod publish_model;
pub(crate) mod reads;
pub(crate) mod schema_change;
mod sequence_change;
pub(crate) mod spill;
mod sync;
mod write;
pub(crate) mod write_set;

use crate::ids::{KeyId, LabelId, TypeId};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::store::allocator::NameKind;
use crate::version::Version;
use crate::version::schema::{Schema, schema_bytes_max};
use crate::{Error, Result};
use counters::WriteCounters;
use graven_pagecache::Reservation;
use options::TransactionOptions;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use write_set::WriteSet;

/// A transaction of a store without temporary pages may hold this part of the memory limit.
const LIMIT_SHARE: u64 = 4;
/// Memory is charged in steps of this many bytes.
const CHARGE_BYTES: u64 = 64 << 10;

/// A transaction; dropping it rolls it back. One statement at a time uses it; its operators may
/// share it.
#[derive(Debug)]
pub struct Transaction {
    store: Arc<Store>,
    options: TransactionOptions,
    start: Arc<Version>,
    write_set: Arc<WriteSet>,
    /// The state of now for the transaction's own look-ups, which are not recorded as reads.
    view: Snapshot,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    ended: Option<&'static str>,
    reservation: Reservation,
    counters: WriteCounters,
    /// Deleted nodes that may still have relationships.
    deleted: BTreeSet<u64>,
    /// How many of them had relationships when they were looked at last.
    connected: usize,
    /// Unique indexes of which the layer has keys that were not compared.
    deferred: BTreeSet<u32>,
    schema_changed: bool,
    /// Names of sequences that were made, advanced or removed.
    sequences_changed: BTreeSet<Arc<str>>,
}

impl Store {
    /// Begins a transaction.
    ///
    /// # Errors
    /// None at present. Transactions of a store that is only read may read.
    pub fn begin(self: &Arc<Self>, options: TransactionOptions) -> Result<Transaction> {
        let start = self.register();
        let isolation = options.isolation;
        let write_set = WriteSet::new(start.schema.clone(), isolation, self.allocator().clone());
        let quiet = Arc::new(write_set.unrecorded());
        Ok(Transaction {
            view: Snapshot::of_transaction(start.clone(), quiet),
            store: self.clone(),
            options,
            start,
            write_set: Arc::new(write_set),
            state: Mutex::new(State {
                ended: None,
                reservation: self.budget().empty_reservation("transaction"),
                counters: WriteCounters::default(),
                deleted: BTreeSet::new(),
                connected: 0,
                deferred: BTreeSet::new(),
                schema_changed: false,
                sequences_changed: BTreeSet::new(),
            }),
        })
    }
}

impl Transaction {
    /// The state at the transaction's start plus what it wrote so far; live: what is obtained from
    /// it sees later writes of this transaction. Its catalogue is as of the first use.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of_transaction(self.start.clone(), self.write_set.clone())
    }

    /// The state at the transaction's start, without what it wrote.
    #[must_use]
    pub fn start_snapshot(&self) -> Snapshot {
        Snapshot::new(self.start.clone())
    }

    /// As [`Transaction::snapshot`] for what does not decide what the transaction reads or writes,
    /// such as the choice of a plan: nothing that is read of it counts as read by a serialisable
    /// transaction.
    #[must_use]
    pub fn unrecorded_snapshot(&self) -> Snapshot {
        Snapshot::of_transaction(self.start.clone(), Arc::new(self.write_set.unrecorded()))
    }

    /// The options it was begun with.
    #[must_use]
    pub fn options(&self) -> &TransactionOptions {
        &self.options
    }

    /// The label called `name`, a new one if need be. Names belong to the store and outlive a
    /// rollback.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::TransactionEnded`], [`Error::InvalidName`],
    /// [`Error::TooManyNames`], [`Error::SchemaTooLarge`].
    pub fn label(&self, name: &str) -> Result<LabelId> {
        self.intern(NameKind::Label, name).map(LabelId)
    }

    /// The relationship type called `name`, as [`Transaction::label`].
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn rel_type(&self, name: &str) -> Result<TypeId> {
        self.intern(NameKind::Type, name).map(TypeId)
    }

    /// The property key called `name`, as [`Transaction::label`].
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn key(&self, name: &str) -> Result<KeyId> {
        self.intern(NameKind::Key, name).map(KeyId)
    }

    fn intern(&self, kind: NameKind, name: &str) -> Result<u32> {
        self.check_writable(&self.state.lock())?;
        let (allocator, budget) = (self.store.allocator(), self.store.budget());
        if let Some(number) = allocator.number(kind, name) {
            return Ok(number);
        }
        if name.is_empty() || name.contains('\0') {
            return Err(Error::InvalidName {
                what: match kind {
                    NameKind::Label => "label",
                    NameKind::Type => "relationship type",
                    NameKind::Key => "property key",
                },
                name: name.chars().take(100).collect(),
            });
        }
        if !allocator.has_room(kind, name, budget.limit()) {
            return Err(Error::TooManyNames {
                name: name.chars().take(100).collect(),
                budget: budget.limit(),
            });
        }
        Ok(allocator.intern(kind, name))
    }

    fn check_writable(&self, state: &State) -> Result<()> {
        if let Some(how) = state.ended {
            return Err(Error::TransactionEnded { how });
        }
        self.store.check_writable()
    }

    /// Runs a write: `change` reads first and changes the layer last, so that an error leaves
    /// nothing half done.
    fn write<T>(&self, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        self.check_writable(&state)?;
        let before = self.write_set.schema();
        let done = change(&mut state)?;
        self.check_schema_size(&before)?;
        self.charge(&mut state)?;
        Ok(done)
    }

    /// Takes back the schema that has grown beyond what opens with so little memory again.
    fn check_schema_size(&self, before: &Arc<Schema>) -> Result<()> {
        let after = self.write_set.schema();
        if Arc::ptr_eq(before, &after) {
            return Ok(());
        }
        let budget = self.store.budget().limit();
        let (bytes, limit) = (after.memory_bytes(), schema_bytes_max(budget));
        if bytes <= limit || bytes <= before.memory_bytes() {
            return Ok(());
        }
        self.write_set.set_schema((**before).clone());
        Err(Error::SchemaTooLarge {
            bytes,
            limit,
            budget,
        })
    }

    /// What was changed so far.
    #[must_use]
    pub fn counters(&self) -> WriteCounters {
        self.state.lock().counters
    }

    /// Drops all changes. Nothing happens if the transaction has ended.
    pub fn rollback(&self) {
        let mut state = self.state.lock();
        if state.ended.is_none() {
            self.end(&mut state, "rolled back");
            self.write_set.clear();
        }
    }

    /// The layer stays: results of a committed transaction may still be read.
    fn end(&self, state: &mut State, how: &'static str) {
        state.ended = Some(how);
        let bytes = state.reservation.bytes();
        state.reservation.shrink(bytes);
        self.store.unregister(self.start.timestamp);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.rollback();
    }
}
