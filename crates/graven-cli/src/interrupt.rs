//! Control-C: the first one asks the running work to stop, the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use graven::CancelHandle;

/// What the first signal does.
pub(crate) enum Reaction {
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
static REACTION: Mutex<Reaction> = Mutex::new(Reaction::Exit);

/// Chooses the reaction and starts listening. Where the system refuses a handler, the signal ends the
/// program at once.
pub(crate) fn react(reaction: Reaction) {
    *REACTION.lock().unwrap_or_else(PoisonError::into_inner) = reaction;
    static LISTENING: std::sync::Once = std::sync::Once::new();
    LISTENING.call_once(|| drop(ctrlc::set_handler(handle)));
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
    let reaction = REACTION.lock().unwrap_or_else(PoisonError::into_inner);
    match &*reaction {
        Reaction::Cancel(statement) if !again => statement.cancel(),
        Reaction::Remember if !again => {}
        _ => std::process::exit(EXIT_INTERRUPTED),
    }
}
