//! How the owner answers those that are attached to it.

use super::{Open, Owner, Shared};
use crate::access::Access;
use crate::cancel::CancelHandle;
use crate::connection::Connection;
use crate::database::Database;
use crate::error::Error;
use crate::instance::Instance;
use crate::query_result::QueryResult;
use crate::remote::address::Listener;
use crate::remote::message::{Broken, PROTOCOL, ROWS_BYTES, Reply, Request};
use crate::remote::random_bytes;
use crate::remote::summary::StatementOutcome;
use crate::summary::Commit;
use crate::transaction::Transaction;
use crate::value::Value;
use graven_io::ForkSafe;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

impl Owner {
    /// Serves `database`, whose lock this process holds, to the processes that connect to
    /// `listener`.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn start(database: &Arc<Instance>, listener: Listener) -> io::Result<Owner> {
        let shared = Arc::new(Shared {
            file: listener.file(),
            listener,
            database: Arc::downgrade(database),
            closing: AtomicBool::new(false),
            sessions: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = std::thread::Builder::new()
            .name("graven-attach".into())
            .spawn(move || accepting.accept())?;
        Ok(Owner {
            shared,
            acceptor: Some(acceptor),
        })
    }
}

impl Shared {
    fn accept(self: &Arc<Self>) {
        while let Ok(socket) = self.listener.accept() {
            if self.closing.load(Ordering::SeqCst) {
                return;
            }
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new()
                .name("graven-session".into())
                .spawn(move || shared.serve(socket));
            let mut sessions = self.sessions();
            sessions.threads.retain(|thread| !thread.is_finished());
            // Without a thread the socket is closed, and its other end tries again.
            sessions.threads.extend(thread);
        }
    }

    /// Greets and serves one session to its end.
    fn serve(&self, mut socket: ForkSafe<UnixStream>) {
        let Ok(Request::Hello {
            protocol,
            file,
            read_only,
        }) = Request::receive(&mut *socket)
        else {
            return;
        };
        let process = std::process::id();
        let refusal = match (protocol == PROTOCOL, file == self.file) {
            (true, true) => None,
            (false, _) => Some("another protocol"),
            (true, false) => Some("another file"),
        };
        if let Some(why) = refusal {
            let refused = Reply::Refused {
                protocol: PROTOCOL,
                process,
                why: why.to_owned(),
            };
            // A refused process may have gone already.
            let _ = refused.send(&mut *socket);
            return;
        }
        let Ok(most) = self.listener.access_of(&socket) else {
            return;
        };
        let Some((number, key, cancel)) = self.enter(&socket) else {
            return;
        };
        let memory = self.database.upgrade().map_or(0, |db| db.budget.limit());
        let welcome = Reply::Welcome {
            process,
            session: number,
            key,
            memory,
        };
        if welcome.send(&mut *socket).is_ok() {
            let mut session = Session {
                shared: self,
                socket,
                cancel,
                read_only,
                most,
                transaction: None,
            };
            // Its other end has gone: what it had open is rolled back.
            let _ = session.run();
        }
        self.sessions().open.remove(&number);
    }

    fn enter(&self, socket: &UnixStream) -> Option<(u64, u64, CancelHandle)> {
        let socket = ForkSafe::open(|| socket.try_clone()).ok()?;
        let key = u64::from_le_bytes(random_bytes());
        let cancel = CancelHandle::default();
        let mut sessions = self.sessions();
        if self.closing.load(Ordering::SeqCst) {
            return None;
        }
        sessions.next += 1;
        let number = sessions.next;
        let open = Open {
            key,
            socket,
            cancel: cancel.clone(),
        };
        sessions.open.insert(number, open);
        Some((number, key, cancel))
    }
}

/// Rows that are there are sent after this long, even if they do not fill a frame.
const ROWS_WAIT_MAX: Duration = Duration::from_millis(50);

/// One attached session.
struct Session<'a> {
    shared: &'a Shared,
    socket: ForkSafe<UnixStream>,
    cancel: CancelHandle,
    read_only: bool,
    /// What its process may do at most.
    most: Access,
    transaction: Option<Transaction>,
}

impl Session<'_> {
    fn run(&mut self) -> Result<(), Broken> {
        loop {
            let request = Request::receive(&mut *self.socket)?;
            let Some(database) = self.shared.database.upgrade() else {
                return Ok(());
            };
            let connection = Connection::on(Database::here(database), self.cancel.clone());
            // Also to plan a statement its files are looked at.
            let connection = connection.with_access(self.most.clone());
            match self.answer(&connection, request) {
                Ok(Some(reply)) => reply.send(&mut *self.socket)?,
                Ok(None) => {}
                Err(Interrupted::Socket(error)) => return Err(error.into()),
                Err(Interrupted::Statement(error)) => {
                    Reply::Failed(error).send(&mut *self.socket)?;
                }
            }
        }
    }

    fn answer(
        &mut self,
        connection: &Connection,
        request: Request,
    ) -> Result<Option<Reply>, Interrupted> {
        let reply = match request {
            Request::Hello { .. } => return Err(protocol_error("a second greeting")),
            Request::Run {
                options,
                timeout,
                access,
                text,
                params,
            } => {
                let access = access.within(&self.most);
                if self.read_only && connection.writes(&text, &params)? {
                    return Err(Error::read_only().into());
                }
                let result = match &mut self.transaction {
                    Some(transaction) => {
                        transaction.set_timeout(timeout);
                        transaction.set_access(access);
                        transaction.query(&text, &params)?
                    }
                    None => {
                        let mut connection = connection.clone().with_options(options);
                        connection.set_timeout(timeout);
                        connection.set_access(access);
                        connection.query(&text, &params)?
                    }
                };
                self.stream(result)?;
                return Ok(None);
            }
            Request::Check { text } => {
                connection.prepare(&text)?;
                Reply::Done(Commit::default())
            }
            Request::Begin { .. } if self.transaction.is_some() => {
                return Err(protocol_error("a transaction inside a transaction"));
            }
            Request::Begin { options } => {
                self.transaction = Some(connection.begin_with(options)?);
                Reply::Done(Commit::default())
            }
            Request::Commit => match self.transaction.take() {
                Some(transaction) => Reply::Done(transaction.commit()?),
                None => return Err(protocol_error("a commit without a transaction")),
            },
            Request::Rollback => {
                if let Some(transaction) = self.transaction.take() {
                    transaction.rollback();
                }
                Reply::Done(Commit::default())
            }
            Request::Outcome { commit } => Reply::Committed(connection.has_committed(&commit)?),
            Request::Names => Reply::Names(connection.database().names()?),
            Request::Cancel { session, key } => {
                let sessions = self.shared.sessions();
                if let Some(open) = sessions.open.get(&session).filter(|open| open.key == key) {
                    open.cancel.cancel();
                }
                Reply::Done(Commit::default())
            }
        };
        Ok(Some(reply))
    }

    fn stream(&mut self, mut result: QueryResult) -> Result<(), Interrupted> {
        let columns = Reply::Columns {
            columns: result.columns().to_vec(),
            declared: {
                let declared = result.declared_types().into_iter();
                declared.map(Option::unwrap_or_default).collect()
            },
            explain: result.is_explain(),
            profile: result.is_profile(),
        };
        columns
            .send(&mut *self.socket)
            .map_err(Interrupted::Socket)?;
        let mut rows = Vec::new();
        let (mut bytes, mut since) = (0, Instant::now());
        while let Some(row) = result.next_row()? {
            let values = row.into_values();
            bytes += values.iter().map(Value::bytes).sum::<usize>();
            rows.push(values);
            if bytes >= ROWS_BYTES || since.elapsed() >= ROWS_WAIT_MAX {
                self.send_rows(&mut rows)?;
                (bytes, since) = (0, Instant::now());
            }
        }
        self.send_rows(&mut rows)?;
        let ended = Reply::End(Box::new(StatementOutcome {
            summary: result.summary(),
            plan: result.plan(),
        }));
        ended.send(&mut *self.socket).map_err(Interrupted::Socket)
    }

    fn send_rows(&mut self, rows: &mut Vec<Vec<Value>>) -> Result<(), Interrupted> {
        if rows.is_empty() {
            return Ok(());
        }
        Reply::Rows(std::mem::take(rows))
            .send(&mut *self.socket)
            .map_err(Interrupted::Socket)
    }
}

/// Why an answer was not given.
enum Interrupted {
    Socket(io::Error),
    Statement(Error),
}

impl From<Error> for Interrupted {
    fn from(error: Error) -> Self {
        Interrupted::Statement(error)
    }
}

fn protocol_error(what: &str) -> Interrupted {
    Interrupted::Statement(Error::new(
        "Internal.Attach",
        format!("the attached process sent {what}"),
    ))
}
