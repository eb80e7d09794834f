//! Merging the labels: runs merged with the nodes that came, went or changed; touched segments
//! written anew.

use super::changes::NodeChange;
use super::merge::{CheckpointMerge, Counts, MergedStore, StoreChanges};
use crate::Result;
use crate::catalog::StoreKind;
use crate::directory::SegmentEntry;
use crate::id_runs::{Run, Runs};
use crate::labels::{LabelRuns, label_set};
use crate::page_output::PageOutput;
use graven_pagecache::PageKind;
use std::iter::Peekable;

/// Memory is charged after so many changed nodes.
const CHARGE_EVERY: usize = 4096;

/// The label runs of the result, or `None` if no node changed.
pub(super) fn merge(merge: &mut CheckpointMerge<'_>) -> Result<Option<LabelRuns>> {
    let segments = merge.own.base_segments(StoreKind::NodeLabels)?;
    let mut touched = vec![false; segments.len()];
    let Some(runs) = merge_runs(merge, |node| {
        let behind = segments.partition_point(|segment| segment.first <= node);
        if let Some(touched) = touched.get_mut(behind.saturating_sub(1)) {
            *touched = true;
        }
    })?
    else {
        return Ok(None);
    };
    let mut ledger = StoreChanges::default();
    let mut written = Vec::with_capacity(segments.len());
    if segments.is_empty() {
        write(merge, &runs, (0, u64::MAX), &mut ledger, &mut written)?;
    }
    for (at, segment) in segments.iter().enumerate() {
        if !touched[at] {
            written.push(*segment);
            continue;
        }
        merge.own.free(segment.page, &mut ledger)?;
        let first = if at == 0 { 0 } else { segment.first };
        let end = segments.get(at + 1).map_or(u64::MAX, |next| next.first);
        write(merge, &runs, (first, end), &mut ledger, &mut written)?;
    }
    let mut counts = vec![0; merge.catalog.label_sets.len()];
    for run in runs.runs() {
        counts[run.number as usize] += run.count;
    }
    let nodes = counts.iter().sum::<u64>();
    ledger.entries = nodes as i64 - merge.root.catalog.statistics.nodes as i64;
    merge.catalog.statistics.nodes = nodes;
    merge.catalog.statistics.label_set_nodes = counts;
    merge.put(MergedStore {
        kind: StoreKind::NodeLabels,
        segments: written,
        changes: ledger,
        sketch: None,
        counts: Counts::default(),
    });
    Ok(Some(runs))
}

/// Writes the runs of the nodes `first..end`.
fn write(
    merge: &mut CheckpointMerge<'_>,
    runs: &LabelRuns,
    (first, end): (u64, u64),
    ledger: &mut StoreChanges,
    written: &mut Vec<SegmentEntry>,
) -> Result<()> {
    let mut part = LabelRuns::default();
    for run in runs.runs_from(first).take_while(|run| run.first < end) {
        let count = run.end().min(end) - run.first;
        part.push(Run { count, ..run });
    }
    for (first, nodes, payload) in part.encode() {
        let page = merge
            .output
            .front()
            .append(PageKind::NodeColumn, &payload)?;
        ledger.added.add(page);
        written.push(SegmentEntry {
            first,
            page,
            extra: nodes,
        });
    }
    Ok(())
}

/// The runs of the base with the changes in them; `visit` is told every node that changed.
fn merge_runs(
    merge: &mut CheckpointMerge<'_>,
    mut visit: impl FnMut(u64),
) -> Result<Option<LabelRuns>> {
    let mut changes = merge.changes.nodes().peekable();
    if changes.peek().is_none() {
        return Ok(None);
    }
    let mut old = OldRuns {
        runs: merge.root.labels.runs().peekable(),
        next: 0,
    };
    let mut merged = LabelRuns::default();
    let mut charged = 0;
    for (at, change) in changes.enumerate() {
        let (node, change) = change?;
        if at % CHARGE_EVERY == 0 {
            let more = merged.memory_bytes().saturating_sub(charged);
            merge.own.charge(more)?;
            charged += more;
        }
        visit(node.0);
        old.copy_until(node.0, &mut merged);
        old.next = old.next.max(node.0 + 1);
        let labels = match change {
            NodeChange::Deleted => continue,
            NodeChange::Created(labels) | NodeChange::Labels(labels) => label_set(&labels),
        };
        merged.push(Run {
            first: node.0,
            count: 1,
            number: merge.catalog.label_sets.intern(&labels),
        });
    }
    old.copy_until(u64::MAX, &mut merged);
    merged.finish();
    Ok(Some(merged))
}

/// The runs of the base that were not copied yet.
struct OldRuns<'a> {
    runs: Peekable<Runs<'a>>,
    /// First node not copied.
    next: u64,
}

impl OldRuns<'_> {
    fn copy_until(&mut self, end: u64, out: &mut LabelRuns) {
        while let Some(run) = self.runs.peek().copied().filter(|run| run.first < end) {
            let first = run.first.max(self.next);
            let stop = run.end().min(end);
            if first < stop {
                let count = stop - first;
                out.push(Run {
                    first,
                    count,
                    ..run
                });
            }
            if run.end() > end {
                break;
            }
            self.runs.next();
        }
        self.next = self.next.max(end);
    }
}
