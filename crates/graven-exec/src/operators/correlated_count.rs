//! A pattern that hangs on a row because its ends depend on it: what hangs behind them is counted
//! once a node, the ends are chosen row by row.
//!
//! # How it works
//! Each end has a *weight*, the number of matches that hang on it. The weights lie in a vector over
//! the ids that the relationship reaches; once more entries than that were met, those of all ids
//! are found at once. The number of a row is the sum of the weights of its ends.
//!
//! Where no node has more than one neighbour, as an author of a message, the number of a row is the
//! weight of its only end: rows that share the node of the join are answered together, a look-up
//! each.
//!
//! Where the only join decides whether an end counts at all, ends are not even chosen: a second
//! vector is *masked* by the list of the join's node, so that it holds zero for every end which
//! does not count, and is summed up over the whole list of the row. Rows that follow each other
//! mostly share that node. Nodes that an end must not be, and relationships that are used already,
//! are subtracted.
//!
//! # Invariants
//! * EX-33 `masked` differs from what it is without a mask only at the entries of the list it is
//!   masked by, which is laid out.

use std::ops::Range;

use graven_cypher::plan::CountTree;

use super::count_branch::{Branch, BranchPlan};
use super::count_cache::SharedCounts;
use super::counts::{memory, overflow};
use super::expand::ChunkSize;
use super::neighbor_batch::Entries;
use super::neighbor_filter::{NeighborFilter, NeighborFilterPlan};
use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::query_context::QueryContext;

/// No number yet.
const UNKNOWN: u64 = u64::MAX;

/// Sums of fewer than 2^32 weights up to this one fit a word.
const PLAIN_MAX: u64 = 1 << 31;

/// See the file header.
pub(crate) struct CorrelatedCount {
    lists: NeighborFilter,
    branches: Vec<Branch>,
    weights: NodeWeights,
    size: ChunkSize,
    memory: Memory,
    /// Entries of the lists of a row that are no ends for other reasons than the join, with their
    /// number.
    left_out: Vec<(u64, u64)>,
    /// Room for the ends of a row.
    ends: Vec<u64>,
}

/// What hangs on the ends, multiplied.
struct NodeWeights {
    first: u64,
    /// By node from `first` on; empty where that takes too much memory.
    dense: Vec<u64>,
    /// Nodes of the chunk, ascending, and their numbers, where there is no `dense`.
    nodes: Vec<u64>,
    numbers: Vec<u64>,
    begun: bool,
    /// Entries met so far.
    met: usize,
    /// Whether all of `dense` is known, or must be looked for node by node.
    complete: bool,
    piecemeal: bool,
    largest: u64,
    mask: Option<MaskedWeights>,
}

/// Weights of the ends that count for one node of a join.
struct MaskedWeights {
    masked: Vec<u64>,
    /// Ends that are joined count; else those that are not.
    wanted: bool,
    /// Place of the node.
    by: Option<usize>,
}

impl NodeWeights {
    fn new() -> Self {
        Self {
            first: 0,
            dense: Vec::new(),
            nodes: Vec::new(),
            numbers: Vec::new(),
            begun: false,
            met: 0,
            complete: false,
            piecemeal: false,
            largest: 0,
            mask: None,
        }
    }

    /// `alike`: all weigh one.
    fn begin(&mut self, lists: &NeighborFilter, alike: bool, memory: &Memory) -> Result<()> {
        if !self.begun {
            self.begun = true;
            let span = lists.pattern.ends_span()?;
            let nodes = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
            if memory.is_small(nodes.saturating_mul(16)) {
                self.first = span.start;
                let weight = if alike { 1 } else { UNKNOWN };
                self.dense = vec![weight; nodes];
                (self.complete, self.largest) = (alike, u64::from(alike));
                self.mask = lists.masks().map(|wanted| MaskedWeights {
                    masked: vec![if wanted { 0 } else { weight }; nodes],
                    wanted,
                    by: None,
                });
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let masked = self.mask.as_ref().map_or(0, |mask| mask.masked.len());
        8 * (self.dense.len() + masked)
    }

    /// Makes sure that all ends of the chunk have a number.
    fn find(
        &mut self,
        lists: &NeighborFilter,
        branches: &mut [Branch],
        rt: &QueryContext,
    ) -> Result<()> {
        if self.complete {
            return Ok(());
        }
        self.met += lists.entries();
        if !self.dense.is_empty() && !self.piecemeal && self.met >= 2 * self.dense.len() {
            match self.find_all(branches, rt) {
                // An error in a number that no row asks for is no error.
                Err(error) if matches!(error.what(), ExecError::Arithmetic { .. }) => {
                    self.piecemeal = true;
                }
                found => return found,
            }
        }
        let mut nodes = Vec::new();
        let mut stray = None;
        lists.for_each_list(|list| {
            for node in list {
                if self.dense.is_empty() {
                    nodes.push(*node);
                    continue;
                }
                match self.dense.get(self.place(*node)) {
                    Some(&UNKNOWN) => nodes.push(*node),
                    Some(_) => {}
                    None => stray = Some(*node),
                }
            }
        });
        if let Some(node) = stray {
            return Err(lists.pattern.stray(node));
        }
        nodes.sort_unstable();
        nodes.dedup();
        let numbers = products(&nodes, branches, rt)?;
        if self.dense.is_empty() {
            (self.nodes, self.numbers) = (nodes, numbers);
        } else {
            self.keep(&nodes, &numbers);
        }
        Ok(())
    }

    /// The numbers of all nodes that are not known yet.
    fn find_all(&mut self, branches: &mut [Branch], rt: &QueryContext) -> Result<()> {
        let unknown = (self.first..).zip(&self.dense);
        let unknown = unknown.filter(|(_, number)| **number == UNKNOWN);
        let nodes: Vec<u64> = unknown.map(|(node, _)| node).collect();
        let numbers = products(&nodes, branches, rt)?;
        self.keep(&nodes, &numbers);
        self.complete = true;
        Ok(())
    }

    fn keep(&mut self, nodes: &[u64], numbers: &[u64]) {
        for (node, number) in nodes.iter().zip(numbers) {
            let place = self.place(*node);
            self.dense[place] = *number;
            self.largest = self.largest.max(*number);
            if let Some(mask) = self.mask.as_mut().filter(|mask| !mask.wanted) {
                mask.masked[place] = *number;
            }
        }
    }

    fn place(&self, node: u64) -> usize {
        usize::try_from(node.wrapping_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// The number of a node of the span.
    fn weight(&self, lists: &NeighborFilter, node: u64) -> Result<u64> {
        let weight = self.dense.get(self.place(node)).copied();
        weight.ok_or_else(|| lists.pattern.stray(node))
    }

    fn sum(&self, lists: &NeighborFilter, ends: &[u64]) -> Result<u128> {
        let mut sum = 0;
        for end in ends {
            sum += u128::from(if self.dense.is_empty() {
                let place = self.nodes.binary_search(end).expect("it is one of them");
                self.numbers[place]
            } else {
                self.weight(lists, *end)?
            });
        }
        Ok(sum)
    }

    /// Masks the weights by the list of the join's node at place `by`; none: takes the mask off.
    fn mask(&mut self, lists: &NeighborFilter, by: Option<usize>) {
        let before = self.mask.as_ref().and_then(|mask| mask.by);
        if before == by {
            return;
        }
        if let Some(before) = before {
            self.cover(lists, before, false);
        }
        if let Some(by) = by {
            self.cover(lists, by, true);
        }
        if let Some(mask) = &mut self.mask {
            mask.by = by;
        }
    }

    /// Puts the list at `place` over the weights or takes it off.
    fn cover(&mut self, lists: &NeighborFilter, place: usize, on: bool) {
        let Some(MaskedWeights { masked, wanted, .. }) = &mut self.mask else {
            return;
        };
        let shows = *wanted == on;
        for node in lists.joined_list(place) {
            let at = usize::try_from(node.wrapping_sub(self.first)).unwrap_or(usize::MAX);
            if let (Some(masked), Some(weight)) = (masked.get_mut(at), self.dense.get(at)) {
                *masked = if shows { *weight } else { 0 };
            }
        }
    }
}

/// The product of the numbers of all branches for each of `nodes`, which ascend.
fn products(nodes: &[u64], branches: &mut [Branch], rt: &QueryContext) -> Result<Vec<u64>> {
    let mut numbers = vec![1_u64; nodes.len()];
    for branch in branches {
        let factors = branch.numbers(nodes, rt)?;
        for (number, factor) in numbers.iter_mut().zip(factors) {
            *number = number.checked_mul(factor).ok_or_else(overflow)?;
        }
    }
    Ok(numbers)
}

/// What is the same in every run.
pub(crate) struct CorrelatedCountPlan {
    lists: NeighborFilterPlan,
    branches: Vec<BranchPlan>,
}

impl CorrelatedCountPlan {
    /// What hangs on the ends of `lists`.
    pub(crate) fn new(
        lists: NeighborFilterPlan,
        hanging: &CountTree,
        rt: &QueryContext,
    ) -> Result<Self> {
        Ok(Self {
            lists: lists.with_labels(&hanging.labels),
            branches: BranchPlan::behind(hanging, rt)?,
        })
    }

    /// The pattern of a run. Copies that threads run get the same `shared`.
    pub(crate) fn start(
        &self,
        shared: &SharedCounts,
        rt: &QueryContext,
    ) -> Result<CorrelatedCount> {
        Ok(CorrelatedCount {
            lists: self.lists.start(rt)?,
            branches: BranchPlan::start_all(&self.branches, shared, rt)?,
            weights: NodeWeights::new(),
            size: ChunkSize::default(),
            memory: memory(&rt.budget),
            left_out: Vec::new(),
            ends: Vec::new(),
        })
    }
}

impl CorrelatedCount {
    pub(super) fn begin(&mut self, rt: &QueryContext) -> Result<()> {
        let span = match self.branches.is_empty() {
            true => None,
            false => Some(self.lists.pattern.ends_span()?),
        };
        let ends = self.lists.pattern.ends_of(self.lists.expected)?;
        let mut branches = self.branches.iter_mut();
        branches.try_for_each(|b| b.begin(span.clone(), ends, rt))
    }

    pub(super) fn clear(&mut self) {
        self.weights = NodeWeights::new();
        self.lists.clear();
        self.branches.iter_mut().for_each(Branch::clear);
        self.memory.clear();
    }

    /// Multiplies the number of each row by its matches.
    pub(super) fn multiply(
        &mut self,
        batch: &Batch,
        counts: &mut [u64],
        rt: &QueryContext,
    ) -> Result<()> {
        let weighs = !self.branches.is_empty() || self.lists.masks().is_some();
        let mut ends = std::mem::take(&mut self.ends);
        let mut row = 0;
        while row < batch.len() {
            rt.check_cancelled()?;
            // The list that it is masked by goes (EX-33).
            self.weights.mask(&self.lists, None);
            let (size, lists) = (&mut self.size, &mut self.lists);
            let loaded = size.load(lists, batch, row, Entries::Ends, &mut self.memory, rt)?;
            if weighs {
                let alike = self.branches.is_empty();
                self.weights.begin(&self.lists, alike, &self.memory)?;
            }
            if !(self.branches.is_empty() && self.weights.dense.is_empty()) {
                self.memory.charge(self.weights.bytes())?;
                self.weights.find(&self.lists, &mut self.branches, rt)?;
            }
            let to_one = weighs && self.is_to_one(batch, row..loaded);
            while row < loaded {
                let run = match to_one {
                    true => self.lists.joined_alike(row..loaded),
                    false => row..loaded,
                };
                row = run.end;
                if to_one && self.run_of_to_one(run.clone(), &mut counts[run.clone()])? {
                    continue;
                }
                for (count, row) in counts[run.clone()].iter_mut().zip(run) {
                    self.lists.look_ahead(row, loaded);
                    let number = self.number(batch, row, &mut ends)?;
                    *count = count.checked_mul(number).ok_or_else(overflow)?;
                }
            }
        }
        self.ends = ends;
        Ok(())
    }

    /// The number of a row.
    #[inline]
    fn number(&mut self, batch: &Batch, row: usize, ends: &mut Vec<u64>) -> Result<u64> {
        if let Some(number) = self.plain_number(batch, row) {
            return Ok(number);
        }
        if !self.lists.are_reached()
            && let Some(number) = self.masked_sum(batch, row)?
        {
            return Ok(number);
        }
        self.lists.select(batch, row, ends)?;
        if self.branches.is_empty() {
            return Ok(ends.len() as u64);
        }
        let sum = self.weights.sum(&self.lists, ends)?;
        u64::try_from(sum).map_err(|_| overflow())
    }

    /// Whether the number of each of these rows is the weight of its only end, if the only join
    /// lets that count.
    fn is_to_one(&self, batch: &Batch, rows: Range<usize>) -> bool {
        self.weights.mask.is_some()
            && self.weights.largest < PLAIN_MAX
            && !self.lists.are_reached()
            && self.lists.judges_by_join_alone()
            && (self.lists.lists.nodes_of_sole(rows.clone()))
                .is_some_and(|nodes| !self.lists.pattern.may_take(batch, rows, nodes))
    }

    /// The numbers of rows that share the node of the join; `false` where its list is not marked.
    fn run_of_to_one(&mut self, rows: Range<usize>, counts: &mut [u64]) -> Result<bool> {
        let Some(by) = self.lists.go_to_marks(rows.start, rows.len())? else {
            return Ok(false);
        };
        self.weights.mask(&self.lists, Some(by));
        let NodeWeights { first, mask, .. } = &self.weights;
        let masked = mask.as_ref().map_or(&[][..], |mask| &mask.masked);
        let Some(ends) = self.lists.lists.sole_ends(rows) else {
            return Ok(false);
        };
        for (count, end) in counts.iter_mut().zip(ends) {
            let weight = match end {
                None => 0,
                Some(end) => {
                    let at = usize::try_from(end.wrapping_sub(*first)).unwrap_or(usize::MAX);
                    *(masked.get(at)).ok_or_else(|| self.lists.pattern.stray(end))?
                }
            };
            *count = count.checked_mul(weight).ok_or_else(overflow)?;
        }
        Ok(true)
    }

    /// The number of a row where all ends weigh the same and need not be chosen.
    fn plain_number(&mut self, batch: &Batch, row: usize) -> Option<u64> {
        if !self.branches.is_empty() || self.lists.are_reached() {
            return None;
        }
        match self.lists.lists.place(row) {
            None => Some(0),
            Some(place) => self.lists.number(batch, row, place, &mut self.left_out),
        }
    }

    /// The number of a row by masked weights; `None` where ends must be chosen.
    fn masked_sum(&mut self, batch: &Batch, row: usize) -> Result<Option<u64>> {
        if self.weights.mask.is_none() || self.weights.largest >= PLAIN_MAX {
            return Ok(None);
        }
        let Some(place) = self.lists.lists.place(row) else {
            return Ok(Some(0));
        };
        let entries = self.lists.lists.parts.iter().map(|part| part.len(place));
        let entries = entries.sum();
        let Some(by) = self.lists.go_to_marks(row, entries)? else {
            return Ok(None);
        };
        if !self.lists.left_out(batch, row, place, &mut self.left_out) {
            return Ok(Some(0));
        }
        self.weights.mask(&self.lists, Some(by));
        let NodeWeights { first, mask, .. } = &self.weights;
        let masked = mask.as_ref().map_or(&[][..], |mask| &mask.masked);
        let weight = |node: u64| {
            let at = usize::try_from(node.wrapping_sub(*first)).unwrap_or(usize::MAX);
            masked.get(at).copied()
        };
        let (mut sum, mut stray) = (0_u64, None);
        for part in &self.lists.lists.parts {
            part.for_each(place, |node| match weight(node) {
                Some(weight) => sum += weight,
                None => stray = Some(node),
            });
        }
        if let Some(node) = stray {
            return Err(self.lists.pattern.stray(node));
        }
        for (node, times) in &self.left_out {
            sum -= times * weight(*node).unwrap_or(0);
        }
        Ok(Some(sum))
    }
}
