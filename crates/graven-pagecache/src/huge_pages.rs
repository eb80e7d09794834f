//! Huge pages for large arrays that are visited at random.
//!
//! # How it works
//! Nearly every visit of an array of many megabytes misses the processor's table of pages of 4 KiB.
//! The system hands such an array out page by page as it is first written. [`prefer`] asks for
//! whole huge pages, of 2 MiB each, for the room of a large array. Where the system has or grants
//! none, the array stays as it was.
//!
//! # Costs
//! A call of the system for an array of 8 MiB or more; up to a huge page more of memory than what
//! is written.

use crate::memory::page_size;

/// Smaller arrays are parts of the allocator's heap, which others use too.
const BYTES_MIN: usize = 8 << 20;

/// An empty array with room for so many, in huge pages.
#[must_use]
pub fn with_capacity<T>(count: usize) -> Vec<T> {
    let array = Vec::with_capacity(count);
    prefer(&array);
    array
}

/// An array of zeros, in huge pages.
#[must_use]
pub fn zeros(count: usize) -> Vec<u32> {
    // The system gives the zeros: nothing is written before the advice.
    let array = vec![0; count];
    prefer(&array);
    array
}

/// Asks for huge pages for the room of an array, as it is now: after it has grown, and before it is
/// filled.
pub fn prefer<T>(array: &Vec<T>) {
    let bytes = array.capacity() * size_of::<T>();
    if bytes < BYTES_MIN {
        return;
    }
    let address = array.as_ptr().addr();
    let start = address.next_multiple_of(page_size());
    let length = (address + bytes - start) & !(page_size() - 1);
    let first = array.as_ptr().cast::<u8>().wrapping_add(start - address);
    // SAFETY: advice about whole pages within memory that the array owns; it changes no content. A
    // kernel that has no huge pages refuses it, which is fine.
    unsafe { libc::madvise(first.cast_mut().cast(), length, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: arrays small and large are as before, also when they grow and go.
    #[test]
    fn arrays_stay_as_they_are() {
        for count in [0, 1, 1000, 3 << 20] {
            let mut array: Vec<u64> = with_capacity(count);
            array.extend(0..count as u64);
            prefer(&array);
            array.reserve(count * 2);
            prefer(&array);
            assert!(array.iter().copied().eq(0..count as u64), "{count}");
            assert!(zeros(count) == vec![0; count], "{count}");
        }
    }
}
