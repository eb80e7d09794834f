//! When what a client has left open ends by itself.
//!
//! # How it works
//! A transaction, or a statement outside of one that has rows left, keeps the state of the graph
//! that it began with, and what it wrote. It ends when it has lasted for too long as a whole, or
//! when its client has asked for nothing for too long. The first limit is also that of the
//! statements in it: each may run for what is left of it.

use std::time::{Duration, Instant};

use crate::failure::{Failure, TIMED_OUT, TIMED_OUT_AS_WANTED};

/// Limits of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timeouts {
    /// Of a transaction from its beginning to its end.
    pub(crate) transaction: Option<Duration>,
    /// Of a client that has something open and asks for nothing.
    pub(crate) idle: Option<Duration>,
}

/// What is open, by time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    /// When it ends at the latest.
    until: Option<Instant>,
    idle: Option<Duration>,
    /// Its client has set that end.
    is_wanted: bool,
    /// When its client was answered last.
    answered: Instant,
}

impl Timeouts {
    /// For a transaction that begins now, of which its client has said how long it may last.
    pub(crate) fn begin(&self, wanted: Option<Duration>) -> Timer {
        let now = Instant::now();
        let most = self.transaction.into_iter().chain(wanted).min();
        Timer {
            // No end for what lasts longer than time is counted.
            until: most.and_then(|most| now.checked_add(most)),
            idle: self.idle,
            is_wanted: wanted.is_some() && most == wanted,
            answered: now,
        }
    }
}

impl Timer {
    /// How long a statement that begins now may run.
    pub(crate) fn left(&self) -> Option<Duration> {
        let until = self.until?;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// The client was answered.
    pub(crate) fn answered(&mut self) {
        self.answered = Instant::now();
    }

    /// When it ends if the client asks for nothing before.
    pub(crate) fn end(&self) -> Option<Instant> {
        let idle = self.idle.and_then(|idle| self.answered.checked_add(idle));
        self.until.into_iter().chain(idle).min()
    }

    /// What lasting too long is called: it is the client's limit or the server's.
    fn code(&self) -> &'static str {
        match self.is_wanted {
            true => TIMED_OUT_AS_WANTED,
            false => TIMED_OUT,
        }
    }

    /// The same failure, under the name of the limit that was met.
    pub(crate) fn named(&self, mut failure: Failure) -> Failure {
        if failure.code == TIMED_OUT {
            failure.code = self.code();
        }
        failure
    }

    /// What the client is told when it asks for something after that.
    pub(crate) fn failure(&self) -> Failure {
        let lasted = self.left().is_some_and(|left| left.is_zero());
        let why = match (lasted, self.idle) {
            (false, Some(idle)) => format!("it was idle for {} s", idle.as_secs_f64()),
            _ => "it passed its timeout".to_owned(),
        };
        let code = match lasted {
            true => self.code(),
            false => TIMED_OUT,
        };
        Failure::new(code, format!("the transaction was rolled back: {why}"))
    }
}
