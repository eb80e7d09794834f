//! Hits: how the use of a resident page reaches the policy.
//!
//! # How it works
//! The policy's hit kind and the hit protocol are one word, the mode. Counting policies need
//! nothing but the usage bits in the entry word, which the hit path sets itself; an optimistic read
//! compares the word with a threshold first, which says of most hits that they need nothing at all.
//! The others:
//! * *stamp*: one store of the coarse epoch, if it differs;
//! * *locked*: the policy is told under the frame pool lock, every time;
//! * *batched*: a ring of 64 hits per thread; from 32 (or `batch=N`) on the lock is tried at every
//!   eighth hit, at 64 the ring is dropped;
//! * *combining*: as batched, but a full ring is published for the next thread that gets the lock;
//! * *sampled*: one hit of 32 is batched, eight at a time; the others cost an addition and a
//!   comparison.
//!
//! A hit handed over late names its page; the policy hears of it only if the frame still holds that
//! page.
//!
//! # Source
//! Xiaoning Ding and others, "BP-Wrapper", ICDE 2009 (batched); Danny Hendler and others, "Flat
//! Combining", SPAA 2010 (combining). Deviation: a full ring is dropped instead of waiting for the
//! lock, which costs five times as much with more threads than cores.

use crate::cache::PageCache;
use crate::cache::access_sampler::samples;
use crate::cache::frame_pool::{By, FramePool};
use crate::slots::{FLAG_ORDERED, PageKey};
use crate::word::usage_bits;
use graven_policy::registry::{self, Protocol, Spec};
use graven_policy::{Admission, FrameIdx, Hint, HitKind, PageId};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

const RING: usize = 64;
/// Hits between two tries to hand over.
const STRETCH: usize = 8;
/// One hit in 2^5 is a sample.
const SAMPLE_SHIFT: u32 = 5;
/// Published batches that wait for the next thread that gets the lock.
pub(crate) const PUBLISHED_MAX: usize = 32;

/// What a hit must do, as one number: the largest usage count where entry words have it, the rest
/// in the low byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HitMode(pub(crate) u64);

const STAMP: u64 = 1;
const LOCKED: u64 = 2;
const BATCHED: u64 = 3;
const COMBINING: u64 = 4;
const SAMPLED: u64 = 5;
/// Bit above the protocols: the cache is recorded (`record.rs`).
const RECORDED: u64 = 0x80;
/// Bit above the protocols: the cache is watched (`access_sampler.rs`); the bits from `SHIFT_AT` on
/// hold the sample's shift.
const WATCHED: u64 = 0x40;
const SHIFT_AT: u32 = 8;
const SHIFT_MASK: u64 = 0xff << SHIFT_AT;
/// Beside WATCHED: the access is a scan's.
const SCANNED: u64 = 1 << 16;
/// Hits after which a ring is handed over, in the bits behind; below every class and state of a
/// word.
const BATCH_AT: u32 = 17;
const BATCH_MASK: u64 = 0x7f << BATCH_AT;
const _: () = assert!(registry::BATCH_MAX as usize == RING && RING < 0x80);
/// Bit above the protocols: the transaction that uses a page is noted (`running.rs`).
const OWNED: u64 = 0x20;
/// The protocols.
const PROTOCOL: u64 = 0x1f;

impl HitMode {
    /// What hits of a policy of this kind, asked for by `spec`, must do.
    pub(crate) fn new(kind: HitKind, spec: &Spec, is_synchronous: bool) -> HitMode {
        let batch = spec.batch.map_or(RING / 2, usize::from) as u64;
        let ordered = |protocol| match protocol {
            BATCHED | COMBINING => HitMode(protocol | batch << BATCH_AT),
            _ => HitMode(protocol),
        };
        let mode = match kind {
            HitKind::None => HitMode(0),
            HitKind::SetBit => HitMode(usage_bits(1)),
            HitKind::Count { max } => HitMode(usage_bits(max)),
            HitKind::Stamp => ordered(STAMP),
            HitKind::Append if is_synchronous => ordered(LOCKED),
            HitKind::Append => ordered(match spec.protocol {
                Some(Protocol::Locked | Protocol::Sharded) => LOCKED,
                Some(Protocol::Combining) => COMBINING,
                Some(Protocol::Sampled) => SAMPLED,
                Some(Protocol::Batched | Protocol::Atomic) | None => BATCHED,
            }),
        };
        let owned = if spec.running.is_some() { OWNED } else { 0 };
        HitMode(mode.0 | owned)
    }

    /// Largest usage count a hit may reach, where entry words have it; below their classes and
    /// states, other things.
    #[inline(always)]
    pub(crate) fn usage_max(self) -> u64 {
        self.0
    }

    /// An optimistic hit of a page whose word is not below this need only count itself.
    pub(crate) fn threshold(self) -> u64 {
        if self.is_more() { u64::MAX } else { self.0 }
    }

    /// What a hit of an access with this hint must do: that of a scan counts as no use.
    #[inline(always)]
    pub(crate) fn under(self, hint: Hint) -> HitMode {
        if hint == Hint::Scan {
            HitMode(self.0 & (RECORDED | WATCHED | SHIFT_MASK) | SCANNED)
        } else {
            self
        }
    }

    /// The same, with or without recording.
    pub(crate) fn recorded(self, recorded: bool) -> HitMode {
        HitMode(if recorded {
            self.0 | RECORDED
        } else {
            self.0 & !RECORDED
        })
    }

    /// The same, with or without watching a sample of this shift.
    pub(crate) fn watched(self, shift: Option<u32>) -> HitMode {
        let plain = self.0 & !(WATCHED | SHIFT_MASK);
        HitMode(shift.map_or(plain, |shift| {
            plain | WATCHED | u64::from(shift) << SHIFT_AT
        }))
    }

    /// What is left when the policy, and with it the protocol, changes.
    pub(crate) fn with_observers_of(self, other: HitMode) -> HitMode {
        HitMode(self.0 | other.0 & (RECORDED | WATCHED | SHIFT_MASK))
    }

    /// Whether the cache is watched and the page is in the sample.
    #[inline(always)]
    pub(crate) fn watches(self, page: PageKey) -> bool {
        self.0 & WATCHED != 0 && samples(page, ((self.0 & SHIFT_MASK) >> SHIFT_AT) as u32)
    }

    /// Whether the transaction that uses a page is noted.
    pub(crate) fn is_owned(self) -> bool {
        self.0 & OWNED != 0
    }

    /// Hits of a ring from which on it is handed over.
    fn batch(self) -> usize {
        match self.0 & PROTOCOL {
            SAMPLED => STRETCH,
            _ => ((self.0 & BATCH_MASK) >> BATCH_AT) as usize,
        }
    }

    /// Whether the cache is recorded.
    pub(crate) fn is_recorded(self) -> bool {
        self.0 & RECORDED != 0
    }

    /// Stamps are stored, and nothing else is to be done.
    pub(crate) const STAMP: HitMode = HitMode(STAMP);
    /// Sampled hits are handed over, and nothing else is to be done.
    pub(crate) const SAMPLED: HitMode = HitMode(SAMPLED);

    /// Whether a hit on `page` is not in the sample that is watched, and nothing else but usage
    /// bits is needed.
    #[inline(always)]
    pub(crate) fn passes_by(self, page: PageKey) -> bool {
        self.0 & 0xff == WATCHED && !self.watches(page)
    }

    /// Whether more than the usage bits is needed.
    #[inline(always)]
    pub(crate) fn is_more(self) -> bool {
        self.0 & 0xff != 0
    }
}

/// Whether this hit of the thread is a sample. Samples are spread evenly, but not at a fixed
/// distance, with which a loop over pages would have the same ones drawn for ever.
#[inline(always)]
pub(crate) fn is_sample() -> bool {
    let sum = SAMPLING.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
    SAMPLING.set(sum);
    sum >> (64 - SAMPLE_SHIFT) == 0
}

/// A hit to be handed over.
#[derive(Clone, Copy)]
pub(crate) struct Hit {
    frame: u32,
    page: u64,
}

/// Hits of one thread for one cache.
struct Ring {
    cache: u64,
    len: usize,
    hits: [Hit; RING],
}

thread_local! {
    static RINGS: RefCell<Ring> =
        const { RefCell::new(Ring { cache: 0, len: 0, hits: [Hit { frame: 0, page: 0 }; RING] }) };
    static SAMPLING: Cell<u64> = const { Cell::new(0) };
}

impl PageCache {
    /// Hits do as `mode` says from now on; a recording or a watch goes on.
    pub(crate) fn set_hit_mode(&self, mode: HitMode) {
        self.change_hit_mode(|before| mode.with_observers_of(before));
    }

    /// Whether hits are recorded.
    pub(crate) fn set_recorded(&self, recorded: bool) {
        self.change_hit_mode(|before| before.recorded(recorded));
    }

    /// Whether hits are watched, and which sample of the pages.
    pub(crate) fn set_watched(&self, shift: Option<u32>) {
        self.change_hit_mode(|before| before.watched(shift));
    }

    fn change_hit_mode(&self, change: impl Fn(HitMode) -> HitMode) {
        let change = |before| Some(change(HitMode(before)).0);
        let _ = self
            .hit_mode
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
        // Of several changes at a time the last one finds the mode that stays.
        loop {
            let mode = self.hit_mode();
            self.hit_threshold.store(mode.threshold(), Ordering::SeqCst);
            if self.hit_mode.load(Ordering::SeqCst) == mode.0 {
                return;
            }
        }
    }

    /// What [`HitMode::is_more`] asks for.
    #[cold]
    #[inline(never)]
    pub(crate) fn more_than_usage(&self, mode: HitMode, frame: u32, page: PageKey) {
        if mode.watches(page) {
            let slot = self.slots().of_frame(frame);
            let class = slot.map_or(0, |slot| self.slots().get(slot).place().class());
            self.note(page, class, mode.0 & SCANNED != 0);
        }
        if mode.is_recorded() {
            let kind = || self.slots().get(self.slots().of_frame(frame)?).kind();
            self.record(page, kind, false);
        }
        if mode.is_owned() {
            self.owners().own(frame);
        }
        let hit = Hit {
            frame,
            page: page.0,
        };
        match mode.0 & PROTOCOL {
            0 => {}
            STAMP => self.stamps().stamp(frame),
            LOCKED => {
                let mut frame_pool = self.frame_pool().try_lock().unwrap_or_else(|| {
                    self.totals().contended.fetch_add(1, Ordering::Relaxed);
                    self.frame_pool().lock()
                });
                self.apply(&mut frame_pool, &[hit]);
                if self.is_synchronous() {
                    self.evict_surplus(&mut frame_pool);
                }
            }
            SAMPLED if mode != HitMode::SAMPLED && !is_sample() => {}
            _ => self.append(hit, mode),
        }
    }

    /// Evicts what the policy wants gone at once, as a simulation does; elsewhere that waits for a
    /// fault.
    fn evict_surplus(&self, frame_pool: &mut FramePool) {
        while frame_pool.policy.has_surplus() {
            match self.evict_one(frame_pool, Admission::default(), By::Fault) {
                Some(slot) => frame_pool.push_free(slot),
                None => return,
            }
        }
    }

    fn append(&self, hit: Hit, mode: HitMode) {
        RINGS.with_borrow_mut(|ring| {
            if ring.cache != self.id() {
                (ring.cache, ring.len) = (self.id(), 0);
            }
            ring.hits[ring.len] = hit;
            ring.len += 1;
            let enough = mode.batch();
            let is_try = ring.len >= enough && (ring.len - enough).is_multiple_of(STRETCH);
            if is_try || ring.len == RING {
                self.hand_over(ring, mode.0 & PROTOCOL);
            }
        });
    }

    #[cold]
    fn hand_over(&self, ring: &mut Ring, protocol: u64) {
        let hits = &ring.hits[..ring.len];
        if let Some(mut frame_pool) = self.frame_pool().try_lock() {
            self.apply(&mut frame_pool, hits);
            self.apply_published(&mut frame_pool);
        } else if ring.len < RING {
            return;
        } else if protocol != COMBINING || self.published().push(ring.hits).is_err() {
            self.totals()
                .dropped
                .fetch_add(hits.len() as u64, Ordering::Relaxed);
        }
        ring.len = 0;
    }

    /// Tells the policy of batches that other threads published.
    pub(crate) fn apply_published(&self, frame_pool: &mut FramePool) {
        while let Some(hits) = self.published().pop() {
            self.apply(frame_pool, &hits);
        }
    }

    fn apply(&self, frame_pool: &mut FramePool, hits: &[Hit]) {
        let mut applied = 0;
        for hit in hits {
            let Some(slot) = frame_pool.slots().of_frame(hit.frame) else {
                continue;
            };
            let bound = frame_pool.slots().get(slot);
            if bound.page() == Some(PageKey(hit.page)) && bound.has(FLAG_ORDERED) {
                frame_pool
                    .policy
                    .on_hit(&frame_pool.frames, FrameIdx(slot), PageId(hit.page));
                applied += 1;
            }
        }
        self.totals().applied.fetch_add(applied, Ordering::Relaxed);
    }
}

/// A published batch.
pub(crate) type Batch = [Hit; RING];

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: one hit of 32 is a sample, and in a loop over pages every page is drawn in its turn.
    #[test]
    fn samples_of_a_loop_come_from_all_its_pages() {
        for pages in [8, 16, 32, 64, 96, 256] {
            let mut drawn = vec![0u32; pages];
            for _ in 0..400 {
                drawn
                    .iter_mut()
                    .for_each(|count| *count += u32::from(is_sample()));
            }
            let all: u32 = drawn.iter().sum();
            let wanted = 400 * pages as u32 / 32;
            assert!(all.abs_diff(wanted) <= 2 + wanted / 50, "{pages}: {all}");
            assert!(drawn.iter().all(|&count| count > 0), "{pages}: {drawn:?}");
        }
    }
}
