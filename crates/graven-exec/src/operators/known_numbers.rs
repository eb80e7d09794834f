//! Numbers of matches that hang on nodes, kept for when these nodes are met again, by all threads of a statement.
//!
//! # How it works
//! At first numbers are kept in a hash table, as long as the budget has room and some of those asked for are found there. Once as
//! many were asked for as a share of the ids that can be met, they move into an array over these ids, which all copies of the
//! pattern use: a number that one thread has found is known to the others.
//!
//! # Invariants
//! * EX-47 A number in the array is that of its node or [`UNKNOWN`]; two threads that find it at the same time write the same.
//!
//! # Concurrency
//! The numbers of an array are atomic; nothing else is told by them, so no order is asked for.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashMapExt as _};
use graven_pagecache::Budget;

use super::pattern_count::memory;
use crate::memory::Memory;

/// Look-ups after which it is judged whether keeping numbers pays, and the share of them that must have been known.
const JUDGED_AFTER: u64 = 4096;
const PAYING_SHARE: u64 = 8;
/// Bytes of a kept number.
const KEPT_BYTES: usize = 32;
/// An array is made when one number in so many of its ids was asked for.
const ASKED_SHARE: u64 = 16;
/// Not found yet: numbers have 63 bits.
const UNKNOWN: u64 = u64::MAX;

/// An array of numbers by node from `first` on.
struct Dense {
    first: u64,
    numbers: Vec<AtomicU64>,
    /// What it is charged with.
    _memory: Memory,
}

impl Dense {
    fn slot(&self, node: u64) -> Option<&AtomicU64> {
        let at = usize::try_from(node.wrapping_sub(self.first)).ok()?;
        self.numbers.get(at)
    }

    fn get(&self, node: u64) -> Option<u64> {
        let number = self.slot(node)?.load(Ordering::Relaxed);
        (number != UNKNOWN).then_some(number)
    }

    fn put(&self, node: u64, number: u64) {
        if let Some(slot) = self.slot(node) {
            slot.store(number, Ordering::Relaxed);
        }
    }
}

/// Where the copies of a pattern find their array, and those of its branches theirs.
#[derive(Clone, Default)]
pub(crate) struct SharedNumbers {
    dense: Arc<Mutex<Option<Arc<Dense>>>>,
    branches: Arc<Mutex<Vec<SharedNumbers>>>,
}

impl SharedNumbers {
    /// That of the branch of this number, or of the pattern of this number where it stands for several.
    pub(crate) fn of_branch(&self, at: usize) -> Self {
        let branches = self.branches.lock();
        let mut branches = branches.unwrap_or_else(PoisonError::into_inner);
        while branches.len() <= at {
            branches.push(Self::default());
        }
        branches[at].clone()
    }
}

/// See the file header.
pub(super) struct Known {
    numbers: HashMap<u64, u64>,
    looked_up: u64,
    found: u64,
    given_up: bool,
    memory: Memory,
    budget: Arc<Budget>,
    /// Ids that can be met, if they can be met again.
    span: Option<Range<u64>>,
    shared: SharedNumbers,
    dense: Option<Arc<Dense>>,
}

impl Known {
    pub(super) fn new(shared: &SharedNumbers, budget: &Arc<Budget>) -> Self {
        Self {
            numbers: HashMap::new(),
            looked_up: 0,
            found: 0,
            given_up: false,
            memory: memory(budget),
            budget: Arc::clone(budget),
            span: None,
            shared: shared.clone(),
            dense: None,
        }
    }

    /// Numbers of nodes with ids in `span` are asked for; without it hardly any of them twice.
    pub(super) fn begin(&mut self, span: Option<Range<u64>>) {
        self.span = span;
    }

    /// Fills in what is known; the places of the others.
    pub(super) fn look_up(&mut self, nodes: &[u64], numbers: &mut [u64]) -> Vec<usize> {
        self.looked_up += nodes.len() as u64;
        if self.dense.is_none() {
            self.go_dense();
        }
        let mut unknown = Vec::new();
        if let Some(dense) = &self.dense {
            for (at, node) in nodes.iter().enumerate() {
                match dense.get(*node) {
                    Some(number) => numbers[at] = number,
                    None => unknown.push(at),
                }
            }
            return unknown;
        }
        if self.given_up {
            return (0..nodes.len()).collect();
        }
        for (at, node) in nodes.iter().enumerate() {
            match self.numbers.get(node) {
                Some(number) => numbers[at] = *number,
                None => unknown.push(at),
            }
        }
        self.found += (nodes.len() - unknown.len()) as u64;
        if self.looked_up >= JUDGED_AFTER && self.found < self.looked_up / PAYING_SHARE {
            self.give_up();
        }
        unknown
    }

    /// Uses the array if there is one or it is time for it.
    fn go_dense(&mut self) {
        let Some(span) = &self.span else { return };
        let ids = span.end - span.start;
        if self.looked_up < ids / ASKED_SHARE {
            return;
        }
        let shared = self.shared.dense.lock();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        if shared.is_none() {
            let mut memory = memory(&self.budget);
            let ids = usize::try_from(ids).unwrap_or(usize::MAX);
            let bytes = ids.saturating_mul(size_of::<u64>());
            if !memory.is_small(bytes) || !memory.try_charge(bytes) {
                self.span = None;
                return;
            }
            *shared = Some(Arc::new(Dense {
                first: span.start,
                numbers: (0..ids).map(|_| AtomicU64::new(UNKNOWN)).collect(),
                _memory: memory,
            }));
        }
        self.dense.clone_from(&shared);
        drop(shared);
        if let Some(dense) = &self.dense {
            let numbers = self.numbers.drain();
            numbers.for_each(|(node, number)| dense.put(node, number));
        }
        self.give_up();
    }

    pub(super) fn keep(&mut self, node: u64, number: u64) {
        if let Some(dense) = &self.dense {
            dense.put(node, number);
        } else if self.given_up {
        } else if self.memory.try_charge(KEPT_BYTES) {
            self.numbers.insert(node, number);
        } else {
            self.give_up();
        }
    }

    /// Keeps no more numbers in a hash table.
    fn give_up(&mut self) {
        self.given_up = true;
        self.numbers = HashMap::new();
        self.memory.clear();
    }

    /// Forgets everything: what the statement sees may have changed.
    pub(super) fn clear(&mut self) {
        let shared = self.shared.dense.lock();
        *shared.unwrap_or_else(PoisonError::into_inner) = None;
        self.dense = None;
        self.numbers = HashMap::new();
        self.memory.clear();
        (self.looked_up, self.found, self.given_up) = (0, 0, false);
    }
}
