//! Functions of Python that statements call.
//!
//! # How it works
//! `graven.functions` finds out the types; here a call gets objects of its arguments, and what it
//! returns becomes a value as a parameter does. An exception is the error of the statement, with
//! its text; it is kept beside, so that the error that is raised has it as its cause. An exception
//! that is no `Exception`, such as `KeyboardInterrupt`, is raised itself.
//!
//! # Invariants
//! * PY-4 Within a call of a function no statement runs, and nothing waits for one: a transaction
//!   or a result that waits for its own statement would wait for ever.
//!
//! # Concurrency
//! A statement may call from any thread: each call takes the interpreter's lock and gives it back.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use graven::{CancelHandle, Function, Value};
use graven_binding::Folder;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::usage;
use crate::parameter;
use crate::value::object;

thread_local! {
    /// This thread is within a call of a function.
    static IS_WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// Says that the thread is within a call until it is dropped.
struct Within;

impl Within {
    fn enter() -> Self {
        IS_WITHIN.set(true);
        Within
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        IS_WITHIN.set(false);
    }
}

/// Refuses what PY-4 forbids.
pub(crate) fn check_outside(py: Python<'_>) -> PyResult<()> {
    match IS_WITHIN.get() {
        true => Err(usage(
            py,
            "a function that a statement calls cannot run statements itself, nor end \
                transactions: read what it needs before",
        )),
        false => Ok(()),
    }
}

/// What statements of a connection have besides: what stops them, and what their functions raised.
#[derive(Clone)]
pub(crate) struct Running {
    pub(crate) cancel: CancelHandle,
    calls: Arc<Calls>,
    /// Goes with the last object that is made of a database without a name.
    _folder: Folder,
}

/// What the functions of a connection did.
#[derive(Default)]
struct Calls {
    /// There was a function.
    some: AtomicBool,
    /// What the last one raised that failed.
    raised: Mutex<Option<PyErr>>,
}

impl Running {
    pub(crate) fn new(cancel: CancelHandle, folder: Folder) -> Self {
        Running {
            cancel,
            calls: Arc::default(),
            _folder: folder,
        }
    }

    /// Whether statements may call functions of Python.
    pub(crate) fn has_functions(&self) -> bool {
        self.calls.some.load(Ordering::Relaxed)
    }

    /// The exception of a statement that has ended with `error`.
    pub(crate) fn raised(&self, py: Python<'_>, error: &graven::Error) -> PyErr {
        let told = crate::error::raised(py, error);
        if error.code() != "Function.Failed" {
            return told;
        }
        let raised = self.calls.raised.lock();
        let cause = raised.unwrap_or_else(PoisonError::into_inner).take();
        match cause {
            Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
            cause => {
                told.set_cause(py, cause);
                told
            }
        }
    }
}

/// How a function is called.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// With nulls, too.
    pub(crate) takes_nulls: bool,
    /// An exception is a null.
    pub(crate) catches: bool,
}

/// The function of the database that calls `callable`.
pub(crate) fn function(
    name: &str,
    (arguments, returns): (&[String], &str),
    callable: Py<PyAny>,
    manner: Manner,
    running: &Running,
) -> Function {
    running.calls.some.store(true, Ordering::Relaxed);
    let calls = Arc::clone(&running.calls);
    let body = move |args: &[Value]| {
        let called = Python::try_attach(|py| {
            let made = call(callable.bind(py), args);
            made.or_else(|error| match error.is_instance_of::<PyException>(py) {
                true if manner.catches => Ok(Value::Null),
                _ => {
                    let told = told(py, &error);
                    let raised = calls.raised.lock();
                    *raised.unwrap_or_else(PoisonError::into_inner) = Some(error);
                    Err(told)
                }
            })
        });
        called.unwrap_or_else(|| Err("Python has ended".to_owned()))
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let function = Function::new(name, &arguments, returns, body);
    match manner.takes_nulls {
        true => function.with_nulls(),
        false => function,
    }
}

fn call(callable: &Bound<'_, PyAny>, args: &[Value]) -> PyResult<Value> {
    let _within = Within::enter();
    let py = callable.py();
    let args = args.iter().map(|arg| object(py, arg));
    let args = PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)?;
    parameter::returned(&callable.call1(args)?)
}

/// An exception in words.
fn told(py: Python<'_>, error: &PyErr) -> String {
    let class = error.get_type(py).name();
    let class = class.map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map(|text| text.to_string());
    match text {
        Ok(text) if !text.is_empty() => format!("{class}: {text}"),
        _ => class,
    }
}
