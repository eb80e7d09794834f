//! A thread's cache of small pieces that it freed, for the next ones of their size.
//!
//! # How it works
//! A small statement takes and frees some fifty pieces. The C library has a thread cache as well,
//! of seven pieces of each size, but checks each of them: about 140 instructions for a piece that
//! is taken and freed. Here the free pieces of a size are a free list through the pieces; sizes are
//! rounded up to 24, 40, 56 and so on, as the C library of 64-bit systems does. A free list that
//! holds [`keep`] bytes takes no more; what it does not take goes back to the C library.
//!
//! # Invariants
//! * AL-1 A piece in a free list is free, was allocated by [`System`] with the layout of its list,
//!   and is in no other list.
//!
//! # Concurrency
//! Each thread has a cache of its own. Its pieces go back to the C library when it ends. Since Rust
//! 1.93 the cache may have a destructor although an allocator uses it: what the standard library
//! needs for destructors comes from [`System`].
//!
//! # Costs
//! About 25 instructions for a piece that is taken and freed. A thread holds [`KEPT_MAX`] bytes of
//! each size at most, together half a mebibyte.
//!
//! # Source
//! S. Ghemawat, P. Menage, "TCMalloc: Thread-Caching Malloc", 2005, without its central free lists.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the pieces of the first list, what it grows by from list to list, and how many lists
/// there are: the last one has pieces of 1,032 bytes.
const FIRST: usize = 24;
const STEP: usize = 16;
const LISTS: usize = 64;

/// Bytes of a list, at most.
pub(super) const KEPT_MAX: usize = 8 << 10;

/// Bytes that a list keeps; none until [`keep`] was called.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// What a free piece holds.
struct Free {
    next: *mut Free,
}

/// Free lists by size.
struct ThreadCache {
    first: [Cell<*mut Free>; LISTS],
    bytes: [Cell<usize>; LISTS],
}

thread_local! {
    static CACHE: ThreadCache = const { ThreadCache::new() };
}

/// From now on a free list keeps so many bytes.
pub(super) fn keep(bytes: usize) {
    KEPT.store(bytes.min(KEPT_MAX), Ordering::Relaxed);
}

/// The layout in which a piece of this one is allocated and freed.
pub(super) fn rounded(layout: Layout) -> Option<Layout> {
    let list = layout.size().saturating_sub(FIRST).div_ceil(STEP);
    (list < LISTS && layout.align() <= STEP).then(|| layout_of(list))
}

/// The layout of the pieces of a list.
fn layout_of(list: usize) -> Layout {
    // SAFETY: the size is small, the alignment a power of two.
    unsafe { Layout::from_size_align_unchecked(FIRST + list * STEP, STEP) }
}

fn list_of(rounded: Layout) -> usize {
    (rounded.size() - FIRST) / STEP
}

/// A piece of this rounded layout; null if none waits.
pub(super) fn take(rounded: Layout) -> *mut u8 {
    // A thread that ends has no cache any more.
    (CACHE.try_with(|cache| cache.take(rounded))).unwrap_or(ptr::null_mut())
}

/// Keeps a piece, if there is room for it.
///
/// # Safety
/// It was allocated by [`System`] with this rounded layout, and is used no more if this says
/// `true`.
pub(super) unsafe fn give(piece: *mut u8, rounded: Layout) -> bool {
    let most = KEPT.load(Ordering::Relaxed);
    // SAFETY: as the caller says.
    let given = CACHE.try_with(|cache| unsafe { cache.give(piece, rounded, most) });
    given.unwrap_or(false)
}

impl ThreadCache {
    /// Empty ones.
    const fn new() -> Self {
        Self {
            first: [const { Cell::new(ptr::null_mut()) }; LISTS],
            bytes: [const { Cell::new(0) }; LISTS],
        }
    }

    /// See [`take`].
    fn take(&self, rounded: Layout) -> *mut u8 {
        let list = list_of(rounded);
        let piece = self.first[list].get();
        if !piece.is_null() {
            // SAFETY: by AL-1 it is free, and `give` wrote to it.
            self.first[list].set(unsafe { (*piece).next });
            let bytes = &self.bytes[list];
            bytes.set(bytes.get() - rounded.size());
        }
        piece.cast()
    }

    /// See [`give`]; a list takes `most` bytes.
    ///
    /// # Safety
    /// As [`give`].
    unsafe fn give(&self, piece: *mut u8, rounded: Layout, most: usize) -> bool {
        let list = list_of(rounded);
        let bytes = self.bytes[list].get() + rounded.size();
        if bytes > most {
            return false;
        }
        let piece = piece.cast::<Free>();
        let next = self.first[list].get();
        // SAFETY: the piece is the caller's, larger than a `Free` and aligned for it.
        unsafe { piece.write(Free { next }) };
        self.first[list].set(piece);
        self.bytes[list].set(bytes);
        true
    }
}

impl Drop for ThreadCache {
    fn drop(&mut self) {
        for (list, first) in self.first.iter().enumerate() {
            let layout = layout_of(list);
            let mut piece = first.replace(ptr::null_mut());
            while !piece.is_null() {
                // SAFETY: by AL-1 it is free, was allocated so, and is in no other list.
                unsafe {
                    let next = (*piece).next;
                    System.dealloc(piece.cast(), layout);
                    piece = next;
                }
                super::count(-layout.size().cast_signed());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Allocator, COUNTED, counted};
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).expect("small")
    }

    /// Goal: sizes are those of the C library's pieces, and what is larger or aligned to more has
    /// none.
    #[test]
    fn sizes_are_rounded_as_the_c_library_does() {
        let size = |size| rounded(layout(size)).map(|rounded| rounded.size());
        let sizes = [1, 24, 25, 40, 41, 1032, 1033].map(size);
        let expected = [24, 24, 40, 40, 56, 1032].map(Some);
        assert_eq!(sizes[..6], expected);
        assert_eq!(sizes[6], None);
        assert_eq!(
            rounded(Layout::from_size_align(64, 32).expect("valid")),
            None
        );
    }

    /// Goal: a list gives back what it got last, takes no more than it may, and what it still has
    /// when its thread ends counts as freed.
    #[test]
    fn pieces_wait_within_a_bound() {
        let rounded = rounded(layout(100)).expect("small");
        let cache = ThreadCache::new();
        let before = COUNTED.get();
        // SAFETY: the size is not 0; each piece is given away once and used no more.
        unsafe {
            let (first, second, third) = (counted(rounded), counted(rounded), counted(rounded));
            let most = 2 * rounded.size();
            assert!(cache.give(first, rounded, most));
            assert!(cache.give(second, rounded, most));
            assert!(!cache.give(third, rounded, most));
            assert_eq!(cache.take(rounded), second);
            assert!(cache.give(third, rounded, most));
            System.dealloc(second, rounded);
            super::super::count(-rounded.size().cast_signed());
        }
        drop(cache);
        assert_eq!(COUNTED.get(), before);
    }

    /// Goal: pieces keep their bytes however they grow and shrink, cleared ones are clear, and
    /// another thread may free them.
    #[test]
    fn pieces_keep_their_bytes() {
        keep(KEPT_MAX);
        for (from, to) in [(10, 20), (24, 1032), (1000, 5000), (5000, 100), (700, 30)] {
            // SAFETY: sizes are not 0, each piece is freed with the layout that it has, and its
            // first bytes are written before they are read.
            unsafe {
                let piece = Allocator.alloc(layout(from));
                (0..from).for_each(|at| piece.add(at).write(at as u8));
                let piece = Allocator.realloc(piece, layout(from), to);
                let kept = (0..from.min(to)).all(|at| piece.add(at).read() == at as u8);
                assert!(kept, "{from} to {to}");
                Allocator.dealloc(piece, layout(to));
                let clear = Allocator.alloc_zeroed(layout(to));
                assert!((0..to).all(|at| clear.add(at).read() == 0), "{to}");
                let sent = clear as usize;
                let freed = std::thread::spawn(move || {
                    Allocator.dealloc(sent as *mut u8, layout(to));
                });
                freed.join().expect("freed");
            }
        }
    }

    /// Goal: a destructor that runs when the cache of its thread is gone may free what it has.
    #[test]
    fn a_thread_that_ends_frees_what_it_has() {
        struct Late(std::cell::RefCell<Vec<String>>);
        impl Drop for Late {
            fn drop(&mut self) {
                let more: Vec<String> = self.0.borrow().iter().map(|text| text.repeat(2)).collect();
                self.0.replace(more);
            }
        }
        thread_local! {
            static LATE: Late = const { Late(std::cell::RefCell::new(Vec::new())) };
        }
        keep(KEPT_MAX);
        let ended = std::thread::spawn(|| {
            // Destructors run in the order in which the values were first used, or the other way.
            LATE.with(|late| late.0.borrow_mut().push("before".to_owned()));
            drop(vec![String::from("a piece"); 100]);
            LATE.with(|late| late.0.borrow_mut().push("after".to_owned()));
        });
        ended.join().expect("no destructor fails");
    }
}
