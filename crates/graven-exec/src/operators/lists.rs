//! The lists of the nodes of some rows, laid out in memory one behind the other.
//!
//! # How it works
//! The distinct nodes of the rows are visited in id order, part by part of the pattern, so that each page is pinned
//! once; each row knows the place of its node. Ends outside of the wanted id ranges are left out while
//! lists are decoded.

use std::ops::{ControlFlow, Range};

use graven_storage::{Direction, IdCursor, NodeId, Sweep};

use crate::column::Column;
use crate::error::Result;
use crate::id_order::IdOrder;
use crate::memory::Memory;
use crate::pattern::{Part, sweep};

/// Which ends are laid out: ascending disjoint id ranges; all without them.
pub(super) type EndRanges<'a> = Option<&'a [(u64, u64)]>;

/// What of each entry is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entries {
    /// The neighbour.
    Ends,
    /// The neighbour and the relationship.
    Both,
    /// The relationship, whatever the end: for lists that know their ids, and parts that leave nothing out.
    Relationships,
}

/// See the file header.
#[derive(Default)]
pub(super) struct Lists {
    /// The nodes of the rows, and their places.
    nodes: IdOrder,
    first_row: usize,
    pub(super) parts: Vec<PartLists>,
}

/// The lists of one part of a pattern.
#[derive(Default)]
pub(super) struct PartLists {
    /// List of the node at place `i`: `starts[i]..ends[i]`.
    starts: Vec<usize>,
    ends: Vec<usize>,
    /// None if nobody asks.
    pub(super) neighbours: Vec<u64>,
    /// None if nobody asks.
    pub(super) relationships: Vec<u64>,
}

impl PartLists {
    /// Where the list of a place lies.
    pub(super) fn range(&self, place: usize) -> Range<usize> {
        self.starts[place]..self.ends[place]
    }

    /// The neighbours of a place, ascending.
    pub(super) fn list(&self, place: usize) -> &[u64] {
        &self.neighbours[self.range(place)]
    }
}

impl Lists {
    /// Lays out the lists of the nodes in `rows` of `column`.
    ///
    /// # Errors
    /// What reading gives; [`crate::error::ExecError::Memory`] where they do not fit.
    pub(super) fn of_rows(
        parts: &[Part],
        column: &Column,
        rows: Range<usize>,
        wanted: Entries,
        ends: EndRanges<'_>,
        memory: &mut Memory,
    ) -> Result<Self> {
        let first_row = rows.start;
        let nodes = IdOrder::new(rows.map(|row| column.node(row)));
        let parts = parts
            .iter()
            .map(|part| lay_out(part, &nodes.distinct, wanted, ends, memory));
        let parts = parts.collect::<Result<_>>()?;
        Ok(Self {
            nodes,
            first_row,
            parts,
        })
    }

    /// Place of the node of a row; `None` where it is null.
    pub(super) fn place(&self, row: usize) -> Option<usize> {
        self.nodes.place(row - self.first_row)
    }

    /// The node at a place.
    pub(super) fn node(&self, place: usize) -> u64 {
        self.nodes.distinct[place]
    }

    /// Entries of all lists.
    pub(super) fn entries(&self) -> usize {
        let entries = |part: &PartLists| part.neighbours.len().max(part.relationships.len());
        self.parts.iter().map(entries).sum()
    }
}

/// Visits the lists of `nodes` in id order and lays them out.
pub(super) fn lay_out(
    part: &Part,
    nodes: &[u64],
    wanted: Entries,
    ends: EndRanges<'_>,
    memory: &mut Memory,
) -> Result<PartLists> {
    let mut lists = PartLists {
        starts: vec![0; nodes.len()],
        ends: vec![0; nodes.len()],
        ..PartLists::default()
    };
    let wants_ids = wanted != Entries::Ends;
    if wants_ids && part.direction == Direction::In {
        lay_out_reversed(part, nodes, ends, memory, &mut lists)?;
        return Ok(lists);
    }
    let mut ids = Ids::new(part);
    let mut refused = None;
    let mut relationships = Vec::new();
    let mut cursor = IdCursor::default();
    let mut at = 0;
    part.sweep(nodes, Sweep::Up, |node, list| {
        while nodes[at] != node.0 {
            at += 1;
        }
        if let Err(error) = memory.charge(list.len() * if wants_ids { 16 } else { 8 }) {
            refused = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        lists.starts[at] = lists.neighbours.len();
        let skipped = part.skip_loops.then_some(node.0);
        if wanted == Entries::Relationships {
            relationships.clear();
            list.append_relationships_at(&mut cursor, 0..list.len(), &mut relationships)?;
            lists.starts[at] = lists.relationships.len();
            lists
                .relationships
                .extend(relationships.iter().map(|id| id.0));
            lists.ends[at] = lists.relationships.len();
            return Ok(ControlFlow::Continue(()));
        }
        if let (false, Some(only)) = (wants_ids, list.only()?) {
            if skipped != Some(only) && is_wanted(ends, only) {
                lists.neighbours.push(only);
            }
        } else if wants_ids && ends.is_none() && skipped.is_none() {
            relationships.clear();
            list.append_relationships_at(&mut cursor, 0..list.len(), &mut relationships)?;
            ids.append(list, &mut lists.neighbours)?;
            lists
                .relationships
                .extend(relationships.iter().map(|id| id.0));
        } else if wants_ids {
            relationships.clear();
            list.append_relationships_at(&mut cursor, 0..list.len(), &mut relationships)?;
            let mut wanted = Wanted::new(ends, skipped);
            let mut rank = 0;
            ids.for_each(list, |neighbour| {
                if wanted.admits(neighbour) {
                    lists.neighbours.push(neighbour);
                    lists.relationships.push(relationships[rank].0);
                }
                rank += 1;
            })?;
        } else if ends.is_none() && skipped.is_none() {
            ids.append(list, &mut lists.neighbours)?;
        } else {
            let mut wanted = Wanted::new(ends, skipped);
            ids.for_each(list, |neighbour| {
                if wanted.admits(neighbour) {
                    lists.neighbours.push(neighbour);
                }
            })?;
        }
        lists.ends[at] = lists.neighbours.len();
        Ok(ControlFlow::Continue(()))
    })?;
    refused.map_or(Ok(lists), Err)
}

/// Ids of reversed lists stand in the lists of the other ends, each of which is decoded once for all nodes.
fn lay_out_reversed(
    part: &Part,
    nodes: &[u64],
    ends: EndRanges<'_>,
    memory: &mut Memory,
    lists: &mut PartLists,
) -> Result<()> {
    let mut ids = Ids::new(part);
    let mut refused = None;
    let mut at = 0;
    part.sweep(nodes, Sweep::Up, |node, list| {
        while nodes[at] != node.0 {
            at += 1;
        }
        // Entries with their relationships, and what these are found by.
        if let Err(error) = memory.charge(48 * list.len()) {
            refused = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        lists.starts[at] = lists.neighbours.len();
        let mut wanted = Wanted::new(ends, part.skip_loops.then_some(node.0));
        ids.for_each(list, |neighbour| {
            if wanted.admits(neighbour) {
                lists.neighbours.push(neighbour);
            }
        })?;
        lists.ends[at] = lists.neighbours.len();
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(error) = refused {
        return Err(error);
    }
    lists.relationships = vec![0; lists.neighbours.len()];
    // Other end, node, where the first of equal entries stands, how many are left; ascending.
    let mut wanted: Vec<(u64, u64, usize, usize)> = Vec::with_capacity(lists.neighbours.len());
    for (place, node) in nodes.iter().enumerate() {
        let mut at = lists.starts[place];
        for equal in lists.list(place).chunk_by(|a, b| a == b) {
            wanted.push((equal[0], *node, at, equal.len()));
            at += equal.len();
        }
    }
    wanted.sort_unstable();
    let mut others: Vec<u64> = wanted.iter().map(|(other, ..)| *other).collect();
    others.dedup();
    let mut relationships = Vec::new();
    let mut next = 0;
    let mut stray = None;
    sweep(&part.reversed, &others, Sweep::Up, |other, list| {
        relationships.clear();
        list.append_relationships(0..list.len(), &mut relationships)?;
        let mut rank = 0;
        ids.for_each(list, |node| {
            while next < wanted.len() && (wanted[next].0, wanted[next].1) < (other.0, node) {
                stray.get_or_insert(wanted[next].1);
                next += 1;
            }
            if let Some((of, end, at, left)) = wanted.get_mut(next)
                && (*of, *end) == (other.0, node)
            {
                // Parallel relationships stand one behind the other in both lists, in the same order.
                lists.relationships[*at] = relationships[rank].0;
                (*at, *left) = (*at + 1, *left - 1);
                next += usize::from(*left == 0);
            }
            rank += 1;
        })?;
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(node) = stray.or_else(|| wanted.get(next).map(|(_, node, ..)| *node)) {
        // The directions disagree, which the look-up of one node's ids says in full.
        part.adjacency.neighbours(NodeId(node), &mut Vec::new())?;
        return Err(part.adjacency.stray_neighbour(node).into());
    }
    Ok(())
}

/// Whether a single entry is wanted.
fn is_wanted(ranges: EndRanges<'_>, node: u64) -> bool {
    let Some(ranges) = ranges else {
        return true;
    };
    if let [only] = ranges {
        return (only.0..only.1).contains(&node);
    }
    let at = ranges.partition_point(|range| range.1 <= node);
    at < ranges.len() && ranges[at].0 <= node
}

/// Judges the ascending entries of a list.
struct Wanted<'a> {
    ranges: EndRanges<'a>,
    at: usize,
    /// The node itself, where loops are met in another part.
    skipped: Option<u64>,
}

impl<'a> Wanted<'a> {
    fn new(ranges: EndRanges<'a>, skipped: Option<u64>) -> Self {
        Self {
            ranges,
            at: 0,
            skipped,
        }
    }

    #[inline]
    fn admits(&mut self, node: u64) -> bool {
        if self.skipped == Some(node) {
            return false;
        }
        let Some(ranges) = self.ranges else {
            return true;
        };
        if self.at < ranges.len() && ranges[self.at].1 <= node {
            self.at += ranges[self.at..].partition_point(|range| range.1 <= node);
        }
        self.at < ranges.len() && ranges[self.at].0 <= node
    }
}

/// Decodes lists of narrow or wide ids.
pub(super) struct Ids {
    narrow: bool,
    scratch: Vec<u32>,
    wide: Vec<u64>,
}

impl Ids {
    /// For the lists of `part`.
    pub(super) fn new(part: &Part) -> Self {
        Self {
            narrow: part.adjacency.ids_fit_u32(),
            scratch: Vec::new(),
            wide: Vec::new(),
        }
    }

    /// Calls `visit` for each neighbour, ascending.
    pub(super) fn for_each(
        &mut self,
        list: &graven_storage::List<'_>,
        mut visit: impl FnMut(u64),
    ) -> graven_storage::Result<()> {
        if self.narrow {
            for id in list.decode(&mut self.scratch)? {
                visit(u64::from(*id));
            }
        } else {
            for id in list.decode_wide(&mut self.wide)? {
                visit(*id);
            }
        }
        Ok(())
    }

    /// Appends the neighbours, ascending.
    fn append(
        &mut self,
        list: &graven_storage::List<'_>,
        to: &mut Vec<u64>,
    ) -> graven_storage::Result<()> {
        if self.narrow {
            let ids = list.decode(&mut self.scratch)?;
            to.extend(ids.iter().map(|id| u64::from(*id)));
        } else {
            to.extend_from_slice(list.decode_wide(&mut self.wide)?);
        }
        Ok(())
    }
}
