//! Temporary pages and pages that are changed: what is kept comes back, memory holds, failures stay
//! with their owner, nothing is left on disk.

use crate::support::{KIND, cache_with, content, settle_and_check};
use graven_io::{FaultPlan, FaultyFile, File, MemoryFile};
use graven_pagecache::{
    Error, Evictor, PageCache, PageKind, PageRef, SizeClass, SpillFile, TemporaryPage,
    TemporaryPages, WriteBack,
};
use graven_types::rng::SplitMix64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NO_LIMIT: u64 = u64::MAX;

fn spill_over(cache: &Arc<PageCache>, file: impl File + Clone + 'static) -> SpillFile {
    let open = move || Ok(Arc::new(file.clone()) as Arc<dyn File>);
    SpillFile::new(cache, "test-tmp", NO_LIMIT, Box::new(open)).unwrap()
}

fn fill(pages: &TemporaryPages, class: SizeClass, seed: u64) -> TemporaryPage {
    let mut writer = pages.allocate(class).unwrap();
    let length = writer.len();
    let mut rng = SplitMix64::new(seed);
    for chunk in writer.chunks_exact_mut(8) {
        chunk.copy_from_slice(&rng.bits().to_le_bytes());
    }
    writer.finish(length)
}

fn check(payload: &[u8], seed: u64) {
    let mut rng = SplitMix64::new(seed);
    for chunk in payload.chunks_exact(8) {
        assert_eq!(chunk, rng.bits().to_le_bytes(), "page {seed}");
    }
}

/// Goal: eight times as much as the memory holds comes back intact, in any order, under every
/// policy that the engine runs and every way to evict; the budget holds throughout.
#[test]
fn more_than_memory_holds_comes_back() {
    let class = SizeClass::new(2).unwrap();
    let live = graven_policy::registry::list()
        .iter()
        .filter(|entry| entry.live);
    for policy in live {
        for evictor in [Evictor::Background, Evictor::Cooperative] {
            let cache = cache_with(2 << 20, |config| {
                config.policy = policy.name.to_owned();
                config.evictor = evictor;
            });
            let spill = spill_over(&cache, MemoryFile::new("spill"));
            let pages = spill.owner();
            let mut kept: Vec<(u64, TemporaryPage)> =
                (0..1024).map(|n| (n, fill(&pages, class, n))).collect();
            assert!(
                pages.spilled_bytes() >= 12 << 20,
                "{}: {pages:?}",
                policy.name
            );
            assert!(cache.budget().used() <= cache.budget().limit() + (1 << 20));
            let mut rng = SplitMix64::new(7);
            while !kept.is_empty() {
                let (seed, page) = kept.swap_remove(rng.place(kept.len()));
                if seed.is_multiple_of(2) {
                    check(&page.pin().unwrap(), seed);
                } else {
                    check(&page.into_pinned().unwrap(), seed);
                }
            }
            assert_eq!(spill.used_bytes(), 0);
            assert_eq!(spill.file_bytes(), 0, "disk space goes back");
            assert_eq!(cache.stats().dirty_bytes, 0);
            settle_and_check(&cache);
        }
    }
}

/// Goal: what is freed in time never touches the disk; the file is not even made.
#[test]
fn short_lived_pages_stay_off_the_disk() {
    let cache = cache_with(4 << 20, |_| ());
    let spill = SpillFile::new(
        &cache,
        "never-made",
        NO_LIMIT,
        Box::new(|| panic!("the file is not wanted")),
    )
    .unwrap();
    let pages = spill.owner();
    for round in 0..200 {
        let some: Vec<TemporaryPage> = (0..8)
            .map(|n| fill(&pages, SizeClass::KIB_64, round * 8 + n))
            .collect();
        check(&some[3].pin().unwrap(), round * 8 + 3);
        drop(pages.allocate(SizeClass::MIN).unwrap());
    }
    assert_eq!((pages.spilled_bytes(), pages.read_back_bytes()), (0, 0));
    settle_and_check(&cache);
}

/// Goal: the spill file of a path has no name while it is in use, so nothing is left behind.
#[test]
fn the_file_has_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.graven-tmp");
    std::fs::write(&path, b"left by another process").unwrap();
    let cache = cache_with(1 << 20, |_| ());
    let spill = SpillFile::at(&cache, &path, NO_LIMIT).unwrap();
    let pages = spill.owner();
    let kept: Vec<TemporaryPage> = (0..64)
        .map(|n| fill(&pages, SizeClass::KIB_64, n))
        .collect();
    assert!(pages.spilled_bytes() > 0 && spill.file_bytes() > 0);
    assert!(!path.exists(), "unlinked while in use");
    for (seed, page) in kept.iter().enumerate() {
        check(&page.pin().unwrap(), seed as u64);
    }
    assert!(pages.read_back_bytes() > 0);
}

/// Goal: a full disk reaches the owner of the pages that were to be written, by name; other owners
/// and readers of the cache go on, and all memory comes back when the owner gives up.
#[test]
fn a_full_disk_reaches_the_owner_alone() {
    let cache = cache_with(1 << 20, |config| {
        config.frame_wait = std::time::Duration::from_millis(200);
    });
    let faulty = FaultyFile::new(Arc::new(MemoryFile::new("spill")), FaultPlan::default());
    let control = faulty.control();
    let spill = spill_over(&cache, faulty);
    let (small, large) = (spill.owner(), spill.owner());
    let mut writer = small.allocate(SizeClass::MIN).unwrap();
    writer[..5].copy_from_slice(b"small");
    let plan = FaultPlan {
        capacity_bytes: Some(0),
        ..FaultPlan::default()
    };
    control.set_plan(plan);
    let mut kept = Vec::new();
    let error = loop {
        match large.allocate(SizeClass::KIB_64) {
            Ok(writer) => kept.push(writer.finish(8)),
            Err(error) => break error,
        }
        assert!(kept.len() < 1000, "the disk is full");
    };
    assert!(
        matches!(
            error,
            Error::Io {
                operation: "write",
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("spill"), "{error}");
    assert!(large.check().is_err());
    drop(kept);
    small.check().unwrap();
    let page = writer.finish(5);
    assert_eq!(&page.pin().unwrap()[..], b"small");
    let again: Vec<TemporaryPage> = (0..4).map(|n| fill(&small, SizeClass::KIB_64, n)).collect();
    drop(again);
    control.set_plan(FaultPlan::default());
    let others = spill.owner();
    let kept: Vec<TemporaryPage> = (0..64)
        .map(|n| fill(&others, SizeClass::KIB_64, n))
        .collect();
    check(&kept[0].pin().unwrap(), 0);
    drop(kept);
    drop(page);
    settle_and_check(&cache);
}

/// Goal: memory is full because another owner's page could not be written and stays there. An owner
/// that then finds no memory gets the error of the full disk, until there is room again.
#[test]
fn memory_that_lacks_for_a_full_disk_is_a_full_disk() {
    let cache = cache_with(1 << 20, |config| {
        config.frame_wait = std::time::Duration::from_millis(50);
    });
    let faulty = FaultyFile::new(Arc::new(MemoryFile::new("spill")), FaultPlan::default());
    let control = faulty.control();
    let spill = spill_over(&cache, faulty);
    control.set_plan(FaultPlan {
        capacity_bytes: Some(0),
        ..FaultPlan::default()
    });
    let mut kept = Vec::new();
    let error = loop {
        // Each page has an owner of its own, as each of a transaction's sealed layers has.
        match spill.owner().allocate(SizeClass::KIB_64) {
            Ok(writer) => kept.push(writer.finish(8)),
            Err(error) => break error,
        }
        assert!(kept.len() < 1000, "the disk is full");
    };
    assert!(error.is_storage_full(), "{error}");
    assert!(spill.full().is_some());
    drop(kept);
    control.set_plan(FaultPlan::default());
    assert!(spill.full().is_none(), "nothing is kept for lack of room");
    let pages = spill.owner();
    let kept: Vec<TemporaryPage> = (0..64)
        .map(|n| fill(&pages, SizeClass::KIB_64, n))
        .collect();
    check(&kept[0].pin().unwrap(), 0);
    drop(kept);
    settle_and_check(&cache);
}

/// Goal: the limit of the spill file is an error with the limit in it.
#[test]
fn the_limit_of_the_file_holds() {
    let cache = cache_with(4 << 20, |_| ());
    let open = || Ok(Arc::new(MemoryFile::new("spill")) as Arc<dyn File>);
    let spill = SpillFile::new(&cache, "x-tmp", 128 << 10, Box::new(open)).unwrap();
    let pages = spill.owner();
    let _first = fill(&pages, SizeClass::KIB_64, 1);
    let second = fill(&pages, SizeClass::KIB_64, 2);
    let error = pages.allocate(SizeClass::KIB_64).err().unwrap();
    assert!(matches!(error, Error::SpillLimit { limit, .. } if limit == 128 << 10));
    drop(second);
    let _third = fill(&pages, SizeClass::KIB_64, 3);
}

/// Goal: reservations of operators push dirty pages out to the file instead of being refused.
#[test]
fn reservations_push_dirty_pages_out() {
    let cache = cache_with(4 << 20, |_| ());
    let spill = spill_over(&cache, MemoryFile::new("spill"));
    let pages = spill.owner();
    let kept: Vec<TemporaryPage> = (0..52)
        .map(|n| fill(&pages, SizeClass::KIB_64, n))
        .collect();
    let held = cache.budget().reserve("hash table", 5 << 19).unwrap();
    assert!(pages.spilled_bytes() >= 1 << 20, "{pages:?}");
    for (seed, page) in kept.iter().enumerate() {
        check(&page.pin().unwrap(), seed as u64);
    }
    drop(held);
    cache.resize(1 << 20).unwrap();
    assert!(cache.budget().used() <= 1 << 20);
    for (seed, page) in kept.iter().enumerate() {
        check(&page.pin().unwrap(), seed as u64);
    }
    drop(kept);
    settle_and_check(&cache);
}

/// Goal: many threads, each with its own pages, a pool far smaller than their sum, base pages read
/// beside them.
#[test]
fn threads_spill_beside_readers() {
    let cache = cache_with(2 << 20, |_| ());
    let (file, base) = crate::support::file_of(SizeClass::new(1).unwrap(), 600);
    let id = cache.add_file(Arc::new(file)).unwrap();
    let spill = spill_over(&cache, MemoryFile::new("spill"));
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (spill, cache, base) = (&spill, &cache, &base);
            scope.spawn(move || {
                let pages = spill.owner();
                let mut rng = SplitMix64::new(thread);
                let mut kept: Vec<(u64, TemporaryPage)> = Vec::new();
                for round in 0..1500 {
                    let reference = base[rng.place(base.len())];
                    crate::support::check(&cache.pin(id, reference, KIND).unwrap(), reference);
                    if kept.len() < 40 || rng.place(2) == 0 && kept.len() < 80 {
                        let class = SizeClass::new(rng.place(4) as u8).unwrap();
                        kept.push((
                            thread << 32 | round,
                            fill(&pages, class, thread << 32 | round),
                        ));
                    } else {
                        let (seed, page) = kept.swap_remove(rng.place(kept.len()));
                        check(&page.into_pinned().unwrap(), seed);
                    }
                }
            });
        }
    });
    assert_eq!(spill.used_bytes(), 0);
    settle_and_check(&cache);
}

/// A log: pages may be written once it is durable up to their LSN.
#[derive(Default)]
struct Log {
    durable: AtomicU64,
    written: AtomicU64,
}

impl WriteBack for Log {
    fn before_write(&self, _: PageRef, lsn: u64) -> graven_io::Result<()> {
        self.durable.fetch_max(lsn, Ordering::SeqCst);
        Ok(())
    }
    fn written(&self, _: PageRef) {
        self.written.fetch_add(1, Ordering::SeqCst);
    }
}

/// Goal: a page of a file is changed under a guard, the log goes first, the file holds the change
/// after a flush or an eviction, and readers see the newest content all along.
#[test]
fn changed_pages_reach_their_file_after_the_log() {
    let class = SizeClass::KIB_64;
    let file = MemoryFile::new("pages");
    let pages: Vec<PageRef> = (0..40)
        .map(|n| PageRef::new(class, n * class.units()))
        .collect();
    for page in &pages[..20] {
        file.write_all_at(&content(*page), page.offset_bytes())
            .unwrap();
    }
    let cache = cache_with(1 << 20, |_| ());
    let log = Arc::new(Log::default());
    let id = cache
        .add_writable_file(Arc::new(file.clone()), log.clone())
        .unwrap();
    for (n, page) in pages.iter().enumerate() {
        let mut guard = if n < 20 {
            cache.pin_exclusive(id, *page, KIND).unwrap()
        } else {
            cache.create_page(id, *page, KIND).unwrap()
        };
        guard[..8].copy_from_slice(&(n as u64).to_le_bytes());
        guard.set_length(100);
        guard.set_lsn(1000 + n as u64);
    }
    assert!(
        log.written.load(Ordering::SeqCst) > 0,
        "evicted while dirty"
    );
    for (n, page) in pages.iter().enumerate() {
        let pin = cache.pin(id, *page, KIND).unwrap();
        assert_eq!(pin.len(), 100);
        assert_eq!(pin[..8], (n as u64).to_le_bytes());
    }
    cache.flush(id).unwrap();
    assert_eq!(cache.stats().dirty_bytes, 0);
    assert_eq!(log.durable.load(Ordering::SeqCst), 1039);
    let mut bytes = vec![0; class.bytes()];
    for (n, page) in pages.iter().enumerate() {
        file.read_exact_at(&mut bytes, page.offset_bytes()).unwrap();
        graven_pagecache::page::verify(&bytes, *page, Some(KIND)).unwrap();
        assert_eq!(bytes[64..72], (n as u64).to_le_bytes());
    }
    let read_only = cache.add_file(Arc::new(file)).unwrap();
    assert!(matches!(
        cache.pin_exclusive(read_only, pages[0], PageKind::Adjacency),
        Err(Error::ReadOnly(_))
    ));
    settle_and_check(&cache);
}
