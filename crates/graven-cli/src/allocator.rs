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
//! A statement that runs again takes the same large pieces again, and a new piece costs a page
//! fault for each 4 KiB: a quarter of the time of a question whose array of one property is
//! larger than 1 MiB. So the last large pieces freed are kept aside ([`Aside`]), up to 8 MiB of
//! them, for what is about as large. They go back to the system as soon as they and what the
//! process holds are together more than it held at most since memory was given back. It looks at
//! that each [`STEP`] bytes, so they add little to the most that it takes.
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
//! # Concurrency
//! Each thread counts for itself and adds to the shared count once for each [`STEP`] bytes. One
//! thread at a time gives memory back, and one at a time looks at the pieces kept aside; the others
//! go on without.
//!
//! # Costs
//! Up to 4 MiB a thread and 8 MiB a process that no budget counts; part of what a process may take
//! in addition to the memory limit. Counting takes an addition for each piece.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, AtomicUsize, Ordering};

/// Bytes kept.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: libc::c_int = 4 << 20;

/// Bytes from which on a piece is in no heap.
const ALONE: usize = 1 << 20;

/// Bytes up to which pieces wait for the thread that frees them.
const SMALL: usize = 1032;

/// Bytes after which a thread tells what it has counted.
const STEP: isize = 256 << 10;

/// Bytes by which what is held falls before free pages are given back.
const FALLEN: isize = 8 << 20;

thread_local! {
    /// Bytes allocated less those freed on this thread that [`HELD`] does not know of.
    static COUNTED: Cell<isize> = const { Cell::new(0) };
}

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
fn has_fallen(most: isize, held: isize) -> bool {
    most - held > FALLEN.max(most / 8)
}

#[cold]
fn tell(counted: isize) {
    let held = HELD.fetch_add(counted, Ordering::Relaxed) + counted;
    let most = MOST.fetch_max(held, Ordering::Relaxed).max(held);
    // What is kept aside and what is held together are no more than was held at most.
    let aside = LARGE.bytes.load(Ordering::Relaxed);
    if aside > 0 && held + aside.cast_signed() > most {
        LARGE.clear(free_large);
    }
    if has_fallen(most, held) && !GIVING.swap(true, Ordering::Acquire) {
        LARGE.clear(free_large);
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

/// Gives a piece that was kept aside back to the system.
fn free_large(piece: *mut u8) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a piece of the C library's allocator that nothing else knows of.
    unsafe {
        libc::free(piece.cast());
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = piece;
}

/// Large pieces that wait for the next one of their size.
struct Aside {
    /// A thread looks at the pieces.
    taken: AtomicBool,
    /// Where a piece begins, or null; the bytes it has.
    pieces: [(AtomicPtr<u8>, AtomicUsize); PIECES],
    /// Bytes of all pieces.
    bytes: AtomicUsize,
    /// Counts the pieces given up for others; they are given up slot by slot.
    next: AtomicUsize,
}

/// Pieces kept aside, and the bytes that all of them may have.
const PIECES: usize = 4;
const ASIDE: usize = 8 << 20;

static LARGE: Aside = Aside {
    taken: AtomicBool::new(false),
    pieces: [const { (AtomicPtr::new(null_mut()), AtomicUsize::new(0)) }; PIECES],
    bytes: AtomicUsize::new(0),
    next: AtomicUsize::new(0),
};

impl Aside {
    /// Calls `look`, unless another thread is at the pieces.
    fn alone<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        let found = look();
        self.taken.store(false, Ordering::Release);
        found
    }

    /// A piece of at least `size` bytes and at most a quarter more.
    fn take(&self, size: usize) -> Option<*mut u8> {
        self.alone(|| {
            let fits = |bytes: usize| size <= bytes && bytes <= size + size / 4;
            let fitting = |(at, bytes): &&(AtomicPtr<u8>, AtomicUsize)| {
                !at.load(Ordering::Relaxed).is_null() && fits(bytes.load(Ordering::Relaxed))
            };
            let (at, bytes) = self.pieces.iter().find(fitting)?;
            (self.bytes).fetch_sub(bytes.load(Ordering::Relaxed), Ordering::Relaxed);
            Some(at.swap(null_mut(), Ordering::Relaxed))
        })
    }

    /// Keeps a piece of `size` bytes, and gives others to `free`, slot by slot, where there is no
    /// room for all; says whether it kept this one.
    fn keep(&self, piece: *mut u8, size: usize, free: impl Fn(*mut u8)) -> bool {
        if size > ASIDE {
            return false;
        }
        let kept = self.alone(|| {
            let bytes_of = |(at, bytes): &(AtomicPtr<u8>, AtomicUsize)| {
                let empty = at.load(Ordering::Relaxed).is_null();
                if empty {
                    0
                } else {
                    bytes.load(Ordering::Relaxed)
                }
            };
            loop {
                let sum: usize = self.pieces.iter().map(bytes_of).sum();
                let empty = self.pieces.iter().find(|piece| bytes_of(piece) == 0);
                if let Some((at, bytes)) = empty.filter(|_| sum + size <= ASIDE) {
                    bytes.store(size, Ordering::Relaxed);
                    at.store(piece, Ordering::Relaxed);
                    self.bytes.store(sum + size, Ordering::Relaxed);
                    return Some(());
                }
                let next = self.next.fetch_add(1, Ordering::Relaxed) % PIECES;
                let other = self.pieces[next].0.swap(null_mut(), Ordering::Relaxed);
                if !other.is_null() {
                    free(other);
                }
            }
        });
        kept.is_some()
    }

    /// Gives all pieces to `free`.
    fn clear(&self, free: impl Fn(*mut u8)) {
        let _ = self.alone(|| {
            for (at, _) in &self.pieces {
                let piece = at.swap(null_mut(), Ordering::Relaxed);
                if !piece.is_null() {
                    free(piece);
                }
            }
            self.bytes.store(0, Ordering::Relaxed);
            Some(())
        });
    }
}

/// The bytes of a piece that the C library made alone, and that may be kept aside.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn kept_bytes(at: *mut u8, layout: Layout) -> Option<usize> {
    let plain = layout.align() <= align_of::<libc::max_align_t>();
    // SAFETY: the caller frees `at`, so it is a piece of the C library's allocator.
    (layout.size() >= ALONE && plain).then(|| unsafe { libc::malloc_usable_size(at.cast()) })
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn kept_bytes(_: *mut u8, _: Layout) -> Option<usize> {
    None
}

/// See the file header.
pub(crate) struct Allocator;

// SAFETY: everything is the system's allocator, by its own contract. A piece kept aside came from
// it by `malloc`: it has at least the bytes asked for, the alignment of every piece, and one owner.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // What is kept aside has the alignment of every piece of the C library.
        let plain = layout.align() <= align_of::<libc::max_align_t>();
        if layout.size() >= ALONE
            && plain
            && let Some(kept) = LARGE.take(layout.size())
        {
            return kept;
        }
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: as the caller says.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let kept = kept_bytes(at, layout).is_some_and(|bytes| LARGE.keep(at, bytes, free_large));
        if !kept {
            // SAFETY: as the caller says.
            unsafe { System.dealloc(at, layout) }
        }
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
        libc::mallopt(libc::M_MMAP_THRESHOLD, ALONE as libc::c_int);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Goal: little that is freed is kept for the next statement, and so is a part of much.
    #[test]
    fn free_pages_are_given_back_by_what_was_held() {
        const MIB: isize = 1 << 20;
        assert!(!has_fallen(20 * MIB, 12 * MIB));
        assert!(has_fallen(20 * MIB, 11 * MIB));
        assert!(!has_fallen(800 * MIB, 710 * MIB));
        assert!(has_fallen(800 * MIB, 690 * MIB));
        assert!(has_fallen(0, -9 * MIB));
    }

    /// Goal: a large piece serves the next one of about its size, and a few MiB of them are kept.
    #[test]
    fn large_pieces_are_kept_for_what_is_about_as_large() {
        const MIB: usize = 1 << 20;
        let aside = Aside {
            taken: AtomicBool::new(false),
            pieces: [const { (AtomicPtr::new(null_mut()), AtomicUsize::new(0)) }; PIECES],
            bytes: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
        };
        let mut places = [0u8; 4];
        let [a, b, c, d] = places.each_mut().map(|place| &raw mut *place);
        let freed = RefCell::new(Vec::new());
        let free = |piece| freed.borrow_mut().push(piece);
        assert!(aside.keep(a, ASIDE - 2 * MIB, free));
        assert!(aside.keep(b, MIB, free));
        assert_eq!(aside.take(MIB + 1), None);
        assert_eq!(aside.take(MIB), Some(b));
        assert_eq!(aside.take(MIB), None);
        assert!(aside.keep(b, MIB, free));
        // There is no room for all: that of the first slot goes.
        assert!(aside.keep(c, 2 * MIB, free));
        assert_eq!(freed.take(), [a]);
        assert_eq!(aside.take(2 * MIB - 1000), Some(c));
        assert!(!aside.keep(d, ASIDE + 1, free));
        aside.clear(free);
        assert_eq!(freed.take(), [b]);
        assert_eq!(aside.take(MIB), None);
    }
}
