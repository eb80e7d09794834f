//! Every node, or every node with a label, in ascending id, once per input row.
//!
//! # How it works
//! Where the nodes lie is kept as storage tells it, which is little however they lie; ranges are
//! made of it a few thousand at a time. If they are no more than that, they are made once for all
//! rows.
//!
//! # Invariants
//! * EX-22 The nodes are fixed when the first input row is there; a writing statement that starts
//!   the scan again (in an inner tree) sees the nodes as they are then.

use graven_storage::{LabelId, NodeRanges};

use super::label_ranges::intersect;
use super::row_expander::RowExpander;
use crate::batch::Batch;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::operators::morsels::MorselSlot;
use crate::query_context::QueryContext;

/// Ranges that are made at a time.
const RANGES: usize = 4096;

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
    pub(super) fn ranges(self, rt: &QueryContext) -> Result<Vec<(u64, u64)>> {
        Ok(match self {
            Nodes::All => rt.all_node_ranges()?,
            Nodes::Labelled(Some(label)) => rt.label_ranges(label)?,
            Nodes::Labelled(None) => Vec::new(),
        })
    }

    /// Those ranges as far as they lie in a morsel.
    fn ranges_within(self, morsel: (u64, u64), rt: &QueryContext) -> Result<Vec<(u64, u64)>> {
        match self {
            Nodes::Labelled(Some(label)) => rt.label_ranges_within(label, morsel),
            _ => Ok(intersect(&self.ranges(rt)?, &[morsel])),
        }
    }

    fn part(self, morsel: Option<(u64, u64)>, rt: &QueryContext) -> Result<Part> {
        let whole = match (self, morsel) {
            (_, Some(morsel)) => return Ok(Part::of(self.ranges_within(morsel, rt)?)),
            (Nodes::All, None) => rt.all_nodes()?,
            (Nodes::Labelled(Some(label)), None) => rt.labelled(label)?,
            (Nodes::Labelled(None), None) => NodeRanges::default(),
        };
        let mut part = Part {
            whole,
            first: 0,
            ranges: Vec::new(),
            more: true,
        };
        part.go_on(0);
        Ok(part)
    }
}

/// Ascending disjoint ranges `from..to`, some at a time.
struct Part {
    whole: NodeRanges,
    /// Those of `whole` from here on.
    first: u64,
    ranges: Vec<(u64, u64)>,
    /// Whether others follow.
    more: bool,
}

impl Part {
    fn of(ranges: Vec<(u64, u64)>) -> Part {
        Part {
            whole: NodeRanges::default(),
            first: 0,
            ranges,
            more: false,
        }
    }

    /// Makes the ranges from `first` on.
    fn go_on(&mut self, first: u64) {
        let mut left = self.whole.ranges_from(first);
        let pairs = left.by_ref().map(|range| (range.start, range.end));
        self.ranges.clear();
        self.ranges.extend(pairs.take(RANGES));
        self.more = left.next().is_some();
        self.first = first;
    }

    /// The ranges behind these, if there are any.
    fn next(&mut self) -> bool {
        let behind = self.ranges.last().map(|last| last.1);
        let goes_on = behind.filter(|_| self.more);
        goes_on.inspect(|behind| self.go_on(*behind)).is_some()
    }

    /// The first ranges.
    fn restart(&mut self) {
        if self.first > 0 {
            self.go_on(0);
        }
    }
}

/// See the file header.
pub(crate) struct NodeScan {
    input: RowExpander,
    slot: usize,
    which: Nodes,
    /// Only nodes in this range, where there are several of these scans.
    morsel: Option<MorselSlot>,
    /// `None` until the first row.
    part: Option<Part>,
    /// Where the scan stands: range and next id.
    range: usize,
    next: u64,
}

impl NodeScan {
    /// Scans into column `slot`.
    pub(crate) fn new(input: BoxedOperator, slot: usize, which: Nodes) -> Self {
        Self {
            input: RowExpander::new(input),
            slot,
            which,
            morsel: None,
            part: None,
            range: 0,
            next: 0,
        }
    }

    /// The scan, of the morsel in `slot`.
    pub(crate) fn within(mut self, slot: Option<MorselSlot>) -> Self {
        self.morsel = slot;
        self
    }
}

impl PhysicalOperator for NodeScan {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if self.part.is_none() {
            // Not before the first row is there: what made it may have written.
            if !self.input.advance(rt, |_| Ok(()))? {
                return Ok(None);
            }
            let morsel = self.morsel.as_ref().map(MorselSlot::get);
            let part = self.part.insert(self.which.part(morsel, rt)?);
            self.range = 0;
            self.next = part.ranges.first().map_or(0, |r| r.0);
        }
        let part = self.part.as_mut().expect("made for the first row");
        if part.ranges.is_empty() {
            // The rows below may still have something to write.
            while rt.writer.is_some() && self.input.advance(rt, |_| Ok(()))? {
                self.input.skip_batch();
            }
            return Ok(None);
        }
        let at_once = rt.batch_rows();
        let mut rows = Vec::with_capacity(at_once);
        let mut ids = Vec::with_capacity(at_once);
        while self.input.advance(rt, |_| Ok(()))? {
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            let mut is_end = false;
            while !is_end && ids.len() < at_once {
                let end = part.ranges[self.range].1;
                let room = (at_once - ids.len()) as u64;
                let to = end.min(self.next.saturating_add(room));
                ids.extend(self.next..to);
                self.next = to;
                if to == end {
                    self.range += 1;
                    if self.range == part.ranges.len() {
                        self.range = 0;
                        is_end = !part.next();
                    }
                    self.next = part.ranges[self.range].0;
                }
            }
            rows.resize(ids.len(), row);
            if is_end {
                self.input.step();
                part.restart();
                self.next = part.ranges[0].0;
            }
            if let Some(found) = self.input.found(self.slot, &rows, &mut ids, rt) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.part = None;
    }
}
