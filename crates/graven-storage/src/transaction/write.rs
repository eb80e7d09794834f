//! Changes of nodes and relationships.

use super::index_entries::Edits;
use super::{State, Transaction};
use crate::adjacency::Neighbour;
use crate::catalog::IndexDescription;
use crate::delta::change::{Change, ColumnOf, NodeChange, RelationshipChange};
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::labels::label_set;
use crate::schema::SchemaEntity;
use crate::value::depth::check_depth;
use crate::version::schema::Schema;
use crate::{Error, Result};
use graven_types::PropertyValue;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A write of many entries charges its memory every so often.
const CHARGE_EVERY: u64 = 1024;
/// Deleted nodes remembered until the end of the statement before they are looked at.
const DELETED_MAX: usize = 1 << 16;

type Properties<'a> = &'a [(KeyId, PropertyValue)];
/// Each key once, without nulls.
pub(super) type Given<'a> = SmallVec<[(KeyId, &'a PropertyValue); 8]>;

/// What an entity gets of `properties`: of several values for a key the last, nothing if that is
/// null.
fn effective(properties: Properties<'_>) -> Given<'_> {
    let last = |at: usize, key: KeyId| properties[at + 1..].iter().all(|(later, _)| *later != key);
    (properties.iter().enumerate())
        .filter(|(at, (key, value))| !value.is_null() && last(*at, *key))
        .map(|(_, (key, value))| (*key, value))
        .collect()
}

pub(super) fn given(properties: &[(KeyId, &PropertyValue)], key: KeyId) -> Option<PropertyValue> {
    let found = properties.iter().find(|(known, _)| *known == key);
    found.map(|(_, value)| (*value).clone())
}

/// A label set to be shared.
pub(super) fn shared_set(labels: &[LabelId]) -> Arc<[LabelId]> {
    match labels.is_sorted_by(|one, next| one < next) {
        true => labels.into(),
        false => label_set(labels).into(),
    }
}

/// The indexes on relationships of a type.
pub(super) fn of_type(
    schema: &Schema,
    rel_type: TypeId,
) -> impl Iterator<Item = &IndexDescription> {
    let entity = SchemaEntity::Relationship(rel_type);
    let indexes = schema.indexes.iter();
    indexes.filter(move |index| index.entity == entity)
}

/// The indexes on one of `labels`.
pub(super) fn of_label<'a>(
    schema: &'a Schema,
    labels: &'a [LabelId],
) -> impl Iterator<Item = &'a IndexDescription> {
    let concerns = |index: &&IndexDescription| index.label().is_some_and(|it| labels.contains(&it));
    schema.indexes.iter().filter(concerns)
}

impl Transaction {
    fn labels(&self, node: NodeId) -> Result<Arc<[LabelId]>> {
        // Both ends of most new relationships are of the same transaction.
        let write_set = self
            .write_set
            .layer()
            .nodes
            .get(node.0)
            .and_then(NodeChange::labels)
            .cloned();
        match write_set {
            Some(labels) => Ok(labels),
            None => Ok(self.view.labels_of(node)?.into()),
        }
    }

    /// Creates a node. Null properties are left out.
    ///
    /// # Errors
    /// [`Error::Duplicate`]; [`Error::Nesting`]; [`Error::TransactionTooLarge`]; what reading
    /// gives.
    pub fn create_node(&self, labels: &[LabelId], properties: Properties<'_>) -> Result<NodeId> {
        self.write(|state| {
            let labels = shared_set(labels);
            self.create_one(
                state,
                &self.write_set.schema(),
                &labels,
                effective(properties),
            )
        })
    }

    pub(super) fn create_one(
        &self,
        state: &mut State,
        schema: &Schema,
        labels: &Arc<[LabelId]>,
        properties: Given<'_>,
    ) -> Result<NodeId> {
        properties
            .iter()
            .try_for_each(|(_, value)| check_depth(value))?;
        let mut edits = Edits::default();
        let node = self.write_set.allocator().nodes(1);
        for index in of_label(schema, labels) {
            let key = Self::key_of_values(index, |key| given(&properties, key));
            self.edit(&mut edits, index, node.0, None, key)?;
        }
        self.write_set.change(|layer| {
            layer.put_node(node, NodeChange::Created(labels.clone()));
            layer.counts.nodes(labels, 1);
            for (key, value) in &properties {
                layer.put_value(ColumnOf::Node(*key), node.0, (*value).clone());
            }
            edits.apply(layer);
        });
        let counters = &mut state.counters;
        counters.nodes_created += 1;
        counters.labels_added += labels.len() as u64;
        counters.properties_set += properties.len() as u64;
        Ok(node)
    }

    /// Creates a relationship between nodes that exist.
    ///
    /// # Errors
    /// [`Error::NoSuchNode`]; as [`Transaction::create_node`].
    pub fn create_relationship(
        &self,
        start: NodeId,
        rel_type: TypeId,
        end: NodeId,
        properties: Properties<'_>,
    ) -> Result<RelId> {
        self.write(|state| {
            let schema = self.write_set.schema();
            let properties = effective(properties);
            self.create_one_relationship(state, &schema, rel_type, (start, end), &properties)
        })
    }

    pub(super) fn create_one_relationship(
        &self,
        state: &mut State,
        schema: &Schema,
        rel_type: TypeId,
        (start, end): (NodeId, NodeId),
        properties: &Given<'_>,
    ) -> Result<RelId> {
        let (start_labels, end_labels) = (self.labels(start)?, self.labels(end)?);
        properties
            .iter()
            .try_for_each(|(_, value)| check_depth(value))?;
        let id = self.write_set.allocator().relationships(1);
        let mut edits = Edits::default();
        for index in of_type(schema, rel_type) {
            let key = Self::key_of_values(index, |key| given(properties, key));
            self.edit(&mut edits, index, id.0, None, key)?;
        }
        self.write_set.change(|layer| {
            let change = Change::Added;
            let created = RelationshipChange {
                rel_type,
                start,
                end,
                change,
            };
            layer.put_relationship(id, created);
            layer
                .counts
                .relationships(&start_labels, rel_type, &end_labels, 1);
            for (key, value) in properties {
                let of = ColumnOf::Relationship(rel_type, *key);
                layer.put_value(of, id.0, (*value).clone());
            }
            edits.apply(layer);
        });
        state.counters.relationships_created += 1;
        state.counters.properties_set += properties.len() as u64;
        Ok(id)
    }

    /// Sets a property of a node; null removes it.
    ///
    /// # Errors
    /// [`Error::NoSuchNode`]; as [`Transaction::create_node`].
    pub fn set_node_property(&self, node: NodeId, key: KeyId, value: &PropertyValue) -> Result<()> {
        self.write(|state| {
            let labels = self.view.labels_of(node)?;
            let of = ColumnOf::Node(key);
            let entity = |entity: SchemaEntity| {
                matches!(entity, SchemaEntity::Node(label) if labels.contains(&label))
            };
            self.set_property(state, of, node.0, value, entity)
        })
    }

    /// Sets a property of a relationship; null removes it.
    ///
    /// # Errors
    /// [`Error::NoSuchRelationship`]; as [`Transaction::create_node`].
    pub fn set_relationship_property(
        &self,
        relationship: RelId,
        key: KeyId,
        value: &PropertyValue,
    ) -> Result<()> {
        self.write(|state| {
            let (rel_type, _, _) = self.view.relationship_endpoints(relationship)?;
            let of = ColumnOf::Relationship(rel_type, key);
            let entity = |entity| entity == SchemaEntity::Relationship(rel_type);
            self.set_property(state, of, relationship.0, value, entity)
        })
    }

    fn set_property(
        &self,
        state: &mut State,
        of: ColumnOf,
        id: u64,
        value: &PropertyValue,
        concerns: impl Fn(SchemaEntity) -> bool,
    ) -> Result<()> {
        let (ColumnOf::Node(key) | ColumnOf::Relationship(_, key)) = of;
        check_depth(value)?;
        if value.is_null() {
            let column = self.view.column(of);
            if !column.map_or(Ok(false), |column| column.has(id))? {
                // Nothing is written because nothing was there, which has been read.
                self.write_set.read_column(of, &[id]);
                return Ok(());
            }
        }
        let mut edits = Edits::default();
        for index in &self.write_set.schema().indexes {
            if concerns(index.entity) && index.keys.contains(&key) {
                let before = self.key_now(index, id, None)?;
                let after = self.key_now(index, id, Some((key, value)))?;
                self.edit(&mut edits, index, id, before, after)?;
            }
        }
        self.write_set.change(|layer| {
            layer.put_value(of, id, value.clone());
            edits.apply(layer);
        });
        state.counters.properties_set += 1;
        Ok(())
    }

    /// Says how many properties were set in all, where setting one by one counts otherwise.
    pub fn count_properties(&self, set: u64) {
        self.state.lock().counters.properties_set = set;
    }

    /// Adds a label; whether the node did not have it.
    ///
    /// # Errors
    /// As [`Transaction::set_node_property`].
    pub fn add_label(&self, node: NodeId, label: LabelId) -> Result<bool> {
        self.change_label(node, label, Change::Added)
    }

    /// Removes a label; whether the node had it.
    ///
    /// # Errors
    /// As [`Transaction::set_node_property`].
    pub fn remove_label(&self, node: NodeId, label: LabelId) -> Result<bool> {
        self.change_label(node, label, Change::Removed)
    }

    fn change_label(&self, node: NodeId, label: LabelId, change: Change) -> Result<bool> {
        self.write(|state| {
            let before = self.labels(node)?;
            if before.contains(&label) == (change == Change::Added) {
                return Ok(false);
            }
            let mut after = before.to_vec();
            match change {
                Change::Added => after.push(label),
                Change::Removed => after.retain(|known| *known != label),
            }
            let after: Arc<[LabelId]> = label_set(&after).into();
            let mut edits = Edits::default();
            for index in &self.write_set.schema().indexes {
                if index.entity == SchemaEntity::Node(label) {
                    let key = self.key_now(index, node.0, None)?;
                    match change {
                        Change::Added => self.edit(&mut edits, index, node.0, None, key)?,
                        Change::Removed => self.edit(&mut edits, index, node.0, key, None)?,
                    }
                }
            }
            self.write_set.change(|layer| {
                layer.counts.nodes(&before, -1);
                layer.counts.nodes(&after, 1);
                layer.put_node(node, NodeChange::Labels(after));
                edits.apply(layer);
            });
            match change {
                Change::Added => state.counters.labels_added += 1,
                Change::Removed => state.counters.labels_removed += 1,
            }
            Ok(true)
        })
    }

    /// Deletes a relationship; `false` if it was gone already.
    ///
    /// # Errors
    /// What reading gives.
    pub fn delete_relationship(&self, relationship: RelId) -> Result<bool> {
        self.write(|state| Ok(self.delete_one_relationship(state, relationship)?.is_some()))
    }

    /// Its type and ends, where it was there.
    fn delete_one_relationship(
        &self,
        state: &mut State,
        relationship: RelId,
    ) -> Result<Option<(TypeId, NodeId, NodeId)>> {
        let (rel_type, start, end) = match self.view.relationship_endpoints(relationship) {
            Ok(ends) => ends,
            Err(Error::NoSuchRelationship { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let keys = self.view.relationship_keys(relationship)?;
        // An end may be gone already in this statement; its labels do not matter then.
        let labels = |node| self.labels(node).unwrap_or_else(|_| Arc::from([]));
        let (start_labels, end_labels) = (labels(start), labels(end));
        let mut edits = Edits::default();
        for index in &self.write_set.schema().indexes {
            if index.entity == SchemaEntity::Relationship(rel_type) {
                let key = self.key_now(index, relationship.0, None)?;
                self.edit(&mut edits, index, relationship.0, key, None)?;
            }
        }
        self.write_set.change(|layer| {
            for key in keys {
                let of = ColumnOf::Relationship(rel_type, key);
                layer.put_value(of, relationship.0, PropertyValue::Null);
            }
            let change = Change::Removed;
            let removed = RelationshipChange {
                rel_type,
                start,
                end,
                change,
            };
            layer.put_relationship(relationship, removed);
            layer
                .counts
                .relationships(&start_labels, rel_type, &end_labels, -1);
            edits.apply(layer);
        });
        state.counters.relationships_deleted += 1;
        Ok(Some((rel_type, start, end)))
    }

    /// Deletes a node; `false` if it was gone already. Its relationships must be gone by the end of
    /// the statement.
    ///
    /// # Errors
    /// What reading gives.
    pub fn delete_node(&self, node: NodeId) -> Result<bool> {
        self.write(|state| {
            let deleted = self.delete_one_node(state, node)?;
            if deleted {
                state.deleted.insert(node.0);
                // Those that stay are not looked at again for each that comes.
                if state.deleted.len() > DELETED_MAX.max(2 * state.connected) {
                    self.forget_alone(state)?;
                }
            }
            Ok(deleted)
        })
    }

    /// Leaves out the deleted nodes that have no relationships: they get none any more.
    fn forget_alone(&self, state: &mut State) -> Result<()> {
        let mut kept = BTreeSet::new();
        for node in std::mem::take(&mut state.deleted) {
            let mut count = 0;
            self.for_each_adjacency(|adjacency| {
                count += adjacency.degree(NodeId(node))?;
                Ok(())
            })?;
            if count > 0 {
                kept.insert(node);
            }
        }
        state.connected = kept.len();
        state.deleted = kept;
        Ok(())
    }

    fn delete_one_node(&self, state: &mut State, node: NodeId) -> Result<bool> {
        let labels = match self.labels(node) {
            Ok(labels) => labels,
            Err(Error::NoSuchNode { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        let keys = self.view.node_keys(node)?;
        let mut edits = Edits::default();
        for index in &self.write_set.schema().indexes {
            if index.label().is_some_and(|label| labels.contains(&label)) {
                let key = self.key_now(index, node.0, None)?;
                self.edit(&mut edits, index, node.0, key, None)?;
            }
        }
        self.write_set.change(|layer| {
            for key in keys {
                layer.put_value(ColumnOf::Node(key), node.0, PropertyValue::Null);
            }
            layer.put_node(node, NodeChange::Deleted);
            layer.counts.nodes(&labels, -1);
            edits.apply(layer);
        });
        state.counters.nodes_deleted += 1;
        Ok(true)
    }

    /// Deletes a node with its relationships; how many those were (0 also if the node was gone
    /// already).
    ///
    /// # Errors
    /// What reading gives.
    pub fn detach_delete_node(&self, node: NodeId) -> Result<u64> {
        self.detach_delete_node_until(node, &|| false, &mut |_, _| ())
    }

    /// As [`Transaction::detach_delete_node`]; `stop` is asked from time to time. Once stopped, the
    /// transaction must be rolled back. `gone` is told each relationship, with its type and ends.
    ///
    /// # Errors
    /// What reading gives; [`Error::Stopped`].
    pub fn detach_delete_node_until(
        &self,
        node: NodeId,
        stop: &dyn Fn() -> bool,
        gone: &mut dyn FnMut(RelId, (TypeId, NodeId, NodeId)),
    ) -> Result<u64> {
        self.write(|state| {
            let mut relationships = Vec::new();
            self.for_each_adjacency(|adjacency| adjacency.neighbours(node, &mut relationships))?;
            let mut count = 0;
            for Neighbour { relationship, .. } in relationships {
                // Loops are in the lists of both directions.
                let Some(ends) = self.delete_one_relationship(state, relationship)? else {
                    continue;
                };
                gone(relationship, ends);
                count += 1;
                if count % CHARGE_EVERY == 0 {
                    self.charge(state)?;
                    if stop() {
                        return Err(Error::Stopped);
                    }
                }
            }
            self.delete_one_node(state, node)?;
            state.deleted.remove(&node.0);
            Ok(count)
        })
    }

    fn for_each_adjacency(
        &self,
        mut visit: impl FnMut(&crate::Adjacency) -> Result<()>,
    ) -> Result<()> {
        let types = self.write_set.allocator().names().types.list().len() as u32;
        for rel_type in (0..types).map(TypeId) {
            for direction in [Direction::Out, Direction::In] {
                visit(&self.view.adjacency(rel_type, direction)?)?;
            }
        }
        Ok(())
    }

    /// To be called at the end of every statement.
    ///
    /// # Errors
    /// [`Error::NodeHasRelationships`] for a deleted node with relationships.
    pub fn check_statement(&self) -> Result<()> {
        self.check_deleted(&mut self.state.lock())
    }

    pub(super) fn check_deleted(&self, state: &mut State) -> Result<()> {
        while let Some(node) = state.deleted.first().copied() {
            let mut count = 0;
            self.for_each_adjacency(|adjacency| {
                count += adjacency.degree(NodeId(node))?;
                Ok(())
            })?;
            if count > 0 {
                return Err(Error::NodeHasRelationships { node, count });
            }
            state.deleted.pop_first();
        }
        Ok(())
    }
}
