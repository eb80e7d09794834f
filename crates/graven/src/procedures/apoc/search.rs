//! `apoc.search.*`: nodes by the properties of several labels.

use graven_cypher::TypeSet;

use super::super::entry::{Body, Field, Procedure, procedure};
use super::NODE;
use crate::right::Right;

const ASKED: (&[Field], usize) = (
    &[
        ("labelPropertyMap", TypeSet::ANY),
        ("operator", TypeSet::STRING),
        ("value", TypeSet::STRING),
    ],
    3,
);

const REDUCED: &[Field] = &[
    ("id", TypeSet::INTEGER),
    ("labels", TypeSet::LIST),
    ("values", TypeSet::MAP),
];

/// The nodes `n` with a property `key` that is `own` and meets what is asked for.
macro_rules! found {
    ($behind:literal) => {
        concat!(
            "WITH $labelPropertyMap AS given, $value AS value, \
                    toLower(trim($operator)) AS operator \
                WITH CASE WHEN valueType(given) STARTS WITH 'STRING' \
                    THEN apoc.convert.fromJsonMap(given) ELSE given END AS asked, operator, value \
                WHERE apoc.util.validatePredicate(NOT operator IN ['=', 'exact', '<>', '<', \
                    '>', '<=', '>=', '=~', 'starts with', 'ends with', 'contains'], \
                    'there is no operator `%s`: give =, <>, <, >, <=, >=, =~, starts with, ends \
                    with or contains', [operator]) \
                UNWIND keys(asked) AS label UNWIND asked[label] AS key \
                MATCH (n:$(label)) WITH n, key, n[key] AS own, operator, value \
                WHERE CASE operator WHEN '=' THEN own = value WHEN 'exact' THEN own = value \
                    WHEN '<>' THEN own <> value WHEN '<' THEN own < value \
                    WHEN '>' THEN own > value WHEN '<=' THEN own <= value \
                    WHEN '>=' THEN own >= value WHEN '=~' THEN own =~ value \
                    WHEN 'starts with' THEN own STARTS WITH value \
                    WHEN 'ends with' THEN own ENDS WITH value \
                    WHEN 'contains' THEN own CONTAINS value ELSE false END ",
            $behind
        )
    };
}

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.search.multiSearchReduced",
        "what nodes hold of which properties meet what is asked for, once for each of them",
        ASKED,
        Right::Read,
        REDUCED,
        Body::Statement(found!(
            "RETURN id(n) AS id, labels(n) AS labels, apoc.map.setKey({}, key, own) AS values"
        )),
    ),
    procedure(
        "apoc.search.node",
        "each node of which one of the properties meets what is asked for",
        ASKED,
        Right::Read,
        NODE,
        Body::Statement(found!("RETURN DISTINCT n AS node")),
    ),
    procedure(
        "apoc.search.nodeAll",
        "nodes of which properties meet what is asked for, once for each of them",
        ASKED,
        Right::Read,
        NODE,
        Body::Statement(found!("RETURN n AS node")),
    ),
    procedure(
        "apoc.search.nodeAllReduced",
        "what nodes hold of which properties meet what is asked for, once for each of them",
        ASKED,
        Right::Read,
        REDUCED,
        Body::Statement(found!(
            "RETURN id(n) AS id, labels(n) AS labels, apoc.map.setKey({}, key, own) AS values"
        )),
    ),
    procedure(
        "apoc.search.nodeReduced",
        "what nodes hold of which a property meets what is asked for",
        ASKED,
        Right::Read,
        REDUCED,
        Body::Statement(found!(
            "WITH n, collect([key, own]) AS found \
                RETURN id(n) AS id, labels(n) AS labels, apoc.map.fromPairs(found) AS values"
        )),
    ),
];
