//! Asynchronous reads of one file into memory that the caller owns.
//!
//! # Concurrency
//! A queue is `Send` and driven by one thread at a time, so it is usually kept in a mutex. Nothing
//! in it belongs to the thread that submitted: any thread that holds the mutex may reap. `submit`
//! never waits for a read. Reads beyond the depth wait in the queue and go out as others complete,
//! which happens inside `submit` and `reap` of any thread.

use std::io;
use std::path::Path;

use crate::{Error, Operation, Result};

/// Most scattered destinations of one read.
pub const PARTS_MAX: usize = 16;

/// Most bytes of one destination: what one system call reads.
const PART_BYTES_MAX: usize = 1 << 30;

/// One destination of a read; laid out as the kernel's `iovec`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReadPart {
    /// Where the bytes go.
    pub start: *mut u8,
    /// How many.
    pub bytes: usize,
}

// SAFETY: a part is an address and a length. Which code may touch the memory there, and when, is
// the contract of `ReadQueue::submit`, which does not depend on the thread.
unsafe impl Send for ReadPart {}

/// One contiguous range of the file, read into one or several destinations.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest {
    /// Handed back with the completion.
    pub token: u64,
    /// First byte of the range.
    pub offset: u64,
    parts: [ReadPart; PARTS_MAX],
    part_count: usize,
}

impl ReadRequest {
    /// A read of `bytes` bytes at `offset` to `start`.
    pub fn new(token: u64, offset: u64, start: *mut u8, bytes: usize) -> ReadRequest {
        let mut parts = [ReadPart {
            start: std::ptr::null_mut(),
            bytes: 0,
        }; PARTS_MAX];
        parts[0] = ReadPart { start, bytes };
        ReadRequest {
            token,
            offset,
            parts,
            part_count: 1,
        }
    }

    /// Adds the destination of the bytes that follow (a neighbouring page); `false` when the
    /// request is full, and then nothing was added.
    #[must_use]
    pub fn push(&mut self, start: *mut u8, bytes: usize) -> bool {
        if self.part_count == PARTS_MAX {
            return false;
        }
        self.parts[self.part_count] = ReadPart { start, bytes };
        self.part_count += 1;
        true
    }

    /// The destinations, in file order.
    pub fn parts(&self) -> &[ReadPart] {
        &self.parts[..self.part_count]
    }

    /// All bytes wanted.
    pub fn bytes(&self) -> usize {
        self.parts().iter().map(|part| part.bytes).sum()
    }

    /// First byte behind the range.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes() as u64
    }

    /// What remains after the first `done` bytes arrived; `None` where nothing does.
    pub(crate) fn remainder(&self, done: usize) -> Option<ReadRequest> {
        let mut rest = *self;
        rest.part_count = 0;
        rest.offset += done as u64;
        let mut skip = done;
        for part in self.parts() {
            if skip >= part.bytes {
                skip -= part.bytes;
                continue;
            }
            let start = part.start.wrapping_add(skip);
            rest.parts[rest.part_count] = ReadPart {
                start,
                bytes: part.bytes - skip,
            };
            rest.part_count += 1;
            skip = 0;
        }
        (rest.part_count > 0).then_some(rest)
    }

    /// Refuses requests that no backend, or not a file of this `alignment`, could carry out.
    ///
    /// # Errors
    /// [`Error::BadRequest`], [`Error::Unaligned`].
    pub fn check(&self, path: &Path, alignment: usize) -> Result<()> {
        if self
            .parts()
            .iter()
            .any(|part| part.bytes == 0 || part.bytes > PART_BYTES_MAX)
        {
            let (parts, bytes) = (self.part_count, self.bytes() as u64);
            return Err(Error::BadRequest {
                offset: self.offset,
                parts,
                bytes,
                max: PARTS_MAX,
            });
        }
        let mask = alignment - 1;
        let parts_fit = self
            .parts()
            .iter()
            .all(|p| (p.start.addr() | p.bytes) & mask == 0);
        if parts_fit && self.offset as usize & mask == 0 {
            return Ok(());
        }
        Err(Error::Unaligned {
            operation: Operation::Read,
            path: path.to_path_buf(),
            offset: self.offset,
            length: self.bytes() as u64,
            alignment: alignment as u64,
        })
    }
}

/// A read that ended.
#[derive(Debug)]
pub struct Completion {
    /// The request's token.
    pub token: u64,
    /// Bytes read: fewer than wanted only where the file ends; or the failure.
    pub result: io::Result<usize>,
}

/// How long [`ReadQueue::reap`] stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Takes what has arrived; no system call when nothing needs one.
    None,
    /// Until this many have been delivered by this call, or nothing is in flight any more.
    AtLeast(usize),
}

/// How a queue reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum QueueKind {
    /// io_uring.
    Uring,
    /// Threads that call `pread`.
    PreadPool,
    /// At submission (files in memory).
    Immediate,
    /// Requests for ranges of objects.
    Ranges,
}

impl std::fmt::Display for QueueKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            QueueKind::Uring => "io_uring",
            QueueKind::PreadPool => "pread pool",
            QueueKind::Immediate => "immediate",
            QueueKind::Ranges => "ranged requests",
        })
    }
}

/// Asynchronous reads of one file; dropping it waits for those in flight.
pub trait ReadQueue: Send {
    /// Hands over a batch of reads, with one system call where the depth allows. Never waits for a
    /// read.
    ///
    /// # Errors
    /// A request is malformed or unaligned: then none of the batch was taken. Failures of reads,
    /// and of handing them to the kernel, come as completions or from [`ReadQueue::reap`].
    ///
    /// # Safety
    /// Until its completion is reaped or the queue has been dropped, every destination is valid for
    /// writes. Until then no other code writes it or relies on its content.
    unsafe fn submit(&mut self, reads: &[ReadRequest]) -> Result<()>;

    /// Appends ended reads to `done`.
    ///
    /// # Errors
    /// The system refuses to drive the queue; reads in flight stay so.
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<()>;

    /// Reads submitted and not yet reaped.
    fn in_flight(&self) -> usize;

    /// How it reads.
    fn kind(&self) -> QueueKind;
}
