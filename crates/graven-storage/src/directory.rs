//! The segment directory: a B+tree from (store, first id) to the page of the segment.
//!
//! # How it works
//! Entries are fixed-width and sorted, so a page is searched by bisection. The tree is built
//! bottom-up by [`DirectoryBuilder`]; [`Directory::scan`] reads all entries of one store in order,
//! [`Directory::floor`] finds the segment that may hold an id together with the first id of the one
//! behind it.
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
//! `extra` is, in a forward adjacency, the first relationship id of the bulk load in this segment
//! or behind it (all bits set if there is none), else the entries of the segment.

use crate::Result;
use crate::bytes::{Decoded, Malformed, Reader};
use crate::ids::StoreId;
use crate::overflow_pages::Footprint;
use crate::page_output::PageOutput;
use crate::pages::Pages;
use graven_pagecache::{PageKind, PageRef, SizeClass};

const KIND: PageKind = PageKind::SegmentDirectory;
const HEAD_BYTES: usize = 8;
const LEAF_BYTES: usize = 32;
const INNER_BYTES: usize = 24;
const PAYLOAD_BYTES: usize = SizeClass::MIN.payload_bytes();
/// A tree of this height would need more pages than a file can have.
const LEVEL_MAX: u32 = 8;

/// A segment as the directory knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentEntry {
    pub(crate) first: u64,
    pub(crate) page: PageRef,
    pub(crate) extra: u64,
}

type Key = (u32, u64);

/// Writes a directory, entries ascending by store and first id.
pub(crate) struct DirectoryBuilder<'o> {
    output: &'o dyn PageOutput,
    leaf: Vec<u8>,
    first: Key,
    written: Vec<(Key, PageRef)>,
}

impl<'o> DirectoryBuilder<'o> {
    pub(crate) fn new(output: &'o dyn PageOutput) -> DirectoryBuilder<'o> {
        DirectoryBuilder {
            output,
            leaf: Vec::new(),
            first: (0, 0),
            written: Vec::new(),
        }
    }

    pub(crate) fn push(
        &mut self,
        store: StoreId,
        entry: SegmentEntry,
        footprint: &mut Footprint,
    ) -> Result<()> {
        if self.leaf.is_empty() {
            self.leaf.resize(HEAD_BYTES, 0);
            self.first = (store.0, entry.first);
        }
        self.leaf.extend_from_slice(&store.0.to_le_bytes());
        self.leaf.extend_from_slice(&[0; 4]);
        for word in [entry.first, entry.page.raw(), entry.extra] {
            self.leaf.extend_from_slice(&word.to_le_bytes());
        }
        if self.leaf.len() + LEAF_BYTES > PAYLOAD_BYTES {
            self.finish_leaf(footprint)?;
        }
        Ok(())
    }

    fn finish_leaf(&mut self, footprint: &mut Footprint) -> Result<()> {
        if !self.leaf.is_empty() {
            let mut payload = std::mem::take(&mut self.leaf);
            let page = write_page(self.output, 0, LEAF_BYTES, &mut payload, footprint)?;
            self.written.push((self.first, page));
        }
        Ok(())
    }

    /// Writes what is left and the levels above; the root, `None` without entries.
    pub(crate) fn finish(mut self, footprint: &mut Footprint) -> Result<Option<PageRef>> {
        self.finish_leaf(footprint)?;
        let mut nodes = self.written;
        let mut level = 1;
        while nodes.len() > 1 {
            let mut above = Vec::new();
            for children in nodes.chunks((PAYLOAD_BYTES - HEAD_BYTES) / INNER_BYTES) {
                let mut payload = vec![0; HEAD_BYTES];
                for ((store, first), page) in children {
                    payload.extend_from_slice(&store.to_le_bytes());
                    payload.extend_from_slice(&[0; 4]);
                    payload.extend_from_slice(&first.to_le_bytes());
                    payload.extend_from_slice(&page.raw().to_le_bytes());
                }
                let page = write_page(self.output, level, INNER_BYTES, &mut payload, footprint)?;
                above.push((children[0].0, page));
            }
            nodes = above;
            level += 1;
        }
        Ok(nodes.first().map(|(_, page)| *page))
    }
}

/// Writes a page whose entries of `width` bytes stand behind room for its head.
fn write_page(
    output: &dyn PageOutput,
    level: u32,
    width: usize,
    payload: &mut [u8],
    footprint: &mut Footprint,
) -> Result<PageRef> {
    let count = ((payload.len() - HEAD_BYTES) / width) as u32;
    payload[..4].copy_from_slice(&level.to_le_bytes());
    payload[4..8].copy_from_slice(&count.to_le_bytes());
    let page = output.append(KIND, payload)?;
    footprint.add(page);
    Ok(page)
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
        if level > LEVEL_MAX || level_expected.is_some_and(|expected| expected != level) {
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

    /// Calls `visit_page` with every page of the tree and `visit` with every entry in order; checks
    /// the order.
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
        // A walk over all stores visits each page once: a scan.
        let pin = match only {
            Some(_) => pages.pin(page, KIND)?,
            None => pages.pin_scanned(page, KIND)?,
        };
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

    /// The last segment of `store` whose first id is at most `id`, and the first id of the segment
    /// behind it.
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
