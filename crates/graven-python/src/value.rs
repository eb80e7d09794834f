//! Values of the library as objects of Python.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven::{Node, Relationship, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::classes::Classes;
use crate::temporal;

/// The object that a value becomes.
pub(crate) fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Boolean(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Integer(i) => i.into_pyobject(py)?.into_any(),
        Value::Float(x) => x.into_pyobject(py)?.into_any(),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Value::List(items) => list(py, items)?.into_any(),
        Value::Map(entries) => dict(py, entries)?.into_any(),
        Value::Node(node) => self::node(py, node)?,
        Value::Relationship(relationship) => self::relationship(py, relationship)?,
        Value::Path(path) => {
            let nodes = path.nodes.iter().map(|it| node(py, it));
            let nodes = nodes.collect::<PyResult<Vec<_>>>()?;
            let relationships = path.relationships.iter().map(|it| relationship(py, it));
            let relationships = relationships.collect::<PyResult<Vec<_>>>()?;
            let class = Classes::of(py)?.path.bind(py);
            class.call1((PyList::new(py, nodes)?, PyList::new(py, relationships)?))?
        }
        Value::Stored(stored) => temporal::object(py, stored)?,
        other => PyString::new(py, &other.to_string()).into_any(),
    })
}

fn list<'py>(py: Python<'py>, items: &[Value]) -> PyResult<Bound<'py, PyList>> {
    let items = items.iter().map(|item| object(py, item));
    PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
}

fn dict<'py>(py: Python<'py>, entries: &BTreeMap<Arc<str>, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in entries {
        dict.set_item(&**key, object(py, value)?)?;
    }
    Ok(dict)
}

fn node<'py>(py: Python<'py>, node: &Node) -> PyResult<Bound<'py, PyAny>> {
    let labels = PyTuple::new(py, node.labels.iter().map(|label| &**label))?;
    let class = Classes::of(py)?.node.bind(py);
    class.call1((node.id, labels, dict(py, &node.properties)?))
}

fn relationship<'py>(py: Python<'py>, it: &Relationship) -> PyResult<Bound<'py, PyAny>> {
    let class = Classes::of(py)?.relationship.bind(py);
    let properties = dict(py, &it.properties)?;
    class.call1((it.id, &*it.rel_type, it.start, it.end, properties))
}
