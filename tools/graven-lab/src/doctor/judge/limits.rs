//! Open files, locked memory, io_uring, direct I/O, limits on disk traffic, time spent waiting for
//! disks.

use super::{Finding, Severity, bytes};
use crate::doctor::{Measured, System};

/// What the guide asks for.
const OPEN_FILES_WANTED: u64 = 40_000;
/// Below this a server with many connections will fail.
const OPEN_FILES_LEAST: u64 = 1_024;
const LOCKED_MEMORY_LEAST: u64 = 1 << 20;
/// Percent of the time waiting for disks that is much, and of the processors' time that is little.
const IOWAIT_MUCH: u64 = 20;
const CPU_LITTLE: u64 = 30;

pub(super) fn judge(system: &System, measured: Option<&Measured>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(open_files(system));
    findings.extend(locked_memory(system));
    findings.extend(measured.map(direct));
    findings.extend(uring(system, measured));
    findings.push(traffic(system));
    findings.push(waiting(system));
    findings
}

/// The guide's symptom of small transactions on an untuned file system: low processor load, high
/// iowait.
fn waiting(system: &System) -> Finding {
    let seen = format!(
        "since the start programs ran {} % of the processors' time, {} % passed waiting for disks",
        system.cpu_percent, system.iowait_percent
    );
    let finding = Finding::fine("io-wait", seen, "none");
    if system.iowait_percent < IOWAIT_MUCH || system.cpu_percent > CPU_LITTLE {
        return finding;
    }
    finding
        .severity(Severity::Note)
        .risk("none for data; the disk, not the processor, bounds this machine")
        .change(
            "let small transactions share syncs (more clients, or several operations in one \
                transaction); see access-times and scheduler above",
        )
}

fn open_files(system: &System) -> Option<Finding> {
    let limit = system.open_files?;
    let soft = limit.soft.unwrap_or(u64::MAX);
    let text = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |n| n.to_string());
    let seen = format!(
        "{} open files, may be raised to {}",
        text(limit.soft),
        text(limit.hard)
    );
    let finding = Finding::fine("open-files", seen, "none");
    if soft >= OPEN_FILES_WANTED {
        return Some(finding);
    }
    let severity = match soft {
        0..=OPEN_FILES_LEAST => Severity::Warning,
        _ => Severity::Note,
    };
    Some(
        finding
            .severity(severity)
            .risk(
                "Graven itself needs about ten files a database; a program with many databases \
                or connections fails with `Too many open files`",
            )
            .change(format!(
                "ulimit -n {OPEN_FILES_WANTED} for this session; to keep it, in \
                    /etc/security/limits.conf:\n\
                 USER soft nofile {OPEN_FILES_WANTED}\nUSER hard nofile {OPEN_FILES_WANTED}\n\
                 and for services of systemd LimitNOFILE={OPEN_FILES_WANTED}"
            )),
    )
}

fn locked_memory(system: &System) -> Option<Finding> {
    let limit = system.locked_memory?;
    let soft = limit.soft.unwrap_or(u64::MAX);
    let seen = match limit.soft {
        Some(soft) => format!("{} may be locked", bytes(soft)),
        None => "any amount of memory may be locked".to_owned(),
    };
    let finding = Finding::fine("locked-memory", seen, "none");
    if soft >= LOCKED_MEMORY_LEAST {
        return Some(finding);
    }
    Some(
        finding
            .severity(Severity::Note)
            .risk(
                "older kernels count io_uring's rings against it; then reads go through threads \
                instead",
            )
            .change("ulimit -l 8192, or in /etc/security/limits.conf: USER - memlock 8192"),
    )
}

fn direct(measured: &Measured) -> Finding {
    match &measured.mode_reason {
        None => Finding::fine("direct-io", "O_DIRECT works here", "none"),
        Some(reason) => Finding::fine(
            "direct-io",
            format!("files are buffered: {reason}"),
            "pages are kept twice, once by the kernel; its write-back competes with the log",
        )
        .severity(Severity::Warning)
        .change("use ext4 or xfs on a block device"),
    }
}

fn uring(system: &System, measured: Option<&Measured>) -> Option<Finding> {
    let reason = match (measured, system.uring_disabled) {
        (Some(measured), _) => measured.queue_reason.clone(),
        (None, Some(1 | 2)) => Some("kernel.io_uring_disabled is set".to_owned()),
        (None, Some(_)) => None,
        (None, None) => return None,
    };
    Some(match reason {
        None => Finding::fine("io-uring", "io_uring is permitted", "none"),
        Some(reason) => Finding::fine(
            "io-uring",
            format!("no io_uring: {reason}"),
            "misses are read by a pool of threads: more processor time per page, the same results",
        )
        .severity(Severity::Note)
        .risk(
            "permitting it widens what a process may ask of the kernel; containers forbid it for \
            that reason",
        )
        .change(match system.uring_disabled {
            Some(1 | 2) => "sysctl -w kernel.io_uring_disabled=0, if that fits your \
                rules"
                .to_owned(),
            _ => "permit io_uring_setup, io_uring_enter and io_uring_register in the container's \
                seccomp profile, if that \
                  fits your rules"
                .to_owned(),
        }),
    })
}

fn traffic(system: &System) -> Finding {
    if system.group_io.is_empty() {
        let seen = "no limit of a control group on this disk is known";
        return Finding::fine("disk-limit", seen, "none");
    }
    Finding::fine(
        "disk-limit",
        format!(
            "the control group limits this disk: {}",
            system.group_io.join("; ")
        ),
        "at the limit every sync waits, whatever the disk could do",
    )
    .severity(Severity::Warning)
    .risk("none if raised, except for the neighbours it protects")
    .change("raise io.max of the group (blkio weight or limits of the container)")
}
