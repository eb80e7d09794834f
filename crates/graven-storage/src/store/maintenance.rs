//! Checkpoints by themselves: when changes in memory or the log have grown.
//!
//! # How it works
//! Commits look at both and ask for a checkpoint, so does opening. The first request starts a
//! thread that runs checkpoints. After a failure it tries again by itself, later each time. Closing
//! waits for a checkpoint that was asked for: otherwise every opening would read the same long log
//! again.
//!
//! Commits that are ahead of the checkpoint wait for it ([`Maintenance::wait_for_room`]): changes
//! that are not being merged take at most a quarter of the memory limit. A checkpoint makes no
//! pauses while a commit waits. A commit that finds no room in the budget for other reasons runs a
//! checkpoint of its own.
//!
//! # Concurrency
//! The thread holds the store only while a checkpoint runs, so that it never keeps it open. If a
//! checkpoint panics the thread ends. That is a failure that stays: no commit waits for it.

use super::Store;
use crate::checkpoint::CheckpointOptions;
use crate::until::Until;
use crate::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Changes in memory may take this part of the memory limit before they are merged into the file.
pub(crate) const CHANGES_SHARE: u64 = 8;
/// Apart from those that are being merged, changes may take this part before commits wait for the
/// checkpoint.
pub(crate) const WAIT_SHARE: u64 = 4;
/// A commit that waits for a checkpoint looks at least this often.
const PROGRESS_POLL: Duration = Duration::from_millis(20);
/// The log may hold this many bytes of commits that are not in the file.
pub(crate) const LOG_BYTES: u64 = 64 << 20;
/// Wait before a failed checkpoint is tried again: doubled each time up to the longest.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LONGEST: Duration = Duration::from_secs(60);
/// What a commit makes that finds no room.
pub(crate) const UNPACED: CheckpointOptions = CheckpointOptions {
    paced: false,
    compact: false,
    until: Until::DONE,
};

#[derive(Debug, Default)]
struct State {
    requested: bool,
    stop: bool,
    /// Why the last checkpoint failed.
    failure: Option<String>,
    /// It lacked memory.
    lacked_memory: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// Changes were frozen, or a checkpoint has ended.
    progress: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs checkpoints when asked.
#[derive(Debug, Default)]
pub(crate) struct Maintenance {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Maintenance {
    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a checkpoint soon.
    pub(crate) fn request(&self, store: &Arc<Store>) {
        let mut state = self.shared.state();
        if state.requested || state.stop {
            return;
        }
        state.requested = true;
        self.shared.wake.notify_all();
        drop(state);
        let mut thread = self.thread();
        if thread.is_none() {
            let (shared, store) = (self.shared.clone(), Arc::downgrade(store));
            let spawned = thread::Builder::new()
                .name("graven-checkpoint".to_owned())
                .spawn(move || run(&shared, &store));
            // Without a thread commits run checkpoints themselves when there is no room left.
            *thread = spawned.ok();
        }
    }

    /// Waits for the checkpoint where commits are ahead of it and `bytes` more would be too much;
    /// not for one that fails or cannot be. After one that lacked memory it makes another at once:
    /// more changes would leave it even less.
    ///
    /// # Errors
    /// That one lacks memory too.
    pub(crate) fn wait_for_room(&self, store: &Arc<Store>, bytes: u64) -> Result<()> {
        if store.has_room(bytes) {
            return Ok(());
        }
        let _unpaced = store.checkpointer().unpaced();
        loop {
            self.request(store);
            let has_no_thread = self.thread().is_none();
            let state = self.shared.state();
            if store.has_room(bytes) {
                return Ok(());
            }
            if state.lacked_memory {
                drop(state);
                match store.checkpoint(UNPACED) {
                    Ok(_) => self.recovered(),
                    Err(error) if error.is_memory() => return Err(error),
                    // Whatever else is wrong with checkpoints, commits go on for as long as there
                    // is memory.
                    Err(_) => {}
                }
                return Ok(());
            }
            if has_no_thread || state.stop || state.failure.is_some() {
                return Ok(());
            }
            // A thread that is woken, in time or late, looks again.
            drop(self.shared.progress.wait_timeout(state, PROGRESS_POLL));
        }
    }

    /// Another checkpoint succeeded: the earlier failure is no reason to wait longer before the
    /// next.
    fn recovered(&self) {
        let mut state = self.shared.state();
        state.lacked_memory = false;
        state.failure = None;
        self.shared.wake.notify_all();
        self.shared.progress.notify_all();
    }

    /// Tells commits that wait for a checkpoint.
    pub(crate) fn progressed(&self) {
        let _state = self.shared.state();
        self.shared.progress.notify_all();
    }

    /// Why the last checkpoint failed, if it did.
    pub(crate) fn failure(&self) -> Option<String> {
        self.shared.state().failure.clone()
    }

    /// Ends the thread after the checkpoint that was asked for, if any; none begins any more.
    pub(crate) fn stop(&self) {
        self.shared.state().stop = true;
        self.shared.wake.notify_all();
        if let Some(thread) = self.thread().take()
            && thread.thread().id() != thread::current().id()
        {
            // A checkpoint that panicked has said so already.
            let _ = thread.join();
        }
    }
}

/// Lets commits go on where the thread that they wait for unwinds.
struct Unwinding<'a>(&'a Shared);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let failure =
                "a checkpoint panicked; there are no more until the database is opened again";
            self.0.state().failure = Some(failure.to_owned());
            self.0.progress.notify_all();
        }
    }
}

fn run(shared: &Shared, store: &Weak<Store>) {
    let _unwinding = Unwinding(shared);
    let mut retry = RETRY_FIRST;
    loop {
        let idle = |state: &mut State| !state.requested && !state.stop;
        let state = shared.wake.wait_while(shared.state(), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        if state.stop && (!state.requested || state.failure.is_some()) {
            return;
        }
        drop(state);
        let Some(open) = store.upgrade() else { return };
        let failure = open.checkpoint(CheckpointOptions::default()).err();
        drop(open);
        let mut state = shared.state();
        state.lacked_memory = failure.as_ref().is_some_and(Error::is_memory);
        state.failure = failure.map(|error| error.to_string());
        shared.progress.notify_all();
        if state.failure.is_none() {
            state.requested = false;
            retry = RETRY_FIRST;
        } else if !state.stop {
            drop(shared.wake.wait_timeout(state, retry));
            retry = (retry * 2).min(RETRY_LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Goal: commits that are ahead of the checkpoints wait for them, however long those take, and
    //! keep within their share of the memory limit, also beside a snapshot that is as old as
    //! everything.

    use super::*;
    use crate::{GraphBuilder, LogPlace, OpenOptions, PropertyValue, TransactionOptions};
    use graven_io::{File, IoMode, MemoryFile, ReadQueue};
    use graven_pagecache::{Budget, Config, PageCache};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    const MEMORY: u64 = 4 << 20;
    const ROUNDS: u64 = 60;
    const NODES: u64 = 400;

    #[derive(Debug)]
    struct InMemory(MemoryFile);

    impl LogPlace for InMemory {
        fn path(&self) -> PathBuf {
            PathBuf::from("log")
        }

        fn existing(&self) -> crate::Result<Option<Arc<dyn File>>> {
            Ok(None)
        }

        fn create(&self) -> crate::Result<Arc<dyn File>> {
            Ok(Arc::new(self.0.clone()))
        }

        fn remove(&self) {
            self.0.set_len(0).unwrap();
        }
    }

    fn open(data: MemoryFile, file: impl FnOnce(MemoryFile) -> Arc<dyn File>) -> Arc<Store> {
        GraphBuilder::new().build(Arc::new(data.clone())).unwrap();
        let cache = PageCache::new(Config::new(Budget::new(MEMORY))).unwrap();
        let log = Box::new(InMemory(MemoryFile::new("log")));
        Store::open_with(file(data), cache, OpenOptions::new(log)).unwrap()
    }

    fn commit(store: &Arc<Store>, round: u64) -> crate::Result<()> {
        let transaction = store.begin(TransactionOptions::default())?;
        let key = transaction.key("text")?;
        let text = PropertyValue::string(&format!("{round}").repeat(100));
        let columns = vec![(key, vec![text; NODES as usize])];
        transaction.create_nodes(&[], NODES as usize, columns)?;
        transaction.commit().map(|_| ())
    }

    /// A file whose writes panic once it is told so.
    #[derive(Debug)]
    struct Panicking(MemoryFile, Arc<AtomicBool>);

    impl File for Panicking {
        fn path(&self) -> &Path {
            self.0.path()
        }

        fn len(&self) -> graven_io::Result<u64> {
            self.0.len()
        }

        fn set_len(&self, length: u64) -> graven_io::Result<()> {
            self.0.set_len(length)
        }

        fn read_at(&self, buf: &mut [u8], offset: u64) -> graven_io::Result<usize> {
            self.0.read_at(buf, offset)
        }

        fn write_all_at(&self, buf: &[u8], offset: u64) -> graven_io::Result<()> {
            assert!(!self.1.load(Ordering::Relaxed), "as the test wants it");
            self.0.write_all_at(buf, offset)
        }

        fn sync_data(&self) -> graven_io::Result<()> {
            self.0.sync_data()
        }

        fn allocate(&self, offset: u64, length: u64) -> graven_io::Result<()> {
            self.0.allocate(offset, length)
        }

        fn mode(&self) -> IoMode {
            self.0.mode()
        }

        fn alignment(&self) -> usize {
            self.0.alignment()
        }

        fn read_queue(&self, depth: usize) -> graven_io::Result<Box<dyn ReadQueue>> {
            self.0.read_queue(depth)
        }
    }

    /// Goal: a caller that wants no pauses takes them from the checkpoint that it waits for, and
    /// finds everything merged; a load waits for no backup.
    #[test]
    fn a_waiting_caller_takes_the_pauses_from_a_checkpoint() {
        let store = open(MemoryFile::new("data"), |data| Arc::new(data));
        commit(&store, 0).unwrap();
        let running = store.checkpointer().pause();
        store.checkpoint_if_idle(UNPACED).unwrap();
        let working = store.checkpointer().activity().begin();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| store.checkpoint_if_idle(UNPACED));
            while !store.checkpointer().is_awaited() {
                thread::yield_now();
            }
            drop((working, running));
            waiting.join().unwrap().unwrap();
        });
        assert!(!store.checkpointer().is_awaited());
        assert_eq!(store.checkpoint(UNPACED).unwrap(), None, "all is merged");
    }

    /// Goal: where a checkpoint panics, commits go on until there is no memory left and then say
    /// why.
    #[test]
    fn no_commit_waits_for_a_checkpoint_that_panicked() {
        let panics = Arc::new(AtomicBool::new(false));
        let store = open(MemoryFile::new("data"), |data| {
            Arc::new(Panicking(data, panics.clone()))
        });
        // The first commit makes the log, which the superblocks name.
        commit(&store, 0).unwrap();
        panics.store(true, Ordering::Relaxed);
        let refused = (1..1000).find_map(|round| commit(&store, round).err().map(|e| (round, e)));
        let (round, error) = refused.expect("memory is limited");
        assert!(
            matches!(error, crate::Error::CheckpointsStopped { .. }),
            "{error}"
        );
        assert!(
            store
                .checkpoint_failure()
                .is_some_and(|why| why.contains("panicked"))
        );
        assert_eq!(store.snapshot().node_count(), round * NODES);
    }

    /// Goal: values that commits replace are not charged for, however many do so before a
    /// checkpoint, but as long as a reader from before holds them.
    #[test]
    fn replaced_values_are_charged_while_they_are_held() {
        let store = open(MemoryFile::new("data"), |data| Arc::new(data));
        commit(&store, 0).unwrap();
        let held = store.checkpointer().pause();
        let charged = || store.commits().reservation.bytes();
        let replace = |rounds: std::ops::Range<i64>| {
            for round in rounds {
                let transaction = store.begin(TransactionOptions::default()).unwrap();
                let key = transaction.key("number").unwrap();
                let node = crate::ids::NodeId(round.unsigned_abs() % 50);
                let number = PropertyValue::string(&format!("{round:>200}"));
                transaction.set_node_property(node, key, &number).unwrap();
                transaction.commit().unwrap();
            }
        };
        replace(0..100);
        let before = charged();
        replace(0..3000);
        assert!(charged() <= before + (64 << 10), "{before} {}", charged());
        let reader = store.snapshot();
        replace(0..50);
        assert!(charged() >= before + 50 * 200, "{before} {}", charged());
        drop(reader);
        replace(0..3);
        assert!(charged() <= before + (64 << 10), "{before} {}", charged());
        drop(held);
        store.close().unwrap();
    }

    #[test]
    fn commits_wait_for_a_checkpoint_that_is_behind() {
        let store = open(MemoryFile::new("data"), |data| Arc::new(data));
        let oldest = store.snapshot();
        let most = AtomicU64::new(0);
        // No checkpoint begins before the writer has come to a stop.
        let held = store.checkpointer().pause();
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for round in 0..ROUNDS {
                    commit(&store, round).unwrap();
                    let changed = store.commits().applied.changed_bytes();
                    most.fetch_max(changed, Ordering::Relaxed);
                }
            });
            while !store.checkpointer().is_awaited() {
                assert!(!writer.is_finished(), "it waits for the checkpoint");
                thread::yield_now();
            }
            assert!(most.load(Ordering::Relaxed) > MEMORY / CHANGES_SHARE);
            drop(held);
        });
        assert!(most.load(Ordering::Relaxed) <= MEMORY / WAIT_SHARE);
        assert_eq!(store.snapshot().node_count(), ROUNDS * NODES);
        assert_eq!(oldest.node_count(), 0);
        drop(oldest);
        store.close().unwrap();
    }
}
