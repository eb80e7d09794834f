//! `apoc.graph.*`: nodes and relationships as one map, as `apoc.export.*.graph` takes it.

use graven_cypher::TypeSet;

use super::super::entry::{Body, Field, Procedure, procedure};
use crate::right::Right;

const NAME: Field = ("name", TypeSet::STRING);
const PROPERTIES: Field = ("props", TypeSet::MAP);

const GRAPH: &[Field] = &[("graph", TypeSet::MAP)];

/// The map of what `g` holds.
macro_rules! graph_of {
    ($g:literal) => {
        Body::Statement(concat!(
            $g,
            " RETURN {name: $name, nodes: g.nodes, relationships: g.relationships, ",
            "properties: coalesce($props, {})} AS graph"
        ))
    };
}

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.graph.from",
        "the nodes and relationships of nodes, relationships, paths and lists of them",
        (&[("data", TypeSet::ANY), NAME, PROPERTIES], 3),
        Right::Read,
        GRAPH,
        graph_of!(
            "WITH apoc.coll.flatten([$data], true) AS all \
                WITH [x IN all WHERE apoc.meta.cypher.type(x) = 'NODE'] AS nodes, \
                    [x IN all WHERE apoc.meta.cypher.type(x) = 'RELATIONSHIP'] AS rels, \
                    [x IN all WHERE apoc.meta.cypher.type(x) = 'PATH'] AS paths \
                WITH {nodes: apoc.coll.toSet(reduce(l = nodes, p IN paths | l + nodes(p))), \
                    relationships: apoc.coll.toSet( \
                        reduce(l = rels, p IN paths | l + relationships(p)))} AS g"
        ),
    ),
    procedure(
        "apoc.graph.fromCypher",
        "the nodes and relationships that a statement gives, which only reads",
        (
            &[
                ("statement", TypeSet::STRING),
                ("params", TypeSet::MAP),
                NAME,
                PROPERTIES,
            ],
            4,
        ),
        Right::Read,
        GRAPH,
        graph_of!(
            "CALL apoc.cypher.run($statement, $params) YIELD value \
                UNWIND [key IN keys(value) | value[key]] AS one \
                WITH one WHERE left(apoc.meta.cypher.type(one), 4) IN \
                ['NODE', 'RELA', 'PATH', 'LIST'] WITH apoc.agg.graph(one) AS g"
        ),
    ),
    procedure(
        "apoc.graph.fromDB",
        "all nodes and relationships",
        (&[NAME, PROPERTIES], 2),
        Right::Read,
        GRAPH,
        graph_of!(
            "WITH {nodes: COLLECT { MATCH (n) RETURN n }, \
                relationships: COLLECT { MATCH ()-[r]->() RETURN r }} AS g"
        ),
    ),
    procedure(
        "apoc.graph.fromData",
        "these nodes and relationships",
        (
            &[
                ("nodes", TypeSet::LIST),
                ("rels", TypeSet::LIST),
                NAME,
                PROPERTIES,
            ],
            4,
        ),
        Right::Read,
        GRAPH,
        graph_of!("WITH {nodes: $nodes, relationships: $rels} AS g"),
    ),
    procedure(
        "apoc.graph.fromPath",
        "the nodes and relationships of a path",
        (&[("path", TypeSet::PATH), NAME, PROPERTIES], 3),
        Right::Read,
        GRAPH,
        graph_of!("WITH {nodes: nodes($path), relationships: relationships($path)} AS g"),
    ),
    procedure(
        "apoc.graph.fromPaths",
        "the nodes and relationships of paths",
        (&[("paths", TypeSet::LIST), NAME, PROPERTIES], 3),
        Right::Read,
        GRAPH,
        graph_of!("UNWIND $paths AS one WITH apoc.agg.graph(one) AS g"),
    ),
];
