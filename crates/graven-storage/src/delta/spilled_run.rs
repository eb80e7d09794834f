//! A sorted map in temporary pages of the page cache: changes that are too many for memory.
//!
//! # How it works
//! Written once, front to back, never changed. Entries lie in *blocks* of 32, each of which can be
//! decoded on its own; a page holds as many blocks as fit 16 KiB, a single entry that is larger
//! gets a page of its size, and one larger than 64 KiB several pages, so that small memory holds
//! what large memory has written. In memory is the first and last key of every page. A look-up
//! bisects pages, then the first keys of the blocks, and decodes one block.
//!
//! # Invariants
//! * TX-14: keys ascend strictly, within a page and from page to page.
//!
//! # Concurrency
//! Immutable. A page is pinned for one block at a time and no longer.
//!
//! # On disk
//! Temporary pages, which only this process reads. Payload: blocks (count of entries (1), entries
//! of key and value), offset of every block (4 each), number of blocks (4).

use super::merge::Ascending;
use super::stored::Stored;
use crate::bytes::{Decoded, Malformed, Reader};
use crate::long_bytes::{LongBytes, held};
use crate::{Error, Result};
use graven_pagecache::{Reservation, SizeClass, TemporaryPage, TemporaryPages};
use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::Arc;

/// Entries of a block.
const BLOCK_ENTRIES: usize = 32;
/// Payload of a page of 64 KiB, the largest that is used.
const PIECE_BYTES: usize = SizeClass::KIB_64.payload_bytes();
/// Payload of a page of 16 KiB.
const PAGE_BYTES: usize = (16 << 10) - 64;

/// A page with the keys it begins and ends with.
#[derive(Clone, Debug)]
struct SealedPage<K> {
    first: K,
    last: K,
    /// The pieces of its payload, in order: one, but for a single entry of more than
    /// [`PIECE_BYTES`].
    pieces: Arc<[TemporaryPage]>,
}

/// See the file header.
#[derive(Debug)]
pub(crate) struct SpilledRun<K, V> {
    pages: Vec<SealedPage<K>>,
    entries: u64,
    _values: PhantomData<fn() -> V>,
}

/// A decoded block.
#[derive(Debug)]
pub(crate) struct Block<K, V> {
    entries: Vec<(K, V)>,
    /// No key from here on is in it; `None`: it is the last one.
    end: Option<K>,
}

fn damaged(Malformed(what): Malformed) -> Error {
    Error::Inconsistent {
        path: "temporary pages".into(),
        store: "changes of a large transaction".to_owned(),
        what,
    }
}

/// The blocks of a page's payload.
struct Blocks<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Blocks<'a> {
    fn new(payload: &'a [u8]) -> Decoded<Blocks<'a>> {
        let short = || Malformed::new("a page without its blocks");
        let tail = payload.len().checked_sub(4).ok_or_else(short)?;
        let count = Reader::starting_at(payload, tail).u32()? as usize;
        if count == 0 || count > tail / 4 {
            return Err(short());
        }
        Ok(Blocks {
            bytes: payload,
            count,
        })
    }

    /// A reader behind the count of entries of block `at`, and that count.
    fn block(&self, at: usize) -> Decoded<(Reader<'a>, usize)> {
        let table = self.bytes.len() - 4 - 4 * self.count;
        let offset = Reader::starting_at(self.bytes, table + 4 * at).u32()?;
        let mut reader = Reader::starting_at(self.bytes, offset as usize);
        let count = reader.u8()? as usize;
        Ok((reader, count))
    }

    fn first_key<K: Stored>(&self, at: usize) -> Decoded<K> {
        K::read(None, &mut self.block(at)?.0)
    }

    fn entries<K: Stored, V: Stored>(&self, at: usize) -> Decoded<Vec<(K, V)>> {
        let (mut reader, count) = self.block(at)?;
        let mut entries: Vec<(K, V)> = Vec::with_capacity(count);
        for _ in 0..count {
            let key = K::read(entries.last().map(|(key, _)| key), &mut reader)?;
            entries.push((key, V::read(None, &mut reader)?));
        }
        Ok(entries)
    }
}

impl<K: Stored + Ord + Clone, V: Stored> SpilledRun<K, V> {
    /// Entries in all.
    pub(crate) fn len(&self) -> u64 {
        self.entries
    }

    /// Bytes of memory for the keys and handles of pages.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let keys = self.pages.iter();
        let keys: u64 = keys
            .map(|page| page.first.heap_bytes() + page.last.heap_bytes())
            .sum();
        // The handle itself lies apart, with its counts.
        keys + self.pages.len() as u64 * (size_of::<SealedPage<K>>() as u64 + 64)
    }

    fn first_key(&self) -> Option<&K> {
        self.pages.first().map(|page| &page.first)
    }

    fn last_key(&self) -> Option<&K> {
        self.pages.last().map(|page| &page.last)
    }

    /// The maps of `parts` in one if their keys do not overlap; pages are shared.
    pub(crate) fn joined(parts: &[Arc<SpilledRun<K, V>>]) -> Option<SpilledRun<K, V>> {
        let mut order: Vec<&Arc<SpilledRun<K, V>>> = parts.iter().collect();
        order.sort_by(|a, b| a.first_key().cmp(&b.first_key()));
        let apart = |pair: &[&Arc<SpilledRun<K, V>>]| pair[0].last_key() < pair[1].first_key();
        if !order.windows(2).all(apart) {
            return None;
        }
        Some(SpilledRun {
            pages: order.iter().flat_map(|map| map.pages.clone()).collect(),
            entries: order.iter().map(|map| map.entries).sum(),
            _values: PhantomData,
        })
    }

    fn read<T>(&self, page: usize, read: impl FnOnce(Blocks<'_>) -> Decoded<T>) -> Result<T> {
        if let [only] = &*self.pages[page].pieces {
            let pin = only.pin()?;
            return Blocks::new(&pin).and_then(read).map_err(damaged);
        }
        let pieces = &self.pages[page].pieces;
        let budget = pieces[0].cache().budget();
        let mut payload = LongBytes::with_room(budget, pieces.len() * PIECE_BYTES);
        for piece in pieces.iter() {
            payload.extend(&piece.pin()?);
        }
        Blocks::new(&payload).and_then(read).map_err(damaged)
    }

    /// The last block of `page` whose first key is `before` something, the first one if none is.
    fn block_of(&self, page: usize, before: impl Fn(&K) -> bool) -> Result<usize> {
        if self.pages[page].pieces.len() > 1 {
            // A single entry.
            return Ok(0);
        }
        self.read(page, |blocks| {
            let (mut low, mut high) = (0, blocks.count);
            while high - low > 1 {
                let middle = usize::midpoint(low, high);
                match before(&blocks.first_key(middle)?) {
                    true => low = middle,
                    false => high = middle,
                }
            }
            Ok(low)
        })
    }

    /// The page that would hold `key`.
    fn page_of(&self, key: &K) -> Option<usize> {
        let at = self.pages.partition_point(|page| page.last < *key);
        (self.pages.get(at)).and_then(|page| (page.first <= *key).then_some(at))
    }

    /// Whether there may be entries from `first` to `last`, by the keys of pages: without reading
    /// one.
    pub(crate) fn may_have_any(&self, first: &K, last: &K) -> bool {
        let at = self.pages.partition_point(|page| page.last < *first);
        self.pages.get(at).is_some_and(|page| page.first <= *last)
    }

    /// The value of `key`; the block that would hold it stays in `last`, which makes neighbouring
    /// look-ups cheap.
    pub(crate) fn get<'b>(
        &self,
        key: &K,
        last: &'b mut Option<Block<K, V>>,
    ) -> Result<Option<&'b V>> {
        let known = last.as_ref().is_some_and(|block| {
            let begins = block.entries.first().is_some_and(|(first, _)| first <= key);
            begins && block.end.as_ref().is_none_or(|end| key < end)
        });
        if !known {
            let Some(page) = self.page_of(key) else {
                return Ok(None);
            };
            let at = self.block_of(page, |first| first <= key)?;
            *last = Some(self.read(page, |blocks| {
                let end = match at + 1 < blocks.count {
                    true => Some(blocks.first_key(at + 1)?),
                    false => self.pages.get(page + 1).map(|next| next.first.clone()),
                };
                let entries = blocks.entries(at)?;
                Ok(Block { entries, end })
            })?);
        }
        let entries = last.as_ref().map_or(&[][..], |block| &block.entries);
        let found = entries.binary_search_by(|(known, _)| known.cmp(key));
        Ok(found.ok().map(|at| &entries[at].1))
    }

    /// The entries from `start` on, ascending.
    pub(crate) fn range(self: &Arc<Self>, start: Bound<&K>) -> Result<SealedRange<K, V>> {
        let mut range = SealedRange {
            map: self.clone(),
            page: 0,
            block: 0,
            entries: Vec::new().into_iter(),
            held: None,
        };
        let (Bound::Included(key) | Bound::Excluded(key)) = start else {
            return Ok(range);
        };
        range.page = self.pages.partition_point(|page| page.last < *key);
        if range.page < self.pages.len() {
            range.block = self.block_of(range.page, |first| first <= key)?;
            range.fill()?;
            let excluded = matches!(start, Bound::Excluded(_));
            let entries = std::mem::take(&mut range.entries);
            let wanted = entries.filter(|(known, _)| known > key || !excluded && known == key);
            range.entries = wanted.collect::<Vec<_>>().into_iter();
        }
        Ok(range)
    }

    /// The last entry up to `end`.
    pub(crate) fn previous(&self, end: Bound<&K>) -> Result<Option<(K, V)>> {
        let before = |key: &K| match end {
            Bound::Included(end) => key <= end,
            Bound::Excluded(end) => key < end,
            Bound::Unbounded => true,
        };
        let behind = self.pages.partition_point(|page| before(&page.first));
        let Some(page) = behind.checked_sub(1) else {
            return Ok(None);
        };
        let block = self.block_of(page, before)?;
        let entries: Vec<(K, V)> = self.read(page, |blocks| blocks.entries(block))?;
        Ok(entries
            .into_iter()
            .take_while(|(key, _)| before(key))
            .last())
    }
}

/// See [`SpilledRun::range`].
#[derive(Debug)]
pub(crate) struct SealedRange<K, V> {
    map: Arc<SpilledRun<K, V>>,
    page: usize,
    block: usize,
    entries: std::vec::IntoIter<(K, V)>,
    /// For the entries, where they are long.
    held: Option<Reservation>,
}

impl<K: Stored + Ord + Clone, V: Stored> SealedRange<K, V> {
    /// Decodes the next block, if there is one.
    fn fill(&mut self) -> Result<()> {
        if self.page < self.map.pages.len() {
            let block = self.block;
            let pieces = &self.map.pages[self.page].pieces;
            self.held = None;
            self.held = held(pieces[0].cache().budget(), (pieces.len() - 1) * PIECE_BYTES);
            let (entries, count) = self.map.read(self.page, |blocks| {
                Ok((blocks.entries(block)?, blocks.count))
            })?;
            self.entries = entries.into_iter();
            self.block += 1;
            if self.block == count {
                (self.page, self.block) = (self.page + 1, 0);
            }
        }
        Ok(())
    }

    /// The entry that comes next, which stays.
    pub(crate) fn peek(&mut self) -> Result<Option<&(K, V)>> {
        while self.entries.as_slice().is_empty() && self.page < self.map.pages.len() {
            self.fill()?;
        }
        Ok(self.entries.as_slice().first())
    }

    /// Goes on to the first entry from `key` on, which is not before the one that comes next. Where
    /// that is near, no more is decoded than what lies between.
    pub(crate) fn seek(&mut self, key: &K) -> Result<()> {
        let reaches = |range: &Self| {
            let last = range.entries.as_slice().last();
            last.is_some_and(|(last, _)| last >= key)
        };
        if !reaches(self) {
            self.entries = Vec::new().into_iter();
            self.fill()?;
            if !reaches(self) {
                *self = self.map.range(Bound::Included(key))?;
                return Ok(());
            }
        }
        let passed = self.entries.as_slice();
        let passed = passed.partition_point(|(known, _)| known < key);
        self.entries.by_ref().take(passed).for_each(drop);
        Ok(())
    }
}

impl<K: Stored + Ord + Clone, V: Stored> Ascending<K, V> for SealedRange<K, V> {
    fn next_key(&mut self) -> Result<Option<K>> {
        if self.entries.as_slice().is_empty()
            && self.block == 0
            && let Some(page) = self.map.pages.get(self.page)
        {
            // Its entries are decoded when they are wanted: a single one may be large.
            return Ok(Some(page.first.clone()));
        }
        Ok(self.peek()?.map(|(key, _)| key.clone()))
    }

    fn take_ready(&mut self, end: Option<&K>) -> Option<std::vec::IntoIter<(K, V)>> {
        let (last, _) = self.entries.as_slice().last()?;
        let before = end.is_none_or(|end| last < end);
        before.then(|| std::mem::take(&mut self.entries))
    }
}

impl<K: Stored + Ord + Clone, V: Stored> Iterator for SealedRange<K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.entries.as_slice().is_empty() && self.page < self.map.pages.len() {
            if let Err(error) = self.fill() {
                self.page = self.map.pages.len();
                return Some(Err(error));
            }
        }
        self.entries.next().map(Ok)
    }
}

/// Writes a [`SpilledRun`].
pub(crate) struct SealedWriter<'a, K, V> {
    out: &'a TemporaryPages,
    map: SpilledRun<K, V>,
    bytes: Vec<u8>,
    /// For the bytes, where they are many.
    held: Option<Reservation>,
    offsets: Vec<u32>,
    /// Entries of the open block, where its count is.
    open: (usize, usize),
    first: Option<K>,
    last: Option<K>,
}

impl<'a, K: Stored + Ord + Clone, V: Stored> SealedWriter<'a, K, V> {
    pub(crate) fn new(out: &'a TemporaryPages) -> Self {
        SealedWriter {
            out,
            map: SpilledRun {
                pages: Vec::new(),
                entries: 0,
                _values: PhantomData,
            },
            bytes: Vec::new(),
            held: None,
            offsets: Vec::new(),
            open: (0, 0),
            first: None,
            last: None,
        }
    }

    /// Appends an entry; keys ascend.
    #[inline]
    pub(crate) fn push(&mut self, key: &K, value: &V) -> Result<()> {
        self.push_put(key, &|out| value.put(None, out))
    }

    /// Appends an entry whose value has these bytes; keys ascend.
    #[inline]
    pub(crate) fn push_encoded(&mut self, key: &K, value: &[u8]) -> Result<()> {
        self.push_put(key, &|out| out.extend_from_slice(value))
    }

    /// Appends an entry whose value `put` appends.
    fn push_put(&mut self, key: &K, put: &impl Fn(&mut Vec<u8>)) -> Result<()> {
        assert!(self.last.as_ref().is_none_or(|last| last < key), "TX-14");
        let before = self.bytes.len();
        let mut block = self.open;
        let begins = block.0 == 0 || block.0 == BLOCK_ENTRIES;
        if begins {
            block = (0, before);
            self.offsets.push(before as u32);
            self.bytes.push(0);
        }
        key.put(self.last.as_ref().filter(|_| !begins), &mut self.bytes);
        put(&mut self.bytes);
        if self.bytes.len() > PIECE_BYTES && self.held.is_none() {
            self.held = held(self.out.cache().budget(), self.bytes.len());
        }
        let room = self.bytes.len() + 4 * self.offsets.len() + 4 <= PAGE_BYTES;
        if !room && self.first.is_some() {
            // It begins the next page instead.
            self.bytes.truncate(before);
            if begins {
                self.offsets.pop();
            }
            self.end_page()?;
            return self.push_put(key, put);
        }
        block.0 += 1;
        self.bytes[block.1] = block.0 as u8;
        self.open = block;
        self.first.get_or_insert_with(|| key.clone());
        self.last = Some(key.clone());
        self.map.entries += 1;
        Ok(())
    }

    fn end_page(&mut self) -> Result<()> {
        let (Some(first), Some(last)) = (self.first.take(), self.last.take()) else {
            return Ok(());
        };
        let count = self.offsets.len() as u32;
        let offsets = self.offsets.iter().chain([&count]);
        let table: Vec<u8> = offsets.flat_map(|number| number.to_le_bytes()).collect();
        // The bytes of a long value are not copied once more for the table behind them.
        let (mut bytes, mut table) = (&self.bytes[..], &table[..]);
        let mut pieces = Vec::with_capacity(1);
        while !bytes.is_empty() || !table.is_empty() {
            let length = PIECE_BYTES.min(bytes.len() + table.len());
            let class = SizeClass::for_payload_bytes(length).unwrap_or(SizeClass::KIB_64);
            let mut page = self.out.allocate(class)?;
            let (of_bytes, behind) = bytes.split_at(length.min(bytes.len()));
            let (of_table, rest) = table.split_at(length - of_bytes.len());
            page[..of_bytes.len()].copy_from_slice(of_bytes);
            page[of_bytes.len()..length].copy_from_slice(of_table);
            pieces.push(page.finish(length));
            (bytes, table) = (behind, rest);
        }
        let pieces = pieces.into();
        self.map.pages.push(SealedPage {
            first,
            last,
            pieces,
        });
        match self.bytes.len() > PIECE_BYTES {
            true => (self.bytes, self.held) = (Vec::new(), None),
            false => self.bytes.clear(),
        }
        self.offsets.clear();
        self.open = (0, 0);
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<SpilledRun<K, V>> {
        self.end_page()?;
        Ok(self.map)
    }
}
