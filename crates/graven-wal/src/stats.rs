//! What a log has done, for `PROFILE`, benchmarks and metrics.

use std::sync::atomic::AtomicU64;

use crate::{Histogram, HistogramView, Lsn};

/// Counters, filled by all threads.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) records: AtomicU64,
    pub(crate) frames: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) grown_regions: AtomicU64,
    pub(crate) recycled_regions: AtomicU64,
    pub(crate) write_ns: Histogram,
    pub(crate) sync_ns: Histogram,
    pub(crate) commit_ns: Histogram,
    pub(crate) group: Histogram,
}

/// What a log has done since it was opened, and what it holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LogStats {
    /// Records appended.
    pub records: u64,
    /// End of the stream: bytes of records appended in this generation.
    pub end: Lsn,
    /// Everything below survives a power cut.
    pub durable: Lsn,
    /// Frames written.
    pub frames: u64,
    /// Bytes written to the file: records, headers, padding; not the zeros of new regions.
    pub bytes_written: u64,
    /// Bytes of regions in use: what the next recovery has to read at most.
    pub live_bytes: u64,
    /// Bytes of regions that are ready for use.
    pub free_bytes: u64,
    /// Regions added to the file.
    pub grown_regions: u64,
    /// Regions used again after the log was cut.
    pub recycled_regions: u64,
    /// Time of each write in nanoseconds.
    pub write_ns: HistogramView,
    /// Time of each sync in nanoseconds; its count is the number of syncs.
    pub sync_ns: HistogramView,
    /// Time each commit waited in nanoseconds.
    pub commit_ns: HistogramView,
    /// Commits served by each sync.
    pub group: HistogramView,
}
