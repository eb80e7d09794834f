//! How an import tells how far it is.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::ImportError;

/// Records after which a loop says how far it is.
const STEPS: u64 = 1 << 14;

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

/// How far several threads are, and whether they are to go on.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: AtomicU64,
    is_stopped: AtomicBool,
}

impl Steps {
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends what counts here with `ImportError::Cancelled`.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// So many records more were read or written.
    pub(crate) fn add(&self, records: u64) -> Result<(), ImportError> {
        self.done.fetch_add(records, Ordering::Relaxed);
        if self.is_stopped.load(Ordering::Relaxed) {
            return Err(ImportError::Cancelled);
        }
        Ok(())
    }

    /// Counts for one loop.
    pub(crate) fn own(&self) -> OwnSteps<'_> {
        OwnSteps { all: self, done: 0 }
    }
}

/// The records of one loop, told every [`STEPS`].
pub(crate) struct OwnSteps<'a> {
    all: &'a Steps,
    done: u64,
}

impl Drop for OwnSteps<'_> {
    fn drop(&mut self) {
        self.all.done.fetch_add(self.done, Ordering::Relaxed);
    }
}

impl OwnSteps<'_> {
    /// One record more was read or written.
    pub(crate) fn one(&mut self) -> Result<(), ImportError> {
        self.done += 1;
        if self.done == STEPS {
            self.all.add(std::mem::take(&mut self.done))?;
        }
        Ok(())
    }
}
