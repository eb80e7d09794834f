//! Work that an operator divides among the threads of its statement.
//!
//! # Concurrency
//! Threads run inside one call and have ended when it returns, as those of a parallel pipeline do; the calling thread does the
//! first part itself. What they run reads no pages, so nothing is counted for them.

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
