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
mod output;
mod partitioned;

use std::sync::Arc;

use graven_cypher::Span;
use graven_cypher::plan::AggregateFunction;

use super::portions::in_portions;
use super::row_key::GroupTable;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::growth::Held;
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::spill::{LEVELS, Partitions, RowRun, Spill, put_value, row_hashes};
use crate::value::Value;
use accumulator::Accumulator;
use clustered::Grouped as InRuns;
use distinct_spill::DistinctSpill;
use output::Output;
use partitioned::{Partition, Piece, ROUND_ROWS, ROUND_SHARE, Round, SHARED_ROWS, WAITING_SHARE};

/// Rows of states read back at a time, and their bytes.
const READ_ROWS: usize = 512;
const READ_BYTES: usize = 64 << 10;

/// Keys of groups are put together up to so many.
const TOGETHER: usize = 512;

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

/// The groups in memory.
struct Groups {
    table: GroupTable,
    /// Keys of all groups in order, in parts of up to one batch; none as long as the table has them
    /// as numbers.
    keys: Vec<Batch>,
    accumulators: Vec<Accumulator>,
    count: usize,
    /// Bytes of `keys` and of what the states keep besides themselves.
    bytes: usize,
    /// Distinct values of the only group that were written out.
    apart: Option<DistinctSpill>,
}

impl Groups {
    fn new(calls: &[Call], parameters: &[Option<Value>]) -> Result<Self> {
        let accumulators = calls
            .iter()
            .zip(parameters)
            .map(|(call, parameter)| Accumulator::new(call, parameter.clone()));
        Ok(Self {
            table: GroupTable::of_groups(),
            keys: Vec::new(),
            accumulators: accumulators.collect::<Result<_>>()?,
            count: 0,
            bytes: 0,
            apart: None,
        })
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        self.table.bytes() + self.bytes + self.states_bytes(self.count)
    }

    /// Bytes held while and after rows with so many keys are added.
    fn bytes_with(&self, rows: usize, width: usize) -> usize {
        let capacity = (self.count + rows).next_power_of_two();
        self.table.bytes_with(rows, width) + self.bytes + self.states_bytes(capacity)
    }

    fn states_bytes(&self, groups: usize) -> usize {
        let each: usize = self.accumulators.iter().map(Accumulator::state_bytes).sum();
        groups * each
    }

    /// At most so many groups more are coming; `memory` is what another table has left.
    fn expect(&mut self, rows: usize, memory: Vec<u64>) {
        self.table.expect(rows, memory);
        let accumulators = self.accumulators.iter_mut();
        accumulators.for_each(|accumulator| accumulator.reserve(rows));
    }

    /// The group of each row, new groups added.
    fn numbers(&mut self, keys: Vec<Arc<Column>>, rows: usize, numbers: &mut Vec<u32>) {
        let keeps_numbers = self.table.keeps_numbers(&keys);
        if !keeps_numbers && self.keys.is_empty() {
            self.keys = key_parts(&self.table, self.count);
            self.bytes += self.keys.iter().map(Batch::heap_bytes).sum::<usize>();
        }
        self.table.insert(&keys, rows, numbers);
        if keeps_numbers {
            self.count = self.table.len();
            self.grow();
            return;
        }
        let fresh = fresh_rows(numbers, self.count);
        self.count += fresh.len();
        if !fresh.is_empty() {
            let mut kept = Batch::new(keys, rows);
            if fresh.len() < rows {
                kept = kept.gather(&fresh);
            }
            self.bytes += bytes_beside_table(&kept);
            // Few new groups at a time are put together.
            if let Some(last) = self.keys.last_mut()
                && last.len() + kept.len() <= TOGETHER
            {
                *last = Batch::concat(&[std::mem::take(last), kept]);
            } else {
                self.keys.push(kept);
            }
        }
        self.grow();
    }

    fn grow(&mut self) {
        let count = self.count;
        self.accumulators.iter_mut().for_each(|a| a.grow(count));
    }

    /// Writes all groups into `partitions` and forgets them.
    fn flush(&mut self, partitions: &mut Partitions) -> Result<()> {
        let mut group = 0;
        let mut hashes = Vec::new();
        let mut parts = std::mem::take(&mut self.keys);
        if parts.is_empty() {
            parts = key_parts(&self.table, self.count);
        }
        for part in parts {
            row_hashes(part.columns(), part.len(), &mut hashes);
            for (row, hash) in hashes.iter().enumerate() {
                let writer = partitions.of(*hash);
                let mut more = true;
                while more {
                    more = false;
                    writer.push_with(|out| {
                        part.columns()
                            .iter()
                            .for_each(|column| put_value(out, &column.get(row)));
                        for accumulator in &mut self.accumulators {
                            more |= accumulator.put(group, out);
                        }
                    })?;
                }
                group += 1;
            }
        }
        self.accumulators.iter_mut().for_each(Accumulator::clear);
        self.table = GroupTable::of_groups();
        self.count = 0;
        self.bytes = 0;
        Ok(())
    }
}

/// Bytes of keys that the table has as values as well, which share texts and lists.
fn bytes_beside_table(keys: &Batch) -> usize {
    let columns = keys.columns().iter().map(|column| match &**column {
        Column::Values(values) => values.capacity() * size_of::<Value>(),
        Column::Constant(..) => 0,
        numbers => numbers.heap_bytes(),
    });
    columns.sum()
}

/// The keys of the first `count` groups of a table that has them as numbers.
fn key_parts(table: &GroupTable, count: usize) -> Vec<Batch> {
    let starts = (0..table.len().min(count)).step_by(BATCH_ROWS);
    let parts = starts.map(|from| {
        let to = count.min(from + BATCH_ROWS);
        let columns = table.columns(from..to).into_iter().map(Arc::new);
        Batch::new(columns.collect(), to - from)
    });
    parts.collect()
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

    /// Groups the rows of the input on several threads.
    fn consume_divided(&mut self, rt: &QueryContext) -> Result<Output> {
        let mut next = self.input.next(rt)?;
        self.set_parameters(next.as_ref(), rt)?;
        let mut round = self.read_round(Vec::new(), 0, &mut next, rt)?;
        let few = next.is_none() && round.rows < SHARED_ROWS;
        if few || self.counts_only() && partitioned::keys_lie_close(&round.pieces) {
            let groups = Groups::new(&self.calls, &self.parameters)?;
            return self.consume(groups, None, round.pieces, next, rt);
        }
        if clustered::is_clustered(&round.pieces) {
            match self.consume_in_runs(round, next, rt)? {
                InRuns::All(output) => return Ok(output),
                InRuns::Nothing(rows, after) => (round, next) = (rows, after),
            }
        }
        let count = partitioned::shares_for(round.rows, self.threads);
        let fresh = (0..count).map(|_| Partition::new(&self.calls, &self.parameters));
        let mut shares: Vec<Partition> = fresh.collect::<Result<_>>()?;
        let mut partitions = None;
        loop {
            // What is divided is there twice for a moment.
            self.memory
                .force(2 * round.bytes + shares.iter().map(Partition::bytes).sum::<usize>());
            partitioned::divide(&round.pieces, &mut shares, self.threads);
            round.pieces.clear();
            self.round(&mut shares, &mut partitions, next.is_none(), rt)?;
            if next.is_none() {
                break;
            }
            round = self.read_round(round.pieces, round.end, &mut next, rt)?;
        }
        if partitions.is_some() {
            self.flush_shares(&mut shares, &mut partitions)?;
            let groups = Groups::new(&self.calls, &self.parameters)?;
            return self.end(groups, partitions, 0);
        }
        let shares = shares.into_iter().map(|share| (share.groups, share.firsts));
        let output = Output::new(shares.collect(), self.keys.len());
        Ok(output.on_threads(self.threads, rt.budget.limit()))
    }

    /// Reads the next rows behind these, which end before number `end`.
    fn read_round(
        &mut self,
        pieces: Vec<Piece>,
        end: u64,
        next: &mut Option<Batch>,
        rt: &QueryContext,
    ) -> Result<Round> {
        let bytes_max = usize::try_from(rt.budget.limit() / ROUND_SHARE).unwrap_or(usize::MAX);
        let mut round = Round {
            rows: pieces.iter().map(|piece| piece.rows).sum(),
            bytes: pieces.iter().map(Piece::bytes).sum(),
            pieces,
            end,
        };
        let before = self.memory.used().saturating_sub(round.bytes);
        while let Some(batch) = next {
            rt.check_cancelled()?;
            let (own_keys, calls) = (&self.keys, &self.calls);
            in_portions(
                batch,
                rt,
                |rows, held| inputs(own_keys, calls, rows, held, rt),
                |rows, (keys, arguments)| {
                    let piece = Piece {
                        keys,
                        arguments,
                        rows: rows.len(),
                        first: round.end,
                    };
                    round.rows += piece.rows;
                    round.bytes += piece.bytes();
                    round.end += piece.rows as u64;
                    round.pieces.push(piece);
                    self.memory.force(before + round.bytes);
                    Ok(())
                },
            )?;
            *next = self.input.next(rt)?;
            if round.rows >= ROUND_ROWS || round.bytes >= bytes_max {
                break;
            }
        }
        Ok(round)
    }

    /// The shares take the rows that wait, where these are many or the last.
    fn round(
        &mut self,
        shares: &mut [Partition],
        partitions: &mut Option<Partitions>,
        last: bool,
        rt: &QueryContext,
    ) -> Result<()> {
        let held = shares.iter().map(Partition::bytes).sum();
        let waiting = partitioned::waiting_bytes(shares) as u64;
        if !last && waiting < rt.budget.limit() / WAITING_SHARE && self.memory.keeps(held) {
            return Ok(());
        }
        let width = self.keys.len();
        let wanted = |shares: &[Partition]| {
            let each = shares.iter().map(|share| share.bytes_with_waiting(width));
            each.sum::<usize>()
        };
        if !self.memory.keeps(wanted(shares)) {
            if self.spill.is_some() {
                if shares.iter().any(|share| share.groups.count > 1) {
                    self.flush_shares(shares, partitions)?;
                }
                // The rows that wait are there; what they become is written out if it is too much.
                self.memory.force(wanted(shares));
            } else {
                self.memory.set(wanted(shares))?;
            }
        }
        partitioned::take(shares, self.threads, last)?;
        // What values hold besides themselves is known only now.
        let bytes = shares.iter().map(Partition::bytes).sum();
        if self.memory.keeps(bytes) {
            return Ok(());
        }
        if self.spill.is_some() {
            self.memory.force(bytes);
            return self.flush_shares(shares, partitions);
        }
        self.memory.set(bytes)
    }

    /// Writes all groups into partitions.
    fn flush_shares(
        &mut self,
        shares: &mut [Partition],
        partitions: &mut Option<Partitions>,
    ) -> Result<()> {
        for share in shares {
            share.firsts = Vec::new();
            self.flush(&mut share.groups, partitions, 0)?;
        }
        Ok(())
    }

    /// Whether a row takes no more than to be counted.
    fn counts_only(&self) -> bool {
        self.calls.iter().all(|call| {
            let function = &call.function;
            let counts = [AggregateFunction::CountStar, AggregateFunction::Count];
            !call.distinct && counts.contains(function)
        })
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

/// Rows whose group number appears for the first time; numbers are dense in order of appearance.
fn fresh_rows(numbers: &[u32], known: usize) -> Vec<u32> {
    let mut next = known;
    let mut fresh = Vec::with_capacity(numbers.len());
    for (row, number) in numbers.iter().enumerate() {
        if *number as usize == next {
            next += 1;
            fresh.push(u32::try_from(row).expect("a batch is small"));
        }
    }
    fresh
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
