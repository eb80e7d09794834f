//! One page of an index: entries sorted by key, then node, with their common key prefix stored once.
//!
//! # On disk
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | level, 0 for leaves |
//! | 1 | 1 | zero |
//! | 2 | 2 | entries |
//! | 4 | 2 | bytes of the common prefix |
//! | 6 | 2 each | offset of each entry in the payload |
//! | | | prefix, then entries: varint bytes of the key's rest, that rest, varint node; inner: 8 bytes page reference |

use crate::bytes::{Decoded, Malformed, Reader, put_varint, varint_bytes};
use graven_pagecache::PageRef;
use std::cmp::Ordering;

/// Bytes of the largest key an index takes.
pub(crate) const MAX_KEY_BYTES: usize = 2000;

const HEAD_BYTES: usize = 6;
const SLOT_BYTES: usize = 2;

/// Which side of the entries of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Before the first of them.
    Before,
    /// Behind the last of them.
    After,
}

/// An entry to write: what a level above it needs as well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NewEntry {
    pub(super) key: Vec<u8>,
    pub(super) node: u64,
    /// Page below, for inner pages.
    pub(super) child: Option<PageRef>,
}

impl NewEntry {
    /// Bytes in the page, prefix not taken off.
    fn bytes(&self) -> usize {
        let child = if self.child.is_some() { 8 } else { 0 };
        SLOT_BYTES
            + varint_bytes(self.key.len() as u64)
            + self.key.len()
            + varint_bytes(self.node)
            + child
    }
}

/// Bytes that the keys of `a` and `b` share.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// An upper bound of the payload that `entries` (sorted) and then `next` would take.
pub(super) fn payload_bound(entries: &[NewEntry], entry_bytes: usize, next: &NewEntry) -> usize {
    let first = entries.first().unwrap_or(next);
    let prefix = common_prefix(&first.key, &next.key);
    HEAD_BYTES + entry_bytes + next.bytes() + prefix - (entries.len() + 1) * prefix
}

/// Bytes `entry` adds to the `entry_bytes` of [`payload_bound`].
pub(super) fn entry_bytes(entry: &NewEntry) -> usize {
    entry.bytes()
}

/// The payload of a page with `entries`, sorted and at least one.
pub(super) fn encode(level: u32, entries: &[NewEntry]) -> Vec<u8> {
    let prefix = common_prefix(&entries[0].key, &entries[entries.len() - 1].key);
    let mut out = vec![level as u8, 0];
    out.extend((entries.len() as u16).to_le_bytes());
    out.extend((prefix as u16).to_le_bytes());
    let slots = out.len();
    out.resize(slots + entries.len() * SLOT_BYTES, 0);
    out.extend_from_slice(&entries[0].key[..prefix]);
    for (at, entry) in entries.iter().enumerate() {
        let offset = (out.len() as u16).to_le_bytes();
        out[slots + at * SLOT_BYTES..][..SLOT_BYTES].copy_from_slice(&offset);
        let rest = &entry.key[prefix..];
        put_varint(&mut out, rest.len() as u64);
        out.extend_from_slice(rest);
        put_varint(&mut out, entry.node);
        if let Some(child) = entry.child {
            out.extend(child.raw().to_le_bytes());
        }
    }
    out
}

/// An entry as read: the key's rest behind the page's prefix.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryView<'a> {
    pub(super) rest: &'a [u8],
    pub(super) node: u64,
    /// Page below; meaningless in leaves.
    pub(super) child: PageRef,
}

/// A parsed page.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodePage<'a> {
    payload: &'a [u8],
    prefix: &'a [u8],
    level: u32,
    len: usize,
}

impl<'a> NodePage<'a> {
    /// Parses the payload of a page that must be at `level` (ST-IX-2).
    pub(super) fn parse(payload: &'a [u8], level: u32) -> Decoded<NodePage<'a>> {
        let mut reader = Reader::new(payload);
        let (found, zero) = (reader.u8()?, reader.u8()?);
        if u32::from(found) != level || zero != 0 {
            return Err(Malformed::new(format!(
                "index level {found} where {level} was expected"
            )));
        }
        let (len, prefix) = (usize::from(reader.u16()?), usize::from(reader.u16()?));
        if len == 0 {
            return Err(Malformed::new("index page without entries"));
        }
        reader.take(len * SLOT_BYTES)?;
        Ok(NodePage {
            payload,
            prefix: reader.take(prefix)?,
            level,
            len,
        })
    }

    /// Entries; at least one.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn entry(&self, position: usize) -> Decoded<EntryView<'a>> {
        let mut slot = Reader::starting_at(self.payload, HEAD_BYTES + position * SLOT_BYTES);
        let mut reader = Reader::starting_at(self.payload, usize::from(slot.u16()?));
        let rest_bytes = reader.length()?;
        let (rest, node) = (reader.take(rest_bytes)?, reader.varint()?);
        let child = if self.level == 0 { 0 } else { reader.u64()? };
        let child = PageRef::from_raw(child)
            .ok_or_else(|| Malformed::new(format!("index page reference {child:#018x}")))?;
        Ok(EntryView { rest, node, child })
    }

    pub(super) fn full_key(&self, entry: &EntryView<'_>) -> Vec<u8> {
        [self.prefix, entry.rest].concat()
    }

    /// Position of the first entry at or behind the `place` of `key`.
    pub(super) fn lower_bound(&self, key: &[u8], place: Place) -> Decoded<usize> {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            let before = match self.compare(&self.entry(middle)?, key) {
                Ordering::Less => true,
                Ordering::Equal => place == Place::After,
                Ordering::Greater => false,
            };
            if before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn compare(&self, entry: &EntryView<'_>, key: &[u8]) -> Ordering {
        let head = key.len().min(self.prefix.len());
        self.prefix[..head].cmp(&key[..head]).then_with(|| {
            if key.len() < self.prefix.len() {
                return Ordering::Greater;
            }
            entry.rest.cmp(&key[head..])
        })
    }
}
