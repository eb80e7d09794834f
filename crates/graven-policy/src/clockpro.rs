//! CLOCK-Pro: one ring of hot, cold and remembered pages with three hands.
//!
//! # How it works
//! Resident pages are hot or cold; evicted cold pages stay on the ring as *test* entries, at most
//! as many as the capacity. The cold hand evicts a cold page without its bit and turns one with its
//! bit hot; the hot hand turns hot pages without their bit cold while there are more than the
//! target allows; the test hand removes test entries, and where the hot hand comes upon it, it goes
//! one entry ahead: a page that is colder than the hot ones the hot hand looks at has had its time.
//! A fault on a test entry raises the target of cold pages by one and loads the page hot; a test
//! entry removed unused lowers it by one. New pages enter behind the hot hand.
//!
//! With `adapt=utility` the target moves as in CLOCK-Pro+. A fault on a test entry would have been
//! a hit with one more cold page, and there are `Cn` such entries; a hit on a cold page that was
//! hot before would have found it hot with one more hot page, and there are `Cd` of those. So the
//! first raises the target of cold pages by `min(1, Cd / Cn)`, the second lowers it by
//! `min(1, Cn / Cd)`, and a test entry that is removed unused says nothing.
//!
//! # Invariants
//! * CP-1 the weights of hot, cold, test and demoted entries are those of the ring, test at most
//!   the capacity; demoted entries are cold.
//!
//! # Costs
//! 32 bytes a page, resident or remembered, and 8 to 16 bytes of index a remembered one; a hit
//! stores one bit.
//!
//! # Source
//! S. Jiang, F. Chen, X. Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement",
//! USENIX ATC 2005; C. Li, "CLOCK-Pro+: improving CLOCK-Pro cache replacement with utility-driven
//! adaptation", SYSTOR 2019, as section 2.4.7 of T. Elding Larsson, L. Gustavsson, master's thesis,
//! Lund University, 2021, tells it.
//!
//! # Deviations
//! Only the test hand ends test periods, of pages that are not resident. The test hand passes the
//! cold hand instead of pushing it ahead, so that one call evicts one page. The thesis prints
//! `Cd / Cn` for both directions; its own argument, and the symmetry of the two utilities, give
//! `Cn / Cd` for the second. The thesis's listing A.4 is `thesis-clockpro`.

use crate::page_index::PageIndex;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const NIL: u32 = u32::MAX;
/// The page was a test entry.
const RETURNING: Admission = Admission(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Hot,
    Cold,
    Test,
    Free,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    page: u64,
    prev: u32,
    next: u32,
    frame: u32,
    weight: u32,
    state: State,
    /// It was hot, and is cold now.
    demoted: bool,
}

/// How the target of cold pages moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adapt {
    /// By one page: CLOCK-Pro.
    Unit,
    /// By the ratio of two utilities: CLOCK-Pro+.
    Utility,
}

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct ClockPro {
    nodes: Vec<Node>,
    free: Vec<u32>,
    node_of: Vec<u32>,
    index: PageIndex,
    hand_hot: u32,
    hand_cold: u32,
    hand_test: u32,
    capacity: u64,
    adapt: Adapt,
    cold_target: f64,
    /// Weights by state: hot, cold, test.
    weights: [u64; 3],
    /// Weight of cold pages that were hot.
    demoted: u64,
    entries: usize,
}

impl ClockPro {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(adapt: Adapt, capacity: u64) -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            node_of: Vec::new(),
            index: PageIndex::new(),
            hand_hot: NIL,
            hand_cold: NIL,
            hand_test: NIL,
            capacity,
            adapt,
            cold_target: capacity as f64,
            weights: [0; 3],
            demoted: 0,
            entries: 0,
        }
    }

    fn weight(&self, state: State) -> u64 {
        self.weights[state as usize]
    }

    fn set_demoted(&mut self, node: u32, demoted: bool) {
        let entry = &mut self.nodes[node as usize];
        let weight = u64::from(entry.weight);
        match (entry.demoted, demoted) {
            (false, true) => self.demoted += weight,
            (true, false) => self.demoted -= weight,
            _ => {}
        }
        entry.demoted = demoted;
    }

    /// Moves the target of cold pages by so much, within one and the capacity.
    fn move_target(&mut self, by: f64) {
        self.cold_target = (self.cold_target + by).clamp(1.0, self.capacity.max(1) as f64);
    }

    /// A fault on a test entry, which is still on the ring.
    fn test_used(&mut self, weight: f64) {
        let utility = match self.adapt {
            Adapt::Unit => 1.0,
            Adapt::Utility => (self.demoted as f64 / self.weight(State::Test) as f64).min(1.0),
        };
        self.move_target(weight * utility);
    }

    /// A cold page that was hot is used.
    fn demoted_used(&mut self, weight: f64) {
        if self.adapt == Adapt::Utility {
            let utility = (self.weight(State::Test) as f64 / self.demoted as f64).min(1.0);
            self.move_target(-weight * utility);
        }
    }

    fn set_state(&mut self, node: u32, state: State) {
        let entry = &mut self.nodes[node as usize];
        self.weights[entry.state as usize] -= u64::from(entry.weight);
        self.weights[state as usize] += u64::from(entry.weight);
        entry.state = state;
    }

    /// Puts a page on the ring, just behind the hot hand.
    fn insert(&mut self, page: PageId, frame: FrameIdx, weight: u32, state: State) {
        let entry = Node {
            page: page.0,
            prev: NIL,
            next: NIL,
            frame: frame.0,
            weight,
            state,
            demoted: false,
        };
        let node = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(entry);
            self.nodes.len() as u32 - 1
        });
        self.nodes[node as usize] = entry;
        if self.hand_hot == NIL {
            self.nodes[node as usize].prev = node;
            self.nodes[node as usize].next = node;
            (self.hand_hot, self.hand_cold, self.hand_test) = (node, node, node);
        } else {
            let (next, prev) = (self.hand_hot, self.nodes[self.hand_hot as usize].prev);
            self.nodes[node as usize].prev = prev;
            self.nodes[node as usize].next = next;
            self.nodes[prev as usize].next = node;
            self.nodes[next as usize].prev = node;
            if self.hand_cold == self.hand_hot {
                self.hand_cold = node;
            }
        }
        self.weights[state as usize] += u64::from(weight);
        self.node_of[frame.0 as usize] = node;
        self.entries += 1;
    }

    /// Takes an entry off the ring; hands on it step on.
    fn remove(&mut self, node: u32) {
        self.set_demoted(node, false);
        let Node {
            page,
            prev,
            next,
            weight,
            state,
            ..
        } = self.nodes[node as usize];
        if state == State::Test {
            self.index
                .remove(PageId(page), |node| self.nodes[node as usize].page);
        }
        let fallback = if next == node { NIL } else { next };
        for hand in [&mut self.hand_hot, &mut self.hand_cold, &mut self.hand_test] {
            if *hand == node {
                *hand = fallback;
            }
        }
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
        self.weights[state as usize] -= u64::from(weight);
        self.nodes[node as usize].state = State::Free;
        self.free.push(node);
        self.entries -= 1;
    }

    /// Advances the test hand by one entry, which is removed if its page is not resident.
    fn run_test_hand(&mut self) {
        let node = self.hand_test;
        if self.nodes[node as usize].state == State::Test {
            self.expire(node);
        } else {
            self.hand_test = self.nodes[node as usize].next;
        }
    }

    /// Removes a test entry that was not used in its time.
    fn expire(&mut self, node: u32) {
        if self.adapt == Adapt::Unit {
            self.move_target(-f64::from(self.nodes[node as usize].weight));
        }
        self.remove(node);
    }

    /// Removes test entries while they weigh more than the capacity.
    fn limit_test(&mut self) {
        while self.weight(State::Test) > self.capacity {
            self.run_test_hand();
        }
    }

    /// Advances the hot hand by one entry; where it meets the test hand, that one goes first.
    fn run_hot_hand<F: Frames + ?Sized>(&mut self, frames: &F) {
        if self.hand_hot == self.hand_test {
            self.run_test_hand();
        }
        let node = self.hand_hot;
        let Node {
            frame, next, state, ..
        } = self.nodes[node as usize];
        if state == State::Hot && !frames.is_busy(FrameIdx(frame)) {
            if frames.usage(FrameIdx(frame)) > 0 {
                frames.set_usage(FrameIdx(frame), 0);
            } else {
                self.set_state(node, State::Cold);
                self.set_demoted(node, true);
            }
        }
        self.hand_hot = next;
    }

    /// Turns hot pages cold while there are more than the target allows; takes its steps from
    /// `budget`.
    fn limit_hot<F: Frames + ?Sized>(&mut self, frames: &F, budget: &mut usize) {
        while self.weight(State::Hot) as f64 > self.capacity as f64 - self.cold_target
            && *budget > 0
        {
            *budget -= 1;
            self.run_hot_hand(frames);
        }
    }

    /// Turns a claimed page into a test entry.
    fn retire(&mut self, node: u32) -> (FrameIdx, PageId) {
        let Node { page, frame, .. } = self.nodes[node as usize];
        self.node_of[frame as usize] = NIL;
        self.set_demoted(node, false);
        self.set_state(node, State::Test);
        self.index
            .insert(PageId(page), node, |node| self.nodes[node as usize].page);
        self.limit_test();
        (FrameIdx(frame), PageId(page))
    }

    fn resident(&self, frame: FrameIdx) -> Option<u32> {
        self.node_of
            .get(frame.0 as usize)
            .copied()
            .filter(|&node| node != NIL)
    }
}

impl<F: Frames + ?Sized> Policy<F> for ClockPro {
    fn hit_kind(&self) -> HitKind {
        HitKind::SetBit
    }

    fn on_miss(&mut self, page: PageId) -> Admission {
        let Some(node) = self.index.find(page, |node| self.nodes[node as usize].page) else {
            return Admission::default();
        };
        self.test_used(f64::from(self.nodes[node as usize].weight));
        self.remove(node);
        RETURNING
    }

    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        hint: Hint,
        admission: Admission,
    ) {
        let at = frame.0 as usize;
        if at >= self.node_of.len() {
            self.node_of.resize(at + 1, NIL);
        }
        assert!(self.node_of[at] == NIL, "CP-1: frame {at} is loaded twice");
        let hot = admission == RETURNING && hint != Hint::Scan;
        let state = if hot { State::Hot } else { State::Cold };
        frames.set_usage(frame, 0);
        self.insert(page, frame, frames.weight(frame), state);
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let mut budget = 4 * self.entries;
        for _ in 0..3 * self.entries {
            let node = self.hand_cold;
            let Node {
                frame, next, state, ..
            } = self.nodes[node as usize];
            let frame = FrameIdx(frame);
            self.hand_cold = next;
            let mut victim = None;
            if state == State::Cold && !frames.is_busy(frame) {
                if frames.usage(frame) > 0 {
                    frames.set_usage(frame, 0);
                    if self.nodes[node as usize].demoted {
                        self.demoted_used(f64::from(self.nodes[node as usize].weight));
                        self.set_demoted(node, false);
                    }
                    self.set_state(node, State::Hot);
                } else if frames.try_claim(frame) == Claim::Claimed {
                    victim = Some(self.retire(node));
                }
            }
            self.limit_hot(frames, &mut budget);
            if victim.is_some() {
                return victim;
            }
        }
        // Every cold page is busy: take any page that is not.
        let mut nodes = (0..self.node_of.len()).filter_map(|f| self.resident(FrameIdx(f as u32)));
        let node = nodes.find(|&node| {
            frames.try_claim(FrameIdx(self.nodes[node as usize].frame)) == Claim::Claimed
        })?;
        Some(self.retire(node))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        if let Some(node) = self.resident(frame) {
            self.node_of[frame.0 as usize] = NIL;
            self.remove(node);
        }
    }

    fn forget(&mut self, page: PageId) {
        if let Some(node) = self.index.find(page, |node| self.nodes[node as usize].page) {
            self.remove(node);
        }
    }

    fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.move_target(0.0);
        self.limit_test();
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        vec![("target_share_cold", self.cold_target / self.capacity as f64)]
    }

    fn check(&self, _: &F) -> Result<(), String> {
        let mut weights = [0; 3];
        let mut demoted = 0;
        let mut entries = 0;
        let mut at = self.hand_hot;
        while at != NIL && entries <= self.entries {
            let node = self.nodes[at as usize];
            if node.state == State::Free || self.nodes[node.next as usize].prev != at {
                return Err(format!("CP-1: entry {at} is not properly on the ring"));
            }
            weights[node.state as usize] += u64::from(node.weight);
            demoted += u64::from(node.weight) * u64::from(node.demoted);
            entries += 1;
            at = node.next;
            if at == self.hand_hot {
                break;
            }
        }
        if demoted != self.demoted {
            let counted = self.demoted;
            return Err(format!(
                "CP-1: demoted pages of {demoted}, counted {counted}"
            ));
        }
        if weights != self.weights || entries != self.entries {
            return Err(format!(
                "CP-1: {entries} entries of {weights:?}, counted {:?}",
                self.weights
            ));
        }
        if self.weight(State::Test) > self.capacity {
            return Err(format!(
                "PO-5: test entries of {}",
                self.weight(State::Test)
            ));
        }
        Ok(())
    }
}
