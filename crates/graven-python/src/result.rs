//! `graven.QueryResult`: rows one after another.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use graven::{ColumnSlice, Rows};
use graven_binding::Reading;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::function::{Running, check_outside};
use crate::interrupt;
use crate::value::object;

/// See the stubs.
#[pyclass(module = "graven", frozen)]
pub(crate) struct QueryResult {
    names: Vec<String>,
    /// Declared types of the columns.
    declared: Vec<Option<String>>,
    state: Mutex<State>,
    running: Running,
}

/// How far the rows are read.
struct State {
    rows: Reading,
    as_dicts: bool,
    /// What was handed out by columns: it can be had again.
    columns: Vec<(Rows, Range<usize>)>,
}

impl QueryResult {
    /// Runs a statement up to its first rows, so that most of what can go wrong goes wrong here.
    pub(crate) fn begin(
        py: Python<'_>,
        running: &Running,
        run: impl FnOnce() -> Result<graven::QueryResult, graven::Error> + Send,
    ) -> PyResult<Self> {
        let (names, declared, rows) = interrupt::away(py, running, || {
            let result = run()?;
            let (names, declared) = (result.columns().to_vec(), result.declared_types());
            Ok((names, declared, Reading::begin(result)?))
        })?;
        Ok(QueryResult {
            names,
            declared,
            state: Mutex::new(State {
                rows,
                as_dicts: false,
                columns: Vec::new(),
            }),
            running: running.clone(),
        })
    }

    /// Does `work` without the interpreter's lock (PY-2).
    fn away<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut State) -> Result<T, graven::Error> + Send,
    ) -> PyResult<T> {
        interrupt::away(py, &self.running, || {
            work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// The next row; none at the end.
    fn row<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (taken, as_dicts) = self.away(py, |state| {
            state.rows.read_up_to(1)?;
            Ok((state.rows.take(1), state.as_dicts))
        })?;
        let Some((rows, range)) = taken else {
            return Ok(None);
        };
        self.objects(py, &rows, range.start, as_dicts).map(Some)
    }

    /// A row as a list, or as a dictionary.
    fn objects<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        row: usize,
        as_dict: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = (0..self.names.len()).map(|column| item(py, rows, row, column));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        if !as_dict {
            return Ok(PyList::new(py, values)?.into_any());
        }
        let dict = PyDict::new(py);
        for (name, value) in self.names.iter().zip(values) {
            dict.set_item(name, value)?;
        }
        Ok(dict.into_any())
    }

    /// The next rows, up to so many, each as an object of Python.
    fn rows<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyList>> {
        let all = PyList::empty(py);
        while all.len() < most {
            let wanted = most - all.len();
            let (taken, as_dicts) = self.away(py, |state| {
                state.rows.read_up_to(1)?;
                Ok((state.rows.take(wanted), state.as_dicts))
            })?;
            let Some((rows, range)) = taken else { break };
            for row in range {
                all.append(self.objects(py, &rows, row, as_dicts)?)?;
            }
            py.check_signals()?;
        }
        Ok(all)
    }
}

impl Drop for QueryResult {
    /// The end of a statement waits for its threads, and these may wait for the interpreter's lock
    /// to call a function.
    fn drop(&mut self) {
        if !self.running.has_functions() {
            return;
        }
        let state = self.state.get_mut();
        let result = state.unwrap_or_else(PoisonError::into_inner).rows.close();
        if let Some(result) = result {
            Python::try_attach(|py| py.detach(|| drop(result)));
        }
    }
}

fn rows_are_gone() -> PyErr {
    PyRuntimeError::new_err(Reading::gone())
}

/// What makes objects of other packages.
fn frames(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("graven.frames")
}

/// One value as an object.
fn item<'py>(
    py: Python<'py>,
    rows: &Rows,
    row: usize,
    column: usize,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(match rows.column(column) {
        Some(ColumnSlice::Integers(v)) => v[row].into_pyobject(py)?.into_any(),
        Some(ColumnSlice::Floats(v)) => v[row].into_pyobject(py)?.into_any(),
        Some(ColumnSlice::Booleans(v)) => v[row].into_pyobject(py)?.to_owned().into_any(),
        Some(ColumnSlice::Values(v)) => object(py, &v[row])?,
        _ => object(py, &rows.value(row, column).unwrap_or(graven::Value::Null))?,
    })
}

#[pymethods]
impl QueryResult {
    fn get_column_names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Declared types of the columns, without reading a row.
    #[getter]
    fn declared_types(&self) -> Vec<Option<String>> {
        self.declared.clone()
    }

    fn has_next(&self, py: Python<'_>) -> PyResult<bool> {
        self.away(py, |state| {
            state.rows.read_up_to(1)?;
            Ok(state.rows.at_hand() > 0)
        })
    }

    fn get_next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.row(py)?
            .ok_or_else(|| PyRuntimeError::new_err("there are no more rows: ask has_next() first"))
    }

    fn get_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.rows(py, usize::MAX)
    }

    fn get_n<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        self.rows(py, count)
    }

    /// The next rows, up to so many, each as a list; they stay the next rows.
    fn peek<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let (ahead, next) = self.away(py, |state| {
            state.rows.read_up_to(count)?;
            Ok(state.rows.peek(count))
        })?;
        let places = ahead
            .iter()
            .flat_map(|rows| (0..rows.len()).map(move |row| (rows, row)));
        let rows = PyList::empty(py);
        for (batch, row) in places.skip(next).take(count) {
            rows.append(self.objects(py, batch, row, false)?)?;
        }
        Ok(rows)
    }

    /// For notebooks: a table, and a drawing where there are nodes.
    #[pyo3(name = "_repr_html_")]
    fn html<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let notebook = slf.py().import("graven.notebook")?;
        notebook.call_method1("result_html", (slf,))
    }

    /// The rows that were left when this was asked for first, a list for each column.
    fn get_columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyList>>> {
        let columns: Vec<_> = self.names.iter().map(|_| PyList::empty(py)).collect();
        let taken = self.away(py, |state| {
            state.rows.read_up_to(usize::MAX)?;
            while let Some(taken) = state.rows.take(usize::MAX) {
                state.columns.push(taken);
            }
            Ok(state.columns.clone())
        })?;
        for (rows, range) in taken {
            for (column, list) in columns.iter().enumerate() {
                for row in range.clone() {
                    list.append(item(py, &rows, row, column)?)?;
                }
            }
            py.check_signals()?;
        }
        Ok(columns)
    }

    #[pyo3(signature = (state=true))]
    fn rows_as_dict<'py>(slf: Bound<'py, Self>, state: bool) -> PyResult<Bound<'py, Self>> {
        slf.get().away(slf.py(), |held| {
            held.as_dicts = state;
            Ok(())
        })?;
        Ok(slf)
    }

    fn get_num_tuples(&self, py: Python<'_>) -> PyResult<usize> {
        self.away(py, |state| state.rows.count())
    }

    /// Names of the types of the columns: reads ahead to the end.
    fn get_column_data_types(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let width = self.names.len();
        let types = self.away(py, |state| state.rows.column_types(width))?;
        let types = types.ok_or_else(rows_are_gone)?;
        Ok(types.iter().map(ToString::to_string).collect())
    }

    fn get_schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let schema = PyDict::new(py);
        for (name, known) in self.names.iter().zip(self.get_column_data_types(py)?) {
            schema.set_item(name, known)?;
        }
        Ok(schema)
    }

    /// The next row is the first one again.
    fn reset_iterator(&self, py: Python<'_>) -> PyResult<()> {
        let begun = self.away(py, |state| {
            let begun = state.rows.begin_again();
            if begun {
                state.columns.clear();
            }
            Ok(begun)
        })?;
        if begun { Ok(()) } else { Err(rows_are_gone()) }
    }

    /// A text of several statements gives a list of results.
    fn has_next_query_result(&self) -> bool {
        false
    }

    fn get_next_query_result(&self) -> PyResult<()> {
        let message = "a result is of one statement; execute() gives a list of results for several";
        Err(PyRuntimeError::new_err(message))
    }

    #[getter]
    fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        check_outside(py)?;
        Ok(py.detach(|| {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.rows.is_closed()
        }))
    }

    fn get_compiling_time(&self, py: Python<'_>) -> PyResult<f64> {
        self.away(py, |state| {
            let summary = state.rows.summary();
            Ok(summary.map_or(0.0, |summary| summary.planning.as_secs_f64() * 1e3))
        })
    }

    /// Of Kuzu's package, whose programs ask whether it is None.
    #[getter(_query_result)]
    fn if_open<'py>(slf: Bound<'py, Self>) -> PyResult<Option<Bound<'py, Self>>> {
        let is_closed = slf.get().is_closed(slf.py())?;
        Ok((!is_closed).then_some(slf))
    }

    fn get_execution_time(&self, py: Python<'_>) -> PyResult<f64> {
        self.away(py, |state| {
            let summary = state.rows.summary();
            Ok(summary.map_or(0.0, |summary| summary.elapsed.as_secs_f64() * 1e3))
        })
    }

    /// What is known besides the rows.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let known = self.away(py, |state| {
            let summary = state.rows.summary();
            Ok(summary.map(|summary| (summary, state.rows.plan())))
        })?;
        let dict = PyDict::new(py);
        let Some((summary, plan)) = known else {
            return Ok(dict);
        };
        dict.set_item("rows", summary.rows)?;
        dict.set_item("milliseconds", summary.elapsed.as_secs_f64() * 1e3)?;
        let notices = PyList::empty(py);
        for notice in &summary.notices {
            let it = PyDict::new(py);
            it.set_item("code", &notice.code)?;
            it.set_item("message", &notice.message)?;
            let (line, column) = notice.position.unzip();
            it.set_item("line", line)?;
            it.set_item("column", column)?;
            notices.append(it)?;
        }
        dict.set_item("notices", notices)?;
        let pages = PyDict::new(py);
        for (kind, counts) in summary.pages.iter() {
            let it = PyDict::new(py);
            it.set_item("hits", counts.hits)?;
            it.set_item("faults", counts.faults)?;
            it.set_item("blocked", counts.blocked)?;
            it.set_item("evictions", counts.evictions())?;
            it.set_item("wait_ns", counts.wait_ns)?;
            it.set_item("bytes_read", counts.bytes_read)?;
            pages.set_item(kind.to_string(), it)?;
        }
        dict.set_item("pages", pages)?;
        let counters = PyDict::new(py);
        for (name, count) in summary.counters.named() {
            counters.set_item(name, count)?;
        }
        dict.set_item("counters", counters)?;
        dict.set_item("plan", plan)?;
        Ok(dict)
    }

    fn get_as_df<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf.py())?.call_method1("as_df", (slf,))
    }

    fn get_as_pl<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        frames(slf.py())?.call_method1("as_pl", (slf,))
    }

    /// One table is made, whatever size of chunks is asked for.
    #[pyo3(signature = (chunk_size=None))]
    fn get_as_arrow<'py>(
        slf: Bound<'py, Self>,
        #[expect(unused_variables, reason = "there is one chunk")] chunk_size: Option<i64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        frames(slf.py())?.call_method1("as_arrow", (slf,))
    }

    #[pyo3(signature = (directed=true))]
    fn get_as_networkx<'py>(slf: Bound<'py, Self>, directed: bool) -> PyResult<Bound<'py, PyAny>> {
        frames(slf.py())?.call_method1("as_networkx", (slf, directed))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        slf: Bound<'py, Self>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = frames(slf.py())?.call_method1("as_arrow", (slf,))?;
        table.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        check_outside(py)?;
        py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            drop(state.rows.close());
            state.columns.clear();
        });
        Ok(())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.row(py)?.ok_or_else(|| PyStopIteration::new_err(()))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}
