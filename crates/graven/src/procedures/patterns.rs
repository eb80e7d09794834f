//! How many relationships of a type lead from one label to another.
//!
//! # How it works
//! The catalogue counts them by labels at both ends. It is exact where the snapshot sees nothing
//! but the stores of the data file. Otherwise it may count what was deleted, or miss labels that
//! came later; then the relationships of a type are counted by a statement of the language, unless
//! there are more than [`COUNTED_MAX`] of them: those keep the estimate until the next checkpoint,
//! since tools ask for the schema whenever they connect.

use std::collections::BTreeMap;

use graven_exec::{ExecError, Value};
use graven_storage::{Catalog, LabelId, TypeId};

use super::columns::{count_of, labels, quoted, text_of, types};
use super::inner::Call;

/// Types with more relationships are not counted one by one.
const COUNTED_MAX: u64 = 1_000_000;

/// Relationships by the labels of both their ends.
type ByLabels = Vec<(Vec<LabelId>, Vec<LabelId>, u64)>;

/// The counts of one snapshot.
pub(super) struct Patterns<'c> {
    catalog: &'c Catalog,
    counted: BTreeMap<TypeId, ByLabels>,
}

impl<'c> Patterns<'c> {
    /// Counts what the catalogue may not know.
    ///
    /// # Errors
    /// Those of reading the graph.
    pub(super) fn of(call: &Call<'c>) -> Result<Patterns<'c>, ExecError> {
        let snapshot = call.caller.snapshot;
        let catalog = snapshot.catalog();
        let mut counted = BTreeMap::new();
        if snapshot.has_changes() {
            for (rel_type, name) in types(catalog) {
                if snapshot.type_count(rel_type) <= COUNTED_MAX {
                    counted.insert(rel_type, by_labels(call, name)?);
                }
            }
        }
        Ok(Patterns { catalog, counted })
    }

    /// Relationships of a type; a label that is `None` stands for any.
    pub(super) fn count(
        &self,
        start: Option<LabelId>,
        rel_type: TypeId,
        end: Option<LabelId>,
    ) -> u64 {
        let Some(counted) = self.counted.get(&rel_type) else {
            return self.catalog.pattern_count(start, Some(rel_type), end);
        };
        let has = |own: &[LabelId], label: Option<LabelId>| label.is_none_or(|l| own.contains(&l));
        let fitting = counted
            .iter()
            .filter(|(from, to, _)| has(from, start) && has(to, end));
        fitting.map(|(_, _, met)| met).sum()
    }

    /// Labels at the ends of a type, with how many relationships there are between them.
    pub(super) fn ends(&self, rel_type: TypeId) -> Vec<(LabelId, LabelId, u64)> {
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

fn by_labels(call: &Call<'_>, rel_type: &str) -> Result<ByLabels, ExecError> {
    let catalog = call.caller.snapshot.catalog();
    let text = format!(
        "MATCH (a)-[:{}]->(b) RETURN labels(a), labels(b), count(*)",
        quoted(rel_type)
    );
    let ids = |value: &Value| match value {
        Value::List(names) => (names.iter())
            .filter_map(|name| catalog.label(&text_of(name)))
            .collect(),
        _ => Vec::new(),
    };
    let rows = call.rows(&text, Vec::new())?;
    let counted = rows.iter();
    Ok(counted
        .map(|row| (ids(&row[0]), ids(&row[1]), count_of(&row[2])))
        .collect())
}
