//! Pages of running transactions are scored up: any policy, whose evictions pass over some pages
//! that a transaction which still runs used last.
//!
//! # How it works
//! The frames know which transaction used a page last and whether it still runs. One eviction lets
//! them answer [`Claim::Busy`](crate::Claim::Busy) for the first `pages` such pages that the policy
//! wants. Behind those, and where nothing else is left, such a page goes like any other. So the
//! order stays the policy's own, and a transaction that reads more than the cache holds stops
//! nothing.
//!
//! # Costs
//! 4 bytes a frame and one store a hit; an eviction looks at up to `pages` more frames.
//!
//! # Source
//! A. Cheng et al., "Take out the TraChe: maximizing (tra)nsactional ca(che) hit rate", OSDI 2023,
//! which the thesis names for a cache whose hits count by what they do for a transaction.
//!
//! # Deviations
//! The paper scores keys by the groups that transactions read at once, learnt per kind of
//! transaction. Here the score of a page is one bit: whether its last transaction runs.

use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy};

/// The policy; see the head of this file.
pub struct Running<F: ?Sized> {
    inner: Box<dyn Policy<F>>,
    pages: u32,
}

impl<F: Frames + ?Sized> Running<F> {
    /// Evictions of `inner` pass over up to `pages` pages of running transactions.
    #[must_use]
    pub fn new(inner: Box<dyn Policy<F>>, pages: u32) -> Self {
        Self { inner, pages }
    }
}

impl<F: Frames + ?Sized> Policy<F> for Running<F> {
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
        self.inner.on_hit(frames, frame, page);
    }

    fn evict(&mut self, frames: &mut F, incoming: Admission) -> Option<(FrameIdx, PageId)> {
        frames.pass_over_running(self.pages);
        let victim = self.inner.evict(frames, incoming);
        frames.pass_over_running(0);
        victim.or_else(|| self.inner.evict(frames, incoming))
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

#[cfg(test)]
mod tests {
    use crate::Hint;
    use crate::registry::parse;
    use crate::simulator::{ArrayFrames, Simulator, TransactionAccess};

    /// Faults of a transaction that reads four pages, waits while others read twenty, and reads
    /// its four again.
    fn faults_at_the_end(policy: &str) -> u64 {
        let policy = parse::<ArrayFrames>(policy, 8, 1).expect("a policy");
        let mut simulator = Simulator::new(policy, 24, 8);
        let access = |page, transaction, ends| TransactionAccess {
            page,
            hint: Hint::Normal,
            transaction,
            ends,
        };
        simulator.replay_transactions((0..4).map(|page| access(page, 1, false)));
        simulator.replay_transactions((4..24).map(|page| access(page, page, true)));
        let before = simulator.outcome();
        simulator.replay_transactions((0..4).map(|page| access(page, 1, page == 3)));
        simulator.check().expect("sound");
        let after = simulator.outcome();
        (after.accesses - before.accesses) - (after.hits - before.hits)
    }

    /// Goal: pages of a transaction that still runs outlast those of transactions that ended, under
    /// policies of every kind of hit; without the score they do not.
    #[test]
    fn pages_of_a_running_transaction_stay() {
        for policy in ["lru", "fifo", "clock", "gclock:max=3", "sieve", "lfu"] {
            assert_eq!(faults_at_the_end(policy), 4, "{policy}");
            let spec = match policy.contains(':') {
                true => format!("{policy},running=4"),
                false => format!("{policy}:running=4"),
            };
            assert_eq!(faults_at_the_end(&spec), 0, "{spec}");
        }
    }

    /// Goal: a transaction larger than the cache evicts its own pages, and ended ones protect
    /// nothing.
    #[test]
    fn a_transaction_larger_than_the_cache_goes_on() {
        let policy = parse::<ArrayFrames>("lru:running=64", 8, 1).expect("a policy");
        let mut simulator = Simulator::new(policy, 40, 8);
        simulator.replay_transactions((0..40).map(|page| TransactionAccess {
            page,
            hint: Hint::Normal,
            transaction: 1,
            ends: page == 39,
        }));
        assert_eq!(simulator.outcome().evictions, 32);
        simulator.check().expect("sound");
    }
}
