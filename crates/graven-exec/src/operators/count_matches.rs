//! How many matches hang on the nodes of a row, and the extremes of their relationships: a number,
//! where an expansion would make a row for each.
//!
//! # How it works
//! A hanging pattern is a tree. The number of matches of a node is the sum over its neighbours of
//! the product of what hangs on them; a branch with nothing behind it is a degree. Nodes are worked
//! on in ascending chunks: their lists are laid out, the distinct neighbours counted the same way
//! one level deeper, and the sums formed. Numbers of inner nodes that are met again and again are
//! kept ([`super::count_cache`]).
//!
//! A pattern that hangs on the row itself may have ends that depend on it: see
//! [`super::correlated_count`]. One of which extremes are wanted is asked list by list:
//! [`extremes`].
//!
//! # Invariants
//! * EX-30 Numbers are exact or an error: additions and products that overflow 63 bits are refused.
//!
//! # Costs
//! The relationships of the tree once, instead of its matches.

pub(crate) mod extremes;

use crate::operators::count_branch::{Branch, BranchPlan};
use crate::operators::count_cache::SharedCounts;
use crate::operators::counts::overflow;

use extremes::{Extremes, ExtremesPlan};

use super::correlated_count::{CorrelatedCount, CorrelatedCountPlan};
use super::row_expander::gather_with;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::id_sort::IdOrder;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;

/// What hangs on the rows.
pub(crate) enum CountTreeRoot {
    /// On the node in a column; the number depends on nothing else.
    Node(usize, Branch),
    /// On the row.
    Row(CorrelatedCount),
    /// On a node, with extremes of its relationships.
    Extremes(Extremes),
}

/// What hangs on the rows, the same in every run.
pub(crate) enum CountTreeRootPlan {
    /// On the node in a column.
    Node(usize, BranchPlan),
    /// On the row.
    Row(CorrelatedCountPlan),
    /// On a node, with extremes of its relationships.
    Extremes(ExtremesPlan),
}

impl CountTreeRootPlan {
    /// The pattern of a run. Copies that threads run get the same `shared`.
    pub(crate) fn start(&self, shared: &SharedCounts, rt: &QueryContext) -> Result<CountTreeRoot> {
        Ok(match self {
            Self::Node(from, branch) => CountTreeRoot::Node(*from, branch.start(shared, rt)?),
            Self::Row(branch) => CountTreeRoot::Row(branch.start(shared, rt)?),
            Self::Extremes(extremes) => CountTreeRoot::Extremes(extremes.start(rt)?),
        })
    }
}

/// See the file header.
pub(crate) struct CountMatches {
    input: BoxedOperator,
    patterns: Vec<CountTreeRoot>,
    count: usize,
    /// Rows that are expected in all.
    expected: f64,
    begun: bool,
    /// Whether numbers are kept when the input starts again, with other rows of the same statement.
    keeps: bool,
}

impl CountMatches {
    /// Counts into column `count`, for so many rows as far as one can tell.
    pub(crate) fn new(
        input: BoxedOperator,
        patterns: Vec<CountTreeRoot>,
        count: usize,
        expected: f64,
        keeps: bool,
    ) -> Self {
        Self {
            keeps,
            expected,
            input,
            patterns,
            count,
            begun: false,
        }
    }

    /// Looks up what holds for all rows, with the first of them: what lies below may have written
    /// what counts.
    fn begin(&mut self, rt: &QueryContext) -> Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let mut patterns = self.patterns.iter_mut();
        patterns.try_for_each(|pattern| match pattern {
            CountTreeRoot::Node(_, branch) => branch.begin(None, self.expected, rt),
            CountTreeRoot::Row(branch) => branch.begin(rt),
            CountTreeRoot::Extremes(extremes) => extremes.begin(rt),
        })
    }

    /// The number of matches of each row; adds columns of extremes to `found`.
    fn counts(
        &mut self,
        batch: &Batch,
        found: &mut Vec<(usize, Column)>,
        rt: &QueryContext,
    ) -> Result<Vec<u64>> {
        let mut counts = vec![1_u64; batch.len()];
        for pattern in &mut self.patterns {
            let (slot, branch) = match pattern {
                CountTreeRoot::Row(branch) => {
                    branch.multiply(batch, &mut counts, rt)?;
                    continue;
                }
                CountTreeRoot::Extremes(extremes) => {
                    extremes.multiply(batch, &mut counts, found, rt)?;
                    continue;
                }
                CountTreeRoot::Node(slot, branch) => (*slot, branch),
            };
            let column = batch.column(slot);
            let nodes = IdOrder::of_nodes(column, 0..batch.len());
            let numbers = branch.numbers(&nodes.distinct, rt)?;
            for (row, count) in counts.iter_mut().enumerate() {
                let number = match nodes.place(row) {
                    Some(place) => numbers[place],
                    None => branch.least(),
                };
                *count = count.checked_mul(number).ok_or_else(overflow)?;
            }
        }
        Ok(counts)
    }
}

impl PhysicalOperator for CountMatches {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        while let Some(batch) = self.input.next(rt)? {
            self.begin(rt)?;
            let mut found = Vec::new();
            let counts = self.counts(&batch, &mut found, rt)?;
            let (mut rows, mut kept) = (
                Vec::with_capacity(counts.len()),
                Vec::with_capacity(counts.len()),
            );
            for (row, count) in (0..).zip(counts) {
                if count > 0 {
                    rows.push(row);
                    kept.push(i64::try_from(count).map_err(|_| overflow())?);
                }
            }
            if !rows.is_empty() {
                if rows.len() < batch.len() {
                    for (_, column) in &mut found {
                        *column = column.gather(&rows);
                    }
                }
                found.push((self.count, Column::Integers(kept)));
                found.sort_by_key(|(slot, _)| *slot);
                return Ok(Some(gather_with(&batch, &rows, found)));
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
            CountTreeRoot::Node(_, branch) => branch.clear(),
            CountTreeRoot::Row(branch) => branch.clear(),
            CountTreeRoot::Extremes(extremes) => extremes.clear(),
        });
    }
}
