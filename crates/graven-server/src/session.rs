//! What a connection does: one message after the other.
//!
//! # How it works
//! A statement outside a transaction is run by RUN and keeps its result until the last row was
//! pulled; in a transaction several statements may have rows left, each under its number. A failure
//! makes the session ignore what follows until RESET (BO-2). RESET itself is noticed by the reader,
//! which stops the statement that runs; the session learns of it by [`ResetAhead`].

mod answers;
mod database;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graven::{Access, CancelHandle, Connection, Params, Role, Transaction, Value};

use crate::Version;
use crate::admission::ConnectionSlot;
use crate::clients::{self, ClientEntry, ClientList};
use crate::failure::{Failure, STOPPED};
use crate::message::{IGNORED, Map, Request, SUCCESS, Wanted, entry};
use crate::metrics;
use crate::notification::Filter;
use crate::opened::Opened;
use crate::served::Databases;
use crate::service::Service;
use crate::session_databases::SessionDatabases;
use crate::summary::Stream;
use crate::timeouts::Timer;
use database::least;

/// How long a client waits for the news of a conflict.
const CONFLICT_WAIT: Duration = Duration::from_millis(10);

/// Rows that were found within so long leave together.
const TOGETHER: Duration = Duration::from_millis(20);

/// Both ends of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    pub(crate) client: SocketAddr,
    /// The address that routing requests are answered with.
    pub(crate) server: String,
}

/// Whether a RESET was read that the session has not come to.
pub(crate) type ResetAhead = Box<dyn Fn() -> bool + Send>;

/// A connection that has agreed on a version.
pub(crate) struct Session<W> {
    service: Arc<Service>,
    reset_ahead: ResetAhead,
    place: Arc<ConnectionSlot>,
    version: Version,
    ends: Ends,
    number: u64,
    connection: Connection,
    to: W,
    /// A message being made.
    message: Vec<u8>,
    said_hello: bool,
    /// What the client says that it is.
    agent: String,
    /// Its entry in the list of clients that have logged in.
    entry: Option<ClientEntry>,
    authenticated: bool,
    /// What the user that has logged in may do.
    access: Access,
    failed: bool,
    /// Of the transaction, or the statement outside of one.
    timer: Timer,
    /// Which notices the client wants, unless a transaction says otherwise.
    filter: Filter,
    /// Which ones it wants of the transaction that is open.
    transaction_filter: Filter,
    /// Why what was open has ended by itself, which the client does not know.
    ended: Option<Failure>,
    /// The database of what is open, or of what was open last.
    at: Arc<Opened>,
    /// The database that is meant where none is named.
    home: String,
    /// The databases of the server, if it has several.
    database_manager: Option<Arc<SessionDatabases>>,
    /// What the transaction that is open was begun with.
    begun_with: Map,
    /// Whether moments count from UTC.
    utc: bool,
    transaction: Option<Transaction>,
    /// Statements with rows left, by their numbers; the one outside a transaction is number 0.
    streams: BTreeMap<u64, Stream>,
    /// Number of the next statement in the transaction.
    next: u64,
}

/// What a message is answered.
enum Answer {
    Success(Map),
    /// The connection is to be closed.
    Close,
}

impl<W: Write> Session<W> {
    pub(crate) fn new(
        service: Arc<Service>,
        (version, at): (Version, Arc<Opened>),
        ends: Ends,
        number: u64,
        place: Arc<ConnectionSlot>,
        reset_ahead: ResetAhead,
        to: W,
    ) -> Self {
        let connection = at.database.connect().with_access(nothing());
        let client = ends.client.to_string();
        let connection = connection.with_client(&clients::id(number), &client);
        let mut connection = connection.with_clients(Arc::clone(&service.clients) as _);
        let database_manager = match &service.databases {
            Databases::File(_) => None,
            Databases::Folder(folder) => Some(Arc::new(SessionDatabases::new(folder))),
        };
        if let Some(database_manager) = &database_manager {
            connection = connection.with_database_manager(Arc::clone(database_manager) as _);
        }
        Session {
            reset_ahead,
            place,
            version,
            ends,
            number,
            connection,
            home: at.name.clone(),
            at,
            database_manager,
            begun_with: Map::new(),
            timer: service.timeouts.begin(None),
            service,
            to,
            message: Vec::new(),
            said_hello: false,
            agent: String::new(),
            entry: None,
            authenticated: false,
            failed: false,
            access: nothing(),
            filter: Filter::default(),
            transaction_filter: Filter::default(),
            ended: None,
            utc: version.is_5(),
            transaction: None,
            streams: BTreeMap::new(),
            next: 0,
        }
    }

    /// Whether the client has logged in.
    pub(crate) fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// What stops the statement that runs.
    pub(crate) fn cancel_handle(&self) -> CancelHandle {
        self.connection.cancel_handle()
    }

    /// When [`Session::time_out`] is to be called unless a message comes before.
    pub(crate) fn ends_by_itself(&self) -> Option<Instant> {
        if self.is_idle() {
            return None;
        }
        self.timer.end()
    }

    /// Ends what is open; whatever the client asks for next is told so.
    pub(crate) fn time_out(&mut self) {
        self.end_all();
        self.ended = Some(self.timer.failure());
    }

    /// Does what a message asks and answers it; whether the connection goes on.
    ///
    /// # Errors
    /// The connection broke off.
    pub(crate) fn handle(&mut self, message: &[u8]) -> io::Result<bool> {
        let _held = match self.room_for(message) {
            Ok(held) => held,
            Err(failure) => return self.refuse(&failure),
        };
        let goes_on = self.handle_now(message)?;
        self.timer.answered();
        self.forget_message();
        Ok(goes_on)
    }

    fn handle_now(&mut self, message: &[u8]) -> io::Result<bool> {
        let request = Request::parse(message);
        let is_malformed = request.as_ref().is_err_and(|error| !error.is_about_value());
        let ignores = self.failed || (self.reset_ahead)();
        if ignores && !is_malformed && !matches!(request, Ok(Request::Reset | Request::Goodbye)) {
            self.answer(IGNORED, None)?;
            self.to.flush()?;
            return Ok(true);
        }
        let request = match request {
            Ok(request) => request,
            Err(error) => {
                self.fail(&Failure::request(error.to_string()))?;
                self.to.flush()?;
                // After any other error the meaning of what the client sends next is unknown.
                return Ok(error.is_about_value() && self.authenticated);
            }
        };
        let was_authenticated = self.authenticated;
        let ended = self.ended.take();
        let ran = match request {
            Request::Reset | Request::Goodbye => self.run(request)?,
            request if ended.is_some() => {
                drop(request);
                Err(ended.expect("asked before"))
            }
            Request::Run { .. } | Request::Begin(_) if self.is_stopping() => {
                Err(Failure::unavailable("the server ends"))
            }
            request => self.run(request)?,
        };
        let goes_on = match ran {
            Ok(Answer::Success(map)) => {
                self.answer(SUCCESS, Some(&map))?;
                true
            }
            Ok(Answer::Close) => false,
            Err(failure) => {
                self.fail(&self.named(failure))?;
                // A client that fails to log in gets no second try on this connection.
                was_authenticated
            }
        };
        self.to.flush()?;
        Ok(goes_on)
    }

    /// Answers a message that was not read; whether the connection goes on.
    ///
    /// # Errors
    /// The connection broke off.
    pub(crate) fn refuse(&mut self, failure: &Failure) -> io::Result<bool> {
        match self.failed || (self.reset_ahead)() {
            true => self.answer(IGNORED, None)?,
            false => self.fail(failure)?,
        }
        self.to.flush()?;
        self.timer.answered();
        Ok(self.authenticated)
    }

    fn run(&mut self, request: Request) -> io::Result<Result<Answer, Failure>> {
        let empty = Ok(Answer::Success(Map::new()));
        let out_of_place = |what: &str| Ok(Err(Failure::request(what)));
        Ok(match request {
            Request::Goodbye => Ok(Answer::Close),
            Request::Hello(_) if self.said_hello => return out_of_place("HELLO was said before"),
            Request::Hello(options) => self.hello(&options),
            _ if !self.said_hello => return out_of_place("HELLO comes first"),
            Request::Logon(options) if self.version.has_logon() && !self.authenticated => {
                self.log_on(&options).map(|()| Answer::Success(Map::new()))
            }
            Request::Reset if self.authenticated => {
                self.reset();
                empty
            }
            _ if !self.authenticated => Err(Failure::unauthorized("log in first (LOGON)")),
            Request::Logoff if self.version.has_logon() && self.is_idle() => {
                self.authenticated = false;
                self.entry = None;
                self.access = nothing();
                empty
            }
            Request::Logon(_) | Request::Logoff | Request::Reset => {
                return out_of_place(
                    "LOGON and LOGOFF come between transactions, from version 5.1 on",
                );
            }
            Request::Telemetry => empty,
            Request::Route { context, extra } => self.route(&context, &extra).map(Answer::Success),
            Request::Begin(_) if !self.is_idle() => {
                return out_of_place("BEGIN comes after the end of a transaction and of its rows");
            }
            Request::Begin(extra) => self.begin(&extra),
            Request::Commit => match self.transaction.take() {
                Some(transaction) => {
                    self.streams.clear();
                    let committed = transaction.commit().map_err(Failure::from);
                    let committed = committed.and_then(|commit| {
                        self.commit_database_changes()?;
                        Ok(commit)
                    });
                    committed.map(|commit| {
                        let bookmark = format!("graven:{}", commit.timestamp);
                        Answer::Success(Map::from([entry("bookmark", bookmark)]))
                    })
                }
                None => Err(Failure::request("COMMIT outside a transaction")),
            },
            Request::Rollback => match self.transaction.take() {
                Some(transaction) => {
                    self.streams.clear();
                    transaction.rollback();
                    self.forget_asked();
                    empty
                }
                None => Err(Failure::request("ROLLBACK outside a transaction")),
            },
            Request::Run {
                text,
                params,
                extra,
            } => {
                metrics::count(&self.service.counters.statements);
                let params: Params = params.into_iter().collect();
                match self.transaction {
                    Some(_) => self
                        .run_in_transaction(&text, &params)
                        .map_err(|it| it.of(&text)),
                    None if self.streams.is_empty() => {
                        let ran = self.run_alone(&text, &params, &extra);
                        ran.map_err(|failure| failure.of(&text))
                    }
                    None => Err(Failure::request(
                        "RUN is not allowed while a previous result is open",
                    )),
                }
            }
            Request::Pull(wanted) => self.pull(wanted, true)?,
            Request::Discard(wanted) => self.pull(wanted, false)?,
        })
    }

    fn is_idle(&self) -> bool {
        self.transaction.is_none() && self.streams.is_empty()
    }

    fn is_stopping(&self) -> bool {
        self.service.is_stopping()
    }

    fn end_all(&mut self) {
        self.streams.clear();
        if let Some(transaction) = self.transaction.take() {
            transaction.rollback();
        }
        self.forget_asked();
    }

    fn reset(&mut self) {
        self.end_all();
        self.failed = false;
    }

    fn hello(&mut self, options: &Map) -> Result<Answer, Failure> {
        self.said_hello = true;
        let agent = options.get("user_agent").and_then(Value::as_str);
        agent.unwrap_or_default().clone_into(&mut self.agent);
        self.filter = self.filter.with(self.version, options);
        if !self.version.has_logon() {
            self.log_on(options)?;
        }
        // Clients look at the beginning of the name to know what they talk to.
        let agent = concat!(
            "Neo4j/5.26.0 compatible database server - Graven/",
            env!("CARGO_PKG_VERSION")
        );
        let mut answer = Map::from([
            entry("server", agent),
            entry("connection_id", clients::id(self.number)),
            entry("hints", self.hints()),
        ]);
        let wanted = match options.get("patch_bolt") {
            Some(Value::List(wanted)) => &wanted[..],
            _ => &[],
        };
        if self.version >= Version(4, 3) && !self.version.is_5() && wanted.contains(&"utc".into()) {
            self.utc = true;
            answer.extend([entry("patch_bolt", vec!["utc"])]);
        }
        Ok(Answer::Success(answer))
    }

    /// What a client may rely on.
    fn hints(&self) -> Map {
        let patience = self.service.keep_alive.as_secs().saturating_mul(2).max(1);
        let patience = i64::try_from(patience).unwrap_or(i64::MAX);
        let mut hints = Map::new();
        // Versions before do not know hints.
        if self.version >= Version(4, 3) {
            hints.extend([entry("connection.recv_timeout_seconds", patience)]);
        }
        if self.version >= Version(5, 4) {
            hints.extend([entry("telemetry.enabled", false)]);
        }
        hints
    }

    fn log_on(&mut self, options: &Map) -> Result<(), Failure> {
        let text = |name: &str| {
            let value = options.get(name).and_then(Value::as_str);
            value.unwrap_or_default()
        };
        let said = (text("scheme") == "basic").then(|| (text("principal"), text("credentials")));
        let access = self.service.log_in(self.ends.client.ip(), said)?;
        let user = said.map(|(name, _)| name).filter(|name| !name.is_empty());
        let home = self.service.databases.home_of(user)?;
        self.place.keep().map_err(|full| {
            metrics::count(&self.service.counters.refused);
            Failure::full(full)
        })?;
        let cancel = self.connection.cancel_handle();
        self.entry = Some(ClientList::add(
            &self.service.clients,
            self.number,
            (user, &self.agent),
            (&self.ends.server, &self.ends.client.to_string()),
            (&self.place, cancel),
        ));
        self.access = access;
        self.home = home;
        self.authenticated = true;
        Ok(())
    }

    fn run_alone(
        &mut self,
        text: &Arc<str>,
        params: &Params,
        extra: &Map,
    ) -> Result<Answer, Failure> {
        let begun = Instant::now();
        let target = self.target(Some((text, params)), extra.get("db"))?;
        self.move_to(target.opened);
        let (connection, timer) = self.with_options(extra)?;
        let connection = connection.with_used_name(target.used);
        self.timer = timer;
        let asked = self.asked();
        if let Some(database_manager) = &self.database_manager {
            database_manager.begin(true);
        }
        let result = match connection.query(text, params) {
            Ok(result) => result,
            Err(error) => {
                self.forget_asked();
                return Err(error.into());
            }
        };
        self.commit_database_changes()?;
        let filter = self.filter.with(self.version, extra);
        let mut stream = Stream::new(text, result, begun, filter);
        stream.changes = self.asked() - asked;
        let mut head = stream.head();
        head.extend(self.home());
        self.streams.insert(0, stream);
        Ok(Answer::Success(head))
    }

    fn run_in_transaction(&mut self, text: &Arc<str>, params: &Params) -> Result<Answer, Failure> {
        let begun = Instant::now();
        let used = self.stay_or_move(text, params)?;
        let transaction = self.transaction.as_mut().expect("asked by the caller");
        transaction.set_used_name(used);
        transaction.set_timeout(least(self.connection.timeout(), self.timer.left()));
        let writes = |connection: &Connection| connection.would_write(text, params);
        if !self.streams.is_empty() && writes(&self.connection)? {
            // What it writes must not show in rows of statements before it.
            for stream in self.streams.values_mut() {
                stream.result.keep_rows()?;
            }
        }
        let asked = self.asked();
        let memory = self.room_for_stream()?;
        let transaction = self.transaction.as_mut().expect("asked by the caller");
        let result = transaction.stream(text, params)?;
        let mut stream = Stream::new(text, result, begun, self.transaction_filter.clone());
        stream.changes = self.asked() - asked;
        stream.memory = memory;
        let mut head = stream.head();
        let number = self.next;
        self.next += 1;
        head.extend([entry("qid", i64::try_from(number).unwrap_or(i64::MAX))]);
        self.streams.insert(number, stream);
        Ok(Answer::Success(head))
    }

    /// Hands out the next rows of a statement, or passes over them.
    fn pull(&mut self, wanted: Wanted, shows: bool) -> io::Result<Result<Answer, Failure>> {
        let last = match self.transaction {
            Some(_) => self.next.saturating_sub(1),
            None => 0,
        };
        let number = wanted.statement.unwrap_or(last);
        let Some(mut stream) = self.streams.remove(&number) else {
            let message = format!("statement {number} has no rows left to pull");
            return Ok(Err(Failure::request(message)));
        };
        if !shows && wanted.rows.is_none() {
            return Ok(Ok(Answer::Success(self.tail(&stream))));
        }
        let text = Arc::clone(&stream.text);
        let mut left = wanted.rows.unwrap_or(u64::MAX);
        let mut flushed = Instant::now();
        loop {
            // Rows that were found are sent without waiting for one that was not.
            if stream.ahead.is_none() && (left == 0 || flushed.elapsed() > TOGETHER) {
                self.to.flush()?;
                flushed = Instant::now();
            }
            let next = match stream.ahead.take() {
                Some(row) => Ok(Some(row)),
                None => stream.result.next_row(),
            };
            match next {
                Err(error) => return Ok(Err(Failure::from(error).of(&text))),
                Ok(None) => return Ok(Ok(Answer::Success(self.tail(&stream)))),
                // One more than wanted was asked for, to know whether there is more.
                Ok(Some(row)) if left == 0 => {
                    stream.ahead = Some(row);
                    self.streams.insert(number, stream);
                    return Ok(Ok(Answer::Success(Map::from([entry("has_more", true)]))));
                }
                Ok(Some(row)) => {
                    left -= 1;
                    if shows {
                        self.record(&row, &stream.result)?;
                    }
                }
            }
            if (self.reset_ahead)() {
                let message = "the client asked to stop".to_owned();
                return Ok(Err(Failure::new(STOPPED, message)));
            }
        }
    }

    fn tail(&self, stream: &Stream) -> Map {
        stream.tail(&self.at.name, self.version)
    }
}

/// What a client may do that has not logged in.
fn nothing() -> Access {
    Access::without_files(Role::Reader).reading_only(true)
}
