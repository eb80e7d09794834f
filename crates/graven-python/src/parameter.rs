//! Objects of Python as parameters of statements.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven::{Frame, Params, Value};
use graven_files::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyCapsule, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};

use crate::temporal;

/// Lists within lists, at most.
const DEPTH_MAX: usize = 100;

/// Parameters by their names.
pub(crate) fn params(given: Option<&Bound<'_, PyDict>>) -> PyResult<Params> {
    let mut params = Params::new();
    for (name, value) in given.into_iter().flatten() {
        let Ok(name) = name.cast::<PyString>() else {
            let message = format!("names of parameters are text, got {}", type_name(&name));
            return Err(PyTypeError::new_err(message));
        };
        let name = name.to_cow()?;
        if let Some(frame) = frame(&value)? {
            params.set_frame(name.strip_prefix('$').unwrap_or(&name), frame);
            continue;
        }
        let value = self::value(&value, 0).map_err(|error| within(&value, &name, error))?;
        let name = name.strip_prefix('$').unwrap_or(&name);
        if params.get(name).is_some() {
            let message = format!("parameter `{name}` is given twice, with `$` and without");
            return Err(PyValueError::new_err(message));
        }
        params.set(name, value);
    }
    Ok(params)
}

/// What a table is read by: an object that hands out a stream of Arrow's batches, such as a
/// DataFrame or an Arrow table. A column alone is a list.
fn frame(it: &Bound<'_, PyAny>) -> PyResult<Option<Frame>> {
    for list in ["tolist", "to_list"] {
        if it.getattr_opt(list)?.is_some() {
            return Ok(None);
        }
    }
    let stream = match it.getattr_opt("__arrow_c_stream__")? {
        Some(stream) => stream.call0()?,
        // A data set is read as it goes.
        None => match it.getattr_opt("scanner")? {
            Some(scanner) => {
                let reader = scanner.call0()?.call_method0("to_reader")?;
                reader.call_method0("__arrow_c_stream__")?
            }
            None => return Ok(None),
        },
    };
    let capsule = stream.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name holds an ArrowArrayStream (the Arrow PyCapsule interface),
    // which no other code has taken yet: it was made for this call. What is taken is replaced by a
    // released one, so that the capsule frees nothing twice.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) };
    let reader = RecordBatchStreamReader::try_new(stream)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Some(Frame::new(Box::new(reader))))
}

/// Sets the frames that the text names without `$` to what the caller calls so: `LOAD FROM df`.
pub(crate) fn named_frames(text: &str, py: Python<'_>, params: &mut Params) -> PyResult<()> {
    let mut words = text.split_whitespace().peekable();
    while let (Some(word), Some(next)) = (words.next(), words.peek()) {
        if !word.eq_ignore_ascii_case("FROM") {
            continue;
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let name = next.split(|c| !is_part(c)).next().unwrap_or_default();
        if name.is_empty() || params.get(name).is_some() || params.has_frame(name) {
            continue;
        }
        // The frame of the Python caller: compiled code has none of its own.
        let caller = py.import("sys")?.call_method1("_getframe", (0,))?;
        for scope in ["f_locals", "f_globals"] {
            let found = caller.getattr(scope)?.get_item(name).ok();
            if let Some(frame) = found.map(|it| frame(&it)).transpose()?.flatten() {
                params.set_frame(name, frame);
                break;
            }
        }
    }
    Ok(())
}

/// The same error, which names the parameter.
fn within(value: &Bound<'_, PyAny>, name: &str, error: PyErr) -> PyErr {
    let py = value.py();
    let message = format!("parameter `{name}`: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        return PyTypeError::new_err(message);
    }
    if error.is_instance_of::<PyOverflowError>(py) {
        return PyOverflowError::new_err(message);
    }
    // Text that is no Unicode is one, too, with more arguments than a message.
    if error.is_instance_of::<PyValueError>(py) {
        return PyValueError::new_err(message);
    }
    error
}

fn type_name(it: &Bound<'_, PyAny>) -> String {
    let name = it.get_type().fully_qualified_name();
    name.map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

fn value(it: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        let message = format!("value nesting exceeds {DEPTH_MAX} levels");
        return Err(PyValueError::new_err(message));
    }
    if it.is_none() {
        return Ok(Value::Null);
    }
    // A boolean is an integer, too.
    if let Ok(b) = it.cast::<PyBool>() {
        return Ok(Value::Boolean(b.is_true()));
    }
    if let Ok(text) = it.cast_exact::<PyString>() {
        return Ok(Value::String(Arc::from(&*text.to_cow()?)));
    }
    if let Ok(number) = it.cast::<PyInt>() {
        return integer(number);
    }
    if let Ok(x) = it.cast::<PyFloat>() {
        return Ok(Value::Float(x.extract()?));
    }
    if let Ok(items) = it.cast::<PyList>() {
        let items = items.iter().map(|item| value(&item, depth + 1));
        return Ok(Value::List(items.collect::<PyResult<_>>()?));
    }
    if let Ok(entries) = it.cast::<PyDict>() {
        return map(entries, depth);
    }
    if let Ok(bytes) = it.cast::<PyBytes>() {
        return Ok(Value::Bytes(Arc::from(bytes.as_bytes())));
    }
    if let Ok(bytes) = it.cast::<PyByteArray>() {
        return Ok(Value::Bytes(Arc::from(bytes.to_vec())));
    }
    // `pandas.NaT` is a moment that is not equal to itself.
    if it.getattr_opt("year")?.is_some() && !it.eq(it)? {
        return Ok(Value::Null);
    }
    // Durations and points are tuples, texts of moments are text.
    if let Some(stored) = temporal::stored(it)? {
        return Ok(Value::Stored(Arc::new(stored)));
    }
    if let Ok(text) = it.cast::<PyString>() {
        return Ok(Value::String(Arc::from(&*text.to_cow()?)));
    }
    if let Ok(items) = it.cast::<PyTuple>() {
        let items = items.iter().map(|item| value(&item, depth + 1));
        return Ok(Value::List(items.collect::<PyResult<_>>()?));
    }
    foreign(it, depth)
}

/// Numbers and arrays of NumPy and its like.
fn foreign(it: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if it.getattr_opt("tolist")?.is_some() {
        let plain = it.call_method0("tolist")?;
        let is_time = match it.getattr_opt("dtype")? {
            Some(dtype) => match dtype.getattr_opt("kind")? {
                Some(kind) => ["m", "M"].contains(&kind.to_string().as_str()),
                None => false,
            },
            None => false,
        };
        if is_time && has_integer(&plain, depth)? {
            let message = "moments and spans of NumPy in units that datetime does not have would \
                become integers: convert \
                           them, with astype('datetime64[us]') for example";
            return Err(PyTypeError::new_err(message));
        }
        if !plain.get_type().is(it.get_type()) {
            return value(&plain, depth + 1);
        }
    }
    let message = format!(
        "a value of type {} cannot be a parameter: use None, bool, int, float, str, bytes, list, \
            dict, or what \
         datetime and graven.values have",
        type_name(it)
    );
    Err(PyTypeError::new_err(message))
}

/// Whether there is an integer in lists within each other.
fn has_integer(it: &Bound<'_, PyAny>, depth: usize) -> PyResult<bool> {
    let Ok(items) = it.cast::<PyList>() else {
        return Ok(it.cast::<PyInt>().is_ok());
    };
    if depth > DEPTH_MAX {
        return Ok(false);
    }
    for item in items {
        if has_integer(&item, depth + 1)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn integer(number: &Bound<'_, PyInt>) -> PyResult<Value> {
    number
        .extract()
        .map(Value::Integer)
        .map_err(|_| PyOverflowError::new_err(format!("{number} does not fit in a 64-bit integer")))
}

fn map(entries: &Bound<'_, PyDict>, depth: usize) -> PyResult<Value> {
    let mut map = BTreeMap::new();
    for (key, item) in entries {
        let Ok(key) = key.cast::<PyString>() else {
            let message = format!("keys of maps are text, got {}", type_name(&key));
            return Err(PyTypeError::new_err(message));
        };
        map.insert(Arc::from(&*key.to_cow()?), value(&item, depth + 1)?);
    }
    Ok(Value::Map(map))
}
