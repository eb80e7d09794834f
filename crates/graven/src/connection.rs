//! Where statements are run: parse, plan, execute, cancel.

mod functions;
mod prepared;
mod statement;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use graven_exec::{Deadline, Sources};
use graven_files::Frame;
use graven_pagecache::{Budget, SpillFile};
use graven_storage::TransactionOptions;

use crate::access::Access;
use crate::cancel::{CancelHandle, Cancelling};
use crate::clients::Clients;
use crate::database::{Database, WeakDatabase};
use crate::database_manager::DatabaseManager;
use crate::error::Error;
use crate::functions::Functions;
use crate::instance::Instance;
use crate::materialise::to_inner;
use crate::params::Params;
use crate::statements::{Client, StatementGuard};
use crate::value::Value;

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
    /// What is said of its statements and transactions: a map.
    metadata: Option<graven_exec::Value>,
    /// The databases of the server that it belongs to.
    database_manager: Option<Arc<dyn DatabaseManager>>,
    /// The name behind `USE` that its next statements were brought here by, and where it stands in
    /// their text.
    used_name: Option<(u32, Arc<str>)>,
    /// Which client it is for.
    client: Option<Arc<Client>>,
    /// All clients of the server that it belongs to.
    clients: Option<Arc<dyn Clients>>,
    /// How many procedures run its statements within each other.
    depth: usize,
    /// What the program has added to the language.
    functions: Arc<Functions>,
    /// What its statements share, from the first one on.
    own: Arc<OnceLock<Own>>,
}

/// What statements refer to all the time, with references that are counted for this connection
/// alone: threads that each have a connection do not write the same counters.
#[derive(Debug)]
struct Own {
    budget: Arc<Budget>,
    spill: Arc<SpillFile>,
    /// Of statements without frames.
    sources: Arc<Sources>,
}

impl Own {
    fn of(inner: &Instance) -> Own {
        Own {
            budget: inner.budget.handle(),
            spill: Arc::new(inner.spill.handle()),
            sources: Arc::new(Sources {
                frames: Arc::default(),
                left_out: Arc::clone(&inner.left_out),
            }),
        }
    }
}

pub use prepared::Prepared;

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
pub(crate) struct StatementContext<'a> {
    pub(crate) guard: &'a StatementGuard,
    pub(crate) begun: Instant,
    /// When it must have ended.
    pub(crate) deadline: Option<Deadline>,
    /// What it may read besides files.
    pub(crate) frames: &'a Arc<BTreeMap<Arc<str>, Frame>>,
}

impl Database {
    /// A connection: where statements are run and cancelled.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::new(self.clone()).with_timeout(self.timeout())
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
            metadata: None,
            used_name: None,
            database_manager: None,
            client: None,
            clients: None,
            depth: 0,
            own: Arc::default(),
            functions: Arc::default(),
        }
    }

    /// The same connection, for statements that a procedure runs so deep within others.
    pub(crate) fn at_depth(mut self, depth: usize) -> Connection {
        self.depth = depth;
        self
    }

    /// The functions that its statements may call beside those of the language.
    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }

    /// Its database, which this does not keep open.
    pub(crate) fn weak_database(&self) -> WeakDatabase {
        self.db.downgrade()
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

    /// The same connection, whose statements may run for so long, each from its start to its last
    /// row; those that take longer end with `Statement.TimedOut`, and what they wrote is undone.
    /// `None`: as long as they take.
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

    /// The same connection, of whose statements and transactions this is said: a map, which
    /// `SHOW TRANSACTIONS YIELD metaData` shows, and `CALL tx.getMetaData()` gives.
    ///
    /// # Examples
    /// ```no_run
    /// # let db = graven::Database::open("social.graven", graven::Config::default())?;
    /// use graven::{Params, Value};
    /// let said = Value::Map([("app".into(), Value::from("ledger"))].into());
    /// let connection = db.connect().with_metadata(&said);
    /// let result = connection.query("CALL tx.getMetaData()", &Params::new());
    /// # let _ = result;
    /// # Ok::<(), graven::Error>(())
    /// ```
    #[must_use]
    pub fn with_metadata(mut self, said: &Value) -> Connection {
        self.metadata = Some(to_inner(said));
        self
    }

    /// The same connection, for statements on another database: both are cancelled together.
    #[must_use]
    pub fn with_database(mut self, database: Database) -> Connection {
        self.db = database;
        self.own = Arc::default();
        self
    }

    /// The same connection; its statements see and change the databases of a server.
    #[must_use]
    pub fn with_database_manager(
        mut self,
        database_manager: Arc<dyn DatabaseManager>,
    ) -> Connection {
        self.database_manager = Some(database_manager);
        self
    }

    /// The same connection, for a statement that is here because of a computed name behind `USE`:
    /// what it gave, and where it stands in the text of the statement. It is not computed again.
    #[must_use]
    pub fn with_used_name(mut self, used: Option<(u32, Arc<str>)>) -> Connection {
        self.set_used_name(used);
        self
    }

    pub(crate) fn set_used_name(&mut self, used: Option<(u32, Arc<str>)>) {
        self.used_name = used;
    }

    /// What the name that stands at a place has given.
    pub(crate) fn used_name(&self, place: i64) -> Option<&Arc<str>> {
        let used = self.used_name.as_ref();
        used.filter(|(at, _)| i64::from(*at) == place)
            .map(|(_, name)| name)
    }

    pub(crate) fn database_manager(&self) -> Option<&Arc<dyn DatabaseManager>> {
        self.database_manager.as_ref()
    }

    /// The same connection, which serves a client: `SHOW TRANSACTIONS` shows the client's number
    /// and address.
    #[must_use]
    pub fn with_client(mut self, connection: &str, address: &str) -> Connection {
        self.client = Some(Arc::new(Client {
            connection: connection.into(),
            address: address.into(),
        }));
        self
    }

    /// The same connection; its statements see and end the connections of a server's clients.
    #[must_use]
    pub fn with_clients(mut self, clients: Arc<dyn Clients>) -> Connection {
        self.clients = Some(clients);
        self
    }

    pub(crate) fn clients(&self) -> Option<&Arc<dyn Clients>> {
        self.clients.as_ref()
    }

    /// Notes at this place what is said of what sits there.
    pub(crate) fn says(&self, guard: &StatementGuard) {
        if let Some(client) = &self.client {
            guard.running().set_client(Arc::clone(client));
        }
        if let Some(said) = &self.metadata {
            guard.running().set_metadata(said.clone());
        }
    }

    /// What its statements may do.
    pub(crate) fn access(&self) -> &Access {
        &self.access
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
}
