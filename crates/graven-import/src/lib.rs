//! Bulk import: tables of text in, one finished data file out; and the generator of test networks.
//!
//! # How it works
//! ```text
//! ImportSource --(ldbc | headers)--> Plan of tables --(scan)--> spools --(sort)--> StoreWriter
//! ```
//! 1. A *front* turns a folder or a list of files into a `plan::Plan`: which file holds which
//!    nodes or relationships and what every column means. `ldbc` knows the layouts of the LDBC
//!    social network, `headers` knows Neo4j's header convention. Nothing later differs by front. A
//!    table is a file, or text that the generator makes while it is read (`input::TableFile`).
//! 2. `scan` reads the node tables, gives every node an *ordinal* (its number in file order) and
//!    keeps `(id space, id) -> ordinal`; then reads the relationship tables and replaces ids by
//!    ordinals while counting degrees.
//! 3. `order` numbers the nodes for good: grouped by label set, hubs first inside a group.
//! 4. `jobs` makes several stores at the same time: `prepare` sorts columns and adjacency lists by
//!    the final ids (`distribute`) and index keys (`sort`); `store` streams them into the storage
//!    writer.
//!
//! # Invariants
//! - IM-1 The target appears under its name only complete and synced (`target`).
//! - IM-2 The same input gives the same graph with the same ids, whatever the threads and the
//!   memory; only nodes made by reference may be numbered differently among nodes of equal degree
//!   when the ids do not fit in memory.
//! - IM-3 What does not fit in `memory` goes to sorted runs in a scratch folder beside the target,
//!   which is removed when the import ends, however it ends; one left by a killed process is
//!   removed by the next import and named in its report.
//! - IM-4 A value that cannot be read is an error naming file, line, column and value, never a
//!   silent null.

mod bad_rows;
mod distribute;
mod error;
mod feed;
mod headers;
mod ids;
mod input;
mod jobs;
mod ldbc;
mod options;
mod order;
mod outline;
mod plan;
mod prepare;
mod progress;
mod radix;
mod report;
mod rows;
mod scan;
mod scratch;
mod sort;
mod sorted;
mod spool;
mod staged;
mod store;
mod target;
mod value;

pub mod generate;

pub use error::{ImportError, RowError};
pub use input::unpacked;
pub use options::{CsvFormat, ImportOptions, ImportSource, NodeOrder, TableArgument, TableSource};
pub use outline::{Outline, TableOutline, outline};
pub use progress::{Progress, ProgressSink, Unit};
pub use report::{ImportReport, NamedCount};

use std::path::Path;
use std::time::Instant;

use distribute::Weights;
use progress::Meter;

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
    let started = Instant::now();
    if options.memory < ImportOptions::MEMORY_MIN {
        return Err(ImportError::Memory {
            given: options.memory,
            least: ImportOptions::MEMORY_MIN,
        });
    }
    let target = target::Target::create(target, options.memory / 4)?;
    let scratch = &target.scratch;
    let mut meter = Meter::new(progress);
    let mut plan = match source {
        ImportSource::Ldbc(folder) => ldbc::plan(folder)?,
        ImportSource::Tables(tables) => headers::plan(tables)?,
        ImportSource::Generated(social) => ldbc::plan_made(generate::made(
            *social,
            scratch,
            options.memory,
            &mut meter,
        )?)?,
    };
    let mut scanned = scan::Scan::new(&plan, options, scratch, &mut meter)?.run()?;
    plan.forget_made();
    scanned.staged.complete();
    let staged = &scanned.staged;
    let uniqueness = store::uniqueness(&plan, &scanned)?;
    let text_spaces: Vec<bool> = (0..plan.spaces.len())
        .map(|s| plan.spaces[s].ids == plan::IdKind::Infer && !scanned.is_numeric(s))
        .collect();
    drop(scanned.ids);
    let order = order::order(
        staged,
        &scanned.degrees,
        options.order,
        scratch,
        options.memory / 4,
    )?;
    let degrees = Weights::of_degrees(&order.ids, &scanned.degrees);
    drop(scanned.degrees);
    let source = prepare::Source {
        plan: &plan,
        staged,
        order: &order,
        degrees: &degrees,
        text_spaces: &text_spaces,
        scratch,
        sorter_bytes: options.memory / 2 / jobs::WORKERS as u64,
    };
    let written = store::write(
        target.open()?,
        &source,
        &uniqueness,
        options.threads,
        &mut meter,
    )?;
    let spaces = plan.spaces.iter().zip(&scanned.created);
    let created_by_reference = spaces
        .filter(|(_, count)| **count > 0)
        .map(|(space, count)| NamedCount {
            name: space.name.clone(),
            count: *count,
        })
        .collect();
    Ok(ImportReport {
        nodes: staged.nodes,
        relationships: written.relationships,
        labels: written.labels,
        types: written.types,
        created_by_reference,
        skipped_rows: scanned.skipped_rows,
        repeated_friendships: written.repeated,
        ignored_files: plan.ignored.clone(),
        removed_leftovers: target.removed.clone(),
        input_bytes: scanned.input_bytes,
        spilled_bytes: scratch.spilled(),
        file_bytes: target.complete()?,
        elapsed: started.elapsed(),
        rss_peak_bytes: report::rss_peak_bytes(),
    })
}
