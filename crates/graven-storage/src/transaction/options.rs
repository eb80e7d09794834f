//! How a transaction behaves: isolation, durability, the client's own id; and what its commit
//! reports.

use std::time::Duration;

/// Which anomalies a transaction rules out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Isolation {
    /// Reads the state of its start plus its own writes; conflicts by entity written. Write skew is
    /// possible.
    #[default]
    Snapshot,
    /// As if transactions ran one after another: what was read is validated as well.
    Serializable,
}

/// When a commit returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Durability {
    /// When the log is on the device.
    #[default]
    Full,
    /// When the log is with the kernel; it is on the device at most this long after that. A killed
    /// process loses nothing, a power failure what was committed in that time.
    Relaxed(Duration),
    /// At once, when it is in the process's memory; the log is with the kernel at most a second
    /// later, and the device gets it whenever something else asks. A killed process loses what was
    /// committed in that second.
    Off,
}

/// Whether a commit that failed is in the log for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Durable {
    /// It is.
    Yes,
    /// It is not, and never will be.
    No,
    /// Only the next opening of the database tells.
    Unknown,
}

impl std::fmt::Display for Durable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Durable::Yes => "yes",
            Durable::No => "no",
            Durable::Unknown => "unknown",
        })
    }
}

/// How a transaction behaves.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TransactionOptions {
    /// Which anomalies it rules out.
    pub isolation: Isolation,
    /// When its commit returns.
    pub durability: Durability,
    /// The client's own id of the commit, kept in the log.
    pub client_id: Option<[u8; 16]>,
}

impl TransactionOptions {
    /// These options with `isolation`.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> TransactionOptions {
        self.isolation = isolation;
        self
    }

    /// These options with `durability`.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> TransactionOptions {
        self.durability = durability;
        self
    }

    /// These options with the client's own id of the commit.
    #[must_use]
    pub fn client_id(mut self, id: [u8; 16]) -> TransactionOptions {
        self.client_id = Some(id);
        self
    }
}

/// What a commit did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Committed {
    /// Its place in the order of commits; snapshots of this timestamp or later see it.
    pub timestamp: u64,
    /// End of its last record in the log; 0 without a log or without changes.
    pub lsn: u64,
    /// Bytes it put into the log.
    pub log_bytes: u64,
    /// Time spent waiting for the device.
    pub waited: Duration,
    /// Commits that shared the sync, this one included; 0 if it waited for none.
    pub group: u32,
    /// How long a checkpoint worked while this commit was made.
    pub checkpoint: Duration,
}
