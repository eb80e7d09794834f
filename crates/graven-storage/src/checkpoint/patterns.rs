//! Counts of relationships by the label sets of their ends, kept exact through creations, deletions
//! and changed labels.
//!
//! # How it works
//! A relationship that came counts for the new sets of its ends, one that went is taken from the
//! old ones. The others of a node with changed labels are taken from the old and counted for the
//! new pair: from the forward list of the node, and from its reverse list unless the other end
//! changed too and counts them already.

use super::changes::{Changes, NodeChange};
use super::merge::{CheckpointMerge, StoreMerge, next_if};
use crate::Result;
use crate::ids::{Direction, NodeId, TypeId};
use crate::labels::LabelRuns;
use foldhash::{HashMap, HashSet};

/// Nodes of the base whose labels changed, ascending.
pub(super) fn relabelled(merge: &CheckpointMerge<'_>) -> Result<Vec<u64>> {
    let mut nodes = Vec::new();
    for change in merge.changes.nodes() {
        let (node, change) = change?;
        let existed = merge.root.labels.set_of(node).is_some();
        if existed && matches!(change, NodeChange::Labels(_) | NodeChange::Created(_)) {
            nodes.push(node.0);
        }
    }
    Ok(nodes)
}

/// How many more relationships of one type there are for a pair of label sets.
pub(super) type PatternChanges = HashMap<(u32, u32), i64>;

/// What the changes do to the patterns of one type. `relabelled` ascends.
pub(super) fn changes_of(
    merge: &StoreMerge<'_>,
    changes: &dyn Changes,
    rel_type: TypeId,
    new: &LabelRuns,
    relabelled: &[u64],
) -> Result<PatternChanges> {
    let mut patterns = PatternChanges::default();
    let mut count = |labels: &LabelRuns, (start, end): (NodeId, NodeId), by| {
        if let (Some(start), Some(end)) = (labels.set_of(start), labels.set_of(end)) {
            *patterns.entry((start, end)).or_default() += by;
        }
    };
    let loaded = merge.loaded_ids(rel_type);
    for change in changes.adjacency(rel_type, Direction::Out) {
        let change = change?;
        let ends = (change.node, change.neighbour);
        if change.added {
            count(new, ends, 1);
        } else if merge.was_there(&loaded, change.relationship)? {
            count(&merge.root.labels, ends, -1);
        }
    }
    if relabelled.is_empty() {
        return Ok(patterns);
    }
    let changed: HashSet<u64> = relabelled.iter().copied().collect();
    for direction in [Direction::Out, Direction::In] {
        let lists = merge.root.adjacency(rel_type, direction);
        let mut gone = changes.adjacency(rel_type, direction).peekable();
        let mut neighbours = Vec::new();
        for node in relabelled {
            neighbours.clear();
            lists.with_list(NodeId(*node), |list| {
                list.decode_wide(&mut neighbours).map(|_| ())
            })?;
            while next_if(&mut gone, |change| change.node.0 < *node)?.is_some() {}
            let mut removed = Vec::new();
            while let Some(change) = next_if(&mut gone, |change| change.node.0 == *node)? {
                if !change.added {
                    removed.push(change.neighbour.0);
                }
            }
            let mut removed = removed.into_iter().peekable();
            for neighbour in neighbours.iter().copied() {
                while removed.next_if(|gone| *gone < neighbour).is_some() {}
                if removed.next_if_eq(&neighbour).is_some()
                    || direction == Direction::In && changed.contains(&neighbour)
                {
                    continue;
                }
                let ends = match direction {
                    Direction::Out => (NodeId(*node), NodeId(neighbour)),
                    Direction::In => (NodeId(neighbour), NodeId(*node)),
                };
                count(&merge.root.labels, ends, -1);
                count(new, ends, 1);
            }
        }
    }
    Ok(patterns)
}

/// Brings the patterns of one type up to date.
pub(super) fn apply(merge: &mut CheckpointMerge<'_>, rel_type: TypeId, changes: PatternChanges) {
    let patterns = &mut merge.catalog.statistics.patterns;
    for ((start, end), by) in changes {
        let entry = patterns.entry((start, rel_type, end)).or_default();
        *entry = entry.saturating_add_signed(by);
        if *entry == 0 {
            patterns.remove(&(start, rel_type, end));
        }
    }
}
