//! Page-access traces: what they hold, how they are read and written, how pages become dense indexes.
//!
//! # How it works
//! A [`Trace`] is a list of page numbers in order of access, opaque and sparse, with optional flags per access
//! and a table of files. [`read`] tells the format by the file's name:
//!
//! | name ends in | format |
//! |---|---|
//! | `.u64`, `.u64.zst` | [`raw`]: little-endian 64-bit page numbers; companions `.flags.u8.zst`, `.files.tsv` |
//! | `.oracleGeneral`, `.oracleGeneral.bin` (also `.zst`) | [`oracle_general`]: libCacheSim's records |
//! | `.csv`, `.tsv` | [`csv`]: one access a line, one column of page numbers |
//!
//! [`dense::map`] numbers the pages `0..unique` for the simulator.

pub mod csv;
pub mod dense;
mod error;
pub mod oracle_general;
pub mod raw;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

pub use error::TraceError;

/// Bit of [`Trace::flags`]: the access was a pin for writing.
pub const FLAG_WRITE: u8 = 1;
/// Bit of [`Trace::flags`]: the access faulted in the run that was recorded.
pub const FLAG_FAULTED: u8 = 2;

/// A recorded or generated sequence of page accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Page of every access, in order; opaque numbers.
    pub pages: Vec<u64>,
    /// [`FLAG_WRITE`] and [`FLAG_FAULTED`] of every access, where the trace has them.
    pub flags: Option<Vec<u8>>,
    /// The files that pages belong to, where the trace names them.
    pub files: Vec<FileRow>,
}

impl Trace {
    /// How many accesses pinned for writing; `None` where the trace does not say.
    #[must_use]
    pub fn writes(&self) -> Option<u64> {
        let flags = self.flags.as_ref()?;
        Some(
            flags
                .iter()
                .filter(|&&flags| flags & FLAG_WRITE != 0)
                .count() as u64,
        )
    }
}

/// One file of a trace whose page numbers are `file << 48 | page`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// The number in the upper 16 bits.
    pub id: u16,
    /// Its name in the system that was recorded.
    pub name: String,
}

/// Reads a trace with its companions; the format is told by the name.
///
/// # Errors
/// Names of unknown formats, unreadable or malformed files, companions that do not fit.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let plain = name.strip_suffix(".zst").unwrap_or(&name);
    if plain.ends_with(".u64") {
        raw::read(path)
    } else if plain.ends_with(".oracleGeneral") || plain.ends_with(".oracleGeneral.bin") {
        oracle_general::read(path)
    } else if plain.ends_with(".csv") || plain.ends_with(".tsv") {
        csv::read(path, None)
    } else {
        Err(TraceError::UnknownFormat {
            path: path.to_path_buf(),
        })
    }
}

/// The name of a trace: its file's without the endings of its format.
#[must_use]
pub fn name_of(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let mut name = name.as_str();
    for ending in [".zst", ".bin", ".u64", ".oracleGeneral", ".csv", ".tsv"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    name.to_owned()
}

/// Opens a file that may be compressed (`.zst`), for reading from the start.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>, TraceError> {
    let file = File::open(path).map_err(TraceError::io(path, "opening"))?;
    if path.extension().is_none_or(|extension| extension != "zst") {
        return Ok(Box::new(BufReader::with_capacity(1 << 18, file)));
    }
    let mut decoder = zstd::Decoder::new(file).map_err(TraceError::io(path, "decompressing"))?;
    decoder
        .window_log_max(27)
        .map_err(TraceError::io(path, "decompressing"))?;
    Ok(Box::new(BufReader::with_capacity(1 << 18, decoder)))
}

/// Hands fixed-size records to `record`; a rest that is no whole record is an error.
pub(crate) fn for_each_record<const N: usize>(
    path: &Path,
    mut record: impl FnMut(&[u8; N]),
) -> Result<(), TraceError> {
    let mut input = open(path)?;
    let mut block = vec![0; N * 8192];
    let mut filled = 0;
    loop {
        let read = input
            .read(&mut block[filled..])
            .map_err(TraceError::io(path, "reading"))?;
        filled += read;
        let (records, rest) = block[..filled].as_chunks::<N>();
        let rest = rest.len();
        records.iter().for_each(&mut record);
        if read == 0 {
            if rest == 0 {
                return Ok(());
            }
            let reason = format!("the last record is cut off: {rest} of {N} bytes");
            return Err(TraceError::malformed(path, reason));
        }
        block.copy_within(filled - rest..filled, 0);
        filled = rest;
    }
}

#[cfg(test)]
mod tests;
