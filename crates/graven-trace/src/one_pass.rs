//! Page numbers of a compressed trace, decompressed in one pass to where they stay.
//!
//! # How it works
//! The file is read whole. Its blocks say how long its content is at most; so much is reserved, of
//! which the system gives what is written to, and zstd writes the numbers there. Decompressing
//! piece by piece instead needs a window beside them, and copies every number three times.
//!
//! # Costs
//! The compressed file is in memory meanwhile. Reading `arc-OLTP` takes two thirds of the time it
//! takes piece by piece.

use std::path::Path;

use zstd::bulk::Decompressor;
use zstd::zstd_safe::WriteBuf;

const NUMBER: usize = size_of::<u64>();

/// Numbers that zstd writes as bytes.
struct Numbers {
    numbers: Vec<u64>,
    /// Bytes written.
    bytes: usize,
}

// SAFETY: pointer and capacity are those of the vector's buffer, in bytes, and any bytes are valid
// numbers.
unsafe impl WriteBuf for Numbers {
    fn as_slice(&self) -> &[u8] {
        // SAFETY: `filled_until` was told that so many bytes of the buffer are written.
        unsafe { std::slice::from_raw_parts(self.numbers.as_ptr().cast(), self.bytes) }
    }

    fn capacity(&self) -> usize {
        self.numbers.capacity() * NUMBER
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.numbers.as_mut_ptr().cast()
    }

    unsafe fn filled_until(&mut self, n: usize) {
        self.bytes = n;
        // SAFETY: the caller promises that `n` bytes are written; the length covers whole numbers
        // of them.
        unsafe { self.numbers.set_len(n / NUMBER) }
    }
}

/// The little-endian numbers in a file compressed with zstd; `None` where it cannot be read in one
/// pass: it is damaged, not whole, or larger than memory. A reader that reads it piece by piece
/// finds out which.
pub(crate) fn numbers(path: &Path) -> Option<Vec<u64>> {
    let packed = std::fs::read(path).ok()?;
    let most = Decompressor::upper_bound(&packed)?.div_ceil(NUMBER);
    let mut content = Numbers {
        numbers: Vec::new(),
        bytes: 0,
    };
    content.numbers.try_reserve_exact(most).ok()?;
    let mut decompressor = Decompressor::new().ok()?;
    let bytes = decompressor
        .decompress_to_buffer(&packed, &mut content)
        .ok()?;
    let mut numbers = content.numbers;
    for number in &mut numbers {
        *number = u64::from_le(*number);
    }
    bytes.is_multiple_of(NUMBER).then_some(numbers)
}
