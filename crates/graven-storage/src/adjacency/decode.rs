//! Decoding of one piece of a list: all of it, or block by block.
//!
//! # Invariants
//! * ST-7: every neighbour handed out is below the limit of node ids, whatever the page holds: sums
//!   of a block cannot wrap below 2^31, so checking the last one of each block is enough; larger
//!   limits take the 64-bit path.

use super::encode::{WIDE, block_bytes, block_count};
use super::segment::RawList;
use crate::bitpack::{self, BLOCK};
use crate::bytes::{Decoded, Malformed};
use std::ops::ControlFlow;

/// Limits up to this take the 32-bit path of [`ST-7`](self).
pub(crate) const NARROW_LIMIT: u64 = 1 << 31;

/// Widths and blocks of `list`, checked to lie within it as they are taken.
struct Blocks<'a> {
    list: RawList<'a>,
    next: usize,
    at: usize,
}

impl<'a> Blocks<'a> {
    fn new(list: RawList<'a>) -> Blocks<'a> {
        Blocks {
            list,
            next: 0,
            at: block_count(list.count),
        }
    }

    /// Width, number of differences and bytes (from the block to the end of the page) of the next
    /// block.
    #[inline]
    fn take(&mut self) -> Decoded<Option<(u8, usize, &'a [u8])>> {
        let left = self.list.count - 1 - (self.next * BLOCK).min(self.list.count - 1);
        if left == 0 {
            return Ok(None);
        }
        let values = left.min(BLOCK);
        let width = self.list.bytes[self.next];
        let start = self.at;
        self.at += block_bytes(values, width);
        self.next += 1;
        if self.at > self.list.end || width > 32 && width != WIDE {
            return Err(Malformed(format!(
                "block of width {width} ends {} bytes into lists of {}",
                self.at, self.list.end
            )));
        }
        Ok(Some((width, values, &self.list.bytes[start..])))
    }
}

/// Bytes of the widths and blocks of `list`.
pub(crate) fn encoded_bytes(list: RawList<'_>) -> Decoded<usize> {
    let mut blocks = Blocks::new(list);
    while blocks.take()?.is_some() {}
    Ok(blocks.at)
}

pub(super) fn outside(neighbour: u64, limit: u64) -> Malformed {
    Malformed(format!(
        "neighbour {neighbour} where node ids are below {limit}"
    ))
}

/// Writes the neighbours of `list` to the start of `out`, which grows where it is too short; how
/// many they are. `None` if the list needs [`append_narrow`].
#[inline]
pub(crate) fn narrow_into(list: RawList<'_>, limit: u64, out: &mut Vec<u32>) -> Option<usize> {
    if limit > NARROW_LIMIT || list.first >= limit {
        return None;
    }
    let (blocks, room) = (
        block_count(list.count),
        1 + bitpack::list::room(list.count - 1),
    );
    if out.len() < room {
        out.resize(room, 0);
    }
    let differences = bitpack::list::Blocks {
        widths: &list.bytes[..blocks],
        bytes: &list.bytes[blocks..],
        end: list.end.saturating_sub(blocks),
        count: list.count - 1,
    };
    out[0] = list.first as u32;
    bitpack::list::unpack(
        differences,
        list.first as u32,
        limit as u32,
        &mut out[1..room],
    )?;
    Some(list.count)
}

/// Appends the neighbours of `list` to `out`.
pub(crate) fn append_narrow(list: RawList<'_>, limit: u64, out: &mut Vec<u32>) -> Decoded<()> {
    if limit > NARROW_LIMIT {
        let mut wide = Vec::with_capacity(list.count);
        append_wide(list, limit, &mut wide)?;
        out.extend(wide.iter().map(|neighbour| *neighbour as u32));
        return Ok(());
    }
    if list.first >= limit {
        return Err(outside(list.first, limit));
    }
    out.push(list.first as u32);
    append_carefully(list, limit, out)
}

/// Block by block, checking each.
fn append_carefully(list: RawList<'_>, limit: u64, out: &mut Vec<u32>) -> Decoded<()> {
    let mut last = list.first as u32;
    let mut blocks = Blocks::new(list);
    while let Some((width, values, bytes)) = blocks.take()? {
        let mut sums = [0; BLOCK];
        last = narrow_block(width, values, bytes, last, limit, &mut sums)?;
        out.extend_from_slice(&sums[..values]);
    }
    Ok(())
}

#[inline]
fn narrow_block(
    width: u8,
    values: usize,
    bytes: &[u8],
    last: u32,
    limit: u64,
    sums: &mut [u32; BLOCK],
) -> Decoded<u32> {
    // Differences of more than 25 bits could wrap within a block: those blocks are decoded wide.
    if width > 25 {
        let mut wide = [0; BLOCK];
        let last = wide_block(width, values, bytes, u64::from(last), limit, &mut wide)?;
        sums.iter_mut()
            .zip(wide)
            .for_each(|(sum, value)| *sum = value as u32);
        return Ok(last as u32);
    }
    match bitpack::unpack_sums(bytes, values, u32::from(width), last, sums) {
        Some(sum) if u64::from(sum) < limit => Ok(sum),
        Some(sum) => Err(outside(u64::from(sum), limit)),
        None => Err(Malformed(format!(
            "block of {values} values of width {width} is cut off"
        ))),
    }
}

/// Calls `visit` with the neighbours of `list`, up to 33 at a time, until it breaks.
pub(crate) fn for_each_narrow(
    list: RawList<'_>,
    limit: u64,
    visit: &mut impl FnMut(&[u32]) -> ControlFlow<()>,
) -> Decoded<ControlFlow<()>> {
    if limit > NARROW_LIMIT {
        let mut all = Vec::new();
        append_narrow(list, limit, &mut all)?;
        return Ok(all.chunks(BLOCK).try_for_each(visit));
    }
    if list.first >= limit {
        return Err(outside(list.first, limit));
    }
    let mut last = list.first as u32;
    let mut blocks = Blocks::new(list);
    // The first neighbour travels with the first block.
    let mut buffer = [0; BLOCK + 1];
    buffer[0] = last;
    let mut from = 0;
    while let Some((width, values, bytes)) = blocks.take()? {
        let sums = buffer.last_chunk_mut().expect("33 values hold 32");
        last = narrow_block(width, values, bytes, last, limit, sums)?;
        if visit(&buffer[from..=values]).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        from = 1;
    }
    Ok(if from == 0 {
        visit(&buffer[..1])
    } else {
        ControlFlow::Continue(())
    })
}

/// Appends the neighbours of `list` to `out`.
pub(crate) fn append_wide(list: RawList<'_>, limit: u64, out: &mut Vec<u64>) -> Decoded<()> {
    out.reserve(list.count);
    for_each_wide(list, limit, &mut |block| {
        out.extend_from_slice(block);
        ControlFlow::Continue(())
    })
    .map(|_| ())
}

/// As [`for_each_narrow`] with 64-bit neighbours.
pub(crate) fn for_each_wide(
    list: RawList<'_>,
    limit: u64,
    visit: &mut impl FnMut(&[u64]) -> ControlFlow<()>,
) -> Decoded<ControlFlow<()>> {
    if list.first >= limit {
        return Err(outside(list.first, limit));
    }
    let mut last = list.first;
    if visit(&[last]).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let mut blocks = Blocks::new(list);
    while let Some((width, values, bytes)) = blocks.take()? {
        let mut sums = [0; BLOCK];
        last = wide_block(width, values, bytes, last, limit, &mut sums)?;
        if visit(&sums[..values]).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn wide_block(
    width: u8,
    values: usize,
    bytes: &[u8],
    last: u64,
    limit: u64,
    sums: &mut [u64; BLOCK],
) -> Decoded<u64> {
    let mut sum = last;
    for (index, slot) in sums[..values].iter_mut().enumerate() {
        let difference = if width == WIDE {
            u64::from_le_bytes(
                bytes[index * 8..index * 8 + 8]
                    .try_into()
                    .expect("eight bytes"),
            )
        } else {
            bits_at(bytes, index * usize::from(width), width)
        };
        sum = match sum.checked_add(difference) {
            Some(sum) if sum < limit => sum,
            other => return Err(outside(other.unwrap_or(u64::MAX), limit)),
        };
        *slot = sum;
    }
    Ok(sum)
}

/// The `width` (at most 32) bits at bit `at`.
fn bits_at(bytes: &[u8], at: usize, width: u8) -> u64 {
    let mut window = [0; 8];
    let from = at / 8;
    let count = (bytes.len() - from.min(bytes.len())).min(8);
    window[..count].copy_from_slice(&bytes[from..from + count]);
    u64::from_le_bytes(window) >> (at % 8) & ((1u64 << width) - 1)
}
