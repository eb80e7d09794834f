//! Building the B+tree of an index from left to right.
//!
//! # How it works
//! One page per level is filled; a full one is written and its first key, cut to what tells it from
//! the key before, goes to the level above. A checkpoint hands over leaves that it does not change
//! as they are.

use super::page::PageBuilder;
use crate::Result;
use crate::overflow_pages::Footprint;
use crate::page_output::PageOutput;
use graven_pagecache::{PageKind, PageRef};

#[derive(Debug, Default)]
struct Level {
    page: PageBuilder,
    /// Key of the page's first entry as the level above will see it.
    first: Vec<u8>,
}

/// A tree while it is built.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    levels: Vec<Level>,
    footprint: Footprint,
    leaves: u64,
}

impl Default for TreeBuilder {
    fn default() -> Self {
        TreeBuilder {
            levels: vec![Level::default()],
            footprint: Footprint::default(),
            leaves: 0,
        }
    }
}

/// A finished tree.
pub(crate) struct BuiltTree {
    pub(crate) root: Option<PageRef>,
    pub(crate) height: u32,
    /// Of the pages written.
    pub(crate) footprint: Footprint,
    /// Leaves in all.
    pub(crate) leaves: u64,
}

impl TreeBuilder {
    /// Adds an entry behind all others.
    pub(crate) fn push(&mut self, output: &dyn PageOutput, key: &[u8], value: u64) -> Result<()> {
        self.add(output, 0, key, value)
    }

    /// Adds a leaf behind all others as it is; `separator` is what the level above had for it.
    pub(crate) fn keep(
        &mut self,
        output: &dyn PageOutput,
        separator: &[u8],
        leaf: PageRef,
    ) -> Result<()> {
        self.end_leaf(output)?;
        self.leaves += 1;
        self.add(output, 1, separator, leaf.raw())
    }

    /// Ends the open leaf; the next entry begins one under `separator`.
    pub(crate) fn begin_leaf(&mut self, output: &dyn PageOutput, separator: &[u8]) -> Result<()> {
        self.end_leaf(output)?;
        self.levels[0].first = separator.to_vec();
        Ok(())
    }

    /// Bytes of the open leaf.
    pub(crate) fn open_bytes(&self) -> usize {
        self.levels[0].page.bytes()
    }

    fn end_leaf(&mut self, output: &dyn PageOutput) -> Result<()> {
        if !self.levels[0].page.is_empty() {
            self.flush(output, 0)?;
        }
        Ok(())
    }

    fn add(&mut self, output: &dyn PageOutput, level: usize, key: &[u8], value: u64) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(Level::default());
        }
        if !self.levels[level].page.push(key, value, level as u32) {
            let before = self.levels[level].page.last_key();
            let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
            let separator = key[..key.len().min(shared + 1)].to_vec();
            self.flush(output, level)?;
            self.levels[level].first = if level == 0 { separator } else { key.to_vec() };
            let fits = self.levels[level].page.push(key, value, level as u32);
            assert!(
                fits,
                "an empty index page takes a key of {} bytes",
                key.len()
            );
        }
        Ok(())
    }

    /// Writes the page of `level` and tells the level above.
    fn flush(&mut self, output: &dyn PageOutput, level: usize) -> Result<()> {
        let page = self.write(output, level)?;
        let first = std::mem::take(&mut self.levels[level].first);
        self.add(output, level + 1, &first, page.raw())
    }

    fn write(&mut self, output: &dyn PageOutput, level: usize) -> Result<PageRef> {
        let payload = self.levels[level].page.finish(level as u32);
        let kind = if level == 0 {
            PageKind::IndexLeaf
        } else {
            PageKind::IndexInner
        };
        let page = output.append(kind, &payload)?;
        self.footprint.add(page);
        self.leaves += u64::from(level == 0);
        Ok(page)
    }

    /// Writes what is left.
    pub(crate) fn finish(mut self, output: &dyn PageOutput) -> Result<BuiltTree> {
        let mut level = 0;
        while level + 1 < self.levels.len() {
            if !self.levels[level].page.is_empty() {
                self.flush(output, level)?;
            }
            level += 1;
        }
        let (mut root, mut height) = (None, 0);
        if !self.levels[level].page.is_empty() {
            root = Some(self.write(output, level)?);
            height = level as u32;
        }
        Ok(BuiltTree {
            root,
            height,
            footprint: self.footprint,
            leaves: self.leaves,
        })
    }
}
