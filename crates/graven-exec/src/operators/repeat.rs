//! Quantified patterns: an inner tree repeated from where it ended, until it was repeated often enough.
//!
//! # How it works
//! For each input row the ways begun are kept on a stack, the longest on top, so that little more is kept than one way
//! and its neighbours per repetition. A chunk of them is taken off and goes to the inner tree at once, by the node where
//! each ends; what comes back are ways that are one repetition longer. A way that would use a relationship twice is
//! dropped; one that is long enough is handed out; one that may go on goes back onto the stack. Ways share what they
//! have in common.

use std::collections::VecDeque;
use std::sync::Arc;

use graven_storage::RelId;

use super::argument::ArgumentSlot;
use super::fan_out::{FanOut, widen};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::value::Value;

/// The inner tree and where its parts lie.
pub(crate) struct Repetition {
    pub(crate) root: BoxedOperator,
    pub(crate) slot: ArgumentSlot,
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

/// One repetition of a way, and what was before it.
struct Link {
    before: Option<Arc<Link>>,
    rels: Vec<u64>,
    kept: Vec<Value>,
}

/// A way begun.
#[derive(Clone)]
struct Way {
    end: u64,
    repetitions: u32,
    last: Option<Arc<Link>>,
}

/// See the file header.
pub(crate) struct Repeat {
    input: FanOut,
    inner: Repetition,
    ends: Ends,
    /// Ways of the current row that may go on; `None` before its first.
    stack: Option<Vec<Way>>,
    /// Ways of the current row that are long enough.
    ready: VecDeque<Way>,
    memory: Memory,
}

/// Bytes of a way and of its last repetition.
fn bytes(way: &Way) -> usize {
    let link = way.last.as_ref().map_or(0, |link| {
        size_of::<Link>() + link.rels.len() * 8 + link.kept.len() * size_of::<Value>()
    });
    size_of::<Way>() + link
}

impl Repeat {
    /// Repeats `inner` for the rows of `input`.
    pub(crate) fn new(input: BoxedOperator, inner: Repetition, ends: Ends, rt: &Runtime) -> Self {
        let remedy = "bound the quantifier, or add conditions inside";
        Self {
            input: FanOut::new(input),
            inner,
            ends,
            stack: None,
            ready: VecDeque::new(),
            memory: Memory::new(&rt.budget, "Repeat", remedy),
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
        let mut stack = Vec::new();
        if let Some(from) = self.node(self.ends.from) {
            let way = Way {
                end: from,
                repetitions: 0,
                last: None,
            };
            self.found(way, &mut stack)?;
        }
        self.stack = Some(stack);
        Ok(())
    }

    /// Puts a way where it belongs.
    fn found(&mut self, way: Way, stack: &mut Vec<Way>) -> Result<()> {
        let arrives = !self.ends.into || self.node(self.ends.to) == Some(way.end);
        if arrives && way.repetitions >= self.ends.min {
            self.memory.charge(bytes(&way))?;
            self.ready.push_back(way.clone());
        }
        if self.ends.max.is_none_or(|max| way.repetitions < max) {
            self.memory.charge(bytes(&way))?;
            stack.push(way);
        }
        Ok(())
    }

    /// Takes ways off the stack and makes them longer.
    fn extend(&mut self, rt: &Runtime) -> Result<()> {
        rt.check_cancelled()?;
        let mut stack = self.stack.take().expect("begun");
        let most = match self.inner.ordinal {
            Some(_) => BATCH_ROWS,
            None => 1,
        };
        let ways = stack.split_off(stack.len().saturating_sub(most));
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
        self.inner.slot.set(Batch::new(given, ways.len()));
        self.inner.root.rewind();
        while let Some(batch) = self.inner.root.next(rt)? {
            for row in 0..batch.len() {
                let number = match self.inner.ordinal.map(|slot| batch.value(slot, row)) {
                    Some(Value::Integer(number)) => usize::try_from(number).unwrap_or(0),
                    _ => 0,
                };
                if let Some(way) = self.longer(&ways[number], &batch, row) {
                    self.found(way, &mut stack)?;
                }
            }
        }
        for way in &ways {
            self.memory.release(bytes(way));
        }
        self.stack = Some(stack);
        Ok(())
    }

    /// The way with one more repetition, if all its relationships differ.
    fn longer(&self, way: &Way, batch: &Batch, row: usize) -> Option<Way> {
        let mut rels = Vec::with_capacity(self.inner.rels.len());
        for slot in &self.inner.rels {
            match &*batch.column(*slot).get(row) {
                Value::Relationship(id) if !rels.contains(&id.0) => rels.push(id.0),
                _ => return None,
            }
        }
        let mut before = way.last.as_ref();
        while let Some(link) = before {
            if link.rels.iter().any(|rel| rels.contains(rel)) {
                return None;
            }
            before = link.before.as_ref();
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
        Some(Way {
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
    fn lists(&self, way: &Way) -> (Value, Vec<Value>) {
        let mut links = Vec::new();
        let mut next = way.last.as_ref();
        while let Some(link) = next {
            links.push(link);
            next = link.before.as_ref();
        }
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

    fn output(&self, rows: &[u32], ways: &[Way]) -> Batch {
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
        widen(self.input.batch(), rows, added)
    }
}

impl Operator for Repeat {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let (mut rows, mut ways) = (Vec::new(), Vec::new());
        loop {
            if !self.input.advance(rt, |_| Ok(()))? {
                return Ok(None);
            }
            if self.stack.is_none() {
                self.begin()?;
            }
            let row = u32::try_from(self.input.row()).expect("a batch is small");
            while ways.len() < BATCH_ROWS
                && let Some(way) = self.ready.pop_front()
            {
                self.memory.release(bytes(&way));
                rows.push(row);
                ways.push(way);
            }
            if ways.len() < BATCH_ROWS {
                if self.stack.as_ref().is_some_and(|stack| !stack.is_empty()) {
                    self.extend(rt)?;
                    continue;
                }
                self.stack = None;
                self.memory.clear();
                self.input.step();
            }
            let batch_done = self.input.row() == self.input.batch().len();
            if ways.len() == BATCH_ROWS || (batch_done && !ways.is_empty()) {
                return Ok(Some(self.output(&rows, &ways)));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.stack = None;
        self.ready.clear();
        self.memory.clear();
    }
}
