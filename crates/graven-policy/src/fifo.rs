//! FIFO: the page that came first leaves first.
//!
//! # How it works
//! One list in order of loading; hits do nothing.
//!
//! # Costs
//! 24 bytes a frame; nothing on a hit; constant work on a fault.
//!
//! # Source
//! L. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966.

use crate::lists::Lists;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Fifo {
    queue: Lists,
}

impl Fifo {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            queue: Lists::new(1),
        }
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self::new()
    }
}

impl<F: Frames + ?Sized> Policy<F> for Fifo {
    fn hit_kind(&self) -> HitKind {
        HitKind::None
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, _: Hint, _: Admission) {
        self.queue.push_front(0, frame, page, frames.weight(frame));
        frames.set_usage(frame, 0);
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        self.queue.evict_back(0, frames)
    }

    fn on_remove(&mut self, _: &F, frame: FrameIdx, _: PageId) {
        self.queue.remove(frame);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, _: &F) -> Result<(), String> {
        self.queue.check()
    }
}
