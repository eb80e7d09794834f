//! Bulk import: tables of text in, one finished data file out; and the generator of test networks.
//!
//! # How it works
//! ```text
//! ImportSource --(ldbc | headers)--> Plan of tables --(scan)--> spools --(sort)--> StoreWriter
//! ```
//! 1. A *front* turns a folder or a list of files into a [`plan::Plan`]: which file holds which
//!    nodes or relationships and what every column means. `ldbc` knows the layouts of the LDBC
//!    social network, `headers` knows Neo4j's header convention. Nothing later differs by front.
//! 2. `scan` reads the node tables, gives every node an *ordinal* (its number in file order) and
//!    keeps `(id space, id) -> ordinal`; then reads the relationship tables and replaces ids by
//!    ordinals while counting degrees.
//! 3. `order` numbers the nodes for good: grouped by label set, hubs first inside a group.
//! 4. `store` sorts columns, adjacency lists and index keys by the final ids and streams them into
//!    the storage writer.
//!
//! # Invariants
//! - IM-1 The target appears under its name only complete and synced (`target`).
//! - IM-2 The same input and options give the same bytes, whatever memory and threads.
//! - IM-3 What does not fit in `memory` goes to sorted runs in a scratch folder beside the target,
//!   which is removed when the import ends, however it ends; one left by a killed process is
//!   removed by the next import and named in its report.
//! - IM-4 A value that cannot be read is an error naming file, line, column and value, never a
//!   silent null.

mod error;
mod options;
mod progress;
mod report;

pub mod generate;

pub use error::{ImportError, RowError};
pub use options::{CsvFormat, ImportOptions, ImportSource, NodeOrder, TableArgument, TableSource};
pub use progress::{Progress, ProgressSink, Unit};
pub use report::{ImportReport, NamedCount};

use std::path::Path;

/// Imports `source` into a new data file at `target`.
///
/// `progress` is called a few times a second from the calling thread.
///
/// # Errors
/// `ImportError::TargetExists` if `target` exists; otherwise whatever was wrong with the first bad
/// row, file or device. On any error nothing is left at `target`.
pub fn import(
    target: &Path,
    source: &ImportSource,
    options: &ImportOptions,
    progress: ProgressSink<'_>,
) -> Result<ImportReport, ImportError> {
    let _ = (target, source, options, progress);
    Err(ImportError::NothingToImport {
        path: target.to_path_buf(),
    })
}
