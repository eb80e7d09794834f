//! `db.create.set*VectorProperty`: lists of floats, or vectors as they are, as properties: so
//! programs store embeddings.

use graven_cypher::TypeSet;

use super::entry::{Body, Field, Procedure, procedure};
use crate::right::Right;

const NODE: (&[Field], usize) = (
    &[
        ("node", TypeSet::NODE),
        ("key", TypeSet::STRING),
        ("vector", TypeSet::LIST.or(TypeSet::VECTOR)),
    ],
    3,
);

const RELATIONSHIP: (&[Field], usize) = (
    &[
        ("relationship", TypeSet::RELATIONSHIP),
        ("key", TypeSet::STRING),
        ("vector", TypeSet::LIST.or(TypeSet::VECTOR)),
    ],
    3,
);

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "db.create.setNodeVectorProperty",
        "sets a property of a node to a vector or a list of floats",
        NODE,
        Right::Write,
        &[],
        Body::Statement(
            "WITH $node AS n WHERE n IS NOT NULL SET n[$key] = CASE WHEN $vector IS :: VECTOR \
                THEN $vector ELSE toFloatList($vector) END",
        ),
    ),
    procedure(
        "db.create.setRelationshipVectorProperty",
        "sets a property of a relationship to a vector or a list of floats",
        RELATIONSHIP,
        Right::Write,
        &[],
        Body::Statement(
            "WITH $relationship AS r WHERE r IS NOT NULL SET r[$key] = CASE WHEN $vector IS :: \
                VECTOR THEN $vector ELSE toFloatList($vector) END",
        ),
    ),
    procedure(
        "db.create.setVectorProperty",
        "sets a property of a node to a vector or a list of floats",
        NODE,
        Right::Write,
        &[("node", TypeSet::NODE)],
        Body::Statement(
            "WITH $node AS node WHERE node IS NOT NULL \
                SET node[$key] = CASE WHEN $vector IS :: VECTOR THEN $vector \
                ELSE toFloatList($vector) END RETURN node",
        ),
    ),
];
