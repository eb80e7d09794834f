//! Quantified patterns: an inner tree repeated from where it ended, until it was repeated often
//! enough.
//!
//! # How it works
//! For each input row the ways begun are kept on a stack ([`partial_paths`]), the longest on top,
//! so that little more is kept than one way and its neighbours per repetition. A chunk of them is
//! taken off and goes to the inner tree at once, by the node where each ends; what comes back, a
//! batch at a time, are ways that are one repetition longer. A way that would use a relationship
//! twice is dropped; one that is long enough is handed out before the next batch; one that may go
//! on goes back onto the stack.

mod partial_paths;

use std::collections::VecDeque;
use std::sync::Arc;

use graven_storage::RelId;

use super::argument::ArgumentSlot;
use super::row_expander::{LISTED_MAX, RowExpander, gather_with};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;
use partial_paths::{Link, PartialPath, PartialPaths};

/// Where the parts of the inner tree's rows lie.
pub(crate) struct Repetition {
    /// Its column with the number of the way; `None`: one way at a time.
    pub(crate) ordinal: Option<usize>,
    pub(crate) exit: usize,
    /// Its relationships from entry to exit.
    pub(crate) rels: Vec<usize>,
    /// What is kept in lists.
    pub(crate) groups: Vec<usize>,
}

/// Columns of the rows, and bounds.
pub(crate) struct Ends {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) into: bool,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    /// Column of all relationships, and of each list.
    pub(crate) path: usize,
    pub(crate) lists: Vec<usize>,
    pub(crate) reversed: bool,
    /// Single relationships and lists of them that all must differ from.
    pub(crate) apart: Vec<usize>,
}

/// See the file header.
pub(crate) struct Repeat {
    input: RowExpander,
    /// The inner tree, and where rows are left for it.
    root: BoxedOperator,
    slot: ArgumentSlot,
    inner: Arc<Repetition>,
    ends: Arc<Ends>,
    /// Ways of the current row that may go on.
    ways: PartialPaths,
    /// Ways that the inner tree is at work on.
    growing: Option<Vec<PartialPath>>,
    /// Ways of the current row that are long enough.
    ready: VecDeque<PartialPath>,
    has_begun: bool,
}

impl Repeat {
    /// Repeats the tree `root`, which reads what is left in `slot`, for the rows of `input`.
    pub(crate) fn new(
        input: BoxedOperator,
        (root, slot): (BoxedOperator, ArgumentSlot),
        (inner, ends): (Arc<Repetition>, Arc<Ends>),
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            root,
            slot,
            inner,
            ends,
            ways: PartialPaths::new(rt),
            growing: None,
            ready: VecDeque::new(),
            has_begun: false,
        }
    }

    fn node(&self, column: usize) -> Option<u64> {
        match &*self.input.batch().column(column).get(self.input.row()) {
            Value::Node(id) => Some(id.0),
            _ => None,
        }
    }

    /// Begins with the current row.
    fn begin(&mut self) -> Result<()> {
        self.has_begun = true;
        if let Some(from) = self.node(self.ends.from) {
            self.found(PartialPath {
                end: from,
                repetitions: 0,
                last: None,
            })?;
        }
        self.ways.settle()
    }

    /// Puts a way where it belongs.
    fn found(&mut self, way: PartialPath) -> Result<()> {
        self.ways.made(&way);
        let arrives = !self.ends.into || self.node(self.ends.to) == Some(way.end);
        if arrives && way.repetitions >= self.ends.min {
            self.ready.push_back(self.ways.keep(way.clone())?);
        }
        if self.ends.max.is_none_or(|max| way.repetitions < max) {
            self.ways.push(way)
        } else {
            self.ways.forget(way);
            Ok(())
        }
    }

    /// Takes ways off the stack and gives them to the inner tree.
    fn start_growing(&mut self, rt: &QueryContext) -> Result<()> {
        rt.check_cancelled()?;
        let most = match self.inner.ordinal {
            Some(_) => BATCH_ROWS,
            None => 1,
        };
        let ways = self.ways.take(most)?;
        let row = u32::try_from(self.input.row()).expect("a batch is small");
        let repeated = self.input.batch().gather(&vec![row; ways.len()]);
        let mut given = repeated.columns().to_vec();
        given.push(Arc::new(Column::Nodes(
            ways.iter().map(|way| way.end).collect(),
        )));
        if self.inner.ordinal.is_some() {
            let numbers = (0..ways.len()).map(|n| i64::try_from(n).expect("a batch is small"));
            given.push(Arc::new(Column::Integers(numbers.collect())));
        }
        self.slot.set(Batch::new(given, ways.len()));
        self.root.rewind();
        self.growing = Some(ways);
        Ok(())
    }

    /// Takes a batch from the inner tree, which makes these ways longer.
    fn grow(&mut self, ways: Vec<PartialPath>, rt: &QueryContext) -> Result<()> {
        let Some(batch) = self.root.next(rt)? else {
            ways.into_iter().for_each(|way| self.ways.release(way));
            return self.ways.settle();
        };
        for row in 0..batch.len() {
            let number = match self.inner.ordinal.map(|slot| batch.value(slot, row)) {
                Some(Value::Integer(number)) => usize::try_from(number).unwrap_or(0),
                _ => 0,
            };
            if let Some(way) = self.longer(&ways[number], &batch, row) {
                self.found(way)?;
            }
        }
        self.growing = Some(ways);
        Ok(())
    }

    /// The way with one more repetition, if all its relationships differ.
    fn longer(&self, way: &PartialPath, batch: &Batch, row: usize) -> Option<PartialPath> {
        let mut rels = Vec::with_capacity(self.inner.rels.len());
        for slot in &self.inner.rels {
            match &*batch.column(*slot).get(row) {
                Value::Relationship(id) if !rels.contains(&id.0) => rels.push(id.0),
                _ => return None,
            }
        }
        let mut used = way.links().flat_map(|link| &link.rels);
        if used.any(|rel| rels.contains(rel)) {
            return None;
        }
        let apart = &self.ends.apart;
        if apart.iter().any(|column| self.touches(*column, &rels)) {
            return None;
        }
        let Value::Node(end) = batch.value(self.inner.exit, row) else {
            return None;
        };
        let kept = self.inner.groups.iter();
        let kept = kept.map(|slot| batch.value(*slot, row));
        Some(PartialPath {
            end: end.0,
            repetitions: way.repetitions + 1,
            last: Some(Arc::new(Link {
                before: way.last.clone(),
                rels,
                kept: kept.collect(),
            })),
        })
    }

    /// Whether one of these relationships is in a column of the current row.
    fn touches(&self, column: usize, rels: &[u64]) -> bool {
        let is_one =
            |value: &Value| matches!(value, Value::Relationship(id) if rels.contains(&id.0));
        match &*self.input.batch().column(column).get(self.input.row()) {
            Value::List(items) => items.iter().any(is_one),
            value => is_one(value),
        }
    }

    /// All relationships of a way and the lists of its parts, in the order of the pattern.
    fn lists(&self, way: &PartialPath) -> (Value, Vec<Value>) {
        let mut links: Vec<&Link> = way.links().collect();
        if !self.ends.reversed {
            links.reverse();
        }
        let mut path = Vec::new();
        for link in &links {
            let rels = link.rels.iter();
            let rels = rels.map(|rel| Value::Relationship(RelId(*rel)));
            match self.ends.reversed {
                true => path.extend(rels.rev()),
                false => path.extend(rels),
            }
        }
        let lists = (0..self.ends.lists.len())
            .map(|group| Value::list(links.iter().map(|link| link.kept[group].clone()).collect()));
        (Value::list(path), lists.collect())
    }

    fn output(&self, rows: &[u32], ways: &[PartialPath]) -> Batch {
        let mut paths = Vec::with_capacity(ways.len());
        let mut lists: Vec<Vec<Value>> = vec![Vec::new(); self.ends.lists.len()];
        for way in ways {
            let (path, own) = self.lists(way);
            paths.push(path);
            for (list, value) in lists.iter_mut().zip(own) {
                list.push(value);
            }
        }
        let mut added = Vec::new();
        if !self.ends.into {
            let ends = ways.iter().map(|way| way.end);
            added.push((self.ends.to, Column::Nodes(ends.collect())));
        }
        added.push((self.ends.path, Column::from_values(paths)));
        let lists = lists.into_iter().map(Column::from_values);
        added.extend(self.ends.lists.iter().copied().zip(lists));
        gather_with(self.input.batch(), rows, added)
    }
}

impl PhysicalOperator for Repeat {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let (mut rows, mut ways) = (Vec::new(), Vec::new());
        let each = self.inner.rels.len() + self.inner.groups.len();
        let mut listed = 0;
        loop {
            if !self.input.advance(rt, |_| Ok(()))? {
                return Ok(None);
            }
            if !self.has_begun {
                self.begin()?;
            }
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            let is_full =
                |ways: &[PartialPath], listed| ways.len() == BATCH_ROWS || listed >= LISTED_MAX;
            while !is_full(&ways, listed)
                && let Some(way) = self.ready.pop_front()
            {
                listed += each * way.repetitions as usize;
                rows.push(row);
                ways.push(way);
            }
            if !is_full(&ways, listed) {
                if let Some(growing) = self.growing.take() {
                    self.grow(growing, rt)?;
                    continue;
                }
                if !self.ways.is_empty() {
                    self.start_growing(rt)?;
                    continue;
                }
                self.has_begun = false;
                self.input.step();
            }
            let batch_done = self.input.row() == self.input.batch().len();
            if is_full(&ways, listed) || (batch_done && !ways.is_empty()) {
                let output = self.output(&rows, &ways);
                ways.into_iter().for_each(|way| self.ways.release(way));
                return Ok(Some(output));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.ways.clear();
        self.growing = None;
        self.ready.clear();
        self.has_begun = false;
    }

    fn spilled_bytes(&self) -> u64 {
        self.ways.spilled_bytes()
    }
}
