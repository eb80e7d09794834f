//! `graven.weightedPaths`: the paths of least cost from a node to each that it reaches, behind
//! `[* WSHORTEST(cost)]` of Kuzu.
//!
//! # How it works
//! Dijkstra's search: the nearest node that is left is settled, and what it leads to is noted with
//! the relationships by which it is reached at that cost. It stops behind the end, where one is
//! given. Paths are made from the ends back, when rows are asked for. Relationships that lack the
//! property are not followed, unless it is said what they cost. Where paths may have so many
//! relationships only, a node is reached anew for each number of them, as long as more of them cost
//! less. The searches of `apoc.algo` are this one.
//!
//! # Invariants
//! * PR-3 No path has a node twice, also where relationships cost nothing.
//!
//! # Cost
//! All relationships that lead on from reached nodes are read once; memory for each reached node,
//! and for some of the rows. With a bound both are for each number of relationships, at most. Where
//! relationships cost nothing, each step of a path of `all` looks through the nodes of that cost,
//! so that no step leads nowhere; with a bound some may.

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
use graven_types::told;

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
            ("most", TypeSet::INTEGER),
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
const NODE_BYTES: u64 = 256;
/// Steps between two looks at the clock.
const CHUNK: u64 = 1024;
/// Nodes of the paths that are made at once.
const BATCH: usize = 4096;

/// A node, reached by so many relationships; 0 where their number is not bounded.
type Place = (u64, u32);

/// A node that was reached.
struct Reached {
    cost: f64,
    /// The places before it, and the relationships from there.
    before: Vec<(Place, RelId)>,
    settled: bool,
}

/// Relationships of a type in a direction, with what each costs.
struct Lists {
    adjacency: Adjacency,
    costs: Option<Column>,
}

/// Which paths are wanted.
pub(super) struct Wanted<'a> {
    /// Where they begin; none: there are none.
    pub(super) start: Option<u64>,
    /// Where all of them end, if it is given.
    pub(super) end: Option<u64>,
    /// Types that are followed, with their directions, each once.
    pub(super) directed: Vec<(TypeId, Direction)>,
    /// The property that is the cost of a relationship.
    pub(super) key: &'a str,
    /// What a relationship without it costs; none: it is not followed.
    pub(super) otherwise: Option<f64>,
    /// All paths of least cost, not one to each node.
    pub(super) all: bool,
    /// The most relationships that a path may have.
    pub(super) most: Option<u32>,
}

/// The node of an argument; none of null.
pub(super) fn node_of(
    call: &Call<'_>,
    name: &str,
    value: &Value,
) -> Result<Option<u64>, ExecError> {
    match value {
        Value::Node(node) => Ok(Some(node.0)),
        Value::Null => Ok(None),
        other => Err(call.failed(told!("{name} is a Node, not {}", other.type_name()))),
    }
}

fn paths(call: &Call<'_>, args: &[Value]) -> Result<Box<dyn MoreRows>, ExecError> {
    let [
        start,
        types,
        direction,
        Value::String(key),
        Value::Boolean(all),
        rest @ ..,
    ] = args
    else {
        return Err(call.failed("give start, types, direction, key and whether all are wanted"));
    };
    let start = node_of(call, "start", start)?;
    let end = rest
        .get(1)
        .map(|end| node_of(call, "end", end))
        .transpose()?;
    let most = match rest.first() {
        None | Some(Value::Null) => None,
        Some(Value::Integer(most)) => u32::try_from((*most).max(0)).ok(),
        Some(other) => {
            let told = told!("most is an Integer, not {}", other.type_name());
            return Err(call.failed(told));
        }
    };
    let wanted = Wanted {
        // An end that is null is never reached.
        start: start.filter(|_| end != Some(None)),
        end: end.flatten(),
        directed: directed(call, types, direction)?,
        key,
        otherwise: None,
        all: *all,
        most,
    };
    Ok(Box::new(least(call, wanted)?))
}

/// The wanted paths, which are made when their rows are asked for.
pub(super) fn least(call: &Call<'_>, wanted: Wanted<'_>) -> Result<Paths, ExecError> {
    let context = &call.on.context;
    let mut found = Paths {
        start: (wanted.start.unwrap_or_default(), 0),
        all: wanted.all,
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
    if wanted.start.is_none() {
        return Ok(found);
    }
    let search = Search {
        call,
        lists: lists(call, &wanted)?,
        wanted,
    };
    let of_nodes = search.settle(&mut found)?;
    found.grow(size_of::<Place>() as u64 * found.reached.len() as u64)?;
    let end = search.wanted.end;
    let places = found.reached.iter().filter(|((node, _), reached)| {
        let least = of_nodes.get(node).map(|it| it.least);
        let wanted = *node != found.start.0 && end.is_none_or(|end| end == *node);
        wanted && reached.settled && least == Some(reached.cost)
    });
    let mut ends: Vec<Place> = places.map(|(place, _)| *place).collect();
    ends.sort_unstable();
    if !found.all {
        ends.dedup_by_key(|(node, _)| *node);
    }
    found.ends = ends.into_iter();
    Ok(found)
}

/// The types of these names, all where there is no name, with the directions that a word says.
fn directed(
    call: &Call<'_>,
    types: &Value,
    direction: &Value,
) -> Result<Vec<(TypeId, Direction)>, ExecError> {
    let catalog = call.caller.snapshot.catalog();
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
        other => return Err(call.failed(told!("a direction is out, in or both, not {other}"))),
    };
    let both = |own: TypeId| directions.iter().map(move |to| (own, *to));
    Ok(wanted.into_iter().flat_map(both).collect())
}

/// The lists of the wanted types.
fn lists(call: &Call<'_>, wanted: &Wanted<'_>) -> Result<Vec<Lists>, ExecError> {
    let snapshot = call.caller.snapshot;
    let key = snapshot.catalog().key(wanted.key);
    let mut lists = Vec::new();
    for (rel_type, direction) in &wanted.directed {
        lists.push(Lists {
            adjacency: snapshot.adjacency(*rel_type, *direction)?,
            costs: key.and_then(|key| snapshot.relationship_column(*rel_type, key)),
        });
    }
    Ok(lists)
}

struct Search<'a> {
    call: &'a Call<'a>,
    lists: Vec<Lists>,
    wanted: Wanted<'a>,
}

/// What is settled of a node, in the order of costs.
struct Settled {
    least: f64,
    /// The cost that came last, and the fewest relationships for it.
    last: (f64, u32),
    /// The fewest relationships for less than that.
    before: u32,
}

impl Settled {
    /// The fewest relationships for less than `cost`, which is no less than the last one; with
    /// `equal`, for as much, too.
    fn fewest(&self, cost: f64, equal: bool) -> u32 {
        match equal || cost > self.last.0 {
            true => self.before.min(self.last.1),
            false => self.before,
        }
    }
}

/// Whether a place is of no use: its node is reached by no more relationships for less, or where
/// one path is enough, for as much.
fn is_beaten(of: &HashMap<u64, Settled>, place: Place, cost: f64, all: bool) -> bool {
    let settled = of.get(&place.0);
    settled.is_some_and(|it| cost >= it.last.0 && it.fewest(cost, !all) <= place.1)
}

impl Search<'_> {
    /// Settles all that the start reaches; with an end, what is no farther than it.
    fn settle(&self, to: &mut Paths) -> Result<HashMap<u64, Settled>, ExecError> {
        let start = to.start;
        let origin = Reached {
            cost: 0.0,
            before: Vec::new(),
            settled: false,
        };
        to.reached.insert(start, origin);
        let mut of_nodes: HashMap<u64, Settled> = HashMap::new();
        // Costs are not negative, so their bits have the order of the numbers.
        let mut next = BinaryHeap::from([Reverse((0.0f64.to_bits(), start.1, start.0))]);
        let mut found = Vec::new();
        let mut room = 0;
        let mut farthest = f64::INFINITY;
        while let Some(Reverse((_, steps, node))) = next.pop() {
            to.clock.step()?;
            let place = (node, steps);
            let Some(known) = to.reached.get_mut(&place).filter(|it| !it.settled) else {
                continue;
            };
            let cost = known.cost;
            if cost > farthest {
                break;
            }
            if is_beaten(&of_nodes, place, cost, to.all) {
                continue;
            }
            known.settled = true;
            let settled = of_nodes.entry(node).or_insert(Settled {
                least: cost,
                last: (cost, steps),
                before: u32::MAX,
            });
            settled.before = settled.fewest(cost, false);
            settled.last = match cost > settled.last.0 {
                true => (cost, steps),
                false => (cost, settled.last.1.min(steps)),
            };
            if self.wanted.end == Some(node) {
                // Others of this cost may lead to it by what costs nothing.
                farthest = farthest.min(cost);
                if !to.all {
                    break;
                }
            }
            let further = match self.wanted.most {
                None => steps,
                Some(most) if steps < most => steps + 1,
                Some(_) => continue,
            };
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
                    let (other, cost) = ((neighbour.node.0, further), cost + own);
                    if other.0 == start.0 || other.0 == node {
                        continue;
                    }
                    if is_beaten(&of_nodes, other, cost, to.all) {
                        continue;
                    }
                    let known = to.reached.get(&other);
                    if known.is_none_or(|known| cost < known.cost) {
                        to.grow(NODE_BYTES)?;
                        next.push(Reverse((cost.to_bits(), other.1, other.0)));
                        let reached = Reached {
                            cost,
                            before: vec![(place, rel)],
                            settled: false,
                        };
                        to.reached.insert(other, reached);
                    } else if to.all && known.is_some_and(|known| known.cost == cost) {
                        to.grow(NODE_BYTES)?;
                        if let Some(known) = to.reached.get_mut(&other) {
                            known.before.push((place, rel));
                        }
                    }
                }
            }
        }
        Ok(of_nodes)
    }

    fn cost_of(&self, lists: &Lists, rel: RelId) -> Result<Option<f64>, ExecError> {
        let otherwise = self.wanted.otherwise;
        let Some(costs) = &lists.costs else {
            return Ok(otherwise);
        };
        let cost = match costs.get(rel.0)? {
            PropertyValue::Null => return Ok(otherwise),
            PropertyValue::Integer(cost) => cost as f64,
            PropertyValue::Float(cost) => cost,
            other => {
                let told = told!("{} is a number, not {}", self.wanted.key, other.type_name());
                return Err(self.call.failed(told));
            }
        };
        if cost >= 0.0 {
            // Also without the sign of a negative zero.
            return Ok(Some(cost.abs()));
        }
        let told = told!(
            "a relationship has {} = {cost}: a path of least cost needs costs from 0 on",
            self.wanted.key
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
    /// The places so far, and which of the ways before each is taken next.
    places: Vec<(Place, usize)>,
    relationships: Vec<RelId>,
    within: HashSet<u64>,
}

/// Makes the paths of what was reached.
pub(super) struct Paths {
    start: Place,
    all: bool,
    reached: HashMap<Place, Reached>,
    ends: std::vec::IntoIter<Place>,
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

    /// The next path and what it costs: one for each end, or all.
    fn next_path(&mut self) -> Result<Option<(Path, f64)>, ExecError> {
        loop {
            self.clock.step()?;
            let Some((place, way)) = self.walk.places.last_mut() else {
                let Some(end) = self.ends.next() else {
                    return Ok(None);
                };
                self.walk.places.push((end, 0));
                self.walk.within.insert(end.0);
                continue;
            };
            let place = *place;
            let from = &self.reached[&place];
            let next = from.before.get(*way).filter(|_| place != self.start);
            let Some(&(before, relationship)) = next else {
                self.walk.within.remove(&place.0);
                self.walk.places.pop();
                self.walk.relationships.pop();
                continue;
            };
            *way += 1;
            let circles = self.all && self.reached[&before].cost == from.cost;
            if circles && !self.leads_on(before)? {
                continue;
            }
            self.walk.within.insert(before.0);
            self.walk.places.push((before, 0));
            self.walk.relationships.push(relationship);
            if before == self.start {
                let cost = self.reached[&self.walk.places[0].0].cost;
                let places = self.walk.places.iter().rev();
                let relationships = self.walk.relationships.iter().rev();
                let path = Path {
                    nodes: places.map(|((node, _), _)| NodeId(*node)).collect(),
                    relationships: relationships.copied().collect(),
                };
                if !self.all {
                    self.walk = Walk::default();
                }
                return Ok(Some((path, cost)));
            }
        }
    }

    /// Whether the start is reached from a place by nodes that the walk has not met. All that it
    /// has met cost no less: a way to a lower cost is free.
    fn leads_on(&mut self, from: Place) -> Result<bool, ExecError> {
        if self.walk.within.contains(&from.0) {
            return Ok(false);
        }
        let cost = self.reached[&from].cost;
        let mut met = HashSet::from([from]);
        let mut open = vec![from];
        while let Some(place) = open.pop() {
            if place == self.start {
                return Ok(true);
            }
            for (before, _) in &self.reached[&place].before {
                self.clock.step()?;
                if self.reached[before].cost < cost {
                    return Ok(true);
                }
                if !self.walk.within.contains(&before.0) && met.insert(*before) {
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
            && let Some((path, cost)) = self.next_path()?
        {
            let length = path.nodes.len();
            made += length;
            let bytes = 64 * (length as u64 + 1);
            memory.grow(bytes).map_err(no_room)?;
            let end = path.nodes.last().map_or(self.start.0, |node| node.0);
            let relationships = path.relationships.iter();
            let relationships = relationships.map(|it| Value::Relationship(*it));
            rows.push(vec![
                Value::Node(NodeId(end)),
                Value::list(relationships.collect()),
                Value::Path(Arc::new(path)),
                Value::Float(cost),
            ]);
        }
        self.handed = Some(memory);
        Ok((!rows.is_empty()).then_some(rows))
    }
}
