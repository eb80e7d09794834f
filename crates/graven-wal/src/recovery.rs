//! Reading a log back: the records from a start to the torn tail.
//!
//! # How it works
//! [`Recovery::open`] walks the whole log once, so that damage is known before the first record is
//! handed out, and changes nothing. Iterating walks it a second time and puts records together that
//! were cut into several frames; what is incomplete at the end was never acknowledged and is left
//! out.
//!
//! # Costs
//! Two passes over the log; memory for one window of 256 KiB and the longest record.

use std::path::PathBuf;
use std::sync::Arc;

use graven_io::File;

use crate::header::FileHeader;
use crate::layout::{u32_at, u64_at};
use crate::record::{Kind, RECORD_BYTES_MAX, RECORD_HEADER_BYTES, Record};
use crate::scan::{Ending, Layout, Tail, Walk, find_tail};
use crate::{Error, Identity, Lsn, Result};

/// Where a log is to be read from, as the data file knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Start {
    /// First record wanted: a position that `append` returned, or the first of the log.
    pub from: Lsn,
    /// The log reached at least to here when the data file was written: its end at the last clean
    /// close.
    pub clean_end: Option<Lsn>,
}

/// What a look at a log found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// First record wanted.
    pub from: Lsn,
    /// End of the intact log.
    pub end: Lsn,
    /// Intact frames that were dropped because one before them is torn or missing; none of them was
    /// acknowledged.
    pub dropped_frames: u64,
}

/// The records of a log, in order.
#[derive(Debug)]
pub struct Recovery {
    path: PathBuf,
    walk: Walk,
    header: FileHeader,
    tail: Tail,
    summary: Summary,
    /// Bytes of the stream that are not yet handed out, from `next` on.
    pending: Vec<u8>,
    taken: usize,
    next: Lsn,
    done: bool,
}

impl Recovery {
    /// Looks at the log in `file` without changing it.
    ///
    /// # Errors
    /// No log, one of another store, a damaged one, a failing file.
    pub fn open(file: Arc<dyn File>, identity: Identity, start: Start) -> Result<Recovery> {
        match Recovery::open_damaged(file, identity, start)? {
            (recovery, None) => Ok(recovery),
            (_, Some(damage)) => Err(damage),
        }
    }

    /// What is wrong with a log that has been cut off, if it has: records may be missing without a
    /// trace in what is left. A log that was never finished counts as one.
    ///
    /// # Errors
    /// No log, one of another store, a failing file.
    pub fn cut_off(file: &dyn File, identity: &Identity) -> Result<Option<Error>> {
        Layout::read(file, identity)?.cut(file, identity)
    }

    /// What is wrong with a log that has been cut off behind a region: it fills all regions there
    /// are, and the last of them with records for which another region must have been free (LG-6).
    /// A log that is cut off where free regions are left cannot be told from a whole one.
    ///
    /// # Errors
    /// As [`Recovery::open_damaged`].
    pub fn cut_between(
        file: &Arc<dyn File>,
        identity: Identity,
        start: Start,
    ) -> Result<Option<Error>> {
        // Most logs have a free region, which the headers alone tell.
        if Layout::read(&**file, &identity)?.has_free(start.from) {
            return Ok(None);
        }
        let (recovery, _) = Recovery::open_damaged(Arc::clone(file), identity, start)?;
        let Some(last) = recovery.tail.fills_all(&recovery.header) else {
            return Ok(None);
        };
        let (path, lsn) = (recovery.path.clone(), recovery.tail.end);
        for record in recovery {
            let record = record?;
            if record.start >= last && matches!(record.kind, Kind::Commit | Kind::Chunk) {
                return Ok(Some(Error::Corrupt {
                    path,
                    offset: file.len()?,
                    lsn,
                    reason: "the file ends behind its last full region, where another one was \
                        kept free: it was cut off, or copied in part"
                        .to_owned(),
                }));
            }
        }
        Ok(None)
    }

    /// As [`Recovery::open`], but where durable records are missing it gives those before them, and
    /// what is wrong.
    ///
    /// # Errors
    /// As [`Recovery::open`], but for damage behind the first record wanted.
    pub fn open_damaged(
        file: Arc<dyn File>,
        identity: Identity,
        start: Start,
    ) -> Result<(Recovery, Option<Error>)> {
        let layout = Arc::new(Layout::read(&*file, &identity)?);
        let Ending {
            tail,
            dropped: dropped_frames,
            damage,
        } = find_tail(&layout, &file, start.from, start.clean_end)?;
        let summary = Summary {
            from: start.from,
            end: tail.end,
            dropped_frames,
        };
        let recovery = Recovery {
            path: file.path().to_path_buf(),
            header: layout.header,
            walk: Walk::from(layout, file, start.from),
            tail,
            summary,
            pending: Vec::new(),
            taken: 0,
            next: start.from,
            done: false,
        };
        Ok((recovery, damage))
    }

    /// Where the log begins.
    pub fn first(&self) -> Lsn {
        self.header.first
    }

    /// What was found.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    pub(crate) fn tail(&self) -> (FileHeader, &Tail) {
        (self.header, &self.tail)
    }

    /// Reads frames until `wanted` bytes of one record are pending.
    fn fill(&mut self, wanted: usize) -> Result<Filled> {
        while self.pending.len() - self.taken < wanted {
            if self.walk.end >= self.tail.end {
                return Ok(Filled::Ended);
            }
            let Some(frame) = self.walk.next(self.next)? else {
                return Err(Error::Corrupt {
                    path: self.path.clone(),
                    offset: self.walk.offset(),
                    lsn: self.walk.end,
                    reason: "a frame that was intact a moment ago is not any more".to_owned(),
                });
            };
            self.pending.drain(..self.taken);
            self.taken = 0;
            let void = frame.fresh && !self.pending.is_empty();
            if void {
                self.pending.clear();
                self.next = frame.first;
            }
            let skip = self.summary.from.0.saturating_sub(frame.first.0) as usize;
            let content = self.walk.content(frame)?;
            self.pending
                .extend_from_slice(content.get(skip..).unwrap_or(&[]));
            if void {
                return Ok(Filled::Anew);
            }
        }
        Ok(Filled::Enough)
    }

    fn read(&mut self) -> Result<Option<Record>> {
        loop {
            match self.read_at_next()? {
                Read::Whole(record) => return Ok(Some(record)),
                Read::Ended => return Ok(None),
                Read::Anew => {}
            }
        }
    }

    fn read_at_next(&mut self) -> Result<Read> {
        match self.fill(RECORD_HEADER_BYTES)? {
            Filled::Enough => {}
            Filled::Ended => return Ok(Read::Ended),
            Filled::Anew => return Ok(Read::Anew),
        }
        let header = &self.pending[self.taken..self.taken + RECORD_HEADER_BYTES];
        let (length, number) = (u32_at(header, 0) as usize, header[4]);
        let transaction = u64_at(header, 8);
        if length > RECORD_BYTES_MAX || header[5..8] != [0; 3] {
            return Err(Error::Corrupt {
                path: self.path.clone(),
                offset: self.walk.offset(),
                lsn: self.next,
                reason: "no record begins there".to_owned(),
            });
        }
        let Some(kind) = Kind::from_number(number) else {
            return Err(Error::Newer {
                path: self.path.clone(),
                found: u32::from(number),
                known: u32::from(Kind::NEWEST),
            });
        };
        let bytes = RECORD_HEADER_BYTES + length;
        match self.fill(bytes)? {
            Filled::Enough => {}
            Filled::Ended => return Ok(Read::Ended),
            Filled::Anew => return Ok(Read::Anew),
        }
        let start = self.next;
        let payload = &self.pending[self.taken + RECORD_HEADER_BYTES..self.taken + bytes];
        let payload = payload.to_vec();
        self.taken += bytes;
        self.next.0 += bytes as u64;
        Ok(Read::Whole(Record {
            start,
            end: self.next,
            kind,
            transaction,
            payload,
        }))
    }
}

/// Whether a record's bytes are there.
enum Filled {
    Enough,
    /// The log ends before.
    Ended,
    /// The log was opened anew before the record was complete; the next one begins.
    Anew,
}

enum Read {
    Whole(Record),
    Ended,
    Anew,
}

impl Iterator for Recovery {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Result<Record>> {
        if self.done {
            return None;
        }
        let next = self.read().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}
