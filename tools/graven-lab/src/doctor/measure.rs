//! What only trying shows: how long a sync takes, whether direct I/O and io_uring are to be had,
//! how fast the disk is.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use graven_io::{AlignedBuffer, IoMode, OpenOptions};
use graven_wal::Histogram;
use serde::Serialize;

use crate::LabError;

/// Syncs of the short measurement, as far as the time allows.
const SYNCS: u64 = 400;
const SYNC_TIME: Duration = Duration::from_secs(2);
const LOG_BYTES: u64 = 4 << 20;
const SEQUENTIAL_BYTES: u64 = 512 << 20;
const CHUNK_BYTES: usize = 1 << 20;

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// A few seconds at most, a few megabytes.
    Short,
    /// Sequential speed too: half a gigabyte is written.
    Long,
}

/// What trying showed.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Measured {
    /// How files are opened: `direct` or `buffered`.
    pub mode: String,
    /// Why not direct.
    pub mode_reason: Option<String>,
    /// How reads are queued.
    pub queue: String,
    /// Why not io_uring.
    pub queue_reason: Option<String>,
    /// Syncs tried, each after overwriting 512 bytes of a preallocated file.
    pub syncs: u64,
    /// Median of write and sync together, in microseconds.
    pub sync_p50_us: f64,
    /// 99th percentile.
    pub sync_p99_us: f64,
    /// Sequential direct writes, MB (2^20 bytes) a second, sync included.
    pub write_mb_per_second: Option<f64>,
}

impl fmt::Display for Measured {
    /// One line a figure, in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "measured: {} files, {} reads", self.mode, self.queue)?;
        write!(
            f,
            "measured: write and sync of 512 bytes p50 {:.0} us, p99 {:.0} us ({} tries)",
            self.sync_p50_us, self.sync_p99_us, self.syncs
        )?;
        if let Some(speed) = self.write_mb_per_second {
            write!(
                f,
                "\nmeasured: sequential direct writes {speed:.0} MiB/s, sync included"
            )?;
        }
        Ok(())
    }
}

/// Tries in a file of its own in `directory`, which is removed.
///
/// # Errors
/// The directory cannot be written to.
pub fn measure(directory: &Path, effort: Effort) -> Result<Measured, LabError> {
    let file = tempfile::Builder::new()
        .prefix("graven-doctor-")
        .tempfile_in(directory)
        .map_err(LabError::io(directory, "writing to"))?;
    let path = file.path();
    std::fs::write(path, vec![0; 8192]).map_err(LabError::io(path, "writing"))?;
    let capabilities = graven_io::probe(path);
    let options = OpenOptions {
        mode: IoMode::Direct,
        ..OpenOptions::default()
    };
    let trial = graven_io::open(path, &options)?;
    let mut measured = Measured {
        mode: capabilities.mode.to_string(),
        mode_reason: capabilities.mode_reason,
        queue: capabilities.queue.to_string(),
        queue_reason: capabilities.queue_reason,
        ..Measured::default()
    };
    syncs(&*trial, &mut measured)?;
    if effort == Effort::Long {
        measured.write_mb_per_second = Some(sequential(&*trial)?);
    }
    Ok(measured)
}

fn syncs(file: &dyn graven_io::File, measured: &mut Measured) -> Result<(), LabError> {
    file.allocate(0, LOG_BYTES)?;
    let zeros = AlignedBuffer::zeroed(CHUNK_BYTES);
    for at in (0..LOG_BYTES).step_by(CHUNK_BYTES) {
        file.write_all_at(&zeros, at)?;
    }
    file.sync_data()?;
    let unit = file.alignment().max(512);
    let times = Histogram::default();
    let begun = Instant::now();
    for number in 0..SYNCS {
        if begun.elapsed() > SYNC_TIME && number >= 20 {
            break;
        }
        let at = number * unit as u64 % LOG_BYTES;
        let start = Instant::now();
        file.write_all_at(&zeros[..unit], at)?;
        file.sync_data()?;
        times.add(start.elapsed().as_nanos() as u64);
    }
    let view = times.view();
    measured.syncs = view.count();
    measured.sync_p50_us = view.percentile(0.5) as f64 / 1000.0;
    measured.sync_p99_us = view.percentile(0.99) as f64 / 1000.0;
    Ok(())
}

fn sequential(file: &dyn graven_io::File) -> Result<f64, LabError> {
    file.allocate(0, SEQUENTIAL_BYTES)?;
    let mut chunk = AlignedBuffer::zeroed(CHUNK_BYTES);
    let begun = Instant::now();
    for at in (0..SEQUENTIAL_BYTES).step_by(CHUNK_BYTES) {
        // Not all zeros: some disks do not store those.
        for (index, byte) in chunk.iter_mut().step_by(64).enumerate() {
            *byte = (index as u64 ^ at >> 20) as u8 | 1;
        }
        file.write_all_at(&chunk, at)?;
    }
    file.sync_data()?;
    Ok(SEQUENTIAL_BYTES as f64 / (1 << 20) as f64 / begun.elapsed().as_secs_f64())
}
