//! What an import did, for the summary line and for tests.

use std::path::PathBuf;
use std::time::Duration;

/// A name and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCount {
    /// Label, type or table.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// The result of an import.
#[derive(Debug, Clone, Default)]
pub struct ImportReport {
    /// Nodes written.
    pub nodes: u64,
    /// Relationships written.
    pub relationships: u64,
    /// Nodes per label, by name; a node with two labels counts in both.
    pub labels: Vec<NamedCount>,
    /// Relationships per type, by name.
    pub types: Vec<NamedCount>,
    /// Nodes that exist only because a relationship names their id, per table that is missing.
    pub created_by_reference: Vec<NamedCount>,
    /// Rows left out and written to the bad-row report.
    pub skipped_rows: u64,
    /// KNOWS rows that repeated a friendship (the same pair, possibly the other way round).
    pub repeated_friendships: u64,
    /// Files found in the folder that hold no table of the bulk data.
    pub ignored_files: Vec<PathBuf>,
    /// Temporary files of an earlier, killed import that were removed.
    pub removed_leftovers: Vec<PathBuf>,
    /// Bytes of input read, as stored (compressed).
    pub input_bytes: u64,
    /// Bytes of the finished data file.
    pub file_bytes: u64,
    /// Bytes written to scratch files because they did not fit in memory.
    pub spilled_bytes: u64,
    /// Wall-clock time of the whole import.
    pub elapsed: Duration,
    /// Peak resident memory of the process so far, bytes (`VmHWM`); 0 if unknown.
    pub rss_peak_bytes: u64,
}

/// Peak resident memory of the process so far, bytes; 0 where the system does not tell.
pub(crate) fn rss_peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kibibytes = line
        .and_then(|l| l.split_whitespace().next())
        .and_then(|n| n.parse().ok());
    kibibytes.map_or(0, |n: u64| n * 1024)
}
