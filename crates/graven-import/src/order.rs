//! Final node ids: grouped by label set, inside a group hubs first or as in the files.
//!
//! Groups come in the order their first node was read, so that the ids of a label that spans
//! several sets (`Message` of posts and comments) stay close together.

use std::sync::Arc;

use graven_pagecache::huge_pages;

use crate::error::ImportError;
use crate::options::NodeOrder;
use crate::scratch::Scratch;
use crate::sort::Sorter;
use crate::staged::Staged;

/// The numbering of nodes.
#[derive(Debug)]
pub(crate) struct Order {
    /// Final id by ordinal.
    pub(crate) ids: Vec<u32>,
    /// Label set and number of nodes of each group, in id order.
    pub(crate) groups: Vec<(usize, u64)>,
}

/// Numbers the nodes; `memory` bounds the sort.
pub(crate) fn order(
    staged: &Staged,
    degrees: &[u32],
    by: NodeOrder,
    scratch: &Arc<Scratch>,
    memory: u64,
) -> Result<Order, ImportError> {
    let mut groups: Vec<(usize, u64)> = Vec::new();
    let mut group_of_set = vec![usize::MAX; staged.label_sets.len()];
    let mut sorter = Sorter::new(scratch, memory);
    let mut runs = staged.label_runs.reader();
    let mut ordinal = 0usize;
    while let Some((set, count, _)) = runs.next()? {
        let set = set as usize;
        if group_of_set[set] == usize::MAX {
            group_of_set[set] = groups.len();
            groups.push((set, 0));
        }
        let group = group_of_set[set];
        groups[group].1 += count;
        for degree in &degrees[ordinal..ordinal + count as usize] {
            let rank = match by {
                NodeOrder::Degree => u32::MAX - degree,
                NodeOrder::File => 0,
            };
            sorter.push(
                [(group as u64) << 32 | u64::from(rank), ordinal as u64],
                &[],
            )?;
            ordinal += 1;
        }
    }
    let mut sorted = sorter.finish()?;
    let mut ids = huge_pages::zeros(degrees.len());
    let mut next = 0;
    while let Some((key, _)) = sorted.next()? {
        ids[key[1] as usize] = next;
        next += 1;
    }
    Ok(Order { ids, groups })
}
