//! The C library's allocator, told how much freed memory to keep for the next statement, when to
//! give back the rest, and how vectors grow.
//!
//! # How it works
//! Statements one after the other take arrays of some hundred kilobytes and free them at their end.
//! By itself the allocator of glibc gives such memory back to the system each time, and the next
//! statement pays for it page by page: a fifth of the time of a search over two steps. Here it
//! keeps up to 4 MiB ([`KEPT`]) at the end of each thread's heap. Pieces of 1 MiB ([`ALONE`]) and
//! more, as large texts are, come from the system and go back there alone: in a heap each of them
//! leaves a hole that the next, a little larger, does not fit. Both limits are fixed, where glibc
//! would raise its own up to 64 MiB.
//!
//! Each thread has a heap of its own, but small pieces that it frees wait for it whatever heap they
//! are of, as those of rows that another thread made. A vector that begins in such a piece grows in
//! the other thread's heap, under its lock, and stays there: two threads of a statement met at one
//! lock up to ten times a millisecond and slept. So what is small ([`SMALL`]) and grows is
//! allocated anew: from what waits, without any lock, or in the heap of the thread that lets it
//! grow.
//!
//! A heap shrinks only at its end: below a piece that stays, freed memory stays resident, and the
//! next statement may need its bytes elsewhere, for pages or large texts. So the allocator counts
//! what the process holds. Where that has fallen by 8 MiB ([`FALLEN`]), and by an eighth of what it
//! was, `malloc_trim` gives the free pages within all heaps back to the system.
//!
//! Under a small memory limit all this would be more than the limit itself: [`keep_less`] lowers it
//! to shares of the limit, and lets threads share heaps.
//!
//! # Concurrency
//! Each thread counts for itself and adds to the shared count once for each [`STEP`] bytes. One
//! thread at a time gives memory back; the others go on without.
//!
//! # Costs
//! Up to 4 MiB a thread and 8 MiB a process that no budget counts; part of what a process may take
//! in addition to the memory limit. Counting takes an addition for each piece.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

/// Bytes kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: libc::c_int = 4 << 20;

/// Bytes from which on a piece is in no heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ALONE: libc::c_int = 1 << 20;

/// Bytes up to which pieces wait for the thread that frees them.
const SMALL: usize = 1032;

/// Bytes after which a thread tells what it has counted.
const STEP: isize = 256 << 10;

/// Bytes by which what is held falls before free pages are given back, unless the memory limit is
/// small.
const FALLEN: isize = 8 << 20;

/// Memory limits below this lower what is kept.
const SMALL_LIMIT: u64 = 128 << 20;

thread_local! {
    /// Bytes allocated less those freed on this thread that [`HELD`] does not know of.
    static COUNTED: Cell<isize> = const { Cell::new(0) };
}

/// [`FALLEN`], or what a small memory limit makes of it.
static FALL: AtomicIsize = AtomicIsize::new(FALLEN);

/// Bytes allocated and not freed; what it was at most since free pages were given back.
static HELD: AtomicIsize = AtomicIsize::new(0);
static MOST: AtomicIsize = AtomicIsize::new(0);

/// A thread gives free pages back.
static GIVING: AtomicBool = AtomicBool::new(false);

/// Counts bytes, negative ones where they are freed.
fn count(bytes: isize) {
    let counted = COUNTED.get() + bytes;
    match -STEP < counted && counted < STEP {
        true => COUNTED.set(counted),
        false => {
            COUNTED.set(0);
            tell(counted);
        }
    }
}

/// Whether what is held has fallen enough for free pages to be given back.
fn has_fallen(most: isize, held: isize, fall: isize) -> bool {
    most - held > fall.max(most / 8)
}

#[cold]
fn tell(counted: isize) {
    let held = HELD.fetch_add(counted, Ordering::Relaxed) + counted;
    let most = MOST.fetch_max(held, Ordering::Relaxed).max(held);
    if has_fallen(most, held, FALL.load(Ordering::Relaxed)) && !GIVING.swap(true, Ordering::Acquire)
    {
        MOST.store(held, Ordering::Relaxed);
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: it may be called at any time, by any thread, that holds no lock of the allocator;
        // this one is between two of its calls.
        unsafe {
            libc::malloc_trim(0);
        }
        GIVING.store(false, Ordering::Release);
    }
}

/// See the file header.
pub(crate) struct Allocator;

// SAFETY: everything is the system's allocator, by its own contract.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
        count(-layout.size().cast_signed());
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.cast_signed() - layout.size().cast_signed());
        if layout.size() > SMALL || size <= layout.size() {
            // SAFETY: as the caller says.
            return unsafe { System.realloc(at, layout, size) };
        }
        // SAFETY: the caller says that `size` is allowed for this alignment.
        let new = unsafe { System.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: `at` holds `layout.size()` bytes, fewer than `new`, which is another piece;
            // it is not used any more.
            unsafe {
                new.copy_from_nonoverlapping(at, layout.size());
                System.dealloc(at, layout);
            }
        }
        new
    }
}

/// To be called before there are other threads.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` sets numbers of the allocator; no other thread allocates yet. Where it
    // refuses, all stays as it was.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_MMAP_THRESHOLD, ALONE);
    }
}

/// To be called with the memory limit before there are other threads: under a small one less of
/// what is freed is kept.
pub(crate) fn keep_less(limit: u64) {
    if limit >= SMALL_LIMIT {
        return;
    }
    let limit = libc::c_int::try_from(limit).expect("a small limit");
    FALL.store(fall_of(limit) as isize, Ordering::Relaxed);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: as in `keep_freed_memory`.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, limit / 32);
        // A heap keeps most of a megabyte, whether or not its thread still runs.
        libc::mallopt(libc::M_ARENA_MAX, (limit >> 23).max(2));
    }
}

/// What a memory limit makes of [`FALLEN`].
fn fall_of(limit: libc::c_int) -> libc::c_int {
    (limit / 16).max(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: little that is freed is kept for the next statement, and so is a part of much.
    #[test]
    fn free_pages_are_given_back_by_what_was_held() {
        const MIB: isize = 1 << 20;
        assert!(!has_fallen(20 * MIB, 12 * MIB, FALLEN));
        assert!(has_fallen(20 * MIB, 11 * MIB, FALLEN));
        assert!(!has_fallen(800 * MIB, 710 * MIB, FALLEN));
        assert!(has_fallen(800 * MIB, 690 * MIB, FALLEN));
        assert!(has_fallen(0, -9 * MIB, FALLEN));
        assert_eq!([1, 16, 64].map(|mib| fall_of(mib << 20) >> 20), [1, 1, 4]);
    }
}
