//! Static pools: each keeps to its share, and none takes from another.

use crate::support::{KIND, cache_with, check, mixed_file, settle_and_check};
use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, Error, Evictor, PageCache, PageRef, SizeClass};
use graven_types::rng::SplitMix64;
use std::sync::Arc;
use std::time::Duration;

const MIB: u64 = 1 << 20;

fn class(kib: usize) -> SizeClass {
    SizeClass::for_page_bytes(kib << 10).unwrap()
}

/// A cache of 8 MiB, three quarters for 4 KiB and a quarter for 256 KiB, over pages of all sizes.
fn pooled() -> (
    Arc<PageCache>,
    graven_pagecache::FileId,
    Vec<PageRef>,
    Vec<PageRef>,
) {
    let mut classes = vec![class(4); 4000];
    classes.extend([class(8), class(64)].repeat(20));
    classes.extend(vec![class(256); 12]);
    let (file, pages) = mixed_file(&classes);
    let cache = cache_with(8 * MIB, |config| {
        config.pools = Some("static:4KiB=75%,256KiB=25%".parse().unwrap());
        config.frame_wait = Duration::from_millis(20);
    });
    let id = cache.add_file(Arc::new(file)).unwrap();
    let (small, large) = pages.split_at(4000);
    (cache, id, small.to_vec(), large.to_vec())
}

/// Goal: whatever is read in whatever order, no pool passes its share, and small pages in the large
/// pool take whole pages of it.
#[test]
fn no_pool_passes_its_share() {
    let (cache, id, small, large) = pooled();
    let mut random = SplitMix64::new(3);
    for step in 0..20_000 {
        let page = match random.place(3) {
            0 => large[random.place(large.len())],
            _ => small[random.place(small.len())],
        };
        check(&cache.pin(id, page, KIND).unwrap(), page);
        if step % 500 == 0 {
            for pool in cache.pools() {
                assert!(pool.charged_bytes <= pool.limit_bytes, "{pool:?}");
            }
        }
    }
    let pools = cache.pools();
    assert_eq!(pools[0].charged_bytes, pools[0].resident_bytes);
    assert!(
        pools[0].charged_bytes > pools[0].limit_bytes * 9 / 10,
        "{pools:?}"
    );
    assert!(
        pools[1].charged_bytes > pools[1].resident_bytes,
        "{pools:?}"
    );
    settle_and_check(&cache);
}

/// Goal: a scan of small pages leaves the large ones in place, as one budget does not.
#[test]
fn a_pool_is_not_evicted_for_another() {
    let (cache, id, small, large) = pooled();
    let hot: Vec<_> = large.iter().rev().take(3).collect();
    let read = |pages: &mut dyn Iterator<Item = &PageRef>| {
        for page in pages {
            cache.pin(id, *page, KIND).unwrap();
        }
    };
    read(&mut hot.iter().copied());
    read(&mut small.iter());
    assert!(hot.iter().all(|page| cache.is_resident(id, **page)));
    read(&mut large.iter());
    let last = &small[small.len() - 100..];
    assert!(last.iter().all(|page| cache.is_resident(id, *page)));
    settle_and_check(&cache);
}

/// Goal: memory that is no page lives in the last pool: more than its share is refused although the
/// other pool is empty.
#[test]
fn other_memory_stays_in_the_last_pool() {
    let (cache, ..) = pooled();
    let budget = cache.budget();
    assert!(budget.reserve("an operator", 3 * MIB / 2).is_ok());
    let refused = budget
        .reserve("an operator", 3 * MIB)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("static pools"), "{refused}");
}

/// Goal: growing and shrinking keep the shares.
#[test]
fn pools_follow_the_limit() {
    let (cache, id, small, large) = pooled();
    for bytes in [16 * MIB, 4 * MIB] {
        cache.resize(bytes).unwrap();
        for page in small.iter().chain(&large) {
            cache.pin(id, *page, KIND).unwrap();
        }
        for pool in cache.pools() {
            assert!(pool.charged_bytes <= pool.limit_bytes, "{bytes}: {pool:?}");
        }
        settle_and_check(&cache);
    }
}

/// Goal: a cache of one class cannot be divided, and says so.
#[test]
fn the_synchronous_mode_has_no_pools() {
    let mut config = Config::new(Budget::new(8 * MIB));
    config.pools = Some("static:64KiB=100%".parse().unwrap());
    config.evictor = Evictor::Synchronous {
        class: class(64),
        frames: 16,
    };
    let refused = PageCache::new(config).err().unwrap();
    assert!(matches!(refused, Error::Pools(_)), "{refused}");
}

/// Goal: one page may be as large as the pool leaves room for, up to 128 MiB, whatever small pages
/// lay there before; one that is larger than the pool is refused in words.
#[test]
fn a_page_may_be_most_of_the_pool() {
    for (pool, page) in [(2, 1), (12, 8), (48, 32), (160, 128)] {
        let cache = cache_with(pool * MIB, |config| config.verify = false);
        let file = MemoryFile::new("holes");
        file.set_len(256 * MIB).unwrap();
        let id = cache.add_file(Arc::new(file)).unwrap();
        for unit in 0..pool * 64 {
            cache.pin(id, PageRef::new(class(4), unit), KIND).unwrap();
        }
        let large = PageRef::new(class((page as usize) << 10), 0);
        cache.drop_page(id, PageRef::new(class(4), 0)).unwrap();
        let pin = cache.pin(id, large, KIND).unwrap();
        assert_eq!(pin.page().len() as u64, page * MIB);
        drop(pin);
        settle_and_check(&cache);
    }
    let cache = cache_with(4 * MIB, |config| {
        config.frame_wait = Duration::from_millis(10);
    });
    let file = MemoryFile::new("holes");
    file.set_len(8 * MIB).unwrap();
    let id = cache.add_file(Arc::new(file)).unwrap();
    let refused = cache.pin(id, PageRef::new(class(8 << 10), 0), KIND);
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("no frame of 8388608 bytes"), "{refused}");
}
