//! Read queue over threads that call `preadv`: for systems where io_uring is not permitted.
//!
//! # How it works
//! Submitted requests go to a shared list; a thread is started only when no idle one is left for
//! them, up to the queue's depth. Ended reads go to a second list, from which `reap` takes them.
//! Dropping the queue discards requests that no thread has begun, lets the others finish and joins
//! the threads.
//!
//! # Concurrency
//! One mutex over both lists; threads read without it.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::{Completion, ForkSafe, QueueKind, ReadQueue, ReadRequest, Result, Wait};

/// Most threads of one queue; more reads wait for one of them.
const THREADS_MAX: usize = 64;
/// A thread's stack; it runs one shallow loop.
const STACK_BYTES: usize = 64 << 10;

#[derive(Default)]
struct Lists {
    waiting: VecDeque<ReadRequest>,
    ended: Vec<Completion>,
    idle: usize,
    closing: bool,
}

struct Shared {
    file: Arc<ForkSafe<fs::File>>,
    alignment: usize,
    lists: Mutex<Lists>,
    work: Condvar,
    progress: Condvar,
}

impl Shared {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Read queue over a pool of threads.
pub(crate) struct PreadPool {
    shared: Arc<Shared>,
    path: PathBuf,
    threads: Vec<JoinHandle<()>>,
    threads_max: usize,
    in_flight: usize,
}

impl PreadPool {
    /// A pool for up to `depth` reads of `file` at once; starts no thread yet.
    pub(crate) fn new(
        file: Arc<ForkSafe<fs::File>>,
        path: &Path,
        alignment: usize,
        depth: usize,
    ) -> PreadPool {
        let shared = Shared {
            file,
            alignment,
            lists: Mutex::new(Lists::default()),
            work: Condvar::new(),
            progress: Condvar::new(),
        };
        PreadPool {
            shared: Arc::new(shared),
            path: path.to_path_buf(),
            threads: Vec::new(),
            threads_max: depth.clamp(1, THREADS_MAX),
            in_flight: 0,
        }
    }

    /// Starts threads for `lacking` requests that no idle thread will take.
    fn start_threads(&mut self, lacking: usize) {
        let room = self.threads_max - self.threads.len();
        for _ in 0..lacking.min(room) {
            let shared = Arc::clone(&self.shared);
            let builder = Builder::new()
                .name("graven-pread".to_owned())
                .stack_size(STACK_BYTES);
            match builder.spawn(move || work(&shared)) {
                Ok(thread) => self.threads.push(thread),
                Err(_) => break,
            }
        }
        if self.threads.is_empty() {
            // No thread to be had at all: read here.
            loop {
                let Some(request) = self.shared.lists().waiting.pop_front() else {
                    break;
                };
                let completion = read(&self.shared, &request);
                self.shared.lists().ended.push(completion);
            }
        }
    }
}

impl ReadQueue for PreadPool {
    unsafe fn submit(&mut self, reads: &[ReadRequest]) -> Result<()> {
        for read in reads {
            read.check(&self.path, self.shared.alignment)?;
        }
        self.in_flight += reads.len();
        let mut lists = self.shared.lists();
        lists.waiting.extend(reads.iter().copied());
        let lacking = lists.waiting.len().saturating_sub(lists.idle);
        drop(lists);
        for _ in reads {
            self.shared.work.notify_one();
        }
        if lacking > 0 {
            self.start_threads(lacking);
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<()> {
        let wanted = match wait {
            Wait::None => 0,
            Wait::AtLeast(count) => count.min(self.in_flight),
        };
        let mut lists = self.shared.lists();
        while lists.ended.len() < wanted {
            let woken = self.shared.progress.wait(lists);
            lists = woken.unwrap_or_else(PoisonError::into_inner);
        }
        self.in_flight -= lists.ended.len();
        done.append(&mut lists.ended);
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn kind(&self) -> QueueKind {
        QueueKind::PreadPool
    }
}

impl Drop for PreadPool {
    fn drop(&mut self) {
        let mut lists = self.shared.lists();
        lists.waiting.clear();
        lists.closing = true;
        drop(lists);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread only reads; if it panicked, it no longer writes to any caller's memory.
            let _ = thread.join();
        }
    }
}

/// Life of one thread of the pool.
fn work(shared: &Shared) {
    let mut lists = shared.lists();
    loop {
        if let Some(request) = lists.waiting.pop_front() {
            drop(lists);
            let completion = read(shared, &request);
            lists = shared.lists();
            lists.ended.push(completion);
            shared.progress.notify_one();
        } else if lists.closing {
            return;
        } else {
            lists.idle += 1;
            let woken = shared.work.wait(lists);
            lists = woken.unwrap_or_else(PoisonError::into_inner);
            lists.idle -= 1;
        }
    }
}

/// Carries out one request until it has all its bytes, fails or meets the end of the file.
fn read(shared: &Shared, request: &ReadRequest) -> Completion {
    let token = request.token;
    let (mut rest, mut done) = (*request, 0);
    loop {
        let parts = rest.parts();
        // SAFETY: the parts are laid out as `iovec`s. Their memory is valid and no other code uses
        // it until the completion is reaped (contract of `submit`), which is after this function
        // returns.
        let code = unsafe {
            libc::preadv(
                shared.file.as_raw_fd(),
                parts.as_ptr().cast(),
                parts.len() as i32,
                rest.offset as i64,
            )
        };
        if code < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Completion {
                token,
                result: Err(error),
            };
        }
        let got = code as usize;
        done += got;
        match rest.remainder(got) {
            // A direct read stops off its alignment only where the file ends.
            Some(remainder) if got > 0 && got.is_multiple_of(shared.alignment) => rest = remainder,
            _ => {
                return Completion {
                    token,
                    result: Ok(done),
                };
            }
        }
    }
}
