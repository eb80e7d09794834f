//! Traces of page accesses and their simulation, for `graven/lab.py`.
//!
//! # How it works
//! A trace is read once and its pages numbered from 0. Policies of Graven are simulated here by the
//! replay of `graven lab simulate`, without the interpreter's lock; policies of Python by a loop of
//! Python over the numbers, which sees no hints and no transactions.

use std::path::PathBuf;

use graven_policy::registry::Spec;
use graven_trace::replay::{ReplayTrace, Replayed};
use graven_trace::{Format, ReadOptions};
use pyo3::prelude::*;

use crate::error::usage;

/// A trace in memory.
#[pyclass(module = "graven._graven", frozen)]
pub(crate) struct Trace {
    name: String,
    trace: ReplayTrace,
}

/// Hits, evictions (none of the optimum), and what the policy tells about itself.
type Counts = (u64, Option<u64>, Vec<(String, f64)>);

fn told(py: Python<'_>, error: impl std::fmt::Display) -> PyErr {
    usage(py, error.to_string())
}

#[pymethods]
impl Trace {
    /// Reads a trace file, or takes the page numbers of a list.
    #[new]
    #[pyo3(signature = (path=None, pages=None, column=None, page_bytes=8192, format=None))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        pages: Option<Vec<u64>>,
        column: Option<String>,
        page_bytes: u64,
        format: Option<&str>,
    ) -> PyResult<Self> {
        let format = format.map(str::parse::<Format>).transpose();
        let format = format.map_err(|error| told(py, error))?;
        let (name, trace) = match (path, pages) {
            (Some(path), None) => {
                let options = ReadOptions {
                    column,
                    page_bytes,
                    format,
                };
                let read = || graven_trace::read_with(&path, &options);
                let trace = py.detach(read).map_err(|error| told(py, error))?;
                (graven_trace::name_of(&path), trace)
            }
            (None, Some(pages)) => {
                let trace = graven_trace::Trace {
                    pages,
                    ..graven_trace::Trace::default()
                };
                ("list".to_owned(), trace)
            }
            _ => {
                return Err(usage(
                    py,
                    "give the path of a trace, or a list of page numbers",
                ));
            }
        };
        if trace.pages.is_empty() {
            return Err(usage(py, format!("{name}: the trace is empty")));
        }
        let trace = py.detach(|| ReplayTrace::new(&trace));
        Ok(Self { name, trace })
    }

    /// The trace of the first `accesses`.
    fn first(&self, accesses: usize) -> Self {
        Self {
            name: self.name.clone(),
            trace: self.trace.first(accesses),
        }
    }

    /// Name of the trace.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Different pages.
    #[getter]
    fn unique(&self) -> usize {
        self.trace.unique()
    }

    fn __len__(&self) -> usize {
        self.trace.accesses()
    }

    /// The pages, numbered from 0 in the order they appear.
    fn pages(&self) -> Vec<u32> {
        self.trace.pages().to_vec()
    }

    /// What a policy of Graven counts in an empty cache of `capacity` pages.
    #[pyo3(signature = (policy, capacity, seed=1))]
    fn replay(&self, py: Python<'_>, policy: &str, capacity: usize, seed: u64) -> PyResult<Counts> {
        if capacity == 0 || capacity >= u32::MAX as usize {
            return Err(usage(
                py,
                format!("a cache of {capacity} pages cannot be simulated"),
            ));
        }
        let spec = Spec::parse(policy).map_err(|error| told(py, error))?;
        // Python measures the time.
        let replayed = py.detach(|| self.trace.replay(&spec, capacity, seed, || 0.0));
        let Replayed {
            hits,
            evictions,
            figures,
            ..
        } = replayed.map_err(|error| told(py, format!("{}: {error}", self.name)))?;
        Ok((hits, evictions, figures))
    }
}
