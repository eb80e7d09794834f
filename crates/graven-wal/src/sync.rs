//! What the group commit waits with, named here so that its model can put others in their place.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};
use std::thread::park_timeout;
pub(crate) use std::thread::{Thread, current, park};
use std::time::{Duration, Instant};

/// Parks until `is_called` says so, for `group_wait_max` at most.
pub(crate) fn park_for(group_wait_max: Duration, is_called: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_called()
        && let Some(left) = group_wait_max.checked_sub(begun.elapsed())
        && !left.is_zero()
    {
        park_timeout(left);
    }
}
