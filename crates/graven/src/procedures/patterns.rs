//! How many relationships of a type lead from one label to another.
//!
//! # How it works
//! The catalogue counts them by labels at both ends. It is exact where the snapshot sees nothing
//! but the stores of the data file. Otherwise it may count what was deleted, or miss labels that
//! came later; then the relationships are counted by a statement of the language for each type,
//! and each row adds to every pair of labels that it has. Types beyond the first [`COUNTED_MAX`]
//! relationships keep the estimate until the next checkpoint, since tools ask for the schema
//! whenever they connect.

use std::collections::{BTreeMap, BTreeSet};

use graven_exec::{ExecError, Value};
use graven_pagecache::Reservation;
use graven_storage::{Catalog, LabelId, TypeId};

use super::columns::{count_of, labels, quoted, text_of, types};
use super::inner::{Call, no_room};

/// So many relationships are counted one by one, of all types together.
const COUNTED_MAX: u64 = 1_000_000;

/// Labels at both ends; `None` stands for any.
type Ends = (Option<LabelId>, Option<LabelId>);

/// The counts of one snapshot.
pub(super) struct Patterns<'c> {
    catalog: &'c Catalog,
    counted: BTreeSet<TypeId>,
    counts: BTreeMap<(TypeId, Ends), u64>,
    _memory: Reservation,
}

impl<'c> Patterns<'c> {
    /// Counts what the catalogue may not know.
    ///
    /// # Errors
    /// Those of reading the graph; there is no room for the counts; the statement is to stop.
    pub(super) fn of(call: &Call<'c>) -> Result<Patterns<'c>, ExecError> {
        let snapshot = call.caller.snapshot;
        let catalog = snapshot.catalog();
        let mut patterns = Patterns {
            catalog,
            counted: BTreeSet::new(),
            counts: BTreeMap::new(),
            _memory: call.on.database.budget.empty_reservation("result"),
        };
        if snapshot.has_changes() {
            let mut left = COUNTED_MAX;
            for (rel_type, name) in types(catalog) {
                let own = snapshot.type_count(rel_type);
                if own <= left {
                    left -= own;
                    patterns.add(call, rel_type, name)?;
                }
            }
        }
        Ok(patterns)
    }

    /// Counts the relationships of a type.
    fn add(&mut self, call: &Call<'_>, rel_type: TypeId, name: &str) -> Result<(), ExecError> {
        let text = format!(
            "MATCH (a)-[:{}]->(b) RETURN labels(a), labels(b), count(*)",
            quoted(name)
        );
        let catalog = self.catalog;
        let ids = |value: &Value| -> Vec<Option<LabelId>> {
            let names: &[Value] = match value {
                Value::List(names) => names,
                _ => &[],
            };
            let ids = names.iter().map(|name| catalog.label(&text_of(name)));
            [None]
                .into_iter()
                .chain(ids.filter(Option::is_some))
                .collect()
        };
        for row in call.rows(&text, Vec::new())? {
            let (starts, ends, met) = (ids(&row[0]), ids(&row[1]), count_of(&row[2]));
            call.check()?;
            for (start, end) in starts
                .iter()
                .flat_map(|s| ends.iter().map(move |e| (*s, *e)))
            {
                *self.counts.entry((rel_type, (start, end))).or_default() += met;
            }
            let bytes = self.counts.len() * 2 * size_of::<((TypeId, Ends), u64)>();
            self._memory.resize(bytes as u64).map_err(no_room)?;
        }
        self.counted.insert(rel_type);
        Ok(())
    }

    /// Relationships of a type; a label that is `None` stands for any.
    pub(super) fn count(
        &self,
        start: Option<LabelId>,
        rel_type: TypeId,
        end: Option<LabelId>,
    ) -> u64 {
        match self.counted.contains(&rel_type) {
            true => self
                .counts
                .get(&(rel_type, (start, end)))
                .copied()
                .unwrap_or(0),
            false => self.catalog.pattern_count(start, Some(rel_type), end),
        }
    }

    /// Labels at the ends of a type, with how many relationships there are between them.
    pub(super) fn ends(&self, rel_type: TypeId) -> Vec<(LabelId, LabelId, u64)> {
        if self.counted.contains(&rel_type) {
            let own = self.counts.range((rel_type, (None, None))..);
            let own = own.take_while(|((of, _), _)| *of == rel_type);
            let labelled = own.filter_map(|((_, ends), met)| Some((ends.0?, ends.1?, *met)));
            return labelled.collect();
        }
        let mut found = Vec::new();
        for (start, _) in labels(self.catalog) {
            if self.count(Some(start), rel_type, None) == 0 {
                continue;
            }
            for (end, _) in labels(self.catalog) {
                let count = self.count(Some(start), rel_type, Some(end));
                if count > 0 {
                    found.push((start, end, count));
                }
            }
        }
        found
    }
}
