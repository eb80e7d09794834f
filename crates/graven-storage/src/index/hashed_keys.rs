//! The keys of an index's tree in a hash table.
//!
//! # How it works
//! A caller that looks up about as many keys as the tree has reads the tree once instead, and then
//! finds a key in one step. A tree is never changed in place, so a table is right for as long as
//! the index has the same root; what was changed since is not in it, as it is not in the tree.
//!
//! # Invariants
//! * IX-1: a table answers only for the root that it was made of.
//!
//! # Costs
//! At most [`HashedKeys::bytes_to_make`] while it is made, a pass over the tree; less afterwards. A
//! look-up hashes the key and compares it with one or two others.

use super::Index;
use super::key::KEY_BYTES_MAX;
use super::page::IndexPage;
use crate::Result;
use crate::pages::Pages;
use foldhash::fast::FixedState;
use graven_pagecache::{PageKind, PageRef};
use std::hash::BuildHasher;
use std::ops::Range;

/// Bytes that keys may take on average.
const KEY_ROOM: u64 = 64;
/// Bytes of the slots of a key, at most.
const SLOT_BYTES: u64 = 4 * size_of::<u32>() as u64;
/// A slot without a key.
const EMPTY: u32 = u32::MAX;

/// Where a key begins.
#[derive(Clone, Copy, Debug)]
struct Start {
    byte: u32,
    id: u32,
}

/// See the file header.
#[derive(Debug)]
pub struct HashedKeys {
    root: Option<PageRef>,
    bytes: Vec<u8>,
    ids: Vec<u64>,
    /// Where each key begins, and where the last one ends.
    starts: Vec<Start>,
    /// Numbers of keys by their hashes; twice as many as there are keys.
    slots: Vec<u32>,
}

fn hash(key: &[u8]) -> usize {
    FixedState::default().hash_one(key) as usize
}

impl HashedKeys {
    /// How many bytes it takes at most to make the table of an index.
    #[must_use]
    pub fn bytes_to_make(index: &Index) -> u64 {
        let entry = KEY_ROOM + SLOT_BYTES + (size_of::<u64>() + size_of::<Start>()) as u64;
        let entries = index.inner.description.entries.saturating_add(1);
        entries.saturating_mul(entry)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.ids.capacity() * size_of::<u64>()
            + self.starts.capacity() * size_of::<Start>()
            + self.slots.capacity() * size_of::<u32>()
    }

    /// Whether it says what the tree of this index does.
    pub(super) fn is_of(&self, index: &Index) -> bool {
        self.root == index.inner.description.root
    }

    /// What the tree has under each of the keys, which are not cut: the bytes of all, and where
    /// each begins and ends.
    ///
    /// Slots and keys lie anywhere in memory. The first ones of many keys are read one after the
    /// other before any is compared: nothing has to be guessed in between, so the processor waits
    /// for several at once.
    pub(super) fn get_each<'a>(
        &'a self,
        bytes: &'a [u8],
        keys: &'a [Range<usize>],
    ) -> impl Iterator<Item = &'a [u64]> {
        let mask = self.slots.len() - 1;
        let slots = keys.iter().map(|key| hash(&bytes[key.clone()]) & mask);
        let numbers: Vec<(usize, u32)> = slots.map(|slot| (slot, self.slots[slot])).collect();
        let firsts: Vec<Range<usize>> = (numbers.iter())
            .map(|(_, number)| match *number {
                EMPTY => 0..0,
                number => self.place(number),
            })
            .collect();
        let found = keys.iter().zip(numbers).zip(firsts);
        found.map(move |((key, (slot, number)), first)| {
            let key = &bytes[key.clone()];
            if number != EMPTY && self.bytes[first] == *key {
                return self.ids_of(number);
            }
            self.search(key, slot)
        })
    }

    /// What the tree has under a key of which the search begins at `slot`.
    fn search(&self, key: &[u8], mut slot: usize) -> &[u64] {
        loop {
            match self.slots[slot] {
                EMPTY => return &[],
                number if self.bytes[self.place(number)] == *key => return self.ids_of(number),
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    fn ids_of(&self, number: u32) -> &[u64] {
        let number = number as usize;
        &self.ids[self.starts[number].id as usize..self.starts[number + 1].id as usize]
    }

    /// Where the bytes of a key lie.
    fn place(&self, number: u32) -> Range<usize> {
        let number = number as usize;
        self.starts[number].byte as usize..self.starts[number + 1].byte as usize
    }

    /// Enters an entry; keys ascend. `false` where there is no room for it.
    fn push(&mut self, key: &[u8], id: u64) -> bool {
        let known = self.starts.len().checked_sub(1);
        let same = known.is_some_and(|last| self.bytes[self.starts[last].byte as usize..] == *key);
        if !same {
            let (byte, at) = (
                u32::try_from(self.bytes.len()),
                u32::try_from(self.ids.len()),
            );
            let (Ok(byte), Ok(id)) = (byte, at) else {
                return false;
            };
            if self.bytes.len() + key.len() > self.bytes.capacity() {
                return false;
            }
            self.starts.push(Start { byte, id });
            self.bytes.extend_from_slice(key);
        }
        let room = self.ids.len() < self.ids.capacity();
        if room {
            self.ids.push(id);
        }
        room
    }

    /// Ends the last key and puts all of them into slots; `None` where they are too many.
    fn finish(mut self) -> Option<HashedKeys> {
        let (byte, id) = (
            self.bytes.len().try_into().ok()?,
            self.ids.len().try_into().ok()?,
        );
        let keys = self.starts.len();
        self.starts.push(Start { byte, id });
        let slots = (2 * keys).next_power_of_two().max(2);
        self.bytes.shrink_to_fit();
        self.slots = vec![EMPTY; slots];
        for number in 0..u32::try_from(keys).ok()? {
            let mut slot = hash(&self.bytes[self.place(number)]) & (slots - 1);
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = number;
        }
        Some(self)
    }
}

impl Index {
    /// The keys of the tree for many look-ups; `None` where they are too many, or too long.
    ///
    /// # Errors
    /// As [`Index::seek`].
    pub fn hashed_keys(&self) -> Result<Option<HashedKeys>> {
        let description = &self.inner.description;
        let entries = usize::try_from(description.entries).unwrap_or(0);
        let mut table = HashedKeys {
            root: description.root,
            bytes: Vec::with_capacity(entries * KEY_ROOM as usize),
            ids: Vec::with_capacity(entries),
            starts: Vec::with_capacity(entries + 1),
            slots: Vec::new(),
        };
        let whole = match description.root {
            Some(root) => self.enter(root, description.height, &mut table)?,
            None => true,
        };
        Ok(whole.then_some(table).and_then(HashedKeys::finish))
    }

    /// Enters what lies below a page; whether there was room.
    fn enter(&self, page: PageRef, level: u32, table: &mut HashedKeys) -> Result<bool> {
        let pages = &self.inner.pages;
        let kind = match level {
            0 => PageKind::IndexLeaf,
            _ => PageKind::IndexInner,
        };
        let (mut children, mut whole) = (Vec::new(), true);
        {
            let pin = pages.pin(page, kind)?;
            let read = IndexPage::read(&pin, level).and_then(|it| {
                it.scan(&[], |_, key, value| {
                    match level {
                        // Cut keys are not looked up here.
                        0 if key.len() >= KEY_BYTES_MAX => {}
                        0 => whole = table.push(key, value),
                        _ => children.push(Pages::reference(value)?),
                    }
                    Ok(whole)
                })
            });
            pages.checked(page, kind, read)?;
        }
        for child in children {
            if !self.enter(child, level - 1, table)? {
                return Ok(false);
            }
        }
        Ok(whole)
    }
}
