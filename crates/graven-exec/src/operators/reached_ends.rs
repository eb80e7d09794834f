//! The ends of many rows whose joins share a node, found from that node instead of row by row.
//!
//! # How it works
//! `(friend)<--(post)<--(forum)` for rows of (friend, forum): the posts of each forum could be looked for among those of the
//! friend. Where the rows have far longer lists than the few friends among them, every friend's posts are asked once which
//! forums they lie in; pairs of forum and post, sorted, then answer each row by a search. Mostly few rows have any end: a filter
//! of one bit by the lowest bits of the forum's id tells the others without one.
//!
//! # Invariants
//! * EX-42 For a node of a row and the node of its join there are the entries of the first one's list that stand in the second
//!   one's, each as often as in the first, in the same order.

use std::ops::Range;
use std::sync::Arc;

use super::lists::{EndRanges, Entries, Lists, ListsOfRows, distinct_ids, is_wanted};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::Part;
use crate::runtime::Runtime;

/// See the file header.
#[derive(Default)]
pub(super) struct ReachedEnds {
    /// Node of a row and an end, sorted within each group.
    pairs: Vec<(u64, u64)>,
    /// The group of a place of a join's node, by place.
    groups: Vec<(usize, Range<usize>)>,
    /// A bit for each node of a row that has ends, and by chance for some others; a power of two of words.
    filter: Vec<u64>,
}

/// Bits of the filter for each pair, and words at least.
const FILTER_BITS: usize = 32;
const FILTER_WORDS: usize = 16;

impl ReachedEnds {
    /// Finds the ends of `rows`, whose lists along `part` are in `lists` and those of their joins in `near`; `None` where
    /// looking row by row is cheaper: if lists of the rows are not so many times longer as the tuning says, or these rows not as
    /// many. `expected` rows come in all.
    ///
    /// # Errors
    /// What reading gives; [`crate::error::ExecError::Memory`].
    pub(super) fn find(
        (part, lists): (&Part, &Lists),
        near: &Lists,
        rows: Range<usize>,
        ends: EndRanges<'_>,
        memory: &mut Memory,
        (expected, rt): (f64, &Runtime),
    ) -> Result<Option<Self>> {
        let longer = rt.tuning.reached_longer;
        let (Some(own), Some(near_lists)) = (lists.parts.first(), near.parts.first()) else {
            return Ok(None);
        };
        let mut places = Vec::new();
        let mut last = None;
        for joined in rows.clone().filter_map(|row| near.place(row)) {
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
        // No more lists of the rows are looked at than it takes.
        let enough = longer * (joined + rows.len());
        let mut entries = 0;
        let of_rows = rows.clone().filter_map(|row| lists.place(row));
        let mut lengths = of_rows.map(|place| own.range(place).len());
        while entries < enough {
            match lengths.next() {
                Some(length) => entries += length,
                None => return Ok(None),
            }
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
        let column = Arc::new(Column::Nodes(met));
        let of_met = ListsOfRows {
            column: &column,
            rows: 0..column.len(),
            expected,
            entries: Entries::Ends,
            ends: None,
        };
        let back = Lists::of_rows(&[back], of_met, memory, rt)?;
        let Column::Nodes(met) = &*column else {
            unreachable!("made of nodes");
        };
        let list_of = |at: usize| {
            let place = back.place(at).expect("a node is no null");
            back.parts[0].list(place)
        };
        let entries: usize = (0..met.len()).map(|at| list_of(at).len()).sum();
        memory.charge(32 * entries)?;
        let mut reached = Self::default();
        for place in places {
            let from = reached.pairs.len();
            let list = near_lists.list(place);
            for (at, end) in list.iter().enumerate() {
                // Parallel relationships of the join are counted by who asks.
                if at > 0 && list[at - 1] == *end {
                    continue;
                }
                if let Ok(at) = met.binary_search(end) {
                    let nodes = list_of(at).iter();
                    reached.pairs.extend(nodes.map(|node| (*node, *end)));
                }
            }
            reached.pairs[from..].sort_unstable();
            reached.groups.push((place, from..reached.pairs.len()));
        }
        let words = (reached.pairs.len() * FILTER_BITS / 64).next_power_of_two();
        let words = words.max(FILTER_WORDS);
        memory.charge(8 * words)?;
        reached.filter = vec![0; words];
        for (node, _) in &reached.pairs {
            let (word, bit) = place_in_filter(*node, words);
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
        let from = pairs.partition_point(|(other, _)| *other < node);
        let pairs = pairs[from..].iter();
        pairs
            .take_while(move |(other, _)| *other == node)
            .map(|(_, end)| *end)
    }
}

/// The word and the bit of a node in a filter of so many words, a power of two.
#[inline]
fn place_in_filter(node: u64, words: usize) -> (usize, u64) {
    ((node / 64) as usize & (words - 1), 1 << (node % 64))
}
