//! Builds an index bottom-up from sorted entries: each page is written once, when it is full.

use super::node::{self, MAX_KEY_BYTES, NewEntry};
use crate::chain::Footprint;
use crate::ids::NodeId;
use crate::sink::PageSink;
use crate::{Error, Result};
use graven_pagecache::{PageKind, PageRef, SizeClass};

/// Pages are filled up to 8 KiB.
const PAYLOAD_BYTES: usize = PAGE_CLASS.payload_bytes();
const PAGE_CLASS: SizeClass = SizeClass::new(1).expect("8 KiB is a size class");

const _: () = assert!(
    4 * (MAX_KEY_BYTES + 32) < PAYLOAD_BYTES + 4 * 64,
    "a page holds several keys"
);

/// What [`TreeWriter::push`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The key was new.
    New,
    /// The key was pushed before, last with this node; the entry was added.
    Repeated(NodeId),
    /// The entry is not behind the last one; it was not added.
    OutOfOrder,
}

/// A finished tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuiltTree {
    /// Root page; none without entries.
    pub(crate) root: Option<PageRef>,
    /// Levels above the leaves.
    pub(crate) height: u32,
    /// Leaf pages.
    pub(crate) leaves: u64,
    /// Entries.
    pub(crate) entries: u64,
    /// Distinct keys.
    pub(crate) distinct: u64,
    /// All pages.
    pub(crate) footprint: Footprint,
}

/// The page of one level that is being filled.
#[derive(Debug, Default)]
struct Level {
    entries: Vec<NewEntry>,
    entry_bytes: usize,
}

/// Writes a tree; memory for one page a level.
#[derive(Debug)]
pub(crate) struct TreeWriter {
    levels: Vec<Level>,
    tree: BuiltTree,
}

impl TreeWriter {
    pub(crate) fn new() -> TreeWriter {
        let tree = BuiltTree {
            root: None,
            height: 0,
            leaves: 0,
            entries: 0,
            distinct: 0,
            footprint: Footprint::default(),
        };
        TreeWriter {
            levels: vec![Level::default()],
            tree,
        }
    }

    /// Adds an entry behind all others.
    pub(crate) fn push(&mut self, sink: &PageSink, key: Vec<u8>, node: NodeId) -> Result<Pushed> {
        if key.len() > MAX_KEY_BYTES {
            return Err(Error::Limit {
                what: "length of an index key in bytes",
                value: key.len() as u64,
                limit: MAX_KEY_BYTES as u64,
            });
        }
        let pushed = match self.levels[0].entries.last() {
            Some(last) if (&last.key, last.node) >= (&key, node.0) => {
                return Ok(Pushed::OutOfOrder);
            }
            Some(last) if last.key == key => Pushed::Repeated(NodeId(last.node)),
            _ => Pushed::New,
        };
        self.tree.entries += 1;
        self.tree.distinct += u64::from(pushed == Pushed::New);
        self.add(
            sink,
            0,
            NewEntry {
                key,
                node: node.0,
                child: None,
            },
        )?;
        Ok(pushed)
    }

    /// Adds `entry` to `level`, writing the page there first if it is full. The page being filled always keeps
    /// its last entry, so `push` can compare with it.
    fn add(&mut self, sink: &PageSink, level: usize, entry: NewEntry) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(Level::default());
        }
        let filling = &self.levels[level];
        if node::payload_bound(&filling.entries, filling.entry_bytes, &entry) > PAYLOAD_BYTES {
            self.write_page(sink, level)?;
        }
        let filling = &mut self.levels[level];
        filling.entry_bytes += node::entry_bytes(&entry);
        filling.entries.push(entry);
        Ok(())
    }

    /// Writes the page of `level` and enters it in the level above.
    fn write_page(&mut self, sink: &PageSink, level: usize) -> Result<()> {
        let page = self.emit(sink, level)?;
        let Level { entries, .. } = std::mem::take(&mut self.levels[level]);
        let first = entries.into_iter().next().expect("a full page has entries");
        self.add(
            sink,
            level + 1,
            NewEntry {
                child: Some(page),
                ..first
            },
        )
    }

    fn emit(&mut self, sink: &PageSink, level: usize) -> Result<PageRef> {
        let kind = if level == 0 {
            PageKind::IndexLeaf
        } else {
            PageKind::IndexInner
        };
        let page = sink.append(
            kind,
            &node::encode(level as u32, &self.levels[level].entries),
        )?;
        self.tree.footprint.add(page);
        self.tree.leaves += u64::from(level == 0);
        Ok(page)
    }

    /// Writes what is still open; the root is the one page of the highest level.
    pub(crate) fn finish(mut self, sink: &PageSink) -> Result<BuiltTree> {
        let mut level = 0;
        while level + 1 < self.levels.len() {
            self.write_page(sink, level)?;
            level += 1;
        }
        if self.tree.entries > 0 {
            self.tree.root = Some(self.emit(sink, level)?);
            self.tree.height = level as u32;
        }
        Ok(self.tree)
    }
}
