//! Commands about sequences: named counters that `nextval` advances.

use std::fmt;
use std::sync::Arc;

/// What a sequence counts through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceBounds {
    /// Its first number.
    pub start: i64,
    /// What each number is larger than the one before; not 0.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The largest number.
    pub max: i64,
    /// Whether it begins again at its end.
    pub cycle: bool,
}

/// One command. `lenient`: nothing is wrong if it is there already, or is not there.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceCommand {
    /// `CREATE SEQUENCE name START 1 INCREMENT 2`.
    Create {
        name: Arc<str>,
        bounds: SequenceBounds,
        lenient: bool,
    },
    /// `DROP SEQUENCE name`.
    Drop { name: Arc<str>, lenient: bool },
}

impl fmt::Display for SequenceCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceCommand::Create { name, .. } => write!(f, "create sequence {name}"),
            SequenceCommand::Drop { name, .. } => write!(f, "drop sequence {name}"),
        }
    }
}
