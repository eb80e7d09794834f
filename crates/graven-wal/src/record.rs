//! Records and their positions in the stream.
//!
//! # On disk
//! The stream is records one behind the other:
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 4 | length of the payload |
//! | 4 | 1 | kind |
//! | 5 | 3 | zero |
//! | 8 | 8 | transaction |
//! | 16 | length | payload |

use std::fmt;

/// Bytes in front of a record's payload.
pub const RECORD_HEADER_BYTES: usize = 16;

/// Longest payload of a record. Up to 64 KiB costs least; longer ones are buffered whole.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

/// A position in the record stream: bytes of records since the log's generation began, without the
/// frames' headers and padding. Never goes back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lsn(pub u64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a record is for. The log does not look into payloads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Part of a transaction; valid once its commit record is there.
    Chunk = 1,
    /// The transaction is committed.
    Commit = 2,
    /// The transaction is given up.
    Abort = 3,
    /// A checkpoint.
    Checkpoint = 4,
}

impl Kind {
    /// The largest number in use.
    pub(crate) const NEWEST: u8 = Kind::Checkpoint as u8;

    pub(crate) fn from_number(number: u8) -> Option<Kind> {
        Some(match number {
            1 => Kind::Chunk,
            2 => Kind::Commit,
            3 => Kind::Abort,
            4 => Kind::Checkpoint,
            _ => return None,
        })
    }

    /// Whether the record may use the region that is kept back: it helps to free others.
    pub(crate) fn may_use_reserve(self) -> bool {
        matches!(self, Kind::Abort | Kind::Checkpoint)
    }
}

/// A record to append.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// What it is for.
    pub kind: Kind,
    /// Number of the transaction.
    pub transaction: u64,
    /// At most [`RECORD_BYTES_MAX`] bytes.
    pub payload: &'a [u8],
}

impl RecordRef<'_> {
    /// The header in front of the payload.
    pub(crate) fn header(&self) -> [u8; RECORD_HEADER_BYTES] {
        let mut header = [0; RECORD_HEADER_BYTES];
        header[0..4].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        header[4] = self.kind as u8;
        header[8..16].copy_from_slice(&self.transaction.to_le_bytes());
        header
    }

    /// Bytes it takes in the stream.
    #[must_use]
    pub fn stream_bytes(&self) -> u64 {
        (RECORD_HEADER_BYTES + self.payload.len()) as u64
    }
}

/// A record read back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Where it begins in the stream.
    pub start: Lsn,
    /// Where it ends: what [`crate::Log::append`] returned if it was the last of its call.
    pub end: Lsn,
    /// What it is for.
    pub kind: Kind,
    /// Number of the transaction.
    pub transaction: u64,
    /// Its bytes.
    pub payload: Vec<u8>,
}
