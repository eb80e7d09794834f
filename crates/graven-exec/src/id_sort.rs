//! Rows in the order of the ids they hold, so that each page is visited once.
//!
//! # How it works
//! Ids that do not ascend are marked in a bitmap from the smallest to the largest, where that has
//! fewer words than there are rows: the place of an id is the number of bits before its own. Others
//! are sorted.

use std::ops::Range;

use crate::column::{Column, NULL_ID};

/// The place of a row without an id.
const NOWHERE: u32 = u32::MAX;

/// Ids that are looked for one after the other.
const FEW: usize = 4;

/// Rows for each word of a bitmap.
const ROWS_PER_WORD: u64 = 2;

/// The distinct ids of some rows, ascending, and which of them each row holds.
#[derive(Default)]
pub(crate) struct IdOrder {
    /// Ascending.
    pub(crate) distinct: Vec<u64>,
    places: Vec<u32>,
}

impl IdOrder {
    /// Of the nodes of some rows of a column.
    pub(crate) fn of_nodes(column: &Column, rows: Range<usize>) -> Self {
        match column {
            Column::Nodes(ids) => {
                let ids = ids[rows].iter();
                Self::new(ids.map(|id| Some(*id).filter(|id| *id != NULL_ID)))
            }
            _ => Self::new(rows.map(|row| column.node(row))),
        }
    }

    /// Of other rows with no other nodes than these, if they are few.
    pub(crate) fn of_same_nodes(&self, column: &Column, rows: Range<usize>) -> Option<Self> {
        if !(1..=FEW).contains(&self.distinct.len()) {
            return None;
        }
        let places = rows.map(|row| match column.node(row) {
            None => Some(NOWHERE),
            Some(node) => self.distinct.iter().position(|id| *id == node).map(number),
        });
        Some(Self {
            places: places.collect::<Option<Vec<_>>>()?,
            distinct: self.distinct.clone(),
        })
    }

    /// Of rows that hold an id each, or none.
    pub(crate) fn new(ids: impl ExactSizeIterator<Item = Option<u64>> + Clone) -> Self {
        let rows = ids.len();
        let (mut ascending, mut lowest, mut highest) = (true, u64::MAX, 0);
        for id in ids.clone().flatten() {
            ascending &= highest <= id;
            lowest = lowest.min(id);
            highest = highest.max(id);
        }
        let mut order = Self {
            distinct: Vec::with_capacity(rows),
            places: vec![NOWHERE; rows],
        };
        let pairs = (0..).zip(ids).filter_map(|(row, id)| Some((id?, row)));
        // Id and row in one number are sorted in a third of the time.
        let bits = usize::BITS - rows.leading_zeros();
        #[expect(
            clippy::stable_sort_primitive,
            reason = "lists one behind the other are merged"
        )]
        if ascending {
            order.fill(pairs);
        } else if (highest - lowest) / 64 < rows as u64 / ROWS_PER_WORD {
            order.fill_by_bits(pairs, lowest, highest);
        } else if highest.leading_zeros() >= bits {
            let mut packed = Vec::with_capacity(rows);
            packed.extend(pairs.map(|(id, row)| id << bits | u64::from(row)));
            // Mostly these are some ascending lists one behind the other, which a stable sort
            // merges.
            packed.sort();
            let mask = (1 << bits) - 1;
            order.fill(packed.into_iter().map(|both| {
                let row = u32::try_from(both & mask).expect("a batch is small");
                (both >> bits, row)
            }));
        } else {
            let mut pairs: Vec<(u64, u32)> = pairs.collect();
            pairs.sort_unstable();
            order.fill(pairs.into_iter());
        }
        order
    }

    /// Takes ids in ascending order, each with its row.
    fn fill(&mut self, pairs: impl Iterator<Item = (u64, u32)>) {
        for (id, row) in pairs {
            if self.distinct.last() != Some(&id) {
                self.distinct.push(id);
            }
            self.places[row as usize] = number(self.distinct.len() - 1);
        }
    }

    /// Takes ids between these in any order, each with its row.
    fn fill_by_bits(
        &mut self,
        pairs: impl Iterator<Item = (u64, u32)> + Clone,
        lowest: u64,
        highest: u64,
    ) {
        let place = |id: u64| {
            let at = usize::try_from(id - lowest).expect("a word for some rows");
            (at / 64, 1_u64 << (at % 64))
        };
        // Each word with the number of bits before it.
        let mut words = vec![(0_u64, 0_u32); place(highest).0 + 1];
        for (id, _) in pairs.clone() {
            let (word, bit) = place(id);
            words[word].0 |= bit;
        }
        for (at, (bits, before)) in (0_u64..).zip(&mut words) {
            *before = number(self.distinct.len());
            let (start, mut left) = (lowest + at * 64, *bits);
            while left != 0 {
                self.distinct.push(start + u64::from(left.trailing_zeros()));
                left &= left - 1;
            }
        }
        for (id, row) in pairs {
            let (word, bit) = place(id);
            let (bits, before) = words[word];
            self.places[row as usize] = before + (bits & (bit - 1)).count_ones();
        }
    }

    /// The place of the id of a row among the distinct ones; `None` where it holds none.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        let place = self.places[row];
        (place != NOWHERE).then_some(place as usize)
    }
}

/// A place among the ids of a batch.
fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a batch is small")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use graven_types::rng::SplitMix64;

    use super::*;

    /// Goal: distinct ids ascend, and each row finds its own, whatever the order of the ids and the
    /// gaps between them; rows without one find none.
    #[test]
    fn rows_find_their_ids() {
        let mut random = SplitMix64::new(7);
        for span in [1, 5, 100, 2000, 1 << 20, 1 << 40, u64::MAX - 1] {
            for rows in [0, 1, 2, 63, 1000] {
                for first in [0, u64::MAX - 1 - span] {
                    for sorted in [false, true] {
                        let mut ids: Vec<Option<u64>> = (0..rows)
                            .map(|_| (random.below(8) > 0).then(|| first + random.below(span)))
                            .collect();
                        if sorted {
                            ids.sort_unstable();
                        }
                        let order = IdOrder::new(ids.iter().copied());
                        let wanted: BTreeSet<u64> = ids.iter().copied().flatten().collect();
                        assert!(order.distinct.iter().eq(&wanted), "{span} {rows}");
                        for (row, id) in ids.iter().enumerate() {
                            let found = order.place(row).map(|place| order.distinct[place]);
                            assert_eq!(found, *id, "{span} {rows}");
                        }
                    }
                }
            }
        }
    }
    /// Goal: other rows find the same few nodes at the same places; where there is another node, or
    /// there were many, they are ordered anew.
    #[test]
    fn other_rows_of_the_same_nodes() {
        let few = IdOrder::new([9, 5, 9, 7].into_iter().map(Some));
        let rows = Column::Nodes(vec![1, 7, NULL_ID, 9, 9, 8]);
        let same = few.of_same_nodes(&rows, 1..5).expect("no other nodes");
        let places: Vec<_> = (0..4).map(|row| same.place(row)).collect();
        assert_eq!(places, [Some(1), None, Some(2), Some(2)]);
        assert_eq!(same.distinct, few.distinct);
        assert!(few.of_same_nodes(&rows, 0..2).is_none());
        assert!(few.of_same_nodes(&rows, 4..6).is_none());
        let many = IdOrder::new((0..9_u32).map(|id| Some(u64::from(id))));
        assert!(many.of_same_nodes(&rows, 1..5).is_none());
        assert!(IdOrder::default().of_same_nodes(&rows, 2..3).is_none());
    }
}
