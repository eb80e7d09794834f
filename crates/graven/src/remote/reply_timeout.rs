//! How long an answer of the owner is waited for.
//!
//! # How it works
//! An owner ends statements by itself when their time is over or they are cancelled. One that is
//! suspended does not. So the waiting thread looks up several times a second. Once the time of the
//! statement and [`ANSWER_WAIT`] are over, or [`CANCEL_WAIT`] after it was cancelled, it waits no
//! longer, and the session is of no more use: an answer may still come. Without a timeout an answer
//! is waited for as long as it takes, for the owner may have much to recover.
//!
//! # Concurrency
//! One thread waits; any may set the flag it looks at.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Retry};

/// How often a waiting thread looks up.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long the owner may take for its answer that the time of a statement is over.
pub(super) const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// How long the owner may take to end a statement that was cancelled.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

/// When to wait no longer.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyTimeout {
    /// The moment, and how long that was.
    until: Option<(Instant, Duration)>,
    cancel: Option<Arc<AtomicBool>>,
}

impl ReplyTimeout {
    /// For so long from now; none: as long as it takes.
    pub(crate) fn of(time: Option<Duration>) -> Self {
        let until = time.and_then(|time| Some((Instant::now().checked_add(time)?, time)));
        ReplyTimeout {
            until,
            cancel: None,
        }
    }

    /// For a statement that begins now, that this flag cancels.
    pub(super) fn of_statement(cancel: Arc<AtomicBool>, time: Option<Duration>) -> Self {
        let time = time.map(|time| time.saturating_add(ANSWER_WAIT));
        ReplyTimeout {
            cancel: Some(cancel),
            ..ReplyTimeout::of(time)
        }
    }
}

/// Lets reads and writes of the socket return in between.
pub(super) fn look_up(socket: &UnixStream) -> io::Result<()> {
    socket.set_read_timeout(Some(POLL_INTERVAL))?;
    socket.set_write_timeout(Some(POLL_INTERVAL))
}

/// A socket whose answers are waited for with patience.
pub(super) struct TimeoutStream<'a> {
    socket: &'a UnixStream,
    reply_timeout: &'a ReplyTimeout,
    cancelled: Option<Instant>,
    /// Why nothing more is waited for.
    pub(super) ended: Option<Error>,
}

impl<'a> TimeoutStream<'a> {
    pub(super) fn new(socket: &'a UnixStream, reply_timeout: &'a ReplyTimeout) -> Self {
        TimeoutStream {
            socket,
            reply_timeout,
            cancelled: None,
            ended: None,
        }
    }

    /// Tries until it is done or patience is at its end.
    fn again(
        &mut self,
        mut attempt: impl FnMut(&UnixStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            match attempt(self.socket) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.check()?,
                done => return done,
            }
        }
    }

    fn check(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let cancel = self.reply_timeout.cancel.as_ref();
        if cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            let since = *self.cancelled.get_or_insert(now);
            if now >= since + CANCEL_WAIT {
                let what = "the statement was cancelled, and the process that runs it does not \
                    answer: it may be suspended";
                self.ended = Some(Error::new("Statement.Cancelled", what));
            }
        }
        if let Some((until, time)) = self.reply_timeout.until
            && now >= until
        {
            let what = format!(
                "the process that has the database open has not answered for {time:?}: it may be \
                    suspended, or busy \
                 opening it"
            );
            let ended = Error::with_retry("Statement.TimedOut", what, Retry::MayHelp);
            self.ended = Some(ended);
        }
        match self.ended {
            Some(_) => Err(ErrorKind::TimedOut.into()),
            None => Ok(()),
        }
    }
}

impl Read for TimeoutStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.again(|mut socket| socket.read(buffer))
    }
}

impl Write for TimeoutStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.again(|mut socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
