//! One row per list element.
//!
//! # How it works
//! The lists of a batch are evaluated together. `range()` is not made into a list: its numbers are
//! counted off, so that a range of any length takes no memory.

use std::sync::Arc;

use super::row_expander::{RowExpander, gather_with};
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Range, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;

/// See the file header.
pub(crate) struct Unwind {
    input: RowExpander,
    list: Arc<Compiled>,
    slot: usize,
    /// The column of the lists, where no operator above reads it.
    gone: Option<usize>,
    lists: Lists,
    /// Elements of the current row handed out already.
    done: u128,
    memory: Memory,
}

/// What the rows of a batch are unwound from.
enum Lists {
    Values(Arc<Column>),
    /// Arguments of `range()`.
    Ranges(Vec<Arc<Column>>),
}

/// Elements on their way into a column.
#[derive(Default)]
struct Elements {
    values: Vec<Value>,
    /// Used as long as everything comes from ranges.
    numbers: Vec<i64>,
}

impl Elements {
    fn len(&self) -> usize {
        self.values.len() + self.numbers.len()
    }

    fn column(self) -> Column {
        if self.values.is_empty() {
            Column::Integers(self.numbers)
        } else {
            Column::from_values(self.values)
        }
    }
}

impl Lists {
    fn of(list: &Compiled, batch: &Batch, rt: &QueryContext) -> Result<Self> {
        match list {
            Compiled::Call(function, args, _) if function.name == "range" => {
                let args = args.iter().map(|arg| arg.column(Rows::all(batch), rt));
                Ok(Lists::Ranges(args.collect::<Result<_>>()?))
            }
            _ => Ok(Lists::Values(list.column(Rows::all(batch), rt)?)),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Lists::Values(column) => column.heap_bytes(),
            Lists::Ranges(_) => 0,
        }
    }

    /// Adds elements of a row from number `done` on, at most `room`; how many were added and how
    /// many there are.
    fn take(
        &self,
        row: usize,
        done: u128,
        room: usize,
        into: &mut Elements,
    ) -> Result<(u128, u128)> {
        match self {
            Lists::Ranges(args) => {
                let args: Vec<Value> = args.iter().map(|arg| arg.value(row)).collect();
                let range = Range::new(&args)?;
                let take = (range.len - done).min(room as u128);
                into.numbers
                    .extend((done..done + take).map(|index| range.get(index)));
                Ok((take, range.len))
            }
            Lists::Values(lists) => {
                let list = lists.get(row);
                let items: &[Value] = match &*list {
                    Value::Null => &[],
                    Value::List(items) => items,
                    single => std::slice::from_ref(single),
                };
                let from = usize::try_from(done).expect("a list in memory");
                let take = (items.len() - from).min(room);
                into.values.extend_from_slice(&items[from..from + take]);
                Ok((take as u128, items.len() as u128))
            }
        }
    }
}

impl Unwind {
    /// Unwinds `list` into column `slot`; column `gone`, which holds the lists, is null from here
    /// on.
    pub(crate) fn new(
        input: BoxedOperator,
        list: Arc<Compiled>,
        (slot, gone): (usize, Option<usize>),
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            list,
            slot,
            gone,
            lists: Lists::Ranges(Vec::new()),
            done: 0,
            memory: Memory::new(&rt.budget, "Unwind", "unwind shorter lists"),
        }
    }
}

/// The batch with nulls in place of the column.
fn without(batch: &Batch, column: usize) -> Batch {
    let mut columns = batch.columns().to_vec();
    columns[column] = Arc::new(Column::Constant(Value::Null, batch.len()));
    Batch::new(columns, batch.len())
}

impl PhysicalOperator for Unwind {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let mut rows = Vec::new();
        let mut elements = Elements::default();
        let at_once = rt.batch_rows();
        loop {
            let (list, lists, memory) = (&self.list, &mut self.lists, &mut self.memory);
            if !self.input.advance(rt, |batch| {
                *lists = Lists::Ranges(Vec::new());
                memory.clear();
                *lists = Lists::of(list, batch, rt)?;
                memory.set(lists.heap_bytes())
            })? {
                return Ok(None);
            }
            let row = self.input.row();
            let room = at_once - elements.len();
            let (taken, of) = self.lists.take(row, self.done, room, &mut elements)?;
            rows.resize(
                elements.len(),
                u32::try_from(row).expect("a batch is small"),
            );
            self.done += taken;
            if self.done == of {
                self.done = 0;
                self.input.step();
            }
            let batch_done = self.input.row() == self.input.batch().len();
            if elements.len() == at_once || (batch_done && elements.len() > 0) {
                let added = [(self.slot, elements.column())];
                let batch = self.input.batch();
                return Ok(Some(match self.gone {
                    None => gather_with(batch, &rows, added),
                    Some(gone) => gather_with(&without(batch, gone), &rows, added),
                }));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.lists = Lists::Ranges(Vec::new());
        self.memory.clear();
        self.done = 0;
    }
}
