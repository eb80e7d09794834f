//! `apoc.nodes.group`: nodes that stand for all nodes with a label and the same values.
//!
//! # How it works
//! One statement gives the nodes of all labels, another their relationships. Groups and what is
//! counted of them are kept, and charged; nodes and relationships that stand for them are made at
//! the end. A node with several of the labels is in a group of each.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Map, MoreRows, Standing, Value};
use graven_pagecache::Reservation;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Procedure, procedure};
use super::super::inner::{Call, no_room};
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[procedure(
    "apoc.nodes.group",
    "nodes that stand for all nodes with a label and the same values of properties, and \
        relationships between them",
    (
        &[
            ("labels", TypeSet::LIST),
            ("groupByProperties", TypeSet::LIST),
            ("aggregations", TypeSet::LIST),
            ("config", TypeSet::MAP),
        ],
        2,
    ),
    Right::Read,
    &[
        ("nodes", TypeSet::LIST),
        ("relationships", TypeSet::LIST),
        ("node", TypeSet::ANY),
        ("relationship", TypeSet::ANY),
    ],
    Body::OfCall(group),
)];

/// What is computed of a property of all members: how, and of which.
struct Wanted {
    how: Arc<str>,
    /// Its place among the keys that are read; none of `*`.
    of: Option<usize>,
    name: Arc<str>,
}

/// All that is computed, and the keys that it reads.
#[derive(Default)]
struct Aggregates {
    wanted: Vec<Wanted>,
    keys: Vec<Value>,
}

impl Aggregates {
    fn of(call: &Call<'_>, given: Option<&Value>) -> Result<Aggregates, ExecError> {
        let mut all = Aggregates::default();
        let map = match given {
            None | Some(Value::Null) => return Ok(all),
            Some(Value::Map(map)) => map,
            Some(other) => {
                let told = told!("aggregations are Maps, not {}", other.type_name());
                return Err(call.failed(told));
            }
        };
        for (key, how) in map.entries() {
            let how = match how {
                Value::List(all) => &all[..],
                one => std::slice::from_ref(one),
            };
            let of = (**key != *"*").then_some(all.keys.len());
            for how in how {
                let Value::String(how) = how else {
                    return Err(call.failed("an aggregation is named by a String"));
                };
                all.wanted.push(Wanted {
                    how: Arc::clone(how),
                    of,
                    name: Arc::from(format!("{how}_{key}")),
                });
            }
            if of.is_some() {
                all.keys.push(Value::String(Arc::clone(key)));
            }
        }
        Ok(all)
    }
}

/// What was computed so far of one of [`Wanted`].
#[derive(Clone, Default)]
struct Sum {
    count: i64,
    sum: f64,
    least: Option<f64>,
    greatest: Option<f64>,
    values: Vec<Value>,
}

/// Nodes or relationships that one stands for.
struct Group {
    /// Its label or type.
    name: Arc<str>,
    /// Where it begins and ends, if it is of relationships.
    ends: (usize, usize),
    /// The values that its nodes have.
    values: Vec<(Arc<str>, Value)>,
    sums: Vec<Sum>,
}

impl Group {
    fn add(&mut self, wanted: &[Wanted], read: &[Value]) -> usize {
        let mut kept = 0;
        for (wanted, sum) in wanted.iter().zip(&mut self.sums) {
            let Some(at) = wanted.of else {
                sum.count += 1;
                continue;
            };
            let value = read.get(at).unwrap_or(&Value::Null);
            if value.is_null() {
                continue;
            }
            sum.count += 1;
            if *wanted.how == *"collect" {
                kept += size_of::<Value>() + value.heap_bytes();
                sum.values.push(value.clone());
            }
            let number = match value {
                Value::Integer(integer) => *integer as f64,
                Value::Float(float) => *float,
                _ => continue,
            };
            sum.sum += number;
            sum.least = Some(sum.least.map_or(number, |least| least.min(number)));
            sum.greatest = Some(sum.greatest.map_or(number, |most| most.max(number)));
        }
        kept
    }

    fn properties(&self, wanted: &[Wanted]) -> Vec<(Arc<str>, Value)> {
        let mut all = self.values.clone();
        for (wanted, sum) in wanted.iter().zip(&self.sums) {
            let value = match &*wanted.how {
                _ if sum.count == 0 => None,
                "count" => Some(Value::Integer(sum.count)),
                _ if wanted.of.is_none() => None,
                "collect" => Some(Value::list(sum.values.clone())),
                "sum" => sum.least.map(|_| whole(sum.sum)),
                "min" => sum.least.map(whole),
                "max" => sum.greatest.map(whole),
                "avg" => sum.least.map(|_| Value::Float(sum.sum / sum.count as f64)),
                _ => None,
            };
            all.extend(value.map(|value| (Arc::clone(&wanted.name), value)));
        }
        all
    }
}

/// A number, as an integer if it is one.
fn whole(number: f64) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "compared with what it was")]
    let integer = number as i64;
    match integer as f64 == number {
        true => Value::Integer(integer),
        false => Value::Float(number),
    }
}

/// What the configuration says.
struct Config<'a> {
    orphans: bool,
    self_rels: bool,
    nodes_max: usize,
    rels_max: usize,
    rels_per_node: usize,
    included: Option<Vec<Arc<str>>>,
    excluded: Vec<Arc<str>>,
    filter: Option<&'a Map>,
}

/// A text, or a list of texts.
fn names(value: Option<&Value>) -> Vec<Arc<str>> {
    let all = match value {
        Some(Value::List(items)) => &items[..],
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let name = |value: &Value| match value {
        Value::String(name) => Some(Arc::clone(name)),
        _ => None,
    };
    all.iter().filter_map(name).collect()
}

impl<'a> Config<'a> {
    fn of(given: Option<&'a Value>) -> Config<'a> {
        let get = |name: &str| match given {
            Some(Value::Map(map)) => map.get(name),
            _ => None,
        };
        let most = |name: &str| match get(name) {
            Some(Value::Integer(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let is = |name: &str| get(name) != Some(&Value::Boolean(false));
        Config {
            orphans: is("orphans"),
            self_rels: is("selfRels"),
            nodes_max: most("limitNodes"),
            rels_max: most("limitRels"),
            rels_per_node: most("relsPerNode"),
            included: get("includeRels").map(|included| names(Some(included))),
            excluded: names(get("excludeRels")),
            filter: match get("filter") {
                Some(Value::Map(map)) => Some(map),
                _ => None,
            },
        }
    }

    fn follows(&self, rel_type: &Arc<str>) -> bool {
        let included = self.included.as_ref();
        included.is_none_or(|all| all.contains(rel_type)) && !self.excluded.contains(rel_type)
    }

    /// Whether numbers lie between the bounds that the filter sets, for this name or for all.
    fn passes(&self, name: &str, properties: &[(Arc<str>, Value)]) -> bool {
        let Some(filter) = self.filter else {
            return true;
        };
        let bound = |key: &str, end: &str| {
            let own = filter.get(&format!("{name}.{key}.{end}"));
            match own.or_else(|| filter.get(&format!("{key}.{end}"))) {
                Some(Value::Integer(bound)) => Some(*bound as f64),
                Some(Value::Float(bound)) => Some(*bound),
                _ => None,
            }
        };
        properties.iter().all(|(key, value)| {
            let number = match value {
                Value::Integer(integer) => *integer as f64,
                Value::Float(float) => float.trunc(),
                _ => return true,
            };
            bound(key, "min").is_none_or(|least| least <= number)
                && bound(key, "max").is_none_or(|most| number <= most)
        })
    }
}

const NODES: &str = "UNWIND $labels AS label MATCH (n:$(label)) \
    RETURN label, n, [k IN $keys | n[k]] AS key, [k IN $read | n[k]] AS values";
const RELATIONSHIPS: &str = "UNWIND $labels AS label MATCH (n:$(label))-[r]->(m) \
    WITH DISTINCT n, r, m RETURN n, m, type(r) AS type, [k IN $read | r[k]] AS values";

/// Groups by what their members share.
struct Groups<K> {
    all: Vec<Group>,
    by_key: HashMap<K, usize>,
    memory: Reservation,
}

impl<K: std::hash::Hash + Eq> Groups<K> {
    fn new(call: &Call<'_>) -> Self {
        Groups {
            all: Vec::new(),
            by_key: HashMap::new(),
            memory: call.on.database.budget.empty_reservation("groups"),
        }
    }

    /// Adds a member to the group of its key, which is made if it is not there.
    fn add(
        &mut self,
        key: K,
        make: impl FnOnce() -> Group,
        wanted: &[Wanted],
        read: &[Value],
    ) -> Result<usize, ExecError> {
        let at = *self.by_key.entry(key).or_insert(self.all.len());
        let mut bytes = 0;
        if at == self.all.len() {
            let mut group = make();
            group.sums.resize(wanted.len(), Sum::default());
            let values = group.values.iter().map(|(_, value)| value.heap_bytes());
            bytes += size_of::<Group>() + wanted.len() * size_of::<Sum>() + values.sum::<usize>();
            self.all.push(group);
        }
        bytes += self.all[at].add(wanted, read);
        self.memory.grow(bytes as u64).map_err(no_room)?;
        Ok(at)
    }
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        _ => &[],
    }
}

fn group(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let (Value::List(_), Value::List(keys)) = (&args[0], &args[1]) else {
        return Err(call.failed("labels and groupByProperties are Lists"));
    };
    let mut labels: BTreeSet<Arc<str>> = names(args.first()).into_iter().collect();
    if labels.remove("*") {
        let all = call.rows("CALL db.labels() YIELD label RETURN label", Vec::new())?;
        labels.extend(all.iter().flat_map(|row| names(row.first())));
    }
    let counts = Value::map(vec![(Arc::from("*"), Value::text("count"))]);
    let told = args.get(2).map_or(&[][..], list);
    let of = |at: usize| match told.is_empty() {
        true => Aggregates::of(call, Some(&counts)),
        false => Aggregates::of(call, told.get(at)),
    };
    let (of_nodes, of_rels) = (of(0)?, of(1)?);
    let config = Config::of(args.get(3));
    let labels = Value::list(labels.into_iter().map(Value::String).collect());
    let params = |read: &[Value]| {
        vec![
            (Arc::from("labels"), labels.clone()),
            (Arc::from("keys"), args[1].clone()),
            (Arc::from("read"), Value::list(read.to_vec())),
        ]
    };
    let mut nodes = Groups::new(call);
    let mut memory = call.on.database.budget.empty_reservation("groups");
    let mut of_node: HashMap<Value, Vec<usize>> = HashMap::new();
    let mut started = call.start(NODES, params(&of_nodes.keys))?;
    while let Some(rows) = started.next()? {
        for row in rows {
            let [Value::String(label), node, key, read] = &row[..] else {
                continue;
            };
            let make = || {
                let values = keys
                    .iter()
                    .zip(list(key))
                    .filter(|(_, value)| !value.is_null());
                let named = values.flat_map(|(key, value)| {
                    let names = names(Some(key)).into_iter();
                    names.map(move |name| (name, value.clone()))
                });
                Group {
                    name: Arc::clone(label),
                    ends: (0, 0),
                    values: named.collect(),
                    sums: Vec::new(),
                }
            };
            let own = (Arc::clone(label), key.clone());
            let at = nodes.add(own, make, &of_nodes.wanted, list(read))?;
            memory.grow(128).map_err(no_room)?;
            of_node.entry(node.clone()).or_default().push(at);
        }
    }
    let mut rels = Groups::new(call);
    let mut started = call.start(RELATIONSHIPS, params(&of_rels.keys))?;
    while let Some(rows) = started.next()? {
        for row in rows {
            let [from, to, Value::String(rel_type), read] = &row[..] else {
                continue;
            };
            let (Some(from), Some(to)) = (of_node.get(from), of_node.get(to)) else {
                continue;
            };
            if !config.follows(rel_type) {
                continue;
            }
            let pairs = from
                .iter()
                .flat_map(|from| to.iter().map(move |to| (*from, *to)));
            for ends in pairs.filter(|(from, to)| config.self_rels || from != to) {
                let make = || Group {
                    name: Arc::clone(rel_type),
                    ends,
                    values: Vec::new(),
                    sums: Vec::new(),
                };
                let own = (ends, Arc::clone(rel_type));
                rels.add(own, make, &of_rels.wanted, list(read))?;
            }
        }
    }
    Ok(shown(
        (&nodes.all, &of_nodes),
        (&rels.all, &of_rels),
        &config,
    ))
}

/// A row for each relationship of a group, and for each group without any.
fn shown(
    (nodes, of_nodes): (&[Group], &Aggregates),
    (rels, of_rels): (&[Group], &Aggregates),
    config: &Config<'_>,
) -> Rows {
    let made = |standing, properties| Value::Map(Arc::new(Map::standing_for(standing, properties)));
    let of_nodes: Vec<_> = nodes
        .iter()
        .map(|group| group.properties(&of_nodes.wanted))
        .collect();
    let standing = nodes.iter().zip(&of_nodes).map(|(group, properties)| {
        let (id, labels) = (Standing::next_id(), vec![Arc::clone(&group.name)]);
        made(Standing::Node { id, labels }, properties.clone())
    });
    let standing: Vec<Value> = standing.collect();
    let mut own: Vec<Vec<Value>> = vec![Vec::new(); nodes.len()];
    for group in rels {
        let properties = group.properties(&of_rels.wanted);
        let (from, to) = group.ends;
        if !config.passes(&group.name, &properties) || own[from].len() >= config.rels_per_node {
            continue;
        }
        let relationship = Standing::Relationship {
            id: Standing::next_id(),
            rel_type: Arc::clone(&group.name),
            start: standing[from].clone(),
            end: standing[to].clone(),
        };
        own[from].push(made(relationship, properties));
    }
    let mut rows = Rows::new();
    let passed = nodes.iter().zip(&of_nodes).enumerate();
    let passed = passed.filter(|(_, (group, properties))| config.passes(&group.name, properties));
    for (at, _) in passed.take(config.nodes_max) {
        let (node, rels) = (&standing[at], &own[at]);
        let row = |rels: &[Value], first: Option<&Value>| {
            vec![
                Value::list(vec![node.clone()]),
                Value::list(rels.to_vec()),
                node.clone(),
                first.cloned().unwrap_or_default(),
            ]
        };
        if config.orphans || !rels.is_empty() {
            rows.push(row(rels, rels.first()));
            let others = rels.iter().skip(1);
            rows.extend(others.map(|rel| row(std::slice::from_ref(rel), Some(rel))));
        }
    }
    rows.truncate(config.rels_max);
    rows
}
