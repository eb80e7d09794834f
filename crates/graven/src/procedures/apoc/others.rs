//! Procedures of APOC that stand alone: lists, nodes, schema, checks, pauses, help.

use std::time::Duration;

use graven_cypher::TypeSet;
use graven_exec::{ExecError, Value};
use graven_types::name::quoted;
use graven_types::told;

use super::super::Rows;
use super::super::columns::text_of;
use super::super::described::described;
use super::super::entry::{Body, Named, Procedure, procedure};
use super::super::inner::Call;
use super::super::schema_list;
use crate::right::Right;

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.coll.pairWithOffset",
        "each element of a list with the one so many places on",
        (&[("coll", TypeSet::LIST), ("offset", TypeSet::INTEGER)], 2),
        Right::Read,
        &[("value", TypeSet::LIST)],
        Body::Statement("UNWIND apoc.coll.pairWithOffset($coll, $offset) AS value RETURN value"),
    ),
    procedure(
        "apoc.coll.partition",
        "the list in parts of so many elements",
        (
            &[("coll", TypeSet::LIST), ("batchSize", TypeSet::INTEGER)],
            2,
        ),
        Right::Read,
        &[("value", TypeSet::LIST)],
        Body::Statement("UNWIND apoc.coll.partition($coll, $batchSize) AS value RETURN value"),
    ),
    procedure(
        "apoc.coll.split",
        "the parts of a list between elements with a value",
        (&[("coll", TypeSet::LIST), ("value", TypeSet::ANY)], 2),
        Right::Read,
        &[("value", TypeSet::LIST)],
        Body::Statement(
            "WITH coalesce($coll, []) AS coll \
                WITH coll, [-1] + [at IN range(0, size(coll) - 1) WHERE coll[at] = $value] \
                    + size(coll) AS cuts UNWIND range(0, size(cuts) - 2) AS k \
                WITH coll[cuts[k] + 1..cuts[k + 1]] AS value WHERE size(value) > 0 RETURN value",
        ),
    ),
    procedure(
        "apoc.coll.zipToRows",
        "the elements of two lists as pairs",
        (&[("list1", TypeSet::LIST), ("list2", TypeSet::LIST)], 2),
        Right::Read,
        &[("value", TypeSet::LIST)],
        Body::Statement(
            "UNWIND CASE WHEN $list1 IS NULL OR $list2 IS NULL THEN [] \
                    ELSE range(0, size($list1) - 1) END AS at \
                RETURN [$list1[at], $list2[at]] AS value",
        ),
    ),
    procedure(
        "apoc.convert.setJsonProperty",
        "sets a property to a value as JSON",
        (
            &[
                ("node", TypeSet::NODE),
                ("key", TypeSet::STRING),
                ("value", TypeSet::ANY),
            ],
            3,
        ),
        Right::Write,
        &[],
        Body::Statement("WITH $node AS node SET node[$key] = apoc.convert.toJson($value) RETURN 1"),
    ),
    procedure(
        "apoc.help",
        "procedures and functions whose name or description contains a text",
        (&[("proc", TypeSet::STRING)], 1),
        Right::Read,
        &[
            ("type", TypeSet::STRING),
            ("name", TypeSet::STRING),
            ("text", TypeSet::STRING),
            ("signature", TypeSet::STRING),
            ("roles", TypeSet::LIST),
            ("writes", TypeSet::BOOLEAN),
            ("core", TypeSet::BOOLEAN),
            ("isDeprecated", TypeSet::BOOLEAN),
        ],
        Body::OfCall(help),
    ),
    procedure(
        "apoc.math.regr",
        "the line through the values of two properties",
        (
            &[
                ("label", TypeSet::STRING),
                ("propertyY", TypeSet::STRING),
                ("propertyX", TypeSet::STRING),
            ],
            3,
        ),
        Right::Read,
        &[
            ("r2", TypeSet::FLOAT),
            ("avgX", TypeSet::FLOAT),
            ("avgY", TypeSet::FLOAT),
            ("slope", TypeSet::FLOAT),
        ],
        Body::Statement(
            "MATCH (n:$($label)) WITH toFloat(n[$propertyX]) AS x, toFloat(n[$propertyY]) AS y \
                WHERE x IS NOT NULL AND y IS NOT NULL \
                WITH collect([x, y]) AS all, sum(x) / toFloat(count(*)) AS avgX, \
                    sum(y) / toFloat(count(*)) AS avgY \
                WITH avgX, avgY, \
                    reduce(s = 0.0, p IN all | s + (p[0] - avgX) * (p[1] - avgY)) AS xy, \
                    reduce(s = 0.0, p IN all | s + (p[0] - avgX) ^ 2) AS xx, \
                    reduce(s = 0.0, p IN all | s + (p[1] - avgY) ^ 2) AS yy \
                RETURN xy * xy / (xx * yy) AS r2, avgX, avgY, xy / xx AS slope",
        ),
    ),
    procedure(
        "apoc.nodes.cycles",
        "for each of the nodes the shortest ways back to it, one for each node behind it",
        (&[("nodes", TypeSet::LIST), ("config", TypeSet::MAP)], 1),
        Right::Read,
        &[("path", TypeSet::PATH)],
        Body::Made(cycles),
    ),
    procedure(
        "apoc.nodes.delete",
        "deletes nodes with their relationships",
        (
            &[("nodes", TypeSet::ANY), ("batchSize", TypeSet::INTEGER)],
            2,
        ),
        Right::Write,
        &[("value", TypeSet::INTEGER)],
        Body::Statement(
            "UNWIND $nodes AS node WITH DISTINCT node WHERE node IS NOT NULL \
                DETACH DELETE node RETURN count(*) AS value",
        ),
    ),
    procedure(
        "apoc.nodes.get",
        "each of the nodes",
        (&[("nodes", TypeSet::ANY)], 1),
        Right::Read,
        &[("node", TypeSet::NODE)],
        Body::Statement("UNWIND $nodes AS node RETURN node"),
    ),
    procedure(
        "apoc.nodes.link",
        "relationships from each of the nodes to the next one",
        (
            &[
                ("nodes", TypeSet::LIST),
                ("type", TypeSet::STRING),
                ("config", TypeSet::MAP),
            ],
            2,
        ),
        Right::Write,
        &[],
        Body::Statement(
            "UNWIND range(0, size($nodes) - 2) AS at WITH $nodes[at] AS a, $nodes[at + 1] AS b \
                WHERE NOT coalesce($config.avoidDuplicates, false) \
                    OR NOT EXISTS { (a)-[:$($type)]->(b) } \
                CREATE (a)-[:$($type)]->(b) RETURN count(*) AS n",
        ),
    ),
    procedure(
        "apoc.nodes.rels",
        "each of the relationships",
        (&[("rels", TypeSet::ANY)], 1),
        Right::Read,
        &[("rel", TypeSet::RELATIONSHIP)],
        Body::Statement("UNWIND $rels AS rel RETURN rel"),
    ),
    procedure(
        "apoc.schema.properties.distinct",
        "the different values of a property",
        (&[("label", TypeSet::STRING), ("key", TypeSet::STRING)], 2),
        Right::Read,
        &[("value", TypeSet::LIST)],
        Body::Statement(
            "MATCH (n:$($label)) WITH DISTINCT n[$key] AS own WHERE own IS NOT NULL \
                RETURN collect(own) AS value",
        ),
    ),
    procedure(
        "apoc.schema.properties.distinctCount",
        "how often each value of a property is there",
        (&[("label", TypeSet::STRING), ("key", TypeSet::STRING)], 0),
        Right::Read,
        &[
            ("label", TypeSet::STRING),
            ("key", TypeSet::STRING),
            ("value", TypeSet::ANY),
            ("count", TypeSet::INTEGER),
        ],
        Body::Statement(
            "MATCH (n) UNWIND labels(n) AS label WITH n, label \
                WHERE coalesce($label, '') IN ['', label] \
                UNWIND keys(n) AS key WITH n, label, key WHERE coalesce($key, '') IN ['', key] \
                RETURN label, key, n[key] AS value, count(*) AS count",
        ),
    ),
    procedure(
        "apoc.schema.relationships",
        "indexes and constraints of relationships",
        (&[("config", TypeSet::MAP)], 0),
        Right::Read,
        &[
            ("name", TypeSet::STRING),
            ("type", TypeSet::STRING),
            ("properties", TypeSet::LIST),
            ("status", TypeSet::STRING),
            ("relationshipType", TypeSet::STRING),
        ],
        Body::OfCall(schema_list::relationship_schema),
    ),
    procedure(
        "apoc.stats.degrees",
        "how many relationships nodes have, of each of the types",
        (&[("relTypes", TypeSet::STRING)], 0),
        Right::Read,
        &[
            ("type", TypeSet::STRING),
            ("direction", TypeSet::STRING),
            ("total", TypeSet::INTEGER),
            ("p50", TypeSet::INTEGER),
            ("p75", TypeSet::INTEGER),
            ("p90", TypeSet::INTEGER),
            ("p95", TypeSet::INTEGER),
            ("p99", TypeSet::INTEGER),
            ("p999", TypeSet::INTEGER),
            ("max", TypeSet::INTEGER),
            ("min", TypeSet::INTEGER),
            ("mean", TypeSet::FLOAT),
        ],
        Body::Statement(
            "UNWIND split(coalesce($relTypes, ''), '|') AS part WITH trim(part) AS part \
                WITH part, nullIf(replace(replace(part, '<', ''), '>', ''), '') AS type, \
                CASE WHEN part STARTS WITH '<' AND NOT part ENDS WITH '>' THEN 'INCOMING' \
                    WHEN part ENDS WITH '>' AND NOT part STARTS WITH '<' THEN 'OUTGOING' \
                    ELSE 'BOTH' END AS direction \
                MATCH (n) WITH type, direction, apoc.node.degree(n, part) AS d, \
                    apoc.node.degree(n, coalesce(type, '') + '>') AS begun \
                RETURN type, direction, \
                sum(CASE direction WHEN 'BOTH' THEN begun ELSE d END) AS total, \
                percentileDisc(d, 0.5) AS p50, \
                percentileDisc(d, 0.75) AS p75, percentileDisc(d, 0.9) AS p90, \
                percentileDisc(d, 0.95) AS p95, percentileDisc(d, 0.99) AS p99, \
                percentileDisc(d, 0.999) AS p999, max(d) AS max, min(d) AS min, avg(d) AS mean",
        ),
    ),
    procedure(
        "apoc.text.phoneticDelta",
        "the sounds of two texts, and in how many of four places they agree",
        (&[("text1", TypeSet::STRING), ("text2", TypeSet::STRING)], 2),
        Right::Read,
        &[
            ("phonetic1", TypeSet::STRING),
            ("phonetic2", TypeSet::STRING),
            ("delta", TypeSet::INTEGER),
        ],
        Body::Statement(
            "WITH apoc.text.phonetic($text1) AS a, apoc.text.phonetic($text2) AS b \
                RETURN a AS phonetic1, b AS phonetic2, size([at IN range(0, 3) \
                    WHERE substring(a, at, 1) = substring(b, at, 1) AND at < size(a) | at]) \
                    AS delta",
        ),
    ),
    procedure(
        "apoc.util.sleep",
        "waits for so many milliseconds",
        (&[("duration", TypeSet::INTEGER)], 1),
        Right::Read,
        &[],
        Body::OfCall(sleep),
    ),
    procedure(
        "apoc.util.validate",
        "fails with a message if the predicate holds",
        (
            &[
                ("predicate", TypeSet::BOOLEAN),
                ("message", TypeSet::STRING),
                ("params", TypeSet::LIST),
            ],
            3,
        ),
        Right::Read,
        &[],
        Body::Statement(
            "WITH apoc.util.validatePredicate($predicate, $message, $params) AS well RETURN 1",
        ),
    ),
];

fn help(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    let Some(Value::String(part)) = args.first() else {
        return Err(call.failed("give a part of the names as text"));
    };
    let part = part.to_lowercase();
    let procedures = described(&call.on.database.registered).into_iter();
    let mut rows: Rows = procedures
        .filter(|it| {
            let found = |text: &str| text.to_lowercase().contains(&part);
            it.name.starts_with("apoc.") && (found(&it.name) || found(it.about))
        })
        .map(|it| {
            vec![
                Value::text("procedure"),
                Value::text(&it.name),
                Value::text(it.about),
                Value::text(&it.signature),
                Value::Null,
                Value::Boolean(it.right == Right::Write),
                Value::Boolean(true),
                Value::Boolean(false),
            ]
        })
        .collect();
    let functions = graven_cypher::functions::FUNCTIONS.iter();
    rows.extend(
        functions
            .filter(|f| f.display.starts_with("apoc."))
            .filter_map(|f| {
                let named = f.display.to_lowercase().contains(&part);
                named.then(|| {
                    let signature = format!("{}() :: {}", f.display, f.returns);
                    vec![
                        Value::text("function"),
                        Value::text(f.display),
                        Value::text(""),
                        Value::text(&signature),
                        Value::Null,
                        Value::Boolean(false),
                        Value::Boolean(true),
                        Value::Boolean(false),
                    ]
                })
            }),
    );
    Ok(rows)
}

/// In steps, so that the statement can be cancelled.
fn sleep(call: &Call<'_>, args: &[Value]) -> Result<Rows, ExecError> {
    const STEP: Duration = Duration::from_millis(10);
    let Some(Value::Integer(wanted)) = args.first() else {
        return Err(call.failed("give the time in milliseconds"));
    };
    let mut left = Duration::from_millis(u64::try_from(*wanted).unwrap_or(0));
    while !left.is_zero() {
        call.check()?;
        let step = left.min(STEP);
        std::thread::sleep(step);
        left -= step;
    }
    Ok(Rows::new())
}

/// A relationship to each node behind, and from there the shortest way back.
fn cycles(args: &Named<'_>) -> Result<String, String> {
    let config = match args.get("config") {
        Value::Map(map) => Some(map),
        _ => None,
    };
    let mut types = String::new();
    match config.and_then(|config| config.get("relTypes")) {
        None | Some(Value::Null) => {}
        Some(Value::List(names)) => {
            let names: Vec<String> = names.iter().map(|name| quoted(&text_of(name))).collect();
            if !names.is_empty() {
                types = format!(":{}", names.join("|"));
            }
        }
        Some(other) => return Err(told!("relTypes is a List, not {}", other.type_name())),
    }
    let most = match config.and_then(|config| config.get("maxDepth")) {
        None | Some(Value::Null) => String::new(),
        Some(Value::Integer(most)) if *most > 0 => most.to_string(),
        Some(other) => return Err(told!("maxDepth is an Integer from 1 on, not {other}")),
    };
    Ok(format!(
        "UNWIND $nodes AS s MATCH (s)-[r{types}]->(e) WITH s, e, head(collect(r)) AS r \
            CALL (s, e) {{ WITH s, e WHERE s = e RETURN [] AS back UNION ALL \
                WITH s, e WHERE s <> e MATCH p = shortestPath((e)-[{types}*1..{most}]->(s)) \
                RETURN relationships(p) AS back }} \
            RETURN apoc.path.create(s, [r] + back) AS path"
    ))
}
