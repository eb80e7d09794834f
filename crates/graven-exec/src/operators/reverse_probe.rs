//! The ends of many rows whose joins share a node, found from that node instead of row by row.
//!
//! # How it works
//! `(friend)<--(post)<--(forum)` for rows of (friend, forum): the posts of each forum could be
//! looked for among those of the friend. Where the rows are more than the pairs that the few
//! friends among them lead to, or have far longer lists, every friend's posts are asked once which
//! forums they lie in; pairs of forum and post, sorted, then answer each row by a search. Mostly
//! few rows have any end: a filter of one bit by the lowest bits of the forum's id tells the others
//! without one. The lists of the rows are not even loaded.
//!
//! # Invariants
//! * EX-42 For a node of a row and the node of its join there are the entries of the first one's
//!   list that stand in the second one's, each as often as in the first, in the same order.

use std::ops::Range;
use std::sync::Arc;

use super::neighbor_batch::{Entries, ListsOfRows, NeighborBatch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operators::neighbor_batch::csr_lists::{EndRanges, is_wanted};
use crate::pattern::PatternPart;
use crate::query_context::QueryContext;

/// See the file header.
#[derive(Default)]
pub(super) struct ReverseProbe {
    /// Node of a row and an end, in the upper and the lower half, sorted within each group.
    pairs: Vec<u64>,
    /// The group of a place of a join's node, by place.
    groups: Vec<(usize, Range<usize>)>,
    /// A bit for each node of a row that has ends, and by chance for some others; a power of two of
    /// words.
    filter: Vec<u64>,
}

/// Bits of the filter for each pair, and words at least.
const FILTER_BITS: usize = 32;
const FILTER_WORDS: usize = 16;

/// What rows look for their ends in.
pub(super) struct ProbeSpec<'a> {
    /// From the nodes of the rows to the ends.
    pub(super) part: &'a PatternPart,
    pub(super) ends: EndRanges<'a>,
    /// The lists of the nodes of their joins.
    pub(super) probe_node: &'a NeighborBatch,
    /// Rows that come in all.
    pub(super) expected: f64,
}

/// The few nodes of joins among some rows.
pub(super) struct SharedProbe {
    /// Their places, ascending.
    places: Vec<usize>,
    /// Entries of their lists.
    entries: usize,
}

impl SharedProbe {
    /// Those of `rows`, if the rows are so many times more as the tuning says.
    pub(super) fn of_rows(
        probe_node: &NeighborBatch,
        rows: &Range<usize>,
        rt: &QueryContext,
    ) -> Option<Self> {
        let list = probe_node.parts.first()?;
        let mut places = Vec::new();
        let mut last = None;
        for joined in rows.clone().filter_map(|row| probe_node.place(row)) {
            if last.replace(joined) != Some(joined) {
                places.push(joined);
            }
        }
        if places.len() * rt.tuning.reached_longer > rows.len() {
            return None;
        }
        places.sort_unstable();
        places.dedup();
        let entries = places.iter().map(|place| list.len(*place)).sum();
        Some(Self { places, entries })
    }

    /// Whether there is no need to know the lists of the rows: there are more rows than pairs are
    /// expected here.
    ///
    /// # Errors
    /// What reading gives.
    pub(super) fn are_few(&self, part: &PatternPart, rows: &Range<usize>) -> Result<bool> {
        let ends = part.reversed.node_span()?;
        let each = part.reversed.relationship_count() / (ends.end - ends.start).max(1);
        let pairs = (self.entries as u64).saturating_mul(each.max(1));
        Ok(pairs <= rows.len() as u64)
    }

    /// Whether the lists of the rows are so many times longer as the tuning says.
    pub(super) fn are_shorter(
        &self,
        lists: &NeighborBatch,
        rows: Range<usize>,
        rt: &QueryContext,
    ) -> bool {
        let Some(own) = lists.parts.first() else {
            return false;
        };
        // No more lists of the rows are looked at than it takes.
        let enough = rt.tuning.reached_longer * (self.entries + rows.len());
        let mut entries = 0;
        let mut lengths = rows.filter_map(|row| lists.place(row));
        while entries < enough {
            match lengths.next() {
                Some(place) => entries += own.len(place),
                None => return false,
            }
        }
        true
    }
}

impl ReverseProbe {
    /// Finds the ends of rows from the nodes of their joins; `None` where ids are too large for it.
    ///
    /// # Errors
    /// What reading gives; [`crate::error::ExecError::Memory`].
    pub(super) fn find(
        joined: &SharedProbe,
        sought: &ProbeSpec<'_>,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<Option<Self>> {
        let ProbeSpec {
            part, probe_node, ..
        } = sought;
        if !part.adjacency.ids_fit_u32() || !part.reversed.ids_fit_u32() {
            return Ok(None);
        }
        memory.charge(32 * joined.entries)?;
        let mut reached = Self::default();
        let mut met = Vec::with_capacity(joined.entries);
        for place in &joined.places {
            let from = met.len();
            let list = probe_node.parts[0].list(*place);
            // The caller counts parallel relationships of the join.
            for (at, end) in list.iter().enumerate() {
                if is_wanted(sought.ends, *end) && (at == 0 || list[at - 1] != *end) {
                    met.push(*end);
                }
            }
            reached.groups.push((*place, from..met.len()));
        }
        let back = PatternPart {
            adjacency: part.reversed.clone(),
            reversed: part.adjacency.clone(),
            direction: part.direction.reversed(),
            skip_loops: false,
        };
        let column = Arc::new(Column::Nodes(met));
        let of_met = ListsOfRows {
            column: &column,
            rows: 0..column.len(),
            expected: sought.expected,
            entries: Entries::Ends,
            ends: None,
        };
        let back = NeighborBatch::of_rows(&[back], of_met, memory, rt)?;
        let Column::Nodes(met) = &*column else {
            unreachable!("made of nodes");
        };
        memory.charge(24 * back.entries())?;
        for (_, group) in &mut reached.groups {
            let from = reached.pairs.len();
            let ends = &met[group.clone()];
            let pair = |node: u64, end: u64| node << 32 | end;
            if let Some(nodes) = back.sole_ends(group.clone()) {
                let pairs = nodes.zip(ends);
                let pairs = pairs.filter_map(|(node, end)| Some(pair(node?, *end)));
                reached.pairs.extend(pairs);
            } else {
                for (at, end) in group.clone().zip(ends) {
                    let place = back.place(at).expect("a node is no null");
                    let nodes = back.parts[0].list(place);
                    reached
                        .pairs
                        .extend(nodes.iter().map(|node| pair(*node, *end)));
                }
            }
            reached.pairs[from..].sort_unstable();
            *group = from..reached.pairs.len();
        }
        let words = (reached.pairs.len() * FILTER_BITS / 64).next_power_of_two();
        let words = words.max(FILTER_WORDS);
        memory.charge(8 * words)?;
        reached.filter = vec![0; words];
        for pair in &reached.pairs {
            let (word, bit) = place_in_filter(pair >> 32, words);
            reached.filter[word] |= bit;
        }
        Ok(Some(reached))
    }

    /// Whether a row with this node may have ends.
    #[inline]
    pub(super) fn may_hold(&self, node: u64) -> bool {
        let (word, bit) = place_in_filter(node, self.filter.len());
        self.filter[word] & bit != 0
    }

    /// The ends of a row with this node whose join is at this place.
    pub(super) fn ends(&self, node: u64, joined: usize) -> impl Iterator<Item = u64> {
        let group = self
            .groups
            .binary_search_by_key(&joined, |(place, _)| *place)
            .map_or(0..0, |at| self.groups[at].1.clone());
        let pairs = &self.pairs[group];
        let from = pairs.partition_point(|pair| pair >> 32 < node);
        let pairs = pairs[from..].iter();
        let pairs = pairs.take_while(move |pair| *pair >> 32 == node);
        pairs.map(|pair| pair & u64::from(u32::MAX))
    }

    /// Ends found in all.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// The ends of all rows.
    pub(super) fn all_ends(&self) -> impl Iterator<Item = u64> {
        self.pairs.iter().map(|pair| pair & u64::from(u32::MAX))
    }
}

/// The word and the bit of a node in a filter of so many words, a power of two.
#[inline]
fn place_in_filter(node: u64, words: usize) -> (usize, u64) {
    ((node / 64) as usize & (words - 1), 1 << (node % 64))
}
