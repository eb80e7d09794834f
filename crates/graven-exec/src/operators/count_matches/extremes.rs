//! The smallest and largest values of properties of the relationships of each node, with their
//! number, from whole lists.
//!
//! # How it works
//! `MATCH (a)-[k]->(b:B) RETURN a.x, count(*), max(k.since)`: the lists of a chunk of rows are laid
//! out as an expansion does it, the properties of their relationships read, and each list gives its
//! number of entries and its extremes. Integers are read at once, other values [`PIECE`] at a time:
//! those of a hub may be more than fits in memory. Ends are not looked at where all that the
//! relationships lead to have the labels; then ids of relationships are runs, and properties are
//! read by ranges.
//!
//! # Invariants
//! * EX-38 The number and the extremes of a row are those of the rows that an expansion would make
//!   of it.

use std::ops::Range;
use std::sync::Arc;

use graven_cypher::plan::CountTree;
use graven_storage::KeyId;

use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operators::counts::{memory, overflow};
use crate::operators::expand::ChunkSize;
use crate::operators::neighbor_batch::Entries;
use crate::operators::neighbor_filter::{NeighborFilter, NeighborFilterPlan};
use crate::query_context::QueryContext;
use crate::value::Value;
use crate::value::order::total_order;

/// One extreme.
struct Extreme {
    /// The column that it goes to.
    slot: usize,
    largest: bool,
    key: Option<KeyId>,
}

/// What is the same in every run.
pub(crate) struct ExtremesPlan {
    lists: NeighborFilterPlan,
    optional: bool,
    extremes: Arc<[Extreme]>,
}

impl ExtremesPlan {
    /// The extremes of the pattern, in these columns; `lists` finds its ends.
    pub(crate) fn new(
        lists: NeighborFilterPlan,
        hanging: &CountTree,
        slots: Vec<usize>,
        rt: &QueryContext,
    ) -> Self {
        let extremes = slots.into_iter().zip(&hanging.extremes);
        let extremes = extremes.map(|(slot, extreme)| Extreme {
            slot,
            largest: extreme.largest,
            key: rt.key_id(&extreme.key),
        });
        Self {
            lists: lists.with_labels(&hanging.labels),
            optional: hanging.optional,
            extremes: extremes.collect(),
        }
    }

    /// The lists of a run.
    pub(super) fn start(&self, rt: &QueryContext) -> Result<Extremes> {
        Ok(Extremes {
            lists: self.lists.start(rt)?,
            optional: self.optional,
            extremes: Arc::clone(&self.extremes),
            size: ChunkSize::default(),
            memory: memory(&rt.budget),
            kept: memory(&rt.budget),
        })
    }
}

/// See the file header.
pub(crate) struct Extremes {
    lists: NeighborFilter,
    /// Nodes without relationships count as one match, with null as extremes.
    optional: bool,
    extremes: Arc<[Extreme]>,
    size: ChunkSize,
    memory: Memory,
    /// Of the extremes of a batch.
    kept: Memory,
}

impl Extremes {
    pub(super) fn begin(&mut self, rt: &QueryContext) -> Result<()> {
        self.lists.leave_out_certain_labels(rt)
    }

    pub(super) fn clear(&mut self) {
        self.lists.clear();
        self.memory.clear();
        self.kept.clear();
    }

    /// Multiplies the number of each row by the entries of its list, and adds its extremes.
    pub(super) fn multiply(
        &mut self,
        batch: &Batch,
        counts: &mut [u64],
        found: &mut Vec<(usize, Column)>,
        rt: &QueryContext,
    ) -> Result<()> {
        self.kept.clear();
        // Of each chunk the columns of all extremes.
        let mut chunks: Vec<Vec<Column>> = Vec::new();
        let mut row = 0;
        while row < batch.len() {
            rt.check_cancelled()?;
            let runs = rt.is_snapshot_stable && self.lists.lets_all_through();
            let wanted = match runs {
                true => Entries::Relationships,
                false => Entries::Both,
            };
            let (lists, memory) = (&mut self.lists, &mut self.memory);
            let end = self.size.load(lists, batch, row, wanted, memory, rt)?;
            chunks.push(self.chunk(row..end, runs, counts, rt)?);
            row = end;
        }
        for (at, extreme) in self.extremes.iter().enumerate() {
            let column = match &mut chunks[..] {
                [only] => std::mem::replace(&mut only[at], Column::Values(Vec::new())),
                many => Column::concat(&many.iter().map(|chunk| &chunk[at]).collect::<Vec<_>>()),
            };
            found.push((extreme.slot, column));
        }
        Ok(())
    }

    /// The extremes of these rows. Their lists are laid out, with relationships as `runs` or not.
    fn chunk(
        &mut self,
        rows: Range<usize>,
        runs: bool,
        counts: &mut [u64],
        rt: &QueryContext,
    ) -> Result<Vec<Column>> {
        let lists = &self.lists.lists;
        let mut places = Vec::with_capacity(rows.len());
        for row in rows {
            let place = lists.place(row);
            let entries: usize = match place {
                Some(place) => lists.parts.iter().map(|part| part.len(place)).sum(),
                None => 0,
            };
            let number = match (entries, self.optional) {
                (0, true) => 1,
                (entries, _) => entries as u64,
            };
            counts[row] = counts[row].checked_mul(number).ok_or_else(overflow)?;
            places.push(place.filter(|_| entries > 0));
        }
        let mut read: Vec<(Option<KeyId>, Vec<Properties>)> = Vec::new();
        let mut columns = Vec::with_capacity(self.extremes.len());
        for extreme in &*Arc::clone(&self.extremes) {
            let key = extreme.key;
            let at = match read.iter().position(|(known, _)| *known == key) {
                Some(at) => at,
                None => {
                    read.push((key, self.properties(key, runs, rt)?));
                    read.len() - 1
                }
            };
            let column = self.of_lists(extreme, &read[at].1, &places, rt)?;
            self.kept.charge(column.heap_bytes())?;
            columns.push(column);
        }
        Ok(columns)
    }

    /// A property of the relationships of the lists, part by part.
    fn properties(
        &self,
        key: Option<KeyId>,
        runs: bool,
        rt: &QueryContext,
    ) -> Result<Vec<Properties>> {
        let parts = (self.lists.lists.parts.iter()).zip(&self.lists.pattern.parts);
        let read = parts.map(|(lists, part)| {
            if !runs {
                return Ok(Properties::Of(lists.relationships.clone()));
            }
            let rel_type = part.adjacency.rel_type();
            Ok(match rt.integers_of_runs(rel_type, &lists.runs, key)? {
                Some(integers) => Properties::Integers(integers),
                None => Properties::Of(lists.runs.iter().flatten().collect()),
            })
        });
        read.collect()
    }

    /// The extremes of the lists at `places`, over their parts; those that are nowhere are dropped
    /// later, or null.
    fn of_lists(
        &self,
        extreme: &Extreme,
        parts: &[Properties],
        places: &[Option<usize>],
        rt: &QueryContext,
    ) -> Result<Column> {
        let (lists, largest) = (&self.lists.lists.parts, extreme.largest);
        let has_nulls = self.optional && places.contains(&None);
        if let ([Properties::Integers(values)], false) = (parts, has_nulls) {
            let best = places.iter().map(|place| {
                let Some(place) = *place else { return 0 };
                let own = values[lists[0].range(place)].iter().copied();
                match largest {
                    true => own.fold(i64::MIN, i64::max),
                    false => own.fold(i64::MAX, i64::min),
                }
            });
            return Ok(Column::Integers(best.collect()));
        }
        let mut best = vec![Value::Null; places.len()];
        for (properties, list) in parts.iter().zip(lists) {
            for piece in properties.pieces() {
                rt.check_cancelled()?;
                let values = match properties {
                    Properties::Integers(all) => Column::Integers(all[piece.clone()].to_vec()),
                    Properties::Of(ids) => {
                        rt.relationship_properties(&ids[piece.clone()], extreme.key)?
                    }
                };
                for (place, best) in places.iter().zip(&mut best) {
                    let Some(place) = *place else { continue };
                    let range = list.range(place);
                    for at in range.start.max(piece.start)..range.end.min(piece.end) {
                        let value = values.get(at - piece.start);
                        if value.is_null() {
                            continue;
                        }
                        let order = total_order(&value, best);
                        if best.is_null() || order.is_gt() == largest && order.is_ne() {
                            *best = value.into_owned();
                        }
                    }
                }
            }
        }
        Ok(Column::from_values(best))
    }
}

/// How many values other than integers are read at once.
const PIECE: usize = 4096;

/// A property of the relationships of lists.
enum Properties {
    Integers(Vec<i64>),
    /// That of these relationships, to be read.
    Of(Vec<u64>),
}

impl Properties {
    fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let len = match self {
            Self::Integers(values) => values.len(),
            Self::Of(ids) => ids.len(),
        };
        let starts = (0..len).step_by(PIECE);
        starts.map(move |start| start..len.min(start + PIECE))
    }
}
