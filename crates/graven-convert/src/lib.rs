//! Whole graphs in the forms that other programs read, and the forms that Neo4j's tools write.
//!
//! # How it works
//! ```text
//! export: one transaction -> nodes, then relationships -> writer of the form -> file or folder
//! import: file -> elements (node or relationship) -> batches -> UNWIND statements -> database
//! ```
//! An export reads nodes in the order of their ids, then relationships, twice where a form declares
//! types before values. An import finds the ends of relationships by a label and a property of its
//! own, which it removes at the end.
//!
//! # Invariants
//! * EG-1 All of an export is read in one transaction.
//! * EG-2 What a form cannot hold is counted in [`Exported::notes`]; nothing is left out silently.
//!
//! # Costs
//! Memory holds one batch of rows for each set of labels, and the names of the graph; more only
//! where the header of a form says so.

mod admin;
mod cypher;
mod element;
mod error;
mod graph;
mod graphar;
mod graphml;
mod load;
mod neo4j;
mod text;

pub use admin::{Tables, export_tables, read_tables};
pub use cypher::{Schema, export_cypher};
pub use error::{Error, Result};
pub use graph::Exported;
pub use graphar::{GraphArOptions, export_graphar, import_graphar};
pub use graphml::export_graphml;
pub use neo4j::{Imported, import_neo4j};
