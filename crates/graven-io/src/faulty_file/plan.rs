//! Which faults happen how often, and the dice that decide.

use std::time::Duration;

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// A read fails.
    ReadError,
    /// A read finds the end of the file too early.
    ShortRead,
    /// A read delivers one wrong bit; the stored bytes stay right.
    BitFlip,
    /// A write fails, perhaps after some of its sectors.
    WriteError,
    /// A write is acknowledged and only its first sectors are done.
    TornWrite,
    /// A write is acknowledged and not done at all.
    LostWrite,
    /// A write is acknowledged and done at another place.
    MisdirectedWrite,
    /// A sync fails; some unsynced sectors reached the disk, the others never will.
    SyncError,
    /// Growing the file fails: the disk is full.
    StorageFull,
    /// The power goes before a write, a sync or a change of length: it and everything later fails.
    PowerOff,
}

/// How often which fault happens: probabilities per operation, 0 at first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FaultPlan {
    /// Seed of every decision.
    pub seed: u64,
    /// [`Fault::ReadError`] per read.
    pub read_error: f64,
    /// [`Fault::ShortRead`] per read.
    pub short_read: f64,
    /// [`Fault::BitFlip`] per read.
    pub bit_flip: f64,
    /// [`Fault::WriteError`] per write.
    pub write_error: f64,
    /// [`Fault::TornWrite`] per write.
    pub torn_write: f64,
    /// [`Fault::LostWrite`] per write.
    pub lost_write: f64,
    /// [`Fault::MisdirectedWrite`] per write.
    pub misdirected_write: f64,
    /// [`Fault::SyncError`] per sync.
    pub sync_error: f64,
    /// Slept in every operation.
    pub latency: Duration,
    /// Length at which the disk is full.
    pub capacity_bytes: Option<u64>,
    /// Read queues deliver completions shuffled and, without waiting, only some of them.
    pub disordered_reads: bool,
}

impl FaultPlan {
    /// Whether a file that ends at `end` no longer fits.
    pub(super) fn overflows(&self, end: u64) -> bool {
        self.capacity_bytes.is_some_and(|capacity| end > capacity)
    }
}
