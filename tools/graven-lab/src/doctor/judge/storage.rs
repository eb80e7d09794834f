//! File system, mount options, journal, barriers, write caches, schedulers, space.

use super::{Finding, Severity, bytes};
use crate::doctor::{Disk, Measured, Mount, System};

/// A platter turns in 8.3 ms at 7,200 turns a minute; faster than this it cannot have written
/// anything.
const ROTATING_SYNC_US: f64 = 2_000.0;
/// Flash itself takes longer than this; a sync this fast ended in a cache.
const FLASH_SYNC_US: f64 = 25.0;
const SLOW_SYNC_US: f64 = 20_000.0;

pub(super) fn judge(system: &System, measured: Option<&Measured>) -> Vec<Finding> {
    let mut findings = vec![file_system(system), access_times(system), barriers(system)];
    findings.extend(journal(system));
    findings.extend(always_sync(system));
    findings.extend(discard(system));
    findings.extend(system.disks.iter().map(write_cache));
    findings.extend(measured.map(|m| sync_latency(system, m)));
    findings.extend(system.disks.iter().filter_map(scheduler));
    findings.extend(space(system));
    findings
}

fn file_system(system: &System) -> Finding {
    let mount = &system.mount;
    let seen = format!("{} on {} at {}", mount.kind, mount.source, mount.point);
    let fine = |cost: &str| Finding::fine("file-system", seen.clone(), cost);
    match mount.kind.as_str() {
        "ext4" | "xfs" => fine(
            "log writes overwrite blocks in place: no journal commit per \
            transaction",
        ),
        "" => fine("unknown")
            .severity(Severity::Note)
            .risk("the mount table is not readable here"),
        _ if is_memory(mount) => fine("none")
            .severity(Severity::Danger)
            .risk("everything is in memory: a power cut or reboot loses all databases")
            .change("put databases that matter on a disk: ext4 or xfs"),
        "overlay" | "aufs" => fine(
            "the first write to a file copies all of it; direct I/O may be \
            refused",
        )
        .severity(Severity::Warning)
        .risk("the layer goes away with its container")
        .change("mount a volume of ext4 or xfs into the container and put databases there"),
        "btrfs" | "zfs" | "bcachefs" => fine(
            "each log write allocates new blocks: a sync writes \
            metadata too",
        )
        .severity(Severity::Note)
        .risk("none for data; preallocated space does not help when the disk is full")
        .change(match mount.kind.as_str() {
            "btrfs" => "for a new, empty directory: chattr +C DIRECTORY (its files are then \
                    overwritten in place; \
                            Graven has checksums of its own)"
                .to_owned(),
            _ => "keep the log on ext4 or xfs where commit latency matters".to_owned(),
        }),
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "ceph" | "glusterfs" => {
            fine("a sync travels over the network")
                .severity(Severity::Warning)
                .risk(
                    "locks and syncs mean what the server makes of them; two machines must never \
                    open one database",
                )
                .change("use a local disk, or a network block device with ext4 or xfs")
        }
        kind if kind.starts_with("fuse") => fine("every call passes through a process")
            .severity(Severity::Warning)
            .risk("a sync means what that process makes of it")
            .change("use a file system of the kernel on a block device"),
        _ => fine("not known to this program")
            .severity(Severity::Note)
            .risk("see the sync latency below"),
    }
}

fn access_times(system: &System) -> Finding {
    let mount = &system.mount;
    let fine = |text: &str| Finding::fine("access-times", text, "none");
    if mount.has("noatime") {
        return fine("noatime: reading writes nothing");
    }
    if mount.has("ro") {
        return fine("mounted for reading only: reading writes nothing");
    }
    // The kernel shows neither option where each read counts; without a mount table nothing is
    // known.
    if !mount.has("relatime") && !mount.options.is_empty() {
        return Finding::fine(
            "access-times",
            "strictatime: every read changes an inode",
            "inode writes and journal commits caused by reading",
        )
        .severity(Severity::Warning)
        .risk("none; few programs look at access times")
        .change(format!(
            "mount -o remount,noatime {0}\nand noatime (it implies nodiratime) in the options of \
                {0} in /etc/fstab",
            mount.point
        ));
    }
    fine("relatime: an inode is written once a day at most; noatime would save that too")
}

/// Whether what is written stays in memory.
fn is_memory(mount: &Mount) -> bool {
    matches!(mount.kind.as_str(), "tmpfs" | "ramfs" | "devtmpfs")
}

fn barriers(system: &System) -> Finding {
    let mount = &system.mount;
    let off = ["nobarrier", "barrier=0"]
        .into_iter()
        .find(|o| mount.has(o));
    match off {
        Some(option) => Finding::fine(
            "barriers",
            format!("{} is mounted with {option}", mount.point),
            "none: commits look faster than the disk is",
        )
        .severity(Severity::Danger)
        .risk(
            "a sync does not empty the disk's cache: a power cut loses acknowledged commits and \
                can destroy the \
             file system, unless every cache below has a battery",
        )
        .change(format!(
            "mount -o remount,barrier=1 {}\nand remove {option} from /etc/fstab",
            mount.point
        )),
        None if is_memory(mount) => Finding::fine("barriers", "there is no disk", "none"),
        None => Finding::fine(
            "barriers",
            "on: a sync reaches the disk's platters or flash",
            "what the sync latency below says; this is the price of durability, keep it",
        ),
    }
}

fn journal(system: &System) -> Option<Finding> {
    let mount = &system.mount;
    if system.journal == Some(false) {
        let device = &mount.source;
        return Some(
            Finding::fine(
                "journal",
                format!("the ext4 file system on {device} has no journal"),
                "none: that is why it is fast",
            )
            .severity(Severity::Danger)
            .risk(
                "a power cut can leave directories and file sizes wrong: files that were synced \
                may be gone",
            )
            .change(format!(
                "back up, unmount, then: tune2fs -O has_journal {device} && e2fsck -f {device}"
            )),
        );
    }
    if mount.has("data=journal") {
        return Some(
            Finding::fine(
                "journal",
                "data=journal: file contents go through the journal",
                "everything is written twice, and direct I/O is off",
            )
            .severity(Severity::Warning)
            .risk("none if changed: Graven has a log of its own")
            .change(format!(
                "remove data=journal from the options of {} in /etc/fstab and mount it anew \
                    (data=ordered is the default)",
                mount.point
            )),
        );
    }
    system
        .journal
        .map(|_| Finding::fine("journal", "metadata only: commits do not touch it", "none"))
}

fn always_sync(system: &System) -> Option<Finding> {
    let mount = &system.mount;
    let option = ["sync", "dirsync"].into_iter().find(|o| mount.has(o))?;
    Some(
        Finding::fine(
            "synchronous-mount",
            format!("{} is mounted with {option}", mount.point),
            "every write waits for the disk, also those that need not",
        )
        .severity(Severity::Warning)
        .risk(
            "none for Graven if removed: it syncs what must be durable; other programs may rely \
            on it",
        )
        .change(format!("mount -o remount,async {}", mount.point)),
    )
}

fn discard(system: &System) -> Option<Finding> {
    system.mount.has("discard").then(|| {
        Finding::fine(
            "discard",
            "discard: freed blocks are trimmed at once",
            "trims compete with syncs on some drives; Graven frees blocks rarely",
        )
        .severity(Severity::Note)
        .change(
            "if the p99 of syncs is bad: mount without discard and enable fstrim.timer, which \
            trims weekly",
        )
    })
}

fn write_cache(disk: &Disk) -> Finding {
    let name = &disk.name;
    let fua = if disk.fua { "with FUA" } else { "no FUA" };
    let seen = match disk.write_cache.as_str() {
        "" => format!("{name}: the kernel tells nothing about its cache"),
        cache => format!("{name}: {cache}, {fua}"),
    };
    if disk.write_cache == "write through" && disk.drive_cache.starts_with("write back") {
        return Finding::fine(
            "write-cache",
            format!("{seen}, but the drive itself says {}", disk.drive_cache),
            "none: commits look faster than the drive is",
        )
        .severity(Severity::Danger)
        .risk(
            "the kernel was told that flushes are not needed: a power cut loses acknowledged \
            commits",
        )
        .change(format!(
            "echo 'write back' > /sys/block/{name}/queue/write_cache"
        ));
    }
    let cost = match disk.write_cache.as_str() {
        "write back" => "each sync also flushes the cache; safe as long as the drive obeys",
        "write through" => "syncs need no flush",
        _ => "see the sync latency",
    };
    let finding = Finding::fine("write-cache", seen, cost);
    match disk.write_cache.as_str() {
        "" => finding.severity(Severity::Note).risk("not known"),
        _ => finding,
    }
}

fn sync_latency(system: &System, measured: &Measured) -> Finding {
    let p50 = measured.sync_p50_us;
    let seen = format!(
        "{} syncs: p50 {p50:.0} us, p99 {:.0} us",
        measured.syncs, measured.sync_p99_us
    );
    let cost = format!(
        "a client alone commits at most {:.0} times a second; several share syncs",
        1e6 / p50.max(0.001)
    );
    let finding = Finding::fine("sync-latency", seen, cost);
    let real = system.disks.iter().filter(|disk| !disk.is_virtual);
    let rotating = real.clone().find(|disk| disk.rotational);
    if let Some(disk) = rotating
        && p50 < ROTATING_SYNC_US
    {
        return finding
            .severity(Severity::Danger)
            .risk(format!(
                "{} has platters: nothing can have reached them so fast. Its cache or its \
                    controller acknowledges early; \
                 without a battery a power cut loses commits",
                disk.name
            ))
            .change(format!(
                "if the controller has no battery or flash backup: hdparm -W0 /dev/{}, and measure \
                    again",
                disk.name
            ));
    }
    let cached = real
        .clone()
        .find(|disk| !disk.rotational && disk.write_cache == "write back");
    if let Some(disk) = cached
        && p50 < FLASH_SYNC_US
    {
        return finding
            .severity(Severity::Note)
            .risk(format!(
                "{} says that its cache is volatile, yet empties it faster than flash can be \
                    written: fine with power-loss \
                 protection, a lie without",
                disk.name
            ))
            .change("look up power-loss protection in the drive's data sheet");
    }
    if !system.disks.is_empty() && real.count() == 0 {
        return finding
            .severity(Severity::Note)
            .risk("a virtual disk: whether a flush reaches anything is the host's decision")
            .change(
                "ask the provider, or on your own host use a cache mode that passes flushes \
                (not cache=unsafe)",
            );
    }
    if p50 > SLOW_SYNC_US {
        return finding.severity(Severity::Warning).risk("none").change(
            "let several clients commit at once (they share syncs), put many operations \
                into a transaction, or use a drive with power-loss protection for the log",
        );
    }
    finding
}

fn scheduler(disk: &Disk) -> Option<Finding> {
    if disk.scheduler.is_empty() {
        return None;
    }
    let seen = format!(
        "{}: {} (of {})",
        disk.name,
        disk.scheduler,
        disk.schedulers.join(", ")
    );
    let slow = matches!(disk.scheduler.as_str(), "bfq" | "cfq");
    if slow {
        let better = ["none", "mq-deadline", "deadline", "noop"]
            .into_iter()
            .find(|s| disk.schedulers.iter().any(|known| known == s))
            .unwrap_or("mq-deadline");
        return Some(
            Finding::fine(
                "scheduler",
                seen,
                "it may hold a sync back to be fair to other processes",
            )
            .severity(Severity::Warning)
            .risk("none; other processes get less of a share")
            .change(format!(
                "echo {better} > /sys/block/{}/queue/scheduler\nto keep it, a udev rule: \
                     ACTION==\"add|change\", KERNEL==\"{}\", ATTR{{queue/scheduler}}=\"{better}\"",
                disk.name, disk.name
            )),
        );
    }
    Some(Finding::fine("scheduler", seen, "little"))
}

fn space(system: &System) -> Option<Finding> {
    let free = system.free_bytes?;
    let seen = format!(
        "{} free, files here have {}",
        bytes(free),
        bytes(system.store_bytes)
    );
    if free < system.store_bytes.max(256 << 20) {
        return Some(
            Finding::fine("space", seen, "none yet")
                .severity(Severity::Warning)
                .risk(
                    "a checkpoint may need as much again as the changed part of a store; when \
                    the log cannot grow, commits are refused (nothing acknowledged is lost)",
                )
                .change("free space or move the directory to a larger file system"),
        );
    }
    Some(Finding::fine("space", seen, "none"))
}
