//! Work that an operator divides among the threads of its statement.
//!
//! # Concurrency
//! Threads work inside one call and are done when it returns, as those of a parallel pipeline; the
//! calling thread works itself and the others help it (`worker_pool.rs`). What they do to pages is
//! counted for the statement where they are told of it ([`on_reading_threads`]).

use std::sync::{Mutex, PoisonError};

use crate::worker_pool::run_parallel;

/// Runs `work` on each of `parts`, at the same time as far as threads stand by; the results in
/// their order.
pub(crate) fn on_threads<P: Send, R: Send>(parts: Vec<P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let count = parts.len();
    let left = Mutex::new(parts.into_iter().enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(count));
    let take = || {
        while let Some((at, part)) = next() {
            let result = work(part);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((at, result));
        }
    };
    run_parallel(count.saturating_sub(1), &take, take);
    in_order(done)
}

/// Results by the numbers of their parts.
pub(crate) fn in_order<R>(done: Mutex<Vec<(usize, R)>>) -> Vec<R> {
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Parts of `items` of about the same length, at most `threads` and no more than there are items.
pub(crate) fn cut<T>(items: &[T], threads: usize) -> Vec<&[T]> {
    let length = items.len().div_ceil(threads.max(1)).max(1);
    items.chunks(length).collect()
}
