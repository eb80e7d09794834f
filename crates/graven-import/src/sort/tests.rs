// Goal: the sorted order is the same with and without spilling, over several merge levels, and
// nothing is lost. Method: pseudo-random records against a plain sort.
use super::*;
use crate::spool::Spool;
use graven_types::rng::SplitMix64;

fn scratch(staging: u64) -> (tempfile::TempDir, Arc<Scratch>) {
    let dir = tempfile::tempdir().unwrap();
    let scratch = Scratch::create(dir.path().join("scratch"), staging).unwrap();
    (dir, scratch)
}

fn records(n: u64) -> Vec<(Key, Vec<u8>)> {
    let mut random = SplitMix64::new(1);
    (0..n)
        .map(|_| {
            let bytes = vec![random.bits() as u8; random.place(20)];
            ([random.below(512), random.below(100)], bytes)
        })
        .collect()
}

fn sorted(limit: u64, input: &[(Key, Vec<u8>)]) -> (Vec<(Key, Vec<u8>)>, u64) {
    let (_dir, scratch) = scratch(0);
    let mut sorter = Sorter::new(&scratch, limit);
    for (key, bytes) in input {
        sorter.push(*key, bytes).unwrap();
    }
    let mut sorted = sorter.finish().unwrap();
    let mut out = Vec::new();
    while let Some((key, bytes)) = sorted.next().unwrap() {
        out.push((key, bytes.to_vec()));
    }
    (out, scratch.spilled())
}

#[test]
fn spilling_does_not_change_the_order() {
    let input = records(800_000);
    let mut expected = input.clone();
    expected.sort();
    let (in_memory, spilled) = sorted(1 << 30, &input);
    assert_eq!(spilled, 0);
    assert!(in_memory == expected);
    // 800,000 records of 24 bytes and more through 256 KiB: over 64 runs, so two levels.
    let (merged, spilled) = sorted(0, &input);
    assert!(spilled > 64 * (200 << 10), "{spilled}");
    assert!(merged == expected);
}

#[test]
fn nothing_and_one_record() {
    assert!(sorted(0, &[]).0.is_empty());
    assert_eq!(sorted(0, &records(1)).0, records(1));
}

#[test]
fn spools_read_back_from_memory_and_disk_twice() {
    for staging in [0, 100 << 10, 1 << 30] {
        let (_dir, scratch) = scratch(staging);
        let mut spool = Spool::new(&scratch);
        let input = records(50_000);
        for (key, bytes) in &input {
            spool.push(key[0], key[1], bytes).unwrap();
        }
        assert_eq!(scratch.spilled() > 0, staging < 1 << 30);
        for _ in 0..2 {
            let mut reader = spool.reader();
            for (key, bytes) in &input {
                let (a, b, read) = reader.next().unwrap().unwrap();
                assert_eq!(([a, b], read), (*key, &bytes[..]));
            }
            assert!(reader.next().unwrap().is_none());
        }
    }
}

#[test]
fn a_spool_frees_what_all_its_readers_have_passed() {
    let (_dir, scratch) = scratch(0);
    let mut spool = Spool::new(&scratch);
    let input = records(300_000);
    for (key, bytes) in &input {
        spool.push(key[0], key[1], bytes).unwrap();
    }
    let written = scratch.spilled();
    assert!(written > 3 << 20, "{written}");
    spool.freed_after(2);
    let mut readers = [spool.reader(), spool.reader()];
    let mut held = vec![spool.held_bytes()];
    for at in [0, 1] {
        for (key, bytes) in &input {
            let (a, b, read) = readers[at].next().unwrap().unwrap();
            assert_eq!(([a, b], read), (*key, &bytes[..]));
        }
        assert!(readers[at].next().unwrap().is_none());
        held.push(spool.held_bytes());
    }
    assert_eq!(held[0], held[1], "the second reader needs it all");
    // A file system without holes keeps the file as it is.
    assert!(held[2] == held[1] || held[2] <= 2 << 20, "{held:?}");
}

#[test]
#[should_panic(expected = "more often than was said")]
fn a_spool_that_was_freed_is_not_read_again() {
    let (_dir, scratch) = scratch(0);
    let mut spool = Spool::new(&scratch);
    spool.freed_after(1);
    let _ = spool.reader();
    let _ = spool.reader();
}

#[test]
fn the_scratch_folder_goes_away_and_is_exclusive() {
    let (dir, scratch) = scratch(0);
    let folder = dir.path().join("scratch");
    assert!(
        Scratch::create(folder.clone(), 0).is_err(),
        "locked by the first"
    );
    drop(scratch);
    assert!(!folder.exists());
}
