//! The attached side: sessions with the owner, and the rows they bring.
//!
//! # How it works
//! A session does one thing at a time, so each running statement and each open transaction has one
//! to itself; idle ones are kept for the next. What goes wrong is one of two things. The owner
//! answers with an error, which is the statement's own, or the session breaks: then the owner has
//! gone ([`Failure::Lost`]) and a process must take over ([`crate::database::Database`] sees to
//! that).

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use graven_io::ForkSafe;
use graven_storage::{Durable, TransactionOptions};

use super::address::{self, FileIdentity};
use super::message::{Broken, CommitId, PROTOCOL, Reply, Request};
use super::reply_timeout::{ANSWER_WAIT, ReplyTimeout, TimeoutStream, look_up};
use super::summary::StatementOutcome;
use crate::access::Access;
use crate::error::{Error, LOCKED, Retry};
use crate::names::Names;
use crate::params::Params;
use crate::summary::Commit;
use crate::value::Value;

/// Sessions kept for the next statement.
const IDLE_MAX: usize = 16;

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The owner has gone, or does not listen (yet).
    Lost(Lost),
    /// The owner's answer, or a refusal that will not change.
    Answer(Error),
}

/// How an owner was lost.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) why: String,
    /// It may have got the whole request, and done what was asked.
    pub(crate) asked: bool,
}

impl Failure {
    /// Nothing was asked of an owner that cannot be reached.
    fn before_asking(self) -> Self {
        match self {
            Failure::Lost(Lost { why, .. }) => Failure::Lost(Lost { why, asked: false }),
            answer @ Failure::Answer(_) => answer,
        }
    }

    /// As an error for the caller.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Failure::Answer(error) => error,
            Failure::Lost(lost) => Error::with_retry(
                LOCKED,
                format!(
                    "cannot connect to the process that owns the database: {}",
                    lost.why
                ),
                Retry::MayHelp,
            ),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Answer(error)
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Gone(error) => Failure::Lost(Lost {
                why: error.to_string(),
                asked: true,
            }),
            Broken::Malformed(what) => Failure::Answer(Error::new(
                "Internal.Attach",
                format!("invalid reply from the owner process of the database: {what}"),
            )),
        }
    }
}

/// An owner that cannot be reached, or not be sent a whole request, does nothing.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Lost(Lost {
            why: error.to_string(),
            asked: false,
        })
    }
}

/// The owner of a file, reached from another process.
#[derive(Debug)]
pub(crate) struct Attached {
    file: PathBuf,
    read_only: bool,
    process: u32,
    memory: u64,
    idle: Mutex<Vec<Session>>,
}

/// One conversation with the owner.
#[derive(Debug)]
pub(crate) struct Session {
    socket: ForkSafe<UnixStream>,
    number: u64,
    key: u64,
    reply_timeout: ReplyTimeout,
    /// An answer may still come that no caller waits for.
    is_late: bool,
    in_transaction: bool,
}

impl Attached {
    /// Reaches the owner of `file`.
    pub(crate) fn connect(
        file: &Path,
        read_only: bool,
        reply_timeout: &ReplyTimeout,
    ) -> Result<Attached, Failure> {
        let (session, process, memory) = greet(file, read_only, reply_timeout)?;
        Ok(Attached {
            file: file.to_path_buf(),
            read_only,
            process,
            memory,
            idle: Mutex::new(vec![session]),
        })
    }

    /// The owner's process.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// The owner's budget in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session that no other caller uses, whose answers are waited for so long.
    pub(crate) fn session(&self, reply_timeout: ReplyTimeout) -> Result<Session, Failure> {
        if let Some(mut session) = self.idle().pop() {
            session.reply_timeout = reply_timeout;
            return Ok(session);
        }
        let greeted = greet(&self.file, self.read_only, &reply_timeout);
        let (session, ..) = greeted.map_err(Failure::before_asking)?;
        Ok(Session {
            reply_timeout,
            ..session
        })
    }

    /// Keeps a session that has nothing open for the next user.
    pub(crate) fn keep(&self, session: Session) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX && !session.is_late {
            idle.push(session);
        }
    }

    /// Asks for one answer on a session of its own.
    fn ask(&self, request: &Request, reply_timeout: ReplyTimeout) -> Result<Reply, Failure> {
        let mut session = self.session(reply_timeout)?;
        let reply = session.ask(request);
        if reply.is_ok() || matches!(reply, Err(Failure::Answer(_))) {
            self.keep(session);
        }
        reply
    }

    /// Whether the owner knows a commit of this name.
    pub(crate) fn has_committed(&self, commit: CommitId) -> Result<bool, Failure> {
        match self.ask(&Request::Outcome { commit }, ReplyTimeout::default())? {
            Reply::Committed(yes) => Ok(yes),
            other => Err(unexpected(&other)),
        }
    }

    /// Labels, types and keys.
    pub(crate) fn names(&self) -> Result<Names, Failure> {
        match self.ask(&Request::Names, ReplyTimeout::default())? {
            Reply::Names(names) => Ok(names),
            other => Err(unexpected(&other)),
        }
    }

    /// Checks and plans a statement.
    pub(crate) fn check(&self, text: &str) -> Result<(), Failure> {
        let text = text.to_owned();
        self.ask(&Request::Check { text }, ReplyTimeout::default())
            .map(|_| ())
    }

    /// Cancels what another session runs; an owner that does not answer is left alone.
    pub(crate) fn cancel(&self, (session, key): (u64, u64)) -> Result<(), Failure> {
        let reply_timeout = ReplyTimeout::of(Some(ANSWER_WAIT));
        self.ask(&Request::Cancel { session, key }, reply_timeout)
            .map(|_| ())
    }
}

fn greet(
    file: &Path,
    read_only: bool,
    reply_timeout: &ReplyTimeout,
) -> Result<(Session, u32, u64), Failure> {
    let identity = FileIdentity::of(file)?;
    let socket = address::connect(file, identity)?;
    look_up(&socket)?;
    let mut stream = TimeoutStream::new(&socket, reply_timeout);
    let hello = Request::Hello {
        protocol: PROTOCOL,
        file: identity,
        read_only,
    };
    let greeted: Result<Reply, Broken> =
        (hello.send(&mut stream).map_err(Broken::from)).and_then(|()| Reply::receive(&mut stream));
    if let Some(error) = stream.ended {
        return Err(error.into());
    }
    match greeted? {
        Reply::Welcome {
            process,
            session,
            key,
            memory,
        } => {
            let session = Session {
                socket,
                number: session,
                key,
                reply_timeout: ReplyTimeout::default(),
                is_late: false,
                in_transaction: false,
            };
            Ok((session, process, memory))
        }
        Reply::Refused {
            protocol,
            process,
            why,
        } => Err(Failure::Answer(Error::new(
            LOCKED,
            format!(
                "{}: in use by process {process}, which speaks attach protocol {protocol}, this \
                    program {PROTOCOL} \
                 ({why}); use the same version of graven in both",
                file.display()
            ),
        ))),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(reply: &Reply) -> Failure {
    let kind = match reply {
        Reply::Failed(error) => return Failure::Answer(error.clone()),
        Reply::Welcome { .. } | Reply::Refused { .. } => "a greeting",
        Reply::Columns { .. } | Reply::Rows(_) | Reply::End(_) => "rows",
        Reply::Done(_) | Reply::Committed(_) | Reply::Names(_) => "another answer",
    };
    Broken::Malformed(format!("{kind} where something else was due")).into()
}

impl Session {
    /// Number and key, for cancelling from another session.
    pub(crate) fn handle(&self) -> (u64, u64) {
        (self.number, self.key)
    }

    /// How long its next answers are waited for.
    pub(crate) fn wait(&mut self, reply_timeout: ReplyTimeout) {
        self.reply_timeout = reply_timeout;
    }

    fn ask(&mut self, request: &Request) -> Result<Reply, Failure> {
        self.patiently(|socket| Ok(request.send(socket)?))?;
        match self.receive()? {
            Reply::Failed(error) => Err(Failure::Answer(error)),
            reply => Ok(reply),
        }
    }

    fn receive(&mut self) -> Result<Reply, Failure> {
        self.patiently(|socket| Ok(Reply::receive(socket)?))
    }

    /// Speaks with the owner until nothing more is waited for.
    fn patiently<T>(
        &mut self,
        speak: impl FnOnce(&mut TimeoutStream<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut stream = TimeoutStream::new(&self.socket, &self.reply_timeout);
        let spoken = speak(&mut stream);
        match stream.ended {
            None => spoken,
            Some(error) => {
                self.is_late = true;
                Err(Failure::Answer(error))
            }
        }
    }

    /// What a commit, a begin, a rollback did.
    fn done(&mut self, request: &Request) -> Result<Commit, Failure> {
        match self.ask(request)? {
            Reply::Done(commit) => Ok(commit),
            other => Err(unexpected(&other)),
        }
    }

    /// Opens this session's transaction.
    pub(crate) fn begin(&mut self, options: TransactionOptions) -> Result<(), Failure> {
        self.done(&Request::Begin { options })?;
        self.in_transaction = true;
        Ok(())
    }

    /// Commits it.
    pub(crate) fn commit(&mut self) -> Result<Commit, Failure> {
        self.in_transaction = false;
        self.reply_timeout = ReplyTimeout::default();
        self.done(&Request::Commit)
    }

    /// Rolls it back; an owner that does not answer does so when the session ends.
    pub(crate) fn rollback(&mut self) -> Result<(), Failure> {
        self.in_transaction = false;
        self.reply_timeout = ReplyTimeout::of(Some(ANSWER_WAIT));
        self.done(&Request::Rollback).map(|_| ())
    }

    /// Starts a statement; its columns are there when this returns, and so is its commit where it
    /// wrote.
    pub(crate) fn run(
        &mut self,
        options: TransactionOptions,
        timeout: Option<Duration>,
        access: Access,
        text: &str,
        params: &Params,
    ) -> Result<Head, Failure> {
        let request = Request::Run {
            options,
            timeout,
            access,
            text: text.to_owned(),
            params: params.clone(),
        };
        let started = self.ask(&request);
        match started.map_err(|failure| self.late(failure, Durable::Unknown, text))? {
            Reply::Columns {
                columns,
                declared,
                explain,
                profile,
            } => Ok(Head {
                columns,
                declared,
                explain,
                profile,
            }),
            other => Err(unexpected(&other)),
        }
    }

    /// A request whose answer was not waited for may be done all the same.
    fn late(&self, failure: Failure, durable: Durable, text: &str) -> Failure {
        match failure {
            Failure::Answer(error)
                if self.is_late && !self.in_transaction && !graven_cypher::only_reads(text) =>
            {
                Failure::Answer(error.not_to_be_repeated(durable))
            }
            other => other,
        }
    }

    /// The next rows of the statement of this text, or the end; it was committed before its columns
    /// came, if it wrote (AT-4).
    pub(crate) fn next(&mut self, text: &str) -> Result<ReplyPart, Failure> {
        let next = self.receive();
        match next.map_err(|failure| self.late(failure, Durable::Yes, text))? {
            Reply::Rows(rows) => Ok(ReplyPart::Rows(rows.into())),
            Reply::End(ended) => Ok(ReplyPart::End(ended)),
            other => Err(unexpected(&other)),
        }
    }
}

/// What is known of a statement before its rows.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) columns: Vec<String>,
    /// Declared types of the columns; empty where there is none.
    pub(crate) declared: Vec<String>,
    pub(crate) explain: bool,
    pub(crate) profile: bool,
}

/// A piece of a result.
pub(crate) enum ReplyPart {
    Rows(VecDeque<Vec<Value>>),
    End(Box<StatementOutcome>),
}
