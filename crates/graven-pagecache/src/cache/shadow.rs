//! Shadow caches: how a cache of another size, or under another policy, would have done on the
//! accesses of a watched one.
//!
//! # How it works
//! [`PageCache::what_if`] replays the accesses of the sample (`access_sampler.rs`) on miniatures:
//! caches without bytes, with the room that the full-sized one would have for pages, divided by the
//! sampling rate. The policy's code is the engine's. The older half of the accesses fills a
//! miniature, the newer half is counted. What the sample lacks or has in excess of its share of all
//! accesses is counted as hits: the few hottest pages make the difference.
//!
//! The stated error is that of the sample at 95 %. Pages are drawn, so the variance of the faults
//! is the sum of the squares of the faults of each page drawn. Added to it is the effect of one
//! standard deviation of the number of pages drawn on the cache's size, by the slope of the curve.
//!
//! # Source
//! C. Waldspurger, T. Saemundsson, I. Ahmad, N. Park, "Cache modeling and optimization using
//! miniature simulations", ATC 2017.

use crate::cache::PageCache;
use crate::cache::access_sampler::SampledAccess;
use crate::cache::build::build_spec;
use crate::error::Result;
use graven_policy::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use std::cell::Cell;
use std::collections::HashMap;

/// Sizes that are asked about, as multiples of the budget.
pub const FACTORS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];
/// Policies that are asked about beside the cache's own.
pub const POLICIES: [&str; 6] = ["graven", "gclock", "lru", "s3fifo", "lirs", "random"];
/// Below so many accesses of the sample, nothing is told.
const SAMPLE_MIN: usize = 256;
/// Standard deviations of a 95 % interval.
const DEVIATIONS: f64 = 1.96;
const NONE: u32 = u32::MAX;

/// How a cache of some size would have done.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The policy.
    pub policy: String,
    /// Whether it is the cache's own.
    pub is_current: bool,
    /// Memory as a multiple of the budget.
    pub factor: f64,
    /// The same in bytes.
    pub memory_bytes: u64,
    /// Share of the accesses that would have been hits.
    pub hit_ratio: f64,
    /// Half the width of the 95 % interval of that.
    pub error: f64,
    /// Faults of the accesses that were looked at.
    pub faults: u64,
}

/// What other sizes and policies would have done.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WhatIf {
    /// Accesses looked at: the newer half of the window.
    pub accesses: u64,
    /// Accesses of the sample among them.
    pub sampled: u64,
    /// One page in so many is in the sample.
    pub one_in: u64,
    /// Predictions, the cache's own policy first; none while too little has been seen.
    pub predictions: Vec<Prediction>,
}

impl PageCache {
    /// How other sizes and policies would have done on the accesses since [`PageCache::watch`] was
    /// called, as far as they are kept; none if the cache is not watched.
    ///
    /// # Errors
    /// [`crate::Error::Policy`] for a name in `policies` that no cache can run.
    pub fn what_if(&self, policies: &[&str]) -> Result<Option<WhatIf>> {
        let Some((window, total, shift)) = self.window() else {
            return Ok(None);
        };
        let accesses: Vec<SampledAccess> =
            window.older.iter().chain(&window.newer).copied().collect();
        let sample = Sample::new(&accesses, shift, total.saturating_sub(window.older_from));
        let mut answer = WhatIf {
            accesses: sample.counted,
            sampled: (accesses.len() - sample.warm) as u64,
            one_in: 1 << shift,
            predictions: Vec::new(),
        };
        if accesses.len() < SAMPLE_MIN {
            return Ok(Some(answer));
        }
        let current = self.stats().policy;
        let others = policies.iter().copied().filter(|name| *name != current);
        for policy in std::iter::once(current.as_str()).chain(others) {
            let mut played = Vec::new();
            for factor in FACTORS {
                let room = self.room_for_pages(factor) >> shift;
                played.push(sample.play(build_spec(policy, room, self.seed())?, room));
            }
            answer
                .predictions
                .extend(FACTORS.iter().enumerate().map(|(at, &factor)| Prediction {
                    policy: policy.to_owned(),
                    is_current: policy == current,
                    factor,
                    memory_bytes: (self.budget().limit() as f64 * factor) as u64,
                    hit_ratio: 1.0 - played[at].miss_ratio,
                    error: error(&played, at),
                    faults: (played[at].miss_ratio * sample.counted as f64).round() as u64,
                }));
        }
        Ok(Some(answer))
    }

    /// Bytes of pages that there would be room for with `factor` times the budget: its own tables
    /// and reserve grow with it, what others hold does not.
    fn room_for_pages(&self, factor: f64) -> u64 {
        let stats = self.stats();
        let own = stats.table_bytes + stats.bookkeeping_bytes;
        let others = self
            .budget()
            .used()
            .saturating_sub(own + stats.frame_bytes)
            .min(self.budget().limit() / 2);
        let reserve = self.reserve_bytes(&self.frame_pool().lock());
        let growing = self.budget().limit().saturating_sub(own + reserve);
        ((growing as f64 * factor) as u64).saturating_sub(others)
    }
}

/// The sample, its pages numbered.
struct Sample {
    /// Page, bytes and hint of every access.
    accesses: Vec<(u32, u32, Hint)>,
    pages: usize,
    /// Accesses that only fill the miniatures.
    warm: usize,
    shift: u32,
    /// All accesses of the cache while the others were made.
    counted: u64,
}

/// What a miniature counted.
struct Counted {
    miss_ratio: f64,
    /// Standard deviation of the miss ratio, as far as pages differ in their faults.
    deviation: f64,
    /// Pages in the miniature at the end.
    resident: usize,
}

/// Half the width of the 95 % interval of one of the miss ratios, which are ascending in size.
fn error(played: &[Counted], at: usize) -> f64 {
    let (low, high) = (at.saturating_sub(1), (at + 1).min(played.len() - 1));
    let doublings = (high - low).max(1) as f64;
    let slope = (played[low].miss_ratio - played[high].miss_ratio).abs() / doublings;
    let size = (1.0 + 1.0 / (played[at].resident.max(1) as f64).sqrt()).log2();
    (DEVIATIONS * (played[at].deviation.powi(2) + (slope * size).powi(2)).sqrt()).min(1.0)
}

impl Sample {
    fn new(noted: &[SampledAccess], shift: u32, total: u64) -> Sample {
        let mut numbers = HashMap::new();
        let mut accesses = Vec::with_capacity(noted.len());
        for one in noted {
            let next = numbers.len() as u32;
            let number = *numbers.entry(one.page()).or_insert(next);
            accesses.push((number, one.bytes(), one.hint()));
        }
        let warm = accesses.len() / 2;
        Sample {
            pages: numbers.len(),
            warm,
            shift,
            counted: total - total / 2,
            accesses,
        }
    }

    fn play(&self, policy: Box<dyn Policy<ShadowFrames>>, room: u64) -> Counted {
        let mut shadow = Shadow::new(policy, room, self.pages);
        let mut faults = vec![0u32; self.pages];
        for (at, &(page, bytes, hint)) in self.accesses.iter().enumerate() {
            let is_hit = shadow.access(page, bytes, hint);
            if at >= self.warm && !is_hit {
                faults[page as usize] += 1;
            }
        }
        let expected = (self.counted as f64 / f64::from(1u32 << self.shift)).max(1.0);
        let all: f64 = faults.iter().map(|&count| f64::from(count)).sum();
        let squares: f64 = faults.iter().map(|&count| f64::from(count).powi(2)).sum();
        let left_out = 1.0 - 1.0 / f64::from(1u32 << self.shift);
        Counted {
            miss_ratio: (all / expected).min(1.0),
            deviation: (squares * left_out).sqrt() / expected,
            resident: shadow.resident,
        }
    }
}

/// Frames of a miniature: nothing is ever busy.
pub(crate) struct ShadowFrames {
    usage: Vec<Cell<u8>>,
    stamps: Vec<Cell<u32>>,
    bytes: Vec<u32>,
    epoch: Cell<u32>,
}

impl Frames for ShadowFrames {
    fn frame_count(&self) -> usize {
        self.usage.len()
    }

    fn usage(&self, frame: FrameIdx) -> u8 {
        self.usage[frame.0 as usize].get()
    }

    fn set_usage(&self, frame: FrameIdx, usage: u8) {
        self.usage[frame.0 as usize].set(usage);
    }

    fn stamp(&self, frame: FrameIdx) -> u32 {
        self.stamps[frame.0 as usize].get()
    }

    fn epoch(&self) -> u32 {
        self.epoch.get()
    }

    fn weight(&self, frame: FrameIdx) -> u32 {
        self.bytes[frame.0 as usize]
    }

    fn is_busy(&self, _: FrameIdx) -> bool {
        false
    }

    fn try_claim(&mut self, _: FrameIdx) -> Claim {
        Claim::Claimed
    }
}

/// A cache without bytes.
struct Shadow {
    policy: Box<dyn Policy<ShadowFrames>>,
    frames: ShadowFrames,
    /// Frame of every page of the sample.
    frame_of: Vec<u32>,
    free: Vec<u32>,
    room: u64,
    used: u64,
    resident: usize,
    loads: usize,
}

impl Shadow {
    fn new(policy: Box<dyn Policy<ShadowFrames>>, room: u64, pages: usize) -> Shadow {
        Shadow {
            policy,
            frames: ShadowFrames {
                usage: Vec::new(),
                stamps: Vec::new(),
                bytes: Vec::new(),
                epoch: Cell::new(0),
            },
            frame_of: vec![NONE; pages],
            free: Vec::new(),
            room,
            used: 0,
            resident: 0,
            loads: 0,
        }
    }

    /// Plays an access; whether it is a hit.
    fn access(&mut self, page: u32, bytes: u32, hint: Hint) -> bool {
        let frame = self.frame_of[page as usize];
        if frame == NONE {
            self.fault(page, bytes, hint);
            return false;
        }
        if hint == Hint::Normal {
            self.hit(FrameIdx(frame), page);
        }
        true
    }

    fn hit(&mut self, frame: FrameIdx, page: u32) {
        let usage = &self.frames.usage[frame.0 as usize];
        match self.policy.hit_kind() {
            HitKind::None => {}
            HitKind::SetBit => usage.set(usage.get().max(1)),
            HitKind::Count { max } => usage.set((usage.get() + 1).min(max.max(usage.get()))),
            HitKind::Stamp => self.frames.stamps[frame.0 as usize].set(self.frames.epoch.get()),
            HitKind::Append => {
                let page = PageId(u64::from(page));
                self.policy.on_hit(&self.frames, frame, page);
                while self.policy.has_surplus() && self.evict(Admission::default()) {}
            }
        }
    }

    fn fault(&mut self, page: u32, bytes: u32, hint: Hint) {
        let id = PageId(u64::from(page));
        let admission = self.policy.on_miss(id);
        while self.used + u64::from(bytes) > self.room {
            if !self.evict(admission) {
                // A miniature too small for one page.
                return;
            }
        }
        let frame = self.free.pop().unwrap_or_else(|| {
            self.frames.usage.push(Cell::new(0));
            self.frames.stamps.push(Cell::new(0));
            self.frames.bytes.push(0);
            self.frames.bytes.len() as u32 - 1
        });
        self.frames.bytes[frame as usize] = bytes;
        self.frames.stamps[frame as usize].set(self.frames.epoch.get());
        self.used += u64::from(bytes);
        self.resident += 1;
        self.frame_of[page as usize] = frame;
        self.policy
            .on_load(&self.frames, FrameIdx(frame), id, hint, admission);
        self.loads += 1;
        if self.loads > self.resident / 64 {
            self.loads = 0;
            self.frames.epoch.set(self.frames.epoch.get() + 1);
        }
    }

    fn evict(&mut self, admission: Admission) -> bool {
        let Some((frame, page)) = self.policy.evict(&mut self.frames, admission) else {
            return false;
        };
        self.frame_of[page.0 as usize] = NONE;
        self.used -= u64::from(self.frames.bytes[frame.0 as usize]);
        self.resident -= 1;
        self.free.push(frame.0);
        true
    }
}

#[cfg(test)]
mod tests;
