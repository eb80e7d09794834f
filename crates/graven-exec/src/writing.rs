//! What writing operators share: values as properties, keys met while running, what was deleted.
//!
//! # How it works
//! A writing statement runs on a transaction. Names that stand in its text are interned before it
//! starts ([`intern`]); keys of computed maps, and computed labels and types, are interned when
//! they are met. The snapshot of the transaction is live, so a read that comes after a write of the
//! same statement sees it; the plan has barriers where that would be wrong.
//!
//! # Invariants
//! * EX-20 Nothing is written but through [`Writer`], and what it is given was checked by
//!   [`storable`].
//! * EX-21 After a deletion every read of an entity asks whether it is still there; before, none
//!   does.

use graven_storage::Snapshot;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven_cypher::Plan;
use graven_cypher::plan::{Expr, Operator, VarId, VarKind, WrittenNames};
use graven_pagecache::Budget;
use graven_storage::{
    KeyId, LabelId, NodeId, PropertyValue, RelId, Transaction, TypeId, WriteCounters,
};
use graven_types::told;

use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::value::Value;
use crate::value::convert::to_stored;

/// A table and one of its keys, by name.
type TableKey = (Arc<str>, Arc<str>);

/// The writing side of a running statement.
pub(crate) struct Writer {
    transaction: Arc<Transaction>,
    /// Names interned while running, which the snapshot's catalogue may not know.
    late: Mutex<DynamicNames>,
    /// Whether a relationship type has come to be that operators made before do not follow.
    outrun: AtomicBool,
    /// The next number of the key of a table, by the names of both.
    serials: Mutex<HashMap<TableKey, i64>>,
    needs: Needs,
    /// Relationships deleted by this statement, where it may still ask for their types or return
    /// them.
    deleted: Option<Mutex<(DeletedRelationships, Memory)>>,
    any_deleted: AtomicBool,
}

/// What a statement needs of its writer: its plan says so, whatever the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// There are operators that follow relationships of any type.
    follows_any: bool,
    /// It may ask for types or ends of relationships that it has deleted.
    deleted: bool,
    /// Also of those that went with a node.
    detached: bool,
}

impl Needs {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            follows_any: plan.root.any(&|op| {
                let mut any = false;
                op.for_each_rel_pattern(&mut |pattern, _| any |= pattern.types.is_empty());
                any
            }),
            deleted: asks_for_deleted(plan, |kind| kind != VarKind::Node),
            detached: asks_for_deleted(plan, |kind| {
                use VarKind::{Path, Relationship, RelationshipList};
                matches!(kind, Relationship | RelationshipList | Path)
            }),
        }
    }
}

/// What a transaction has done, and how many names it knows, before a procedure is called.
pub(crate) struct BeforeCall {
    counters: WriteCounters,
    names: usize,
}

/// Names interned while a statement runs.
#[derive(Default)]
struct DynamicNames {
    keys: HashMap<Arc<str>, KeyId>,
    labels: HashMap<Arc<str>, LabelId>,
    types: HashMap<Arc<str>, TypeId>,
}

/// Type, start and end of deleted relationships by id.
pub type DeletedRelationships = HashMap<u64, (TypeId, NodeId, NodeId)>;

/// Whether a statement may still read the type or the ends of a relationship it has deleted: it
/// calls `type()` or returns what `holds` them.
fn asks_for_deleted(plan: &Plan, holds: impl Fn(VarKind) -> bool) -> bool {
    fn calls_type(expr: &Expr) -> bool {
        let mut found = matches!(expr, Expr::Call { name, .. } if &**name == "type");
        expr.for_each_child(&mut |child| found |= calls_type(child));
        found
    }
    let (mut deletes, mut types) = (false, false);
    plan.root.visit(&mut |node| {
        deletes |= matches!(node.op, Operator::Delete { .. });
        node.op.for_each_expr(&mut |e| types |= calls_type(e));
    });
    let returned = |var: &VarId| {
        let variable = plan.variables.get(var.0 as usize);
        variable.is_none_or(|variable| holds(variable.kind))
    };
    deletes && (types || plan.columns.iter().any(|(_, var)| returned(var)))
}

/// Makes sure that these names exist.
pub(crate) fn intern(names: &WrittenNames, transaction: &Transaction) -> Result<()> {
    for label in names.labels.iter() {
        transaction.label(label)?;
    }
    for rel_type in names.types.iter() {
        transaction.rel_type(rel_type)?;
    }
    for key in names.keys.iter() {
        transaction.key(key)?;
    }
    Ok(())
}

impl Writer {
    pub(crate) fn new(transaction: Arc<Transaction>, needs: Needs, budget: &Arc<Budget>) -> Self {
        let remedy = "do not return what is deleted";
        Self {
            transaction,
            late: Mutex::default(),
            outrun: AtomicBool::new(false),
            serials: Mutex::default(),
            needs,
            deleted: needs.deleted.then(|| {
                let memory = Memory::new(budget, "Delete", remedy);
                Mutex::new((DeletedRelationships::new(), memory))
            }),
            any_deleted: AtomicBool::new(false),
        }
    }

    /// What is known before a procedure writes in the same transaction.
    pub(crate) fn before_call(&self, known: &Snapshot) -> BeforeCall {
        // From now on it is what the statement knew before.
        let _ = known.catalog();
        BeforeCall {
            counters: self.transaction.counters(),
            names: self.transaction.unrecorded_snapshot().names_known(),
        }
    }

    /// Takes note of what a procedure has deleted, and of names that it has brought about and that
    /// the statement's snapshot does not know.
    pub(crate) fn after_call(&self, before: &BeforeCall, known: &Snapshot) {
        // It may have taken numbers that are counted here.
        let mut serials = self.serials.lock().unwrap_or_else(PoisonError::into_inner);
        serials.clear();
        drop(serials);
        let now = self.transaction.counters();
        if now.nodes_deleted > before.counters.nodes_deleted
            || now.relationships_deleted > before.counters.relationships_deleted
        {
            self.any_deleted.store(true, Ordering::Relaxed);
        }
        let snapshot = self.transaction.unrecorded_snapshot();
        if snapshot.names_known() == before.names {
            return;
        }
        let (catalog, known) = (snapshot.catalog(), known.catalog());
        let mut late = self.late();
        for name in catalog.labels() {
            if let (None, Some(id)) = (known.label(name), catalog.label(name)) {
                late.labels.insert(Arc::clone(name), id);
            }
        }
        for name in catalog.keys() {
            if let (None, Some(id)) = (known.key(name), catalog.key(name)) {
                late.keys.insert(Arc::clone(name), id);
            }
        }
        for name in catalog.types() {
            if let (None, Some(id)) = (known.rel_type(name), catalog.rel_type(name)) {
                let is_new = late.types.insert(Arc::clone(name), id).is_none();
                if is_new && self.needs.follows_any {
                    self.outrun.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    pub(crate) fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    fn late(&self) -> MutexGuard<'_, DynamicNames> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of a key met while running.
    pub(crate) fn key(&self, name: &Arc<str>) -> Result<KeyId> {
        let mut late = self.late();
        if let Some(key) = late.keys.get(name) {
            return Ok(*key);
        }
        let key = self.transaction.key(name)?;
        late.keys.insert(name.clone(), key);
        Ok(key)
    }

    /// The id of a label met while running.
    pub(crate) fn label(&self, name: &Arc<str>) -> Result<LabelId> {
        let mut late = self.late();
        if let Some(label) = late.labels.get(name) {
            return Ok(*label);
        }
        let label = self.transaction.label(name)?;
        late.labels.insert(name.clone(), label);
        Ok(label)
    }

    /// The id of a relationship type met while running.
    pub(crate) fn rel_type(&self, name: &Arc<str>, snapshot: &Snapshot) -> Result<TypeId> {
        let mut late = self.late();
        if let Some(rel_type) = late.types.get(name) {
            return Ok(*rel_type);
        }
        if self.needs.follows_any && snapshot.rel_type(name).is_none() {
            self.outrun.store(true, Ordering::Relaxed);
        }
        let rel_type = self.transaction.rel_type(name)?;
        late.types.insert(name.clone(), rel_type);
        Ok(rel_type)
    }

    /// The next number of the key of a table; `first` finds where the statement begins.
    pub(crate) fn next_serial(
        &self,
        table: &Arc<str>,
        key: &Arc<str>,
        first: impl FnOnce(&Transaction) -> Result<i64>,
    ) -> Result<Value> {
        let mut serials = self.serials.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (table.clone(), key.clone());
        let number = match serials.get(&name) {
            Some(number) => *number,
            None => first(&self.transaction)?,
        };
        serials.insert(name, number.saturating_add(1));
        Ok(Value::Integer(number))
    }

    /// Whether what the statement has found may lack relationships of a type that it has brought
    /// about itself.
    pub(crate) fn schema_changed(&self) -> bool {
        self.outrun.load(Ordering::Relaxed)
    }

    /// The id of a key, if this statement has interned it by now.
    pub(crate) fn known_key(&self, name: &str) -> Option<KeyId> {
        self.late().keys.get(name).copied()
    }

    /// The id of a label, as [`Writer::known_key`].
    pub(crate) fn known_label(&self, name: &str) -> Option<LabelId> {
        self.late().labels.get(name).copied()
    }

    /// The id of a relationship type, as [`Writer::known_key`].
    pub(crate) fn known_type(&self, name: &str) -> Option<TypeId> {
        self.late().types.get(name).copied()
    }

    /// Whether this statement has deleted anything.
    pub(crate) fn has_deleted(&self) -> bool {
        self.any_deleted.load(Ordering::Relaxed)
    }

    /// The type of a relationship that this statement deleted.
    pub(crate) fn deleted_type(&self, id: u64) -> Option<TypeId> {
        let deleted = self.deleted.as_ref()?;
        let deleted = deleted.lock().unwrap_or_else(PoisonError::into_inner);
        deleted.0.get(&id).map(|(rel_type, ..)| *rel_type)
    }

    /// What is remembered of deleted relationships.
    pub(crate) fn take_deleted(&self) -> DeletedRelationships {
        let deleted = self.deleted.as_ref();
        deleted.map_or_else(HashMap::new, |d| {
            std::mem::take(&mut d.lock().unwrap_or_else(PoisonError::into_inner).0)
        })
    }

    /// Deletes a node; with `detach` its relationships too.
    pub(crate) fn delete_node(
        &self,
        id: NodeId,
        detach: bool,
        may_go_on: impl Fn() -> Result<()>,
    ) -> Result<()> {
        self.any_deleted.store(true, Ordering::Relaxed);
        if detach {
            let noted = RefCell::new(Ok(()));
            let stop = || noted.borrow().is_err() || may_go_on().is_err();
            let mut gone = |id, ends| {
                if self.needs.detached && noted.borrow().is_ok() {
                    *noted.borrow_mut() = self.note_deleted(id, ends);
                }
            };
            let deleted = (self.transaction).detach_delete_node_until(id, &stop, &mut gone);
            noted.into_inner()?;
            if let Err(graven_storage::Error::Stopped) = deleted {
                may_go_on()?;
            }
            deleted?;
        } else {
            self.transaction.delete_node(id)?;
        }
        Ok(())
    }

    /// Deletes a relationship and remembers its type, which may still be asked for.
    pub(crate) fn delete_relationship(&self, id: RelId, snapshot: &Snapshot) -> Result<()> {
        if self.deleted.is_some()
            && let Ok(ends) = snapshot.relationship_endpoints(id)
        {
            self.note_deleted(id, ends)?;
        }
        self.any_deleted.store(true, Ordering::Relaxed);
        self.transaction.delete_relationship(id)?;
        Ok(())
    }

    /// Remembers type and ends of a relationship, where the statement may ask for them.
    fn note_deleted(&self, id: RelId, ends: (TypeId, NodeId, NodeId)) -> Result<()> {
        /// Bytes of one remembered relationship in its table.
        const ENTRY: usize = 64;
        if let Some(deleted) = &self.deleted {
            let mut deleted = deleted.lock().unwrap_or_else(PoisonError::into_inner);
            deleted.1.charge(ENTRY)?;
            deleted.0.insert(id.0, ends);
        }
        Ok(())
    }

    /// Sets or (null) removes a property.
    pub(crate) fn set(&self, entity: Entity, key: KeyId, value: &PropertyValue) -> Result<()> {
        match entity {
            Entity::Node(id) => self.transaction.set_node_property(id, key, value),
            Entity::Relationship(id) => self.transaction.set_relationship_property(id, key, value),
        }
        .map_err(|error| gone(error, entity))
    }
}

/// A node or a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    Node(NodeId),
    Relationship(RelId),
}

impl Entity {
    /// The entity a value is; `None` for null.
    ///
    /// # Errors
    /// Any other value.
    pub(crate) fn of(value: &Value) -> Result<Option<Entity>> {
        match value {
            Value::Null => Ok(None),
            Value::Node(id) => Ok(Some(Entity::Node(*id))),
            Value::Relationship(id) => Ok(Some(Entity::Relationship(*id))),
            other => Err(ExecError::Type {
                message: told!(
                    "only nodes and relationships can be changed, this is {}: {other}",
                    other.type_name()
                ),
            }),
        }
    }
}

/// A missing entity is one that was deleted.
pub(crate) fn gone(error: graven_storage::Error, entity: Entity) -> ExecError {
    use graven_storage::Error as Storage;
    match error {
        Storage::NoSuchNode { .. } | Storage::NoSuchRelationship { .. } => deleted(entity),
        other => other.into(),
    }
}

/// The error of touching an entity that was deleted.
pub(crate) fn deleted(entity: Entity) -> ExecError {
    let entity = match entity {
        Entity::Node(id) => format!("node {}", id.0),
        Entity::Relationship(id) => format!("relationship {}", id.0),
    };
    ExecError::DeletedEntity { entity }
}

/// The value as a property holds it.
///
/// # Errors
/// [`ExecError::PropertyType`] for maps, nodes, relationships, paths, and lists with one of these,
/// with null, or with lists beside other values.
pub(crate) fn storable(value: &Value, key: &str) -> Result<PropertyValue> {
    let fault = |what: String| ExecError::PropertyType {
        message: told!(
            "property {key} cannot hold {what}: only scalars and lists of them are stored"
        ),
    };
    if let Value::List(items) = value {
        let lists = items.iter().filter(|i| matches!(i, Value::List(_))).count();
        if lists != 0 && lists != items.len() {
            return Err(fault(
                "a list that mixes lists with other values".to_owned(),
            ));
        }
        for item in items.iter() {
            if item.is_null() {
                return Err(fault("a list with null in it".to_owned()));
            }
            storable(item, key)?;
        }
    }
    to_stored(value).ok_or_else(|| fault(told!("a {}", value.type_name())))
}

/// The names that `$(...)` gives: a text or a list of texts.
///
/// # Errors
/// Any other value, null among them.
pub(crate) fn computed_names(value: &Value) -> Result<Vec<Arc<str>>> {
    let fault = |value: &Value| ExecError::Type {
        message: told!(
            "labels and types are given by a String or a List of Strings, this is {}: {value}",
            value.type_name()
        ),
    };
    match value {
        Value::String(name) => Ok(vec![name.clone()]),
        Value::List(items) => items
            .iter()
            .map(|item| match item {
                Value::String(name) => Ok(name.clone()),
                other => Err(fault(other)),
            })
            .collect(),
        other => Err(fault(other)),
    }
}
