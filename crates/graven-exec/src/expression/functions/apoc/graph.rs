//! `apoc.node`, `apoc.rel`, `apoc.label`, `apoc.path` and `apoc.any.isDeleted`: what nodes,
//! relationships and paths are.
//!
//! # How it works
//! Types are named as in `KNOWS>|<LIKES|OWNS`: with a direction, or in both. No name means all
//! types. Each name counts by itself, and a loop once for a name in both directions, as it is met
//! once by a pattern without a direction.
//!
//! # Cost
//! A degree reads the lists of one node, of each type that is named.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven_storage::{Direction, NodeId, TypeId};
use graven_types::told;

use super::{integer, list, text, wrong};
use crate::error::{ExecError, Result};
use crate::expression::functions::graph;
use crate::expression::signature::Function;
use crate::growth::{Items, charge, work};
use crate::query_context::QueryContext;
use crate::value::{Path, Value};

/// A function that is one of the language under another name.
macro_rules! same_as {
    ($name:literal, $known:literal) => {
        Function {
            name: $name,
            arity: (1, 1),
            body: |rt, args| {
                let known = lookup($known).expect("a function of the language");
                (known.body)(rt, args)
            },
        }
    };
}

/// A function of a node and types.
macro_rules! of_types {
    ($name:literal, $body:expr) => {
        Function {
            name: $name,
            arity: (1, 2),
            body: $body,
        }
    };
}

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "apoc.any.isdeleted",
        arity: (1, 1),
        body: is_deleted,
    },
    Function {
        name: "apoc.label.exists",
        arity: (2, 2),
        body: |rt, args| match &args[0] {
            Value::Node(_) | Value::Relationship(_) => {
                let known = lookup("graven.has_all_labels").expect("a function of the language");
                (known.body)(rt, args)
            }
            _ => Ok(Value::Boolean(false)),
        },
    },
    of_types!("apoc.node.degree", degree),
    of_types!("apoc.node.degree.in", |rt, args| {
        degree_of_type(rt, args, Direction::In)
    }),
    of_types!("apoc.node.degree.out", |rt, args| {
        degree_of_type(rt, args, Direction::Out)
    }),
    same_as!("apoc.node.id", "id"),
    same_as!("apoc.node.labels", "labels"),
    of_types!("apoc.node.relationship.exists", |rt, args| {
        let name = "apoc.node.relationship.exists";
        let found = relationships(rt, name, &args[0], args.get(1))?;
        Ok(found.map_or(Value::Null, |found| Value::Boolean(found.total > 0)))
    }),
    of_types!("apoc.node.relationship.types", |rt, args| {
        let name = "apoc.node.relationship.types";
        let found = relationships(rt, name, &args[0], args.get(1))?;
        Ok(found.map_or(Value::Null, Found::types))
    }),
    Function {
        name: "apoc.path.combine",
        arity: (2, 2),
        body: combine,
    },
    Function {
        name: "apoc.path.create",
        arity: (1, 2),
        body: create,
    },
    Function {
        name: "apoc.path.elements",
        arity: (1, 1),
        body: elements,
    },
    Function {
        name: "apoc.path.slice",
        arity: (1, 3),
        body: slice,
    },
    same_as!("apoc.rel.endnode", "endnode"),
    same_as!("apoc.rel.id", "id"),
    same_as!("apoc.rel.startnode", "startnode"),
    same_as!("apoc.rel.type", "type"),
];

/// The function of the language of this name.
fn lookup(name: &str) -> Option<&'static Function> {
    graph::FUNCTIONS.iter().find(|known| known.name == name)
}

/// What hangs on a node.
#[derive(Default)]
pub(super) struct Found {
    pub(super) total: u64,
    types: BTreeSet<Arc<str>>,
}

impl Found {
    /// The names of the types.
    pub(super) fn types(self) -> Value {
        Value::list(self.types.into_iter().map(Value::String).collect())
    }
}

/// A type with the direction in which its relationships count; none: in both.
pub(super) type Named = (TypeId, Option<Direction>);

/// The types and directions that a text names; all of them where it names none.
pub(super) fn named_types(
    rt: &QueryContext,
    function: &str,
    value: Option<&Value>,
) -> Result<Vec<Named>> {
    let given = value
        .map(|value| text(function, value))
        .transpose()?
        .flatten();
    let mut found = Vec::new();
    let mut charged = 0;
    for part in given.map_or("", |text| text).split('|') {
        let part = part.trim();
        let (name, direction) = match (part.strip_prefix('<'), part.strip_suffix('>')) {
            (Some(name), None) => (name, Some(Direction::In)),
            (None, Some(name)) => (name, Some(Direction::Out)),
            _ => (part.trim_matches(['<', '>']), None),
        };
        match name.trim_start_matches(':') {
            "" => {
                let types = 0..rt.snapshot.catalog().types().len();
                found.extend(types.map(|at| (TypeId(at as u32), direction)));
            }
            name => found.extend(rt.type_id(name).map(|own| (own, direction))),
        }
        // A text may name types without end.
        work(1)?;
        charge((found.len() - charged).saturating_mul(2 * size_of::<Named>()))?;
        charged = found.len();
    }
    Ok(found)
}

/// Counts relationships of a node. None of null.
pub(super) fn relationships(
    rt: &QueryContext,
    function: &str,
    node: &Value,
    types: Option<&Value>,
) -> Result<Option<Found>> {
    let id = match node {
        Value::Null => return Ok(None),
        Value::Node(id) => NodeId(id.0),
        other => return Err(wrong(function, "a Node", other)),
    };
    let mut found = Found::default();
    for (rel_type, direction) in named_types(rt, function, types)? {
        let degree = |direction| rt.snapshot.adjacency(rel_type, direction)?.degree(id);
        let count = match direction {
            Some(direction) => degree(direction)?,
            None => {
                let incoming = rt.snapshot.adjacency(rel_type, Direction::In)?;
                let loops = incoming.with_list(id, |list| Ok(list.positions(id)?.len()))?;
                degree(Direction::Out)? + degree(Direction::In)? - loops.unwrap_or(0) as u64
            }
        };
        if count > 0 {
            found.types.insert(rt.type_name(rel_type));
        }
        found.total = found.total.saturating_add(count);
    }
    Ok(Some(found))
}

fn degree(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let found = relationships(rt, "apoc.node.degree", &args[0], args.get(1))?;
    let total = found.map(|found| i64::try_from(found.total).unwrap_or(i64::MAX));
    Ok(total.map_or(Value::Null, Value::Integer))
}

/// Counts relationships of one direction, all of them or those of the one type that is named.
fn degree_of_type(rt: &QueryContext, args: &[Value], direction: Direction) -> Result<Value> {
    let name = "apoc.node.degree";
    let id = match &args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Node(id) => NodeId(id.0),
        other => return Err(wrong(name, "a Node", other)),
    };
    let wanted = args.get(1).map(|value| text(name, value)).transpose()?;
    let types = match wanted.flatten().map_or("", |text| text) {
        "" => (0..rt.snapshot.catalog().types().len() as u32).collect(),
        wanted => Vec::from_iter(rt.type_id(wanted).map(|own| own.0)),
    };
    let mut total = 0_u64;
    for rel_type in types {
        work(1)?;
        let adjacency = rt.snapshot.adjacency(TypeId(rel_type), direction)?;
        total = total.saturating_add(adjacency.degree(id)?);
    }
    Ok(Value::Integer(i64::try_from(total).unwrap_or(i64::MAX)))
}

fn is_deleted(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let is_there = match &args[0] {
        Value::Null => return Ok(Value::Boolean(true)),
        Value::Node(id) => rt.node_exists(id.0),
        Value::Relationship(id) => rt.endpoints(id.0).is_ok(),
        other => return Err(wrong("apoc.any.isDeleted", "a Node or Relationship", other)),
    };
    Ok(Value::Boolean(!is_there))
}

/// A path; none of null.
fn path<'a>(function: &str, value: &'a Value) -> Result<Option<&'a Path>> {
    match value {
        Value::Null => Ok(None),
        Value::Path(path) => Ok(Some(path)),
        other => Err(wrong(function, "a Path", other)),
    }
}

fn combine(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.path.combine";
    let (Some(first), Some(second)) = (path(name, &args[0])?, path(name, &args[1])?) else {
        let alone = args.iter().find(|path| !path.is_null());
        return Ok(alone.cloned().unwrap_or_default());
    };
    if first.nodes.last() != second.nodes.first() {
        return Err(ExecError::Argument {
            message: told!("{name}(): the second path begins at another node than the first ends"),
        });
    }
    let nodes = first.nodes.len().saturating_add(second.nodes.len());
    charge(nodes.saturating_mul(4 * 8))?;
    work(nodes / 64)?;
    let mut whole = first.clone();
    whole.nodes.extend(&second.nodes[1..]);
    whole.relationships.extend(&second.relationships);
    Ok(Value::Path(Arc::new(whole)))
}

/// A path of a node and relationships that hang on each other.
fn create(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.path.create";
    let start = match &args[0] {
        Value::Null => return Ok(Value::Null),
        Value::Node(id) => *id,
        other => return Err(wrong(name, "a Node", other)),
    };
    let mut made = Path {
        nodes: vec![start],
        relationships: Vec::new(),
    };
    let steps = args.get(1).map(|value| list(name, value)).transpose()?;
    let steps = steps.flatten().unwrap_or_default();
    // Lists that grow take up to twice their room.
    charge(steps.len().saturating_mul(4 * 8))?;
    for step in steps {
        work(1)?;
        let Value::Relationship(id) = step else {
            return Err(wrong(name, "a List of Relationships", step));
        };
        let (from, to) = rt.endpoints(id.0)?;
        let last = *made.nodes.last().expect("it has a start");
        let next = match (from == last, to == last) {
            (true, _) => to,
            (false, true) => from,
            (false, false) => {
                let place = made.relationships.len();
                return Err(ExecError::Argument {
                    message: told!(
                        "{name}(): the relationship at position {place} does not begin where the \
                         one before it ends"
                    ),
                });
            }
        };
        made.nodes.push(next);
        made.relationships.push(*id);
    }
    Ok(Value::Path(Arc::new(made)))
}

fn elements(_: &QueryContext, args: &[Value]) -> Result<Value> {
    match path("apoc.path.elements", &args[0])? {
        Some(path) => steps(path),
        None => Ok(Value::Null),
    }
}

/// Nodes and relationships of a path in turn.
pub(super) fn steps(path: &Path) -> Result<Value> {
    let mut all = Items::with_room(path.nodes.len() + path.relationships.len())?;
    all.push(Value::Node(path.nodes[0]))?;
    for (relationship, node) in path.relationships.iter().zip(&path.nodes[1..]) {
        all.push(Value::Relationship(*relationship))?;
        all.push(Value::Node(*node))?;
    }
    all.value()
}

/// So many relationships of a path from one on; all that follow where no number is given.
fn slice(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let name = "apoc.path.slice";
    let Some(path) = path(name, &args[0])? else {
        return Ok(Value::Null);
    };
    let bound = |at: usize, default: i64| {
        args.get(at)
            .map_or(Ok(default), |value| integer(name, value))
    };
    let length = path.relationships.len();
    let from = usize::try_from(bound(1, 0)?).unwrap_or(0).min(length);
    let count = usize::try_from(bound(2, -1)?).unwrap_or(length);
    let to = from.saturating_add(count).min(length);
    charge((to - from + 1).saturating_mul(2 * 8))?;
    work((to - from) / 64)?;
    Ok(Value::Path(Arc::new(Path {
        nodes: path.nodes[from..=to].to_vec(),
        relationships: path.relationships[from..to].to_vec(),
    })))
}
