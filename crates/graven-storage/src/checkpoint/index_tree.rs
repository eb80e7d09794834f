//! Merging one index: touched leaves are merged with the changes, the others stay, the levels above
//! are built anew.
//!
//! # How it works
//! The inner pages give the leaves with their separators. A leaf is touched if a change lies
//! between its separator and the next one, both included: entries of one key may stand on both
//! sides. Entries whose keys were cut stand in the order of their whole keys, which a change does
//! not know; so removals wait by id while such a key lasts.

use super::changes::{IndexChange, Stream};
use super::merge::{CheckpointMerge, StoreChanges, next_if, peek};
use crate::Result;
use crate::catalog::{IndexDescription, StoreKind};
use crate::index::key::KEY_BYTES_MAX;
use crate::index::page::{IndexPage, PAGE_BYTES};
use crate::index::tree::TreeBuilder;
use crate::pages::Pages;
use foldhash::HashSet;
use graven_pagecache::{PageKind, PageRef};
use std::iter::Peekable;

type Entries<'a> = Peekable<Stream<'a, IndexChange>>;

/// A leaf and the key that the level above has for it.
struct Leaf {
    separator: Vec<u8>,
    page: PageRef,
}

/// Merges the changes of an index, or moves its pages down.
pub(super) fn merge(
    merge: &mut CheckpointMerge<'_>,
    description: &mut IndexDescription,
) -> Result<()> {
    let changes = merge.changes;
    let mut changes = changes.index(description.number).peekable();
    let changed = peek(&mut changes)?.is_some();
    if !changed && (merge.move_from == u64::MAX || description.root.is_none()) {
        return Ok(());
    }
    let mut inner = Vec::new();
    let mut leaves = Vec::new();
    collect(&merge.root.pages, description, &mut inner, &mut leaves)?;
    let moved = |page: &PageRef| page.unit() >= merge.move_from;
    if !changed && !inner.iter().any(moved) && !leaves.iter().any(|leaf| moved(&leaf.page)) {
        return Ok(());
    }
    let mut index = IndexFold {
        merge,
        tree: TreeBuilder::default(),
        ledger: StoreChanges::default(),
        last: (None, None),
        counts: (description.entries as i64, description.distinct as i64),
        cut: CutKey::default(),
        joins: false,
    };
    for page in inner {
        index.merge.own.free(page, &mut index.ledger)?;
    }
    for (at, leaf) in leaves.iter().enumerate() {
        let next = leaves.get(at + 1).map(|next| next.separator.as_slice());
        index.leaf(leaf, next, &mut changes)?;
    }
    index.rest(None, &mut changes)?;
    let built = index.tree.finish(index.merge.output)?;
    let mut ledger = index.ledger;
    ledger.added.pages += built.footprint.pages;
    ledger.added.bytes += built.footprint.bytes;
    ledger.entries = index.counts.0 - description.entries as i64;
    let (entries, distinct) = index.counts;
    description.root = built.root;
    description.height = built.height;
    description.entries = entries.max(0) as u64;
    description.distinct = match description.unique {
        true => description.entries,
        false => distinct.clamp(i64::from(entries > 0), entries.max(0)) as u64,
    };
    merge.describe(StoreKind::Index(description.number), built.leaves, &ledger);
    Ok(())
}

/// Frees all pages of an index that was dropped.
pub(super) fn drop(merge: &mut CheckpointMerge<'_>, description: &IndexDescription) -> Result<()> {
    let (mut inner, mut leaves) = (Vec::new(), Vec::new());
    collect(&merge.root.pages, description, &mut inner, &mut leaves)?;
    let pages = inner
        .into_iter()
        .chain(leaves.into_iter().map(|leaf| leaf.page));
    let mut ledger = StoreChanges::default();
    pages
        .into_iter()
        .try_for_each(|page| merge.own.free(page, &mut ledger))
}

/// The inner pages and the leaves of an index, leaves in order.
fn collect(
    pages: &Pages,
    description: &IndexDescription,
    inner: &mut Vec<PageRef>,
    leaves: &mut Vec<Leaf>,
) -> Result<()> {
    let Some(root) = description.root else {
        return Ok(());
    };
    let mut level = vec![Leaf {
        separator: Vec::new(),
        page: root,
    }];
    for height in (1..=description.height).rev() {
        let mut below = Vec::new();
        for Leaf { page, .. } in level {
            inner.push(page);
            let pin = pages.pin(page, PageKind::IndexInner)?;
            let scanned = IndexPage::read(&pin, height).and_then(|read| {
                read.scan(&[], |_, key, child| {
                    below.push(Leaf {
                        separator: key.to_vec(),
                        page: Pages::reference(child)?,
                    });
                    Ok(true)
                })
            });
            pages.checked(page, PageKind::IndexInner, scanned)?;
        }
        level = below;
    }
    leaves.extend(level);
    Ok(())
}

/// Changes under one key that was cut.
#[derive(Default)]
struct CutKey {
    key: Vec<u8>,
    removed: HashSet<u64>,
    added: Vec<u64>,
}

struct IndexFold<'f, 'a> {
    merge: &'f mut CheckpointMerge<'a>,
    tree: TreeBuilder,
    ledger: StoreChanges,
    /// The last key decoded from the base, and the last one written.
    last: (Option<Vec<u8>>, Option<Vec<u8>>),
    /// Entries and distinct keys.
    counts: (i64, i64),
    cut: CutKey,
    /// Whether the open leaf goes on.
    joins: bool,
}

impl IndexFold<'_, '_> {
    /// A leaf of the base; `next` is the separator of the one behind it.
    fn leaf(&mut self, leaf: &Leaf, next: Option<&[u8]>, changes: &mut Entries<'_>) -> Result<()> {
        let touched = !self.cut.key.is_empty()
            || peek(changes)?
                .is_some_and(|change| next.is_none_or(|next| change.key.as_slice() <= next));
        let open = if self.joins {
            self.tree.open_bytes()
        } else {
            0
        };
        let joins = open > 0 && open * 2 < PAGE_BYTES && open + leaf.page.len_bytes() <= PAGE_BYTES;
        if !touched && !joins {
            return self.keep(leaf);
        }
        if !self.joins {
            self.tree.begin_leaf(self.merge.output, &leaf.separator)?;
            self.joins = true;
        }
        let entries = self.read(leaf.page)?;
        self.merge.own.free(leaf.page, &mut self.ledger)?;
        for (key, id) in entries {
            if self.last.0.as_ref() != Some(&key) {
                self.counts.1 -= 1;
                self.last.0 = Some(key.clone());
            }
            self.counts.0 -= 1;
            self.before(&key, id, changes)?;
        }
        self.rest(next, changes)
    }

    /// Keeps an untouched leaf where it is, or moves it down.
    fn keep(&mut self, leaf: &Leaf) -> Result<()> {
        self.joins = false;
        self.last = (None, None);
        let mut page = leaf.page;
        if page.unit() >= self.merge.move_from {
            let limit = self.merge.move_from;
            let pin = self.merge.root.pages.pin(page, PageKind::IndexLeaf)?;
            if let Some(moved) =
                (self.merge.output).append_below(limit, PageKind::IndexLeaf, &pin)?
            {
                self.ledger.added.add(moved);
                self.merge.own.free(page, &mut self.ledger)?;
                page = moved;
            }
        }
        self.tree.keep(self.merge.output, &leaf.separator, page)
    }

    fn read(&self, page: PageRef) -> Result<Vec<(Vec<u8>, u64)>> {
        let pages = &self.merge.root.pages;
        let pin = pages.pin(page, PageKind::IndexLeaf)?;
        let mut entries = Vec::new();
        let scanned = IndexPage::read(&pin, 0).and_then(|leaf| {
            leaf.scan(&[], |_, key, id| {
                entries.push((key.to_vec(), id));
                Ok(true)
            })
        });
        pages.checked(page, PageKind::IndexLeaf, scanned)?;
        Ok(entries)
    }

    /// An entry of the base: the changes before it come first, and it may be gone itself.
    fn before(&mut self, key: &[u8], id: u64, changes: &mut Entries<'_>) -> Result<()> {
        if key.len() >= KEY_BYTES_MAX {
            return self.before_cut(key, id, changes);
        }
        self.end_cut()?;
        let mut removed = false;
        while let Some(change) = next_if(changes, |change| {
            (change.key.as_slice(), change.id) <= (key, id)
        })? {
            if (change.key.as_slice(), change.id) == (key, id) {
                removed = !change.added;
            } else if change.added {
                self.push(&change.key, change.id)?;
            }
        }
        match removed {
            true => Ok(()),
            false => self.push(key, id),
        }
    }

    fn before_cut(&mut self, key: &[u8], id: u64, changes: &mut Entries<'_>) -> Result<()> {
        if self.cut.key != key {
            self.end_cut()?;
            while let Some(change) = next_if(changes, |change| change.key.as_slice() < key)? {
                if change.added {
                    self.push(&change.key, change.id)?;
                }
            }
            key.clone_into(&mut self.cut.key);
            while let Some(change) = next_if(changes, |change| change.key.as_slice() == key)? {
                match change.added {
                    true => self.cut.added.push(change.id),
                    false => _ = self.cut.removed.insert(change.id),
                }
            }
        }
        match self.cut.removed.contains(&id) {
            true => Ok(()),
            false => self.push(key, id),
        }
    }

    /// The additions under a cut key whose entries have all passed.
    fn end_cut(&mut self) -> Result<()> {
        let CutKey { key, added, .. } = std::mem::take(&mut self.cut);
        added.into_iter().try_for_each(|id| self.push(&key, id))
    }

    /// Additions below `next` for which the base has no entry behind.
    fn rest(&mut self, next: Option<&[u8]>, changes: &mut Entries<'_>) -> Result<()> {
        let below = |change: &IndexChange| next.is_none_or(|next| change.key.as_slice() < next);
        if !self.cut.key.is_empty() && next.is_none_or(|next| self.cut.key.as_slice() < next) {
            self.end_cut()?;
        }
        while let Some(change) = next_if(changes, below)? {
            if change.added {
                self.push(&change.key, change.id)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, key: &[u8], id: u64) -> Result<()> {
        if self.last.1.as_deref() != Some(key) {
            self.counts.1 += 1;
            self.last.1 = Some(key.to_vec());
        }
        self.counts.0 += 1;
        self.tree.push(self.merge.output, key, id)
    }
}
