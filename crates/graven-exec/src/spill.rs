//! Where operators put rows that do not fit: streams of rows in temporary pages.
//!
//! # How it works
//! A [`Spill`] belongs to one operator of one statement and knows the page size that fits the
//! budget. A [`RowWriter`] encodes rows into a buffer of one page and hands full pages to the page
//! cache, which writes them out only when the memory is wanted; no pin is held between two pages.
//! [`Partitions`] divides rows by hash. A statement without a spill file (a library user's choice,
//! tests) keeps everything in memory and fails when it does not fit.
//!
//! # Invariants
//! * EX-45 A writer keeps a page of bytes and a part of a row, a reader a page and a row; what is
//!   in temporary pages counts as pages.
//! * EX-91 A statement that has to end writes and reads no further page.

mod id_run;
mod row_buffer;
mod row_format;
mod row_stream;

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use graven_pagecache::{Budget, SizeClass, TemporaryPages};

pub(crate) use id_run::{IdRun, IdWriter};
pub(crate) use row_buffer::{KeptRows, RowBuffer};
pub(crate) use row_format::{Out, put_list, put_value};
pub(crate) use row_stream::{RowReader, RowRun, RowWriter};

use crate::batch::Batch;
use crate::column::Column;
use crate::deadline::Cancellation;
use crate::error::{ExecError, Result};
use crate::query_context::QueryContext;
use crate::value::hash::hash_integer;

/// Partitions of one level.
pub(crate) const PARTITIONS: usize = 16;
/// Bits of a hash that one level uses.
const LEVEL_BITS: u32 = 4;
/// Levels before rows count as inseparable.
pub(crate) const LEVELS: u32 = 12;
/// A page of a stream is at most this part of the budget.
const PAGE_SHARE: u64 = 512;

const _: () = assert!(PARTITIONS == 1 << LEVEL_BITS);
const _: () = assert!(LEVELS * LEVEL_BITS <= 64);

/// An operator's right to temporary pages.
pub(crate) struct Spill {
    pages: TemporaryPages,
    class: SizeClass,
    operator: &'static str,
    cancellation: Cancellation,
}

impl Spill {
    /// For `operator`; `None` where the statement has no spill file.
    pub(crate) fn new(rt: &QueryContext, operator: &'static str) -> Option<Self> {
        let file = rt.spill.as_ref()?;
        Some(Self {
            pages: file.owner(),
            class: page_class(&rt.budget),
            operator,
            cancellation: rt.cancellation(),
        })
    }

    /// A new stream.
    pub(crate) fn writer(&self) -> RowWriter {
        let cancellation = self.cancellation.clone();
        RowWriter::new(self.pages.clone(), self.class, self.operator, cancellation)
    }

    /// Ascending ids to be written.
    pub(crate) fn ids(&self) -> IdWriter {
        IdWriter::new(self.pages.clone(), self.class, self.operator)
    }

    /// Bytes of the buffer that a writer or a reader keeps.
    pub(crate) fn buffer_bytes(&self) -> usize {
        self.class.bytes()
    }

    /// Bytes written to disk so far.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.pages.spilled_bytes()
    }
}

/// The largest page that leaves room for many streams at once.
fn page_class(budget: &Arc<Budget>) -> SizeClass {
    let bytes = budget.limit() / PAGE_SHARE;
    SizeClass::all()
        .filter(|class| class.bytes() as u64 <= bytes && class.bytes() <= 256 << 10)
        .last()
        .unwrap_or(SizeClass::MIN)
}

/// An error of a temporary page as the operator tells it.
pub(crate) fn spill_error(operator: &'static str, source: graven_pagecache::Error) -> ExecError {
    ExecError::Spill {
        operator,
        source: Box::new(source),
    }
}

/// The hash of each row over `keys`, the same for equivalent keys in any form of column.
pub(crate) fn row_hashes(keys: &[Arc<Column>], rows: usize, out: &mut Vec<u64>) {
    let state = FixedState::with_seed(0x6772_6176_656e);
    out.clear();
    out.extend((0..rows).map(|row| {
        let mut hasher = state.build_hasher();
        for key in keys {
            match &**key {
                Column::Integers(v) => hash_integer(v[row], &mut hasher),
                other => other.get(row).hash(&mut hasher),
            }
        }
        hasher.finish()
    }));
}

/// The partition of a hash on a level.
pub(crate) fn partition_of(hash: u64, level: u32) -> usize {
    (hash >> (64 - LEVEL_BITS - level * LEVEL_BITS)) as usize & (PARTITIONS - 1)
}

/// Rows divided by the hash of their keys.
pub(crate) struct Partitions {
    writers: Vec<RowWriter>,
    level: u32,
}

impl Partitions {
    /// Divides by the bits of `level`.
    pub(crate) fn new(spill: &Spill, level: u32) -> Self {
        Self {
            writers: (0..PARTITIONS).map(|_| spill.writer()).collect(),
            level,
        }
    }

    /// Puts one row of `batch` with this hash where it belongs.
    pub(crate) fn push(&mut self, hash: u64, batch: &Batch, row: usize) -> Result<()> {
        self.of(hash).push(batch, row)
    }

    /// The stream of rows with this hash.
    pub(crate) fn of(&mut self, hash: u64) -> &mut RowWriter {
        &mut self.writers[partition_of(hash, self.level)]
    }

    /// All streams, empty ones included, in the order of their numbers.
    pub(crate) fn finish(self) -> Result<Vec<RowRun>> {
        self.writers.into_iter().map(RowWriter::finish).collect()
    }
}
