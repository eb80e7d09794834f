//! Bulk writing of one column, ids ascending.
//!
//! # How it works
//! Values are gathered until there are more than a segment of the usual number takes; then the longest prefix
//! that fits the target size is looked for, starting with the number that fitted last, and written.
//!
//! # Costs
//! Memory: about 1.3 segments' worth of decoded values.

use super::segment::{Cell, SPAN_MAX, encode, long_bytes};
use crate::chain;
use crate::directory::SegmentEntry;
use crate::value::PropertyValue;
use crate::value::encode::{MAX_DEPTH, depth_fits};
use crate::writer::shared::{Shared, StoreBuild};
use crate::{Error, Result};
use graven_pagecache::{PageKind, SizeClass};
use std::sync::Arc;

/// Target payload of a segment: 16 KiB pages.
const TARGET_BYTES: usize = SizeClass::MIN.bytes() * 4 - graven_pagecache::page::HEADER_BYTES;
/// Longer values go to a chain of their own.
const INLINE_MAX: usize = 4000;
/// Bytes gathered at most, whatever the number of values.
const GATHERED_MAX: usize = 256 << 10;
const TRIES: usize = 5;

/// Writes one column.
#[derive(Debug)]
pub struct ColumnWriter {
    shared: Arc<Shared>,
    store: StoreBuild,
    kind: PageKind,
    id_limit: u64,
    cells: Vec<(u64, Cell)>,
    gathered_bytes: usize,
    /// Values that fitted the last segment.
    usual: usize,
}

impl ColumnWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        store: StoreBuild,
        kind: PageKind,
        id_limit: u64,
    ) -> ColumnWriter {
        ColumnWriter {
            shared,
            store,
            kind,
            id_limit,
            cells: Vec::new(),
            gathered_bytes: 0,
            usual: 8192,
        }
    }

    /// Adds the value of `id`; ids ascend. Null is the same as no value.
    ///
    /// # Errors
    /// [`Error::Order`]; [`Error::Limit`] for ids that do not exist and lists nested too deep; what writing gives.
    pub fn push(&mut self, id: u64, value: &PropertyValue) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        if let Some((last, _)) = self.cells.last()
            && *last >= id
        {
            return Err(Error::Order {
                store: self.shared.store_name(self.store.kind),
                last: last.to_string(),
                got: id.to_string(),
            });
        }
        if id >= self.id_limit {
            return Err(Error::Limit {
                what: "id of a value",
                value: id,
                limit: self.id_limit,
            });
        }
        if !depth_fits(value) {
            let limit = MAX_DEPTH as u64;
            return Err(Error::Limit {
                what: "nesting of lists",
                value: limit + 1,
                limit,
            });
        }
        if self
            .cells
            .first()
            .is_some_and(|(first, _)| id - first >= SPAN_MAX)
        {
            self.write_all()?;
        }
        let cell = self.cell(value)?;
        self.gathered_bytes += memory_bytes(&cell);
        self.cells.push((id, cell));
        if self.cells.len() > self.usual + self.usual / 3 + 64 || self.gathered_bytes > GATHERED_MAX
        {
            self.write_some()?;
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// What writing gives.
    pub fn finish(mut self) -> Result<()> {
        self.write_all()?;
        self.shared.finish_store(self.store);
        Ok(())
    }

    fn cell(&mut self, value: &PropertyValue) -> Result<Cell> {
        let long = match value {
            PropertyValue::String(text) => text.len() > INLINE_MAX,
            PropertyValue::Bytes(bytes) => bytes.len() > INLINE_MAX,
            PropertyValue::List(_) => long_bytes(value).1.len() > INLINE_MAX,
            _ => false,
        };
        if !long {
            return Ok(Cell::Value(value.clone()));
        }
        let (value_type, bytes) = long_bytes(value);
        let footprint = &mut self.store.footprint;
        let head = chain::write(&self.shared.sink, PageKind::Overflow, &bytes, footprint)?;
        Ok(Cell::Overflow(value_type, head))
    }

    fn write_all(&mut self) -> Result<()> {
        while !self.cells.is_empty() {
            self.write_some()?;
        }
        Ok(())
    }

    /// Writes one segment from the front of what is gathered.
    fn write_some(&mut self) -> Result<()> {
        let mut count = self.cells.len().min(self.usual + self.usual / 16);
        let mut best: Option<(usize, Vec<u8>)> = None;
        for attempt in 0.. {
            match encode(&self.cells[..count]) {
                Some(payload) if payload.len() <= TARGET_BYTES => {
                    let used = payload.len();
                    let done = count == self.cells.len() || used >= TARGET_BYTES * 15 / 16;
                    if best.as_ref().is_none_or(|(known, _)| *known < count) {
                        best = Some((count, payload));
                    }
                    if done || attempt >= TRIES {
                        break;
                    }
                    count = (count * TARGET_BYTES / used.max(1) * 31 / 32)
                        .clamp(count + 1, self.cells.len());
                }
                Some(payload) => {
                    if best.is_some() {
                        break;
                    }
                    count = (count * TARGET_BYTES / payload.len() * 31 / 32).clamp(1, count - 1);
                }
                None if best.is_some() => break,
                None => count = (count / 2).max(1),
            }
        }
        let (count, payload) = best.expect("one value fits a segment");
        let page = self.shared.sink.append(self.kind, &payload)?;
        self.store.footprint.add(page);
        let entry = SegmentEntry {
            first: self.cells[0].0,
            page,
            extra: count as u64,
        };
        self.store.add_segment(entry, count as u64);
        for (_, cell) in self.cells.drain(..count) {
            self.gathered_bytes -= memory_bytes(&cell);
        }
        self.usual = count.max(64);
        Ok(())
    }
}

fn memory_bytes(cell: &Cell) -> usize {
    let own = match cell {
        Cell::Value(PropertyValue::String(text)) => text.len(),
        Cell::Value(PropertyValue::Bytes(bytes)) => bytes.len(),
        Cell::Value(PropertyValue::List(values)) => values.len() * size_of::<PropertyValue>(),
        _ => 0,
    };
    own + 8
}
