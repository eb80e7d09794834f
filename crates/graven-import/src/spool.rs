//! Append-only records, in memory while the staging memory lasts and in a scratch file after that.
//!
//! # How it works
//! A spool is a head on disk (maybe empty) and a tail in memory. When the tail cannot grow it is
//! appended to the file and reused as a buffer of `BUFFER_BYTES`. Readers borrow the spool, so that
//! one spool can be read several times and by several threads. Of a spool that is read a known
//! number of times ([`Spool::freed_after`]), each part of the file is freed behind the last reader.
//! The head of a record is coded as a group of numbers with their widths in front.
//!
//! # Source
//! Jeffrey Dean: Challenges in Building Large-Scale Information Retrieval Systems, WSDM 2009
//! (group varint encoding).
//!
//! # Invariants
//! - SP-1 Once a spool is freed after so many readings, no further one begins: it would read zeros.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::ImportError;
use crate::scratch::{FREED_BYTES, Scratch, ScratchFile};

const BUFFER_BYTES: usize = 16 << 10;
const READ_BYTES: usize = 64 << 10;

/// Two numbers and bytes.
pub(crate) type Record<'a> = (u64, u64, &'a [u8]);

/// Records apart from a spool, to be appended together.
#[derive(Debug, Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    count: u64,
}

impl Records {
    pub(crate) fn push(&mut self, a: u64, b: u64, bytes: &[u8]) {
        put_record(&mut self.bytes, a, b, bytes);
        self.count += 1;
    }
}

const WORD: usize = 8;
/// The most that the head of a record takes: one byte that says how long its three numbers are, and
/// those.
pub(crate) const HEAD_BYTES: usize = 1 + 3 * WORD;
/// How many bytes the length of a record takes, by the two highest bits of its head.
const LEN_WIDTHS: [usize; 4] = [0, 1, 2, 4];
/// The lowest bytes of a word, by their number.
const LOWEST: [u64; WORD + 1] = [
    0,
    0xff,
    0xffff,
    0xff_ffff,
    0xffff_ffff,
    0xff_ffff_ffff,
    0xffff_ffff_ffff,
    0xff_ffff_ffff_ffff,
    u64::MAX,
];

/// Appends a record. Nothing in its head is written or read in a loop: whole words lie over what
/// those before them have beyond their length.
pub(crate) fn put_record(out: &mut Vec<u8>, a: u64, b: u64, bytes: &[u8]) {
    let len = bytes.len() as u64;
    let width = |number: u64| WORD - (number | 1).leading_zeros() as usize / 8;
    let (a_width, b_width) = (width(a), width(b));
    let len_code = usize::from(len > 0) + usize::from(len >> 8 > 0) + usize::from(len >> 16 > 0);
    let mut head = [0; HEAD_BYTES];
    head[0] = ((a_width - 1) | ((b_width - 1) << 3) | (len_code << 6)) as u8;
    let mut end = 1;
    for (number, width) in [(a, a_width), (b, b_width), (len, LEN_WIDTHS[len_code])] {
        head[end..end + WORD].copy_from_slice(&number.to_le_bytes());
        end += width;
    }
    let before = out.len();
    out.extend_from_slice(&head);
    out.truncate(before + end);
    out.extend_from_slice(bytes);
}

/// Takes the numbers of a record off the front, and says how many bytes follow.
pub(crate) fn take_head(rest: &mut &[u8]) -> (u64, u64, usize) {
    let mut padded = [0; HEAD_BYTES];
    let head = rest.first_chunk().unwrap_or_else(|| {
        padded[..rest.len()].copy_from_slice(rest);
        &padded
    });
    let widths = usize::from(head[0]);
    let (a_width, b_width) = ((widths & 7) + 1, (widths >> 3 & 7) + 1);
    let word = |at: usize, width: usize| {
        let bytes = head[at..at + WORD].try_into().expect("a word");
        u64::from_le_bytes(bytes) & LOWEST[width]
    };
    let (b_at, len_at) = (1 + a_width, 1 + a_width + b_width);
    let len_width = LEN_WIDTHS[widths >> 6];
    *rest = &rest[len_at + len_width..];
    (
        word(1, a_width),
        word(b_at, b_width),
        word(len_at, len_width) as usize,
    )
}

/// Records in the order they were appended.
#[derive(Debug)]
pub(crate) struct Spool {
    scratch: Arc<Scratch>,
    file: Option<ScratchFile>,
    tail: Vec<u8>,
    reserved: usize,
    records: u64,
    readings: Option<Readings>,
}

/// How often a spool will still be read.
#[derive(Debug)]
struct Readings {
    /// Readings that have not begun.
    left: AtomicU32,
    /// Of each part of [`FREED_BYTES`]: readers that have not passed it.
    parts: Vec<AtomicU32>,
}

impl Spool {
    pub(crate) fn new(scratch: &Arc<Scratch>) -> Self {
        Self {
            scratch: Arc::clone(scratch),
            file: None,
            tail: Vec::new(),
            reserved: 0,
            records: 0,
            readings: None,
        }
    }

    /// Number of records.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of the records.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, ScratchFile::len) + self.tail.len() as u64
    }

    /// Appends one record of two numbers and bytes.
    pub(crate) fn push(&mut self, a: u64, b: u64, bytes: &[u8]) -> Result<(), ImportError> {
        if self.tail.len() + bytes.len() + HEAD_BYTES > self.tail.capacity() {
            self.make_room(bytes.len() + HEAD_BYTES)?;
        }
        put_record(&mut self.tail, a, b, bytes);
        self.records += 1;
        Ok(())
    }

    /// Appends records.
    pub(crate) fn append(&mut self, records: &Records) -> Result<(), ImportError> {
        if self.tail.len() + records.bytes.len() > self.tail.capacity() {
            self.make_room(records.bytes.len())?;
        }
        self.tail.extend_from_slice(&records.bytes);
        self.records += records.count;
        Ok(())
    }

    fn make_room(&mut self, need: usize) -> Result<(), ImportError> {
        let grown = (self.tail.capacity() * 2)
            .max(BUFFER_BYTES)
            .max(self.tail.len() + need);
        let more = grown - self.reserved;
        if self.file.is_none() && (grown <= BUFFER_BYTES || self.scratch.reserve(more)) {
            if grown > BUFFER_BYTES {
                self.reserved = grown;
            }
            self.tail.reserve_exact(grown - self.tail.len());
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(self.scratch.file()?);
        }
        if let Some(file) = &mut self.file {
            file.append(&self.tail)?;
        }
        self.tail.clear();
        if self.reserved > 0 {
            self.tail = Vec::with_capacity(BUFFER_BYTES.max(need));
            self.scratch.release(self.reserved);
            self.reserved = 0;
        }
        self.tail.reserve(need);
        Ok(())
    }

    /// Says that the spool is complete and is read `times` times: what all these readers have
    /// passed is freed.
    pub(crate) fn freed_after(&mut self, times: u32) {
        let parts = self.file.as_ref().map_or(0, |f| f.len() / FREED_BYTES);
        self.readings = Some(Readings {
            left: AtomicU32::new(times),
            parts: (0..parts).map(|_| AtomicU32::new(times)).collect(),
        });
    }

    /// Bytes that the file takes on the device.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, ScratchFile::held_bytes)
    }

    /// A reader has passed the bytes of the file from `from` to `to`.
    fn passed(&self, from: u64, to: u64) {
        let (Some(readings), Some(file)) = (&self.readings, &self.file) else {
            return;
        };
        let part = |offset: u64| (offset / FREED_BYTES) as usize;
        let end = part(to).min(readings.parts.len());
        for number in part(from)..end {
            // The last reader frees; none reads these bytes any more.
            if readings.parts[number].fetch_sub(1, Ordering::AcqRel) == 1 {
                file.free(number as u64 * FREED_BYTES, FREED_BYTES);
            }
        }
    }

    /// Reads from the first record on.
    ///
    /// # Panics
    /// Where the spool was to be read less often (SP-1).
    pub(crate) fn reader(&self) -> SpoolReader<'_> {
        if let Some(readings) = &self.readings {
            let before = readings.left.fetch_sub(1, Ordering::Relaxed);
            assert!(before > 0, "a spool is read more often than was said");
        }
        SpoolReader {
            spool: self,
            buffer: Vec::new(),
            at: 0,
            next: 0,
            left: self.records,
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.scratch.release(self.reserved);
    }
}

/// Reads a spool from front to back.
#[derive(Debug)]
pub(crate) struct SpoolReader<'s> {
    spool: &'s Spool,
    buffer: Vec<u8>,
    at: usize,
    /// Offset of the byte after `buffer`, over file and tail together.
    next: u64,
    left: u64,
}

impl SpoolReader<'_> {
    /// The next record, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, ImportError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        if self.spool.file.is_none() {
            let mut rest = &self.spool.tail[self.at..];
            let (a, b, len) = take_head(&mut rest);
            self.at = self.spool.tail.len() - rest.len() + len;
            return Ok(Some((a, b, &rest[..len])));
        }
        self.want(HEAD_BYTES)?;
        let mut rest = &self.buffer[self.at..];
        let (a, b, len) = take_head(&mut rest);
        self.at = self.buffer.len() - rest.len();
        self.want(len)?;
        self.at += len;
        Ok(Some((a, b, &self.buffer[self.at - len..self.at])))
    }

    /// Has `bytes` in the buffer behind `at`, or all that is left.
    fn want(&mut self, bytes: usize) -> Result<(), ImportError> {
        while self.buffer.len() - self.at < bytes {
            self.buffer.drain(..self.at);
            self.at = 0;
            let on_disk = self.spool.file.as_ref().map_or(0, ScratchFile::len);
            if self.next < on_disk {
                let len = (on_disk - self.next).min(READ_BYTES.max(bytes) as u64) as usize;
                let from = self.buffer.len();
                self.buffer.resize(from + len, 0);
                if let Some(file) = &self.spool.file {
                    file.read(&mut self.buffer[from..], self.next)?;
                }
                self.spool.passed(self.next, self.next + len as u64);
                self.next += len as u64;
            } else if self.next == on_disk && !self.spool.tail.is_empty() {
                self.buffer.extend_from_slice(&self.spool.tail);
                self.next += self.spool.tail.len() as u64;
            } else {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_all_widths_come_back() {
        let mut numbers = vec![0];
        numbers.extend((0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, u64::MAX >> bit]));
        for bytes in [0, 1, 255, 256, 65_535, 65_536] {
            let bytes = vec![7; bytes];
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            for (a, b) in numbers.iter().zip(numbers.iter().rev()) {
                put_record(&mut out, *a, *b, &bytes);
                expected.push((*a, *b, bytes.len()));
            }
            let (mut rest, mut found) = (&out[..], Vec::new());
            while !rest.is_empty() {
                let head = take_head(&mut rest);
                assert_eq!(rest[..head.2], bytes);
                rest = &rest[head.2..];
                found.push(head);
            }
            assert_eq!(found, expected);
        }
    }
}
