//! Cancelling statements from any thread, wherever they run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use graven_io::ProcessLocal;

use crate::remote::client::Attached;

/// Cancels the statements of one connection, from any thread.
#[derive(Clone, Debug, Default)]
pub struct CancelHandle(Arc<Cancelling>);

impl CancelHandle {
    pub(crate) fn new(cancelling: Arc<Cancelling>) -> Self {
        CancelHandle(cancelling)
    }

    pub(crate) fn into_inner(self) -> Arc<Cancelling> {
        self.0
    }

    /// Asks the statements that run now to stop; they end with `Statement.Cancelled`.
    pub fn cancel(&self) {
        self.0.flag.store(true, Ordering::Relaxed);
        // What was begun before a fork runs in the other process alone.
        if !self.0.there.home().is_here() {
            return;
        }
        for (attached, session) in self.0.there().iter() {
            if let Some(attached) = attached.upgrade() {
                cancel_there(&attached, *session);
            }
        }
    }
}

/// A session that runs a statement, and its attachment.
type Running = (Weak<Attached>, (u64, u64));

/// What the statements of one connection look at.
#[derive(Debug, Default)]
pub(crate) struct Cancelling {
    flag: Arc<AtomicBool>,
    /// Sessions in which statements run in another process.
    there: ProcessLocal<Mutex<Vec<Running>>>,
}

impl Cancelling {
    /// What a statement in this process looks at.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// A new statement begins.
    pub(crate) fn reset(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    fn there(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement in another process, known to its connection while this lives.
pub(crate) struct Registration {
    cancelling: Arc<Cancelling>,
    session: (u64, u64),
}

impl Registration {
    pub(crate) fn new(
        cancelling: Arc<Cancelling>,
        attached: &Arc<Attached>,
        session: (u64, u64),
    ) -> Self {
        let running = (Arc::downgrade(attached), session);
        cancelling.there().push(running);
        Registration {
            cancelling,
            session,
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut there = self.cancelling.there();
        if let Some(at) = there
            .iter()
            .position(|(_, session)| *session == self.session)
        {
            there.swap_remove(at);
        }
    }
}

/// Lets a cancel handle reach the statement of a session.
/// Ends a statement in the owner.
pub(crate) fn cancel_there(attached: &Attached, handle: (u64, u64)) {
    // A session that has ended has nothing to cancel.
    let _ = attached.cancel(handle);
}
