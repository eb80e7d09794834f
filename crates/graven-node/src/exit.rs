//! Closing databases when the process ends by `process.exit` or an error that nothing catches: Node
//! lets no object go then.
//!
//! # How it works
//! The C library calls a function before the process ends, after all JavaScript has run: listeners
//! of a program for `exit` still find their databases open. The work is done on a thread of its
//! own, for variables of the ending thread are gone by then. What was closed before is not in the
//! list, or is closed already.
#![expect(unsafe_code, reason = "`atexit` is a function of C")]

use std::sync::{Mutex, Once, PoisonError, Weak};
use std::thread;

use crate::opened::Opened;

/// Databases that may be open.
static OPEN: Mutex<Vec<Weak<Opened>>> = Mutex::new(Vec::new());

/// Closes this one, too, when the process ends.
pub(crate) fn note(opened: Weak<Opened>) {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        // SAFETY: the function takes nothing, does not unwind, and stays in memory: an addon that
        // has threads is never unloaded (build.rs). Where it cannot be set, recovery does its work
        // at the next opening.
        unsafe { libc::atexit(at_exit) };
    });
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|it| it.strong_count() > 0);
    open.push(opened);
}

extern "C" fn at_exit() {
    let closing = thread::Builder::new().spawn(|| {
        let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
        for opened in open.iter().filter_map(Weak::upgrade) {
            opened.abandon();
        }
    });
    if let Ok(closing) = closing {
        // It ends by itself; a panic there was told by its message.
        drop(closing.join());
    }
}
