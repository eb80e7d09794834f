//! What one measurement of misses found.

/// Result of one measurement.
pub(super) struct Outcome {
    pub(super) pages: u64,
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
}
