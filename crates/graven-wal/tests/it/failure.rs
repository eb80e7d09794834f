//! Goal: failures are clear and final: a failed sync or write stops the log, a full disk refuses
//! one append and loses nothing, and room is kept for what helps.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;

use graven_io::{Fault, FaultPlan, FaultyFile, File, IoMode, MemoryFile, ReadQueue};
use graven_wal::{Durability, Error, Kind, Log, LogOptions, Lsn, RecordRef};

use crate::{IDENTITY, append, create, options, read_all};

#[test]
fn after_a_failed_sync_nothing_is_written_or_acknowledged() {
    let memory = MemoryFile::new("test-wal");
    let file = FaultyFile::new(Arc::new(memory.clone()), FaultPlan::default());
    let log = create(Arc::new(file.clone()));
    let first = append(&log, 1, 100).unwrap();
    log.wait_committed(first, Durability::Full).unwrap();
    file.control().arm(Fault::SyncError, 0);
    let second = append(&log, 2, 100).unwrap();
    let error = log.wait_committed(second, Durability::Full).unwrap_err();
    assert!(
        matches!(error, Error::Failed { durable, .. } if durable == first),
        "{error}"
    );
    assert!(error.to_string().contains("not known"), "{error}");

    let counts = file.control().counts();
    let before = memory.to_bytes();
    assert!(append(&log, 3, 100).is_err());
    assert!(log.wait_committed(second, Durability::Full).is_err());
    assert!(log.wait_committed(second, Durability::Off).is_err());
    assert!(log.truncate_before(first).is_err());
    assert!(log.failed().is_some());
    log.wait_committed(first, Durability::Full).unwrap();
    log.run_background_work();
    drop(log);
    assert_eq!(
        file.control().counts(),
        counts,
        "the file was not touched again"
    );
    assert_eq!(memory.to_bytes(), before);
}

#[test]
fn a_failed_write_stops_the_log() {
    let file = FaultyFile::new(Arc::new(MemoryFile::new("test-wal")), FaultPlan::default());
    let log = create(Arc::new(file.clone()));
    file.control().arm(Fault::WriteError, 1);
    let end = append(&log, 1, 100).unwrap();
    let error = log.wait_committed(end, Durability::Full).unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert!(append(&log, 2, 1).is_err());
}

#[test]
fn a_full_disk_refuses_the_append_and_keeps_room_for_a_checkpoint() {
    let memory = MemoryFile::new("test-wal");
    let plan = FaultPlan {
        capacity_bytes: Some(4096 + 3 * (256 << 10)),
        ..FaultPlan::default()
    };
    let file = FaultyFile::new(Arc::new(memory.clone()), plan);
    let log = create(Arc::new(file));
    let mut count = 0;
    let refused = loop {
        match append(&log, count, 5_000) {
            Ok(end) => {
                log.wait_committed(end, Durability::Full).unwrap();
                count += 1;
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::DiskFull { .. }) && refused.is_storage_full());
    assert!(
        refused.to_string().contains("nothing of this append"),
        "{refused}"
    );
    assert!(count > 30 && log.failed().is_none());
    assert_eq!(
        read_all(&memory.to_bytes(), Lsn(0)).unwrap().len() as u64,
        count
    );

    let end = log
        .append(&[RecordRef {
            kind: Kind::Checkpoint,
            transaction: 0,
            payload: &[0; 10_000],
        }])
        .unwrap();
    log.wait_committed(end, Durability::Full).unwrap();
    log.truncate_before(end).unwrap();
    for number in 0..count {
        let end = append(&log, number, 5_000).unwrap();
        log.wait_committed(end, Durability::Full).unwrap();
        log.truncate_before(end).unwrap();
    }
}

#[test]
fn a_log_cannot_be_made_on_a_full_disk() {
    let plan = FaultPlan {
        capacity_bytes: Some(100_000),
        ..FaultPlan::default()
    };
    let file = FaultyFile::new(Arc::new(MemoryFile::new("test-wal")), plan);
    let error = Log::create(Arc::new(file), IDENTITY, options()).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
}

#[test]
fn impossible_options_are_named() {
    let make = |change: fn(&mut LogOptions)| {
        let mut options = options();
        change(&mut options);
        let file = Arc::new(MemoryFile::new("test-wal"));
        Log::create(file, IDENTITY, options)
            .unwrap_err()
            .to_string()
    };
    assert!(make(|o| o.initial_regions = 1).contains("initial_regions"));
    assert!(make(|o| o.region_bytes = 1000).contains("region_bytes"));
    assert!(make(|o| o.sector_bytes = 700).contains("sector_bytes"));
}

/// A file that panics when it is to be synced (or written) for the so many-th time from now.
#[derive(Debug)]
struct Panics {
    file: MemoryFile,
    syncs: AtomicI64,
    writes: AtomicI64,
}

impl Panics {
    fn new() -> Arc<Panics> {
        Arc::new(Panics {
            file: MemoryFile::new("test-wal"),
            syncs: AtomicI64::new(i64::MAX),
            writes: AtomicI64::new(i64::MAX),
        })
    }

    fn count(left: &AtomicI64) {
        assert!(left.fetch_sub(1, SeqCst) != 0, "the file panics");
    }
}

impl File for Panics {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> graven_io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> graven_io::Result<()> {
        self.file.set_len(length)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> graven_io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> graven_io::Result<()> {
        Self::count(&self.writes);
        self.file.write_all_at(buf, offset)
    }

    fn sync_data(&self) -> graven_io::Result<()> {
        // Others gather behind the one that syncs.
        std::thread::sleep(Duration::from_millis(20));
        Self::count(&self.syncs);
        self.file.sync_data()
    }

    fn allocate(&self, offset: u64, length: u64) -> graven_io::Result<()> {
        self.file.allocate(offset, length)
    }

    fn mode(&self) -> IoMode {
        self.file.mode()
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn read_queue(&self, depth: usize) -> graven_io::Result<Box<dyn ReadQueue>> {
        self.file.read_queue(depth)
    }
}

/// LG-7: a thread that waits for one that panicked in its role gets an error, and the log can still
/// be dropped.
#[test]
fn a_panic_at_the_device_fails_the_log() {
    for in_sync in [true, false] {
        let file = Panics::new();
        let log = create(file.clone());
        let first = append(&log, 1, 100).unwrap();
        log.wait_committed(first, Durability::Full).unwrap();
        match in_sync {
            true => file.syncs.store(1, SeqCst),
            false => file.writes.store(1, SeqCst),
        }
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|number| {
                    let log = &log;
                    scope.spawn(move || {
                        for round in 0.. {
                            let end = append(log, number * 100 + round, 100)?;
                            log.wait_committed(end, Durability::Full)?;
                        }
                        Ok::<(), Error>(())
                    })
                })
                .collect();
            clients.into_iter().map(|client| client.join()).collect()
        });
        let panicked = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        let failed = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Ok(Err(Error::Failed { .. }))))
            .count();
        assert_eq!((panicked, failed), (1, 3));
        let reason = log.failed().unwrap().to_string();
        assert!(reason.contains("panicked"), "{reason}");
        log.wait_committed(first, Durability::Full).unwrap();
    }
}

/// A thread that panics while it adds a region leaves that to the others.
#[test]
fn a_panic_while_the_log_grows_keeps_no_thread_waiting() {
    let file = Panics::new();
    let log = create(file.clone());
    let mut number = 0;
    // The write of zeros comes when a record no longer fits, before anything else is written.
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        loop {
            let bytes = file.file.len().unwrap();
            file.writes.store(0, SeqCst);
            append(&log, number, 2_000).unwrap();
            file.writes.store(i64::MAX, SeqCst);
            let end = log.end();
            log.wait_committed(end, Durability::Off).unwrap();
            number += 1;
            assert!(number < 1000, "{bytes} bytes and no growth");
        }
    }));
    assert!(outcome.is_err() && number > 10);
    file.writes.store(i64::MAX, SeqCst);
    for _ in 0..300 {
        append(&log, number, 2_000).unwrap();
    }
    log.sync().unwrap();
}
