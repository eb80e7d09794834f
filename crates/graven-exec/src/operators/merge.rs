//! `MERGE`: finds a pattern for each input row, or creates it.
//!
//! # How it works
//! Rows are taken one after the other, so that a row finds what an earlier one created. All matches
//! of a row are found before the first of them is changed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::argument::ArgumentSlot;
use super::creation::{Created, Creation};
use super::set::Items;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::value::Value;

/// The parts of a merge.
pub(crate) struct MergeParts {
    /// Root of the tree that looks for the pattern.
    pub(crate) inner: BoxedOperator,
    /// Where rows are left for it.
    pub(crate) slot: ArgumentSlot,
    /// Its columns that are added to the row.
    pub(crate) added: Arc<[usize]>,
    /// What is created where nothing is found.
    pub(crate) creation: Arc<Creation>,
    /// For each added column: which of the created nodes and relationships it holds.
    pub(crate) created: Arc<[usize]>,
    /// Whether a last column says if the row was created.
    pub(crate) tells: bool,
    /// Changes of a created row.
    pub(crate) on_create: Arc<Items>,
    /// Changes of a found row.
    pub(crate) on_match: Arc<Items>,
}

/// See the file header. Output columns: the input's, then the added ones, then, if wanted, whether
/// the row was created.
pub(crate) struct Merge {
    input: BoxedOperator,
    parts: MergeParts,
    ready: VecDeque<Batch>,
}

impl Merge {
    /// Merges for each row of `input`.
    pub(crate) fn new(input: BoxedOperator, parts: MergeParts) -> Self {
        Self {
            input,
            parts,
            ready: VecDeque::new(),
        }
    }

    fn merge(&mut self, batch: &Batch, rt: &QueryContext) -> Result<()> {
        let parts = &mut self.parts;
        let mut rows: Vec<u32> = Vec::with_capacity(batch.len());
        let mut values: Vec<Vec<Value>> = vec![Vec::new(); parts.added.len()];
        let mut is_new: Vec<Value> = Vec::new();
        for row in 0..batch.len() {
            rt.check_cancelled()?;
            let one = batch.slice(row, row + 1);
            let held = rt.growth.hold();
            let prepared = parts.creation.prepare(&one, &held, rt)?;
            if let Some((key, at)) = parts.creation.null_property(&prepared, 0, rt) {
                let key = key.to_string();
                return Err(ExecError::MergeNull { key }.at(at));
            }
            parts.slot.set(one.clone());
            parts.inner.rewind();
            let mut found = Vec::new();
            while let Some(rows) = parts.inner.next(rt)? {
                found.push(rows);
            }
            let index = u32::try_from(row).expect("a batch is small");
            let mut take = |added: &Batch, items: &Items| -> Result<()> {
                rows.resize(rows.len() + added.len(), index);
                for (values, column) in values.iter_mut().zip(added.columns()) {
                    values.extend((0..added.len()).map(|row| column.value(row)));
                }
                match items.is_empty() {
                    true => Ok(()),
                    false => items.apply(&joined(&one, added), rt),
                }
            };
            if found.is_empty() {
                is_new.push(Value::Boolean(true));
                let mut created = Created::default();
                parts
                    .creation
                    .create(&one, &prepared, 0, rt, &mut created)?;
                let nodes = created.nodes.into_iter().map(Value::Node);
                let relationships = created.relationships.into_iter().map(Value::Relationship);
                let all: Vec<Value> = nodes.chain(relationships).collect();
                let columns = parts.created.iter();
                let columns =
                    columns.map(|at| Arc::new(Column::from_values(vec![all[*at].clone()])));
                take(&Batch::new(columns.collect(), 1), &parts.on_create)?;
            }
            for batch in found {
                let columns = parts.added.iter().map(|at| Arc::clone(batch.column(*at)));
                take(&Batch::new(columns.collect(), batch.len()), &parts.on_match)?;
            }
            is_new.resize(rows.len(), Value::Boolean(false));
        }
        if parts.tells {
            values.push(is_new);
        }
        let mut from = 0;
        while from < rows.len() {
            let to = rows.len().min(from + BATCH_ROWS);
            let mut columns = batch.gather(&rows[from..to]).columns().to_vec();
            for values in &values {
                columns.push(Arc::new(Column::from_values(values[from..to].to_vec())));
            }
            self.ready.push_back(Batch::new(columns, to - from));
            from = to;
        }
        Ok(())
    }
}

/// One row with each row of the other batch.
fn joined(one: &Batch, added: &Batch) -> Batch {
    let mut columns = one.gather(&vec![0; added.len()]).columns().to_vec();
    columns.extend(added.columns().iter().cloned());
    Batch::new(columns, added.len())
}

impl PhysicalOperator for Merge {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        while self.ready.is_empty() {
            match self.input.next(rt)? {
                Some(batch) => self.merge(&batch, rt)?,
                None => return Ok(None),
            }
        }
        Ok(self.ready.pop_front())
    }

    fn rewind(&mut self) {
        self.input.rewind();
        self.ready.clear();
    }
}
