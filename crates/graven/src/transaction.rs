//! Explicit transactions, and how a writing statement outside one gets its own.
//!
//! # How it works
//! A writing statement runs to its end before its first row is handed out: its result is kept in
//! the budget, so that a conflict at the commit can be answered by running it again. Outside an
//! explicit transaction that happens here, with a pause of random length that grows; inside one the
//! program decides, for it knows what the statements before were for. Nothing is acknowledged
//! before the commit is as durable as was asked for.
//!
//! # Invariants
//! * TX-40 A statement that fails fails its transaction: nothing of it can be committed any more.
//! * TX-41 A statement is repeated only if no row of it was handed out and nothing of it was
//!   committed.

use crate::summary::Commit;
use crate::within::Ends;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use graven_io::ProcessLocal;
use graven_storage::{TransactionOptions, WriteCounters};

use crate::access::Access;
use crate::connection::Connection;
use crate::error::Error;
use crate::instance::{Backend, Instance};
use crate::params::Params;
use crate::query_result::QueryResult;
use crate::remote::AttachedTransaction;
use crate::result::LocalCursor;
use crate::statements::StatementGuard;

/// How often a conflict is answered by running a statement again.
const ATTEMPTS_MAX: u32 = 100;

/// How long it is run again all the same.
const RETRY_BUDGET: Duration = Duration::from_secs(10);

/// How often a `MERGE` that met a duplicate is run again.
const MERGES_MAX: u32 = 5;

/// Pause before the second attempt, at most.
const PAUSE_FIRST: Duration = Duration::from_micros(500);

/// A transaction: statements that see each other's changes and become visible to others together,
/// or not at all. Dropping it rolls it back.
///
/// # Examples
/// ```no_run
/// # let db = graven::Database::open("social.graven", graven::Config::default())?;
/// use graven::Params;
/// let connection = db.connect();
/// loop {
///     let mut transaction = connection.begin()?;
///     transaction.query("MATCH (a:Account {id: 1}) SET a.balance = a.balance - 10", &Params::new())?;
///     transaction.query("MATCH (a:Account {id: 2}) SET a.balance = a.balance + 10", &Params::new())?;
///     match transaction.commit() {
///         Err(error) if error.is_retryable() => continue,
///         other => {
///             other?;
///             break;
///         }
///     }
/// }
/// # Ok::<(), graven::Error>(())
/// ```
#[derive(Debug)]
pub struct Transaction {
    work: ProcessLocal<Work>,
    fate: Ends,
}

/// Where a transaction is at work.
#[derive(Debug)]
enum Work {
    Local {
        connection: Connection,
        database: Arc<Instance>,
        transaction: Arc<graven_storage::Transaction>,
        guard: StatementGuard,
    },
    Remote(AttachedTransaction),
}

impl Transaction {
    fn new(work: Work) -> Self {
        Transaction {
            work: ProcessLocal::new(work),
            fate: Ends::default(),
        }
    }

    /// Runs a statement to its end; the rows are those of the state that this transaction sees.
    ///
    /// # Errors
    /// As [`Connection::query`]; `Transaction.Failed` after an earlier error. Every error fails the
    /// transaction.
    pub fn query(&mut self, text: &str, params: &Params) -> Result<QueryResult, Error> {
        Error::unless_at(self.work.home())?;
        if self.has_failed() {
            return Err(failed());
        }
        let result = match &mut *self.work {
            Work::Local {
                connection,
                database,
                transaction,
                guard,
            } => connection.run_in(database, transaction, (text, params), guard),
            Work::Remote(there) => there.query(text, params),
        };
        self.noted(result)
    }

    /// Notes whether a statement has failed.
    fn noted(&self, result: Result<QueryResult, Error>) -> Result<QueryResult, Error> {
        if result.is_err() {
            self.fate.0.failed.store(true, Ordering::SeqCst);
        }
        result
    }

    /// Starts a statement. Rows of one that reads come as they are asked for, until the transaction
    /// ends: they may show what its next statements write, unless they are kept first
    /// ([`QueryResult::keep_rows`]). One that writes, and one that runs in another process, runs to
    /// its end, as with [`Transaction::query`].
    ///
    /// # Errors
    /// As [`Transaction::query`]; an error met while rows are read fails the transaction, too.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// let mut transaction = db.connect().begin()?;
    /// let text = "UNWIND range(1, 1000000000) AS x RETURN x";
    /// let first = transaction.stream(text, &graven::Params::new())?.next_row()?;
    /// # let _ = first;
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn stream(&mut self, text: &str, params: &Params) -> Result<QueryResult, Error> {
        Error::unless_at(self.work.home())?;
        if self.has_failed() {
            return Err(failed());
        }
        let fate = Arc::clone(&self.fate.0);
        let result = match &mut *self.work {
            Work::Local {
                connection,
                database,
                transaction,
                guard,
            } => connection.stream_in(database, transaction, (text, params), (guard, &fate)),
            Work::Remote(there) => there.query(text, params),
        };
        self.noted(result)
    }

    /// Says how long each of its next statements may run; at first that is what
    /// [`Connection::with_timeout`] said.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use std::time::Duration;
    /// let mut transaction = db.connect().begin()?;
    /// transaction.set_timeout(Some(Duration::from_secs(5)));
    /// transaction.query("MATCH (n) SET n.seen = true", &graven::Params::new())?;
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        match &mut *self.work {
            Work::Local { connection, .. } => connection.set_timeout(timeout),
            Work::Remote(there) => there.set_timeout(timeout),
        }
    }

    /// As [`Connection::with_used_name`](crate::Connection::with_used_name), for the next
    /// statement.
    pub fn set_used_name(&mut self, used: Option<(u32, std::sync::Arc<str>)>) {
        if let Work::Local { connection, .. } = &mut *self.work {
            connection.set_used_name(used);
        }
    }

    /// What its next statements may do.
    pub(crate) fn set_access(&mut self, access: Access) {
        if let Work::Local { connection, .. } = &mut *self.work {
            connection.set_access(access);
        }
    }

    /// Whether a statement has failed, so that nothing but rolling back is left.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.fate.0.failed.load(Ordering::SeqCst)
    }

    /// Makes the changes visible and durable.
    ///
    /// # Errors
    /// `Transaction.Conflict`, retryable, where another transaction has changed the same things
    /// since this one began; `Transaction.Failed` after a failed statement; errors of the log say
    /// whether the commit is durable ([`Error::durable`]). The transaction has ended in every case.
    pub fn commit(self) -> Result<Commit, Error> {
        let failed = self.has_failed().then(failed);
        match (self.work.into_inner().map_err(Error::forked)?, failed) {
            (
                Work::Local {
                    database,
                    transaction,
                    guard,
                    ..
                },
                None,
            ) => {
                guard.runs(None)?;
                let schema = changes_schema(&transaction.counters());
                let commit = transaction.commit()?.into();
                if schema {
                    database.plans.clear();
                }
                Ok(commit)
            }
            (Work::Remote(there), None) => there.commit(),
            (work, Some(failed)) => {
                work.rollback();
                Err(failed)
            }
        }
    }

    /// Undoes everything.
    pub fn rollback(self) {
        // Elsewhere there is nothing to undo: it is open in the process that began it.
        if let Ok(work) = self.work.into_inner() {
            work.rollback();
        }
    }
}

impl Work {
    fn rollback(self) {
        match self {
            Work::Local { transaction, .. } => transaction.rollback(),
            Work::Remote(there) => drop(there),
        }
    }
}

/// Whether plans were made for other indexes than there are now.
fn changes_schema(counters: &WriteCounters) -> bool {
    counters.indexes_added
        + counters.indexes_removed
        + counters.constraints_added
        + counters.constraints_removed
        > 0
}

fn failed() -> Error {
    Error::new(
        "Transaction.Failed",
        "a statement of this transaction has failed: roll it back and begin again",
    )
}

impl Connection {
    /// Begins a transaction with the options of the connection: snapshot isolation and full
    /// durability, unless [`Connection::with_options`] said otherwise.
    ///
    /// # Errors
    /// `Database.ReadOnly`, `Database.WritesRefused` where the database takes no writes.
    pub fn begin(&self) -> Result<Transaction, Error> {
        self.begin_with(self.options())
    }

    /// Begins a transaction with options of its own.
    ///
    /// # Errors
    /// As [`Connection::begin`].
    pub fn begin_with(&self, options: TransactionOptions) -> Result<Transaction, Error> {
        let database = match self.database().backend()? {
            Backend::Local(inner) => inner,
            Backend::Remote(attached) => {
                match AttachedTransaction::begin(self.clone(), attached, &options)? {
                    Some(there) => return Ok(Transaction::new(Work::Remote(there))),
                    // This process has taken over meanwhile.
                    None => Arc::clone(self.database().inner()?),
                }
            }
        };
        let transaction = Arc::new(database.store.begin(options)?);
        let flag = self.cancelling().flag();
        let guard = database
            .statements
            .register(None, self.access().user.clone(), flag);
        self.says(&guard);
        Ok(Transaction::new(Work::Local {
            connection: self.clone().in_transaction(),
            database,
            transaction,
            guard,
        }))
    }

    /// Runs a writing statement in a transaction of its own, again where it meets a conflict.
    ///
    /// `merges`: a duplicate may come from a `MERGE` beside ours; run again, this one finds it.
    pub(crate) fn autocommit(
        &self,
        database: &Instance,
        merges: bool,
        mut attempt: impl FnMut(&Arc<graven_storage::Transaction>) -> Result<LocalCursor, Error>,
    ) -> Result<LocalCursor, Error> {
        let mut backoff = RetryBackoff::default();
        loop {
            let transaction = Arc::new(database.store.begin(self.options())?);
            let done = attempt(&transaction).and_then(|mut result| {
                let schema = changes_schema(&transaction.counters());
                result.committed(transaction.commit()?.into());
                if schema {
                    database.plans.clear();
                }
                Ok(result)
            });
            match done {
                Err(error) if error.is_conflict() && backoff.next() => transaction.rollback(),
                Err(error) if merges && error.is_duplicate() && backoff.next_merge() => {
                    transaction.rollback();
                }
                Err(error) => {
                    transaction.rollback();
                    return Err(error);
                }
                Ok(result) => return Ok(result),
            }
            self.check_cancelled()?;
        }
    }
}

/// Pauses between attempts: random and shrinking, so that a statement that has waited for long
/// comes before one that has just begun; and not for ever.
#[derive(Default)]
pub(crate) struct RetryBackoff {
    attempts: u32,
    begun: Option<Instant>,
}

impl RetryBackoff {
    /// Waits; false if there were attempts enough.
    pub(crate) fn next(&mut self) -> bool {
        let begun = *self.begun.get_or_insert_with(Instant::now);
        self.next_of(|attempts| attempts < ATTEMPTS_MAX || begun.elapsed() < RETRY_BUDGET)
    }

    /// As [`RetryBackoff::next`] for a duplicate that a `MERGE` has met.
    pub(crate) fn next_merge(&mut self) -> bool {
        self.next_of(|attempts| attempts < MERGES_MAX)
    }

    /// Waits longer each time, up to a second: nothing tells when it is worth while.
    pub(crate) fn longer(&mut self) {
        self.attempts += 1;
        let most = Duration::from_millis(2 << self.attempts.min(9));
        self.wait(most.min(Duration::from_secs(1)));
    }

    fn next_of(&mut self, goes_on: impl FnOnce(u32) -> bool) -> bool {
        self.attempts += 1;
        if !goes_on(self.attempts) {
            return false;
        }
        self.wait(PAUSE_FIRST / (1 << (self.attempts - 1).min(20)));
        true
    }

    /// For a random part of this time.
    fn wait(&self, most: Duration) {
        let mut random = RandomState::new().build_hasher();
        random.write_u32(self.attempts);
        let share = (random.finish() >> 40) as f64 / (1u64 << 24) as f64;
        std::thread::sleep(most.mul_f64(share));
    }
}
