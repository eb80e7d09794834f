//! Column segments, label segments, and indexes against what they index.

use super::Check;
use crate::Result;
use crate::bytes::Malformed;
use crate::catalog::{IndexDescription, StoreKind};
use crate::column::segment::{ColumnSegment, Stored};
use crate::directory::SegmentEntry;
use crate::ids::NodeId;
use crate::index::{Index, cut, keys_bytes};
use crate::labels::LabelRuns;
use crate::long_bytes::held;
use crate::snapshot::Snapshot;
use crate::transaction::schema_change::for_each_entity;
use crate::version::Version;
use graven_pagecache::{PageKind, PageRef};
use graven_types::PropertyValue;
use std::sync::Arc;

impl Check<'_> {
    /// Nodes that the segment gives labels.
    pub(super) fn label_segment(&mut self, entry: &SegmentEntry) -> Result<u64> {
        let pages = &self.root.pages;
        let pin = pages.pin(entry.page, PageKind::NodeColumn)?;
        let mut runs = LabelRuns::default();
        let decoded = runs.decode(&pin, self.root.catalog.label_sets.len());
        pages.checked(entry.page, PageKind::NodeColumn, decoded)?;
        Ok(runs.runs().map(|run| run.count).sum())
    }

    /// Values of the segment, each decoded; chains are followed.
    pub(super) fn column_segment(
        &mut self,
        kind: PageKind,
        entry: &SegmentEntry,
        end: u64,
    ) -> Result<u64> {
        let mut chains: Vec<PageRef> = Vec::new();
        let pages = &self.root.pages;
        let pin = pages.pin(entry.page, kind)?;
        let segment = pages.checked(entry.page, kind, ColumnSegment::read(&pin))?;
        let limit = match kind {
            PageKind::NodeColumn => self.root.catalog.next_node,
            _ => self.root.catalog.next_relationship,
        };
        let mut values = 0;
        for id in segment.ids() {
            if segment.rank(id) != Some(values) {
                let what = format!("value {values} has rank {:?}", segment.rank(id));
                return pages.checked(entry.page, kind, Err(Malformed(what)));
            }
            if let Stored::Overflow(head) =
                pages.checked(entry.page, kind, segment.value(values))?
            {
                chains.push(head);
            }
            values += 1;
        }
        let placed = segment.first() == entry.first && segment.end() <= end.min(limit);
        if !placed || values != segment.count() || entry.extra != values as u64 {
            let what = format!(
                "{values} values for ids {}..{} do not fit the entry in the directory ({entry:?})",
                segment.first(),
                segment.end()
            );
            return pages.checked(entry.page, kind, Err(Malformed(what)));
        }
        for head in chains {
            if let Some(bytes) = self.chain("long value", head, PageKind::Overflow)? {
                let _decoded = held(self.root.pages.budget(), bytes.len());
                let decoded = segment.long_value(&bytes).map(|_| ());
                let noted = self.root.pages.checked(head, PageKind::Overflow, decoded);
                self.note("long value", noted)?;
            }
        }
        Ok(values as u64)
    }

    /// Every entry of an index has the key of its node or relationship, and all that have a key are
    /// in the index.
    pub(super) fn index(&mut self, description: &IndexDescription) -> Result<()> {
        let root = self.root;
        let name = root
            .catalog
            .store_name(StoreKind::Index(description.number));
        let index = Index::new(root.pages.clone(), description.clone(), Vec::new(), None);
        let mut tree_pages = Vec::new();
        let (mut entries, mut hash) = (0u64, 0u64);
        let scanned = index.scan_all(&mut |page| tree_pages.push(page), &mut |key, of| {
            entries += 1;
            hash = hash.wrapping_add(entry_hash(key, of));
        });
        let failed = scanned.is_err();
        self.note(&name, scanned)?;
        tree_pages
            .into_iter()
            .try_for_each(|page| self.page(page))?;
        if failed {
            return Ok(());
        }
        self.report.entries += entries;
        let (expected, expected_hash) = match self.keys(description) {
            Ok(found) => found,
            // Labels, lists or a column are damaged and reported with their store.
            Err(error) if error.is_damage() => return Ok(()),
            Err(error) => return Err(error),
        };
        if (entries, hash) != (expected, expected_hash) || entries != description.entries {
            let what = format!(
                "{entries} entries, the catalogue says {}; the data has {expected}, or other keys",
                description.entries
            );
            self.problem(name, what);
        }
        Ok(())
    }

    /// How many entries an index is to have, and the sum of their hashes.
    fn keys(&self, description: &IndexDescription) -> Result<(u64, u64)> {
        let view = Snapshot::new(Arc::new(Version::of(self.root.clone(), 0, 0)));
        let columns = description.keys.iter();
        let columns: Option<Vec<_>> = columns
            .map(|key| view.column_of(description.entity, *key))
            .collect();
        let Some(columns) = columns else {
            return Ok((0, 0));
        };
        let (mut count, mut hash) = (0u64, 0u64);
        for_each_entity(&view, description.entity, &mut |ids| {
            let mut add = |id: u64, key: &[PropertyValue]| {
                if let Some(key) = keys_bytes(key) {
                    count += 1;
                    hash = hash.wrapping_add(entry_hash(cut(&key), NodeId(id)));
                }
            };
            if let [column] = &columns[..] {
                return column.each(ids, |id, value| {
                    add(id, std::slice::from_ref(value));
                    Ok(())
                });
            }
            for id in ids {
                let key: Result<Vec<_>> = columns.iter().map(|column| column.get(*id)).collect();
                add(*id, &key?);
            }
            Ok(())
        })?;
        Ok((count, hash))
    }
}

/// A hash of an index entry; sums over all entries do not depend on their order.
fn entry_hash(key: &[u8], node: NodeId) -> u64 {
    let mixed = key.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    crate::adjacency::writer::pair_hash(mixed, node.0)
}
