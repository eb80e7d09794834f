//! Whole lists of blocks decoded in one call: the processor is asked once for what it can do, and
//! sums go straight to where the caller wants them.
//!
//! # How it works
//! [`unpack`] walks widths and blocks. With AVX-512 VBMI one load, one byte permutation, one shift
//! and one mask give 16 differences, four shifted additions their running sums; with AVX2 the same
//! in steps of 8.
//!
//! # Invariants
//! * ST-BP-3 Reads stay inside `bytes`: a block too close to its end is decoded from a padded copy.
//! * ST-BP-4 Writes stay inside `out[..room(count)]`.

use super::{BLOCK, VECTOR_WIDTH_MAX, packed_len};

/// Bytes that a block kernel may read from the start of its block on: two loads of 64 bytes, the
/// second at most 50 bytes in.
const REACH: usize = 128;

/// Places that `out` needs for `count` sums: whole blocks are written.
pub(crate) const fn room(count: usize) -> usize {
    count.next_multiple_of(BLOCK)
}

/// Blocks as they lie in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a> {
    /// One width a block.
    pub(crate) widths: &'a [u8],
    /// The blocks and whatever follows them.
    pub(crate) bytes: &'a [u8],
    /// Bytes of `bytes` that may belong to blocks.
    pub(crate) end: usize,
    /// Differences in all blocks.
    pub(crate) count: usize,
}

/// Writes the running sums from `first` on to `out`; the first `blocks.count` of them are meant,
/// those behind are unspecified.
///
/// `None` if a block has a width above 25, reaches beyond the end, or a sum is not below `limit`;
/// the caller then takes the careful way. `limit` is at most 2^31, so sums cannot wrap within a
/// block.
///
/// # Panics
/// If `out` has no [`room`].
pub(crate) fn unpack(blocks: Blocks<'_>, first: u32, limit: u32, out: &mut [u32]) -> Option<()> {
    assert!(
        out.len() >= room(blocks.count),
        "ST-BP-4: room for whole blocks"
    );
    assert!(limit <= 1 << 31, "ST-BP-2: sums of a block do not wrap");
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512vbmi")
            && std::arch::is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the features were just detected; room was asserted above.
            return unsafe { x86::unpack_avx512(blocks, first, limit, out) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected; room was asserted above.
            return unsafe { x86::unpack_avx2(blocks, first, limit, out) };
        }
    }
    walk(blocks, first, limit, out, |block, width, sum, out| {
        let mut sums = [0; BLOCK];
        super::unpack_sums_scalar(block, BLOCK, width as u32, sum, &mut sums);
        out.copy_from_slice(&sums);
    })
}

/// The walk that all kernels share: `kernel` gets [`REACH`] bytes, the width, the sum so far and 32
/// places.
#[inline(always)]
fn walk(
    blocks: Blocks<'_>,
    first: u32,
    limit: u32,
    out: &mut [u32],
    kernel: impl Fn(&[u8; REACH], usize, u32, &mut [u32; BLOCK]),
) -> Option<()> {
    let Blocks {
        widths,
        bytes,
        end,
        count,
    } = blocks;
    let (mut at, mut sum) = (0, first);
    for (index, width) in widths.iter().enumerate() {
        let values = (count - index * BLOCK).min(BLOCK);
        let length = packed_len(values, u32::from(*width));
        if u32::from(*width) > VECTOR_WIDTH_MAX || at + length > end {
            return None;
        }
        let places: &mut [u32; BLOCK] = (&mut out[index * BLOCK..(index + 1) * BLOCK])
            .try_into()
            .expect("32 places");
        if let Some(block) = bytes[at..].first_chunk::<REACH>() {
            kernel(block, usize::from(*width), sum, places);
        } else {
            let mut padded = [0; REACH];
            padded[..length].copy_from_slice(&bytes[at..at + length]);
            kernel(&padded, usize::from(*width), sum, places);
        }
        sum = places[values - 1];
        if sum >= limit {
            return None;
        }
        at += length;
    }
    Some(())
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    //! The vector kernels; see the parent's header.
    use super::{BLOCK, Blocks, REACH, VECTOR_WIDTH_MAX, walk};
    use std::arch::x86_64::*;

    const WIDTHS: usize = VECTOR_WIDTH_MAX as usize + 1;

    /// Byte permutation and shifts that move 16 values of one width into their lanes.
    #[repr(C, align(64))]
    pub(in crate::bitpack) struct Spread {
        pub(in crate::bitpack) bytes: [u8; 64],
        pub(in crate::bitpack) shift: [u32; 16],
    }

    static SPREAD: [Spread; WIDTHS] = spreads();

    const fn spreads() -> [Spread; WIDTHS] {
        let mut table = [const {
            Spread {
                bytes: [0; 64],
                shift: [0; 16],
            }
        }; WIDTHS];
        let mut width = 0;
        while width < WIDTHS {
            let mut lane = 0;
            while lane < 16 {
                let mut byte = 0;
                while byte < 4 {
                    table[width].bytes[lane * 4 + byte] = (lane * width / 8 + byte) as u8;
                    byte += 1;
                }
                table[width].shift[lane] = (lane * width % 8) as u32;
                lane += 1;
            }
            width += 1;
        }
        table
    }

    /// # Safety
    /// AVX-512 F, BW and VBMI are available.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn unpack_avx512(
        blocks: Blocks<'_>,
        first: u32,
        limit: u32,
        out: &mut [u32],
    ) -> Option<()> {
        walk(
            blocks,
            first,
            limit,
            out,
            #[inline(always)]
            |block, width, sum, out| {
                // SAFETY: the caller promises the features; `width` is at most 25 (checked by
                // `walk`).
                unsafe { block_avx512(block, width, sum, out) }
            },
        )
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn block_avx512(block: &[u8; REACH], width: usize, sum: u32, out: &mut [u32; BLOCK]) {
        let (low, high) = fields(block, width);
        let last = _mm512_set1_epi32(15);
        let low = _mm512_add_epi32(running_sums(low), _mm512_set1_epi32(sum as i32));
        let high = _mm512_add_epi32(running_sums(high), _mm512_permutexvar_epi32(last, low));
        // SAFETY: `out` has 32 places.
        unsafe {
            _mm512_storeu_si512(out.as_mut_ptr().cast(), low);
            _mm512_storeu_si512(out.as_mut_ptr().add(16).cast(), high);
        }
    }

    /// The 32 values of `width` bits in `block`, spread out to 32 bits each.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(in crate::bitpack) fn fields(block: &[u8; REACH], width: usize) -> (__m512i, __m512i) {
        let spread = &SPREAD[width];
        // SAFETY: both arrays are 64 bytes long.
        let (order, shift) = unsafe {
            (
                _mm512_loadu_si512(spread.bytes.as_ptr().cast()),
                _mm512_loadu_si512(spread.shift.as_ptr().cast()),
            )
        };
        let mask = _mm512_set1_epi32(((1u64 << width) - 1) as i32);
        // SAFETY: 16 values of `width` <= 25 bits start at byte 2 * width <= 50, and REACH is 128.
        let (low, high) = unsafe {
            (
                _mm512_loadu_si512(block.as_ptr().cast()),
                _mm512_loadu_si512(block.as_ptr().add(2 * width).cast()),
            )
        };
        let values = |raw| {
            _mm512_and_si512(
                _mm512_srlv_epi32(_mm512_permutexvar_epi8(order, raw), shift),
                mask,
            )
        };
        (values(low), values(high))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in crate::bitpack) fn running_sums(values: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let sums = _mm512_add_epi32(values, _mm512_alignr_epi32(values, zero, 15));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 14));
        let sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 12));
        _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 8))
    }

    /// # Safety
    /// AVX2 is available.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn unpack_avx2(
        blocks: Blocks<'_>,
        first: u32,
        limit: u32,
        out: &mut [u32],
    ) -> Option<()> {
        walk(
            blocks,
            first,
            limit,
            out,
            #[inline(always)]
            |block, width, sum, out| {
                // SAFETY: the caller promises AVX2; four groups of at most 25 bytes and the reach
                // of 32 behind the last one's start lie within REACH; `width` is at most 25
                // (checked by `walk`).
                unsafe { super::super::avx2::unpack_sums(block, BLOCK, width as u32, sum, out) }
            },
        )
    }

    #[cfg(test)]
    pub(super) mod tests {
        use super::*;

        /// Every kernel that this processor has, by name.
        type Kernel = unsafe fn(Blocks<'_>, u32, u32, &mut [u32]) -> Option<()>;

        pub(in super::super) fn kernels() -> Vec<(&'static str, Kernel)> {
            let mut known: Vec<(&'static str, Kernel)> = Vec::new();
            if std::arch::is_x86_feature_detected!("avx2") {
                known.push(("avx2", unpack_avx2));
            }
            if std::arch::is_x86_feature_detected!("avx512vbmi")
                && std::arch::is_x86_feature_detected!("avx512bw")
            {
                known.push(("avx512", unpack_avx512));
            }
            known
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{pack, width_of};
    use super::*;
    use proptest::prelude::*;

    /// Packs `differences`; widths and bytes.
    fn packed(differences: &[u32]) -> (Vec<u8>, Vec<u8>) {
        let (mut widths, mut bytes) = (Vec::new(), Vec::new());
        for block in differences.chunks(BLOCK) {
            let width = width_of(block);
            widths.push(width as u8);
            pack(block, width, &mut bytes);
        }
        (widths, bytes)
    }

    proptest! {
        /// Goal: every kernel gives the running sums, with and without room behind the blocks, and
        /// refuses what leaves the limit, the widths or the bytes it may use.
        #[test]
        fn kernels_agree_with_running_sums(
            shift in 7u32..32,
            raw in proptest::collection::vec(any::<u32>(), 0..150),
            behind in 0usize..200,
            first in 0u32..1000,
        ) {
            let differences: Vec<u32> = raw.iter().map(|value| value >> shift).collect();
            let (widths, mut bytes) = packed(&differences);
            let end = bytes.len();
            bytes.resize(end + behind, 0xee);
            let blocks = Blocks { widths: &widths, bytes: &bytes, end, count: differences.len() };
            let mut sum = u64::from(first);
            let sums: Vec<u64> = differences.iter().map(|value| { sum += u64::from(*value); sum }).collect();
            let fits = sum < 1 << 31;
            let mut out = vec![0; room(differences.len())];
            prop_assert_eq!(unpack(blocks, first, 1 << 31, &mut out).is_some(), fits);
            #[cfg(target_arch = "x86_64")]
            for (name, kernel) in x86::tests::kernels() {
                out.fill(0);
                // SAFETY: the kernel's features were detected.
                let run = unsafe { kernel(blocks, first, 1 << 31, &mut out) };
                prop_assert_eq!(run.is_some(), fits, "{}", name);
                if fits {
                    let found: Vec<u64> = out[..sums.len()].iter().map(|sum| u64::from(*sum)).collect();
                    prop_assert_eq!(&found, &sums, "{}", name);
                }
            }
            if fits {
                prop_assert_eq!(&out[..sums.len()].iter().map(|sum| u64::from(*sum)).collect::<Vec<_>>(), &sums);
                if !differences.is_empty() {
                    prop_assert!(unpack(blocks, first, sum as u32, &mut out).is_none(), "limit");
                }
                if end > 0 {
                    prop_assert!(unpack(Blocks { end: end - 1, ..blocks }, first, 1 << 31, &mut out).is_none(), "end");
                }
            }
        }
    }
}
