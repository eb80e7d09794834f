//! `graven.Connection`: where statements are run, and `graven.PreparedStatement`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use graven::{Access, Durability, Isolation, Params, TransactionOptions};
use graven_binding::{Folder, several};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::database::Database;
use crate::error::{raised, usage};
use crate::function::{self, Manner, Running, check_outside};
use crate::parameter::{named_frames, params};
use crate::result::QueryResult;
use crate::transaction::Transaction;

/// See the stubs.
#[pyclass(module = "graven", frozen)]
pub(crate) struct Connection {
    /// None after it was closed.
    connection: Arc<Mutex<Option<graven::Connection>>>,
    running: Running,
}

/// See the stubs.
#[pyclass(module = "graven", frozen)]
pub(crate) struct PreparedStatement {
    prepared: graven::Prepared,
    /// The connection that has prepared it: how long statements may run is asked there each time.
    connection: Arc<Mutex<Option<graven::Connection>>>,
    running: Running,
}

impl Connection {
    pub(crate) fn new(connection: graven::Connection, folder: Folder) -> Self {
        Connection {
            running: Running::new(connection.cancel_handle(), folder),
            connection: Arc::new(Mutex::new(Some(connection))),
        }
    }

    fn open(&self, py: Python<'_>) -> PyResult<graven::Connection> {
        let connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let connection = connection.clone();
        connection.ok_or_else(|| usage(py, "the connection is closed"))
    }
}

/// Options of a transaction by their names.
fn options(
    isolation: Option<&str>,
    durability: Option<&str>,
    relaxed_ms: Option<u64>,
) -> PyResult<TransactionOptions> {
    let isolation = match isolation {
        None | Some("snapshot") => Isolation::Snapshot,
        Some("serializable" | "serialisable") => Isolation::Serializable,
        Some(other) => {
            let message =
                format!("`{other}` is not an isolation: use 'snapshot' or 'serializable'");
            return Err(PyValueError::new_err(message));
        }
    };
    let durability = match (durability, relaxed_ms) {
        (None | Some("full"), None) => Durability::Full,
        (Some("relaxed"), ms) => Durability::Relaxed(Duration::from_millis(ms.unwrap_or(100))),
        (Some("off"), None) => Durability::Off,
        _ => {
            let message =
                "a durability is 'full', 'relaxed' (with relaxed_ms, 100 if not given) or 'off'";
            return Err(PyValueError::new_err(message));
        }
    };
    Ok(TransactionOptions::default()
        .isolation(isolation)
        .durability(durability))
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (database, num_threads=0, *, isolation=None, durability=None, relaxed_ms=None, timeout=None))]
    fn open_on(
        database: &Database,
        #[expect(unused_variables, reason = "threads are those of the database")]
        num_threads: usize,
        isolation: Option<&str>,
        durability: Option<&str>,
        relaxed_ms: Option<u64>,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        let durability = durability
            .or((database.folder.is_temporary() && relaxed_ms.is_none()).then_some("off"));
        let options = options(isolation, durability, relaxed_ms)?;
        let mut connection = database.database.connect().with_options(options);
        if timeout.is_some() {
            connection = connection.with_timeout(crate::options::timeout(timeout)?);
        }
        Ok(Connection::new(connection, database.folder.clone()))
    }

    #[pyo3(signature = (query, parameters=None))]
    fn execute(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let mut params = params(parameters)?;
        if let Ok(prepared) = query.cast::<PreparedStatement>() {
            return Ok(Py::new(py, prepared.get().run(py, &params)?)?.into_any());
        }
        let Ok(text) = query.cast::<PyString>() else {
            return Err(PyTypeError::new_err(
                "a query is text or a PreparedStatement",
            ));
        };
        let text = text.to_cow()?;
        let no_frames = named_frames(&text, py, &mut params)?;
        let connection = self.open(py)?;
        let running = &self.running;
        let run = |text: &str| {
            let result = QueryResult::begin(py, running, || connection.query(text, &params));
            let result = result.map_err(|error| {
                let mut told = no_frames.iter().filter_map(|it| it.told(py, &error));
                told.next().unwrap_or(error)
            })?;
            Py::new(py, result)
        };
        let several = several(&text);
        if several.is_empty() {
            return Ok(run(&text)?.into_any());
        }
        let results = several.iter().map(|text| run(text));
        let results = results.collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, results)?.into_any().unbind())
    }

    #[getter]
    fn is_closed(&self) -> bool {
        let connection = self.connection.lock();
        connection.unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Of Kuzu's package, whose programs ask whether it is None.
    #[getter(_connection)]
    fn if_open(slf: Bound<'_, Self>) -> Option<Bound<'_, Self>> {
        let is_closed = slf.get().is_closed();
        (!is_closed).then_some(slf)
    }

    /// Threads are those of the database.
    fn set_max_threads_for_exec(
        &self,
        #[expect(unused_variables, reason = "see above")] num_threads: usize,
    ) {
    }

    #[pyo3(signature = (query, parameters=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        query: &str,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PreparedStatement> {
        check_outside(py)?;
        // Their values come with each run.
        params(parameters)?;
        let connection = self.open(py)?;
        let prepared = py.detach(|| connection.prepare(query));
        prepared
            .map(|prepared| PreparedStatement {
                prepared,
                connection: Arc::clone(&self.connection),
                running: self.running.clone(),
            })
            .map_err(|error| raised(py, &error))
    }

    #[pyo3(signature = (*, isolation=None, durability=None, relaxed_ms=None, read_only=false))]
    fn begin(
        &self,
        py: Python<'_>,
        isolation: Option<&str>,
        durability: Option<&str>,
        relaxed_ms: Option<u64>,
        read_only: bool,
    ) -> PyResult<Transaction> {
        check_outside(py)?;
        let mut connection = self.open(py)?;
        if read_only {
            connection = connection.with_access(Access::default().reading_only(true));
        }
        let own = isolation.is_some() || durability.is_some() || relaxed_ms.is_some();
        let options = options(isolation, durability, relaxed_ms)?;
        let begun = py.detach(|| match own {
            true => connection.begin_with(options),
            false => connection.begin(),
        });
        begun
            .map(|transaction| Transaction::new(transaction, self.running.clone()))
            .map_err(|error| raised(py, &error))
    }

    fn set_query_timeout(&self, py: Python<'_>, timeout_in_ms: u64) -> PyResult<()> {
        let after = (timeout_in_ms > 0).then(|| Duration::from_millis(timeout_in_ms));
        let changed = self.open(py)?.with_timeout(after);
        *self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(changed);
        Ok(())
    }

    #[pyo3(signature = (name, udf, params_type=None, return_type=None, *, default_null_handling=true, catch_exceptions=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn create_function(
        &self,
        py: Python<'_>,
        name: &str,
        udf: Bound<'_, PyAny>,
        params_type: Option<Bound<'_, PyAny>>,
        return_type: Option<Bound<'_, PyAny>>,
        default_null_handling: bool,
        catch_exceptions: bool,
    ) -> PyResult<()> {
        let described = py.import("graven.functions")?.getattr("described")?;
        let described = described.call1((name, udf, params_type, return_type))?;
        let (arguments, returns, callable): (Vec<String>, String, Py<PyAny>) =
            described.extract()?;
        let manner = Manner {
            takes_nulls: !default_null_handling,
            catches: catch_exceptions,
        };
        let types = (&arguments[..], &*returns);
        let function = function::function(name, types, callable, manner, &self.running);
        let connection = self.open(py)?;
        let created = py.detach(|| connection.create_function(function));
        created.map_err(|error| raised(py, &error))
    }

    fn remove_function(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let connection = self.open(py)?;
        let removed = py.detach(|| connection.remove_function(name));
        removed.map_err(|error| raised(py, &error))
    }

    fn interrupt(&self, py: Python<'_>) {
        py.detach(|| self.running.cancel.cancel());
    }

    fn close(&self) {
        let connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(connection);
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        self.close();
    }
}

impl PreparedStatement {
    fn run(&self, py: Python<'_>, params: &Params) -> PyResult<QueryResult> {
        let running = &self.running;
        let timeout = {
            let connection = self.connection.lock();
            let connection = connection.unwrap_or_else(PoisonError::into_inner);
            connection.as_ref().and_then(graven::Connection::timeout)
        };
        let run = || self.prepared.query_within(params, timeout);
        QueryResult::begin(py, running, run)
    }
}

#[pymethods]
impl PreparedStatement {
    #[pyo3(signature = (parameters=None))]
    fn execute(
        &self,
        py: Python<'_>,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<QueryResult> {
        self.run(py, &params(parameters)?)
    }

    /// A statement that cannot be prepared raises.
    fn is_success(&self) -> bool {
        true
    }

    fn get_error_message(&self) -> &'static str {
        ""
    }
}
