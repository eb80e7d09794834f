//! The vector kernels of x86-64 that decode and probe lists; the rest of the loop is
//! [`super::walk`] and [`super::probe`].

use super::{BLOCK, Item, REACH, Source, Stop, advance, probe, walk};
use crate::bitpack::list::x86::{fields, running_sums};
use std::arch::x86_64::*;

/// # Safety
/// AVX-512 F, BW and VBMI are available.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn run_avx512(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    scratch: &mut Vec<u32>,
    visit: &mut impl FnMut(u32, &[u32]) -> bool,
) -> Stop {
    walk(
        source,
        items,
        from,
        scratch,
        visit,
        #[inline(always)]
        |first| {
            let first = _mm512_set1_epi32(first as i32);
            (first, first)
        },
        #[inline(always)]
        |block, width, state, out| {
            // SAFETY: the caller promises the features; `width` is at most 25 (checked by
            // `walk`).
            unsafe { block_avx512(block, width, state, out) }
        },
        #[inline(always)]
        |(_, worst), limit| _mm512_cmpge_epu32_mask(worst, _mm512_set1_epi32(limit as i32)) != 0,
    )
}

/// # Safety
/// AVX-512 F, BW and VBMI are available.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) unsafe fn probe_avx512(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    wanted: impl Fn(u32) -> bool + Copy,
    visit: &mut impl FnMut(u32, bool) -> bool,
) -> Stop {
    probe(
        source,
        items,
        from,
        wanted,
        visit,
        #[inline(always)]
        |first| {
            let first = _mm512_set1_epi32(first as i32);
            (first, first)
        },
        #[inline(always)]
        |block, width, state, out| {
            // SAFETY: the caller promises the features; `width` is at most 25 (checked by
            // `probe`).
            unsafe { block_avx512(block, width, state, out) }
        },
    )
}

/// # Safety
/// AVX2 is available.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn probe_avx2(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    wanted: impl Fn(u32) -> bool + Copy,
    visit: &mut impl FnMut(u32, bool) -> bool,
) -> Stop {
    probe(
        source,
        items,
        from,
        wanted,
        visit,
        #[inline(always)]
        |first| first,
        #[inline(always)]
        |block, width, before, out| {
            // SAFETY: as in `run_avx2`; `width` is at most 25 (checked by `probe`).
            unsafe {
                super::super::avx2::unpack_sums(block, BLOCK, width as u32, before, out);
            }
            out[BLOCK - 1]
        },
    )
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn block_avx512(
    block: &[u8; REACH],
    width: usize,
    (sum, worst): (__m512i, __m512i),
    out: &mut [u32; BLOCK],
) -> (__m512i, __m512i) {
    let (low, high) = fields(block, width);
    let last = _mm512_set1_epi32(15);
    let (low, high) = (running_sums(low), running_sums(high));
    // The totals do not depend on the sum so far: only one addition a block does.
    let low_total = _mm512_permutexvar_epi32(last, low);
    let total = _mm512_add_epi32(low_total, _mm512_permutexvar_epi32(last, high));
    let middle = _mm512_add_epi32(sum, low_total);
    // SAFETY: `out` has 32 places.
    unsafe {
        _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_add_epi32(low, sum));
        _mm512_storeu_si512(
            out.as_mut_ptr().add(16).cast(),
            _mm512_add_epi32(high, middle),
        );
    }
    (_mm512_add_epi32(sum, total), _mm512_max_epu32(worst, sum))
}

/// # Safety
/// AVX2 is available.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn run_avx2(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    scratch: &mut Vec<u32>,
    visit: &mut impl FnMut(u32, &[u32]) -> bool,
) -> Stop {
    walk(
        source,
        items,
        from,
        scratch,
        visit,
        #[inline(always)]
        |first| (first, first),
        #[inline(always)]
        |block, width, state, out| {
            // SAFETY: the caller promises AVX2; four groups of at most 25 bytes and the reach
            // of 32 behind the last one's start lie within REACH; `width` is at most 25
            // (checked by `walk`).
            unsafe {
                super::super::avx2::unpack_sums(block, BLOCK, width as u32, state.0, out);
            }
            advance(state, out)
        },
        #[inline(always)]
        |state, limit| state.1 >= limit,
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What every kernel that this processor has gives, by name.
    pub(in super::super) fn all(
        source: Source<'_>,
        items: &[Item],
    ) -> Vec<(&'static str, Stop, Vec<Vec<u32>>)> {
        let mut outcomes = Vec::new();
        if std::arch::is_x86_feature_detected!("avx2") {
            let (mut lists, mut scratch) = (Vec::new(), Vec::new());
            let mut visit = |_: u32, list: &[u32]| {
                lists.push(list.to_vec());
                true
            };
            // SAFETY: the feature was just detected.
            let stop = unsafe { run_avx2(source, items, 0, &mut scratch, &mut visit) };
            outcomes.push(("avx2", stop, lists));
        }
        if std::arch::is_x86_feature_detected!("avx512vbmi")
            && std::arch::is_x86_feature_detected!("avx512bw")
        {
            let (mut lists, mut scratch) = (Vec::new(), Vec::new());
            let mut visit = |_: u32, list: &[u32]| {
                lists.push(list.to_vec());
                true
            };
            // SAFETY: the features were just detected.
            let stop = unsafe { run_avx512(source, items, 0, &mut scratch, &mut visit) };
            outcomes.push(("avx512", stop, lists));
        }
        outcomes
    }
}
