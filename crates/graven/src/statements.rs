//! Statements that run, and open transactions: listed by `SHOW TRANSACTIONS`, ended by
//! `TERMINATE TRANSACTIONS`.
//!
//! # How it works
//! Every statement and every explicit transaction has a [`StatementGuard`] as long as it runs; its
//! number is the id by which others name it. Guards lie in several tables; threads take turns at
//! choosing theirs, and then stay there, so that they do not wait for each other, nor for what the
//! other's processor has of a table in its cache. To terminate one sets the flag that its operators
//! look at between batches: all that runs on the same connection just then ends with it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use graven_pagecache::RunningTransaction;

use crate::error::Error;
use graven_exec::Value;

/// Tables of guards.
const TABLES: usize = 16;

/// What stands between the name of the database and the number in an id.
const MIDDLE: &str = "-transaction-";

/// Numbers of statements that each transaction has for its own.
const QUERIES_MAX: u64 = 1000;

/// A client that a statement runs for.
#[derive(Debug)]
pub(crate) struct Client {
    /// What its connection is called.
    pub(crate) connection: Box<str>,
    pub(crate) address: Box<str>,
}

/// Some of the statements and transactions that run, in cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Table {
    /// Guards taken so far.
    taken: AtomicU64,
    running: Mutex<Vec<Arc<RunningStatement>>>,
}

/// All that runs on one database.
#[derive(Default)]
pub(crate) struct StatementRegistry {
    tables: [Table; TABLES],
    /// The name of the database.
    name: Arc<str>,
}

thread_local! {
    static SHARD: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

/// A statement or transaction that runs.
#[derive(Debug)]
pub(crate) struct RunningStatement {
    number: u64,
    /// The name of its database.
    database: Arc<str>,
    /// How many statements it has run, the present one among them.
    queries: AtomicU64,
    /// The statement that runs now, if one does.
    text: Mutex<Option<Arc<str>>>,
    pub(crate) begun: Instant,
    /// The user that runs it, where users are known.
    pub(crate) user: Option<Arc<str>>,
    cancel: Arc<AtomicBool>,
    terminated: AtomicBool,
    /// What the program has said of it.
    metadata: Mutex<Option<Value>>,
    client: OnceLock<Arc<Client>>,
    /// Bytes that operators hold.
    pub(crate) memory: Arc<AtomicU64>,
}

/// Registers a statement or transaction that runs, until it is dropped.
pub(crate) struct StatementGuard {
    statements: Arc<StatementRegistry>,
    running: Arc<RunningStatement>,
    /// What page caches know it by, if one scores running transactions.
    pages: Option<RunningTransaction>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number by which threads that run statements share things out among them.
fn thread_shard() -> usize {
    SHARD.with(|shard| *shard)
}

impl StatementRegistry {
    /// For the database of this name.
    pub(crate) fn of(name: &str) -> Arc<StatementRegistry> {
        Arc::new(StatementRegistry {
            tables: Default::default(),
            name: name.into(),
        })
    }

    /// A guard for a statement or, without text, for an explicit transaction.
    pub(crate) fn register(
        self: &Arc<Self>,
        text: Option<Arc<str>>,
        user: Option<Arc<str>>,
        cancel: Arc<AtomicBool>,
    ) -> StatementGuard {
        let at = thread_shard() % TABLES;
        let taken = self.tables[at].taken.fetch_add(1, Ordering::Relaxed) + 1;
        let number = taken * TABLES as u64 + at as u64;
        let running = Arc::new(RunningStatement {
            number,
            database: Arc::clone(&self.name),
            queries: AtomicU64::new(u64::from(text.is_some())),
            text: Mutex::new(text),
            begun: Instant::now(),
            user,
            cancel,
            terminated: AtomicBool::new(false),
            metadata: Mutex::default(),
            client: OnceLock::new(),
            memory: Arc::default(),
        });
        lock(&self.tables[at].running).push(Arc::clone(&running));
        let guard = StatementGuard {
            statements: Arc::clone(self),
            running,
            pages: RunningTransaction::begin(),
        };
        guard.works();
        guard
    }

    fn table(&self, number: u64) -> &Table {
        &self.tables[(number % TABLES as u64) as usize]
    }

    /// All that run, in the order they began.
    pub(crate) fn list(&self) -> Vec<Arc<RunningStatement>> {
        let mut all: Vec<_> = self
            .tables
            .iter()
            .flat_map(|table| lock(&table.running).clone())
            .collect();
        all.sort_by_key(|running| (running.begun, running.number));
        all
    }

    /// The one with this id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<RunningStatement>> {
        let rest = id.strip_prefix(&*self.name)?;
        let number = rest.strip_prefix(MIDDLE)?.parse().ok()?;
        let table = lock(&self.table(number).running);
        table.iter().find(|it| it.number == number).map(Arc::clone)
    }
}

impl RunningStatement {
    /// The id by which others name it.
    pub(crate) fn id(&self) -> String {
        format!("{}{MIDDLE}{}", self.database, self.number)
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        self.terminated.store(true, Ordering::Relaxed);
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// The id of the statement that runs; empty between two of a transaction.
    pub(crate) fn query_id(&self) -> String {
        match lock(&self.text).is_some() {
            true => {
                // No other statement has this number, as a transaction has fewer than that.
                let nth = self.queries.load(Ordering::Relaxed).max(1) - 1;
                format!("query-{}", self.number * QUERIES_MAX + nth % QUERIES_MAX)
            }
            false => String::new(),
        }
    }

    /// The client it runs for, if any.
    pub(crate) fn client(&self) -> Option<&Client> {
        self.client.get().map(|client| &**client)
    }

    pub(crate) fn set_client(&self, client: Arc<Client>) {
        // It has one from its beginning.
        let _ = self.client.set(client);
    }

    /// The statement that runs, empty between two of a transaction.
    pub(crate) fn text(&self) -> Arc<str> {
        lock(&self.text).clone().unwrap_or_else(|| Arc::from(""))
    }

    /// What the program has said of it: a map.
    pub(crate) fn metadata(&self) -> Value {
        let said = lock(&self.metadata).clone();
        said.unwrap_or_else(|| Value::map(Vec::new()))
    }

    pub(crate) fn set_metadata(&self, said: Value) {
        *lock(&self.metadata) = Some(said);
    }

    /// In words.
    pub(crate) fn status(&self) -> &'static str {
        if self.terminated.load(Ordering::Relaxed) {
            "Terminated"
        } else if lock(&self.text).is_some() {
            "Running"
        } else {
            "Idle"
        }
    }
}

impl StatementGuard {
    /// The statement or transaction.
    pub(crate) fn running(&self) -> Arc<RunningStatement> {
        Arc::clone(&self.running)
    }

    /// Where operators count what they hold.
    pub(crate) fn meter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.running.memory)
    }

    /// From now on the calling thread works for this statement or transaction.
    pub(crate) fn works(&self) {
        if let Some(pages) = &self.pages {
            pages.works();
        }
    }

    /// The id by which other statements name it.
    pub(crate) fn id(&self) -> String {
        self.running.id()
    }

    /// When it was taken.
    pub(crate) fn begun(&self) -> Instant {
        self.running.begun
    }

    /// A statement of the transaction begins (or ends: no text).
    ///
    /// # Errors
    /// `Transaction.Terminated` if it was terminated.
    pub(crate) fn runs(&self, text: Option<Arc<str>>) -> Result<(), Error> {
        if self.running.terminated.load(Ordering::Relaxed) {
            return Err(Error::new(
                "Transaction.Terminated",
                format!("{} was terminated: roll it back", self.running.id()),
            ));
        }
        let begins = u64::from(text.is_some());
        self.running.queries.fetch_add(begins, Ordering::Relaxed);
        *lock(&self.running.text) = text;
        self.works();
        Ok(())
    }
}

impl StatementGuard {
    /// A statement of the transaction begins, which ends when what is given back is dropped.
    ///
    /// # Errors
    /// As [`StatementGuard::runs`].
    pub(crate) fn sits(&self, text: Arc<str>) -> Result<Sitting, Error> {
        self.runs(Some(Arc::clone(&text)))?;
        let running = Arc::clone(&self.running);
        Ok(Sitting { running, text })
    }
}

/// A statement that runs at the place of its transaction.
#[derive(Debug)]
pub(crate) struct Sitting {
    running: Arc<RunningStatement>,
    text: Arc<str>,
}

impl Drop for Sitting {
    fn drop(&mut self) {
        let mut text = lock(&self.running.text);
        // Another one may have begun meanwhile.
        if text.as_ref().is_some_and(|it| Arc::ptr_eq(it, &self.text)) {
            *text = None;
        }
    }
}

impl std::fmt::Debug for StatementGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StatementGuard")
            .field(&self.running.number)
            .finish()
    }
}

impl Drop for StatementGuard {
    fn drop(&mut self) {
        let number = self.running.number;
        let mut table = lock(&self.statements.table(number).running);
        if let Some(at) = table.iter().position(|it| it.number == number) {
            table.swap_remove(at);
        }
    }
}
