//! `apoc.create.*`: nodes and relationships with computed labels, types and properties, and such as
//! are only shown.

use graven_cypher::TypeSet;

use super::super::entry::{Body, Field, Procedure, procedure};
use super::{NODE, RELATIONSHIP};
use crate::right::Right;

const NODES_AND_LABELS: (&[Field], usize) =
    (&[("nodes", TypeSet::ANY), ("labels", TypeSet::LIST)], 2);

const LABELS_AND_PROPERTIES: &[Field] = &[("labels", TypeSet::LIST), ("props", TypeSet::MAP)];

const FROM_TO: &[Field] = &[
    ("from", TypeSet::ANY),
    ("relType", TypeSet::STRING),
    ("props", TypeSet::MAP),
    ("to", TypeSet::ANY),
];

const FULL_PATTERN: (&[Field], usize) = (
    &[
        ("labelsN", TypeSet::LIST),
        ("n", TypeSet::MAP),
        ("arelType", TypeSet::STRING),
        ("props", TypeSet::MAP),
        ("labelsM", TypeSet::LIST),
        ("m", TypeSet::MAP),
    ],
    6,
);

const SHOWN: &[Field] = &[
    ("from", TypeSet::ANY),
    ("rel", TypeSet::ANY),
    ("to", TypeSet::ANY),
];

/// The labels that are given, without nulls.
macro_rules! labels {
    () => {
        "[l IN coalesce($labels, []) WHERE l IS NOT NULL]"
    };
}

/// The beginning of a statement that fails unless there is a value for each key.
macro_rules! same_size {
    () => {
        "WITH apoc.util.validatePredicate(coalesce(size($keys) <> size($values), true), \
            'keys and values are lists of the same size', []) AS well "
    };
}

/// Paths of shown copies, which share the copies of nodes.
macro_rules! cloned {
    ($paths:literal) => {
        Body::Statement(concat!(
            "WITH [p IN ",
            $paths,
            " WHERE p IS NOT NULL] AS paths \
                WITH paths, apoc.coll.toSet(reduce(l = [], p IN paths | l + nodes(p))) AS own \
                WITH paths, own, [n IN own | apoc.create.vNode(labels(n), properties(n))] AS made \
                UNWIND paths AS p \
                WITH own, made, nodes(p) AS ns, relationships(p) AS rs \
                WITH [n IN ns | made[apoc.coll.indexOf(own, n)]] AS ns, \
                    [r IN rs | apoc.create.vRelationship( \
                        made[apoc.coll.indexOf(own, startNode(r))], type(r), properties(r), \
                        made[apoc.coll.indexOf(own, endNode(r))])] AS rs \
                RETURN graven.virtualPath(ns, rs) AS path"
        ))
    };
}

const SHOWN_PATTERN: &str = "WITH apoc.create.vNode($labelsN, coalesce($n, {})) AS from, \
    apoc.create.vNode($labelsM, coalesce($m, {})) AS to \
    RETURN from, \
    apoc.create.vRelationship(from, $arelType, coalesce($props, {}), to) AS rel, to";

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.create.addLabels",
        "adds labels to nodes",
        NODES_AND_LABELS,
        Right::Write,
        NODE,
        Body::Statement(concat!(
            "UNWIND $nodes AS node SET node:$(",
            labels!(),
            ") RETURN node"
        )),
    ),
    procedure(
        "apoc.create.clonePathToVirtual",
        "a path of copies that are only shown",
        (&[("path", TypeSet::ANY)], 1),
        Right::Read,
        &[("path", TypeSet::ANY)],
        cloned!("[$path]"),
    ),
    procedure(
        "apoc.create.clonePathsToVirtual",
        "paths of copies that are only shown",
        (&[("paths", TypeSet::LIST)], 1),
        Right::Read,
        &[("path", TypeSet::ANY)],
        cloned!("$paths"),
    ),
    procedure(
        "apoc.create.node",
        "makes a node",
        (LABELS_AND_PROPERTIES, 2),
        Right::Write,
        NODE,
        Body::Statement(concat!(
            "CREATE (node:$(",
            labels!(),
            ")) SET node = coalesce($props, {}) RETURN node"
        )),
    ),
    procedure(
        "apoc.create.nodes",
        "makes a node with these labels for each map of properties",
        (&[("labels", TypeSet::LIST), ("props", TypeSet::LIST)], 2),
        Right::Write,
        NODE,
        Body::Statement(concat!(
            "UNWIND $props AS own CREATE (node:$(",
            labels!(),
            ")) SET node = coalesce(own, {}) RETURN node"
        )),
    ),
    procedure(
        "apoc.create.relationship",
        "makes a relationship",
        (FROM_TO, 4),
        Right::Write,
        RELATIONSHIP,
        Body::Statement(
            "WITH $from AS a, $to AS b CREATE (a)-[rel:$($relType)]->(b) \
                SET rel = coalesce($props, {}) RETURN rel",
        ),
    ),
    procedure(
        "apoc.create.removeLabels",
        "removes labels from nodes",
        NODES_AND_LABELS,
        Right::Write,
        NODE,
        Body::Statement(concat!(
            "UNWIND $nodes AS node REMOVE node:$(",
            labels!(),
            ") RETURN node"
        )),
    ),
    procedure(
        "apoc.create.removeProperties",
        "removes properties of these keys from nodes",
        (&[("nodes", TypeSet::ANY), ("keys", TypeSet::LIST)], 2),
        Right::Write,
        NODE,
        Body::Statement(
            "UNWIND $nodes AS node FOREACH (key IN $keys | SET node[key] = null) RETURN node",
        ),
    ),
    procedure(
        "apoc.create.removeRelProperties",
        "removes properties of these keys from relationships",
        (&[("rels", TypeSet::ANY), ("keys", TypeSet::LIST)], 2),
        Right::Write,
        RELATIONSHIP,
        Body::Statement(
            "UNWIND $rels AS rel FOREACH (key IN $keys | SET rel[key] = null) RETURN rel",
        ),
    ),
    procedure(
        "apoc.create.setLabels",
        "gives nodes these labels, and no others",
        NODES_AND_LABELS,
        Right::Write,
        NODE,
        Body::Statement(concat!(
            "WITH ",
            labels!(),
            " AS new UNWIND $nodes AS node \
                    WITH node, new, [l IN labels(node) WHERE NOT l IN new] AS old \
                    REMOVE node:$(old) SET node:$(new) RETURN node"
        )),
    ),
    procedure(
        "apoc.create.setProperties",
        "sets properties of nodes: keys and values in the same order",
        (
            &[
                ("nodes", TypeSet::ANY),
                ("keys", TypeSet::LIST),
                ("values", TypeSet::LIST),
            ],
            3,
        ),
        Right::Write,
        NODE,
        Body::Statement(concat!(
            same_size!(),
            "UNWIND $nodes AS node FOREACH (i IN range(0, size($keys) - 1) | \
                    SET node[$keys[i]] = $values[i]) RETURN node"
        )),
    ),
    procedure(
        "apoc.create.setProperty",
        "sets a property of nodes",
        (
            &[
                ("nodes", TypeSet::ANY),
                ("key", TypeSet::STRING),
                ("value", TypeSet::ANY),
            ],
            3,
        ),
        Right::Write,
        NODE,
        Body::Statement("UNWIND $nodes AS node SET node[$key] = $value RETURN node"),
    ),
    procedure(
        "apoc.create.setRelProperties",
        "sets properties of relationships: keys and values in the same order",
        (
            &[
                ("rels", TypeSet::ANY),
                ("keys", TypeSet::LIST),
                ("values", TypeSet::LIST),
            ],
            3,
        ),
        Right::Write,
        RELATIONSHIP,
        Body::Statement(concat!(
            same_size!(),
            "UNWIND $rels AS rel FOREACH (i IN range(0, size($keys) - 1) | \
                    SET rel[$keys[i]] = $values[i]) RETURN rel"
        )),
    ),
    procedure(
        "apoc.create.setRelProperty",
        "sets a property of relationships",
        (
            &[
                ("rels", TypeSet::ANY),
                ("key", TypeSet::STRING),
                ("value", TypeSet::ANY),
            ],
            3,
        ),
        Right::Write,
        RELATIONSHIP,
        Body::Statement("UNWIND $rels AS rel SET rel[$key] = $value RETURN rel"),
    ),
    procedure(
        "apoc.create.uuids",
        "so many random UUIDs",
        (&[("count", TypeSet::INTEGER)], 1),
        Right::Read,
        &[("row", TypeSet::INTEGER), ("uuid", TypeSet::STRING)],
        Body::Statement("UNWIND range(0, $count - 1) AS row RETURN row, randomUUID() AS uuid"),
    ),
    procedure(
        "apoc.create.vNode",
        "a node that is shown, and is not in the database",
        (LABELS_AND_PROPERTIES, 1),
        Right::Read,
        &[("node", TypeSet::ANY)],
        Body::Statement("RETURN apoc.create.vNode($labels, coalesce($props, {})) AS node"),
    ),
    procedure(
        "apoc.create.vNodes",
        "nodes of these labels that are only shown",
        (&[("labels", TypeSet::LIST), ("props", TypeSet::LIST)], 2),
        Right::Read,
        &[("node", TypeSet::ANY)],
        Body::Statement("UNWIND $props AS own RETURN apoc.create.vNode($labels, own) AS node"),
    ),
    procedure(
        "apoc.create.vPattern",
        "a relationship between two nodes that are shown, and are not in the database",
        (
            &[
                ("from", TypeSet::MAP),
                ("relType", TypeSet::STRING),
                ("props", TypeSet::MAP),
                ("to", TypeSet::MAP),
            ],
            4,
        ),
        Right::Read,
        SHOWN,
        Body::Statement(
            "WITH apoc.create.vNode($from._labels, apoc.map.removeKey($from, '_labels')) AS from, \
                apoc.create.vNode($to._labels, apoc.map.removeKey($to, '_labels')) AS to \
                RETURN from, \
                apoc.create.vRelationship(from, $relType, coalesce($props, {}), to) AS rel, to",
        ),
    ),
    procedure(
        "apoc.create.vPatternFull",
        "a relationship between two nodes that are shown, and are not in the database",
        FULL_PATTERN,
        Right::Read,
        SHOWN,
        Body::Statement(SHOWN_PATTERN),
    ),
    procedure(
        "apoc.create.vRelationship",
        "a relationship that is shown, and is not in the database",
        (FROM_TO, 4),
        Right::Read,
        &[("rel", TypeSet::ANY)],
        Body::Statement(
            "WITH $from AS from, $to AS to \
                RETURN apoc.create.vRelationship(from, $relType, coalesce($props, {}), to) AS rel",
        ),
    ),
    procedure(
        "apoc.create.virtualPath",
        "a relationship between two nodes that are shown, and are not in the database",
        FULL_PATTERN,
        Right::Read,
        SHOWN,
        Body::Statement(SHOWN_PATTERN),
    ),
];
