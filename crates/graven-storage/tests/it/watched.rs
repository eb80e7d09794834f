//! Goal: what happens beside the content of the files. A panic where the log is read, while a
//! second thread applies what was read, ends the opening with an error instead of a wait without
//! end; what a checkpoint holds is charged to the memory limit until it is done. Method: files that
//! call a test back with each read and write.

use crate::batches::commit;
use crate::transactions::{LogFile, copy, empty, open_spilling};
use graven_io::{File, IoMode, MemoryFile, ReadQueue, Result};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{CheckpointOptions, Error, OpenOptions, Store};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Longer than any opening takes; ends the wait for one that never ends.
const PATIENCE: Duration = Duration::from_secs(120);
const COMMITS: u64 = 30;
/// Several batches.
const MEMORY: u64 = 1 << 20;

type Told = Arc<dyn Fn() + Send + Sync>;

/// A file that tells of reads and writes before they are done.
#[derive(Clone)]
struct Watched {
    file: Arc<dyn File>,
    read: Told,
    written: Told,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl File for Watched {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> Result<()> {
        self.file.set_len(length)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        (self.read)();
        self.file.read_at(buf, offset)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        (self.written)();
        self.file.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> Result<()> {
        self.file.sync_data()
    }

    fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        self.file.allocate(offset, length)
    }

    fn mode(&self) -> IoMode {
        self.file.mode()
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn read_queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        self.file.read_queue(depth)
    }
}

fn nothing() -> Told {
    Arc::new(|| {})
}

/// Files of a database whose log has `COMMITS` commits.
fn logged() -> (MemoryFile, MemoryFile) {
    let (data, log) = empty();
    let (there, beside) = (Arc::new(data.clone()), Arc::new(log.clone()));
    let store = open_spilling(there, beside, 256 << 20, None, false).unwrap();
    (0..COMMITS).for_each(|number| commit(&store, number));
    (data, log)
}

/// Opens copies of the files on a thread of its own; `read` is called before each read of the log.
/// `None`: it panicked.
fn opened(
    data: &MemoryFile,
    log: &MemoryFile,
    read: Told,
) -> Option<std::result::Result<(), Error>> {
    let (data, log) = (copy(data), copy(log));
    let written = nothing();
    let log = Arc::new(Watched {
        file: log,
        read,
        written,
    });
    let (done, ended) = channel();
    let opening = thread::spawn(move || {
        let open = || open_spilling(data, log, MEMORY, None, false).map(drop);
        done.send(catch_unwind(AssertUnwindSafe(open)).ok())
    });
    let end = ended.recv_timeout(PATIENCE).expect("the opening ends");
    opening.join().unwrap().unwrap();
    end
}

#[test]
fn a_panic_while_the_log_is_read_ends_the_opening() {
    let (data, log) = logged();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let counting: Told = Arc::new(move || _ = counted.fetch_add(1, Ordering::Relaxed));
    opened(&data, &log, counting).expect("no panic").unwrap();
    let reads = count.load(Ordering::Relaxed);
    let mut errors = 0;
    for number in 0..reads {
        let left = AtomicUsize::new(number);
        let panics: Told = Arc::new(move || {
            let left = left.fetch_sub(1, Ordering::Relaxed);
            assert!(left != 0, "a read that panics");
        });
        match opened(&data, &log, panics) {
            Some(Ok(())) => panic!("read {number} of {reads} was made"),
            Some(Err(error)) => {
                let text = error.to_string();
                assert!(text.contains("a read that panics"), "{text}");
                errors += 1;
            }
            // A panic before the records are read passes to the caller: no thread waits then.
            None => {}
        }
    }
    assert!(errors > 0, "{reads} reads");
}

#[test]
fn a_checkpoint_is_charged_while_it_writes() {
    let (data, log) = logged();
    let budget = Budget::new(64 << 20);
    let held = |budget: &Budget| {
        let holders = budget.holders();
        let own = holders.iter().find(|holder| holder.tag == "checkpoint");
        own.map_or(0, |holder| holder.bytes)
    };
    let most = Arc::new(AtomicU64::new(0));
    let written: Told = {
        let (budget, most) = (Arc::clone(&budget), Arc::clone(&most));
        Arc::new(move || _ = most.fetch_max(held(&budget), Ordering::Relaxed))
    };
    let (file, read) = (copy(&data), nothing());
    let watched = Arc::new(Watched {
        file,
        read,
        written,
    });
    let cache = PageCache::new(Config::new(Arc::clone(&budget))).unwrap();
    let mut options = OpenOptions::new(Box::new(LogFile(copy(&log))));
    options.own_checkpoints = false;
    let store = Store::open_with(watched, cache, options).unwrap();
    most.store(0, Ordering::Relaxed);
    store.checkpoint(CheckpointOptions::default()).unwrap();
    // A buffer of 256 KiB, and what it notes of free space and of pages.
    assert!(most.load(Ordering::Relaxed) > 256 << 10, "{most:?}");
    assert_eq!(held(&budget), 0);
}
