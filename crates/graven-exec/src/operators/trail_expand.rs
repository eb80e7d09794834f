//! Every trail of a variable-length pattern is a row; streaming, in memory that follows the trail
//! at hand.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use graven_storage::RelId;

use super::row_expander::{LISTED_MAX, RowExpander, gather_with};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::pattern::Pattern;
use crate::query_context::QueryContext;
use crate::reachability::Bounds;
use crate::reachability::filtered_neighbors::FilteredNeighbors;
use crate::trail::Trail;
use crate::value::Value;

/// Where the columns lie.
#[derive(Clone, Copy)]
pub(crate) struct TrailColumns {
    pub(crate) from: usize,
    pub(crate) relationships: Option<usize>,
    pub(crate) to: usize,
    /// The end is bound already: only trails that end there count.
    pub(crate) into: bool,
}

/// List entries remembered between trails: a walk meets the same nodes again and again.
const REMEMBERED_ENTRIES: usize = 16 << 10;
/// What a remembered node takes besides its list, counted in list entries.
const NODE_ENTRIES: usize = 4;

/// See the file header.
pub(crate) struct TrailExpand {
    input: RowExpander,
    pattern: Pattern,
    columns: TrailColumns,
    bounds: Bounds,
    memory: Memory,
    trail: Option<Trail>,
    remembered: HashMap<u64, Vec<(u64, u64)>, RandomState>,
    remembered_entries: usize,
}

impl TrailExpand {
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
            pattern,
            columns,
            bounds,
            memory: rt.spilling_memory("TrailExpand", "bound the pattern's length"),
            trail: None,
            remembered: HashMap::default(),
            remembered_entries: 0,
        }
    }

    /// Adds trails of the current row until it is done (true) or there is no more room.
    fn trails(&mut self, out: &mut Trails, rt: &QueryContext) -> Result<bool> {
        let (batch, row) = (self.input.batch(), self.input.row());
        let Some(start) = batch.column(self.columns.from).node(row) else {
            return Ok(true);
        };
        let wanted = batch
            .column(self.columns.to.min(batch.columns().len() - 1))
            .node(row);
        if self.columns.into && wanted.is_none() {
            return Ok(true);
        }
        let excluded = self.pattern.excluded(batch, row)?;
        let edges = FilteredNeighbors::new(&self.pattern, excluded, batch, row, rt)?;
        let bounds = self.bounds;
        let trail = self
            .trail
            .get_or_insert_with(|| Trail::new(start, bounds.min, bounds.max));
        let (remembered, entries) = (&mut self.remembered, &mut self.remembered_entries);
        let plain = edges.is_plain();
        let mut steps = 0_u32;
        while !out.is_full() {
            let neighbours = |node| {
                // With a condition or exclusions the usable relationships belong to this row alone.
                if !plain {
                    return edges.relationships(node);
                }
                if let Some(known) = remembered.get(&node) {
                    return Ok(known.clone());
                }
                let found = edges.relationships(node)?;
                let taken = found.len() + NODE_ENTRIES;
                if *entries + taken <= REMEMBERED_ENTRIES {
                    *entries += taken;
                    remembered.insert(node, found.clone());
                }
                Ok(found)
            };
            let Some(end) = trail.next(neighbours, &mut self.memory)? else {
                return Ok(true);
            };
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1024) {
                rt.check_cancelled()?;
            }
            if self.columns.into && wanted != Some(end) {
                continue;
            }
            out.ends.push(end);
            if self.columns.relationships.is_some() {
                out.listed += trail.relationships().len();
                out.lists.push(Value::List(
                    trail
                        .relationships()
                        .iter()
                        .map(|r| Value::Relationship(RelId(*r)))
                        .collect(),
                ));
            }
        }
        Ok(false)
    }
}

#[derive(Default)]
struct Trails {
    ends: Vec<u64>,
    lists: Vec<Value>,
    /// Values in the lists.
    listed: usize,
}

impl Trails {
    fn is_full(&self) -> bool {
        self.ends.len() == BATCH_ROWS || self.listed >= LISTED_MAX
    }
}

impl PhysicalOperator for TrailExpand {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let mut rows = Vec::new();
        let mut out = Trails::default();
        while self.input.advance(rt, |_| Ok(()))? {
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            if self.trails(&mut out, rt)? {
                self.input.step();
                self.trail = None;
                self.memory.clear();
            }
            rows.resize(out.ends.len(), row);
            let batch_done = self.input.row() == self.input.batch().len();
            if out.is_full() || (batch_done && !out.ends.is_empty()) {
                let mut added = vec![(self.columns.to, Column::Nodes(out.ends))];
                if let Some(slot) = self.columns.relationships {
                    added.push((slot, Column::from_values(out.lists)));
                }
                added.sort_by_key(|(slot, _)| *slot);
                return Ok(Some(gather_with(self.input.batch(), &rows, added)));
            }
        }
        Ok(None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.trail = None;
        self.memory.clear();
    }
}
