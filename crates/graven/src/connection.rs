//! Where statements are run: parse, plan, execute, cancel.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use graven_cypher::{ParameterNames, parse_and_plan, parse_and_plan_until};
use graven_exec::{Deadline, ExecContext, Procedures, Resting, Sources, execute};
use graven_files::Frame;
use graven_io::Local;
use graven_storage::{Snapshot, TransactionOptions};

use crate::access::Access;
use crate::attach;
use crate::cancel::{CancelHandle, Cancelling};
use crate::database::{Database, Inner, Place};
use crate::error::Error;
use crate::materialise::to_inner;
use crate::params::Params;
use crate::plan_cache::{self, Planned, Remembered, texts_of};
use crate::procedures::OnDatabase;
use crate::query_result::QueryResult;
use crate::result::{Kept, Running};
use crate::schema::{Asked, Schema};
use crate::statements::Seat;
use crate::transaction::{Fate, Within};

/// A place to run statements from. Cheap to make; one a thread is usual, but it may be shared.
#[derive(Clone, Debug)]
pub struct Connection {
    db: Database,
    cancel: Arc<Cancelling>,
    options: TransactionOptions,
    /// How long a statement may run.
    timeout: Option<Duration>,
    /// When the transaction began whose statements this connection runs.
    began: Option<SystemTime>,
    /// What its statements may do.
    access: Access,
}

/// Parameters as the executor takes them, made once for all attempts.
pub(crate) struct Run {
    pub(crate) values: Arc<graven_exec::Params>,
}

impl Run {
    pub(crate) fn new(params: &Params) -> Self {
        // One after the other: they are few, and collecting them would sort them first.
        let mut values = graven_exec::Params::new();
        for (name, value) in params.shared() {
            values.insert(Arc::clone(name), to_inner(value));
        }
        Run {
            values: Arc::new(values),
        }
    }
}

/// When and where a statement runs.
pub(crate) struct Occasion<'a> {
    pub(crate) seat: &'a Seat,
    pub(crate) begun: Instant,
    /// When it must have ended.
    pub(crate) deadline: Option<Deadline>,
    /// What it may read besides files.
    pub(crate) frames: &'a Arc<BTreeMap<Arc<str>, Frame>>,
}

/// A statement that has been checked and planned. Threads that share one wait for each other for a moment at the beginning of each
/// statement; clones do not.
#[derive(Debug)]
pub struct Prepared {
    text: Arc<str>,
    connection: Connection,
    /// The plan used last.
    remembered: Local<Mutex<Option<Remembered>>>,
    /// What the run that ended last has left.
    keep: Arc<Keep>,
}

/// Where the operators of a prepared statement wait for its next run.
pub(crate) type Keep = Local<Mutex<Option<Kept>>>;

impl Clone for Prepared {
    fn clone(&self) -> Self {
        Prepared::new(Arc::clone(&self.text), self.connection.clone())
    }
}

impl Connection {
    pub(crate) fn new(db: Database) -> Self {
        Connection::on(db, CancelHandle::default())
    }

    /// A connection that this handle cancels.
    pub(crate) fn on(db: Database, cancel: CancelHandle) -> Self {
        Connection {
            db,
            cancel: cancel.into_inner(),
            options: TransactionOptions::default(),
            timeout: None,
            began: None,
            access: Access::default(),
        }
    }

    /// Starts a statement. Rows of one that reads come as they are asked for; dropping the result ends it. One that
    /// writes runs in a transaction of its own: when this returns it is committed and durable.
    ///
    /// # Errors
    /// `SyntaxError.*` and other errors of the text with their place; errors of the first step of running it.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::Params;
    /// let connection = db.connect();
    /// for row in connection.query("UNWIND [1, 2] AS x RETURN x", &Params::new())? {
    ///     println!("{:?}", row?.get_by_name("x"));
    /// }
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn query(&self, text: &str, params: &Params) -> Result<QueryResult, Error> {
        let inner = match self.db.place()? {
            Place::Here(inner) => inner,
            Place::There(_) if !params.frames().is_empty() => {
                return Err(Error::new(
                    "ArgumentError.InvalidSource",
                    "another process owns the database, and a frame cannot go there: write it to a file, and load that",
                ));
            }
            Place::There(attached) => return attach::query(self, attached, text, params),
        };
        self.cancel.reset();
        let deadline = self.deadline();
        let snapshot = inner.store.snapshot();
        let planned = self.plan(&inner, text, params, &snapshot, deadline)?;
        self.start(&inner, planned, params, snapshot, (None, deadline))
    }

    /// Starts a planned statement, with its operators if they are kept there; one that writes runs to its end.
    fn start(
        &self,
        inner: &Arc<Inner>,
        planned: Planned,
        params: &Params,
        snapshot: Snapshot,
        (keep, deadline): (Option<&Arc<Keep>>, Option<Deadline>),
    ) -> Result<QueryResult, Error> {
        self.check_access(inner, &planned)?;
        let text = Arc::clone(&planned.text);
        let writes = planned.writes() && !planned.runs_in_transactions();
        let keep = Arc::clone(keep.unwrap_or_else(|| planned.keep()));
        let kept = (keep.lock().unwrap_or_else(PoisonError::into_inner)).take();
        let mut again = writes.then(|| planned.take_operators()).flatten();
        let fits = |kept: &Kept| (kept.operators).fits(&planned.plan, &snapshot, &inner.budget);
        let (operators, counts) = match kept.filter(fits) {
            Some(Kept { operators, counts }) => (Some(operators), Some(counts)),
            None => (None, None),
        };
        let memory = operators.as_ref().or(again.as_ref());
        let memory = memory.and_then(Resting::meter);
        let memory = memory.map(Arc::clone).unwrap_or_default();
        let flag = self.cancel.flag();
        let seat = inner
            .statements
            .enter(Some(text), self.access.user.clone(), flag, memory);
        if planned.runs_in_transactions() {
            drop(snapshot);
            return Ok(self.in_transactions(inner, planned, params, seat)?.into());
        }
        let begun = seat.begun();
        // All attempts together have the time of one statement.
        let occasion = Occasion {
            seat: &seat,
            begun,
            deadline,
            frames: params.frames(),
        };
        if planned.writes() {
            let run = Run::new(params);
            let done = self.autocommit(inner, planned.merges(), |transaction| {
                let with = (&occasion, again.take());
                let (ran, rests) = self.run(inner, &planned, transaction, &run, with)?;
                again = rests;
                Ok(ran)
            });
            // Not before: what they hold counts for this statement as long as it runs.
            if let Some(operators) = again {
                planned.leave_operators(operators);
            }
            return Ok(done?.into());
        }
        let values = Run::new(params).values;
        let mut context = self.context(inner, &planned, None, &occasion);
        context.only_reads = true;
        let run = |plan, snapshot| match operators {
            Some(operators) => operators.execute(snapshot, values, context),
            None => execute(plan, snapshot, values, context),
        };
        let acts = planned.acts();
        let mut running = Running::start(planned, snapshot, begun, counts, run)?;
        running.sits(seat);
        running.kept_in(keep);
        if acts {
            running.begin_now()?;
        }
        Ok(running.into())
    }

    /// Runs a statement to its end in a transaction.
    pub(crate) fn run_in(
        &self,
        inner: &Arc<Inner>,
        transaction: &Arc<graven_storage::Transaction>,
        (text, params): (&str, &Params),
        seat: &Seat,
    ) -> Result<QueryResult, Error> {
        self.cancel.reset();
        let deadline = self.deadline();
        // Which plan is taken changes no answer.
        let unrecorded = transaction.unrecorded_snapshot();
        let planned = self.plan(inner, text, params, &unrecorded, deadline)?;
        self.check_access(inner, &planned)?;
        if planned.runs_in_transactions() {
            return Err(Error::new(
                "Transaction.ImplicitOnly",
                "a statement with CALL { ... } IN TRANSACTIONS makes transactions of its own: run it outside of a transaction",
            ));
        }
        seat.runs(Some(Arc::clone(&planned.text)))?;
        let run = Run::new(params);
        let occasion = Occasion {
            seat,
            begun: Instant::now(),
            deadline,
            frames: params.frames(),
        };
        let ran = self.run(inner, &planned, transaction, &run, (&occasion, None));
        let idle = seat.runs(None);
        // What counts the memory of these operators is the transaction's.
        let (running, _) = ran?;
        idle?;
        Ok(running.into())
    }

    /// Starts a statement in a transaction: the rows of one that reads come as they are asked for, one that writes runs to its end.
    pub(crate) fn stream_in(
        &self,
        inner: &Arc<Inner>,
        transaction: &Arc<graven_storage::Transaction>,
        (text, params): (&str, &Params),
        (seat, fate): (&Seat, &Arc<Fate>),
    ) -> Result<QueryResult, Error> {
        self.cancel.reset();
        let unrecorded = transaction.unrecorded_snapshot();
        let deadline = self.deadline();
        let planned = self.plan(inner, text, params, &unrecorded, deadline)?;
        if planned.writes() || planned.runs_in_transactions() || planned.acts() {
            return self.run_in(inner, transaction, (text, params), seat);
        }
        self.check_access(inner, &planned)?;
        let sitting = seat.sits(Arc::clone(&planned.text))?;
        let values = Run::new(params).values;
        let occasion = Occasion {
            seat,
            begun: Instant::now(),
            deadline,
            frames: params.frames(),
        };
        let context = self.context(inner, &planned, Some(Arc::clone(transaction)), &occasion);
        let snapshot = transaction.snapshot();
        let begun = occasion.begun;
        let mut running = Running::start(planned, snapshot, begun, None, |plan, snapshot| {
            execute(plan, snapshot, values, context)
        })?;
        running.is_within(Within::new(sitting, fate));
        Ok(running.into())
    }

    /// Runs a statement to its end, with the operators of an earlier run if they are given and fit. Those that the next run can have come with
    /// the result.
    fn run(
        &self,
        inner: &Arc<Inner>,
        planned: &Planned,
        transaction: &Arc<graven_storage::Transaction>,
        run: &Run,
        (occasion, again): (&Occasion<'_>, Option<Resting>),
    ) -> Result<(Running, Option<Resting>), Error> {
        let context = self.context(inner, planned, Some(Arc::clone(transaction)), occasion);
        let snapshot = transaction.snapshot();
        let again = again.filter(|it| it.fits(&planned.plan, &snapshot, &inner.budget));
        let before = transaction.counters();
        let begun = occasion.begun;
        let result = Running::start(planned.clone(), snapshot, begun, None, |plan, snapshot| {
            let values = Arc::clone(&run.values);
            match again {
                Some(operators) => operators.execute(snapshot, values, context),
                None => execute(plan, snapshot, values, context),
            }
        })?;
        result.complete(&inner.budget, &before, transaction)
    }

    pub(crate) fn context(
        &self,
        inner: &Arc<Inner>,
        planned: &Planned,
        transaction: Option<Arc<graven_storage::Transaction>>,
        occasion: &Occasion<'_>,
    ) -> ExecContext {
        let procedures = || OnDatabase {
            home: self.db.clone(),
            database: Arc::clone(inner),
            access: self.access.clone(),
        };
        ExecContext {
            budget: Arc::clone(&inner.budget),
            spill: Some(Arc::clone(&inner.spill)),
            cancel: self.cancel.flag(),
            deadline: occasion.deadline,
            procedures: (planned.calls()).then(|| Arc::new(procedures()) as Arc<dyn Procedures>),
            files: self.access.files.clone(),
            sources: Arc::new(Sources {
                frames: Arc::clone(occasion.frames),
                left_out: Arc::clone(&inner.left_out),
            }),
            user: self.access.user.clone(),
            store_uuid: inner.store.uuid(),
            begun: occasion.begun,
            transaction_began: self.began,
            only_reads: false,
            transaction,
            meter: Some(occasion.seat.meter()),
            tuning: inner.tuning,
        }
    }

    /// Whether the statement would change something. Of a statement that another process runs it is not asked: it runs to its end there.
    ///
    /// # Errors
    /// Those of the text, with their place.
    pub fn would_write(&self, text: &str, params: &Params) -> Result<bool, Error> {
        self.cancel.reset();
        match self.db.place()? {
            Place::Here(_) => self.writes(text, params),
            Place::There(_) => Ok(false),
        }
    }

    /// Whether the statement would write.
    pub(crate) fn writes(&self, text: &str, params: &Params) -> Result<bool, Error> {
        let inner = self.db.inner()?;
        let snapshot = inner.store.snapshot();
        let planned = self.plan(inner, text, params, &snapshot, self.deadline())?;
        Ok(planned.writes())
    }

    /// Whether a commit of this name is known.
    pub(crate) fn has_committed(&self, commit: &[u8; 16]) -> Result<bool, Error> {
        Ok(self.db.inner()?.store.has_committed(commit))
    }

    /// What statements look at to see whether they are to stop.
    pub(crate) fn cancelling(&self) -> Arc<Cancelling> {
        Arc::clone(&self.cancel)
    }

    /// Options of its transactions.
    pub(crate) fn options(&self) -> TransactionOptions {
        self.options.clone()
    }

    /// The same connection, whose single statements and transactions run with these options.
    #[must_use]
    pub fn with_options(mut self, options: TransactionOptions) -> Connection {
        self.options = options;
        self
    }

    /// The same connection, whose statements may run for so long, each from its start to its last row; those that
    /// take longer end with `Statement.TimedOut`, and what they wrote is undone. `None`: as long as they take.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use std::time::Duration;
    /// let connection = db.connect().with_timeout(Some(Duration::from_secs(5)));
    /// let result = connection.query("MATCH (a), (b), (c) RETURN count(*)", &graven::Params::new());
    /// # let _ = result;
    /// # Ok::<(), graven::Error>(())
    /// ```
    #[must_use]
    pub fn with_timeout(mut self, timeout: Option<Duration>) -> Connection {
        self.set_timeout(timeout);
        self
    }

    pub(crate) fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// The same connection, whose statements may do only so much.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::{Access, Params, Role};
    /// let reader = db.connect().with_access(Access::without_files(Role::Reader));
    /// let refused = reader.query("CREATE (:Person)", &Params::new()).map(|_| ());
    /// assert_eq!(refused.map_err(|error| error.code().to_owned()), Err("Security.Forbidden".to_owned()));
    /// # Ok::<(), graven::Error>(())
    /// ```
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Connection {
        self.access = access;
        self
    }

    pub(crate) fn set_access(&mut self, access: Access) {
        self.access = access;
    }

    /// What its statements may do.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Refuses a statement that may not be run.
    fn check_access(&self, inner: &Inner, planned: &Planned) -> Result<(), Error> {
        let needs = planned.needs();
        if self.access.is_unbounded() {
            return Ok(());
        }
        let user = || self.access.listed_user(inner);
        self.access.check(user, needs, &"the statement")
    }

    /// How long its statements may run.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// When a statement that begins now must have ended.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.timeout.and_then(Deadline::after)
    }

    /// The same connection, for the statements of a transaction that begins now.
    pub(crate) fn in_transaction(mut self) -> Connection {
        self.began = Some(SystemTime::now());
        self
    }

    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        match self.cancel.is_asked() {
            true => Err(graven_exec::ExecError::Cancelled.into()),
            false => Ok(()),
        }
    }

    /// Checks and plans a statement whose parameters come later.
    ///
    /// # Errors
    /// `SyntaxError.*` and other errors of the text, with their place.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::Params;
    /// let friends = db.connect().prepare("MATCH (:Person {id: $id})-[:KNOWS]-(f) RETURN count(f)")?;
    /// for id in [933, 1129] {
    ///     println!("{:?}", friends.query(&Params::new().with("id", id))?.next_row()?);
    /// }
    /// # Ok::<(), graven::Error>(())
    /// ```
    pub fn prepare(&self, text: &str) -> Result<Prepared, Error> {
        match self.db.place()? {
            Place::Here(inner) => {
                let snapshot = inner.store.snapshot();
                let asked = Asked::default();
                let params = Params::new();
                let files = (&self.access.files, params.frames());
                let schema = Schema(&snapshot, &inner.registered, &inner.tuning, &asked, files);
                parse_and_plan(text, &schema, &ParameterNames::Any)?;
            }
            Place::There(attached) => self.db.ask(attached, |attached| attached.check(text))?,
        }
        Ok(Prepared::new(Arc::from(text), self.clone()))
    }

    /// Something another thread can cancel this connection's statements with.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle::new(Arc::clone(&self.cancel))
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.db
    }

    fn plan(
        &self,
        inner: &Inner,
        text: &str,
        params: &Params,
        snapshot: &Snapshot,
        deadline: Option<Deadline>,
    ) -> Result<Planned, Error> {
        let nodes = snapshot.node_count();
        let plans = &inner.plans;
        if let Some(known) = plans.get(text, params, snapshot, nodes) {
            return Ok(known);
        }
        let names = || params.iter().map(|(name, _)| name.to_owned());
        let texts = params.iter().map(|(_, value)| texts_of(value));
        let frames = params.frames().keys().map(|name| (name.to_string(), None));
        let known = ParameterNames::Known(names().zip(texts).chain(frames).collect());
        let asked = Asked::default();
        let files = (&self.access.files, params.frames());
        let schema = Schema(snapshot, &inner.registered, &inner.tuning, &asked, files);
        let memory = match plan_cache::reserved(text, &inner.budget) {
            Ok(memory) => memory,
            Err(_) => {
                plans.clear();
                plan_cache::reserved(text, &inner.budget)?
            }
        };
        let flag = self.cancel.flag();
        let ended = move || Deadline::check(deadline, &flag);
        let to_stop = ended.clone();
        let stop = Rc::new(move || to_stop().is_err());
        let plan = parse_and_plan_until(text, &schema, &known, stop);
        // A text that was given up is no wrong one.
        ended()?;
        let planned = Planned::new(text, plan?, asked.counted(nodes), memory);
        // A notice may be out of date by the next time: an unknown label may have come to exist.
        if planned.is_kept() {
            plans.put(
                names().collect(),
                nodes,
                planned.clone(),
                inner.budget.limit(),
            );
        }
        Ok(planned)
    }
}

impl Prepared {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query(&self, params: &Params) -> Result<QueryResult, Error> {
        self.query_on(&self.connection, params)
    }

    /// As [`Prepared::query`], for as long as this at most, whatever its connection was given.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query_within(
        &self,
        params: &Params,
        timeout: Option<Duration>,
    ) -> Result<QueryResult, Error> {
        let connection = self.connection.clone().with_timeout(timeout);
        self.query_on(&connection, params)
    }

    fn query_on(&self, connection: &Connection, params: &Params) -> Result<QueryResult, Error> {
        let inner = match connection.db.place()? {
            Place::Here(inner) => inner,
            Place::There(_) => return connection.query(&self.text, params),
        };
        connection.cancel.reset();
        let deadline = connection.deadline();
        let snapshot = inner.store.snapshot();
        let planned = self.plan(&inner, params, &snapshot, deadline)?;
        connection.start(
            &inner,
            planned,
            params,
            snapshot,
            (Some(&self.keep), deadline),
        )
    }

    fn new(text: Arc<str>, connection: Connection) -> Self {
        Prepared {
            text,
            connection,
            remembered: Local::default(),
            keep: Arc::default(),
        }
    }

    fn plan(
        &self,
        inner: &Inner,
        params: &Params,
        snapshot: &Snapshot,
        deadline: Option<Deadline>,
    ) -> Result<Planned, Error> {
        // Read before planning: a plan made meanwhile counts as older than it is.
        let generation = inner.plans.generation();
        let nodes = snapshot.node_count();
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(planned) = remembered
            .as_ref()
            .and_then(|it| it.get(params, snapshot, nodes, generation))
        {
            return Ok(planned);
        }
        let connection = &self.connection;
        let planned = connection.plan(inner, &self.text, params, snapshot, deadline)?;
        *remembered = Remembered::new(&planned, params, nodes, generation);
        Ok(planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// Goal: statements that read a few nodes keep their operators, which hold no memory of the budget (EX-57); those that
    /// write, are profiled or have failed do not.
    #[test]
    fn operators_of_short_reads_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = Config {
            create: true,
            ..Config::default()
        };
        let db = Database::open(folder.path().join("kept.graven"), config).expect("opened");
        let connection = db.connect();
        let texts = [
            ("CREATE (:P {id: 1})-[:KNOWS]->(:P {id: 2})", false),
            ("CREATE INDEX FOR (p:P) ON (p.id)", false),
            ("MATCH (p:P {id: $id}) RETURN p.id", true),
            (
                "MATCH (p:P {id: $id})-[k:KNOWS]-(f:P) RETURN f.id, k.since ORDER BY k.since, f.id",
                true,
            ),
            (
                "MATCH (p:P {id: $id})-[:KNOWS]-(f) RETURN count(DISTINCT f.id)",
                true,
            ),
            (
                "MATCH (p:P {id: $id})-[:KNOWS]-(f) RETURN DISTINCT f.id LIMIT 2",
                true,
            ),
            ("MATCH (p:P {id: $id}) RETURN p.id IN [$id, 2]", false),
            ("PROFILE MATCH (p:P {id: $id}) RETURN p.id", false),
            ("MATCH (p:P {id: $id}) RETURN p.id / 0", false),
            ("MATCH (p:P {id: $id}) SET p.x = 1 RETURN p.x", false),
        ];
        for (text, kept) in texts {
            let prepared = connection.prepare(text).expect("valid");
            for round in 0..3 {
                let params = Params::new().with("id", 1 + round % 2);
                let rows = |result: Result<QueryResult, Error>| {
                    let rows = result.and_then(Iterator::collect::<Result<Vec<_>, _>>);
                    rows.map_err(|error| error.to_string())
                };
                let first = rows(prepared.query(&params));
                let keep = prepared.keep.lock().unwrap_or_else(PoisonError::into_inner);
                assert_eq!(keep.is_some(), kept, "{text}");
                if text.starts_with("CREATE") {
                    continue;
                }
                assert_eq!(rows(connection.query(text, &params)), first, "{text}");
                let inner = db.inner().expect("here");
                let snapshot = inner.store.snapshot();
                let planned = connection.plan(inner, text, &params, &snapshot, None);
                let planned = planned.expect("planned");
                let keep = planned
                    .keep()
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                // Plans that know a name not yet are made anew.
                let kept = kept && planned.plan.notices.is_empty();
                assert_eq!(keep.is_some(), kept, "{text}, not prepared");
                let operators = [
                    "NodeSeek",
                    "Expand",
                    "Sort",
                    "Aggregate",
                    "Distinct",
                    "Project",
                ];
                let mut holders = db.inner().expect("here").budget.holders().into_iter();
                let held = holders.find(|it| operators.contains(&it.tag) && it.bytes > 0);
                assert_eq!(held, None, "{text}");
            }
        }
    }

    /// Goal: a statement that writes with the operators of its run before does what it does with new ones: whatever it reads, sets and
    /// creates, whatever names have come since, after an error and in a transaction.
    /// Method: each statement with the same text again and again in one database, with a text of its own each time in another.
    #[test]
    fn operators_of_writing_statements_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = |name: &str| {
            let config = Config {
                create: true,
                ..Config::default()
            };
            Database::open(folder.path().join(name), config).expect("opened")
        };
        let (same, other) = (open("same.graven"), open("other.graven"));
        let texts = [
            (
                "CREATE (a:P {id: $id})-[:KNOWS {since: $id}]->(b:P {id: -$id, name: $name})",
                true,
            ),
            (
                "CREATE (a:P {id: $id + 100}) SET a.twice = 2 * $id RETURN a.twice, a.id",
                true,
            ),
            (
                "MATCH (a:P {id: $id}) SET a.seen = $id, a:Seen RETURN a.seen, labels(a)",
                true,
            ),
            (
                "MATCH (a:P {id: $id})-[k:KNOWS]->(b) SET k += {last: $id}, b.last = k.last RETURN b.id, b.last",
                false,
            ),
            (
                "MATCH (a:P) WHERE a.id >= $id REMOVE a.twice RETURN count(*)",
                true,
            ),
            ("MATCH (a:Late) SET a.found = $id RETURN count(*)", true),
            (
                "MATCH (a:P {id: $id}), (b:P {id: $id}) CREATE (a)-[:LIKES {by: $name}]->(b) RETURN a.id",
                false,
            ),
            (
                "MERGE (a:Q {id: $id}) ON MATCH SET a.again = true RETURN a.again",
                false,
            ),
            ("MATCH (a:P {id: $id})-[:LIKES]->(b) DETACH DELETE b", false),
            (
                "UNWIND range(1, $id) AS i CREATE (:R {i: 10 / (i - $id + 2)})",
                false,
            ),
            ("CREATE (:R {i: 1 / ($id - 2)})", true),
        ];
        let mut failed = 0;
        for round in 0..4i64 {
            for (place, (text, kept)) in texts.iter().enumerate() {
                if round == 2 && place == 5 {
                    // Until now the label was unknown.
                    for db in [&same, &other] {
                        let made = db
                            .connect()
                            .query("CREATE (:Late), (:Late)", &Params::new());
                        made.expect("created");
                    }
                }
                let params = Params::new().with("id", 1 + round % 3).with("name", "Ada");
                let rows = |db: &Database, text: &str, inside: bool| {
                    let connection = db.connect();
                    let rows = |mut result: QueryResult| {
                        let rows = result.by_ref().map(|row| row.expect("a row").into_values());
                        let rows: Vec<_> = rows.collect();
                        (rows, result.summary().counters)
                    };
                    if !inside {
                        let rows = connection.query(text, &params).map(rows);
                        return rows.map_err(|error| error.to_string());
                    }
                    let mut transaction = connection.begin().expect("begun");
                    let rows = transaction.query(text, &params).map(rows);
                    if rows.is_ok() {
                        transaction.commit().expect("committed");
                    }
                    rows.map_err(|error| error.to_string())
                };
                let inside = round == 3 && place % 2 == 0;
                let its_own = format!("{text} // {round}");
                let answer = rows(&same, text, inside);
                failed += u32::from(answer.is_err());
                assert_eq!(
                    answer,
                    rows(&other, &its_own, inside),
                    "{text}, round {round}"
                );
                let planned = (same.connect())
                    .plan(
                        same.inner().expect("here"),
                        text,
                        &params,
                        &same.inner().expect("here").store.snapshot(),
                        None,
                    )
                    .expect("planned");
                let operators = planned.take_operators();
                // Plans that know a name not yet are not kept, nor are operators of a run that failed.
                if round == 3 {
                    assert_eq!(operators.is_some(), *kept, "{text}");
                }
                if let Some(operators) = operators {
                    planned.leave_operators(operators);
                }
            }
        }
        assert!(failed >= 2, "{failed}: some fail");
        let all = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) \
            RETURN id(n), labels(n), properties(n), type(r), properties(r), id(m) ORDER BY id(n), id(m), type(r)";
        let read = |db: &Database| {
            let rows = db.connect().query(all, &Params::new()).expect("read");
            rows.map(|row| row.expect("a row").into_values())
                .collect::<Vec<_>>()
        };
        assert!(read(&same).len() > 10);
        assert_eq!(read(&same), read(&other));
        let holders = same.inner().expect("here").budget.holders();
        let of_operators = [
            "NodeSeek",
            "Expand",
            "Create",
            "Set",
            "Project",
            "Aggregate",
        ];
        let held = holders
            .into_iter()
            .find(|it| of_operators.contains(&it.tag) && it.bytes > 0);
        assert_eq!(held, None);
        let inner = Arc::downgrade(same.inner().expect("here"));
        drop(same);
        assert!(inner.upgrade().is_none(), "operators hold no database");
    }
}
