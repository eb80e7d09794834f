//! `graven.weightedPaths`: the paths of least cost from a node to each that it reaches, behind
//! `[* WSHORTEST(cost)]` of Kuzu.
//!
//! # How it works
//! Dijkstra's search: the nearest node that is left is settled, and what it leads to is noted with
//! the relationships by which it is reached at that cost. Rows are made when all is settled.
//! Relationships that lack the property are not followed.
//!
//! # Invariants
//! * PR-3 No path has a node twice, also where relationships cost nothing.
//!
//! # Cost
//! All relationships that lead on from reached nodes are read once; memory for each reached node,
//! and for the rows.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Path, Value};
use graven_storage::{Adjacency, Column, Direction, NodeId, PropertyValue, RelId, TypeId};

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
    Body::OfCall(paths),
)];

/// Bytes of what is known of a reached node.
const NODE_BYTES: u64 = 128;
/// Settled nodes between two looks at the clock.
const CHUNK: usize = 1024;

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

fn paths(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let [
        start,
        types,
        direction,
        Value::String(key),
        Value::Boolean(all),
    ] = args
    else {
        return Err(call.failed("give start, types, direction, key and whether all are wanted"));
    };
    let start = match start {
        Value::Node(start) => start.0,
        Value::Null => return Ok(Rows::new()),
        other => return Err(call.failed(format!("start is a Node, not {}", other.type_name()))),
    };
    let mut search = Search {
        call,
        lists: lists(call, types, direction, key)?,
        key,
        all: *all,
        reached: HashMap::new(),
    };
    let mut memory = call.on.database.budget.empty_reservation("paths");
    search.settle(start, &mut |bytes| memory.grow(bytes).map_err(no_room))?;
    let mut ends: Vec<u64> = search.reached.keys().copied().collect();
    ends.retain(|end| *end != start);
    ends.sort_unstable();
    let mut rows = Rows::new();
    for end in ends {
        call.check()?;
        let cost = Value::Float(search.reached[&end].cost);
        search.each_path(start, end, &mut |path| {
            let length = path.relationships.len() as u64;
            memory.grow(64 * (length + 2)).map_err(no_room)?;
            let relationships = path.relationships.iter();
            let relationships = relationships.map(|it| Value::Relationship(*it)).collect();
            rows.push(vec![
                Value::Node(NodeId(end)),
                Value::list(relationships),
                Value::Path(Arc::new(path)),
                cost.clone(),
            ]);
            Ok(())
        })?;
    }
    Ok(rows)
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
    all: bool,
    reached: HashMap<u64, Reached>,
}

impl Search<'_> {
    /// Settles all that the start reaches.
    fn settle(
        &mut self,
        start: u64,
        grow: &mut dyn FnMut(u64) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let origin = Reached {
            cost: 0.0,
            before: Vec::new(),
            settled: false,
        };
        self.reached.insert(start, origin);
        // Costs are not negative, so their bits have the order of the numbers.
        let mut next = BinaryHeap::from([Reverse((0.0f64.to_bits(), start))]);
        let mut found = Vec::new();
        let mut settled = 0;
        while let Some(Reverse((_, node))) = next.pop() {
            let Some(known) = self.reached.get_mut(&node) else {
                continue;
            };
            if std::mem::replace(&mut known.settled, true) {
                continue;
            }
            let cost = known.cost;
            settled += 1;
            if settled % CHUNK == 0 {
                self.call.check()?;
            }
            for lists in &self.lists {
                found.clear();
                lists.adjacency.neighbours(NodeId(node), &mut found)?;
                for neighbour in &found {
                    let rel = neighbour.relationship;
                    let Some(own) = self.cost_of(lists, rel)? else {
                        continue;
                    };
                    let (other, cost) = (neighbour.node.0, cost + own);
                    let known = self.reached.get(&other);
                    let nearer = known.is_none_or(|known| cost < known.cost);
                    if nearer {
                        grow(NODE_BYTES)?;
                        next.push(Reverse((cost.to_bits(), other)));
                        let before = vec![(node, rel)];
                        let settled = false;
                        self.reached.insert(
                            other,
                            Reached {
                                cost,
                                before,
                                settled,
                            },
                        );
                    } else if self.all
                        && known.is_some_and(|known| known.cost == cost)
                        && other != start
                        && let Some(known) = self.reached.get_mut(&other)
                        && !known.before.contains(&(node, rel))
                    {
                        grow(NODE_BYTES)?;
                        known.before.push((node, rel));
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

    /// Hands over the paths to `end`: one of them, or all.
    fn each_path(
        &self,
        start: u64,
        end: u64,
        give: &mut dyn FnMut(Path) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        // From the end back: the nodes so far, and which of the ways before each is taken next.
        let mut walk: Vec<(u64, usize)> = vec![(end, 0)];
        let mut rels: Vec<RelId> = Vec::new();
        let mut within = HashSet::from([end]);
        while let Some((node, way)) = walk.last_mut() {
            let ways = &self.reached[node].before;
            let next = ways.get(*way).copied().filter(|_| *node != start);
            let Some((before, rel)) = next else {
                within.remove(node);
                walk.pop();
                rels.pop();
                continue;
            };
            *way += 1;
            if !within.insert(before) {
                continue;
            }
            walk.push((before, 0));
            rels.push(rel);
            if before == start {
                let nodes = walk.iter().rev().map(|(node, _)| NodeId(*node));
                give(Path {
                    nodes: nodes.collect(),
                    relationships: rels.iter().rev().copied().collect(),
                })?;
                self.call.check()?;
                if !self.all {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
