//! Dirty pages, huge pages, memory limits.

use super::{Finding, Severity, bytes};
use crate::doctor::{Measured, System};

pub(super) fn judge(system: &System, measured: Option<&Measured>) -> Vec<Finding> {
    let mut findings = vec![dirty(system, measured)];
    findings.extend(huge_pages(system));
    findings.push(group_memory(system));
    findings
}

/// What the kernel does with dirty pages matters to programs that map or write files through its
/// cache. Graven writes directly; where it cannot, the guide's advice applies to it too.
fn dirty(system: &System, measured: Option<&Measured>) -> Finding {
    let (background, throttle) = (system.background_bytes(), system.throttle_bytes());
    let setting = |percent: u64, count: u64| match count {
        0 => format!("{percent} %"),
        count => bytes(count),
    };
    let seen = format!(
        "the kernel begins to write dirty pages at {} (dirty_background {}), makes writers wait at \
            {} (dirty {}); \
         files here have {}, memory {}",
        bytes(background),
        setting(system.dirty_background_ratio, system.dirty_background_bytes),
        bytes(throttle),
        setting(system.dirty_ratio, system.dirty_bytes),
        bytes(system.store_bytes),
        bytes(system.memory_bytes)
    );
    let buffered = measured.is_some_and(|m| m.mode != "direct");
    let finding = Finding::fine(
        "dirty-pages",
        seen,
        "none for Graven: its pages never are in the kernel's cache",
    );
    if background >= system.store_bytes {
        return finding;
    }
    // Room for the whole store, with a tenth to spare, as long as that leaves half of the memory.
    let wanted = system.store_bytes / 10 * 11;
    let most = system.memory_bytes / 2;
    let advice = if wanted <= most {
        format!(
            "sysctl -w vm.dirty_background_bytes={wanted} vm.dirty_bytes={}\nand the same two \
                lines in /etc/sysctl.d/",
            wanted.saturating_mul(8) / 5
        )
    } else {
        format!(
            "none that helps: the store is larger than half of the memory ({}); do not map it, \
                write it directly",
            bytes(most)
        )
    };
    let risk = "more unwritten data when the machine stops (nothing that was synced), and longer \
        syncs of other programs";
    if buffered {
        return Finding {
            cost:
                "direct I/O is not to be had here, so page writes go through the kernel's cache: \
                it will write them at \
                   random moments, beside the log"
                    .to_owned(),
            ..finding
        }
        .severity(Severity::Warning)
        .risk(risk)
        .change(advice);
    }
    Finding {
        cost: "none for Graven, which writes directly; programs that map a file of this size \
            (`graven write-test` shows it) \
               will see random writes beside their log"
            .to_owned(),
        ..finding
    }
    .severity(Severity::Note)
    .risk(risk)
    .change(format!("only for such programs: {advice}"))
}

fn huge_pages(system: &System) -> Option<Finding> {
    let seen = format!("transparent huge pages: {}", system.huge_pages);
    match system.huge_pages.as_str() {
        "" => None,
        "never" => Some(
            Finding::fine(
                "huge-pages",
                seen,
                "page caches above 64 MiB ask for huge pages and do not get them: more address \
                    translation misses",
            )
            .severity(Severity::Note)
            .change("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        ),
        "always" => Some(
            Finding::fine(
                "huge-pages",
                seen,
                "every program gets them unasked: resident memory may pass what small databases \
                    were given",
            )
            .severity(Severity::Note)
            .change("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        ),
        _ => Some(Finding::fine("huge-pages", seen, "none")),
    }
}

fn group_memory(system: &System) -> Finding {
    let Some(limit) = system.group_memory_bytes else {
        let seen = "no limit of a control group is known";
        return Finding::fine("memory-limit", seen, "none");
    };
    let seen = format!(
        "this process may use {} of {} of memory (control group)",
        bytes(limit),
        bytes(system.memory_bytes)
    );
    let finding = Finding::fine(
        "memory-limit",
        seen,
        "the default budget is a quarter of the smaller one",
    );
    if limit < 64 << 20 {
        return finding
            .severity(Severity::Warning)
            .risk("the kernel ends the process when budget and program together pass the limit")
            .change(
                "raise the limit above 64 MiB, or give --memory at most the limit less 48 MiB",
            );
    }
    finding
}
