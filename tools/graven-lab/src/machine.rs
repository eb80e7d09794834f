//! What a measurement ran on: processor, memory, kernel, the disk under a file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::doctor::{Disk, System};

/// The machine, as far as it tells without privileges; unknown parts are empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model.
    pub processor: String,
    /// Hardware threads this process may use.
    pub cores: usize,
    /// Physical memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// File system and device under the data file.
    pub storage: String,
    /// What the disks below say of their write caches and schedulers: `vda: write back, none`, `; `
    /// between disks.
    #[serde(default)]
    pub disks: String,
    /// How the processor chooses its clock: the governor; empty where the kernel offers none, as in
    /// most virtual machines.
    #[serde(default)]
    pub governor: String,
    /// Threads that ran or waited for a core or a disk in the minute before: what may have
    /// disturbed a measurement that begins now.
    #[serde(default)]
    pub load: f64,
}

impl Machine {
    /// Describes the machine, with the storage under `path`.
    #[must_use]
    pub fn describe(path: &Path) -> Self {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        Machine {
            processor: field(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: field(&read("/proc/meminfo"), "MemTotal")
                .split_whitespace()
                .next()
                .and_then(|kib| kib.parse::<u64>().ok())
                .unwrap_or(0)
                * 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            storage: storage(&read("/proc/self/mounts"), path),
            disks: disks(path),
            governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .trim()
                .to_owned(),
            load: read("/proc/loadavg")
                .split_whitespace()
                .next()
                .and_then(|mean| mean.parse().ok())
                .unwrap_or(0.0),
        }
    }
}

/// Write caches and schedulers of the disks under `path`.
fn disks(path: &Path) -> String {
    let system = System::read(Path::new("/"), path);
    let told = |disk: Disk| format!("{}: {}, {}", disk.name, disk.write_cache, disk.scheduler);
    let disks: Vec<String> = system.disks.into_iter().map(told).collect();
    disks.join("; ")
}

/// The value of the first `name : value` line.
fn field(text: &str, name: &str) -> String {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map_or(String::new(), |(_, value)| value.trim().to_owned())
}

/// File system type and device of the mount that holds `path`: the longest mount point above it.
fn storage(mounts: &str, path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    mounts
        .lines()
        .filter_map(|line| {
            let mut parts = line.split_whitespace();
            let (device, mount, kind) = (parts.next()?, parts.next()?, parts.next()?);
            path.starts_with(mount)
                .then(|| (mount.len(), format!("{kind} on {device}")))
        })
        .max_by_key(|(length, _)| *length)
        .map_or(String::new(), |(_, text)| text)
}

/// Memory of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessMemory {
    /// Addresses it has mapped.
    pub virtual_bytes: u64,
    /// What is resident.
    pub physical_bytes: u64,
}

/// Memory of this process now.
#[must_use]
pub fn process_memory() -> ProcessMemory {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ProcessMemory {
        virtual_bytes: kibibytes(&status, "VmSize"),
        physical_bytes: kibibytes(&status, "VmRSS"),
    }
}

/// A field given in kB, in bytes.
fn kibibytes(status: &str, name: &str) -> u64 {
    let value = field(status, name);
    let number = value.split_whitespace().next();
    number.and_then(|k| k.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Peak resident memory of this process in bytes since the last [`reset_peak_memory`].
#[must_use]
pub fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kibibytes(&status, "VmHWM")
}

/// Starts a new peak at what is resident now. Without effect on kernels that do not offer it; then
/// a later peak is that of the whole process.
pub fn reset_peak_memory() {
    // What earlier work has freed would count for the next one otherwise.
    #[cfg(target_env = "gnu")]
    // SAFETY: `malloc_trim` gives free heap pages back to the system and has no preconditions.
    unsafe {
        libc::malloc_trim(0);
    }
    // "5" asks the kernel to reset the high-water mark; a refusal leaves the old, larger one.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Processor time of this process so far in seconds, user and system, all threads; in steps of 10
/// ms.
#[must_use]
pub fn processor_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The program's name stands in parentheses and may hold spaces; fields are counted behind it.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|t| t.parse::<f64>().ok())
        .sum();
    ticks / TICKS_PER_SECOND
}

/// Processor time of the calling thread so far in seconds.
#[must_use]
pub fn thread_cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists on every system we build for, and `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_mount_wins() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n";
        assert_eq!(storage(mounts, Path::new("/tmp")), "tmpfs on tmpfs");
        assert_eq!(storage(mounts, Path::new("/nowhere/x")), "ext4 on /dev/a");
    }

    #[test]
    fn peak_memory_is_known() {
        assert!(peak_memory() > 1 << 20);
        reset_peak_memory();
        assert!(peak_memory() > 1 << 20);
    }
}
