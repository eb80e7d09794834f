//! The threads that requests run on.
//!
//! # How it works
//! One runtime a process, made at the first request. A caller hands a task over and waits on a
//! channel, so it may be a thread of another runtime, where waiting for a task is not allowed
//! otherwise. A process made by `fork` has none of the threads: it makes a runtime of its own and
//! leaves the other alone.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::AbortHandle;

/// Says whether a wait is to end: the statement was cancelled, or its time is over.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// Pauses between two looks at a [`Stop`].
const LOOK: Duration = Duration::from_millis(20);

/// Threads for requests: they copy and hash little, the store does the work.
const THREADS: usize = 2;

/// The process that made it, and the runtime.
static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

/// The runtime of this process.
fn handle() -> std::io::Result<Handle> {
    let process = std::process::id();
    let mut runtime = RUNTIME.lock();
    if let Some((owner, runtime)) = &*runtime
        && *owner == process
    {
        return Ok(runtime.handle().clone());
    }
    let made = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("graven-objects")
        .enable_all()
        .build()?;
    let handle = made.handle().clone();
    if let Some(forked) = runtime.replace((process, made)) {
        // Its threads are not here: ending it would wait for them for ever.
        std::mem::forget(forked);
    }
    Ok(handle)
}

/// Starts `task` and goes on.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
    handle()?.spawn(task);
    Ok(())
}

/// Runs `task` to its end.
///
/// # Panics
/// Where `task` does.
pub(crate) fn wait<T: Send + 'static>(
    task: impl Future<Output = T> + Send + 'static,
) -> std::io::Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    spawn(async move {
        // The receiver waits below.
        let _ = sender.send(task.await);
    })?;
    let answer = receiver.recv();
    answer.map_err(|_| std::io::Error::other("a request ended without an answer"))
}

/// A task under way; dropping it ends the task.
#[derive(Debug)]
pub(crate) struct Pending<T> {
    receiver: mpsc::Receiver<T>,
    task: AbortHandle,
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T: Send + 'static> Pending<T> {
    /// Starts `task`.
    pub(crate) fn start(
        task: impl Future<Output = T> + Send + 'static,
    ) -> std::io::Result<Pending<T>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = handle()?.spawn(async move {
            // What waited may have gone.
            let _ = sender.send(task.await);
        });
        Ok(Pending {
            receiver,
            task: task.abort_handle(),
        })
    }

    /// What the task gives; none if `stop` says so first.
    pub(crate) fn wait(self, stop: &Stop) -> std::io::Result<Option<T>> {
        use mpsc::RecvTimeoutError as Failed;
        loop {
            match self.receiver.recv_timeout(LOOK) {
                Ok(answer) => return Ok(Some(answer)),
                Err(Failed::Timeout) if stop() => return Ok(None),
                Err(Failed::Timeout) => {}
                Err(Failed::Disconnected) => {
                    return Err(std::io::Error::other("a request ended without an answer"));
                }
            }
        }
    }
}
