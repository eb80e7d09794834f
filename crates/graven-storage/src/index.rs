//! An index over one property of the nodes with one label: a B+tree over order-preserving keys.
//!
//! # How it works
//! A look-up descends to the first leaf that can hold the key and reads forward. Several leaves may hold
//! one key, so an inner page leads to the last child whose key is *below* the wanted one. Keys longer than
//! [`key::KEY_BYTES_MAX`] are cut; entries that match a cut key are compared by their values.

pub(crate) mod key;
mod page;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use crate::Result;
use crate::bytes::Malformed;
use crate::catalog::IndexDescription;
use crate::column::Column;
use crate::ids::NodeId;
use crate::pages::Pages;
use crate::value::PropertyValue;
use graven_pagecache::{PageKind, PageRef};
use key::{KEY_BYTES_MAX, class_bounds, key_bytes};
use page::IndexPage;
use std::ops::Bound;
use std::sync::Arc;

#[derive(Debug)]
struct Inner {
    pages: Arc<Pages>,
    description: IndexDescription,
    /// The values, for keys that were cut.
    column: Option<Column>,
}

/// An index; cheap to clone.
#[derive(Clone, Debug)]
pub struct Index {
    inner: Arc<Inner>,
}

impl Index {
    pub(crate) fn new(
        pages: Arc<Pages>,
        description: IndexDescription,
        column: Option<Column>,
    ) -> Index {
        Index {
            inner: Arc::new(Inner {
                pages,
                description,
                column,
            }),
        }
    }

    /// Label, keys, counts.
    #[must_use]
    pub fn description(&self) -> &IndexDescription {
        &self.inner.description
    }

    /// Nodes whose value equals `value` as Cypher sees it (`1` equals `1.0`), ascending.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn seek(&self, value: &PropertyValue) -> Result<Vec<NodeId>> {
        self.range(Bound::Included(value), Bound::Included(value))?
            .collect()
    }

    /// Nodes whose value lies between the bounds, by value, then by node. Only values of one class compare: with
    /// a bound of some type on one side, the other side ends with that class; bounds of two classes, or null or
    /// NaN, give nothing; two open sides give all nodes in the index.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn range(
        &self,
        low: Bound<&PropertyValue>,
        high: Bound<&PropertyValue>,
    ) -> Result<IndexRange> {
        let nothing = |index: &Index| {
            IndexRange::new(
                index.clone(),
                Vec::new(),
                Bound::Unbounded,
                Bound::Unbounded,
                None,
            )
        };
        let (Some(mut low), Some(mut high)) = (key_bound(low), key_bound(high)) else {
            return Ok(nothing(self));
        };
        match (bound_key(&low), bound_key(&high)) {
            (Some(a), Some(b)) if class_bounds(a) != class_bounds(b) => return Ok(nothing(self)),
            (Some(key), None) => high = Bound::Excluded(vec![class_bounds(key).1]),
            (None, Some(key)) => low = Bound::Included(vec![class_bounds(key).0]),
            _ => {}
        }
        let start = bound_key(&low)
            .map_or(&[][..], |key| &key[..key.len().min(KEY_BYTES_MAX)])
            .to_vec();
        Ok(IndexRange::new(
            self.clone(),
            start,
            low,
            high,
            self.inner.description.root,
        ))
    }

    /// Calls `visit` with every page, and every entry in order.
    pub(crate) fn scan_all(
        &self,
        visit_page: &mut impl FnMut(PageRef),
        visit: &mut impl FnMut(&[u8], NodeId),
    ) -> Result<()> {
        match self.inner.description.root {
            None => Ok(()),
            Some(root) => self.scan_below(
                root,
                self.inner.description.height,
                &mut Vec::new(),
                visit_page,
                visit,
            ),
        }
    }

    fn scan_below(
        &self,
        page: PageRef,
        level: u32,
        last: &mut Vec<u8>,
        visit_page: &mut impl FnMut(PageRef),
        visit: &mut impl FnMut(&[u8], NodeId),
    ) -> Result<()> {
        visit_page(page);
        if level > 0 {
            for child in self.children(page, level, &[])? {
                self.scan_below(child, level - 1, last, visit_page, visit)?;
            }
            return Ok(());
        }
        let pages = &self.inner.pages;
        let pin = pages.pin(page, PageKind::IndexLeaf)?;
        let scanned = IndexPage::read(&pin, 0).and_then(|leaf| {
            leaf.scan(&[], |_, key, node| {
                if key < last.as_slice() {
                    return Err(Malformed(format!(
                        "key {key:02x?} of node {node} is out of order"
                    )));
                }
                last.clear();
                last.extend_from_slice(key);
                visit(key, NodeId(node));
                Ok(true)
            })
        });
        pages.checked(page, PageKind::IndexLeaf, scanned)
    }

    /// The children of an inner page from the last one whose key is below `from` on.
    fn children(&self, page: PageRef, level: u32, from: &[u8]) -> Result<Vec<PageRef>> {
        let pages = &self.inner.pages;
        let pin = pages.pin(page, PageKind::IndexInner)?;
        let mut children = Vec::new();
        let scanned = IndexPage::read(&pin, level).and_then(|inner| {
            children.reserve(inner.len());
            inner.scan(from, |_, key, child| {
                if key < from {
                    children.clear();
                }
                children.push(Pages::reference(child)?);
                Ok(true)
            })
        });
        pages.checked(page, PageKind::IndexInner, scanned)?;
        Ok(children)
    }
}

fn key_bound(bound: Bound<&PropertyValue>) -> Option<Bound<Vec<u8>>> {
    Some(match bound {
        Bound::Included(value) => Bound::Included(key_bytes(value)?),
        Bound::Excluded(value) => Bound::Excluded(key_bytes(value)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

fn bound_key(bound: &Bound<Vec<u8>>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}

/// Where a key lies relative to the bounds.
enum Side {
    Below,
    Inside,
    /// The key was cut and the bound begins with it: the value decides.
    Unknown,
    Above,
}

/// Nodes of an index in key order; holds no page between two of them.
#[derive(Debug)]
pub struct IndexRange {
    index: Index,
    start: Vec<u8>,
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    /// Pages still to visit with their levels, the next one last.
    stack: Vec<(PageRef, u32)>,
    /// Nodes of the current leaf and whether their values must be compared, the next one last.
    found: Vec<(NodeId, bool)>,
}

impl IndexRange {
    fn new(
        index: Index,
        start: Vec<u8>,
        low: Bound<Vec<u8>>,
        high: Bound<Vec<u8>>,
        root: Option<PageRef>,
    ) -> IndexRange {
        let height = index.inner.description.height;
        let stack = root.map(|root| (root, height)).into_iter().collect();
        IndexRange {
            index,
            start,
            low,
            high,
            stack,
            found: Vec::new(),
        }
    }

    fn side(&self, key: &[u8]) -> Side {
        let cut = key.len() == KEY_BYTES_MAX;
        let unknown = |bound: &[u8]| cut && bound.starts_with(key);
        match &self.low {
            Bound::Included(low) | Bound::Excluded(low) if unknown(low) => return Side::Unknown,
            Bound::Included(low) if key < low.as_slice() => return Side::Below,
            Bound::Excluded(low) if key <= low.as_slice() => return Side::Below,
            _ => {}
        }
        match &self.high {
            Bound::Included(high) | Bound::Excluded(high) if unknown(high) => Side::Unknown,
            Bound::Included(high) if key > high.as_slice() => Side::Above,
            Bound::Excluded(high) if key >= high.as_slice() => Side::Above,
            _ => Side::Inside,
        }
    }

    fn read_leaf(&mut self, page: PageRef) -> Result<()> {
        let pages = &self.index.inner.pages;
        let pin = pages.pin(page, PageKind::IndexLeaf)?;
        let mut found = Vec::new();
        let mut done = false;
        let scanned = IndexPage::read(&pin, 0).and_then(|leaf| {
            leaf.scan(&self.start, |_, key, node| {
                match self.side(key) {
                    Side::Below => {}
                    Side::Inside => found.push((NodeId(node), false)),
                    Side::Unknown => found.push((NodeId(node), true)),
                    Side::Above => done = true,
                }
                Ok(!done)
            })
        });
        pages.checked(page, PageKind::IndexLeaf, scanned)?;
        found.reverse();
        self.found = found;
        if done {
            self.stack.clear();
        }
        Ok(())
    }

    fn value_matches(&self, node: NodeId) -> Result<bool> {
        let Some(column) = &self.index.inner.column else {
            return Ok(false);
        };
        let Some(key) = key_bytes(&column.get(node.0)?) else {
            return Ok(false);
        };
        let above = match &self.low {
            Bound::Included(low) => key >= *low,
            Bound::Excluded(low) => key > *low,
            Bound::Unbounded => true,
        };
        let below = match &self.high {
            Bound::Included(high) => key <= *high,
            Bound::Excluded(high) => key < *high,
            Bound::Unbounded => true,
        };
        Ok(above && below)
    }

    fn advance(&mut self) -> Result<Option<NodeId>> {
        loop {
            while let Some((node, compare)) = self.found.pop() {
                if !compare || self.value_matches(node)? {
                    return Ok(Some(node));
                }
            }
            let Some((page, level)) = self.stack.pop() else {
                return Ok(None);
            };
            if level == 0 {
                self.read_leaf(page)?;
            } else {
                let children = self.index.children(page, level, &self.start)?;
                self.stack
                    .extend(children.into_iter().rev().map(|child| (child, level - 1)));
            }
        }
    }
}

impl Iterator for IndexRange {
    type Item = Result<NodeId>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            self.stack.clear();
            self.found.clear();
        }
        next.transpose()
    }
}
