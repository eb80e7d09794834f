//! One row per list element.

use std::sync::Arc;

use super::fan_out::{FanOut, widen};
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::operator::{BoxedOperator, Operator};
use crate::runtime::Runtime;
use crate::value::Value;

/// See the file header.
pub(crate) struct Unwind {
    input: FanOut,
    list: Compiled,
    slot: usize,
    lists: Option<Arc<Column>>,
    /// Elements of the current row handed out already.
    done: usize,
}

impl Unwind {
    /// Unwinds `list` into column `slot`.
    pub(crate) fn new(input: BoxedOperator, list: Compiled, slot: usize) -> Self {
        Self {
            input: FanOut::new(input),
            list,
            slot,
            lists: None,
            done: 0,
        }
    }
}

impl Operator for Unwind {
    fn next(&mut self, rt: &Runtime) -> Result<Option<Batch>> {
        let mut rows = Vec::new();
        let mut values = Vec::new();
        loop {
            let (list, lists) = (&self.list, &mut self.lists);
            if !self.input.advance(rt, |batch| {
                *lists = Some(list.column(Rows::all(batch), rt)?);
                Ok(())
            })? {
                return Ok(None);
            }
            let row = self.input.row();
            let lists = self.lists.as_ref().expect("set with the batch");
            let list = lists.get(row);
            let items: &[Value] = match &*list {
                Value::Null => &[],
                Value::List(items) => items,
                single => std::slice::from_ref(single),
            };
            let take = (items.len() - self.done).min(BATCH_ROWS - values.len());
            values.extend_from_slice(&items[self.done..self.done + take]);
            rows.resize(values.len(), u32::try_from(row).expect("a batch is small"));
            self.done += take;
            if self.done == items.len() {
                self.done = 0;
                self.input.step();
            }
            let batch_done = self.input.row() == self.input.batch().len();
            if values.len() == BATCH_ROWS || (batch_done && !values.is_empty()) {
                let column = Column::from_values(values);
                return Ok(Some(widen(
                    self.input.batch(),
                    &rows,
                    [(self.slot, column)],
                )));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.done = 0;
    }
}
