//! The simulated cache: plain arrays as [`Frames`] and the loop that plays a trace against one
//! policy.
//!
//! # How it works
//! Pages are dense indexes `0..unique`; one array maps a page to its frame. The loop is generic
//! over the policy, so every call is direct and hits of counter policies are inlined. A hit changes
//! the usage count, or calls the policy, as [`HitKind`] says; a fault in a full cache evicts first
//! ([`Policy::eviction_batch`] frames at once), then loads into the frame freed last.
//!
//! # Costs
//! 4 bytes a page of the trace and 13 bytes a frame, beside the policy's own.
//!
//! # Source
//! The definitions of hit and fault are those of the golden hit counts: one page per access, one
//! thread, no pins, an empty cache at the start.

use std::cell::Cell;

use crate::{Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// Marks a page that is not resident.
const NONE: u32 = u32::MAX;

/// Frames of a simulation: every frame weighs 1 and nothing is ever busy.
#[derive(Debug)]
pub struct ArrayFrames {
    usage: Box<[Cell<u8>]>,
    stamps: Box<[Cell<u32>]>,
    epoch: Cell<u32>,
    /// The transaction that used each frame last; empty where accesses have none.
    owners: Vec<u32>,
    /// Which transactions run, by number.
    running: Vec<bool>,
    /// Claims of pages of running transactions that are still to fail.
    pass_over: u32,
}

impl ArrayFrames {
    /// `frames` frames with usage 0.
    #[must_use]
    pub fn new(frames: usize) -> Self {
        Self {
            usage: vec![Cell::new(0); frames].into(),
            stamps: vec![Cell::new(0); frames].into(),
            epoch: Cell::new(0),
            owners: Vec::new(),
            running: Vec::new(),
            pass_over: 0,
        }
    }

    /// The page in `frame` is used by `transaction`, which runs.
    fn own(&mut self, frame: FrameIdx, transaction: u32) {
        if self.owners.is_empty() {
            self.owners = vec![0; self.usage.len()];
        }
        self.owners[frame.0 as usize] = transaction;
    }

    fn set_running(&mut self, transaction: u32, runs: bool) {
        let at = transaction as usize;
        if self.running.len() <= at {
            self.running.resize(at + 1, false);
        }
        // No transaction is one that never runs.
        self.running[at] = runs && transaction > 0;
    }

    fn is_running(&self, frame: FrameIdx) -> bool {
        let owner = self.owners.get(frame.0 as usize);
        owner.is_some_and(|owner| self.running[*owner as usize])
    }
}

impl Frames for ArrayFrames {
    fn frame_count(&self) -> usize {
        self.usage.len()
    }

    #[inline]
    fn usage(&self, frame: FrameIdx) -> u8 {
        self.usage[frame.0 as usize].get()
    }

    #[inline]
    fn set_usage(&self, frame: FrameIdx, usage: u8) {
        self.usage[frame.0 as usize].set(usage);
    }

    #[inline]
    fn stamp(&self, frame: FrameIdx) -> u32 {
        self.stamps[frame.0 as usize].get()
    }

    #[inline]
    fn epoch(&self) -> u32 {
        self.epoch.get()
    }

    #[inline]
    fn weight(&self, _: FrameIdx) -> u32 {
        1
    }

    #[inline]
    fn is_busy(&self, _: FrameIdx) -> bool {
        false
    }

    #[inline]
    fn try_claim(&mut self, frame: FrameIdx) -> Claim {
        if self.pass_over > 0 && self.is_running(frame) {
            self.pass_over -= 1;
            return Claim::Busy;
        }
        Claim::Claimed
    }

    fn pass_over_running(&mut self, pages: u32) {
        self.pass_over = pages;
    }
}

/// An access of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionAccess {
    /// The page.
    pub page: u32,
    /// How it is asked for.
    pub hint: Hint,
    /// The transaction's number; 0 for none.
    pub transaction: u32,
    /// Whether it is the transaction's last.
    pub ends: bool,
}

/// What a replay counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Accesses played.
    pub accesses: u64,
    /// Accesses that found their page resident.
    pub hits: u64,
    /// Pages evicted.
    pub evictions: u64,
}

/// A cache of `capacity` frames under one policy, fed access by access.
#[derive(Debug)]
pub struct Simulator<P> {
    policy: P,
    frames: ArrayFrames,
    /// Frame of every page, [`NONE`] when not resident.
    frame_of: Vec<u32>,
    /// Frames freed and not yet reused; the last one is next.
    free: Vec<u32>,
    /// Frames below this were used at least once.
    used: u32,
    /// Pages loaded since the coarse clock advanced.
    loads: u32,
    /// Page `i` is called `i << spacing` before the policy.
    spacing: u32,
    outcome: Outcome,
}

impl<P: Policy<ArrayFrames>> Simulator<P> {
    /// An empty cache for pages `0..unique`. The coarse clock of stamping policies advances, as the
    /// page cache's does, 64 times while as many pages are loaded as there are frames in use.
    #[must_use]
    pub fn new(policy: P, unique: usize, capacity: usize) -> Self {
        Self {
            policy,
            frames: ArrayFrames::new(capacity),
            frame_of: vec![NONE; unique],
            free: Vec::new(),
            used: 0,
            loads: 0,
            spacing: 0,
            outcome: Outcome::default(),
        }
    }

    /// The same with page `i` called `i << spacing` before the policy: the name that a page cache
    /// gives to page `i` of its first file where pages are `2^spacing` units long. To be set before
    /// the first access; only policies that hash names into something smaller can tell.
    #[must_use]
    pub fn spaced(mut self, spacing: u32) -> Self {
        self.spacing = spacing;
        self
    }

    #[inline]
    fn id(&self, page: u32) -> PageId {
        PageId(u64::from(page) << self.spacing)
    }

    /// Plays accesses in order, each with a hint for the case that it faults. A scan's accesses to
    /// resident pages do not count as use, but do as hits.
    pub fn replay_hinted(&mut self, accesses: impl IntoIterator<Item = (u32, Hint)>) {
        let kind = self.policy.hit_kind();
        for (page, hint) in accesses {
            let frame = self.frame_of[page as usize];
            if frame == NONE {
                self.fault(page, hint);
            } else {
                self.outcome.hits += 1;
                if hint == Hint::Normal {
                    self.hit(kind, FrameIdx(frame), page);
                }
            }
            self.outcome.accesses += 1;
        }
    }

    /// Plays accesses in order; a transaction runs from its first access until the one that ends
    /// it. A scan's accesses leave a page to the transaction that had it.
    pub fn replay_transactions(&mut self, accesses: impl IntoIterator<Item = TransactionAccess>) {
        for access in accesses {
            self.frames.set_running(access.transaction, true);
            self.replay_hinted([(access.page, access.hint)]);
            let frame = self.frame_of[access.page as usize];
            if access.hint == Hint::Normal {
                self.frames.own(FrameIdx(frame), access.transaction);
            }
            if access.ends {
                self.frames.set_running(access.transaction, false);
            }
        }
    }

    /// Plays accesses in order.
    pub fn replay(&mut self, pages: &[u32]) {
        let kind = self.policy.hit_kind();
        for &page in pages {
            let frame = self.frame_of[page as usize];
            if frame == NONE {
                self.fault(page, Hint::Normal);
            } else {
                self.outcome.hits += 1;
                self.hit(kind, FrameIdx(frame), page);
            }
        }
        self.outcome.accesses += pages.len() as u64;
    }

    #[inline]
    fn hit(&mut self, kind: HitKind, frame: FrameIdx, page: u32) {
        let at = frame.0 as usize;
        match kind {
            HitKind::None => {}
            HitKind::SetBit => {
                if self.frames.usage[at].get() == 0 {
                    self.frames.usage[at].set(1);
                }
            }
            HitKind::Count { max } => {
                let usage = self.frames.usage[at].get();
                if usage < max {
                    self.frames.usage[at].set(usage + 1);
                }
            }
            HitKind::Stamp => self.frames.stamps[at].set(self.frames.epoch.get()),
            HitKind::Append => {
                self.policy.on_hit(&self.frames, frame, self.id(page));
                while self.policy.has_surplus() && self.evict(crate::Admission::default()) {}
            }
        }
    }

    #[inline]
    fn advance_clock(&mut self) {
        self.loads += 1;
        if self.loads > self.used / 64 {
            self.loads = 0;
            self.frames.epoch.set(self.frames.epoch.get() + 1);
        }
    }

    #[inline]
    fn fault(&mut self, page: u32, hint: Hint) {
        let id = self.id(page);
        let admission = self.policy.on_miss(id);
        let capacity = self.frames.frame_count();
        if self.free.is_empty() && self.used as usize == capacity {
            for _ in 0..self.policy.eviction_batch(capacity) {
                if !self.evict(admission) {
                    break;
                }
            }
        }
        let frame = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            assert!(
                self.used as usize <= capacity,
                "no frame is free and none could be evicted"
            );
            self.used - 1
        });
        self.frame_of[page as usize] = frame;
        self.policy
            .on_load(&self.frames, FrameIdx(frame), id, hint, admission);
        self.advance_clock();
    }

    #[inline]
    fn evict(&mut self, admission: crate::Admission) -> bool {
        let Some((frame, page)) = self.policy.evict(&mut self.frames, admission) else {
            return false;
        };
        self.frame_of[(page.0 >> self.spacing) as usize] = NONE;
        self.free.push(frame.0);
        self.outcome.evictions += 1;
        true
    }

    /// Whether a page is in the cache now.
    #[must_use]
    pub fn is_resident(&self, page: u32) -> bool {
        self.frame_of[page as usize] != NONE
    }

    /// What was counted so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// What the policy tells about itself, by name.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        self.policy.figures()
    }

    /// Recounts the policy's structure, and that it and the cache agree on what is resident.
    ///
    /// # Errors
    /// A sentence naming what does not add up.
    pub fn check(&self) -> Result<(), String> {
        self.policy.check(&self.frames)?;
        let resident = self.frame_of.iter().filter(|&&frame| frame != NONE).count();
        let occupied = self.used as usize - self.free.len();
        if resident != occupied {
            return Err(format!(
                "{resident} pages are resident in {occupied} frames"
            ));
        }
        Ok(())
    }
}

/// Plays a whole trace against a policy in an empty cache.
pub fn replay<P: Policy<ArrayFrames>>(
    policy: P,
    pages: &[u32],
    unique: usize,
    capacity: usize,
) -> Outcome {
    let mut simulator = Simulator::new(policy, unique, capacity);
    simulator.replay(pages);
    simulator.outcome()
}
