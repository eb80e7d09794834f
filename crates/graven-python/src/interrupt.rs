//! Control-C while a statement runs.
//!
//! # How it works
//! Python's own handler of the signal only notes that there was one; what a program wants done
//! (raising `KeyboardInterrupt`, as a rule) is done by the main thread when it runs Python again. A
//! statement that takes minutes would keep it from that. So a handler is put before Python's, which
//! notes the signal for this module, too, and hands it on. A thread that watches long calls of the
//! main thread then stops the statement, the call returns, and Python does what it noted. Where the
//! program sets another handler by Python's means, that is preceded as well from the next look of
//! this thread on. Short calls pay for a lock and a clock.
//!
//! # Invariants
//! * PY-3 The handler does nothing but store a flag and call the one before which it was put. It is
//!   put before plain handlers alone: a program that ignores the signal, or lets it end the
//!   process, gets that.
//!
//! # Concurrency
//! Calls of other threads are not watched: Python gives the signal to the main thread alone.
#![expect(
    unsafe_code,
    reason = "handlers of signals are set by the system's own interface"
)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use graven::{CancelHandle, Error};
use pyo3::prelude::*;

use crate::function::{Running, check_outside};

/// A call is long from here on.
const MOMENT: Duration = Duration::from_millis(50);

/// The watching thread rests when there was no call for so long.
const QUIET: Duration = Duration::from_secs(1);

/// How often it looks whether there was a signal.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// There was a signal that no call has asked Python about.
static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// The handler before which the own one was put, as an address.
static BEFORE: AtomicUsize = AtomicUsize::new(0);

static WATCH: Watch = Watch {
    state: Mutex::new(State {
        call: None,
        begun: 0,
        resting: true,
    }),
    changed: Condvar::new(),
};

struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The call of the main thread.
    call: Option<(Instant, CancelHandle)>,
    /// Calls that have begun so far.
    begun: u64,
    /// The watching thread waits to be woken.
    resting: bool,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, cancel: &CancelHandle) {
        static WATCHING: Once = Once::new();
        WATCHING.call_once(|| {
            listen();
            let watching = thread::Builder::new().name("graven-interrupt".to_owned());
            // Without it Control-C waits for the end of the statement.
            drop(watching.spawn(|| WATCH.run()));
        });
        let mut state = self.state();
        state.call = Some((Instant::now(), cancel.clone()));
        state.begun += 1;
        if std::mem::take(&mut state.resting) {
            self.changed.notify_one();
        }
    }

    fn leave(&self) {
        self.state().call = None;
    }

    /// Watches for ever.
    fn run(&self) {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            let mut state = self.state();
            if state.begun != seen {
                (seen, since) = (state.begun, Instant::now());
            }
            let mut long = None;
            match &state.call {
                Some((begun, cancel)) if begun.elapsed() >= MOMENT => long = Some(cancel.clone()),
                None if since.elapsed() >= QUIET => {
                    state.resting = true;
                    while state.resting {
                        let woken = self.changed.wait(state);
                        state = woken.unwrap_or_else(PoisonError::into_inner);
                    }
                }
                _ => {}
            }
            drop(state);
            listen();
            if let Some(cancel) = long {
                if SIGNALLED.load(Ordering::SeqCst) {
                    // Again and again: a statement that was about to begin has forgotten what was
                    // asked before.
                    cancel.cancel();
                }
                thread::sleep(LOOKS_EVERY);
            } else {
                thread::sleep(MOMENT);
            }
        }
    }
}

extern "C" fn note(signal: libc::c_int) {
    /// The handler before which the own one was put may have been put before it in turn.
    static WITHIN: AtomicBool = AtomicBool::new(false);
    if WITHIN.swap(true, Ordering::SeqCst) {
        return;
    }
    SIGNALLED.store(true, Ordering::SeqCst);
    let before = BEFORE.load(Ordering::SeqCst);
    // SAFETY: `listen` stored the address of a handler that takes the signal's number, before it
    // set this one.
    let before: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(before) };
    before(signal);
    WITHIN.store(false, Ordering::SeqCst);
}

/// Puts the own handler before the one that is there, if that is a plain one.
fn listen() {
    let own_address = note as extern "C" fn(libc::c_int) as usize;
    // SAFETY: all zeros is a valid `sigaction`, and null is no new action: the present one is only
    // read.
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let read = unsafe { libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut before) };
    let handler = before.sa_sigaction;
    let is_plain = ![libc::SIG_IGN, libc::SIG_DFL, own_address].contains(&handler);
    if read != 0 || !is_plain || before.sa_flags & libc::SA_SIGINFO != 0 {
        return;
    }
    BEFORE.store(handler, Ordering::SeqCst);
    let mut own = before;
    own.sa_sigaction = own_address;
    // SAFETY: PY-3: `note` is safe in a handler, and stays as long as the program. Where it cannot
    // be set, Control-C waits.
    unsafe { libc::sigaction(libc::SIGINT, &raw const own, std::ptr::null_mut()) };
}

/// Runs `work` without the interpreter's lock; it is stopped at Control-C. What it gives is
/// kept then, unless it is an error: the interpreter does what was noted as soon as it goes on.
///
/// # Errors
/// What Python does at Control-C, and what became of `work`.
pub(crate) fn away<T: Send>(
    py: Python<'_>,
    running: &Running,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    check_outside(py)?;
    // SAFETY: both calls have no conditions.
    let is_main = unsafe { libc::getpid() == libc::gettid() };
    if !is_main {
        return py.detach(work).map_err(|error| running.raised(py, &error));
    }
    // One that came before may have been seen by Python or not.
    if SIGNALLED.swap(false, Ordering::SeqCst) {
        py.check_signals()?;
    }
    WATCH.enter(&running.cancel);
    let done = py.detach(work);
    WATCH.leave();
    let error = match done {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // What the program wants done comes before what became of the statement.
    if SIGNALLED.swap(false, Ordering::SeqCst) {
        py.check_signals()?;
    }
    Err(running.raised(py, &error))
}
