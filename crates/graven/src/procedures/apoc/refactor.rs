//! `apoc.refactor.*`: other names, other types, other ends, one node of several.
//!
//! # How it works
//! The type and the ends of a relationship never change, so one with another type or end is a new
//! one with the same properties, and the old one is deleted.

use graven_cypher::TypeSet;
use graven_exec::Value;
use graven_types::name::quoted;

use super::super::entry::{Body, Field, Named, Procedure, procedure};
use super::NODE;
use super::refactor_nodes::merge_nodes;
use crate::right::Right;

/// What procedures give that treat things one by one.
const TREATED: &[Field] = &[
    ("input", TypeSet::INTEGER),
    ("output", TypeSet::RELATIONSHIP),
    ("error", TypeSet::STRING),
];

pub(super) const COPIED: &[Field] = &[
    ("input", TypeSet::INTEGER),
    ("output", TypeSet::NODE),
    ("error", TypeSet::STRING),
];

/// What procedures give that work in batches; here all is one.
const RENAMED: &[Field] = &[
    ("batches", TypeSet::INTEGER),
    ("total", TypeSet::INTEGER),
    ("timeTaken", TypeSet::INTEGER),
    ("committedOperations", TypeSet::INTEGER),
    ("failedOperations", TypeSet::INTEGER),
    ("failedBatches", TypeSet::INTEGER),
    ("retries", TypeSet::INTEGER),
    ("errorMessages", TypeSet::MAP),
    ("batch", TypeSet::MAP),
    ("operations", TypeSet::MAP),
    ("constraints", TypeSet::LIST),
    ("indexes", TypeSet::LIST),
];

/// The row of [`RENAMED`] for `total` things.
macro_rules! renamed {
    ($text:literal) => {
        concat!(
            $text,
            " RETURN 1 AS batches, total, 0 AS timeTaken, total AS committedOperations, \
                0 AS failedOperations, 0 AS failedBatches, 0 AS retries, {} AS errorMessages, \
                {total: 1, failed: 0, committed: 1, errors: {}} AS batch, \
                {total: total, failed: 0, committed: total, errors: {}} AS operations, \
                [] AS constraints, [] AS indexes"
        )
    };
}

/// A statement that makes a relationship `output` in place of `old`, of this type between `a` and
/// `b`; none of null.
macro_rules! in_place_of_old {
    ($ends:literal, $type:literal) => {
        Body::Statement(concat!(
            "WITH ",
            $ends,
            " WITH old, a, b, id(old) AS input \
                WHERE old IS NOT NULL AND a IS NOT NULL AND b IS NOT NULL \
                CREATE (a)-[output:$(",
            $type,
            ")]->(b) SET output = properties(old) \
                DELETE old RETURN input, output, null AS error"
        ))
    };
}

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.refactor.cloneNodes",
        "copies nodes, with their relationships if that is wanted, without some properties",
        (
            &[
                ("nodes", TypeSet::ANY),
                ("withRelationships", TypeSet::BOOLEAN),
                ("skipProperties", TypeSet::LIST),
            ],
            1,
        ),
        Right::Write,
        COPIED,
        Body::Statement(
            "UNWIND $nodes AS n \
                CREATE (c:$(labels(n))) SET c = apoc.map.removeKeys(properties(n), \
                    coalesce($skipProperties, [])) \
                WITH n, c CALL (n, c) { \
                    UNWIND CASE WHEN coalesce($withRelationships, false) \
                        THEN COLLECT { MATCH (n)-[r]->(m) RETURN [r, m] } ELSE [] END AS one \
                    WITH c, one[0] AS r, CASE WHEN one[1] = n THEN c ELSE one[1] END AS m \
                    CREATE (c)-[k:$(type(r))]->(m) SET k = properties(r) } \
                WITH n, c CALL (n, c) { \
                    UNWIND CASE WHEN coalesce($withRelationships, false) \
                        THEN COLLECT { MATCH (n)<-[r]-(m) WHERE m <> n AND m <> c \
                            RETURN [r, m] } ELSE [] END AS one \
                    WITH c, one[0] AS r, one[1] AS m \
                    CREATE (m)-[k:$(type(r))]->(c) SET k = properties(r) } \
                RETURN id(n) AS input, c AS output, null AS error",
        ),
    ),
    procedure(
        "apoc.refactor.collapseNode",
        "a relationship in place of each node that has one to it and one from it",
        (&[("nodes", TypeSet::ANY), ("relType", TypeSet::STRING)], 2),
        Right::Write,
        TREATED,
        Body::Statement(
            "UNWIND $nodes AS node WITH node, COLLECT { MATCH (node)<-[i]-() RETURN i } AS ins, \
                COLLECT { MATCH (node)-[o]->() RETURN o } AS outs \
                CALL (node, ins, outs) { \
                WITH node, ins, outs WHERE size(ins) <> 1 OR size(outs) <> 1 \
                RETURN id(node) AS input, null AS output, 'the node has ' + size(outs) + \
                    ' outgoing and ' + size(ins) + ' incoming relationships' AS error \
                UNION ALL WITH node, ins, outs WHERE size(ins) = 1 AND size(outs) = 1 \
                WITH node, id(node) AS input, ins[0] AS i, outs[0] AS o \
                WITH node, input, i, o, startNode(i) AS a, endNode(o) AS b, \
                    apoc.map.mergeList([properties(o), properties(i), properties(node)]) AS all \
                CREATE (a)-[output:$($relType)]->(b) SET output = all \
                DETACH DELETE node RETURN input, output, null AS error } \
                RETURN input, output, error",
        ),
    ),
    procedure(
        "apoc.refactor.extractNode",
        "a node in place of each relationship, with one to it and one from it",
        (
            &[
                ("rels", TypeSet::ANY),
                ("labels", TypeSet::LIST),
                ("outType", TypeSet::STRING),
                ("inType", TypeSet::STRING),
            ],
            4,
        ),
        Right::Write,
        COPIED,
        Body::Statement(
            "UNWIND $rels AS rel WITH rel, id(rel) AS input, startNode(rel) AS a, \
                endNode(rel) AS b, properties(rel) AS all \
                CREATE (a)-[:$($inType)]->(output:$(coalesce($labels, [])))-[:$($outType)]->(b) \
                SET output = all DELETE rel RETURN input, output, null AS error",
        ),
    ),
    procedure(
        "apoc.refactor.from",
        "lets a relationship begin at another node",
        (
            &[("rel", TypeSet::RELATIONSHIP), ("newNode", TypeSet::NODE)],
            2,
        ),
        Right::Write,
        TREATED,
        in_place_of_old!(
            "$rel AS old, $newNode AS a, endNode($rel) AS b",
            "type(old)"
        ),
    ),
    procedure(
        "apoc.refactor.invert",
        "turns a relationship around",
        (&[("rel", TypeSet::RELATIONSHIP)], 1),
        Right::Write,
        TREATED,
        in_place_of_old!(
            "$rel AS old, endNode($rel) AS a, startNode($rel) AS b",
            "type(old)"
        ),
    ),
    procedure(
        "apoc.refactor.mergeNodes",
        "makes one node of several: the first one gets labels, properties and relationships of \
            the others",
        (&[("nodes", TypeSet::ANY), ("config", TypeSet::MAP)], 1),
        Right::Write,
        NODE,
        Body::OfCall(merge_nodes),
    ),
    procedure(
        "apoc.refactor.normalizeAsBoolean",
        "true or false in place of values of a property, and nothing in place of others",
        (
            &[
                ("entity", TypeSet::ANY),
                ("propertyKey", TypeSet::STRING),
                ("trueValues", TypeSet::LIST),
                ("falseValues", TypeSet::LIST),
            ],
            4,
        ),
        Right::Write,
        &[],
        Body::Statement(
            "WITH $entity AS e WITH e, e[$propertyKey] AS own WHERE own IS NOT NULL \
                SET e[$propertyKey] = CASE WHEN own IN $trueValues THEN true \
                    WHEN own IN $falseValues THEN false END RETURN 1",
        ),
    ),
    procedure(
        "apoc.refactor.rename.label",
        "gives a label another name, on these nodes or on all",
        (
            &[
                ("oldLabel", TypeSet::STRING),
                ("newLabel", TypeSet::STRING),
                ("nodes", TypeSet::ANY),
            ],
            2,
        ),
        Right::Write,
        RENAMED,
        Body::Statement(renamed!(
            "MATCH (n:$($oldLabel)) WHERE size($nodes) = 0 OR n IN $nodes \
                WITH collect(n) AS all \
                FOREACH (n IN all | REMOVE n:$($oldLabel) SET n:$($newLabel)) \
                WITH size(all) AS total"
        )),
    ),
    procedure(
        "apoc.refactor.rename.nodeProperty",
        "gives a property of nodes another name, on these nodes or on all",
        (
            &[
                ("oldName", TypeSet::STRING),
                ("newName", TypeSet::STRING),
                ("nodes", TypeSet::ANY),
                ("config", TypeSet::MAP),
            ],
            2,
        ),
        Right::Write,
        RENAMED,
        Body::Statement(renamed!(
            "MATCH (n) WHERE n[$oldName] IS NOT NULL AND (size($nodes) = 0 OR n IN $nodes) \
                WITH collect(n) AS all \
                FOREACH (n IN all | SET n[$newName] = n[$oldName] SET n[$oldName] = null) \
                WITH size(all) AS total"
        )),
    ),
    procedure(
        "apoc.refactor.rename.type",
        "gives a relationship type another name, on these relationships or on all",
        (
            &[
                ("oldType", TypeSet::STRING),
                ("newType", TypeSet::STRING),
                ("rels", TypeSet::ANY),
                ("config", TypeSet::MAP),
            ],
            2,
        ),
        Right::Write,
        RENAMED,
        Body::Statement(renamed!(
            "MATCH (a)-[old:$($oldType)]->(b) WHERE size($rels) = 0 OR old IN $rels \
                WITH collect([a, old, b]) AS all \
                CALL (all) { UNWIND all AS one WITH one[0] AS a, one[1] AS old, one[2] AS b \
                    CREATE (a)-[r:$($newType)]->(b) SET r = properties(old) DELETE old } \
                WITH size(all) AS total"
        )),
    ),
    procedure(
        "apoc.refactor.rename.typeProperty",
        "gives a property of relationships another name, on these relationships or on all",
        (
            &[
                ("oldName", TypeSet::STRING),
                ("newName", TypeSet::STRING),
                ("rels", TypeSet::ANY),
                ("config", TypeSet::MAP),
            ],
            2,
        ),
        Right::Write,
        RENAMED,
        Body::Statement(renamed!(
            "MATCH ()-[r]->() WHERE r[$oldName] IS NOT NULL AND (size($rels) = 0 OR r IN $rels) \
                WITH collect(r) AS all \
                FOREACH (r IN all | SET r[$newName] = r[$oldName] SET r[$oldName] = null) \
                WITH size(all) AS total"
        )),
    ),
    procedure(
        "apoc.refactor.setType",
        "gives a relationship another type",
        (
            &[("rel", TypeSet::RELATIONSHIP), ("newType", TypeSet::STRING)],
            2,
        ),
        Right::Write,
        TREATED,
        Body::Made(set_type),
    ),
    procedure(
        "apoc.refactor.to",
        "lets a relationship end at another node",
        (
            &[("rel", TypeSet::RELATIONSHIP), ("endNode", TypeSet::NODE)],
            2,
        ),
        Right::Write,
        TREATED,
        in_place_of_old!(
            "$rel AS old, startNode($rel) AS a, $endNode AS b",
            "type(old)"
        ),
    ),
];

/// A type that cannot be one is told in the row.
fn set_type(args: &Named<'_>) -> Result<String, String> {
    let wanted = match args.get("newType") {
        Value::String(name) if !name.is_empty() => quoted(name),
        other => {
            let other = if other.is_null() {
                "null"
            } else {
                "an empty one"
            };
            return Ok(format!(
                "WITH $rel AS old WHERE old IS NOT NULL \
                    RETURN id(old) AS input, null AS output, \
                    'a relationship type is a text that is not empty, not {other}' AS error"
            ));
        }
    };
    Ok(format!(
        "WITH $rel AS old WHERE old IS NOT NULL \
            WITH old, startNode(old) AS a, endNode(old) AS b, id(old) AS input \
            CREATE (a)-[output:{wanted}]->(b) SET output = properties(old) \
            DELETE old RETURN input, output, null AS error"
    ))
}
