//! Independent jobs on all cores, with results in the order of the jobs.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::error::LabError;

/// Does every job by `work` on `threads` threads (0 for all cores); `progress` gets the number done
/// and may end it.
pub(crate) fn run<J: Sync, R: Send>(
    jobs: &[J],
    threads: usize,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    work: impl Fn(&J) -> Result<R, LabError> + Sync,
) -> Result<Vec<R>, LabError> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores() } else { threads };
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let mut results: Vec<Option<R>> = jobs.iter().map(|_| None).collect();
    let mut report = |done| {
        if progress(done).is_break() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    report(0);
    thread::scope(|scope| {
        for _ in 0..threads.min(jobs.len()) {
            let (sender, next, stop, work) = (sender.clone(), &next, &stop, &work);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    if sender.send((at, work(job))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (done, (at, result)) in receiver.iter().enumerate() {
            let result = result.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            results[at] = Some(result);
            report(done as u64 + 1);
        }
        Ok::<(), LabError>(())
    })?;
    let all: Option<Vec<R>> = results.into_iter().collect();
    all.filter(|_| !stop.load(Ordering::Relaxed))
        .ok_or(LabError::Interrupted)
}
