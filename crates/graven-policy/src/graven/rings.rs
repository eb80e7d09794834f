//! Two rings of resident frames with a time, a kind and a credit each, in 16 bytes a frame.
//!
//! # How it works
//! Doubly linked rings as in [`crate::lists`], with everything packed into two words: page (49
//! bits) and the low bits of the time (15) in one; both links (26 bits each), the ring (1), the
//! kind on trial (4), the credit (3) and the high bits of the time (4) in the other. Sentinels come
//! first: frame `f` is node `f + 2`. A node that is on no ring links to itself.
//!
//! # Invariants
//! * GR-2 `next` and `prev` of neighbours agree; every node of a ring says so; lengths and weights
//!   are recounted.
//! * GR-3 pages are below 2^49 (a page cache's are: file in 9 bits, 40 bits of units), frames below
//!   2^26 - 2 (256 GiB of 4 KiB frames).
//!
//! # Costs
//! 16 bytes a frame.

use super::reuse_estimator::{KIND_BITS, Kind};
use crate::{FrameIdx, Frames, PageId};

const PAGE_BITS: u32 = 49;
const LINK_BITS: u32 = 26;
const LINK_MASK: u64 = (1 << LINK_BITS) - 1;
const RING_SHIFT: u32 = 2 * LINK_BITS;
const KIND_SHIFT: u32 = RING_SHIFT + 1;
const CREDIT_SHIFT: u32 = KIND_SHIFT + KIND_BITS;
const CREDIT_BITS: u32 = 3;
const TRIAL_MASK: u64 = ((1 << (KIND_BITS + CREDIT_BITS)) - 1) << KIND_SHIFT;
const HIGH_SHIFT: u32 = CREDIT_SHIFT + CREDIT_BITS;
const LOW_TIME_BITS: u32 = 64 - PAGE_BITS;
/// Times count modulo two to this power.
pub(super) const TIME_BITS: u32 = LOW_TIME_BITS + 64 - HIGH_SHIFT;
const SENTINELS: u32 = 2;

#[derive(Clone, Copy, Debug)]
struct Node {
    page: u64,
    links: u64,
}

impl Node {
    fn page(self) -> u64 {
        self.page & ((1 << PAGE_BITS) - 1)
    }

    fn prev(self) -> usize {
        (self.links & LINK_MASK) as usize
    }

    fn next(self) -> usize {
        (self.links >> LINK_BITS & LINK_MASK) as usize
    }

    fn ring(self) -> usize {
        (self.links >> RING_SHIFT & 1) as usize
    }

    fn set_prev(&mut self, prev: usize) {
        self.links = self.links & !LINK_MASK | prev as u64;
    }

    fn set_next(&mut self, next: usize) {
        self.links = self.links & !(LINK_MASK << LINK_BITS) | (next as u64) << LINK_BITS;
    }

    fn set_ring(&mut self, ring: usize) {
        self.links = self.links & !(1 << RING_SHIFT) | (ring as u64) << RING_SHIFT;
    }

    fn kind(self) -> Kind {
        Kind::from_number(self.links >> KIND_SHIFT)
    }

    fn credit(self) -> u8 {
        (self.links >> CREDIT_SHIFT & ((1 << CREDIT_BITS) - 1)) as u8
    }

    fn set_trial(&mut self, kind: Kind, credit: u8) {
        let credit = u64::from(credit) << CREDIT_SHIFT;
        self.links = self.links & !TRIAL_MASK | kind.number() << KIND_SHIFT | credit;
    }

    fn time(self) -> u32 {
        ((self.links >> HIGH_SHIFT) << LOW_TIME_BITS | self.page >> PAGE_BITS) as u32
    }

    fn set_time(&mut self, time: u32) {
        let (low, high) = (
            u64::from(time) & ((1 << LOW_TIME_BITS) - 1),
            u64::from(time) >> LOW_TIME_BITS,
        );
        self.page = self.page() | low << PAGE_BITS;
        self.links = self.links & ((1 << HIGH_SHIFT) - 1) | high << HIGH_SHIFT;
    }
}

/// The rings.
#[derive(Debug)]
pub(super) struct Rings {
    nodes: Vec<Node>,
    len: [usize; 2],
    weight: [u64; 2],
}

impl Rings {
    pub(super) fn new() -> Self {
        let mut rings = Self {
            nodes: Vec::new(),
            len: [0; 2],
            weight: [0; 2],
        };
        rings.grow(SENTINELS as usize);
        rings
    }

    /// Makes nodes, on no ring, up to `count`.
    fn grow(&mut self, count: usize) {
        assert!(
            count as u64 <= LINK_MASK,
            "GR-3: {count} frames are too many"
        );
        for at in self.nodes.len()..count {
            let mut node = Node { page: 0, links: 0 };
            node.set_prev(at);
            node.set_next(at);
            self.nodes.push(node);
        }
    }

    #[inline]
    fn at(frame: FrameIdx) -> usize {
        (frame.0 + SENTINELS) as usize
    }

    pub(super) fn len(&self, ring: usize) -> usize {
        self.len[ring]
    }

    pub(super) fn weight(&self, ring: usize) -> u64 {
        self.weight[ring]
    }

    pub(super) fn time(&self, frame: FrameIdx) -> u32 {
        self.nodes[Self::at(frame)].time()
    }

    pub(super) fn set_time(&mut self, frame: FrameIdx, time: u32) {
        self.nodes[Self::at(frame)].set_time(time);
    }

    /// The kind that the page is a trial of.
    #[inline]
    pub(super) fn kind(&self, frame: FrameIdx) -> Kind {
        self.nodes[Self::at(frame)].kind()
    }

    /// Uses that main remembers of the page, at most 7.
    #[inline]
    pub(super) fn credit(&self, frame: FrameIdx) -> u8 {
        self.nodes[Self::at(frame)].credit()
    }

    pub(super) fn set_trial(&mut self, frame: FrameIdx, kind: Kind, credit: u8) {
        self.nodes[Self::at(frame)].set_trial(kind, credit);
    }

    /// The oldest frame of a ring.
    #[inline]
    pub(super) fn back(&self, ring: usize) -> Option<FrameIdx> {
        let at = self.nodes[ring].prev() as u32;
        at.checked_sub(SENTINELS).map(FrameIdx)
    }

    /// The next newer frame of the same ring.
    pub(super) fn newer(&self, frame: FrameIdx) -> Option<FrameIdx> {
        let at = self.nodes[Self::at(frame)].prev() as u32;
        at.checked_sub(SENTINELS).map(FrameIdx)
    }

    #[inline]
    fn link(&mut self, ring: usize, at: usize) {
        let next = self.nodes[ring].next();
        self.nodes[ring].set_next(at);
        self.nodes[next].set_prev(at);
        let node = &mut self.nodes[at];
        node.set_prev(ring);
        node.set_next(next);
        node.set_ring(ring);
    }

    #[inline]
    fn unlink(&mut self, at: usize) {
        let node = self.nodes[at];
        self.nodes[node.prev()].set_next(node.next());
        self.nodes[node.next()].set_prev(node.prev());
    }

    /// Puts a newly loaded frame, on no trial, at the newest end of a ring.
    #[inline]
    pub(super) fn push_front(
        &mut self,
        ring: usize,
        frame: FrameIdx,
        page: PageId,
        time: u32,
        weight: u32,
    ) {
        let at = Self::at(frame);
        if at >= self.nodes.len() {
            self.grow(at + 1);
        }
        assert!(
            self.nodes[at].prev() == at,
            "GR-2: frame {} is loaded twice",
            frame.0
        );
        assert!(
            page.0 >> PAGE_BITS == 0,
            "GR-3: page {} is too large",
            page.0
        );
        self.nodes[at].page = page.0;
        self.nodes[at].set_time(time);
        self.nodes[at].set_trial(Kind::NONE, 0);
        self.link(ring, at);
        self.len[ring] += 1;
        self.weight[ring] += u64::from(weight);
    }

    /// Moves a frame to the newest end of a ring.
    #[inline]
    pub(super) fn move_front(&mut self, ring: usize, frame: FrameIdx, weight: u32) {
        let at = Self::at(frame);
        let old = self.nodes[at].ring();
        self.unlink(at);
        self.link(ring, at);
        if old != ring {
            self.len[old] -= 1;
            self.len[ring] += 1;
            self.weight[old] -= u64::from(weight);
            self.weight[ring] += u64::from(weight);
        }
    }

    /// Takes a frame off its ring; `None` when it is on none.
    #[inline]
    pub(super) fn remove(&mut self, frame: FrameIdx, weight: u32) -> Option<(usize, PageId)> {
        let at = Self::at(frame);
        let node = *self.nodes.get(at)?;
        if node.prev() == at {
            return None;
        }
        self.unlink(at);
        self.nodes[at].set_prev(at);
        self.nodes[at].set_next(at);
        let ring = node.ring();
        self.len[ring] -= 1;
        self.weight[ring] -= u64::from(weight);
        Some((ring, PageId(node.page())))
    }

    /// Recounts GR-2.
    pub(super) fn check<F: Frames + ?Sized>(&self, frames: &F) -> Result<(), String> {
        for ring in 0..SENTINELS as usize {
            let (mut len, mut weight) = (0, 0);
            let mut at = ring;
            loop {
                let next = self.nodes[at].next();
                if self.nodes[next].prev() != at {
                    return Err(format!("GR-2: node {next} does not point back to {at}"));
                }
                if next < SENTINELS as usize {
                    if next != ring {
                        return Err(format!("GR-2: ring {ring} runs into ring {next}"));
                    }
                    break;
                }
                if self.nodes[next].ring() != ring {
                    return Err(format!("GR-2: node {next} on ring {ring} says otherwise"));
                }
                len += 1;
                weight += u64::from(frames.weight(FrameIdx(next as u32 - SENTINELS)));
                at = next;
            }
            if (len, weight) != (self.len[ring], self.weight[ring]) {
                return Err(format!(
                    "GR-2: ring {ring} holds {len} frames of {weight}, counted {} of {}",
                    self.len[ring], self.weight[ring]
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: page, links, ring, kind, credit and time do not touch each other at their largest
    /// values.
    #[test]
    fn fields_are_apart() {
        let mut node = Node {
            page: (1 << PAGE_BITS) - 1,
            links: 0,
        };
        node.set_prev(LINK_MASK as usize);
        node.set_next(5);
        node.set_ring(1);
        node.set_time((1 << TIME_BITS) - 1);
        assert_eq!(
            (node.page(), node.prev(), node.next()),
            ((1 << PAGE_BITS) - 1, LINK_MASK as usize, 5)
        );
        assert_eq!((node.kind(), node.credit()), (Kind::NONE, 0));
        assert_eq!((node.ring(), node.time()), (1, (1 << TIME_BITS) - 1));
        node.set_time(1);
        node.set_next(LINK_MASK as usize);
        node.set_ring(0);
        node.set_trial(Kind::returned(9.0), 7);
        assert_eq!(
            (node.ring(), node.time(), node.prev(), node.next()),
            (0, 1, LINK_MASK as usize, LINK_MASK as usize)
        );
        assert_eq!((node.kind(), node.credit()), (Kind::returned(9.0), 7));
        node.set_trial(Kind::used(1), 0);
        assert_eq!((node.kind(), node.credit()), (Kind::used(1), 0));
        assert_eq!((node.ring(), node.time()), (0, 1));
        assert_eq!(size_of::<Node>(), 16);
    }
}
