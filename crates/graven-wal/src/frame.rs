//! A frame: the piece of the record stream that is written at once.
//!
//! # On disk
//! A frame begins on a sector boundary; zeros fill its last sector.
//!
//! | offset | size | field |
//! | --- | --- | --- |
//! | 0 | 4 | magic `GFRM` |
//! | 4 | 4 | bytes of the stream in it; bit 31: the first frame after an open, a record cut off before it is void |
//! | 8 | 8 | checksum: XXH3-64 of bytes 16 to the end of the content, seeded with bytes 0 to 8 |
//! | 16 | 8 | LSN of its first byte |
//! | 24 | 8 | durable LSN when it was written |
//! | 32 | 8 | XXH3-64 of the store's UUID and the log's generation |
//! | 40 | 8 | checksum of the frame before it, 0 for the first of a log |
//! | 48 | length | content |
//!
//! A padding that is not zero is refused, so a flipped bit anywhere in a frame's sectors is found.

use graven_io::AlignedBuffer;
use twox_hash::XxHash3_64;

use crate::Lsn;
use crate::layout::{FRAME_BYTES_MAX, FRAME_CONTENT_MAX, FRAME_HEADER_BYTES, u32_at, u64_at};
use crate::mutant::{self, Mutant};

/// Marks the first frame after an open in the word of the length.
const FRESH: u32 = 1 << 31;
const MAGIC: u32 = u32::from_le_bytes(*b"GFRM");

/// A frame that is being filled.
#[derive(Debug)]
pub(crate) struct FrameBuffer {
    bytes: AlignedBuffer,
    pub(crate) first: Lsn,
    used: usize,
}

impl FrameBuffer {
    pub(crate) fn new() -> FrameBuffer {
        FrameBuffer {
            bytes: AlignedBuffer::zeroed(FRAME_BYTES_MAX),
            first: Lsn(0),
            used: 0,
        }
    }

    /// Empties it for the stream from `first` on.
    pub(crate) fn begin(&mut self, first: Lsn) {
        self.first = first;
        self.used = 0;
    }

    /// Takes as much of `bytes` as fits; how much that was.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(FRAME_CONTENT_MAX - self.used);
        let at = FRAME_HEADER_BYTES + self.used;
        self.bytes[at..at + count].copy_from_slice(&bytes[..count]);
        self.used += count;
        count
    }

    /// Bytes in the file.
    pub(crate) fn file_bytes(&self, sector_bytes: usize) -> usize {
        (FRAME_HEADER_BYTES + self.used).next_multiple_of(sector_bytes)
    }

    /// Fills header and padding; the checksum and the bytes to write.
    pub(crate) fn seal(&mut self, context: &Context) -> (u64, &[u8]) {
        let end = FRAME_HEADER_BYTES + self.used;
        let padded = self.file_bytes(context.sector_bytes);
        let fresh = if context.fresh { FRESH } else { 0 };
        let bytes = &mut self.bytes;
        bytes[end..padded].fill(0);
        bytes[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.used as u32 | fresh).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&context.durable.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&context.identity.to_le_bytes());
        bytes[40..48].copy_from_slice(&context.previous.to_le_bytes());
        let checksum = checksum_of(bytes, end);
        bytes[8..16].copy_from_slice(&checksum.to_le_bytes());
        (checksum, &self.bytes[..padded])
    }
}

/// What a frame says besides its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) durable: Lsn,
    pub(crate) identity: u64,
    pub(crate) previous: u64,
    pub(crate) fresh: bool,
    pub(crate) sector_bytes: usize,
}

/// An intact frame, in the bytes it was found in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) first: Lsn,
    pub(crate) durable: Lsn,
    pub(crate) previous: u64,
    pub(crate) checksum: u64,
    pub(crate) fresh: bool,
    pub(crate) content: &'a [u8],
    /// Bytes in the file, padding included.
    pub(crate) file_bytes: usize,
}

impl Frame<'_> {
    pub(crate) fn end(&self) -> Lsn {
        Lsn(self.first.0 + self.content.len() as u64)
    }
}

/// The frame at the beginning of `bytes`, if it is intact and of the log called `identity`.
pub(crate) fn parse(bytes: &[u8], identity: u64, sector_bytes: usize) -> Option<Frame<'_>> {
    if bytes.len() < FRAME_HEADER_BYTES
        || u32_at(bytes, 0) != MAGIC
        || u64_at(bytes, 32) != identity
    {
        return None;
    }
    let length = (u32_at(bytes, 4) & !FRESH) as usize;
    if length > FRAME_CONTENT_MAX {
        return None;
    }
    let end = FRAME_HEADER_BYTES + length;
    let file_bytes = end.next_multiple_of(sector_bytes);
    if bytes.len() < file_bytes || bytes[end..file_bytes].iter().any(|&byte| byte != 0) {
        return None;
    }
    let checksum = u64_at(bytes, 8);
    if checksum_of(bytes, end) != checksum && !mutant::active(Mutant::UncheckedChecksum) {
        return None;
    }
    Some(Frame {
        first: Lsn(u64_at(bytes, 16)),
        durable: Lsn(u64_at(bytes, 24)),
        previous: u64_at(bytes, 40),
        checksum,
        fresh: u32_at(bytes, 4) & FRESH != 0,
        content: &bytes[FRAME_HEADER_BYTES..end],
        file_bytes,
    })
}

fn checksum_of(bytes: &[u8], end: usize) -> u64 {
    XxHash3_64::oneshot_with_seed(u64_at(bytes, 0), &bytes[16..end])
}
