//! The owner's side: one thread that accepts, one thread a session.
//!
//! # How it works
//! Sessions run statements through the same [`Connection`] as the owner's own program does, so
//! results stream under the owner's budget and nothing is decided twice. A session that is slow to
//! read holds no page: rows are cut into frames, and between two batches a statement holds none.
//!
//! # Concurrency
//! Dropping [`Owner`] ends it all: no process can connect any more, statements are cancelled,
//! sockets shut, threads joined. That happens before the store closes and the file's lock is given
//! up (AT-1), so the next owner finds a closed store.

mod serve;

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use graven_io::ForkSafe;

use super::address::{FileIdentity, Listener};
use crate::cancel::CancelHandle;
use crate::instance::Instance;

/// Everything that serves attached processes.
#[derive(Debug)]
pub(crate) struct Owner {
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    listener: Listener,
    file: FileIdentity,
    database: Weak<Instance>,
    closing: AtomicBool,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    next: u64,
    open: HashMap<u64, Open>,
    threads: Vec<JoinHandle<()>>,
}

/// What others may do to a session.
#[derive(Debug)]
struct Open {
    key: u64,
    socket: ForkSafe<UnixStream>,
    cancel: CancelHandle,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let shared = &self.shared;
        shared.closing.store(true, Ordering::SeqCst);
        shared.listener.shut_down();
        // A thread that panicked has said so; the others are still to be ended.
        let _ = self.acceptor.take().map(JoinHandle::join);
        let threads = {
            let mut sessions = shared.sessions();
            for open in sessions.open.values() {
                open.cancel.cancel();
                // A socket whose other end has gone is shut already.
                let _ = open.socket.shutdown(Shutdown::Both);
            }
            std::mem::take(&mut sessions.threads)
        };
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn sessions(&self) -> std::sync::MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
