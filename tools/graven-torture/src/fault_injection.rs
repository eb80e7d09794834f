//! Faults between the database and its disk, put there by the disk.

/// A fault between database and disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultInjection {
    /// Syncs of the data file do nothing.
    SkippedDataSync,
    /// Syncs of the log do nothing.
    SkippedLogSync,
    /// Writing one superblock first wipes both.
    SuperblocksAtOnce,
    /// Headers of log regions are not written.
    LostRegionHeader,
    /// Syncs of backups do nothing.
    SkippedBackupSync,
}

impl FaultInjection {
    /// All of them.
    pub const ALL: [FaultInjection; 5] = [
        FaultInjection::SkippedDataSync,
        FaultInjection::SkippedLogSync,
        FaultInjection::SuperblocksAtOnce,
        FaultInjection::LostRegionHeader,
        FaultInjection::SkippedBackupSync,
    ];
}
