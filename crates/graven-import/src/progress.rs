//! How an import tells how far it is.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::error::ImportError;

/// What `done` and `total` count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Bytes of the (compressed) input files.
    Bytes,
    /// Nodes.
    Nodes,
    /// Relationships.
    Relationships,
    /// Values of a column or keys of an index.
    Values,
}

/// One report of progress.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// What is being done, for people: `reading nodes`, `KNOWS`, ...
    pub phase: &'a str,
    /// How much of it is done.
    pub done: u64,
    /// How much there is; 0 if not known.
    pub total: u64,
    /// What is counted.
    pub unit: Unit,
}

/// The caller's receiver; `ControlFlow::Break` ends the work with `ImportError::Cancelled`.
pub type ProgressSink<'s> = &'s mut dyn FnMut(Progress<'_>) -> ControlFlow<()>;

/// Calls the sink at most about ten times a second, and at both ends of each phase.
pub(crate) struct Meter<'s> {
    sink: ProgressSink<'s>,
    phase: String,
    unit: Unit,
    total: u64,
    last: Instant,
}

impl<'s> Meter<'s> {
    pub(crate) fn new(sink: ProgressSink<'s>) -> Self {
        let last = Instant::now();
        Self {
            sink,
            phase: String::new(),
            unit: Unit::Bytes,
            total: 0,
            last,
        }
    }

    /// Begins a phase.
    pub(crate) fn phase(&mut self, name: &str, total: u64, unit: Unit) -> Result<(), ImportError> {
        self.phase.clear();
        self.phase.push_str(name);
        self.total = total;
        self.unit = unit;
        self.report(0)
    }

    /// Says how far the phase is; cheap enough for every few thousand rows.
    pub(crate) fn at(&mut self, done: u64) -> Result<(), ImportError> {
        if self.last.elapsed() < Duration::from_millis(100) && done < self.total {
            return Ok(());
        }
        self.report(done)
    }

    fn report(&mut self, done: u64) -> Result<(), ImportError> {
        self.last = Instant::now();
        let progress = Progress {
            phase: &self.phase,
            done,
            total: self.total,
            unit: self.unit,
        };
        match (self.sink)(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ImportError::Cancelled),
        }
    }
}
