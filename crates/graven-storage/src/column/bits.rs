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
                let mut sums = vec![7];
                append_sums(&out, from..values.len(), width, -3, &mut sums);
                let wanted = values[from..].iter().map(|value| (-3_i64).wrapping_add((value & mask) as i64));
                prop_assert!(sums[1..].iter().copied().eq(wanted));
            }
        }
    }
}
