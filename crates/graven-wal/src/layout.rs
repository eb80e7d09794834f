//! Sizes in the log file, and how its numbers are read.

/// Bytes in front of a frame's content.
pub(crate) const FRAME_HEADER_BYTES: usize = 48;
/// Bytes of the largest frame, header and padding included.
pub(crate) const FRAME_BYTES_MAX: usize = 64 << 10;
/// Bytes of the stream that fit the largest frame.
pub(crate) const FRAME_CONTENT_MAX: usize = FRAME_BYTES_MAX - FRAME_HEADER_BYTES;
/// Bytes in front of the first region.
pub(crate) const FILE_HEADER_BYTES: u64 = 4096;
/// Smallest region: a few of the largest frames.
pub(crate) const REGION_BYTES_MIN: u64 = 4 * FRAME_BYTES_MAX as u64;

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
