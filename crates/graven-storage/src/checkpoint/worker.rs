//! A thread that makes checkpoints when enough was committed.
//!
//! # How it works
//! It looks every [`INTERVAL`]. The changes since the last checkpoint are in memory, so they may take a share of the
//! memory limit, and never more than [`CHANGES_MAX`]: recovery reads as much log. A checkpoint that fails is told to
//! whoever asks ([`Checkpoints::failure`]) and tried again when as much was committed once more.
//!
//! # Concurrency
//! The thread holds the store only while it looks; it ends with the store or with this value.

use super::CheckpointOptions;
use crate::store::Store;
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(200);
/// Changes may take this part of the memory limit before they are folded in.
const CHANGES_SHARE: u64 = 8;
/// Changes are folded in at this size, however large the limit.
const CHANGES_MAX: u64 = 64 << 20;

#[derive(Debug, Default)]
struct Shared {
    stop: Mutex<bool>,
    changed: Condvar,
    failure: Mutex<Option<String>>,
}

/// Makes checkpoints while it lives.
#[derive(Debug)]
pub struct Checkpoints {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(store: &Arc<Store>) -> std::io::Result<Checkpoints> {
        let shared = Arc::new(Shared::default());
        let (store, seen) = (Arc::downgrade(store), shared.clone());
        let thread = std::thread::Builder::new()
            .name("graven-checkpoint".to_owned())
            .spawn(move || run(&store, &seen))?;
        Ok(Checkpoints {
            shared,
            thread: Some(thread),
        })
    }

    /// Why the last checkpoint failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.failure.lock().clone()
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        *self.shared.stop.lock() = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn run(store: &Weak<Store>, shared: &Shared) {
    // Changes that the last attempt could not fold in.
    let mut failed_at = 0;
    loop {
        {
            let mut stop = shared.stop.lock();
            if !*stop {
                shared.changed.wait_for(&mut stop, INTERVAL);
            }
            if *stop {
                return;
            }
        }
        let Some(store) = store.upgrade() else {
            return;
        };
        let changes = store.changes_bytes();
        let limit = (store.cache().budget().limit() / CHANGES_SHARE).min(CHANGES_MAX);
        if changes < limit || changes < failed_at + limit {
            continue;
        }
        let outcome = store.checkpoint(CheckpointOptions::default());
        failed_at = if outcome.is_err() { changes } else { 0 };
        *shared.failure.lock() = outcome.err().map(|error| error.to_string());
    }
}
