//! Faults between the database and its disk, put there by the disk.

/// A fault between database and disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
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

impl Sabotage {
    /// All of them.
    pub const ALL: [Sabotage; 5] = [
        Sabotage::SkippedDataSync,
        Sabotage::SkippedLogSync,
        Sabotage::SuperblocksAtOnce,
        Sabotage::LostRegionHeader,
        Sabotage::SkippedBackupSync,
    ];
}
