//! What follows from what the kernel tells and what trying showed.

mod limits;
mod memory;
mod storage;

use std::fmt;
use std::io::ErrorKind;

use serde::Serialize;

use super::{Measured, System};

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Good,
    /// Worth knowing; nothing has to be done.
    Note,
    /// Costs time, or will fail under load.
    Warning,
    /// Acknowledged commits can be lost.
    Danger,
}

/// One thing found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// Stable name.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen, and where.
    pub evidence: String,
    /// What it costs.
    pub cost: String,
    /// What it risks, and what a change would risk.
    pub risk: String,
    /// Exactly what to do; nothing where nothing should be done.
    pub change: Option<String>,
}

impl Finding {
    /// A finding that needs no change.
    fn fine(id: &'static str, evidence: impl Into<String>, cost: impl Into<String>) -> Finding {
        Finding {
            id,
            severity: Severity::Good,
            evidence: evidence.into(),
            cost: cost.into(),
            risk: "none".to_owned(),
            change: None,
        }
    }

    fn severity(mut self, severity: Severity) -> Finding {
        self.severity = severity;
        self
    }

    fn risk(mut self, risk: impl Into<String>) -> Finding {
        self.risk = risk.into();
        self
    }

    fn change(mut self, change: impl Into<String>) -> Finding {
        self.change = Some(change.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.severity {
            Severity::Good => "ok     ",
            Severity::Note => "note   ",
            Severity::Warning => "WARNING",
            Severity::Danger => "DANGER ",
        };
        write!(f, "{mark} {}: {}", self.id, self.evidence)?;
        if self.severity == Severity::Good {
            return Ok(());
        }
        write!(
            f,
            "\n          cost: {}\n          risk: {}",
            self.cost, self.risk
        )?;
        if let Some(change) = &self.change {
            write!(
                f,
                "\n          change: {}",
                change.replace('\n', "\n                  ")
            )?;
        }
        Ok(())
    }
}

/// All findings about a machine.
#[must_use]
pub fn judge(system: &System, measured: Option<&Measured>) -> Vec<Finding> {
    let mut findings = storage::judge(system, measured);
    findings.extend(memory::judge(system, measured));
    findings.extend(limits::judge(system, measured));
    findings
}

/// Nothing could be tried in the directory.
#[must_use]
pub(super) fn untried(system: &System, kind: ErrorKind, error: &dyn fmt::Display) -> Finding {
    let place = system.directory.display();
    let (risk, change) = match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => (
            "no room for the trial's few megabytes: commits that find no room are refused, and so \
                are checkpoints",
            format!("make room on {} or raise the quota", system.mount.point),
        ),
        ErrorKind::ReadOnlyFilesystem => (
            "databases here can only be read",
            format!(
                "where they are to be written to: mount -o remount,rw {}",
                system.mount.point
            ),
        ),
        ErrorKind::PermissionDenied => (
            "this user cannot make databases here, nor the log of one",
            format!("examine it as the owner of {place}, or chown it"),
        ),
        _ => (
            "databases here may meet the same",
            "look at the kernel's messages: dmesg".to_owned(),
        ),
    };
    Finding::fine(
        "trial",
        format!("nothing can be tried in {place}: {error}"),
        "unknown: neither syncs nor direct I/O were tried",
    )
    .severity(Severity::Warning)
    .risk(risk)
    .change(change)
}

/// `12.3 GiB`.
fn bytes(count: u64) -> String {
    let (mut value, mut unit) = (count as f64, "B");
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    match unit {
        "B" => format!("{count} B"),
        _ => format!("{value:.1} {unit}"),
    }
}
