//! Bytes of one list of neighbours.
//!
//! # How it works
//! The first neighbour is stored by itself, the others as differences to the one before, bit-packed
//! in blocks of 32 with one width each ([`crate::bitpack`]). Parallel relationships give
//! differences of 0.
//!
//! # On disk
//! | part | size |
//! | --- | --- |
//! | number of neighbours | varint, at least 1 |
//! | first neighbour - the segment's base | the segment's `first_bytes` |
//! | width of each block | 1 byte each: 0..=32, or 64 for 8 plain bytes a difference |
//! | blocks | `ceil(values * width / 8)` bytes each |

use crate::bitpack::{self, BLOCK};
use crate::bytes::varint_bytes;

/// Width code of a block whose differences do not fit 32 bits: 8 bytes each.
pub(crate) const WIDE: u8 = 64;

/// Widths and blocks of the differences within `neighbours`, in the order they are stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncodedBlocks {
    pub(crate) widths: Vec<u8>,
    pub(crate) blocks: Vec<u8>,
}

impl EncodedBlocks {
    fn len(&self) -> usize {
        self.widths.len() + self.blocks.len()
    }

    pub(crate) fn clear(&mut self) {
        self.widths.clear();
        self.blocks.clear();
    }
}

/// Number of blocks of a list of `count` neighbours.
pub(crate) const fn block_count(count: usize) -> usize {
    count.saturating_sub(1).div_ceil(BLOCK)
}

/// Bytes of `values` differences of width code `width`.
pub(crate) const fn block_bytes(values: usize, width: u8) -> usize {
    if width == WIDE {
        values * 8
    } else {
        bitpack::packed_len(values, width as u32)
    }
}

/// Encodes as many of `neighbours` (ascending, not empty) as fit `limit` bytes, whole blocks only
/// unless all fit; how many those are. `limit` counts everything but the first neighbour.
pub(crate) fn encode_prefix(neighbours: &[u64], limit: usize, out: &mut EncodedBlocks) -> usize {
    out.clear();
    let mut taken = 1;
    while taken < neighbours.len() {
        let block = &neighbours[taken - 1..neighbours.len().min(taken + BLOCK)];
        let (widths, blocks) = (out.widths.len(), out.blocks.len());
        put_block(block, out);
        let count = taken + block.len() - 1;
        if varint_bytes(count as u64) + out.len() > limit {
            out.widths.truncate(widths);
            out.blocks.truncate(blocks);
            break;
        }
        taken = count;
    }
    taken
}

/// Appends the block of the differences between the values of `run`.
fn put_block(run: &[u64], out: &mut EncodedBlocks) {
    let mut differences = [0u32; BLOCK];
    let count = run.len() - 1;
    let mut wide = false;
    for (difference, pair) in differences.iter_mut().zip(run.windows(2)) {
        let value = pair[1] - pair[0];
        wide |= value > u64::from(u32::MAX);
        *difference = value as u32;
    }
    if wide {
        out.widths.push(WIDE);
        for pair in run.windows(2) {
            out.blocks
                .extend_from_slice(&(pair[1] - pair[0]).to_le_bytes());
        }
        return;
    }
    let width = bitpack::width_of(&differences[..count]);
    out.widths.push(width as u8);
    bitpack::pack(&differences[..count], width, &mut out.blocks);
}
