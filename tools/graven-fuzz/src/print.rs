//! The generated statements as lines of JSON, for a comparison with another system.
//!
//! # How it works
//! A line has the statement and those that make its graph; a statement that follows a write finds
//! the graph as the interpreter left it. Calls of functions and combinations have a graph of their
//! own. `bench/neo4j` asks Neo4j and Graven each line and compares what both say.

use std::io::{self, Write};

use serde_json::json;

use crate::combined;
use crate::functions;
use crate::graph::Graph;
use crate::interpret::Interpreter;
use crate::library::Setting;
use crate::spelling::spelled;
use crate::{Drawn, PER_GRAPH};

/// Writes `queries` statements, from the graph of `seed` on, every call of a function and every
/// combination.
///
/// # Errors
/// What `out` says.
pub fn print(seed: u64, queries: u64, out: &mut impl Write) -> io::Result<()> {
    for at in 0..queries.div_ceil(PER_GRAPH) {
        of_graph(seed.wrapping_add(at), out)?;
    }
    let calls = functions::calls();
    let calls = calls.into_iter().map(|call| (functions::GRAPH, call));
    let combined = combined::statements().into_iter();
    for (graph, statement) in calls.chain(combined.map(|all| (combined::GRAPH, all))) {
        let line = json!({"setup": [graph], "statement": statement});
        writeln!(out, "{line}")?;
    }
    for (statement, value) in combined::with_parameters() {
        let params = json!({"v": value});
        let line = json!({"setup": [combined::GRAPH], "statement": statement, "params": params});
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn of_graph(seed: u64, out: &mut impl Write) -> io::Result<()> {
    let mut drawn = Drawn::new(seed);
    let graph = Graph::random(&mut drawn.random);
    // Drawn by the comparison, too, so that both make the same statements of a seed.
    let _ = Setting::random(&mut drawn.random);
    let mut model = Interpreter::new(graph);
    while let Some((number, query, spelling)) = drawn.next(&model.graph) {
        let setup: Vec<String> = model.graph.creation().into_iter().collect();
        let answer = model.run(&query);
        if answer.as_ref().is_err_and(|stop| !stop.is_known()) {
            continue;
        }
        let statement = spelled(&query, spelling, answer.is_ok());
        let id = format!("seed {seed}, query {number}");
        let line = json!({"id": id, "setup": setup, "statement": statement});
        writeln!(out, "{line}")?;
    }
    Ok(())
}
