//! Goal: records come back as they were appended, in order, from any start, across regions, opens
//! and cuts.

use std::sync::Arc;

use graven_io::{File, MemoryFile};
use graven_wal::{Durability, Error, Identity, Kind, Log, Lsn, RecordRef, Recovery};
use proptest::prelude::*;

use crate::{IDENTITY, append, create, memory, options, payload, read_all, start};

#[test]
fn a_new_log_is_empty() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    assert_eq!(log.close().unwrap(), Lsn(0));
    drop(log);
    assert!(read_all(&file.to_bytes(), Lsn(0)).unwrap().is_empty());
}

#[test]
fn records_of_every_size_come_back() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    let sizes = [0, 1, 447, 511, 512, 65_000, 65_536, 200_000, 1_000_000, 3];
    for (number, bytes) in (0..).zip(sizes) {
        let end = append(&log, number, bytes).unwrap();
        if number % 2 == 0 {
            log.wait_committed(end, Durability::Full).unwrap();
            assert_eq!(log.durable(), end);
        }
    }
    drop(log);
    let records = read_all(&file.to_bytes(), Lsn(0)).unwrap();
    assert_eq!(records.len(), sizes.len());
    let mut at = Lsn(0);
    for ((number, bytes), record) in (0..).zip(sizes).zip(records) {
        assert_eq!(record.start, at);
        assert_eq!(record.payload, payload(number, bytes));
        assert_eq!((record.kind, record.transaction), (Kind::Commit, number));
        at = record.end;
    }
}

#[test]
fn several_records_in_one_call_lie_together() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    let record = |kind, transaction| RecordRef {
        kind,
        transaction,
        payload: b"x",
    };
    let end = log
        .append(&[
            record(Kind::Chunk, 5),
            record(Kind::Abort, 6),
            record(Kind::Checkpoint, 7),
        ])
        .unwrap();
    assert_eq!(log.sync().unwrap(), end);
    assert_eq!(log.stats().frames, 1);
    let kinds: Vec<_> = read_all(&file.to_bytes(), Lsn(0))
        .unwrap()
        .iter()
        .map(|r| (r.kind, r.transaction))
        .collect();
    let expected = [(Kind::Chunk, 5), (Kind::Abort, 6), (Kind::Checkpoint, 7)];
    assert_eq!(kinds, expected);
}

#[test]
fn another_store_or_generation_is_refused() {
    let file = MemoryFile::new("test-wal");
    drop(create(Arc::new(file.clone())));
    let bytes = file.to_bytes();
    for identity in [
        Identity {
            uuid: [1; 16],
            ..IDENTITY
        },
        Identity {
            generation: 8,
            ..IDENTITY
        },
    ] {
        let error = Log::open(memory(&bytes), identity, start(Lsn(0)), options()).unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
    }
    for (image, part) in [
        (&bytes[..100], "100 bytes"),
        (&[0; 5000][..], "magic"),
        (&[][..], "0 bytes"),
    ] {
        let error = read_all(image, Lsn(0)).unwrap_err();
        assert!(matches!(error, Error::NotALog { .. }));
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_record_cut_off_by_a_crash_is_void_after_the_next_open() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    append(&log, 1, 100).unwrap();
    let boundary = log.sync().unwrap();
    append(&log, 2, 150_000).unwrap();
    log.sync().unwrap();
    let mut bytes = file.to_bytes();
    drop(log);
    // The third and last frame of the long record never arrived.
    let needle = b"GFRM";
    let last = bytes.windows(4).rposition(|w| w == needle).unwrap();
    bytes[last..last + 512].fill(0);
    let file = MemoryFile::with_bytes("test-wal", &bytes);
    let (log, recovery) =
        Log::open(Arc::new(file.clone()), IDENTITY, start(Lsn(0)), options()).unwrap();
    assert!(recovery.summary().end > boundary);
    assert_eq!(
        recovery.map(|r| r.unwrap().transaction).collect::<Vec<_>>(),
        [1]
    );
    append(&log, 3, 70_000).unwrap();
    append(&log, 4, 10).unwrap();
    drop(log);
    for from in [Lsn(0), boundary] {
        let found: Vec<_> = read_all(&file.to_bytes(), from)
            .unwrap()
            .iter()
            .map(|r| (r.transaction, r.payload.clone()))
            .collect();
        let skipped = usize::from(from == boundary);
        let all = [
            (1, payload(1, 100)),
            (3, payload(3, 70_000)),
            (4, payload(4, 10)),
        ];
        assert_eq!(found, all[skipped..]);
    }
}

#[test]
fn the_file_does_not_grow_when_the_log_is_cut() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    let mut longest = 0;
    let mut from = Lsn(0);
    for number in 0..400 {
        let end = append(&log, number, 10_000).unwrap();
        log.wait_committed(end, Durability::Full).unwrap();
        if number % 20 == 19 {
            log.truncate_before(from).unwrap();
            from = end;
        }
        longest = longest.max(file.len().unwrap());
    }
    let stats = log.stats();
    assert!(longest < 5 * (256 << 10), "{longest}");
    assert!(stats.recycled_regions > 10);
    assert_eq!(stats.sync_ns.count(), 400);
    assert_eq!(stats.group.max(), 1);
    drop(log);
    assert!(read_all(&file.to_bytes(), from).unwrap().is_empty());
    let error = read_all(&file.to_bytes(), Lsn(from.0 + 1)).unwrap_err();
    assert!(error.to_string().contains("graven salvage"), "{error}");
}

#[test]
fn free_regions_at_the_end_are_given_back() {
    let file = MemoryFile::new("test-wal");
    let mut options = options();
    options.keep_free_regions = 2;
    let log = Log::create(Arc::new(file.clone()), IDENTITY, options).unwrap();
    append(&log, 1, 3_000_000).unwrap();
    let middle = log.sync().unwrap();
    let peak = file.len().unwrap();
    for number in 0..60 {
        append(&log, number, 10_000).unwrap();
    }
    let end = log.sync().unwrap();
    log.truncate_before(middle).unwrap();
    append(&log, 9, 1_000_000).unwrap();
    let end = Lsn(end.0.max(log.sync().unwrap().0));
    log.truncate_before(end).unwrap();
    assert!(file.len().unwrap() < peak);
    append(&log, 5, 10).unwrap();
    drop(log);
    let found = read_all(&file.to_bytes(), end).unwrap();
    assert_eq!(found.len(), 1);
}

#[test]
fn an_idle_log_tells_what_is_durable() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    let end = append(&log, 1, 100).unwrap();
    log.wait_committed(end, Durability::Full).unwrap();
    log.run_background_work();
    assert_eq!(
        log.stats().frames,
        2,
        "the second one says that the first is durable"
    );
    log.run_background_work();
    assert_eq!(log.stats().frames, 2);
    let mut bytes = file.to_bytes();
    assert_eq!(read_all(&bytes, Lsn(0)).unwrap().len(), 1);
    let first = bytes.windows(4).position(|w| w == b"GFRM").unwrap();
    bytes[first + 60] ^= 1;
    let error = read_all(&bytes, Lsn(0)).unwrap_err();
    assert!(matches!(error, Error::Corrupt { offset, .. } if offset == first as u64));
}

#[test]
fn a_clean_end_that_is_not_reached_is_damage() {
    let file = MemoryFile::new("test-wal");
    let log = create(Arc::new(file.clone()));
    append(&log, 1, 100).unwrap();
    let end = log.close().unwrap();
    assert!(matches!(append(&log, 2, 1), Err(Error::Closed { .. })));
    drop(log);
    let mut bytes = file.to_bytes();
    let clean = |bytes: &[u8], end| {
        let start = graven_wal::Start {
            from: Lsn(0),
            clean_end: Some(end),
        };
        Recovery::open(memory(bytes), IDENTITY, start).map(|r| r.summary().end)
    };
    assert_eq!(clean(&bytes, end).unwrap(), end);
    let first = bytes.windows(4).position(|w| w == b"GFRM").unwrap();
    bytes[first + 60] ^= 1;
    assert!(matches!(clean(&bytes, end), Err(Error::Corrupt { .. })));
    assert_eq!(clean(&bytes, Lsn(0)).unwrap(), Lsn(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Appends, syncs, cuts, opens, in any order: the model is the list of records.
    #[test]
    fn any_history_is_read_back(steps in proptest::collection::vec((0u8..10, 0usize..40_000), 1..80)) {
        let file = MemoryFile::new("test-wal");
        let mut log = create(Arc::new(file.clone()));
        let mut model: Vec<(Lsn, u64, usize)> = Vec::new();
        let mut from = Lsn(0);
        for (number, (step, bytes)) in (0u64..).zip(steps) {
            match step {
                0..6 => model.push((append(&log, number, bytes).unwrap(), number, bytes)),
                6 => { log.sync().unwrap(); }
                7 => log.run_background_work(),
                8 => {
                    let end = log.sync().unwrap();
                    let cut = model.get(model.len() / 2).map_or(end, |record| record.0);
                    if cut >= from {
                        log.truncate_before(cut).unwrap();
                        from = cut;
                        model.retain(|record| record.0 > cut);
                    }
                }
                _ => {
                    drop(log);
                    let opened = Log::open(Arc::new(file.clone()), IDENTITY, start(from), options());
                    log = opened.unwrap().0;
                }
            }
        }
        drop(log);
        let found = read_all(&file.to_bytes(), from).unwrap();
        let found: Vec<_> = found.into_iter().map(|r| (r.end, r.transaction, r.payload)).collect();
        let expected: Vec<_> = model.into_iter().map(|(end, n, bytes)| (end, n, payload(n, bytes))).collect();
        prop_assert_eq!(found, expected);
    }
}
