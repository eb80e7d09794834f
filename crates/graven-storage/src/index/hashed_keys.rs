//! The keys of an index in a hash table.
//!
//! # How it works
//! A caller that looks up about as many keys as the index has reads the index once instead, and
//! then finds a key in one step. The entries of the tree come in order; what was committed since
//! the tree was written is put in order first and merged into them. Neither ever changes: a later
//! commit makes an index of its own. Changes of the own transaction, and those of commits that are
//! not merged yet, are on top and not in the table.
//!
//! # Invariants
//! * IX-1: a table answers only for the tree and the committed changes that it was made of.
//!
//! # Costs
//! At most [`HashedKeys::bytes_to_make`] while it is made, a pass over the tree and the changes;
//! less afterwards. A look-up hashes the key and compares it with one or two others.

use super::key::KEY_BYTES_MAX;
use super::page::IndexPage;
use super::{Index, Inner};
use crate::Result;
use crate::delta::change::{Change, IndexKey};
use crate::delta::immutable_delta::DeltaPart;
use crate::pages::Pages;
use foldhash::fast::FixedState;
use graven_pagecache::{PageKind, PageRef};
use std::hash::BuildHasher;
use std::iter::Peekable;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// Bytes that keys may take on average.
const KEY_ROOM: u64 = 64;
/// Bytes of the slots of a key, at most.
const SLOT_BYTES: u64 = 4 * size_of::<u32>() as u64;
/// Bytes of a changed entry while it waits to be merged, its key aside.
const CHANGE_BYTES: u64 = (size_of::<(IndexKey, Change)>() + 2 * size_of::<usize>()) as u64;
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
    of: Arc<Inner>,
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
        let entries = index.entries_max().saturating_add(1);
        let changes = index
            .inner
            .changed()
            .saturating_mul(CHANGE_BYTES + KEY_ROOM);
        entries.saturating_mul(entry).saturating_add(changes)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.capacity()
            + self.ids.capacity() * size_of::<u64>()
            + self.starts.capacity() * size_of::<Start>()
            + self.slots.capacity() * size_of::<u32>()
    }

    /// Whether it says what this index does, but for what is on top.
    pub(super) fn is_of(&self, index: &Index) -> bool {
        Arc::ptr_eq(&self.of, &index.inner)
    }

    /// What the index has under each of the keys, which are not cut: the bytes of all, and where
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

    /// What the index has under a key of which the search begins at `slot`.
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

    /// Enters an entry; keys ascend, ids of a key do. `false` where there is no room for it.
    fn push(&mut self, key: &[u8], id: u64) -> bool {
        if key.len() >= KEY_BYTES_MAX {
            // Cut keys are not looked up here.
            return true;
        }
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

impl Inner {
    /// Changed entries.
    fn changed(&self) -> u64 {
        let parts = self.changes.as_deref().unwrap_or_default().iter();
        parts.map(DeltaPart::len).sum()
    }

    /// The newest change of each changed entry, ascending; `None` where the keys are too long.
    fn changes(&self) -> Result<Option<Vec<(IndexKey, Change)>>> {
        let mut changes = Vec::with_capacity(self.changed() as usize);
        let mut room = self.changed() * KEY_ROOM;
        // The newest come first and stay first among equals.
        for part in self.changes.as_deref().unwrap_or_default() {
            let mut whole = true;
            part.visit(Bound::Unbounded, &mut |entry, change| {
                // Those of a spilled layer were decoded for this alone.
                let left = room.checked_sub(entry.0.len() as u64);
                whole = left.is_some();
                room = left.unwrap_or(0);
                changes.push((entry.clone(), *change));
                whole
            })?;
            if !whole {
                return Ok(None);
            }
        }
        changes.sort_by(|(a, _), (b, _)| a.cmp(b));
        changes.dedup_by(|(later, _), (first, _)| later == first);
        Ok(Some(changes))
    }
}

/// A table in the making.
struct Merge {
    table: HashedKeys,
    /// Changes that are still to come, the next one first.
    changes: Peekable<std::vec::IntoIter<(IndexKey, Change)>>,
}

impl Merge {
    /// Enters an entry of the tree, and the changes before it; whether there was room.
    fn entry(&mut self, key: &[u8], id: u64) -> bool {
        self.changes_before(Some((key, id)))
            && match self
                .changes
                .next_if(|((at, of), _)| (&**at, *of) == (key, id))
            {
                Some((_, Change::Removed)) => true,
                _ => self.table.push(key, id),
            }
    }

    /// Enters the changes before an entry, or all that are left; whether there was room.
    fn changes_before(&mut self, entry: Option<(&[u8], u64)>) -> bool {
        let before =
            |((key, id), _): &(IndexKey, Change)| entry.is_none_or(|entry| (&**key, *id) < entry);
        while let Some(((key, id), change)) = self.changes.next_if(before) {
            if change == Change::Added && !self.table.push(&key, id) {
                return false;
            }
        }
        true
    }
}

impl Index {
    /// Entries of the tree and changes of them: at least as many as there are entries now, but for
    /// what is on top.
    #[must_use]
    pub fn entries_max(&self) -> u64 {
        let inner = &self.inner;
        inner.description.entries.saturating_add(inner.changed())
    }

    /// The keys for many look-ups; `None` where they are too many, or too long.
    ///
    /// # Errors
    /// As [`Index::seek`].
    pub fn hashed_keys(&self) -> Result<Option<HashedKeys>> {
        let description = &self.inner.description;
        let entries = usize::try_from(self.entries_max()).unwrap_or(0);
        let Some(changes) = self.inner.changes()? else {
            return Ok(None);
        };
        let mut merge = Merge {
            table: HashedKeys {
                of: self.inner.clone(),
                bytes: Vec::with_capacity(entries * KEY_ROOM as usize),
                ids: Vec::with_capacity(entries),
                starts: Vec::with_capacity(entries + 1),
                slots: Vec::new(),
            },
            changes: changes.into_iter().peekable(),
        };
        let whole = match description.root {
            Some(root) => self.enter(root, description.height, &mut merge)?,
            None => true,
        };
        let whole = whole && merge.changes_before(None);
        Ok(whole.then_some(merge.table).and_then(HashedKeys::finish))
    }

    /// Enters what lies below a page; whether there was room.
    fn enter(&self, page: PageRef, level: u32, merge: &mut Merge) -> Result<bool> {
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
                        0 => whole = merge.entry(key, value),
                        _ => children.push(Pages::reference(value)?),
                    }
                    Ok(whole)
                })
            });
            pages.checked(page, kind, read)?;
        }
        for child in children {
            if !self.enter(child, level - 1, merge)? {
                return Ok(false);
            }
        }
        Ok(whole)
    }
}
