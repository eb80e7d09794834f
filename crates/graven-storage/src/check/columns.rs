//! Column segments, label segments, and indexes against their column.

use super::Check;
use crate::Result;
use crate::bytes::Malformed;
use crate::catalog::{IndexDescription, StoreKind};
use crate::column::segment::{ColumnSegment, Stored};
use crate::directory::SegmentEntry;
use crate::ids::NodeId;
use crate::index::Index;
use crate::index::key::{KEY_BYTES_MAX, key_bytes};
use crate::labels::LabelRuns;
use graven_pagecache::{PageKind, PageRef};

/// Index entries compared at once.
const BATCH: usize = 1024;

impl Check<'_> {
    /// Nodes that the segment gives labels.
    pub(super) fn label_segment(&mut self, entry: &SegmentEntry) -> Result<u64> {
        let pages = &self.root.pages;
        let pin = pages.pin(entry.page, PageKind::NodeColumn)?;
        let mut runs = LabelRuns::default();
        let decoded = runs.decode(&pin, self.root.catalog.label_sets.len());
        pages.checked(entry.page, PageKind::NodeColumn, decoded)?;
        Ok(runs.runs().iter().map(|run| run.count).sum())
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
                let decoded = segment.long_value(&bytes).map(|_| ());
                let noted = self.root.pages.checked(head, PageKind::Overflow, decoded);
                self.note("long value", noted)?;
            }
        }
        Ok(values as u64)
    }

    /// Every entry of an index has its node's key, and every node that has a key is in the index.
    pub(super) fn index(&mut self, description: &IndexDescription) -> Result<()> {
        let root = self.root;
        let name = root
            .catalog
            .store_name(StoreKind::Index(description.number));
        let column = description
            .keys
            .first()
            .and_then(|key| root.node_column(*key));
        let index = Index::new(
            root.pages.clone(),
            description.clone(),
            column.iter().cloned().collect(),
            None,
        );
        let mut tree_pages = Vec::new();
        let (mut entries, mut hash) = (0u64, 0u64);
        let scanned = index.scan_all(&mut |page| tree_pages.push(page), &mut |key, node| {
            entries += 1;
            hash = hash.wrapping_add(entry_hash(key, node));
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
        let sets = &root.catalog.label_sets;
        let nodes = root.labels.ranges(|set| {
            description
                .label()
                .is_some_and(|label| sets[set as usize].contains(&label))
        });
        let (mut expected, mut expected_hash) = (0u64, 0u64);
        let mut add = |ids: &[u64]| -> Result<()> {
            let mut values = Vec::new();
            if let Some(column) = &column {
                column.gather(ids, &mut values)?;
            }
            for (id, value) in ids.iter().zip(&values) {
                if let Some(key) = key_bytes(value) {
                    let key = &key[..key.len().min(KEY_BYTES_MAX)];
                    expected += 1;
                    expected_hash = expected_hash.wrapping_add(entry_hash(key, NodeId(*id)));
                }
            }
            Ok(())
        };
        let mut batch = Vec::with_capacity(BATCH);
        for node in nodes.iter() {
            batch.push(node.0);
            if batch.len() == BATCH {
                if add(&batch).is_err() {
                    // The column is damaged and reported with its store.
                    return Ok(());
                }
                batch.clear();
            }
        }
        if add(&batch).is_err() {
            return Ok(());
        }
        if (entries, hash) != (expected, expected_hash) || entries != description.entries {
            let what = format!(
                "{entries} entries, the catalogue says {}; the column has {expected}, or other keys",
                description.entries
            );
            self.problem(name, what);
        }
        Ok(())
    }
}

/// A hash of an index entry; sums over all entries do not depend on their order.
fn entry_hash(key: &[u8], node: NodeId) -> u64 {
    let mixed = key.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    crate::adjacency::writer::pair_hash(mixed, node.0)
}
