//! Nodes found in an index on a property.

use std::ops::Bound;

use graven_cypher::plan::Inclusion;
use graven_storage::{FoundEach, HashedKeys, Index, IndexRange, KeyId, LabelId, PropertyValue};

use super::QueryContext;
use crate::error::Result;
use crate::memory::Memory;
use crate::value::Value;

/// This many nodes with one value are few.
const FEW: usize = 16;

impl QueryContext {
    /// The nodes that the index on a property has for each value, where they are few, and how many
    /// values there are; `None` if there is no such index.
    pub(crate) fn index_find_each(
        &self,
        label: LabelId,
        key: KeyId,
        values: impl FnOnce() -> Vec<PropertyValue>,
        kept: &mut KeptKeys,
    ) -> Result<Option<(FoundEach, usize)>> {
        let Some(index) = self.snapshot.index(label, key) else {
            return Ok(None);
        };
        let values = values();
        kept.will_find(values.len() as u64, &index)?;
        let found = index.find_each(&values, FEW, kept.table.as_ref())?;
        Ok(Some((found, values.len())))
    }

    /// Adds the nodes with the indexed property `value`, ascending, if they are few and there
    /// is such an index; `false` if not.
    pub(crate) fn index_find(
        &self,
        label: LabelId,
        key: KeyId,
        value: &Value,
        nodes: &mut Vec<u64>,
    ) -> Result<bool> {
        self.in_index(label, key, value, |index, value| {
            Ok(index.find(value, FEW, nodes)?)
        })
    }

    /// Adds the nodes with the indexed property `value`; false if there is no such index.
    pub(crate) fn index_seek(
        &self,
        label: LabelId,
        key: KeyId,
        value: &Value,
        nodes: &mut Vec<u64>,
    ) -> Result<bool> {
        self.in_index(label, key, value, |index, value| {
            nodes.extend(index.seek(value)?.into_iter().map(|n| n.0));
            Ok(true)
        })
    }

    /// Asks the index on a property for a value; `false` if there is no such index, `true` if no
    /// property can have the value.
    fn in_index(
        &self,
        label: LabelId,
        key: KeyId,
        value: &Value,
        ask: impl FnOnce(&Index, &PropertyValue) -> Result<bool>,
    ) -> Result<bool> {
        match (
            self.snapshot.index(label, key),
            crate::value::convert::to_stored(value),
        ) {
            (None, _) => Ok(false),
            (Some(_), None) => Ok(true),
            (Some(index), Some(value)) => ask(&index, &value),
        }
    }

    /// The nodes with an indexed property in the range, one by one; `None` if there is no such
    /// index.
    pub(crate) fn index_range(
        &self,
        label: LabelId,
        key: KeyId,
        low: Option<&(Value, Inclusion)>,
        high: Option<&(Value, Inclusion)>,
    ) -> Result<Option<Found>> {
        let Some(index) = self.snapshot.index(label, key) else {
            return Ok(None);
        };
        let stored = |bound: Option<&(Value, Inclusion)>| {
            bound.map(|(value, inclusion)| (crate::value::convert::to_stored(value), *inclusion))
        };
        let (low, high) = (stored(low), stored(high));
        let is_nothing = |bound: &Option<(Option<PropertyValue>, Inclusion)>| {
            matches!(bound, Some((None | Some(PropertyValue::Null), _)))
        };
        // What is not a stored value compares with no property.
        if is_nothing(&low) || is_nothing(&high) {
            return Ok(Some(Found::Nothing));
        }
        let range = index.range(index_bound(low.as_ref()), index_bound(high.as_ref()))?;
        Ok(Some(Found::Index(Box::new(range))))
    }
}

/// Keys of an index in a table, once as many were looked up as there are: then to make it costs no
/// more than was paid without it.
pub(crate) struct KeptKeys {
    table: Option<HashedKeys>,
    looked_up: u64,
    /// Whether a table was made, or could not be.
    decided: bool,
    memory: Memory,
}

impl KeptKeys {
    pub(crate) fn new(memory: Memory) -> KeptKeys {
        KeptKeys {
            table: None,
            looked_up: 0,
            decided: false,
            memory,
        }
    }

    /// So many values are looked up next.
    fn will_find(&mut self, values: u64, index: &Index) -> Result<()> {
        let enough = self.looked_up > index.entries_max();
        if !self.decided && enough && !index.has_top() {
            self.decided = true;
            let room = usize::try_from(HashedKeys::bytes_to_make(index)).unwrap_or(usize::MAX);
            if self.memory.keeps(room) {
                self.table = index.hashed_keys()?;
                let bytes = self.table.as_ref().map_or(0, HashedKeys::bytes);
                self.memory.set(bytes)?;
            }
        }
        self.looked_up += values;
        Ok(())
    }
}

/// Nodes being found in an index.
pub(crate) enum Found {
    /// No value can match.
    Nothing,
    /// What is left of a range.
    Index(Box<IndexRange>),
}

impl Found {
    /// Adds up to `room` nodes; fewer are added only at the end.
    pub(crate) fn take(&mut self, room: usize, nodes: &mut Vec<u64>) -> Result<()> {
        if let Found::Index(range) = self {
            for node in range.take(room) {
                nodes.push(node?.0);
            }
        }
        Ok(())
    }
}

fn index_bound(bound: Option<&(Option<PropertyValue>, Inclusion)>) -> Bound<&PropertyValue> {
    match bound {
        Some((Some(value), Inclusion::Inclusive)) => Bound::Included(value),
        Some((Some(value), Inclusion::Exclusive)) => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}
