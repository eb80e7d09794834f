//! Groups rows and computes aggregates; without keys exactly one row.
//!
//! # How it works
//! A [`GroupTable`] gives every row the dense number of its group; each aggregate keeps one state
//! per group (see [`accumulator`]) and takes a whole column of arguments at a time. Groups come out
//! in order of first appearance. All states are charged to the budget.
//!
//! When they may not grow any more, all groups are written into partitions by the hash of their
//! keys, as rows of keys and states, and the table starts anew. When the input has ended, each
//! partition is read back and its states are merged, by the same means: a partition that does not
//! fit is divided again. A long list in a state is written as several rows. Without keys there is
//! one group; of that only distinct values can be written out ([`distinct_spill`]).
//!
//! Above a pipeline that runs on several threads the groups are divided among these
//! ([`partitioned`], [`clustered`]). Where such a pipeline ends with an aggregation of its own that
//! finds as many groups as half its rows, it hands on each row as a group from then on.

pub(super) mod accumulator;
mod clustered;
mod distinct_spill;
mod groups;
mod output;
mod partitioned;
mod rounds;

use std::sync::Arc;

use graven_cypher::Span;
use graven_cypher::plan::AggregateFunction;

use super::portions::in_portions;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::growth::Held;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::spill::{LEVELS, Partitions, RowRun, Spill};
use crate::value::Value;
use accumulator::Accumulator;
use groups::Groups;
use output::Output;
use partitioned::Piece;

/// Rows of states read back at a time, and their bytes.
const READ_ROWS: usize = 512;
const READ_BYTES: usize = 64 << 10;

/// One aggregate to compute.
pub(crate) struct Call {
    pub(crate) function: AggregateFunction,
    pub(crate) argument: Option<Compiled>,
    pub(crate) parameter: Option<Compiled>,
    pub(crate) distinct: bool,
    /// Where it stands in the text.
    pub(crate) at: Span,
}

impl Call {
    /// Whether the parameter, if there is one, reads nothing of the rows.
    pub(crate) fn parameter_is_constant(&self) -> bool {
        let mut slots = Vec::new();
        self.parameter.iter().for_each(|p| p.slots(&mut slots));
        slots.is_empty()
    }
}

/// See the file header. Output columns: keys, then aggregates.
pub(crate) struct Aggregate {
    input: BoxedOperator,
    keys: Arc<[Compiled]>,
    calls: Arc<[Call]>,
    memory: Memory,
    spill: Option<Spill>,
    output: Option<Output>,
    /// Partitions still to be read, with their levels.
    pending: Vec<(RowRun, u32)>,
    /// Value of each call's parameter, as the first row gives it.
    parameters: Vec<Option<Value>>,
    /// Threads that the groups are divided among.
    threads: usize,
    /// What a part of several does, whose groups are merged above.
    part: Part,
    /// A part has seen all its rows.
    exhausted: bool,
}

/// Whether groups are merged with others above, and what that allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// They are not.
    Whole,
    /// They are. So many rows came, on all morsels so far, and so many groups were handed on.
    Merged(Grouped),
    /// They are, and it does not: each row is handed on as a group of its own.
    Passing,
}

/// Rows after which a part decides.
const PART_ROWS: usize = 8 << 10;

/// Rows, and the groups that they were put into.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Grouped {
    rows: usize,
    groups: usize,
}

impl Part {
    /// What is done from now on, after so many rows and groups more.
    fn after(self, rows: usize, groups: usize) -> Self {
        let Self::Merged(before) = self else {
            return self;
        };
        let grouped = Grouped {
            rows: before.rows + rows,
            groups: before.groups + groups,
        };
        match grouped.rows >= PART_ROWS {
            true if grouped.groups > grouped.rows / 2 => Self::Passing,
            true => Self::Merged(Grouped::default()),
            false => Self::Merged(grouped),
        }
    }
}

/// The value of an expression in the first row; without rows any value will do, if it depends on
/// them.
fn first_value(expr: &Compiled, batch: Option<&Batch>, rt: &QueryContext) -> Result<Value> {
    let mut slots = Vec::new();
    expr.slots(&mut slots);
    match batch {
        Some(batch) => Ok(expr.column(Rows::all(batch), rt)?.value(0)),
        None if slots.is_empty() => expr.constant(rt),
        None => Ok(Value::Float(0.0)),
    }
}

impl Aggregate {
    /// Groups `input` by `keys`.
    pub(crate) fn new(
        input: BoxedOperator,
        keys: Arc<[Compiled]>,
        calls: Arc<[Call]>,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input,
            keys,
            calls,
            memory: rt.spilling_memory("Aggregate", "group or collect fewer rows"),
            spill: Spill::new(rt, "Aggregate"),
            output: None,
            pending: Vec::new(),
            parameters: Vec::new(),
            threads: 1,
            part: Part::Whole,
            exhausted: false,
        }
    }

    /// The distinct rows over columns of `input`, in the order in which they appeared first; at
    /// least one column.
    pub(crate) fn distinct(input: BoxedOperator, slots: &[usize], rt: &QueryContext) -> Self {
        let keys = slots.iter().copied().map(Compiled::Slot).collect();
        Self {
            memory: rt.spilling_memory("Distinct", "return fewer distinct rows"),
            spill: Spill::new(rt, "Distinct"),
            ..Self::new(input, keys, Arc::default(), rt)
        }
    }

    /// The same as one of several parts, whose groups are merged above: only counts, and sums and
    /// extremes of rows.
    pub(crate) fn part(self) -> Self {
        let part = match self.keys.is_empty() {
            true => Part::Whole,
            false => Part::Merged(Grouped::default()),
        };
        Self { part, ..self }
    }

    /// The next rows as groups of their own.
    fn pass(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let Some(batch) = self.input.next(rt)? else {
            return Ok(None);
        };
        let rows = Rows::all(&batch);
        let mut out = columns(&self.keys, rows, rt)?;
        for call in &*self.calls {
            let argument = call.argument.as_ref();
            let argument = argument.map(|a| a.column(rows, rt)).transpose()?;
            let counts = matches!(
                call.function,
                AggregateFunction::CountStar | AggregateFunction::Count
            );
            out.push(match argument {
                Some(argument) if !counts => argument,
                Some(argument) => {
                    let counted = (0..batch.len()).map(|row| i64::from(!argument.is_null(row)));
                    Arc::new(Column::Integers(counted.collect()))
                }
                None => Arc::new(Column::Constant(Value::Integer(1), batch.len())),
            });
        }
        Ok(Some(Batch::new(out, batch.len())))
    }

    /// The same with its groups divided among the threads of the statement.
    pub(crate) fn divided(self, rt: &QueryContext) -> Self {
        let threads = match self.keys.is_empty() {
            true => 1,
            false => rt.tuning.threads,
        };
        Self { threads, ..self }
    }

    /// Computes the parameters of the calls, by the first batch if there is one.
    fn set_parameters(&mut self, first: Option<&Batch>, rt: &QueryContext) -> Result<()> {
        let parameters = self.calls.iter().map(|call| {
            let parameter = call.parameter.as_ref();
            parameter.map(|p| first_value(p, first, rt)).transpose()
        });
        self.parameters = parameters.collect::<Result<_>>()?;
        Ok(())
    }

    /// Groups the rows of the input.
    fn consume_input(&mut self, rt: &QueryContext) -> Result<Output> {
        let next = self.input.next(rt)?;
        self.set_parameters(next.as_ref(), rt)?;
        let groups = Groups::new(&self.calls, &self.parameters)?;
        self.consume(groups, None, Vec::new(), next, rt)
    }

    /// Groups these rows, whose keys are there, then those of the next batch and the rest of the
    /// input, beside groups that there are.
    fn consume(
        &mut self,
        mut groups: Groups,
        mut partitions: Option<Partitions>,
        pieces: Vec<Piece>,
        mut next: Option<Batch>,
        rt: &QueryContext,
    ) -> Result<Output> {
        let mut numbers = Vec::new();
        if self.keys.is_empty() {
            groups.count = 1;
            groups.grow();
        }
        for piece in pieces {
            self.make_room(&mut groups, &mut partitions, piece.rows, 0)?;
            groups.numbers(piece.keys, piece.rows, &mut numbers);
            for (accumulator, argument) in groups.accumulators.iter_mut().zip(&piece.arguments) {
                groups.bytes += accumulator.add(&numbers, argument.as_deref())?;
            }
            self.settle(&mut groups, &mut partitions, 0)?;
        }
        let mut seen = 0;
        while let Some(batch) = next {
            rt.check_cancelled()?;
            seen += batch.len();
            let (own_keys, calls) = (Arc::clone(&self.keys), Arc::clone(&self.calls));
            in_portions(
                &batch,
                rt,
                |rows, held| inputs(&own_keys, &calls, rows, held, rt),
                |rows, (keys, arguments)| {
                    if keys.is_empty() {
                        numbers.clear();
                        numbers.resize(rows.len(), 0);
                    } else {
                        self.make_room(&mut groups, &mut partitions, rows.len(), 0)?;
                        groups.numbers(keys, rows.len(), &mut numbers);
                    }
                    for (accumulator, argument) in groups.accumulators.iter_mut().zip(&arguments) {
                        groups.bytes += accumulator.add(&numbers, argument.as_deref())?;
                    }
                    self.settle(&mut groups, &mut partitions, 0)
                },
            )?;
            if seen >= PART_ROWS && partitions.is_none() {
                // Groups of rows counted before may be met again: they count once.
                if self.part.after(seen, groups.count) == Part::Passing {
                    self.part = Part::Passing;
                    return self.end(groups, partitions, 0);
                }
            }
            drop(batch);
            next = self.input.next(rt)?;
        }
        self.exhausted = true;
        if partitions.is_none() {
            self.part = self.part.after(seen, groups.count);
        }
        self.take_apart(&mut groups, rt)?;
        self.end(groups, partitions, 0)
    }

    /// Merges the groups of a partition.
    fn consume_partition(&mut self, run: RowRun, level: u32, rt: &QueryContext) -> Result<Output> {
        let mut groups = Groups::new(&self.calls, &self.parameters)?;
        let mut partitions = None;
        let mut numbers = Vec::new();
        let mut reader = run.into_reader();
        while let Some(batch) = reader.next_batch(READ_ROWS, READ_BYTES.min(rt.batch_bytes()))? {
            rt.check_cancelled()?;
            let (keys, states) = batch.columns().split_at(self.keys.len());
            self.make_room(&mut groups, &mut partitions, batch.len(), level)?;
            groups.numbers(keys.to_vec(), batch.len(), &mut numbers);
            for (accumulator, state) in groups.accumulators.iter_mut().zip(states) {
                groups.bytes += accumulator.merge(&numbers, state)?;
            }
            self.settle(&mut groups, &mut partitions, level)?;
        }
        self.end(groups, partitions, level)
    }

    /// Makes sure that a batch of new groups would fit.
    fn make_room(
        &mut self,
        groups: &mut Groups,
        partitions: &mut Option<Partitions>,
        rows: usize,
        level: u32,
    ) -> Result<()> {
        let bytes = groups.bytes_with(rows, self.keys.len());
        if self.memory.keeps(bytes) {
            return Ok(());
        }
        if self.can_flush(groups, level) {
            self.flush(groups, partitions, level)?;
            self.memory.force(groups.bytes_with(rows, self.keys.len()));
            return Ok(());
        }
        self.memory.set(bytes)
    }

    /// Accounts for what a batch has added, and writes out if it is too much.
    fn settle(
        &mut self,
        groups: &mut Groups,
        partitions: &mut Option<Partitions>,
        level: u32,
    ) -> Result<()> {
        let bytes = groups.bytes();
        if self.memory.keeps(bytes) {
            return Ok(());
        }
        if self.can_flush(groups, level) {
            // The values of the batch are still charged as its columns: once, however many groups
            // hold them. Charged again here, they would leave no room for the pages.
            return self.flush(groups, partitions, level);
        }
        if self.make_room_apart(groups)? {
            return Ok(());
        }
        self.memory.set(bytes)
    }

    fn can_flush(&self, groups: &Groups, level: u32) -> bool {
        self.spill.is_some() && !self.keys.is_empty() && groups.count > 1 && level < LEVELS
    }

    fn flush(
        &mut self,
        groups: &mut Groups,
        partitions: &mut Option<Partitions>,
        level: u32,
    ) -> Result<()> {
        let spill = self.spill.as_ref().expect("asked by can_flush");
        let partitions = partitions.get_or_insert_with(|| Partitions::new(spill, level));
        groups.flush(partitions)?;
        self.memory.clear();
        Ok(())
    }

    /// The groups, or nothing if they have gone to partitions.
    fn end(
        &mut self,
        mut groups: Groups,
        partitions: Option<Partitions>,
        level: u32,
    ) -> Result<Output> {
        if let Some(mut partitions) = partitions {
            groups.flush(&mut partitions)?;
            self.memory.clear();
            let runs = partitions
                .finish()?
                .into_iter()
                .filter(|run| run.rows() > 0);
            self.pending.extend(runs.map(|run| (run, level + 1)));
        }
        Ok(Output::new(vec![(groups, Vec::new())], self.keys.len()))
    }
}

/// Columns of keys, and those of arguments, which some calls have none of.
type Inputs = (Vec<Arc<Column>>, Vec<Option<Arc<Column>>>);

/// What the groups are made of, charged while `held` lives.
fn inputs(
    keys: &[Compiled],
    calls: &[Call],
    rows: &Batch,
    held: &Held,
    rt: &QueryContext,
) -> Result<Inputs> {
    let column = |expr: &Compiled| expr.column_for(held, Rows::all(rows), rt);
    let keys = keys.iter().map(column).collect::<Result<_>>()?;
    let arguments = calls.iter().map(|call| {
        let argument = call.argument.as_ref();
        argument.map(column).transpose()
    });
    Ok((keys, arguments.collect::<Result<_>>()?))
}

/// The key columns, or any other list of expressions, of a batch.
pub(super) fn columns(
    exprs: &[Compiled],
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Vec<Arc<Column>>> {
    exprs.iter().map(|e| e.column(rows, rt)).collect()
}

impl PhysicalOperator for Aggregate {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if self.output.is_none() && self.part != Part::Passing {
            self.output = Some(match self.threads {
                0 | 1 => self.consume_input(rt)?,
                _ => self.consume_divided(rt)?,
            });
        }
        loop {
            if let Some(batch) = self
                .output
                .as_mut()
                .map(Output::next)
                .transpose()?
                .flatten()
            {
                return Ok(Some(batch));
            }
            self.memory.clear();
            let Some((run, level)) = self.pending.pop() else {
                return match self.part {
                    Part::Passing if !self.exhausted => self.pass(rt),
                    _ => Ok(None),
                };
            };
            // The values of the partition before are still in its groups.
            self.output = None;
            self.output = Some(self.consume_partition(run, level, rt)?);
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.exhausted = false;
        self.memory.clear();
        self.output = None;
        self.pending.clear();
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
