//! A graph in Apache GraphAr's format, as Spark and GraphAr's libraries read and write it.
//!
//! # How it works
//! ```text
//! export: nodes, relationships -> types of vertices and edges -> chunks -> YAML, the graph's last
//! import: YAML -> chunks of vertices, then of edges -> elements -> database
//! ```
//! GraphAr has one type for each vertex, so that each set of labels becomes a vertex type. It lists
//! its labels, unless its name is the only one. A relationship type becomes an edge type for each
//! pair of vertex types it connects. GraphAr numbers the vertices of a type from 0; here the
//! numbers follow the ids.
//!
//! A property whose values have no type in GraphAr is text, and [`layout::KINDS`] says how to read
//! it: a file that only Graven knows.
//!
//! # Invariants
//! * GA-1 A folder without the YAML of the graph is no export; it is written last, and its last
//!   line, without which it is refused, is the version.
//! * GA-2 What is exported and imported again is an equal graph, constraints and indexes aside; but
//!   an import refuses the label and the property that it uses itself (module `load`).
//!
//! # Costs
//! An export holds the row groups of three files, a sort that goes to disk, and two bits to two
//! bytes for each node. An import holds a batch of each file of one chunk.
//!
//! # Source
//! Apache GraphAr, "Format" (`gar/v1`), and the files that its C++ library writes.

mod adjacency;
mod chunks;
mod edges;
mod export;
mod import;
mod info;
mod layout;
mod numbers;
mod plan;
mod rows;
mod types;
mod vertices;
mod yaml;

pub use export::{GraphArOptions, export_graphar};
pub use import::import_graphar;
