//! Making the large file: random bytes, then read until the system's page cache holds it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Instant;

use graven_types::rng::SplitMix64;
use serde::Serialize;

use super::spare_databases;
use crate::LabError;

const CHUNK_BYTES: usize = 1 << 20;
/// Passes after which a file that does not get faster is taken as it is.
const PASSES_MAX: usize = 5;

/// One pass over the whole file.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pass {
    /// Time it took.
    pub seconds: f64,
    /// Speed in MB (2^20 bytes) a second.
    pub mb_per_second: f64,
}

/// What making the store took.
#[derive(Clone, Debug, Serialize)]
pub struct Prepared {
    /// Bytes of the file.
    pub bytes: u64,
    /// Writing it, sync included.
    pub write: Pass,
    /// Reading it, again and again.
    pub reads: Vec<Pass>,
}

impl std::fmt::Display for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mb = self.bytes as f64 / (1 << 20) as f64;
        writeln!(
            f,
            "wrote {mb:.0} MB of random data: {:.3} s, {:.0} MB/s",
            self.write.seconds, self.write.mb_per_second
        )?;
        for (number, pass) in (1..).zip(&self.reads) {
            writeln!(
                f,
                "read pass {number}: {:.3} s, {:.0} MB/s",
                pass.seconds, pass.mb_per_second
            )?;
        }
        Ok(())
    }
}

/// Fills `store` with `bytes` random bytes and reads it until that does not get faster.
///
/// # Errors
/// The file belongs to a database, or cannot be written or read.
pub fn prepare(store: &Path, bytes: u64) -> Result<Prepared, LabError> {
    spare_databases(store)?;
    let failed = |action| LabError::io(store, action);
    let mut file = File::create(store).map_err(failed("creating"))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut random = SplitMix64::new(bytes);
    let begun = Instant::now();
    let mut left = bytes;
    while left > 0 {
        let count = left.min(CHUNK_BYTES as u64) as usize;
        for word in chunk[..count].chunks_mut(8) {
            word.copy_from_slice(&random.bits().to_le_bytes()[..word.len()]);
        }
        file.write_all(&chunk[..count]).map_err(failed("writing"))?;
        left -= count as u64;
    }
    file.sync_all().map_err(failed("syncing"))?;
    let write = pass(bytes, begun);
    let mut reads: Vec<Pass> = Vec::new();
    while reads.len() < PASSES_MAX {
        let begun = Instant::now();
        let mut file = File::open(store).map_err(failed("opening"))?;
        while file.read(&mut chunk).map_err(failed("reading"))? > 0 {}
        let now = pass(bytes, begun);
        let settled = reads
            .last()
            .is_some_and(|last| now.mb_per_second < last.mb_per_second * 1.2);
        reads.push(now);
        if settled {
            break;
        }
    }
    Ok(Prepared {
        bytes,
        write,
        reads,
    })
}

fn pass(bytes: u64, begun: Instant) -> Pass {
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    Pass {
        seconds,
        mb_per_second: bytes as f64 / (1 << 20) as f64 / seconds,
    }
}
