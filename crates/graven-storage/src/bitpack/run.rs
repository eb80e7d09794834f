//! Many lists of one page decoded in one call: the innermost loop of a traversal.
//!
//! # How it works
//! A list is its length (varint), its first neighbour, one width a block, the blocks.
//! [`decode_run`] reads these with plain loads, expands every block into a scratch array that stays
//! in the first-level cache, and hands the list to the caller's closure, which is inlined. The
//! processor is asked once a page what it can do; the sum of a block is known without waiting for
//! the sums before it, so blocks overlap in the pipeline; the beginnings of the lists ahead are
//! loaded early. What the kernels do not take (wide blocks, lists at the very end of the page,
//! damage) is left to the careful decoder, list by list.
//!
//! # Invariants
//! * ST-BP-5 Every neighbour handed out is below `limit`: sums are checked block by block in a
//!   running maximum, and the last sum of each list by itself. A sum below 2^31 cannot wrap within
//!   a block of widths up to 25.
//! * ST-BP-6 Reads stay inside `bytes`.

#[cfg(target_arch = "x86_64")]
mod x86;

use super::{BLOCK, VECTOR_WIDTH_MAX, packed_len};
use std::ops::Range;

/// Bytes that a block kernel may read from the start of its block on.
const REACH: usize = 128;
/// Lists whose first bytes are loaded ahead.
const AHEAD: usize = 6;
/// Bytes that the fixed part of a list may take: length, first neighbour.
const FIXED: usize = 16;

/// Where the lists of a page are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The page's payload and what follows it in the page.
    pub(crate) bytes: &'a [u8],
    /// End of the lists in `bytes`.
    pub(crate) end: usize,
    /// Bytes of a first neighbour, 1 to 8.
    pub(crate) first_bytes: usize,
    /// What is added to a first neighbour.
    pub(crate) base: u64,
    /// Neighbours are below this, at most 2^31.
    pub(crate) limit: u32,
}

/// A list to decode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// What the caller knows it by.
    pub(crate) name: u32,
    /// Where it starts in [`Source::bytes`].
    pub(crate) at: u32,
}

/// How far a run came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// All lists.
    Done,
    /// This item needs the careful decoder.
    Careful(usize),
    /// The closure wants no more.
    Enough,
}

/// Decodes `items` from number `from` on into `scratch`, one after the other, until `visit` returns
/// `false`.
#[inline]
pub(crate) fn decode_run(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    scratch: &mut Vec<u32>,
    visit: &mut impl FnMut(u32, &[u32]) -> bool,
) -> Stop {
    assert!(
        source.limit <= 1 << 31,
        "ST-BP-5: sums of a block do not wrap"
    );
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512vbmi")
            && std::arch::is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the features were just detected.
            return unsafe { x86::run_avx512(source, items, from, scratch, visit) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            return unsafe { x86::run_avx2(source, items, from, scratch, visit) };
        }
    }
    walk(
        source,
        items,
        from,
        scratch,
        visit,
        |first| (first, first),
        |block, width, state, out| {
            super::unpack_sums_scalar(block, BLOCK, width as u32, state.0, out);
            advance(state, out)
        },
        |state, limit| state.1 >= limit,
    )
}

/// Looks in `items` from number `from` on for neighbours that are `wanted`, and calls `visit` with
/// the name of each and whether it has one, until `visit` returns `false`. A list is decoded block
/// by block as far as needed, often not at all: its first neighbour stands by itself.
#[inline]
pub(crate) fn probe_run(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    wanted: impl Fn(u32) -> bool + Copy,
    visit: &mut impl FnMut(u32, bool) -> bool,
) -> Stop {
    assert!(
        source.limit <= 1 << 31,
        "ST-BP-5: sums of a block do not wrap"
    );
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512vbmi")
            && std::arch::is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the features were just detected.
            return unsafe { x86::probe_avx512(source, items, from, wanted, visit) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            return unsafe { x86::probe_avx2(source, items, from, wanted, visit) };
        }
    }
    probe(
        source,
        items,
        from,
        wanted,
        visit,
        |first| first,
        |block, width, before, out| {
            super::unpack_sums_scalar(block, BLOCK, width as u32, before, out);
            out[BLOCK - 1]
        },
    )
}

/// Sum behind a block and the largest sum before one.
#[inline(always)]
fn advance((before, worst): (u32, u32), out: &[u32; BLOCK]) -> (u32, u32) {
    (out[BLOCK - 1], worst.max(before))
}

/// The loop that all kernels share. `block` expands 32 values and gives the state behind them;
/// `reaches` tells whether a sum that some block began with was not below the limit.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "a kernel is three closures")]
fn walk<S: Copy>(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    scratch: &mut Vec<u32>,
    visit: &mut impl FnMut(u32, &[u32]) -> bool,
    start: impl Fn(u32) -> S,
    block: impl Fn(&[u8; REACH], usize, S, &mut [u32; BLOCK]) -> S,
    reaches: impl Fn(S, u32) -> bool,
) -> Stop {
    let Source {
        bytes, end, limit, ..
    } = source;
    let first_mask = source.first_mask();
    for (number, item) in items.iter().enumerate().skip(from) {
        if let Some(ahead) = items.get(number + AHEAD) {
            touch(bytes, ahead.at as usize);
        }
        let Some(opening) = open(&source, first_mask, item.at as usize) else {
            return Stop::Careful(number);
        };
        let Opening {
            first,
            count,
            widths,
        } = opening;
        if count == 1 {
            if !visit(item.name, &[first]) {
                return Stop::Enough;
            }
            continue;
        }
        let mut block_at = widths.end;
        if scratch.len() < 1 + widths.len() * BLOCK {
            scratch.resize(1 + widths.len() * BLOCK, 0);
        }
        scratch[0] = first;
        let (places, _) = scratch[1..].as_chunks_mut::<BLOCK>();
        let mut state = start(first);
        let mut left = count - 1;
        for (width, place) in bytes[widths].iter().zip(places) {
            let width = usize::from(*width);
            let Some(source) = bytes
                .get(block_at..)
                .and_then(|rest| rest.first_chunk::<REACH>())
            else {
                return Stop::Careful(number);
            };
            if width > VECTOR_WIDTH_MAX as usize {
                return Stop::Careful(number);
            }
            state = block(source, width, state, place);
            block_at += packed_len(left.min(BLOCK), width as u32);
            left = left.saturating_sub(BLOCK);
        }
        let list = &scratch[..count];
        if block_at > end || reaches(state, limit) || list[count - 1] >= limit {
            return Stop::Careful(number);
        }
        if !visit(item.name, list) {
            return Stop::Enough;
        }
    }
    Stop::Done
}

/// What stands before the blocks of a list.
struct Opening {
    first: u32,
    count: usize,
    /// Where the widths of the blocks are; the blocks follow.
    widths: Range<usize>,
}

impl Source<'_> {
    /// The bits of eight bytes that belong to a first neighbour.
    #[inline(always)]
    fn first_mask(&self) -> u64 {
        u64::MAX >> (64 - 8 * self.first_bytes)
    }
}

/// Reads the beginning of the list at `at`; `None` if it needs the careful decoder.
#[inline(always)]
fn open(source: &Source<'_>, first_mask: u64, at: usize) -> Option<Opening> {
    let fixed = source.bytes.get(at..)?.first_chunk::<FIXED>()?;
    let mut count = usize::from(fixed[0]);
    let mut length_bytes = 1;
    if count >= 0x80 {
        if fixed[1] >= 0x80 {
            return None;
        }
        count = count & 0x7f | usize::from(fixed[1]) << 7;
        length_bytes = 2;
    }
    let raw = if length_bytes == 1 {
        load(fixed, 1)
    } else {
        load(fixed, 2)
    };
    let first = (raw & first_mask).wrapping_add(source.base);
    let at = at + length_bytes + source.first_bytes;
    let end = at + count.wrapping_sub(1).div_ceil(BLOCK);
    if count == 0 || first >= u64::from(source.limit) || end > source.end {
        return None;
    }
    Some(Opening {
        first: first as u32,
        count,
        widths: at..end,
    })
}

/// The loop of [`probe_run`]; kernels as for [`walk`].
#[inline(always)]
fn probe<S: Copy>(
    source: Source<'_>,
    items: &[Item],
    from: usize,
    wanted: impl Fn(u32) -> bool + Copy,
    visit: &mut impl FnMut(u32, bool) -> bool,
    start: impl Fn(u32) -> S,
    block: impl Fn(&[u8; REACH], usize, S, &mut [u32; BLOCK]) -> S,
) -> Stop {
    let (bytes, first_mask) = (source.bytes, source.first_mask());
    let mut place = [0; BLOCK];
    for (number, item) in items.iter().enumerate().skip(from) {
        if let Some(ahead) = items.get(number + AHEAD) {
            touch(bytes, ahead.at as usize);
        }
        let Some(opening) = open(&source, first_mask, item.at as usize) else {
            return Stop::Careful(number);
        };
        let mut met = wanted(opening.first);
        if !met {
            let mut state = start(opening.first);
            let mut left = opening.count - 1;
            let mut block_at = opening.widths.end;
            for width in &bytes[opening.widths] {
                let width = usize::from(*width);
                let Some(window) = bytes
                    .get(block_at..)
                    .and_then(|rest| rest.first_chunk::<REACH>())
                else {
                    return Stop::Careful(number);
                };
                if width > VECTOR_WIDTH_MAX as usize {
                    return Stop::Careful(number);
                }
                state = block(window, width, state, &mut place);
                let values = left.min(BLOCK);
                block_at += packed_len(values, width as u32);
                left -= values;
                let values = &place[..values];
                // The block before ended below the limit, so this one's sums do not wrap.
                if block_at > source.end || values.last().is_none_or(|last| *last >= source.limit) {
                    return Stop::Careful(number);
                }
                met = values
                    .chunks(8)
                    .any(|some| some.iter().fold(false, |met, value| met | wanted(*value)));
                if met {
                    break;
                }
            }
        }
        if !visit(item.name, met) {
            return Stop::Enough;
        }
    }
    Stop::Done
}

#[inline(always)]
fn load(fixed: &[u8; FIXED], at: usize) -> u64 {
    u64::from_le_bytes(fixed[at..at + 8].try_into().expect("eight bytes"))
}

/// Asks the processor to load the bytes around `at`.
#[inline(always)]
fn touch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..2 {
        let address = bytes.as_ptr().wrapping_add(at + line * 64);
        // SAFETY: prefetching reads nothing and may be given any address.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast())
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

#[cfg(test)]
mod tests {
    use super::super::{pack, width_of};
    use super::*;
    use proptest::prelude::*;

    /// Packs lists as a page holds them; the items that name them and where they end.
    fn page(lists: &[Vec<u32>], first_bytes: usize, base: u32) -> (Vec<u8>, Vec<Item>, usize) {
        let (mut bytes, mut items) = (Vec::new(), Vec::new());
        for (name, list) in lists.iter().enumerate() {
            let (name, at) = (name as u32, bytes.len() as u32);
            items.push(Item { name, at });
            crate::bytes::put_varint(&mut bytes, list.len() as u64);
            let first = u64::from(list[0].wrapping_sub(base)).to_le_bytes();
            bytes.extend_from_slice(&first[..first_bytes]);
            let differences: Vec<u32> = list.windows(2).map(|pair| pair[1] - pair[0]).collect();
            bytes.extend(differences.chunks(BLOCK).map(|block| width_of(block) as u8));
            for block in differences.chunks(BLOCK) {
                pack(block, width_of(block), &mut bytes);
            }
        }
        let end = bytes.len();
        (bytes, items, end)
    }

    fn lists() -> impl Strategy<Value = Vec<Vec<u32>>> {
        let list =
            (1u32..24, proptest::collection::vec(any::<u32>(), 1..300)).prop_map(|(shift, raw)| {
                let mut list: Vec<u32> = raw.iter().map(|v| 1000 + (v >> 1 >> shift)).collect();
                list.sort_unstable();
                list
            });
        proptest::collection::vec(list, 1..12)
    }

    proptest! {
        /// Goal: every kernel hands out all lists, or all before the first that it leaves to the
        /// careful decoder, which it must do where a neighbour is not below the limit or a list
        /// leaves its bytes.
        #[test]
        fn kernels_hand_out_lists(lists in lists(), first_bytes in 4usize..=8, room in 0usize..300) {
            let (mut bytes, items, end) = page(&lists, first_bytes, 1000);
            bytes.resize(end + room, 0xEE);
            let limit = lists.iter().map(|list| list[list.len() - 1]).max().unwrap() + 1;
            let source = Source { bytes: &bytes, end, first_bytes, base: 1000, limit };
            #[cfg(target_arch = "x86_64")]
            for (name, stop, found) in x86::tests::all(source, &items) {
                prop_assert_eq!(&found[..], &lists[..found.len()], "{}", name);
                let expected = if found.len() == lists.len() { Stop::Done } else { Stop::Careful(found.len()) };
                prop_assert_eq!(stop, expected, "{}", name);
                let is_wide = |list: &Vec<u32>| list.windows(2).any(|pair| pair[1] - pair[0] >= 1 << 25);
                prop_assert!(room < REACH || stop == Stop::Done || is_wide(&lists[found.len()]), "{}", name);
            }
            for damaged in [Source { limit: limit - 1, ..source }, Source { end: end - 1, ..source }] {
                let mut found = Vec::new();
                let stop = decode_run(damaged, &items, 0, &mut Vec::new(), &mut |_, list| {
                    found.push(list.to_vec());
                    true
                });
                prop_assert_ne!(stop, Stop::Done);
                prop_assert_eq!(&found[..], &lists[..found.len()]);
            }
            let stop = decode_run(source, &items, 0, &mut Vec::new(), &mut |_, _| false);
            prop_assert!(matches!(stop, Stop::Enough | Stop::Careful(0)));
        }

        /// Goal: probing says of every list whether it has a wanted neighbour, as looking at each
        /// neighbour does, and leaves what it cannot say to the careful decoder.
        #[test]
        fn probing_finds_wanted_neighbours(lists in lists(), first_bytes in 4usize..=8, modulus in 2u32..300, rest in 0u32..300) {
            let (mut bytes, items, end) = page(&lists, first_bytes, 1000);
            bytes.resize(end + REACH, 0xEE);
            let limit = lists.iter().map(|list| list[list.len() - 1]).max().unwrap() + 1;
            let source = Source { bytes: &bytes, end, first_bytes, base: 1000, limit };
            let wanted = |value: u32| value % modulus == rest;
            let (mut met, mut from) = (Vec::new(), 0);
            loop {
                let mut note = |name, found| {
                    met.push((name, found));
                    true
                };
                match probe_run(source, &items, from, wanted, &mut note) {
                    Stop::Careful(at) => {
                        let is_wide = lists[at].windows(2).any(|pair| pair[1] - pair[0] >= 1 << 25);
                        prop_assert!(is_wide);
                        met.push((at as u32, lists[at].iter().any(|value| wanted(*value))));
                        from = at + 1;
                    }
                    stop => {
                        prop_assert_eq!(stop, Stop::Done);
                        break;
                    }
                }
            }
            for (name, list) in lists.iter().enumerate() {
                prop_assert_eq!(met[name], (name as u32, list.iter().any(|value| wanted(*value))));
            }
            for damaged in [Source { limit: 1000, ..source }, Source { end: items[0].at as usize, ..source }] {
                let stop = probe_run(damaged, &items, 0, |_| false, &mut |_, _| true);
                prop_assert_eq!(stop, Stop::Careful(0));
            }
        }
    }
}
