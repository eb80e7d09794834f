//! Seeded faults of the log and of what is built on it, to see that the crash torture finds them.
//! Without the feature `mutants` none can be switched on and the code is as if they were not there.

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A sync reports success without having been asked for.
    SkippedSync,
    /// A failed sync is tried again, and its success believed.
    RetriedSync,
    /// A commit is acknowledged when it is written, not when it is durable.
    EarlyAcknowledgement,
    /// Frames are taken whatever their checksum says.
    UncheckedChecksum,
    /// Frames longer than four sectors are written in part.
    CutFrame,
    /// The first frame after an open does not void the incomplete record before it.
    IncompleteRecordKept,
    /// What is dropped as torn stays, and frames are taken whatever their predecessor.
    TailKept,
    /// After an open the last sector of the log is written over.
    OverwrittenEnd,
    /// More of the log is given up than asked for.
    LogCutTooSoon,
    /// A checkpoint's pages are given out again while snapshots read them.
    EarlyPageReuse,
    /// Commits do not look at what was committed since they began.
    UnvalidatedCommit,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 11] = [
        Mutant::SkippedSync,
        Mutant::RetriedSync,
        Mutant::EarlyAcknowledgement,
        Mutant::UncheckedChecksum,
        Mutant::CutFrame,
        Mutant::IncompleteRecordKept,
        Mutant::TailKept,
        Mutant::OverwrittenEnd,
        Mutant::LogCutTooSoon,
        Mutant::EarlyPageReuse,
        Mutant::UnvalidatedCommit,
    ];
}

#[cfg(feature = "mutants")]
mod switch {
    use super::Mutant;
    use std::sync::Mutex;

    static ACTIVE: Mutex<Option<Mutant>> = Mutex::new(None);

    /// Switches a fault on for the whole process, or all off.
    ///
    /// # Panics
    /// A thread panicked in here, which none can.
    pub fn activate(mutant: Option<Mutant>) {
        *ACTIVE.lock().expect("nothing panics with it") = mutant;
    }

    /// Whether this one is switched on.
    ///
    /// # Panics
    /// As [`activate`].
    pub fn active(mutant: Mutant) -> bool {
        *ACTIVE.lock().expect("nothing panics with it") == Some(mutant)
    }
}

#[cfg(not(feature = "mutants"))]
mod switch {
    use super::Mutant;

    /// Never: there are none.
    #[must_use]
    pub const fn active(_mutant: Mutant) -> bool {
        false
    }
}

#[cfg(feature = "mutants")]
pub use switch::activate;
pub use switch::active;
