//! Memory from the system: a region that grows in place, gives pages back and is never moved.
//!
//! # How it works
//! A [`Region`] maps anonymous memory without reserving swap. It is placed where the address space
//! behind it is empty, so that it can grow by mapping at its own end: frames never reserve more
//! than the pool, and `ulimit -v` counts what they use. Memory given back with [`Region::discard`]
//! stays mapped and reads as zero.
//!
//! # Invariants
//! * US-2: bytes `0..mapped` of a region stay mapped, readable and writable until it is dropped.
//!
//! # Concurrency
//! Growing and discarding take `&mut self` or are serialised by the owner; reading the base is
//! free.
#![expect(unsafe_code, reason = "memory mapping is a system call")]

use crate::error::{Error, Result};
use std::ptr;

/// Bytes of a huge page, and what regions are aligned to.
pub(crate) const HUGE_BYTES: usize = 2 << 20;

/// How the kernel should back a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Backing {
    /// Ordinary pages.
    Small,
    /// Huge pages where possible.
    Huge,
}

/// Mapped anonymous memory that can grow.
#[derive(Debug)]
pub(crate) struct Region {
    base: *mut u8,
    mapped: usize,
    backing: Backing,
}

// SAFETY: a region owns its mapping; the pointer is only handed out together with rules of access
// that the frame and table modules enforce.
unsafe impl Send for Region {}
// SAFETY: `&Region` gives the base address and `discard`, which are safe from any thread by US-2.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `bytes` (rounded up to the kernel's page size).
    ///
    /// # Errors
    /// [`Error::Map`] if the system refuses.
    pub(crate) fn new(bytes: usize, backing: Backing) -> Result<Region> {
        let bytes = round_up(bytes);
        for base in roomy_places() {
            if map_at(base, bytes) {
                let region = Region {
                    base: ptr::with_exposed_provenance_mut(base),
                    mapped: bytes,
                    backing,
                };
                region.advise(0, bytes, backing);
                return Ok(region);
            }
        }
        Region::anywhere(bytes, backing)
    }

    /// Maps wherever the system likes, aligned to huge pages: for regions that need not grow.
    ///
    /// # Errors
    /// [`Error::Map`] if the system refuses.
    pub(crate) fn anywhere(bytes: usize, backing: Backing) -> Result<Region> {
        let padded = bytes + HUGE_BYTES;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches nothing that
        // exists.
        let start = unsafe { libc::mmap(ptr::null_mut(), padded, PROTECTION, FLAGS, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(map_error(padded));
        }
        let base = start.addr().next_multiple_of(HUGE_BYTES);
        let (front, back) = (base - start.addr(), start.addr() + padded - (base + bytes));
        // SAFETY: both ranges are parts of the mapping made above, and no other code has their
        // addresses.
        unsafe {
            if front > 0 {
                libc::munmap(start, front);
            }
            if back > 0 {
                libc::munmap(start.byte_add(front + bytes), back);
            }
        }
        let region = Region {
            base: start.cast::<u8>().wrapping_add(front),
            mapped: bytes,
            backing,
        };
        region.advise(0, bytes, backing);
        Ok(region)
    }

    /// First byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base
    }

    /// Bytes mapped.
    pub(crate) fn mapped(&self) -> usize {
        self.mapped
    }

    /// Has the kernel back a range that no thread has touched yet with huge pages where possible.
    pub(crate) fn back_by_huge_pages(&self, offset: usize, bytes: usize) {
        assert!(
            offset + bytes <= self.mapped,
            "US-2: {offset} + {bytes} lies in the region"
        );
        self.advise(offset, bytes, Backing::Huge);
    }

    /// Maps more behind the end, up to `bytes` in total.
    ///
    /// # Errors
    /// [`Error::Map`] if the system refuses or the addresses are taken.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<()> {
        let bytes = round_up(bytes);
        if bytes <= self.mapped {
            return Ok(());
        }
        let more = bytes - self.mapped;
        if !map_at(self.base.addr() + self.mapped, more) {
            return Err(map_error(more));
        }
        self.advise(self.mapped, more, self.backing);
        self.mapped = bytes;
        Ok(())
    }

    /// Gives the memory of a range back to the system; the range reads as zero afterwards.
    ///
    /// The range must be a multiple of the kernel's page size, and no thread may rely on its
    /// content.
    pub(crate) fn discard(&self, offset: usize, bytes: usize) {
        assert!(
            offset + bytes <= self.mapped,
            "US-2: {offset} + {bytes} lies in the region"
        );
        debug_assert!(offset.is_multiple_of(page_size()) && bytes.is_multiple_of(page_size()));
        // SAFETY: the range is ours (US-2); readers that still look at it read zeros.
        let code =
            unsafe { libc::madvise(self.base.add(offset).cast(), bytes, libc::MADV_DONTNEED) };
        debug_assert_eq!(code, 0, "madvise of an own range");
    }

    fn advise(&self, offset: usize, bytes: usize, backing: Backing) {
        let start = self.base.wrapping_add(offset).cast();
        let pages = match backing {
            Backing::Small => libc::MADV_NOHUGEPAGE,
            Backing::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: advice about an own mapping. A kernel without the advice refuses it, which is
        // fine; a child must not share frames that the kernel writes to (direct reads and fork do
        // not mix).
        unsafe {
            libc::madvise(start, bytes, pages);
            libc::madvise(start, bytes, libc::MADV_DONTFORK);
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; no pointer into it is left (the cache leaks its regions when
        // pins outlive it).
        unsafe { libc::munmap(self.base.cast(), self.mapped) };
    }
}

const PROTECTION: i32 = libc::PROT_READ | libc::PROT_WRITE;
const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

/// Addresses with much empty space behind them on the usual layouts, different for every region.
fn roomy_places() -> impl Iterator<Item = usize> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    const GIB: usize = 1 << 30;
    #[cfg(target_pointer_width = "64")]
    const FIRST: usize = 0x1000 * GIB;
    #[cfg(target_pointer_width = "64")]
    const STEP: usize = 64 * GIB;
    (0..4).map(|_| FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % 1024 * STEP)
}

fn map_at(address: usize, bytes: usize) -> bool {
    let wanted = ptr::with_exposed_provenance_mut::<libc::c_void>(address);
    // SAFETY: `MAP_FIXED_NOREPLACE` refuses addresses that are in use; older kernels take the
    // address as a hint, and a mapping elsewhere is undone below.
    let got = unsafe {
        libc::mmap(
            wanted,
            bytes,
            PROTECTION,
            FLAGS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    if got == libc::MAP_FAILED {
        return false;
    }
    if got.addr() != address {
        // SAFETY: made just now by the call above.
        unsafe { libc::munmap(got, bytes) };
        return false;
    }
    got.expose_provenance();
    true
}

fn map_error(bytes: usize) -> Error {
    Error::Map {
        bytes: bytes as u64,
        reason: std::io::Error::last_os_error().to_string(),
    }
}

fn round_up(bytes: usize) -> usize {
    bytes.max(1).next_multiple_of(page_size())
}

/// Bytes of a page of the kernel.
pub(crate) fn page_size() -> usize {
    use std::sync::OnceLock;
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        // SAFETY: a query that takes and returns numbers.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).unwrap_or(4096)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a region grows in place, keeps its content, and discarded memory reads as zero.
    #[test]
    fn regions_grow_in_place_and_give_back() {
        let mut region = Region::new(1 << 20, Backing::Small).unwrap();
        let base = region.base();
        // SAFETY: within the region, which this test alone uses.
        unsafe { base.add(4096).write(7) };
        region.grow(3 << 20).unwrap();
        assert_eq!(region.base(), base);
        // SAFETY: as above.
        unsafe {
            assert_eq!(base.add(4096).read(), 7);
            base.add((3 << 20) - 1).write(9);
            region.discard(0, 8192);
            assert_eq!(base.add(4096).read(), 0);
            assert_eq!(base.add((3 << 20) - 1).read(), 9);
        }
        assert!(base.addr().is_multiple_of(HUGE_BYTES));
    }
}
