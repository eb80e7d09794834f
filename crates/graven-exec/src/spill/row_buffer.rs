//! Rows kept in the order they came, in memory as long as they fit, in temporary pages from then
//! on.
//!
//! # How it works
//! Batches are kept as they are until they would take more than an operator should have; then all
//! of them go to one stream, and so do those that follow. Reading begins when the last row is in,
//! and gives back as it goes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{RowReader, RowRun, RowWriter, Spill};
use crate::batch::{BATCH_ROWS, Batch};
use crate::error::Result;
use crate::memory::Memory;
use crate::query_context::QueryContext;

/// Bytes of rows read back at a time.
const READ_BYTES: usize = 256 << 10;

/// See the file header.
pub(crate) struct RowBuffer {
    memory: Memory,
    spill: Option<Spill>,
    batches: VecDeque<Batch>,
    bytes: usize,
    writer: Option<RowWriter>,
    reader: Option<RowReader>,
    /// Rows that are read more than once.
    run: Option<Arc<RowRun>>,
}

/// The rows of a buffer, which keeps them.
pub(crate) struct KeptRows {
    batches: std::vec::IntoIter<Batch>,
    reader: Option<RowReader>,
}

impl KeptRows {
    /// The next rows.
    ///
    /// # Errors
    /// Temporary pages cannot be read.
    pub(crate) fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        match &mut self.reader {
            Some(reader) => reader.next_batch(BATCH_ROWS, READ_BYTES.min(rt.batch_bytes())),
            None => Ok(self.batches.next()),
        }
    }
}

impl RowBuffer {
    /// An empty one for `operator`; `remedy` as in [`Memory::new`].
    pub(crate) fn new(rt: &QueryContext, operator: &'static str, remedy: &'static str) -> Self {
        Self {
            memory: rt.spilling_memory(operator, remedy),
            spill: Spill::new(rt, operator),
            batches: VecDeque::new(),
            bytes: 0,
            writer: None,
            reader: None,
            run: None,
        }
    }

    /// Appends rows.
    ///
    /// # Errors
    /// No room, neither in memory nor for temporary pages.
    pub(crate) fn push(&mut self, batch: Batch) -> Result<()> {
        if let Some(writer) = &mut self.writer {
            return write(writer, &batch);
        }
        let bytes = self.bytes + batch.heap_bytes();
        if !self.memory.keeps(bytes) {
            match &self.spill {
                None => self.memory.set(bytes)?,
                Some(spill) => {
                    let mut writer = spill.writer();
                    for kept in self.batches.drain(..) {
                        write(&mut writer, &kept)?;
                    }
                    write(&mut writer, &batch)?;
                    self.bytes = 0;
                    self.memory.force(2 * spill.buffer_bytes());
                    self.writer = Some(writer);
                    return Ok(());
                }
            }
        }
        self.bytes = bytes;
        self.batches.push_back(batch);
        Ok(())
    }

    /// No more rows come; they can be read.
    ///
    /// # Errors
    /// No room for temporary pages.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.reader = Some(writer.finish()?.into_reader());
        }
        Ok(())
    }

    /// As [`RowBuffer::finish`], for rows that are read more than once.
    ///
    /// # Errors
    /// No room for temporary pages.
    pub(crate) fn finish_to_repeat(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            self.run = Some(Arc::new(writer.finish()?));
        }
        Ok(())
    }

    /// All rows, from the first one on; they stay here.
    pub(crate) fn repeated(&self) -> KeptRows {
        let batches: Vec<Batch> = self.batches.iter().cloned().collect();
        KeptRows {
            batches: batches.into_iter(),
            reader: self.run.as_ref().map(RowRun::reader),
        }
    }

    /// The next rows, which are gone from here then.
    ///
    /// # Errors
    /// Temporary pages cannot be read.
    pub(crate) fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        if let Some(reader) = &mut self.reader {
            let batch = reader.next_batch(BATCH_ROWS, READ_BYTES.min(rt.batch_bytes()))?;
            if batch.is_none() {
                self.clear();
            }
            return Ok(batch);
        }
        let next = self.batches.pop_front();
        match &next {
            Some(batch) => {
                self.bytes = self.bytes.saturating_sub(batch.heap_bytes());
                self.memory.release(batch.heap_bytes());
            }
            None => self.clear(),
        }
        Ok(next)
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.batches.clear();
        self.bytes = 0;
        self.writer = None;
        self.reader = None;
        self.run = None;
        self.memory.clear();
    }

    /// Bytes written to disk so far.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::spilled_bytes)
    }
}

fn write(writer: &mut RowWriter, batch: &Batch) -> Result<()> {
    (0..batch.len()).try_for_each(|row| writer.push(batch, row))
}
