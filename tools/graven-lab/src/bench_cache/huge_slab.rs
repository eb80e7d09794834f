//! A stretch of huge-page memory, touched once: what the floors read from and into.

use std::io;
use std::ptr::NonNull;

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Anonymous memory aligned to 2 MiB, in huge pages where the kernel grants them.
pub(crate) struct HugeSlab {
    map: NonNull<libc::c_void>,
    mapped: usize,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value; access through shared references is by volatile reads
// of memory that no thread writes at that time (see `read`) and through `start`, whose users answer
// for it.
unsafe impl Send for HugeSlab {}
// SAFETY: as for `Send`.
unsafe impl Sync for HugeSlab {}

impl HugeSlab {
    /// `bytes` zero bytes, resident.
    pub(crate) fn new(bytes: usize) -> io::Result<HugeSlab> {
        let mapped = bytes.next_multiple_of(HUGE_PAGE_BYTES) + HUGE_PAGE_BYTES;
        // SAFETY: a fresh anonymous mapping at an address the kernel chooses.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        let skip = map.addr().get().next_multiple_of(HUGE_PAGE_BYTES) - map.addr().get();
        let start = map.as_ptr().cast::<u8>().wrapping_add(skip);
        // SAFETY: a range inside the mapping; a refusal leaves small pages, which is only slower.
        unsafe { libc::madvise(start.cast(), mapped - skip, libc::MADV_HUGEPAGE) };
        for offset in (0..bytes).step_by(4096) {
            // SAFETY: inside the mapping, which no other code knows yet.
            unsafe { start.add(offset).write_volatile(0) };
        }
        Ok(HugeSlab {
            map,
            mapped,
            start,
            bytes,
        })
    }

    /// The address of byte `offset`.
    #[inline]
    pub(crate) fn address(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.bytes);
        self.start.wrapping_add(offset)
    }

    /// The eight bytes at `offset`, which must be a multiple of 8 inside the slab.
    #[inline]
    pub(crate) fn read(&self, offset: usize) -> u64 {
        debug_assert!(offset + 8 <= self.bytes && offset.is_multiple_of(8));
        // SAFETY: inside the mapping (callers pass offsets of their own pages) and aligned; memory
        // that a device may write is only read after its read was reaped.
        unsafe { self.start.add(offset).cast::<u64>().read_volatile() }
    }

    /// Stores eight bytes at `offset`, which must be a multiple of 8 inside the slab.
    pub(crate) fn write(&mut self, offset: usize, value: u64) {
        assert!(
            offset + 8 <= self.bytes && offset.is_multiple_of(8),
            "{offset} lies outside"
        );
        // SAFETY: inside the mapping and aligned, and no other code borrows the slab.
        unsafe { self.start.add(offset).cast::<u64>().write_volatile(value) };
    }
}

impl Drop for HugeSlab {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; no reference into it exists, only addresses.
        unsafe { libc::munmap(self.map.as_ptr(), self.mapped) };
    }
}
