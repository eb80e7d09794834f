//! Blocks of chunks on a local disk, so that they are asked for once.
//!
//! # How it works
//! A folder with one sparse file for each chunk, named by the chunk's hash: the chunk's blocks of
//! [`BLOCK_BYTES`] at their own offsets, behind them a checksum for each block. A checksum of zero
//! means that the block is not there. Chunks never change, so what one snapshot brought serves the
//! next ones too, and other processes. When the files take nearly the budget, those that were not
//! used for the longest time go, down to four fifths of it.
//!
//! # Invariants
//! * OB-10: a block is given out only if its bytes have the checksum that was noted for it.
//! * OB-11: a failure of the disk is a miss, never an error: the store has everything.
//!
//! # Concurrency
//! Any thread and any process: a block that is torn by two writers has a wrong checksum; a file
//! that another process deletes is a miss. Budgets of processes that share a folder should be the
//! same: each counts what is there when it has written [`RECOUNT_BYTES`].
//!
//! # Costs
//! A read is one open and two `pread`; the checksum is XXH3.

use std::fs::{self, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use foldhash::HashMap;
use parking_lot::Mutex;
use twox_hash::XxHash3_64;

use crate::error::{Error, Result};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: u64 = 64 << 10;
/// After so many bytes written the folder is looked at again.
const RECOUNT_BYTES: u64 = 16 << 20;
/// Least budget: less would keep nothing long enough to be of use.
const BUDGET_MIN: u64 = 16 << 20;
/// Endings of the files of a tier: the layout's number.
const ENDING: &str = "gv1";

/// A folder of blocks with a budget.
#[derive(Debug)]
pub struct DiskTier {
    folder: PathBuf,
    budget: u64,
    used: Mutex<Used>,
}

/// What a tier holds now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TierUse {
    /// Bytes on the disk.
    pub bytes: u64,
    /// Chunks of which something is there.
    pub chunks: u64,
}

#[derive(Debug, Default)]
struct Used {
    /// When files were used last, as far as this process did it.
    last: HashMap<String, SystemTime>,
    /// Bytes written since the folder was looked at.
    written: u64,
}

impl DiskTier {
    /// A tier in `folder`, which is made if it is missing, of no more than `budget` bytes.
    ///
    /// # Errors
    /// [`Error::Setting`] where the folder cannot be made or written to, or the budget is too
    /// small.
    pub fn open(folder: impl Into<PathBuf>, budget: u64) -> Result<DiskTier> {
        let folder = folder.into();
        let failed = |error: std::io::Error| {
            Error::Setting(format!("disk cache {}: {error}", folder.display()))
        };
        if budget < BUDGET_MIN {
            return Err(Error::Setting(format!(
                "a disk cache of {budget} bytes is of no use; give it {BUDGET_MIN} or more"
            )));
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        let probe = folder.join(format!("probe-{}", std::process::id()));
        fs::write(&probe, b"")
            .and_then(|()| fs::remove_file(&probe))
            .map_err(failed)?;
        let tier = DiskTier {
            folder,
            budget,
            used: Mutex::default(),
        };
        tier.evict();
        Ok(tier)
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it holds.
    #[must_use]
    pub fn usage(&self) -> TierUse {
        let files = self.files();
        TierUse {
            bytes: files.iter().map(|file| file.bytes).sum(),
            chunks: files.len() as u64,
        }
    }

    fn path(&self, chunk: &str) -> PathBuf {
        self.folder.join(format!("{chunk}.{ENDING}"))
    }

    /// Fills `bytes` from `start` of the chunk on, which is the start of a block; the range from
    /// the first block that is missing to the last one, if any is.
    pub(crate) fn read(
        &self,
        chunk: &str,
        length: u64,
        start: u64,
        bytes: &mut [u8],
    ) -> Option<Range<u64>> {
        let end = start + bytes.len() as u64;
        let Ok(file) = fs::File::open(self.path(chunk)) else {
            return Some(start..end);
        };
        let mut sums = vec![0; bytes.len().div_ceil(BLOCK_BYTES as usize) * 8];
        if file
            .read_exact_at(&mut sums, sum_place(length, start))
            .is_err()
        {
            return Some(start..end);
        }
        let mut missing: Option<Range<u64>> = None;
        let blocks = bytes.chunks_mut(BLOCK_BYTES as usize).zip(sums.chunks(8));
        for (index, (block, sum)) in blocks.enumerate() {
            let at = start + index as u64 * BLOCK_BYTES;
            let noted = u64::from_le_bytes(sum.try_into().expect("8 bytes"));
            let there =
                noted != 0 && file.read_exact_at(block, at).is_ok() && checksum(block) == noted;
            if !there {
                let first = missing.map_or(at, |range| range.start);
                missing = Some(first..at + block.len() as u64);
            }
        }
        self.used
            .lock()
            .last
            .insert(chunk.to_owned(), SystemTime::now());
        missing
    }

    /// Keeps whole blocks of a chunk, from `start` on.
    pub(crate) fn write(&self, chunk: &str, length: u64, start: u64, bytes: &[u8]) {
        let written = (|| {
            let mut options = OpenOptions::new();
            let options = options.create(true).write(true).truncate(false);
            let file = options.open(self.path(chunk))?;
            let mut sums = Vec::new();
            for block in bytes.chunks(BLOCK_BYTES as usize) {
                sums.extend_from_slice(&checksum(block).to_le_bytes());
            }
            let end = sum_place(length, length.next_multiple_of(BLOCK_BYTES));
            if file.metadata()?.len() < end {
                file.set_len(end)?;
            }
            file.write_all_at(bytes, start)?;
            file.write_all_at(&sums, sum_place(length, start))
        })();
        // The disk may be full: then these bytes are asked for again (OB-11).
        let is_full = written.is_err();
        let mut used = self.used.lock();
        used.last.insert(chunk.to_owned(), SystemTime::now());
        used.written += bytes.len() as u64;
        let due = used.written >= RECOUNT_BYTES.min(self.budget / 16) || is_full;
        if due {
            used.written = 0;
        }
        drop(used);
        if due {
            self.evict();
        }
    }

    /// Drops the blocks that hold a range of a chunk.
    pub(crate) fn forget(&self, chunk: &str, length: u64, range: Range<u64>) {
        let Ok(file) = OpenOptions::new().write(true).open(self.path(chunk)) else {
            return;
        };
        let first = range.start / BLOCK_BYTES;
        let end = range.end.div_ceil(BLOCK_BYTES);
        let none = vec![0; (end - first) as usize * 8];
        if file
            .write_all_at(&none, sum_place(length, first * BLOCK_BYTES))
            .is_err()
        {
            // Then all of the chunk goes.
            let _ = fs::remove_file(self.path(chunk));
        }
    }

    fn files(&self) -> Vec<Stored> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let used = self.used.lock();
        let stored = entries.flatten().filter_map(|entry| {
            let path = entry.path();
            let ours = path.extension().is_some_and(|ending| ending == ENDING);
            let found = entry.metadata().ok().filter(|_| ours)?;
            let name = path.file_stem()?.to_str()?.to_owned();
            let here = used.last.get(&name).copied();
            let modified = found.modified().ok()?;
            Some(Stored {
                bytes: found.blocks() * 512,
                last: here.map_or(modified, |here| here.max(modified)),
                name,
                path,
            })
        });
        stored.collect()
    }

    /// Deletes what was not used for the longest time, where there is too much.
    fn evict(&self) {
        let mut files = self.files();
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        if bytes <= self.budget - self.budget / 16 {
            return;
        }
        files.sort_by_key(|file| file.last);
        let wanted = self.budget / 5 * 4;
        for file in files {
            if bytes <= wanted {
                break;
            }
            // Another process may have deleted it.
            let _ = fs::remove_file(&file.path);
            self.used.lock().last.remove(&file.name);
            bytes = bytes.saturating_sub(file.bytes);
        }
    }
}

/// A file of the folder.
struct Stored {
    name: String,
    path: PathBuf,
    bytes: u64,
    last: SystemTime,
}

/// Where the checksum of the block at `start` lies, in the file of a chunk of `length` bytes.
fn sum_place(length: u64, start: u64) -> u64 {
    length.next_multiple_of(BLOCK_BYTES) + start / BLOCK_BYTES * 8
}

/// Never zero.
fn checksum(block: &[u8]) -> u64 {
    XxHash3_64::oneshot(block).max(1)
}
