//! What a top-n still wants, told to the expansion below it, so that rows that cannot be among the
//! best are not made.
//!
//! # How it works
//! `MATCH (a)-[k]->(b) ... ORDER BY k.since LIMIT 10`: once ten rows are known, a relationship that
//! is older than all of them needs neither its ends nor anything else. The top-n writes the first
//! key of its worst row here; the expansion reads that property of the relationships of a whole
//! chunk of lists and makes rows for those that are not worse.
//!
//! # Invariants
//! * EX-37 Between the expansion and the top-n only labels are asked for: no row is left out whose
//!   making would have been an error.
//!
//! # Concurrency
//! One top-n and one expansion, both on the thread that runs their pipeline; a lock because
//! operators go from thread to thread.

use std::sync::{Arc, Mutex, PoisonError};

use graven_cypher::plan::SortOrder;
use graven_storage::KeyId;

use crate::value::Value;
use crate::value::order::total_order;

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct TopNBound {
    /// The property that is the first key.
    pub(crate) key: Option<KeyId>,
    direction: SortOrder,
    worst: Arc<Mutex<Option<i64>>>,
}

/// What several top-ns, each over parts of the rows, know together: the first key of the worst of
/// the best rows that one of them has found. What is worse is not wanted by any of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedTopNBound(Arc<Mutex<Option<Value>>>);

impl SharedTopNBound {
    /// Tells what one of them knows; the better of that and what is known.
    pub(crate) fn meet(&self, own: Option<Value>, direction: SortOrder) -> Option<Value> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let better = match (&own, &*known) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(own), Some(known)) => match direction {
                SortOrder::Ascending => total_order(own, known).is_lt(),
                SortOrder::Descending => total_order(own, known).is_gt(),
            },
        };
        if better {
            known.clone_from(&own);
        }
        known.clone()
    }
}

/// The numbers that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    AtMost(i64),
    AtLeast(i64),
}

impl TopNBound {
    /// Everything is wanted so far.
    pub(crate) fn new(key: Option<KeyId>, direction: SortOrder) -> Self {
        Self {
            key,
            direction,
            worst: Arc::default(),
        }
    }

    /// The first key of the worst row; none if everything is wanted.
    pub(crate) fn set(&self, worst: Option<&Value>) {
        let worst = match worst {
            Some(Value::Integer(worst)) => Some(*worst),
            _ => None,
        };
        *self.worst.lock().unwrap_or_else(PoisonError::into_inner) = worst;
    }

    /// What is wanted of integers; everything without.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        let worst = *self.worst.lock().unwrap_or_else(PoisonError::into_inner);
        worst.map(|worst| match self.direction {
            SortOrder::Ascending => Wanted::AtMost(worst),
            SortOrder::Descending => Wanted::AtLeast(worst),
        })
    }
}

impl Wanted {
    /// The places of the numbers that are wanted.
    pub(crate) fn places(self, numbers: &[i64]) -> Vec<u32> {
        /// Numbers that are looked at together: mostly none of them is wanted.
        const TOGETHER: usize = 64;
        let mut places = Vec::new();
        for (first, together) in (0_u32..).step_by(TOGETHER).zip(numbers.chunks(TOGETHER)) {
            let any = match self {
                Self::AtMost(most) => together.iter().fold(false, |any, n| any | (*n <= most)),
                Self::AtLeast(least) => together.iter().fold(false, |any, n| any | (*n >= least)),
            };
            if any {
                let wanted = (first..).zip(together).filter(|(_, n)| match self {
                    Self::AtMost(most) => **n <= most,
                    Self::AtLeast(least) => **n >= least,
                });
                places.extend(wanted.map(|(place, _)| place));
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    //! Places of numbers on both sides of a threshold.

    use super::*;

    #[test]
    fn places_of_wanted_numbers() {
        let numbers: Vec<i64> = (0..300).map(|n| n * 7919 % 300).collect();
        for bound in [-1, 0, 3, 150, 299, 300] {
            let at = |test: &dyn Fn(i64) -> bool| {
                let places = (0_u32..).zip(&numbers).filter(|(_, n)| test(**n));
                places.map(|(place, _)| place).collect::<Vec<_>>()
            };
            assert_eq!(Wanted::AtMost(bound).places(&numbers), at(&|n| n <= bound));
            assert_eq!(Wanted::AtLeast(bound).places(&numbers), at(&|n| n >= bound));
        }
        let threshold = TopNBound::new(None, SortOrder::Descending);
        assert_eq!(threshold.wanted(), None);
        threshold.set(Some(&Value::Integer(5)));
        assert_eq!(threshold.wanted(), Some(Wanted::AtLeast(5)));
        threshold.set(Some(&Value::Null));
        assert_eq!(threshold.wanted(), None);
        let best = SharedTopNBound::default();
        assert_eq!(best.meet(None, SortOrder::Ascending), None);
        for (own, known) in [(5, 5), (7, 5), (3, 3)] {
            let met = best.meet(Some(Value::Integer(own)), SortOrder::Ascending);
            assert_eq!(met, Some(Value::Integer(known)));
        }
    }
}
