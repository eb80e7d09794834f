//! The pitfalls other buffer managers met, each as a test named after it.

use crate::support::{KIND, cache_with, check, file_of, settle_and_check};
use graven_io::{Fault, FaultPlan, FaultyFile};
use graven_pagecache::{Budget, Config, Damage, Error, PageCache, SizeClass};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pitfall: an exception in a page fault leaves the page locked for ever. Goal: whichever read
/// fails, in whatever way of access, the page is neither locked nor resident afterwards, the error
/// names it, and the next attempt succeeds.
#[test]
fn failed_reads_leave_nothing_locked() {
    let (inner, pages) = file_of(SizeClass::KIB_64, 24);
    for fault in [Fault::ReadError, Fault::ShortRead, Fault::BitFlip] {
        let file = FaultyFile::new(Arc::new(inner.clone()), FaultPlan::default());
        let control = file.control();
        let cache = cache_with(1 << 20, |_| ());
        let id = cache.add_file(Arc::new(file)).unwrap();
        for at in 0..pages.len() {
            cache.drop_all();
            control.arm(fault, 0);
            let error = cache.pin(id, pages[at], KIND).unwrap_err();
            match fault {
                Fault::BitFlip => assert!(
                    matches!(
                        error,
                        Error::Damaged {
                            damage: Damage::Checksum { .. },
                            ..
                        }
                    ),
                    "{error}"
                ),
                _ => assert!(matches!(error, Error::Io { .. }), "{error}"),
            }
            assert!(!cache.is_resident(id, pages[at]));
            check(&cache.pin(id, pages[at], KIND).unwrap(), pages[at]);
            cache.drop_all();
            // A batch: the page whose read failed is read again when it is wanted; damage is
            // reported once.
            control.arm(fault, 0);
            let ahead = cache.prefetch(id, &pages[at..(at + 4).min(pages.len())], KIND);
            assert!(ahead >= 1);
            for page in &pages[at..(at + ahead).min(pages.len())] {
                match cache.pin(id, *page, KIND) {
                    Ok(pin) => check(&pin, *page),
                    Err(error) => {
                        assert!(
                            matches!(error, Error::Damaged { .. } | Error::Io { .. }),
                            "{error}"
                        );
                        check(&cache.pin(id, *page, KIND).unwrap(), *page);
                    }
                }
            }
        }
        settle_and_check(&cache);
    }
}

/// Pitfall: the same, under threads: every waiter gets the error, none hangs.
#[test]
fn every_waiter_gets_the_error() {
    let (inner, pages) = file_of(SizeClass::MIN, 8);
    let plan = FaultPlan {
        read_error: 1.0,
        ..FaultPlan::default()
    };
    let cache = cache_with(1 << 20, |_| ());
    let id = cache
        .add_file(Arc::new(FaultyFile::new(Arc::new(inner), plan)))
        .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for round in 0..200 {
                    let page = pages[round % pages.len()];
                    cache.prefetch(id, &pages, KIND);
                    assert!(matches!(cache.pin(id, page, KIND), Err(Error::Io { .. })));
                    assert!(cache.read(id, page, KIND, |view| view.u8_at(0)).is_err());
                }
            });
        }
    });
    assert_eq!(cache.stats().resident_pages, 0);
    settle_and_check(&cache);
}

/// Pitfall: every thread evicts for the need of all threads, a false out-of-memory.
/// Goal: more threads than frames, each needing one frame at a time, all succeed.
#[test]
fn no_false_out_of_memory() {
    let (file, pages) = file_of(SizeClass::KIB_64, 40);
    let cache = cache_with(1 << 20, |config| {
        config.frame_wait = Duration::from_secs(20)
    });
    let id = cache.add_file(Arc::new(file)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..24 {
            let (cache, pages) = (&cache, &pages);
            scope.spawn(move || {
                for round in 0..60 {
                    let page = pages[(thread * 7 + round * 11) % pages.len()];
                    let pin = cache.pin(id, page, KIND).unwrap();
                    std::thread::yield_now();
                    check(&pin, page);
                }
            });
        }
    });
    settle_and_check(&cache);
}

/// Pitfall: a counter of pins that overflows, or a thread that waits for itself. Goal: one page
/// takes 248 pins; one more is an error in bounded time, and fits when one was given back.
#[test]
fn too_many_pins_of_one_page_are_an_error() {
    let (file, pages) = file_of(SizeClass::KIB_64, 1);
    let cache = cache_with(1 << 20, |config| {
        config.frame_wait = Duration::from_millis(30);
    });
    let id = cache.add_file(Arc::new(file)).unwrap();
    let pin = || cache.pin(id, pages[0], KIND);
    let mut pins: Vec<_> = (0..248).map(|_| pin().unwrap()).collect();
    let error = pin().unwrap_err();
    assert!(
        matches!(error, Error::TooManyPins { pins: 248, .. }),
        "{error}"
    );
    assert!(error.is_retryable());
    assert!(cache.read(id, pages[0], KIND, |view| view.u8_at(0)).is_ok());
    pins.pop();
    check(&pin().unwrap(), pages[0]);
    drop(pins);
    settle_and_check(&cache);
}

/// Pitfall: the sweep limit counted per thread, so that failing takes n times as long under
/// pressure. Goal: with everything pinned, 1 or 16 threads fail in about the configured wait each,
/// naming the holders.
#[test]
fn all_pinned_fails_in_bounded_time_and_names_the_holders() {
    let (file, pages) = file_of(SizeClass::KIB_64, 80);
    let wait = Duration::from_millis(30);
    let cache = cache_with(1 << 20, |config| config.frame_wait = wait);
    let id = cache.add_file(Arc::new(file)).unwrap();
    let mut pins = Vec::new();
    let error = loop {
        match cache.pin(id, pages[pins.len()], KIND) {
            Ok(pin) => pins.push(pin),
            Err(error) => break error,
        }
    };
    let Error::AllPinned {
        pinned_pages,
        holders,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(*pinned_pages, pins.len() as u64);
    assert_eq!(
        (holders[0].tag, holders[0].bytes),
        ("pinned adjacency", pins.len() as u64 * 65536)
    );
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                assert!(matches!(
                    cache.pin(id, pages[79], KIND),
                    Err(Error::AllPinned { .. })
                ))
            });
        }
    });
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "sixteen waits one after another at most"
    );
    assert_eq!(
        cache.prefetch(id, &pages[70..], KIND),
        0,
        "prefetching backs off"
    );
    drop(pins);
    check(&cache.pin(id, pages[79], KIND).unwrap(), pages[79]);
    settle_and_check(&cache);
}

/// Pitfall: dead nodes flood the eviction queue when memory is ample, a leak. Goal: a million pins
/// and unpins of a few pages change nothing in what is reserved, for every policy.
#[test]
fn pins_without_evictions_use_no_memory() {
    let (file, pages) = file_of(SizeClass::MIN, 16);
    for policy in live_policies() {
        let cache = cache_with(4 << 20, |config| config.policy = policy.name.to_owned());
        let id = cache.add_file(Arc::new(file.clone())).unwrap();
        for page in &pages {
            drop(cache.pin(id, *page, KIND).unwrap());
        }
        let before = cache.budget().used();
        for round in 0..100_000 {
            drop(cache.pin(id, pages[round % 16], KIND).unwrap());
        }
        assert_eq!(cache.budget().used(), before, "{}", policy.name);
        assert_eq!(cache.stats().per_kind[KIND].hits, 100_000);
        settle_and_check(&cache);
    }
}

/// Pitfall: a page dropped from the queue for ever because it could not be evicted once. Goal:
/// pages that were pinned while victims were searched become victims later, under every policy.
#[test]
fn unevictable_pages_become_evictable_again() {
    let (file, pages) = file_of(SizeClass::KIB_64, 60);
    for policy in live_policies() {
        let cache = cache_with(1 << 20, |config| config.policy = policy.name.to_owned());
        let id = cache.add_file(Arc::new(file.clone())).unwrap();
        let pins: Vec<_> = pages[..8]
            .iter()
            .map(|page| cache.pin(id, *page, KIND).unwrap())
            .collect();
        for page in &pages[8..] {
            check(&cache.pin(id, *page, KIND).unwrap(), *page);
        }
        drop(pins);
        // Twelve pages held at once leave no frames for those that could not be evicted before.
        let held: Vec<_> = pages[20..32]
            .iter()
            .map(|page| cache.pin(id, *page, KIND).unwrap())
            .collect();
        let left = pages[..8]
            .iter()
            .filter(|page| cache.is_resident(id, **page))
            .count();
        assert!(left < 8, "{}: {left} of 8 are still there", policy.name);
        drop(held);
        settle_and_check(&cache);
    }
}

/// Pitfall: a page cache of size zero or a tiny one crashes.
/// Goal: the smallest size is checked at open, and works.
#[test]
fn tiny_sizes_are_refused_or_work() {
    for bytes in [0, 1, 4096, (1 << 20) - 1] {
        assert!(matches!(
            PageCache::new(Config::new(Budget::new(bytes))),
            Err(Error::TooSmall { .. })
        ));
    }
    let (file, pages) = file_of(SizeClass::KIB_64, 30);
    let cache = cache_with(1 << 20, |_| ());
    let id = cache.add_file(Arc::new(file)).unwrap();
    let pins: Vec<_> = pages[..12]
        .iter()
        .map(|page| cache.pin(id, *page, KIND).unwrap())
        .collect();
    assert!(
        cache.budget().used() <= 1 << 20,
        "twelve pages of 64 KiB fit one MiB"
    );
    drop(pins);
    assert!(matches!(cache.resize(1000), Err(Error::TooSmall { .. })));
    settle_and_check(&cache);
}

fn live_policies() -> impl Iterator<Item = &'static graven_policy::registry::Entry> {
    graven_policy::registry::list()
        .iter()
        .filter(|policy| policy.live)
}
