//! The entries of an index between two bounds: those of the tree, merged with the changes on top of
//! it.
//!
//! # How it works
//! Two streams in the order of (key, id): leaves of the tree, read one at a time, and changed
//! entries, looked up one after the other. An entry of the tree of which a change is known is left
//! to the changes. A descending range goes the same way from the other end. A range may also test
//! the texts of its keys ([`TextTest`]); the values behind keys that were cut decide then.
//!
//! The first leaf is read alone. Where the next one is not in memory either, leaves behind it are
//! read along, twice as many each time, up to what one request may bring or [`AHEAD_BYTES`]: a
//! range that is left early has read no more than twice what it needed.

use super::{Index, bound_key, cut, keys_bytes};
use crate::Result;
use crate::delta::change::Change;
use crate::delta::change::IndexKey;
use crate::delta::overlay::IndexEntries;
use crate::ids::NodeId;
use crate::index::key::KEY_BYTES_MAX;
use crate::index::page::IndexPage;
use crate::index::text_test::TextTest;
use graven_pagecache::{PageKind, PageRef};
use std::ops::Bound;
use std::sync::Arc;

/// Leaves read ahead at once, in bytes, where the file does not say how large a request may be.
const AHEAD_BYTES: u64 = 512 << 10;

/// Where a key lies relative to the bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Inside,
    /// The key was cut and the bound begins with it: the value decides.
    Unknown,
    Above,
}

/// An entry within the bounds.
#[derive(Debug)]
struct Found {
    id: u64,
    /// Whether its value must be compared.
    compare: bool,
    /// Whether its key was cut, so that neighbours with the same key may be out of order.
    cut: bool,
    /// Only where changes are merged.
    key: Option<Arc<[u8]>>,
}

/// Changed entries that are still to come.
#[derive(Debug)]
struct Changed {
    entries: IndexEntries,
    /// Where to look on; `None` at the end.
    from: Option<Bound<IndexKey>>,
    next: Option<Found>,
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
    /// Leaves to read at once when the next one is not in memory.
    ahead: usize,
    /// Entries of the current leaf, the next one last.
    found: Vec<Found>,
    changed: Option<Changed>,
    descending: bool,
    /// What the texts of the keys must have.
    test: Option<TextTest>,
}

/// What one step of a range came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStep {
    /// A node, and whether it may be out of order with neighbours of the same mark: their keys
    /// were cut.
    Node(NodeId, bool),
    /// A page without anything that fits: there may be more.
    Nothing,
    /// There is no more.
    End,
}

impl IndexRange {
    /// The entries between `low` and `high`, or none at all; `start` is the lowest key, cut.
    pub(super) fn new(
        index: Index,
        start: Vec<u8>,
        low: Bound<Vec<u8>>,
        high: Bound<Vec<u8>>,
        any: bool,
    ) -> IndexRange {
        let description = &index.inner.description;
        let root = description.root.filter(|_| any);
        let stack = root
            .map(|root| (root, description.height))
            .into_iter()
            .collect();
        let overlay = index.overlay().filter(|_| any);
        let changed = overlay.map(|overlay| {
            let last = bound_key(&high).map(cut);
            Changed {
                entries: overlay.entries(&start, last),
                from: Some(Bound::Included((start.as_slice().into(), 0))),
                next: None,
            }
        });
        IndexRange {
            index,
            start,
            low,
            high,
            stack,
            ahead: 1,
            found: Vec::new(),
            changed,
            descending: false,
            test: None,
        }
    }

    /// Only the entries whose texts pass the test.
    pub(super) fn testing(mut self, test: Option<TextTest>) -> IndexRange {
        self.test = test;
        self
    }

    /// The same entries from the last to the first; to be called before any of them is taken.
    #[must_use]
    pub fn descending(mut self) -> IndexRange {
        self.descending = true;
        if let Some(changed) = &mut self.changed {
            changed.from = Some(match bound_key(&self.high) {
                // No key is as long as one that was cut and has a byte added.
                Some(high) => {
                    let mut last = super::cut(high).to_vec();
                    last.push(0xff);
                    Bound::Included((last.into(), u64::MAX))
                }
                None => Bound::Unbounded,
            });
        }
        self
    }

    /// The next node, and whether it may be out of order with neighbours of the same mark: their
    /// keys were cut.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn next_marked(&mut self) -> Result<Option<(NodeId, bool)>> {
        loop {
            match self.step()? {
                IndexStep::Node(node, cut) => return Ok(Some((node, cut))),
                IndexStep::Nothing => {}
                IndexStep::End => return Ok(None),
            }
        }
    }

    /// As [`IndexRange::next_marked`], but reads one leaf at most: what reads a whole index for few
    /// nodes can be stopped in between.
    ///
    /// # Errors
    /// As [`IndexRange::next_marked`].
    pub fn step(&mut self) -> Result<IndexStep> {
        if !self.fill_found()? {
            return Ok(IndexStep::Nothing);
        }
        let Some(found) = self.next_entry()? else {
            return Ok(IndexStep::End);
        };
        Ok(match !found.compare || self.value_matches(found.id)? {
            true => IndexStep::Node(NodeId(found.id), found.cut),
            false => IndexStep::Nothing,
        })
    }

    /// Whether an entry within the bounds is to be left out, as far as its key tells.
    fn fails(&self, key: &[u8]) -> bool {
        let whole = key.len() < KEY_BYTES_MAX;
        whole && self.test.as_ref().is_some_and(|test| !test.holds(key))
    }

    /// Whether the value behind a key within the bounds decides.
    fn is_open(&self, side: Side, cut: bool) -> bool {
        side == Side::Unknown || cut && self.test.is_some()
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
        let entries = self.changed.as_ref().map(|changed| &changed.entries);
        let mut failed = None;
        let scanned = IndexPage::read(&pin, 0).and_then(|leaf| {
            leaf.scan(&self.start, |_, key, id| {
                let side = self.side(key);
                let is_cut = key.len() == KEY_BYTES_MAX;
                match side {
                    // What is left of a descending range lies below.
                    Side::Below => done |= self.descending,
                    Side::Above if self.descending => return Ok(false),
                    Side::Above => done = true,
                    Side::Inside if self.fails(key) => {}
                    Side::Inside | Side::Unknown => {
                        let key: Option<Arc<[u8]>> = entries.map(|_| key.into());
                        let known = match entries.zip(key.as_ref()) {
                            None => Ok(None),
                            Some((entries, key)) => entries.get(key, id),
                        };
                        match known {
                            Ok(None) => found.push(Found {
                                id,
                                compare: self.is_open(side, is_cut),
                                cut: is_cut,
                                key,
                            }),
                            Ok(Some(_)) => {}
                            Err(error) => failed = failed.take().or(Some(error)),
                        }
                    }
                }
                Ok(self.descending || !done)
            })
        });
        pages.checked(page, PageKind::IndexLeaf, scanned)?;
        if let Some(error) = failed {
            return Err(error);
        }
        if !self.descending {
            found.reverse();
        }
        self.found = found;
        if done {
            self.stack.clear();
        }
        Ok(())
    }

    /// Starts reading the next leaves if the first of them is not in memory.
    fn read_ahead(&mut self) {
        let pages = &self.index.inner.pages;
        let leaves = self.stack.iter().rev();
        let leaves = leaves.take_while(|(_, level)| *level == 0);
        let mut leaves = leaves.map(|(page, _)| *page).take(self.ahead).peekable();
        if !leaves.peek().is_some_and(|next| pages.is_absent(*next)) {
            return;
        }
        let request = match pages.file().request_bytes() {
            0 => AHEAD_BYTES,
            request => request,
        };
        let mut left = request.min(pages.prefetch_bytes());
        let mut wanted: Vec<PageRef> = leaves
            .take_while(|page| {
                left = left.saturating_sub(page.len_bytes() as u64);
                left > 0
            })
            .collect();
        if wanted.len() == self.ahead {
            self.ahead *= 2;
        }
        if wanted.len() > 1 {
            wanted.sort_unstable_by_key(|page| page.unit());
            pages.prefetch(&wanted, PageKind::IndexLeaf);
        }
    }

    /// Makes `found` hold the next entry of the tree, if there is one; false if a leaf had none.
    fn fill_found(&mut self) -> Result<bool> {
        while self.found.is_empty() {
            self.read_ahead();
            let Some((page, level)) = self.stack.pop() else {
                break;
            };
            if level == 0 {
                self.read_leaf(page)?;
                return Ok(!self.found.is_empty() || self.stack.is_empty());
            } else {
                let last = bound_key(&self.high).map(cut);
                let children = self.index.children(page, level, &self.start, last)?;
                let mut children: Vec<_> = children.into_iter().map(|c| (c, level - 1)).collect();
                if !self.descending {
                    children.reverse();
                }
                self.stack.extend(children);
            }
        }
        Ok(true)
    }

    /// Makes `next` of the changes hold the next added entry within the bounds, if there is one.
    fn fill_changed(&mut self) -> Result<()> {
        let Some(mut changed) = self.changed.take() else {
            return Ok(());
        };
        while changed.next.is_none()
            && let Some(from) = changed.from.take()
        {
            let next = match self.descending {
                false => changed.entries.next(from.as_ref()),
                true => changed.entries.previous(from.as_ref()),
            };
            let Some((key, change)) = next? else {
                break;
            };
            let side = self.side(&key.0);
            let (before, behind) = match self.descending {
                false => (Side::Below, Side::Above),
                true => (Side::Above, Side::Below),
            };
            if side == behind {
                break;
            }
            let fails = side == Side::Inside && self.fails(&key.0);
            if side != before && change == Change::Added && !fails {
                let cut = key.0.len() == KEY_BYTES_MAX;
                changed.next = Some(Found {
                    id: key.1,
                    compare: self.is_open(side, cut),
                    cut,
                    key: Some(key.0.clone()),
                });
            }
            changed.from = Some(Bound::Excluded(key));
        }
        self.changed = Some(changed);
        Ok(())
    }

    fn next_entry(&mut self) -> Result<Option<Found>> {
        self.fill_changed()?;
        let Some(changed) = &mut self.changed else {
            return Ok(self.found.pop());
        };
        let change_first = match (&changed.next, self.found.last()) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(added), Some(found)) => {
                let lower = (&added.key, added.id) < (&found.key, found.id);
                lower != self.descending
            }
        };
        Ok(if change_first {
            changed.next.take()
        } else {
            self.found.pop()
        })
    }

    fn value_matches(&self, id: u64) -> Result<bool> {
        let Some(key) = keys_bytes(&self.index.values_of(id)?) else {
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
        let fits = self.test.as_ref().is_none_or(|test| test.holds(&key));
        Ok(above && below && fits)
    }
}

impl Iterator for IndexRange {
    type Item = Result<NodeId>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_marked().map(|next| next.map(|(node, _)| node));
        if next.is_err() {
            self.stack.clear();
            self.found.clear();
            self.changed = None;
        }
        next.transpose()
    }
}
