//! What `SHOW INDEXES` and `SHOW CONSTRAINTS` list, and what the program is.

use std::sync::Arc;

use graven_exec::Value;
use graven_storage::{Catalog, ConstraintKind, KeyId, SchemaEntity};

use crate::database::Inner;

type Rows = Result<Vec<Vec<Value>>, String>;

/// Kind, and names of labels or types.
fn entity(catalog: &Catalog, entity: SchemaEntity) -> (Value, Value) {
    let (kind, name) = match entity {
        SchemaEntity::Node(label) => ("NODE", catalog.label_name(label)),
        SchemaEntity::Relationship(rel_type) => ("RELATIONSHIP", catalog.type_name(rel_type)),
        _ => ("UNKNOWN", None),
    };
    let name = name.cloned().unwrap_or_default();
    (Value::text(kind), Value::list(vec![Value::String(name)]))
}

fn keys(catalog: &Catalog, keys: &[KeyId]) -> Value {
    let names = keys.iter().filter_map(|key| catalog.key_name(*key));
    Value::list(names.cloned().map(Value::String).collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn indexes(db: &Inner, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let catalog = snapshot.catalog();
    let rows = catalog.indexes().iter().map(|index| {
        let (kind, of) = entity(catalog, index.entity);
        let mut constraints = catalog.constraints().iter();
        let owner = constraints.find(|c| c.index == Some(index.number));
        vec![
            Value::Integer(i64::from(index.number)),
            Value::String(Arc::clone(&index.name)),
            Value::text("ONLINE"),
            Value::Float(100.0),
            Value::text("RANGE"),
            kind,
            of,
            keys(catalog, &index.keys),
            owner.map_or(Value::Null, |c| Value::String(Arc::clone(&c.name))),
        ]
    });
    Ok(rows.collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn constraints(db: &Inner, _: &[Value]) -> Rows {
    let snapshot = db.store.snapshot();
    let catalog = snapshot.catalog();
    let rows = catalog.constraints().iter().map(|constraint| {
        let (kind, of) = entity(catalog, constraint.entity);
        let node = matches!(constraint.entity, SchemaEntity::Node(_));
        let demands = match (constraint.kind, node) {
            (ConstraintKind::Unique, true) => "UNIQUENESS",
            (ConstraintKind::Unique, false) => "RELATIONSHIP_UNIQUENESS",
            (ConstraintKind::NodeKey, true) => "NODE_KEY",
            (ConstraintKind::NodeKey, false) => "RELATIONSHIP_KEY",
            (ConstraintKind::Exists, true) => "NODE_PROPERTY_EXISTENCE",
            (ConstraintKind::Exists, false) => "RELATIONSHIP_PROPERTY_EXISTENCE",
            _ => "UNKNOWN",
        };
        let index = constraint.index.and_then(|n| catalog.index_numbered(n));
        vec![
            Value::String(Arc::clone(&constraint.name)),
            Value::text(demands),
            kind,
            of,
            keys(catalog, &constraint.keys),
            index.map_or(Value::Null, |i| Value::String(Arc::clone(&i.name))),
        ]
    });
    Ok(rows.collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn components(_: &Inner, _: &[Value]) -> Rows {
    let version = Value::text(env!("CARGO_PKG_VERSION"));
    let versions = Value::list(vec![version]);
    Ok(vec![vec![
        Value::text("Graven"),
        versions,
        Value::text("community"),
    ]])
}
