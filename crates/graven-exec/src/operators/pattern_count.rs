//! How many matches hang on the nodes of a row: a number, where an expansion would make a row for each.
//!
//! # How it works
//! A hanging pattern is a tree. The number of matches of a node is the sum over its neighbours of the product of what
//! hangs on them; a branch with nothing behind it is a degree. Nodes are worked on in ascending chunks: their lists are laid out,
//! the distinct neighbours counted the same way one level deeper, and the sums formed. Numbers of inner nodes that are
//! met again and again are kept, as long as the budget has room and keeping them pays.
//!
//! A pattern that hangs on the row itself may have ends that depend on it ([`super::end_lists`]): the ends are chosen row by row,
//! what hangs behind them is counted once a node.
//!
//! # Invariants
//! * EX-30 Numbers are exact or an error: additions and products that overflow 63 bits are refused.
//!
//! # Costs
//! The relationships of the tree once, instead of its matches.

use std::ops::ControlFlow;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};
use graven_cypher::plan::HangingPattern;
use graven_pagecache::Budget;
use graven_storage::Sweep;

use super::end_lists::EndLists;
use super::expand::ChunkSize;
use super::fan_out::widen;
use super::lists::Ids;
use super::reachable_count::intersect;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::pattern::{Part, Pattern};
use crate::runtime::Runtime;

/// List entries that a chunk of nodes aims to lay out.
const CHUNK_ENTRIES: usize = 64 << 10;
/// Look-ups after which it is judged whether keeping numbers pays, and the share of them that must have been known.
const JUDGED_AFTER: u64 = 4096;
const PAYING_SHARE: u64 = 8;
/// Bytes of a kept number.
const KEPT_BYTES: usize = 32;

/// One hanging pattern, resolved.
pub(crate) struct Branch {
    pattern: Pattern,
    labels: Vec<Arc<str>>,
    /// Id ranges of ends that count; all where there is no condition.
    ends: Vec<(u64, u64)>,
    optional: bool,
    branches: Vec<Branch>,
    known: Known,
    mean_entries: usize,
}

/// Numbers of nodes met before.
struct Known {
    numbers: HashMap<u64, u64>,
    looked_up: u64,
    found: u64,
    given_up: bool,
    memory: Memory,
}

impl Branch {
    /// Resolves `hanging` for a row of any layout: it reads nothing of it.
    pub(crate) fn new(hanging: &HangingPattern, rt: &Runtime) -> Result<Self> {
        let branches = hanging.branches.iter().map(|b| Branch::new(b, rt));
        Ok(Self {
            pattern: Pattern::new(&hanging.pattern, &Layout::new(Vec::new()), rt)?,
            labels: hanging.labels.clone(),
            ends: Vec::new(),
            optional: hanging.optional,
            branches: branches.collect::<Result<_>>()?,
            known: Known::new(&rt.budget),
            mean_entries: 64,
        })
    }

    /// Looks up which nodes have the labels.
    fn begin(&mut self, rt: &Runtime) -> Result<()> {
        self.ends = rt.all_node_ranges()?;
        for label in &self.labels {
            let of_label = match rt.label_id(label) {
                Some(label) => rt.label_ranges(label)?,
                None => Vec::new(),
            };
            self.ends = intersect(&self.ends, &of_label);
        }
        self.branches.iter_mut().try_for_each(|b| b.begin(rt))
    }

    fn clear(&mut self) {
        self.known.clear();
        self.branches.iter_mut().for_each(Branch::clear);
    }

    /// The numbers of matches of `nodes`, which ascend and are distinct.
    fn numbers(&mut self, nodes: &[u64], rt: &Runtime) -> Result<Vec<u64>> {
        if self.branches.is_empty() && self.labels.is_empty() {
            return self.degrees(nodes);
        }
        let mut numbers = vec![0; nodes.len()];
        let unknown = self.known.look_up(nodes, &mut numbers);
        let mut done = 0;
        while done < unknown.len() {
            rt.check_cancelled()?;
            let size = (CHUNK_ENTRIES / self.mean_entries.max(1)).clamp(1, CHUNK_ENTRIES);
            let chunk = &unknown[done..unknown.len().min(done + size)];
            let chunk_nodes: Vec<u64> = chunk.iter().map(|at| nodes[*at]).collect();
            let sums = self.sums(&chunk_nodes, rt)?;
            for ((at, node), sum) in chunk.iter().zip(chunk_nodes).zip(sums) {
                numbers[*at] = sum;
                self.known.keep(node, sum);
            }
            done += chunk.len();
        }
        Ok(numbers)
    }

    fn least(&self) -> u64 {
        u64::from(self.optional)
    }

    /// Lengths of lists.
    fn degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        let mut degrees = vec![0_u64; nodes.len()];
        for part in &self.pattern.parts {
            let mut at = 0;
            part.sweep(nodes, Sweep::Up, |node, list| {
                while nodes[at] != node.0 {
                    at += 1;
                }
                let loops = match part.skip_loops {
                    true => list.positions(node)?.len(),
                    false => 0,
                };
                degrees[at] += (list.len() - loops) as u64;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        degrees.iter_mut().for_each(|d| *d = (*d).max(self.least()));
        Ok(degrees)
    }

    /// The numbers of a chunk of nodes, by their neighbours.
    fn sums(&mut self, nodes: &[u64], rt: &Runtime) -> Result<Vec<u64>> {
        let mut memory = memory(&rt.budget);
        let mut entries = Vec::new();
        for part in &self.pattern.parts {
            lay_out(part, nodes, &self.ends, &mut entries, &mut memory)?;
        }
        self.mean_entries = self
            .mean_entries
            .midpoint(entries.len() / nodes.len().max(1));
        let mut sums = vec![0_u64; nodes.len()];
        if self.branches.is_empty() {
            entries.iter().for_each(|(at, _)| sums[*at as usize] += 1);
        } else {
            memory.charge(24 * entries.len())?;
            let mut ends: Vec<u64> = entries.iter().map(|(_, end)| *end).collect();
            ends.sort_unstable();
            ends.dedup();
            let mut products = vec![1_u64; ends.len()];
            for branch in &mut self.branches {
                let numbers = branch.numbers(&ends, rt)?;
                for (product, number) in products.iter_mut().zip(numbers) {
                    *product = product.checked_mul(number).ok_or_else(overflow)?;
                }
            }
            for (at, end) in entries {
                let place = ends.binary_search(&end).expect("it is one of them");
                let sum = &mut sums[at as usize];
                *sum = sum.checked_add(products[place]).ok_or_else(overflow)?;
            }
        }
        sums.iter_mut()
            .for_each(|sum| *sum = (*sum).max(self.least()));
        Ok(sums)
    }
}

/// Appends the neighbours of `nodes` that lie in `ends`, each with the place of its node.
fn lay_out(
    part: &Part,
    nodes: &[u64],
    ends: &[(u64, u64)],
    entries: &mut Vec<(u32, u64)>,
    memory: &mut Memory,
) -> Result<()> {
    let mut ids = Ids::new(part);
    let mut refused = None;
    let mut at = 0;
    part.sweep(nodes, Sweep::Up, |node, list| {
        while nodes[at] != node.0 {
            at += 1;
        }
        if let Err(error) = memory.charge(16 * list.len()) {
            refused = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        let place = u32::try_from(at).expect("a chunk is small");
        let mut range = 0;
        ids.for_each(list, |neighbour| {
            // Neighbours ascend, and so do the ranges.
            while range < ends.len() && ends[range].1 <= neighbour {
                range += 1;
            }
            let counts = range < ends.len() && ends[range].0 <= neighbour;
            if counts && !(part.skip_loops && neighbour == node.0) {
                entries.push((place, neighbour));
            }
        })?;
        Ok(ControlFlow::Continue(()))
    })?;
    refused.map_or(Ok(()), Err)
}

impl Known {
    fn new(budget: &Arc<Budget>) -> Self {
        Self {
            numbers: HashMap::new(),
            looked_up: 0,
            found: 0,
            given_up: false,
            memory: memory(budget),
        }
    }

    /// Fills in what is known; the places of the others.
    fn look_up(&mut self, nodes: &[u64], numbers: &mut [u64]) -> Vec<usize> {
        if self.given_up {
            return (0..nodes.len()).collect();
        }
        let mut unknown = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            match self.numbers.get(node) {
                Some(number) => numbers[at] = *number,
                None => unknown.push(at),
            }
        }
        self.looked_up += nodes.len() as u64;
        self.found += (nodes.len() - unknown.len()) as u64;
        if self.looked_up >= JUDGED_AFTER && self.found < self.looked_up / PAYING_SHARE {
            self.give_up();
        }
        unknown
    }

    fn keep(&mut self, node: u64, number: u64) {
        if self.given_up {
            return;
        }
        if self.memory.try_charge(KEPT_BYTES) {
            self.numbers.insert(node, number);
        } else {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.given_up = true;
        self.numbers = HashMap::new();
        self.memory.clear();
    }

    fn clear(&mut self) {
        self.numbers = HashMap::new();
        self.memory.clear();
        (self.looked_up, self.found, self.given_up) = (0, 0, false);
    }
}

fn memory(budget: &Arc<Budget>) -> Memory {
    Memory::new(budget, "PatternCount", "count over fewer nodes at once")
}

fn overflow() -> ExecError {
    ExecError::Arithmetic {
        message: "the number of matches does not fit 63 bits".to_owned(),
    }
}

/// A pattern whose ends depend on the row: its branches are counted once a node, the ends chosen row by row.
pub(crate) struct RowBranch {
    lists: EndLists,
    branches: Vec<Branch>,
    weights: Weights,
    size: ChunkSize,
    memory: Memory,
}

/// What hangs on the ends, multiplied.
struct Weights {
    first: u64,
    /// By node from `first` on; empty where that takes too much memory.
    dense: Vec<u64>,
    /// Nodes of the chunk, ascending, and their numbers, where there is no `dense`.
    nodes: Vec<u64>,
    numbers: Vec<u64>,
    begun: bool,
}

/// No number yet.
const UNKNOWN: u64 = u64::MAX;

impl Weights {
    fn new() -> Self {
        Self {
            first: 0,
            dense: Vec::new(),
            nodes: Vec::new(),
            numbers: Vec::new(),
            begun: false,
        }
    }

    fn begin(&mut self, lists: &EndLists, memory: &Memory) -> Result<()> {
        if !self.begun {
            self.begun = true;
            let span = lists.pattern.span()?;
            let nodes = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
            if memory.is_small(nodes.saturating_mul(8)) {
                self.first = span.start;
                self.dense = vec![UNKNOWN; nodes];
            }
        }
        Ok(())
    }

    /// Makes sure that all ends of the chunk have a number.
    fn find(&mut self, lists: &EndLists, branches: &mut [Branch], rt: &Runtime) -> Result<()> {
        let mut nodes = Vec::new();
        for node in lists.lists.parts.iter().flat_map(|part| &part.neighbours) {
            if self.dense.is_empty() {
                nodes.push(*node);
                continue;
            }
            let known = self.dense.get(self.place(*node));
            if *known.ok_or_else(|| lists.pattern.stray(*node))? == UNKNOWN {
                nodes.push(*node);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        let mut numbers = vec![1_u64; nodes.len()];
        for branch in branches {
            let factors = branch.numbers(&nodes, rt)?;
            for (number, factor) in numbers.iter_mut().zip(factors) {
                *number = number.checked_mul(factor).ok_or_else(overflow)?;
            }
        }
        if self.dense.is_empty() {
            (self.nodes, self.numbers) = (nodes, numbers);
        } else {
            for (node, number) in nodes.iter().zip(numbers) {
                let place = self.place(*node);
                self.dense[place] = number;
            }
        }
        Ok(())
    }

    fn place(&self, node: u64) -> usize {
        usize::try_from(node.wrapping_sub(self.first)).unwrap_or(usize::MAX)
    }

    fn sum(&self, ends: &[u64]) -> u128 {
        let mut sum = 0;
        if self.dense.is_empty() {
            for end in ends {
                let place = self.nodes.binary_search(end).expect("it is one of them");
                sum += u128::from(self.numbers[place]);
            }
        } else {
            ends.iter()
                .for_each(|end| sum += u128::from(self.dense[self.place(*end)]));
        }
        sum
    }
}

impl RowBranch {
    /// Resolves the branches; `lists` finds the ends.
    pub(crate) fn new(lists: EndLists, hanging: &HangingPattern, rt: &Runtime) -> Result<Self> {
        let branches = hanging.branches.iter().map(|b| Branch::new(b, rt));
        Ok(Self {
            lists: lists.with_labels(&hanging.labels),
            branches: branches.collect::<Result<_>>()?,
            weights: Weights::new(),
            size: ChunkSize::default(),
            memory: memory(&rt.budget),
        })
    }

    fn begin(&mut self, rt: &Runtime) -> Result<()> {
        self.branches.iter_mut().try_for_each(|b| b.begin(rt))
    }

    fn clear(&mut self) {
        self.lists.clear();
        self.branches.iter_mut().for_each(Branch::clear);
        self.weights = Weights::new();
        self.memory.clear();
    }

    /// Multiplies the number of each row by its matches.
    fn multiply(&mut self, batch: &Batch, counts: &mut [u64], rt: &Runtime) -> Result<()> {
        let mut ends = Vec::new();
        let mut row = 0;
        while row < batch.len() {
            rt.check_cancelled()?;
            let (size, lists) = (&mut self.size, &mut self.lists);
            let loaded = size.load(lists, batch, row, false, &mut self.memory, rt)?;
            if !self.branches.is_empty() {
                self.weights.begin(&self.lists, &self.memory)?;
                self.memory.charge(8 * self.weights.dense.len())?;
                self.weights.find(&self.lists, &mut self.branches, rt)?;
            }
            for (count, row) in counts[row..loaded].iter_mut().zip(row..) {
                self.lists.select(batch, row, &mut ends)?;
                let number = if self.branches.is_empty() {
                    ends.len() as u64
                } else {
                    u64::try_from(self.weights.sum(&ends)).map_err(|_| overflow())?
                };
                *count = count.checked_mul(number).ok_or_else(overflow)?;
            }
            row = loaded;
        }
        Ok(())
    }
}

/// What hangs on the rows.
pub(crate) enum Hanging {
    /// On the node in a column; the number depends on nothing else.
    Node(usize, Branch),
    /// On the row.
    Row(RowBranch),
}

/// See the file header.
pub(crate) struct PatternCount {
    input: BoxedOperator,
    patterns: Vec<Hanging>,
    count: usize,
    begun: bool,
    /// Whether numbers are kept when the input starts again, with other rows of the same statement.
    keeps: bool,
}

impl PatternCount {
    /// Counts into column `count`.
    pub(crate) fn new(
        input: BoxedOperator,
        patterns: Vec<Hanging>,
        count: usize,
        keeps: bool,
    ) -> Self {
        Self {
            keeps,
            input,
            patterns,
            count,
            begun: false,
        }
    }

    /// The number of matches of each row.
    fn counts(&mut self, batch: &Batch, rt: &Runtime) -> Result<Vec<u64>> {
        let mut counts = vec![1_u64; batch.len()];
        for pattern in &mut self.patterns {
            let (slot, branch) = match pattern {
                Hanging::Row(branch) => {
                    branch.multiply(batch, &mut counts, rt)?;
                    continue;
                }
                Hanging::Node(slot, branch) => (*slot, branch),
            };
            let column = batch.column(slot);
            let mut nodes: Vec<u64> = (0..batch.len())
                .filter_map(|row| column.node(row))
                .collect();
            nodes.sort_unstable();
            nodes.dedup();
            let numbers = branch.numbers(&nodes, rt)?;
            for (row, count) in counts.iter_mut().enumerate() {
                let number = match column.node(row) {
                    Some(node) => numbers[nodes.binary_search(&node).expect("it is one of them")],
                    None => branch.least(),
                };
                *count = count.checked_mul(number).ok_or_else(overflow)?;
            }
        }
        Ok(counts)
    }
}

impl Operator for PatternCount {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if !self.begun {
            self.begun = true;
            self.patterns
                .iter_mut()
                .try_for_each(|pattern| match pattern {
                    Hanging::Node(_, branch) => branch.begin(rt),
                    Hanging::Row(branch) => branch.begin(rt),
                })?;
        }
        while let Some(batch) = self.input.next(rt)? {
            let counts = self.counts(&batch, rt)?;
            let (mut rows, mut kept) = (Vec::new(), Vec::new());
            for (row, count) in (0..).zip(counts) {
                if count > 0 {
                    rows.push(row);
                    kept.push(i64::try_from(count).map_err(|_| overflow())?);
                }
            }
            if !rows.is_empty() {
                let count = (self.count, Column::Integers(kept));
                return Ok(Some(widen(&batch, &rows, [count])));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        if self.keeps {
            return;
        }
        self.begun = false;
        self.patterns.iter_mut().for_each(|pattern| match pattern {
            Hanging::Node(_, branch) => branch.clear(),
            Hanging::Row(branch) => branch.clear(),
        });
    }
}
