//! Graphs out to the forms of other programs and back, and exports as Neo4j's APOC writes them.

mod apoc;
mod graphs;
mod round_trip;
