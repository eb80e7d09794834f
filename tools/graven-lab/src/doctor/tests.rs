//! Goal: the judgement, on made-up machines: trees of kernel files with one thing wrong each.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;

/// A sound machine: ext4 on an NVMe drive with power-loss protection.
struct Fixture {
    root: tempfile::TempDir,
}

const MOUNT: &str = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n30 22 8:17 / /data rw,noatime - \
    ext4 /dev/sdb1 rw\n";
const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           \
    Units     \n\
Max open files            65536                65536                files     \n\
Max locked memory         8388608              unlimited            bytes     \n";

impl Fixture {
    fn new() -> Fixture {
        let fixture = Fixture {
            root: tempfile::tempdir().unwrap(),
        };
        fixture
            .write("proc/self/mountinfo", MOUNT)
            .write("proc/self/limits", LIMITS)
            .write("proc/self/cgroup", "0::/user/graven\n")
            .write(
                "proc/meminfo",
                "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:   10000000 kB\n",
            )
            .write("proc/fs/ext4/sdb1/options", "rw\nbarrier\ndata=ordered\n")
            .write("proc/sys/kernel/osrelease", "6.1\n")
            .write("proc/sys/kernel/io_uring_disabled", "0\n")
            .write("proc/sys/vm/dirty_background_ratio", "10\n")
            .write("proc/sys/vm/dirty_background_bytes", "0\n")
            .write("proc/sys/vm/dirty_ratio", "20\n")
            .write("proc/sys/vm/dirty_bytes", "0\n")
            .write(
                "sys/kernel/mm/transparent_hugepage/enabled",
                "always [madvise] never\n",
            )
            .write("sys/fs/ext4/sdb1/journal_task", "1\n")
            .disk("sdb", "0", "write back", "[none] mq-deadline bfq")
            .write("sys/devices/sdb/sdb1/partition", "1\n")
            .link("sys/dev/block/8:17", "../../devices/sdb/sdb1")
    }

    fn write(self, path: &str, text: &str) -> Fixture {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn link(self, path: &str, target: &str) -> Fixture {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink(target, path).unwrap();
        self
    }

    fn disk(self, name: &str, rotational: &str, cache: &str, scheduler: &str) -> Fixture {
        let queue = format!("sys/devices/{name}/queue");
        self.write(&format!("{queue}/rotational"), rotational)
            .write(&format!("{queue}/write_cache"), cache)
            .write(&format!("{queue}/fua"), "1")
            .write(&format!("{queue}/scheduler"), scheduler)
            .write(&format!("{queue}/physical_block_size"), "4096")
            .write(&format!("sys/devices/{name}/device/model"), "ACME 9000")
    }

    fn system(&self) -> System {
        let mut system = System::read(self.root.path(), Path::new("/data/databases"));
        (system.store_bytes, system.free_bytes) = (500 << 20, Some(100 << 30));
        system
    }

    fn report(&self) -> Report {
        Report::of(self.system(), Some(measured()))
    }

    fn mount(self, options: &str) -> Fixture {
        let text = MOUNT.replace("rw,noatime", options);
        self.write("proc/self/mountinfo", &text)
    }
}

fn measured() -> Measured {
    Measured {
        mode: "direct".to_owned(),
        queue: "io_uring".to_owned(),
        syncs: 400,
        sync_p50_us: 110.0,
        sync_p99_us: 500.0,
        ..Measured::default()
    }
}

fn find<'a>(report: &'a Report, id: &str) -> &'a Finding {
    let found = report.findings.iter().find(|f| f.id == id);
    found.unwrap_or_else(|| panic!("no finding {id}:\n{report}"))
}

/// The one finding is there with the severity, and everything else is not worse than a note.
fn only(report: &Report, id: &str, severity: Severity) -> Finding {
    let finding = find(report, id);
    assert_eq!(finding.severity, severity, "{report}");
    let others = report.findings.iter().filter(|f| f.id != id);
    assert!(
        others.clone().all(|f| f.severity < Severity::Warning),
        "{report}"
    );
    finding.clone()
}

#[test]
fn a_sound_machine_is_sound() {
    let report = Fixture::new().report();
    assert!(report.healthy(), "{report}");
    let system = &report.system;
    assert_eq!(system.mount.point, "/data");
    assert_eq!(system.journal, Some(true));
    assert_eq!(system.disks.len(), 1);
    assert_eq!(
        (system.disks[0].name.as_str(), system.disks[0].fua),
        ("sdb", true)
    );
    assert_eq!(system.disks[0].scheduler, "none");
    assert_eq!(system.background_bytes(), 10_000_000 * 1024 / 10);
    assert_eq!(find(&report, "dirty-pages").severity, Severity::Good);
    assert!(report.to_string().contains("0 dangers, 0 warnings"));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["findings"][0]["severity"], "good");
}

#[test]
fn an_empty_tree_is_no_reason_to_fail() {
    let report = Report::of(
        System::read(Path::new("/nowhere"), Path::new("/nowhere/x")),
        None,
    );
    assert!(report.healthy(), "{report}");
    assert_eq!(find(&report, "file-system").severity, Severity::Note);
}

#[test]
fn barriers_that_are_off_are_a_danger() {
    for options in ["rw,noatime,nobarrier", "rw,noatime,barrier=0"] {
        let report = Fixture::new().mount(options).report();
        let finding = only(&report, "barriers", Severity::Danger);
        assert!(finding.change.unwrap().contains("remount,barrier=1 /data"));
        assert_eq!(report.findings[0].id, "barriers", "worst first");
    }
    // ext4 tells options that are not in the mount table in a file of its own.
    let report = Fixture::new()
        .write("proc/fs/ext4/sdb1/options", "rw\nnobarrier\n")
        .report();
    only(&report, "barriers", Severity::Danger);
}

#[test]
fn journals_are_wanted_but_not_for_data() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.root.path().join("sys/fs/ext4/sdb1/journal_task")).unwrap();
    let finding = only(&fixture.report(), "journal", Severity::Danger);
    assert!(
        finding
            .change
            .unwrap()
            .contains("tune2fs -O has_journal /dev/sdb1")
    );
    let report = Fixture::new().mount("rw,noatime,data=journal").report();
    only(&report, "journal", Severity::Warning);
}

#[test]
fn mount_options_that_cost() {
    let report = Fixture::new().mount("rw,strictatime").report();
    let finding = only(&report, "access-times", Severity::Warning);
    assert!(finding.change.unwrap().contains("noatime"));
    // The kernel shows none of the three where each read counts.
    let report = Fixture::new().mount("rw").report();
    let finding = only(&report, "access-times", Severity::Warning);
    assert!(finding.evidence.contains("strictatime"), "{finding}");
    let report = Fixture::new().mount("ro").report();
    assert_eq!(find(&report, "access-times").severity, Severity::Good);
    only(
        &Fixture::new().mount("rw,relatime,sync").report(),
        "synchronous-mount",
        Severity::Warning,
    );
    only(
        &Fixture::new().mount("rw,relatime,discard").report(),
        "discard",
        Severity::Note,
    );
}

#[test]
fn file_systems_are_told_apart() {
    let kind = |kind: &str, source: &str| {
        let text = MOUNT.replace("ext4 /dev/sdb1", &format!("{kind} {source}"));
        Fixture::new().write("proc/self/mountinfo", &text).report()
    };
    only(&kind("xfs", "/dev/sdb1"), "file-system", Severity::Good);
    only(&kind("tmpfs", "tmpfs"), "file-system", Severity::Danger);
    let memory = kind("tmpfs", "tmpfs");
    assert_eq!(find(&memory, "barriers").evidence, "there is no disk");
    only(
        &kind("overlay", "overlay"),
        "file-system",
        Severity::Warning,
    );
    only(
        &kind("nfs4", "host:/export"),
        "file-system",
        Severity::Warning,
    );
    only(
        &kind("fuse.sshfs", "host:/"),
        "file-system",
        Severity::Warning,
    );
    let btrfs = only(&kind("btrfs", "/dev/sdb1"), "file-system", Severity::Note);
    assert!(btrfs.change.unwrap().contains("chattr +C"));
}

#[test]
fn write_caches_and_their_honesty() {
    // The kernel was told that there is nothing to flush, the drive knows better.
    let report = Fixture::new()
        .disk("sdb", "0", "write through", "[none]")
        .write(
            "sys/devices/sdb/device/scsi_disk/0:0:0:0/cache_type",
            "write back\n",
        )
        .report();
    only(&report, "write-cache", Severity::Danger);
    // Platters that sync in a tenth of a millisecond.
    let report = Fixture::new()
        .disk("sdb", "1", "write back", "[mq-deadline]")
        .report();
    let finding = only(&report, "sync-latency", Severity::Danger);
    assert!(finding.change.unwrap().contains("hdparm -W0 /dev/sdb"));
    let slow = |us: f64, fixture: &Fixture| {
        let measured = Measured {
            sync_p50_us: us,
            ..measured()
        };
        Report::of(fixture.system(), Some(measured))
    };
    let platters = Fixture::new().disk("sdb", "1", "write back", "[mq-deadline]");
    only(&slow(9_000.0, &platters), "sync-latency", Severity::Good);
    only(
        &slow(40_000.0, &platters),
        "sync-latency",
        Severity::Warning,
    );
    only(&slow(12.0, &Fixture::new()), "sync-latency", Severity::Note);
    let virtual_disk = Fixture::new().write("sys/devices/sdb/device/model", "QEMU HARDDISK");
    let finding = only(&slow(110.0, &virtual_disk), "sync-latency", Severity::Note);
    assert!(finding.risk.contains("host"));
}

#[test]
fn members_of_a_raid_are_named() {
    let report = Fixture::new()
        .write(
            "proc/self/mountinfo",
            "30 22 9:0 / /data rw,noatime - ext4 /dev/md0 rw\n",
        )
        .write("proc/fs/ext4/md0/options", "rw\nbarrier\n")
        .write("sys/fs/ext4/md0/journal_task", "1\n")
        .disk("sdc", "0", "write through", "[bfq] none")
        .write("sys/devices/sdc/sdc1/partition", "1\n")
        .write("sys/devices/md0/queue/scheduler", "none\n")
        .link("sys/devices/md0/slaves/sdb1", "../../sdb/sdb1")
        .link("sys/devices/md0/slaves/sdc1", "../../sdc/sdc1")
        .link("sys/dev/block/9:0", "../../devices/md0")
        .report();
    let mut names: Vec<_> = report.system.disks.iter().map(|d| d.name.clone()).collect();
    names.sort();
    assert_eq!(names, ["sdb", "sdc"]);
    let caches: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.id == "write-cache")
        .collect();
    assert_eq!(caches.len(), 2);
    let slow = report
        .findings
        .iter()
        .find(|f| f.severity == Severity::Warning)
        .unwrap();
    assert!(slow.evidence.starts_with("sdc: bfq"));
    assert!(
        slow.change
            .as_ref()
            .unwrap()
            .contains("echo none > /sys/block/sdc/queue/scheduler")
    );
}

#[test]
fn dirty_pages_against_store_and_memory() {
    let judge = |store: u64, mode: &str, fixture: Fixture| {
        let mut system = fixture.system();
        (system.store_bytes, system.free_bytes) = (store, Some(1 << 50));
        let measured = Measured {
            mode: mode.to_owned(),
            ..measured()
        };
        Report::of(system, Some(measured))
    };
    let large = judge(4 << 30, "direct", Fixture::new());
    let finding = only(&large, "dirty-pages", Severity::Note);
    let wanted = (4u64 << 30) / 10 * 11;
    assert!(
        finding
            .change
            .unwrap()
            .contains(&format!("dirty_background_bytes={wanted}"))
    );
    only(
        &judge(4 << 30, "buffered", Fixture::new()),
        "dirty-pages",
        Severity::Warning,
    );
    let huge = only(
        &judge(40 << 30, "buffered", Fixture::new()),
        "dirty-pages",
        Severity::Warning,
    );
    assert!(huge.change.unwrap().contains("larger than half"));
    let by_bytes = Fixture::new().write("proc/sys/vm/dirty_background_bytes", "5000000000\n");
    only(
        &judge(4 << 30, "buffered", by_bytes),
        "dirty-pages",
        Severity::Good,
    );
}

#[test]
fn limits_of_the_process() {
    let limits = |from: &str, to: &str| {
        let text = LIMITS.replacen(from, to, 1);
        Fixture::new().write("proc/self/limits", &text).report()
    };
    let finding = only(
        &limits("65536                65536", "1024                 4096 "),
        "open-files",
        Severity::Warning,
    );
    assert!(finding.change.unwrap().contains("soft nofile 40000"));
    only(&limits("65536 ", "20000 "), "open-files", Severity::Note);
    only(
        &limits("8388608", "65536  "),
        "locked-memory",
        Severity::Note,
    );
    only(
        &limits("8388608  ", "unlimited"),
        "locked-memory",
        Severity::Good,
    );
}

#[test]
fn control_groups_of_both_versions() {
    let second = Fixture::new()
        .write("sys/fs/cgroup/user/graven/memory.max", "max\n")
        .write("sys/fs/cgroup/user/memory.max", "50000000\n")
        .report();
    assert_eq!(second.system.group_memory_bytes, Some(50_000_000));
    only(&second, "memory-limit", Severity::Warning);
    let io = Fixture::new()
        .write(
            "sys/fs/cgroup/user/graven/io.max",
            "8:0 wbps=1\n8:17 wbps=1048576 wiops=120\n",
        )
        .report();
    assert_eq!(io.system.group_io, ["io.max: wbps=1048576 wiops=120"]);
    only(&io, "disk-limit", Severity::Warning);
    let first = Fixture::new()
        .write("proc/self/cgroup", "4:memory:/box\n5:blkio:/box\n")
        .write(
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes",
            "1000000000\n",
        )
        .write(
            "sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        )
        .write(
            "sys/fs/cgroup/blkio/box/blkio.throttle.write_iops_device",
            "8:17 90\n",
        )
        .report();
    assert_eq!(first.system.group_memory_bytes, Some(1_000_000_000));
    only(&first, "disk-limit", Severity::Warning);
}

#[test]
fn probes_and_huge_pages_and_space() {
    let mut refused = measured();
    refused.queue_reason = Some("seccomp".to_owned());
    let report = Report::of(Fixture::new().system(), Some(refused));
    only(&report, "io-uring", Severity::Note);
    let report = Report::of(
        Fixture::new()
            .write("proc/sys/kernel/io_uring_disabled", "2")
            .system(),
        None,
    );
    only(&report, "io-uring", Severity::Note);
    let mut buffered = measured();
    buffered.mode_reason = Some("refused".to_owned());
    only(
        &Report::of(Fixture::new().system(), Some(buffered)),
        "direct-io",
        Severity::Warning,
    );
    for setting in ["[always] madvise never", "always madvise [never]"] {
        let fixture = Fixture::new().write("sys/kernel/mm/transparent_hugepage/enabled", setting);
        only(&fixture.report(), "huge-pages", Severity::Note);
    }
    let mut full = Fixture::new().system();
    full.free_bytes = Some(1 << 20);
    only(
        &Report::of(full, Some(measured())),
        "space",
        Severity::Warning,
    );
}

/// No finding may advise to give up safety, whatever machine it sees.
#[test]
fn safety_is_never_advised_away() {
    let machines = [
        Fixture::new(),
        Fixture::new().mount("rw,strictatime,sync,discard"),
        Fixture::new().mount("rw,nobarrier,data=journal"),
        Fixture::new().disk("sdb", "1", "write back", "[bfq] none"),
        Fixture::new().disk("sdb", "0", "write through", "[cfq] noop"),
    ];
    for fixture in machines {
        for us in [1.0, 100.0, 100_000.0] {
            let measured = Measured {
                sync_p50_us: us,
                mode: "buffered".to_owned(),
                ..measured()
            };
            for finding in Report::of(fixture.system(), Some(measured)).findings {
                let change = finding.change.unwrap_or_default();
                for word in [
                    "remount,nobarrier",
                    "remount,barrier=0",
                    "^has_journal",
                    "'write through'",
                    "data=writeback",
                    "norecovery",
                ] {
                    assert!(!change.contains(word), "{}: {change}", finding.id);
                }
            }
        }
    }
}

#[test]
fn this_machine_can_be_examined() {
    let directory = tempfile::tempdir().unwrap();
    let report = Report::examine(directory.path(), measure::Effort::Short).unwrap();
    assert!(report.measured.as_ref().unwrap().syncs >= 20);
    assert!(
        fs::read_dir(directory.path()).unwrap().next().is_none(),
        "nothing is left behind"
    );
    assert!(Report::examine(&directory.path().join("none"), measure::Effort::Short).is_err());
}

/// Goal: a folder that is full, read-only or another user's is a finding that says what to do, not
/// an error.
#[test]
fn where_nothing_can_be_tried_that_is_a_finding() {
    for (code, says) in [
        (libc::ENOSPC, "make room on /data"),
        (libc::EFBIG, "make room on /data"),
        (libc::EROFS, "remount,rw /data"),
        (libc::EACCES, "chown"),
        (libc::EIO, "dmesg"),
    ] {
        let source = std::io::Error::from_raw_os_error(code);
        let error = LabError::io(Path::new("/data/databases"), "writing")(source);
        let report = Report::untried(Fixture::new().system(), error).unwrap();
        let finding = only(&report, "trial", Severity::Warning);
        assert!(finding.change.unwrap().contains(says), "{report}");
        assert_eq!(report.findings[0].id, "trial", "worst first");
    }
    let other = LabError::Setting("wrong".to_owned());
    assert!(Report::untried(Fixture::new().system(), other).is_err());
}

/// Goal: the plain report shows every figure that was measured, the sequential speed where that was
/// asked for.
#[test]
fn measured_figures_are_shown() {
    let measured = Measured {
        mode: "direct".to_owned(),
        queue: "io_uring".to_owned(),
        syncs: 400,
        sync_p50_us: 812.4,
        sync_p99_us: 2_100.0,
        write_mb_per_second: Some(431.6),
        ..measured()
    };
    let shown = Report::of(Fixture::new().system(), Some(measured.clone())).to_string();
    for figure in [
        "direct files, io_uring reads",
        "p50 812 us, p99 2100 us (400 tries)",
        "432 MiB/s",
    ] {
        assert!(shown.contains(figure), "{figure} in {shown}");
    }
    let short = Measured {
        write_mb_per_second: None,
        ..measured
    };
    let shown = Report::of(Fixture::new().system(), Some(short)).to_string();
    assert!(
        shown.contains("p50 812 us") && !shown.contains("MiB/s"),
        "{shown}"
    );
    assert!(
        !Report::of(Fixture::new().system(), None)
            .to_string()
            .contains("measured:")
    );
}
