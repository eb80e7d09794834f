//! `count(DISTINCT end)` over a reachability pattern, one number per input row, without
//! materialising the ends.
//!
//! # How it works
//! Input rows are taken in groups. A group of several rows whose relationships carry no condition
//! shares its sweeps ([`MultiSourceBfs`]) if the budget has room for the lanes; otherwise each row
//! is searched by itself. Ends are counted within the id ranges of their labels, nodes of the row
//! that an end must not be left out; a condition on the end is evaluated for reached nodes only, in
//! batches of ascending ids.

use crate::operators::label_ranges::end_ranges;
use std::sync::Arc;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::pattern::Pattern;
use crate::query_context::QueryContext;
use crate::reachability::filtered_neighbors::FilteredNeighbors;
use crate::reachability::multi_source_bfs::{LANES, MultiSourceBfs};
use crate::reachability::{Bounds, Search};
use crate::value::Value;

/// Which ends count.
#[derive(Clone)]
pub(crate) struct EndCondition {
    labels: Vec<Arc<str>>,
    /// Id ranges of the nodes with all the labels, once there are rows.
    ranges: Vec<(u64, u64)>,
    /// Whether `ranges` are known and stay so.
    begun: bool,
    /// Columns of nodes that it is not; no end is unlike null.
    not_equal: Vec<usize>,
    filter: Option<Arc<Compiled>>,
    /// Column of the end while the filter runs, behind those of the row.
    slot: usize,
    /// Row columns that the filter reads.
    captured: Vec<usize>,
}

impl EndCondition {
    /// Ends with all `labels`, other nodes than those in columns `not_equal`, that pass `filter`,
    /// which sees the end in column `slot`.
    pub(crate) fn new(
        labels: &[Arc<str>],
        not_equal: Vec<usize>,
        filter: Option<Arc<Compiled>>,
        slot: usize,
    ) -> Self {
        let mut captured = Vec::new();
        if let Some(filter) = &filter {
            filter.slots(&mut captured);
            captured.retain(|s| *s < slot);
        }
        Self {
            labels: labels.to_vec(),
            ranges: Vec::new(),
            begun: false,
            not_equal,
            filter,
            slot,
            captured,
        }
    }

    /// Looks up which nodes have the labels: once where the statement only reads, otherwise for the
    /// rows that are there now, since the operators below may have written some.
    fn begin(&mut self, rt: &QueryContext) -> Result<()> {
        if std::mem::replace(&mut self.begun, rt.writer.is_none()) {
            return Ok(());
        }
        self.ranges = end_ranges(&self.labels, rt)?;
        Ok(())
    }

    /// Of these ends, the positions of those that pass the filter.
    fn passing(
        &self,
        filter: &Compiled,
        ends: Vec<u64>,
        batch: &Batch,
        row: usize,
        rt: &QueryContext,
    ) -> Result<Vec<u32>> {
        let n = ends.len();
        let unused = Arc::new(Column::Constant(Value::Null, n));
        let mut columns = vec![unused; self.slot + 1];
        for slot in &self.captured {
            columns[*slot] = Arc::new(Column::Constant(batch.value(*slot, row), n));
        }
        columns[self.slot] = Arc::new(Column::Nodes(ends));
        filter.true_rows(Rows::of_columns(&columns, n), rt)
    }

    /// The distinct nodes that an end of this row must not be; `None` where one of them is null.
    fn others(&self, batch: &Batch, row: usize) -> Option<Vec<u64>> {
        let nodes = self
            .not_equal
            .iter()
            .map(|slot| batch.column(*slot).node(row));
        let mut nodes = nodes.collect::<Option<Vec<u64>>>()?;
        nodes.sort_unstable();
        nodes.dedup();
        Some(nodes)
    }

    /// Ends of the last run of `search` that count for this row.
    fn count(&self, search: &Search, batch: &Batch, row: usize, rt: &QueryContext) -> Result<u64> {
        let Some(others) = self.others(batch, row) else {
            return Ok(0);
        };
        let marks = search.marks();
        let Some(filter) = &self.filter else {
            let count = |(from, to): &(u64, u64)| {
                let left_out = others.iter().filter(|node| (*from..*to).contains(node));
                let left_out: u64 = left_out.map(|node| marks.count(*node, node + 1)).sum();
                marks.count(*from, *to) - left_out
            };
            return Ok(self.ranges.iter().map(count).sum());
        };
        let mut count = 0;
        for (from, to) in &self.ranges {
            let mut next = *from;
            while next < *to {
                rt.check_cancelled()?;
                let mut ends = Vec::with_capacity(BATCH_ROWS);
                next = marks.collect(next, *to, BATCH_ROWS, &mut ends);
                ends.retain(|end| !others.contains(end));
                count += self.passing(filter, ends, batch, row, rt)?.len() as u64;
            }
        }
        Ok(count)
    }

    /// Clears the lanes of nodes that fail the filter, which must not read the row.
    fn clear_failing(
        &self,
        lanes: &mut MultiSourceBfs,
        batch: &Batch,
        rt: &QueryContext,
    ) -> Result<()> {
        let Some(filter) = &self.filter else {
            return Ok(());
        };
        self.clear_among(filter, lanes.outside(), lanes, batch, rt)?;
        let span = lanes.span();
        for (from, to) in &self.ranges {
            let (mut next, to) = (span.start.max(*from), span.end.min(*to));
            while next < to {
                rt.check_cancelled()?;
                let until = to.min(next + BATCH_ROWS as u64);
                let ends = (next..until).filter(|n| lanes.is_reached(*n)).collect();
                self.clear_among(filter, ends, lanes, batch, rt)?;
                next = until;
            }
        }
        Ok(())
    }

    fn clear_among(
        &self,
        filter: &Compiled,
        ends: Vec<u64>,
        lanes: &mut MultiSourceBfs,
        batch: &Batch,
        rt: &QueryContext,
    ) -> Result<()> {
        let mut passing = self
            .passing(filter, ends.clone(), batch, 0, rt)?
            .into_iter()
            .peekable();
        for (i, end) in (0..).zip(ends) {
            if passing.next_if_eq(&i).is_none() {
                lanes.clear(end);
            }
        }
        Ok(())
    }
}

/// See the file header.
pub(crate) struct ReachableCount {
    input: BoxedOperator,
    from: usize,
    count: usize,
    end: EndCondition,
    search: Search,
    lanes: MultiSourceBfs,
    lanes_memory: Memory,
    /// Nodes that lanes are charged for.
    lanes_charged: u64,
}

impl ReachableCount {
    /// Counts the ends reached from column `from` into column `count`.
    pub(crate) fn new(
        input: BoxedOperator,
        pattern: Pattern,
        from: usize,
        count: usize,
        bounds: Bounds,
        end: EndCondition,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input,
            from,
            count,
            end,
            search: Search::new(pattern, bounds, rt, "ReachableCount"),
            lanes: MultiSourceBfs::default(),
            lanes_memory: Memory::new(&rt.budget, "ReachableCount", "ask for fewer starts at once"),
            lanes_charged: 0,
        }
    }

    /// Whether rows of a batch may share sweeps, and there is room for it.
    fn can_share(&mut self, rows: usize, rt: &QueryContext) -> Result<bool> {
        let span = self.search.pattern().span()?;
        let nodes = span.end - span.start;
        let possible = rows >= rt.tuning.lanes_min
            && nodes <= rt.tuning.lanes_nodes
            && self.search.bounds().by_search()
            && !self.search.pattern().needs_ids()
            && self.end.captured.is_empty();
        if possible && self.lanes_charged < nodes {
            let more = MultiSourceBfs::bytes(nodes - self.lanes_charged);
            if self.lanes_memory.try_charge(more) {
                self.lanes_charged = nodes;
            }
        }
        Ok(possible && self.lanes_charged >= nodes)
    }

    fn shared(
        &mut self,
        batch: &Batch,
        from: usize,
        to: usize,
        rt: &QueryContext,
    ) -> Result<Vec<i64>> {
        let column = batch.column(self.from);
        let starts: Vec<Option<u64>> = (from..to).map(|row| column.node(row)).collect();
        let pattern = Arc::clone(self.search.pattern());
        let edges = FilteredNeighbors::new(&pattern, Vec::new(), batch, from, rt)?;
        let bounds = self.search.bounds();
        let span = pattern.span()?;
        let memory = &mut self.lanes_memory;
        self.lanes.run(&edges, bounds, &starts, span, memory)?;
        self.end.clear_failing(&mut self.lanes, batch, rt)?;
        for (lane, row) in (from..to).enumerate() {
            for other in self.end.others(batch, row).into_iter().flatten() {
                self.lanes.clear_lane(other, lane);
            }
        }
        let counts = self.lanes.counts(&self.end.ranges);
        let count = |(row, count): (usize, &u64)| match self.end.others(batch, row) {
            Some(_) => count.cast_signed(),
            None => 0,
        };
        Ok((from..to).zip(&counts).map(count).collect())
    }

    fn single(&mut self, batch: &Batch, row: usize, rt: &QueryContext) -> Result<i64> {
        let Some(start) = batch.column(self.from).node(row) else {
            return Ok(0);
        };
        self.search.run(start, batch, row, rt)?;
        Ok(self.end.count(&self.search, batch, row, rt)?.cast_signed())
    }
}

impl PhysicalOperator for ReachableCount {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        self.end.begin(rt)?;
        let mut counts = Vec::with_capacity(batch.len());
        while counts.len() < batch.len() {
            let from = counts.len();
            let to = batch.len().min(from + LANES);
            if self.can_share(to - from, rt)? {
                counts.extend(self.shared(&batch, from, to, rt)?);
            } else {
                for row in from..to {
                    counts.push(self.single(&batch, row, rt)?);
                }
            }
        }
        Ok(Some(
            batch.with_column(self.count, Column::Integers(counts)),
        ))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.search.clear();
        self.lanes = MultiSourceBfs::default();
        self.lanes_memory.clear();
        self.lanes_charged = 0;
    }
}
