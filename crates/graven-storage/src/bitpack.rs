//! Blocks of up to 32 deltas, bit-packed: the inner loop of every adjacency list.
//!
//! # How it works
//! Values are packed least significant bit first, one width per block, so eight values of width `w`
//! fill exactly `w` bytes. The AVX2 path loads the two halves of such a group, shuffles each
//! value's four bytes into its lane, shifts and masks, and adds up the running sum inside the
//! register: about 15 instructions for eight neighbours. Widths above 25 (a value can then straddle
//! five bytes) and other processors take the scalar path; both give the same numbers.
//!
//! # Invariants
//! * ST-BP-1 A block of `count` values of width `w` occupies `packed_len(count, w)` bytes.
//! * ST-BP-2 Decoding reads only inside the slice it is given: near its end the block is copied
//!   into a padded buffer first. Sums wrap; the decoder's caller checks the range of what comes
//!   out.
//!
//! # Costs
//! About 15 instructions for eight values with AVX2. `cargo run --release --example sweep` measures
//! whole questions.

pub(crate) mod list;
pub(crate) mod run;

/// Values per block.
pub(crate) const BLOCK: usize = 32;
/// Bytes that the vector path may touch beyond the first byte of a group of eight.
const GROUP_REACH: usize = 32;
/// Widest value whose four-byte window always holds it whole.
const VECTOR_WIDTH_MAX: u32 = 25;

/// Bits needed for the largest of `values`.
pub(crate) fn width_of(values: &[u32]) -> u32 {
    u32::BITS
        - values
            .iter()
            .fold(0, |all, value| all | value)
            .leading_zeros()
}

/// Bytes that `count` values of `width` bits occupy.
pub(crate) const fn packed_len(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends `values`, each below `2^width`, to `out`.
pub(crate) fn pack(values: &[u32], width: u32, out: &mut Vec<u8>) {
    debug_assert!(values.len() <= BLOCK && width_of(values) <= width && width <= 32);
    let (mut pending, mut bits) = (0_u64, 0);
    for &value in values {
        pending |= u64::from(value) << bits;
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

/// Decodes the block at the start of `bytes`: writes the running sums `base + d0`,
/// `base + d0 + d1`, ... into `out[..count]` (the rest of `out` is unspecified) and returns the
/// last of them (`base` for no values).
///
/// `None` if `bytes` is shorter than the block, `width` above 32 or `count` above [`BLOCK`].
#[inline]
pub(crate) fn unpack_sums(
    bytes: &[u8],
    count: usize,
    width: u32,
    base: u32,
    out: &mut [u32; BLOCK],
) -> Option<u32> {
    let len = packed_len(count, width);
    if len > bytes.len() || width > 32 || count > BLOCK {
        return None;
    }
    if count == 0 {
        return Some(base);
    }
    #[cfg(target_arch = "x86_64")]
    if width <= VECTOR_WIDTH_MAX && std::arch::is_x86_feature_detected!("avx2") {
        let padded;
        let source = if bytes.len() >= len + GROUP_REACH {
            bytes
        } else {
            padded = padded_copy(&bytes[..len]);
            &padded
        };
        // SAFETY: AVX2 was just detected; `source` holds the block and GROUP_REACH bytes after its
        // start of the last group (checked or padded above); `out` has room for four groups of
        // eight.
        unsafe { avx2::unpack_sums(source, count, width, base, out) };
        return Some(out[count - 1]);
    }
    unpack_sums_scalar(&bytes[..len], count, width, base, out);
    Some(out[count - 1])
}

/// A block's bytes with room behind them for the vector path's reach.
fn padded_copy(block: &[u8]) -> [u8; BLOCK * 4 + GROUP_REACH] {
    let mut padded = [0; BLOCK * 4 + GROUP_REACH];
    padded[..block.len()].copy_from_slice(block);
    padded
}

fn unpack_sums_scalar(bytes: &[u8], count: usize, width: u32, base: u32, out: &mut [u32; BLOCK]) {
    let mask = if width == 32 {
        u32::MAX
    } else {
        (1 << width) - 1
    };
    let (mut pending, mut bits, mut next, mut sum) = (0_u64, 0, 0, base);
    for slot in &mut out[..count] {
        while bits < width {
            pending |= u64::from(bytes[next]) << bits;
            next += 1;
            bits += 8;
        }
        sum = sum.wrapping_add(pending as u32 & mask);
        pending >>= width;
        bits -= width;
        *slot = sum;
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    //! The vector path; see the parent's header.
    use std::arch::x86_64::*;

    use super::{BLOCK, VECTOR_WIDTH_MAX};

    /// Byte shuffle and bit shift that move eight values of one width into their lanes.
    #[repr(C, align(32))]
    #[derive(Clone, Copy)]
    struct Spread {
        shuffle: [u8; 32],
        shift: [u32; 8],
    }

    const WIDTHS: usize = VECTOR_WIDTH_MAX as usize + 1;
    static SPREAD: [Spread; WIDTHS] = spreads();

    const fn spreads() -> [Spread; WIDTHS] {
        let mut table = [Spread {
            shuffle: [0; 32],
            shift: [0; 8],
        }; WIDTHS];
        let mut width = 0;
        while width < WIDTHS {
            let upper_half = (4 * width) / 8;
            let mut lane = 0;
            while lane < 8 {
                let first = lane * width / 8 - if lane < 4 { 0 } else { upper_half };
                let mut byte = 0;
                while byte < 4 {
                    table[width].shuffle[lane * 4 + byte] = (first + byte) as u8;
                    byte += 1;
                }
                table[width].shift[lane] = (lane * width % 8) as u32;
                lane += 1;
            }
            width += 1;
        }
        table
    }

    /// As the parent's function of this name, for widths the vector path can take.
    ///
    /// # Safety
    /// AVX2 is available; from the start of each group of eight values that `count` begins, at
    /// least `GROUP_REACH` bytes of `bytes` are readable.
    #[target_feature(enable = "avx2")]
    pub(in crate::bitpack) unsafe fn unpack_sums(
        bytes: &[u8],
        count: usize,
        width: u32,
        base: u32,
        out: &mut [u32; BLOCK],
    ) {
        let width = width as usize;
        let spread = &SPREAD[width];
        // SAFETY: both arrays are 32 bytes long.
        let (shuffle, shift) = unsafe {
            (
                _mm256_loadu_si256(spread.shuffle.as_ptr().cast()),
                _mm256_loadu_si256(spread.shift.as_ptr().cast()),
            )
        };
        let mask = _mm256_set1_epi32(((1_u64 << width) - 1) as i32);
        let mut sum = _mm256_set1_epi32(base as i32);
        for group in 0..count.div_ceil(8) {
            let start = bytes.as_ptr().wrapping_add(group * width);
            // SAFETY: the caller promises GROUP_REACH = 32 readable bytes from here; the upper half
            // starts at most 12 bytes in and reads 16.
            let raw = unsafe {
                _mm256_inserti128_si256(
                    _mm256_castsi128_si256(_mm_loadu_si128(start.cast())),
                    _mm_loadu_si128(start.wrapping_add(4 * width / 8).cast()),
                    1,
                )
            };
            let deltas = _mm256_and_si256(
                _mm256_srlv_epi32(_mm256_shuffle_epi8(raw, shuffle), shift),
                mask,
            );
            let pairs = _mm256_add_epi32(deltas, _mm256_slli_si256(deltas, 4));
            let halves = _mm256_add_epi32(pairs, _mm256_slli_si256(pairs, 8));
            let lower_total = _mm256_permutevar8x32_epi32(halves, _mm256_set1_epi32(3));
            let carry = _mm256_blend_epi32(_mm256_setzero_si256(), lower_total, 0xF0);
            let sums = _mm256_add_epi32(_mm256_add_epi32(halves, carry), sum);
            // SAFETY: `group` is below 4, `out` holds 4 x 8 values.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(group * 8).cast(), sums) };
            sum = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(7));
        }
    }
}

#[cfg(test)]
mod tests {
    use graven_types::rng::SplitMix64;

    use super::*;

    /// Every width and count, with and without bytes behind the block: decoding gives back the
    /// running sums, and the scalar path agrees.
    #[test]
    fn st_bp_every_width_and_count_round_trips() {
        let mut random = SplitMix64::new(1);
        for width in 0..=32_u32 {
            for count in 0..=BLOCK {
                let mask = if width == 32 {
                    u32::MAX
                } else {
                    (1 << width) - 1
                };
                let deltas: Vec<u32> = (0..count).map(|_| random.bits() as u32 & mask).collect();
                let mut sum = 77_u32;
                let sums: Vec<u32> = deltas
                    .iter()
                    .map(|delta| {
                        sum = sum.wrapping_add(*delta);
                        sum
                    })
                    .collect();
                let mut bytes = Vec::new();
                pack(&deltas, width, &mut bytes);
                assert_eq!(bytes.len(), packed_len(count, width), "ST-BP-1");
                let (mut tight, mut roomy, mut scalar) = ([0; 32], [0; 32], [0; 32]);
                assert_eq!(unpack_sums(&bytes, count, width, 77, &mut tight), Some(sum));
                let len = bytes.len();
                bytes.resize(len + 64, 0xA5);
                assert_eq!(unpack_sums(&bytes, count, width, 77, &mut roomy), Some(sum));
                unpack_sums_scalar(&bytes[..len], count, width, 77, &mut scalar);
                assert_eq!(&tight[..count], &sums[..]);
                assert_eq!(&roomy[..count], &sums[..]);
                assert_eq!(&scalar[..count], &sums[..]);
            }
        }
    }

    /// A block cut short, a width or a count out of range: refused, not read past the end.
    #[test]
    fn st_bp_2_damaged_blocks_are_refused() {
        let mut out = [0; 32];
        assert_eq!(unpack_sums(&[0; 31], 32, 8, 0, &mut out), None);
        assert_eq!(unpack_sums(&[0; 255], 32, 33, 0, &mut out), None);
        assert_eq!(unpack_sums(&[0; 255], 33, 1, 0, &mut out), None);
    }
}
