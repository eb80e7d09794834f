//! Scans: reading pages once, in order, without displacing what others come back to.
//!
//! # How it works
//! A page that a scan faults in is handed to the policy as scanned: it enters at the probation end,
//! with no use to its credit. An access of a scan to a page that is there is a hit for the counters
//! and nothing for the policy. Other accesses to the same pages count as ever, so a page that turns
//! out to be wanted stays.
//!
//! # Invariants
//! * PC-29: an access of a scan changes neither usage bits nor stamps, and is handed over to no
//!   policy.

use crate::cache::PageCache;
use crate::cache::pin::PagePin;
use crate::error::Result;
use crate::page_kind::PageKind;
use crate::page_ref::{FileId, PageRef};
use crate::slots::PageKey;
use crate::word;
use graven_policy::Hint;
use std::sync::atomic::Ordering;

impl PageCache {
    /// As [`PageCache::pin`], for a page of a scan.
    ///
    /// # Errors
    /// As [`PageCache::pin`].
    pub fn pin_scanned(&self, file: FileId, page: PageRef, kind: PageKind) -> Result<PagePin> {
        let word = self.tables().lookup(file.0, page.unit());
        let seen = word.load(Ordering::Relaxed);
        if word::is_pinnable_as(seen, page.raw()) && word::try_pin(word, seen, 0) {
            let mode = self.hit_mode().under(Hint::Scan);
            self.count_hit(mode, seen, PageKey::new(file.0, page.unit()), kind);
            #[expect(unsafe_code, reason = "a hit hands out frame memory")]
            // SAFETY: the pin was taken with the word unchanged, so it names the page's frame.
            return Ok(unsafe { self.pinned_at(word, seen) });
        }
        self.pin_slowly(file, page, kind, Hint::Scan)
    }

    /// As [`PageCache::prefetch`], for pages of a scan.
    pub fn prefetch_scanned(&self, file: FileId, pages: &[PageRef], kind: PageKind) -> usize {
        self.read_ahead(file, pages, kind, Hint::Scan).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use crate::page::{self, HEADER_BYTES};
    use crate::{
        Budget, Config, DEFAULT_POLICY, Evictor, FileId, PageCache, PageKind, PageRef, SizeClass,
    };
    use graven_io::MemoryFile;
    use std::sync::Arc;

    const KIND: PageKind = PageKind::NodeColumn;
    const FRAMES: u32 = 64;

    fn page(number: u64) -> PageRef {
        PageRef::new(SizeClass::MIN, number)
    }

    fn cache(policy: &str, pages: u64) -> (Arc<PageCache>, FileId) {
        let mut bytes = vec![0; pages as usize * crate::UNIT_BYTES];
        for (bytes, number) in bytes.chunks_exact_mut(crate::UNIT_BYTES).zip(0..) {
            bytes[HEADER_BYTES] = number as u8;
            page::seal(bytes, page(number), KIND, 0, 8);
        }
        let mut config = Config::new(Budget::new(2 << 20));
        config.policy = policy.to_owned();
        config.evictor = Evictor::Synchronous {
            class: SizeClass::MIN,
            frames: FRAMES,
        };
        let cache = PageCache::new(config).expect("a cache");
        let id = cache
            .add_file(Arc::new(MemoryFile::with_bytes("pages", &bytes)))
            .expect("added");
        (cache, id)
    }

    /// Goal: after a long scan, most of a hot set of a quarter of the cache is still there, under
    /// policies that order pages by their uses; without the hint, LRU loses all of it.
    #[test]
    fn a_scan_leaves_the_hot_set_alone() {
        let hot = u64::from(FRAMES) / 4;
        let left = |policy: &str, scanned: bool| {
            let (cache, id) = cache(policy, 1_000);
            for _ in 0..4 {
                (0..hot).for_each(|n| drop(cache.pin(id, page(n), KIND).expect("pinned")));
            }
            for number in hot..1_000 {
                let pin = if scanned {
                    cache.pin_scanned(id, page(number), KIND)
                } else {
                    cache.pin(id, page(number), KIND)
                };
                drop(pin.expect("pinned"));
            }
            cache.check().expect("sound");
            (0..hot).filter(|n| cache.is_resident(id, page(*n))).count() as u64
        };
        for policy in ["lru", "slru", "lfu", "clock", "gclock", DEFAULT_POLICY] {
            let kept = left(policy, true);
            assert!(kept >= hot - hot / 4, "{policy} keeps {kept} of {hot}");
        }
        // Neo4j's clock forgets, with every turn, what no thread uses in that turn; a marked scan
        // turns it no faster.
        for policy in ["gclock:scan=0", "neo4j", "graven"] {
            assert!(left(policy, true) >= left(policy, false), "{policy}");
        }
        assert_eq!(left("lru", false), 0);
    }

    /// Goal: a scan's accesses are counted as hits, but give a page no credit.
    #[test]
    fn a_scans_hit_is_no_use() {
        let (cache, id) = cache("clock", 200);
        for number in 0..u64::from(FRAMES) {
            drop(cache.pin_scanned(id, page(number), KIND).expect("pinned"));
        }
        for _ in 0..3 {
            drop(cache.pin_scanned(id, page(0), KIND).expect("pinned"));
        }
        assert_eq!(cache.stats().per_kind[KIND].hits, 3);
        drop(cache.pin(id, page(100), KIND).expect("pinned"));
        assert!(!cache.is_resident(id, page(0)), "the hits gave it nothing");
    }
}
