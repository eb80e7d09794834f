//! Heap memory aligned for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Bytes aligned to [`AlignedBuffer::ALIGNMENT`], zero at first.
#[derive(Debug)]
pub struct AlignedBuffer {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the buffer owns its memory as a `Box<[u8]>` would.
unsafe impl Send for AlignedBuffer {}
// SAFETY: as for `Send`; shared access is read-only.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// What the first byte's address is a multiple of; enough for every file of this crate.
    pub const ALIGNMENT: usize = 4096;

    /// `bytes` zero bytes.
    ///
    /// # Panics
    /// `bytes` is larger than an allocation can be.
    pub fn zeroed(bytes: usize) -> AlignedBuffer {
        let layout = Self::layout(bytes);
        // SAFETY: the layout's size is not zero (`layout` sees to it).
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout)
        };
        AlignedBuffer { start, bytes }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes.max(1), Self::ALIGNMENT)
            .expect("buffer size fits an allocation")
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with the same layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.bytes)) }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `bytes` initialised bytes that this buffer owns.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}
