//! A connection: one task reads messages, and threads that are borrowed for it answer them.
//!
//! # How it works
//! The reader takes messages off the wire into a queue; the session takes them from there, on a
//! thread that it has as long as there are messages to answer. An idle connection has no thread. A
//! RESET, and the end of the connection, are noticed by the reader, which asks the statement that
//! runs to stop until the session has come to the RESET, or has ended: whatever the session makes
//! of a message, it has come to it when it takes the next one.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graven::CancelHandle;
use graven::pagecache::{Budget, Reservation};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, sleep_until, timeout, timeout_at};

use crate::admission::ConnectionSlot;
use crate::chunk::{self, Limits, Unread};
use crate::failure::Failure;
use crate::handshake;
use crate::message::is_reset;
use crate::out::Out;
use crate::service::Service;
use crate::session::{Ends, Session};
use crate::stage::Stage;
use crate::transport::{self, Receiving};

/// What one that waits takes besides its bytes, about.
const WAITING_ENTRY: usize = 64;

/// How long a client may take to agree on a version and to log in.
const GREETING: Duration = Duration::from_secs(5);

/// How often a statement is asked to stop until it has.
const ASKED_EVERY: Duration = Duration::from_millis(5);

/// How long what follows a message that is too long is read and dropped, so that the client reads
/// the answer.
const DROPPED_FOR: Duration = Duration::from_secs(5);

/// Messages that wait are not counted in the budget up to so many bytes in all.
const SMALL: usize = 64 << 10;

/// What the two sides of a connection know of each other.
struct State {
    /// Bytes that messages take which were read and not taken.
    waiting: AtomicUsize,
    /// RESETs that were read and that the session has not come to.
    resets: AtomicUsize,
    /// The session has come to a RESET.
    reset: Notify,
    /// The client has logged in.
    known: AtomicBool,
    /// Since when it has not logged in.
    unknown_since: Mutex<tokio::time::Instant>,
    /// The last message was too long, and what follows it is dropped.
    refused: AtomicBool,
}

impl State {
    fn new(since: tokio::time::Instant) -> State {
        State {
            waiting: AtomicUsize::new(0),
            resets: AtomicUsize::new(0),
            reset: Notify::new(),
            known: AtomicBool::new(false),
            unknown_since: Mutex::new(since),
            refused: AtomicBool::new(false),
        }
    }

    fn unknown_since(&self) -> MutexGuard<'_, tokio::time::Instant> {
        let since = self.unknown_since.lock();
        since.unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether the client has logged in, after one of its messages was answered.
    fn set_known(&self, known: bool) {
        if self.known.load(Ordering::SeqCst) && !known {
            *self.unknown_since() = tokio::time::Instant::now();
        }
        self.known.store(known, Ordering::SeqCst);
    }

    /// When the client must have logged in.
    fn deadline(&self) -> tokio::time::Instant {
        *self.unknown_since() + GREETING
    }
}

/// What was read.
enum Incoming {
    Message {
        bytes: Vec<u8>,
        /// Of its memory.
        _reservation: Option<Reservation>,
    },
    /// It will not be read; the client is told why.
    Refused(Failure),
}

impl Incoming {
    fn bytes(&self) -> usize {
        match self {
            Incoming::Message { bytes, .. } => bytes.capacity() + WAITING_ENTRY,
            Incoming::Refused(_) => WAITING_ENTRY,
        }
    }

    fn is_reset(&self) -> bool {
        matches!(self, Incoming::Message { bytes, .. } if is_reset(bytes))
    }
}

/// Serves a connection until it ends.
pub(crate) async fn serve(
    service: Arc<Service>,
    stream: TcpStream,
    peer: SocketAddr,
    place: ConnectionSlot,
    number: u64,
    stop: watch::Receiver<Stage>,
) {
    let place = Arc::new(place);
    tokio::select! {
        () = place.lost() => {}
        _ = converse(service, stream, peer, Arc::clone(&place), number, stop) => {}
    }
}

async fn converse(
    service: Arc<Service>,
    stream: TcpStream,
    peer: SocketAddr,
    place: Arc<ConnectionSlot>,
    number: u64,
    stop: watch::Receiver<Stage>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let state = Arc::new(State::new(tokio::time::Instant::now()));
    let server = stream.local_addr()?.to_string();
    let beginning = async {
        let Some((mut from, mut to)) = transport::open(stream, &service.carriers).await? else {
            return Ok(None);
        };
        let version = handshake::agree(&mut from, &mut to).await?;
        Ok::<_, io::Error>(version.map(|version| (version, from, to)))
    };
    let begun = timeout_at(state.deadline(), beginning).await;
    let Some((version, from, to)) = begun.map_err(|_| io::ErrorKind::TimedOut)?? else {
        return Ok(());
    };
    let ends = Ends {
        client: peer,
        server,
    };
    let out = Out::new(to, service.timeouts.idle, stop.clone());
    let (life, keep_alive) = (out.life(), service.keep_alive);
    let (sender, messages) = mpsc::unbounded_channel();
    let budget = service.databases.budget();
    let resets = {
        let state = Arc::clone(&state);
        move || state.resets.load(Ordering::SeqCst) > 0
    };
    let most = service.message_bytes_max;
    let at = service.databases.first().map_err(io::Error::other)?;
    let agreed = (version, at);
    let session = Session::new(service, agreed, ends, number, place, Box::new(resets), out);
    let cancel = session.cancel_handle();
    let reading = Reading {
        to: sender,
        state: Arc::clone(&state),
        cancel: cancel.clone(),
        budget,
        most,
    };
    let answering = answer(session, messages, Arc::clone(&state));
    let living = async {
        loop {
            sleep(keep_alive).await;
            life.sign();
        }
    };
    let answering = async {
        tokio::select! {
            answered = answering => answered,
            () = living => unreachable!("it has no end"),
        }
    };
    let reading = reading.run(from, stop);
    tokio::pin!(answering, reading);
    tokio::select! {
        answered = &mut answering => {
            if state.refused.load(Ordering::SeqCst) {
                // A connection that is closed with something unread is reset, and the answer may be
                // lost.
                reading.await;
            }
            return answered;
        }
        () = &mut reading => {}
    }
    // The client has gone or the server stops: the statement that runs is cancelled (BO-3).
    loop {
        tokio::select! {
            answered = &mut answering => return answered,
            () = sleep(ASKED_EVERY) => cancel.cancel(),
        }
    }
}

/// Answers messages until there are no more.
async fn answer(
    mut session: Session<Out>,
    mut messages: mpsc::UnboundedReceiver<Incoming>,
    state: Arc<State>,
) -> io::Result<()> {
    loop {
        let end = session.ends_by_itself();
        let ends = async {
            match end {
                Some(end) => sleep_until(end.into()).await,
                None => std::future::pending().await,
            }
        };
        let first = tokio::select! {
            biased;
            message = messages.recv() => message,
            () = session.at().until_gone() => {
                let ended = spawn_blocking(move || {
                    session.lose_database();
                    session
                });
                session = ended.await?;
                continue;
            }
            () = ends => {
                let ended = spawn_blocking(move || {
                    session.time_out();
                    session
                });
                session = ended.await?;
                continue;
            }
        };
        let Some(first) = first else {
            // What is open is rolled back, which may take a while.
            spawn_blocking(move || drop(session)).await?;
            return Ok(());
        };
        let state = Arc::clone(&state);
        let answered = spawn_blocking(move || {
            let goes_on = answer_all(&mut session, first, &mut messages, &state)?;
            Ok::<_, io::Error>(goes_on.then_some((session, messages)))
        });
        match answered.await?? {
            Some(kept) => (session, messages) = kept,
            None => return Ok(()),
        }
    }
}

/// Answers a message and all that have come by then; whether the connection goes on.
fn answer_all(
    session: &mut Session<Out>,
    first: Incoming,
    messages: &mut mpsc::UnboundedReceiver<Incoming>,
    state: &State,
) -> io::Result<bool> {
    let mut next = Some(first);
    while let Some(message) = next {
        state.waiting.fetch_sub(message.bytes(), Ordering::SeqCst);
        let handled = match &message {
            Incoming::Message { bytes, .. } => session.handle(bytes),
            Incoming::Refused(failure) => session.refuse(failure),
        };
        if message.is_reset() {
            state.resets.fetch_sub(1, Ordering::SeqCst);
            state.reset.notify_one();
        }
        if !handled? {
            return Ok(false);
        }
        state.set_known(session.is_authenticated());
        next = messages.try_recv().ok();
    }
    Ok(true)
}

/// The side that reads.
struct Reading {
    to: mpsc::UnboundedSender<Incoming>,
    state: Arc<State>,
    cancel: CancelHandle,
    /// What large messages are counted in.
    budget: Option<Arc<Budget>>,
    /// Longest message of a client that has logged in. Messages that wait for the one being
    /// answered may have as many bytes together, before no more are read.
    most: usize,
}

/// How long a message may become.
struct Room<'a> {
    state: &'a State,
    budget: Option<&'a Arc<Budget>>,
    reservation: Option<Reservation>,
    most: usize,
}

impl Limits for Room<'_> {
    fn most(&self) -> usize {
        match self.state.known.load(Ordering::SeqCst) {
            true => self.most,
            false => chunk::GREETING_BYTES_MAX,
        }
    }

    fn passes_over(&self) -> bool {
        self.state.known.load(Ordering::SeqCst)
    }

    fn make_room(&mut self, bytes: usize) -> Result<(), String> {
        let all = self
            .state
            .waiting
            .load(Ordering::SeqCst)
            .saturating_add(bytes);
        let Some(budget) = self.budget.filter(|_| all > SMALL) else {
            return Ok(());
        };
        let own = self
            .reservation
            .get_or_insert_with(|| budget.empty_reservation("messages of clients"));
        let more = (bytes as u64).saturating_sub(own.bytes());
        own.grow(more).map_err(|error| error.to_string())
    }
}

impl Reading {
    /// Reads until there are no more messages, or the server stops.
    async fn run(self, from: Receiving, mut stop: watch::Receiver<Stage>) {
        tokio::select! {
            _ = stop.wait_for(|stage| *stage != Stage::Runs) => {}
            _ = self.read(from) => {}
        }
    }

    async fn read(&self, mut from: Receiving) -> io::Result<()> {
        loop {
            let mut bytes = Vec::new();
            let mut room = Room {
                state: &self.state,
                budget: self.budget.as_ref(),
                reservation: None,
                most: self.most,
            };
            let read = self.in_time(chunk::read(&mut from, &mut bytes, &mut room));
            let incoming = match read.await? {
                Ok(true) => Incoming::Message {
                    bytes,
                    _reservation: room.reservation,
                },
                Ok(false) => return Ok(()),
                Err(Unread::Broken(error)) => return Err(error),
                Err(Unread::TooLong(most)) => Incoming::Refused(Failure::too_long(most)),
                Err(Unread::NoMemory(why)) => Incoming::Refused(Failure::no_memory(&why)),
            };
            let state = &self.state;
            let is_refused = matches!(incoming, Incoming::Refused(_));
            let ends = is_refused && !state.known.load(Ordering::SeqCst);
            let is_reset = incoming.is_reset();
            if is_reset {
                state.resets.fetch_add(1, Ordering::SeqCst);
            }
            state.refused.store(ends, Ordering::SeqCst);
            state.waiting.fetch_add(incoming.bytes(), Ordering::SeqCst);
            if self.to.send(incoming).is_err() {
                return Ok(());
            }
            if ends {
                let mut nowhere = tokio::io::sink();
                let dropped = tokio::io::copy(&mut from, &mut nowhere);
                let _ = timeout(DROPPED_FOR, dropped).await;
                return Ok(());
            }
            if is_reset {
                self.cancel.cancel();
                // Again and again: a statement that was about to begin has forgotten what was asked
                // before.
                while state.resets.load(Ordering::SeqCst) > 0 {
                    let _ = timeout(ASKED_EVERY, state.reset.notified()).await;
                    if state.resets.load(Ordering::SeqCst) > 0 {
                        self.cancel.cancel();
                    }
                }
            }
            let most = || match state.known.load(Ordering::SeqCst) {
                true => self.most,
                false => chunk::GREETING_BYTES_MAX,
            };
            while state.waiting.load(Ordering::SeqCst) > most() {
                sleep(ASKED_EVERY).await;
            }
        }
    }

    /// Waits for something as long as the client may take for it.
    async fn in_time<T>(&self, something: impl Future<Output = T>) -> io::Result<T> {
        tokio::pin!(something);
        let is_known = || self.state.known.load(Ordering::SeqCst);
        loop {
            if is_known() {
                return Ok(something.await);
            }
            match timeout_at(self.state.deadline(), &mut something).await {
                Ok(done) => return Ok(done),
                Err(_) if is_known() => {}
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }
}
