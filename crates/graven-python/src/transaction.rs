//! `graven.Transaction`: statements that become visible together, or not at all.

use std::sync::{Mutex, PoisonError};

use graven::CancelHandle;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict};

use crate::error::{raised, usage};
use crate::interrupt;
use crate::parameter::params;
use crate::result::QueryResult;

/// See the stubs.
#[pyclass(module = "graven", frozen)]
pub(crate) struct Transaction {
    /// None after it has ended.
    work: Mutex<Option<graven::Transaction>>,
    cancel: CancelHandle,
}

impl Transaction {
    pub(crate) fn new(transaction: graven::Transaction, cancel: CancelHandle) -> Self {
        Transaction {
            work: Mutex::new(Some(transaction)),
            cancel,
        }
    }

    /// Runs `work` without the interpreter's lock; whoever waits for the transaction does not hold it either.
    fn away<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Option<graven::Transaction>) -> Result<T, graven::Error> + Send,
    ) -> PyResult<T> {
        let done = interrupt::away(py, &self.cancel, || {
            let mut transaction = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            match transaction.is_some() {
                true => work(&mut transaction).map(Some),
                false => Ok(None),
            }
        })?;
        match done {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(usage(py, "the transaction has ended: begin another one")),
            Err(error) => Err(raised(py, &error)),
        }
    }
}

#[pymethods]
impl Transaction {
    #[pyo3(signature = (query, parameters=None))]
    fn execute(
        &self,
        py: Python<'_>,
        query: &str,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<QueryResult> {
        let params = params(parameters)?;
        let result = self.away(py, |transaction| {
            transaction
                .as_mut()
                .map(|it| it.query(query, &params))
                .transpose()
        })?;
        let result = result.expect("away() has seen that there is one");
        Ok(QueryResult::new(result, self.cancel.clone()))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.away(py, |transaction| {
            transaction
                .take()
                .map(graven::Transaction::commit)
                .transpose()
        })?;
        Ok(())
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        self.away(py, |transaction| {
            if let Some(transaction) = transaction.take() {
                transaction.rollback();
            }
            Ok(())
        })
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (error, _value, _traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        error: Option<&Bound<'_, PyAny>>,
        _value: Option<&Bound<'_, PyAny>>,
        _traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let ended = py.detach(|| {
            let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            work.is_none()
        });
        match error {
            // It was ended by hand.
            _ if ended => Ok(()),
            None => self.commit(py),
            Some(_) => self.rollback(py),
        }
    }
}
