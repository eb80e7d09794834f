//! What every operator and expression of one running statement shares: snapshot, parameters,
//! budget, cancel flag.
//!
//! # How it works
//! All single look-ups go through here: of [names], of [nodes by label](nodes_of_labels), of
//! [entities], [properties] and [indexes]. Traversals go to the adjacency itself (see
//! [`crate::pattern`]).

mod clock;
mod entities;
mod indexes;
mod names;
mod nodes_of_labels;
mod properties;

use crate::memory::Memory;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use graven_pagecache::stats::PerKind;
use graven_pagecache::{Budget, SpillFile};
use graven_storage::{Snapshot, Transaction};

use crate::batch::BATCH_ROWS;
use crate::deadline::Cancellation;
use crate::error::{ExecError, Result};
use crate::file_access::FileAccess;
use crate::growth::{Growth, bytes_of_params};
use crate::operators::AdjacencyCache;
use crate::procedures::Procedures;
use crate::property_array::DenseColumns;
use crate::sources::{Patience, Reach, Sources};
use crate::tuning::Tuning;
use crate::user_function::UserFunctions;
use crate::value::Value;
use crate::writing::Writer;
use clock::Clocks;
pub(crate) use clock::Moment;
pub(crate) use indexes::{Found, KeptKeys};
use nodes_of_labels::Extents;

/// Parameters of a statement by name.
pub type Params = BTreeMap<Arc<str>, Value>;

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
    /// Bytes that the copy of an object may have which can only be read as a whole.
    pub(crate) disk_budget: u64,
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
        self.beside()
    }

    /// What a thread runs with that reads while this one may write.
    pub(crate) fn beside(&self) -> Self {
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
            disk_budget: self.disk_budget,
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

    /// How long the statement waits for others.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            cancel: Arc::clone(&self.cancel),
            deadline: self.growth.deadline(),
        }
    }

    /// What the statement may read and write outside of the database, and within which bounds.
    pub(crate) fn reach<'a>(&'a self, patience: &'a Patience) -> Reach<'a> {
        Reach {
            files: &self.files,
            memory: self.budget.limit(),
            disk_budget: self.disk_budget,
            patience,
        }
    }

    /// What was waited for; its error is that of the statement's end, where that ended the wait.
    ///
    /// # Errors
    /// As [`QueryContext::check_cancelled`]; what failed.
    pub(crate) fn unless_ended<T, E: Into<ExecError>>(
        &self,
        waited: std::result::Result<T, E>,
    ) -> Result<T> {
        waited.map_err(|error| match self.check_cancelled() {
            Ok(()) => error.into(),
            Err(ended) => ended,
        })
    }

    /// # Errors
    /// [`ExecError::Cancelled`] if the statement was cancelled; [`ExecError::TimedOut`] if its time
    /// is over.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.growth.check()
    }

    /// What work that has no context asks.
    pub(crate) fn cancellation(&self) -> Cancellation {
        Cancellation::new(self.growth.deadline(), Arc::clone(&self.cancel))
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

    /// # Errors
    /// [`ExecError::NoTransaction`] where the statement does not write.
    pub(crate) fn writer(&self) -> Result<&Writer> {
        self.writer.as_ref().ok_or(ExecError::NoTransaction)
    }
}
