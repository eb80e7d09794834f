//! CLOCK (second chance): one reference bit a frame.
//!
//! # How it works
//! GCLOCK with counts up to 1: a hit sets the bit, the arm clears it, a clear bit is the victim.
//! Equals FIFO with reinsertion.
//!
//! # Costs
//! As GCLOCK; a hit stores one bit if it is clear.
//!
//! # Source
//! F. Corbato, "A paging experiment with the Multics system", MIT Project MAC, 1968.

use crate::gclock::{Arm, GClock, GClockConfig};

/// A clock with one reference bit.
#[must_use]
pub fn clock(arm: Arm, scan: u8, capacity: u64, seed: u64) -> GClock {
    GClock::new(
        GClockConfig {
            max: 1,
            init: 0,
            threshold: 0,
            arm,
            scan,
        },
        capacity,
        seed,
    )
}
