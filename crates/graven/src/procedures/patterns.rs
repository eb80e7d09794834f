//! How many relationships of a type lead from one label to another.
//!
//! # How it works
//! The catalogue counts them by labels at both ends. It is exact where the snapshot sees nothing
//! but the stores of the data file. Otherwise it may count what was deleted, or miss labels that
//! came later; then the relationships are counted by a statement of the language for each type.
//! Types beyond the first [`COUNTED_MAX`] relationships keep the estimate until the next
//! checkpoint, since tools ask for the schema whenever they connect. Each count adds to every pair
//! of labels at its ends, so that a pair is looked up.

use std::collections::{BTreeMap, BTreeSet};

use graven_exec::{ExecError, Value};
use graven_pagecache::Reservation;
use graven_storage::{LabelId, TypeId};
use graven_types::name::quoted;

use super::columns::{count_of, text_of, types};
use super::inner::{Call, no_room};

/// So many relationships are counted one by one, of all types together.
const COUNTED_MAX: u64 = 1_000_000;

/// Labels at both ends; `None` stands for any.
type Ends = (Option<LabelId>, Option<LabelId>);

/// The counts of one snapshot.
pub(super) struct Patterns {
    counts: BTreeMap<(TypeId, Ends), u64>,
    memory: Reservation,
}

impl Patterns {
    /// Counts by the catalogue, or by a statement where the catalogue may be wrong.
    ///
    /// # Errors
    /// Those of reading the graph; there is no room for the counts; the statement is to stop.
    pub(super) fn of(call: &Call<'_>) -> Result<Patterns, ExecError> {
        let snapshot = call.caller.snapshot;
        let catalog = snapshot.catalog();
        let mut patterns = Patterns {
            counts: BTreeMap::new(),
            memory: call.on.database.budget.empty_reservation("result"),
        };
        let mut counted = BTreeSet::new();
        if snapshot.has_changes() {
            let mut left = COUNTED_MAX;
            for (rel_type, name) in types(catalog) {
                let own = snapshot.type_count(rel_type);
                if own <= left {
                    left -= own;
                    patterns.count_type(call, rel_type, name)?;
                    counted.insert(rel_type);
                }
            }
        }
        for (starts, rel_type, ends, met) in catalog.patterns() {
            if !counted.contains(&rel_type) {
                patterns.add(call, rel_type, (starts, ends), met)?;
            }
        }
        Ok(patterns)
    }

    /// Counts the relationships of a type one by one.
    fn count_type(
        &mut self,
        call: &Call<'_>,
        rel_type: TypeId,
        name: &str,
    ) -> Result<(), ExecError> {
        let text = format!(
            "MATCH (a)-[:{}]->(b) RETURN labels(a), labels(b), count(*)",
            quoted(name)
        );
        let catalog = call.caller.snapshot.catalog();
        let ids = |value: &Value| -> Vec<LabelId> {
            match value {
                Value::List(names) => (names.iter())
                    .filter_map(|name| catalog.label(&text_of(name)))
                    .collect(),
                _ => Vec::new(),
            }
        };
        for row in call.rows(&text, Vec::new())? {
            let (starts, ends) = (ids(&row[0]), ids(&row[1]));
            self.add(call, rel_type, (&starts, &ends), count_of(&row[2]))?;
        }
        Ok(())
    }

    /// Adds relationships to every pair of labels that they lead from and to.
    fn add(
        &mut self,
        call: &Call<'_>,
        rel_type: TypeId,
        (starts, ends): (&[LabelId], &[LabelId]),
        met: u64,
    ) -> Result<(), ExecError> {
        call.check()?;
        let or_any = |labels: &[LabelId]| -> Vec<Option<LabelId>> {
            [None]
                .into_iter()
                .chain(labels.iter().copied().map(Some))
                .collect()
        };
        let ends = or_any(ends);
        for start in or_any(starts) {
            for end in &ends {
                *self.counts.entry((rel_type, (start, *end))).or_default() += met;
            }
        }
        let bytes = self.counts.len() * 2 * size_of::<((TypeId, Ends), u64)>();
        self.memory.resize(bytes as u64).map_err(no_room)
    }

    /// Relationships of a type; a label that is `None` stands for any.
    pub(super) fn count(
        &self,
        start: Option<LabelId>,
        rel_type: TypeId,
        end: Option<LabelId>,
    ) -> u64 {
        let found = self.counts.get(&(rel_type, (start, end)));
        found.copied().unwrap_or(0)
    }

    /// Labels at the ends of a type, with how many relationships there are between them.
    pub(super) fn ends(&self, rel_type: TypeId) -> Vec<(LabelId, LabelId, u64)> {
        let own = self.counts.range((rel_type, (None, None))..);
        let own = own.take_while(|((of, _), _)| *of == rel_type);
        let labelled = own.filter(|(_, met)| **met > 0);
        labelled
            .filter_map(|((_, (start, end)), met)| Some(((*start)?, (*end)?, *met)))
            .collect()
    }
}
