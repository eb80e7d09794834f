//! States that are one integer for each group: counts, and sums and extremes of integers.
//!
//! # How it works
//! Rows of one group that follow each other, as sorted input gives them, are taken together before
//! the group's number is touched. A method that meets what it cannot take (a value of another type,
//! an overflow) says so before it has changed anything.

use std::ops::Range;

use graven_cypher::plan::AggregateFunction as F;
use graven_pagecache::huge_pages;

use super::State;
use crate::column::{Column, NULL_ID};
use crate::value::Value;

/// One integer for each group.
#[derive(Debug)]
pub(super) enum Numbers {
    Counts(Vec<i64>),
    Sums(Vec<i64>),
    /// The smallest, or the largest, and whether there is any.
    Extremes {
        largest: bool,
        best: Vec<i64>,
        any: Vec<bool>,
    },
}

/// Hands groups to `take`, each with the rows of it that follow each other.
fn runs(groups: &[u32], mut take: impl FnMut(usize, Range<usize>)) {
    let mut from = 0;
    while let Some(group) = groups.get(from) {
        let mut to = from + 1;
        while groups.get(to) == Some(group) {
            to += 1;
        }
        take(*group as usize, from..to);
        from = to;
    }
}

/// Makes room for the numbers of so many groups.
fn grow(numbers: &mut Vec<i64>, groups: usize) {
    if groups > numbers.capacity() {
        numbers.reserve(groups - numbers.len());
        huge_pages::prefer(numbers);
    }
    numbers.resize(groups, 0);
}

impl Numbers {
    /// Without groups; `None` for functions that keep more.
    pub(super) fn of(function: F) -> Option<Self> {
        match function {
            F::CountStar | F::Count => Some(Self::Counts(Vec::new())),
            F::Sum => Some(Self::Sums(Vec::new())),
            F::Min | F::Max => Some(Self::Extremes {
                largest: function == F::Max,
                best: Vec::new(),
                any: Vec::new(),
            }),
            _ => None,
        }
    }

    /// Bytes of the state of a group.
    pub(super) fn state_bytes(&self) -> usize {
        match self {
            Self::Counts(_) | Self::Sums(_) => 8,
            Self::Extremes { .. } => 9,
        }
    }

    /// So many groups more are expected.
    pub(super) fn reserve(&mut self, groups: usize) {
        match self {
            Self::Counts(counts) => counts.reserve(groups),
            Self::Sums(sums) => sums.reserve(groups),
            Self::Extremes { best, any, .. } => {
                best.reserve(groups);
                any.reserve(groups);
            }
        }
    }

    /// Makes room for so many groups.
    pub(super) fn grow(&mut self, groups: usize) {
        match self {
            Self::Counts(numbers) | Self::Sums(numbers) => grow(numbers, groups),
            Self::Extremes { best, any, .. } => {
                grow(best, groups);
                any.resize(groups, false);
            }
        }
    }

    /// Adds the groups of others of the same function; whether it could.
    pub(super) fn append(&mut self, more: &Self) -> bool {
        match (self, more) {
            (Self::Counts(own), Self::Counts(more)) | (Self::Sums(own), Self::Sums(more)) => {
                own.extend_from_slice(more);
                true
            }
            (
                Self::Extremes { best, any, .. },
                Self::Extremes {
                    best: more,
                    any: more_any,
                    ..
                },
            ) => {
                best.extend_from_slice(more);
                any.extend_from_slice(more_any);
                true
            }
            _ => false,
        }
    }

    /// The state of a group as others have it.
    pub(super) fn state(&self, group: usize) -> State {
        match self {
            Self::Counts(counts) => State::Count(counts[group]),
            Self::Sums(sums) => State::Sum(Value::Integer(sums[group])),
            Self::Extremes { best, any, .. } => {
                State::Best(any[group].then_some(Value::Integer(best[group])))
            }
        }
    }

    /// The state of a group, which is as that of a new one then: where a list beside it is written
    /// in several pieces, the others say nothing of it.
    pub(super) fn take(&mut self, group: usize) -> State {
        let state = self.state(group);
        match self {
            Self::Counts(numbers) | Self::Sums(numbers) => numbers[group] = 0,
            Self::Extremes { best, any, .. } => (best[group], any[group]) = (0, false),
        }
        state
    }

    /// The states of all groups as others have them.
    pub(super) fn states(&self) -> Vec<State> {
        let groups = match self {
            Self::Counts(numbers) | Self::Sums(numbers) => numbers.len(),
            Self::Extremes { best, .. } => best.len(),
        };
        (0..groups).map(|group| self.state(group)).collect()
    }

    /// Takes an argument per row; whether it could.
    pub(super) fn add(&mut self, groups: &[u32], argument: Option<&Column>) -> bool {
        match (self, argument) {
            (Self::Counts(counts), Some(Column::Nodes(ids) | Column::Relationships(ids))) => {
                for (id, group) in ids.iter().zip(groups) {
                    counts[*group as usize] += i64::from(*id != NULL_ID);
                }
                true
            }
            (Self::Counts(counts), argument) => {
                if let Some(argument) = argument
                    && !matches!(
                        argument,
                        Column::Integers(_) | Column::Floats(_) | Column::Booleans(_)
                    )
                {
                    for (row, group) in groups.iter().enumerate() {
                        counts[*group as usize] += i64::from(!argument.is_null(row));
                    }
                    return true;
                }
                runs(groups, |group, rows| counts[group] += length(&rows));
                true
            }
            (Self::Sums(sums), Some(Column::Integers(values))) => add_up(sums, groups, values),
            (Self::Extremes { largest, best, any }, Some(Column::Integers(values))) => {
                compare(*largest, (best, any), groups, values);
                true
            }
            _ => false,
        }
    }

    /// Merges written states, one per row; whether it could.
    pub(super) fn merge(&mut self, groups: &[u32], written: &Column) -> bool {
        match (self, written) {
            (Self::Counts(numbers) | Self::Sums(numbers), Column::Integers(values)) => {
                add_up(numbers, groups, values)
            }
            (Self::Extremes { largest, best, any }, Column::Integers(values)) => {
                compare(*largest, (best, any), groups, values);
                true
            }
            _ => false,
        }
    }

    /// The results of these groups.
    pub(super) fn column(&self, groups: Range<usize>) -> Column {
        match self {
            Self::Counts(numbers) | Self::Sums(numbers) => {
                Column::Integers(numbers[groups].to_vec())
            }
            Self::Extremes { best, any, .. } => {
                if any[groups.clone()].iter().all(|any| *any) {
                    return Column::Integers(best[groups].to_vec());
                }
                let value = |group: usize| match any[group] {
                    true => Value::Integer(best[group]),
                    false => Value::Null,
                };
                Column::from_values(groups.map(value).collect())
            }
        }
    }
}

fn length(rows: &Range<usize>) -> i64 {
    i64::try_from(rows.len()).expect("a batch is small")
}

/// Adds values to the sums of their groups; nothing if one of the sums would overflow.
fn add_up(sums: &mut [i64], groups: &[u32], values: &[i64]) -> bool {
    let mut fits = true;
    let mut done = 0;
    for (group, value) in groups.iter().zip(values) {
        let sum = &mut sums[*group as usize];
        let Some(more) = sum.checked_add(*value) else {
            fits = false;
            break;
        };
        *sum = more;
        done += 1;
    }
    if !fits {
        // As they were, from the last one back.
        for (group, value) in groups.iter().zip(values).take(done).rev() {
            sums[*group as usize] -= value;
        }
    }
    fits
}

fn compare(largest: bool, (best, any): (&mut [i64], &mut [bool]), groups: &[u32], values: &[i64]) {
    let better = |a: i64, b: i64| if largest { a.max(b) } else { a.min(b) };
    runs(groups, |group, rows| {
        let first = values[rows.start];
        let own = values[rows].iter().copied().fold(first, better);
        best[group] = if any[group] {
            better(best[group], own)
        } else {
            own
        };
        any[group] = true;
    });
}

#[cfg(test)]
mod tests {
    //! Goal: a state that is written is written once, however many pieces a list beside it takes.

    use super::*;

    #[test]
    fn a_state_is_taken_once() {
        for function in [F::CountStar, F::Sum, F::Min, F::Max] {
            let mut numbers = Numbers::of(function).expect("one integer a group");
            numbers.grow(1);
            let fresh = format!("{:?}", numbers.state(0));
            let rows = Column::Integers(vec![7, 7, 7]);
            let argument = (function != F::CountStar).then_some(&rows);
            assert!(numbers.add(&[0, 0, 0], argument));
            assert_ne!(format!("{:?}", numbers.take(0)), fresh);
            assert_eq!(format!("{:?}", numbers.take(0)), fresh, "{function:?}");
        }
    }
}
