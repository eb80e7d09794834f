//! Many threads, few frames: the traversals' way of using the cache.

use crate::support::{
    KIND, cache_over, cache_with, check, file_of, mixed_file, settle_and_check, word_of,
};
use graven_io::{FaultPlan, FaultyFile};
use graven_pagecache::{Error, Reserve, SizeClass, View};
use graven_policy::registry;
use graven_types::rng::SplitMix64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Goal: sweeps of 100 pages of 64 KiB by 1 to 8 threads under 1, 2 and 16 MiB give right answers
/// and never run out of frames, with two pins held and prefetches in front.
#[test]
fn sweeps_work_at_every_size() {
    let (file, pages) = file_of(SizeClass::KIB_64, 100);
    for mib in [1, 2, 16] {
        for threads in [1, 2, 8] {
            let (cache, id) = cache_over(mib << 20, file.clone());
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let (cache, pages) = (&cache, &pages);
                    scope.spawn(move || {
                        for round in 0..4 {
                            let mut order = pages.clone();
                            if (round + thread) % 2 == 1 {
                                order.reverse();
                            }
                            let mut held = None;
                            let mut ahead = 0;
                            for (index, page) in order.iter().enumerate() {
                                if ahead <= index {
                                    let window = &order[index..(index + 16).min(order.len())];
                                    ahead = index + cache.prefetch(id, window, KIND).max(1);
                                }
                                let pin = cache.pin(id, *page, KIND).unwrap();
                                check(&pin, *page);
                                held = Some(pin);
                            }
                            drop(held);
                        }
                    });
                }
            });
            settle_and_check(&cache);
        }
    }
}

/// Goal: pins, optimistic reads, batches and prefetches of random pages by many threads, with
/// policies being swapped, every one that can run live and every protocol, and the memory being
/// resized meanwhile, always see the page asked for; nothing is left over.
#[test]
fn everything_at_once() {
    let mut policies: Vec<String> = registry::list()
        .iter()
        .filter(|entry| entry.live)
        .map(|entry| entry.name.to_owned())
        .collect();
    assert!(policies.len() > 20, "{policies:?}");
    for protocol in ["locked", "sharded", "batched", "combining", "sampled"] {
        policies.extend(["lru", "arc"].map(|name| format!("{name}:protocol={protocol}")));
    }
    let (file, pages) = file_of(SizeClass::MIN, 600);
    let cache = cache_with(2 << 20, |config| config.policy = "clock".to_owned());
    let id = cache.add_file(Arc::new(file)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..6)
            .map(|thread| {
                let (cache, pages) = (&cache, &pages);
                scope.spawn(move || {
                    let mut rng = SplitMix64::new(thread);
                    for _ in 0..6_000 {
                        let at = rng.place(pages.len() - 20);
                        let page = pages[at];
                        match rng.place(10) {
                            0 => {
                                cache.prefetch(id, &pages[at..at + 20], KIND);
                            }
                            1 => {
                                let batch = &pages[at..at + 8];
                                cache
                                    .pin_many(id, batch, KIND, |index, pin| {
                                        check(&pin, batch[index]);
                                        Ok::<(), Error>(())
                                    })
                                    .unwrap();
                            }
                            2..5 => check(&cache.pin(id, page, KIND).unwrap(), page),
                            _ => {
                                let value = cache
                                    .read(id, page, KIND, |view| {
                                        (view.u64_at(0), view.u64_at(4000))
                                    })
                                    .unwrap();
                                assert_eq!(value, (word_of(page, 0), word_of(page, 4000)));
                            }
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut rng = SplitMix64::new(99);
            while !stop.load(Ordering::Relaxed) {
                cache
                    .set_policy(&policies[rng.place(policies.len())])
                    .unwrap();
                let bytes = [1 << 20, 3 << 20, 2 << 20, 8 << 20][rng.place(4)];
                cache.resize(bytes).unwrap();
                if rng.place(8) == 0 {
                    cache.drop_all();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    settle_and_check(&cache);
}

/// Goal: threads that pin all frames and want one more each get it from the overdraft; the memory
/// is paid back.
#[test]
fn a_last_frame_for_every_thread() {
    let (file, pages) = file_of(SizeClass::KIB_64, 64);
    let cache = cache_with(1 << 20, |config| {
        config.frame_wait = Duration::from_millis(50)
    });
    let id = cache.add_file(Arc::new(file)).unwrap();
    let mut pins: Vec<_> = (0..12)
        .map(|at| cache.pin(id, pages[at], KIND).unwrap())
        .collect();
    for page in &pages[12..20] {
        pins.push(cache.pin(id, *page, KIND).unwrap());
    }
    pins.clear();
    for page in &pages {
        check(&cache.pin(id, *page, KIND).unwrap(), *page);
    }
    settle_and_check(&cache);
}

/// Goal: sweeps that end early leave pages read ahead behind; the next sweeps can read ahead again.
#[test]
fn abandoned_prefetches_do_not_hinder_for_ever() {
    let (file, pages) = file_of(SizeClass::KIB_64, 200);
    let (cache, id) = cache_over(2 << 20, file);
    assert!(cache.prefetch(id, &pages[..8], KIND) >= 7);
    assert_eq!(
        cache.prefetch(id, &pages[100..108], KIND),
        0,
        "a quarter of the budget is under way"
    );
    let ahead = (0..40)
        .map(|_| cache.prefetch(id, &pages[100..108], KIND))
        .max();
    assert!(ahead >= Some(7), "forgiven: {ahead:?}");
    for page in &pages {
        check(&cache.pin(id, *page, KIND).unwrap(), *page);
    }
    settle_and_check(&cache);
}

/// Goal: pages of all small sizes under resizes, policy changes and drops, over a file whose reads
/// fail, end early, flip bits and complete in any order: every access gives the page's own bytes or
/// an error that says what happened, and nothing stays locked.
#[test]
fn failing_reads_of_mixed_sizes() {
    let mut rng = SplitMix64::new(5);
    let classes: Vec<_> = (0..160)
        .map(|_| SizeClass::new(rng.place(6) as u8).unwrap())
        .collect();
    let (inner, pages) = mixed_file(&classes);
    let plan = FaultPlan {
        seed: 7,
        read_error: 0.01,
        short_read: 0.01,
        bit_flip: 0.01,
        disordered_reads: true,
        ..FaultPlan::default()
    };
    let file = FaultyFile::new(Arc::new(inner), plan);
    let control = file.control();
    let (cache, id) = cache_over(2 << 20, file);
    let told = |error: Error| {
        assert!(
            matches!(error, Error::Io { .. } | Error::Damaged { .. }),
            "{error}"
        );
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|thread| {
                let (cache, pages) = (&cache, &pages);
                scope.spawn(move || {
                    let mut rng = SplitMix64::new(thread);
                    for _ in 0..1_000 {
                        let at = rng.place(pages.len() - 8);
                        let (page, batch) = (pages[at], &pages[at..at + 8]);
                        match rng.place(6) {
                            0 => {
                                cache.prefetch(id, batch, KIND);
                            }
                            1 => {
                                let visited = cache.pin_many(id, batch, KIND, |index, pin| {
                                    check(&pin, batch[index]);
                                    Ok::<(), Error>(())
                                });
                                visited.unwrap_or_else(told);
                            }
                            2 | 3 => match cache.pin(id, page, KIND) {
                                Ok(pin) => check(&pin, page),
                                Err(error) => told(error),
                            },
                            _ => {
                                let last = page.class().payload_bytes() - 8;
                                let read = |view: &View<'_>| (view.u64_at(0), view.u64_at(last));
                                match cache.read(id, page, KIND, read) {
                                    Ok(found) => {
                                        assert_eq!(found, (word_of(page, 0), word_of(page, last)));
                                    }
                                    Err(error) => told(error),
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut rng = SplitMix64::new(99);
            while !stop.load(Ordering::Relaxed) {
                cache
                    .set_policy(["random", "lru", "clock", "neo4j"][rng.place(4)])
                    .unwrap();
                cache
                    .resize([1 << 20, 3 << 20, 2 << 20, 8 << 20][rng.place(4)])
                    .unwrap();
                if rng.place(4) == 0 {
                    cache.drop_all();
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        for worker in workers {
            worker.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    control.set_plan(FaultPlan::default());
    cache.drop_all();
    for page in &pages {
        check(&cache.pin(id, *page, KIND).unwrap(), *page);
    }
    settle_and_check(&cache);
}

/// Goal: the background evictor keeps the shares free that the configuration asks for, counted
/// apart from what faults evict, and shares that make no sense are taken as the nearest that do.
#[test]
fn the_reserve_is_what_was_asked_for() {
    let (file, pages) = file_of(SizeClass::KIB_64, 512);
    let kept_free = |low: f64, high: f64| {
        let cache = cache_with(16 << 20, |config| config.reserve = Reserve { low, high });
        let id = cache.add_file(Arc::new(file.clone())).unwrap();
        for page in &pages {
            check(&cache.pin(id, *page, KIND).unwrap(), *page);
        }
        // The evictor has a thread of its own: wait until it has done what the last fault asked
        // for.
        let mut before = u64::MAX;
        loop {
            let free = cache.stats().free_bytes;
            if free == before {
                break;
            }
            before = free;
            std::thread::sleep(Duration::from_millis(50));
        }
        settle_and_check(&cache);
        let stats = cache.stats();
        let evicted = stats.per_kind.total();
        assert!(
            evicted.evictions_background + evicted.evictions_cooperative > 200,
            "{evicted:?}"
        );
        (
            stats.free_bytes as f64 / stats.frame_bytes as f64,
            evicted.evictions_background,
        )
    };
    let (few, _) = kept_free(0.01, 0.02);
    let (many, by_evictor) = kept_free(0.2, 0.4);
    assert!(few < 0.1 && (0.19..0.45).contains(&many), "{few} {many}");
    assert!(by_evictor > 0);
    // As much as a half, and no more.
    let (most, _) = kept_free(7.0, f64::INFINITY);
    assert!((0.4..0.55).contains(&most), "{most}");
}
