//! Graphs out to the forms of other programs and back, and exports as Neo4j's APOC writes them.

mod apoc;
mod graphar;
mod graphar_files;
mod graphs;
mod round_trip;
