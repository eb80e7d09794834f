//! Parts of a task that know nothing of each other, done by a few threads.
//!
//! # How it works
//! Every thread takes the next part until there is none; the calling thread is one of them, so that
//! one thread starts none. After an error no thread takes another part.
//!
//! # Concurrency
//! Threads end before the call does.

use parking_lot::Mutex;

/// Does `work` with each of `parts` on up to `threads` threads; the first error.
pub(crate) fn share<P: Send, E: Send>(
    parts: Vec<P>,
    threads: usize,
    work: impl Fn(P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let others = threads.min(parts.len()).saturating_sub(1);
    let left = Mutex::new(parts.into_iter());
    let failed = Mutex::new(None);
    let next = || left.lock().next();
    let take = || {
        while let Some(part) = next() {
            if let Err(error) = work(part) {
                left.lock().by_ref().for_each(drop);
                failed.lock().get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..others {
            // Where no thread is to be had, this one does all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, take);
        }
        take();
    });
    failed.into_inner().map_or(Ok(()), Err)
}
