//! The ends of many rows whose joins share a node, found from that node instead of row by row.
//!
//! # How it works
//! `(friend)<--(post)<--(forum)` for rows of (friend, forum): the posts of each forum could be looked for among those of the
//! friend. Where the rows have far longer lists than the few friends among them, every friend's posts are asked once which
//! forums they lie in; pairs of forum and post, sorted, then answer each row by a search.
//!
//! # Invariants
//! * EX-42 For a node of a row and the node of its join there are the entries of the first one's list that stand in the second
//!   one's, each as often as in the first, in the same order.

use std::ops::Range;

use super::lists::{EndRanges, Entries, Lists, distinct_ids, is_wanted, lay_out};
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::Part;

/// See the file header.
#[derive(Default)]
pub(super) struct ReachedEnds {
    /// Node of a row and an end, sorted within each group.
    pairs: Vec<(u64, u64)>,
    /// The group of a place of a join's node, by place.
    groups: Vec<(usize, Range<usize>)>,
}

impl ReachedEnds {
    /// Finds the ends of `rows`, whose lists along `part` are in `lists` and those of their joins in `near`; `None` where
    /// looking row by row is cheaper: if lists of the rows are not `longer` times longer, or these rows not as many.
    ///
    /// # Errors
    /// What reading gives; [`crate::error::ExecError::Memory`].
    pub(super) fn find(
        (part, lists): (&Part, &Lists),
        near: &Lists,
        rows: Range<usize>,
        ends: EndRanges<'_>,
        memory: &mut Memory,
        longer: usize,
    ) -> Result<Option<Self>> {
        let (Some(own), Some(near_lists)) = (lists.parts.first(), near.parts.first()) else {
            return Ok(None);
        };
        let mut places = Vec::new();
        let (mut entries, mut last) = (0, None);
        for row in rows.clone() {
            let (Some(place), Some(joined)) = (lists.place(row), near.place(row)) else {
                continue;
            };
            entries += own.range(place).len();
            if last.replace(joined) != Some(joined) {
                places.push(joined);
            }
        }
        if places.len() * longer > rows.len() {
            return Ok(None);
        }
        places.sort_unstable();
        places.dedup();
        let joined: usize = places
            .iter()
            .map(|place| near_lists.range(*place).len())
            .sum();
        if entries < longer * (joined + rows.len()) {
            return Ok(None);
        }
        memory.charge(32 * joined)?;
        let mut met = Vec::with_capacity(joined);
        for place in &places {
            let list = near_lists.list(*place).iter();
            met.extend(list.filter(|end| is_wanted(ends, **end)));
        }
        let met = distinct_ids(&met);
        let back = Part {
            adjacency: part.reversed.clone(),
            reversed: part.adjacency.clone(),
            direction: part.direction.reversed(),
            skip_loops: false,
        };
        let back = lay_out(&back, &met, Entries::Ends, None, memory)?;
        memory.charge(32 * back.neighbours.len())?;
        let mut reached = Self::default();
        for place in places {
            let from = reached.pairs.len();
            let list = near_lists.list(place);
            for (at, end) in list.iter().enumerate() {
                // Parallel relationships of the join are counted by who asks.
                if at > 0 && list[at - 1] == *end {
                    continue;
                }
                if let Ok(place) = met.binary_search(end) {
                    let nodes = back.list(place).iter();
                    reached.pairs.extend(nodes.map(|node| (*node, *end)));
                }
            }
            reached.pairs[from..].sort_unstable();
            reached.groups.push((place, from..reached.pairs.len()));
        }
        Ok(Some(reached))
    }

    /// The ends of a row with this node whose join is at this place.
    pub(super) fn ends(&self, node: u64, joined: usize) -> impl Iterator<Item = u64> {
        let group = self
            .groups
            .binary_search_by_key(&joined, |(place, _)| *place)
            .map_or(0..0, |at| self.groups[at].1.clone());
        let pairs = &self.pairs[group];
        let from = pairs.partition_point(|(other, _)| *other < node);
        let pairs = pairs[from..].iter();
        pairs
            .take_while(move |(other, _)| *other == node)
            .map(|(_, end)| *end)
    }
}
