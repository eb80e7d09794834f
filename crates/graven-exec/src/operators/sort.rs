//! Sorted rows: all of them, or the first few.
//!
//! # How it works
//! Batches are kept, charged to the budget: the columns that an operator above reads, and those of
//! the keys. Where they all fit, row numbers are ordered once the input has ended
//! ([`normalized_keys`]), and rows are gathered as they are asked for ([`row_major_payload`]).
//! Where they do not fit, the rows so far are sorted and written out as a run. The runs are merged
//! at the end, several times if there are too many to be merged at once. With a limit the buffer is
//! cut back to the best rows whenever it has grown to twice the limit, and a run holds no more than
//! the limit. From then on rows whose first key alone is worse than that of all the best ones are
//! left out before their other keys are computed. Where the first key is a property of a
//! relationship that the input finds, they are left out before the rows are made ([`top_n_bound`]).
//!
//! # Invariants
//! * EX-10 Equal keys keep the order of the input: runs are merged in the order they were written.

mod buffer;
mod merge;
mod normalized_keys;
mod radix_sort;
mod row_major_payload;
mod tie_break;
pub(crate) mod top_n_bound;

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use graven_cypher::plan::{BinaryOp, SortOrder};

use super::limit::row_count;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::spill::{RowRun, Spill};
use crate::threads::{cut, on_threads};
use crate::value::Value;
use crate::value::order::total_order;
use buffer::{Buffer, Sorted, needs};
use merge::Merge;
use top_n_bound::{SharedTopNBound, TopNBound};

/// One sort key.
pub(crate) type SortKey = (Compiled, SortOrder);

/// Fewer rows than these are ordered and gathered on one thread.
const THREADS_FROM: usize = 64 << 10;

/// A column that a sort hands out.
pub(crate) enum SortedColumn {
    /// This one of the input.
    Slot(usize),
    /// The key of this number.
    Key(usize),
}

/// A buffer of fewer rows is not cut back to the best ones.
const CUT_FROM: usize = 256;

/// Rows gathered at a time.
const GATHERED_ROWS: usize = 8 * BATCH_ROWS;

/// As often as that by each thread, where there are several, if what is gathered then takes no more
/// than this part of the memory limit.
const PIECES: usize = 4;
const GATHERED_SHARE: u64 = 32;

/// Where the keys of a row lie and which way they go.
pub(super) type KeyColumns = Vec<(usize, SortOrder)>;

/// Order of two rows by their keys.
pub(super) fn order_rows(keys: &KeyColumns, a: (&Batch, usize), b: (&Batch, usize)) -> Ordering {
    for (slot, direction) in keys {
        let ordering = match (&**a.0.column(*slot), &**b.0.column(*slot)) {
            (Column::Integers(x), Column::Integers(y)) => x[a.1].cmp(&y[b.1]),
            // Null, the largest id, comes last.
            (Column::Nodes(x), Column::Nodes(y))
            | (Column::Relationships(x), Column::Relationships(y)) => x[a.1].cmp(&y[b.1]),
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

/// Whether a key is certain to have a value for each row, so that leaving out rows before it hides
/// no error.
fn cannot_fail(key: &Compiled, batch: &Batch, rt: &QueryContext) -> bool {
    match key {
        Compiled::Slot(_) | Compiled::Constant(_) | Compiled::Parameter(..) => true,
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

/// Rows that a limit lets through. The planner adds `SKIP` and `LIMIT`: their sum may be beyond all
/// numbers.
fn wanted_rows(limit: &Compiled, rt: &QueryContext) -> Result<u64> {
    if let Compiled::Binary(BinaryOp::Add, skip, rows, _) = limit
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
        order: Sorted,
        next: usize,
    },
    Runs(Merge),
    Nothing,
}

/// What is sorted by what, the same in every run.
pub(crate) struct SortPlan {
    keys: Vec<SortKey>,
    /// Columns of the input that are kept.
    kept: Vec<usize>,
    /// Where the keys lie among the kept columns and those computed behind them.
    key_columns: KeyColumns,
    /// The columns handed out, of those.
    output_columns: Vec<usize>,
    limit: Option<Compiled>,
}

/// All rows, sorted; or with a limit the first of them.
pub(crate) struct Sort {
    input: BoxedOperator,
    plan: Arc<SortPlan>,
    /// Where the expansion below looks for what is wanted.
    threshold: Option<TopNBound>,
    /// What it shares with others over other parts of the rows.
    shared: Option<SharedTopNBound>,
    /// The input writes: it is run to its end even where no row of it is wanted.
    exhaustive: bool,
    memory: Memory,
    spill: Option<Spill>,
    output: Option<Output>,
    /// Rows gathered by other threads, to be handed out next.
    gathered: VecDeque<Batch>,
    threads: usize,
}

impl SortPlan {
    /// Sorts by `keys` and hands out `columns`; with `limit` only the first rows are kept.
    pub(crate) fn new(
        keys: Vec<SortKey>,
        columns: &[SortedColumn],
        limit: Option<Compiled>,
    ) -> Self {
        let mut kept = Vec::new();
        let slots = columns.iter().filter_map(|column| match column {
            SortedColumn::Slot(slot) => Some(*slot),
            SortedColumn::Key(_) => None,
        });
        let key_slots = keys.iter().filter_map(|(key, _)| match key {
            Compiled::Slot(slot) => Some(*slot),
            _ => None,
        });
        for slot in slots.chain(key_slots) {
            if !kept.contains(&slot) {
                kept.push(slot);
            }
        }
        let place = |slot: usize| {
            let mut kept = kept.iter();
            kept.position(|own| *own == slot).expect("added above")
        };
        let mut next = kept.len();
        let key_column = |(key, order): &SortKey| match key {
            Compiled::Slot(slot) => (place(*slot), *order),
            _ => {
                next += 1;
                (next - 1, *order)
            }
        };
        let key_columns: KeyColumns = keys.iter().map(key_column).collect();
        let output = columns.iter().map(|column| match column {
            SortedColumn::Slot(slot) => place(*slot),
            SortedColumn::Key(key) => key_columns[*key].0,
        });
        Self {
            output_columns: output.collect(),
            key_columns,
            keys,
            kept,
            limit,
        }
    }
}

impl Sort {
    /// Sorts `input`.
    pub(crate) fn new(input: BoxedOperator, plan: Arc<SortPlan>, rt: &QueryContext) -> Self {
        let name = if plan.limit.is_some() { "TopN" } else { "Sort" };
        Self {
            input,
            plan,
            threshold: None,
            shared: None,
            exhaustive: false,
            memory: rt.spilling_memory(name, "add a LIMIT or sort fewer rows or columns"),
            spill: Spill::new(rt, name),
            output: None,
            gathered: VecDeque::new(),
            threads: rt.tuning.threads,
        }
    }

    /// The same, which tells the input what is wanted.
    pub(crate) fn with_bound(self, threshold: Option<TopNBound>) -> Self {
        Self { threshold, ..self }
    }

    /// The same, one of several over parts of the rows, of whose rows the best are wanted.
    pub(crate) fn sharing(self, shared: Option<SharedTopNBound>) -> Self {
        Self { shared, ..self }
    }

    /// Puts together what is known of the worst row with what others know, and tells it.
    fn narrow(&self, worst: Option<Value>) -> Option<Value> {
        let Some((_, direction)) = self.plan.keys.first() else {
            return worst;
        };
        let worst = match &self.shared {
            Some(shared) => shared.meet(worst, *direction),
            None => worst,
        };
        if let Some(threshold) = &self.threshold {
            threshold.set(worst.as_ref());
        }
        worst
    }

    /// The same over an input that writes.
    pub(crate) fn exhaustive(self) -> Self {
        Self {
            exhaustive: true,
            ..self
        }
    }

    /// The kept columns of a batch, and those of the keys; `first` is the first key where it is
    /// known already.
    fn with_keys(
        &self,
        batch: &Batch,
        first: Option<Arc<Column>>,
        rt: &QueryContext,
    ) -> Result<Batch> {
        let mut columns: Vec<Arc<Column>> =
            Vec::with_capacity(self.plan.kept.len() + self.plan.keys.len());
        columns.extend(
            self.plan
                .kept
                .iter()
                .map(|slot| Arc::clone(batch.column(*slot))),
        );
        let mut first = first;
        for (key, _) in &self.plan.keys {
            if !matches!(key, Compiled::Slot(_)) {
                columns.push(match first.take() {
                    Some(first) => first,
                    None => key.column(Rows::all(batch), rt)?,
                });
            }
            first = None;
        }
        Ok(Batch::new(columns, batch.len()))
    }

    /// The rows of a batch, with their keys, whose first key is not worse than `worst`.
    fn not_worse(&self, batch: &Batch, worst: &Value, rt: &QueryContext) -> Result<Batch> {
        let (key, direction) = self
            .plan
            .keys
            .first()
            .expect("rows are sorted by something");
        let first = key.column(Rows::all(batch), rt)?;
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
            return self.with_keys(batch, Some(first), rt);
        }
        let others = &self.plan.keys[1..];
        if kept.is_empty() && others.iter().all(|(key, _)| cannot_fail(key, batch, rt)) {
            Ok(Batch::default())
        } else if others.iter().all(|(key, _)| cannot_fail(key, batch, rt)) {
            let first = first.gather(&kept);
            self.with_keys(&batch.gather(&kept), Some(Arc::new(first)), rt)
        } else {
            Ok(self.with_keys(batch, Some(first), rt)?.gather(&kept))
        }
    }

    /// The first key of a row of a buffer.
    fn first_key(&self, batch: &Batch, row: usize) -> Value {
        batch.value(self.plan.key_columns[0].0, row)
    }

    fn fill(&mut self, rt: &QueryContext) -> Result<Output> {
        let limit = match &self.plan.limit {
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
        // Parts of a batch whose keys have no room together.
        let mut parts: Vec<Batch> = Vec::new();
        loop {
            if self.shared.is_some() {
                worst = self.narrow(worst);
            }
            let Some(batch) = (match parts.pop() {
                Some(part) => Some(part),
                None if limit == 0 => None,
                None => self.input.next(rt)?,
            }) else {
                break;
            };
            rt.check_cancelled()?;
            let keyed = match &worst {
                None => self.with_keys(&batch, None, rt),
                Some(worst) => self.not_worse(&batch, worst, rt),
            };
            let batch = match keyed {
                Err(error) if error.is_of_memory() && batch.len() > 1 => {
                    let (half, rows) = (batch.len() / 2, batch.len());
                    parts.extend([batch.slice(half, rows), batch.slice(0, half)]);
                    continue;
                }
                keyed => keyed?,
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
                let last = last.map(|last| self.first_key(last, last.len() - 1));
                worst = self.narrow(last);
            }
        }
        if runs.is_empty() {
            let mut order = buffer.order(&self.plan.key_columns, limit, self.threads);
            if self.shared.is_some() && order.words.len() == limit {
                let last = order.at(limit - 1..limit).next();
                self.narrow(last.map(|(batch, row)| {
                    self.first_key(&buffer.batches[batch as usize], row as usize)
                }));
            }
            buffer.put_side_by_side(&mut order, &mut self.memory, self.threads);
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
        let keys = self.plan.key_columns.clone();
        Merge::start(runs, keys, limit, spill, &mut self.memory, rt).map(Output::Runs)
    }

    /// The best rows of a buffer.
    fn best(&mut self, buffer: &Buffer, limit: usize) -> Result<Buffer> {
        let mut best = Buffer::default();
        let order = buffer.order(&self.plan.key_columns, limit, self.threads);
        let rows = order.words.len();
        for from in (0..rows).step_by(BATCH_ROWS) {
            best.push(buffer.gather(&order, from..rows.min(from + BATCH_ROWS)));
        }
        self.memory.set(best.bytes)?;
        Ok(best)
    }

    /// The columns of a batch that are handed out.
    fn handed_out(&self, batch: &Batch) -> Batch {
        let columns = self.plan.output_columns.iter();
        let columns = columns.map(|column| Arc::clone(batch.column(*column)));
        Batch::new(columns.collect(), batch.len())
    }

    fn write_run(&self, spill: &Spill, buffer: &Buffer, limit: usize) -> Result<RowRun> {
        let mut writer = spill.writer();
        let order = buffer.order(&self.plan.key_columns, limit, self.threads);
        for (batch, row) in order.at(0..order.words.len()) {
            writer.push(&buffer.batches[batch as usize], row as usize)?;
        }
        writer.finish()
    }
}

impl PhysicalOperator for Sort {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if self.output.is_none() {
            self.output = Some(self.fill(rt)?);
        }
        if let Some(batch) = self.gathered.pop_front() {
            return Ok(Some(self.handed_out(&batch)));
        }
        let batch = match &mut self.output {
            Some(Output::Memory {
                buffer,
                order,
                next,
            }) if *next < order.words.len() => {
                let left = order.words.len() - *next;
                let piece_bytes = buffer.bytes / buffer.rows.max(1) * GATHERED_ROWS;
                let room = rt.budget.limit() / GATHERED_SHARE / piece_bytes.max(1) as u64;
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                let pieces = match left < THREADS_FROM || self.threads < 2 {
                    true => 1,
                    false => room.clamp(self.threads, self.threads * PIECES),
                };
                let starts = (0..pieces).map(|piece| *next + piece * GATHERED_ROWS);
                let starts = starts.filter(|from| *from < order.words.len());
                let ranges = starts.map(|from| from..order.words.len().min(from + GATHERED_ROWS));
                let ranges: Vec<Range<usize>> = ranges.collect();
                *next = ranges.last().map_or(*next, |last| last.end);
                let gathered = on_threads(cut(&ranges, self.threads), |ranges| {
                    let gathered = ranges
                        .iter()
                        .map(|range| buffer.gather(order, range.clone()));
                    gathered.collect::<Vec<Batch>>()
                });
                self.gathered.extend(gathered.into_iter().flatten());
                let gathered: usize = self.gathered.iter().map(Batch::heap_bytes).sum();
                self.memory.force(buffer.bytes + gathered);
                self.gathered.pop_front()
            }
            Some(Output::Runs(merge)) => merge.next(rt)?,
            _ => None,
        };
        let Some(batch) = batch else {
            self.output = Some(Output::Nothing);
            self.memory.clear();
            return Ok(None);
        };
        Ok(Some(self.handed_out(&batch)))
    }

    fn rewind(&mut self) {
        if let Some(threshold) = &self.threshold {
            threshold.set(None);
        }
        self.input.rewind();
        self.memory.clear();
        self.output = None;
        self.gathered.clear();
    }

    fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}
