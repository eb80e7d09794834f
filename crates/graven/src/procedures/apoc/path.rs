//! `apoc.path.*` and `apoc.neighbors.*`: searches from nodes on, by length.
//!
//! # How it works
//! A search goes level by level: one statement finds what is behind all ends of paths of a length,
//! so that pages are read in order and once for a level. The search has ended before its first row
//! is handed out. Paths that may go on, and the nodes that were met, are charged while it runs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, MoreRows, Path, Value};
use graven_storage::{NodeId, RelId};
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::{Call, no_room};
use super::NODE;
use super::path_config::{Once, Search};
use crate::right::Right;

const START_AND_CONFIG: (&[Field], usize) =
    (&[("startNode", TypeSet::ANY), ("config", TypeSet::MAP)], 2);

const PATH: &[Field] = &[("path", TypeSet::PATH)];

const COUNT: &[Field] = &[("value", TypeSet::INTEGER)];

const HOPS: (&[Field], usize) = (
    &[
        ("node", TypeSet::NODE),
        ("relTypes", TypeSet::STRING),
        ("distance", TypeSet::INTEGER),
    ],
    1,
);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.neighbors.athop",
        "nodes at so many steps, and not nearer",
        HOPS,
        Right::Read,
        NODE,
        Body::OfCall(at_hop),
    ),
    procedure(
        "apoc.neighbors.athop.count",
        "how many nodes are at so many steps, and not nearer",
        HOPS,
        Right::Read,
        COUNT,
        Body::Statement(
            "CALL apoc.neighbors.athop($node, $relTypes, $distance) YIELD node \
                RETURN count(node) AS value",
        ),
    ),
    procedure(
        "apoc.neighbors.byhop",
        "nodes at each number of steps, and not nearer",
        HOPS,
        Right::Read,
        &[("nodes", TypeSet::LIST)],
        Body::Statement(
            "UNWIND range(1, CASE WHEN $node IS NULL OR coalesce($relTypes, '') = '' THEN 0 \
                    ELSE coalesce($distance, 1) END) AS steps WITH steps ORDER BY steps \
                RETURN COLLECT { CALL apoc.neighbors.athop($node, $relTypes, steps) YIELD node \
                    RETURN node } AS nodes",
        ),
    ),
    procedure(
        "apoc.neighbors.byhop.count",
        "how many nodes are at each number of steps, and not nearer",
        HOPS,
        Right::Read,
        &[("value", TypeSet::LIST)],
        Body::Statement(
            "RETURN COLLECT { CALL apoc.neighbors.byhop($node, $relTypes, $distance) YIELD nodes \
                RETURN size(nodes) } AS value",
        ),
    ),
    procedure(
        "apoc.neighbors.tohop",
        "nodes at so many steps or fewer",
        HOPS,
        Right::Read,
        NODE,
        Body::OfCall(to_hop),
    ),
    procedure(
        "apoc.neighbors.tohop.count",
        "how many nodes are at so many steps or fewer",
        HOPS,
        Right::Read,
        COUNT,
        Body::Statement(
            "WITH $distance AS most WHERE coalesce(most, 1) > 0 \
                CALL apoc.neighbors.tohop($node, $relTypes, most) YIELD node \
                WITH most, count(node) AS value RETURN value",
        ),
    ),
    procedure(
        "apoc.path.expand",
        "paths from a node on, by filters of relationships and labels",
        (
            &[
                ("startNode", TypeSet::ANY),
                ("relFilter", TypeSet::STRING),
                ("labelFilter", TypeSet::STRING),
                ("minDepth", TypeSet::INTEGER),
                ("maxDepth", TypeSet::INTEGER),
            ],
            5,
        ),
        Right::Read,
        PATH,
        Body::OfCall(expand),
    ),
    procedure(
        "apoc.path.expandConfig",
        "paths from a node on, by a configuration",
        START_AND_CONFIG,
        Right::Read,
        PATH,
        Body::OfCall(expand_config),
    ),
    procedure(
        "apoc.path.spanningTree",
        "a path to each node that is reached",
        START_AND_CONFIG,
        Right::Read,
        PATH,
        Body::OfCall(spanning_tree),
    ),
    procedure(
        "apoc.path.subgraphAll",
        "the nodes that are reached, and all relationships between them",
        START_AND_CONFIG,
        Right::Read,
        &[("nodes", TypeSet::LIST), ("relationships", TypeSet::LIST)],
        Body::OfCall(subgraph_all),
    ),
    procedure(
        "apoc.path.subgraphNodes",
        "the nodes that are reached",
        START_AND_CONFIG,
        Right::Read,
        NODE,
        Body::OfCall(subgraph_nodes),
    ),
];

type Answer = Result<Rows, ExecError>;

fn expand(call: &Call<'_>, args: &[Value]) -> Answer {
    let search = Search::of_arguments(args).map_err(|told| call.failed(told))?;
    paths(call, &args[0], &search)
}

fn expand_config(call: &Call<'_>, args: &[Value]) -> Answer {
    let search = Search::of_config(args.get(1), Once::Relationship);
    paths(call, &args[0], &search.map_err(|told| call.failed(told))?)
}

fn spanning_tree(call: &Call<'_>, args: &[Value]) -> Answer {
    paths(call, &args[0], &of_subgraph(call, args)?)
}

fn of_subgraph(call: &Call<'_>, args: &[Value]) -> Result<Search, ExecError> {
    let search = Search::of_config(args.get(1), Once::NodeOfAll);
    let mut search = search.map_err(|told| call.failed(told))?;
    if search.least > 1 {
        return Err(call.failed("minLevel is 0 or 1 where each node is met once"));
    }
    search.once = Once::NodeOfAll;
    Ok(search)
}

/// All paths of a search.
pub(super) fn paths(call: &Call<'_>, start: &Value, search: &Search) -> Answer {
    let mut rows = Rows::new();
    find(call, start, search, &mut |nodes, relationships| {
        rows.push(vec![Value::Path(Arc::new(Path {
            nodes: nodes.to_vec(),
            relationships: relationships.to_vec(),
        }))]);
    })?;
    Ok(search.or_null(rows))
}

fn subgraph_nodes(call: &Call<'_>, args: &[Value]) -> Answer {
    let search = of_subgraph(call, args)?;
    Ok(search.or_null(reached(call, &args[0], &search)?))
}

/// The last nodes of all paths.
fn reached(call: &Call<'_>, start: &Value, search: &Search) -> Answer {
    let mut rows = Rows::new();
    find(call, start, search, &mut |nodes, _| {
        rows.extend(nodes.last().map(|node| vec![Value::Node(*node)]));
    })?;
    Ok(rows)
}

fn subgraph_all(call: &Call<'_>, args: &[Value]) -> Answer {
    let rows = reached(call, &args[0], &of_subgraph(call, args)?)?;
    let nodes: Vec<Value> = rows.into_iter().flatten().collect();
    let met: HashSet<Value> = nodes.iter().cloned().collect();
    let ids = nodes
        .iter()
        .map(|node| Value::Integer(id_of(node).cast_signed()));
    let params = vec![(Arc::from("from"), Value::list(ids.collect()))];
    let between = "UNWIND $from AS i MATCH (n)-[r]->(m) WHERE id(n) = i RETURN r, m";
    let found = call.rows(between, params)?;
    let found = found.into_iter().filter(|row| met.contains(&row[1]));
    let relationships = found.map(|mut row| row.swap_remove(0)).collect();
    Ok(vec![vec![Value::list(nodes), Value::list(relationships)]])
}

fn hops(call: &Call<'_>, args: &[Value]) -> Result<(Search, u64), ExecError> {
    let distance = match args.get(2) {
        None | Some(Value::Null) => 1,
        Some(Value::Integer(steps)) => u64::try_from(*steps).unwrap_or(0),
        Some(other) => return Err(call.failed(told!("distance is from 0 on, not {other}"))),
    };
    let types = args.get(1).cloned().unwrap_or_default();
    let most = Value::Integer(distance.cast_signed());
    let search =
        Search::of_arguments(&[args[0].clone(), types, Value::Null, Value::Integer(1), most]);
    let mut search = search.map_err(|told| call.failed(told))?;
    search.once = Once::NodeOfAll;
    Ok((search, distance))
}

/// Whether no types are named, behind which nothing is found.
fn names_nothing(args: &[Value]) -> bool {
    match args.get(1) {
        Some(Value::String(types)) => types.is_empty(),
        other => other.is_none_or(Value::is_null),
    }
}

fn to_hop(call: &Call<'_>, args: &[Value]) -> Answer {
    if names_nothing(args) {
        return Ok(Rows::new());
    }
    let (search, _) = hops(call, args)?;
    reached(call, &args[0], &search)
}

fn at_hop(call: &Call<'_>, args: &[Value]) -> Answer {
    if names_nothing(args) {
        return Ok(Rows::new());
    }
    let (mut search, distance) = hops(call, args)?;
    search.least = distance;
    if distance != 1 {
        return reached(call, &args[0], &search);
    }
    // At one step there is also the node itself, where a relationship leads back to it.
    search.once = Once::Relationship;
    let mut rows = reached(call, &args[0], &search)?;
    let mut met = HashSet::new();
    rows.retain(|row| met.insert(row[0].clone()));
    Ok(rows)
}

fn id_of(node: &Value) -> u64 {
    match node {
        Value::Node(id) => id.0,
        _ => u64::MAX,
    }
}

/// A path that may go on.
struct Trail {
    nodes: Vec<NodeId>,
    relationships: Vec<RelId>,
}

/// Nodes that a search begins at, each once.
fn starts(call: &Call<'_>, start: &Value) -> Result<BTreeSet<u64>, ExecError> {
    let given = match start {
        Value::Null => return Ok(BTreeSet::new()),
        Value::List(items) => &items[..],
        single => std::slice::from_ref(single),
    };
    let id = |value: &Value| match value {
        Value::Node(id) => Ok(id.0),
        Value::Integer(id) => Ok(id.cast_unsigned()),
        other => {
            let told = told!("a search begins at a Node, not {}", other.type_name());
            Err(call.failed(told))
        }
    };
    given.iter().filter(|one| !one.is_null()).map(id).collect()
}

/// Hands every path over that the search gives, by length.
fn find(
    call: &Call<'_>,
    start: &Value,
    search: &Search,
    give: &mut dyn FnMut(&[NodeId], &[RelId]),
) -> Result<(), ExecError> {
    let begins = starts(call, start)?;
    let mut memory = call.on.database.budget.empty_reservation("paths");
    let mut met: HashSet<u64> = HashSet::new();
    let mut followed: HashSet<u64> = HashSet::new();
    let mut left = search.limit;
    let mut trails = Vec::new();
    for id in begins {
        let node = Value::Node(NodeId(id));
        let mut labels = Vec::new();
        if search.filters_start && search.needs_labels() {
            let params = vec![(Arc::from("n"), node.clone())];
            let rows = call.rows("WITH $n AS n RETURN labels(n)", params)?;
            if let Some(Value::List(own)) = rows.first().map(|row| &row[0]) {
                labels = own.to_vec();
            }
        }
        met.insert(id);
        let Some(fate) = search.fate(&node, &labels, 0) else {
            continue;
        };
        let trail = Trail {
            nodes: vec![NodeId(id)],
            relationships: Vec::new(),
        };
        if fate.given && search.least == 0 && left > 0 {
            give(&trail.nodes, &trail.relationships);
            left -= 1;
        }
        if fate.passed {
            trails.push(trail);
        }
    }
    let mut length = 0;
    while !trails.is_empty() && length < search.most && left > 0 {
        call.check()?;
        length += 1;
        let mut ends: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, trail) in trails.iter().enumerate() {
            let end = trail.nodes.last().map_or(u64::MAX, |node| node.0);
            ends.entry(end).or_default().push(at);
        }
        let mut from: Vec<u64> = ends.keys().copied().collect();
        from.sort_unstable();
        let from = from.into_iter().map(|id| Value::Integer(id.cast_signed()));
        let params = vec![(Arc::from("from"), Value::list(from.collect()))];
        let mut rows = call.start(&search.step(length), params)?;
        let mut next = Vec::new();
        while let Some(found) = rows.next()? {
            for row in found {
                let [
                    Value::Integer(from),
                    Value::Relationship(rel),
                    Value::Node(to),
                    labels,
                ] = &row[..]
                else {
                    continue;
                };
                let labels: &[Value] = match labels {
                    Value::List(labels) => labels,
                    _ => &[],
                };
                let Some(fate) = search.fate(&row[2], labels, length) else {
                    continue;
                };
                for at in &ends[&from.cast_unsigned()] {
                    let before = &trails[*at];
                    let again = match search.once {
                        Once::Relationship => before.relationships.contains(rel),
                        Once::Node => before.nodes.contains(to),
                        Once::NodeOfAll => !met.insert(to.0),
                        Once::RelationshipOfAll => !followed.insert(rel.0),
                        Once::Never => false,
                    };
                    if again || left == 0 {
                        continue;
                    }
                    let bytes = 16 * (before.nodes.len() as u64 + 8);
                    memory.grow(bytes).map_err(no_room)?;
                    let (mut nodes, mut relationships) =
                        (before.nodes.clone(), before.relationships.clone());
                    nodes.push(*to);
                    relationships.push(*rel);
                    if fate.given && length >= search.least {
                        give(&nodes, &relationships);
                        left -= 1;
                    }
                    if fate.passed {
                        next.push(Trail {
                            nodes,
                            relationships,
                        });
                    }
                }
            }
        }
        trails = next;
    }
    Ok(())
}
