//! Numbers of matches of all nodes of a pattern, found at once, by all threads.
//!
//! # How it works
//! To find numbers as they are asked for, nodes are collected, put in order, and looked for one far
//! from the other; and two threads that meet the same nodes find them twice or wait for what the
//! other one's processor has just written. Where as many nodes are expected to be met as half of
//! those that have lists, all numbers are found first, in the order of ids, each thread in ranges
//! of its own: those of the branches behind before, so that what remains is to add up. They take 4
//! bytes each unless one of them is larger: what a thread reads mostly comes from the caches of
//! another one. Where the numbers of all branches behind are there, those of any nodes are added up
//! while their lists are read.
//!
//! # Invariants
//! * EX-59 An error at a node that may never be asked for is no error: numbers are then found as
//!   they are asked for.
//!
//! # Concurrency
//! One thread finds them with the help of others; those that want the same help as well
//! ([`crate::worker_pool::CooperativeCell`]).

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::Pattern;

/// To find a number that is asked for takes as long as to find so many of all.
const PAYS: f64 = 2.0;
/// Not before so small a part of them was asked for: estimates may be wrong.
const EARLIER: u64 = 16;

/// Numbers are added up while lists are read where one node in so many is asked for.
pub(super) const SPARSE: u64 = 8;

/// Lists after which it is seen whether the statement is cancelled.
pub(super) const CHECKED_LISTS: u64 = 8 << 10;

/// Whether all numbers are found at once, and when.
#[derive(Clone, Copy, Default)]
pub(super) struct DensifyPolicy {
    /// Nodes asked for from which on it is done; `None`: never.
    from: Option<u64>,
}

impl DensifyPolicy {
    /// For a pattern whose numbers so many nodes with ids in `span` are expected to be asked for.
    ///
    /// # Errors
    /// What reading gives.
    pub(super) fn new(pattern: &Pattern, span: &Range<u64>, expected: f64) -> Result<Self> {
        let lists = pattern.lists(span)?;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let pays = expected * PAYS >= lists as f64;
        Ok(Self {
            from: pays.then_some(lists / EARLIER),
        })
    }

    pub(super) fn never() -> Self {
        Self::default()
    }

    pub(super) fn pays(self) -> bool {
        self.from.is_some()
    }

    pub(super) fn is_due(self, asked: u64) -> bool {
        self.from.is_some_and(|from| asked >= from)
    }
}

/// What the copies of a pattern know of the numbers of all nodes.
#[derive(Default)]
pub(super) enum All {
    #[default]
    Unknown,
    Known(Arc<DenseCounts>),
    /// They cannot be had.
    Refused,
}

/// The numbers of all nodes with ids in a range.
pub(super) struct DenseCounts {
    pub(super) first: u64,
    pub(super) numbers: Numbers,
    /// What they are charged with.
    _memory: Memory,
}

pub(super) enum Numbers {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl DenseCounts {
    #[inline]
    pub(super) fn get(&self, node: u64) -> Option<u64> {
        let at = usize::try_from(node.wrapping_sub(self.first)).ok()?;
        match &self.numbers {
            Numbers::Narrow(numbers) => numbers.get(at).copied().map(u64::from),
            Numbers::Wide(numbers) => numbers.get(at).copied(),
        }
    }
}

/// Numbers of one size, and what they are charged with.
pub(super) struct Filled<N> {
    pub(super) numbers: Vec<N>,
    pub(super) charged: Memory,
}

impl<N> Filled<N> {
    pub(super) fn of(self, first: u64, numbers: impl FnOnce(Vec<N>) -> Numbers) -> DenseCounts {
        DenseCounts {
            first,
            numbers: numbers(self.numbers),
            _memory: self.charged,
        }
    }
}
