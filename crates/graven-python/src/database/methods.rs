//! What `graven.Database` offers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use graven::Config;
use graven_binding::Location;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Database;
use crate::connection::Connection;
use crate::error::{raised, usage};
use crate::options::bytes;

#[pymethods]
impl Database {
    #[new]
    #[pyo3(signature = (
        database_path=PathBuf::new(), buffer_pool_size=0, max_num_threads=0, compression=true, lazy_init=false,
        read_only=false, max_db_size=None, auto_checkpoint=true, checkpoint_threshold=None,
        throw_on_wal_replay_failure=true, enable_checksums=true, *, memory=None, threads=None, policy=None, io=None, create=true, timeout=None,
        disk_cache=None, disk_budget=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        database_path: PathBuf,
        buffer_pool_size: u64,
        max_num_threads: usize,
        #[expect(unused_variables, reason = "pages are always packed")] compression: bool,
        #[expect(unused_variables, reason = "a file is opened at once")] lazy_init: bool,
        read_only: bool,
        #[expect(unused_variables, reason = "a file grows as it must")] max_db_size: Option<u64>,
        #[expect(unused_variables, reason = "checkpoints run beside the work")]
        auto_checkpoint: bool,
        #[expect(unused_variables, reason = "as above")] checkpoint_threshold: Option<i64>,
        #[expect(unused_variables, reason = "a damaged log is always an error")]
        throw_on_wal_replay_failure: bool,
        enable_checksums: bool,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        policy: Option<String>,
        io: Option<&str>,
        create: bool,
        timeout: Option<f64>,
        disk_cache: Option<PathBuf>,
        disk_budget: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if !enable_checksums {
            let message = "the checksums of pages cannot be left out: open the database without \
                enable_checksums=False";
            return Err(usage(py, message));
        }
        let mut config = Config::default();
        match memory {
            Some(memory) => config.memory = bytes(memory)?,
            None if buffer_pool_size > 0 => config.memory = buffer_pool_size,
            None => {}
        }
        match threads {
            Some(threads) => config.threads = threads.max(1),
            None if max_num_threads > 0 => config.threads = max_num_threads,
            None => {}
        }
        if let Some(policy) = policy {
            config.policy = policy;
        }
        if let Some(io) = io {
            config.io = io.parse().map_err(|error| raised(py, &error))?;
        }
        config.read_only = read_only;
        config.create = create && !read_only;
        config.timeout = crate::options::timeout(timeout)?;
        config.disk_cache = disk_cache;
        if let Some(budget) = disk_budget {
            config.disk_budget = bytes(budget)?;
        }
        let location = Location::of(&database_path, &config).map_err(|error| raised(py, &error))?;
        let opened = py.detach(|| graven::Database::open(location.path, config));
        match opened {
            Ok(database) => Ok(Database {
                database,
                closed: AtomicBool::new(false),
                folder: location.folder,
            }),
            Err(error) => Err(raised(py, &error)),
        }
    }

    fn connect(&self) -> Connection {
        Connection::new(self.database.connect(), self.folder.clone())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.away(py, graven::Database::close)?;
        self.closed.store(true, Ordering::SeqCst);
        Ok(())
    }

    #[getter]
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Of Kuzu's package, whose programs ask whether it is None.
    #[getter(_database)]
    fn if_open(slf: Bound<'_, Self>) -> Option<Bound<'_, Self>> {
        let is_closed = slf.get().is_closed();
        (!is_closed).then_some(slf)
    }

    #[staticmethod]
    fn get_storage_version() -> u32 {
        graven::STORAGE_FORMAT
    }

    fn checkpoint(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.away(py, graven::Database::checkpoint)?.is_some())
    }

    #[pyo3(signature = (path, *, since=None))]
    fn backup(&self, py: Python<'_>, path: PathBuf, since: Option<PathBuf>) -> PyResult<u64> {
        self.away(py, |database| match since {
            Some(since) => Ok(database.backup_since(path, since)?.0),
            None => database.backup(path),
        })
    }

    #[pyo3(signature = (url, *, chunk=None))]
    fn publish<'py>(
        &self,
        py: Python<'py>,
        url: String,
        chunk: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let chunk = chunk.map(bytes).transpose()?;
        let done = self.away(py, |database| database.publish(&url, chunk))?;
        let told = PyDict::new(py);
        told.set_item("checkpoint", done.checkpoint)?;
        told.set_item("bytes", done.length)?;
        told.set_item("chunks", done.chunks)?;
        told.set_item("sent_chunks", done.sent_chunks)?;
        told.set_item("sent_bytes", done.sent_bytes)?;
        told.set_item("unchanged", done.unchanged)?;
        Ok(told)
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        self.away(py, graven::Database::refresh)
    }

    fn set_memory(&self, py: Python<'_>, size: &Bound<'_, PyAny>) -> PyResult<()> {
        let bytes = bytes(size)?;
        self.away(py, |database| database.set_memory(bytes))
    }

    fn set_policy(&self, py: Python<'_>, policy: &str) -> PyResult<()> {
        self.away(py, |database| database.set_policy(policy))
    }

    #[getter]
    fn memory(&self) -> u64 {
        self.database.memory()
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.database.path().to_owned()
    }

    #[getter]
    fn attached_to(&self) -> Option<u32> {
        self.database.attached_to()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, py: Python<'_>, _error: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        format!("graven.Database({:?})", self.database.path())
    }
}
