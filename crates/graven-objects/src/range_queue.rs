//! A read queue that sends each read as a request for a range.
//!
//! # How it works
//! `submit` joins the ranges of a batch into requests ([`crate::ranges`]) and starts them all; what
//! needs none (zeros, the overlay) is copied at once. An answer waits in a list until `reap` copies
//! it to where it belongs.
//!
//! # Invariants
//! * OB-9: destinations are written by `submit` and `reap` alone, in the thread that calls them; so
//!   dropping the queue need not wait for requests: their answers go nowhere.
//!
//! # Costs
//! Besides the frames, memory of the answers that have come and not been reaped: no more than the
//! frames of the same reads and the gaps between them.
#![expect(unsafe_code, reason = "reads go into frame memory")]

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use graven_io::{Completion, QueueKind, ReadQueue, ReadRequest, Result, Wait};
use parking_lot::{Condvar, Mutex};

use crate::error::Error;
use crate::error::io_error;
use crate::fetch::{Origin, Source};
use crate::ranges::{Joined, Piece, join};
use crate::runtime;

/// Answers that no thread has taken yet.
#[derive(Default)]
struct Answers {
    list: Mutex<Vec<(Joined, crate::Result<Bytes>)>>,
    arrived: Condvar,
}

/// A read that waits for answers.
struct Waiting {
    request: ReadRequest,
    pieces: usize,
    bytes: usize,
    failed: Option<std::io::Error>,
}

/// Read queue over requests for ranges.
pub(crate) struct RangeQueue {
    source: Arc<Source>,
    path: PathBuf,
    answers: Arc<Answers>,
    reads: Vec<Option<Waiting>>,
    /// Places in `reads` that are free.
    idle: Vec<usize>,
    ended: Vec<Completion>,
    in_flight: usize,
}

impl RangeQueue {
    pub(crate) fn new(source: Arc<Source>, path: PathBuf) -> RangeQueue {
        RangeQueue {
            source,
            path,
            answers: Arc::default(),
            reads: Vec::new(),
            idle: Vec::new(),
            ended: Vec::new(),
            in_flight: 0,
        }
    }

    /// Takes a read: what needs no request is done here, the rest goes to `pieces`.
    fn take(&mut self, request: &ReadRequest, pieces: &mut Vec<Piece>) {
        let read = self.idle.pop().unwrap_or_else(|| {
            self.reads.push(None);
            self.reads.len() - 1
        });
        let (mut at, before) = (0, pieces.len());
        for segment in self.source.segments(request.offset, request.bytes()) {
            match segment.origin {
                Origin::Zeros => scatter(request, at, &vec![0; segment.bytes]),
                Origin::Overlay(range) => scatter(request, at, &self.source.overlay[range]),
                Origin::Chunk(chunk, range) => pieces.push(Piece {
                    read,
                    at,
                    chunk,
                    range,
                }),
            }
            at += segment.bytes;
        }
        self.in_flight += 1;
        let waiting = Waiting {
            request: *request,
            pieces: pieces.len() - before,
            bytes: at,
            failed: None,
        };
        self.reads[read] = Some(waiting);
        if pieces.len() == before {
            self.end(read);
        }
    }

    fn end(&mut self, read: usize) {
        let waiting = self.reads[read].take().expect("it waits");
        self.idle.push(read);
        self.ended.push(Completion {
            token: waiting.request.token,
            result: waiting.failed.map_or(Ok(waiting.bytes), Err),
        });
    }

    fn start(&self, joined: Joined) {
        let (source, answers) = (self.source.clone(), self.answers.clone());
        let (chunk, range) = (joined.chunk, joined.range.clone());
        let unsent = joined.clone();
        let started = runtime::spawn(async move {
            // The queue is gone: no thread waits for it.
            if Arc::strong_count(&answers) == 1 {
                return;
            }
            let answer = source.fetch(chunk, range).await;
            answers.list.lock().push((joined, answer));
            answers.arrived.notify_all();
        });
        if let Err(error) = started {
            let error = Error::Setting(format!("no thread for requests: {error}"));
            self.answers.list.lock().push((unsent, Err(error)));
        }
    }

    fn deliver(&mut self, joined: &Joined, answer: &crate::Result<Bytes>) {
        for piece in &joined.pieces {
            let waiting = self.reads[piece.read].as_mut().expect("it waits");
            match answer {
                Ok(bytes) => {
                    let from = (piece.range.start - joined.range.start) as usize;
                    let to = (piece.range.end - joined.range.start) as usize;
                    scatter(&waiting.request, piece.at, &bytes[from..to]);
                }
                Err(error) => waiting.failed = Some(io_error(error)),
            }
            waiting.pieces -= 1;
            if waiting.pieces == 0 {
                self.end(piece.read);
            }
        }
    }
}

/// Copies `bytes` to the destinations of `request`, from its byte `at` on.
fn scatter(request: &ReadRequest, at: usize, bytes: &[u8]) {
    let (mut skip, mut rest) = (at, bytes);
    for part in request.parts() {
        if rest.is_empty() {
            return;
        }
        if skip >= part.bytes {
            skip -= part.bytes;
            continue;
        }
        let count = rest.len().min(part.bytes - skip);
        // SAFETY: the part is valid for writes and no other code uses it until the completion is
        // reaped (contract of `submit`), which is after this (OB-9); `count` bytes fit behind
        // `skip`.
        unsafe { std::ptr::copy_nonoverlapping(rest.as_ptr(), part.start.add(skip), count) };
        rest = &rest[count..];
        skip = 0;
    }
    debug_assert!(rest.is_empty(), "a read has room for what it asks for");
}

impl ReadQueue for RangeQueue {
    unsafe fn submit(&mut self, reads: &[ReadRequest]) -> Result<()> {
        for read in reads {
            read.check(&self.path, 1)?;
        }
        let mut pieces = Vec::new();
        for read in reads {
            self.take(read, &mut pieces);
        }
        for joined in join(pieces) {
            self.start(joined);
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<()> {
        let wanted = match wait {
            Wait::None => 0,
            Wait::AtLeast(count) => count,
        };
        let mut delivered = 0;
        loop {
            let answers = std::mem::take(&mut *self.answers.list.lock());
            for (joined, answer) in &answers {
                self.deliver(joined, answer);
            }
            delivered += self.ended.len();
            self.in_flight -= self.ended.len();
            done.append(&mut self.ended);
            if delivered >= wanted || self.in_flight == 0 {
                return Ok(());
            }
            let mut list = self.answers.list.lock();
            if list.is_empty() {
                self.answers.arrived.wait(&mut list);
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn kind(&self) -> QueueKind {
        QueueKind::Ranges
    }
}
