//! Cutting ascending values into segments of about one size.
//!
//! # How it works
//! Values are gathered until there are more than a segment of the usual number takes; then the
//! longest prefix that fits the target size is looked for, starting with the number that fitted
//! last.

use super::segment::{Cell, SPAN_MAX, encode, long_bytes};
use crate::Result;
use crate::catalog::value_statistics::Sketch;
use crate::overflow_pages::{self, Footprint};
use crate::page_output::PageOutput;
use graven_pagecache::{PageKind, SizeClass};
use graven_types::PropertyValue;

/// Target payload of a segment: 16 KiB pages.
const TARGET_BYTES: usize = SizeClass::MIN.bytes() * 4 - graven_pagecache::page::HEADER_BYTES;
/// Longer values go to a chain of their own.
const INLINE_MAX: usize = 4000;
/// Bytes gathered at most, whatever the number of values.
const GATHERED_MAX: usize = 256 << 10;
const TRIES: usize = 5;

/// Values gathered for the next segments.
#[derive(Debug)]
pub(crate) struct Cutter {
    cells: Vec<(u64, Cell)>,
    gathered_bytes: usize,
    /// Values that fitted the last segment.
    usual: usize,
    /// What the values cut so far are like, if a planner will ask.
    sketch: Option<Sketch>,
}

impl Default for Cutter {
    fn default() -> Self {
        Cutter {
            cells: Vec::new(),
            gathered_bytes: 0,
            usual: 8192,
            sketch: Some(Sketch::default()),
        }
    }
}

/// The bytes of a segment.
pub(crate) struct Cut {
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) payload: Vec<u8>,
}

impl Cutter {
    /// For values that are not those of a property.
    pub(crate) fn without_sketch() -> Cutter {
        Cutter {
            sketch: None,
            ..Cutter::default()
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// What the values cut so far are like.
    pub(crate) fn take_sketch(&mut self) -> Option<Sketch> {
        self.sketch.take()
    }

    /// The id gathered last.
    pub(crate) fn last(&self) -> Option<u64> {
        self.cells.last().map(|(id, _)| *id)
    }

    /// Whether a segment may reach from the first id gathered to `id`.
    pub(crate) fn spans(&self, id: u64) -> bool {
        let reaches = |first: u64| id.checked_sub(first).is_some_and(|span| span < SPAN_MAX);
        (self.cells.first()).is_none_or(|(first, _)| reaches(*first))
    }

    /// Adds a value; whether there are enough for a segment now.
    pub(crate) fn push(&mut self, id: u64, cell: Cell) -> bool {
        self.gathered_bytes += memory_bytes(&cell);
        self.cells.push((id, cell));
        self.cells.len() > self.usual + self.usual / 3 + 64 || self.gathered_bytes > GATHERED_MAX
    }

    /// Takes one segment from the front of what is gathered, if anything is.
    pub(crate) fn cut(&mut self) -> Option<Cut> {
        let first = self.cells.first()?.0;
        let mut count = self.cells.len().min(self.usual);
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
        for (_, cell) in self.cells.drain(..count) {
            self.gathered_bytes -= memory_bytes(&cell);
            if let Some(sketch) = &mut self.sketch {
                sketch.add(match &cell {
                    Cell::Value(value) => Some(value),
                    Cell::Overflow(..) => None,
                });
            }
        }
        self.usual = count.max(64);
        Some(Cut {
            first,
            count: count as u64,
            payload,
        })
    }
}

/// The form in which `value` goes to a segment; a long one is written to a chain. What is written
/// says whether there are vectors among the values.
pub(crate) fn make_cell(
    output: &dyn PageOutput,
    value: PropertyValue,
    footprint: &mut Footprint,
) -> Result<Cell> {
    footprint.vectors |= value.has_vector();
    let long = match &value {
        PropertyValue::String(text) => text.len() > INLINE_MAX,
        PropertyValue::Bytes(bytes) => bytes.len() > INLINE_MAX,
        PropertyValue::Vector(vector) => vector.bytes().len() > INLINE_MAX,
        PropertyValue::List(_) => long_bytes(&value).1.len() > INLINE_MAX,
        _ => false,
    };
    if !long {
        return Ok(Cell::Value(value));
    }
    let (value_type, bytes) = long_bytes(&value);
    let head = overflow_pages::write(output, PageKind::Overflow, &bytes, footprint)?;
    Ok(Cell::Overflow(value_type, head))
}

fn memory_bytes(cell: &Cell) -> usize {
    let own = match cell {
        Cell::Value(PropertyValue::String(text)) => text.len(),
        Cell::Value(PropertyValue::Bytes(bytes)) => bytes.len(),
        Cell::Value(PropertyValue::Vector(vector)) => vector.bytes().len(),
        Cell::Value(PropertyValue::List(values)) => values.len() * size_of::<PropertyValue>(),
        _ => 0,
    };
    own + 8
}
