//! The segment directory: a B+tree from (store, first id) to the page of the segment.
//!
//! # How it works
//! Entries are fixed-width and sorted, so a page is searched by bisection. The tree is built bottom-up by
//! [`write`]; [`Directory::scan`] reads all entries of one store in order, [`Directory::floor`] finds the segment
//! that may hold an id together with the first id of the one behind it.
//!
//! # On disk
//! Page of kind segment directory, 4 KiB; payload:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 4 | level, 0 for leaves |
//! | 4 | 4 | number of entries |
//! | 8 | 32 each | leaf: store (4), zero (4), first id (8), page (8), extra (8) |
//! | 8 | 24 each | inner: store (4), zero (4), first id (8), child page (8) |
//!
//! `extra` is the first relationship id of a forward adjacency segment, else the entries of the segment.

use crate::Result;
use crate::bytes::{Decoded, Malformed, Reader};
use crate::chain::Footprint;
use crate::ids::StoreId;
use crate::pages::Pages;
use crate::sink::PageSink;
use graven_pagecache::{PageKind, PageRef, SizeClass};

const KIND: PageKind = PageKind::SegmentDirectory;
const HEAD_BYTES: usize = 8;
const LEAF_BYTES: usize = 32;
const INNER_BYTES: usize = 24;
const PAYLOAD_BYTES: usize = SizeClass::MIN.payload_bytes();
/// A tree of this height would need more pages than a file can have.
const MAX_LEVEL: u32 = 8;

/// A segment as the directory knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentEntry {
    pub(crate) first: u64,
    pub(crate) page: PageRef,
    pub(crate) extra: u64,
}

type Key = (u32, u64);

/// Writes the directory of `stores` (ascending by id, entries ascending by first id); its root.
pub(crate) fn write(
    sink: &PageSink,
    stores: &[(StoreId, Vec<SegmentEntry>)],
    footprint: &mut Footprint,
) -> Result<Option<PageRef>> {
    let leaves = stores.iter().flat_map(|(store, entries)| {
        entries.iter().map(|entry| {
            let mut bytes = [0; LEAF_BYTES];
            bytes[..4].copy_from_slice(&store.0.to_le_bytes());
            bytes[8..16].copy_from_slice(&entry.first.to_le_bytes());
            bytes[16..24].copy_from_slice(&entry.page.raw().to_le_bytes());
            bytes[24..].copy_from_slice(&entry.extra.to_le_bytes());
            ((store.0, entry.first), bytes)
        })
    });
    let mut nodes = write_level(sink, 0, leaves, footprint)?;
    let mut level = 1;
    while nodes.len() > 1 {
        let entries = nodes.iter().map(|((store, first), page)| {
            let mut bytes = [0; INNER_BYTES];
            bytes[..4].copy_from_slice(&store.to_le_bytes());
            bytes[8..16].copy_from_slice(&first.to_le_bytes());
            bytes[16..].copy_from_slice(&page.raw().to_le_bytes());
            ((*store, *first), bytes)
        });
        nodes = write_level(sink, level, entries, footprint)?;
        level += 1;
    }
    Ok(nodes.first().map(|(_, page)| *page))
}

fn write_level<const N: usize>(
    sink: &PageSink,
    level: u32,
    entries: impl Iterator<Item = (Key, [u8; N])>,
    footprint: &mut Footprint,
) -> Result<Vec<(Key, PageRef)>> {
    let per_page = (PAYLOAD_BYTES - HEAD_BYTES) / N;
    let mut entries = entries.peekable();
    let mut written = Vec::new();
    while let Some((first, _)) = entries.peek() {
        let first = *first;
        let mut payload = vec![0; HEAD_BYTES];
        for (_, bytes) in entries.by_ref().take(per_page) {
            payload.extend_from_slice(&bytes);
        }
        let count = ((payload.len() - HEAD_BYTES) / N) as u32;
        payload[..4].copy_from_slice(&level.to_le_bytes());
        payload[4..8].copy_from_slice(&count.to_le_bytes());
        let page = sink.append(KIND, &payload)?;
        footprint.add(page);
        written.push((first, page));
    }
    Ok(written)
}

/// The directory of one snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory {
    root: Option<PageRef>,
}

/// One page of the directory, its entries checked for room.
struct Node<'a> {
    level: u32,
    count: usize,
    bytes: &'a [u8],
}

impl<'a> Node<'a> {
    fn read(payload: &'a [u8], level_expected: Option<u32>) -> Decoded<Node<'a>> {
        let mut reader = Reader::new(payload);
        let (level, count) = (reader.u32()?, reader.u32()? as usize);
        if level > MAX_LEVEL || level_expected.is_some_and(|expected| expected != level) {
            return Err(Malformed(format!(
                "level is {level}, expected {level_expected:?}"
            )));
        }
        let width = if level == 0 { LEAF_BYTES } else { INNER_BYTES };
        match count
            .checked_mul(width)
            .filter(|bytes| *bytes == reader.remaining())
        {
            Some(_) if count > 0 => Ok(Node {
                level,
                count,
                bytes: &payload[HEAD_BYTES..],
            }),
            _ => Err(Malformed(format!(
                "{count} entries in {} bytes",
                reader.remaining()
            ))),
        }
    }

    fn word(&self, index: usize, offset: usize) -> u64 {
        let width = if self.level == 0 {
            LEAF_BYTES
        } else {
            INNER_BYTES
        };
        let at = index * width + offset;
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    fn key(&self, index: usize) -> Key {
        (self.word(index, 0) as u32, self.word(index, 8))
    }

    fn page(&self, index: usize) -> Decoded<PageRef> {
        Pages::reference(self.word(index, 16))
    }

    fn entry(&self, index: usize) -> Decoded<SegmentEntry> {
        Ok(SegmentEntry {
            first: self.word(index, 8),
            page: self.page(index)?,
            extra: self.word(index, 24),
        })
    }

    /// Entries whose key is at most `key`.
    fn up_to(&self, key: Key) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.key(middle) <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl Directory {
    pub(crate) fn new(root: Option<PageRef>) -> Directory {
        Directory { root }
    }

    /// Calls `visit` with all segments of `store` in order until it has seen them.
    pub(crate) fn scan(
        &self,
        pages: &Pages,
        store: StoreId,
        visit: &mut impl FnMut(SegmentEntry) -> Result<()>,
    ) -> Result<()> {
        match self.root {
            None => Ok(()),
            Some(root) => self.walk(
                pages,
                root,
                None,
                &mut |_| (),
                &mut |id, entry| {
                    if id == store { visit(entry) } else { Ok(()) }
                },
                Some(store.0),
            ),
        }
    }

    /// Calls `visit_page` with every page of the tree and `visit` with every entry in order; checks the order.
    pub(crate) fn scan_all(
        &self,
        pages: &Pages,
        visit_page: &mut impl FnMut(PageRef),
        visit: &mut impl FnMut(StoreId, SegmentEntry) -> Result<()>,
    ) -> Result<()> {
        let mut last: Option<Key> = None;
        let Some(root) = self.root else { return Ok(()) };
        self.walk(
            pages,
            root,
            None,
            visit_page,
            &mut |store, entry| {
                let key = (store.0, entry.first);
                if last.is_some_and(|last| last >= key) {
                    let what = format!("entry {key:?} after {last:?}");
                    return pages.checked(root, KIND, Err(Malformed(what)));
                }
                last = Some(key);
                visit(store, entry)
            },
            None,
        )
    }

    /// Depth-first walk; with `only`, subtrees that cannot hold that store are skipped.
    fn walk(
        &self,
        pages: &Pages,
        page: PageRef,
        level: Option<u32>,
        visit_page: &mut impl FnMut(PageRef),
        visit: &mut impl FnMut(StoreId, SegmentEntry) -> Result<()>,
        only: Option<u32>,
    ) -> Result<()> {
        visit_page(page);
        let pin = pages.pin(page, KIND)?;
        let node = pages.checked(page, KIND, Node::read(&pin, level))?;
        let from = only.map_or(0, |store| node.up_to((store, 0)).saturating_sub(1));
        for index in from..node.count {
            let (store, _) = node.key(index);
            if only.is_some_and(|only| store > only) {
                break;
            }
            if node.level == 0 {
                visit(
                    StoreId(store),
                    pages.checked(page, KIND, node.entry(index))?,
                )?;
            } else {
                let child = pages.checked(page, KIND, node.page(index))?;
                self.walk(pages, child, Some(node.level - 1), visit_page, visit, only)?;
            }
        }
        Ok(())
    }

    /// The last segment of `store` whose first id is at most `id`, and the first id of the segment behind it.
    pub(crate) fn floor(
        &self,
        pages: &Pages,
        store: StoreId,
        id: u64,
    ) -> Result<(Option<SegmentEntry>, u64)> {
        let mut end = u64::MAX;
        let Some(mut page) = self.root else {
            return Ok((None, end));
        };
        let mut level = None;
        loop {
            let pin = pages.pin(page, KIND)?;
            let node = pages.checked(page, KIND, Node::read(&pin, level))?;
            let behind = node.up_to((store.0, id));
            if behind < node.count {
                let (next_store, next) = node.key(behind);
                end = if next_store == store.0 {
                    end.min(next)
                } else {
                    end
                };
            }
            let Some(index) = behind.checked_sub(1) else {
                return Ok((None, end));
            };
            if node.level == 0 {
                let entry = pages.checked(page, KIND, node.entry(index))?;
                return Ok(((node.key(index).0 == store.0).then_some(entry), end));
            }
            let child = pages.checked(page, KIND, node.page(index))?;
            level = Some(node.level - 1);
            page = child;
        }
    }
}
