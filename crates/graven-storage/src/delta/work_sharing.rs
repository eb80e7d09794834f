//! Parts of a task that know nothing of each other, done by a few threads.
//!
//! # How it works
//! Every thread takes the next part until there is none; the calling thread is one of them, so that
//! one thread starts none. After an error no thread takes another part. Where a task is to leave
//! processors to others as long as no thread waits for its end ([`Demand`]), the other threads take
//! parts only while one does.
//!
//! # Concurrency
//! Threads end before the call does.

use parking_lot::{Condvar, Mutex};

/// How many threads wait for the end of a task.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    waiting: Mutex<u32>,
    changed: Condvar,
}

/// A thread that waits, until this is dropped.
#[derive(Debug)]
pub(crate) struct Waiter<'a>(&'a Demand);

impl Demand {
    /// Registers a thread that waits from now on.
    pub(crate) fn wait(&self) -> Waiter<'_> {
        *self.waiting.lock() += 1;
        self.changed.notify_all();
        Waiter(self)
    }

    /// Whether a thread waits.
    pub(crate) fn is_any(&self) -> bool {
        *self.waiting.lock() > 0
    }

    /// Returns when a thread waits, or what `ended` asks has become true and [`Demand::look`] was
    /// called.
    fn until_any(&self, ended: impl Fn() -> bool) {
        let idle = |waiting: &mut u32| *waiting == 0 && !ended();
        self.changed.wait_while(&mut self.waiting.lock(), idle);
    }

    /// Lets threads look again whether a task has ended.
    fn look(&self) {
        let _waiting = self.waiting.lock();
        self.changed.notify_all();
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        *self.0.waiting.lock() -= 1;
    }
}

/// Leaves nothing to other threads when the calling one has ended, also where it unwinds.
struct Ended<'a, P> {
    left: &'a Mutex<std::vec::IntoIter<P>>,
    demand: Option<&'a Demand>,
}

impl<P> Drop for Ended<'_, P> {
    fn drop(&mut self) {
        self.left.lock().by_ref().for_each(drop);
        if let Some(demand) = self.demand {
            demand.look();
        }
    }
}

/// Does `work` with each of `parts` on up to `threads` threads; the first error.
pub(crate) fn share<P: Send, E: Send>(
    parts: Vec<P>,
    threads: usize,
    work: impl Fn(P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    share_on(None, parts, threads, work)
}

/// As [`share`]; threads other than the calling one take a part only while there is `demand`.
pub(crate) fn share_on<P: Send, E: Send>(
    demand: Option<&Demand>,
    parts: Vec<P>,
    threads: usize,
    work: impl Fn(P) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let others = threads.min(parts.len()).saturating_sub(1);
    let left = Mutex::new(parts.into_iter());
    let failed = Mutex::new(None);
    let next = || left.lock().next();
    let do_part = |part| {
        if let Err(error) = work(part) {
            left.lock().by_ref().for_each(drop);
            failed.lock().get_or_insert(error);
        }
    };
    let help = || loop {
        if let Some(demand) = demand {
            demand.until_any(|| left.lock().len() == 0);
        }
        let Some(part) = next() else { return };
        do_part(part);
    };
    std::thread::scope(|scope| {
        for _ in 0..others {
            // Where no thread is to be had, this one does all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, help);
        }
        let _ended = Ended {
            left: &left,
            demand,
        };
        while let Some(part) = next() {
            do_part(part);
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    //! Goal: other threads work on demand alone, and end with the task, also where it fails or
    //! panics.

    use super::*;
    use std::collections::BTreeSet;
    use std::sync::mpsc::channel;
    use std::thread::{self, ThreadId};

    /// The threads that have done parts of a task; `between` is called before each.
    fn threads_of(demand: &Demand, between: impl Fn(u32) + Sync) -> BTreeSet<String> {
        let seen = Mutex::new(BTreeSet::new());
        let name = |id: ThreadId| format!("{id:?}");
        let done = share_on(Some(demand), (0..8).collect(), 3, |part| {
            between(part);
            seen.lock().insert(name(thread::current().id()));
            Ok::<(), ()>(())
        });
        assert_eq!(done, Ok(()));
        seen.into_inner()
    }

    #[test]
    fn without_demand_one_thread_does_all_parts() {
        let demand = Demand::default();
        let own = format!("{:?}", thread::current().id());
        assert_eq!(threads_of(&demand, |_| ()), BTreeSet::from([own]));
    }

    #[test]
    fn other_threads_begin_when_a_thread_begins_to_wait() {
        let demand = Demand::default();
        let own = thread::current().id();
        let (helped, wait_for_help) = channel();
        let wait_for_help = Mutex::new(wait_for_help);
        let seen = threads_of(&demand, |part| {
            if thread::current().id() != own {
                helped.send(()).unwrap();
            } else if part == 0 {
                // Only another thread can end this wait.
                let _waiter = demand.wait();
                wait_for_help.lock().recv().unwrap();
            }
        });
        assert!(seen.len() > 1, "{seen:?}");
        assert!(!demand.is_any());
    }

    #[test]
    fn an_error_ends_a_task_without_demand() {
        let demand = Demand::default();
        let done = share_on(Some(&demand), vec![1, 2, 3], 3, |part| match part {
            2 => Err("two"),
            _ => Ok(()),
        });
        assert_eq!(done, Err("two"));
    }

    #[test]
    #[should_panic = "as the test wants it"]
    fn threads_end_where_the_calling_one_panics() {
        let demand = Demand::default();
        let _ = share_on(Some(&demand), vec![1, 2, 3], 3, |part| {
            assert!(part != 2, "as the test wants it");
            Ok::<(), ()>(())
        });
    }
}
