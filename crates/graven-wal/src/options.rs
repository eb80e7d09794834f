//! How a log is made and opened, and which options are possible.

use graven_io::File;

use crate::layout::{FILE_HEADER_BYTES, REGION_BYTES_MIN};
use crate::{Error, Lsn, Result};

/// How a log is made and driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogOptions {
    /// Bytes of a region: a multiple of 4 KiB, 256 KiB at least. Fixed when the log is made.
    pub region_bytes: u64,
    /// Regions that a new log begins with, 2 at least.
    pub initial_regions: u32,
    /// What a write must not tear apart: 512 to 4096, or 0 for what the file asks for (512 at
    /// least). 4096 trusts disks less that rewrite a whole physical sector for a part of it, and
    /// costs space. Fixed when the log is made.
    pub sector_bytes: u32,
    /// LSN at which a new log begins.
    pub first: Lsn,
    /// Free regions kept when the log is cut; more are given back to the file system where they lie
    /// at the end.
    pub keep_free_regions: u64,
    /// Bytes that may wait in memory before an append writes them itself.
    pub buffer_bytes: u64,
    /// Whether a thread does what can wait. Without it, [`Log::run_background_work`] must be
    /// called.
    pub background: bool,
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            region_bytes: 1 << 20,
            initial_regions: 2,
            sector_bytes: 0,
            first: Lsn(0),
            keep_free_regions: 64,
            buffer_bytes: 256 << 10,
            background: true,
        }
    }
}

/// Bytes of a sector for a log in `file`.
pub(crate) fn sector_bytes(file: &dyn File, options: &LogOptions) -> Result<u32> {
    let wrong = |option, value, reason| {
        Err(Error::Option {
            option,
            value,
            reason,
        })
    };
    if options.initial_regions < 2 {
        let value = u64::from(options.initial_regions);
        return wrong(
            "initial_regions",
            value,
            "one is filled, one is kept back: 2 at least",
        );
    }
    let region_bytes = options.region_bytes;
    if region_bytes < REGION_BYTES_MIN || !region_bytes.is_multiple_of(FILE_HEADER_BYTES) {
        return wrong(
            "region_bytes",
            region_bytes,
            "a multiple of 4 KiB is wanted, 256 KiB at least",
        );
    }
    let least = (file.alignment() as u32).max(512);
    let sector = match options.sector_bytes {
        0 => least,
        bytes => bytes,
    };
    if sector < least || !sector.is_power_of_two() || u64::from(sector) > FILE_HEADER_BYTES {
        let value = u64::from(sector);
        return wrong(
            "sector_bytes",
            value,
            "a power of two up to 4096 is wanted, not below what the file asks for",
        );
    }
    Ok(sector)
}
