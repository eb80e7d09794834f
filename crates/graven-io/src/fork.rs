//! Processes made by `fork`: what was opened before it belongs to the process that opened it.
//!
//! # How it works
//! A process made by `fork` without `exec` has the memory and the descriptors of its parent, but
//! only one of its threads. Handlers that the C library calls around each `fork` (`pthread_atfork`,
//! registered with the first use of this module) do two things in the child.
//!
//! They count: a [`OwnerProcess`] that was noted before is elsewhere from then on, which costs a
//! load and a comparison to find out. And they put a pipe without a writer in the place of every
//! descriptor that is [`ForkSafe`]. So the child cannot reach these files and sockets any more, in
//! any way, nor does it keep them alive. A lock of the kind `flock` belongs to the open file, which
//! both processes would share. So it ends with the process that took it. The same holds for
//! connections through sockets, which otherwise would look alive as long as the child. A
//! descriptor's number is never free while an old object may still name it, so that no object
//! closes another's file by mistake.
//!
//! # Invariants
//! * IO-7 A child made by `fork` holds no descriptor that is [`ForkSafe`] in its parent, except a
//!   socket that `accept` or `connect` gave to another thread at that very moment.
//! * IO-8 A [`ProcessLocal`] is dropped by the process that made it or by none.
//!
//! # Concurrency
//! The list of descriptors is locked while one is opened or closed. The handlers lock it across a
//! `fork`, so that the child finds it whole. In the child the handlers allocate nothing and wait
//! for no thread. The system call `clone`, made past the C library, runs no handlers. `vfork` and
//! `posix_spawn`, after which nothing but `exec` is done, need none.
//!
//! # Source
//! `pthread_atfork(3)`, `flock(2)`, `signal-safety(7)`.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// How often this process and those it comes from were made by `fork` since the handlers are there.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// This process.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Descriptors that a child does not keep.
static UNSHARED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());
/// The lock of the list, held across a `fork`.
static ACROSS: Across = Across(UnsafeCell::new(None));

struct Across(UnsafeCell<Option<MutexGuard<'static, Vec<RawFd>>>>);

// SAFETY: reached by the handlers alone, and only by the thread that holds the lock of `UNSHARED`:
// `before` has just taken it, `in_parent` and `in_child` run on the same thread (in the child: its
// copy) and give it back last.
unsafe impl Sync for Across {}

fn watched() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        // SAFETY: the handlers live as long as the program and unwind never. Where there is no
        // memory for them nothing is registered, and the process goes on as one that never forks.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

fn unshared() -> MutexGuard<'static, Vec<RawFd>> {
    watched();
    UNSHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn before() {
    let list = UNSHARED.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: this thread holds the lock; see `Across`.
    unsafe { *ACROSS.0.get() = Some(list) };
}

extern "C" fn in_parent() {
    // SAFETY: this thread holds the lock since `before`; see `Across`.
    drop(unsafe { (*ACROSS.0.get()).take() });
}

extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: takes nothing and cannot fail.
    let process = unsafe { libc::getpid() };
    PROCESS.store(process.unsigned_abs(), Ordering::Relaxed);
    // SAFETY: this thread is the copy of the one that holds the lock since `before`; see `Across`.
    if let Some(mut list) = unsafe { (*ACROSS.0.get()).take() } {
        cut_off(&list);
        list.clear();
    }
}

/// Puts the end of a pipe without a beginning in the place of these descriptors.
fn cut_off(list: &[RawFd]) {
    if list.is_empty() {
        return;
    }
    let mut pipe = [-1; 2];
    // SAFETY: a place for two descriptors.
    let made = unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } == 0;
    for &descriptor in list {
        // SAFETY: the list holds open descriptors, whose owners in this process are of no use any
        // more and touch what is there now. Where there is no pipe they are closed: that they end
        // with their process comes first.
        unsafe {
            match made {
                true => libc::dup3(pipe[0], descriptor, libc::O_CLOEXEC),
                false => libc::close(descriptor),
            }
        };
    }
    if made {
        for end in pipe {
            // SAFETY: made above, and no other code knows it.
            unsafe { libc::close(end) };
        }
    }
}

/// The process in which something was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnerProcess {
    forks: u32,
    process: u32,
}

impl OwnerProcess {
    /// This process.
    #[must_use]
    pub fn here() -> OwnerProcess {
        watched();
        OwnerProcess {
            forks: FORKS.load(Ordering::Relaxed),
            process: PROCESS.load(Ordering::Relaxed),
        }
    }

    /// Whether this is still that process.
    #[inline]
    #[must_use]
    pub fn is_here(self) -> bool {
        FORKS.load(Ordering::Relaxed) == self.forks
    }

    /// Its number.
    #[must_use]
    pub fn process(self) -> u32 {
        self.process
    }
}

/// Something that means nothing in a process made by `fork`: there it is not dropped (IO-8), which
/// leaks its memory.
pub struct ProcessLocal<T> {
    home: OwnerProcess,
    value: ManuallyDrop<T>,
}

impl<T> ProcessLocal<T> {
    /// Belongs to this process.
    #[must_use]
    pub fn new(value: T) -> Self {
        ProcessLocal {
            home: OwnerProcess::here(),
            value: ManuallyDrop::new(value),
        }
    }

    /// The process it belongs to.
    #[must_use]
    pub fn home(&self) -> OwnerProcess {
        self.home
    }

    /// What is in it.
    ///
    /// # Errors
    /// The process it belongs to, if that is another one.
    pub fn into_inner(self) -> Result<T, OwnerProcess> {
        let home = self.home;
        if !home.is_here() {
            return Err(home);
        }
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again and not dropped.
        Ok(unsafe { ManuallyDrop::take(&mut this.value) })
    }
}

impl<T> Deref for ProcessLocal<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for ProcessLocal<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for ProcessLocal<T> {
    fn drop(&mut self) {
        if self.home.is_here() {
            // SAFETY: not used again, for this is its owner's end.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

impl<T: Default> Default for ProcessLocal<T> {
    fn default() -> Self {
        ProcessLocal::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for ProcessLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

/// An open file or socket that a process made by `fork` does not get (IO-7).
#[derive(Debug)]
pub struct ForkSafe<F: AsRawFd>(ManuallyDrop<F>);

impl<F: AsRawFd> ForkSafe<F> {
    /// One that is opened by `open`, which must not wait for long: no thread can fork while it
    /// runs.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open<E>(open: impl FnOnce() -> Result<F, E>) -> Result<Self, E> {
        let mut list = unshared();
        let file = open()?;
        list.push(file.as_raw_fd());
        Ok(ForkSafe(ManuallyDrop::new(file)))
    }

    /// One that is open already.
    pub fn new(file: F) -> Self {
        unshared().push(file.as_raw_fd());
        ForkSafe(ManuallyDrop::new(file))
    }
}

impl<F: AsRawFd> Deref for ForkSafe<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.0
    }
}

impl<F: AsRawFd> DerefMut for ForkSafe<F> {
    fn deref_mut(&mut self) -> &mut F {
        &mut self.0
    }
}

impl<F: AsRawFd> Drop for ForkSafe<F> {
    fn drop(&mut self) {
        // Closed before the lock is given back: a child must not be made in between.
        let mut list = unshared();
        let descriptor = self.0.as_raw_fd();
        if let Some(at) = list.iter().position(|&other| other == descriptor) {
            list.swap_remove(at);
        }
        // SAFETY: not used again, for this is its owner's end.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}
