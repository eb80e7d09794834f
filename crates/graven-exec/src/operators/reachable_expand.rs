//! One row per end of a reachability pattern, each end once per input row; or a test of a bound
//! end.

use super::row_expander::{RowExpander, gather_with};
use super::trail_expand::TrailColumns;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::pattern::Pattern;
use crate::query_context::QueryContext;
use crate::reachability::{Bounds, Search};

/// See the file header. Ends come in ascending id.
pub(crate) struct ReachableExpand {
    input: RowExpander,
    columns: TrailColumns,
    search: Search,
    /// Next id to hand out of the current row's ends; `None`: the row is not searched yet.
    next_end: Option<u64>,
}

impl ReachableExpand {
    /// Expands `input` along `pattern`.
    pub(crate) fn new(
        input: BoxedOperator,
        pattern: Pattern,
        columns: TrailColumns,
        bounds: Bounds,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            columns,
            search: Search::new(pattern, bounds, rt, "ReachableExpand"),
            next_end: None,
        }
    }

    /// Adds ends of the current row until it is done (true) or there is no more room.
    fn ends(&mut self, ends: &mut Vec<u64>, rt: &QueryContext) -> Result<bool> {
        let (batch, row) = (self.input.batch(), self.input.row());
        let Some(start) = batch.column(self.columns.from).node(row) else {
            return Ok(true);
        };
        let bound = if self.columns.into {
            match batch.column(self.columns.to).node(row) {
                Some(end) => Some(end),
                None => return Ok(true),
            }
        } else {
            None
        };
        let limit = rt.node_id_limit();
        let next = match self.next_end {
            Some(next) => next,
            None => {
                self.search.run(start, batch, row, rt)?;
                0
            }
        };
        if let Some(end) = bound {
            if self.search.marks().contains(end) {
                ends.push(end);
            }
            return Ok(true);
        }
        let room = BATCH_ROWS - ends.len();
        let next = self.search.marks().collect(next, limit, room, ends);
        self.next_end = Some(next);
        Ok(next == limit)
    }
}

impl PhysicalOperator for ReachableExpand {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let (mut rows, mut ends) = (Vec::new(), Vec::new());
        while self.input.advance(rt, |_| Ok(()))? {
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            if self.ends(&mut ends, rt)? {
                self.input.step();
                self.next_end = None;
            }
            rows.resize(ends.len(), row);
            let batch_done = self.input.row() == self.input.batch().len();
            if ends.len() == BATCH_ROWS || (batch_done && !ends.is_empty()) {
                let to = (self.columns.to, Column::Nodes(ends));
                return Ok(Some(gather_with(self.input.batch(), &rows, [to])));
            }
        }
        self.search.clear();
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.search.clear();
        self.next_end = None;
    }
}
