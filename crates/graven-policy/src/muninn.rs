//! Neo4j's page cache (Muninn) with its reserve of free frames.
//!
//! # How it works
//! The clock of `neo4j` (counts up to 4, newcomers at 1, evict at 1 or 0). In mode `batch` the
//! background arm refills the reserve, `keepFree` frames at once, when a fault finds it empty;
//! frames are reused last freed, first. In mode `coop` there is no reserve: every fault evicts for
//! itself from a random start. The real cache lies between the two. Pages that were read ahead
//! start with 0.
//!
//! # Costs
//! As GCLOCK; the reserve keeps 5 % of the frames empty half of the time on average.
//!
//! # Source
//! Neo4j 5.26 (`MuninnPageCache`, `EvictionTask`), read in the sources and confirmed by replaying
//! traces through the real cache.

use crate::gclock::{Arm, GClock};
use crate::neo4j::neo4j;
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// Which thread evicts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The background arm, a whole reserve at once.
    Batch,
    /// Every fault for itself.
    Coop,
}

/// The policy; see the head of this file.
#[derive(Debug)]
pub struct Muninn {
    clock: GClock,
    mode: Mode,
}

impl Muninn {
    /// An empty cache; `seed` feeds the random starts of [`Mode::Coop`].
    #[must_use]
    pub fn new(mode: Mode, seed: u64) -> Self {
        let arm = if mode == Mode::Batch {
            Arm::Global
        } else {
            Arm::Thread
        };
        Self {
            clock: neo4j(4, arm, seed),
            mode,
        }
    }
}

/// The target of the reserve: `max(min(5 %, 100,000), min(30, half))` of `frames`.
fn keep_free(frames: usize) -> usize {
    (frames / 20).min(100_000).max((frames / 2).min(30)).max(1)
}

impl<F: Frames + ?Sized> Policy<F> for Muninn {
    fn hit_kind(&self) -> HitKind {
        Policy::<F>::hit_kind(&self.clock)
    }

    #[inline]
    fn on_load(&mut self, frames: &F, frame: FrameIdx, page: PageId, hint: Hint, _: Admission) {
        // A scan pins like any other access here; only what was read ahead starts uncounted.
        let hint = if hint == Hint::Prefetch {
            hint
        } else {
            Hint::Normal
        };
        let usage = self.clock.initial_usage(hint);
        self.clock.load(frames, frame, page, usage);
    }

    #[inline]
    fn evict(&mut self, frames: &mut F, _: Admission) -> Option<(FrameIdx, PageId)> {
        self.clock.sweep(frames)
    }

    fn eviction_batch(&self, frames: usize) -> usize {
        if self.mode == Mode::Batch {
            keep_free(frames)
        } else {
            1
        }
    }

    fn on_remove(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        self.clock.on_remove(frames, frame, page);
    }

    fn resize(&mut self, _: u64) {}

    fn check(&self, frames: &F) -> Result<(), String> {
        self.clock.check(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::keep_free;

    /// Goal: the reserve is the one read in the sources.
    #[test]
    fn reserve_sizes() {
        let sizes = [1, 2, 40, 512, 1024, 2040, 4080, 10_000_000];
        let expected = [1, 1, 20, 30, 51, 102, 204, 100_000];
        assert_eq!(sizes.map(keep_free), expected);
    }
}
