//! Work that an operator divides among the threads of its statement.
//!
//! # Concurrency
//! Threads run inside one call and have ended when it returns, as those of a parallel pipeline do; the calling thread does the
//! first part itself. What they do to pages is counted for the statement where they are told of it ([`on_reading_threads`]).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use graven_pagecache::stats::Scope;

use crate::runtime::Runtime;

/// Runs `work` on each of `parts`, each on a thread of its own; the results in their order.
pub(crate) fn on_threads<P: Send, R: Send>(parts: Vec<P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else {
        return Vec::new();
    };
    let work = &work;
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let mut results = vec![work(first)];
        results.extend(others.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        results
    })
}

/// Parts of `items` of about the same length, at most `threads` and no more than there are items.
pub(crate) fn cut<T>(items: &[T], threads: usize) -> Vec<&[T]> {
    let length = items.len().div_ceil(threads.max(1)).max(1);
    items.chunks(length).collect()
}

/// Runs `work` on `parts`, which are of different length, on so many threads, each of which takes the next part when it has done
/// one; the results in the order of the parts. The threads may read pages.
pub(crate) fn on_reading_threads<P: Send + Sync, R: Send>(
    parts: &[P],
    threads: usize,
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
    let shared = &rt.shared;
    let aside = || {
        let scope = Scope::start();
        take();
        let pages = shared.thread_pages.lock();
        let mut pages = pages.unwrap_or_else(PoisonError::into_inner);
        scope.finish_into(pages.get_or_insert_default());
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(parts.len()) {
            scope.spawn(aside);
        }
        take();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
