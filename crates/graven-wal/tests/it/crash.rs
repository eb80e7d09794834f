//! Goal: after a power cut at any moment every acknowledged record is there, no other than appended
//! ones, in order; opening twice gives the same; what was dropped never comes back. Method: seeded
//! histories on a faulty file, the power cut at every operation in turn, several images of each
//! cut.

use graven_types::rng::SplitMix64;
use std::sync::Arc;
use std::time::Duration;

use graven_io::{Crash, CrashOutcome, Fault, FaultPlan, FaultyFile, File, MemoryFile};
use graven_wal::{Durability, Log, Lsn};

use crate::{IDENTITY, append, create, options, payload, read_all, start};

struct History {
    /// Number and size of what was appended, with its end.
    appended: Vec<(Lsn, u64, usize)>,
    acknowledged: Lsn,
    from: Lsn,
}

/// Works on the log until it fails or `steps` are done.
fn work(log: &Log, history: &mut History, random: &mut SplitMix64, steps: u64) {
    for _ in 0..steps {
        let number = history.appended.len() as u64;
        let bytes = [20, 447, 3_000, 70_000][random.below(4) as usize] + random.below(600) as usize;
        // What fails is not acknowledged, but it may be there.
        let Ok(end) = append(log, number, bytes) else {
            let last = history.appended.last().map_or(history.from, |a| a.0);
            history
                .appended
                .push((Lsn(last.0 + 16 + bytes as u64), number, bytes));
            return;
        };
        history.appended.push((end, number, bytes));
        match random.below(4) {
            0 | 1 => match log.wait_committed(end, Durability::Full) {
                Ok(_) => history.acknowledged = end,
                Err(_) => return,
            },
            2 => log.run_background_work(),
            _ => {}
        }
        if random.below(6) == 0 && history.acknowledged > history.from {
            history.from = history.acknowledged;
            let _ = log.truncate_before(history.from);
        }
    }
}

fn check(image: &[u8], history: &History, context: &str) -> Lsn {
    let summary = graven_wal::Recovery::open(crate::memory(image), IDENTITY, start(history.from))
        .unwrap_or_else(|error| panic!("{context}: {error}"))
        .summary();
    assert!(
        summary.end >= history.acknowledged,
        "{context}: {summary:?}"
    );
    let found = read_all(image, history.from).unwrap();
    let expected = history.appended.iter().filter(|a| a.0 > history.from);
    let acknowledged = expected
        .clone()
        .filter(|a| a.0 <= history.acknowledged)
        .count();
    assert!(
        found.len() >= acknowledged,
        "{context}: {} of {acknowledged}",
        found.len()
    );
    for (record, (end, number, bytes)) in found.iter().zip(expected) {
        assert_eq!(
            (record.end, record.transaction),
            (*end, *number),
            "{context}"
        );
        assert_eq!(record.payload, payload(*number, *bytes), "{context}");
    }
    summary.end
}

#[test]
fn a_power_cut_at_every_operation_loses_nothing_acknowledged() {
    let mut points = 0;
    for seed in 0..25 {
        for cut in 0.. {
            let file = FaultyFile::new(Arc::new(MemoryFile::new("test-wal")), FaultPlan::default());
            let log = create(Arc::new(file.clone()));
            file.control().arm(Fault::PowerOff, cut);
            let mut history = History {
                appended: Vec::new(),
                acknowledged: Lsn(0),
                from: Lsn(0),
            };
            work(&log, &mut history, &mut SplitMix64::new(seed), 25);
            let over = log.failed().is_none() && file.control().counts().injected == 0;
            drop(log);
            for (round, survival) in [
                CrashOutcome::None,
                CrashOutcome::Prefix,
                CrashOutcome::Any,
                CrashOutcome::Any,
                CrashOutcome::All,
            ]
            .into_iter()
            .enumerate()
            {
                points += 1;
                let crash = Crash {
                    seed: seed * 1000 + round as u64,
                    survival,
                };
                let image = file.control().crash_image(crash).unwrap();
                check(
                    &image,
                    &history,
                    &format!("seed {seed} cut {cut} {crash:?}"),
                );
            }
            if over || cut > 12 + seed * 2 {
                break;
            }
        }
    }
    assert!(points > 2000, "{points}");
}

/// A region that is begun anew loses its header and its first frame, but not the second one. When
/// the first is written again, byte for byte, the second would follow it.
#[test]
fn what_a_lost_header_hides_never_comes_back() {
    const SECTOR: usize = 512;
    let file = MemoryFile::new("test-wal");
    let open = |bytes: &[u8], from| {
        let file = MemoryFile::with_bytes("test-wal", bytes);
        let opened = Log::open(Arc::new(file.clone()), IDENTITY, start(from), options());
        (file, opened.unwrap().0)
    };
    drop(create(Arc::new(file.clone())));
    let region_bytes = options().region_bytes as usize;
    let header = |bytes: &[u8], region: usize| {
        let at = 4096 + region * region_bytes;
        bytes[at..at + SECTOR].to_vec()
    };
    let unsynced = Durability::Relaxed(Duration::from_secs(3600));
    // Each record in a life of its own, until one begins a region that was in use before.
    let (mut before, mut from) = (file.to_bytes(), Lsn(0));
    for number in 1..100 {
        let (file, log) = open(&before, from);
        let first = append(&log, number, 60_000).unwrap();
        log.wait_committed(first, unsynced).unwrap();
        let regions = (before.len() - 4096) / region_bytes;
        let begun = (0..regions).find(|region| {
            let old = header(&before, *region);
            old.iter().any(|byte| *byte != 0) && header(&file.to_bytes(), *region) != old
        });
        let Some(region) = begun else {
            log.sync().unwrap();
            log.truncate_before(first).unwrap();
            drop(log);
            (before, from) = (file.to_bytes(), first);
            continue;
        };
        let second = append(&log, number + 1, 300).unwrap();
        log.wait_committed(second, unsynced).unwrap();
        let after = file.to_bytes();
        drop(log);
        let mut left = before.clone();
        let at = 4096 + region * region_bytes;
        let behind = at + 2 * SECTOR..at + region_bytes;
        left[behind.clone()].copy_from_slice(&after[behind]);
        assert_eq!(
            read_all(&left, from).unwrap(),
            read_all(&before, from).unwrap()
        );
        let (file, log) = open(&left, from);
        let again = append(&log, number, 60_000).unwrap();
        assert_eq!(again, first);
        log.wait_committed(again, Durability::Full).unwrap();
        let found = read_all(&file.to_bytes(), from).unwrap();
        assert_eq!(found.last().unwrap().transaction, number);
        return;
    }
    panic!("no region was used again");
}

/// The second life works on what the first left, and is cut too; both before and after its own
/// writes.
#[test]
fn what_was_dropped_never_comes_back() {
    for seed in 0..150u64 {
        let mut random = SplitMix64::new(seed);
        let file = FaultyFile::new(Arc::new(MemoryFile::new("test-wal")), FaultPlan::default());
        let log = create(Arc::new(file.clone()));
        let mut history = History {
            appended: Vec::new(),
            acknowledged: Lsn(0),
            from: Lsn(0),
        };
        let mut log = log;
        let mut file = file;
        for life in 0..4 {
            file.control().arm(Fault::PowerOff, random.below(20));
            work(&log, &mut history, &mut random, 15);
            drop(log);
            let crash = Crash {
                seed: random.below(1 << 30),
                survival: CrashOutcome::Any,
            };
            let image = file.control().crash_image(crash).unwrap();
            let context = format!("seed {seed} life {life}");
            let end = check(&image, &history, &context);
            // The next life goes on behind what survived; a record that is there in part is void.
            let survivors = read_all(&image, history.from).unwrap().len();
            let before = history
                .appended
                .iter()
                .filter(|a| a.0 <= history.from)
                .count();
            history.appended.truncate(before + survivors);
            history.acknowledged = history
                .appended
                .last()
                .map_or(history.from, |a| a.0)
                .max(history.from);
            file = FaultyFile::new(
                Arc::new(MemoryFile::with_bytes("test-wal", &image)),
                FaultPlan::default(),
            );
            // A crash during the open changes nothing that matters.
            file.control().arm(Fault::PowerOff, random.below(4));
            let opened = Log::open(
                Arc::new(file.clone()),
                IDENTITY,
                start(history.from),
                options(),
            );
            let image = match opened {
                Ok((opened, recovery)) => {
                    assert_eq!(recovery.summary().end, end, "{context}");
                    std::mem::forget(opened);
                    file.control().crash_image(crash).unwrap()
                }
                Err(_) => file.control().crash_image(crash).unwrap(),
            };
            assert_eq!(
                check(&image, &history, &context),
                end,
                "{context}: opened twice"
            );
            file = FaultyFile::new(
                Arc::new(MemoryFile::with_bytes("test-wal", &image)),
                FaultPlan::default(),
            );
            log = Log::open(
                Arc::new(file.clone()),
                IDENTITY,
                start(history.from),
                options(),
            )
            .unwrap()
            .0;
            assert_eq!(log.end(), end);
            if end > history.acknowledged {
                // Positions after a void record are not those of the model: stop here.
                break;
            }
        }
    }
}

#[test]
fn a_lost_write_is_noticed() {
    let mut noticed = 0;
    for at in 0..20 {
        let file = FaultyFile::new(Arc::new(MemoryFile::new("test-wal")), FaultPlan::default());
        let log = create(Arc::new(file.clone()));
        file.control().arm(Fault::LostWrite, at);
        for number in 0..30 {
            let end = append(&log, number, 400).unwrap();
            log.wait_committed(end, Durability::Full).unwrap();
        }
        let crash = Crash {
            seed: 0,
            survival: CrashOutcome::All,
        };
        let image = file.control().crash_image(crash).unwrap();
        match read_all(&image, Lsn(0)) {
            Ok(found) => assert_eq!(found.len(), 30, "write {at}"),
            Err(error) => {
                noticed += 1;
                assert!(error.to_string().contains("was durable"), "{error}");
            }
        }
    }
    assert!(noticed >= 19, "{noticed}");
}

#[test]
fn relaxed_commits_survive_a_killed_process() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    let end = append(&log, 1, 447).unwrap();
    let hour = std::time::Duration::from_secs(3600);
    log.wait_committed(end, Durability::Relaxed(hour)).unwrap();
    assert_eq!(log.stats().sync_ns.count(), 0);
    // The process dies here: what it wrote is with the system.
    assert_eq!(read_all(&file.to_bytes(), Lsn(0)).unwrap().len(), 1);
    log.run_background_work();
    assert_eq!(log.durable(), end);
    let end = append(&log, 2, 447).unwrap();
    log.wait_committed(end, Durability::Off).unwrap();
    assert_eq!(read_all(&file.to_bytes(), Lsn(0)).unwrap().len(), 1);
    log.run_background_work();
    assert_eq!(read_all(&file.to_bytes(), Lsn(0)).unwrap().len(), 2);
    assert!(file.len().unwrap() > 0);
}
