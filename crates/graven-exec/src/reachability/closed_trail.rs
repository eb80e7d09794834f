//! Whether an undirected closed trail of at most `max` relationships passes through a node.
//!
//! # How it works
//! The shortest closed trail through a node is a cycle. Every relationship of the start opens a
//! *branch*; a breadth-first search gives each node the branch it was first reached by. A
//! relationship between nodes of different branches at depths `d1` and `d2` closes a cycle of
//! `d1 + d2 + 1` relationships, and the shortest cycle contains such a relationship. The nearer of
//! the two ends has depth at most `(max - 1) / 2`, so only that many levels are expanded; the
//! search ends with the first hit.

use std::collections::HashMap;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::filtered_neighbors::FilteredNeighbors;
use super::node_order::Nodes;
use crate::error::Result;
use crate::memory::Memory;

/// Bytes that one labelled node takes.
const ENTRY_BYTES: usize = 48;

/// See the file header.
pub(super) fn exists(
    edges: &FilteredNeighbors<'_>,
    start: u64,
    max: Option<u32>,
    memory: &mut Memory,
) -> Result<bool> {
    let max = max.unwrap_or(u32::MAX);
    let mut closed = false;
    // Branch and depth of each node; a branch is named by its first node (parallel relationships
    // close at once).
    let mut labels: HashMap<u64, (u64, u32), RandomState> = HashMap::default();
    // Entries charged for; given back at the end, because the caller asks for many starts.
    let mut charged = 0;
    let mut frontier = Vec::new();
    edges.visit(Nodes::List(&[start]), |_, skip_loops, ids| {
        ids.for_each(|other| {
            if other == start {
                closed |= !skip_loops;
            } else if labels.insert(other, (other, 1)).is_some() {
                closed |= max >= 2;
            } else {
                frontier.push(other);
            }
        });
        ControlFlow::Continue(())
    })?;
    let mut depth = 1;
    while !closed && !frontier.is_empty() && depth <= (max - 1) / 2 {
        frontier.sort_unstable();
        let mut next = Vec::new();
        let mut refused = None;
        edges.visit(Nodes::List(&frontier), |node, _, ids| {
            if labels.len() + ids.len() > charged {
                let room = labels.len() + ids.len().max(1024);
                if let Err(error) = memory.charge((room - charged) * ENTRY_BYTES) {
                    refused = Some(error);
                    return ControlFlow::Break(());
                }
                charged = room;
            }
            let branch = labels[&node].0;
            ids.for_each(|other| {
                if other == start {
                    return;
                }
                match labels.get(&other) {
                    Some((of, at)) => closed |= *of != branch && depth + at < max,
                    None => {
                        labels.insert(other, (branch, depth + 1));
                        next.push(other);
                    }
                }
            });
            if closed {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if let Some(error) = refused {
            return Err(error);
        }
        frontier = next;
        depth += 1;
    }
    memory.release(charged * ENTRY_BYTES);
    Ok(closed)
}
