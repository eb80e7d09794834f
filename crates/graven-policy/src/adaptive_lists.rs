//! T1, T2, their ghosts B1 and B2, and the target between them: what ARC and CAR share.
//!
//! # How it works
//! T1 holds pages seen once, T2 pages seen again; B1 and B2 are their ghosts. A fault found in B1
//! raises the target of T1 by `max(1, |B2| / |B1|)`, one found in B2 lowers it by
//! `max(1, |B1| / |B2|)`.
//!
//! # Invariants
//! * AR-1 T1 and B1 together hold at most the capacity, all four at most twice the capacity (in
//!   pages of one size; with sizes one page more).
//!
//! # Source
//! N. Megiddo, D. Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003.

use crate::PageId;
use crate::ghost::Ghost;
use crate::lists::Lists;

/// Number of T1 among the lists and of B1 among the ghosts.
pub(crate) const ONCE: usize = 0;
/// Number of T2 and B2.
pub(crate) const OFTEN: usize = 1;

/// The four lists.
#[derive(Debug)]
pub(crate) struct AdaptiveLists {
    /// T1 and T2.
    pub(crate) lists: Lists,
    /// B1 and B2.
    pub(crate) ghosts: Ghost,
    pub(crate) capacity: u64,
    /// Target weight of T1.
    pub(crate) target: f64,
}

impl AdaptiveLists {
    /// Empty lists for a cache of `capacity`.
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            lists: Lists::new(2),
            ghosts: Ghost::new(2),
            capacity,
            target: 0.0,
        }
    }

    /// Weight of T1 and B1.
    pub(crate) fn seen_once(&self) -> u64 {
        self.lists.weight(ONCE) + self.ghosts.weight(ONCE)
    }

    /// Weight of all four.
    pub(crate) fn all(&self) -> u64 {
        self.seen_once() + self.lists.weight(OFTEN) + self.ghosts.weight(OFTEN)
    }

    /// A fault: takes `page` from the ghosts, moves the target, and says where it was found.
    pub(crate) fn learn(&mut self, page: PageId) -> Option<usize> {
        let (b1, b2) = (self.ghosts.len(ONCE) as f64, self.ghosts.len(OFTEN) as f64);
        let found = self.ghosts.remove(page)?;
        self.target = if found == ONCE {
            (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64)
        } else {
            (self.target - (b1 / b2).max(1.0)).max(0.0)
        };
        Some(found)
    }

    /// Restores AR-1 after loads and changes of size.
    pub(crate) fn trim(&mut self) {
        while self.seen_once() > self.capacity && self.ghosts.pop_oldest(ONCE) {}
        while self.all() > 2 * self.capacity
            && (self.ghosts.pop_oldest(OFTEN) || self.ghosts.pop_oldest(ONCE))
        {}
    }

    /// The capacity changed.
    pub(crate) fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.target = self.target.min(capacity as f64);
        self.trim();
    }

    /// Recounts the lists and AR-1.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.lists.check()?;
        self.ghosts.check()?;
        let ghosts = self.ghosts.weight(ONCE) + self.ghosts.weight(OFTEN);
        if ghosts > 2 * self.capacity + 8 {
            return Err(format!(
                "AR-1: ghosts of {ghosts} in a cache of {}",
                self.capacity
            ));
        }
        Ok(())
    }
}
