//! Numbers of matches of all nodes of a pattern, found at once, by all threads.
//!
//! # How it works
//! To find numbers as they are asked for, nodes are collected, put in order, and looked for one far from the other; and two threads that
//! meet the same nodes find them twice or wait for what the other one's processor has just written. Where as many nodes are expected to be
//! met as half of those that have lists, all numbers are found first, in the order of ids, each thread in ranges of its own: those of the
//! branches behind before, so that what remains is to add up.
//!
//! # Invariants
//! * EX-59 What goes wrong for a node that nobody may ask for is no error: numbers are found as they are asked for then.
//!
//! # Concurrency
//! One thread finds them with the help of others, while those that want the same wait.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use graven_storage::{Adjacency, NodeSet, Sweep};

use super::known_numbers::Dense;
use super::lists::is_wanted;
use super::pattern_count::{Branch, memory, overflow};
use super::whole_lists::{THREADS_FROM, ids_of, pieces_of};
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::pattern::Pattern;
use crate::runtime::Runtime;
use crate::threads::on_reading_threads;

/// To find a number that is asked for takes as long as to find so many of all.
const PAYS: f64 = 2.0;
/// Not before so small a part of them was asked for: estimates may be wrong.
const EARLIER: u64 = 16;

/// Lists after which it is seen whether the statement is cancelled.
const CHECKED_LISTS: u64 = 8 << 10;

/// Whether all numbers are found at once, and when.
#[derive(Clone, Copy, Default)]
pub(super) struct Filling {
    /// Nodes asked for from which on it is done; `None`: never.
    from: Option<u64>,
}

impl Filling {
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

impl Branch {
    /// The numbers of all nodes, found now if they are not there; `None` if they cannot be had.
    ///
    /// # Errors
    /// Only that the statement is cancelled or out of time (EX-59).
    pub(super) fn all_numbers(&mut self, rt: &Runtime) -> Result<Option<Arc<Dense>>> {
        let mut behind = Vec::with_capacity(self.branches.len());
        for branch in &mut self.branches {
            match branch.all_numbers(rt)? {
                Some(numbers) => behind.push(numbers),
                None => {
                    self.filling = Filling::never();
                    return Ok(None);
                }
            }
        }
        let shared = self.known.shared();
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.all.is_none() && !shared.refused {
            let found = self.find_all(&behind, rt);
            match found {
                Ok(Some(numbers)) => shared.all = Some(numbers),
                Err(error @ (ExecError::Cancelled | ExecError::TimedOut { .. })) => {
                    return Err(error);
                }
                _ => shared.refused = true,
            }
        }
        match &shared.all {
            Some(numbers) => self.known.use_all(numbers),
            None => self.filling = Filling::never(),
        }
        Ok(shared.all.clone())
    }

    /// Finds the numbers of all nodes by those of the branches behind; `None` where that takes too much memory.
    fn find_all(&self, behind: &[Arc<Dense>], rt: &Runtime) -> Result<Option<Arc<Dense>>> {
        let Some((array, span)) = self.known.new_array() else {
            return Ok(None);
        };
        let mut parts = self.pattern.parts.iter();
        if !parts.all(|part| part.adjacency.ids_fit_u32()) {
            return Ok(None);
        }
        let mut work = span.end - span.start;
        for part in &self.pattern.parts {
            work = work.saturating_add(part.adjacency.relationship_count());
        }
        let threads = match work < THREADS_FROM as u64 {
            true => 1,
            false => rt.tuning.threads.max(1),
        };
        // Made here, where they count for the statement.
        let pieces = pieces_of(&span, threads).into_iter();
        let pieces: Vec<_> = pieces
            .map(|range| (range, Mutex::new(memory(&rt.budget))))
            .collect();
        let found = on_reading_threads(&pieces, threads, rt, |(range, memory)| {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            self.find_range(range, behind, &array, &mut memory, rt)
        });
        found.into_iter().collect::<Result<()>>()?;
        Ok(Some(Arc::new(array)))
    }

    /// Finds the numbers of the nodes with these ids.
    fn find_range(
        &self,
        range: &Range<u64>,
        behind: &[Arc<Dense>],
        array: &Dense,
        memory: &mut Memory,
        rt: &Runtime,
    ) -> Result<()> {
        let nodes = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        memory.charge(nodes.saturating_mul(9))?;
        let mut sums = vec![0_u64; nodes];
        let all_count = self.pattern.ends_lie_in(&self.ends)?;
        for part in &self.pattern.parts {
            let span = part.adjacency.node_span()?;
            let (from, to) = (range.start.max(span.start), range.end.min(span.end));
            if from >= to {
                continue;
            }
            let (mut visited, mut failed) = (0_u64, Ok(()));
            let (first, words) = ids_of(&(from..to));
            let set = NodeSet::new(first, &words);
            Adjacency::sweep_set(&[&part.adjacency], set, Sweep::Up, |_, node, list| {
                let at = usize::try_from(node.0.wrapping_sub(range.start)).unwrap_or(usize::MAX);
                let Some(sum) = sums.get_mut(at) else {
                    return ControlFlow::Continue(());
                };
                let skipped = part.skip_loops.then_some(node.0);
                let ends = list.iter().map(|end| u64::from(*end));
                let ends = ends.filter(|end| Some(*end) != skipped);
                failed = match (behind, all_count) {
                    ([], true) if skipped.is_none() => {
                        *sum += list.len() as u64;
                        Ok(())
                    }
                    (_, true) => self.add(ends, behind, sum),
                    (_, false) => {
                        let ends = ends.filter(|end| is_wanted(Some(&self.ends), *end));
                        self.add(ends, behind, sum)
                    }
                };
                visited += 1;
                if failed.is_ok() && visited.is_multiple_of(CHECKED_LISTS) {
                    failed = rt.check_cancelled();
                }
                match &failed {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            failed?;
        }
        let least = self.least();
        for (node, sum) in (range.start..).zip(sums) {
            array.put(node, sum.max(least));
        }
        memory.clear();
        rt.check_cancelled()
    }

    /// Adds to `sum` what hangs on these ends.
    #[inline]
    fn add(
        &self,
        ends: impl Iterator<Item = u64>,
        behind: &[Arc<Dense>],
        sum: &mut u64,
    ) -> Result<()> {
        for end in ends {
            let mut product = 1_u64;
            for numbers in behind {
                let number = numbers.get(end).ok_or_else(|| self.pattern.stray(end))?;
                product = product.checked_mul(number).ok_or_else(overflow)?;
            }
            *sum = sum.checked_add(product).ok_or_else(overflow)?;
        }
        Ok(())
    }
}
