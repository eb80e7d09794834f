//! `apoc.algo.*`: paths of least cost, and all simple paths, between two nodes.
//!
//! # How it works
//! Paths of least cost come from the search behind `WSHORTEST` ([`super::super::weighted`]), which
//! is exact. An estimate of what is left, as `aStar` is given, changes no answer where it never
//! says too much; coordinates are therefore not read. Simple paths come from the search of
//! `apoc.path`.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, MoreRows, Path, Value};
use graven_storage::NodeId;
use graven_types::told;

use super::super::Rows;
use super::super::entry::{Body, Field, Procedure, procedure};
use super::super::inner::Call;
use super::super::weighted::{Paths, Wanted, least, node_of};
use super::RELATIONSHIP;
use super::path::paths;
use super::path_config::Search;
use super::path_filters::Relations;
use crate::right::Right;

const START: Field = ("startNode", TypeSet::NODE);
const END: Field = ("endNode", TypeSet::NODE);
const TYPES: Field = ("relTypesAndDirections", TypeSet::STRING);
const WEIGHT: Field = ("weightPropertyName", TypeSet::STRING);

const PATH_AND_WEIGHT: &[Field] = &[("path", TypeSet::PATH), ("weight", TypeSet::FLOAT)];

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.algo.aStar",
        "a path of least cost between two nodes",
        (
            &[
                START,
                END,
                TYPES,
                WEIGHT,
                ("latPropertyName", TypeSet::STRING),
                ("lonPropertyName", TypeSet::STRING),
            ],
            6,
        ),
        Right::Read,
        PATH_AND_WEIGHT,
        Body::Streams(a_star),
    ),
    procedure(
        "apoc.algo.aStarConfig",
        "a path of least cost between two nodes, by a configuration",
        (&[START, END, TYPES, ("config", TypeSet::MAP)], 4),
        Right::Read,
        PATH_AND_WEIGHT,
        Body::Streams(a_star_config),
    ),
    procedure(
        "apoc.algo.allSimplePaths",
        "all paths between two nodes that have no node twice, by length",
        (&[START, END, TYPES, ("maxNodes", TypeSet::INTEGER)], 4),
        Right::Read,
        &[("path", TypeSet::PATH)],
        Body::OfCall(all_simple_paths),
    ),
    procedure(
        "apoc.algo.cover",
        "the relationships between nodes",
        (&[("nodes", TypeSet::ANY)], 1),
        Right::Read,
        RELATIONSHIP,
        Body::Statement(
            "UNWIND $nodes AS n WITH DISTINCT n MATCH (n)-[rel]->(m) WHERE m IN $nodes RETURN rel",
        ),
    ),
    procedure(
        "apoc.algo.dijkstra",
        "a path of least cost between two nodes",
        (
            &[
                START,
                END,
                TYPES,
                WEIGHT,
                ("defaultWeight", TypeSet::NUMBER),
                ("numberOfWantedPaths", TypeSet::INTEGER),
            ],
            4,
        ),
        Right::Read,
        PATH_AND_WEIGHT,
        Body::Streams(dijkstra),
    ),
    procedure(
        "apoc.algo.dijkstraWithDefaultWeight",
        "a path of least cost between two nodes; relationships without a cost have the given one",
        (
            &[
                START,
                END,
                TYPES,
                WEIGHT,
                ("defaultWeight", TypeSet::NUMBER),
                ("numberOfWantedPaths", TypeSet::INTEGER),
            ],
            5,
        ),
        Right::Read,
        PATH_AND_WEIGHT,
        Body::Streams(dijkstra),
    ),
];

type Streamed = Result<Box<dyn MoreRows>, ExecError>;

/// A text; an empty one of null.
fn text<'a>(call: &Call<'_>, name: &str, value: &'a Value) -> Result<&'a str, ExecError> {
    match value {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        other => Err(call.failed(told!("{name} is a String, not {}", other.type_name()))),
    }
}

/// What a relationship without a cost costs; none: it is not followed.
fn weight(call: &Call<'_>, value: Option<&Value>) -> Result<Option<f64>, ExecError> {
    let weight = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Integer(weight)) => *weight as f64,
        Some(Value::Float(weight)) if weight.is_nan() => return Ok(None),
        Some(Value::Float(weight)) => *weight,
        Some(other) => {
            let told = told!("a default weight is a number, not {}", other.type_name());
            return Err(call.failed(told));
        }
    };
    match weight >= 0.0 {
        true => Ok(Some(weight.abs())),
        false => Err(call.failed(told!("a default weight is from 0 on, not {weight}"))),
    }
}

/// The path of least cost between the first two arguments, by the types of the third.
fn cheapest(call: &Call<'_>, args: &[Value], key: &str, otherwise: Option<f64>) -> Streamed {
    let start = node_of(call, "startNode", &args[0])?;
    let end = node_of(call, "endNode", &args[1])?;
    let types = Relations::of(text(call, "relTypesAndDirections", &args[2])?);
    if let (Some(start), true) = (start, start == end) {
        return Ok(Box::new(AtStart(Some(NodeId(start)))));
    }
    let wanted = Wanted {
        start: start.filter(|_| end.is_some()),
        end,
        directed: types.directed(call.caller.snapshot.catalog()),
        key,
        otherwise,
        all: false,
        most: None,
    };
    Ok(Box::new(PathAndWeight(least(call, wanted)?)))
}

fn dijkstra(call: &Call<'_>, args: &[Value]) -> Streamed {
    if !matches!(args.get(5), None | Some(Value::Null | Value::Integer(1))) {
        return Err(call.failed(
            "numberOfWantedPaths is 1: one path of least cost is found. For all paths, \
                apoc.algo.allSimplePaths",
        ));
    }
    let key = text(call, "weightPropertyName", &args[3])?;
    cheapest(call, args, key, weight(call, args.get(4))?)
}

fn a_star(call: &Call<'_>, args: &[Value]) -> Streamed {
    let key = text(call, "weightPropertyName", &args[3])?;
    cheapest(call, args, key, None)
}

fn a_star_config(call: &Call<'_>, args: &[Value]) -> Streamed {
    let Value::Map(config) = &args[3] else {
        return Err(call.failed("config is a Map such as {weight: 'distance', default: 1.0}"));
    };
    let key = match config.get("weight") {
        None => "distance",
        Some(key) => text(call, "weight", key)?,
    };
    cheapest(call, args, key, weight(call, config.get("default"))?)
}

fn all_simple_paths(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let (start, end) = (&args[0], &args[1]);
    if start.is_null() || end.is_null() {
        return Ok(Rows::new());
    }
    let types = text(call, "relTypesAndDirections", &args[2])?;
    let most = match &args[3] {
        Value::Integer(most) if *most >= 0 => most.unsigned_abs(),
        other => return Err(call.failed(told!("maxNodes is from 0 on, not {other}"))),
    };
    paths(call, start, &Search::between(types, end, most))
}

/// The path from a node to itself.
struct AtStart(Option<NodeId>);

impl MoreRows for AtStart {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        let path = self.0.take().map(|node| Path {
            nodes: vec![node],
            relationships: Vec::new(),
        });
        Ok(path.map(|path| vec![vec![Value::Path(Arc::new(path)), Value::Float(0.0)]]))
    }
}

/// Paths with their costs.
struct PathAndWeight(Paths);

impl MoreRows for PathAndWeight {
    fn next(&mut self) -> Result<Option<Rows>, ExecError> {
        let rows = self.0.next()?;
        Ok(rows.map(|rows| rows.into_iter().map(|mut row| row.split_off(2)).collect()))
    }
}
