//! LIRS: pages with a short distance between their last two uses keep their frames.
//!
//! # How it works
//! Stack S orders pages by last use; queue Q holds the resident pages that are not protected (HIR).
//! The others (LIR) get all but 1 % of the capacity. A HIR page that is used while in S has proven
//! a distance shorter than the oldest LIR page's: they change roles. S is pruned so that its bottom
//! is always LIR. Evicted HIR pages stay in S as ghosts.
//!
//! ```text
//!   new page --> HIR in S and Q --evict--> ghost in S --use--> LIR (demotes the bottom of S to Q)
//!                     \--use while in S--> LIR                  ghost --pruned or too many--> gone
//! ```
//!
//! # Invariants
//! * LR-1 the bottom of S is LIR (or S is empty); every LIR page is in S; Q holds exactly the
//!   resident HIR pages.
//! * LR-2 ghosts are in S and weigh at most `ghosts` times the capacity.
//!
//! # Costs
//! 40 bytes a page, resident or ghost, and 8 to 16 bytes of index a ghost; a hit moves one or two
//! nodes.
//!
//! # Source
//! S. Jiang, X. Zhang, "LIRS: an efficient low inter-reference recency set replacement policy",
//! SIGMETRICS 2002.
//!
//! # Deviations
//! Ghosts are bounded (by default 3 times the capacity, oldest eviction first): the paper's stack
//! grows with the trace. With 2 times it loses up to 4 points of hit ratio in caches of some tens
//! of pages, with 3 times less than 1.5.

use crate::page_index::PageIndex;
use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// Rings through sentinels: node 0 for S (link 0) and Q (link 1), node 1 for the ghosts by age
/// (link 1).
const S: usize = 0;
const Q: usize = 1;
const GHOSTS: u32 = 1;
const SENTINELS: usize = 2;
const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Lir,
    Hir,
    Ghost,
    Free,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    page: u64,
    /// `[S, Q]`: neighbours, newest first; `NIL` when not on that ring.
    prev: [u32; 2],
    next: [u32; 2],
    frame: u32,
    weight: u32,
    state: State,
}

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Lirs {
    nodes: Vec<Node>,
    free: Vec<u32>,
    /// Node of every frame.
    node_of: Vec<u32>,
    index: PageIndex,
    ghost_factor: u64,
    capacity: u64,
    lir_limit: u64,
    lir_weight: u64,
    ghost_weight: u64,
}

impl Lirs {
    /// An empty cache of `capacity` with ghosts of up to `ghosts` times that.
    #[must_use]
    pub fn new(ghosts: u64, capacity: u64) -> Self {
        let sentinel = |at: u32| Node {
            page: 0,
            prev: [at; 2],
            next: [at; 2],
            frame: NIL,
            weight: 0,
            state: State::Free,
        };
        let mut policy = Self {
            nodes: vec![sentinel(0), sentinel(GHOSTS)],
            free: Vec::new(),
            node_of: Vec::new(),
            index: PageIndex::new(),
            ghost_factor: ghosts,
            capacity: 0,
            lir_limit: 0,
            lir_weight: 0,
            ghost_weight: 0,
        };
        policy.set_capacity(capacity);
        policy
    }

    fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.lir_limit = capacity - (capacity / 100).max(1).min(capacity);
    }

    #[inline]
    fn link(&mut self, ring: usize, node: u32, sentinel: u32) {
        let next = self.nodes[sentinel as usize].next[ring];
        self.nodes[sentinel as usize].next[ring] = node;
        self.nodes[next as usize].prev[ring] = node;
        self.nodes[node as usize].prev[ring] = sentinel;
        self.nodes[node as usize].next[ring] = next;
    }

    /// Takes a node off a ring if it is on it.
    #[inline]
    fn unlink(&mut self, ring: usize, node: u32) {
        let (prev, next) = (
            self.nodes[node as usize].prev[ring],
            self.nodes[node as usize].next[ring],
        );
        if prev == NIL {
            return;
        }
        self.nodes[prev as usize].next[ring] = next;
        self.nodes[next as usize].prev[ring] = prev;
        self.nodes[node as usize].prev[ring] = NIL;
        self.nodes[node as usize].next[ring] = NIL;
    }

    #[inline]
    fn in_stack(&self, node: u32) -> bool {
        self.nodes[node as usize].prev[S] != NIL
    }

    #[inline]
    fn move_to_top(&mut self, node: u32) {
        self.unlink(S, node);
        self.link(S, node, 0);
    }

    fn new_node(&mut self, page: PageId) -> u32 {
        let node = Node {
            page: page.0,
            prev: [NIL; 2],
            next: [NIL; 2],
            frame: NIL,
            weight: 0,
            state: State::Hir,
        };
        if let Some(at) = self.free.pop() {
            self.nodes[at as usize] = node;
            return at;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    fn delete(&mut self, node: u32) {
        self.unlink(S, node);
        self.unlink(Q, node);
        self.nodes[node as usize].state = State::Free;
        self.free.push(node);
    }

    fn delete_ghost(&mut self, node: u32) {
        let page = PageId(self.nodes[node as usize].page);
        self.index
            .remove(page, |node| self.nodes[node as usize].page);
        self.ghost_weight -= u64::from(self.nodes[node as usize].weight);
        self.delete(node);
    }

    /// Restores LR-1 at the bottom of S.
    fn prune(&mut self) {
        loop {
            let bottom = self.nodes[0].prev[S];
            if bottom == 0 {
                return;
            }
            match self.nodes[bottom as usize].state {
                State::Lir => return,
                State::Ghost => self.delete_ghost(bottom),
                State::Hir | State::Free => self.unlink(S, bottom),
            }
        }
    }

    /// Turns the oldest LIR pages into HIR pages while LIR is above its share.
    fn demote(&mut self) {
        while self.lir_weight > self.lir_limit {
            let bottom = self.nodes[0].prev[S];
            debug_assert!(
                self.nodes[bottom as usize].state == State::Lir,
                "LR-1: bottom of S"
            );
            self.nodes[bottom as usize].state = State::Hir;
            self.lir_weight -= u64::from(self.nodes[bottom as usize].weight);
            self.unlink(S, bottom);
            self.link(Q, bottom, 0);
            self.prune();
        }
    }

    /// A page proved its distance: it becomes LIR at the top of S.
    fn promote(&mut self, node: u32) {
        self.unlink(Q, node);
        self.nodes[node as usize].state = State::Lir;
        self.lir_weight += u64::from(self.nodes[node as usize].weight);
        self.move_to_top(node);
        self.demote();
        self.prune();
    }

    fn trim_ghosts(&mut self) {
        while self.ghost_weight > self.capacity.saturating_mul(self.ghost_factor) {
            let oldest = self.nodes[GHOSTS as usize].prev[Q];
            self.delete_ghost(oldest);
        }
    }

    /// Claims the oldest frame of Q, then of S, that is not busy.
    fn claim<F: Frames + ?Sized>(&self, frames: &mut F) -> Option<u32> {
        for ring in [Q, S] {
            let mut at = self.nodes[0].prev[ring];
            while at != 0 {
                let Node {
                    frame, state, prev, ..
                } = self.nodes[at as usize];
                let candidate = if ring == Q {
                    state == State::Hir
                } else {
                    state == State::Lir
                };
                if candidate && frames.try_claim(FrameIdx(frame)) == Claim::Claimed {
                    return Some(at);
                }
                at = prev[ring];
            }
        }
        None
    }

    /// The node of a frame that holds `page`.
    fn resident(&self, frame: FrameIdx, page: PageId) -> Option<u32> {
        let node = *self.node_of.get(frame.0 as usize)?;
        (node != NIL && self.nodes[node as usize].page == page.0).then_some(node)
    }
}

impl<F: Frames + ?Sized> Policy<F> for Lirs {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        let at = frame.0 as usize;
        if at >= self.node_of.len() {
            self.node_of.resize(at + 1, NIL);
        }
        assert!(self.node_of[at] == NIL, "LR-1: frame {at} is loaded twice");
        frames.set_usage(frame, 0);
        let weight = frames.weight(frame);
        let ghost = self
            .index
            .remove(page, |node| self.nodes[node as usize].page);
        let node = match ghost {
            Some(node) => {
                self.ghost_weight -= u64::from(self.nodes[node as usize].weight);
                self.unlink(Q, node);
                node
            }
            None => self.new_node(page),
        };
        self.node_of[at] = node;
        self.nodes[node as usize].frame = frame.0;
        self.nodes[node as usize].weight = weight;
        self.nodes[node as usize].state = State::Hir;
        if hint == Hint::Scan {
            self.unlink(S, node);
            self.link(Q, node, 0);
            self.prune();
        } else if ghost.is_some() || self.lir_weight + u64::from(weight) <= self.lir_limit {
            self.promote(node);
        } else {
            self.move_to_top(node);
            self.link(Q, node, 0);
            self.prune();
        }
    }

    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        let Some(node) = self.resident(frame, page) else {
            return;
        };
        if self.nodes[node as usize].state == State::Lir {
            self.move_to_top(node);
            self.prune();
        } else if self.in_stack(node) {
            self.promote(node);
        } else {
            self.move_to_top(node);
            self.unlink(Q, node);
            self.link(Q, node, 0);
            self.prune();
        }
    }

    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let node = self.claim(frames)?;
        let Node {
            page,
            frame,
            weight,
            state,
            ..
        } = self.nodes[node as usize];
        self.node_of[frame as usize] = NIL;
        if state == State::Lir {
            self.lir_weight -= u64::from(weight);
            self.delete(node);
            self.prune();
        } else if self.in_stack(node) {
            self.unlink(Q, node);
            self.nodes[node as usize].state = State::Ghost;
            self.link(Q, node, GHOSTS);
            self.ghost_weight += u64::from(weight);
            self.index
                .insert(PageId(page), node, |node| self.nodes[node as usize].page);
            self.trim_ghosts();
        } else {
            self.delete(node);
        }
        Some((FrameIdx(frame), PageId(page)))
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        let Some(node) = self.resident(frame, page) else {
            return;
        };
        self.node_of[frame.0 as usize] = NIL;
        if self.nodes[node as usize].state == State::Lir {
            self.lir_weight -= u64::from(self.nodes[node as usize].weight);
        }
        self.delete(node);
        self.prune();
    }

    fn forget(&mut self, page: PageId) {
        if let Some(node) = self.index.find(page, |node| self.nodes[node as usize].page) {
            self.delete_ghost(node);
            self.prune();
        }
    }

    fn resize(&mut self, capacity: u64) {
        self.set_capacity(capacity);
        self.demote();
        self.trim_ghosts();
    }

    fn check(&self, _: &F) -> Result<(), String> {
        let live = &self.nodes[SENTINELS..];
        let sum = |state: State| -> u64 {
            live.iter()
                .filter(|n| n.state == state)
                .map(|n| u64::from(n.weight))
                .sum()
        };
        if sum(State::Lir) != self.lir_weight || sum(State::Ghost) != self.ghost_weight {
            return Err(format!(
                "LR-1: LIR weighs {} and ghosts {}, counted {} and {}",
                sum(State::Lir),
                sum(State::Ghost),
                self.lir_weight,
                self.ghost_weight
            ));
        }
        let bottom = self.nodes[0].prev[S];
        if bottom != 0 && self.nodes[bottom as usize].state != State::Lir {
            return Err("LR-1: the bottom of S is not LIR".to_string());
        }
        let ghosts = live.iter().filter(|n| n.state == State::Ghost).count();
        let misplaced = live.iter().any(|n| match n.state {
            State::Lir => n.prev[S] == NIL || n.prev[Q] != NIL,
            State::Hir => n.prev[Q] == NIL,
            State::Ghost => n.prev[S] == NIL || n.prev[Q] == NIL,
            State::Free => false,
        });
        if misplaced || ghosts != self.index.len() {
            return Err(format!(
                "LR-1: a page is on a wrong list, or {ghosts} ghosts are not indexed"
            ));
        }
        let bound = self.capacity.saturating_mul(self.ghost_factor);
        if self.ghost_weight > bound {
            return Err(format!(
                "LR-2: ghosts of {} above {bound}",
                self.ghost_weight
            ));
        }
        Ok(())
    }
}
