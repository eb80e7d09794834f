//! The changes of one property, value by value.

use super::Top;
use crate::Result;
use crate::delta::change::ColumnOf;
use crate::delta::committed::CommittedLayers;
use crate::delta::delta_layer::ValueMap;
use crate::delta::filter_key::{FilterHash, FilterKey};
use crate::delta::immutable_delta::ColumnPart;
use crate::delta::spilled_run::Block;
use crate::version::commit_tail::CommitTail;
use graven_types::PropertyValue;
use std::sync::Arc;

/// Changes of one property.
#[derive(Clone, Debug)]
pub(crate) struct ColumnOverlay {
    committed_base: Option<Arc<[ColumnPart]>>,
    top: Top,
    of: ColumnOf,
}

impl ColumnOverlay {
    /// The committed changes, if there are any.
    pub(crate) fn new(committed_base: &CommittedLayers, of: ColumnOf) -> Option<ColumnOverlay> {
        let committed_base = committed_base.maps(|layer| layer.column(of));
        committed_base.is_some().then(|| ColumnOverlay {
            committed_base,
            top: Top::default(),
            of,
        })
    }

    /// These changes, or none, with others on top.
    pub(crate) fn with_top(committed_base: Option<&ColumnOverlay>, of: ColumnOf, top: Top) -> Self {
        ColumnOverlay {
            committed_base: committed_base.and_then(|it| it.committed_base.clone()),
            top,
            of,
        }
    }

    /// Whether some of `ids` may be among the changes; readers in a transaction look at each.
    pub(crate) fn may_have(&self, ids: &[u64]) -> bool {
        let low = ids.iter().copied().min().unwrap_or(u64::MAX);
        let high = ids.iter().copied().max().unwrap_or(0);
        self.top.write_set.is_some()
            || self.committed_base_parts().any(|part| {
                part.may_have_in(low, high)
                    && (ids.iter()).any(|id| part.may_have(FilterKey::owner(self.of, *id).into()))
            })
            || self.may_have_recent(low, high)
                && self.top.commit_tail.as_ref().is_some_and(|commit_tail| {
                    (ids.iter()).any(|id| commit_tail.touches(FilterKey::owner(self.of, *id)))
                })
    }

    /// Whether the value of `id` is certainly not among the changes; a reader in a transaction has
    /// to look.
    #[inline]
    pub(crate) fn lacks(&self, id: u64) -> bool {
        let about = FilterHash::from(FilterKey::owner(self.of, id));
        let commit_tail = self.top.commit_tail.as_ref();
        self.top.write_set.is_none()
            && commit_tail.is_none_or(|commit_tail| !commit_tail.touches(about))
            && self
                .committed_base_parts()
                .all(|part| !part.may_have(about))
    }

    /// Whether some of the ids from `low` to `high` may be among the changes.
    pub(crate) fn may_have_in(&self, low: u64, high: u64) -> bool {
        let mut committed_base = self.committed_base_parts();
        self.top.write_set.is_some()
            || committed_base.any(|part| part.may_have_in(low, high))
            || self.may_have_recent(low, high)
    }

    fn committed_base_parts(&self) -> impl Iterator<Item = &ColumnPart> {
        self.committed_base.iter().flat_map(|parts| parts.iter())
    }

    fn may_have_recent(&self, low: u64, high: u64) -> bool {
        let commit_tail = self.top.commit_tail.as_ref();
        commit_tail.is_some_and(|commit_tail| {
            low <= high && commit_tail.touches_values(self.of, low..=high)
        })
    }

    /// Fixed for a run of look-ups; tells a serialisable transaction what is read.
    pub(crate) fn reader(&self, ids: &[u64]) -> ColumnReader<'_> {
        let (mut write_set, mut spilled) = (None, Vec::new());
        if let Some(writer) = &self.top.write_set {
            writer.read_column(self.of, ids);
            let (newest, below) = writer.look(|layer| layer.column(self.of).cloned());
            write_set = newest;
            spilled.extend((below.iter().rev()).filter_map(|lower| lower.view().column(self.of)));
        }
        ColumnReader {
            of: self.of,
            write_set,
            spilled,
            commit_tail: self.top.commit_tail.as_deref(),
            committed_base: self.committed_base.as_deref().unwrap_or(&[]),
            blocks: Vec::new(),
        }
    }
}

/// See [`ColumnOverlay::reader`].
pub(crate) struct ColumnReader<'a> {
    of: ColumnOf,
    write_set: Option<ValueMap>,
    /// Older layers of the own transaction, newest first.
    spilled: Vec<ColumnPart>,
    commit_tail: Option<&'a CommitTail>,
    committed_base: &'a [ColumnPart],
    /// For every part, own or committed, what was read of its pages last.
    blocks: Vec<Option<Block<u64, PropertyValue>>>,
}

impl ColumnReader<'_> {
    /// The value of `id` if it was changed; Null if it was removed.
    #[inline]
    pub(crate) fn get(&mut self, id: u64) -> Result<Option<PropertyValue>> {
        if let Some(value) = self.write_set.as_ref().and_then(|map| map.get(id)) {
            return Ok(Some(value.clone()));
        }
        for (at, part) in self.spilled.iter().enumerate() {
            if let Some(found) = find_in(part, at, id, &mut self.blocks)? {
                return Ok(Some(found));
            }
        }
        let about = FilterHash::from(FilterKey::owner(self.of, id));
        let commit_tail = self
            .commit_tail
            .filter(|commit_tail| commit_tail.touches(about));
        if let Some(found) = commit_tail.and_then(|it| it.value(self.of, id)) {
            return Ok(Some(found.clone()));
        }
        for (at, part) in (self.spilled.len()..).zip(self.committed_base) {
            if part.may_have(about)
                && let Some(found) = find_in(part, at, id, &mut self.blocks)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The value of `id` in a part; the last block of its pages is in place `at` of `blocks`.
fn find_in(
    part: &ColumnPart,
    at: usize,
    id: u64,
    blocks: &mut Vec<Option<Block<u64, PropertyValue>>>,
) -> Result<Option<PropertyValue>> {
    match part {
        ColumnPart::Memory(map, _) => Ok(map.get(id).cloned()),
        ColumnPart::Spilled(map) => {
            if blocks.len() <= at {
                blocks.resize_with(at + 1, || None);
            }
            Ok(map.get(&id, &mut blocks[at])?.cloned())
        }
    }
}
