//! Formats by name, and what a reader may be told.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;

use crate::error::TraceError;

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// [`crate::raw`]: 64-bit page numbers.
    Raw,
    /// [`crate::graven`]: Graven's records.
    Graven,
    /// [`crate::text`]: Graven's records as text.
    Text,
    /// [`crate::oracle_general`]: libCacheSim's records.
    OracleGeneral,
    /// [`crate::csv`]: a column of page numbers.
    Csv,
    /// [`crate::block`]: lines of `blkparse`.
    Blkparse,
    /// [`crate::block`]: the tables of the MSR Cambridge traces.
    Msr,
    /// [`crate::rocksdb`]: RocksDB's block-cache trace as text.
    RocksDb,
}

/// What a reader may be told about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format, where the name does not tell it.
    pub format: Option<Format>,
    /// Bytes of a page, for formats that give byte or sector ranges.
    pub page_bytes: u64,
    /// The column of page numbers of a text trace: its name, or its number from 1.
    pub column: Option<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            page_bytes: 8192,
            column: None,
        }
    }
}

impl Format {
    const NAMES: [(&'static str, Format); 8] = [
        ("u64", Format::Raw),
        ("gtrace", Format::Graven),
        ("text", Format::Text),
        ("oracleGeneral", Format::OracleGeneral),
        ("csv", Format::Csv),
        ("blkparse", Format::Blkparse),
        ("msr", Format::Msr),
        ("rocksdb", Format::RocksDb),
    ];

    /// The name that [`str::parse`] reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, format)| *format == self);
        found.map_or("", |(name, _)| name)
    }

    /// Tells the format by the file's name and, for tables, by the first line.
    ///
    /// # Errors
    /// A name that says nothing, or a file that is not there; a table that cannot be opened.
    pub fn of(path: &Path) -> Result<Self, TraceError> {
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        let plain = name.strip_suffix(".zst").unwrap_or(&name);
        let ends = |endings: &[&str]| endings.iter().any(|ending| plain.ends_with(ending));
        Ok(if ends(&[".u64"]) {
            Format::Raw
        } else if ends(&[".gtrace"]) {
            Format::Graven
        } else if ends(&[crate::text::ENDING]) {
            Format::Text
        } else if ends(&[".oraclegeneral", ".oraclegeneral.bin"]) {
            Format::OracleGeneral
        } else if ends(&[".blkparse", ".blktrace.txt"]) {
            Format::Blkparse
        } else if ends(&[".rocksdb.csv", ".rocksdb", ".block_cache_trace"]) {
            Format::RocksDb
        } else if ends(&[".msr.csv", ".msr"]) {
            Format::Msr
        } else if ends(&[".csv"]) {
            kind_of_table(path)?
        } else if ends(&[".tsv"]) {
            Format::Csv
        } else {
            // A name that was mistyped often has no ending either: then the file is what is
            // missing.
            std::fs::metadata(path).map_err(TraceError::io(path, "opening"))?;
            return Err(TraceError::UnknownFormat { path: path.into() });
        })
    }
}

/// Tells by the first line whether a table is one of a known tracer.
fn kind_of_table(path: &Path) -> Result<Format, TraceError> {
    let mut kind = Format::Csv;
    let mut first = String::new();
    for line in BufReader::new(crate::open(path)?).lines().take(100) {
        // Errors in the text are found by the reader that reads all of it.
        first = line.unwrap_or_default();
        if !first.trim().is_empty() && !first.starts_with('#') {
            break;
        }
    }
    if crate::block::is_msr(&first) {
        kind = Format::Msr;
    } else if crate::rocksdb::is_row(&first) {
        kind = Format::RocksDb;
    }
    Ok(kind)
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        known.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "`{text}` is no trace format; known are {}",
                names.join(", ")
            )
        })
    }
}
