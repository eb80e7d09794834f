//! Of rows with the same ends those with the shortest paths.
//!
//! # How it works
//! Rows are kept with the length of their paths, and thinned out whenever their number has doubled. They are handed out
//! when the input has ended, in the order they came.

use std::collections::HashMap;
use std::sync::Arc;

use graven_cypher::plan::PathCount;

use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::value::Value;

/// Rows kept before they are thinned out for the first time.
const ROWS_MIN: usize = 4 * BATCH_ROWS;

/// Both ends of a path.
type PathEnds = (Option<u64>, Option<u64>);

/// Where the ends and the relationships lie, and how many paths are wanted.
pub(crate) struct Selection {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) lengths: Vec<usize>,
    pub(crate) count: PathCount,
}

/// See the file header.
pub(crate) struct SelectPaths {
    input: BoxedOperator,
    selection: Selection,
    rows: Option<(Batch, usize)>,
    memory: Memory,
}

impl SelectPaths {
    /// Selects rows of `input`.
    pub(crate) fn new(input: BoxedOperator, selection: Selection, rt: &Runtime) -> Self {
        let remedy = "bound the quantifiers of the pattern, or fix its ends";
        Self {
            input,
            selection,
            rows: None,
            memory: Memory::new(&rt.budget, "SelectPaths", remedy),
        }
    }

    fn fill(&mut self, rt: &Runtime) -> Result<Batch> {
        let (mut kept, mut count, mut limit) = (Vec::new(), 0, ROWS_MIN);
        while let Some(batch) = self.input.next(rt)? {
            rt.check_cancelled()?;
            self.memory.charge(batch.heap_bytes())?;
            count += batch.len();
            kept.push(batch);
            if count > limit {
                let thin = self.selection.thin(&kept);
                self.memory.set(thin.heap_bytes())?;
                count = thin.len();
                limit = (2 * count).max(ROWS_MIN);
                kept = vec![thin];
            }
        }
        let thin = self.selection.thin(&kept);
        self.memory.set(thin.heap_bytes())?;
        Ok(thin)
    }
}

impl Selection {
    fn length(&self, batch: &Batch, row: usize) -> usize {
        let of = |slot: &usize| match &*batch.column(*slot).get(row) {
            Value::List(items) => items.len(),
            Value::Null => 0,
            _ => 1,
        };
        self.lengths.iter().map(of).sum()
    }

    /// The rows that are wanted so far, in their order.
    fn thin(&self, batches: &[Batch]) -> Batch {
        let all = Batch::concat(batches);
        if all.is_empty() {
            return all;
        }
        let node = |column: &Arc<Column>, row: usize| match &*column.get(row) {
            Value::Node(id) => Some(id.0),
            _ => None,
        };
        let (from, to) = (all.column(self.from), all.column(self.to));
        let mut by_ends: HashMap<PathEnds, Vec<(usize, u32)>> = HashMap::new();
        for row in 0..all.len() {
            let number = u32::try_from(row).expect("fewer than 2^32 rows");
            let ways = by_ends.entry((node(from, row), node(to, row))).or_default();
            ways.push((self.length(&all, row), number));
        }
        let mut wanted = Vec::new();
        for mut rows in by_ends.into_values() {
            rows.sort_unstable();
            match self.count {
                PathCount::Paths(count) => rows.truncate(count as usize),
                PathCount::Lengths(count) => {
                    let mut lengths: Vec<usize> = rows.iter().map(|(length, _)| *length).collect();
                    lengths.dedup();
                    if let Some(beyond) = lengths.get(count as usize) {
                        rows.retain(|(length, _)| length < beyond);
                    }
                }
            }
            wanted.extend(rows.into_iter().map(|(_, row)| row));
        }
        wanted.sort_unstable();
        all.gather(&wanted)
    }
}

impl Operator for SelectPaths {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.rows.is_none() {
            self.rows = Some((self.fill(rt)?, 0));
        }
        let (rows, at) = self.rows.as_mut().expect("just filled");
        if *at == rows.len() {
            return Ok(None);
        }
        let to = rows.len().min(*at + BATCH_ROWS);
        let out = rows.slice(*at, to);
        *at = to;
        Ok(Some(out))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows = None;
        self.memory.clear();
    }
}
