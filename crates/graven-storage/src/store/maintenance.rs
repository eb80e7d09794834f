//! Checkpoints by themselves: when changes in memory or the log have grown.
//!
//! # How it works
//! Commits look at both and ask, so does opening; a thread, begun by the first that asks, runs the checkpoint. After a
//! failure it tries again by itself, later each time. Closing waits for a checkpoint that was asked for: otherwise every
//! opening would read the same long log again. A commit that finds no room for its changes runs a checkpoint of its own.
//!
//! # Concurrency
//! The thread holds the store only while a checkpoint runs, so that it never keeps it open.

use super::Store;
use crate::checkpoint::CheckpointOptions;
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Changes in memory may take this part of the memory limit before they are folded into the file.
pub(crate) const CHANGES_SHARE: u64 = 8;
/// The log may hold this many bytes of commits that are not in the file.
pub(crate) const LOG_BYTES: u64 = 64 << 20;
/// Wait before a failed checkpoint is tried again: doubled each time up to the longest.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct State {
    wanted: bool,
    stop: bool,
    /// Why the last checkpoint failed.
    failure: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

/// Runs checkpoints when asked.
#[derive(Debug, Default)]
pub(crate) struct Maintenance {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Maintenance {
    /// Asks for a checkpoint soon.
    pub(crate) fn ask(&self, store: &Arc<Store>) {
        let mut state = self.shared.state.lock();
        if state.wanted || state.stop {
            return;
        }
        state.wanted = true;
        self.shared.wake.notify_all();
        drop(state);
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (shared, store) = (self.shared.clone(), Arc::downgrade(store));
            let spawned = thread::Builder::new()
                .name("graven-checkpoint".to_owned())
                .spawn(move || run(&shared, &store));
            // Without a thread commits run checkpoints themselves when there is no room left.
            *thread = spawned.ok();
        }
    }

    /// Why the last checkpoint failed, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.shared.state.lock().failure.clone()
    }

    /// Ends the thread after the checkpoint that was asked for, if any; none begins any more.
    pub(crate) fn stop(&self) {
        self.shared.state.lock().stop = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread.lock().take()
            && thread.thread().id() != thread::current().id()
        {
            // A checkpoint that panicked has said so already.
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, store: &Weak<Store>) {
    let mut retry = RETRY_FIRST;
    loop {
        let mut state = shared.state.lock();
        while !state.wanted && !state.stop {
            shared.wake.wait(&mut state);
        }
        if state.stop && (!state.wanted || state.failure.is_some()) {
            return;
        }
        drop(state);
        let Some(open) = store.upgrade() else { return };
        let failure = open.checkpoint(CheckpointOptions::default()).err();
        drop(open);
        let mut state = shared.state.lock();
        state.failure = failure.map(|error| error.to_string());
        if state.failure.is_none() {
            state.wanted = false;
            retry = RETRY_FIRST;
        } else if !state.stop {
            shared.wake.wait_for(&mut state, retry);
            retry = (retry * 2).min(RETRY_LONGEST);
        }
    }
}
