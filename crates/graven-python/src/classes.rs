//! Classes of Python that values become.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Classes of Python that values become, looked up once.
pub(crate) struct Classes {
    pub(crate) error: Py<PyAny>,
    pub(crate) node: Py<PyAny>,
    pub(crate) relationship: Py<PyAny>,
    pub(crate) path: Py<PyAny>,
    pub(crate) duration: Py<PyAny>,
    pub(crate) point: Py<PyAny>,
    pub(crate) temporal: Py<PyAny>,
    pub(crate) date: Py<PyAny>,
    pub(crate) time: Py<PyAny>,
    pub(crate) datetime: Py<PyAny>,
    pub(crate) timedelta: Py<PyAny>,
    pub(crate) timezone: Py<PyAny>,
    /// `zoneinfo.ZoneInfo`.
    pub(crate) zone_info: Py<PyAny>,
}

impl Classes {
    pub(crate) fn of(py: Python<'_>) -> PyResult<&Classes> {
        static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
        CLASSES.get_or_try_init(py, || {
            let own = py.import("graven.values")?;
            let times = py.import("datetime")?;
            let get =
                |module: &Bound<'_, PyModule>, name: &str| module.getattr(name).map(Bound::unbind);
            Ok(Classes {
                error: get(&own, "Error")?,
                node: get(&own, "Node")?,
                relationship: get(&own, "Relationship")?,
                path: get(&own, "Path")?,
                duration: get(&own, "Duration")?,
                point: get(&own, "Point")?,
                temporal: get(&own, "Temporal")?,
                date: get(&times, "date")?,
                time: get(&times, "time")?,
                datetime: get(&times, "datetime")?,
                timedelta: get(&times, "timedelta")?,
                timezone: get(&times, "timezone")?,
                zone_info: get(&py.import("zoneinfo")?, "ZoneInfo")?,
            })
        })
    }
}
