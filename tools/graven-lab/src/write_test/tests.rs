//! Goal: every step can be switched off, counts are those of the guide's tool, all ways to the
//! store do the same, and no database is overwritten.

use super::*;

fn setup(directory: &Path, bytes: u64) -> WriteTest {
    let store = directory.join("store");
    prepare(&store, bytes).unwrap();
    let mut test = WriteTest::new(store, directory.join("log"));
    (test.tx_min, test.tx_max, test.tx_count) = (5, 20, 10);
    test
}

#[test]
fn counts_follow_the_settings() {
    let directory = tempfile::tempdir().unwrap();
    let test = setup(directory.path(), 1 << 20);
    let all = test.run().unwrap();
    assert_eq!((all.tx_count, all.fdatasyncs), (10, 10));
    assert!((50..=200).contains(&all.records));
    let mb = all.records as f64 * 33.0 / (1 << 20) as f64;
    assert!((all.read_mb - mb).abs() < 1e-9 && (all.written_mb - 2.0 * mb).abs() < 1e-9);
    let log = std::fs::metadata(&test.log).unwrap().len();
    assert_eq!(log, all.records * 33);

    let off = |change: fn(&mut WriteTest)| {
        let mut test = test.clone();
        change(&mut test);
        test.run().unwrap()
    };
    assert_eq!(off(|t| t.sync = false).fdatasyncs, 0);
    assert_eq!(off(|t| t.read = false).read_mb, 0.0);
    assert!((off(|t| t.write_log = false).written_mb - mb).abs() < 1e-9);
    assert!((off(|t| t.write_store = false).written_mb - mb).abs() < 1e-9);
    assert_eq!(std::fs::metadata(&test.log).unwrap().len(), log);
}

#[test]
fn every_way_to_the_store_leaves_the_same_bytes() {
    let mut contents = Vec::new();
    for access in [
        StoreAccess::Mapped,
        StoreAccess::Positioned,
        StoreAccess::Own,
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut test = setup(directory.path(), 1 << 20);
        // Little memory: pages leave and come back.
        (test.access, test.memory_bytes, test.record_bytes) = (access, 256 << 10, 700);
        test.checkpoint = true;
        let report = test.run().unwrap();
        assert_eq!(report.fdatasyncs, 10);
        contents.push(std::fs::read(&test.store).unwrap());
    }
    assert!(contents[0] == contents[1] && contents[0] == contents[2]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let test = setup(directory.path(), 1 << 16);
    let refused = |change: &dyn Fn(&mut WriteTest)| {
        let mut test = test.clone();
        change(&mut test);
        test.run().unwrap_err().to_string()
    };
    assert!(refused(&|t| t.record_bytes = 0).contains("record size"));
    assert!(refused(&|t| t.tx_min = 30).contains("30 records"));
    assert!(refused(&|t| t.log = t.store.clone()).contains("same file"));
    assert!(refused(&|t| t.clients = 0).contains("at least 1"));
    assert!(refused(&|t| t.mirror = Some(t.log.clone())).contains("of its own"));
    let own_mirror = |t: &mut WriteTest| {
        (t.access, t.mirror) = (StoreAccess::Own, Some(t.log.with_extension("m")));
    };
    assert!(refused(&own_mirror).contains("Graven's log"));
    assert!(refused(&|t| t.store = directory.path().join("none")).contains("--prepare"));
    let database = directory.path().join("db");
    let mut bytes = vec![0; 5000];
    bytes[64..72].copy_from_slice(b"GRAVEN\x1a\n");
    std::fs::write(&database, bytes).unwrap();
    assert!(refused(&|t| t.store = database.clone()).contains("belongs to a database"));
    assert!(refused(&|t| t.log = database.clone()).contains("belongs to a database"));
    assert!(prepare(&database, 1).is_err());
}

#[test]
fn the_three_runs_are_judged() {
    let directory = tempfile::tempdir().unwrap();
    let mut test = setup(directory.path(), 1 << 20);
    test.sync = false;
    let canonical = Canonical::run(&test).unwrap();
    let counts = canonical.runs.each_ref().map(|run| run.tx_count);
    assert_eq!(counts, [100, 10, 100]);
    assert!(canonical.to_string().contains("x the work took"));
}

/// Goal: each way of forcing the log, a mirror, a preallocated log, sequential places and several
/// clients write what one plain run writes.
#[test]
fn every_variant_of_the_log_writes_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let test = setup(directory.path(), 1 << 20);
    let plain = test.run().unwrap();
    let with = |change: &dyn Fn(&mut WriteTest)| {
        let mut test = test.clone();
        change(&mut test);
        let report = test.run().unwrap();
        assert_eq!(report.fdatasyncs, plain.fdatasyncs);
        report
    };
    for sync in LogSync::ALL {
        assert_eq!(with(&|t| t.log_sync = sync).records, plain.records);
        assert_eq!(sync.name().parse(), Ok(sync));
    }
    let mirror = directory.path().join("mirror");
    with(&|t| t.mirror = Some(mirror.clone()));
    assert!(std::fs::read(&mirror).unwrap() == std::fs::read(&test.log).unwrap());
    let clients = with(&|t| t.clients = 3);
    let length = || std::fs::metadata(&test.log).unwrap().len();
    assert_eq!(length(), clients.records * 33);
    let preallocated = with(&|t| t.preallocate = true);
    assert!(length() > preallocated.records * 33);
    let own = |clients| {
        with(&|t| (t.access, t.sequential, t.clients) = (StoreAccess::Own, true, clients))
    };
    assert!(own(1).access_text.contains("wait for a checkpoint"));
    assert!(own(3).records > 0);
}
