//! `doctor`: what commits and reads cost on this machine, why, and what may be changed at which
//! risk.
//!
//! # How it works
//! [`System::read`] collects what the kernel tells without privileges about the directory's file
//! system, its disks, memory, limits and control groups; [`measure::measure`] adds what only trying
//! shows (sync latency, direct I/O, io_uring). [`judge::judge`] turns both into findings: evidence,
//! what it costs, what it risks, the exact change. Judging reads nothing itself, so it is tested on
//! made-up machines.
//!
//! # Invariants
//! * No finding recommends to give up safety for speed: no barriers, journals or flushes are ever
//!   turned off.

pub mod judge;
pub mod measure;
mod system;

pub use judge::{Finding, Severity};
pub use measure::Measured;
pub use system::{Disk, Mount, System, free_bytes};

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::LabError;

/// What the doctor found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The directory examined.
    pub directory: PathBuf,
    /// What the kernel tells.
    pub system: System,
    /// What trying showed.
    pub measured: Option<Measured>,
    /// What follows, worst first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Examines the machine for databases in `directory`; with `long` also its sequential speed.
    ///
    /// # Errors
    /// The directory does not exist. One that cannot be written to, or has no room, is a finding.
    pub fn examine(directory: &Path, long: measure::Effort) -> Result<Report, LabError> {
        if !directory.is_dir() {
            return Err(LabError::Setting(format!(
                "{} is no directory: name the one that databases live in",
                directory.display()
            )));
        }
        let system = System::read(Path::new("/"), directory);
        match measure::measure(directory, long) {
            Ok(measured) => Ok(Report::of(system, Some(measured))),
            Err(error) => Report::untried(system, error),
        }
    }

    /// The findings about a machine where nothing can be tried, one of them why.
    fn untried(system: System, error: LabError) -> Result<Report, LabError> {
        let (LabError::Io {
            source: ref why, ..
        }
        | LabError::File(graven_io::Error::Os {
            source: ref why, ..
        })) = error
        else {
            return Err(error);
        };
        let untried = judge::untried(&system, why.kind(), &error);
        let mut report = Report::of(system, None);
        report.findings.push(untried);
        report.sort();
        Ok(report)
    }

    /// The findings about a machine.
    #[must_use]
    pub fn of(system: System, measured: Option<Measured>) -> Report {
        let mut report = Report {
            directory: system.directory.clone(),
            findings: judge::judge(&system, measured.as_ref()),
            system,
            measured,
        };
        report.sort();
        report
    }

    /// Worst first.
    fn sort(&mut self) {
        self.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }

    /// Whether nothing is worse than a note.
    #[must_use]
    pub fn healthy(&self) -> bool {
        self.findings.iter().all(|f| f.severity < Severity::Warning)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.directory.display())?;
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        if let Some(measured) = &self.measured {
            writeln!(f, "{measured}")?;
        }
        let count = |severity| {
            self.findings
                .iter()
                .filter(|f| f.severity == severity)
                .count()
        };
        writeln!(
            f,
            "{} dangers, {} warnings, {} notes, {} in order",
            count(Severity::Danger),
            count(Severity::Warning),
            count(Severity::Note),
            count(Severity::Good)
        )
    }
}

#[cfg(test)]
mod tests;
