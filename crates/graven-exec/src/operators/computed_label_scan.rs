//! Nodes by labels that an expression gives, per input row.
//!
//! # How it works
//! Names and values are computed for a whole input batch. When a row is reached, its first label
//! decides: where one of the properties is indexed with it, the index is asked for the value,
//! otherwise all nodes with the label are handed out. A condition above keeps those that have all
//! labels and values; this only keeps it from looking at all nodes.
//!
//! # Costs
//! An index look-up or the nodes of one label for each row.

use std::sync::Arc;

use super::row_expander::RowExpander;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::Result;
use crate::expression::{Compiled, Rows};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::writing::computed_names;

/// See the file header.
pub(crate) struct ComputedLabelScan {
    input: RowExpander,
    slot: usize,
    names: Arc<Compiled>,
    equal: Arc<[(Arc<str>, Compiled)]>,
    /// Names and values of the current batch.
    computed: Option<(Arc<Column>, Vec<Arc<Column>>)>,
    /// What is left of the current row's nodes.
    open: Option<Ranges>,
    /// Charged for nodes that an index has found.
    memory: Memory,
}

/// Ranges `from..to` of ids, the next one last.
struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    fn new(mut ascending: Vec<(u64, u64)>) -> Self {
        ascending.reverse();
        Self(ascending)
    }

    /// Adds up to `room` nodes; whether there are more.
    fn take(&mut self, room: usize, ids: &mut Vec<u64>) -> bool {
        let full = ids.len() + room;
        while let Some((from, to)) = self.0.last_mut() {
            let until = (*to).min(*from + (full - ids.len()) as u64);
            ids.extend(*from..until);
            *from = until;
            if until < *to {
                return true;
            }
            self.0.pop();
        }
        false
    }
}

impl ComputedLabelScan {
    /// Scans into column `slot`.
    pub(crate) fn new(
        input: BoxedOperator,
        slot: usize,
        names: Arc<Compiled>,
        equal: Arc<[(Arc<str>, Compiled)]>,
        rt: &QueryContext,
    ) -> Self {
        Self {
            input: RowExpander::new(input),
            slot,
            names,
            equal,
            computed: None,
            open: None,
            memory: Memory::new(
                &rt.budget,
                "ComputedLabelScan",
                "look for a value that fewer nodes have",
            ),
        }
    }

    /// The nodes of one row.
    fn find(&mut self, row: usize, rt: &QueryContext) -> Result<Ranges> {
        let (names, values) = self.computed.as_ref().expect("set with the batch");
        let names = computed_names(&names.get(row))?;
        let Some(first) = names.first() else {
            return Ok(Ranges::new(rt.all_node_ranges()?));
        };
        let Some(label) = rt.label_id(first) else {
            return Ok(Ranges::new(Vec::new()));
        };
        let mut nodes = Vec::new();
        for ((key, _), value) in self.equal.iter().zip(values) {
            let value = value.value(row);
            let (false, Some(key)) = (value.is_null(), rt.key_id(key)) else {
                // Nothing equals null, and no node has a property whose key is unknown.
                return Ok(Ranges::new(Vec::new()));
            };
            if rt.index_seek(label, key, &value, &mut nodes)? {
                nodes.sort_unstable();
                nodes.dedup();
                self.memory.set(nodes.len() * size_of::<(u64, u64)>())?;
                let single = nodes.into_iter().map(|id| (id, id + 1));
                return Ok(Ranges::new(single.collect()));
            }
        }
        Ok(Ranges::new(rt.label_ranges(label)?))
    }
}

impl PhysicalOperator for ComputedLabelScan {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        let mut rows = Vec::new();
        let mut ids = Vec::new();
        loop {
            let (names, equal, computed) = (&self.names, &self.equal, &mut self.computed);
            if !self.input.advance(rt, |batch| {
                let column = |e: &Compiled| e.column(Rows::all(batch), rt);
                let values = equal.iter().map(|(_, value)| column(value));
                *computed = Some((column(names)?, values.collect::<Result<_>>()?));
                Ok(())
            })? {
                return Ok(None);
            }
            rt.check_cancelled()?;
            let row = self.input.row();
            let mut open = match self.open.take() {
                Some(open) => open,
                None => self.find(row, rt)?,
            };
            let more = open.take(rt.batch_rows() - ids.len(), &mut ids);
            rows.resize(ids.len(), u32::try_from(row).expect("a batch is small"));
            if more {
                self.open = Some(open);
            } else {
                self.input.step();
            }
            if let Some(found) = self.input.found(self.slot, &rows, &mut ids, rt) {
                return Ok(Some(found));
            }
        }
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.open = None;
        self.memory.clear();
    }
}
