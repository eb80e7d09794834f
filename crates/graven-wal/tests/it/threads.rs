//! Goal: many threads share syncs, each finds its records durable, and the file holds them all.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use graven_io::{FaultPlan, FaultyFile, IoMode, MemoryFile, OpenOptions};
use graven_wal::{Durability, Log, LogOptions, Lsn};

use crate::{IDENTITY, append, payload, read_all};

fn hammer(log: &Log, clients: u64, commits: u64) {
    thread::scope(|scope| {
        for client in 0..clients {
            scope.spawn(move || {
                for commit in 0..commits {
                    let number = client * commits + commit;
                    let end = append(log, number, 300 + number as usize % 200).unwrap();
                    let durability = match client % 3 {
                        2 => Durability::Relaxed(Duration::from_millis(3)),
                        _ => Durability::Full,
                    };
                    let waited = log.wait_committed(end, durability).unwrap();
                    if durability == Durability::Full {
                        assert!(log.durable() >= end);
                        assert!(waited.group <= clients as u32 + 1);
                    }
                }
            });
        }
    });
}

fn check(bytes: &[u8], count: u64) {
    let mut found: Vec<_> = read_all(bytes, Lsn(0))
        .unwrap()
        .into_iter()
        .map(|r| (r.transaction, r.payload))
        .collect();
    found.sort();
    let expected: Vec<_> = (0..count)
        .map(|n| (n, payload(n, 300 + n as usize % 200)))
        .collect();
    assert!(found == expected, "{} of {count} records", found.len());
}

#[test]
fn groups_form_while_a_sync_runs() {
    let memory = MemoryFile::new("test-wal");
    let plan = FaultPlan {
        latency: Duration::from_millis(1),
        ..FaultPlan::default()
    };
    let slow = FaultyFile::new(Arc::new(memory.clone()), plan);
    let options = LogOptions {
        region_bytes: 256 << 10,
        ..LogOptions::default()
    };
    let log = Log::create(Arc::new(slow), IDENTITY, options).unwrap();
    hammer(&log, 8, 25);
    let stats = log.stats();
    assert!(
        stats.sync_ns.count() < 150,
        "{} syncs",
        stats.sync_ns.count()
    );
    assert!(stats.group.max() > 1);
    drop(log);
    check(&memory.to_bytes(), 200);
}

#[test]
fn a_real_file_is_written_direct_or_buffered() {
    let directory = tempfile::tempdir().unwrap();
    for mode in [IoMode::Direct, IoMode::Buffered] {
        let path = directory.path().join(format!("{mode}-wal"));
        let file = graven_io::open(
            &path,
            &OpenOptions {
                mode,
                create: true,
                ..OpenOptions::default()
            },
        )
        .unwrap();
        let log = Log::create(file, IDENTITY, LogOptions::default()).unwrap();
        hammer(&log, 6, 200);
        // Enough to need regions made in the background.
        for number in 0..60 {
            append(&log, number, 60_000).unwrap();
        }
        let end = log.close().unwrap();
        assert_eq!(end, log.durable());
        assert!(log.stats().grown_regions > 0);
        drop(log);
        let bytes = std::fs::read(&path).unwrap();
        let all = read_all(&bytes, Lsn(0)).unwrap();
        assert_eq!(all.len(), 1260, "{mode}");
    }
}
