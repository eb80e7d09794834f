//! `graven.weightedPaths`: the paths of least cost from a node to each that it reaches, behind
//! `[* WSHORTEST(cost)]` of Kuzu.
//!
//! # How it works
//! Dijkstra's search: the nearest node that is left is settled, and what it leads to is noted with
//! the relationships by which it is reached at that cost. It stops behind the end, where one is
//! given. Paths are made from the ends back, when rows are asked for. Relationships that lack the
//! property are not followed.
//!
//! # Invariants
//! * PR-3 No path has a node twice, also where relationships cost nothing.
//!
//! # Cost
//! All relationships that lead on from reached nodes are read once; memory for each reached node,
//! and for some of the rows. Where relationships cost nothing, each step of a path of `all` looks
//! through the nodes of that cost, so that no step leads nowhere.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use graven_cypher::TypeSet;
use graven_exec::{Deadline, ExecError, MoreRows, Path, Value};
use graven_pagecache::Reservation;
use graven_storage::{
    Adjacency, Column, Direction, Neighbour, NodeId, PropertyValue, RelId, TypeId,
};

use super::Rows;
use super::entry::{Body, Procedure, procedure};
use super::inner::{Call, no_room};
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[procedure(
    "graven.weightedPaths",
    "the paths of least cost from a node to each that it reaches",
    (
        &[
            ("start", TypeSet::NODE),
            ("types", TypeSet::LIST),
            ("direction", TypeSet::STRING),
            ("key", TypeSet::STRING),
            ("all", TypeSet::BOOLEAN),
            ("end", TypeSet::NODE),
        ],
        5,
    ),
    Right::Read,
    &[
        ("node", TypeSet::NODE),
        ("relationships", TypeSet::LIST),
        ("path", TypeSet::PATH),
        ("cost", TypeSet::FLOAT),
    ],
    Body::Streams(paths),
)];

/// Bytes of what is known of a reached node, and of its part in a walk back.
const NODE_BYTES: u64 = 192;
/// Steps between two looks at the clock.
const CHUNK: u64 = 1024;
/// Nodes of the paths that are made at once.
const BATCH: usize = 4096;

/// A node that was reached.
struct Reached {
    cost: f64,
    /// The nodes before it, and the relationships from there.
    before: Vec<(u64, RelId)>,
    settled: bool,
}

/// Relationships of a type in a direction, with what each costs.
struct Lists {
    adjacency: Adjacency,
    costs: Option<Column>,
}

fn paths(call: &Call<'_>, args: &[Value]) -> Result<Box<dyn MoreRows>, ExecError> {
    let [
        start,
        types,
        direction,
        Value::String(key),
        Value::Boolean(all),
        end @ ..,
    ] = args
    else {
        return Err(call.failed("give start, types, direction, key and whether all are wanted"));
    };
    let node = |name: &str, value: &Value| match value {
        Value::Node(node) => Ok(Some(node.0)),
        Value::Null => Ok(None),
        other => Err(call.failed(format!("{name} is a Node, not {}", other.type_name()))),
    };
    let start = node("start", start)?;
    let end = end.first().map(|end| node("end", end)).transpose()?;
    let context = &call.on.context;
    let mut found = Paths {
        start: start.unwrap_or_default(),
        all: *all,
        reached: HashMap::new(),
        ends: Vec::new().into_iter(),
        walk: Walk::default(),
        clock: Clock {
            deadline: context.deadline,
            cancel: Arc::clone(&context.cancel),
            steps: 0,
        },
        memory: call.on.database.budget.empty_reservation("paths"),
        handed: None,
    };
    let (Some(_), None | Some(Some(_))) = (start, end) else {
        return Ok(Box::new(found));
    };
    let search = Search {
        call,
        lists: lists(call, types, direction, key)?,
        key,
        end: end.flatten(),
    };
    search.settle(&mut found)?;
    let mut ends: Vec<u64> = match search.end {
        Some(end) => vec![end],
        None => {
            found.grow(8 * found.reached.len() as u64)?;
            found.reached.keys().copied().collect()
        }
    };
    ends.retain(|end| *end != found.start && found.reached.contains_key(end));
    ends.sort_unstable();
    found.ends = ends.into_iter();
    Ok(Box::new(found))
}

/// The lists of these types; of all types if none is named.
fn lists(
    call: &Call<'_>,
    types: &Value,
    direction: &Value,
    key: &str,
) -> Result<Vec<Lists>, ExecError> {
    let snapshot = call.caller.snapshot;
    let catalog = snapshot.catalog();
    let named: &[Value] = match types {
        Value::List(items) => items,
        _ => &[],
    };
    let mut wanted: Vec<TypeId> = Vec::new();
    for name in named {
        let Value::String(name) = name else {
            return Err(call.failed("the types are Strings"));
        };
        wanted.extend(catalog.rel_type(name));
    }
    if named.is_empty() {
        let all = catalog.types().iter();
        wanted.extend(all.filter_map(|name| catalog.rel_type(name)));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let directions: &[Direction] = match direction {
        Value::String(text) if **text == *"out" => &[Direction::Out],
        Value::String(text) if **text == *"in" => &[Direction::In],
        Value::String(text) if **text == *"both" => &[Direction::Out, Direction::In],
        other => return Err(call.failed(format!("a direction is out, in or both, not {other}"))),
    };
    let key = catalog.key(key);
    let mut lists = Vec::new();
    for rel_type in wanted {
        for direction in directions {
            let costs = key.and_then(|key| snapshot.relationship_column(rel_type, key));
            lists.push(Lists {
                adjacency: snapshot.adjacency(rel_type, *direction)?,
                costs,
            });
        }
    }
    Ok(lists)
}

struct Search<'a> {
    call: &'a Call<'a>,
    lists: Vec<Lists>,
    key: &'a str,
    end: Option<u64>,
}

impl Search<'_> {
    /// Settles all that the start reaches; with an end, what is no farther than it.
    fn settle(&self, to: &mut Paths) -> Result<(), ExecError> {
        let start = to.start;
        let origin = Reached {
            cost: 0.0,
            before: Vec::new(),
            settled: false,
        };
        to.reached.insert(start, origin);
        // Costs are not negative, so their bits have the order of the numbers.
        let mut next = BinaryHeap::from([Reverse((0.0f64.to_bits(), start))]);
        let mut found = Vec::new();
        let mut room = 0;
        let mut most = f64::INFINITY;
        while let Some(Reverse((_, node))) = next.pop() {
            to.clock.step()?;
            let Some(known) = to.reached.get_mut(&node) else {
                continue;
            };
            if std::mem::replace(&mut known.settled, true) {
                continue;
            }
            let cost = known.cost;
            if cost > most {
                break;
            }
            if self.end == Some(node) {
                // Others of this cost may lead to it by what costs nothing.
                most = cost;
                if !to.all {
                    break;
                }
            }
            for lists in &self.lists {
                found.clear();
                lists.adjacency.neighbours(NodeId(node), &mut found)?;
                let held = (found.capacity() * size_of::<Neighbour>()) as u64;
                if held > room {
                    to.grow(held - room)?;
                    room = held;
                }
                for neighbour in &found {
                    to.clock.step()?;
                    let rel = neighbour.relationship;
                    let Some(own) = self.cost_of(lists, rel)? else {
                        continue;
                    };
                    let (other, cost) = (neighbour.node.0, cost + own);
                    let known = to.reached.get(&other);
                    if known.is_none_or(|known| cost < known.cost) {
                        to.grow(NODE_BYTES)?;
                        next.push(Reverse((cost.to_bits(), other)));
                        let reached = Reached {
                            cost,
                            before: vec![(node, rel)],
                            settled: false,
                        };
                        to.reached.insert(other, reached);
                    } else if to.all
                        && known.is_some_and(|known| known.cost == cost)
                        && other != start
                        && other != node
                    {
                        to.grow(NODE_BYTES)?;
                        if let Some(known) = to.reached.get_mut(&other) {
                            known.before.push((node, rel));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn cost_of(&self, lists: &Lists, rel: RelId) -> Result<Option<f64>, ExecError> {
        let Some(costs) = &lists.costs else {
            return Ok(None);
        };
        let cost = match costs.get(rel.0)? {
            PropertyValue::Null => return Ok(None),
            PropertyValue::Integer(cost) => cost as f64,
            PropertyValue::Float(cost) => cost,
            other => {
                let told = format!("{} is a number, not {}", self.key, other.type_name());
                return Err(self.call.failed(told));
            }
        };
        if cost >= 0.0 {
            // Also without the sign of a negative zero.
            return Ok(Some(cost.abs()));
        }
        let told = format!(
            "a relationship has {} = {cost}: a path of least cost needs costs from 0 on",
            self.key
        );
        Err(self.call.failed(told))
    }
}

/// Asks now and then whether the calling statement is to stop.
struct Clock {
    deadline: Option<Deadline>,
    cancel: Arc<AtomicBool>,
    steps: u64,
}

impl Clock {
    fn step(&mut self) -> Result<(), ExecError> {
        self.steps += 1;
        match self.steps % CHUNK {
            0 => Deadline::check(self.deadline, &self.cancel),
            _ => Ok(()),
        }
    }
}

/// The way from an end back.
#[derive(Default)]
struct Walk {
    /// The nodes so far, and which of the ways before each is taken next.
    nodes: Vec<(u64, usize)>,
    relationships: Vec<RelId>,
    within: HashSet<u64>,
}

/// Makes the paths of what was reached.
struct Paths {
    start: u64,
    all: bool,
    reached: HashMap<u64, Reached>,
    ends: std::vec::IntoIter<u64>,
    walk: Walk,
    clock: Clock,
    memory: Reservation,
    /// For the rows that were made last.
    handed: Option<Reservation>,
}

impl Paths {
    fn grow(&mut self, bytes: u64) -> Result<(), ExecError> {
        self.memory.grow(bytes).map_err(no_room)
    }

    /// The next path: one for each end, or all.
    fn next_path(&mut self) -> Result<Option<Path>, ExecError> {
        loop {
            self.clock.step()?;
            let Some((node, way)) = self.walk.nodes.last_mut() else {
                let Some(end) = self.ends.next() else {
                    return Ok(None);
                };
                self.walk.nodes.push((end, 0));
                self.walk.within.insert(end);
                continue;
            };
            let node = *node;
            let from = &self.reached[&node];
            let next = from.before.get(*way).filter(|_| node != self.start);
            let Some(&(before, relationship)) = next else {
                self.walk.within.remove(&node);
                self.walk.nodes.pop();
                self.walk.relationships.pop();
                continue;
            };
            *way += 1;
            let circles = self.all && self.reached[&before].cost == from.cost;
            if circles && !self.leads_on(before)? {
                continue;
            }
            self.walk.within.insert(before);
            self.walk.nodes.push((before, 0));
            self.walk.relationships.push(relationship);
            if before == self.start {
                let nodes = self.walk.nodes.iter().rev();
                let relationships = self.walk.relationships.iter().rev();
                let path = Path {
                    nodes: nodes.map(|(node, _)| NodeId(*node)).collect(),
                    relationships: relationships.copied().collect(),
                };
                if !self.all {
                    self.walk = Walk::default();
                }
                return Ok(Some(path));
            }
        }
    }

    /// Whether the start is reached from a node by nodes that the walk has not met. All that it has
    /// met cost no less: a way to a lower cost is free.
    fn leads_on(&mut self, from: u64) -> Result<bool, ExecError> {
        if self.walk.within.contains(&from) {
            return Ok(false);
        }
        let cost = self.reached[&from].cost;
        let mut met = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            if node == self.start {
                return Ok(true);
            }
            for (before, _) in &self.reached[&node].before {
                self.clock.step()?;
                if self.reached[before].cost < cost {
                    return Ok(true);
                }
                if !self.walk.within.contains(before) && met.insert(*before) {
                    open.push(*before);
                }
            }
        }
        Ok(false)
    }
}

impl MoreRows for Paths {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        self.handed = None;
        let mut memory = self.memory.budget().empty_reservation("paths");
        let mut rows = Rows::new();
        let mut made = 0;
        while made < BATCH
            && let Some(path) = self.next_path()?
        {
            let length = path.nodes.len();
            made += length;
            let bytes = 64 * (length as u64 + 1);
            memory.grow(bytes).map_err(no_room)?;
            let end = path.nodes.last().map_or(self.start, |node| node.0);
            let relationships = path.relationships.iter();
            let relationships = relationships.map(|it| Value::Relationship(*it));
            rows.push(vec![
                Value::Node(NodeId(end)),
                Value::list(relationships.collect()),
                Value::Path(Arc::new(path)),
                Value::Float(self.reached[&end].cost),
            ]);
        }
        self.handed = Some(memory);
        Ok((!rows.is_empty()).then_some(rows))
    }
}
