//! Sorted rows: all of them, or the first few.
//!
//! # How it works
//! Batches are kept with their key columns, charged to the budget. Where they all fit, row numbers are ordered
//! once the input has ended, and rows are gathered as they are asked for. Where they do not, what is there is
//! sorted and written out as a run, and the runs are merged at the end, several times if there are too many
//! to be merged at once. With a limit the buffer is cut back to the best rows whenever it has grown to twice the
//! limit, and a run holds no more than the limit. From then on rows whose first key alone is worse than that of all the
//! best ones are left out before their other keys are computed.
//!
//! # Invariants
//! * EX-10 Equal keys keep the order of the input: runs are merged in the order they were written.

mod merge;

use std::cmp::Ordering;

use graven_cypher::plan::{BinaryOp, SortOrder};

use super::limit::row_count;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::spill::{RowRun, Spill};
use crate::value::Value;
use crate::value::order::total_order;
use merge::Merge;

/// One sort key.
pub(crate) type SortKey = (Compiled, SortOrder);

/// A buffer of fewer rows is not cut back to the best ones.
const CUT_FROM: usize = 256;

/// Bytes that ordering a row takes.
const ORDER_BYTES: usize = 8;

/// Where the keys of a row lie and which way they go.
pub(super) type KeyColumns = Vec<(usize, SortOrder)>;

/// Rows with their keys, and their order once it is known.
#[derive(Default)]
struct Buffer {
    batches: Vec<Batch>,
    rows: usize,
    bytes: usize,
}

/// A row of a buffer: batch and row within it.
type At = (u32, u32);

impl Buffer {
    fn push(&mut self, batch: Batch) {
        self.bytes += needs(&batch);
        self.rows += batch.len();
        self.batches.push(batch);
    }

    /// The rows in key order, at most `limit` of them.
    fn order(&self, keys: &KeyColumns, limit: usize) -> Vec<At> {
        let number = |n: usize| u32::try_from(n).expect("fewer than 2^32 batches and rows");
        let mut order: Vec<At> = self
            .batches
            .iter()
            .enumerate()
            .flat_map(|(batch, rows)| (0..rows.len()).map(move |row| (number(batch), number(row))))
            .collect();
        let by_keys = |a: &At, b: &At| {
            let (left, right) = (&self.batches[a.0 as usize], &self.batches[b.0 as usize]);
            order_rows(keys, (left, a.1 as usize), (right, b.1 as usize)).then_with(|| a.cmp(b))
        };
        if limit < order.len() {
            if limit > 0 {
                order.select_nth_unstable_by(limit - 1, by_keys);
            }
            order.truncate(limit);
        }
        order.sort_unstable_by(by_keys);
        order
    }

    /// The rows at these places, in this order.
    fn gather(&self, at: &[At]) -> Batch {
        let width = self.batches.first().map_or(0, |b| b.columns().len());
        let columns = (0..width).map(|slot| {
            let parts: Vec<&Column> = self
                .batches
                .iter()
                .map(|batch| batch.column(slot).as_ref())
                .collect();
            std::sync::Arc::new(Column::gather_across(&parts, at))
        });
        Batch::new(columns.collect(), at.len())
    }
}

/// Bytes that keeping and ordering the rows of a batch takes.
fn needs(batch: &Batch) -> usize {
    batch.heap_bytes() + ORDER_BYTES * batch.len()
}

/// Order of two rows by their keys.
pub(super) fn order_rows(keys: &KeyColumns, a: (&Batch, usize), b: (&Batch, usize)) -> Ordering {
    for (slot, direction) in keys {
        let ordering = match (&**a.0.column(*slot), &**b.0.column(*slot)) {
            (Column::Integers(x), Column::Integers(y)) => x[a.1].cmp(&y[b.1]),
            (x, y) => total_order(&x.get(a.1), &y.get(b.1)),
        };
        let ordering = match direction {
            SortOrder::Ascending => ordering,
            SortOrder::Descending => ordering.reverse(),
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    Ordering::Equal
}

/// Whether a key is certain to have a value for each row, so that leaving out rows before it hides no error.
fn cannot_fail(key: &Compiled, batch: &Batch, rt: &Runtime) -> bool {
    match key {
        Compiled::Slot(_) | Compiled::Constant(_) => true,
        Compiled::Property { base, .. } => {
            let entities = |slot: usize| {
                let column = &**batch.column(slot);
                matches!(column, Column::Nodes(_) | Column::Relationships(_))
            };
            // What a statement has deleted itself has no properties any more.
            rt.writer.is_none() && matches!(**base, Compiled::Slot(slot) if entities(slot))
        }
        _ => false,
    }
}

/// Rows that a limit lets through. The planner adds `SKIP` and `LIMIT`: their sum may be beyond all numbers.
fn wanted_rows(limit: &Compiled, rt: &Runtime) -> Result<u64> {
    if let Compiled::Binary(BinaryOp::Add, skip, rows) = limit
        && let (Value::Integer(skip @ 0..), Value::Integer(rows @ 0..)) =
            (skip.constant(rt)?, rows.constant(rt)?)
    {
        return Ok(skip.unsigned_abs().saturating_add(rows.unsigned_abs()));
    }
    row_count("LIMIT", limit, rt)
}

/// What is left to hand out.
enum Output {
    Memory {
        buffer: Buffer,
        order: Vec<At>,
        next: usize,
    },
    Runs(Merge),
    Nothing,
}

/// All rows, sorted; or with a limit the first of them.
pub(crate) struct Sort {
    input: BoxedOperator,
    keys: Vec<SortKey>,
    /// Where the keys lie: columns of the row itself, or behind it.
    key_columns: KeyColumns,
    width: usize,
    limit: Option<Compiled>,
    /// The input writes: it is run to its end even where no row of it is wanted.
    exhaustive: bool,
    memory: Memory,
    spill: Option<Spill>,
    output: Option<Output>,
}

impl Sort {
    /// Sorts `input`, whose rows have `width` columns; with `limit` only the first rows are kept.
    pub(crate) fn new(
        input: BoxedOperator,
        keys: Vec<SortKey>,
        width: usize,
        limit: Option<Compiled>,
        rt: &Runtime,
    ) -> Self {
        let name = if limit.is_some() { "TopN" } else { "Sort" };
        let mut next = width;
        let place = |(key, order): &SortKey| match key {
            Compiled::Slot(slot) => (*slot, *order),
            _ => {
                next += 1;
                (next - 1, *order)
            }
        };
        Self {
            input,
            key_columns: keys.iter().map(place).collect(),
            keys,
            width,
            limit,
            exhaustive: false,
            memory: Memory::of_spilling(rt, name, "add a LIMIT or sort fewer rows or columns"),
            spill: Spill::new(rt, name),
            output: None,
        }
    }

    /// The same over an input that writes.
    pub(crate) fn exhaustive(self) -> Self {
        Self {
            exhaustive: true,
            ..self
        }
    }

    fn with_keys(&self, batch: Batch, rt: &Runtime) -> Result<Batch> {
        let mut columns = batch.columns().to_vec();
        for (key, _) in &self.keys {
            if !matches!(key, Compiled::Slot(_)) {
                columns.push(key.column(Rows::all(&batch), rt)?);
            }
        }
        Ok(Batch::new(columns, batch.len()))
    }

    /// The rows of a batch, with their keys, whose first key is not worse than `worst`.
    fn not_worse(&self, batch: Batch, worst: &Value, rt: &Runtime) -> Result<Batch> {
        let (key, direction) = self.keys.first().expect("rows are sorted by something");
        let first = key.column(Rows::all(&batch), rt)?;
        let is_worse = |ordering: Ordering| match direction {
            SortOrder::Ascending => ordering.is_gt(),
            SortOrder::Descending => ordering.is_lt(),
        };
        let all = 0..u32::try_from(batch.len()).expect("a batch is small");
        let kept: Vec<u32> = match (&*first, worst) {
            (Column::Integers(keys), Value::Integer(worst)) => {
                let kept = all
                    .zip(keys)
                    .filter(|(_, key)| !is_worse((*key).cmp(worst)));
                kept.map(|(row, _)| row).collect()
            }
            _ => all
                .filter(|row| !is_worse(total_order(&first.get(*row as usize), worst)))
                .collect(),
        };
        if kept.len() == batch.len() {
            return self.with_keys(batch, rt);
        }
        let others = &self.keys[1..];
        if others.iter().all(|(key, _)| cannot_fail(key, &batch, rt)) {
            self.with_keys(batch.gather(&kept), rt)
        } else {
            Ok(self.with_keys(batch, rt)?.gather(&kept))
        }
    }

    fn fill(&mut self, rt: &Runtime) -> Result<Output> {
        let limit = match &self.limit {
            None => usize::MAX,
            Some(limit) => usize::try_from(wanted_rows(limit, rt)?).unwrap_or(usize::MAX),
        };
        while limit == 0 && self.exhaustive && self.input.next(rt)?.is_some() {
            rt.check_cancelled()?;
        }
        let mut buffer = Buffer::default();
        let mut runs = Vec::new();
        // The first key of the worst of the best rows.
        let mut worst: Option<Value> = None;
        while limit > 0
            && let Some(batch) = self.input.next(rt)?
        {
            rt.check_cancelled()?;
            let batch = match &worst {
                None => self.with_keys(batch, rt)?,
                Some(worst) => self.not_worse(batch, worst, rt)?,
            };
            if batch.is_empty() {
                continue;
            }
            let bytes = buffer.bytes + needs(&batch);
            if !self.memory.keeps(bytes) {
                match &self.spill {
                    Some(spill) if buffer.rows > 0 => {
                        runs.push(self.write_run(spill, &buffer, limit)?);
                        buffer = Buffer::default();
                        self.memory.force(needs(&batch));
                    }
                    Some(_) => self.memory.force(bytes),
                    // Without anywhere to spill, all that the budget has may be used.
                    None => self.memory.set(bytes)?,
                }
            }
            buffer.push(batch);
            if buffer.rows > limit.saturating_mul(2).max(CUT_FROM) {
                buffer = self.best(&buffer, limit)?;
                let last = buffer.batches.last().filter(|_| buffer.rows == limit);
                worst = last.zip(self.key_columns.first()).map(|(last, (slot, _))| {
                    let column = last.column(*slot);
                    column.value(last.len() - 1)
                });
            }
        }
        if runs.is_empty() {
            let order = buffer.order(&self.key_columns, limit);
            return Ok(Output::Memory {
                buffer,
                order,
                next: 0,
            });
        }
        let spill = self.spill.as_ref().expect("runs were written");
        if buffer.rows > 0 {
            runs.push(self.write_run(spill, &buffer, limit)?);
        }
        drop(buffer);
        self.memory.clear();
        let keys = self.key_columns.clone();
        Merge::start(runs, keys, limit, spill, &mut self.memory, rt).map(Output::Runs)
    }

    /// The best rows of a buffer.
    fn best(&mut self, buffer: &Buffer, limit: usize) -> Result<Buffer> {
        let mut best = Buffer::default();
        let order = buffer.order(&self.key_columns, limit);
        for part in order.chunks(BATCH_ROWS) {
            best.push(buffer.gather(part));
        }
        self.memory.set(best.bytes)?;
        Ok(best)
    }

    fn write_run(&self, spill: &Spill, buffer: &Buffer, limit: usize) -> Result<RowRun> {
        let mut writer = spill.writer();
        for (batch, row) in buffer.order(&self.key_columns, limit) {
            writer.push(&buffer.batches[batch as usize], row as usize)?;
        }
        writer.finish()
    }
}

impl Operator for Sort {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        if self.output.is_none() {
            self.output = Some(self.fill(rt)?);
        }
        let batch = match &mut self.output {
            Some(Output::Memory {
                buffer,
                order,
                next,
            }) if *next < order.len() => {
                let part = &order[*next..order.len().min(*next + BATCH_ROWS)];
                *next += part.len();
                Some(buffer.gather(part))
            }
            Some(Output::Runs(merge)) => merge.next(rt)?,
            _ => None,
        };
        let Some(batch) = batch else {
            self.output = Some(Output::Nothing);
            self.memory.clear();
            return Ok(None);
        };
        let columns = batch.columns()[..self.width].to_vec();
        Ok(Some(Batch::new(columns, batch.len())))
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.memory.clear();
        self.output = None;
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
