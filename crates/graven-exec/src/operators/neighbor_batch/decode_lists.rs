//! Lays out the lists of some nodes, page by page.
//!
//! # How it works
//! The nodes are visited in id order. The ids of relationships of incoming lists stand in the lists
//! of the other ends: each of those is decoded once, for all nodes together. Where relationships
//! alone are wanted, lists are not decoded at all.

use std::ops::ControlFlow;

use graven_storage::{Direction, IdCursor, NodeId, Sweep};

use super::csr_lists::{EndRanges, is_wanted};
use super::{CsrLists, Entries, Ids, Wanted, charge, distinct_ids, offset};
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::{PatternPart, sweep};
use crate::relationship_runs::RelationshipRuns;

/// So few nodes are looked for in a list, instead of each of its entries among them.
const FEW_NODES: usize = 4;

/// Visits the lists of `nodes` in id order and lays them out.
pub(in crate::operators) fn decode_lists(
    part: &PatternPart,
    nodes: &[u64],
    wanted: Entries,
    ends: EndRanges<'_>,
    memory: &mut Memory,
) -> Result<CsrLists> {
    let mut lists = CsrLists::with_places(0, nodes.len());
    if wanted == Entries::Relationships {
        lay_out_runs(part, nodes, memory, &mut lists)?;
        return Ok(lists);
    }
    let wants_ids = wanted != Entries::Ends;
    if wants_ids && part.direction == Direction::In {
        decode_by_reverse(part, nodes, ends, memory, &mut lists)?;
        return Ok(lists);
    }
    let mut ids = Ids::new(part);
    let mut refused = None;
    let mut relationships = Vec::new();
    let mut cursor = IdCursor::default();
    part.sweep_places(nodes, |at, node, list| {
        let bytes = if wants_ids { 16 } else { 8 };
        if let Err(error) = charge(memory, lists.neighbours.len(), list.len(), bytes) {
            refused = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        let start = offset(lists.neighbours.len());
        let skipped = part.skip_loops.then_some(node.0);
        if let (false, Some(only)) = (wants_ids, list.only()?) {
            if skipped != Some(only) && is_wanted(ends, only) {
                lists.neighbours.push(only);
            }
        } else if wants_ids && ends.is_none() && skipped.is_none() {
            list.append_relationships_at(&mut cursor, 0..list.len(), &mut lists.relationships)?;
            ids.append(list, None, None, &mut lists.neighbours)?;
        } else if wants_ids {
            relationships.clear();
            list.append_relationships_at(&mut cursor, 0..list.len(), &mut relationships)?;
            let mut wanted = Wanted::new(ends, skipped);
            let mut rank = 0;
            ids.for_each(list, |neighbour| {
                if wanted.admits(neighbour) {
                    lists.neighbours.push(neighbour);
                    lists.relationships.push(relationships[rank]);
                }
                rank += 1;
            })?;
        } else {
            ids.append(list, ends, skipped, &mut lists.neighbours)?;
        }
        lists.spans[at] = (start, offset(lists.neighbours.len()));
        Ok(ControlFlow::Continue(()))
    })?;
    refused.map_or(Ok(lists), Err)
}

/// Which relationships the lists hold.
fn lay_out_runs(
    part: &PatternPart,
    nodes: &[u64],
    memory: &mut Memory,
    lists: &mut CsrLists,
) -> Result<()> {
    let mut refused = None;
    let CsrLists { runs, spans, .. } = lists;
    part.adjacency.sweep_ids(nodes, |at, ids| {
        if runs.breaks_at(ids.start)
            && let Err(error) = memory.charge(RelationshipRuns::RUN_BYTES)
        {
            refused = Some(error);
            return ControlFlow::Break(());
        }
        let start = runs.len();
        runs.push(ids);
        let Ok(end) = u32::try_from(runs.len()) else {
            refused = charge(memory, start, runs.len(), 8).err();
            return ControlFlow::Break(());
        };
        let span = &mut spans[at];
        // The list of a node may be several runs.
        if span.0 == span.1 {
            span.0 = offset(start);
        }
        span.1 = end;
        ControlFlow::Continue(())
    })?;
    if let Some(error) = refused {
        return Err(error);
    }
    // The operators that ask for relationships will read a number of each.
    charge(memory, 0, lists.runs.len(), 8)
}

/// Ids of reversed lists stand in the lists of the other ends, each of which is decoded once for
/// all nodes.
fn decode_by_reverse(
    part: &PatternPart,
    nodes: &[u64],
    ends: EndRanges<'_>,
    memory: &mut Memory,
    lists: &mut CsrLists,
) -> Result<()> {
    let mut ids = Ids::new(part);
    let mut refused = None;
    part.sweep_places(nodes, |at, node, list| {
        // Entries with their relationships, and what these are found by.
        if let Err(error) = charge(memory, lists.neighbours.len(), list.len(), 48) {
            refused = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        let start = offset(lists.neighbours.len());
        let skipped = part.skip_loops.then_some(node.0);
        ids.append(list, ends, skipped, &mut lists.neighbours)?;
        lists.spans[at] = (start, offset(lists.neighbours.len()));
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(error) = refused {
        return Err(error);
    }
    lists.relationships = vec![0; lists.neighbours.len()];
    let others = distinct_ids(&lists.neighbours);
    let place_of = PlaceOf::new(nodes, lists.neighbours.len());
    // The entry of each node that comes next: its list ascends, and so do the others.
    let mut next: Vec<u32> = lists.spans.iter().map(|(start, _)| *start).collect();
    let mut order = Vec::with_capacity(lists.neighbours.len());
    let (mut ranks, mut relationships) = (Vec::new(), Vec::new());
    let mut cursor = IdCursor::default();
    sweep(&part.reversed, &others, Sweep::Up, |other, list| {
        ranks.clear();
        let from = order.len();
        // Parallel relationships stand one behind the other in both lists, in the same order.
        let mut meet = |place: usize, rank: usize| {
            let own = next[place] < lists.spans[place].1
                && lists.neighbours[next[place] as usize] == other.0;
            if own {
                order.push(next[place]);
                ranks.push(rank);
                next[place] += 1;
            }
            own
        };
        if nodes.len() <= FEW_NODES {
            ids.find(list, nodes, &mut meet)?;
        } else {
            let mut rank = 0_usize;
            ids.for_each(list, |node| {
                if let Some(place) = place_of.find(nodes, node) {
                    meet(place, rank);
                }
                rank += 1;
            })?;
        }
        let (Some(first), Some(last)) = (ranks.first(), ranks.last()) else {
            return Ok(ControlFlow::Continue(()));
        };
        relationships.clear();
        list.append_relationships_at(&mut cursor, *first..*last + 1, &mut relationships)?;
        for (at, rank) in order[from..].iter().zip(&ranks) {
            lists.relationships[*at as usize] = relationships[rank - first];
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let incomplete = (next.iter().zip(&lists.spans)).position(|(next, (_, end))| next < end);
    if let Some(place) = incomplete {
        // The directions disagree, which the look-up of one node's ids says in full.
        let node = nodes[place];
        part.adjacency.neighbours(NodeId(node), &mut Vec::new())?;
        return Err(part.adjacency.stray_neighbour(node).into());
    }
    lists.order = order;
    Ok(())
}

/// Finds nodes among some that ascend: by a table over their ids where that is not much larger than
/// what is looked for.
struct PlaceOf {
    /// Place plus one of the node `first + i`.
    table: Option<Vec<u32>>,
    first: u64,
}

impl PlaceOf {
    fn new(nodes: &[u64], searches: usize) -> Self {
        let first = nodes.first().copied().unwrap_or(0);
        let span = nodes.last().map_or(0, |last| last - first + 1);
        let size = usize::try_from(span).ok();
        let size = size.filter(|size| size / 8 <= nodes.len().max(searches));
        let table = size.map(|size| {
            let mut table = vec![0; size];
            for (place, node) in (1..).zip(nodes) {
                table[usize::try_from(node - first).expect("within the span")] = place;
            }
            table
        });
        Self { table, first }
    }

    #[inline]
    fn find(&self, nodes: &[u64], node: u64) -> Option<usize> {
        match &self.table {
            Some(table) => {
                let at = usize::try_from(node.wrapping_sub(self.first)).ok()?;
                let place = *table.get(at)?;
                (place as usize).checked_sub(1)
            }
            None => nodes.binary_search(&node).ok(),
        }
    }
}
