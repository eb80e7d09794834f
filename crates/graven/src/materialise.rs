//! From the executor's values, where nodes are ids, to complete values, and back for parameters.
//!
//! # How it works
//! Labels and properties are read through the statement's snapshot when a row leaves the library. A
//! node that occurs several times in one batch is read once and shared. Between batches nothing is
//! kept, so memory does not grow with the result: nodes and relationships of large values are not
//! kept for other rows, and what is made for a row is charged until the next row: lists, maps,
//! nodes, relationships and paths. The executor has 8 bytes for a node that may have a thousand
//! properties here, and once a list that is here a thousand times.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use graven_exec::{Column, DeletedRelationships, Standing, Value as Inner};
use graven_pagecache::{Budget, Reservation};
use graven_storage::{NodeId, PropertyValue, RelId, Snapshot};

use crate::error::Error;
use crate::value::{Node, Path, Relationship, Value};

/// Whether the value is complete as the executor has it.
fn has_no_parts(value: &Inner) -> bool {
    matches!(
        value,
        Inner::Null
            | Inner::Boolean(_)
            | Inner::Integer(_)
            | Inner::Float(_)
            | Inner::String(_)
            | Inner::Bytes(_)
            | Inner::Stored(_)
    )
}

/// The value, if it is complete as the executor has it; else itself.
pub(crate) fn without_parts(value: Inner) -> Result<Value, Inner> {
    Ok(match value {
        Inner::Null => Value::Null,
        Inner::Boolean(b) => Value::Boolean(b),
        Inner::Integer(i) => Value::Integer(i),
        Inner::Float(x) => Value::Float(x),
        Inner::String(s) => Value::String(s),
        Inner::Bytes(b) => Value::Bytes(b),
        Inner::Stored(stored) => property(stored.as_ref().clone()),
        other => return Err(other),
    })
}

/// Makes values of one batch complete.
pub(crate) struct Materialiser {
    snapshot: Snapshot,
    nodes: HashMap<u64, Arc<Node>>,
    relationships: HashMap<u64, Arc<Relationship>>,
    /// What the statement has deleted; `None` where it deletes nothing and a missing entity is an
    /// error.
    deleted: Option<DeletedRelationships>,
    /// What the values of the row are charged.
    memory: Option<Reservation>,
    /// Bytes of the row that are still to be charged.
    uncharged: usize,
    /// Bytes of the nodes and relationships that are kept.
    kept: usize,
}

/// Bytes of nodes and relationships that are kept for other rows of the batch.
const KEPT_MAX: usize = 1 << 20;

/// Bytes that are charged together.
const TOGETHER: usize = 64 << 10;

/// About what the tree of a map takes for an entry: its nodes are half full.
const ENTRY_BYTES: usize = 2 * size_of::<(Arc<str>, Value)>();

/// What the tree of a map takes at least: a node of eleven entries.
const TREE_BYTES: usize = 12 * size_of::<(Arc<str>, Value)>();

/// What an entity takes beside its properties and labels: itself, and its place among those that
/// are kept.
const ENTITY_BYTES: usize = size_of::<Relationship>() + 64;

/// Bytes of a map of so many entries beside what the entries hold.
fn map_bytes(entries: usize) -> usize {
    match entries {
        0 => 0,
        entries => TREE_BYTES.max(entries * ENTRY_BYTES),
    }
}

impl Materialiser {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Materialiser {
            snapshot,
            nodes: HashMap::new(),
            relationships: HashMap::new(),
            deleted: None,
            memory: None,
            uncharged: 0,
            kept: 0,
        }
    }

    /// Charges the values of each row to this budget.
    pub(crate) fn charge_to(&mut self, budget: &Arc<Budget>) {
        self.memory = Some(budget.empty_reservation("result"));
    }

    /// The values of the last row belong to the caller from now on.
    pub(crate) fn next_row(&mut self) {
        self.uncharged = 0;
        if let Some(memory) = &mut self.memory {
            memory.shrink(memory.bytes());
        }
    }

    /// Charges for so many bytes, before they are there.
    fn charge(&mut self, bytes: usize) -> Result<(), Error> {
        let Some(memory) = &mut self.memory else {
            return Ok(());
        };
        self.uncharged = self.uncharged.saturating_add(bytes);
        if self.uncharged >= TOGETHER {
            memory.grow(self.uncharged as u64)?;
            self.uncharged = 0;
        }
        Ok(())
    }

    /// Makes room for so many bytes of values among what is kept.
    fn keep(&mut self, bytes: usize) {
        self.kept += bytes;
        if self.kept > KEPT_MAX {
            self.nodes.clear();
            self.relationships.clear();
            self.kept = bytes;
        }
    }

    /// One for the end of a writing statement: a deleted node has no labels and properties any
    /// more, a deleted relationship still its type and ends.
    pub(crate) fn at_the_end(snapshot: Snapshot, deleted: DeletedRelationships) -> Self {
        Materialiser {
            deleted: Some(deleted),
            ..Materialiser::new(snapshot)
        }
    }

    /// Forgets the nodes and relationships of the last batch.
    pub(crate) fn next_batch(&mut self) {
        self.nodes.clear();
        self.relationships.clear();
        self.kept = 0;
        self.next_row();
    }

    /// Whether nothing has to be read to make the values of the column complete.
    pub(crate) fn is_complete(column: &Column) -> bool {
        match column {
            Column::Integers(_) | Column::Floats(_) | Column::Booleans(_) => true,
            Column::Values(values) => values.iter().all(has_no_parts),
            Column::Constant(value, _) => has_no_parts(value),
            _ => false,
        }
    }

    /// The complete value.
    ///
    /// # Errors
    /// A page that labels or properties are on cannot be read.
    pub(crate) fn value(&mut self, value: Inner) -> Result<Value, Error> {
        let value = match without_parts(value) {
            Ok(complete) => return Ok(complete),
            Err(value) => value,
        };
        Ok(match value {
            Inner::List(items) => {
                self.charge(16 + size_of_val(&*items).max(items.len() * size_of::<Value>()))?;
                let items = items.iter().map(|item| self.value(item.clone()));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            Inner::Map(map) if map.standing().is_some() => self.standing(&map)?,
            Inner::Map(map) => {
                self.charge(map_bytes(map.entries().len()))?;
                let entries = map.entries().iter();
                let entries = entries.map(|(k, v)| Ok((Arc::clone(k), self.value(v.clone())?)));
                Value::Map(entries.collect::<Result<_, Error>>()?)
            }
            Inner::Node(id) => Value::Node(self.node(id)?),
            Inner::Relationship(id) => Value::Relationship(self.relationship(id)?),
            Inner::Path(path) => {
                let parts = path.nodes.len() + path.relationships.len();
                self.charge(size_of::<Path>() + 16 + parts * size_of::<Arc<Node>>())?;
                let nodes = path.nodes.iter().map(|id| self.node(*id));
                let nodes = nodes.collect::<Result<_, _>>()?;
                let relationships = path.relationships.iter();
                let relationships = relationships.map(|id| self.relationship(*id));
                Value::Path(Arc::new(Path {
                    nodes,
                    relationships: relationships.collect::<Result<_, _>>()?,
                }))
            }
            other => Value::from(other.to_string()),
        })
    }

    /// The properties of an entity of `own` bytes, and the bytes of both, charged.
    fn properties(
        &mut self,
        own: usize,
        columns: Vec<(Arc<str>, graven_storage::Column)>,
        id: u64,
    ) -> Result<(BTreeMap<Arc<str>, Value>, usize), Error> {
        let mut bytes = own + map_bytes(columns.len());
        self.charge(bytes)?;
        let mut properties = BTreeMap::new();
        for (name, column) in columns {
            // A long value is charged before it is read.
            let (mut refused, mut asked) = (None, 0);
            let memory = &mut self.memory;
            let value = column.get_with_room(id, &mut |room| {
                asked += usize::try_from(room).unwrap_or(usize::MAX);
                refused = memory.as_mut().and_then(|it| it.grow(room).err());
                refused.is_none()
            })?;
            if let Some(refused) = refused {
                return Err(refused.into());
            }
            let value = property(value.unwrap_or(PropertyValue::Null));
            if !matches!(value, Value::Null) {
                let held = value.bytes() - size_of::<Value>();
                self.charge(held.saturating_sub(asked))?;
                bytes += held;
                properties.insert(name, value);
            }
        }
        Ok((properties, bytes))
    }

    fn node(&mut self, id: NodeId) -> Result<Arc<Node>, Error> {
        if let Some(node) = self.nodes.get(&id.0) {
            return Ok(Arc::clone(node));
        }
        if self.deleted.is_some() && !self.snapshot.node_exists(id) {
            return Ok(Arc::new(Node {
                id: id.0,
                labels: Vec::new(),
                properties: BTreeMap::new(),
            }));
        }
        let catalog = self.snapshot.catalog();
        let labels = self.snapshot.labels_of(id)?;
        let keys = self.snapshot.node_keys(id)?;
        let columns = keys.into_iter().filter_map(|key| {
            let column = self.snapshot.node_column(key)?;
            Some((Arc::clone(catalog.key_name(key)?), column))
        });
        let columns: Vec<_> = columns.collect();
        let labels: Vec<Arc<str>> = labels
            .into_iter()
            .filter_map(|l| catalog.label_name(l).cloned())
            .collect();
        let own = ENTITY_BYTES + labels.len() * size_of::<Arc<str>>();
        let (properties, bytes) = self.properties(own, columns, id.0)?;
        let node = Arc::new(Node {
            id: id.0,
            labels,
            properties,
        });
        self.keep(bytes);
        self.nodes.insert(id.0, Arc::clone(&node));
        Ok(node)
    }

    /// The node, relationship or path that a map stands for.
    fn standing(&mut self, map: &graven_exec::Map) -> Result<Value, Error> {
        self.charge(TREE_BYTES.max(map.entries().len() * ENTRY_BYTES))?;
        let entries = map.entries().iter();
        let properties = entries.map(|(k, v)| Ok((Arc::clone(k), self.value(v.clone())?)));
        let properties = properties.collect::<Result<_, Error>>()?;
        Ok(match map.standing() {
            Some(Standing::Relationship {
                id,
                rel_type,
                start,
                end,
            }) => Value::Relationship(Arc::new(Relationship {
                id: *id,
                rel_type: Arc::clone(rel_type),
                start: start.node_id().unwrap_or_default(),
                end: end.node_id().unwrap_or_default(),
                properties,
            })),
            Some(Standing::Path {
                nodes,
                relationships,
                ..
            }) => {
                let mut path = Path {
                    nodes: Vec::with_capacity(nodes.len()),
                    relationships: Vec::with_capacity(relationships.len()),
                };
                for part in nodes.iter().chain(relationships) {
                    match self.value(part.clone())? {
                        Value::Node(node) => path.nodes.push(node),
                        Value::Relationship(relationship) => path.relationships.push(relationship),
                        // It is made of such parts alone.
                        _ => {}
                    }
                }
                Value::Path(Arc::new(path))
            }
            Some(Standing::Node { id, labels }) => Value::Node(Arc::new(Node {
                id: *id,
                labels: labels.clone(),
                properties,
            })),
            None => Value::Map(properties),
        })
    }

    fn relationship(&mut self, id: RelId) -> Result<Arc<Relationship>, Error> {
        if let Some(relationship) = self.relationships.get(&id.0) {
            return Ok(Arc::clone(relationship));
        }
        let catalog = self.snapshot.catalog();
        let gone = self.deleted.as_ref().and_then(|d| d.get(&id.0));
        let known = match gone {
            Some(known) => Ok(*known),
            None => self.snapshot.relationship_endpoints(id),
        };
        let (rel_type, start, end) = match known {
            Ok(known) => known,
            Err(graven_storage::Error::NoSuchRelationship { .. }) if self.deleted.is_some() => {
                // It went with one of its nodes: only that it was there is known.
                return Ok(Arc::new(Relationship {
                    id: id.0,
                    rel_type: Arc::from(""),
                    start: 0,
                    end: 0,
                    properties: BTreeMap::new(),
                }));
            }
            Err(error) => return Err(error.into()),
        };
        let keys = match gone {
            Some(_) => Vec::new(),
            None => self.snapshot.relationship_keys(id)?,
        };
        let columns = keys.into_iter().filter_map(|key| {
            let column = self.snapshot.relationship_column(rel_type, key)?;
            Some((Arc::clone(catalog.key_name(key)?), column))
        });
        let columns: Vec<_> = columns.collect();
        let name = catalog.type_name(rel_type).cloned();
        let (properties, bytes) = self.properties(ENTITY_BYTES, columns, id.0)?;
        let relationship = Arc::new(Relationship {
            id: id.0,
            rel_type: name.unwrap_or_else(|| Arc::from("")),
            start: start.0,
            end: end.0,
            properties,
        });
        self.keep(bytes);
        self.relationships.insert(id.0, Arc::clone(&relationship));
        Ok(relationship)
    }
}

fn property(value: PropertyValue) -> Value {
    match value {
        PropertyValue::Null => Value::Null,
        PropertyValue::Boolean(b) => Value::Boolean(b),
        PropertyValue::Integer(i) => Value::Integer(i),
        PropertyValue::Float(x) => Value::Float(x),
        PropertyValue::String(s) => Value::String(s),
        PropertyValue::Bytes(b) => Value::Bytes(b),
        PropertyValue::List(items) => Value::List(items.iter().cloned().map(property).collect()),
        other => Value::Stored(Arc::new(other)),
    }
}

/// A parameter's value for the executor; nodes, relationships and paths go back to their ids.
pub(crate) fn to_inner(value: &Value) -> Inner {
    match value {
        Value::Null => Inner::Null,
        Value::Boolean(b) => Inner::Boolean(*b),
        Value::Integer(i) => Inner::Integer(*i),
        Value::Float(x) => Inner::Float(*x),
        Value::String(s) => Inner::String(Arc::clone(s)),
        Value::Bytes(b) => Inner::Bytes(Arc::clone(b)),
        Value::List(items) => Inner::list(items.iter().map(to_inner).collect()),
        Value::Map(entries) => Inner::map(
            entries
                .iter()
                .map(|(k, v)| (Arc::clone(k), to_inner(v)))
                .collect(),
        ),
        Value::Node(node) => Inner::Node(NodeId(node.id)),
        Value::Relationship(relationship) => Inner::Relationship(RelId(relationship.id)),
        Value::Path(path) => Inner::Path(Arc::new(graven_exec::Path {
            nodes: path.nodes.iter().map(|n| NodeId(n.id)).collect(),
            relationships: path.relationships.iter().map(|r| RelId(r.id)).collect(),
        })),
        Value::Stored(stored) => Inner::Stored(Arc::clone(stored)),
    }
}
