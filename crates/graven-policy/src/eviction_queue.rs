//! Eviction queue with sequence numbers: LRU without unlinking.
//!
//! # How it works
//! Every use appends a node (frame, sequence number) to one queue and stores the number with the
//! frame. A node taken from the old end is stale when the frame has been used since, or emptied: it
//! is thrown away. Only the last node of a frame counts, so the victims are those of LRU. A frame
//! that is busy is appended again: its holder's unpin would do the same. When stale nodes outnumber
//! live ones three to one the queue is purged.
//!
//! # Invariants
//! * EQ-1 every resident frame has exactly one live node.
//! * EQ-2 the queue holds at most `4 * resident + 64` nodes after a purge is due.
//!
//! # Costs
//! 12 bytes a frame and 8 bytes a node (at most 4 nodes a frame); a hit appends one node; purging
//! is amortised over the hits that made the nodes stale.
//!
//! # Source
//! T. Neumann, M. Freitag, "Umbra: a disk-based system with in-memory performance", CIDR 2020, and
//! the buffer pools of DuckDB and Kuzu, which use the same queue.

use std::collections::VecDeque;

use crate::slots::Slots;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

#[derive(Clone, Copy, Debug)]
struct Node {
    frame: u32,
    sequence: u32,
}

/// The policy; see the head of this file.
#[derive(Debug, Default)]
pub struct EvictionQueue {
    slots: Slots,
    sequences: Vec<u32>,
    queue: VecDeque<Node>,
}

impl EvictionQueue {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[inline]
    fn is_live(&self, node: Node) -> bool {
        self.sequences[node.frame as usize] == node.sequence
            && self.slots.contains(FrameIdx(node.frame))
    }

    #[inline]
    fn enqueue(&mut self, frame: FrameIdx) {
        if self.queue.len() >= self.limit() {
            self.purge();
        }
        let sequence = self.sequences[frame.0 as usize].wrapping_add(1);
        self.sequences[frame.0 as usize] = sequence;
        self.queue.push_back(Node {
            frame: frame.0,
            sequence,
        });
    }

    fn limit(&self) -> usize {
        4 * self.slots.resident() + 64
    }

    #[cold]
    fn purge(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|&node| self.is_live(node));
        self.queue = queue;
    }
}

impl<F: Frames + ?Sized> Policy<F> for EvictionQueue {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        self.slots.insert(frame, page);
        if self.sequences.len() < self.slots.len() {
            self.sequences.resize(self.slots.len(), 0);
        }
        frames.set_usage(frame, 0);
        self.enqueue(frame);
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if self.slots.contains(frame) && self.slots.page(frame) == page {
            self.enqueue(frame);
        }
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        for _ in 0..self.queue.len() {
            let node = self.queue.pop_front()?;
            if !self.is_live(node) {
                continue;
            }
            let frame = FrameIdx(node.frame);
            if frames.try_claim(frame) == Claim::Claimed {
                return self.slots.remove(frame).map(|page| (frame, page));
            }
            self.enqueue(frame);
        }
        None
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.slots.remove(frame);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, _: &F) -> Result<(), String> {
        self.slots.check()?;
        let live = self
            .queue
            .iter()
            .filter(|&&node| self.is_live(node))
            .count();
        if live != self.slots.resident() {
            return Err(format!(
                "EQ-1: {live} live nodes for {} resident frames",
                self.slots.resident()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::ArrayFrames;

    /// Goal: EQ-2, the queue stays bounded under hits alone.
    #[test]
    fn hits_do_not_grow_the_queue_without_end() {
        let frames = ArrayFrames::new(2);
        let mut policy = EvictionQueue::new();
        for f in 0..2 {
            policy.on_load(
                &frames,
                FrameIdx(f),
                PageId(7),
                Hint::Normal,
                Admission::default(),
            );
        }
        for hit in 0..10_000 {
            policy.on_hit(&frames, FrameIdx(hit % 2), PageId(7));
            assert!(policy.queue.len() <= 4 * 2 + 64);
        }
        Policy::<ArrayFrames>::check(&policy, &frames).unwrap();
    }

    /// Goal: a frame that was emptied and filled again does not come back to life in its old place.
    #[test]
    fn refilled_frame_takes_its_new_place() {
        let mut frames = ArrayFrames::new(2);
        let mut policy = EvictionQueue::new();
        let load = |policy: &mut EvictionQueue, frames: &ArrayFrames, f, p| {
            policy.on_load(
                frames,
                FrameIdx(f),
                PageId(p),
                Hint::Normal,
                Admission::default(),
            );
        };
        load(&mut policy, &frames, 0, 10);
        load(&mut policy, &frames, 1, 11);
        policy.on_remove(&frames, FrameIdx(0), PageId(10));
        load(&mut policy, &frames, 0, 12);
        let order: Vec<_> = std::iter::from_fn(|| policy.evict(&mut frames, Admission::default()))
            .map(|(_, page)| page.0)
            .collect();
        assert_eq!(order, [11, 12]);
    }
}
