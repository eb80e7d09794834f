//! `apoc.refactor.deleteAndReconnect`: a path without some of its nodes.
//!
//! # How it works
//! Where nodes of the path go, a relationship joins the nodes on both sides of the gap. It has the
//! type and the properties of the relationship that leads into the gap, or of the one that leads
//! out of it, or of all of them, as the configuration says, and the direction of the first of
//! these.

use std::sync::Arc;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::name::quoted;
use graven_types::told;

use super::super::Rows;
use super::super::columns::text_of;
use super::super::entry::{Body, Procedure, procedure};
use super::super::inner::Call;
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[procedure(
    "apoc.refactor.deleteAndReconnect",
    "deletes nodes of a path, and joins the nodes beside them",
    (
        &[
            ("path", TypeSet::PATH),
            ("nodes", TypeSet::LIST),
            ("config", TypeSet::MAP),
        ],
        2,
    ),
    Right::Write,
    &[("nodes", TypeSet::LIST), ("relationships", TypeSet::LIST)],
    Body::OfCall(reconnect),
)];

/// Which relationships of a gap the new one follows.
#[derive(Clone, Copy, PartialEq)]
enum Follows {
    Incoming,
    Outgoing,
    All,
}

fn follows(call: &Call<'_>, config: Option<&Value>) -> Result<(Follows, String), ExecError> {
    let text = |key: &str, otherwise: &str| match config {
        Some(Value::Map(config)) => match config.get(key) {
            None | Some(Value::Null) => otherwise.to_owned(),
            Some(value) => text_of(value).to_ascii_uppercase(),
        },
        _ => otherwise.to_owned(),
    };
    let wanted = text("relationshipSelectionStrategy", "INCOMING");
    let follows = match wanted.as_str() {
        "INCOMING" => Follows::Incoming,
        "OUTGOING" => Follows::Outgoing,
        "MERGE" => Follows::All,
        other => {
            return Err(call.failed(told!(
                "relationshipSelectionStrategy is INCOMING, OUTGOING or MERGE, not {other}"
            )));
        }
    };
    let merges = text("properties", "DISCARD");
    match merges.as_str() {
        "DISCARD" | "OVERWRITE" | "OVERRIDE" | "COMBINE" => Ok((follows, merges)),
        other => Err(call.failed(told!(
            "properties is discard, overwrite or combine, not {other}"
        ))),
    }
}

/// The properties of several relationships, the first one first, as one map.
const MERGED: &str = "UNWIND range(0, size($rels) - 1) AS i WITH $rels[i] AS r, i \
    UNWIND keys(r) AS key WITH key, i, r[key] AS value ORDER BY i \
    WITH key, collect(value) AS all \
    RETURN apoc.map.fromPairs(collect([key, CASE $how WHEN 'DISCARD' THEN all[0] \
        WHEN 'COMBINE' THEN CASE size(apoc.coll.toSet(all)) WHEN 1 THEN all[0] \
            ELSE apoc.coll.toSet(apoc.coll.flatten(all)) END \
        ELSE all[-1] END])) AS all";

fn reconnect(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let (Some(Value::Path(path)), Some(Value::List(gone))) = (args.first(), args.get(1)) else {
        return Err(call.failed("give a path, and the nodes of it that go as a list"));
    };
    let (follows, how) = follows(call, args.get(2))?;
    let named = |name: &str, value| (Arc::<str>::from(name), value);
    let stays = |at: usize| !gone.contains(&Value::Node(path.nodes[at]));
    let kept: Vec<usize> = (0..path.nodes.len()).filter(|at| stays(*at)).collect();
    let mut relationships = Vec::new();
    for pair in kept.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let between = path.relationships[from..to].iter();
        let between: Vec<Value> = between.map(|id| Value::Relationship(*id)).collect();
        let (Some(first), Some(last)) = (between.first(), between.last()) else {
            continue;
        };
        if between.len() == 1 {
            relationships.push(first.clone());
            continue;
        }
        let followed = match follows {
            Follows::Incoming => vec![first.clone()],
            Follows::Outgoing => vec![last.clone()],
            Follows::All => between,
        };
        let ends = "UNWIND $rels AS r RETURN type(r), startNode(r), endNode(r)";
        let params = vec![named("rels", Value::list(followed))];
        let ends = call.rows(ends, params.clone())?;
        let types: Vec<String> = ends.iter().map(|row| text_of(&row[0])).collect();
        // Whether the relationship that is followed leads along the path.
        let along = match follows {
            Follows::Outgoing => ends[0][2] == Value::Node(path.nodes[to]),
            _ => ends[0][1] == Value::Node(path.nodes[from]),
        };
        let params = [params, vec![named("how", Value::text(&how))]].concat();
        let merged = call.rows(MERGED, params)?;
        let merged = merged.into_iter().flatten().next();
        let (a, b) = if along { (from, to) } else { (to, from) };
        let made = format!(
            "WITH $a AS a, $b AS b CREATE (a)-[r:{}]->(b) SET r = $all RETURN r",
            quoted(&types.join("_"))
        );
        let params = vec![
            named("a", Value::Node(path.nodes[a])),
            named("b", Value::Node(path.nodes[b])),
            named("all", merged.unwrap_or_else(|| Value::map(Vec::new()))),
        ];
        relationships.extend(call.rows(&made, params)?.into_iter().flatten());
    }
    let of_path = path.nodes.iter().map(|id| Value::Node(*id));
    let deleted: Vec<Value> = of_path.filter(|node| gone.contains(node)).collect();
    let params = vec![named("deleted", Value::list(deleted))];
    call.rows(
        "UNWIND $deleted AS n WITH DISTINCT n DETACH DELETE n",
        params,
    )?;
    let kept = kept.into_iter().map(|at| Value::Node(path.nodes[at]));
    Ok(vec![vec![
        Value::list(kept.collect()),
        Value::list(relationships),
    ]])
}
