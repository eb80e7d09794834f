//! Traces of page accesses and their simulation, for `graven/lab.py`.
//!
//! # How it works
//! A trace is read once and its pages numbered from 0. Policies of Graven are simulated here,
//! without the interpreter's lock; policies of Python by a loop of Python over the numbers.

use std::path::PathBuf;

use graven_policy::registry::{Boxing, Spec, visit};
use graven_policy::simulator::{ArrayFrames, Simulator};
use graven_policy::{Policy, belady};
use graven_trace::{ReadOptions, dense};
use pyo3::prelude::*;

use crate::error::usage;

/// A trace in memory.
#[pyclass(module = "graven._graven", frozen)]
pub(crate) struct Trace {
    name: String,
    pages: Vec<u32>,
    unique: usize,
}

fn told(py: Python<'_>, error: impl std::fmt::Display) -> PyErr {
    usage(py, error.to_string())
}

#[pymethods]
impl Trace {
    /// Reads a trace file, or takes the page numbers of a list.
    #[new]
    #[pyo3(signature = (path=None, pages=None, column=None, page_bytes=8192))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        pages: Option<Vec<u64>>,
        column: Option<String>,
        page_bytes: u64,
    ) -> PyResult<Self> {
        let (name, pages) = match (path, pages) {
            (Some(path), None) => {
                let options = ReadOptions {
                    column,
                    page_bytes,
                    ..ReadOptions::default()
                };
                let read = || graven_trace::read_with(&path, &options);
                let trace = py.detach(read).map_err(|error| told(py, error))?;
                (graven_trace::name_of(&path), trace.pages)
            }
            (None, Some(pages)) => ("list".to_owned(), pages),
            _ => {
                return Err(usage(
                    py,
                    "give the path of a trace, or a list of page numbers",
                ));
            }
        };
        if pages.is_empty() {
            return Err(usage(py, format!("{name}: the trace is empty")));
        }
        let dense = dense::map(&pages);
        Ok(Self {
            name,
            pages: dense.pages,
            unique: dense.unique,
        })
    }

    /// Name of the trace.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Different pages.
    #[getter]
    fn unique(&self) -> usize {
        self.unique
    }

    fn __len__(&self) -> usize {
        self.pages.len()
    }

    /// The pages, numbered from 0 in the order they appear, without those behind the first
    /// `accesses`.
    #[pyo3(signature = (accesses=None))]
    fn pages(&self, accesses: Option<usize>) -> Vec<u32> {
        self.first(accesses).to_vec()
    }

    /// Hits of a policy of Graven in an empty cache of `capacity` pages.
    #[pyo3(signature = (policy, capacity, seed=1, accesses=None))]
    fn hits(
        &self,
        py: Python<'_>,
        policy: &str,
        capacity: usize,
        seed: u64,
        accesses: Option<usize>,
    ) -> PyResult<u64> {
        if capacity == 0 || capacity >= u32::MAX as usize {
            return Err(usage(
                py,
                format!("a cache of {capacity} pages cannot be simulated"),
            ));
        }
        let spec = Spec::parse(policy).map_err(|error| told(py, error))?;
        let (pages, unique) = (self.first(accesses), self.unique);
        let frames = capacity.min(unique);
        if let Some(bypass) = belady::bypass_of(&spec) {
            return Ok(py.detach(|| belady::hits(pages, unique, capacity, bypass)));
        }
        let simulate = || {
            let policy: Box<dyn Policy<ArrayFrames>> = visit(&spec, capacity as u64, seed, Boxing)?;
            let mut simulator = Simulator::new(policy, unique, frames);
            simulator.replay(pages);
            Ok::<u64, graven_policy::PolicyError>(simulator.outcome().hits)
        };
        py.detach(simulate).map_err(|error| told(py, error))
    }
}

impl Trace {
    fn first(&self, accesses: Option<usize>) -> &[u32] {
        let count = accesses.unwrap_or(usize::MAX).min(self.pages.len());
        &self.pages[..count]
    }
}
