//! `apoc.schema.node` and `apoc.schema.relationship`: whether there is an index or a constraint.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven_storage::{KeyId, SchemaEntity};

use super::{list, text, wrong};
use crate::error::Result;
use crate::expression::signature::Function;
use crate::query_context::QueryContext;
use crate::value::Value;

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Index,
    Constraint,
}

/// A function that looks for one of nodes or relationships.
macro_rules! exists {
    ($name:literal, $lower:literal, $is_node:literal, $of:expr) => {
        Function::new($lower, (2, 2), |rt, args| {
            exists(rt, $name, args, $is_node, $of)
        })
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    exists!(
        "apoc.schema.node.constraintExists",
        "apoc.schema.node.constraintexists",
        true,
        Of::Constraint
    ),
    exists!(
        "apoc.schema.node.indexExists",
        "apoc.schema.node.indexexists",
        true,
        Of::Index
    ),
    exists!(
        "apoc.schema.relationship.constraintExists",
        "apoc.schema.relationship.constraintexists",
        false,
        Of::Constraint
    ),
    exists!(
        "apoc.schema.relationship.indexExists",
        "apoc.schema.relationship.indexexists",
        false,
        Of::Index
    ),
];

/// Whether an index has these keys in this order, or a constraint has them in any order.
fn exists(rt: &QueryContext, name: &str, args: &[Value], is_node: bool, of: Of) -> Result<Value> {
    let (Some(label), Some(given)) = (text(name, &args[0])?, list(name, &args[1])?) else {
        return Ok(Value::Boolean(false));
    };
    let mut wanted: Vec<Arc<str>> = Vec::new();
    for key in given {
        match key {
            Value::String(key) => wanted.push(Arc::clone(key)),
            other => return Err(wrong(name, "a List of Strings", other)),
        }
    }
    let catalog = rt.snapshot.catalog();
    let entity = match is_node {
        true => catalog.label(label).map(SchemaEntity::Node),
        false => catalog.rel_type(label).map(SchemaEntity::Relationship),
    };
    let keys: Option<Vec<KeyId>> = wanted.iter().map(|key| catalog.key(key)).collect();
    let (Some(entity), Some(keys)) = (entity, keys) else {
        return Ok(Value::Boolean(false));
    };
    let set: BTreeSet<&KeyId> = keys.iter().collect();
    Ok(Value::Boolean(match of {
        Of::Index => {
            let mut indexes = catalog.indexes().iter();
            indexes.any(|index| index.entity == entity && index.keys == keys)
        }
        Of::Constraint => catalog
            .constraints()
            .iter()
            .any(|own| own.entity == entity && own.keys.iter().collect::<BTreeSet<_>>() == set),
    }))
}
