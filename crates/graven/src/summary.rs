//! What a statement came to, besides its rows.

use graven_pagecache::PerKind;
use graven_storage::WriteCounters;
use std::time::Duration;

/// What is known of a statement besides its rows; complete when the rows are at their end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Rows given so far.
    pub rows: u64,
    /// Time from the start to the last row, that of the reader included.
    pub elapsed: Duration,
    /// Time from the text to the plan; a plan that is kept takes little of it. Zero for a prepared
    /// statement that has its plan, and where another process runs the statement.
    pub planning: Duration,
    /// What is worth knowing of the statement.
    pub notices: Vec<Notice>,
    /// What happened to pages of each kind on behalf of this statement.
    pub pages: PerKind,
    /// What the statement changed.
    pub counters: WriteCounters,
    /// Its commit, where it had a transaction of its own and wrote.
    pub commit: Option<Commit>,
    /// What it is there for, whatever it has come to.
    pub kind: StatementKind,
}

/// What a statement is there for. Of an attached process it is known when all rows are read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum StatementKind {
    /// It reads.
    #[default]
    Reads,
    /// It changes nodes and relationships.
    Writes,
    /// It changes indexes or constraints.
    ChangesSchema,
    /// It is about the server, its users or its databases, and changes none of the above.
    OfSystem,
}

/// Something worth telling about a valid statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Stable code, for example `UnknownLabel`.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// 1-based line and column, where it has a place in the text.
    pub position: Option<(u32, u32)>,
}

/// What a commit did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Commit {
    /// Its place in the order of commits.
    pub timestamp: u64,
    /// Bytes it put into the log.
    pub log_bytes: u64,
    /// Time spent waiting for the device.
    pub waited: Duration,
    /// Commits that shared the wait, this one included; 0 if it waited for none.
    pub group: u32,
    /// How long a checkpoint worked beside it, from the first look at conflicts to the
    /// acknowledgement.
    pub checkpoint: Duration,
}

impl Commit {
    /// What this one and an earlier one of the same statement did together.
    pub(crate) fn after(self, before: Commit) -> Commit {
        Commit {
            timestamp: self.timestamp,
            log_bytes: before.log_bytes + self.log_bytes,
            waited: before.waited + self.waited,
            group: self.group,
            checkpoint: before.checkpoint + self.checkpoint,
        }
    }
}

impl From<graven_storage::Committed> for Commit {
    fn from(committed: graven_storage::Committed) -> Self {
        Commit {
            timestamp: committed.timestamp,
            log_bytes: committed.log_bytes,
            waited: committed.waited,
            group: committed.group,
            checkpoint: committed.checkpoint,
        }
    }
}
