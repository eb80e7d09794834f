//! RocksDB's block-cache traces, in the text form of its analyzer.
//!
//! # How it works
//! `block_cache_trace_analyzer -human_readable_trace_file_path=F` writes one line an access; its
//! cells start with time, block id, block type, block size, column family (id, name), level, file
//! number, caller, "do not insert". A block is a page, whatever its size; its type is kept as the
//! page's kind, its caller decides the scan flag (iterators), and the get id tells queries apart.
//! The binary form holds keys instead of ids: convert it first.
//!
//! # Source
//! RocksDB, trace_replay/block_cache_tracer.cc.

use std::path::Path;

use crate::error::TraceError;
use crate::{Access, FLAG_SCAN};

/// Names of block types by their number in RocksDB (`TraceType`), counted from the first block
/// type.
pub const KINDS: [&str; 6] = [
    "other",
    "index",
    "filter",
    "data",
    "dictionary",
    "range deletion",
];
/// RocksDB's number of the first block type, the index block.
const FIRST_TYPE: u64 = 7;
/// RocksDB's number of the caller that iterates.
const CALLER_ITERATOR: u64 = 3;

/// Whether a line has the shape of a row.
pub(crate) fn is_row(line: &str) -> bool {
    let cells: Vec<&str> = line.split(',').collect();
    let numeric = |at: usize| cells.get(at).is_some_and(|c| c.parse::<u64>().is_ok());
    cells.len() >= 11 && (0..5).all(numeric) && (6..10).all(numeric)
}

/// Hands over the accesses.
///
/// # Errors
/// Unreadable files, lines with other cells.
pub fn read(path: &Path, access: &mut dyn FnMut(Access)) -> Result<(), TraceError> {
    crate::for_each_line(path, &mut |line| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |at: usize| -> Result<u64, String> {
            let cell = cells
                .get(at)
                .ok_or_else(|| format!("expected at least 10 cells, found {}", cells.len()))?;
            cell.parse()
                .map_err(|_| format!("cell {}: {cell:?} is no number", at + 1))
        };
        let block_type = number(2)?;
        let kind = match block_type.checked_sub(FIRST_TYPE) {
            Some(kind) if (kind as usize) < KINDS.len() - 1 => kind as u8 + 1,
            _ => 0,
        };
        let scan = number(8)? == CALLER_ITERATOR;
        let query = cells
            .get(10)
            .and_then(|cell| cell.parse::<u64>().ok())
            .unwrap_or(0);
        access(Access {
            page: number(1)?,
            kind,
            flags: if scan { FLAG_SCAN } else { 0 },
            query: query as u32,
            ..Access::default()
        });
        Ok(())
    })
}
