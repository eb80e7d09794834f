//! An index over properties of the nodes with a label or the relationships of a type: a B+tree over
//! order-preserving keys.
//!
//! # How it works
//! A look-up descends to the first leaf that can hold the key and reads forward. Several leaves may
//! hold one key, so an inner page leads to the last child whose key is *below* the wanted one. Keys
//! longer than [`key::KEY_BYTES_MAX`] are cut; entries that match a cut key are compared by their
//! values. What was changed since the tree was written comes from the index's overlay, merged by
//! key ([`IndexRange`]).

mod find;
mod hashed_keys;
pub(crate) mod key;
pub(crate) mod page;
mod range;
mod text_test;
pub(crate) mod tree;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use crate::Result;
use crate::bytes::{Decoded, Malformed};
use crate::catalog::IndexDescription;
use crate::column::Column;
use crate::delta::overlay::{IndexOverlay, IndexParts, Top};
use crate::ids::NodeId;
use crate::pages::Pages;
use graven_pagecache::{PageKind, PageRef};
use graven_types::PropertyValue;
use key::{KEY_BYTES_MAX, class_bounds, key_bytes};
use page::IndexPage;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

pub use find::FoundEach;
pub use hashed_keys::HashedKeys;
pub use range::{IndexRange, IndexStep};
use text_test::TextTest;

#[derive(Debug)]
struct Inner {
    pages: Arc<Pages>,
    description: IndexDescription,
    /// The values, for keys that were cut: a column for each property that has any.
    columns: Vec<Option<Column>>,
    /// What was changed since the tree was written, but for what is on top.
    changes: IndexParts,
}

/// On top of an index that nothing is on top of.
static NOTHING: Top = Top::NOTHING;

/// An index; cheap to clone.
#[derive(Clone, Debug)]
pub struct Index {
    inner: Arc<Inner>,
    top: Option<Top>,
}

impl Index {
    pub(crate) fn new(
        pages: Arc<Pages>,
        description: IndexDescription,
        columns: Vec<Option<Column>>,
        changes: IndexParts,
    ) -> Index {
        Index {
            inner: Arc::new(Inner {
                pages,
                description,
                columns,
                changes,
            }),
            top: None,
        }
    }

    /// This with more changes on top.
    pub(crate) fn with_top(self, top: Top) -> Index {
        Index {
            top: Some(top),
            ..self
        }
    }

    /// What was changed since the tree was written, if anything was.
    fn overlay(&self) -> Option<IndexOverlay<'_>> {
        let committed_base = self.inner.changes.as_deref();
        (committed_base.is_some() || self.top.is_some()).then(|| IndexOverlay {
            committed_base: committed_base.unwrap_or(&[]),
            top: self.top.as_ref().unwrap_or(&NOTHING),
            number: self.inner.description.number,
        })
    }

    /// Whether there are changes on top of the tree and the committed layers.
    #[must_use]
    pub fn has_top(&self) -> bool {
        let overlay = self.overlay();
        overlay.is_some_and(|overlay| overlay.equal_keys().has_top())
    }

    /// The values of an entity in the order of the keys, Null where it has none.
    fn values_of(&self, id: u64) -> Result<Vec<PropertyValue>> {
        let description = &self.inner.description;
        let columns = self.inner.columns.iter().zip(&description.keys);
        let values = columns.map(|(committed_base, key)| {
            let of = description.entity.column(*key);
            let column = match &self.top {
                Some(top) => Some(Column::with_top(committed_base.clone(), of, top.clone())),
                None => committed_base.clone(),
            };
            column.map_or(Ok(PropertyValue::Null), |column| column.get(id))
        });
        values.collect()
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

    /// Ids of the nodes or relationships with these values, one for each property of the index,
    /// ascending; nothing if one of them is null or NaN.
    ///
    /// # Errors
    /// As [`Index::seek`].
    pub fn seek_all(&self, values: &[PropertyValue]) -> Result<Vec<u64>> {
        let Some(key) = keys_bytes(values) else {
            return Ok(Vec::new());
        };
        self.seek_key(key)
    }

    /// Ids under a whole key.
    pub(crate) fn seek_key(&self, key: Vec<u8>) -> Result<Vec<u64>> {
        let start = cut(&key).to_vec();
        let bounds = (Bound::Included(key.clone()), Bound::Included(key));
        IndexRange::new(self.clone(), start, bounds.0, bounds.1, true)
            .map(|id| id.map(|NodeId(id)| id))
            .collect()
    }

    /// Adds the nodes whose value equals `value`, ascending, if they are `most` at most, a small
    /// number; otherwise, or if that cannot be told at once, `false`, and `out` is as before. As
    /// [`Index::seek`], without what a range needs to stop and go on.
    ///
    /// # Errors
    /// As [`Index::seek`].
    pub fn find(&self, value: &PropertyValue, most: usize, out: &mut Vec<u64>) -> Result<bool> {
        let Some(key) = key_bytes(value) else {
            return Ok(true);
        };
        if key.len() >= KEY_BYTES_MAX {
            return Ok(false);
        }
        let before = out.len();
        if let Some(root) = self.inner.description.root {
            let height = self.inner.description.height;
            self.find_below(root, height, &key, before + most, out)?;
        }
        if let Some(overlay) = self.overlay()
            && out.len() - before <= most
        {
            overlay.equal_keys().merge(&key, before, most, out)?;
        }
        let whole = out.len() - before <= most;
        if !whole {
            out.truncate(before);
        }
        Ok(whole)
    }

    /// Adds what the tree below a page has under `key`; it may end early once `out` has more than
    /// `most`.
    fn find_below(
        &self,
        page: PageRef,
        level: u32,
        key: &[u8],
        most: usize,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let pages = &self.inner.pages;
        if level == 0 {
            let pin = pages.pin(page, PageKind::IndexLeaf)?;
            let searched = IndexPage::read(&pin, 0).and_then(|leaf| {
                leaf.search(key, |order, id| {
                    if order == Ordering::Equal {
                        out.push(id);
                    }
                    Ok(true)
                })
            });
            return pages.checked(page, PageKind::IndexLeaf, searched);
        }
        let (first, more) = {
            let pin = pages.pin(page, PageKind::IndexInner)?;
            let searched =
                IndexPage::read(&pin, level).and_then(|inner| children_with(inner, key, &mut 0));
            pages.checked(page, PageKind::IndexInner, searched)?
        };
        if let Some(first) = first {
            self.find_below(first, level - 1, key, most, out)?;
        }
        for child in more {
            if out.len() > most {
                break;
            }
            self.find_below(child, level - 1, key, most, out)?;
        }
        Ok(())
    }

    /// Nodes whose value lies between the bounds, by value, then by node. Only values of one class
    /// compare: with a bound of some type on one side, the other side ends with that class; bounds
    /// of two classes, or null or NaN, give nothing; two open sides give all nodes in the index.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn range(
        &self,
        low: Bound<&PropertyValue>,
        high: Bound<&PropertyValue>,
    ) -> Result<IndexRange> {
        let nothing = |index: &Index| {
            let open = (Bound::Unbounded, Bound::Unbounded);
            IndexRange::new(index.clone(), Vec::new(), open.0, open.1, false)
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
        Ok(IndexRange::new(self.clone(), start, low, high, true))
    }

    /// Nodes whose first values equal `equal` and whose next value lies in `next`, by value, then
    /// by node.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn within(&self, equal: &[PropertyValue], next: &IndexPart<'_>) -> Result<IndexRange> {
        let open = (Bound::Unbounded, Bound::Unbounded);
        let prefix = keys_bytes(equal);
        let test = prefix.as_ref().and_then(|prefix| next.test(prefix.len()));
        let bounds = prefix.and_then(|prefix| next.bounds(prefix));
        let Some((low, high)) = bounds else {
            return Ok(IndexRange::new(
                self.clone(),
                Vec::new(),
                open.0,
                open.1,
                false,
            ));
        };
        let start = bound_key(&low).map_or(&[][..], cut).to_vec();
        Ok(IndexRange::new(self.clone(), start, low, high, true).testing(test))
    }

    /// Whether exactly so many entities are in the index; false where that is not known without
    /// counting.
    #[must_use]
    pub fn holds(&self, entities: u64) -> bool {
        self.overlay().is_none() && self.inner.description.entries == entities
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

    /// Calls `visit` with every page and its kind; of the pages, only inner ones are read.
    pub(crate) fn pages(&self, visit: &mut impl FnMut(PageKind, PageRef)) -> Result<()> {
        match self.inner.description.root {
            None => Ok(()),
            Some(root) => self.pages_below(root, self.inner.description.height, visit),
        }
    }

    fn pages_below(
        &self,
        page: PageRef,
        level: u32,
        visit: &mut impl FnMut(PageKind, PageRef),
    ) -> Result<()> {
        if level == 0 {
            visit(PageKind::IndexLeaf, page);
            return Ok(());
        }
        visit(PageKind::IndexInner, page);
        for child in self.children(page, level, &[], None)? {
            self.pages_below(child, level - 1, visit)?;
        }
        Ok(())
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
            for child in self.children(page, level, &[], None)? {
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

    /// The children of an inner page from the last one whose key is below `from` on, up to those
    /// whose keys are not above `last`.
    fn children(
        &self,
        page: PageRef,
        level: u32,
        from: &[u8],
        last: Option<&[u8]>,
    ) -> Result<Vec<PageRef>> {
        let pages = &self.inner.pages;
        let pin = pages.pin(page, PageKind::IndexInner)?;
        let mut children = Vec::new();
        let scanned = IndexPage::read(&pin, level).and_then(|inner| {
            inner.scan(from, |_, key, child| {
                if last.is_some_and(|last| key > last) {
                    return Ok(false);
                }
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

/// The children of an inner page that may hold a key: the last one below it, which may end with it,
/// and those that begin with it. `from` is as [`IndexPage::search_on`] wants it.
fn children_with(
    inner: IndexPage<'_>,
    key: &[u8],
    from: &mut usize,
) -> Decoded<(Option<PageRef>, Vec<PageRef>)> {
    let (mut first, mut more) = (None, Vec::new());
    inner.search_on(key, from, |order, child| {
        match order {
            Ordering::Equal => more.push(Pages::reference(child)?),
            _ => first = Some(child),
        }
        Ok(true)
    })?;
    Ok((first.map(Pages::reference).transpose()?, more))
}

/// Where a range of whole keys begins or ends.
type KeyBound = Bound<Vec<u8>>;

/// What a value must be, behind those that must equal others.
#[derive(Clone, Copy, Debug)]
pub enum IndexPart<'a> {
    /// Anything.
    All,
    /// Between bounds, as [`Index::range`] sees them; not both are open.
    Range(Bound<&'a PropertyValue>, Bound<&'a PropertyValue>),
    /// Text that begins so.
    StartsWith(&'a str),
    /// Text that contains this.
    Contains(&'a str),
    /// Text that ends so.
    EndsWith(&'a str),
    /// Of a class of comparable values, see [`key`].
    Class(u8),
}

impl IndexPart<'_> {
    /// Classes of comparable values in the order that `ORDER BY` wants; of the ones marked the
    /// order within is another than that of the index.
    pub const CLASSES: [(u8, bool); 13] = [
        (0x30, true),
        (0x2c, false),
        (0x10, true),
        (0x14, false),
        (0x18, false),
        (0x1c, false),
        (0x20, false),
        (0x24, false),
        (0x28, true),
        (0x44, false),
        (0x40, false),
        (0x50, false),
        (0x60, false),
    ];

    /// The class of a value, also of one that no index holds: of a list with null or NaN in it, and
    /// of a point with NaN. Null and NaN have none.
    #[must_use]
    pub fn class_of(value: &PropertyValue) -> Option<u8> {
        let mut key = Vec::new();
        key::put_key(&mut key, value);
        (!key.is_empty()).then(|| class_bounds(&key).0)
    }

    /// Whether an index holds the value.
    #[must_use]
    pub fn has_key(value: &PropertyValue) -> bool {
        key::put_key(&mut Vec::new(), value)
    }

    /// What is tested of each text that lies behind so many bytes of the key.
    fn test(&self, before: usize) -> Option<TextTest> {
        match self {
            IndexPart::Contains(text) => Some(TextTest::new(before, text, false)),
            IndexPart::EndsWith(text) => Some(TextTest::new(before, text, true)),
            _ => None,
        }
    }

    /// Bounds of the whole key; `None` if nothing can lie between them.
    fn bounds(&self, prefix: Vec<u8>) -> Option<(KeyBound, KeyBound)> {
        let with = |more: &[u8]| [&prefix[..], more].concat();
        let below = |key: Vec<u8>| successor(key).map_or(Bound::Unbounded, Bound::Excluded);
        Some(match self {
            IndexPart::All => (Bound::Included(prefix.clone()), below(prefix)),
            IndexPart::Contains(_) | IndexPart::EndsWith(_) => {
                return IndexPart::Class(0x40).bounds(prefix);
            }
            IndexPart::Class(class) => {
                let (first, behind) = class_bounds(&[*class]);
                (
                    Bound::Included(with(&[first])),
                    Bound::Excluded(with(&[behind])),
                )
            }
            IndexPart::StartsWith(text) => {
                let mut key = key_bytes(&PropertyValue::string(text))?;
                key.truncate(key.len() - 2);
                (Bound::Included(with(&key)), below(with(&key)))
            }
            IndexPart::Range(low, high) => {
                let (low, high) = (key_bound(*low)?, key_bound(*high)?);
                let class = bound_key(&low).or(bound_key(&high)).map(class_bounds)?;
                let of_class =
                    |bound| bound_key(bound).is_none_or(|key| class_bounds(key) == class);
                if !of_class(&low) || !of_class(&high) {
                    return None;
                }
                // No key is the beginning of another one, but more values may follow.
                let low = match low {
                    Bound::Included(key) => Bound::Included(with(&key)),
                    Bound::Excluded(key) => Bound::Included(successor(with(&key))?),
                    Bound::Unbounded => Bound::Included(with(&[class.0])),
                };
                let high = match high {
                    Bound::Included(key) => below(with(&key)),
                    Bound::Excluded(key) => Bound::Excluded(with(&key)),
                    Bound::Unbounded => Bound::Excluded(with(&[class.1])),
                };
                (low, high)
            }
        })
    }
}

/// The first key above all that begin with these bytes.
fn successor(mut key: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = key.pop() {
        if last < u8::MAX {
            key.push(last + 1);
            return Some(key);
        }
    }
    None
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

/// A key as the pages of an index hold it.
pub(crate) fn cut(key: &[u8]) -> &[u8] {
    &key[..key.len().min(KEY_BYTES_MAX)]
}

/// The key of several values, not cut; `None` if one of them has none.
pub(crate) fn keys_bytes(values: &[PropertyValue]) -> Option<Vec<u8>> {
    let mut keys = Vec::with_capacity(16);
    let has_key = values.iter().all(|value| key::put_key(&mut keys, value));
    has_key.then_some(keys)
}
