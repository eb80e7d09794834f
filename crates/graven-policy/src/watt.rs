//! WATT: of a random sample, the page used least often in any of the spans that its timestamps mark
//! leaves.
//!
//! # How it works
//! A hit stores the coarse time in the frame's stamp, nothing else. Every page has the times of its
//! last uses, newest first. Its value is the largest of `i / (now - t_i)` over the `i`-th last use:
//! how often it was used per time, over the span that speaks best for it, so that a burst long ago
//! weighs little and steady use a lot. An eviction looks at a few random pages, writes down the
//! stamps it finds, and takes the one of the least value.
//!
//! Scanned pages and pages read ahead have no use to their name until they are hit.
//!
//! # Invariants
//! * WA-1 every slot has a history; times of a history do not increase.
//!
//! # Costs
//! 8 bytes and 1 bit a frame for its page, 40 for its history, and the stamp of 4; a hit stores a
//! stamp if the coarse clock moved since the last; an eviction costs a random look for each page of
//! the sample.
//!
//! # Source
//! D. Voehringer, V. Leis, "Write-aware timestamp tracking: effective and efficient page
//! replacement for modern hardware", PVLDB 16(11), 2023.
//!
//! # Deviations
//! A use is noted when a sample meets its page, so uses between two samplings count once; a coarse
//! tick is 1/64 of as many loads as there are frames. Writes have no times of their own: the cache
//! answers that a dirty page is busy.

use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use graven_types::rng::SplitMix64;

/// Most uses remembered.
pub const USES_MAX: usize = 8;
/// Largest sample.
pub const SAMPLE_MAX: usize = 32;

/// Times of a page's last uses.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    /// Newest first.
    times: [u32; USES_MAX],
    uses: u8,
    /// Stamps up to this are noted, or were another page's.
    noted: u32,
}

impl History {
    fn note(&mut self, time: u32) {
        self.times.copy_within(..USES_MAX - 1, 1);
        self.times[0] = time;
        self.uses = (self.uses + 1).min(USES_MAX as u8);
        self.noted = time;
    }

    fn value(&self, uses: usize, now: u32) -> f32 {
        let times = &self.times[..usize::from(self.uses).min(uses)];
        let rate = |(i, &time): (usize, &u32)| (i + 1) as f32 / (now.wrapping_sub(time) + 1) as f32;
        times.iter().enumerate().map(rate).fold(0.0, f32::max)
    }
}

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Watt {
    /// Uses remembered.
    uses: usize,
    /// Pages an eviction looks at.
    sample: usize,
    slots: Slots,
    histories: Vec<History>,
    rng: SplitMix64,
}

impl Watt {
    /// An empty cache that remembers `uses` (1..=8) times of a page and looks at `sample` (1..=32)
    /// of them to evict.
    ///
    /// # Panics
    /// When one of them is out of range.
    #[must_use]
    pub fn new(uses: usize, sample: usize, seed: u64) -> Self {
        assert!((1..=USES_MAX).contains(&uses), "{uses} uses, not 1..=8");
        assert!(
            (1..=SAMPLE_MAX).contains(&sample),
            "a sample of {sample}, not 1..=32"
        );
        Self {
            uses,
            sample,
            slots: Slots::default(),
            histories: Vec::new(),
            rng: SplitMix64::new(seed),
        }
    }

    /// The value of the page in a resident slot, after noting its stamp.
    fn value<F: Frames + ?Sized>(&mut self, frames: &F, slot: usize) -> f32 {
        let (now, stamp) = (frames.epoch(), frames.stamp(FrameIdx(slot as u32)));
        let history = &mut self.histories[slot];
        if stamp > history.noted {
            history.note(stamp);
        }
        history.value(self.uses, now)
    }

    fn take<F: Frames + ?Sized>(
        &mut self,
        frames: &mut F,
        slot: usize,
    ) -> Option<(FrameIdx, PageId)> {
        let frame = FrameIdx(slot as u32);
        if !self.slots.contains(frame) || frames.try_claim(frame) == Claim::Busy {
            return None;
        }
        self.slots.remove(frame).map(|page| (frame, page))
    }
}

impl<F: Frames + ?Sized> Policy<F> for Watt {
    fn hit_kind(&self) -> HitKind {
        HitKind::Stamp
    }

    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        self.slots.insert(frame, page);
        if self.histories.len() < self.slots.len() {
            self.histories.resize(self.slots.len(), History::default());
        }
        let mut history = History {
            noted: frames.epoch(),
            ..History::default()
        };
        if hint == Hint::Normal {
            history.note(frames.epoch());
        }
        self.histories[frame.0 as usize] = history;
        frames.set_usage(frame, 0);
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let mut sample = [(0.0, 0); SAMPLE_MAX];
        let sample = &mut sample[..self.sample];
        for place in sample.iter_mut() {
            let slot = self.rng.place(self.slots.len().max(1));
            let slot = self.slots.next_resident(slot)?;
            *place = (self.value(frames, slot), slot);
        }
        sample.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        if let Some(victim) = sample.iter().find_map(|place| self.take(frames, place.1)) {
            return Some(victim);
        }
        // The whole sample is busy.
        let mut at = sample[0].1;
        for _ in 0..self.slots.resident() {
            let slot = self.slots.next_resident(at)?;
            if let Some(victim) = self.take(frames, slot) {
                return Some(victim);
            }
            at = slot + 1;
        }
        None
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.slots.remove(frame);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, _: &F) -> Result<(), String> {
        self.slots.check()?;
        if self.histories.len() < self.slots.len() {
            return Err(format!(
                "WA-1: {} histories for {} slots",
                self.histories.len(),
                self.slots.len()
            ));
        }
        let ordered = |history: &History| {
            let times = &history.times[..usize::from(history.uses)];
            times.is_sorted_by(|newer, older| newer >= older)
        };
        match self.histories.iter().position(|history| !ordered(history)) {
            Some(slot) => Err(format!("WA-1: the times of slot {slot} increase")),
            None => Ok(()),
        }
    }
}
