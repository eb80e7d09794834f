//! The transactions of `CALL { ... } IN TRANSACTIONS`: one for each batch of rows, each durable
//! before the next.
//!
//! # How it works
//! A batch that meets a conflict is run again, as a statement of its own would be; with
//! `ON ERROR RETRY` for as long as that says, and also where memory or the disk were in the way.
//! The statement as a whole is never run again: its batches have been committed. What it writes
//! behind the subquery is in a last transaction, which is run again alone.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graven_exec::{Batches, ExecError, run_batches};
use graven_pagecache::Scope;
use graven_storage::{Snapshot, Transaction, WriteCounters};

use crate::connection::{Connection, Run, StatementContext};
use crate::error::Error;
use crate::instance::Instance;
use crate::params::Params;
use crate::plan_cache::CompiledStatement;
use crate::result::LocalCursor;
use crate::statements::StatementGuard;
use crate::summary::Commit;
use crate::transaction::RetryBackoff;

/// Makes the transactions of one statement and adds up what they did.
struct OwnTransactions<'a> {
    connection: &'a Connection,
    database: &'a Instance,
    /// By what others name the statement.
    id: String,
    /// A duplicate may come from a `MERGE` beside ours.
    merges: bool,
    done: Mutex<(WriteCounters, Option<Commit>)>,
}

impl Batches for OwnTransactions<'_> {
    fn snapshot(&self) -> Snapshot {
        self.database.store.snapshot()
    }

    fn id(&self) -> String {
        self.id.clone()
    }

    fn run(
        &self,
        patience: Option<Duration>,
        body: &mut dyn FnMut(&Arc<Transaction>) -> Result<(), ExecError>,
    ) -> Result<u64, ExecError> {
        let mut options = self.connection.options();
        // A name is for one commit, and there are many.
        options.client_id = None;
        let mut backoff = RetryBackoff::default();
        let begun = Instant::now();
        loop {
            let transaction = Arc::new(self.database.store.begin(options.clone())?);
            let done = body(&transaction).and_then(|()| {
                let counters = transaction.counters();
                Ok((transaction.commit()?, counters))
            });
            let error = match done {
                Ok((committed, counters)) => {
                    let timestamp = committed.timestamp;
                    self.note(committed.into(), &counters);
                    return Ok(timestamp);
                }
                Err(error) => error,
            };
            transaction.rollback();
            let again = match &error {
                _ if patience.is_some_and(|time| begun.elapsed() < time) && may_pass(&error) => {
                    backoff.longer();
                    true
                }
                ExecError::Storage(graven_storage::Error::Conflict { .. })
                | ExecError::SchemaChanged => backoff.next(),
                ExecError::Storage(graven_storage::Error::Duplicate { .. }) => {
                    self.merges && backoff.next_merge()
                }
                _ => false,
            };
            if !again || self.connection.check_cancelled().is_err() {
                return Err(error);
            }
        }
    }
}

/// Whether the same may succeed later.
fn may_pass(error: &ExecError) -> bool {
    use graven_storage::{Durable, Error as Storage};
    matches!(
        error,
        ExecError::Storage(
            // What is durable, or may be, is not done again.
            Storage::Conflict { .. }
                | Storage::DiskFull {
                    durable: Durable::No,
                    ..
                }
                | Storage::Budget(_),
        ) | ExecError::SchemaChanged
            | ExecError::Memory { .. }
            | ExecError::Spill { .. }
    )
}

impl OwnTransactions<'_> {
    fn note(&self, commit: Commit, counters: &WriteCounters) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.0 += *counters;
        done.1 = Some(commit.after(done.1.unwrap_or_default()));
    }
}

impl Connection {
    /// Runs a statement with a subquery in transactions: all batches, then what is left of it.
    pub(crate) fn in_transactions(
        &self,
        database: &Arc<Instance>,
        planned: CompiledStatement,
        params: &Params,
        guard: StatementGuard,
    ) -> Result<LocalCursor, Error> {
        let (begun, scope) = (guard.begun(), Scope::start());
        let batches = OwnTransactions {
            connection: self,
            database,
            id: guard.id(),
            merges: planned.merges(),
            done: Mutex::default(),
        };
        let occasion = StatementContext {
            guard: &guard,
            begun,
            deadline: self.deadline(),
            frames: params.frames(),
        };
        let context = self.context(database, &planned, None, &occasion);
        let values = Run::new(params).values;
        let rest = run_batches(Arc::clone(&planned.plan), values, &context, &batches);
        let rest = rest.map_err(|error| Error::running(error, &planned.text))?;
        let done = batches.done.into_inner();
        let (counters, commit) = done.unwrap_or_else(PoisonError::into_inner);
        let pages = scope.finish();
        if planned.plan.root.writes_after_transactions() {
            let mut ran = self.autocommit(database, planned.merges(), |transaction| {
                let within = Some(Arc::clone(transaction));
                let context = self.context(database, &planned, within, &occasion);
                let snapshot = transaction.snapshot();
                let cursor = LocalCursor::start(planned.clone(), snapshot, begun, |_, _| {
                    rest.write(context)
                })?;
                let before = transaction.counters();
                cursor.complete(&database.budget, &before, transaction)
            })?;
            ran.batches_done(&pages, counters, commit);
            return Ok(ran);
        }
        let snapshot = database.store.snapshot();
        let mut running = LocalCursor::start(planned, snapshot, begun, |_, snapshot| {
            rest.read(context, snapshot)
        })?;
        running.batches_done(&pages, counters, commit);
        running.sits(guard);
        Ok(running)
    }
}
