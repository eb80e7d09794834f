//! The threads that requests run on.
//!
//! # How it works
//! One runtime a process, made at the first request. A caller hands a task over and waits on a
//! channel, so it may be a thread of another runtime, where waiting for a task is not allowed
//! otherwise. A process made by `fork` has none of the threads: it makes a runtime of its own and
//! leaves the other alone.

use std::future::Future;
use std::sync::mpsc;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};

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
