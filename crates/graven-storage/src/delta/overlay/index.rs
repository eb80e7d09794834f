//! The changes of one index: entries that came and went.

use super::Top;
use crate::Result;
use crate::delta::change::Change;
use crate::delta::change::IndexKey;
use crate::delta::committed::CommittedLayers;
use crate::delta::filter_key::{FilterHash, FilterKey};
use crate::delta::immutable_delta::{DeltaPart, DeltaView};
use std::ops::Bound;
use std::sync::Arc;

/// Changed entries of an index in the committed layers, newest first; none if there are no changes.
pub(crate) type IndexParts = Option<Arc<[DeltaPart<IndexKey, Change>]>>;

/// Changes of one index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexOverlay<'a> {
    pub(crate) committed_base: &'a [DeltaPart<IndexKey, Change>],
    pub(crate) top: &'a Top,
    pub(crate) number: u32,
}

impl IndexOverlay<'_> {
    /// The committed changes.
    pub(crate) fn committed_base(committed_base: &CommittedLayers, number: u32) -> IndexParts {
        committed_base.maps(|layer| layer.index(number))
    }

    /// For looking up keys.
    pub(crate) fn equal_keys(&self) -> EqualKeys<'_> {
        EqualKeys {
            own: self.top.own_maps(|layer| layer.index(self.number)),
            overlay: self,
        }
    }

    /// The maps as of now. Tells a serialisable transaction the range that is read: keys from `low`
    /// to `high` inclusive, cut; `None`: to the end.
    pub(crate) fn entries(&self, low: &[u8], high: Option<&[u8]>) -> IndexEntries {
        if let Some(write_set) = &self.top.write_set {
            write_set.read_index(self.number, low, high);
        }
        let mut newest_first = self.top.maps(|layer| layer.index(self.number));
        newest_first.extend(self.committed_base.iter().cloned());
        IndexEntries { newest_first }
    }
}

/// Changed entries of an index, for looking up keys.
pub(crate) struct EqualKeys<'a> {
    overlay: &'a IndexOverlay<'a>,
    /// Of the own transaction, newest first.
    own: Vec<DeltaPart<IndexKey, Change>>,
}

impl EqualKeys<'_> {
    /// Tells a serialisable transaction that the key is read.
    pub(crate) fn read(&self, key: &[u8]) {
        if let Some(write_set) = &self.overlay.top.write_set {
            write_set.read_index(self.overlay.number, key, Some(key));
        }
    }

    /// Whether no key was changed.
    pub(crate) fn are_unchanged(&self) -> bool {
        self.overlay.committed_base.is_empty() && !self.has_top()
    }

    /// Whether there are changes on top of the committed layers.
    pub(crate) fn has_top(&self) -> bool {
        let about = FilterKey::Index(self.overlay.number);
        let commit_tail = self.overlay.top.commit_tail.as_ref();
        !self.own.is_empty() || commit_tail.is_some_and(|it| it.touches(about))
    }

    /// Makes of the ids that the tree has under `key`, those from place `from` of `ids` on, the ids
    /// that there are now, ascending. Tells a serialisable transaction that the key is read. Stops
    /// once there are more than `most`.
    pub(crate) fn merge(
        &self,
        key: &[u8],
        from: usize,
        most: usize,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        self.read(key);
        let IndexOverlay {
            committed_base,
            top,
            number,
        } = *self.overlay;
        let about = FilterHash::from(FilterKey::Key(number, key));
        let commit_tail = top.commit_tail.as_ref().filter(|it| it.touches(about));
        let commit_tail = commit_tail.into_iter().flat_map(|it| it.newest_first());
        let commit_tail = commit_tail.filter_map(|layer| DeltaView::Memory(layer).index(number));
        let commit_tail: Vec<_> = commit_tail.collect();
        let newest_first = (self.own.iter()).chain(&commit_tail).chain(committed_base);
        let mut known: Vec<u64> = Vec::new();
        let mut few = true;
        // Most layers know nothing of a key, and to look for it takes a fifth of beginning a range.
        for map in newest_first.filter(|map| map.may_have(about, key)) {
            let first: IndexKey = (key.into(), 0);
            map.visit(Bound::Included(&first), &mut |(of, id), change| {
                if **of != *key {
                    return false;
                }
                // The newest layer that knows an entry is right.
                if !known.contains(id) {
                    known.push(*id);
                    let place = ids[from..].iter().position(|other| other == id);
                    match (change, place) {
                        (Change::Added, None) => ids.push(*id),
                        (Change::Added, Some(_)) | (_, None) => {}
                        (_, Some(place)) => {
                            ids.remove(from + place);
                        }
                    }
                }
                few = ids.len() - from <= most;
                few
            })?;
            if !few {
                return Ok(());
            }
        }
        if !known.is_empty() {
            ids[from..].sort_unstable();
        }
        Ok(())
    }
}

/// Changed entries of an index, fixed for one range.
#[derive(Clone, Debug)]
pub(crate) struct IndexEntries {
    newest_first: Vec<DeltaPart<IndexKey, Change>>,
}

impl IndexEntries {
    /// What is known of an entry.
    pub(crate) fn get(&self, key: &Arc<[u8]>, id: u64) -> Result<Option<Change>> {
        let wanted = (key.clone(), id);
        for map in &self.newest_first {
            let known = map.get(&wanted, &mut None)?;
            if known.is_some() {
                return Ok(known);
            }
        }
        Ok(None)
    }

    /// The first entry from `from` on, with what is known of it.
    pub(crate) fn next(&self, from: Bound<&IndexKey>) -> Result<Option<(IndexKey, Change)>> {
        let mut first: Option<(IndexKey, Change)> = None;
        for map in &self.newest_first {
            if let Some((key, change)) = map.next(from)?
                && first.as_ref().is_none_or(|(known, _)| key < *known)
            {
                first = Some((key, change));
            }
        }
        Ok(first)
    }

    /// The last entry up to `to`, with what is known of it.
    pub(crate) fn previous(&self, to: Bound<&IndexKey>) -> Result<Option<(IndexKey, Change)>> {
        let mut last: Option<(IndexKey, Change)> = None;
        for map in &self.newest_first {
            if let Some((key, change)) = map.previous(to)?
                && last.as_ref().is_none_or(|(known, _)| key > *known)
            {
                last = Some((key, change));
            }
        }
        Ok(last)
    }
}
