//! `graven.Transaction`: statements that become visible together, or not at all.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyAny;

use crate::error::raised;
use crate::function::{Running, check_outside};
use crate::parameter::params;
use crate::result::QueryResult;

/// See the stubs.
#[pyclass(module = "graven", frozen)]
pub(crate) struct Transaction {
    /// None after it has ended.
    work: Mutex<Option<graven::Transaction>>,
    running: Running,
}

impl Transaction {
    pub(crate) fn new(transaction: graven::Transaction, running: Running) -> Self {
        Transaction {
            work: Mutex::new(Some(transaction)),
            running,
        }
    }

    /// Does `work` with the transaction if it has not ended; a caller must not hold the
    /// interpreter's lock while it waits.
    fn work<T>(
        &self,
        work: impl FnOnce(&mut Option<graven::Transaction>) -> Result<T, graven::Error>,
    ) -> Result<T, graven::Error> {
        let mut transaction = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        match transaction.is_some() {
            true => work(&mut transaction),
            false => Err(graven::Error::usage(
                "the transaction has ended: begin another one",
            )),
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
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<QueryResult> {
        let params = params(parameters)?;
        QueryResult::begin(py, &self.running, || {
            self.work(|transaction| {
                let transaction = transaction.as_mut().expect("`work` has looked");
                transaction.query(query, &params)
            })
        })
    }

    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        check_outside(py)?;
        let done = py.detach(|| {
            self.work(|transaction| {
                let transaction = transaction.take().expect("`work` has looked");
                transaction.commit()
            })
        });
        done.map(drop).map_err(|error| raised(py, &error))
    }

    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        check_outside(py)?;
        let done = py.detach(|| {
            self.work(|transaction| {
                transaction.take().expect("`work` has looked").rollback();
                Ok(())
            })
        });
        done.map_err(|error| raised(py, &error))
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
        check_outside(py)?;
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
