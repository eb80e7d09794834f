//! Runs an inner tree for input rows: apply, optional, semi-apply.
//!
//! # How it works
//! The rows go to the inner tree through an [`ArgumentSlot`], with the number of the input row as a
//! hidden column that comes back with each inner row. Where every inner operator treats rows one by
//! one and keeps their order (*row-wise*, decided when the physical plan is made), a whole input
//! batch runs at once, so that expansions inside still work on batches in id order; otherwise
//! (aggregates, limits, sorts inside) one row at a time. An inner tree that gives one row for each
//! is not run again for rows alike ([`SubqueryMemo`]).
//!
//! # Invariants
//! * EX-11 Row-wise inner trees hand rows back in ascending order of their input row.

use std::sync::Arc;

use super::argument::ArgumentSlot;
use super::subquery_memo::SubqueryMemo;
use crate::batch::Batch;
use crate::column::{Column, NULL_ID};
use crate::error::Result;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;

/// An inner tree together with the way rows get in and out.
pub(crate) struct InnerTree {
    /// Root of the inner tree.
    pub(crate) root: BoxedOperator,
    /// Where rows are left for it.
    pub(crate) slot: ArgumentSlot,
    /// Column of its rows that holds the input row; `None`: one row at a time.
    pub(crate) ordinal: Option<usize>,
    /// Its columns that are added to the row.
    pub(crate) added: Arc<[usize]>,
    /// What it has given, where that is one row each, and small.
    pub(crate) repeated: Option<SubqueryMemo>,
}

impl InnerTree {
    /// The values that are added to the only row of `row`.
    fn run(&mut self, row: Batch, rt: &QueryContext) -> Result<Vec<Value>> {
        rt.check_cancelled()?;
        self.slot.set(row);
        self.root.rewind();
        let mut given = Vec::new();
        while let Some(rows) = self.root.next(rt)? {
            given = self.added.iter().map(|slot| rows.value(*slot, 0)).collect();
        }
        assert_eq!(given.len(), self.added.len(), "EX-65: one row");
        Ok(given)
    }
}

/// What becomes of an input row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Joined with each inner row.
    Apply,
    /// As apply; without inner rows once, with nulls.
    Optional,
    /// Kept once if there is an inner row.
    Semi,
    /// Kept if there is none.
    Anti,
}

/// See the file header. Output columns: the input's, then the added ones.
pub(crate) struct Apply {
    input: BoxedOperator,
    inner: InnerTree,
    mode: Mode,
    batch: Batch,
    /// First input row of the batch not yet given to the inner tree.
    next_row: usize,
    /// First input row of the running group whose fate is open.
    pending: usize,
    /// Whether the inner tree still has rows of the group that ends before `next_row`.
    running: bool,
}

impl Apply {
    /// Runs `inner` for the rows of `input`.
    pub(crate) fn new(input: BoxedOperator, inner: InnerTree, mode: Mode) -> Self {
        Self {
            input,
            inner,
            mode,
            batch: Batch::default(),
            next_row: 0,
            pending: 0,
            running: false,
        }
    }

    /// Gives the next group of rows to the inner tree.
    fn start_group(&mut self) {
        let from = self.next_row;
        let to = match self.inner.ordinal {
            Some(_) => self.batch.len(),
            None => from + 1,
        };
        let group = self.batch.slice(from, to);
        let mut columns = group.columns().to_vec();
        if self.inner.ordinal.is_some() {
            columns.push(Arc::new(Column::Integers(
                (from..to)
                    .map(|row| i64::try_from(row).expect("a batch is small"))
                    .collect(),
            )));
        }
        self.inner.slot.set(Batch::new(columns, to - from));
        self.inner.root.rewind();
        self.next_row = to;
        self.pending = from;
        self.running = true;
    }

    /// Input row of a row of the inner tree.
    fn owner(&self, inner: &Batch, row: usize) -> usize {
        match self.inner.ordinal.map(|slot| inner.column(slot).as_ref()) {
            Some(Column::Integers(rows)) => {
                usize::try_from(rows[row]).expect("set by this operator")
            }
            Some(other) => match &*other.get(row) {
                Value::Integer(i) => usize::try_from(*i).expect("set by this operator"),
                _ => unreachable!("EX-11: the hidden column holds row numbers"),
            },
            None => self.pending_single(),
        }
    }

    /// The only row of a group of one.
    fn pending_single(&self) -> usize {
        self.next_row - 1
    }

    /// Output for one batch of inner rows.
    fn join(&mut self, inner: &Batch) -> Batch {
        let mut outer_rows = Vec::with_capacity(inner.len());
        let mut inner_rows = Vec::with_capacity(inner.len());
        for row in 0..inner.len() {
            let owner = self.owner(inner, row);
            match self.mode {
                Mode::Apply => {
                    outer_rows.push(number(owner));
                    inner_rows.push(number(row));
                }
                Mode::Optional => {
                    self.skip_to(owner, &mut outer_rows, &mut inner_rows);
                    self.pending = owner + 1;
                    outer_rows.push(number(owner));
                    inner_rows.push(number(row));
                }
                Mode::Semi if owner >= self.pending => {
                    outer_rows.push(number(owner));
                    self.pending = owner + 1;
                }
                Mode::Anti if owner >= self.pending => {
                    self.skip_to(owner, &mut outer_rows, &mut inner_rows);
                    self.pending = owner + 1;
                }
                Mode::Semi | Mode::Anti => {}
            }
        }
        self.output(&outer_rows, Some((inner, &inner_rows)))
    }

    /// Rows from `pending` up to `owner` had no inner row.
    fn skip_to(&mut self, owner: usize, outer_rows: &mut Vec<u32>, inner_rows: &mut Vec<u32>) {
        while self.pending < owner {
            outer_rows.push(number(self.pending));
            inner_rows.push(NO_ROW);
            self.pending += 1;
        }
    }

    /// Output for the rows left when the inner tree has ended.
    fn end_group(&mut self) -> Batch {
        self.running = false;
        let (mut outer_rows, mut inner_rows) = (Vec::new(), Vec::new());
        if matches!(self.mode, Mode::Optional | Mode::Anti) {
            self.skip_to(self.next_row, &mut outer_rows, &mut inner_rows);
        }
        self.output(&outer_rows, None)
    }

    /// The next rows with what an inner tree that gives one row for each adds.
    fn next_repeated(&mut self, mut repeated: SubqueryMemo, rt: &QueryContext) -> Result<Batch> {
        let count = repeated.take(self.batch.len() - self.next_row);
        let rows = self.batch.slice(self.next_row, self.next_row + count);
        let added = repeated.columns(&rows, |row| self.inner.run(rows.slice(row, row + 1), rt));
        self.inner.repeated = Some(repeated);
        let (added, done) = added?;
        self.next_row += done;
        let rows = rows.slice(0, done);
        let columns = rows.columns().iter().cloned().chain(added);
        Ok(Batch::new(columns.collect(), done))
    }

    fn output(&self, outer_rows: &[u32], inner: Option<(&Batch, &[u32])>) -> Batch {
        let outer = self.batch.gather(outer_rows);
        let mut columns = outer.columns().to_vec();
        if matches!(self.mode, Mode::Apply | Mode::Optional) {
            for slot in &*self.inner.added {
                columns.push(Arc::new(match inner {
                    Some((batch, rows)) => gather_or_null(batch.column(*slot), rows),
                    None => Column::Constant(Value::Null, outer_rows.len()),
                }));
            }
        }
        Batch::new(columns, outer_rows.len())
    }
}

/// Stands for "no inner row".
const NO_ROW: u32 = u32::MAX;

fn number(row: usize) -> u32 {
    u32::try_from(row).expect("a batch is small")
}

fn gather_or_null(column: &Column, rows: &[u32]) -> Column {
    if !rows.contains(&NO_ROW) {
        return column.gather(rows);
    }
    let id_of = |ids: &[u64]| {
        let id = |row: &u32| match *row {
            NO_ROW => NULL_ID,
            row => ids[row as usize],
        };
        rows.iter().map(id).collect()
    };
    match column {
        Column::Nodes(ids) => Column::Nodes(id_of(ids)),
        Column::Relationships(ids) => Column::Relationships(id_of(ids)),
        _ => {
            let value = |row: &u32| match *row {
                NO_ROW => Value::Null,
                row => column.value(row as usize),
            };
            Column::from_values(rows.iter().map(value).collect())
        }
    }
}

impl PhysicalOperator for Apply {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            rt.check_cancelled()?;
            if self.running {
                // One row at a time a semi-apply needs no more than the first inner row.
                let decided = self.inner.ordinal.is_none()
                    && matches!(self.mode, Mode::Semi | Mode::Anti)
                    && self.pending == self.next_row;
                let rows = if decided {
                    None
                } else {
                    self.inner.root.next(rt)?
                };
                let out = match rows {
                    Some(rows) => self.join(&rows),
                    None => self.end_group(),
                };
                if !out.is_empty() {
                    return Ok(Some(out));
                }
            } else if self.next_row < self.batch.len() {
                if let Some(repeated) = self.inner.repeated.take() {
                    return self.next_repeated(repeated, rt).map(Some);
                }
                self.start_group();
            } else {
                self.batch = Batch::default();
                self.next_row = 0;
                self.inner.slot.set(Batch::default());
                match self.input.next(rt)? {
                    Some(batch) => self.batch = batch,
                    None => return Ok(None),
                }
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.batch = Batch::default();
        self.next_row = 0;
        self.pending = 0;
        self.running = false;
        if let Some(repeated) = &mut self.inner.repeated {
            repeated.rewind();
        }
    }
}
