//! Runs a pipeline that begins with a scan on several threads; rows come out as if one had run it.
//!
//! # How it works
//! ```text
//! scan's id ranges -> morsels -> worker 1: own copy of the pipeline, one morsel after the other -+
//!                                worker 2: ...                                                   +-> by morsel, in order
//! ```
//! Every worker has a copy of the pipeline whose scan reads the range in its [`MorselSlot`]. In a *round* the workers run at the
//! same time, the calling thread being the first of them; each takes the next morsel when it has finished one, and stops
//! when no morsel is left or when it has made [`round_bytes`] of rows. Between rounds no thread runs: pipelines keep their
//! place, rows wait by morsel and are handed out in the order of the morsels. Sorts, aggregations and limits have copies in the
//! pipeline, put there by the planner, so that mostly few rows come out and one round is enough.
//!
//! # Invariants
//! * EX-32 Rows come out in the order of the ids that the scan would produce, whatever the number of threads.
//! * EX-44 No more than [`round_bytes`] for each worker and round waits out of order; it is charged.
//!
//! # Concurrency
//! A worker has a [`Runtime`] of its own; they share snapshot, budget, temporary file and the flag that cancels.
//!
//! # Source
//! Leis, Boncz, Kemper and Neumann, "Morsel-driven parallelism", 2014.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use graven_pagecache::stats::Scope;

use super::scan::Nodes;
use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// Morsels for each worker, so that they end at nearly the same time.
const MORSELS_PER_WORKER: u64 = 16;

/// The part of a scan that a worker is to run: node ids `from..to`.
#[derive(Clone, Debug, Default)]
pub(crate) struct MorselSlot(Arc<Mutex<(u64, u64)>>);

impl MorselSlot {
    pub(super) fn get(&self) -> (u64, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, morsel: (u64, u64)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = morsel;
    }
}

/// A copy of the pipeline.
pub(crate) struct Worker {
    pub(crate) root: BoxedOperator,
    pub(crate) slot: MorselSlot,
    pub(crate) rt: Runtime,
    /// The morsel begun.
    current: Option<usize>,
}

impl Worker {
    /// A worker whose scan reads what is in `slot`.
    pub(crate) fn new(root: BoxedOperator, slot: MorselSlot, rt: Runtime) -> Self {
        Self {
            root,
            slot,
            rt,
            current: None,
        }
    }

    /// As [`Worker::run`] on a thread whose page counters nobody else reads.
    fn run_aside(&mut self, morsels: &[(u64, u64)], next: &AtomicUsize, bytes: usize) -> Made {
        let scope = Scope::start();
        let made = self.run(morsels, next, bytes);
        let pages = self.rt.shared.thread_pages.lock();
        let mut pages = pages.unwrap_or_else(PoisonError::into_inner);
        scope.finish_into(pages.get_or_insert_default());
        made
    }

    /// Runs until no morsel is left or `bytes` of rows are made.
    fn run(&mut self, morsels: &[(u64, u64)], next: &AtomicUsize, bytes: usize) -> Made {
        let mut made = Made::default();
        let mut held = 0;
        loop {
            let morsel = match self.current {
                Some(morsel) => morsel,
                None => {
                    let morsel = next.fetch_add(1, Ordering::Relaxed);
                    let Some(range) = morsels.get(morsel) else {
                        return made;
                    };
                    self.slot.set(*range);
                    self.root.rewind();
                    self.current = Some(morsel);
                    morsel
                }
            };
            match self.root.next(&self.rt) {
                Ok(Some(batch)) => {
                    held += batch.heap_bytes();
                    made.batches.push((morsel, batch));
                    if held >= bytes {
                        return made;
                    }
                }
                Ok(None) => {
                    made.finished.push(morsel);
                    self.current = None;
                }
                Err(error) => {
                    made.failed = Some((morsel, error));
                    return made;
                }
            }
        }
    }
}

/// What a worker did in a round.
#[derive(Default)]
struct Made {
    batches: Vec<(usize, Batch)>,
    finished: Vec<usize>,
    failed: Option<(usize, ExecError)>,
}

/// Rows of a morsel that wait.
#[derive(Default)]
struct Waiting {
    batches: VecDeque<Batch>,
    finished: bool,
}

/// See the file header.
pub(crate) struct Parallel {
    workers: Vec<Worker>,
    nodes: Nodes,
    morsels: Option<Vec<(u64, u64)>>,
    next: AtomicUsize,
    waiting: BTreeMap<usize, Waiting>,
    /// The morsel whose rows are handed out.
    emitted: usize,
    memory: Memory,
}

impl Parallel {
    /// Runs `workers`, whose pipelines begin with a scan of `nodes`.
    pub(crate) fn new(workers: Vec<Worker>, nodes: Nodes, rt: &Runtime) -> Self {
        Self {
            workers,
            nodes,
            morsels: None,
            next: AtomicUsize::new(0),
            waiting: BTreeMap::new(),
            emitted: 0,
            memory: Memory::new(&rt.budget, "Parallel", "use fewer threads"),
        }
    }

    /// Runs the workers that may run, all at once.
    fn round(&mut self, rt: &Runtime) -> Result<()> {
        let morsels = self.morsels.as_deref().expect("cut before the first round");
        let bytes = round_bytes(rt, self.workers.len());
        let held: usize = self.waiting.values().map(Waiting::bytes).sum();
        // Where too much waits already, only the rows that are wanted next are made (EX-44).
        let full = held >= bytes * self.workers.len();
        let holder = self
            .workers
            .iter()
            .position(|worker| worker.current == Some(self.emitted))
            .or_else(|| {
                self.workers
                    .iter()
                    .position(|worker| worker.current.is_none())
            });
        let next = &self.next;
        let running = self.workers.iter_mut().enumerate();
        let mut running: Vec<&mut Worker> = running
            .filter(|(number, _)| !full || Some(*number) == holder)
            .map(|(_, worker)| worker)
            .collect();
        let made: Vec<Made> = std::thread::scope(|scope| {
            let mut others = running.split_off(running.len().min(1));
            let threads: Vec<_> = others
                .drain(..)
                .map(|worker| scope.spawn(move || worker.run_aside(morsels, next, bytes)))
                .collect();
            let own = running.pop().map(|worker| worker.run(morsels, next, bytes));
            let joined = threads.into_iter().map(|thread| match thread.join() {
                Ok(made) => made,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            own.into_iter().chain(joined).collect()
        });
        let mut failed: Option<(usize, ExecError)> = None;
        for made in made {
            for (morsel, batch) in made.batches {
                self.waiting
                    .entry(morsel)
                    .or_default()
                    .batches
                    .push_back(batch);
            }
            for morsel in made.finished {
                self.waiting.entry(morsel).or_default().finished = true;
            }
            if let Some((morsel, error)) = made.failed
                && failed.as_ref().is_none_or(|(other, _)| morsel < *other)
            {
                failed = Some((morsel, error));
            }
        }
        let held = self.waiting.values().map(Waiting::bytes).sum();
        self.memory.force(held);
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.batches.iter().map(Batch::heap_bytes).sum()
    }
}

/// Bytes of rows after which a worker stops for a while.
fn round_bytes(rt: &Runtime, workers: usize) -> usize {
    /// Part of the budget that waiting rows may take.
    const SHARE: u64 = 32;
    let share = rt.budget.limit() / SHARE / workers.max(1) as u64;
    usize::try_from(share.clamp(64 << 10, 8 << 20)).expect("a few MiB")
}

/// Cuts ascending disjoint ranges into morsels of about the same number of nodes, no fewer than `least`; at least one morsel,
/// which may be empty.
fn cut(ranges: &[(u64, u64)], workers: usize, least: u64) -> Vec<(u64, u64)> {
    let nodes: u64 = ranges.iter().map(|(from, to)| to - from).sum();
    let size = (nodes / (workers as u64 * MORSELS_PER_WORKER)).max(least);
    let mut morsels = Vec::new();
    let (mut start, mut held) = (ranges.first().map_or(0, |range| range.0), 0);
    for (mut from, to) in ranges.iter().copied() {
        while to - from >= size - held {
            from += size - held;
            morsels.push((start, from));
            (start, held) = (from, 0);
        }
        held += to - from;
    }
    let end = ranges.last().map_or(0, |range| range.1);
    if held > 0 || morsels.is_empty() {
        morsels.push((start, end));
    }
    morsels
}

impl Operator for Parallel {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let count = match &self.morsels {
            Some(morsels) => morsels.len(),
            None => {
                let ranges = self.nodes.ranges(rt)?;
                let morsels = cut(&ranges, self.workers.len(), rt.tuning.morsel_nodes.max(1));
                self.morsels.insert(morsels).len()
            }
        };
        while self.emitted < count {
            rt.check_cancelled()?;
            let waiting = self.waiting.get_mut(&self.emitted);
            match waiting {
                Some(waiting) if !waiting.batches.is_empty() => {
                    return Ok(waiting.batches.pop_front());
                }
                Some(waiting) if waiting.finished => {
                    self.waiting.remove(&self.emitted);
                    self.emitted += 1;
                }
                _ => self.round(rt)?,
            }
        }
        self.memory.clear();
        Ok(None)
    }

    fn rewind(&mut self) {
        for worker in &mut self.workers {
            worker.root.rewind();
            worker.current = None;
        }
        self.morsels = None;
        self.next = AtomicUsize::new(0);
        self.waiting.clear();
        self.emitted = 0;
        self.memory.clear();
    }
}

#[cfg(test)]
mod tests {
    //! Morsels cover all ranges once, in order.

    use super::cut;

    fn covered(ranges: &[(u64, u64)], morsels: &[(u64, u64)]) -> Vec<u64> {
        let all = morsels.iter().flat_map(|(from, to)| *from..*to);
        all.filter(|id| ranges.iter().any(|(from, to)| (from..to).contains(&id)))
            .collect()
    }

    #[test]
    fn morsels_cover_the_ranges() {
        let cases: [&[(u64, u64)]; 5] = [
            &[],
            &[(5, 6)],
            &[(0, 64 * 32)],
            &[(3, 100), (200, 5000), (5001, 5002), (9000, 20_000)],
            &[(0, 1), (2, 3), (100_000, 100_001)],
        ];
        for ranges in cases {
            for workers in 1..5 {
                let morsels = cut(ranges, workers, 64);
                assert!(!morsels.is_empty());
                assert!(morsels.windows(2).all(|pair| pair[0].1 <= pair[1].0));
                let wanted: Vec<u64> = ranges.iter().flat_map(|(from, to)| *from..*to).collect();
                assert_eq!(covered(ranges, &morsels), wanted, "{ranges:?} {workers}");
            }
        }
    }
}
