//! Control-C: the first one asks the running work to stop, the second one ends the program. So do
//! the signals by which a service is ended, for commands that ask for that; the others are ended by
//! them at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use graven::CancelHandle;

/// What the first signal does.
pub(crate) enum SignalAction {
    /// Ends the program.
    Exit,
    /// Cancels the statement that runs.
    Cancel(CancelHandle),
    /// Is only remembered; the work asks [`asked`] regularly.
    Remember,
}

/// Exit code of a program ended by the signal, as shells count it.
const EXIT_INTERRUPTED: i32 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);
static SIGNAL_ACTION: Mutex<SignalAction> = Mutex::new(SignalAction::Exit);

/// Chooses the reaction and starts listening. Where the system refuses a handler, the signal ends
/// the program at once.
pub(crate) fn react(reaction: SignalAction) {
    *SIGNAL_ACTION.lock().unwrap_or_else(PoisonError::into_inner) = reaction;
    static LISTENING: std::sync::Once = std::sync::Once::new();
    LISTENING.call_once(|| drop(ctrlc::set_handler(handle)));
}

/// SIGTERM, and SIGHUP where it ends programs, are asking to stop, too; the second of each ends the
/// program at once. For work that asks [`asked`] regularly.
pub(crate) fn react_to_termination() {
    #[cfg(unix)]
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: both structures are plain data for which zeros are valid (no flags, an empty
        // mask), and live through the calls. The handler does nothing but store to an atomic, which
        // is allowed whatever it interrupts. Where the system refuses, all stays as it was.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let known = libc::sigaction(signal, std::ptr::null(), &raw mut before) == 0;
            // A program that was started with `nohup` is to go on.
            if known && before.sa_sigaction == libc::SIG_DFL {
                let mut wanted: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(libc::c_int) = terminate;
                wanted.sa_sigaction = handler as libc::sighandler_t;
                wanted.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
                libc::sigaction(signal, &raw const wanted, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(unix)]
extern "C" fn terminate(_: libc::c_int) {
    ASKED.store(true, Ordering::SeqCst);
}

/// Whether to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Forgets a signal that has been answered.
pub(crate) fn reset() {
    ASKED.store(false, Ordering::SeqCst);
}

fn handle() {
    let again = ASKED.swap(true, Ordering::SeqCst);
    let reaction = SIGNAL_ACTION.lock().unwrap_or_else(PoisonError::into_inner);
    match &*reaction {
        SignalAction::Cancel(statement) if !again => statement.cancel(),
        SignalAction::Remember if !again => {}
        _ => std::process::exit(EXIT_INTERRUPTED),
    }
}
