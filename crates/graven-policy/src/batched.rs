//! Batching of hits: a policy that hears of hits a batch at a time, as under BP-Wrapper with one
//! thread.
//!
//! # How it works
//! Ordered hits wait in a buffer and reach the policy, in their order, when it is full. A hit on a
//! page that has left meanwhile is dropped by the policy itself, as any late hit. Faults do not
//! empty the buffer: a page cache hands over the ring of a thread on a hit, never on a fault.
//!
//! # Costs
//! 16 bytes a waiting hit; a hit is one store.
//!
//! # Source
//! X. Ding, S. Jiang, X. Zhang, "BP-Wrapper: a system framework making any replacement algorithms
//! (almost) lock contention free", ICDE 2009.
//!
//! # Deviations
//! The paper hands over what waits at a fault, too, which orders hits exactly with one thread and
//! costs each fault a batch.

use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The policy; see the head of this file.
pub struct Batched<F: ?Sized> {
    inner: Box<dyn Policy<F>>,
    waiting: Vec<(FrameIdx, PageId)>,
    batch: usize,
}

impl<F: Frames + ?Sized> Batched<F> {
    /// Hands hits to `inner`, `batch` of them at a time.
    #[must_use]
    pub fn new(inner: Box<dyn Policy<F>>, batch: usize) -> Self {
        Self {
            inner,
            waiting: Vec::with_capacity(batch),
            batch,
        }
    }
}

impl<F: Frames + ?Sized> Policy<F> for Batched<F> {
    fn hit_kind(&self) -> HitKind {
        self.inner.hit_kind()
    }

    fn on_miss(&mut self, page: PageId) -> Admission {
        self.inner.on_miss(page)
    }

    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        hint: Hint,
        admission: Admission,
    ) {
        self.inner.on_load(frames, frame, page, hint, admission);
    }

    fn on_hit(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        self.waiting.push((frame, page));
        if self.waiting.len() >= self.batch {
            for (frame, page) in self.waiting.drain(..) {
                self.inner.on_hit(frames, frame, page);
            }
        }
    }

    fn evict(&mut self, frames: &mut F, incoming: Admission) -> Option<(FrameIdx, PageId)> {
        self.inner.evict(frames, incoming)
    }

    fn eviction_batch(&self, frames: usize) -> usize {
        self.inner.eviction_batch(frames)
    }

    fn has_surplus(&self) -> bool {
        self.inner.has_surplus()
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        self.inner.figures()
    }

    fn on_remove(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        self.inner.on_remove(frames, frame, page);
    }

    fn forget(&mut self, page: PageId) {
        self.inner.forget(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.inner.resize(capacity);
    }

    fn check(&self, frames: &F) -> Result<(), String> {
        self.inner.check(frames)
    }
}
