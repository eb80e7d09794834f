//! Procedures of APOC, Neo4j's library, that tools and programs call most.
//!
//! # How it works
//! Each file has a table of its own; [`TABLES`] has them all. Most are statements with a name
//! ([`super::inner`]). Names, arguments, columns and answers are those of APOC 5; what differs is
//! said in `docs/reference/apoc.md`.

mod algo;
mod atomic;
mod batches;
mod collapsed;
mod create;
mod document;
mod elements;
mod export;
mod file;
mod graph;
mod grouped;
mod import;
mod jobs;
mod load;
mod merge;
mod meta;
mod meta_of;
mod others;
mod path;
mod path_config;
mod path_filters;
mod reconnect;
mod refactor;
mod refactor_nodes;
mod run;
mod schema_assert;
mod search;
mod subgraph;
mod tree;
mod without_effect;

use graven_cypher::TypeSet;

use super::entry::{Field, Procedure};

/// All procedures of APOC.
pub(super) const TABLES: &[&[Procedure]] = &[
    algo::TABLE,
    atomic::TABLE,
    batches::TABLE,
    collapsed::TABLE,
    create::TABLE,
    document::TABLE,
    elements::TABLE,
    export::TABLES[0],
    export::TABLES[1],
    export::TABLES[2],
    export::TABLES[3],
    export::TABLES[4],
    graph::TABLE,
    grouped::TABLE,
    import::TABLE,
    jobs::TABLE,
    load::TABLE,
    merge::TABLE,
    meta::TABLE,
    meta_of::TABLE,
    others::TABLE,
    path::TABLE,
    reconnect::TABLE,
    refactor::TABLE,
    run::TABLE,
    schema_assert::TABLE,
    search::TABLE,
    subgraph::TABLE,
    tree::TABLE,
    without_effect::TABLE,
];

/// The column of procedures that give one node a row.
const NODE: &[Field] = &[("node", TypeSet::NODE)];

/// The column of procedures that give one relationship a row.
const RELATIONSHIP: &[Field] = &[("rel", TypeSet::RELATIONSHIP)];

/// The column of procedures that run statements of the caller.
const VALUE: &[Field] = &[("value", TypeSet::MAP)];
