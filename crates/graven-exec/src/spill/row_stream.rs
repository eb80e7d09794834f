//! A stream of rows in temporary pages: written once, read once or many times, in order.
//!
//! # How it works
//! Rows are records, one behind the other without regard to pages: a row may be longer than a page.
//! A record is one part or several, each of at most 64 KiB with its length in front and whether it
//! is the last one: so a writer never has all of a long row. A reader copies a page's bytes out, so
//! that it holds no pin, and frees the page when the stream is its own; it puts a row of several
//! parts together, charged to the budget.

use std::collections::VecDeque;
use std::sync::Arc;

use graven_pagecache::{Budget, Reservation, SizeClass, TemporaryPage, TemporaryPages};
use graven_types::told;

use super::row_format::{Out, Take, put_column_value, put_number};
use super::spill_error;
use crate::batch::Batch;
use crate::column::Column;
use crate::deadline::Cancellation;
use crate::error::{ExecError, Result};
use crate::memory::fills_alone;
use crate::value::Value;

/// Bytes of a part of a record.
const PART_BYTES: usize = 64 << 10;

/// Writes rows; see the file header.
pub(crate) struct RowWriter {
    record: Record,
    rows: u64,
    longest: usize,
}

/// The row that is being written, and pages of those before it.
pub(crate) struct Record {
    pages: TemporaryPages,
    class: SizeClass,
    operator: &'static str,
    /// Parts that fill no page yet.
    buffer: Vec<u8>,
    /// The part of the row that has not ended.
    part: Vec<u8>,
    /// Bytes of the parts that have.
    ended: usize,
    full: Vec<TemporaryPage>,
    cancellation: Cancellation,
    /// What became of a page; the row is not written then.
    failed: Option<ExecError>,
}

/// Rows that have been written.
pub(crate) struct RowRun {
    pages: Vec<TemporaryPage>,
    rows: u64,
    longest: usize,
    operator: &'static str,
    budget: Arc<Budget>,
    cancellation: Cancellation,
}

impl Out for Record {
    fn push(&mut self, byte: u8) {
        self.part.push(byte);
        if self.part.len() == PART_BYTES {
            self.end_part(false);
        }
    }

    fn extend_from_slice(&mut self, mut bytes: &[u8]) {
        while self.part.len() + bytes.len() >= PART_BYTES {
            let (now, rest) = bytes.split_at(PART_BYTES - self.part.len());
            self.part.extend_from_slice(now);
            self.end_part(false);
            bytes = rest;
        }
        self.part.extend_from_slice(bytes);
    }
}

impl Record {
    /// Puts the part behind the others.
    fn end_part(&mut self, is_last: bool) {
        let head = (self.part.len() as u64) << 1 | u64::from(is_last);
        put_number(&mut self.buffer, head);
        self.buffer.extend_from_slice(&self.part);
        self.ended += self.part.len();
        self.part.clear();
        match self.failed {
            None => self.failed = self.flush(self.class.payload_bytes()).err(),
            Some(_) => self.buffer.clear(),
        }
    }

    /// Hands pages over while at least `least` bytes wait.
    fn flush(&mut self, least: usize) -> Result<()> {
        let room = self.class.payload_bytes();
        let mut done = 0;
        while self.buffer.len() - done >= least && done < self.buffer.len() {
            self.cancellation.check()?;
            let part = &self.buffer[done..self.buffer.len().min(done + room)];
            let mut page = self
                .pages
                .allocate(self.class)
                .map_err(|e| spill_error(self.operator, e))?;
            page[..part.len()].copy_from_slice(part);
            self.full.push(page.finish(part.len()));
            done += part.len();
        }
        self.buffer.drain(..done);
        Ok(())
    }
}

impl RowWriter {
    pub(super) fn new(
        pages: TemporaryPages,
        class: SizeClass,
        operator: &'static str,
        cancellation: Cancellation,
    ) -> Self {
        Self {
            record: Record {
                pages,
                class,
                operator,
                buffer: Vec::new(),
                part: Vec::new(),
                ended: 0,
                full: Vec::new(),
                cancellation,
                failed: None,
            },
            rows: 0,
            longest: 0,
        }
    }

    /// Appends one row of a batch.
    pub(crate) fn push(&mut self, batch: &Batch, row: usize) -> Result<()> {
        self.push_with(|out| {
            for column in batch.columns() {
                put_column_value(out, column, row);
            }
        })
    }

    /// Appends a row whose values `encode` puts one behind the other.
    pub(crate) fn push_with(&mut self, encode: impl FnOnce(&mut Record)) -> Result<()> {
        let record = &mut self.record;
        record.ended = 0;
        encode(record);
        record.end_part(true);
        self.rows += 1;
        self.longest = self.longest.max(record.ended);
        match record.failed.take() {
            Some(failed) => Err(failed),
            None => Ok(()),
        }
    }

    /// The rows written.
    pub(crate) fn finish(mut self) -> Result<RowRun> {
        self.record.flush(1)?;
        Ok(RowRun {
            budget: Arc::clone(self.record.pages.cache().budget()),
            pages: self.record.full,
            rows: self.rows,
            longest: self.longest,
            operator: self.record.operator,
            cancellation: self.record.cancellation,
        })
    }
}

impl RowRun {
    /// Rows in it.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of the longest row.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// Reads the rows and frees them.
    pub(crate) fn into_reader(self) -> RowReader {
        let long = self.long();
        let (operator, cancellation) = (self.operator, self.cancellation);
        RowReader::new(
            (operator, cancellation),
            long,
            Source::Own(self.pages.into()),
        )
    }

    /// Reads the rows and keeps them.
    pub(crate) fn reader(self: &Arc<Self>) -> RowReader {
        let of = (self.operator, self.cancellation.clone());
        RowReader::new(of, self.long(), Source::Shared(Arc::clone(self), 0))
    }

    fn long(&self) -> Long {
        Long {
            bytes: Vec::new(),
            longest: self.longest,
            reservation: self.budget.empty_reservation("rows read back"),
        }
    }
}

/// A row of several parts, put together.
struct Long {
    bytes: Vec<u8>,
    longest: usize,
    /// Of the bytes.
    reservation: Reservation,
}

impl Long {
    fn add(&mut self, part: &[u8], operator: &'static str) -> Result<()> {
        if self.bytes.capacity() == 0 {
            let bytes = self.longest;
            self.reservation
                .grow(bytes as u64)
                .map_err(|refusal| ExecError::Memory {
                    operator,
                    bytes,
                    alone: fills_alone(bytes as u64, refusal.limit),
                    detail: refusal.to_string(),
                    remedy: "make shorter lists and texts",
                })?;
            self.bytes.reserve_exact(bytes);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    fn clear(&mut self) {
        self.bytes = Vec::new();
        self.reservation.shrink(self.reservation.bytes());
    }
}

enum Source {
    Own(VecDeque<TemporaryPage>),
    Shared(Arc<RowRun>, usize),
}

/// Reads rows; see the file header.
pub(crate) struct RowReader {
    operator: &'static str,
    cancellation: Cancellation,
    source: Source,
    long: Long,
    /// For the values of the batch that was read last, where there is room.
    batch: Reservation,
    bytes: Vec<u8>,
    at: usize,
}

/// Where a record is.
enum Found {
    /// Of one part: there among the bytes.
    Here(std::ops::Range<usize>),
    Long,
}

impl RowReader {
    fn new(
        (operator, cancellation): (&'static str, Cancellation),
        long: Long,
        source: Source,
    ) -> Self {
        let batch = long
            .reservation
            .budget()
            .empty_reservation("rows read back");
        Self {
            operator,
            cancellation,
            source,
            long,
            batch,
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// The next rows, at most `rows` and not many more than `bytes` bytes of them; `None` at the
    /// end.
    pub(crate) fn next_batch(&mut self, rows: usize, bytes: usize) -> Result<Option<Batch>> {
        let mut columns: Vec<Vec<Value>> = Vec::new();
        let (mut count, mut taken) = (0, 0);
        self.batch.shrink(self.batch.bytes());
        while count < rows && taken < bytes {
            let Some(record) = self.record()? else { break };
            let record = match record {
                Found::Here(range) => &self.bytes[range],
                Found::Long => {
                    let length = self.long.bytes.len();
                    // Without room they are read all the same: they were there before.
                    let _ = self.batch.grow(length as u64);
                    &self.long.bytes[..]
                }
            };
            taken += record.len();
            let mut take = Take { bytes: record };
            let mut at = 0;
            while !take.bytes.is_empty() {
                let value = take.value().ok_or_else(|| damaged(self.operator))?;
                if at == columns.len() {
                    columns.push(Vec::new());
                }
                columns[at].push(value);
                at += 1;
            }
            // Its values are held now.
            self.long.clear();
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        let columns = columns
            .into_iter()
            .map(|values| Arc::new(Column::from_values(values)))
            .collect();
        Ok(Some(Batch::new(columns, count)))
    }

    /// The next record; what was long of the one before it is cleared.
    fn record(&mut self) -> Result<Option<Found>> {
        loop {
            let mut take = Take {
                bytes: &self.bytes[self.at..],
            };
            if let Some(head) = take.number()
                && take.bytes.len() as u64 >= head >> 1
            {
                let start = self.bytes.len() - take.bytes.len();
                self.at = start + (head >> 1) as usize;
                let (part, is_last) = (start..self.at, head & 1 == 1);
                if is_last && self.long.bytes.is_empty() {
                    return Ok(Some(Found::Here(part)));
                }
                self.long.add(&self.bytes[part], self.operator)?;
                if is_last {
                    return Ok(Some(Found::Long));
                }
            } else if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Appends the bytes of the next page; whether there was one.
    fn more(&mut self) -> Result<bool> {
        self.cancellation.check()?;
        let failed = |e| spill_error(self.operator, e);
        self.bytes.drain(..self.at);
        self.at = 0;
        match &mut self.source {
            Source::Own(pages) => {
                let Some(page) = pages.pop_front() else {
                    return Ok(false);
                };
                self.bytes
                    .extend_from_slice(&page.into_pinned().map_err(failed)?);
            }
            Source::Shared(run, next) => {
                let Some(page) = run.pages.get(*next) else {
                    return Ok(false);
                };
                *next += 1;
                self.bytes.extend_from_slice(&page.pin().map_err(failed)?);
            }
        }
        Ok(true)
    }
}

fn damaged(operator: &'static str) -> ExecError {
    ExecError::Plan {
        message: told!("{operator} read back other rows than it wrote"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::put_value;
    use graven_io::{File, MemoryFile};
    use graven_pagecache::{Config, PageCache, SpillFile};

    /// Goal: rows of one part, of several, and of just as many bytes as a part come back in their
    /// order; the bytes of a long one are charged while it is read.
    #[test]
    fn long_rows_come_back() {
        let budget = Budget::new(8 << 20);
        let cache = PageCache::new(Config::new(Arc::clone(&budget))).expect("a cache");
        let open = || Ok(Arc::new(MemoryFile::new("spill")) as Arc<dyn File>);
        let spill = SpillFile::new(&cache, "test", u64::MAX, Box::new(open)).expect("a file");
        let class = SizeClass::MIN;
        let mut writer = RowWriter::new(spill.owner(), class, "Test", Cancellation::default());
        let lengths = [
            0,
            1,
            PART_BYTES - 5,
            PART_BYTES - 4,
            PART_BYTES - 3,
            300_000,
            2,
            1_000_000,
        ];
        let text = |length: usize| Value::text(&"xyz".repeat(length)[..length]);
        for length in lengths {
            writer
                .push_with(|out| {
                    put_value(out, &Value::Integer(length as i64));
                    put_value(out, &text(length));
                })
                .expect("written");
        }
        let mut reader = writer.finish().expect("finished").into_reader();
        for length in lengths {
            let row = reader
                .next_batch(1, usize::MAX)
                .expect("read")
                .expect("a row");
            assert_eq!(row.column(0).value(0), Value::Integer(length as i64));
            assert!(row.column(1).value(0) == text(length), "{length}");
        }
        assert!(reader.next_batch(1, usize::MAX).expect("read").is_none());
    }
}
