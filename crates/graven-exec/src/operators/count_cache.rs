//! Numbers of matches that hang on nodes, kept for when these nodes are met again, by all threads
//! of a statement.
//!
//! # How it works
//! At first numbers are kept in a hash table, as long as the budget has room and some of those
//! asked for are found there. Once as many were asked for as a share of the ids that can be met,
//! they move into an array over these ids, which all copies of the pattern use: a number that one
//! thread has found is known to the others.
//!
//! Where a number takes not much longer to find than a look at what another processor has just
//! written, each thread has an array of its own. Elsewhere a thread claims the numbers that it is
//! going to find ([`CountArray::begin`]): no other thread begins with them, and each is found once
//! however often its node is met. A thread finds a number that another thread has claimed only if
//! that is not done when everything else is, from the other end: no thread waits for another one,
//! even one that has failed.
//!
//! # Invariants
//! * EX-47 A number in the array is that of its node, [`UNKNOWN`] or [`BEGUN`]; two threads that
//!   find it at the same time write the same.
//!
//! # Concurrency
//! The numbers of an array are atomic; nothing else is told by them, so no order is asked for.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashMapExt as _};
use graven_pagecache::Budget;

use super::counts::memory;
use super::dense_counts::{All, DenseCounts};
use crate::memory::Memory;
use crate::worker_pool::CooperativeCell;

/// Look-ups after which it is judged whether keeping numbers pays, and the share of them that must
/// have been known.
const JUDGED_AFTER: u64 = 4096;
const PAYING_SHARE: u64 = 8;
/// Bytes of a kept number.
const KEPT_BYTES: usize = 32;
/// An array is made when one number in so many of its ids was asked for.
const ASKED_SHARE: u64 = 16;
/// Not found yet: numbers have 63 bits.
const UNKNOWN: u64 = u64::MAX;
/// A thread is at it, or was when it failed.
const BEGUN: u64 = u64::MAX - 1;

/// An array of numbers by node from `first` on.
pub(super) struct CountArray {
    first: u64,
    numbers: Vec<AtomicU64>,
    /// What it is charged with.
    _memory: Memory,
}

impl CountArray {
    /// No number yet; `None` where that takes too much memory.
    fn new(first: u64, ids: usize, budget: &Arc<Budget>) -> Option<Self> {
        let mut memory = memory(budget);
        let bytes = ids.saturating_mul(size_of::<u64>());
        (memory.is_small(bytes) && memory.try_charge(bytes)).then(|| Self {
            first,
            numbers: (0..ids).map(|_| AtomicU64::new(UNKNOWN)).collect(),
            _memory: memory,
        })
    }

    #[inline]
    fn slot(&self, node: u64) -> Option<&AtomicU64> {
        let at = usize::try_from(node.wrapping_sub(self.first)).ok()?;
        self.numbers.get(at)
    }

    #[inline]
    pub(super) fn get(&self, node: u64) -> Option<u64> {
        let number = self.slot(node)?.load(Ordering::Relaxed);
        (number < BEGUN).then_some(number)
    }

    /// Whether no thread has begun with the number of a node; from now on this thread has. `None`
    /// for a node without a place.
    #[inline]
    pub(super) fn begin(&self, node: u64) -> Option<bool> {
        let slot = self.slot(node)?;
        let new = slot.load(Ordering::Relaxed) == UNKNOWN;
        if new {
            slot.store(BEGUN, Ordering::Relaxed);
        }
        Some(new)
    }

    pub(super) fn put(&self, node: u64, number: u64) {
        if let Some(slot) = self.slot(node) {
            slot.store(number, Ordering::Relaxed);
        }
    }
}

/// Where the copies of a pattern find their array, and those of its branches theirs.
#[derive(Clone, Default)]
pub(crate) struct SharedCounts {
    /// Numbers as they were asked for.
    met: Arc<Mutex<Option<Arc<CountArray>>>>,
    /// Those of all nodes.
    all: Arc<CooperativeCell<All>>,
    branches: Arc<Mutex<Vec<SharedCounts>>>,
}

impl SharedCounts {
    /// That of the branch of this number, or of the pattern of this number where it stands for
    /// several.
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
pub(super) struct CountCache {
    numbers: HashMap<u64, u64>,
    /// Nodes asked for, those in the array among them.
    asked: u64,
    looked_up: u64,
    found: u64,
    given_up: bool,
    memory: Memory,
    budget: Arc<Budget>,
    /// Ids that can be met, if they can be met again.
    span: Option<Range<u64>>,
    /// Whether threads share the array.
    is_shared: bool,
    shared: SharedCounts,
    dense: Option<Arc<CountArray>>,
    /// The numbers of all nodes.
    all: Option<Arc<DenseCounts>>,
}

impl CountCache {
    pub(super) fn new(shared: &SharedCounts, budget: &Arc<Budget>) -> Self {
        Self {
            numbers: HashMap::new(),
            asked: 0,
            looked_up: 0,
            found: 0,
            given_up: false,
            memory: memory(budget),
            budget: Arc::clone(budget),
            span: None,
            is_shared: false,
            shared: shared.clone(),
            dense: None,
            all: None,
        }
    }

    /// Numbers of nodes with ids in `span` are asked for; without it hardly any of them twice. They
    /// take long to find, or not.
    pub(super) fn begin(&mut self, span: Option<Range<u64>>, take_long: bool) {
        self.span = span;
        self.is_shared = take_long;
    }

    /// Whether other threads may look for the same numbers.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Counts nodes that are asked for; how many there were.
    pub(super) fn asked(&mut self, nodes: usize) -> u64 {
        self.asked += nodes as u64;
        self.asked
    }

    /// The numbers of all nodes, if this copy knows them.
    pub(super) fn known_all(&self) -> Option<Arc<DenseCounts>> {
        self.all.clone()
    }

    /// What all copies know of the numbers of all nodes.
    pub(super) fn all(&self) -> Arc<CooperativeCell<All>> {
        Arc::clone(&self.shared.all)
    }

    /// The ids of all nodes that can be met.
    pub(super) fn span(&self) -> Option<Range<u64>> {
        self.span.clone()
    }

    /// Goes over to the numbers of all nodes.
    pub(super) fn use_all(&mut self, numbers: &Arc<DenseCounts>) {
        self.all = Some(Arc::clone(numbers));
        self.give_up();
    }

    /// The array, if it is there or so many nodes make it worth while.
    pub(super) fn array(&mut self) -> Option<Arc<CountArray>> {
        if self.dense.is_none() {
            self.go_dense();
        }
        self.dense.clone()
    }

    /// Fills in what is known without an array; the places of the others.
    pub(super) fn look_up(&mut self, nodes: &[u64], numbers: &mut [u64]) -> Vec<usize> {
        self.looked_up += nodes.len() as u64;
        let mut unknown = Vec::new();
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
        if self.asked < ids / ASKED_SHARE {
            return;
        }
        let ids = usize::try_from(ids).unwrap_or(usize::MAX);
        let new = || CountArray::new(span.start, ids, &self.budget).map(Arc::new);
        let found = match self.is_shared {
            false => new(),
            true => {
                let shared = self.shared.met.lock();
                let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
                if shared.is_none() {
                    *shared = new();
                }
                shared.clone()
            }
        };
        if found.is_none() {
            self.span = None;
            return;
        }
        self.dense = found;
        if let Some(dense) = &self.dense {
            let numbers = self.numbers.drain();
            numbers.for_each(|(node, number)| dense.put(node, number));
        }
        self.give_up();
    }

    pub(super) fn keep(&mut self, node: u64, number: u64) {
        if self.given_up {
            return;
        }
        if self.memory.try_charge(KEPT_BYTES) {
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
        let met = self.shared.met.lock();
        *met.unwrap_or_else(PoisonError::into_inner) = None;
        *self.shared.all.lock() = All::Unknown;
        self.dense = None;
        self.all = None;
        self.numbers = HashMap::new();
        self.memory.clear();
        (self.asked, self.looked_up, self.found) = (0, 0, 0);
        self.given_up = false;
    }
}
