//! `graven.Database`: a file with its page cache.

mod methods;

use std::sync::atomic::AtomicBool;

use graven_binding::Folder;
use pyo3::prelude::*;

use crate::error::raised;

/// See the stubs.
#[pyclass(module = "graven", frozen)]
pub(crate) struct Database {
    pub(crate) database: graven::Database,
    closed: AtomicBool,
    /// Keeps the file of a database without a name; connections have it, too.
    pub(crate) folder: Folder,
}

impl Database {
    /// Runs `work` without the interpreter's lock (PY-2).
    fn away<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&graven::Database) -> Result<T, graven::Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| work(&self.database));
        done.map_err(|error| raised(py, &error))
    }
}
