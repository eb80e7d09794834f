//! The memory budget where the caller names none: a share of what this process may use.

use std::path::{Path, PathBuf};

/// Smallest default budget in bytes.
pub const DEFAULT_BYTES_MIN: u64 = 16 << 20;
/// Largest default budget in bytes.
pub const DEFAULT_BYTES_MAX: u64 = 4 << 30;

/// A quarter of the smaller of physical memory and the control group's limit, at least
/// [`DEFAULT_BYTES_MIN`], at most [`DEFAULT_BYTES_MAX`].
///
/// # Examples
/// ```
/// assert!(graven::default_memory() >= 16 << 20);
/// ```
#[must_use]
pub fn default_memory() -> u64 {
    let available = physical_memory().into_iter().chain(cgroup_limit()).min();
    share_of(available)
}

fn share_of(available: Option<u64>) -> u64 {
    available
        .map_or(DEFAULT_BYTES_MIN, |bytes| bytes / 4)
        .clamp(DEFAULT_BYTES_MIN, DEFAULT_BYTES_MAX)
}

/// Physical memory in bytes, from `/proc/meminfo`.
fn physical_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The smallest limit of this process's control group and the groups above it; version 1 and 2.
fn cgroup_limit() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    groups
        .lines()
        .filter_map(limit_files)
        .flatten()
        .filter_map(|file| read_limit(&file))
        .min()
}

/// Where the limits that apply to one line of `/proc/self/cgroup` may be: the group's own folder
/// and every folder above it. In a container the group's path is often not visible, the mount's
/// root is.
fn limit_files(line: &str) -> Option<Vec<PathBuf>> {
    let mut parts = line.splitn(3, ':');
    let controllers = parts.nth(1)?;
    let group = Path::new(parts.next()?.trim_start_matches('/'));
    let (mounts, file): (&[&str], &str) = match controllers {
        "" => (&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], "memory.max"),
        names if names.split(',').any(|n| n == "memory") => {
            (&["/sys/fs/cgroup/memory"], "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let files = mounts.iter().flat_map(|mount| {
        group
            .ancestors()
            .map(move |g| Path::new(mount).join(g).join(file))
    });
    Some(files.collect())
}

/// The number in a limit file; `max` and the kernel's "no limit" value are larger than any machine
/// and do no harm as numbers.
fn read_limit(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_a_quarter_within_bounds() {
        assert_eq!(share_of(None), 16 << 20);
        assert_eq!(share_of(Some(32 << 20)), 16 << 20);
        assert_eq!(share_of(Some(1 << 30)), 256 << 20);
        assert_eq!(share_of(Some(1 << 40)), 4 << 30);
    }

    #[test]
    fn limits_are_looked_for_up_to_the_root_in_both_versions() {
        let v2 = limit_files("0::/a/b").expect("version 2");
        assert!(v2.contains(&PathBuf::from("/sys/fs/cgroup/a/b/memory.max")));
        assert!(v2.contains(&PathBuf::from("/sys/fs/cgroup/memory.max")));
        let v1 = limit_files("4:memory:/a").expect("version 1");
        assert!(v1.contains(&PathBuf::from(
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes"
        )));
        assert!(limit_files("8:pids:/").is_none());
    }
}
