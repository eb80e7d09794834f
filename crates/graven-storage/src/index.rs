//! Indexes: B+trees from key bytes to nodes, built bottom-up and immutable.
//!
//! # How it works
//! An entry is a key ([`crate::key_bytes`]) and a node; entries ascend by key, then node, so the nodes of
//! one key follow each other, in ascending order. A look-up descends to the leaf where the key would start and
//! reads on. There are no links between leaves: a range remembers the path it came down.
//!
//! # Invariants
//! * ST-IX-1 Entries ascend strictly within a page and across pages; an inner entry is the first entry of
//!   the page below it.
//! * ST-IX-2 Levels fall by one at each step down to 0: a damaged reference cannot loop.
//!
//! # Concurrency
//! Pages are immutable; any number of readers. A range holds no pin between two calls.
//!
//! # Costs
//! One page a level for a look-up, about 500 entries a leaf for integer keys.

mod node;
mod tree_writer;

use crate::Result;
use crate::bytes::{Decoded, Malformed};
use crate::catalog::IndexDescription;
use crate::ids::NodeId;
use crate::key::{class_range, key_bytes};
use crate::pages::Pages;
use crate::value::PropertyValue;
use graven_pagecache::{PageKind, PagePin, PageRef};
use node::{NodePage, Place};
use std::ops::Bound;
use std::sync::Arc;

pub(crate) use tree_writer::{BuiltTree, Pushed, TreeWriter};

/// An index over one (label, key). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Index {
    pages: Arc<Pages>,
    description: Arc<IndexDescription>,
}

impl Index {
    pub(crate) fn new(pages: Arc<Pages>, description: Arc<IndexDescription>) -> Index {
        Index { pages, description }
    }

    /// What the catalogue says of it.
    #[must_use]
    pub fn description(&self) -> &IndexDescription {
        &self.description
    }

    /// Nodes whose value equals `value` in Cypher's sense (`1 = 1.0`), ascending.
    ///
    /// # Errors
    /// Pages that cannot be read or are damaged.
    pub fn seek(&self, value: &PropertyValue) -> Result<Vec<NodeId>> {
        let Some(key) = key_bytes(value) else {
            return Ok(Vec::new());
        };
        self.scan((key.clone(), Place::Before), Some((key, Place::After)))?
            .collect()
    }

    /// Nodes whose value lies between the bounds, in key order. Values of another type class than the bounds'
    /// are not in the range; two bounds of different classes, or a bound nothing compares with, give nothing.
    ///
    /// # Errors
    /// Pages that cannot be read or are damaged.
    pub fn range(
        &self,
        low: Bound<&PropertyValue>,
        high: Bound<&PropertyValue>,
    ) -> Result<IndexRange> {
        match key_bounds(low, high) {
            Some((low, high)) => self.scan(low, high),
            None => Ok(IndexRange::empty(self)),
        }
    }

    /// Entries from `low` on up to `high`; all from `low` on without one.
    fn scan(&self, low: KeyBound, high: Option<KeyBound>) -> Result<IndexRange> {
        let mut range = IndexRange {
            high,
            ..IndexRange::empty(self)
        };
        if let Some(root) = self.description.root {
            range.descend(root, self.description.height, Some(&low))?;
        }
        Ok(range)
    }

    /// Walks the whole tree in order, verifies ST-IX-1 and ST-IX-2 and calls `visit` with every entry, and
    /// `page` with every page; returns the entries met.
    pub(crate) fn walk(
        &self,
        mut page: impl FnMut(PageRef),
        mut visit: impl FnMut(&[u8], NodeId) -> Result<()>,
    ) -> Result<u64> {
        let mut last: Option<(Vec<u8>, u64)> = None;
        let mut entries = 0;
        let mut open = Vec::from_iter(
            self.description
                .root
                .map(|root| (root, self.description.height, None)),
        );
        while let Some((reference, level, first)) = open.pop() {
            page(reference);
            let (kind, pin) = pin_level(&self.pages, reference, level)?;
            let node = self
                .pages
                .checked(reference, kind, NodePage::parse(&pin, level))?;
            let start = open.len();
            for position in 0..node.len() {
                let entry = self.pages.checked(reference, kind, node.entry(position))?;
                let here = (node.full_key(&entry), entry.node);
                let expected = if position == 0 { first.as_ref() } else { None };
                if expected.is_some_and(|expected| *expected != here) {
                    return self.disorder(
                        reference,
                        kind,
                        "a page does not begin where its parent says",
                    );
                }
                if level > 0 {
                    open.push((entry.child, level - 1, Some(here)));
                    continue;
                }
                if last.as_ref().is_some_and(|last| *last >= here) {
                    return self.disorder(reference, kind, "entries do not ascend");
                }
                visit(&here.0, NodeId(here.1))?;
                entries += 1;
                last = Some(here);
            }
            open[start..].reverse();
        }
        Ok(entries)
    }

    fn disorder<T>(&self, page: PageRef, kind: PageKind, what: &str) -> Result<T> {
        self.pages.checked(page, kind, Err(Malformed::new(what)))
    }
}

/// Pins a page of a tree; leaves are level 0.
fn pin_level(pages: &Pages, page: PageRef, level: u32) -> Result<(PageKind, PagePin)> {
    let kind = if level == 0 {
        PageKind::IndexLeaf
    } else {
        PageKind::IndexInner
    };
    Ok((kind, pages.pin(page, kind)?))
}

type KeyBound = (Vec<u8>, Place);

/// Where in key order the range begins, and before or after which keys it ends; `None`: nothing can be in it.
fn key_bounds(
    low: Bound<&PropertyValue>,
    high: Bound<&PropertyValue>,
) -> Option<(KeyBound, Option<KeyBound>)> {
    let bound_key = |bound: Bound<&PropertyValue>| match bound {
        Bound::Included(value) | Bound::Excluded(value) => key_bytes(value).map(Some),
        Bound::Unbounded => Some(None),
    };
    let (low_key, high_key) = (bound_key(low)?, bound_key(high)?);
    let class = low_key
        .as_ref()
        .or(high_key.as_ref())
        .map(|key| class_range(key));
    if let (Some(class), Some(high_key)) = (&class, &high_key)
        && !class.contains(high_key)
    {
        return None;
    }
    let low = match (low_key, &class) {
        (Some(key), _) if matches!(low, Bound::Excluded(_)) => (key, Place::After),
        (Some(key), _) => (key, Place::Before),
        (None, Some(class)) => (class.start.clone(), Place::Before),
        (None, None) => (Vec::new(), Place::Before),
    };
    let high = match (high_key, class) {
        (Some(key), _) if matches!(high, Bound::Included(_)) => Some((key, Place::After)),
        (Some(key), _) => Some((key, Place::Before)),
        (None, Some(class)) => Some((class.end, Place::Before)),
        (None, None) => None,
    };
    Some((low, high))
}

/// The nodes of a range, in key order; reads one leaf at a time.
#[derive(Debug)]
pub struct IndexRange {
    pages: Arc<Pages>,
    high: Option<KeyBound>,
    /// Inner pages above the current leaf: page, level, next child to visit.
    path: Vec<(PageRef, u32, usize)>,
    /// Nodes of the current leaf still to give, last one first.
    pending: Vec<NodeId>,
    /// Whether the upper bound was met.
    ended: bool,
}

impl IndexRange {
    fn empty(index: &Index) -> IndexRange {
        IndexRange {
            pages: index.pages.clone(),
            high: None,
            path: Vec::new(),
            pending: Vec::new(),
            ended: false,
        }
    }

    /// Goes down from `page` to the leaf where `low` (else the first entry) is, and reads that leaf.
    fn descend(&mut self, mut page: PageRef, mut level: u32, low: Option<&KeyBound>) -> Result<()> {
        while level > 0 {
            let (kind, pin) = pin_level(&self.pages, page, level)?;
            let step: Decoded<(usize, PageRef)> = NodePage::parse(&pin, level).and_then(|node| {
                let child = match low {
                    Some((key, place)) => node.lower_bound(key, *place)?.saturating_sub(1),
                    None => 0,
                };
                Ok((child, node.entry(child)?.child))
            });
            let (child, below) = self.pages.checked(page, kind, step)?;
            self.path.push((page, level, child + 1));
            (page, level) = (below, level - 1);
        }
        let (kind, pin) = pin_level(&self.pages, page, 0)?;
        let read = NodePage::parse(&pin, 0).and_then(|leaf| self.read_leaf(&leaf, low));
        let pages = self.pages.clone();
        pages.checked(page, kind, read)
    }

    fn read_leaf(&mut self, leaf: &NodePage<'_>, low: Option<&KeyBound>) -> Decoded<()> {
        let start = low.map_or(Ok(0), |(key, place)| leaf.lower_bound(key, *place))?;
        let end = match &self.high {
            Some((key, place)) => leaf.lower_bound(key, *place)?,
            None => leaf.len(),
        };
        self.ended = end < leaf.len();
        let nodes: Decoded<Vec<NodeId>> = (start..end.max(start))
            .rev()
            .map(|at| Ok(NodeId(leaf.entry(at)?.node)))
            .collect();
        self.pending = nodes?;
        Ok(())
    }

    /// Moves on to the next leaf; `false` at the end of the tree.
    fn next_leaf(&mut self) -> Result<bool> {
        while let Some((page, level, next)) = self.path.pop() {
            let (kind, pin) = pin_level(&self.pages, page, level)?;
            let child: Decoded<Option<PageRef>> = NodePage::parse(&pin, level).and_then(|node| {
                (next < node.len())
                    .then(|| Ok(node.entry(next)?.child))
                    .transpose()
            });
            if let Some(child) = self.pages.checked(page, kind, child)? {
                self.path.push((page, level, next + 1));
                drop(pin);
                self.descend(child, level - 1, None)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Iterator for IndexRange {
    type Item = Result<NodeId>;

    fn next(&mut self) -> Option<Result<NodeId>> {
        loop {
            if let Some(node) = self.pending.pop() {
                return Some(Ok(node));
            }
            if self.ended {
                return None;
            }
            match self.next_leaf() {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    return None;
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
