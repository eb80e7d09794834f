//! 2Q (full version): newcomers pass through a FIFO; what returns after it goes to an LRU list.
//!
//! # How it works
//! A1in is a FIFO of a quarter of the capacity, Am an LRU list, A1out a ghost FIFO of half the
//! capacity. A hit in A1in does nothing. Victims come from A1in while it exceeds its share (their
//! ids go to A1out), else from Am, without trace. A page that faults while in A1out enters Am, any
//! other A1in.
//!
//! # Costs
//! 24 bytes a frame and 18 bytes a frame for the ghosts; a hit moves at most one node.
//!
//! # Source
//! T. Johnson, D. Shasha, "2Q: a low overhead high performance buffer management replacement
//! algorithm", VLDB 1994, figure 3.

use crate::ghost::Ghost;
use crate::lists::Lists;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

const A1_IN: usize = 0;
const AM: usize = 1;
/// The page was found in A1out.
const RETURNING: Admission = Admission(1);

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct TwoQ {
    lists: Lists,
    a1_out: Ghost,
    in_share: u64,
    out_share: u64,
}

impl TwoQ {
    /// An empty cache of `capacity`.
    #[must_use]
    pub fn new(capacity: u64) -> Self {
        Self {
            lists: Lists::new(2),
            a1_out: Ghost::new(1),
            in_share: (capacity / 4).max(1),
            out_share: (capacity / 2).max(1),
        }
    }
}

impl<F: Frames + ?Sized> Policy<F> for TwoQ {
    fn hit_kind(&self) -> HitKind {
        HitKind::Append
    }

    #[inline]
    fn on_miss(&mut self, page: PageId) -> Admission {
        if self.a1_out.remove(page).is_some() {
            RETURNING
        } else {
            Admission::default()
        }
    }

    #[inline]
    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        _: Hint,
        admission: Admission,
    ) {
        let list = if admission == RETURNING { AM } else { A1_IN };
        self.lists
            .push_front(list, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
    }

    #[inline]
    fn on_hit(&mut self, _: &F, frame: FrameIdx, page: PageId) {
        if self.lists.holds(frame, page) && self.lists.list_of(frame) == Some(AM) {
            self.lists.move_front(AM, frame);
        }
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        let from_in = self.lists.weight(A1_IN) > self.in_share || self.lists.len(AM) == 0;
        let order = if from_in { [A1_IN, AM] } else { [AM, A1_IN] };
        order.into_iter().find_map(|list| {
            let (frame, page) = self.lists.evict_back(list, frames)?;
            if list == A1_IN {
                self.a1_out.push(0, page, self.lists.frame_weight(frame));
                self.a1_out.trim(0, self.out_share);
            }
            Some((frame, page))
        })
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.lists.remove(frame);
    }

    fn forget(&mut self, page: PageId) {
        self.a1_out.remove(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.in_share = (capacity / 4).max(1);
        self.out_share = (capacity / 2).max(1);
        self.a1_out.trim(0, self.out_share);
    }

    fn check(&self, _: &F) -> Result<(), String> {
        self.lists.check()?;
        self.a1_out.check()?;
        if self.a1_out.weight(0) > self.out_share {
            return Err(format!("PO-5: A1out holds {}", self.a1_out.weight(0)));
        }
        Ok(())
    }
}
