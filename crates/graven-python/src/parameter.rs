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

use crate::classes::Classes;
use crate::temporal;

/// Lists within lists, at most.
const DEPTH_MAX: usize = 100;

/// Parameters by their names.
pub(crate) fn params(given: Option<&Bound<'_, PyAny>>) -> PyResult<Params> {
    let mut params = Params::new();
    let Some(given) = given.filter(|given| !given.is_none()) else {
        return Ok(params);
    };
    let Ok(given) = given.cast::<PyDict>() else {
        let what = format!(
            "Parameters must be a dict, as {{'name': 'Ada'}}, got {}",
            type_name(given)
        );
        return Err(wrong(given.py(), &what));
    };
    for (name, value) in given {
        let Ok(name) = name.cast::<PyString>() else {
            let what = format!(
                "Parameter name must be of type string but got {}, `{name}`",
                name.get_type().str()?
            );
            return Err(wrong(name.py(), &what));
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

/// Parameters that are none: `graven.ParameterError`.
fn wrong(py: Python<'_>, message: &str) -> PyErr {
    let class = py.import("graven.values");
    let class = class.and_then(|module| module.getattr("ParameterError"));
    let made = class.and_then(|class| class.call1(("Request.Invalid", message)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// What a function has returned, as a value.
pub(crate) fn returned(it: &Bound<'_, PyAny>) -> PyResult<Value> {
    let said = |error: PyErr| format!("what it returned is no value: {}", error.value(it.py()));
    value(it, 0).map_err(|error| PyTypeError::new_err(said(error)))
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

/// A name behind `FROM` that is no frame of the caller, and what it is, if it is a variable.
pub(crate) struct NoFrame(String, Option<String>);

impl NoFrame {
    /// The error in place of `error`, if that is of a parameter of this name.
    pub(crate) fn told(&self, py: Python<'_>, error: &PyErr) -> Option<PyErr> {
        let NoFrame(name, found) = self;
        let code = error.value(py).getattr("code").ok()?;
        let told = error.value(py).getattr("message").ok()?.to_string();
        let is_missing = code.to_string().starts_with("ParameterMissing.");
        if !is_missing || !told.contains(&format!("`${name}`")) {
            return None;
        }
        let what = match found {
            None => format!("Variable {name} is not in scope."),
            Some(kind) => format!(
                "Attempted to scan from unsupported python object. Can only scan from \
                    pandas/polars dataframes and pyarrow tables. `{name}` is of type {kind}."
            ),
        };
        let message = format!(
            "Binder exception: {what} LOAD FROM {name} reads what a variable of the caller holds, \
                or a parameter: execute(query, {{'{name}': frame}})"
        );
        Some(raised_as(py, "ArgumentError.InvalidSource", &message))
    }
}

/// An error of the package with this code.
fn raised_as(py: Python<'_>, code: &str, message: &str) -> PyErr {
    let class = Classes::of(py).map(|classes| classes.error.bind(py));
    let made = class.and_then(|class| class.call1((code, message)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The frame of the Python caller, that of the package's own files aside: compiled code has none.
fn caller(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut frame = py.import("sys")?.call_method1("_getframe", (0,))?;
    loop {
        let module = frame.getattr("f_globals")?.get_item("__name__");
        let module = module.and_then(|name| name.extract::<String>());
        let outer = frame.getattr("f_back")?;
        if outer.is_none() || !module.is_ok_and(|name| name.starts_with("graven.")) {
            return Ok(frame);
        }
        frame = outer;
    }
}

/// Sets the frames that the text names without `$` to what the caller calls so: `LOAD FROM df`.
/// Gives the names that are none.
pub(crate) fn named_frames(
    text: &str,
    py: Python<'_>,
    params: &mut Params,
) -> PyResult<Vec<NoFrame>> {
    let mut others = Vec::new();
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
        let caller = caller(py)?;
        let mut kind = None;
        for scope in ["f_locals", "f_globals"] {
            let Ok(found) = caller.getattr(scope)?.get_item(name) else {
                continue;
            };
            if let Some(frame) = frame(&found)? {
                params.set_frame(name, frame);
                break;
            }
            kind = kind.or_else(|| Some(type_name(&found)));
        }
        if !params.has_frame(name) {
            others.push(NoFrame(name.to_owned(), kind));
        }
    }
    Ok(others)
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

/// A number of `decimal`, if a float of 64 bits says the same.
fn decimal(it: &Bound<'_, PyAny>) -> PyResult<Value> {
    let float: f64 = it.extract()?;
    let text = PyFloat::new(it.py(), float).repr()?;
    if it.get_type().call1((text,))?.eq(it)? {
        return Ok(Value::Float(float));
    }
    let message = format!(
        "{it} has more digits than a float holds: pass float(value), which rounds it, or str(value)"
    );
    Err(PyValueError::new_err(message))
}

/// Numbers and arrays of NumPy and its like; numbers of `decimal`, UUIDs.
fn foreign(it: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    match type_name(it).as_str() {
        "uuid.UUID" => return Ok(Value::from(it.str()?.to_string())),
        "decimal.Decimal" => return decimal(it),
        _ => {}
    }
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
