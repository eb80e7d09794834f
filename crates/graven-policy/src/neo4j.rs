//! Neo4j's page replacement as a slot clock, and its family "count to k".
//!
//! # How it works
//! GCLOCK whose newcomers start with 1, whose counts go up to `count` (4 in Neo4j) and whose arm
//! evicts a frame that it finds at 1 or 0. `count` k equals GCLOCK with counts up to k - 1 from 0,
//! so "count to 2" is CLOCK and "count to 1" is FIFO. With [`Arm::Thread`] every eviction starts at
//! a random slot, as threads do that evict for themselves. The rules with the reserve of free
//! frames are in `muninn`.
//!
//! # Costs
//! As GCLOCK.
//!
//! # Source
//! Neo4j 5.26 (`MuninnPageCache`, `PageList`), read in the sources and confirmed by replay.

use crate::gclock::{Arm, GClock, GClockConfig};

/// The clock with counts up to `count`, 1..=7.
#[must_use]
pub fn neo4j(count: u8, arm: Arm, seed: u64) -> GClock {
    GClock::new(
        GClockConfig {
            max: count,
            init: 1,
            threshold: 1,
            arm,
            scan: 0,
        },
        0,
        seed,
    )
}
