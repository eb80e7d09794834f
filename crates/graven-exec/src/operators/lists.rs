//! The lists of the nodes of some rows, laid out in memory one behind the other.
//!
//! # How it works
//! The distinct nodes of the rows are visited in id order, part by part of the pattern, so that each page is pinned
//! once; each row knows the place of its node. Ends outside of the wanted id ranges are left out while
//! lists are decoded.

use std::ops::{ControlFlow, Range};

use graven_storage::{Direction, NodeId, Sweep};

use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::Part;

/// The place of a row without a node.
const NOWHERE: u32 = u32::MAX;

/// Which ends are laid out: ascending disjoint id ranges; all without them.
pub(super) type EndRanges<'a> = Option<&'a [(u64, u64)]>;

/// See the file header.
#[derive(Default)]
pub(super) struct Lists {
    /// Place of the node of each row.
    places: Vec<u32>,
    first_row: usize,
    /// Ascending, distinct; the node at each place.
    nodes: Vec<u64>,
    pub(super) parts: Vec<PartLists>,
}

/// The lists of one part of a pattern.
#[derive(Default)]
pub(super) struct PartLists {
    /// List of the node at place `i`: `starts[i]..ends[i]`.
    starts: Vec<usize>,
    ends: Vec<usize>,
    pub(super) neighbours: Vec<u64>,
    /// As many as neighbours, or none if nobody asks.
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
        wants_ids: bool,
        ends: EndRanges<'_>,
        memory: &mut Memory,
    ) -> Result<Self> {
        let first_row = rows.start;
        let mut places = vec![NOWHERE; rows.len()];
        let mut nodes: Vec<u64> = Vec::with_capacity(rows.len());
        for (node, row) in by_node(column, rows) {
            if nodes.last() != Some(&node) {
                nodes.push(node);
            }
            places[row as usize] = u32::try_from(nodes.len() - 1).expect("a batch is small");
        }
        let parts = parts
            .iter()
            .map(|part| lay_out(part, &nodes, wants_ids, ends, memory));
        let parts = parts.collect::<Result<_>>()?;
        Ok(Self {
            places,
            first_row,
            nodes,
            parts,
        })
    }

    /// Place of the node of a row; `None` where it is null.
    pub(super) fn place(&self, row: usize) -> Option<usize> {
        let place = self.places[row - self.first_row];
        (place != NOWHERE).then_some(place as usize)
    }

    /// The node at a place.
    pub(super) fn node(&self, place: usize) -> u64 {
        self.nodes[place]
    }

    /// Entries of all lists.
    pub(super) fn entries(&self) -> usize {
        self.parts.iter().map(|p| p.neighbours.len()).sum()
    }

    /// Distinct nodes.
    pub(super) fn distinct(&self) -> usize {
        self.nodes.len()
    }
}

/// The nodes of the rows, ascending, each with its row counted from the first.
fn by_node(column: &Column, rows: Range<usize>) -> Vec<(u64, u32)> {
    let mut pairs: Vec<(u64, u32)> = Vec::with_capacity(rows.len());
    let (mut ascending, mut highest) = (true, 0);
    for (at, row) in (0..).zip(rows.clone()) {
        if let Some(node) = column.node(row) {
            ascending &= highest <= node;
            highest = highest.max(node);
            pairs.push((node, at));
        }
    }
    if ascending {
        return pairs;
    }
    // Node and row in one number are sorted in a third of the time.
    let bits = usize::BITS - rows.len().leading_zeros();
    if highest.leading_zeros() >= bits {
        let mut packed: Vec<u64> = pairs
            .iter()
            .map(|(node, row)| node << bits | u64::from(*row))
            .collect();
        packed.sort_unstable();
        let mask = (1 << bits) - 1;
        pairs.clear();
        pairs.extend(packed.into_iter().map(|both| {
            let row = u32::try_from(both & mask).expect("a batch is small");
            (both >> bits, row)
        }));
    } else {
        pairs.sort_unstable();
    }
    pairs
}

/// Visits the lists of `nodes` in id order and lays them out.
fn lay_out(
    part: &Part,
    nodes: &[u64],
    wants_ids: bool,
    ends: EndRanges<'_>,
    memory: &mut Memory,
) -> Result<PartLists> {
    let mut lists = PartLists {
        starts: vec![0; nodes.len()],
        ends: vec![0; nodes.len()],
        ..PartLists::default()
    };
    if wants_ids && part.direction == Direction::In {
        lay_out_reversed(part, nodes, ends, memory, &mut lists)?;
        return Ok(lists);
    }
    let mut ids = Ids::new(part);
    let mut refused = None;
    let mut relationships = Vec::new();
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
        if wants_ids {
            relationships.clear();
            list.append_relationships(0..list.len(), &mut relationships)?;
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

/// Ids of reversed lists are found in the other end's list: a look-up per entry.
fn lay_out_reversed(
    part: &Part,
    nodes: &[u64],
    ends: EndRanges<'_>,
    memory: &mut Memory,
    lists: &mut PartLists,
) -> Result<()> {
    let mut found = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        found.clear();
        part.adjacency.neighbours(NodeId(*node), &mut found)?;
        memory.charge(16 * found.len())?;
        lists.starts[i] = lists.neighbours.len();
        let mut wanted = Wanted::new(ends, part.skip_loops.then_some(*node));
        for neighbour in &found {
            if wanted.admits(neighbour.node.0) {
                lists.neighbours.push(neighbour.node.0);
                lists.relationships.push(neighbour.relationship.0);
            }
        }
        lists.ends[i] = lists.neighbours.len();
    }
    Ok(())
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
