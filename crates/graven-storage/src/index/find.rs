//! Nodes by many values at once.
//!
//! # How it works
//! The keys of the values are put in order and go down the tree together: a page is pinned once for
//! all keys that lead to it, and equal values are looked for once. What was changed since the tree
//! was written is put on top key by key. Where nothing is on top, and the caller has
//! [`HashedKeys`], keys are found there, in any order.
//!
//! # Costs
//! A key is encoded, sorted among the others, and searched in one page of each level.
//!
//! # Source
//! Batched key access, as MySQL calls it (a sorted multi-range read); within a page the search for
//! the next key gallops (Bentley and Yao 1976).

use super::key::{KEY_BYTES_MAX, put_key};
use super::page::IndexPage;
use super::{HashedKeys, Index, children_with};
use crate::Result;
use graven_pagecache::{PageKind, PageRef};
use graven_types::PropertyValue;
use std::cmp::Ordering;
use std::ops::Range;

/// What was found for many values.
#[derive(Debug, Default)]
pub struct FoundEach {
    ids: Vec<u64>,
    /// For each value where its nodes lie in `ids`.
    spans: Vec<Option<Range<usize>>>,
}

impl FoundEach {
    /// The nodes that equal the value in this place, ascending; `None` where they are more than
    /// were asked for, or that cannot be told at once.
    #[must_use]
    pub fn of(&self, place: usize) -> Option<&[u64]> {
        let span = self.spans[place].clone()?;
        Some(&self.ids[span])
    }
}

/// The key of a value.
#[derive(Clone, Copy, Debug)]
struct Sought {
    /// Its first bytes.
    first: u64,
    from: usize,
    to: usize,
    /// The place of the value.
    place: usize,
}

/// How a value is looked for where keys are in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// No node has such a value.
    NoKey,
    Table,
    /// Its key is not in the table.
    Elsewhere,
}

/// A key that is looked for, once.
#[derive(Clone, Copy, Debug)]
struct Key<'a> {
    bytes: &'a [u8],
    number: usize,
}

/// What the tree has under each key: ids one behind the other.
#[derive(Debug, Default)]
struct Found {
    ids: Vec<u64>,
    spans: Vec<Range<usize>>,
    /// More than this many of a key are not all wanted.
    most: usize,
}

impl Found {
    /// What is added from now on is of this key; keys come in their order.
    fn begin(&mut self, key: Key<'_>) {
        let end = self.ids.len();
        self.spans.resize(key.number + 1, end..end);
    }

    fn add(&mut self, id: u64) {
        let span = self.spans.last_mut().expect("begun");
        if span.len() <= self.most {
            self.ids.push(id);
            span.end += 1;
        }
    }
}

impl Index {
    /// The nodes that equal each of the values, where they are `most` at most, a small number. As
    /// [`Index::find`] for one value after the other, only faster. `table`: of the keys of this
    /// index, if there is one.
    ///
    /// # Errors
    /// As [`Index::seek`].
    pub fn find_each(
        &self,
        values: &[PropertyValue],
        most: usize,
        table: Option<&HashedKeys>,
    ) -> Result<FoundEach> {
        if let Some(table) = table.filter(|table| table.is_of(self))
            && let Some(found) = self.find_in(table, values, most)
        {
            return Ok(found);
        }
        let mut spans = vec![None; values.len()];
        let (mut bytes, mut sought) = (Vec::new(), Vec::with_capacity(values.len()));
        for (place, value) in values.iter().enumerate() {
            let from = bytes.len();
            if !put_key(&mut bytes, value) {
                bytes.truncate(from);
                spans[place] = Some(0..0);
            } else if bytes.len() - from >= KEY_BYTES_MAX {
                bytes.truncate(from);
            } else {
                let (mut first, key) = ([0; 8], &bytes[from..]);
                let shown = key.len().min(8);
                first[..shown].copy_from_slice(&key[..shown]);
                let (first, to) = (u64::from_be_bytes(first), bytes.len());
                sought.push(Sought {
                    first,
                    from,
                    to,
                    place,
                });
            }
        }
        let key = |it: &Sought| &bytes[it.from..it.to];
        sought.sort_by(|a, b| (a.first.cmp(&b.first)).then_with(|| key(a).cmp(key(b))));
        let groups: Vec<&[Sought]> = sought.chunk_by(|a, b| key(a) == key(b)).collect();
        let keys: Vec<&[u8]> = groups.iter().map(|group| key(&group[0])).collect();
        let found = self.find_keys(&keys, most)?;
        for (group, span) in groups.into_iter().zip(found.spans) {
            (group.iter()).for_each(|it| spans[it.place].clone_from(&span));
        }
        let ids = found.ids;
        Ok(FoundEach { ids, spans })
    }

    /// As [`Index::find_each`], from a table alone; `None` where changes are on top of it.
    fn find_in(
        &self,
        table: &HashedKeys,
        values: &[PropertyValue],
        most: usize,
    ) -> Option<FoundEach> {
        let overlay = self.overlay();
        let changes = overlay.as_ref().map(|overlay| overlay.equal_keys());
        if changes.as_ref().is_some_and(|it| it.has_top()) {
            return None;
        }
        let (mut bytes, mut keys) = (Vec::new(), Vec::with_capacity(values.len()));
        let mut asks = Vec::with_capacity(values.len());
        for value in values {
            let from = bytes.len();
            let ask = match put_key(&mut bytes, value) {
                false => Ask::NoKey,
                true if bytes.len() - from >= KEY_BYTES_MAX => Ask::Elsewhere,
                true => Ask::Table,
            };
            if ask == Ask::Table {
                changes.iter().for_each(|it| it.read(&bytes[from..]));
                keys.push(from..bytes.len());
            } else {
                bytes.truncate(from);
            }
            asks.push(ask);
        }
        let mut each = FoundEach::default();
        let mut found = table.get_each(&bytes, &keys);
        for ask in asks {
            let from = each.ids.len();
            let known = match ask {
                Ask::NoKey => true,
                Ask::Elsewhere => false,
                Ask::Table => {
                    let ids = found.next().unwrap_or_default();
                    let few = ids.len() <= most;
                    each.ids.extend_from_slice(if few { ids } else { &[] });
                    few
                }
            };
            each.spans.push(known.then_some(from..each.ids.len()));
        }
        Some(each)
    }

    /// As [`Index::find_each`] for keys that ascend, none of them cut.
    pub(crate) fn find_keys(&self, keys: &[&[u8]], most: usize) -> Result<FoundEach> {
        let mut found = Found {
            most,
            ..Found::default()
        };
        let keys: Vec<Key<'_>> = (keys.iter().enumerate())
            .map(|(number, bytes)| Key { bytes, number })
            .collect();
        if let Some(root) = self.inner.description.root {
            self.find_keys_below(root, self.inner.description.height, &keys, &mut found)?;
        }
        let end = found.ids.len();
        found.spans.resize(keys.len(), end..end);
        self.put_changes_on_top(&keys, &mut found)?;
        let Found { ids, spans, .. } = found;
        let spans = spans.into_iter();
        let spans = spans.map(|span| (span.len() <= most).then_some(span));
        Ok(FoundEach {
            ids,
            spans: spans.collect(),
        })
    }

    /// Adds what the tree below a page has under each of the keys, which ascend.
    fn find_keys_below(
        &self,
        page: PageRef,
        level: u32,
        keys: &[Key<'_>],
        found: &mut Found,
    ) -> Result<()> {
        let pages = &self.inner.pages;
        if level == 0 {
            let pin = pages.pin(page, PageKind::IndexLeaf)?;
            let searched = IndexPage::read(&pin, 0).and_then(|leaf| {
                let mut from = 0;
                keys.iter().try_for_each(|key| {
                    found.begin(*key);
                    leaf.search_on(key.bytes, &mut from, |order, id| {
                        if order == Ordering::Equal {
                            found.add(id);
                        }
                        Ok(true)
                    })
                })
            });
            return pages.checked(page, PageKind::IndexLeaf, searched);
        }
        // Which keys lead to which child, in the order in which they are to be looked at.
        let mut ways: Vec<(PageRef, Range<usize>)> = Vec::new();
        {
            let pin = pages.pin(page, PageKind::IndexInner)?;
            let searched = IndexPage::read(&pin, level).and_then(|inner| {
                let mut from = 0;
                for (at, key) in keys.iter().enumerate() {
                    let (first, more) = children_with(inner, key.bytes, &mut from)?;
                    if let Some(first) = first {
                        match ways.last_mut() {
                            Some((child, keys)) if *child == first => keys.end = at + 1,
                            _ => ways.push((first, at..at + 1)),
                        }
                    }
                    ways.extend(more.into_iter().map(|child| (child, at..at + 1)));
                }
                Ok(())
            });
            pages.checked(page, PageKind::IndexInner, searched)?;
        }
        for (child, of) in ways {
            self.find_keys_below(child, level - 1, &keys[of], found)?;
        }
        Ok(())
    }

    /// Makes of what the tree has what there is now.
    fn put_changes_on_top(&self, keys: &[Key<'_>], found: &mut Found) -> Result<()> {
        let Some(overlay) = self.overlay() else {
            return Ok(());
        };
        let changes = overlay.equal_keys();
        if changes.are_unchanged() {
            keys.iter().for_each(|key| changes.read(key.bytes));
            return Ok(());
        }
        let most = found.most;
        let mut now = Vec::with_capacity(found.ids.len());
        for (key, span) in keys.iter().zip(&mut found.spans) {
            let before = now.len();
            now.extend_from_slice(&found.ids[span.clone()]);
            if span.len() <= most {
                changes.merge(key.bytes, before, most, &mut now)?;
            }
            *span = before..now.len();
        }
        found.ids = now;
        Ok(())
    }
}
