//! Sorts records by nodes: dealt into ranges of nodes first, then sorted range by range.
//!
//! # How it works
//! Ids of nodes are dense, and how many records they have is known before (their degrees). So the
//! ids are cut into ranges of about equal numbers of records. A record goes to the buffer of its
//! range; a full buffer is a *chunk*, which stays in memory while there is room, and goes to a
//! scratch file after that. Then range after range is read and sorted in memory by a radix sort.
//! Its entries hold the key in one word. Unlike sorted runs, ranges need no merge: a record is
//! compared with those of its range alone, which mostly lie in the caches.
//!
//! # Invariants
//! - DS-1 Records come out by key, then by bytes, as from a [`Sorter`], however they were dealt.
//! - DS-2 A range that is too large to be sorted in memory, or has keys of more than a word,
//!   goes through a [`Sorter`].
//!
//! # Costs
//! A quarter of the limit for buffers, a quarter for chunks, half for a range. Each spilled byte is
//! written and read once.
//!
//! # Source
//! D. E. Knuth, "The Art of Computer Programming", volume 3, 1998, section 5.2.5 (distribution).

use std::sync::Arc;

use crate::error::ImportError;
use crate::radix;
use crate::scratch::{Scratch, ScratchFile};
use crate::sort::{Key, Sorted, Sorter, usable};
use crate::spool::{HEAD_BYTES, put_record, take_head};

/// Cells of nodes, each with a weight, at most.
const CELLS: usize = 1 << 16;
/// The least and the most that a buffer holds.
const CHUNK_MIN: usize = 4 << 10;
const CHUNK_MAX: usize = 64 << 10;
const RANGES_MAX: usize = 2048;
/// What a range is to take while it is sorted, in bytes.
const RANGE_BYTES: u64 = 4 << 20;

/// How many records nodes have, in cells of equally many ids.
#[derive(Debug)]
pub(crate) struct Weights {
    shift: u32,
    cells: Vec<u64>,
}

impl Weights {
    fn none(nodes: u64) -> Self {
        let bits = u64::BITS - nodes.saturating_sub(1).leading_zeros();
        let shift = bits.saturating_sub(CELLS.trailing_zeros());
        let cells = vec![0; (nodes.saturating_sub(1) >> shift) as usize + 1];
        Self { shift, cells }
    }

    /// Each node has one record.
    pub(crate) fn even(nodes: u64) -> Self {
        let mut weights = Self::none(nodes);
        weights.cells.fill(1);
        weights
    }

    /// The node `ids[i]` has `degrees[i]` records.
    pub(crate) fn of_degrees(ids: &[u32], degrees: &[u32]) -> Self {
        let mut weights = Self::none(ids.len() as u64);
        for (id, degree) in ids.iter().zip(degrees) {
            weights.cells[(*id >> weights.shift) as usize] += u64::from(*degree);
        }
        weights
    }
}

/// The records of a range of nodes.
#[derive(Debug, Default)]
struct Range {
    /// The first node; keys are kept as what they are more.
    first: u64,
    buffer: Vec<u8>,
    chunks: Vec<Chunk>,
    records: usize,
    bytes: usize,
}

impl Range {
    fn all_chunks(self) -> impl Iterator<Item = Chunk> {
        let last = Chunk::Memory(self.buffer);
        self.chunks.into_iter().chain([last])
    }
}

#[derive(Debug)]
enum Chunk {
    Memory(Vec<u8>),
    /// Offset and length.
    File(u64, usize),
}

/// Deals records out, to be sorted.
#[derive(Debug)]
pub(crate) struct Distributor {
    scratch: Arc<Scratch>,
    limit: usize,
    /// Bytes of a full buffer.
    chunk: usize,
    shift: u32,
    /// By cell: the number of its range.
    range_of: Vec<u16>,
    ranges: Vec<Range>,
    file: Option<ScratchFile>,
    /// Bytes of chunks that may still stay in memory.
    room: usize,
    /// All bits that occur in the second numbers of keys.
    seconds: u64,
}

impl Distributor {
    /// A distributor that holds about `limit` bytes, for `records` records of `bytes` bytes.
    pub(crate) fn new(
        scratch: &Arc<Scratch>,
        limit: u64,
        weights: &Weights,
        records: u64,
        bytes: u64,
    ) -> Self {
        let limit = usable(limit);
        let most = (limit / 4 / CHUNK_MIN).clamp(1, RANGES_MAX);
        let in_memory = bytes + records * size_of::<Entry>() as u64;
        let wanted = (in_memory / RANGE_BYTES.min(limit as u64 / 8) + 1).min(most as u64);
        let total: u64 = weights.cells.iter().sum();
        let weight = total / wanted + 1;
        let (mut ranges, mut range_of, mut sum) = (Vec::<Range>::new(), Vec::new(), 0);
        for (cell, cell_weight) in weights.cells.iter().enumerate() {
            if ranges.is_empty() || sum + cell_weight > weight && ranges.len() < most {
                ranges.push(Range {
                    first: (cell as u64) << weights.shift,
                    ..Range::default()
                });
                sum = 0;
            }
            sum += cell_weight;
            range_of.push((ranges.len() - 1) as u16);
        }
        Self {
            scratch: Arc::clone(scratch),
            limit,
            chunk: (limit / 4 / ranges.len()).clamp(CHUNK_MIN, CHUNK_MAX),
            shift: weights.shift,
            range_of,
            ranges,
            file: None,
            room: limit / 4,
            seconds: 0,
        }
    }

    /// Adds a record; the first number of its key is a node.
    pub(crate) fn push(&mut self, key: Key, bytes: &[u8]) -> Result<(), ImportError> {
        let number = usize::from(self.range_of[(key[0] >> self.shift) as usize]);
        let range = &mut self.ranges[number];
        if range.buffer.len() + HEAD_BYTES + bytes.len() > range.buffer.capacity() {
            self.make_room(number, HEAD_BYTES + bytes.len())?;
        }
        let range = &mut self.ranges[number];
        let before = range.buffer.len();
        put_record(&mut range.buffer, key[0] - range.first, key[1], bytes);
        range.records += 1;
        range.bytes += range.buffer.len() - before;
        self.seconds |= key[1];
        Ok(())
    }

    fn make_room(&mut self, number: usize, need: usize) -> Result<(), ImportError> {
        let range = &mut self.ranges[number];
        let grown = (range.buffer.capacity() * 2).max(1 << 10).min(self.chunk);
        if grown >= range.buffer.len() + need {
            range.buffer.reserve_exact(grown - range.buffer.len());
            return Ok(());
        }
        if range.buffer.len() <= self.room {
            self.room -= range.buffer.len();
            let full = std::mem::take(&mut range.buffer);
            range.chunks.push(Chunk::Memory(full));
        } else if !range.buffer.is_empty() {
            if self.file.is_none() {
                self.file = Some(self.scratch.file()?);
            }
            if let Some(file) = &mut self.file {
                range
                    .chunks
                    .push(Chunk::File(file.len(), range.buffer.len()));
                file.append(&range.buffer)?;
            }
            range.buffer.clear();
        }
        range.buffer.reserve_exact(self.chunk.max(need));
        Ok(())
    }

    /// Sorts what was added, range by range while it is read.
    pub(crate) fn finish(self) -> Ranges {
        let bits = |number: u64| u64::BITS - number.leading_zeros();
        let nodes = (self.range_of.len() as u64) << self.shift;
        let second_bits = bits(self.seconds);
        Ranges {
            scratch: self.scratch,
            limit: self.limit / 2,
            file: self.file,
            left: self.ranges.into_iter(),
            second_bits,
            fits_word: bits(nodes) + second_bits <= u64::BITS,
            range: SortedRange::default(),
            large: None,
        }
    }
}

/// A record of a range: its key in one word, where its bytes are.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u64,
    at: u32,
    len: u32,
}

fn bytes_of<'a>(arena: &'a [u8], entry: &Entry) -> &'a [u8] {
    &arena[entry.at as usize..entry.at as usize + entry.len as usize]
}

/// The sorted records of a range, read once.
#[derive(Debug, Default)]
pub(crate) struct SortedRange {
    /// The first node; keys hold what they are more.
    first: u64,
    /// Bits of the second numbers of keys.
    second_bits: u32,
    entries: Vec<Entry>,
    arena: Vec<u8>,
    at: usize,
}

impl SortedRange {
    /// The next record in order.
    pub(crate) fn next(&mut self) -> Option<(Key, &[u8])> {
        let entry = self.entries.get(self.at)?;
        self.at += 1;
        let (bits, bytes) = (self.second_bits, bytes_of(&self.arena, entry));
        let key = [
            self.first + (entry.key >> bits),
            entry.key & ((1 << bits) - 1),
        ];
        Some((key, bytes))
    }

    /// Whether all were read.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.entries.len()
    }
}

/// Records that were dealt out, read once.
#[derive(Debug)]
pub(crate) struct Ranges {
    scratch: Arc<Scratch>,
    /// Bytes that a range may take.
    limit: usize,
    file: Option<ScratchFile>,
    left: std::vec::IntoIter<Range>,
    /// Bits of the second numbers of keys.
    second_bits: u32,
    /// Whether a key fits in a word; then it has bits for a node beside those.
    fits_word: bool,
    /// The range at hand.
    range: SortedRange,
    /// The range at hand where a sorter sorts it, and the records that are left of it.
    large: Option<(Box<Sorted>, usize)>,
}

impl Ranges {
    /// The next record in order.
    pub(crate) fn next(&mut self) -> Result<Option<(Key, &[u8])>, ImportError> {
        self.begin()?;
        match &mut self.large {
            Some((sorted, left)) if *left > 0 => {
                *left -= 1;
                sorted.next()
            }
            _ => Ok(self.range.next()),
        }
    }

    /// The records of the next range as a whole, where it is small and none of it was read.
    pub(crate) fn take_range(&mut self) -> Result<Option<SortedRange>, ImportError> {
        self.begin()?;
        let range = &self.range;
        let bytes = range.arena.len() + range.entries.len() * size_of::<Entry>();
        let is_small = bytes <= self.limit / 3 && range.at == 0 && !range.is_empty();
        Ok(is_small.then(|| std::mem::take(&mut self.range)))
    }

    /// Goes on to the next range that has records where the one at hand has none left.
    fn begin(&mut self) -> Result<(), ImportError> {
        while self.range.is_empty()
            && self.large.as_ref().is_none_or(|(_, left)| *left == 0)
            && let Some(range) = self.left.next()
        {
            self.large = None;
            let bytes = range.bytes + range.records * size_of::<Entry>();
            if self.fits_word && bytes <= self.limit {
                self.sort(range)?;
            } else {
                self.sort_large(range)?;
            }
        }
        Ok(())
    }

    fn sort(&mut self, range: Range) -> Result<(), ImportError> {
        let mut sorted = std::mem::take(&mut self.range);
        (sorted.first, sorted.second_bits, sorted.at) = (range.first, self.second_bits, 0);
        sorted.entries.clear();
        sorted.entries.reserve(range.records);
        sorted.arena.clear();
        sorted.arena.reserve(range.bytes);
        for chunk in range.all_chunks() {
            let before = sorted.arena.len();
            self.read(&chunk, &mut sorted.arena)?;
            let mut rest = &sorted.arena[before..];
            while !rest.is_empty() {
                let (first, second, len) = take_head(&mut rest);
                sorted.entries.push(Entry {
                    key: first << self.second_bits | second,
                    at: (sorted.arena.len() - rest.len()) as u32,
                    len: len as u32,
                });
                rest = &rest[len..];
            }
        }
        let arena = &sorted.arena;
        radix::sort(&mut sorted.entries, &|entry| entry.key, &|a, b| {
            bytes_of(arena, a).cmp(bytes_of(arena, b))
        });
        self.range = sorted;
        Ok(())
    }

    fn sort_large(&mut self, range: Range) -> Result<(), ImportError> {
        let (node, records) = (range.first, range.records);
        let mut sorter = Sorter::new(&self.scratch, self.limit as u64);
        let mut bytes = Vec::new();
        for chunk in range.all_chunks() {
            bytes.clear();
            self.read(&chunk, &mut bytes)?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (first, second, len) = take_head(&mut rest);
                let (bytes, behind) = rest.split_at(len);
                sorter.push([node + first, second], bytes)?;
                rest = behind;
            }
        }
        self.large = Some((Box::new(sorter.finish()?), records));
        Ok(())
    }

    /// Appends the bytes of a chunk; its part of the file is freed.
    fn read(&self, chunk: &Chunk, out: &mut Vec<u8>) -> Result<(), ImportError> {
        match (chunk, &self.file) {
            (Chunk::Memory(bytes), _) => out.extend_from_slice(bytes),
            (Chunk::File(offset, len), Some(file)) => {
                let before = out.len();
                out.resize(before + len, 0);
                file.read(&mut out[before..], *offset)?;
                file.free(*offset, *len as u64);
            }
            (Chunk::File(..), None) => unreachable!("a chunk of a file that was never made"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
