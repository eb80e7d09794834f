//! One page of an index: sorted keys, each stored as what differs from the one before.
//!
//! # On disk
//! Page of kind index leaf or index inner, at most 8 KiB; payload:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 4 | level, 0 for leaves |
//! | 4 | 4 | number of entries |
//! | 8 | 2 each | offset of every 16th entry |
//! | | | entries: varint bytes shared with the key before (0 at every 16th), varint bytes that follow, those; then leaf: varint node id, inner: child page (8) |
//!
//! The key of an inner entry is above all keys of the children before it and not above any key of
//! its own child; the first one is empty.

use crate::bytes::{Decoded, Malformed, Reader, put_varint};
use graven_pagecache::SizeClass;
use std::cmp::Ordering;

/// Largest payload: 8 KiB pages.
pub(crate) const PAGE_BYTES: usize =
    SizeClass::MIN.bytes() * 2 - graven_pagecache::page::HEADER_BYTES;
const HEAD_BYTES: usize = 8;
const RESTART: usize = 16;
/// Room for keys of numbers; longer ones grow.
const KEY_ROOM: usize = 32;

/// A page while it is filled.
#[derive(Debug, Default)]
pub(crate) struct PageBuilder {
    entries: Vec<u8>,
    restarts: Vec<usize>,
    count: usize,
    last: Vec<u8>,
}

impl PageBuilder {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the payload so far.
    pub(crate) fn bytes(&self) -> usize {
        HEAD_BYTES + self.restarts.len() * 2 + self.entries.len()
    }

    pub(crate) fn last_key(&self) -> &[u8] {
        &self.last
    }

    /// Adds an entry unless the page is too full for it.
    pub(crate) fn push(&mut self, key: &[u8], value: u64, level: u32) -> bool {
        let restart = self.count.is_multiple_of(RESTART);
        let shared = match restart {
            true => 0,
            false => self
                .last
                .iter()
                .zip(key)
                .take_while(|(a, b)| a == b)
                .count(),
        };
        let worst = key.len() - shared + 3 + 3 + 10;
        let tables = HEAD_BYTES + (self.restarts.len() + 1) * 2;
        if tables + self.entries.len() + worst > PAGE_BYTES {
            return false;
        }
        if restart {
            self.restarts.push(self.entries.len());
        }
        put_varint(&mut self.entries, shared as u64);
        put_varint(&mut self.entries, (key.len() - shared) as u64);
        self.entries.extend_from_slice(&key[shared..]);
        if level == 0 {
            put_varint(&mut self.entries, value);
        } else {
            self.entries.extend_from_slice(&value.to_le_bytes());
        }
        self.count += 1;
        self.last.clear();
        self.last.extend_from_slice(key);
        true
    }

    /// The payload; the builder is empty afterwards.
    pub(crate) fn finish(&mut self, level: u32) -> Vec<u8> {
        let mut out = Vec::with_capacity(PAGE_BYTES);
        out.extend_from_slice(&level.to_le_bytes());
        out.extend_from_slice(&(self.count as u32).to_le_bytes());
        let entries = HEAD_BYTES + self.restarts.len() * 2;
        for restart in &self.restarts {
            out.extend_from_slice(&((entries + restart) as u16).to_le_bytes());
        }
        out.extend_from_slice(&self.entries);
        *self = PageBuilder::default();
        out
    }
}

/// A page to be searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexPage<'a> {
    bytes: &'a [u8],
    level: u32,
    count: usize,
}

impl<'a> IndexPage<'a> {
    pub(crate) fn read(bytes: &'a [u8], level: u32) -> Decoded<IndexPage<'a>> {
        let mut reader = Reader::new(bytes);
        let (found, count) = (reader.u32()?, reader.u32()? as usize);
        if found != level || count > bytes.len() {
            return Err(Malformed(format!(
                "level {found} with {count} entries, expected level {level}"
            )));
        }
        reader.take(count.div_ceil(RESTART) * 2)?;
        Ok(IndexPage {
            bytes,
            level,
            count,
        })
    }

    /// Index of the last restart whose key is below `key`, or 0; it is not before `from`.
    fn restart_before(&self, key: &[u8], from: usize) -> Decoded<usize> {
        let is_below = |index: usize| {
            let mut reader = self.restart(index)?;
            reader.varint()?;
            let length = reader.length()?;
            Ok(reader.take(length)? < key)
        };
        let (mut low, mut high) = (from, self.count.div_ceil(RESTART));
        if from > 0 {
            // A key is mostly close to the one before.
            let mut step = 1;
            while low + step < high {
                if !is_below(low + step)? {
                    high = low + step;
                    break;
                }
                low += step;
                step *= 2;
            }
            low += 1;
        }
        while low < high {
            let middle = low.midpoint(high);
            if is_below(middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.saturating_sub(1))
    }

    fn restart(&self, index: usize) -> Decoded<Reader<'a>> {
        let offset = Reader::starting_at(self.bytes, HEAD_BYTES + index * 2).u16()?;
        Ok(Reader::starting_at(self.bytes, usize::from(offset)))
    }

    /// Calls `visit` with each entry from about the first one that is not below `key` on: how its
    /// key compares with `key`, and its value, until it returns `false` or a key is greater. No key
    /// is put together: what an entry shares with the one before tells most of them apart.
    pub(crate) fn search(
        &self,
        key: &[u8],
        visit: impl FnMut(Ordering, u64) -> Decoded<bool>,
    ) -> Decoded<()> {
        self.search_on(key, &mut 0, visit)
    }

    /// As [`IndexPage::search`] for keys that ascend: `from` is 0 for the first one, and says where
    /// the search for the next one begins.
    pub(crate) fn search_on(
        &self,
        key: &[u8],
        from: &mut usize,
        mut visit: impl FnMut(Ordering, u64) -> Decoded<bool>,
    ) -> Decoded<()> {
        if self.count == 0 {
            return Ok(());
        }
        let restart = self.restart_before(key, *from)?;
        *from = restart;
        let mut reader = self.restart(restart)?;
        // Of the entry before: bytes of its key, how many of them are those of `key`, and where it
        // lies.
        let (mut length, mut equal, mut order) = (0, 0, Ordering::Less);
        for index in restart * RESTART..self.count {
            let shared = reader.varint()?;
            if shared > length as u64 {
                return Err(Malformed(format!(
                    "entry {index} shares {shared} bytes of {length}"
                )));
            }
            let shared = shared as usize;
            let own = reader.length()?;
            let own = reader.take(own)?;
            length = shared + own.len();
            // It differs from `key` where the one before does, unless it shares no more than what
            // was equal.
            if shared <= equal {
                let rest = &key[shared..];
                let same = own.iter().zip(rest).take_while(|(a, b)| a == b).count();
                equal = shared + same;
                order = own.get(same).cmp(&rest.get(same));
            }
            let value = if self.level == 0 {
                reader.varint()?
            } else {
                reader.u64()?
            };
            if order == Ordering::Greater || !visit(order, value)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Calls `visit` with position, key and value of the entries from about `from` on (never later
    /// than the first entry not below it) until it returns `false`.
    pub(crate) fn scan(
        &self,
        from: &[u8],
        mut visit: impl FnMut(usize, &[u8], u64) -> Decoded<bool>,
    ) -> Decoded<()> {
        if self.count == 0 {
            return Ok(());
        }
        let restart = self.restart_before(from, 0)?;
        let mut reader = self.restart(restart)?;
        let mut key = Vec::with_capacity(KEY_ROOM);
        for index in restart * RESTART..self.count {
            let shared = reader.varint()?;
            if shared > key.len() as u64 {
                return Err(Malformed(format!(
                    "entry {index} shares {shared} bytes of {}",
                    key.len()
                )));
            }
            key.truncate(shared as usize);
            let length = reader.length()?;
            key.extend_from_slice(reader.take(length)?);
            let value = if self.level == 0 {
                reader.varint()?
            } else {
                reader.u64()?
            };
            if !visit(index, &key, value)? {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sorts the keys and makes a page of them; the value of each is 1,000 times its place.
    fn page_of(keys: &mut [String], level: u32) -> Vec<u8> {
        keys.sort();
        let mut builder = PageBuilder::default();
        for (index, key) in keys.iter().enumerate() {
            assert!(builder.push(key.as_bytes(), index as u64 * 1000, level));
        }
        builder.finish(level)
    }

    proptest! {
        /// Goal: what was pushed is found from any key on.
        #[test]
        fn entries_come_back(mut keys in proptest::collection::vec("[a-c]{0,6}", 1..200), from in "[a-c]{0,6}", level in 0u32..2) {
            let bytes = page_of(&mut keys, level);
            let page = IndexPage::read(&bytes, level).unwrap();
            let mut found = Vec::new();
            page.scan(from.as_bytes(), |index, key, value| {
                assert_eq!((keys[index].as_bytes(), value), (key, index as u64 * 1000));
                if key >= from.as_bytes() {
                    found.push(index);
                }
                Ok(true)
            }).unwrap();
            let expected: Vec<usize> = (0..keys.len()).filter(|index| keys[*index] >= from).collect();
            prop_assert_eq!(found, expected);
        }

        /// Goal: a search finds what comparing every key finds, for keys that are there and for
        /// others.
        #[test]
        fn a_search_compares_as_keys_do(mut keys in proptest::collection::vec("[a-c]{0,6}", 1..200), key in "[a-c]{0,6}", level in 0u32..2) {
            let bytes = page_of(&mut keys, level);
            let page = IndexPage::read(&bytes, level).unwrap();
            let (mut found, mut below) = (Vec::new(), None);
            page.search(key.as_bytes(), |order, value| {
                match order {
                    Ordering::Less => below = Some(value),
                    _ => found.push(value),
                }
                Ok(true)
            }).unwrap();
            let numbered = || (0u64..).map(|n| n * 1000).zip(&keys);
            let expected: Vec<u64> = numbered().filter(|(_, k)| **k == key).map(|(n, _)| n).collect();
            prop_assert_eq!(found, expected);
            let last_below = numbered().filter(|(_, k)| **k < key).map(|(n, _)| n).last();
            prop_assert_eq!(below, last_below);
        }

        /// Goal: arbitrary bytes fail or decode, never panic.
        #[test]
        fn arbitrary_bytes_do_not_panic(mut bytes: Vec<u8>, count in 0u8..40) {
            if bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&[0, 0, 0, 0, count, 0, 0, 0]);
            }
            if let Ok(page) = IndexPage::read(&bytes, 0) {
                let _ = page.scan(b"abc", |_, _, _| Ok(true));
                let _ = page.search(b"abc", |_, _| Ok(true));
            }
        }
    }
}
