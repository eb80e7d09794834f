//! `COPY (query) TO 'file'`: rows to a file or an object.
//!
//! # How it works
//! All rows are taken in first, spilled where they do not fit, for the types of a file's columns
//! are known when the last value is. As many rows go to the file at a time as there is room for
//! what they take there, beside what the file holds of those before. A text is written once for
//! each list that has it, and a null among vectors takes the room of a vector in some formats. The
//! file is there as a whole or not at all ([`Target`], FI-8). Nodes, relationships and paths become
//! maps when their rows are taken in, as many rows at a time as a batch has room for.

use std::sync::Arc;

use graven_cypher::Span;
use graven_files::{Cells, Format, Kind, Options, Shape, Sink};
use graven_types::told;

use super::copy_target::Target;
use super::entity_data::{as_data, holds_entity};
use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::sources::{self, WrittenBytes};
use crate::spill::RowBuffer;
use crate::value::Value;

/// See the file header.
pub(crate) struct CopyTo {
    input: BoxedOperator,
    /// Headings, and the columns they stand over.
    columns: Arc<[(Arc<str>, usize)]>,
    file: Arc<str>,
    options: Options,
    at: Span,
    rows: RowBuffer,
    memory: Memory,
    /// The file was written.
    done: bool,
}

impl CopyTo {
    /// Writes the rows of `input`.
    pub(crate) fn new(
        input: BoxedOperator,
        columns: Arc<[(Arc<str>, usize)]>,
        (file, options, at): (Arc<str>, Options, Span),
        rt: &QueryContext,
    ) -> Self {
        Self {
            input,
            columns,
            file,
            options,
            at,
            rows: RowBuffer::new(rt, "CopyTo", "write fewer rows to a file"),
            memory: Memory::new(&rt.budget, "CopyTo", "write fewer columns to a file"),
            done: false,
        }
    }

    /// Where the rows of a batch are cut, so that those between two cuts take not more bytes in a
    /// file than a batch should, unless a single row does: their bytes, and the end.
    fn cuts(&self, batch: &Batch, kinds: &[Kind], rt: &QueryContext) -> Vec<(usize, usize)> {
        let mut cuts = Vec::new();
        let mut all = 0;
        let mut columns: Vec<_> = (self.columns.iter().zip(kinds))
            .map(|((_, slot), kind)| (batch.column(*slot), kind, WrittenBytes::default()))
            .collect();
        for row in 0..batch.len() {
            let columns = columns.iter_mut();
            let bytes = columns.map(|(column, kind, written)| written.of(&column.get(row), kind));
            let bytes = bytes.fold(0_usize, usize::saturating_add);
            if all > 0 && bytes.saturating_add(all) > rt.batch_bytes() {
                cuts.push((all, row));
                all = 0;
            }
            all = bytes.saturating_add(all);
        }
        cuts.push((all, batch.len()));
        cuts
    }

    /// Hands the values of a batch to `work`, some rows at a time, charged as so many copies beside
    /// so many `bytes`, which are as many as `work` says afterwards; the columns of a file are of
    /// these kinds.
    fn in_parts(
        &mut self,
        (batch, kinds): (&Batch, &[Kind]),
        (copies, mut bytes): (usize, usize),
        rt: &QueryContext,
        mut work: impl FnMut(Vec<Cells>, usize) -> Result<usize>,
    ) -> Result<()> {
        let mut from = 0;
        for (part, to) in self.cuts(batch, kinds, rt) {
            rt.check_cancelled()?;
            self.memory
                .set(part.saturating_mul(copies).saturating_add(bytes))?;
            bytes = work(self.cells(&batch.slice(from, to))?, to - from)?;
            from = to;
        }
        self.memory.set(bytes)
    }

    fn cells(&self, batch: &Batch) -> Result<Vec<Cells>> {
        let column = |(heading, slot): &(Arc<str>, usize)| {
            let column = batch.column(*slot);
            let data = (0..batch.len()).map(|row| {
                let value = column.get(row);
                sources::datum(&value).ok_or_else(|| ExecError::Argument {
                    message: told!(
                        "COPY: the column {heading} holds {}, which is no value that a file can \
                            hold; return parts of it, such as n.name or properties(n)",
                        value.type_name()
                    ),
                })
            });
            Ok(Cells::Data(data.collect::<Result<_>>()?))
        };
        self.columns.iter().map(column).collect()
    }

    /// The rows of a batch from `from` on whose maps have room in one, and where the next begin.
    fn as_data(&mut self, batch: &Batch, from: usize, rt: &QueryContext) -> Result<(Batch, usize)> {
        let mut slots: Vec<usize> = self.columns.iter().map(|(_, slot)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let has_entity = |slot: &usize| {
            let column = batch.column(*slot);
            (from..batch.len()).any(|row| holds_entity(&column.get(row)))
        };
        slots.retain(has_entity);
        if slots.is_empty() {
            return Ok((batch.slice(from, batch.len()), batch.len()));
        }
        let mut made: Vec<Vec<Value>> = vec![Vec::new(); slots.len()];
        let (mut to, mut bytes) = (from, 0);
        while to < batch.len() && bytes < rt.batch_bytes() {
            rt.check_cancelled()?;
            for (slot, values) in slots.iter().zip(&mut made) {
                let value = as_data(rt, &batch.column(*slot).get(to))?;
                bytes += size_of::<Value>() + value.heap_bytes();
                values.push(value);
            }
            self.memory.set(bytes)?;
            to += 1;
        }
        let mut part = batch.slice(from, to);
        for (slot, values) in slots.into_iter().zip(made) {
            part = part.with_column(slot, Column::from_values(values));
        }
        Ok((part, to))
    }

    fn run(&mut self, rt: &QueryContext) -> Result<()> {
        let format = self.options.format.or_else(|| Format::of_name(&self.file));
        if self.file.ends_with(".gz") || self.file.ends_with(".zst") {
            let message = told!("COPY: {}: packed text is read, not written", self.file);
            return Err(ExecError::Argument { message });
        }
        let mut options = self.options.clone().written_within(rt.budget.limit());
        options.format = format;
        // Refused before the rows are computed.
        let (target, output) = Target::begin(&self.file, rt)?;
        let mut shapes = vec![Shape::default(); self.columns.len()];
        let unknown = vec![Kind::Null; self.columns.len()];
        while let Some(batch) = self.input.next(rt)? {
            rt.check_cancelled()?;
            let mut from = 0;
            while from < batch.len() {
                let (part, next) = self.as_data(&batch, from, rt)?;
                let held = self.memory.used();
                self.in_parts((&part, &unknown), (1, held), rt, |columns, _| {
                    for (shape, cells) in shapes.iter_mut().zip(columns) {
                        (0..cells.len()).for_each(|row| shape.see(&cells.get(row)));
                    }
                    Ok(held)
                })?;
                self.rows.push(part)?;
                self.memory.clear();
                from = next;
            }
        }
        self.rows.finish()?;
        let kinds = match format {
            Some(format) if format.has_columns() => shapes.iter().map(Shape::kind).collect(),
            _ => unknown,
        };
        let headings = self.columns.iter().map(|(heading, _)| heading.to_string());
        let columns = headings.zip(shapes).collect();
        let mut sink = Sink::create(&self.file, output, &options, columns)?;
        let copies = format.map_or(1, Format::copies_written);
        while let Some(batch) = self.rows.next(rt)? {
            let held = sink.held();
            self.in_parts((&batch, &kinds), (copies, held), rt, |columns, rows| {
                rt.unless_ended(sink.write(&columns, rows))?;
                Ok(sink.held())
            })?;
        }
        rt.unless_ended(sink.finish())?;
        target.appear()
    }
}

impl PhysicalOperator for CopyTo {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        let ran = self.run(rt).map_err(|error| error.at(self.at));
        self.done = true;
        self.memory.clear();
        self.rows.clear();
        ran.map(|()| None)
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.rows.clear();
        self.memory.clear();
        self.done = false;
    }

    fn spilled_bytes(&self) -> u64 {
        self.rows.spilled_bytes()
    }
}
