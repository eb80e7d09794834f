//! Every node, or every node with a label, in ascending id, once per input row.
//!
//! # Invariants
//! * EX-22 The nodes are fixed when the first input row is there; a writing statement that starts the scan again (in an
//!   inner tree) sees the nodes as they are then.

use graven_storage::LabelId;

use super::fan_out::FanOut;
use super::parallel::MorselSlot;
use super::reachable_count::intersect;
use crate::batch::{BATCH_ROWS, Batch};
use crate::error::Result;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;

/// Which nodes are scanned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nodes {
    /// All.
    All,
    /// Those with the label; none if the catalogue does not know it.
    Labelled(Option<LabelId>),
}

impl Nodes {
    /// Ascending disjoint ranges `from..to` of their ids.
    pub(super) fn ranges(self, rt: &Runtime) -> Result<Vec<(u64, u64)>> {
        Ok(match self {
            Nodes::All => rt.all_node_ranges()?,
            Nodes::Labelled(Some(label)) => rt.label_ranges(label)?,
            Nodes::Labelled(None) => Vec::new(),
        })
    }

    /// Those ranges as far as they lie in a morsel.
    fn ranges_within(self, morsel: (u64, u64), rt: &Runtime) -> Result<Vec<(u64, u64)>> {
        match self {
            Nodes::Labelled(Some(label)) => rt.label_ranges_within(label, morsel),
            _ => Ok(intersect(&self.ranges(rt)?, &[morsel])),
        }
    }
}

/// See the file header.
pub(crate) struct NodeScan {
    input: FanOut,
    slot: usize,
    which: Nodes,
    /// Only nodes in this range, where there are several of these scans.
    morsel: Option<MorselSlot>,
    /// Ascending disjoint ranges `from..to`; `None` until the first row.
    ranges: Option<Vec<(u64, u64)>>,
    /// Where the scan stands: range and next id.
    range: usize,
    next: u64,
}

impl NodeScan {
    /// Scans into column `slot`.
    pub(crate) fn new(input: BoxedOperator, slot: usize, which: Nodes) -> Self {
        Self {
            input: FanOut::new(input),
            slot,
            which,
            morsel: None,
            ranges: None,
            range: 0,
            next: 0,
        }
    }

    /// The scan, of the morsel in `slot`.
    pub(crate) fn within(mut self, slot: Option<MorselSlot>) -> Self {
        self.morsel = slot;
        self
    }

    fn restart(&mut self) {
        self.range = 0;
        let ranges = self.ranges.as_ref();
        self.next = ranges.and_then(|r| r.first()).map_or(0, |r| r.0);
    }
}

impl Operator for NodeScan {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.ranges.is_none() {
            // Not before the first row is there: what made it may have written.
            if !self.input.advance(rt, |_| Ok(()))? {
                return Ok(None);
            }
            self.ranges = Some(match &self.morsel {
                None => self.which.ranges(rt)?,
                Some(slot) => self.which.ranges_within(slot.get(), rt)?,
            });
            self.restart();
        }
        let ranges = self.ranges.as_deref().unwrap_or_default();
        if ranges.is_empty() {
            // The rows below may still have something to write.
            while rt.writer.is_some() && self.input.advance(rt, |_| Ok(()))? {
                self.input.skip_batch();
            }
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(BATCH_ROWS);
        let mut ids = Vec::with_capacity(BATCH_ROWS);
        while self.input.advance(rt, |_| Ok(()))? {
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            while self.range < ranges.len() && ids.len() < BATCH_ROWS {
                let end = ranges[self.range].1;
                let room = (BATCH_ROWS - ids.len()) as u64;
                let to = end.min(self.next + room);
                ids.extend(self.next..to);
                self.next = to;
                if to == end {
                    self.range += 1;
                    self.next = ranges.get(self.range).map_or(0, |r| r.0);
                }
            }
            rows.resize(ids.len(), row);
            if self.range == ranges.len() {
                self.input.step();
                self.range = 0;
                self.next = ranges[0].0;
            }
            if let Some(found) = self.input.found(self.slot, &rows, &mut ids) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.ranges = None;
    }

    fn rest(&mut self) -> bool {
        self.ranges = None;
        self.morsel.is_none() && self.input.rest()
    }

    fn renew(&mut self, rt: &Runtime) -> Result<()> {
        self.input.renew(rt)
    }
}
