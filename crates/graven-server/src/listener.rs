//! Accepts connections, and gives each its threads.

use std::collections::HashMap;
use std::io::{self, BufReader, BufWriter};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use graven::{CancelHandle, Database, Error, Params};

use crate::attempts::Attempts;
use crate::message::is_reset;
use crate::metrics::{self, Answer, Counters, Endpoint};
use crate::session::{Ends, Resets, Service, Session};
use crate::timeouts::Timeouts;
use crate::{chunk, handshake};

/// Bytes of messages that may wait for the one being answered, before no more are read.
const WAITING_BYTES: usize = chunk::MESSAGE_BYTES_MAX;

/// What one that waits takes besides its bytes, about.
const WAITING_ENTRY: usize = 64;

/// Stack of a connection's thread: statements may lie deep.
const STACK: usize = 16 << 20;

/// How often a read that waits looks whether the client is too late.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// How long a client may take to say who it is.
const GREETING: Duration = Duration::from_secs(30);

/// How often a statement is asked to stop until it has, and how long the end of a server waits for all of them.
const ASKED_EVERY: Duration = Duration::from_millis(5);
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may leave something open without asking for anything, unless the options say so.
const IDLE: Duration = Duration::from_secs(600);

/// Bytes of rows that leave together.
const BUFFER: usize = 64 << 10;

/// Who may connect.
#[derive(Clone)]
pub struct User {
    /// Name.
    pub name: String,
    /// Password.
    pub password: String,
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl User {
    /// Whether name and password are these; takes as long whatever part of them is wrong.
    pub(crate) fn is(&self, name: &str, password: &str) -> bool {
        let own = [self.name.as_bytes(), &[0], self.password.as_bytes()].concat();
        let other = [name.as_bytes(), &[0], password.as_bytes()].concat();
        let differs = (0..own.len()).fold(own.len() ^ other.len(), |differs, at| {
            let other = other.get(at).copied().unwrap_or_default();
            differs | usize::from(own[at] ^ other)
        });
        differs == 0
    }
}

/// How a server is started. Start from [`Options::default`] and change fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where it listens.
    pub address: String,
    /// Who may connect; none: everybody who can reach the address.
    pub user: Option<User>,
    /// Listen where other machines can reach it, without a user.
    pub open_to_all: bool,
    /// Connections at a time; more are closed at once.
    pub connections_max: usize,
    /// Where counters for Prometheus are to be had (`/metrics`); none: nowhere.
    pub metrics: Option<String>,
    /// A transaction that lasts longer is rolled back; none: only those whose client says so (`tx_timeout`).
    pub transaction_timeout: Option<Duration>,
    /// A transaction, or a statement with rows left, whose client asks for nothing for so long is ended; none: never.
    pub idle_timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            address: "127.0.0.1:7687".to_owned(),
            user: None,
            open_to_all: false,
            connections_max: 256,
            metrics: None,
            transaction_timeout: None,
            idle_timeout: Some(IDLE),
        }
    }
}

/// A server that accepts connections until it is stopped or dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<thread::JoinHandle<()>>,
    metrics: Option<Endpoint>,
}

#[derive(Debug)]
struct Shared {
    service: Service,
    connections_max: usize,
    /// Connections by their numbers.
    open: Mutex<HashMap<u64, TcpStream>>,
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cannot_listen(address: &str, error: &io::Error) -> Error {
    Error::usage(format!("{address}: cannot listen there: {error}"))
}

impl Server {
    /// Starts to accept connections for a database.
    ///
    /// # Errors
    /// `Request.Invalid` where the address cannot be listened on, or would be open to other machines without a user; errors of the
    /// database.
    pub fn start(database: Database, options: Options) -> Result<Server, Error> {
        let addresses = options.address.to_socket_addrs();
        let addresses: Vec<SocketAddr> = match addresses {
            Ok(addresses) => addresses.collect(),
            Err(error) => return Err(cannot_listen(&options.address, &error)),
        };
        let is_local = addresses.iter().all(|address| address.ip().is_loopback());
        if !is_local && options.user.is_none() && !options.open_to_all {
            return Err(Error::usage(format!(
                "{}: whoever reaches this address could read and change everything: name a user and a password, or say \
                 that it is to be open to all",
                options.address
            )));
        }
        let listener = TcpListener::bind(&addresses[..]);
        let listener = listener.map_err(|error| cannot_listen(&options.address, &error))?;
        let address = listener.local_addr();
        let address = address.map_err(|error| cannot_listen(&options.address, &error))?;
        let known = database
            .connect()
            .query("CALL db.info() YIELD id RETURN id", &Params::new())?
            .next_row()?;
        let store = known.and_then(|row| row.get(0).and_then(|id| id.as_str().map(str::to_owned)));
        let name = database
            .path()
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        let shared = Arc::new(Shared {
            service: Service {
                name: name.into_owned(),
                store: store.unwrap_or_default(),
                database,
                user: options.user,
                attempts: Attempts::default(),
                timeouts: Timeouts {
                    transaction: options.transaction_timeout,
                    idle: options.idle_timeout.filter(|most| !most.is_zero()),
                },
                counters: Counters::default(),
                stopping: AtomicBool::new(false),
            },
            connections_max: options.connections_max,
            open: Mutex::default(),
        });
        let metrics = options.metrics.map(|address| {
            let shared = Arc::clone(&shared);
            Endpoint::start(&address, move |path| {
                let Service {
                    database, counters, ..
                } = &shared.service;
                Answer::at(path, database, counters, shared.open().len())
            })
        });
        let metrics = metrics.transpose().map_err(Error::usage)?;
        let accepting = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("bolt".to_owned())
                .spawn(move || accept(&listener, &shared))
                .map_err(|error| cannot_listen(&options.address, &error))?
        };
        Ok(Server {
            address,
            shared,
            accepting: Some(accepting),
            metrics,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where counters are to be had.
    #[must_use]
    pub fn metrics_address(&self) -> Option<String> {
        self.metrics.as_ref().map(Endpoint::address)
    }

    /// The file that is served.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.shared.service.database.path()
    }

    /// Listens no more, and ends all connections, as BO-5 and BO-3 have it, within some seconds.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(accepting) = self.accepting.take() else {
            return;
        };
        self.shared.service.stopping.store(true, Ordering::SeqCst);
        // Whoever waits for a connection looks up by one.
        drop(TcpStream::connect_timeout(&self.address, GREETING));
        drop(accepting.join());
        // First nobody is listened to; those who do not take their answers are cut off later.
        for end in [Shutdown::Read, Shutdown::Both] {
            for stream in self.shared.open().values() {
                drop(stream.shutdown(end));
            }
            let until = Instant::now() + ENDS_WITHIN / 2;
            while !self.shared.open().is_empty() && Instant::now() < until {
                thread::sleep(ASKED_EVERY);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut number = 0;
    for stream in listener.incoming() {
        if shared.service.stopping.load(Ordering::SeqCst) {
            return;
        }
        // Too many open files, for example: others may be closed meanwhile.
        let Ok(stream) = stream else {
            thread::sleep(ASKED_EVERY);
            continue;
        };
        let Ok(known) = stream.try_clone() else {
            thread::sleep(ASKED_EVERY);
            continue;
        };
        number += 1;
        let mut open = shared.open();
        let counters = &shared.service.counters;
        if open.len() >= shared.connections_max {
            metrics::count(&counters.refused);
            continue;
        }
        metrics::count(&counters.connections);
        open.insert(number, known);
        drop(open);
        let own = Arc::clone(shared);
        let spawned = thread::Builder::new()
            .name(format!("bolt-{number}"))
            .stack_size(STACK)
            .spawn(move || {
                // However it ends, by a panic, too: the other side knows that it did, and there is room for another one.
                let _ending = Ending(|| {
                    let _ = stream.shutdown(Shutdown::Both);
                    own.open().remove(&number);
                });
                let _ = serve(&own, &stream, number);
            });
        if spawned.is_err() {
            shared.open().remove(&number);
        }
    }
}

/// Does something when it is dropped.
struct Ending<F: FnMut()>(F);

impl<F: FnMut()> Drop for Ending<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A client's bytes. It has until a moment to say who it is, and then as long as it likes.
struct Patient<'a> {
    stream: &'a TcpStream,
    until: Instant,
    known: &'a AtomicBool,
    stopping: &'a AtomicBool,
}

impl io::Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // What still comes in is not wanted any more.
            if self.stopping.load(Ordering::SeqCst) {
                return Ok(0);
            }
            let is_known = self.known.load(Ordering::SeqCst);
            if !is_known && Instant::now() >= self.until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match self.stream.read(buffer) {
                Err(error) if waits(&error) => {}
                read => return read,
            }
        }
    }
}

impl io::Write for Patient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Whether a read has only waited for as long as it was told to.
fn waits(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// Serves a connection until it ends.
fn serve(shared: &Shared, stream: &TcpStream, number: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOKS_EVERY))?;
    // Whoever takes no answers keeps open what it has, too.
    stream.set_write_timeout(shared.service.timeouts.idle)?;
    let state = State::default();
    let mut from = Patient {
        stream,
        until: Instant::now() + GREETING,
        known: &state.known,
        stopping: &shared.service.stopping,
    };
    let Some(version) = handshake::agree(&mut from)? else {
        return Ok(());
    };
    let resets = Resets::default();
    let ends = Ends {
        client: stream.peer_addr()?.ip(),
        server: stream.local_addr()?.to_string(),
    };
    let to = BufWriter::with_capacity(BUFFER, stream);
    let mut session = Session::new(&shared.service, &resets, version, ends, number, to);
    let cancel = session.cancel_handle();
    thread::scope(|scope| {
        let (sender, messages) = mpsc::channel();
        let reader = thread::Builder::new().name(format!("bolt-{number}-in"));
        let (resets, state) = (&resets, &state);
        // The reader may still wait for the client then, and the scope for the reader.
        let _ending = Ending(|| {
            state.ended.store(true, Ordering::SeqCst);
            let _ = stream.shutdown(Shutdown::Both);
        });
        let reading = Reading {
            to: sender,
            resets,
            state,
            cancel,
        };
        reader.spawn_scoped(scope, move || reading.run(from))?;
        answer(&mut session, &messages, state)
    })
}

/// What the two threads of a connection know of each other.
#[derive(Default)]
struct State {
    /// Bytes that messages take which were read and not taken.
    waiting: AtomicUsize,
    /// The client has said who it is.
    known: AtomicBool,
    /// The session has ended.
    ended: AtomicBool,
}

/// Bytes that a message takes while it waits.
fn bytes(message: &Vec<u8>) -> usize {
    message.capacity() + WAITING_ENTRY
}

/// Answers messages until there are no more.
fn answer(
    session: &mut Session<'_, impl io::Write>,
    messages: &Receiver<Vec<u8>>,
    state: &State,
) -> io::Result<()> {
    loop {
        let message = match session.ends_by_itself() {
            None => messages.recv().map_err(RecvTimeoutError::from),
            Some(end) => messages.recv_timeout(end.saturating_duration_since(Instant::now())),
        };
        let message = match message {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                session.time_out();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        state.waiting.fetch_sub(bytes(&message), Ordering::SeqCst);
        if !session.handle(&message)? {
            break;
        }
        state
            .known
            .store(session.is_authenticated(), Ordering::SeqCst);
    }
    Ok(())
}

/// The thread that reads messages.
struct Reading<'a> {
    to: Sender<Vec<u8>>,
    resets: &'a Resets,
    state: &'a State,
    cancel: CancelHandle,
}

impl Reading<'_> {
    /// Reads until there are no more messages; then nobody waits for what runs any more (BO-3).
    fn run(self, from: Patient<'_>) {
        let _ = self.read(from);
        let Reading {
            to, state, cancel, ..
        } = self;
        drop(to);
        while !state.ended.load(Ordering::SeqCst) {
            cancel.cancel();
            thread::sleep(ASKED_EVERY);
        }
    }

    fn read(&self, from: Patient<'_>) -> io::Result<()> {
        let mut from = BufReader::with_capacity(BUFFER, from);
        let mut message = Vec::new();
        let ended = || self.state.ended.load(Ordering::SeqCst);
        let most = || match self.state.known.load(Ordering::SeqCst) {
            true => chunk::MESSAGE_BYTES_MAX,
            false => chunk::GREETING_BYTES_MAX,
        };
        while chunk::read(&mut from, &mut message, most)? {
            let message = std::mem::take(&mut message);
            let is_reset = is_reset(&message);
            if is_reset {
                self.resets.seen();
            }
            self.state
                .waiting
                .fetch_add(bytes(&message), Ordering::SeqCst);
            if self.to.send(message).is_err() {
                break;
            }
            if is_reset {
                self.cancel.cancel();
                // Again and again: a statement that was about to begin has forgotten what was asked before.
                while !self.resets.wait(ASKED_EVERY) && !ended() {
                    self.cancel.cancel();
                }
            }
            while self.state.waiting.load(Ordering::SeqCst) > WAITING_BYTES && !ended() {
                thread::sleep(ASKED_EVERY);
            }
        }
        Ok(())
    }
}
