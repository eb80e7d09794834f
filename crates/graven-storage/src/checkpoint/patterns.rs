//! Counts of relationships by the label sets of their ends, kept exact through creations, deletions
//! and changed labels.
//!
//! # How it works
//! A relationship that came counts for the new sets of its ends, one that went is taken from the
//! old ones. The others of a node with changed labels are taken from the old and counted for the
//! new pair: from the forward list of the node, and from its reverse list unless the other end
//! changed too and counts them already.

use super::changes::NodeChange;
use super::merge::{CheckpointMerge, next_if};
use crate::Result;
use crate::ids::{Direction, NodeId, TypeId};
use crate::labels::LabelRuns;
use foldhash::HashSet;

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

/// Brings the patterns of one type up to date. `relabelled` ascends.
pub(super) fn merge(
    merge: &mut CheckpointMerge<'_>,
    rel_type: TypeId,
    new: &LabelRuns,
    relabelled: &[u64],
) -> Result<()> {
    let changes = merge.changes;
    let loaded = merge.loaded_ids(rel_type);
    for change in changes.adjacency(rel_type, Direction::Out) {
        let change = change?;
        let ends = (change.node, change.neighbour);
        if change.added {
            count(merge, rel_type, new, ends, 1);
        } else if merge.was_there(&loaded, change.relationship)? {
            let root = merge.root;
            count(merge, rel_type, &root.labels, ends, -1);
        }
    }
    if relabelled.is_empty() {
        return Ok(());
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
                let root = merge.root;
                count(merge, rel_type, &root.labels, ends, -1);
                count(merge, rel_type, new, ends, 1);
            }
        }
    }
    Ok(())
}

/// Counts a relationship up or down under the label sets that `labels` has for its ends.
fn count(
    merge: &mut CheckpointMerge<'_>,
    rel_type: TypeId,
    labels: &LabelRuns,
    (start, end): (NodeId, NodeId),
    change: i64,
) {
    let (Some(start), Some(end)) = (labels.set_of(start), labels.set_of(end)) else {
        return;
    };
    let patterns = &mut merge.catalog.statistics.patterns;
    let entry = patterns.entry((start, rel_type, end)).or_default();
    *entry = entry.saturating_add_signed(change);
    if *entry == 0 {
        patterns.remove(&(start, rel_type, end));
    }
}
