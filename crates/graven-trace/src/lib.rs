//! Page-access traces: what they hold, how they are read and written, how pages become dense
//! indexes.
//!
//! # How it works
//! A [`Trace`] is a list of page numbers in order of access, opaque and sparse, with optional flags
//! per access and a table of files. [`read`] tells the format by the file's name:
//!
//! | name ends in | format |
//! |---|---|
//! | `.u64`, `.u64.zst` | [`raw`]: little-endian 64-bit page numbers; companions `.flags.u8.zst`, `.files.tsv` |
//! | `.oracleGeneral`, `.oracleGeneral.bin` (also `.zst`) | [`oracle_general`]: libCacheSim's records |
//! | `.gtrace`, `.gtrace.zst` | [`graven`]: records with kind, flags, thread and query |
//! | `.gtrace.csv`, `.gtrace.csv.zst` | [`text`]: the same as lines of text |
//! | `.csv`, `.tsv` | [`csv`]: one access a line, one column of page numbers |
//! | `.blkparse`, `.msr.csv` | [`block`]: requests of block devices, as pages |
//! | `.rocksdb.csv` | [`rocksdb`]: accesses to RocksDB's block cache |
//!
//! Tables that end in `.csv` are told apart by their first line. [`stream`] hands accesses over one
//! by one, for traces that do not fit in memory.
//!
//! [`dense::map`] numbers the pages `0..unique`; [`replay`] counts the hits of policies.

pub mod block;
pub mod csv;
pub mod dense;
mod error;
mod format;
pub mod graven;
mod header;
mod one_pass;
pub mod oracle_general;
pub mod raw;
pub mod replay;
pub mod rocksdb;
pub mod text;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

pub use error::TraceError;
pub use format::{Format, ReadOptions};
pub use header::Header;

/// Bit of [`Trace::flags`]: the access was a pin for writing.
pub const FLAG_WRITE: u8 = 1;
/// Bit of [`Trace::flags`]: the access faulted in the run that was recorded.
pub const FLAG_FAULTED: u8 = 2;
/// Bit of [`Trace::flags`]: the access was part of a scan.
pub const FLAG_SCAN: u8 = 4;
/// Bit of [`Trace::flags`]: the page was read ahead of its use.
pub const FLAG_PREFETCH: u8 = 8;

/// One access, with everything a format may tell about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The page, an opaque number.
    pub page: u64,
    /// The query it was for; 0 where it is unknown.
    pub query: u32,
    /// The thread that asked.
    pub thread: u16,
    /// The page's kind, an index into [`Trace::kinds`].
    pub kind: u8,
    /// `FLAG_` bits.
    pub flags: u8,
}

/// A recorded or generated sequence of page accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Page of every access, in order; opaque numbers.
    pub pages: Vec<u64>,
    /// `FLAG_` bits of every access, where the trace has them.
    pub flags: Option<Vec<u8>>,
    /// Kind, thread and query of every access, where the trace has them.
    pub details: Option<Vec<Detail>>,
    /// Names of the kinds, where the trace has kinds.
    pub kinds: Vec<String>,
    /// The files that pages belong to, where the trace names them.
    pub files: Vec<FileRow>,
    /// One page of so many was recorded; 0 and 1 stand for all.
    pub sampling: u32,
}

/// What some formats tell about an access beside page and flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// The query it was for; 0 where it is unknown.
    pub query: u32,
    /// The thread that asked.
    pub thread: u16,
    /// The page's kind, an index into [`Trace::kinds`].
    pub kind: u8,
}

impl Trace {
    /// Keeps the first `accesses` accesses.
    pub fn truncate(&mut self, accesses: usize) {
        self.pages.truncate(accesses);
        if let Some(flags) = &mut self.flags {
            flags.truncate(accesses);
        }
        if let Some(details) = &mut self.details {
            details.truncate(accesses);
        }
    }

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
    read_with(path, &ReadOptions::default())
}

/// Reads a trace with its companions, as `options` say.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<Trace, TraceError> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    let mut trace = Trace::default();
    match format {
        Format::Raw => return raw::read(path),
        Format::OracleGeneral => return oracle_general::read(path),
        Format::Csv => return csv::read(path, options.column.as_deref()),
        Format::Graven | Format::Text | Format::Blkparse | Format::Msr | Format::RocksDb => {}
    }
    let (mut flags, mut details) = (Vec::new(), Vec::new());
    let rich = matches!(format, Format::Graven | Format::Text | Format::RocksDb);
    let pages = &mut trace.pages;
    let mut keep = |access: Access| {
        pages.push(access.page);
        flags.push(access.flags);
        if rich {
            details.push(Detail {
                query: access.query,
                thread: access.thread,
                kind: access.kind,
            });
        }
    };
    match format {
        Format::Graven | Format::Text => {
            let header = match format {
                Format::Text => text::read(path, &mut keep)?,
                _ => graven::read(path, &mut keep)?,
            };
            trace.kinds = header.kinds;
            trace.files = header.files;
            trace.sampling = header.sampling;
        }
        Format::Blkparse => trace.files = block::blkparse(path, options.page_bytes, &mut keep)?,
        Format::Msr => trace.files = block::msr(path, options.page_bytes, &mut keep)?,
        _ => {
            rocksdb::read(path, &mut keep)?;
            trace.kinds = rocksdb::KINDS.map(str::to_owned).to_vec();
        }
    }
    trace.flags = Some(flags);
    trace.details = rich.then_some(details);
    Ok(trace)
}

/// Hands over page numbers one by one, without keeping them.
///
/// # Errors
/// As [`read`].
pub fn stream(
    path: &Path,
    options: &ReadOptions,
    page: &mut dyn FnMut(u64),
) -> Result<(), TraceError> {
    let format = options.format.map_or_else(|| Format::of(path), Ok)?;
    let mut keep = |access: Access| page(access.page);
    match format {
        Format::Raw => for_each_record(path, |record: &[u8; 8]| page(u64::from_le_bytes(*record))),
        Format::OracleGeneral => oracle_general::stream(path, page),
        Format::Csv => csv::stream(path, options.column.as_deref(), page),
        Format::Graven => graven::read(path, &mut keep).map(|_| ()),
        Format::Text => text::read(path, &mut keep).map(|_| ()),
        Format::Blkparse => block::blkparse(path, options.page_bytes, &mut keep).map(|_| ()),
        Format::Msr => block::msr(path, options.page_bytes, &mut keep).map(|_| ()),
        Format::RocksDb => rocksdb::read(path, &mut keep),
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
    for ending in [
        ".zst",
        ".bin",
        ".u64",
        text::ENDING,
        ".gtrace",
        ".oracleGeneral",
        ".csv",
        ".tsv",
        ".blkparse",
        ".msr",
        ".rocksdb",
    ] {
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

/// Hands the lines of a text to `line`, but for empty ones and those that start with `#`.
pub(crate) fn for_each_line(
    path: &Path,
    line: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), TraceError> {
    for_every_line(path, &mut |text| match text.starts_with('#') {
        true => Ok(()),
        false => line(text),
    })
}

/// Hands the lines of a text to `line`, but for empty ones.
pub(crate) fn for_every_line(
    path: &Path,
    line: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), TraceError> {
    let mut input = BufReader::new(open(path)?);
    let mut bytes = Vec::new();
    for at in 1.. {
        bytes.clear();
        let read = input
            .read_until(b'\n', &mut bytes)
            .map_err(TraceError::io(path, "reading"))?;
        if read == 0 {
            break;
        }
        let outcome = match std::str::from_utf8(&bytes).map(str::trim) {
            Ok("") => Ok(()),
            Ok(text) => line(text),
            Err(_) => Err("this is no text in UTF-8".to_owned()),
        };
        outcome.map_err(|reason| TraceError::Line {
            path: path.into(),
            line: at,
            reason,
        })?;
    }
    Ok(())
}

/// Hands fixed-size records to `record`; a rest that is no whole record is an error.
pub(crate) fn for_each_record<const N: usize>(
    path: &Path,
    record: impl FnMut(&[u8; N]),
) -> Result<(), TraceError> {
    records_of(path, &mut open(path)?, record)
}

/// As [`for_each_record`], from where `input` stands.
pub(crate) fn records_of<const N: usize>(
    path: &Path,
    input: &mut dyn Read,
    mut record: impl FnMut(&[u8; N]),
) -> Result<(), TraceError> {
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
