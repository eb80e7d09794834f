//! Counts and extremes over the relationships of each node, from whole lists instead of a row for
//! each relationship.
//!
//! # How it works
//! `MATCH (a)-[k]->(b:B) RETURN a.x, count(*), max(k.since)`: everything but what is aggregated
//! belongs to `a`. The lists of a chunk of rows are laid out as an expansion does it, the
//! properties of all their relationships read at once, and each list becomes one row with its
//! number of entries and its extremes; the aggregation above adds up and compares these. Rows whose
//! lists are empty disappear, as they do in an expansion.
//!
//! Ends are not looked at where all that the relationships lead to have the labels.
//!
//! # Invariants
//! * EX-38 The partial results of a row, merged, are those of the rows that an expansion would make
//!   of it; rows keep their order.

use std::sync::Arc;

use graven_storage::KeyId;

use super::expand::ChunkSize;
use super::neighbor_batch::Entries;
use super::neighbor_filter::NeighborFilter;
use super::row_expander::gather_with;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::order::total_order;

/// What is computed of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListAggregateFn {
    /// The number of entries.
    Count,
    /// The smallest value of a property of its relationships, null being none.
    Min(Option<KeyId>),
    /// The largest.
    Max(Option<KeyId>),
}

impl ListAggregateFn {
    fn key(self) -> Option<Option<KeyId>> {
        match self {
            Self::Count => None,
            Self::Min(key) | Self::Max(key) => Some(key),
        }
    }
}

/// See the file header. Its columns follow those of the input, one for each call.
pub(crate) struct ListAggregate {
    input: BoxedOperator,
    lists: NeighborFilter,
    calls: Arc<[ListAggregateFn]>,
    memory: Memory,
    size: ChunkSize,
    batch: Batch,
    row: usize,
    begun: bool,
}

impl ListAggregate {
    /// Aggregates the lists of `lists`, which asks for nothing but labels of the ends.
    pub(crate) fn new(
        input: BoxedOperator,
        lists: NeighborFilter,
        calls: Arc<[ListAggregateFn]>,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input,
            lists,
            calls,
            memory: Memory::new(&rt.budget, "Aggregate", "start from fewer nodes"),
            size: ChunkSize::default(),
            batch: Batch::default(),
            row: 0,
            begun: false,
        }
    }

    /// The rows of the next chunk of the batch that have entries.
    fn chunk(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let with_ids = self.calls.iter().any(|call| call.key().is_some());
        let wanted = match with_ids {
            true if self.lists.lets_all_through() => Entries::Relationships,
            true => Entries::Both,
            false => Entries::Ends,
        };
        let from = self.row;
        let (lists, memory) = (&mut self.lists, &mut self.memory);
        self.row = self
            .size
            .load(lists, &self.batch, from, wanted, memory, rt)?;
        let lists = &self.lists.lists;
        let mut rows: Vec<u32> = Vec::with_capacity(self.row - from);
        let mut counts: Vec<i64> = Vec::with_capacity(self.row - from);
        let mut places = Vec::with_capacity(self.row - from);
        for row in from..self.row {
            let Some(place) = lists.place(row) else {
                continue;
            };
            let entries: usize = lists.parts.iter().map(|part| part.len(place)).sum();
            if entries > 0 {
                rows.push(u32::try_from(row).expect("a batch is small"));
                counts.push(i64::try_from(entries).expect("lists are in memory"));
                places.push(place);
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let mut properties: Vec<(Option<KeyId>, Vec<Column>)> = Vec::new();
        let mut added = Vec::with_capacity(self.calls.len());
        let width = self.batch.columns().len();
        for (at, call) in self.calls.iter().enumerate() {
            let column = match call.key() {
                None => Column::Integers(counts.clone()),
                Some(key) => {
                    if properties.iter().all(|(known, _)| *known != key) {
                        let parts = lists.parts.iter().zip(&self.lists.pattern.parts);
                        let of_part = parts.map(|(lists, part)| match wanted {
                            Entries::Relationships => {
                                let rel_type = part.adjacency.rel_type();
                                rt.properties_of_runs(rel_type, &lists.runs, key)
                            }
                            _ => rt.relationship_properties(&lists.relationships, key),
                        });
                        properties.push((key, of_part.collect::<Result<_>>()?));
                    }
                    let known = properties.iter().find(|(known, _)| *known == key);
                    let (_, columns) = known.expect("just read");
                    let largest = matches!(call, ListAggregateFn::Max(_));
                    let ranges = |part: usize, place: usize| lists.parts[part].range(place);
                    extremes(largest, columns, &places, ranges)
                }
            };
            added.push((width + at, column));
        }
        Ok(Some(gather_with(&self.batch, &rows, added)))
    }
}

/// The extremes of the lists at `places`, over their parts.
fn extremes(
    largest: bool,
    parts: &[Column],
    places: &[usize],
    range: impl Fn(usize, usize) -> std::ops::Range<usize>,
) -> Column {
    if let [Column::Integers(values)] = parts {
        let best = places.iter().map(|place| {
            let own = values[range(0, *place)].iter().copied();
            match largest {
                true => own.fold(i64::MIN, i64::max),
                false => own.fold(i64::MAX, i64::min),
            }
        });
        return Column::Integers(best.collect());
    }
    let best = places.iter().map(|place| {
        let mut best = Value::Null;
        for (part, values) in parts.iter().enumerate() {
            for at in range(part, *place) {
                let value = values.get(at);
                if value.is_null() {
                    continue;
                }
                let order = total_order(&value, &best);
                if best.is_null()
                    || if largest {
                        order.is_gt()
                    } else {
                        order.is_lt()
                    }
                {
                    best = value.into_owned();
                }
            }
        }
        best
    });
    Column::from_values(best.collect())
}

impl PhysicalOperator for ListAggregate {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if !self.begun {
            self.begun = true;
            self.lists.leave_out_certain_labels(rt)?;
        }
        loop {
            rt.check_cancelled()?;
            if self.row < self.batch.len() {
                if let Some(batch) = self.chunk(rt)? {
                    return Ok(Some(batch));
                }
                continue;
            }
            self.row = 0;
            self.batch = Batch::default();
            match self.input.next(rt)? {
                Some(batch) => self.batch = batch,
                None => {
                    self.clear();
                    return Ok(None);
                }
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.clear();
    }
}

impl ListAggregate {
    fn clear(&mut self) {
        self.batch = Batch::default();
        self.row = 0;
        self.lists.clear();
        self.memory.clear();
    }
}
