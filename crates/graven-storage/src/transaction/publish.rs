//! The order in which commits become visible.
//!
//! # How it works
//! A commit appends its version to a queue while it holds the commit lock, so the queue is in the
//! order of timestamps. When it may be acknowledged it comes back, and takes all versions from the
//! front that may be shown: those whose commits said so, and those that the log has made durable
//! meanwhile. The newest of them is shown, and a commit whose version is still in the queue waits
//! for those before it. So does one that has met a conflict: run again before it can see what it
//! has met, it would meet it again.
//!
//! # Invariants
//! * Keeps TX-9: versions become visible in the order of their timestamps, none before it is
//!   durable or its commit has said that it need not be.
//! * TX-16: a commit returns only when its version, or a later one, is visible.
//! * TX-18: one that fails with a conflict, only when what it conflicts with is visible or the log
//!   has failed.
//!
//! # Concurrency
//! One mutex; versions are shown while it is held, and those that were given to
//! [`VersionSink::retire`] when it is not: much may go with them. This file is compiled a second
//! time by its tests, with the scheduler of `shuttle` below it.

use super::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

/// How often a commit that waits for its predecessors looks whether the log has failed.
const FAILURE_POLL: Duration = Duration::from_millis(50);

/// A version in the order of commits.
pub(crate) trait Versioned {
    fn timestamp(&self) -> u64;
    /// End of its commit in the log.
    fn lsn(&self) -> u64;
}

#[derive(Debug)]
struct Pending<V> {
    version: V,
    /// Whether it may be shown; with a log, also what is below the durable LSN.
    ready: bool,
}

/// Versions that are not visible yet, by timestamp.
#[derive(Debug)]
struct Queue<V> {
    pending: VecDeque<Pending<V>>,
    /// Commits that wait for those before them.
    waiting: usize,
}

/// See the file header.
#[derive(Debug)]
pub(crate) struct Publisher<V> {
    queue: Mutex<Queue<V>>,
    published: Condvar,
}

impl<V> Default for Publisher<V> {
    fn default() -> Self {
        Publisher {
            queue: Mutex::new(Queue {
                pending: VecDeque::new(),
                waiting: 0,
            }),
            published: Condvar::new(),
        }
    }
}

/// What publishing asks of the store.
pub(crate) trait VersionSink<V> {
    type Error;

    /// Makes the version visible; the one that was.
    fn make_visible(&self, version: V) -> V;
    /// Takes versions that are not the newest any more.
    fn retire(&self, versions: Vec<V>);
    /// What lies below this in the log is durable.
    fn durable(&self) -> u64;
    /// Why nothing becomes durable any more, if so.
    fn failure(&self) -> Option<Self::Error>;
}

impl<V: Versioned> Publisher<V> {
    fn lock(&self) -> MutexGuard<'_, Queue<V>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the newest version; the commit lock is held. With `ready` it need not be durable.
    pub(crate) fn push(&self, version: V, ready: bool) {
        let pending = Pending { version, ready };
        self.lock().pending.push_back(pending);
    }

    /// Puts a version with the same commits in the place of the newest one; the commit lock is
    /// held.
    pub(crate) fn replace_newest(&self, version: V, store: &impl VersionSink<V>) {
        let mut queue = self.lock();
        let before = match queue.pending.back_mut() {
            // It becomes visible with the commit that it is a copy of.
            Some(last) => std::mem::replace(&mut last.version, version),
            None => store.make_visible(version),
        };
        drop(queue);
        store.retire(vec![before]);
    }

    /// Makes visible what may be, up to the commit of `timestamp`, which may be acknowledged; waits
    /// for those before.
    pub(crate) fn publish<S: VersionSink<V>>(
        &self,
        timestamp: u64,
        store: &S,
    ) -> Result<(), S::Error> {
        let mut queue = self.lock();
        let pending = &mut queue.pending;
        let at = pending.partition_point(|pending| pending.version.timestamp() < timestamp);
        if let Some(pending) = pending.get_mut(at)
            && pending.version.timestamp() == timestamp
        {
            pending.ready = true;
        }
        self.wait(queue, timestamp, store)
    }

    /// Waits until the commit of `timestamp` is visible; what may be shown meanwhile is shown.
    ///
    /// # Errors
    /// What the store says of a failed log: the commit may never become visible.
    pub(crate) fn wait_visible<S: VersionSink<V>>(
        &self,
        timestamp: u64,
        store: &S,
    ) -> Result<(), S::Error> {
        self.wait(self.lock(), timestamp, store)
    }

    fn wait<S: VersionSink<V>>(
        &self,
        mut queue: MutexGuard<'_, Queue<V>>,
        timestamp: u64,
        store: &S,
    ) -> Result<(), S::Error> {
        let mut gone = Vec::new();
        loop {
            self.publish_ready(&mut queue, store, &mut gone);
            let first = queue.pending.front();
            let first = first.map(|pending| pending.version.timestamp());
            let outcome = match first.is_none_or(|first| first > timestamp) {
                true => Some(Ok(())),
                false => store.failure().map(Err),
            };
            if let Some(outcome) = outcome {
                drop(queue);
                if !gone.is_empty() {
                    store.retire(gone);
                }
                return outcome;
            }
            // A commit with less than full durability waits for those before it that have more.
            queue.waiting += 1;
            let waited = self.published.wait_timeout(queue, FAILURE_POLL);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            queue.waiting -= 1;
        }
    }

    /// Shows what may be shown; versions that the store needs no more are put into `gone`.
    fn publish_ready(&self, queue: &mut Queue<V>, store: &impl VersionSink<V>, gone: &mut Vec<V>) {
        let durable = store.durable();
        let mut newest = None;
        while let Some(first) = queue.pending.front()
            && (first.ready || first.version.lsn() <= durable)
        {
            let next = queue.pending.pop_front().map(|pending| pending.version);
            gone.extend(std::mem::replace(&mut newest, next));
        }
        if let Some(version) = newest {
            gone.push(store.make_visible(version));
            if queue.waiting > 0 {
                self.published.notify_all();
            }
        }
    }

    /// Lets waiting commits look whether the log has failed.
    pub(crate) fn wake(&self) {
        drop(self.lock());
        self.published.notify_all();
    }
}
