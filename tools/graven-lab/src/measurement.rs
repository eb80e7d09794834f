//! The result of one benchmark run, as it is printed, stored and drawn.

use serde::Serialize;

/// What one run of the three-hop benchmark measured. Times are wall-clock; counters cover the
/// measured part only, not the warm-up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measurement {
    /// Replacement policy with its parameters.
    pub policy: String,
    /// Fixed pools instead of one budget for pages of all sizes, where there were any.
    pub pools: Option<String>,
    /// Budget in bytes: pages, operators and results together.
    pub cache_bytes: u64,
    /// The budget as a share of the bytes that the questions touch, where that was measured.
    pub cache_share: Option<f64>,
    /// Threads asking.
    pub threads: usize,
    /// How pages are read: `direct` or `buffered`, after any fallback.
    pub io: String,
    /// How reads are queued: `io_uring`, `pread` threads or immediate.
    pub queue: String,
    /// Starts in one statement (`UNWIND $ids`); 1: a statement a question.
    pub batch: usize,
    /// Passes over all starts before measuring.
    pub warm_up_passes: u64,
    /// Questions answered.
    pub queries: u64,
    /// Seconds from the first question to the last answer.
    pub seconds: f64,
    /// Processor seconds, user and system, of the whole process.
    pub cpu_seconds: f64,
    /// Questions a second, all threads together.
    pub throughput_qps: f64,
    /// Median time of a statement in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Hits per page access, 0 to 1, all kinds together.
    pub hit_ratio: f64,
    /// Share of the accesses that no thread had to wait for.
    pub transactional_hit_ratio: f64,
    /// Accesses that had to wait, a question.
    pub blocked_per_query: f64,
    /// Page accesses that found the page.
    pub hits: u64,
    /// Page accesses that had to read it.
    pub faults: u64,
    /// Faults per question.
    pub faults_per_query: f64,
    /// Page accesses by kind of page.
    pub kinds: Vec<KindCounts>,
    /// Frames emptied by the background evictor.
    pub evictions_background: u64,
    /// Frames emptied by a thread that needed one.
    pub evictions_cooperative: u64,
    /// Bytes the kernel read from the device for this process.
    pub device_read_bytes: u64,
    /// Peak resident memory of the process during the run.
    pub rss_peak_bytes: u64,
    /// Answers compared with expected ones.
    pub checked: u64,
    /// Answers that differed.
    pub wrong: u64,
}

/// Page accesses of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KindCounts {
    /// Kind of page.
    pub kind: String,
    /// Accesses that found the page.
    pub hits: u64,
    /// Accesses that read it.
    pub faults: u64,
    /// Accesses that waited for it.
    pub blocked: u64,
    /// Hits per access.
    pub hit_ratio: f64,
    /// Time threads waited for reads, in milliseconds.
    pub waited_ms: f64,
    /// Bytes read.
    pub bytes_read: u64,
}

/// The value below which the share `p` (0 to 1) of the sorted values lies, nearest rank; 0 without
/// values.
#[must_use]
pub fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.5), 50.0);
        assert_eq!(percentile(&values, 0.99), 99.0);
        assert_eq!(percentile(&values[..1], 0.99), 1.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
