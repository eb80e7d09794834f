//! Work on several threads that read pages.

use crate::query_context::QueryContext;
use crate::threads::in_order;
use crate::worker_pool::JobKey;
use crate::worker_pool::run_parallel_on;
use graven_pagecache::stats::Scope;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

/// Runs `work` on `parts`, which are of different length, on so many threads, each of which takes
/// the next part when it has done one; the results in the order of the parts. The threads may read
/// pages. Those that want what is under this tag help as well.
pub(crate) fn on_reading_threads<P: Send + Sync, R: Send>(
    parts: &[P],
    threads: usize,
    tag: JobKey,
    rt: &QueryContext,
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
    run_parallel_on(helpers, tag, &aside, &take);
    in_order(done)
}

/// Runs `work` on a thread whose page counters no other code reads.
pub(crate) fn counting_pages<R>(rt: &QueryContext, work: impl FnOnce() -> R) -> R {
    let scope = Scope::start();
    let result = work();
    let pages = rt.shared.thread_pages.lock();
    let mut pages = pages.unwrap_or_else(PoisonError::into_inner);
    scope.finish_into(pages.get_or_insert_default());
    result
}
