//! LDBC update streams: applied by several threads beside readers, then compared with a bulk load
//! of the end state.
//!
//! # How it works
//! The tables of a data set are imported, and its streams applied to the database: every operation
//! is one statement of `queries/ldbc` and one transaction, done as soon as what it refers to is
//! there ([`apply`]). Beside the writers, readers look at messages whose transactions are
//! acknowledged: each must be whole. Then the tables and the streams together are written as tables
//! of the same layout and imported ([`end_state`]), and both databases must hold the same nodes,
//! relationships and properties ([`contents`]).

mod apply;
mod contents;
mod end_state;
mod stream;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use graven::{Config, Database, TransactionOptions};
use graven_import::{ImportOptions, ImportSource};

/// How streams are applied.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Threads that write.
    pub writers: usize,
    /// Threads that read.
    pub readers: usize,
    /// Memory budget of the database, in bytes.
    pub memory: u64,
    /// Options of each transaction.
    pub options: TransactionOptions,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// Operations applied.
    pub operations: usize,
    /// Time they took.
    pub took: Duration,
    /// Questions that readers asked meanwhile.
    pub reads: u64,
    /// Nodes and relationships compared.
    pub compared: u64,
    /// What differs, in words; empty if all is equal.
    pub differences: Vec<String>,
}

/// What applying came to.
pub(crate) struct Applied {
    pub(crate) operations: usize,
    /// Questions that readers asked meanwhile.
    pub(crate) reads: u64,
    /// Operations that waited for no page.
    pub(crate) calm: u64,
}

/// Applies the streams of the data set in `data` to an open database.
pub(crate) fn apply_streams(
    db: &Database,
    data: &Path,
    settings: &Settings,
) -> Result<Applied, String> {
    let operations = stream::read(data)?;
    apply::apply(db, &operations, settings)
}

/// Applies the streams of the data set in `data` and compares; files go to `work`.
///
/// # Errors
/// Data that is missing or cannot be read, a statement that fails, a message that is not whole.
pub fn run(data: &Path, work: &Path, settings: &Settings) -> Result<Report, String> {
    let operations = stream::read(data)?;
    let applied = import(data, &work.join("applied.graven"))?;
    let mut config = Config::default();
    config.memory = settings.memory;
    let db = Database::open(&applied, config.clone()).map_err(|e| e.to_string())?;
    let begun = Instant::now();
    let applied_all = apply::apply(&db, &operations, settings)?;
    let took = begun.elapsed();
    let tables = work.join("end");
    end_state::write(data, &operations, &tables)?;
    let expected = import(&tables, &work.join("expected.graven"))?;
    let expected = Database::open(&expected, config).map_err(|e| e.to_string())?;
    let (compared, differences) = contents::compare(&db, &expected)?;
    Ok(Report {
        operations: operations.len(),
        took,
        reads: applied_all.reads,
        compared,
        differences,
    })
}

pub(crate) fn import(source: &Path, target: &Path) -> Result<PathBuf, String> {
    let options = ImportOptions {
        memory: 256 << 20,
        ..ImportOptions::default()
    };
    let source = ImportSource::Ldbc(source.to_path_buf());
    graven_import::import(
        target,
        &source,
        &options,
        &mut |_| ControlFlow::Continue(()),
    )
    .map_err(|e| e.to_string())?;
    Ok(target.to_path_buf())
}
