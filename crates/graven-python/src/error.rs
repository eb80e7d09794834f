//! Errors of the library as exceptions of Python.

use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::classes::Classes;

/// The exception that says the same.
pub(crate) fn raised(py: Python<'_>, error: &graven::Error) -> PyErr {
    make(py, error).unwrap_or_else(|other| other)
}

fn make(py: Python<'_>, error: &graven::Error) -> PyResult<PyErr> {
    let (line, column) = error.position().unzip();
    let durable = error.durable().map(|durable| durable.to_string());
    let details = [("line", line), ("column", column)].into_py_dict(py)?;
    details.set_item("retryable", error.is_retryable())?;
    details.set_item("durable", durable)?;
    let class = Classes::of(py)?.error.bind(py);
    let raised = class.call((error.code(), error.render()), Some(&details))?;
    Ok(PyErr::from_value(raised))
}

/// The exception for a request that makes no sense where it stands.
pub(crate) fn usage(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raised(py, &graven::Error::usage(message))
}
