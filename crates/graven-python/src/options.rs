//! Options that take several forms in Python: sizes and timeouts.

use std::time::Duration;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::error::raised;

/// A size: a number of bytes, or text such as `64MiB`.
pub(crate) fn bytes(size: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(text) = size.extract::<String>() {
        return graven::parse_bytes(&text).map_err(|error| raised(size.py(), &error));
    }
    size.extract()
        .map_err(|_| PyTypeError::new_err("a size is a number of bytes, or text such as '64MiB'"))
}

/// Seconds that a statement may take.
pub(crate) fn timeout(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let duration = seconds.map(Duration::try_from_secs_f64).transpose();
    duration.map_err(|_| PyValueError::new_err("a timeout is a number of seconds from 0 on"))
}
