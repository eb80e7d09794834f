//! Every node, or every node with a label, in ascending id, once per input row.

use super::fan_out::{FanOut, widen};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// Nodes in the given id ranges.
pub(crate) struct NodeScan {
    input: FanOut,
    slot: usize,
    /// Ascending disjoint ranges `from..to`.
    ranges: Vec<(u64, u64)>,
    /// Where the scan stands: range and next id.
    range: usize,
    next: u64,
}

impl NodeScan {
    /// Scans `ranges` (ascending, disjoint, half open) into column `slot`.
    pub(crate) fn new(input: BoxedOperator, slot: usize, ranges: Vec<(u64, u64)>) -> Self {
        let next = ranges.first().map_or(0, |r| r.0);
        Self {
            input: FanOut::new(input),
            slot,
            ranges,
            range: 0,
            next,
        }
    }

    fn restart(&mut self) {
        self.range = 0;
        self.next = self.ranges.first().map_or(0, |r| r.0);
    }
}

impl Operator for NodeScan {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.ranges.is_empty() {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(BATCH_ROWS);
        let mut ids = Vec::with_capacity(BATCH_ROWS);
        while self.input.advance(rt, |_| Ok(()))? {
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            while self.range < self.ranges.len() && ids.len() < BATCH_ROWS {
                let end = self.ranges[self.range].1;
                let room = (BATCH_ROWS - ids.len()) as u64;
                let to = end.min(self.next + room);
                ids.extend(self.next..to);
                self.next = to;
                if to == end {
                    self.range += 1;
                    self.next = self.ranges.get(self.range).map_or(0, |r| r.0);
                }
            }
            rows.resize(ids.len(), row);
            if self.range == self.ranges.len() {
                self.input.step();
                self.restart();
            }
            // The batch belongs to one input batch: stop before the next one is pulled.
            if ids.len() == BATCH_ROWS || self.input.row() == self.input.batch().len() {
                let batch = widen(self.input.batch(), &rows, [(self.slot, Column::Nodes(ids))]);
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.restart();
    }
}
