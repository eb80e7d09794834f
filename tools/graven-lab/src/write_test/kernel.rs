//! What the kernel does beside a run: dirty pages, pages in write-back, blocks written, time
//! waiting for disks.
//!
//! # How it works
//! A thread reads `/proc/vmstat`, `/proc/stat` and the counters of the disk under the store ten
//! times a second, more rarely in long runs, so that a report stays short.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Samples after which every second one is dropped and the distance doubled.
const SAMPLES_MAX: usize = 600;
const SECTOR_BYTES: u64 = 512;

/// One look at the kernel's counters.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Sample {
    /// Seconds since the run began.
    pub seconds: f64,
    /// Pages that the kernel has yet to write (4 KiB each).
    pub dirty_pages: u64,
    /// Pages on their way to a disk.
    pub writeback_pages: u64,
    /// KiB written to all disks since the run began.
    pub written_kib: u64,
    /// Flush requests completed by the store's disk since the run began, where it counts them.
    pub flushes: Option<u64>,
    /// Share of processor time, since the sample before, spent idle with a disk request open: 0
    /// to 1.
    pub iowait: f64,
}

/// Counters as the kernel prints them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Counters {
    dirty: u64,
    writeback: u64,
    written_kib: u64,
    flushes: Option<u64>,
    iowait_ticks: u64,
    ticks: u64,
}

/// Samples until it is stopped.
pub(super) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Sample>>,
}

impl Sampler {
    pub(super) fn start(store: &Path) -> Sampler {
        let (stop, stopped) = channel();
        let disk = disk_of(store);
        let thread = std::thread::spawn(move || sample(&stopped, disk.as_deref()));
        Sampler { stop, thread }
    }

    pub(super) fn stop(self) -> Vec<Sample> {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
    }
}

fn sample(stopped: &Receiver<()>, disk: Option<&Path>) -> Vec<Sample> {
    let begun = Instant::now();
    let first = counters(Path::new("/"), disk);
    let mut before = first;
    let mut samples = vec![as_sample(0.0, &first, &first, &first)];
    let mut distance = Duration::from_millis(100);
    loop {
        let last = !matches!(
            stopped.recv_timeout(distance),
            Err(RecvTimeoutError::Timeout)
        );
        let now = counters(Path::new("/"), disk);
        let seconds = begun.elapsed().as_secs_f64();
        samples.push(as_sample(seconds, &first, &before, &now));
        before = now;
        if last {
            return samples;
        }
        if samples.len() >= SAMPLES_MAX {
            let mut index = 0;
            samples.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            distance *= 2;
        }
    }
}

fn as_sample(seconds: f64, first: &Counters, before: &Counters, now: &Counters) -> Sample {
    let ticks = now.ticks.saturating_sub(before.ticks).max(1);
    Sample {
        seconds,
        dirty_pages: now.dirty,
        writeback_pages: now.writeback,
        written_kib: now.written_kib.saturating_sub(first.written_kib),
        flushes: now
            .flushes
            .zip(first.flushes)
            .map(|(now, first)| now.saturating_sub(first)),
        iowait: now.iowait_ticks.saturating_sub(before.iowait_ticks) as f64 / ticks as f64,
    }
}

/// Reads the counters below `root`; what is not there counts as 0.
fn counters(root: &Path, disk: Option<&Path>) -> Counters {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let vmstat = read("proc/vmstat");
    let field = |name: &str| -> u64 {
        vmstat
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
            .unwrap_or(0)
    };
    let stat = read("proc/stat");
    let ticks: Vec<u64> = stat
        .lines()
        .next()
        .unwrap_or("")
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let disk = disk.and_then(|disk| std::fs::read_to_string(disk).ok());
    let disk: Vec<u64> = disk
        .iter()
        .flat_map(|text| text.split_whitespace())
        .filter_map(|word| word.parse().ok())
        .collect();
    Counters {
        dirty: field("nr_dirty "),
        writeback: field("nr_writeback "),
        written_kib: match disk.get(6) {
            Some(sectors) => sectors * SECTOR_BYTES / 1024,
            None => field("pgpgout "),
        },
        flushes: disk.get(15).copied(),
        iowait_ticks: ticks.get(4).copied().unwrap_or(0),
        ticks: ticks.iter().sum(),
    }
}

/// Where the disk under `path` counts its requests.
pub(crate) fn disk_of(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let existing = path.ancestors().find(|p| p.exists())?;
    let device = std::fs::metadata(existing).ok()?.dev();
    let (major, minor) = (libc::major(device), libc::minor(device));
    let stat = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
    stat.exists().then_some(stat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_the_kernels_text() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        write(
            "proc/vmstat",
            "nr_free_pages 5\nnr_dirty 124947\nnr_writeback 232\nnr_writeback_temp 1\npgpgout 77\n",
        );
        write("proc/stat", "cpu  10 0 20 60 10 0 0 0 0 0\ncpu0 1 2\n");
        write("disk", "1 2 3 4 5 6 4096 8 9 10 11 12 13 14 15 16 17\n");
        let now = counters(root.path(), None);
        assert_eq!(
            (now.dirty, now.writeback, now.written_kib),
            (124_947, 232, 77)
        );
        assert_eq!((now.iowait_ticks, now.ticks), (10, 100));
        let now = counters(root.path(), Some(&root.path().join("disk")));
        assert_eq!((now.written_kib, now.flushes), (2048, Some(16)));
        let none = counters(Path::new("/nowhere"), None);
        assert_eq!(none, Counters::default());
        let sample = as_sample(1.0, &none, &none, &now);
        assert!((sample.iowait - 0.1).abs() < 1e-9);
    }
}
