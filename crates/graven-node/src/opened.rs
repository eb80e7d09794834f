//! An open database with all that runs and is open in it, so that closing it can end all of that.
//!
//! # How it works
//! A statement is counted from the call of JavaScript on, before it has a thread, to the end of its
//! job. Results and transactions are listed while they exist, for the collector of JavaScript lets
//! them go late, and one that is open would keep the file with this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use graven::CancelHandle;
use graven_binding::Folder;

use crate::told::Told;

/// How long a database that the program forgot waits for its statements to stop.
const STOPPING_MAX: Duration = Duration::from_secs(5);

/// How often they are told to.
const STOPPING_PAUSE: Duration = Duration::from_millis(10);

/// What a database ends when it is closed.
pub(crate) trait Ends: Send + Sync {
    /// Gives back what it holds of the database.
    fn end(&self);
}

/// An open database.
pub(crate) struct Opened {
    pub(crate) database: graven::Database,
    /// Keeps the file of a database without a name.
    folder: Mutex<Folder>,
    pub(crate) is_temporary: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    closing: bool,
    closed: bool,
    next: u64,
    running: BTreeMap<u64, Option<CancelHandle>>,
    open: BTreeMap<u64, Weak<dyn Ends>>,
}

/// Something runs in a database until this is dropped.
pub(crate) struct Running {
    opened: Arc<Opened>,
    number: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.opened.state().running.remove(&self.number);
        self.opened.changed.notify_all();
    }
}

/// The place of what is open in the list of its database.
pub(crate) struct Listed {
    opened: Arc<Opened>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.opened.state().open.remove(&self.number);
    }
}

impl Opened {
    pub(crate) fn new(database: graven::Database, folder: Folder) -> Arc<Opened> {
        Arc::new(Opened {
            database,
            is_temporary: folder.is_temporary(),
            folder: Mutex::new(folder),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something runs, which `cancel` can stop.
    ///
    /// # Errors
    /// `Database.Closed`.
    pub(crate) fn enter(self: &Arc<Self>, cancel: Option<&CancelHandle>) -> Result<Running, Told> {
        let mut state = self.state();
        if state.closing {
            return Err(Told::closed(self.database.path()));
        }
        state.next += 1;
        let number = state.next;
        state.running.insert(number, cancel.cloned());
        Ok(Running {
            opened: Arc::clone(self),
            number,
        })
    }

    /// Notes what is open until it is dropped.
    pub(crate) fn list(self: &Arc<Self>, it: Weak<dyn Ends>) -> Listed {
        let mut state = self.state();
        state.next += 1;
        let number = state.next;
        state.open.insert(number, it);
        Listed {
            opened: Arc::clone(self),
            number,
        }
    }

    /// Waits for what runs, ends what is open, and closes the database (ND-3).
    pub(crate) fn close(&self) -> Result<(), Told> {
        let mut state = self.state();
        if state.closing {
            // Another thread is at it.
            while !state.closed {
                state = self.wait(state);
            }
            return Ok(());
        }
        state.closing = true;
        while !state.running.is_empty() {
            state = self.wait(state);
        }
        drop(state);
        self.finish()
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops what runs and closes the database: the program has no object of it any more, or ends.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        if state.closing {
            return;
        }
        state.closing = true;
        let deadline = Instant::now() + STOPPING_MAX;
        while !state.running.is_empty() && Instant::now() < deadline {
            // Again and again: a statement that was about to begin has forgotten what was asked
            // before.
            for cancel in state.running.values().flatten() {
                cancel.cancel();
            }
            let woken = self.changed.wait_timeout(state, STOPPING_PAUSE);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        let all_stopped = state.running.is_empty();
        drop(state);
        if all_stopped {
            // Nothing is left that could be told of an error.
            drop(self.finish());
        }
    }

    fn finish(&self) -> Result<(), Told> {
        let _closed = Closed(self);
        let open = std::mem::take(&mut self.state().open);
        for it in open.values().filter_map(Weak::upgrade) {
            it.end();
        }
        let closed = self.database.close();
        drop(std::mem::take(
            &mut *self.folder.lock().unwrap_or_else(PoisonError::into_inner),
        ));
        Ok(closed?)
    }
}

/// Says that a database is closed when it is dropped, after a panic too: others wait for that.
struct Closed<'a>(&'a Opened);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.state().closed = true;
        self.0.changed.notify_all();
    }
}
