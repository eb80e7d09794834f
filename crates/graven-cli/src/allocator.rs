//! The C library's allocator, told how much freed memory to keep for the next statement and how
//! vectors grow.
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
//! # Costs
//! Up to 4 MiB a thread that no budget counts; part of what a process may take in addition to the
//! memory limit.

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: libc::c_int = 4 << 20;

/// Bytes from which on a piece is in no heap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ALONE: libc::c_int = 1 << 20;

/// Bytes up to which pieces wait for the thread that frees them.
const SMALL: usize = 1032;

/// See the file header.
pub(crate) struct Allocator;

// SAFETY: everything is the system's allocator, by its own contract.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
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
