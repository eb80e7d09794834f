//! What was asked of the store and of the disk tier: the numbers by which a question is judged.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one location; shared by the files opened there.
#[derive(Debug, Default)]
pub struct Traffic {
    requests: AtomicU64,
    bytes: AtomicU64,
    retries: AtomicU64,
    tier_reads: AtomicU64,
    tier_bytes: AtomicU64,
}

/// What [`Traffic`] counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TrafficCounts {
    /// Reads asked of the store, repeated ones too.
    pub requests: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Reads that were asked for again here, after the client's own attempts.
    pub retries: u64,
    /// Reads that the disk tier answered.
    pub tier_reads: u64,
    /// Bytes of those.
    pub tier_bytes: u64,
}

impl Traffic {
    pub(crate) fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn came(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn tier_read(&self, bytes: usize) {
        self.tier_reads.fetch_add(1, Ordering::Relaxed);
        self.tier_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> TrafficCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TrafficCounts {
            requests: read(&self.requests),
            bytes: read(&self.bytes),
            retries: read(&self.retries),
            tier_reads: read(&self.tier_reads),
            tier_bytes: read(&self.tier_bytes),
        }
    }
}
