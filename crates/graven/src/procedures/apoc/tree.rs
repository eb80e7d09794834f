//! `apoc.convert.toTree` and `apoc.paths.toJsonTree`: paths as maps within maps.
//!
//! # How it works
//! A map is made once and lies in the list of one other map at most, which was made before it. So
//! the maps are in one row, and are put together from the last one to the first. The first form
//! follows paths as they run, the second one relationships as they point; they differ, too, in
//! what they do with a node that comes again.
//!
//! # Source
//! Both are those of APOC 5.26, with what they do to paths that meet or turn around.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Path, Value};
use graven_pagecache::Reservation;
use graven_storage::{NodeId, RelId};
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::{Call, no_room};
use super::VALUE;
use crate::right::Right;

const PATHS: (&[Field], usize) = (
    &[
        ("paths", TypeSet::LIST),
        ("lowerCaseRels", TypeSet::BOOLEAN),
        ("config", TypeSet::MAP),
    ],
    1,
);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.convert.toTree",
        "paths as maps within maps, one for each node that a path begins at",
        PATHS,
        Right::Read,
        VALUE,
        Body::OfCall(to_tree),
    ),
    procedure(
        "apoc.paths.toJsonTree",
        "paths as maps within maps, by the direction of relationships",
        PATHS,
        Right::Read,
        VALUE,
        Body::OfCall(to_json_tree),
    ),
];

/// Maps lie no deeper than this within each other: they are compared and written recursively.
const DEPTH_MAX: usize = 256;

/// Which properties are shown, by labels or by types.
struct Filters(Vec<(Arc<str>, Vec<Arc<str>>)>);

impl Filters {
    fn of(call: &Call<'_>, config: Option<&Value>, name: &str) -> Result<Filters, ExecError> {
        let wrong = || call.failed(told!("{name} is a Map of names to Lists of property keys"));
        let given = match config {
            Some(Value::Map(config)) => config.get(name),
            _ => None,
        };
        let map = match given {
            None | Some(Value::Null) => return Ok(Filters(Vec::new())),
            Some(Value::Map(map)) => map,
            Some(_) => return Err(wrong()),
        };
        let mut filters = Vec::new();
        for (of, keys) in map.entries() {
            let Value::List(keys) = keys else {
                return Err(wrong());
            };
            let mut names = Vec::new();
            for key in keys.iter() {
                match key {
                    Value::String(key) => names.push(Arc::clone(key)),
                    _ => return Err(wrong()),
                }
            }
            let left_out = names.iter().filter(|key| key.starts_with('-')).count();
            if names.is_empty() || ![0, names.len()].contains(&left_out) {
                let told = "properties are named either to be shown or, with `-`, to be left out";
                return Err(call.failed(told));
            }
            filters.push((Arc::clone(of), names));
        }
        Ok(Filters(filters))
    }

    fn shows(&self, of: Option<&str>, key: &str) -> bool {
        let mut all = self.0.iter();
        match of.and_then(|of| all.find(|(name, _)| **name == *of)) {
            None => true,
            Some((_, keys)) if keys[0].starts_with('-') => {
                !keys.iter().any(|name| name.strip_prefix('-') == Some(key))
            }
            Some((_, keys)) => keys.iter().any(|name| **name == *key),
        }
    }

    /// The first of these names that there is a filter for.
    fn first<'a>(&self, names: &'a [Arc<str>]) -> Option<&'a str> {
        let mut names = names.iter();
        let named = |name: &&Arc<str>| self.0.iter().any(|(known, _)| known == *name);
        names.find(named).map(|name| &**name)
    }
}

/// What is known of a relationship.
struct Relation {
    start: NodeId,
    end: NodeId,
    rel_type: Arc<str>,
    element: Value,
    properties: Value,
}

/// What is known of the nodes and relationships of all paths.
struct Known {
    nodes: HashMap<NodeId, (Vec<Arc<str>>, Value, Value)>,
    relations: HashMap<RelId, Relation>,
}

const READ_NODES: &str = "UNWIND $nodes AS n RETURN n, labels(n), elementId(n), properties(n)";
const READ_RELATIONS: &str = "UNWIND $rels AS r \
    RETURN r, startNode(r), endNode(r), type(r), elementId(r), properties(r)";

impl Known {
    fn of(call: &Call<'_>, paths: &[Arc<Path>]) -> Result<Known, ExecError> {
        let nodes: HashSet<NodeId> = paths.iter().flat_map(|path| &path.nodes).copied().collect();
        let nodes = Value::list(nodes.into_iter().map(Value::Node).collect());
        let all = paths.iter().flat_map(|path| &path.relationships);
        let relations: HashSet<RelId> = all.copied().collect();
        let relations = relations.into_iter().map(Value::Relationship).collect();
        let (mut known, mut met) = (HashMap::new(), HashMap::new());
        for row in call.rows(READ_NODES, vec![(Arc::from("nodes"), nodes)])? {
            let [Value::Node(id), Value::List(labels), element, properties] = &row[..] else {
                continue;
            };
            let labels = labels.iter().filter_map(|label| match label {
                Value::String(name) => Some(Arc::clone(name)),
                _ => None,
            });
            known.insert(*id, (labels.collect(), element.clone(), properties.clone()));
        }
        let relations = vec![(Arc::from("rels"), Value::list(relations))];
        for row in call.rows(READ_RELATIONS, relations)? {
            let [
                Value::Relationship(id),
                Value::Node(start),
                Value::Node(end),
                Value::String(rel_type),
                element,
                properties,
            ] = &row[..]
            else {
                continue;
            };
            let relation = Relation {
                start: *start,
                end: *end,
                rel_type: Arc::clone(rel_type),
                element: element.clone(),
                properties: properties.clone(),
            };
            met.insert(*id, relation);
        }
        Ok(Known {
            nodes: known,
            relations: met,
        })
    }
}

/// Maps of one type of relationship that lie in another map: each by its number, with what leads
/// to it.
type Within = (Arc<str>, Vec<(usize, RelId, NodeId)>);

/// A map that is being made.
struct Made {
    entries: Vec<(Arc<str>, Value)>,
    within: Vec<Within>,
    depth: usize,
}

/// All maps, and what is asked for.
struct Trees<'a> {
    known: &'a Known,
    nodes: Filters,
    rels: Filters,
    lower_case: bool,
    made: Vec<Made>,
    memory: Reservation,
}

impl Trees<'_> {
    fn type_name(&self, relation: &Relation) -> Arc<str> {
        match self.lower_case {
            true => Arc::from(relation.rel_type.to_lowercase()),
            false => Arc::clone(&relation.rel_type),
        }
    }

    /// A new map of a node, with what is known of the relationship that leads to it.
    fn make(
        &mut self,
        node: NodeId,
        by: Option<(RelId, &str)>,
        depth: usize,
    ) -> Result<usize, ExecError> {
        let mut entries = vec![(Arc::from("_id"), id(node.0))];
        if let Some((labels, element, properties)) = self.known.nodes.get(&node) {
            let name = labels.join(":");
            entries.push((Arc::from("_elementId"), element.clone()));
            entries.push((Arc::from("_type"), Value::text(&name)));
            let of = self.nodes.first(labels);
            entries.extend(shown(properties, "", |key| self.nodes.shows(of, key)));
        }
        if let Some((rel, name)) = by
            && let Some(relation) = self.known.relations.get(&rel)
        {
            let prefix = format!("{name}.");
            let key = |own: &str| Arc::from(format!("{prefix}{own}"));
            entries.push((key("_elementId"), relation.element.clone()));
            entries.push((key("_id"), id(rel.0)));
            let own = shown(&relation.properties, &prefix, |key| {
                self.rels.shows(Some(name), key)
            });
            entries.extend(own);
        }
        let bytes: usize = entries
            .iter()
            .map(|(key, v)| key.len() + v.heap_bytes() + 64)
            .sum();
        self.memory.grow(bytes as u64).map_err(no_room)?;
        self.made.push(Made {
            entries,
            within: Vec::new(),
            depth,
        });
        Ok(self.made.len() - 1)
    }

    /// A new map of a node within another one, unless it is there; its number.
    fn add(
        &mut self,
        to: usize,
        (rel, name): (RelId, &Arc<str>),
        node: NodeId,
    ) -> Result<Option<usize>, ExecError> {
        let within = &mut self.made[to].within;
        let at = match within.iter().position(|(known, _)| known == name) {
            Some(at) => at,
            None => {
                within.push((Arc::clone(name), Vec::new()));
                within.len() - 1
            }
        };
        let mut all = within[at].1.iter();
        if all.any(|(_, known, end)| *known == rel && *end == node) {
            return Ok(None);
        }
        let depth = self.made[to].depth + 1;
        let number = self.make(node, Some((rel, name)), depth)?;
        self.made[to].within[at].1.push((number, rel, node));
        Ok(Some(number))
    }

    /// The maps as values.
    fn values(self, call: &Call<'_>) -> Result<Vec<Value>, ExecError> {
        if self.made.iter().any(|made| made.depth > DEPTH_MAX) {
            let told = told!("maps would lie more than {DEPTH_MAX} deep within each other");
            return Err(call.failed(told));
        }
        let mut values = vec![Value::Null; self.made.len()];
        for (number, mut made) in self.made.into_iter().enumerate().rev() {
            for (name, within) in made.within {
                let list = within.iter().map(|(number, _, _)| values[*number].clone());
                made.entries.push((name, Value::list(list.collect())));
            }
            values[number] = Value::map(made.entries);
        }
        Ok(values)
    }
}

fn id(number: u64) -> Value {
    Value::Integer(number.cast_signed())
}

/// The properties that are shown, with something before their keys.
fn shown(properties: &Value, prefix: &str, shows: impl Fn(&str) -> bool) -> Vec<(Arc<str>, Value)> {
    let Value::Map(map) = properties else {
        return Vec::new();
    };
    let own = map.entries().iter().filter(|(key, _)| shows(key));
    own.map(|(key, value)| (Arc::from(format!("{prefix}{key}")), value.clone()))
        .collect()
}

/// The paths, long ones first unless that is not wanted; none: there is one empty map.
fn paths(call: &Call<'_>, args: &[Value]) -> Result<Option<Vec<Arc<Path>>>, ExecError> {
    let given = match &args[0] {
        Value::Null => return Ok(None),
        Value::List(items) if items.is_empty() => return Ok(None),
        Value::List(items) => items,
        other => {
            let told = told!("give a List of paths, not {}", other.type_name());
            return Err(call.failed(told));
        }
    };
    let path = |value: &Value| match value {
        Value::Path(path) => Ok(Arc::clone(path)),
        other => Err(call.failed(told!("give a List of paths, not of {}", other.type_name()))),
    };
    given
        .iter()
        .map(path)
        .collect::<Result<Vec<_>, _>>()
        .map(Some)
}

fn is_sorted(config: Option<&Value>) -> bool {
    match config {
        Some(Value::Map(config)) => config.get("sortPaths") != Some(&Value::Boolean(false)),
        _ => true,
    }
}

fn trees<'a>(call: &Call<'_>, known: &'a Known, args: &[Value]) -> Result<Trees<'a>, ExecError> {
    Ok(Trees {
        known,
        nodes: Filters::of(call, args.get(2), "nodes")?,
        rels: Filters::of(call, args.get(2), "rels")?,
        lower_case: args.get(1) != Some(&Value::Boolean(false)),
        made: Vec::new(),
        memory: call.on.database.budget.empty_reservation("trees"),
    })
}

fn nothing() -> Rows {
    vec![vec![Value::map(Vec::new())]]
}

fn to_tree(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let Some(given) = paths(call, args)? else {
        return Ok(nothing());
    };
    let known = Known::of(call, &given)?;
    let mut trees = trees(call, &known, args)?;
    let mut order: Vec<&Arc<Path>> = given.iter().collect();
    if is_sorted(args.get(2)) {
        order.sort_by_key(|path| std::cmp::Reverse(path.relationships.len()));
    }
    // The newest map of each node.
    let mut maps: HashMap<NodeId, usize> = HashMap::new();
    for path in order {
        call.check()?;
        for (at, node) in path.nodes.iter().enumerate() {
            let own = match maps.get(node) {
                Some(own) => *own,
                None => trees.make(*node, None, 0)?,
            };
            maps.insert(*node, own);
            let Some(rel) = path.relationships.get(at) else {
                break;
            };
            let (Some(relation), Some(next)) = (known.relations.get(rel), path.nodes.get(at + 1))
            else {
                continue;
            };
            let name = trees.type_name(relation);
            if let Some(number) = trees.add(own, (*rel, &name), *next)? {
                maps.insert(*next, number);
            }
        }
    }
    let values = trees.values(call)?;
    let mut starts = HashSet::new();
    let first = given.iter().filter_map(|path| path.nodes.first());
    let first = first.filter(|node| starts.insert(**node));
    let rows = first.map(|node| match maps.remove(node) {
        Some(number) => vec![values[number].clone()],
        None => vec![Value::map(Vec::new())],
    });
    Ok(rows.collect())
}

fn to_json_tree(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let Some(mut given) = paths(call, args)? else {
        return Ok(nothing());
    };
    if is_sorted(args.get(2)) {
        given.sort_by_key(|path| std::cmp::Reverse(path.relationships.len()));
    }
    let known = Known::of(call, &given)?;
    let mut trees = trees(call, &known, args)?;
    let mut maps: HashMap<NodeId, usize> = HashMap::new();
    // Nodes that lie within others, and those that did not when they came first.
    let (mut inner, mut roots, mut is_root) = (HashSet::new(), Vec::new(), HashSet::new());
    for path in &given {
        call.check()?;
        let steps = path.relationships.iter();
        let mut steps: Vec<(NodeId, Option<RelId>)> = steps
            .filter_map(|rel| Some((known.relations.get(rel)?.start, Some(*rel))))
            .collect();
        if let (true, Some(alone)) = (steps.is_empty(), path.nodes.first()) {
            steps.push((*alone, None));
        }
        for (node, rel) in steps {
            if !inner.contains(&node) && is_root.insert(node) {
                roots.push(node);
            }
            let own = match maps.get(&node) {
                Some(own) => *own,
                None => trees.make(node, None, 0)?,
            };
            maps.insert(node, own);
            let Some((rel, relation)) = rel.and_then(|rel| Some((rel, known.relations.get(&rel)?)))
            else {
                continue;
            };
            let name = trees.type_name(relation);
            if let Some(number) = trees.add(own, (rel, &name), relation.end)? {
                maps.entry(relation.end).or_insert(number);
                inner.insert(relation.end);
            }
        }
    }
    let values = trees.values(call)?;
    let rows = roots.iter().filter_map(|node| maps.get(node));
    Ok(rows.map(|number| vec![values[*number].clone()]).collect())
}
