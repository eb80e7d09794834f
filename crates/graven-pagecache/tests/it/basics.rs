//! Pages come in, stay, go and come back; every way of access agrees.

use crate::support::{
    KIND, cache_over, cache_with, check, file_of, mixed_file, settle_and_check, word_of,
};
use graven_io::MemoryFile;
use graven_pagecache::{Damage, Error, PageKind, PageRef, Scope, SizeClass};
use graven_types::rng::SplitMix64;
use std::sync::Arc;

/// Goal: each way of access gives the page's own bytes, with a pool that holds everything and one
/// that does not.
#[test]
fn every_access_gives_the_pages_own_bytes() {
    for bytes in [1 << 20, 16 << 20, 128 << 20] {
        let (file, pages) = file_of(SizeClass::KIB_64, 100);
        let (cache, id) = cache_over(bytes, file);
        for round in 0..3 {
            for page in &pages {
                check(&cache.pin(id, *page, KIND).unwrap(), *page);
                let first = cache.read(id, *page, KIND, |view| view.u64_at(8)).unwrap();
                assert_eq!(first, word_of(*page, 8));
            }
            cache
                .pin_many(id, &pages, KIND, |index, pin| {
                    check(&pin, pages[index]);
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert!(round > 0 || cache.stats().per_kind[KIND].faults >= 100);
        }
        settle_and_check(&cache);
        let resident = cache.stats().resident_pages;
        assert_eq!(cache.drop_all(), resident);
        settle_and_check(&cache);
    }
}

/// Goal: all size classes share one pool, in any order, at the smallest and at a middle size.
#[test]
fn classes_share_the_pool() {
    let mut rng = SplitMix64::new(3);
    for (bytes, largest) in [(1 << 20, 5), (24 << 20, 11), (80 << 20, 11)] {
        let classes: Vec<SizeClass> = (0..60)
            .map(|_| SizeClass::new(rng.place(largest) as u8).unwrap())
            .collect();
        let (file, pages) = mixed_file(&classes);
        let (cache, id) = cache_over(bytes, file);
        for _ in 0..600 {
            let page = pages[rng.place(pages.len())];
            check(&cache.pin(id, page, KIND).unwrap(), page);
        }
        settle_and_check(&cache);
    }
}

/// Goal: short gaps between wanted pages are read along, long ones are not, and every page gets its
/// own bytes. Method: pages of four sizes with gaps of one to four pages, in memory and in a file
/// that ends behind the last one.
#[test]
fn short_gaps_are_read_along() {
    for class in [0, 1, 2, 4] {
        let class = SizeClass::new(class).unwrap();
        let (file, pages) = file_of(class, 64);
        let (cache, id) = cache_over(16 << 20, file);
        let wanted: Vec<PageRef> = [0, 1, 3, 5, 6, 9, 14, 63].map(|at: usize| pages[at]).into();
        assert_eq!(cache.prefetch(id, &wanted, KIND), wanted.len());
        for page in &wanted {
            check(&cache.pin(id, *page, KIND).unwrap(), *page);
        }
        let stats = cache.stats();
        assert_eq!(stats.per_kind[KIND].faults, wanted.len() as u64);
        assert_eq!(stats.resident_pages, wanted.len() as u64);
        let bridged = match class.bytes() <= 16 << 10 {
            // 0 to 6 in one, then 9, 14 and 63.
            true => 4,
            // Gaps of 64 KiB are too long: 0 and 1, 3, 5 and 6, 9, 14, 63.
            false => 6,
        };
        assert_eq!(stats.reads, bridged, "{class:?}");
    }
}

/// Goal: hits, faults and bytes are counted per kind, prefetched pages count as faults once, scopes
/// see it.
#[test]
fn counters_tell_what_happened() {
    let (file, pages) = file_of(SizeClass::MIN, 64);
    let (cache, id) = cache_over(4 << 20, file);
    let scope = Scope::start();
    assert_eq!(cache.prefetch(id, &pages[..32], KIND), 32);
    for page in &pages {
        check(&cache.pin(id, *page, KIND).unwrap(), *page);
    }
    for page in &pages {
        cache.read(id, *page, KIND, |view| view.u8_at(0)).unwrap();
    }
    let mine = scope.finish();
    let stats = cache.stats();
    assert_eq!(stats.per_kind[KIND], mine[KIND]);
    assert_eq!((mine[KIND].faults, mine[KIND].hits), (64, 64));
    assert_eq!(mine[KIND].bytes_read, 64 * 4096);
    assert!(
        stats.reads < 64,
        "neighbours travel together: {} reads",
        stats.reads
    );
    assert_eq!(mine.total().hits, 64);
    assert_eq!(stats.resident_pages, 64);
}

/// Goal: wrong references and accesses are errors that name file, page, kind, expected and found.
#[test]
fn wrong_references_are_errors() {
    let (file, pages) = file_of(SizeClass::KIB_64, 4);
    let (cache, id) = cache_over(4 << 20, file);
    let wrong_kind = cache.pin(id, pages[0], PageKind::NodeColumn).unwrap_err();
    assert!(
        matches!(
            wrong_kind,
            Error::Damaged {
                damage: Damage::Kind { found: 5, .. },
                ..
            }
        ),
        "{wrong_kind}"
    );
    let text = wrong_kind.to_string();
    assert!(
        text.contains("pages")
            && text.contains("node column")
            && text.contains("64 KiB page at byte 0"),
        "{text}"
    );
    let inside = PageRef::new(SizeClass::MIN, pages[1].unit() + 3);
    assert!(matches!(
        cache.pin(id, inside, KIND),
        Err(Error::Damaged {
            damage: Damage::Checksum { .. },
            ..
        })
    ));
    let beyond = PageRef::new(SizeClass::KIB_64, pages[3].unit() + 1);
    assert!(matches!(
        cache.pin(id, beyond, KIND),
        Err(Error::BeyondEnd { .. })
    ));
    assert!(matches!(
        cache.pin(id, PageRef::new(SizeClass::MIN, PageRef::UNIT_MAX), KIND),
        Err(Error::BeyondEnd { .. })
    ));
    let gone = cache.add_file(Arc::new(MemoryFile::new("gone"))).unwrap();
    cache.remove_file(gone).unwrap();
    assert!(matches!(
        cache.pin(gone, pages[0], KIND),
        Err(Error::UnknownFile(id)) if id == gone
    ));
    let _held = cache.pin(id, pages[0], KIND).unwrap();
    let smaller = PageRef::new(SizeClass::MIN, pages[0].unit());
    assert!(matches!(
        cache.pin(id, smaller, KIND),
        Err(Error::Damaged {
            damage: Damage::Class { .. },
            ..
        })
    ));
    let overrun = cache
        .read(id, pages[0], KIND, |view| view.u64_at(1 << 20))
        .unwrap_err();
    assert!(
        matches!(
            overrun,
            Error::Damaged {
                damage: Damage::OutOfBounds { .. },
                ..
            }
        ),
        "{overrun}"
    );
    assert_eq!(cache.prefetch(id, &[beyond], KIND), 0);
}

/// Goal: a file can be removed when no thread uses it, and another takes its place with other
/// pages.
#[test]
fn files_come_and_go() {
    let cache = cache_with(2 << 20, |_| ());
    for round in 0..20 {
        let (file, pages) = file_of(SizeClass::KIB_64, 3 + round);
        let id = cache.add_file(Arc::new(file)).unwrap();
        let pin = cache.pin(id, pages[2], KIND).unwrap();
        cache.prefetch(id, &pages, KIND);
        assert!(matches!(
            cache.remove_file(id),
            Err(Error::InUse {
                pinned_pages: 1,
                ..
            })
        ));
        check(&pin, pages[2]);
        drop(pin);
        cache.remove_file(id).unwrap();
        assert!(matches!(
            cache.pin(id, pages[0], KIND),
            Err(Error::UnknownFile(_))
        ));
        settle_and_check(&cache);
    }
    assert_eq!(cache.stats().resident_pages, 0);
}

/// Goal: a freed page is dropped, its place can be read again as a page of another class.
#[test]
fn freed_pages_change_their_class() {
    let (file, pages) = file_of(SizeClass::KIB_64, 2);
    let (cache, id) = cache_over(2 << 20, file.clone());
    let pin = cache.pin(id, pages[0], KIND).unwrap();
    assert!(matches!(
        cache.drop_page(id, pages[0]),
        Err(Error::InUse { .. })
    ));
    drop(pin);
    cache.drop_page(id, pages[0]).unwrap();
    let small = PageRef::new(SizeClass::MIN, 0);
    graven_io::File::write_all_at(&file, &crate::support::content(small), 0).unwrap();
    check(&cache.pin(id, small, KIND).unwrap(), small);
    settle_and_check(&cache);
}

/// Goal: pins outlive their cache and stay readable.
#[test]
fn pins_may_outlive_the_cache() {
    let (file, pages) = file_of(SizeClass::KIB_64, 3);
    let (cache, id) = cache_over(2 << 20, file);
    let pin = cache.pin(id, pages[1], KIND).unwrap();
    drop(cache);
    check(&pin, pages[1]);
    std::thread::spawn(move || check(&pin, pages[1]))
        .join()
        .unwrap();
}

/// Goal: a recording holds every access in order, faults marked, and nothing before or after it; a
/// sample holds some pages only, and those whole; a changed policy does not end it.
#[test]
fn recordings_hold_what_was_asked() {
    use graven_pagecache::record::{Recording, set_query};
    let (file, pages) = file_of(SizeClass::MIN, 64);
    let (cache, id) = cache_over(4 << 20, file);
    let ask = |page: usize| drop(cache.pin(id, pages[page], KIND).unwrap());
    (0..8).for_each(ask);
    let recording = Recording::start(&cache, 1, usize::MAX);
    set_query(7);
    (0..16).for_each(ask);
    cache.set_policy("lru:protocol=locked").unwrap();
    set_query(8);
    (0..100).for_each(|_| ask(3));
    let recorded = recording.finish();
    ask(5);
    let units: Vec<u64> = recorded.iter().map(|a| a.unit).collect();
    let expected: Vec<u64> = (0..16).chain(std::iter::repeat_n(3, 100)).collect();
    assert_eq!(units, expected);
    assert!(
        recorded
            .iter()
            .enumerate()
            .all(|(at, a)| a.faulted == (8..16).contains(&at))
    );
    assert!(recorded.iter().all(|a| a.kind == Some(KIND)));
    assert_eq!((recorded[15].query, recorded[16].query), (7, 8));
    let recording = Recording::start(&cache, 4, usize::MAX);
    (0..64).chain(0..64).for_each(ask);
    let sampled = recording.finish();
    assert!((4..64).contains(&sampled.len()), "{}", sampled.len());
    let (first, second) = sampled.split_at(sampled.len() / 2);
    assert!(
        first
            .iter()
            .map(|a| a.unit)
            .eq(second.iter().map(|a| a.unit))
    );
    settle_and_check(&cache);
}
