//! A stream of rows in temporary pages: written once, read once or many times, in order.
//!
//! # How it works
//! Rows are records with their length in front, one behind the other without regard to pages: a row
//! may be longer than a page. A reader copies a page's bytes out, so that it holds no pin, and
//! frees the page when the stream is its own.

use std::collections::VecDeque;
use std::sync::Arc;

use graven_pagecache::{SizeClass, TemporaryPage, TemporaryPages};

use super::row_format::{Take, put_column_value, put_number};
use super::spill_error;
use crate::batch::Batch;
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::value::Value;

/// Writes rows; see the file header.
pub(crate) struct RowWriter {
    pages: TemporaryPages,
    class: SizeClass,
    operator: &'static str,
    buffer: Vec<u8>,
    record: Vec<u8>,
    full: Vec<TemporaryPage>,
    rows: u64,
    longest: usize,
}

/// Rows that have been written.
pub(crate) struct RowRun {
    pages: Vec<TemporaryPage>,
    rows: u64,
    longest: usize,
    operator: &'static str,
}

impl RowWriter {
    pub(super) fn new(pages: TemporaryPages, class: SizeClass, operator: &'static str) -> Self {
        Self {
            pages,
            class,
            operator,
            buffer: Vec::new(),
            record: Vec::new(),
            full: Vec::new(),
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
    pub(crate) fn push_with(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.record.clear();
        encode(&mut self.record);
        put_number(&mut self.buffer, self.record.len() as u64);
        self.buffer.extend_from_slice(&self.record);
        self.rows += 1;
        self.longest = self.longest.max(self.record.len());
        self.flush(self.class.payload_bytes())
    }

    /// Hands pages over while at least `least` bytes wait.
    fn flush(&mut self, least: usize) -> Result<()> {
        let room = self.class.payload_bytes();
        let mut done = 0;
        while self.buffer.len() - done >= least && done < self.buffer.len() {
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

    /// The rows written.
    pub(crate) fn finish(mut self) -> Result<RowRun> {
        self.flush(1)?;
        Ok(RowRun {
            pages: self.full,
            rows: self.rows,
            longest: self.longest,
            operator: self.operator,
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
        RowReader::new(self.operator, Source::Own(self.pages.into()))
    }

    /// Reads the rows and keeps them.
    pub(crate) fn reader(self: &Arc<Self>) -> RowReader {
        RowReader::new(self.operator, Source::Shared(Arc::clone(self), 0))
    }
}

enum Source {
    Own(VecDeque<TemporaryPage>),
    Shared(Arc<RowRun>, usize),
}

/// Reads rows; see the file header.
pub(crate) struct RowReader {
    operator: &'static str,
    source: Source,
    bytes: Vec<u8>,
    at: usize,
}

impl RowReader {
    fn new(operator: &'static str, source: Source) -> Self {
        Self {
            operator,
            source,
            bytes: Vec::new(),
            at: 0,
        }
    }

    /// The next rows, at most `rows` and not many more than `bytes` bytes of them; `None` at the
    /// end.
    pub(crate) fn next_batch(&mut self, rows: usize, bytes: usize) -> Result<Option<Batch>> {
        let mut columns: Vec<Vec<Value>> = Vec::new();
        let (mut count, mut taken) = (0, 0);
        while count < rows && taken < bytes {
            let Some(record) = self.record()? else { break };
            taken += record.len();
            let mut take = Take {
                bytes: &self.bytes[record],
            };
            let mut at = 0;
            while !take.bytes.is_empty() {
                let value = take.value().ok_or_else(|| damaged(self.operator))?;
                if at == columns.len() {
                    columns.push(Vec::new());
                }
                columns[at].push(value);
                at += 1;
            }
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

    /// Where the next record's content lies in `bytes`.
    fn record(&mut self) -> Result<Option<std::ops::Range<usize>>> {
        loop {
            let mut take = Take {
                bytes: &self.bytes[self.at..],
            };
            if let Some(length) = take.number()
                && take.bytes.len() as u64 >= length
            {
                let start = self.bytes.len() - take.bytes.len();
                self.at = start + length as usize;
                return Ok(Some(start..self.at));
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Appends the bytes of the next page; whether there was one.
    fn more(&mut self) -> Result<bool> {
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
        message: format!("{operator} read back other rows than it wrote"),
    }
}
