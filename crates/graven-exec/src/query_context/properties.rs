//! Properties of nodes and relationships, of many at a time.

use std::sync::Arc;

use graven_storage::{KeyId, NodeId, RelId, TypeId};
use graven_types::told;

use super::QueryContext;
use crate::column::{Column, NULL_ID};
use crate::error::{ExecError, Result};
use crate::property_gather;
use crate::relationship_runs::RelationshipRuns;
use crate::value::Value;

impl QueryContext {
    /// Entries of a map, or the properties of a node or relationship; `None` for null.
    ///
    /// # Errors
    /// Any other value.
    pub(crate) fn property_entries(&self, value: &Value) -> Result<Option<Entries>> {
        Ok(Some(match value {
            Value::Null => return Ok(None),
            Value::Map(map) => map.entries().to_vec(),
            Value::Node(id) => self.all_node_properties(id.0)?,
            Value::Relationship(id) => self.all_relationship_properties(id.0)?,
            other => {
                return Err(ExecError::Type {
                    message: told!(
                        "properties come from a Map, Node or Relationship, this is {}: {other}",
                        other.type_name()
                    ),
                });
            }
        }))
    }

    /// A property of many nodes, [`NULL_ID`] being null; in id order inside, in the given order
    /// outside.
    pub(crate) fn node_properties(&self, ids: &[u64], key: Option<KeyId>) -> Result<Column> {
        if self.may_be_gone() {
            let mut there = ids.iter().filter(|id| **id != NULL_ID);
            there.try_for_each(|id| self.check_node(*id))?;
        }
        let Some(column) = key.and_then(|k| self.snapshot.node_column(k)) else {
            return Ok(Column::Constant(Value::Null, ids.len()));
        };
        if let [only] = ids
            && *only != NULL_ID
        {
            return Ok(Column::Constant(property_gather::one(&column, *only)?, 1));
        }
        if self.is_snapshot_stable
            && !property_gather::ascend(ids)
            && let Some(key) = key
            && let Some(dense) = self.shared.dense.read(key, &column, ids, &self.budget)?
        {
            return Ok(dense);
        }
        property_gather::in_order(ids, |sorted, found| found.append(&column, sorted))
    }

    /// The rows of ascending nodes with this text as property, found without making values; `None`
    /// if that is not to be had.
    pub(crate) fn nodes_with_text(
        &self,
        ids: &[u64],
        key: Option<KeyId>,
        text: &str,
    ) -> Result<Option<Vec<u32>>> {
        if !self.is_snapshot_stable || self.may_be_gone() || !property_gather::ascend(ids) {
            return Ok(None);
        }
        let mut rows = Vec::new();
        let found = match key.and_then(|key| self.snapshot.node_column(key)) {
            Some(column) => column.find_text(ids, text, &mut rows)?,
            None => true,
        };
        Ok(found.then_some(rows))
    }

    /// A property of many relationships, as [`QueryContext::node_properties`].
    pub(crate) fn relationship_properties(
        &self,
        ids: &[u64],
        key: Option<KeyId>,
    ) -> Result<Column> {
        if self.may_be_gone() {
            let mut there = ids.iter().filter(|id| **id != NULL_ID);
            there.try_for_each(|id| self.check_relationship(*id))?;
        }
        let Some(key) = key else {
            return Ok(Column::Constant(Value::Null, ids.len()));
        };
        if let [only] = ids
            && *only != NULL_ID
        {
            let (rel_type, _) = self.run_of_type(ids, 0)?;
            let column = self.snapshot.relationship_column(rel_type, key);
            let value = column
                .map(|column| property_gather::one(&column, *only))
                .transpose()?;
            return Ok(Column::Constant(value.unwrap_or_default(), 1));
        }
        property_gather::in_order(ids, |sorted, found| {
            // Ids are assigned type by type, so the sorted ids of one type are mostly one run.
            let mut from = 0;
            while from < sorted.len() {
                let (rel_type, to) = self.run_of_type(sorted, from)?;
                match self.snapshot.relationship_column(rel_type, key) {
                    Some(column) => found.append(&column, &sorted[from..to])?,
                    None => found.append_nulls(to - from),
                }
                from = to;
            }
            Ok(())
        })
    }

    /// A property of the relationships of one type that these runs hold, in their order.
    pub(crate) fn properties_of_runs(
        &self,
        rel_type: TypeId,
        runs: &RelationshipRuns,
        key: Option<KeyId>,
    ) -> Result<Column> {
        if let Some(numbers) = self.integers_of_runs(rel_type, runs, key)? {
            return Ok(Column::Integers(numbers));
        }
        let ids: Vec<u64> = runs.iter().flatten().collect();
        self.relationship_properties(&ids, key)
    }

    /// The same if all of them are integers of a column; none otherwise.
    pub(crate) fn integers_of_runs(
        &self,
        rel_type: TypeId,
        runs: &RelationshipRuns,
        key: Option<KeyId>,
    ) -> Result<Option<Vec<i64>>> {
        let column = key
            .filter(|_| !self.may_be_gone())
            .and_then(|key| self.snapshot.relationship_column(rel_type, key));
        let Some(column) = column else {
            return Ok(None);
        };
        let mut numbers = Vec::with_capacity(runs.len());
        for ids in runs.iter() {
            if !column.gather_integers_in(ids, &mut numbers)? {
                return Ok(None);
            }
        }
        Ok(Some(numbers))
    }

    /// The type of the relationship at `from` of ascending ids, and where ids of another type
    /// follow.
    fn run_of_type(&self, sorted: &[u64], from: usize) -> Result<(TypeId, usize)> {
        if !self.may_be_gone()
            && let Some((rel_type, end)) = self.snapshot.catalog().extent_of(RelId(sorted[from]))
        {
            let len = sorted[from..].partition_point(|id| *id < end.0);
            return Ok((rel_type, from + len));
        }
        let rel_type = self.relationship_type(sorted[from])?;
        let mut to = from + 1;
        while to < sorted.len() && self.relationship_type(sorted[to])? == rel_type {
            to += 1;
        }
        Ok((rel_type, to))
    }

    /// All properties of a node, by key; none of one that this statement has deleted.
    pub(crate) fn all_node_properties(&self, id: u64) -> Result<Vec<(Arc<str>, Value)>> {
        let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
        if self.node_is_gone(id) {
            return Ok(entries);
        }
        for key in self.snapshot.node_keys(NodeId(id))? {
            let value = self.node_properties(&[id], Some(key))?.value(0);
            if !value.is_null() {
                entries.push((self.key_name(key), value));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }

    /// All properties of a relationship, by key.
    pub(crate) fn all_relationship_properties(&self, id: u64) -> Result<Vec<(Arc<str>, Value)>> {
        self.check_relationship(id)?;
        let mut entries: Vec<(Arc<str>, Value)> = Vec::new();
        for key in self.snapshot.relationship_keys(RelId(id))? {
            let value = self.relationship_properties(&[id], Some(key))?.value(0);
            if !value.is_null() {
                entries.push((self.key_name(key), value));
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(entries)
    }
}

/// Entries of a map, properties of an entity.
pub(crate) type Entries = Vec<(Arc<str>, Value)>;
