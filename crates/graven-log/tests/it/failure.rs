//! Goal: failures are clear and final: a failed sync or write stops the log, a full disk refuses one append and loses
//! nothing, and room is kept for what helps.

use std::sync::Arc;

use graven_io::{Fault, FaultPlan, FaultyFile, MemoryFile};
use graven_log::{Durability, Error, Kind, Log, LogOptions, Lsn, RecordRef};

use crate::{IDENTITY, append, create, options, read_all};

#[test]
fn after_a_failed_sync_nothing_is_written_or_acknowledged() {
    let memory = MemoryFile::new("test-wal");
    let file = FaultyFile::new(Arc::new(memory.clone()), FaultPlan::default());
    let log = create(Arc::new(file.clone()));
    let first = append(&log, 1, 100).unwrap();
    log.commit_durable(first, Durability::Full).unwrap();
    file.control().arm(Fault::SyncError, 0);
    let second = append(&log, 2, 100).unwrap();
    let error = log.commit_durable(second, Durability::Full).unwrap_err();
    assert!(
        matches!(error, Error::Failed { durable, .. } if durable == first),
        "{error}"
    );
    assert!(error.to_string().contains("not known"), "{error}");

    let counts = file.control().counts();
    let before = memory.to_bytes();
    assert!(append(&log, 3, 100).is_err());
    assert!(log.commit_durable(second, Durability::Full).is_err());
    assert!(log.commit_durable(second, Durability::Off).is_err());
    assert!(log.truncate_before(first).is_err());
    assert!(log.failed().is_some());
    log.commit_durable(first, Durability::Full).unwrap();
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
    let error = log.commit_durable(end, Durability::Full).unwrap_err();
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
                log.commit_durable(end, Durability::Full).unwrap();
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
    log.commit_durable(end, Durability::Full).unwrap();
    log.truncate_before(end).unwrap();
    for number in 0..count {
        let end = append(&log, number, 5_000).unwrap();
        log.commit_durable(end, Durability::Full).unwrap();
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
