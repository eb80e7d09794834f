//! One graph in the library and in the interpreter, and the comparison of what both make of a
//! query.

use std::panic::AssertUnwindSafe;

use crate::graph::Graph;
use crate::interpret::Interpreter;
use crate::library::{Library, Setting};
use crate::query::Query;
use crate::rows;
use crate::seams;
use crate::spelling::spelled;

/// What came of a comparison.
pub(crate) enum Verdict {
    /// Both said the same, in so many rows.
    Same(usize),
    /// The interpreter gave up.
    Skipped,
    /// In words, how they differ.
    Different(String),
}

/// A graph in both.
pub(crate) struct Pair {
    model: Interpreter,
    library: Library,
    /// Faults that the plan of the last query asked for.
    faults: Vec<usize>,
}

impl Pair {
    pub(crate) fn new(graph: Graph, setting: Setting) -> Result<Pair, String> {
        let library = Library::new(&graph, setting)?;
        Ok(Pair {
            model: Interpreter::new(graph),
            library,
            faults: Vec::new(),
        })
    }

    /// Faults that the plan of the last query asked for, by their places.
    pub(crate) fn faults(&self) -> Vec<usize> {
        self.faults.clone()
    }

    /// What the library says to a statement.
    pub(crate) fn asked(&self, statement: &str) -> Result<Vec<Vec<graven::Value>>, String> {
        self.library.ask(statement)
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.model.graph
    }

    /// Nodes and relationships that the interpreter looked at for the last query.
    pub(crate) fn looked_at(&self) -> usize {
        self.model.looked_at()
    }

    /// Runs `query` in both; the library gets it in the words that `spelling` chooses.
    pub(crate) fn compare(&mut self, query: &Query, spelling: u64) -> Result<Verdict, String> {
        let expected = self.model.run(query);
        if expected.as_ref().is_err_and(|stop| !stop.is_known()) {
            return Ok(Verdict::Skipped);
        }
        let statement = spelled(query, spelling, expected.is_ok());
        let ask = || std::panic::catch_unwind(AssertUnwindSafe(|| self.library.ask(&statement)));
        let _ = seams::asked();
        let got = ask();
        self.faults = seams::asked();
        let Ok(got) = got else {
            return Ok(Verdict::Different("the library panicked".to_owned()));
        };
        if let (Ok(expected), Ok(_), false) = (&expected, &got, query.writes()) {
            // The operators of the first time may be used again.
            let again = match ask() {
                Err(_) => Err("the library panicked".to_owned()),
                Ok(again) => {
                    again.and_then(|again| rows::same(self.graph(), query, expected, &again))
                }
            };
            if let Err(how) = again {
                return Ok(Verdict::Different(format!("asked again: {how}")));
            }
        }
        let rows = match (expected, got) {
            (Ok(expected), Ok(got)) => {
                let rows = expected.rows.len();
                if let Err(how) = rows::same(self.graph(), query, &expected, &got) {
                    return Ok(Verdict::Different(how));
                }
                rows
            }
            (Err(_), Err(error)) if error.contains("DeleteConnectedNode") => 0,
            (Err(_), Err(error)) => return Ok(Verdict::Different(error)),
            (Ok(_), Err(error)) => return Ok(Verdict::Different(error)),
            (Err(_), Ok(_)) => {
                let how = "deleted a node that has relationships".to_owned();
                return Ok(Verdict::Different(how));
            }
        };
        if query.writes()
            && let Err(how) = self.same_graph()
        {
            return Ok(Verdict::Different(how));
        }
        Ok(Verdict::Same(rows))
    }

    /// Whether both hold the same graph, up to the names of its parts.
    fn same_graph(&self) -> Result<(), String> {
        let wanted = rows::of_model(self.graph());
        let found = rows::of_library(|statement| self.library.ask(statement))?;
        match wanted == found {
            true => Ok(()),
            false => Err(format!(
                "the graph is then\nexpected {wanted:?}\n     got {found:?}"
            )),
        }
    }
}
