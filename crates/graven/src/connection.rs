//! Where statements are run: parse, plan, execute, cancel.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graven_cypher::{ParameterNames, Plan, parse_and_plan};
use graven_exec::{ExecContext, execute};

use crate::database::Database;
use crate::error::Error;
use crate::materialise::to_inner;
use crate::params::Params;
use crate::procedures::OnDatabase;
use crate::result::QueryResult;
use crate::schema::Schema;

/// A place to run statements from. Cheap to make; one a thread is usual, but it may be shared.
#[derive(Clone, Debug)]
pub struct Connection {
    db: Database,
    cancel: Arc<AtomicBool>,
}

/// Cancels the statements of one connection, from any thread.
#[derive(Clone, Debug)]
pub struct CancelHandle(Arc<AtomicBool>);

impl CancelHandle {
    /// Asks the statements that run now to stop; they end with `Statement.Cancelled`.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A statement that has been checked and planned.
#[derive(Clone, Debug)]
pub struct Prepared {
    text: Arc<str>,
    connection: Connection,
}

impl Connection {
    pub(crate) fn new(db: Database) -> Self {
        Connection {
            db,
            cancel: Arc::default(),
        }
    }

    /// Starts a statement. Rows come as they are asked for; dropping the result ends the statement.
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
        let plan = self.plan(text, params)?;
        self.cancel.store(false, Ordering::Relaxed);
        let inner = &self.db.inner;
        let snapshot = inner.store.snapshot();
        let values = params
            .iter()
            .map(|(name, value)| (name.to_owned(), to_inner(value)));
        let mut context = ExecContext::new(Arc::clone(&inner.budget));
        context.cancel = Arc::clone(&self.cancel);
        context.procedures = Arc::new(OnDatabase(Arc::clone(inner)));
        context.store_uuid = inner.store.uuid();
        QueryResult::start(plan, snapshot, |plan, snapshot| {
            execute(plan, snapshot, Arc::new(values.collect()), context)
        })
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
        let snapshot = self.db.inner.store.snapshot();
        parse_and_plan(
            text,
            &Schema(&snapshot, &self.db.inner.registered),
            &ParameterNames::Any,
        )?;
        Ok(Prepared {
            text: Arc::from(text),
            connection: self.clone(),
        })
    }

    /// Something another thread can cancel this connection's statements with.
    #[must_use]
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle(Arc::clone(&self.cancel))
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.db
    }

    fn plan(&self, text: &str, params: &Params) -> Result<Arc<Plan>, Error> {
        let plans = &self.db.inner.plans;
        let names = || params.iter().map(|(name, _)| name);
        if let Some(plan) = plans.get(text, names()) {
            return Ok(plan);
        }
        let names: BTreeSet<String> = names().map(str::to_owned).collect();
        let snapshot = self.db.inner.store.snapshot();
        let known = ParameterNames::Known(names.clone());
        let plan = Arc::new(parse_and_plan(
            text,
            &Schema(&snapshot, &self.db.inner.registered),
            &known,
        )?);
        plans.put(text, names, Arc::clone(&plan));
        Ok(plan)
    }
}

impl Prepared {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query(&self, params: &Params) -> Result<QueryResult, Error> {
        self.connection.query(&self.text, params)
    }
}
