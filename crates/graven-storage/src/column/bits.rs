//! Runs of equally wide bit fields of up to 64 bits.

use std::ops::Range;

/// Bits needed for `value`.
pub(crate) fn width_of(value: u64) -> u8 {
    (64 - value.leading_zeros()) as u8
}

/// Bytes of `count` fields of `width` bits.
pub(crate) const fn packed_bytes(count: usize, width: u8) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends `values`, each of at most `width` bits.
pub(crate) fn pack(values: impl Iterator<Item = u64>, width: u8, out: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0u128, 0u32);
    for value in values {
        pending |= u128::from(value) << bits;
        bits += u32::from(width);
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

/// Field `index` of the fields at the start of `bytes`; what lies behind the end reads as zero.
#[inline]
pub(crate) fn field(bytes: &[u8], index: usize, width: u8) -> u64 {
    if width == 0 {
        return 0;
    }
    let mask = u64::MAX >> (64 - u32::from(width.min(64)));
    let at = index * usize::from(width);
    let from = (at / 8).min(bytes.len());
    // With the bits before it a field of so many bits lies in eight bytes.
    if width <= 57
        && let Some(window) = bytes.get(from..from + 8)
    {
        let word = u64::from_le_bytes(window.try_into().expect("eight bytes"));
        return word >> (at % 8) & mask;
    }
    let mut window = [0; 16];
    let count = (bytes.len() - from).min(9);
    window[..count].copy_from_slice(&bytes[from..from + count]);
    let bits = u128::from_le_bytes(window) >> (at % 8);
    bits as u64 & mask
}

/// Appends `low` plus each of the fields `fields` of those at the start of `bytes`.
pub(crate) fn append_sums(
    bytes: &[u8],
    fields: Range<usize>,
    width: u8,
    low: i64,
    out: &mut Vec<i64>,
) {
    if width == 0 || fields.is_empty() {
        out.resize(out.len() + fields.len(), low);
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if width <= x86::WIDTH_MAX
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vbmi")
        && std::arch::is_x86_feature_detected!("avx512bw")
    {
        // Groups begin at whole bytes; what the first one has before the fields goes again.
        let (before, skipped) = (out.len(), fields.start % x86::GROUP);
        let from = (fields.start - skipped) / x86::GROUP * usize::from(width);
        let count = skipped + fields.len();
        out.reserve(count);
        let places = &mut out.spare_capacity_mut()[..count];
        // SAFETY: AVX-512 F, BW and VBMI were just detected; the width is at most that of the
        // kernel.
        unsafe { x86::sums(bytes.get(from..).unwrap_or(&[]), width, low, places) };
        // SAFETY: so many places were just written.
        unsafe { out.set_len(before + count) };
        out.drain(before..before + skipped);
        return;
    }
    append_sums_one_by_one(bytes, fields, width, low, out);
}

/// As [`append_sums`] on any processor; the width is not zero, and there are fields.
fn append_sums_one_by_one(
    bytes: &[u8],
    fields: Range<usize>,
    width: u8,
    low: i64,
    out: &mut Vec<i64>,
) {
    let step = usize::from(width);
    let end = (fields.end - 1) * step / 8 + 8;
    if width <= 57
        && let Some(bytes) = bytes.get(..end)
    {
        let mask = u64::MAX >> (64 - u32::from(width));
        out.extend(fields.map(|index| {
            let at = index * step;
            let window = bytes[at / 8..at / 8 + 8].try_into().expect("eight bytes");
            let field = u64::from_le_bytes(window) >> (at % 8) & mask;
            low.wrapping_add(field.cast_signed())
        }));
    } else {
        let sum = |index| low.wrapping_add(field(bytes, index, width).cast_signed());
        out.extend(fields.map(sum));
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Eight fields at once: they are as many bytes as one field has bits. The bytes that each lies
    //! in are put into a lane of its own, which is shifted and masked.

    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    /// Fields of a group.
    pub(super) const GROUP: usize = 8;
    /// With the bits before it a field of so many bits lies in eight bytes.
    pub(super) const WIDTH_MAX: u8 = 57;
    /// Bytes of a register.
    const REGISTER: usize = 64;

    /// For each width the byte of a group that comes to each byte of the lanes.
    static LANES: [[u8; REGISTER]; WIDTH_MAX as usize + 1] = {
        let mut lanes = [[0; REGISTER]; WIDTH_MAX as usize + 1];
        let mut width = 0;
        while width < lanes.len() {
            let mut byte = 0;
            while byte < REGISTER {
                lanes[width][byte] = (byte / 8 * width / 8 + byte % 8) as u8;
                byte += 1;
            }
            width += 1;
        }
        lanes
    };

    /// Writes `low` plus each of the first fields of `bytes` to all places of `out`; fields behind
    /// the end of `bytes` count as zero.
    ///
    /// # Safety
    /// AVX-512 F, BW and VBMI are available; `width` is 1 to [`WIDTH_MAX`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn sums(bytes: &[u8], width: u8, low: i64, out: &mut [MaybeUninit<i64>]) {
        let step = usize::from(width);
        // SAFETY: a row of the table has as many bytes as a register.
        let lanes = unsafe { _mm512_loadu_si512(LANES[step].as_ptr().cast()) };
        let bits = |lane: i64| lane * i64::from(width) % 8;
        let shifts = _mm512_set_epi64(
            bits(7),
            bits(6),
            bits(5),
            bits(4),
            bits(3),
            bits(2),
            bits(1),
            0,
        );
        let mask = _mm512_set1_epi64((u64::MAX >> (64 - u32::from(width))).cast_signed());
        let low = _mm512_set1_epi64(low);
        for (group, out) in out.chunks_mut(GROUP).enumerate() {
            let left = bytes.get(group * step..).unwrap_or(&[]);
            let there = match left.len() {
                REGISTER.. => u64::MAX,
                few => (1 << few) - 1,
            };
            // SAFETY: only bytes of `left` are read.
            let window = unsafe { _mm512_maskz_loadu_epi8(there, left.as_ptr().cast()) };
            let fields = _mm512_permutexvar_epi8(lanes, window);
            let fields = _mm512_and_si512(_mm512_srlv_epi64(fields, shifts), mask);
            let wanted = ((1_u32 << out.len()) - 1) as u8;
            // SAFETY: as many places are written as `out` has.
            unsafe {
                _mm512_mask_storeu_epi64(
                    out.as_mut_ptr().cast(),
                    wanted,
                    _mm512_add_epi64(fields, low),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Goal: fields of every width come back.
        #[test]
        fn fields_come_back(width in 0u8..=64, values in proptest::collection::vec(any::<u64>(), 0..70)) {
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - u32::from(width)) };
            let mut out = Vec::new();
            pack(values.iter().map(|value| value & mask), width, &mut out);
            prop_assert_eq!(out.len(), packed_bytes(values.len(), width));
            for (index, value) in values.iter().enumerate() {
                prop_assert_eq!(field(&out, index, width), value & mask);
            }
            for from in 0..=values.len() {
                let wanted = values[from..].iter().map(|value| (-3_i64).wrapping_add((value & mask) as i64));
                let wanted: Vec<i64> = std::iter::once(7).chain(wanted).collect();
                let mut sums = vec![7];
                append_sums(&out, from..values.len(), width, -3, &mut sums);
                prop_assert_eq!(&sums, &wanted);
                if width > 0 && from < values.len() {
                    sums.truncate(1);
                    append_sums_one_by_one(&out, from..values.len(), width, -3, &mut sums);
                    prop_assert_eq!(&sums, &wanted);
                }
            }
        }
    }
}
