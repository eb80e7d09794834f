//! Arrays of equally wide unsigned numbers, packed bit to bit, read by position.

use crate::bytes::{Decoded, Malformed};

/// Bits needed for `largest`.
pub(super) fn width_of(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

/// Bytes of `count` numbers of `width` bits.
pub(super) fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends `numbers`, each below `2^width`, least significant bit first.
pub(super) fn pack(numbers: impl IntoIterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0_u128, 0);
    for number in numbers {
        debug_assert!(width_of(number) <= width);
        pending |= u128::from(number) << bits;
        bits += width;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

/// A packed array.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedArray<'a> {
    bytes: &'a [u8],
    width: u32,
    count: usize,
}

impl<'a> PackedArray<'a> {
    /// The array of `count` numbers at the start of `bytes`, and what follows it.
    ///
    /// # Errors
    /// `width` above 64 or too few bytes.
    pub(super) fn split(
        bytes: &'a [u8],
        count: usize,
        width: u32,
    ) -> Decoded<(PackedArray<'a>, &'a [u8])> {
        if width > 64 {
            return Err(Malformed::new(format!("numbers of {width} bits")));
        }
        let len = packed_len(count, width);
        let (array, rest) = bytes.split_at_checked(len).ok_or_else(|| {
            Malformed::new(format!(
                "{count} numbers of {width} bits in {} bytes",
                bytes.len()
            ))
        })?;
        Ok((
            PackedArray {
                bytes: array,
                width,
                count,
            },
            rest,
        ))
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The number at `position`, which must be below the count.
    pub(super) fn get(&self, position: usize) -> u64 {
        assert!(
            position < self.count,
            "position {position} of {}",
            self.count
        );
        let bit = position * self.width as usize;
        let (first, shift) = (bit / 8, bit % 8);
        if self.width == 0 {
            return 0;
        }
        let mask = u64::MAX >> (64 - self.width);
        let tail = &self.bytes[first..];
        if let (Some(word), true) = (tail.first_chunk::<8>(), shift as u32 + self.width <= 64) {
            return u64::from_le_bytes(*word) >> shift & mask;
        }
        let mut wide = [0; 16];
        let available = tail.len().min(16);
        wide[..available].copy_from_slice(&tail[..available]);
        (u128::from_le_bytes(wide) >> shift) as u64 & mask
    }
}
