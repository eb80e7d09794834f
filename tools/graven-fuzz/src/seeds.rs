//! Work on one seed after the other by several threads.

use std::sync::atomic::{AtomicU64, Ordering};

/// Which seeds, and by how many.
#[derive(Clone, Debug)]
pub struct Job {
    /// First seed; each piece of work has its own, counted up from here.
    pub seed: u64,
    /// Threads, each with databases of its own.
    pub threads: usize,
    /// Stop after this many differences.
    pub differences_max: usize,
}

/// Calls `work` for `count` seeds; it says how many differences it has found. The reports of the
/// threads.
pub(crate) fn each<R: Default + Send>(
    job: &Job,
    count: u64,
    work: impl Fn(u64, &mut R) -> Result<usize, String> + Sync,
) -> Result<Vec<R>, String> {
    let next = AtomicU64::new(0);
    let found = AtomicU64::new(0);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let work = || {
            let mut report = R::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let enough = found.load(Ordering::Relaxed) >= job.differences_max as u64;
                if number >= count || enough {
                    return Ok(report);
                }
                let more = work(job.seed.wrapping_add(number), &mut report)?;
                found.fetch_add(more as u64, Ordering::Relaxed);
            }
        };
        let threads: Vec<_> = (0..job.threads.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|t| t.join()).collect()
    });
    outcomes
        .into_iter()
        .map(|outcome| outcome.map_err(|_| "the comparison itself panicked".to_owned())?)
        .collect()
}
