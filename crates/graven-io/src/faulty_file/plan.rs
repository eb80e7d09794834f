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

/// Seeded random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice that always fall alike for one `seed`.
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// The next 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`; 0 where `limit` is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// True with the given probability; throws nothing for 0, so unused faults do not move the dice.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && ((self.next() >> 11) as f64 / (1u64 << 53) as f64) < probability
    }
}
