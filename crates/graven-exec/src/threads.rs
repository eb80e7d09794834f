//! Work that an operator divides among the threads of its statement.
//!
//! # Concurrency
//! Threads work inside one call and are done when it returns, as those of a parallel pipeline; the calling thread works itself and the others help
//! it (`standby.rs`). What they do to pages is counted for the statement where they are told of it ([`on_reading_threads`]).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use graven_pagecache::stats::Scope;

use crate::runtime::Runtime;
use crate::standby::{Tag, beside, beside_joined};

/// Runs `work` on each of `parts`, at the same time as far as threads stand by; the results in their order.
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
    beside(count.saturating_sub(1), &take, take);
    in_order(done)
}

/// Results by the numbers of their parts.
fn in_order<R>(done: Mutex<Vec<(usize, R)>>) -> Vec<R> {
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Parts of `items` of about the same length, at most `threads` and no more than there are items.
pub(crate) fn cut<T>(items: &[T], threads: usize) -> Vec<&[T]> {
    let length = items.len().div_ceil(threads.max(1)).max(1);
    items.chunks(length).collect()
}

/// Runs `work` on `parts`, which are of different length, on so many threads, each of which takes the next part when it has done
/// one; the results in the order of the parts. The threads may read pages. Those that want what is under this tag help as well.
pub(crate) fn on_reading_threads<P: Send + Sync, R: Send>(
    parts: &[P],
    threads: usize,
    tag: Tag,
    rt: &Runtime,
    work: impl Fn(&P) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(parts.len()));
    let take = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(part) = parts.get(at)
        {
            let result = work(part);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((at, result));
        }
    };
    let aside = || counting_pages(rt, take);
    let helpers = threads.min(parts.len()).saturating_sub(1);
    beside_joined(helpers, tag, &aside, &take);
    in_order(done)
}

/// Runs `work` on a thread whose page counters no other code reads.
pub(crate) fn counting_pages<R>(rt: &Runtime, work: impl FnOnce() -> R) -> R {
    let scope = Scope::start();
    let result = work();
    let pages = rt.shared.thread_pages.lock();
    let mut pages = pages.unwrap_or_else(PoisonError::into_inner);
    scope.finish_into(pages.get_or_insert_default());
    result
}
