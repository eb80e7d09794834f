//! Changes of nodes and relationships.

use super::index_entries::Edits;
use super::unchecked_keys::{MANY, is_cut, keys_of_rows};
use super::{State, Transaction};
use crate::adjacency::Neighbour;
use crate::catalog::IndexDescription;
use crate::delta::change::{Change, ColumnOf, NodeChange, RelationshipChange};
use crate::delta::delta_layer::DeltaLayer;
use crate::ids::{Direction, KeyId, LabelId, NodeId, RelId, TypeId};
use crate::labels::label_set;
use crate::schema::SchemaEntity;
use crate::value::depth::check_depth;
use crate::version::schema::Schema;
use crate::{Error, Result};
use foldhash::HashMap;
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
type Given<'a> = SmallVec<[(KeyId, &'a PropertyValue); 8]>;

/// What an entity gets of `properties`: of several values for a key the last, nothing if that is
/// null.
fn effective(properties: Properties<'_>) -> Given<'_> {
    let last = |at: usize, key: KeyId| properties[at + 1..].iter().all(|(later, _)| *later != key);
    (properties.iter().enumerate())
        .filter(|(at, (key, value))| !value.is_null() && last(*at, *key))
        .map(|(_, (key, value))| (*key, value))
        .collect()
}

fn given(properties: &[(KeyId, &PropertyValue)], key: KeyId) -> Option<PropertyValue> {
    let found = properties.iter().find(|(known, _)| *known == key);
    found.map(|(_, value)| (*value).clone())
}

/// The properties of one of the nodes that are given by column.
fn row(columns: &[(KeyId, Vec<PropertyValue>)], at: usize) -> Given<'_> {
    let values = columns.iter().map(|(key, values)| (*key, &values[at]));
    values.filter(|(_, value)| !value.is_null()).collect()
}

/// Panics unless these are columns of so many rows, one for each key.
fn check_columns(count: usize, columns: &[(KeyId, Vec<PropertyValue>)]) {
    for (at, (key, values)) in columns.iter().enumerate() {
        assert_eq!(values.len(), count, "one value for each row");
        let twice = columns[..at].iter().any(|(other, _)| other == key);
        assert!(!twice, "one column for each key");
    }
}

/// Keys that an index gets.
type NewKeys<'a> = (&'a IndexDescription, Vec<Option<Arc<[u8]>>>);

/// The keys that rows have in each of the indexes; `None` where they must be compared as they come,
/// one by one.
fn keys_of_many<'a>(
    indexes: impl Iterator<Item = &'a IndexDescription>,
    columns: &[(KeyId, Vec<PropertyValue>)],
    rows: usize,
) -> Option<Vec<NewKeys<'a>>> {
    let keys = indexes.map(|index| {
        let keys = keys_of_rows(index, columns, rows);
        let one_by_one = index.unique && (rows < MANY || keys.iter().any(is_cut));
        (!one_by_one).then_some((index, keys))
    });
    keys.collect()
}

/// Enters keys of neighbouring ids, `first` and up.
fn append_keys(
    layer: &mut DeltaLayer,
    unchecked: &mut BTreeSet<u32>,
    first: u64,
    keys: Vec<NewKeys<'_>>,
) {
    for (index, keys) in keys {
        layer.append_index_entries(index.number, first, keys);
        if index.unique {
            unchecked.insert(index.number);
        }
    }
}

/// Enters the values of neighbouring ids, `first` and up; how many are not Null.
fn put_column(layer: &mut DeltaLayer, of: ColumnOf, first: u64, values: Vec<PropertyValue>) -> u64 {
    layer.put_values(of, |put| {
        let given = (first..).zip(values).filter(|(_, value)| !value.is_null());
        let mut count = 0;
        for (id, value) in given {
            count += 1;
            put(id, value);
        }
        count
    })
}

/// The label sets of the ends of many relationships, each once.
#[derive(Default)]
struct LabelSets {
    sets: Vec<Arc<[LabelId]>>,
    numbers: HashMap<Arc<[LabelId]>, usize>,
}

impl LabelSets {
    fn number(&mut self, labels: &[LabelId]) -> usize {
        if let Some(number) = self.numbers.get(labels) {
            return *number;
        }
        let set: Arc<[LabelId]> = labels.into();
        self.sets.push(Arc::clone(&set));
        self.numbers.insert(set, self.sets.len() - 1);
        self.sets.len() - 1
    }
}

/// A label set to be shared.
fn shared_set(labels: &[LabelId]) -> Arc<[LabelId]> {
    match labels.is_sorted_by(|one, next| one < next) {
        true => labels.into(),
        false => label_set(labels).into(),
    }
}

/// How many relationships have ends with these two label sets.
type Patterns = HashMap<(usize, usize), i64>;

/// The indexes on relationships of a type.
fn of_type(schema: &Schema, rel_type: TypeId) -> impl Iterator<Item = &IndexDescription> {
    let entity = SchemaEntity::Relationship(rel_type);
    let indexes = schema.indexes.iter();
    indexes.filter(move |index| index.entity == entity)
}

/// The indexes on one of `labels`.
fn of_label<'a>(
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

    fn create_one(
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

    /// Creates `count` nodes whose properties are given by column, Null where a node lacks one: as
    /// creating one after the other, only faster. Their ids. Unique keys of many are compared at the
    /// end of the statement ([`Transaction::check_unique_keys`]).
    ///
    /// # Errors
    /// As [`Transaction::create_node`]; the nodes before the one that fails are created.
    ///
    /// # Panics
    /// A column has other than `count` values, or two have one key.
    pub fn create_nodes(
        &self,
        labels: &[LabelId],
        count: usize,
        columns: Vec<(KeyId, Vec<PropertyValue>)>,
    ) -> Result<Vec<u64>> {
        check_columns(count, &columns);
        self.write(|state| {
            let labels = shared_set(labels);
            let schema = self.write_set.schema();
            let indexes = of_label(&schema, &labels);
            let Some(keys) = keys_of_many(indexes, &columns, count) else {
                let created = (0..count)
                    .map(|at| self.create_one(state, &schema, &labels, row(&columns, at)));
                return created.map(|node| Ok(node?.0)).collect();
            };
            let mut values = columns.iter().flat_map(|(_, values)| values);
            values.try_for_each(check_depth)?;
            let first = self.write_set.allocator().nodes(count as u64).0;
            let counters = &mut state.counters;
            self.write_set.change(|layer| {
                layer.append_nodes(first, count, &labels);
                for (key, values) in columns {
                    counters.properties_set +=
                        put_column(layer, ColumnOf::Node(key), first, values);
                }
                append_keys(layer, &mut state.unchecked, first, keys);
            });
            counters.nodes_created += count as u64;
            counters.labels_added += (count * labels.len()) as u64;
            Ok((first..).take(count).collect())
        })
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

    fn create_one_relationship(
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

    /// Creates relationships of one type between nodes that exist, `ends` of each, whose properties
    /// are given by column, Null where a relationship lacks one: as [`Transaction::create_nodes`].
    /// Their ids.
    ///
    /// # Errors
    /// As [`Transaction::create_relationship`]; some of the relationships are created then.
    ///
    /// # Panics
    /// A column has other than one value for each relationship, or two have one key.
    pub fn create_relationships(
        &self,
        rel_type: TypeId,
        ends: &[(NodeId, NodeId)],
        columns: Vec<(KeyId, Vec<PropertyValue>)>,
    ) -> Result<Vec<u64>> {
        check_columns(ends.len(), &columns);
        self.write(|state| {
            let schema = self.write_set.schema();
            let indexes = of_type(&schema, rel_type);
            let Some(keys) = keys_of_many(indexes, &columns, ends.len()) else {
                let created = ends.iter().enumerate().map(|(at, ends)| {
                    let properties = row(&columns, at);
                    self.create_one_relationship(state, &schema, rel_type, *ends, &properties)
                });
                return created.map(|id| Ok(id?.0)).collect();
            };
            let mut values = columns.iter().flat_map(|(_, values)| values);
            values.try_for_each(check_depth)?;
            let (LabelSets { sets, .. }, patterns) = self.patterns(ends)?;
            let count = ends.len() as u64;
            let first = self.write_set.allocator().relationships(count);
            let counters = &mut state.counters;
            self.write_set.change(|layer| {
                layer.append_relationships(first, rel_type, ends);
                for ((start, end), by) in patterns {
                    let counts = &mut layer.counts;
                    counts.relationships(&sets[start], rel_type, &sets[end], by);
                }
                for (key, values) in columns {
                    let of = ColumnOf::Relationship(rel_type, key);
                    counters.properties_set += put_column(layer, of, first.0, values);
                }
                append_keys(layer, &mut state.unchecked, first.0, keys);
            });
            counters.relationships_created += count;
            Ok((first.0..).take(ends.len()).collect())
        })
    }

    /// The label sets of nodes, and how many of these pairs have which two of them.
    fn patterns(&self, ends: &[(NodeId, NodeId)]) -> Result<(LabelSets, Patterns)> {
        let (mut sets, mut patterns) = (LabelSets::default(), Patterns::default());
        let mut number = |node| {
            let known = |labels: Option<&[LabelId]>| labels.map(|labels| sets.number(labels));
            match self.view.with_labels(node, known) {
                Some(number) => Ok(number),
                // The error says why it is not there.
                None => self.view.labels_of(node).map(|labels| sets.number(&labels)),
            }
        };
        // Relationships mostly come by their starts.
        let mut known = None;
        for (start, end) in ends {
            let start = match known {
                Some((node, number)) if node == *start => number,
                _ => known.insert((*start, number(*start)?)).1,
            };
            *patterns.entry((start, number(*end)?)).or_default() += 1;
        }
        Ok((sets, patterns))
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

    /// Counts a property as set that was not there and is not to be.
    pub fn count_property(&self) {
        self.state.lock().counters.properties_set += 1;
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
        self.write(|state| self.delete_one_relationship(state, relationship))
    }

    fn delete_one_relationship(&self, state: &mut State, relationship: RelId) -> Result<bool> {
        let (rel_type, start, end) = match self.view.relationship_endpoints(relationship) {
            Ok(ends) => ends,
            Err(Error::NoSuchRelationship { .. }) => return Ok(false),
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
        Ok(true)
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
        self.detach_delete_node_until(node, &|| false)
    }

    /// As [`Transaction::detach_delete_node`]; `stop` is asked from time to time. Once stopped, the
    /// transaction must be rolled back.
    ///
    /// # Errors
    /// What reading gives; [`Error::Stopped`].
    pub fn detach_delete_node_until(&self, node: NodeId, stop: &dyn Fn() -> bool) -> Result<u64> {
        self.write(|state| {
            let mut relationships = Vec::new();
            self.for_each_adjacency(|adjacency| adjacency.neighbours(node, &mut relationships))?;
            let mut count = 0;
            for Neighbour { relationship, .. } in relationships {
                // Loops are in the lists of both directions.
                count += u64::from(self.delete_one_relationship(state, relationship)?);
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
