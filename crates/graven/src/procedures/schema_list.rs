//! What `SHOW INDEXES`, `SHOW CONSTRAINTS` and the procedures like them list, and what the program
//! is.

use std::sync::Arc;

use graven_exec::{ExecError, Value};
use graven_storage::{
    Catalog, ConstraintDescription, ConstraintKind, IndexDescription, IndexKind, KeyId, LabelId,
    RelationshipEnds, SchemaEntity,
};
use graven_types::name::quoted;
use graven_types::told;

use super::inner::Call;

type Found = Vec<Vec<Value>>;
type Rows = Result<Found, ExecError>;

/// What answers for an index of this kind, as Neo4j names it: programs write the name into the
/// statements by which they make an index again.
fn provider(kind: IndexKind) -> Value {
    Value::text(match kind {
        IndexKind::Text => "text-2.0",
        IndexKind::Point => "point-1.0",
        _ => "range-1.0",
    })
}

/// The column `options` of what has an index; there is nothing to set.
fn options(kind: IndexKind) -> Value {
    let configuration = ("indexConfig".into(), Value::map(Vec::new()));
    let provider = ("indexProvider".into(), provider(kind));
    Value::map(vec![configuration, provider])
}

/// The statement that makes an index like this one.
fn index_statement(catalog: &Catalog, index: &IndexDescription) -> String {
    let (subject, names) = pattern(catalog, index.entity, &index.keys, quoted);
    let name = quoted(&index.name);
    format!(
        "CREATE {} INDEX {name} FOR {subject} ON ({names})",
        index.kind.name()
    )
}

/// The statement that makes a constraint like this one.
fn constraint_statement(catalog: &Catalog, constraint: &ConstraintDescription) -> String {
    let (subject, names) = pattern(catalog, constraint.entity, &constraint.keys, quoted);
    let node = matches!(constraint.entity, SchemaEntity::Node(_));
    let name = quoted(&constraint.name);
    let demand = match (&constraint.kind, node) {
        (ConstraintKind::Unique, _) => "IS UNIQUE",
        (ConstraintKind::NodeKey, true) => "IS NODE KEY",
        (ConstraintKind::NodeKey, false) => "IS RELATIONSHIP KEY",
        (ConstraintKind::Typed { of, default }, _) => &match default {
            Some(default) => format!("IS :: {of} DEFAULT {default}"),
            None => format!("IS :: {of}"),
        },
        (ConstraintKind::Ends(ends), _) => {
            let ends = pairs(catalog, ends, quoted);
            return format!("CREATE CONSTRAINT {name} FOR {subject} {ends}");
        }
        _ => "IS NOT NULL",
    };
    format!("CREATE CONSTRAINT {name} FOR {subject} REQUIRE ({names}) {demand}")
}

/// `FROM A TO B, FROM C TO D`.
fn pairs(catalog: &Catalog, ends: &RelationshipEnds, write: fn(&str) -> String) -> String {
    let name = |label: LabelId| catalog.label_name(label).map_or("", |name| name);
    let pairs = ends.pairs.iter();
    let pairs = pairs.map(|(a, b)| format!("FROM {} TO {}", write(name(*a)), write(name(*b))));
    let mut parts: Vec<String> = pairs.collect();
    match (ends.one_out, ends.one_in) {
        (false, false) => {}
        (true, false) => parts.push("MANY_ONE".to_owned()),
        (false, true) => parts.push("ONE_MANY".to_owned()),
        (true, true) => parts.push("ONE_ONE".to_owned()),
    }
    parts.join(", ")
}

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
pub(super) fn indexes(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
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
            Value::text(index.kind.name()),
            kind,
            of,
            keys(catalog, &index.keys),
            provider(index.kind),
            owner.map_or(Value::Null, |c| Value::String(Arc::clone(&c.name))),
            Value::Null,
            Value::Null,
            Value::Null,
            options(index.kind),
            Value::text(""),
            Value::text(&match owner {
                Some(owner) => constraint_statement(catalog, owner),
                None => index_statement(catalog, index),
            }),
        ]
    });
    Ok(rows.collect())
}

/// Indexes and constraints of relationships: name, type, properties, status, relationship type.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn relationship_schema(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let catalog = snapshot.catalog();
    let row = |name: &Arc<str>, kind: &str, of: SchemaEntity, own: &[KeyId], status: Value| {
        let SchemaEntity::Relationship(rel_type) = of else {
            return None;
        };
        let rel_type = catalog.type_name(rel_type).cloned().unwrap_or_default();
        Some(vec![
            Value::String(Arc::clone(name)),
            Value::text(kind),
            keys(catalog, own),
            status,
            Value::String(rel_type),
        ])
    };
    let indexes = catalog.indexes().iter().filter_map(|index| {
        let online = Value::text("ONLINE");
        row(
            &index.name,
            index.kind.name(),
            index.entity,
            &index.keys,
            online,
        )
    });
    let constraints = catalog.constraints().iter().filter_map(|constraint| {
        let kind = match constraint.kind {
            ConstraintKind::Unique => "RELATIONSHIP_UNIQUENESS",
            ConstraintKind::NodeKey => "RELATIONSHIP_KEY",
            _ => "RELATIONSHIP_PROPERTY_EXISTENCE",
        };
        let status = Value::text("");
        row(
            &constraint.name,
            kind,
            constraint.entity,
            &constraint.keys,
            status,
        )
    });
    Ok(indexes.chain(constraints).collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn constraints(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let catalog = snapshot.catalog();
    let mut id = 0;
    let rows = catalog.constraints().iter().map(|constraint| {
        let (kind, of) = entity(catalog, constraint.entity);
        let node = matches!(constraint.entity, SchemaEntity::Node(_));
        let demands = match (&constraint.kind, node) {
            (ConstraintKind::Unique, true) => "UNIQUENESS",
            (ConstraintKind::Unique, false) => "RELATIONSHIP_UNIQUENESS",
            (ConstraintKind::NodeKey, true) => "NODE_KEY",
            (ConstraintKind::NodeKey, false) => "RELATIONSHIP_KEY",
            (ConstraintKind::Exists, true) => "NODE_PROPERTY_EXISTENCE",
            (ConstraintKind::Exists, false) => "RELATIONSHIP_PROPERTY_EXISTENCE",
            (ConstraintKind::Typed { .. }, true) => "NODE_PROPERTY_TYPE",
            (ConstraintKind::Typed { .. }, false) => "RELATIONSHIP_PROPERTY_TYPE",
            (ConstraintKind::Ends(_), _) => "RELATIONSHIP_ENDS",
            _ => "UNKNOWN",
        };
        let index = constraint.index.and_then(|n| catalog.index_numbered(n));
        id += 1;
        vec![
            Value::Integer(id),
            Value::String(Arc::clone(&constraint.name)),
            Value::text(demands),
            kind,
            of,
            keys(catalog, &constraint.keys),
            index.map_or(Value::Null, |i| Value::String(Arc::clone(&i.name))),
            match &constraint.kind {
                ConstraintKind::Typed { of, .. } => Value::String(Arc::clone(of.text())),
                _ => Value::Null,
            },
            index.map_or(Value::Null, |i| options(i.kind)),
            Value::text(&constraint_statement(catalog, constraint)),
        ]
    });
    Ok(rows.collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn indexes_described(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let catalog = snapshot.catalog();
    let rows = catalog.indexes().iter().map(|index| {
        let (kind, of) = entity(catalog, index.entity);
        vec![
            Value::Integer(i64::from(index.number)),
            Value::String(Arc::clone(&index.name)),
            Value::text("ONLINE"),
            Value::Float(100.0),
            Value::text(if index.unique { "UNIQUE" } else { "NONUNIQUE" }),
            Value::text(index.kind.name()),
            kind,
            of,
            keys(catalog, &index.keys),
            provider(index.kind),
        ]
    });
    Ok(rows.collect())
}

/// `(n:Label)` or `()-[r:TYPE]-()`, and the keys as properties of it, each name as `write` writes
/// it.
fn pattern(
    catalog: &Catalog,
    of: SchemaEntity,
    keys: &[KeyId],
    write: fn(&str) -> String,
) -> (String, String) {
    let (variable, pattern) = match of {
        SchemaEntity::Node(label) => {
            let name = catalog.label_name(label).cloned().unwrap_or_default();
            ("n", format!("(n:{})", write(&name)))
        }
        SchemaEntity::Relationship(rel_type) => {
            let name = catalog.type_name(rel_type).cloned().unwrap_or_default();
            ("r", format!("()-[r:{}]-()", write(&name)))
        }
        _ => ("n", "(n)".to_owned()),
    };
    let names = keys.iter().filter_map(|key| catalog.key_name(*key));
    let names: Vec<String> = names
        .map(|name| format!("{variable}.{}", write(name)))
        .collect();
    (pattern, names.join(", "))
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn constraints_described(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let catalog = snapshot.catalog();
    let rows = catalog.constraints().iter().map(|constraint| {
        let (subject, names) = pattern(catalog, constraint.entity, &constraint.keys, str::to_owned);
        let demand = match &constraint.kind {
            ConstraintKind::Unique => "IS UNIQUE",
            ConstraintKind::NodeKey => "IS NODE KEY",
            ConstraintKind::Typed { of, .. } => &format!("IS :: {of}"),
            _ => "IS NOT NULL",
        };
        let name = Value::String(Arc::clone(&constraint.name));
        let text = match &constraint.kind {
            ConstraintKind::Ends(ends) => {
                let ends = pairs(catalog, ends, str::to_owned);
                format!("CONSTRAINT FOR {subject} {ends}")
            }
            _ => format!("CONSTRAINT FOR {subject} REQUIRE ({names}) {demand}"),
        };
        vec![name, Value::text(&text), Value::text(&text)]
    });
    Ok(rows.collect())
}

/// Nothing, where there is an index of that name.
pub(super) fn known_index(call: &Call<'_>, args: &[Value]) -> Result<Found, ExecError> {
    let Some(Value::String(name)) = args.first() else {
        return Ok(Vec::new());
    };
    match call.caller.snapshot.catalog().index_named(name) {
        Some(_) => Ok(Vec::new()),
        None => Err(ExecError::Named {
            kind: "Schema",
            detail: "NoSuchIndex",
            message: told!("there is no index `{name}`"),
        }),
    }
}

/// Nothing, where it may be the name of a label, a type or a property key.
pub(super) fn possible_name(_: &Call<'_>, args: &[Value]) -> Result<Found, ExecError> {
    match args.first() {
        Some(Value::String(name)) if name.is_empty() || name.contains('\0') => {
            Err(ExecError::Named {
                kind: "Schema",
                detail: "InvalidName",
                message: "a name is not empty and has no zero character".to_owned(),
            })
        }
        _ => Ok(Vec::new()),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn node_schema(call: &Call<'_>, _: &[Value]) -> Rows {
    let snapshot = call.caller.snapshot;
    let catalog = snapshot.catalog();
    let of_nodes = catalog.indexes().iter().filter_map(|index| {
        let SchemaEntity::Node(label) = index.entity else {
            return None;
        };
        let size = catalog
            .label_count(label)
            .min(index.entries.max(index.distinct));
        let selectivity = match index.unique {
            true => 1.0,
            false => index.distinct.min(size) as f64 / size.max(1) as f64,
        };
        Some(vec![
            Value::String(Arc::clone(&index.name)),
            Value::String(catalog.label_name(label).cloned().unwrap_or_default()),
            keys(catalog, &index.keys),
            Value::text("ONLINE"),
            Value::text(index.kind.name()),
            Value::text("NO FAILURE"),
            Value::Float(100.0),
            Value::Integer(i64::try_from(size).unwrap_or(i64::MAX)),
            Value::Float(selectivity),
            Value::text(&format!(
                "index on {}",
                pattern(catalog, index.entity, &index.keys, str::to_owned).1
            )),
        ])
    });
    let mut rows: Vec<Vec<Value>> = of_nodes.collect();
    rows.extend(catalog.constraints().iter().filter_map(|constraint| {
        let SchemaEntity::Node(label) = constraint.entity else {
            return None;
        };
        let kind = match constraint.kind {
            ConstraintKind::Unique => "UNIQUENESS",
            ConstraintKind::NodeKey => "NODE_KEY",
            ConstraintKind::Typed { .. } => "NODE_PROPERTY_TYPE",
            _ => "NODE_PROPERTY_EXISTENCE",
        };
        Some(vec![
            Value::String(Arc::clone(&constraint.name)),
            Value::String(catalog.label_name(label).cloned().unwrap_or_default()),
            keys(catalog, &constraint.keys),
            Value::text(""),
            Value::text(kind),
            Value::text("NO FAILURE"),
            Value::Float(0.0),
            Value::Integer(0),
            Value::Float(0.0),
            Value::text(&format!(
                "constraint on {}",
                pattern(catalog, constraint.entity, &constraint.keys, str::to_owned).1
            )),
        ])
    }));
    Ok(rows)
}
