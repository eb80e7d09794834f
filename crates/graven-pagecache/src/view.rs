//! What an optimistic reader may do with a page: copy scalars out, bounds checked.
//!
//! # How it works
//! While an optimistic closure runs, the frame may be recycled for another page. A [`View`]
//! therefore never hands out a reference to the bytes; it copies single values with relaxed atomic
//! loads. Values read before validation may be nonsense: an access beyond the payload reads as zero
//! and is remembered, and the page cache runs the closure again or, if the page was intact, reports
//! the page as damaged.
//!
//! # Invariants
//! * PC-6: no reference to bytes of an unpinned frame exists; every access of a view lies within
//!   its frame.
//! * US-1: `base` points at `len` bytes of frame memory, 8-byte aligned, that stays mapped while
//!   the cache lives; the cache outlives the view's lifetime.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The payload of a page as an optimistic reader sees it.
pub struct View<'a> {
    base: *const u8,
    len: usize,
    overrun: Cell<usize>,
    frame: PhantomData<&'a [AtomicU8]>,
}

macro_rules! scalars {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        #[inline]
        #[must_use]
        pub fn $name(&self, offset: usize) -> $type {
            let mut bytes = [0; size_of::<$type>()];
            self.load(offset, &mut bytes);
            <$type>::from_le_bytes(bytes)
        }
    )*};
}

impl<'a> View<'a> {
    /// A view of `len` bytes at `base`.
    ///
    /// # Safety
    /// US-1 must hold for the lifetime `'a`.
    pub(crate) unsafe fn new(base: *const u8, len: usize) -> View<'a> {
        debug_assert!(
            (base as usize).is_multiple_of(8),
            "US-1: payloads are aligned"
        );
        View {
            base,
            len,
            overrun: Cell::new(0),
            frame: PhantomData,
        }
    }

    /// Bytes that may be accessed: the payload room of the page, not the length in its header.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing to access.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    scalars! {
        /// The little-endian `u16` at byte `offset`; 0 beyond the payload.
        u16_at: u16;
        /// The little-endian `u32` at byte `offset`; 0 beyond the payload.
        u32_at: u32;
        /// The little-endian `i64` at byte `offset`; 0 beyond the payload.
        i64_at: i64;
        /// The little-endian `f64` at byte `offset`; 0 beyond the payload.
        f64_at: f64;
    }

    /// The byte at `offset`; 0 beyond the payload.
    #[inline]
    #[must_use]
    pub fn u8_at(&self, offset: usize) -> u8 {
        if offset >= self.len {
            self.note_overrun(offset, 1);
            return 0;
        }
        // SAFETY: US-1, and `offset` is below `len`.
        unsafe { &*self.base.add(offset).cast::<AtomicU8>() }.load(Ordering::Relaxed)
    }

    /// The little-endian `u64` at byte `offset`; 0 beyond the payload.
    #[inline]
    #[must_use]
    pub fn u64_at(&self, offset: usize) -> u64 {
        if offset.is_multiple_of(8) && offset < self.len && self.len - offset >= 8 {
            // SAFETY: US-1; eight bytes at an aligned offset within `len`.
            let word = unsafe { &*self.base.add(offset).cast::<AtomicU64>() };
            return u64::from_le(word.load(Ordering::Relaxed));
        }
        let mut bytes = [0; 8];
        self.load(offset, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Copies `out.len()` bytes from `offset`; all zero if they do not lie within the payload.
    pub fn copy(&self, offset: usize, out: &mut [u8]) {
        self.load(offset, out);
    }

    /// The first access beyond the payload as (end of the access, length of the payload).
    pub(crate) fn overrun(&self) -> Option<(usize, usize)> {
        match self.overrun.get() {
            0 => None,
            end => Some((end, self.len)),
        }
    }

    #[inline]
    fn load(&self, offset: usize, out: &mut [u8]) {
        if offset > self.len || out.len() > self.len - offset {
            self.note_overrun(offset, out.len());
            out.fill(0);
            return;
        }
        for (at, byte) in out.iter_mut().enumerate() {
            // SAFETY: US-1, and `offset + at` is below `len` by the check above.
            let cell = unsafe { &*self.base.add(offset + at).cast::<AtomicU8>() };
            *byte = cell.load(Ordering::Relaxed);
        }
    }

    /// Inlined, so that a view never needs an address and lives in registers.
    #[inline(always)]
    fn note_overrun(&self, offset: usize, bytes: usize) {
        if self.overrun.get() == 0 {
            self.overrun.set(offset.saturating_add(bytes).max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: values come out little-endian at every alignment, and accesses beyond the end read
    /// zero and are noted.
    #[test]
    fn scalars_are_bounds_checked() {
        let words: Vec<u64> = vec![0x0807_0605_0403_0201, u64::MAX];
        // SAFETY: `words` outlives the view and is aligned.
        let view = unsafe { View::new(words.as_ptr().cast(), 16) };
        assert_eq!(view.u8_at(1), 2);
        assert_eq!(view.u16_at(1), 0x0302);
        assert_eq!(view.u32_at(3), 0x0706_0504);
        assert_eq!(view.u64_at(0), words[0]);
        assert_eq!(view.u64_at(1), 0xff08_0706_0504_0302);
        let mut out = [0; 3];
        view.copy(7, &mut out);
        assert_eq!(out, [8, 0xff, 0xff]);
        assert_eq!(view.overrun(), None);
        assert_eq!(view.u64_at(9), 0);
        assert_eq!(view.u8_at(usize::MAX), 0);
        assert_eq!(view.u32_at(usize::MAX), 0);
        assert_eq!(view.overrun(), Some((17, 16)));
    }
}
