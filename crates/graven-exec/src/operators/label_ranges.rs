//! Id ranges of the nodes with given labels.

use crate::error::Result;
use crate::query_context::QueryContext;
use std::sync::Arc;

/// Id ranges of the nodes with all `labels` that can be ends of relationships.
pub(super) fn end_ranges(labels: &[Arc<str>], rt: &QueryContext) -> Result<Vec<(u64, u64)>> {
    let mut ranges: Option<Vec<(u64, u64)>> = None;
    for label in labels {
        let of_label = match rt.label_id(label) {
            Some(label) => rt.label_ranges(label)?,
            None => Vec::new(),
        };
        ranges = Some(match ranges {
            None => of_label,
            Some(others) => intersect(&others, &of_label),
        });
    }
    ranges.map_or_else(|| rt.possible_ends(), Ok)
}

/// Ranges common to both lists; each ascends and is disjoint.
pub(super) fn intersect(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut common = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (from, to) = (a[i].0.max(b[j].0), a[i].1.min(b[j].1));
        if from < to {
            common.push((from, to));
        }
        if a[i].1 < b[j].1 { i += 1 } else { j += 1 }
    }
    common
}
