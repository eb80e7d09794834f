//! Memory: the budget holds, whatever the file's size; resizing gives memory back or names the
//! holders.

use crate::support::{KIND, cache_over, cache_with, check, file_of, mixed_file, settle_and_check};
use graven_io::{File, IoMode, OpenOptions, open};
use graven_pagecache::{Budget, Config, Error, Evictor, HugePages, PageCache, PageRef, SizeClass};
use graven_types::rng::SplitMix64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A file of 64 GiB without a disk: every page holds its own offset.
#[derive(Debug)]
struct Endless;

const ENDLESS_BYTES: u64 = 64 << 30;

impl File for Endless {
    fn path(&self) -> &Path {
        Path::new("endless")
    }
    fn len(&self) -> graven_io::Result<u64> {
        Ok(ENDLESS_BYTES)
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> graven_io::Result<usize> {
        buf.fill(1);
        buf[64..72].copy_from_slice(&offset.to_le_bytes());
        Ok(buf.len())
    }
    fn sync_data(&self) -> graven_io::Result<()> {
        Ok(())
    }
    fn mode(&self) -> IoMode {
        IoMode::Memory
    }
    fn alignment(&self) -> usize {
        1
    }
}

/// The most memory that this process had resident, in bytes.
fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.unwrap().split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() << 10
}

/// Set in the process that [`a_process_stays_small`] starts.
const ALONE: &str = "GRAVEN_TEST_ALONE";

/// Goal: a process that reads a sparse file of 64 GiB uniformly through 16 MiB never has more than
/// 40 MiB above that resident. Method: this very test in a process of its own, so that no other
/// test adds to its peak.
#[test]
fn a_process_stays_small() {
    const LIMIT: u64 = 16 << 20;
    if std::env::var_os(ALONE).is_none() {
        let name = "memory::a_process_stays_small";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(
            child.status.success(),
            "{said}{}",
            String::from_utf8_lossy(&child.stderr)
        );
        assert!(
            said.contains("1 passed"),
            "the test has another name: {said}"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(ENDLESS_BYTES)
        .unwrap();
    let options = OpenOptions {
        mode: IoMode::Direct,
        ..OpenOptions::default()
    };
    let file = open(&path, &options).unwrap();
    let cache = cache_with(LIMIT, |config| config.verify = false);
    let id = cache.add_file(file).unwrap();
    let mut rng = SplitMix64::new(7);
    for (class, reads) in [(SizeClass::KIB_64, 4_000), (SizeClass::MIN, 20_000)] {
        for _ in 0..reads {
            let unit = rng.bits() % (ENDLESS_BYTES / class.bytes() as u64) * class.units();
            cache
                .read(id, PageRef::new(class, unit), KIND, |view| view.u64_at(0))
                .unwrap();
        }
        cache.drop_all();
    }
    let peak = peak_resident_bytes();
    println!("{peak} bytes resident at most");
    assert!(peak <= LIMIT + (40 << 20), "{peak} bytes resident");
}

/// Goal: a 64 GiB file read uniformly through 16 MiB keeps frames, page tables and bookkeeping
/// within the limit, for pages of 64 KiB and, where every page needs a piece of page table of its
/// own, of 4 KiB.
#[test]
fn a_huge_file_stays_within_the_limit() {
    for (class, reads) in [(SizeClass::KIB_64, 12_000), (SizeClass::MIN, 60_000)] {
        let limit = 16 << 20;
        let cache = cache_with(limit, |config| config.verify = false);
        let id = cache.add_file(Arc::new(Endless)).unwrap();
        let mut rng = SplitMix64::new(7);
        for read in 0..reads {
            let unit = rng.bits() % (ENDLESS_BYTES / class.bytes() as u64) * class.units();
            let page = PageRef::new(class, unit);
            let found = cache.read(id, page, KIND, |view| view.u64_at(0)).unwrap();
            assert_eq!(found, page.offset_bytes());
            if read % 1000 == 999 {
                let used = cache.budget().used();
                assert!(
                    used <= limit + (80 << 10),
                    "{used} of {limit}: {:?}",
                    cache.budget()
                );
            }
        }
        let stats = cache.stats();
        assert!(
            stats.resident_bytes > limit / 3,
            "the pool is used: {stats:?}"
        );
        cache.check().unwrap();
    }
}

/// Goal: shrinking evicts, gives memory back to the system, and pages stay right; growing uses what
/// there is.
#[test]
fn resizing_gives_memory_back() {
    let (file, pages) = file_of(SizeClass::KIB_64, 2000);
    let (cache, id) = cache_over(128 << 20, file);
    let visit = || {
        for page in &pages {
            check(&cache.pin(id, *page, KIND).unwrap(), *page);
        }
    };
    visit();
    let large = cache.stats().frame_bytes;
    assert!(large > 100 << 20);
    for mib in [64, 16, 3, 1, 24, 256] {
        cache.resize(mib << 20).unwrap();
        let used = cache.budget().used();
        assert!(used <= mib << 20, "{used} bytes at {mib} MiB");
        visit();
        settle_and_check(&cache);
    }
    assert_eq!(
        cache.stats().resident_pages,
        2000,
        "256 MiB hold everything"
    );
}

/// Goal: a limit that goes up and down costs bookkeeping once, not at every turn.
#[test]
fn resizing_to_and_fro_is_charged_once() {
    let (file, _) = file_of(SizeClass::KIB_64, 1);
    let (cache, _) = cache_over(8 << 20, file);
    cache.resize(64 << 20).unwrap();
    let bytes = cache.stats().bookkeeping_bytes;
    for _ in 0..10 {
        cache.resize(8 << 20).unwrap();
        cache.resize(64 << 20).unwrap();
        assert_eq!(cache.stats().bookkeeping_bytes, bytes);
    }
}

/// Goal: shrinking below what is pinned fails, names the holders and leaves the limit as it was.
#[test]
fn resizing_below_the_pins_names_the_holders() {
    let (file, pages) = file_of(SizeClass::KIB_64, 100);
    let cache = cache_with(16 << 20, |config| {
        config.frame_wait = Duration::from_millis(50)
    });
    let id = cache.add_file(Arc::new(file)).unwrap();
    let pins: Vec<_> = pages
        .iter()
        .map(|page| cache.pin(id, *page, KIND).unwrap())
        .collect();
    let error = cache.resize(2 << 20).unwrap_err();
    let Error::CannotShrink { holders, to, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*to, 2 << 20);
    assert_eq!(
        (holders[0].tag, holders[0].bytes),
        ("pinned adjacency", 100 << 16)
    );
    assert_eq!(cache.budget().limit(), 16 << 20);
    drop(pins);
    cache.resize(2 << 20).unwrap();
    settle_and_check(&cache);
}

/// Goal: what operators ask for is not lost to threads that load pages meanwhile. Method: threads
/// take and return three quarters of the limit in pieces, and load pages at random before each.
#[test]
fn threads_that_load_pages_do_not_take_what_operators_asked_for() {
    const LIMIT: u64 = 32 << 20;
    const THREADS: u64 = 8;
    const PIECES: u64 = 32;
    let cache = cache_with(LIMIT, |config| config.verify = false);
    let id = cache.add_file(Arc::new(Endless)).unwrap();
    let operator = |seed| {
        let mut rng = SplitMix64::new(seed);
        for _ in 0..100 {
            let mut held = cache.budget().empty_reservation("operator");
            for _ in 0..PIECES {
                for _ in 0..8 {
                    let page = PageRef::new(SizeClass::KIB_64, rng.below(1 << 16) * 16);
                    cache.read(id, page, KIND, |view| view.u64_at(0)).unwrap();
                }
                held.grow(LIMIT * 3 / 4 / THREADS / PIECES)?;
            }
        }
        Ok::<(), graven_pagecache::BudgetError>(())
    };
    let operator = &operator;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|seed| scope.spawn(move || operator(seed)))
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    });
}

/// Goal: operators get memory out of a full cache down to its floor, and the cache takes it again
/// afterwards.
#[test]
fn operators_take_memory_from_the_cache() {
    let (file, pages) = file_of(SizeClass::KIB_64, 300);
    let (cache, id) = cache_over(16 << 20, file);
    let visit = || {
        for page in &pages {
            check(&cache.pin(id, *page, KIND).unwrap(), *page);
        }
    };
    visit();
    let full = cache.stats().frame_bytes;
    let sort = cache.budget().reserve("sort", 10 << 20).unwrap();
    assert!(cache.stats().frame_bytes < 6 << 20);
    let refused = cache.budget().reserve("sort", 5 << 20).unwrap_err();
    assert_eq!(refused.holders[0].tag, "sort");
    visit();
    assert!(cache.budget().used() <= 16 << 20);
    drop(sort);
    visit();
    let soon = cache.stats().frame_bytes;
    assert!(soon >= full * 7 / 8 - (64 << 10), "{soon} of {full}");
    // What operators had is left to them for a while.
    for _ in 0..200 {
        visit();
    }
    assert_eq!(cache.stats().frame_bytes, full);
    settle_and_check(&cache);
}

/// Goal: reservations that had to pass the limit leave the cache its last frames, whether it had
/// them before or not, so faults go on.
#[test]
fn reservations_beyond_the_limit_leave_frames() {
    for is_warm in [true, false] {
        let (file, pages) = file_of(SizeClass::KIB_64, 300);
        let cache = cache_with(16 << 20, |config| {
            config.frame_wait = Duration::from_millis(1);
        });
        let id = cache.add_file(Arc::new(file)).unwrap();
        let visit = || {
            for page in &pages {
                check(&cache.pin(id, *page, KIND).unwrap(), *page);
            }
        };
        if is_warm {
            visit();
        }
        let mut result = cache.budget().empty_reservation("result");
        result.force_grow(24 << 20);
        visit();
        let frames = cache.stats().frame_bytes;
        let floor = if is_warm { 2 << 20 } else { 64 << 10 };
        assert!(frames >= floor && frames <= 3 << 20, "{frames}");
        drop(result);
        visit();
        settle_and_check(&cache);
    }
}

/// Goal: the mix of sizes may change completely, again and again; bytes move between classes
/// without growing.
#[test]
fn sizes_take_turns() {
    for (bytes, largest) in [(2 << 20, 4), (96 << 20, 10)] {
        let small = vec![SizeClass::MIN; (bytes >> 12) as usize * 2];
        let large = vec![SizeClass::new(largest).unwrap(); (bytes >> (12 + largest)) as usize * 2];
        let (small_file, small_pages) = mixed_file(&small);
        let (large_file, large_pages) = mixed_file(&large);
        let (cache, id) = cache_over(bytes, small_file);
        let other = cache.add_file(Arc::new(large_file)).unwrap();
        for _ in 0..2 {
            for page in &small_pages {
                check(&cache.pin(id, *page, KIND).unwrap(), *page);
            }
            for page in &large_pages {
                check(&cache.pin(other, *page, KIND).unwrap(), *page);
            }
            settle_and_check(&cache);
        }
    }
}

/// Goal: a real file, direct and buffered, through read queues of every kind, gives the same pages.
#[test]
fn real_files() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (content, pages) = file_of(SizeClass::KIB_64, 60);
    let path = folder.path().join("pages");
    std::fs::write(&path, content.to_bytes()).unwrap();
    for mode in [IoMode::Direct, IoMode::Buffered] {
        for queue in [
            graven_io::QueueChoice::Auto,
            graven_io::QueueChoice::PreadPool,
        ] {
            let file = open(
                &path,
                &OpenOptions {
                    mode,
                    queue,
                    read_only: true,
                    ..OpenOptions::default()
                },
            )
            .unwrap();
            for bytes in [1 << 20, 2 << 20, 64 << 20] {
                let cache = cache_with(bytes, |_| ());
                let id = cache.add_file(Arc::clone(&file)).unwrap();
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| {
                            for _ in 0..3 {
                                cache
                                    .pin_many(id, &pages, KIND, |index, pin| {
                                        check(&pin, pages[index]);
                                        Ok::<(), Error>(())
                                    })
                                    .unwrap();
                            }
                        });
                    }
                });
                settle_and_check(&cache);
            }
        }
    }
}

/// Goal: the synchronous mode holds exactly its frames, evicts one page a fault and never reads
/// ahead.
#[test]
fn the_synchronous_mode_is_exact() {
    let (file, pages) = file_of(SizeClass::MIN, 20);
    let budget = Budget::new(4 << 20);
    let mut config = Config::new(budget);
    config.evictor = Evictor::Synchronous {
        class: SizeClass::MIN,
        frames: 10,
    };
    config.policy = "fifo".to_owned();
    config.huge_pages = HugePages::Never;
    let cache = PageCache::new(config).unwrap();
    let id = cache.add_file(Arc::new(file)).unwrap();
    assert_eq!(cache.prefetch(id, &pages, KIND), 0);
    for round in 0..3 {
        for (at, page) in pages.iter().enumerate() {
            check(&cache.pin(id, *page, KIND).unwrap(), *page);
            if round == 0 && at < 10 {
                assert_eq!(cache.stats().resident_pages, at as u64 + 1);
            } else {
                assert_eq!(cache.stats().resident_pages, 10);
            }
        }
    }
    let stats = cache.stats().per_kind[KIND];
    assert_eq!(
        (stats.faults, stats.hits, stats.evictions()),
        (60, 0, 50),
        "a loop of twice the frames under FIFO"
    );
    cache.check().unwrap();
}
