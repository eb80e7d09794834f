//! Ways begun: repetitions of a quantified pattern, one behind the other, and the stack of those
//! that may go on.
//!
//! # How it works
//! A way is its last repetition and, through that, the ones before, which ways have in common.
//! Where the stack takes more than an operator should have, all of it is written to temporary
//! pages, each way with all its repetitions, and so are the ways that come behind it while the same
//! ways are being made longer; they are read back, some at a time, when nothing is left above them.
//! So what is written at one time hangs on what was read at one time, and there are no more streams
//! than a way has repetitions.
//!
//! # Invariants
//! * EX-55 A repetition is charged as long as any way goes through it.

use std::sync::Arc;

use graven_storage::{NodeId, RelId};

use crate::batch::BATCH_ROWS;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::query_context::QueryContext;
use crate::spill::{RowReader, RowWriter, Spill, put_list, put_value};
use crate::value::Value;

/// Bytes of written ways that are read back at a time; in memory they are about ten times as large.
const READ_BYTES: usize = 16 << 10;

/// One repetition of a way, and what was before it.
pub(super) struct Link {
    pub(super) before: Option<Arc<Link>>,
    pub(super) rels: Vec<u64>,
    pub(super) kept: Vec<Value>,
}

impl Link {
    fn bytes(&self) -> usize {
        // With the two counters of an `Arc`.
        size_of::<Self>()
            + 2 * size_of::<usize>()
            + self.rels.len() * size_of::<u64>()
            + self.kept.len() * size_of::<Value>()
    }
}

impl Drop for Link {
    /// One after the other: there may be more than a call stack is deep.
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut link) = before.and_then(Arc::into_inner) {
            before = link.before.take();
        }
    }
}

/// A way begun.
#[derive(Clone)]
pub(super) struct PartialPath {
    pub(super) end: u64,
    pub(super) repetitions: u32,
    pub(super) last: Option<Arc<Link>>,
}

impl PartialPath {
    /// Its repetitions, the last one first.
    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::successors(self.last.as_deref(), |link| link.before.as_deref())
    }

    /// Puts it where [`PartialPath::read`] finds it.
    fn write(&self, writer: &mut RowWriter) -> Result<()> {
        let mut links: Vec<&Link> = self.links().collect();
        links.reverse();
        let rels = links.iter().flat_map(|link| &link.rels);
        let rels: Vec<Value> = rels.map(|rel| Value::Relationship(RelId(*rel))).collect();
        let kept: Vec<Value> = links.iter().flat_map(|link| link.kept.clone()).collect();
        writer.push_with(|out| {
            put_value(out, &Value::Node(NodeId(self.end)));
            put_value(out, &Value::Integer(i64::from(self.repetitions)));
            put_list(out, &rels);
            put_list(out, &kept);
        })
    }

    /// A way from the values that [`PartialPath::write`] put; `None` for others.
    fn read(row: &[Value]) -> Option<Self> {
        let [
            Value::Node(end),
            Value::Integer(repetitions),
            Value::List(rels),
            Value::List(kept),
        ] = row
        else {
            return None;
        };
        let repetitions = u32::try_from(*repetitions).ok()?;
        let parts = |len: usize| len.checked_div(repetitions as usize).unwrap_or(0);
        let (own, groups) = (parts(rels.len()), parts(kept.len()));
        let mut last = None;
        for at in 0..repetitions as usize {
            let rels = rels.get(at * own..(at + 1) * own)?;
            let id = |rel: &Value| match rel {
                Value::Relationship(id) => Some(id.0),
                _ => None,
            };
            last = Some(Arc::new(Link {
                before: last,
                rels: rels.iter().map(id).collect::<Option<_>>()?,
                kept: kept.get(at * groups..(at + 1) * groups)?.to_vec(),
            }));
        }
        Some(Self {
            end: end.0,
            repetitions,
            last,
        })
    }
}

/// Ways that may go on, and the memory of all ways of an operator; see the file header.
pub(super) struct PartialPaths {
    open: Vec<PartialPath>,
    /// Ways below those, the last ones written on top, and how many of each are left.
    written: Vec<(RowReader, u64)>,
    /// Takes ways while others are made longer.
    writer: Option<RowWriter>,
    bytes: usize,
    memory: Memory,
    spill: Option<Spill>,
}

impl PartialPaths {
    pub(super) fn new(rt: &QueryContext) -> Self {
        let remedy = "bound the quantifier, or add conditions inside";
        Self {
            open: Vec::new(),
            written: Vec::new(),
            writer: None,
            bytes: 0,
            memory: rt.spilling_memory("Repeat", remedy),
            spill: Spill::new(rt, "Repeat"),
        }
    }

    /// Whether no way may go on.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.written.is_empty()
    }

    /// Counts a way that has just been made, with its last repetition.
    pub(super) fn made(&mut self, way: &PartialPath) {
        self.bytes += way.last.as_ref().map_or(0, |link| link.bytes());
    }

    /// Counts a way that is kept elsewhere.
    pub(super) fn keep(&mut self, way: PartialPath) -> Result<PartialPath> {
        self.bytes += size_of::<PartialPath>();
        if !self.memory.keeps(self.held()) {
            self.write_out()?;
        }
        Ok(way)
    }

    /// Gives back the memory of a way that it shares with no other way.
    pub(super) fn release(&mut self, way: PartialPath) {
        self.bytes -= size_of::<PartialPath>();
        self.forget(way);
    }

    /// As [`PartialPaths::release`] for a way that was made and is kept nowhere.
    pub(super) fn forget(&mut self, way: PartialPath) {
        let mut last = way.last;
        while let Some(mut link) = last.and_then(Arc::into_inner) {
            self.bytes -= link.bytes();
            last = link.before.take();
        }
    }

    /// Puts a way on top that may go on.
    pub(super) fn push(&mut self, way: PartialPath) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            way.write(writer)?;
            self.forget(way);
            return Ok(());
        }
        self.bytes += size_of::<PartialPath>();
        self.open.push(way);
        match self.memory.keeps(self.held()) {
            true => Ok(()),
            false => self.write_out(),
        }
    }

    /// Writes the stack out, where that can be done.
    fn write_out(&mut self) -> Result<()> {
        if let Some(spill) = &self.spill
            && !self.open.is_empty()
        {
            let mut writer = spill.writer();
            for way in std::mem::take(&mut self.open) {
                way.write(&mut writer)?;
                self.release(way);
            }
            self.writer = Some(writer);
        }
        self.memory.set(self.held())
    }

    /// No more ways come from those that were taken last.
    pub(super) fn settle(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            let run = writer.finish()?;
            let rows = run.rows();
            self.written.push((run.into_reader(), rows));
        }
        self.memory.set(self.held())
    }

    /// Takes ways off the stack, at most so many; they are still counted.
    pub(super) fn take(&mut self, most: usize) -> Result<Vec<PartialPath>> {
        if self.open.is_empty()
            && let Some((reader, left)) = self.written.last_mut()
        {
            let batch = reader.next_batch(BATCH_ROWS, READ_BYTES)?;
            let batch = batch.ok_or_else(other_ways)?;
            *left -= batch.len() as u64;
            if *left == 0 {
                self.written.pop();
            }
            for row in 0..batch.len() {
                let way = PartialPath::read(&batch.row(row)).ok_or_else(other_ways)?;
                self.bytes +=
                    size_of::<PartialPath>() + way.links().map(Link::bytes).sum::<usize>();
                self.open.push(way);
            }
        }
        self.memory.set(self.held())?;
        let from = self.open.len().saturating_sub(most);
        Ok(self.open.split_off(from))
    }

    /// Bytes of everything, buffers of streams included.
    fn held(&self) -> usize {
        let streams = self.written.len() + usize::from(self.writer.is_some());
        let buffer = self.spill.as_ref().map_or(0, Spill::buffer_bytes);
        self.bytes + streams * buffer
    }

    /// Forgets all ways, also those that are kept elsewhere.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.written.clear();
        self.writer = None;
        self.bytes = 0;
        self.memory.clear();
    }

    /// Bytes written to disk so far.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}

fn other_ways() -> ExecError {
    ExecError::Plan {
        message: "Repeat read back other ways than it wrote".to_owned(),
    }
}
