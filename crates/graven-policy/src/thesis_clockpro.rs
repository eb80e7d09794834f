//! CLOCK-Pro as a thesis put it into Neo4j: on a slot array, hot pages capped at 5 % or another
//! share.
//!
//! # How it works
//! Slots hold resident pages, each hot or cold, in its test period or not; a slot may also remember
//! the page that was evicted from it. The cold arm clears bits: a cold page in its test period
//! whose bit was set turns hot, one without its bit is evicted and, if in its test period,
//! remembered by the slot. The hot arm turns a hot page without its bit cold and ends test periods
//! on its way; the test arm drops remembered pages. A remembered page that faults again loads hot.
//!
//! The number of hot pages starts at 1 % of the frames. `adaptive` moves it by one (down when a
//! cold page is hit in its test period or a remembered page returns, up when a test period ends
//! without use) and `plus` by the ratio of demoted to remembered pages, both within 0 to `cap`
//! percent of the frames (5 in the thesis).
//!
//! # Invariants
//! * TC-1 every remembered page is remembered by exactly one slot, at most as many as the capacity.
//!
//! # Costs
//! 21 bytes a frame and 8 to 16 bytes of index a remembered page; a hit stores one bit (`adaptive`:
//! a call).
//!
//! # Source
//! T. Elding Larsson, L. Gustavsson, "Cache replacement policies and their impact on graph database
//! operations", master's thesis, Lund University, 2021, listings A.3, A.4 and B.5; after S. Jiang,
//! F. Chen, X. Zhang, USENIX ATC 2005, and C. Li, "CLOCK-Pro+", SYSTOR 2019.
//!
//! # Deviations
//! The listings forget to clear the right slot's note when a remembered page returns and would spin
//! on it; here the note is dropped with its page. Sizes count as pages.

use crate::page_index::PageIndex;
use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// How the number of hot pages moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hot {
    /// Not at all.
    Fixed,
    /// By one.
    Adaptive,
    /// By the ratio of demoted to remembered pages.
    Plus,
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    /// The page remembered by this slot, valid if `remembers`.
    note: u64,
    remembers: bool,
    hot: bool,
    test: bool,
    demoted: bool,
}

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct ThesisClockPro {
    mode: Hot,
    slots: Slots,
    state: Vec<Slot>,
    index: PageIndex,
    cold_arm: usize,
    hot_arm: usize,
    test_arm: usize,
    hot_pages: usize,
    demoted_pages: usize,
    hot_limit: f64,
    /// Largest share of hot pages that the limit may move to, in percent of the slots.
    cap: u8,
}

impl ThesisClockPro {
    /// An empty cache of `capacity` pages, of which at most `cap` percent become hot.
    #[must_use]
    pub fn new(mode: Hot, cap: u8, capacity: u64) -> Self {
        Self {
            mode,
            slots: Slots::default(),
            state: Vec::new(),
            index: PageIndex::new(),
            cold_arm: 0,
            hot_arm: 0,
            test_arm: 0,
            hot_pages: 0,
            demoted_pages: 0,
            hot_limit: (capacity / 100).max(1) as f64,
            cap,
        }
    }

    /// Moves the number of hot pages, within 0 and the cap.
    fn move_limit(&mut self, by: f64) {
        let highest = (self.slots.len() * usize::from(self.cap) / 100).max(1) as f64;
        self.hot_limit = (self.hot_limit + by).clamp(0.0, highest);
    }

    fn too_many_hot(&self) -> bool {
        self.hot_pages as f64 > self.hot_limit
    }

    fn drop_note(&mut self, slot: usize) -> bool {
        if !self.state[slot].remembers {
            return false;
        }
        let page = PageId(self.state[slot].note);
        self.index
            .remove(page, |slot| self.state[slot as usize].note);
        self.state[slot].remembers = false;
        true
    }

    fn set_hot(&mut self, slot: usize, hot: bool) {
        if self.state[slot].hot != hot {
            self.state[slot].hot = hot;
            self.hot_pages = if hot {
                self.hot_pages + 1
            } else {
                self.hot_pages - 1
            };
        }
    }

    fn set_demoted(&mut self, slot: usize, demoted: bool) {
        if self.state[slot].demoted != demoted {
            self.state[slot].demoted = demoted;
            self.demoted_pages = if demoted {
                self.demoted_pages + 1
            } else {
                self.demoted_pages - 1
            };
        }
    }

    /// Ends the test period of a slot's page; unused cold pages raise the adaptive limit.
    fn end_test<F: Frames + ?Sized>(&mut self, frames: &F, slot: usize) {
        if !self.state[slot].test {
            return;
        }
        self.state[slot].test = false;
        let unused = !self.state[slot].hot && frames.usage(FrameIdx(slot as u32)) == 0;
        if self.mode == Hot::Adaptive && unused {
            self.move_limit(1.0);
        }
    }

    /// Turns the hot arm until one hot page turned cold; at most twice around.
    fn move_hot_arm<F: Frames + ?Sized>(&mut self, frames: &F) {
        let around = self.slots.len();
        for _ in 0..2 * around {
            let slot = self.hot_arm % around;
            self.hot_arm = slot + 1;
            let frame = FrameIdx(slot as u32);
            let mut demoted = false;
            if self.state[slot].hot && !frames.is_busy(frame) {
                demoted = frames.usage(frame) == 0;
                frames.set_usage(frame, 0);
                if demoted {
                    self.set_hot(slot, false);
                    self.set_demoted(slot, true);
                }
            }
            self.end_test(frames, slot);
            if self.drop_note(slot) && self.mode == Hot::Adaptive {
                self.move_limit(1.0);
            }
            if demoted {
                return;
            }
        }
    }

    /// Turns the test arm until one remembered page is dropped; at most once around.
    fn move_test_arm<F: Frames + ?Sized>(&mut self, frames: &F) {
        let around = self.slots.len();
        for _ in 0..around {
            let slot = self.test_arm % around;
            self.test_arm = slot + 1;
            let dropped = self.drop_note(slot);
            if dropped && self.mode == Hot::Adaptive {
                self.move_limit(1.0);
            }
            self.end_test(frames, slot);
            if dropped {
                return;
            }
        }
    }

    /// Empties a slot; a page in its test period is remembered there.
    fn retire<F: Frames + ?Sized>(
        &mut self,
        frames: &F,
        frame: FrameIdx,
    ) -> Option<(FrameIdx, PageId)> {
        let slot = frame.0 as usize;
        let page = self.slots.remove(frame)?;
        let in_test = self.state[slot].test;
        self.clear(slot);
        if in_test {
            self.drop_note(slot);
            self.state[slot].note = page.0;
            self.state[slot].remembers = true;
            self.index
                .insert(page, slot as u32, |slot| self.state[slot as usize].note);
            if self.index.len() > self.slots.len() {
                self.move_test_arm(frames);
            }
        }
        Some((frame, page))
    }

    fn clear(&mut self, slot: usize) {
        self.state[slot].test = false;
        self.set_hot(slot, false);
        self.set_demoted(slot, false);
    }
}

impl<F: Frames + ?Sized> Policy<F> for ThesisClockPro {
    fn hit_kind(&self) -> HitKind {
        if self.mode == Hot::Adaptive {
            HitKind::Append
        } else {
            HitKind::SetBit
        }
    }

    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let slot = frame.0 as usize;
        self.slots.insert(frame, page);
        if self.state.len() < self.slots.len() {
            self.state.resize(self.slots.len(), Slot::default());
        }
        frames.set_usage(frame, 0);
        self.state[slot].test = hint == Hint::Normal;
        let Some(noted) = self.index.find(page, |slot| self.state[slot as usize].note) else {
            return;
        };
        let remembered = self.index.len() as f64;
        self.drop_note(noted as usize);
        match self.mode {
            Hot::Fixed => {}
            Hot::Adaptive => self.move_limit(-1.0),
            Hot::Plus => self.move_limit(-(self.demoted_pages as f64 / remembered).min(1.0)),
        }
        self.set_hot(slot, true);
        if self.too_many_hot() {
            self.move_hot_arm(frames);
        }
    }

    fn on_hit(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        if !self.slots.contains(frame) || self.slots.page(frame) != page {
            return;
        }
        frames.set_usage(frame, 1);
        let slot = self.state[frame.0 as usize];
        if slot.test && !slot.hot {
            self.move_limit(-1.0);
        }
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        for _ in 0..3 * self.slots.resident() {
            let slot = self.slots.next_resident(self.cold_arm)?;
            self.cold_arm = slot + 1;
            let frame = FrameIdx(slot as u32);
            if self.state[slot].hot || frames.is_busy(frame) {
                continue;
            }
            if frames.usage(frame) == 0 {
                if frames.try_claim(frame) == Claim::Claimed {
                    return self.retire(frames, frame);
                }
                continue;
            }
            frames.set_usage(frame, 0);
            if self.mode == Hot::Plus && self.state[slot].demoted {
                let remembered = self.index.len() as f64;
                self.move_limit((remembered / self.demoted_pages as f64).min(1.0));
                self.set_demoted(slot, false);
            }
            if self.state[slot].test {
                self.set_hot(slot, true);
                if self.too_many_hot() {
                    self.move_hot_arm(frames);
                }
            }
        }
        // Every cold page is busy, or every page is hot: take any that is not busy.
        let mut from = self.cold_arm;
        for _ in 0..self.slots.resident() {
            let slot = self.slots.next_resident(from)?;
            from = slot + 1;
            if frames.try_claim(FrameIdx(slot as u32)) == Claim::Claimed {
                return self.retire(frames, FrameIdx(slot as u32));
            }
        }
        None
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        if self.slots.remove(frame).is_some() {
            self.clear(frame.0 as usize);
        }
    }

    fn forget(&mut self, page: PageId) {
        if let Some(slot) = self.index.find(page, |slot| self.state[slot as usize].note) {
            self.drop_note(slot as usize);
        }
    }

    fn resize(&mut self, _: u64) {}

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("hot_limit", self.hot_limit),
            ("hot_pages", self.hot_pages as f64),
        ]
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.slots.check()?;
        let count = |of: fn(&Slot) -> bool| self.state.iter().filter(|slot| of(slot)).count();
        let counted = [
            count(|s| s.remembers),
            count(|s| s.hot),
            count(|s| s.demoted),
        ];
        let kept = [self.index.len(), self.hot_pages, self.demoted_pages];
        if counted != kept {
            return Err(format!(
                "TC-1: remembered, hot, demoted are {counted:?}, kept {kept:?}"
            ));
        }
        let empty_but_hot = (0..self.state.len())
            .any(|slot| self.state[slot].hot && !self.slots.contains(FrameIdx(slot as u32)));
        if empty_but_hot {
            Err("TC-1: an empty slot is hot".to_string())
        } else {
            Ok(())
        }
    }
}
