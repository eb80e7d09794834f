//! libCacheSim's `oracleGeneral` records.
//!
//! # On disk
//! Packed little-endian records of 24 bytes:
//!
//! | offset | bytes | field |
//! |--:|--:|---|
//! | 0 | 4 | time in seconds |
//! | 4 | 8 | object id, used as page number |
//! | 12 | 4 | object size in bytes |
//! | 16 | 8 | number of the next access to the object, -1 for none |
//!
//! Sizes, times and next accesses are not kept: every object counts as one page, and next uses are
//! computed.

use std::path::Path;

use crate::Trace;
use crate::error::TraceError;

/// Reads a file of records, plain or compressed.
///
/// # Errors
/// Unreadable files and lengths that are no multiple of 24 bytes.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let mut pages = Vec::new();
    stream(path, &mut |page| pages.push(page))?;
    Ok(Trace {
        pages,
        ..Trace::default()
    })
}

/// Hands over the page numbers one by one.
///
/// # Errors
/// As [`read`].
pub fn stream(path: &Path, page: &mut dyn FnMut(u64)) -> Result<(), TraceError> {
    crate::for_each_record(path, |record: &[u8; 24]| {
        let id = record[4..12]
            .iter()
            .rev()
            .fold(0, |id, &byte| id << 8 | u64::from(byte));
        page(id);
    })
}
