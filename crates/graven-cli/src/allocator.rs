//! The C library's allocator, told how much freed memory to keep for the next statement, when to
//! give back the rest, and how vectors grow.
//!
//! # How it works
//! Statements one after the other take arrays of kilobytes up to some megabytes and free them at
//! their end. By itself the allocator of glibc gives such memory back to the system each time, and
//! the next statement pays for it page by page: half of the time of a search over two steps that
//! reads a property of 300,000 nodes. Here all heaps together keep a 16th of the memory limit at
//! their ends, each of them 16 MiB at most ([`KEPT_MAX`]). Pieces of as much, but no less than
//! [`ALONE_MIN`] and no more than [`ALONE_MAX`], come from the system and go back there alone: in a
//! heap each of them leaves a hole that the next, a little larger, does not fit. These limits are
//! fixed, where glibc would raise its own up to 64 MiB. Under a small limit (see below) a heap
//! keeps a 256th: there every byte counts more than a page fault.
//!
//! Each thread has a heap of its own, but small pieces that it frees wait for it whatever heap they
//! are of, as those of rows that another thread made ([`thread_cache`], and behind it the C
//! library). A vector that begins in such a piece grows in the other thread's heap, under its lock,
//! and stays there: two threads of a statement met at one lock up to ten times a millisecond and
//! slept. So what is small and grows is allocated anew: from what waits, without any lock, or in
//! the heap of the thread that lets it grow.
//!
//! A heap shrinks only at its end: below a piece that stays, freed memory stays resident, and the
//! next statement may need its bytes elsewhere, for pages or large texts. So the allocator counts
//! what the process holds. Where that has fallen by a 16th of the memory limit, 16 MiB at most
//! ([`FALL_MAX`]), and by an eighth of what it was, `malloc_trim` gives the free pages within all
//! heaps back to the system. A large array that moves as it grows frees the room it had: the
//! allocator counts both for a moment. By itself glibc moves it from one hole of a heap to the next
//! and leaves its pages resident behind.
//!
//! A heap keeps its memory whether or not its thread still runs, and threads that take and free
//! arrays in turn each leave theirs in a heap of their own. So there are few heaps under a small
//! limit, and threads share them: one for each 64 MiB of the limit ([`HEAP_SHARE`]), no more than
//! eight for each core; below 128 MiB ([`SMALL_LIMIT`]) one for each 8 MiB.
//!
//! # Concurrency
//! Each thread counts for itself and adds to the shared count once for each [`STEP`] bytes. One
//! thread at a time gives memory back; the others go on without.
//!
//! # Costs
//! A 16th of the memory limit, or 16 MiB where that is less, in a process that no budget counts;
//! less under a small limit; and a 1,024th of the memory limit, half a mebibyte at most, of small
//! pieces that wait on each thread. It is part of what a process may take in addition to the limit.
//! Counting takes an addition for each piece that does not wait. Pieces that wait count as held.

mod thread_cache;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicIsize, Ordering};

/// Bytes kept at the end of a heap: the least and the most.
const KEPT_MIN: i32 = 32 << 10;
const KEPT_MAX: i32 = 16 << 20;

/// Bytes below which a piece is in a heap, whatever the memory limit: the least and the most.
const ALONE_MIN: i32 = 1 << 20;
const ALONE_MAX: i32 = 8 << 20;

/// Bytes of the memory limit for each heap: of others, and of small ones.
const HEAP_SHARE: u64 = 64 << 20;
const SMALL_HEAP_SHARE: u64 = 8 << 20;

/// The part of the memory limit that the small pieces of a size take which wait on a thread.
const SMALL_SHARE: u64 = 1 << 16;

/// Bytes after which a thread tells what it has counted.
const STEP: isize = 256 << 10;

/// Bytes by which what is held falls before free pages are given back: the least and the most.
const FALL_MIN: i32 = 1 << 20;
const FALL_MAX: i32 = 16 << 20;

/// Under memory limits below this threads share heaps.
const SMALL_LIMIT: u64 = 128 << 20;

/// The limit that is assumed where there is none.
pub(crate) const LIMIT_UNKNOWN: u64 = 1 << 30;

thread_local! {
    /// Bytes allocated less those freed on this thread that [`HELD`] does not know of.
    static COUNTED: Cell<isize> = const { Cell::new(0) };
}

/// What the memory limit makes of [`FALL_MAX`].
static FALL: AtomicI32 = AtomicI32::new(FALL_MAX);

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
fn has_fallen(most: isize, held: isize, fall: i32) -> bool {
    most - held > (fall as isize).max(most / 8)
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

// SAFETY: a piece is the system's, by its own contract, allocated and freed with the same layout:
// the rounded one where there is one. Of those that wait each is handed out once (AL-1).
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(rounded) = thread_cache::rounded(layout) else {
            // SAFETY: as the caller says.
            return unsafe { counted(layout) };
        };
        let piece = thread_cache::take(rounded);
        match piece.is_null() {
            // SAFETY: no size is 0.
            true => unsafe { counted(rounded) },
            false => piece,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if thread_cache::rounded(layout).is_none() {
            count(layout.size().cast_signed());
            // SAFETY: as the caller says.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as the caller says.
        let piece = unsafe { self.alloc(layout) };
        if !piece.is_null() {
            // SAFETY: it has so many bytes.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let rounded = thread_cache::rounded(layout);
        // SAFETY: it was allocated so, and the caller uses it no more.
        if rounded.is_some_and(|rounded| unsafe { thread_cache::give(at, rounded) }) {
            return;
        }
        let layout = rounded.unwrap_or(layout);
        // SAFETY: it was allocated with this layout.
        unsafe { System.dealloc(at, layout) };
        count(-layout.size().cast_signed());
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller says that `size` is allowed for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let (old, new) = (thread_cache::rounded(layout), thread_cache::rounded(wanted));
        if old.is_some() && old == new {
            return at;
        }
        if old.is_none() && new.is_none() {
            count(size.cast_signed() - layout.size().cast_signed());
            // SAFETY: as the caller says.
            let new = unsafe { System.realloc(at, layout, size) };
            if new != at && layout.size().cast_signed() >= STEP {
                count(layout.size().cast_signed());
                count(-layout.size().cast_signed());
            }
            return new;
        }
        // SAFETY: the caller gives a size that is not 0.
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            // SAFETY: both pieces have as many bytes and are not the same; the old one is not used
            // any more.
            unsafe {
                new.copy_from_nonoverlapping(at, layout.size().min(size));
                self.dealloc(at, layout);
            }
        }
        new
    }
}

/// A new piece of the system's.
///
/// # Safety
/// As [`GlobalAlloc::alloc`].
unsafe fn counted(layout: Layout) -> *mut u8 {
    count(layout.size().cast_signed());
    // SAFETY: as the caller says.
    unsafe { System.alloc(layout) }
}

/// How much freed memory stays, in bytes. Other allocators than glibc's are told nothing.
#[cfg_attr(not(all(target_os = "linux", target_env = "gnu")), allow(dead_code))]
struct Kept {
    /// At the end of a heap.
    in_heap: i32,
    /// Pieces of so many bytes and more are in no heap.
    alone: i32,
    /// What is held falls by so much before all free pages go back.
    fall: i32,
    /// The most heaps.
    heaps: u64,
    /// Small pieces of a size that wait on a thread.
    small: usize,
}

impl Kept {
    fn under(limit: u64, cores: u64) -> Self {
        let share = |parts| i32::try_from(limit / parts).unwrap_or(i32::MAX);
        let is_small = limit < SMALL_LIMIT;
        let heaps = match is_small {
            true => (limit / SMALL_HEAP_SHARE).max(2),
            false => (limit / HEAP_SHARE).clamp(2, 8 * cores.max(1)),
        };
        let in_heap = match is_small {
            true => share(256).max(KEPT_MIN),
            false => share(16 * heaps).min(KEPT_MAX),
        };
        Self {
            in_heap,
            alone: in_heap.clamp(ALONE_MIN, ALONE_MAX),
            fall: share(16).clamp(FALL_MIN, FALL_MAX),
            heaps,
            small: match is_small {
                true => 0,
                false => thread_cache::KEPT_MAX.min((limit / SMALL_SHARE) as usize),
            },
        }
    }
}

/// Keeps freed memory as fits a memory limit. To be called before there are other threads, again
/// once the limit is known.
pub(crate) fn keep_freed_memory(limit: u64) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kept = Kept::under(limit, cores as u64);
    FALL.store(kept.fall, Ordering::Relaxed);
    thread_cache::keep(kept.small);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` sets numbers of the allocator; no other thread allocates yet. Where it
    // refuses, all stays as it was.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, kept.in_heap);
        libc::mallopt(libc::M_MMAP_THRESHOLD, kept.alone);
        let heaps = i32::try_from(kept.heaps).unwrap_or(i32::MAX);
        libc::mallopt(libc::M_ARENA_MAX, heaps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: little that is freed is kept for the next statement, and so is a part of much.
    #[test]
    fn free_pages_are_given_back_by_what_was_held() {
        const MIB: isize = 1 << 20;
        assert!(!has_fallen(40 * MIB, 24 * MIB, FALL_MAX));
        assert!(has_fallen(40 * MIB, 23 * MIB, FALL_MAX));
        assert!(!has_fallen(800 * MIB, 710 * MIB, FALL_MAX));
        assert!(has_fallen(800 * MIB, 690 * MIB, FALL_MAX));
        assert!(has_fallen(0, -17 * MIB, FALL_MAX));
    }

    /// Goal: what is kept is a share of a small memory limit, and no more than fits beside a large
    /// one.
    #[test]
    fn what_is_kept_follows_the_memory_limit() {
        let kept = |mib: u64| {
            let kept = Kept::under(mib << 20, 2);
            let sizes = [kept.in_heap, kept.alone, kept.fall].map(|bytes| bytes >> 10);
            (sizes, kept.heaps, kept.small >> 10)
        };
        assert_eq!(kept(1), ([32, 1024, 1024], 2, 0));
        assert_eq!(kept(64), ([256, 1024, 4096], 8, 0));
        assert_eq!(kept(128), ([4096, 4096, 8192], 2, 2));
        assert_eq!(kept(256), ([4096, 4096, 16384], 4, 4));
        assert_eq!(kept(1024), ([4096, 4096, 16384], 16, 8));
        assert_eq!(kept(4096), ([16384, 8192, 16384], 16, 8));
    }
}
