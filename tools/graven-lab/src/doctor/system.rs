//! What the kernel tells about a directory's file system, its disks, memory, limits and control
//! groups.
//!
//! # How it works
//! Everything comes from text below a root directory, `/` in life and a made-up tree in tests. What
//! is not there is empty: containers hide much of it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The mount that holds a directory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Mount {
    /// Where it is mounted.
    pub point: String,
    /// File system type.
    pub kind: String,
    /// Device or name.
    pub source: String,
    /// Options of mount and file system.
    pub options: Vec<String>,
    /// Major and minor number.
    pub device: String,
}

impl Mount {
    /// Whether an option is set, exactly or with a value.
    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|set| set == option)
    }
}

/// A disk below the file system; of a RAID or a volume each member.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Disk {
    /// Kernel's name.
    pub name: String,
    /// Model, where it tells.
    pub model: String,
    /// A disk of a virtual machine.
    pub is_virtual: bool,
    /// It has platters that turn.
    pub rotational: bool,
    /// What the kernel believes about its cache: `write back` or `write through`.
    pub write_cache: String,
    /// What the drive itself says, where it does.
    pub drive_cache: String,
    /// It can write single requests through its cache.
    pub fua: bool,
    /// Scheduler in use.
    pub scheduler: String,
    /// Schedulers to choose from.
    pub schedulers: Vec<String>,
    /// Bytes the drive writes at once.
    pub physical_block_bytes: u64,
}

/// A limit of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Limit {
    /// In force; `None` is unlimited.
    pub soft: Option<u64>,
    /// What it may be raised to.
    pub hard: Option<u64>,
}

/// What the kernel tells.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct System {
    /// The directory examined.
    pub directory: PathBuf,
    /// Bytes of the files in it.
    pub store_bytes: u64,
    /// Free bytes of its file system for this user.
    pub free_bytes: Option<u64>,
    /// Kernel release.
    pub kernel: String,
    /// The mount that holds it.
    pub mount: Mount,
    /// Whether an ext4 file system has a journal, where that can be seen.
    pub journal: Option<bool>,
    /// Disks below it.
    pub disks: Vec<Disk>,
    /// Physical memory.
    pub memory_bytes: u64,
    /// Memory that could be had without swapping.
    pub available_bytes: u64,
    /// Share of available memory, in percent, at which the kernel begins to write dirty pages.
    pub dirty_background_ratio: u64,
    /// The same in bytes; wins where it is not 0.
    pub dirty_background_bytes: u64,
    /// Share at which writers are made to wait.
    pub dirty_ratio: u64,
    /// The same in bytes; wins where it is not 0.
    pub dirty_bytes: u64,
    /// Open files.
    pub open_files: Option<Limit>,
    /// Locked memory in bytes.
    pub locked_memory: Option<Limit>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub huge_pages: String,
    /// Memory limit of the control group.
    pub group_memory_bytes: Option<u64>,
    /// Limits of the control group on these disks, as the kernel prints them.
    pub group_io: Vec<String>,
    /// Percent of the processors' time since the start that programs ran.
    pub cpu_percent: u64,
    /// Percent of it spent idle with a disk request open.
    pub iowait_percent: u64,
    /// 0: all processes may use io_uring, 1: privileged ones alone, 2: none.
    pub uring_disabled: Option<u64>,
}

impl System {
    /// Reads what the tree below `root` says about `directory`.
    #[must_use]
    pub fn read(root: &Path, directory: &Path) -> System {
        let tree = Tree { root };
        let directory = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_path_buf());
        let mut mount = tree.mount(&directory);
        let device_name = mount.source.rsplit('/').next().unwrap_or("").to_owned();
        if mount.kind.starts_with("ext") {
            let options = tree.text(&format!("proc/fs/{}/{device_name}/options", mount.kind));
            mount.options.extend(options.lines().map(str::to_owned));
        }
        let ext4 = tree.path(&format!("sys/fs/ext4/{device_name}"));
        let journal =
            (mount.kind == "ext4" && ext4.exists()).then(|| ext4.join("journal_task").exists());
        let meminfo = tree.text("proc/meminfo");
        let limits = tree.text("proc/self/limits");
        let (cpu_percent, iowait_percent) = processor(&tree.text("proc/stat"));
        let vm = |name: &str| tree.number(&format!("proc/sys/vm/{name}")).unwrap_or(0);
        System {
            store_bytes: file_bytes(&directory),
            free_bytes: free_bytes(&directory),
            kernel: tree.text("proc/sys/kernel/osrelease"),
            disks: tree.disks(&mount, &device_name),
            journal,
            memory_bytes: kib(&meminfo, "MemTotal:"),
            available_bytes: kib(&meminfo, "MemAvailable:"),
            dirty_background_ratio: vm("dirty_background_ratio"),
            dirty_background_bytes: vm("dirty_background_bytes"),
            dirty_ratio: vm("dirty_ratio"),
            dirty_bytes: vm("dirty_bytes"),
            open_files: limit(&limits, "Max open files"),
            locked_memory: limit(&limits, "Max locked memory"),
            huge_pages: chosen(&tree.text("sys/kernel/mm/transparent_hugepage/enabled")).0,
            group_memory_bytes: tree.group_memory(),
            group_io: tree.group_io(&mount.device),
            cpu_percent,
            iowait_percent,
            uring_disabled: tree.number("proc/sys/kernel/io_uring_disabled"),
            mount,
            directory,
        }
    }

    /// Bytes of dirty pages at which the kernel begins to write them.
    #[must_use]
    pub fn background_bytes(&self) -> u64 {
        match self.dirty_background_bytes {
            0 => self.available_bytes / 100 * self.dirty_background_ratio,
            bytes => bytes,
        }
    }

    /// Bytes of dirty pages at which writers wait.
    #[must_use]
    pub fn throttle_bytes(&self) -> u64 {
        match self.dirty_bytes {
            0 => self.available_bytes / 100 * self.dirty_ratio,
            bytes => bytes,
        }
    }
}

/// Shares of time in percent that programs ran, and that the processors waited for disks.
fn processor(stat: &str) -> (u64, u64) {
    let first = stat.lines().next().unwrap_or("");
    let words = first.split_whitespace().skip(1).take(8);
    let ticks: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let all: u64 = ticks.iter().sum();
    let [.., idle, iowait] = ticks.get(..5).unwrap_or(&[0; 5]) else {
        return (0, 0);
    };
    let percent = |part: u64| part * 100 / all.max(1);
    (percent(all - idle - iowait), percent(*iowait))
}

/// A tree of kernel files.
struct Tree<'a> {
    root: &'a Path,
}

impl Tree<'_> {
    fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative.trim_start_matches('/'))
    }

    fn text(&self, relative: &str) -> String {
        trimmed(&self.path(relative))
    }

    fn number(&self, relative: &str) -> Option<u64> {
        self.text(relative).parse().ok()
    }

    /// The longest mount point above the directory; of several at one point the last.
    fn mount(&self, directory: &Path) -> Mount {
        let text = self.text("proc/self/mountinfo");
        let mounts = text.lines().filter_map(parse_mount);
        mounts
            .filter(|mount| directory.starts_with(&mount.point))
            .max_by_key(|mount| mount.point.len())
            .unwrap_or_default()
    }

    fn disks(&self, mount: &Mount, device_name: &str) -> Vec<Disk> {
        let by_number = self.path(&format!("sys/dev/block/{}", mount.device));
        let by_name = self.path(&format!("sys/class/block/{device_name}"));
        let mut disks = Vec::new();
        let found = [by_number, by_name]
            .iter()
            .find_map(|path| path.canonicalize().ok());
        if let Some(path) = found
            && (mount.source.starts_with("/dev/") || !mount.device.starts_with("0:"))
        {
            collect_disks(&path, &mut disks, 0);
        }
        disks
    }

    /// The smallest memory limit of the process's control group and those above it.
    fn group_memory(&self) -> Option<u64> {
        let mut smallest: Option<u64> = None;
        for (base, path, file) in self.groups("memory", "memory.max", "memory.limit_in_bytes") {
            for folder in Path::new(&path).ancestors() {
                let inside = folder.strip_prefix("/").unwrap_or(folder);
                let file = self.path(&base).join(inside).join(file);
                // Version 1 says "no limit" by an impossibly large number.
                if let Ok(bytes) = trimmed(&file).parse::<u64>()
                    && bytes < 1 << 60
                {
                    smallest = Some(smallest.map_or(bytes, |old| old.min(bytes)));
                }
            }
        }
        smallest
    }

    fn group_io(&self, device: &str) -> Vec<String> {
        let mut limits = Vec::new();
        for file in ["io.max", "io.latency"] {
            for (base, path, _) in self.groups("blkio", "", "") {
                for folder in Path::new(&path).ancestors() {
                    let inside = folder.strip_prefix("/").unwrap_or(folder);
                    let text = trimmed(&self.path(&base).join(inside).join(file));
                    limits.extend(of_device(&text, device, file));
                }
            }
        }
        for file in [
            "blkio.throttle.write_bps_device",
            "blkio.throttle.write_iops_device",
        ] {
            for (base, path, _) in self.groups("blkio", "", "") {
                let inside = path.trim_start_matches('/');
                let text = trimmed(&self.path(&base).join(inside).join(file));
                limits.extend(of_device(&text, device, file));
            }
        }
        limits
    }

    /// Hierarchies that the process is in: folder, path in it, and the name of the file wanted
    /// there.
    fn groups(
        &self,
        controller: &str,
        second: &'static str,
        first: &'static str,
    ) -> Vec<(String, String, &'static str)> {
        let text = self.text("proc/self/cgroup");
        let mut groups = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(number), Some(names), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if number == "0" && names.is_empty() {
                groups.push(("sys/fs/cgroup".to_owned(), path.to_owned(), second));
            } else if names.split(',').any(|name| name == controller) {
                groups.push((
                    format!("sys/fs/cgroup/{controller}"),
                    path.to_owned(),
                    first,
                ));
            }
        }
        groups
    }
}

fn trimmed(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// A line of `mountinfo`: fields, ` - `, type, source, options of the file system.
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let right: Vec<&str> = right.split(' ').collect();
    let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut options = list(left.get(5)?);
    options.extend(list(right.get(2).unwrap_or(&"")));
    Some(Mount {
        point: left.get(4)?.replace("\\040", " "),
        kind: (*right.first()?).to_owned(),
        source: (*right.get(1)?).to_owned(),
        options,
        device: (*left.get(2)?).to_owned(),
    })
}

/// The disks that a block device stands on: its own, or those of its members.
fn collect_disks(path: &Path, disks: &mut Vec<Disk>, depth: usize) {
    let members: Vec<PathBuf> = fs::read_dir(path.join("slaves"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.path().canonicalize().ok())
        .collect();
    if !members.is_empty() && depth < 8 {
        for member in members {
            collect_disks(&member, disks, depth + 1);
        }
        return;
    }
    let whole = match path.join("partition").exists() {
        true => path.parent().unwrap_or(path),
        false => path,
    };
    let disk = read_disk(whole);
    if !disks.contains(&disk) {
        disks.push(disk);
    }
}

fn read_disk(path: &Path) -> Disk {
    let text = |name: &str| trimmed(&path.join(name));
    let name = path
        .file_name()
        .map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let model = text("device/model");
    let (scheduler, schedulers) = chosen(&text("queue/scheduler"));
    let made_up = ["virtual", "qemu", "vmware", "amazon", "google", "msft"];
    let is_virtual = path.to_string_lossy().contains("/virtio")
        || name.starts_with("vd")
        || name.starts_with("xvd")
        || made_up
            .iter()
            .any(|word| model.to_lowercase().contains(word));
    let drive_cache = fs::read_dir(path.join("device/scsi_disk"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| trimmed(&entry.path().join("cache_type")))
        .next()
        .unwrap_or_default();
    Disk {
        is_virtual,
        rotational: text("queue/rotational") == "1",
        write_cache: text("queue/write_cache"),
        drive_cache,
        fua: text("queue/fua") == "1",
        scheduler,
        schedulers,
        physical_block_bytes: text("queue/physical_block_size").parse().unwrap_or(0),
        name,
        model,
    }
}

/// The word in brackets of `a [b] c`, and all words.
fn chosen(text: &str) -> (String, Vec<String>) {
    let words = text.split_whitespace();
    let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let active = words.clone().find(|word| word.starts_with('[')).map(bare);
    (active.unwrap_or_default(), words.map(bare).collect())
}

fn kib(meminfo: &str, name: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

fn limit(limits: &str, name: &str) -> Option<Limit> {
    let rest = limits.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = rest.split_whitespace();
    let mut next = || words.next().map(|word| word.parse().ok());
    Some(Limit {
        soft: next()?,
        hard: next()?,
    })
}

/// Lines of a limit file that are about the device.
fn of_device(text: &str, device: &str, file: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix(device)?.strip_prefix(' '))
        .map(|rest| format!("{file}: {rest}"))
        .collect()
}

/// Bytes of the regular files directly in the directory.
fn file_bytes(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum()
}

/// Bytes that this user can still write on the directory's disk.
#[must_use]
pub fn free_bytes(directory: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::ffi::CString::new(directory.as_os_str().as_bytes()).ok()?;
    // SAFETY: `statvfs` is plain old data, for which zero bytes are valid.
    let mut answer: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a path that ends with zero and a valid place for the answer.
    let code = unsafe { libc::statvfs(path.as_ptr(), &raw mut answer) };
    (code == 0).then(|| answer.f_bavail * answer.f_frsize)
}
