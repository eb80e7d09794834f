//! Runs a pipeline on several threads; rows come out as if one had run it.
//!
//! # How it works
//! ```text
//! scan's id ranges, or rows -> morsels -> worker 1: own copy of the pipeline, one morsel after the other -+
//!                                         worker 2: ...                                                   +-> by morsel, in order
//! ```
//! Every worker has a copy of the pipeline whose scan reads the range in its [`MorselSlot`], or
//! whose exchange reads the rows in its [`ArgumentSlot`]. In a *round* the workers run at the same
//! time, the calling thread being the first of them; each takes the next morsel when it has
//! finished one, and stops when no morsel is left or when it has made [`round_bytes`] of rows.
//! Between rounds no thread runs: pipelines keep their place, rows wait by morsel and are handed
//! out in the order of the morsels. Sorts, aggregations and limits have copies in the pipeline, put
//! there by the planner, so that mostly few rows come out and one round is enough.
//!
//! The calling thread makes the rows to be divided, some thousand at a time, twice as many each
//! time. How much is found from them is unknown beforehand, so one worker begins alone. The others
//! are made, and helpers called ([`crate::worker_pool`]), when it has run for
//! [`Tuning::alone`](crate::Tuning) and morsels are left, unless it will soon be done with these.
//! Operators forget with each morsel what they have marked or laid out. So a worker that is alone
//! takes as many rows at a time as it has done, and all that is left once no other thread will
//! help.
//!
//! # Invariants
//! * EX-32 Rows come out in the order of the ids that the scan would produce, or of the rows that
//!   are divided, whatever the number of threads.
//! * EX-82 Each worker of a round takes at least one step: it makes a batch, ends its morsel or
//!   fails. So a round makes progress even if its time is over before it begins.
//! * EX-44 No more than [`round_bytes`] for each worker and round waits out of order; it is
//!   charged.
//!
//! # Concurrency
//! A worker has a [`QueryContext`] of its own; they share snapshot, budget, temporary file and the
//! flag that cancels.
//!
//! # Source
//! Leis, Boncz, Kemper and Neumann, "Morsel-driven parallelism", 2014.

use crate::operators::morsels::MorselSlot;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use graven_storage::Adjacency;

use super::argument::ArgumentSlot;
use super::morsels::{cut_nodes, cut_rows};
use super::scan::Nodes;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::reading_threads::counting_pages;
use crate::worker_pool::run_parallel;

/// Rows that are divided at a time.
const DIVIDED_ROWS: usize = 4 * BATCH_ROWS;
/// As long as more rows come, twice as many are taken each time, up to these, or to this part of
/// the memory limit.
const DIVIDED_MOST: usize = 64 * BATCH_ROWS;
const DIVIDED_SHARE: u64 = 64;

/// Where a worker's pipeline finds what it is to run.
#[derive(Clone)]
pub(crate) enum Slot {
    /// The part of a scan.
    Nodes(MorselSlot),
    /// Rows.
    Rows(ArgumentSlot),
}

/// What is run at once.
enum Morsel {
    Nodes((u64, u64)),
    Rows(Batch),
}

impl Slot {
    fn set(&self, morsel: &Morsel) {
        match (self, morsel) {
            (Self::Nodes(slot), Morsel::Nodes(range)) => slot.set(*range),
            (Self::Rows(slot), Morsel::Rows(rows)) => slot.set(rows.clone()),
            _ => unreachable!("EX-32: morsels are of the kind that the pipeline reads"),
        }
    }
}

/// What the workers divide.
pub(crate) enum Source {
    /// A scan, and the lists of its nodes that the operator above visits.
    Nodes(Nodes, Vec<Adjacency>),
    /// The rows of an operator that the calling thread runs; what makes a further worker.
    Rows(BoxedOperator, MakeWorker),
}

/// Makes a further worker where others are wanted.
pub(crate) type MakeWorker = Box<dyn FnMut(&QueryContext) -> Result<Worker> + Send>;

/// A copy of the pipeline.
pub(crate) struct Worker {
    pub(crate) root: BoxedOperator,
    pub(crate) slot: Slot,
    pub(crate) rt: QueryContext,
    /// The morsel begun.
    current: Option<usize>,
}

/// When a worker stops before the morsels end.
#[derive(Clone, Copy)]
struct RoundQuota {
    /// Bytes of rows made.
    bytes: usize,
    /// No other morsel is begun, nor a further batch made after this moment (EX-82).
    until: Option<Instant>,
}

impl Worker {
    /// A worker whose pipeline reads what is in `slot`.
    pub(crate) fn new(root: BoxedOperator, slot: Slot, rt: QueryContext) -> Self {
        Self {
            root,
            slot,
            rt,
            current: None,
        }
    }

    /// Runs until no morsel is left or the quota is met.
    fn run(&mut self, morsels: &[Morsel], next: &AtomicUsize, quota: RoundQuota) -> Made {
        let mut made = Made::default();
        let mut held = 0;
        loop {
            let morsel = match self.current {
                Some(morsel) => morsel,
                None => {
                    let morsel = next.fetch_add(1, Ordering::Relaxed);
                    let Some(what) = morsels.get(morsel) else {
                        return made;
                    };
                    self.slot.set(what);
                    self.root.rewind();
                    self.current = Some(morsel);
                    morsel
                }
            };
            match self.root.next(&self.rt) {
                Ok(Some(batch)) => {
                    let bytes = held_bytes(&batch);
                    held += bytes;
                    made.batches.push((morsel, batch, bytes));
                    let late = quota.until.is_some_and(|until| Instant::now() >= until);
                    if held >= quota.bytes || late {
                        return made;
                    }
                }
                Ok(None) => {
                    made.finished.push(morsel);
                    self.current = None;
                    if quota.until.is_some() {
                        return made;
                    }
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
    /// Rows with their morsel and the bytes they hold.
    batches: Vec<(usize, Batch, usize)>,
    finished: Vec<usize>,
    failed: Option<(usize, ExecError)>,
}

/// Rows of a morsel that wait.
#[derive(Default)]
struct Waiting {
    batches: VecDeque<(Batch, usize)>,
    finished: bool,
}

/// See the file header.
pub(crate) struct Parallel {
    workers: Vec<Worker>,
    source: Source,
    /// What is divided at present; `None` before the first round and when all of it has been handed
    /// out.
    morsels: Option<Vec<Morsel>>,
    morsel_bytes: usize,
    /// Rows that are divided next.
    rows_at_once: usize,
    next: AtomicUsize,
    waiting: BTreeMap<usize, Waiting>,
    /// The morsel whose rows are handed out.
    emitted: usize,
    /// For how long the first worker runs alone yet.
    alone: Duration,
    /// What rounds have taken since rows were divided.
    spent: Duration,
    ended: bool,
    memory: Memory,
}

impl Parallel {
    /// Runs `workers`, whose pipelines begin with what `source` is divided into.
    pub(crate) fn new(workers: Vec<Worker>, source: Source, rt: &QueryContext) -> Self {
        Self {
            alone: match &source {
                Source::Nodes(..) => Duration::ZERO,
                Source::Rows(..) => rt.tuning.parallel_after,
            },
            workers,
            source,
            morsels: None,
            morsel_bytes: 0,
            rows_at_once: DIVIDED_ROWS,
            next: AtomicUsize::new(0),
            waiting: BTreeMap::new(),
            emitted: 0,
            spent: Duration::ZERO,
            ended: false,
            memory: Memory::new(&rt.budget, "Parallel", "use fewer threads"),
        }
    }

    /// Gets the next morsels; whether there are any.
    fn divide(&mut self, rt: &QueryContext) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let morsels: Vec<Morsel> = match &mut self.source {
            Source::Nodes(nodes, visited) => {
                self.ended = true;
                let least = rt.tuning.morsel_nodes.max(1);
                let ranges = cut_nodes(&nodes.ranges(rt)?, visited, self.workers.len(), least)?;
                ranges.into_iter().map(Morsel::Nodes).collect()
            }
            Source::Rows(input, _) => {
                let (mut batches, mut rows) = (Vec::new(), 0);
                while rows < self.rows_at_once {
                    let Some(batch) = input.next(rt)? else {
                        self.ended = true;
                        break;
                    };
                    rows += batch.len();
                    batches.push(batch);
                }
                self.morsel_bytes = batches.iter().map(held_bytes).sum();
                if 2 * self.morsel_bytes as u64 <= rt.budget.limit() / DIVIDED_SHARE {
                    self.rows_at_once = DIVIDED_MOST.min(2 * self.rows_at_once);
                }
                let alone = !self.alone.is_zero();
                let rows = cut_rows(&batches, rows, rt.tuning.threads, alone);
                rows.into_iter().map(Morsel::Rows).collect()
            }
        };
        self.next = AtomicUsize::new(0);
        self.spent = Duration::ZERO;
        self.emitted = 0;
        self.waiting.clear();
        let any = !morsels.is_empty();
        self.morsels = Some(morsels);
        Ok(any)
    }

    /// Whether the first worker alone needs no longer for the rows that are left than others would
    /// cost. All rows that are left are known; the estimate is from the time of those done.
    fn remaining_is_small(&self, morsels: &[Morsel], rt: &QueryContext) -> bool {
        if !self.ended || self.workers.len() > 1 {
            return false;
        }
        let next = self.next.load(Ordering::Relaxed).min(morsels.len());
        let (done, left) = morsels.split_at(next);
        let (done, left) = (rows_of(done), rows_of(left));
        self.spent.saturating_mul(left) < rt.tuning.parallel_min_remaining.saturating_mul(done)
    }

    /// Puts morsels together that one worker takes alone: as many rows as it has done, or all where
    /// the rest is `short`.
    fn coalesce_morsels(&mut self, short: bool) {
        let next = self.next.load(Ordering::Relaxed);
        let Some(morsels) = &mut self.morsels else {
            return;
        };
        let done = match short {
            true => u32::MAX,
            false => rows_of(&morsels[..next.min(morsels.len())]),
        };
        let (mut parts, mut rows) = (Vec::new(), 0_usize);
        for morsel in morsels.iter().skip(next) {
            let Morsel::Rows(batch) = morsel else { break };
            rows += batch.len();
            if rows > BATCH_ROWS.min(done as usize) {
                break;
            }
            parts.push(batch.clone());
        }
        if parts.len() > 1 {
            let together = Morsel::Rows(Batch::concat(&parts));
            morsels.splice(next..next + parts.len(), [together]);
        }
    }

    /// Runs the workers that may run, all at once.
    fn round(&mut self, rt: &QueryContext) -> Result<()> {
        let morsels = self.morsels.as_deref().expect("cut before the first round");
        let short = self.remaining_is_small(morsels, rt);
        let alone = !self.alone.is_zero() || short;
        if alone {
            self.coalesce_morsels(short);
        }
        let morsels = self.morsels.as_deref().expect("cut before the first round");
        let left = morsels
            .len()
            .saturating_sub(self.next.load(Ordering::Relaxed));
        if let Source::Rows(_, make) = &mut self.source
            && !alone
            && left > 1
        {
            while self.workers.len() < rt.tuning.threads {
                self.workers.push(make(rt)?);
            }
        }
        let count = self.workers.len();
        let began = Instant::now();
        let quota = RoundQuota {
            bytes: round_bytes(rt, count),
            until: alone.then(|| began + self.alone.max(rt.tuning.parallel_after)),
        };
        let held: usize = self.waiting.values().map(Waiting::bytes).sum();
        // Where too much waits already, only the rows that are wanted next are made (EX-44).
        let full = held >= quota.bytes * count;
        let with = |morsel| self.workers.iter().position(|w| w.current == morsel);
        let holder = with(Some(self.emitted)).or_else(|| with(None));
        // Those that have begun none are no more than there are morsels for.
        let mut begins = left;
        let mut running: Vec<&mut Worker> = Vec::with_capacity(count);
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if worker.current.is_none() {
                if begins == 0 {
                    continue;
                }
                begins -= 1;
            }
            if !full || Some(number) == holder {
                running.push(worker);
            }
        }
        let next = &self.next;
        let helpers = running.len().saturating_sub(1);
        let running = Mutex::new(VecDeque::from(running));
        let made = Mutex::new(Vec::with_capacity(count));
        // The calling thread begins with the first; it also runs a worker that no helper takes.
        let take = |first: bool| {
            let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
            match first {
                true => running.pop_front(),
                false => running.pop_back(),
            }
        };
        let put = |done| {
            let made = made.lock();
            made.unwrap_or_else(PoisonError::into_inner).push(done);
        };
        let aside = || {
            if let Some(worker) = take(false) {
                put(counting_pages(rt, || worker.run(morsels, next, quota)));
            }
        };
        run_parallel(helpers, &aside, || {
            while let Some(worker) = take(true) {
                put(worker.run(morsels, next, quota));
            }
        });
        let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.alone = self.alone.saturating_sub(began.elapsed());
        self.spent += began.elapsed();
        self.keep(made)
    }

    /// Puts what the workers did where it waits.
    fn keep(&mut self, made: Vec<Made>) -> Result<()> {
        let mut failed: Option<(usize, ExecError)> = None;
        for made in made {
            for (morsel, batch, bytes) in made.batches {
                let waiting = self.waiting.entry(morsel).or_default();
                waiting.batches.push_back((batch, bytes));
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
        let held: usize = self.waiting.values().map(Waiting::bytes).sum();
        self.memory.force(held + self.morsel_bytes);
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.batches.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// Rows to be divided.
fn rows_of(morsels: &[Morsel]) -> u32 {
    let rows = morsels.iter().map(|morsel| match morsel {
        Morsel::Nodes(_) => 0,
        Morsel::Rows(rows) => u32::try_from(rows.len()).unwrap_or(u32::MAX),
    });
    rows.fold(0, u32::saturating_add)
}

/// Bytes that a batch holds by itself: a value that all its rows share, such as a list collected
/// below, others share as well.
fn held_bytes(batch: &Batch) -> usize {
    let columns = batch.columns().iter();
    let bytes = columns.map(|column| match &**column {
        Column::Constant(..) => 0,
        column => column.heap_bytes(),
    });
    bytes.sum()
}

/// Bytes of rows after which a worker stops for a while.
fn round_bytes(rt: &QueryContext, workers: usize) -> usize {
    /// Part of the budget that waiting rows may take.
    const SHARE: u64 = 32;
    let share = rt.budget.limit() / SHARE / workers.max(1) as u64;
    usize::try_from(share.clamp(16 << 10, 8 << 20)).expect("a few MiB")
}

impl PhysicalOperator for Parallel {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            rt.check_cancelled()?;
            let Some(morsels) = &self.morsels else {
                if !self.divide(rt)? {
                    self.memory.clear();
                    return Ok(None);
                }
                continue;
            };
            if self.emitted == morsels.len() {
                self.morsels = None;
                continue;
            }
            match self.waiting.get_mut(&self.emitted) {
                Some(waiting) if !waiting.batches.is_empty() => {
                    return Ok(waiting.batches.pop_front().map(|(batch, _)| batch));
                }
                Some(waiting) if waiting.finished => {
                    self.waiting.remove(&self.emitted);
                    self.emitted += 1;
                }
                _ => self.round(rt)?,
            }
        }
    }

    fn rewind(&mut self) {
        if let Source::Rows(input, _) = &mut self.source {
            input.rewind();
        }
        for worker in &mut self.workers {
            worker.root.rewind();
            worker.current = None;
        }
        self.morsels = None;
        self.morsel_bytes = 0;
        self.rows_at_once = DIVIDED_ROWS;
        self.ended = false;
        self.next = AtomicUsize::new(0);
        self.waiting.clear();
        self.emitted = 0;
        self.memory.clear();
    }
}
