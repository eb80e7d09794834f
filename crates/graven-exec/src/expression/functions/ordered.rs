//! The order of the items of a list, found within the time of the statement.
//!
//! # How it works
//! A merge sort of the items' places, from runs of one item on; equal items keep their order. A
//! comparison counts its work and may fail, which ends the sort. The sort of the standard library
//! cannot be left half-way, so a long list would outlive its statement.
//!
//! # Cost
//! `n * log2(n)` comparisons at most; two places for each item, charged.

use std::cmp::Ordering;

use crate::error::Result;
use crate::growth::{charge, units, work};
use crate::value::Value;
use crate::value::order::total_order;

/// The places of the items in their order.
///
/// # Errors
/// That of a comparison; the places do not fit in memory.
pub(super) fn places_in_order<T>(
    items: &[T],
    order: impl Fn(&T, &T) -> Result<Ordering>,
) -> Result<Vec<usize>> {
    charge(items.len().saturating_mul(2 * size_of::<usize>()))?;
    let mut places: Vec<usize> = (0..items.len()).collect();
    let mut merged = Vec::with_capacity(items.len());
    let mut run = 1;
    while run < items.len() {
        for pair in places.chunks(2 * run) {
            let (mut first, mut second) = pair.split_at(run.min(pair.len()));
            while let ([a, behind_a @ ..], [b, behind_b @ ..]) = (first, second) {
                if order(&items[*a], &items[*b])?.is_gt() {
                    merged.push(*b);
                    second = behind_b;
                } else {
                    merged.push(*a);
                    first = behind_a;
                }
            }
            merged.extend(first.iter().chain(second));
        }
        std::mem::swap(&mut places, &mut merged);
        merged.clear();
        run *= 2;
    }
    Ok(places)
}

/// The order of two values, of any types.
///
/// # Errors
/// The statement was cancelled, or its time is over.
pub(super) fn value_order(a: &Value, b: &Value) -> Result<Ordering> {
    work(1 + units(a).min(units(b)))?;
    Ok(total_order(a, b))
}

#[cfg(test)]
mod tests {
    //! Goal: lists of every length are sorted as the standard library sorts them, equal items in
    //! their order; a comparison that fails ends the sort.

    use super::*;
    use crate::error::ExecError;

    #[test]
    fn sorted_as_by_the_standard_library() {
        for length in 0..70_u64 {
            let items: Vec<u64> = (0..length).map(|at| at * 7919 % 13).collect();
            let places = places_in_order(&items, |a, b| Ok(a.cmp(b))).expect("sorted");
            let mut wanted: Vec<usize> = (0..items.len()).collect();
            wanted.sort_by_key(|at| items[*at]);
            assert_eq!(places, wanted, "{length} items");
        }
    }

    #[test]
    fn a_comparison_that_fails_ends_the_sort() {
        let left = std::cell::Cell::new(100);
        let failed = places_in_order(&[0; 1000], |_, _| {
            left.set(left.get() - 1);
            match left.get() {
                0 => Err(ExecError::Cancelled),
                _ => Ok(Ordering::Equal),
            }
        });
        assert!(matches!(failed, Err(ExecError::Cancelled)));
        assert_eq!(left.get(), 0);
    }
}
