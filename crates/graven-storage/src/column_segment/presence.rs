//! Which ids of a segment have a value, and the how manieth an id is among them.
//!
//! # On disk
//! | form | content |
//! | --- | --- |
//! | 0 all | nothing: every id is present |
//! | 1 bitmap | one bit an id in 64-bit words (the last one filled with zeros), before each 8 words the 4-byte count of ones before them |
//! | 2 sparse | 1 byte width, then the offsets of the present ids from the first, ascending, packed |

use super::bits::{self, PackedArray};
use crate::bytes::{Decoded, Malformed};

const ALL: u8 = 0;
const BITMAP: u8 = 1;
const SPARSE: u8 = 2;

/// Words of the bitmap between two counts.
const GROUP_WORDS: usize = 8;
/// A count and its words.
const GROUP_BYTES: usize = 4 + GROUP_WORDS * 8;
/// Ids a group stands for.
const GROUP_IDS: usize = GROUP_WORDS * 64;

/// Encodes ascending `offsets` below `span` in the smallest form.
pub(super) fn encode(offsets: &[u32], span: u32) -> (u8, Vec<u8>) {
    if offsets.len() == span as usize {
        return (ALL, Vec::new());
    }
    let width = bits::width_of(u64::from(span - 1));
    let sparse_bytes = 1 + bits::packed_len(offsets.len(), width);
    if sparse_bytes < (span as usize).div_ceil(GROUP_IDS) * GROUP_BYTES {
        let mut out = vec![width as u8];
        bits::pack(
            offsets.iter().map(|offset| u64::from(*offset)),
            width,
            &mut out,
        );
        return (SPARSE, out);
    }
    (BITMAP, encode_bitmap(offsets, span))
}

fn encode_bitmap(offsets: &[u32], span: u32) -> Vec<u8> {
    let mut words = vec![0_u64; (span as usize).div_ceil(GROUP_IDS) * GROUP_WORDS];
    for &offset in offsets {
        words[offset as usize / 64] |= 1 << (offset % 64);
    }
    let (mut out, mut before) = (Vec::new(), 0_u32);
    for group in words.chunks(GROUP_WORDS) {
        out.extend(before.to_le_bytes());
        for word in group {
            out.extend(word.to_le_bytes());
            before += word.count_ones();
        }
    }
    out
}

/// The presence part of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Presence<'a> {
    /// Every id.
    All,
    /// By bitmap.
    Bitmap {
        /// The groups.
        groups: &'a [u8],
        /// Ids present in all.
        count: u32,
    },
    /// By sorted offsets.
    Sparse(PackedArray<'a>),
}

impl<'a> Presence<'a> {
    pub(super) fn parse(form: u8, part: &'a [u8], span: u32, count: u32) -> Decoded<Presence<'a>> {
        match form {
            ALL if part.is_empty() && span == count => Ok(Presence::All),
            BITMAP if part.len() == (span as usize).div_ceil(GROUP_IDS) * GROUP_BYTES => {
                Ok(Presence::Bitmap {
                    groups: part,
                    count,
                })
            }
            SPARSE => {
                let (width, packed) = part
                    .split_first()
                    .ok_or_else(|| Malformed::new("presence without width"))?;
                let (offsets, rest) =
                    PackedArray::split(packed, count as usize, u32::from(*width))?;
                if !rest.is_empty() {
                    return Err(Malformed::new(format!(
                        "{} bytes after presence",
                        rest.len()
                    )));
                }
                Ok(Presence::Sparse(offsets))
            }
            _ => Err(Malformed::new(format!(
                "presence form {form} with {} bytes for {count} of {span} ids",
                part.len()
            ))),
        }
    }

    /// Position of the id at `offset` among the present ones; `offset` is below the span.
    pub(super) fn rank(&self, offset: u32) -> Decoded<Option<usize>> {
        match self {
            Presence::All => Ok(Some(offset as usize)),
            Presence::Bitmap { groups, count } => bitmap_rank(groups, *count, offset as usize),
            Presence::Sparse(offsets) => Ok(sparse_rank(offsets, u64::from(offset))),
        }
    }
}

fn bitmap_rank(groups: &[u8], count: u32, offset: usize) -> Decoded<Option<usize>> {
    let group = &groups[offset / GROUP_IDS * GROUP_BYTES..][..GROUP_BYTES];
    let (before, words) = group
        .split_first_chunk::<4>()
        .expect("a group starts with its count");
    let word_at = |index: usize| {
        let word = words[index * 8..]
            .first_chunk::<8>()
            .expect("a group has eight words");
        u64::from_le_bytes(*word)
    };
    let (index, bit) = (offset % GROUP_IDS / 64, offset % 64);
    let word = word_at(index);
    if word >> bit & 1 == 0 {
        return Ok(None);
    }
    let within: u32 = (0..index).map(|index| word_at(index).count_ones()).sum();
    let rank = u64::from(u32::from_le_bytes(*before))
        + u64::from(within)
        + u64::from((word & ((1 << bit) - 1)).count_ones());
    if rank >= u64::from(count) {
        return Err(Malformed::new(format!(
            "presence rank {rank} of {count} values"
        )));
    }
    Ok(Some(rank as usize))
}

fn sparse_rank(offsets: &PackedArray<'_>, wanted: u64) -> Option<usize> {
    let (mut low, mut high) = (0, offsets.len());
    while low < high {
        let middle = low.midpoint(high);
        match offsets.get(middle).cmp(&wanted) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}
