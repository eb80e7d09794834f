//! Rows with their keys, and their order once it is known.
//!
//! # How it works
//! The order is a word for each row ([`super::normalized_keys`]); rows with words that say too
//! little are put in order afterwards ([`super::tie_break`]). Rows are gathered by their words:
//! columns that the words tell from these, others from the batches, or from one place for each row
//! ([`super::row_major_payload`]).

use std::ops::Range;
use std::sync::Arc;

use super::KeyColumns;
use super::normalized_keys::{Order, Places, Written};
use super::row_major_payload::RowMajorPayload;
use super::tie_break::Ties;
use crate::batch::Batch;
use crate::column::Column;
use crate::memory::Memory;
use crate::operators::adjacency_cache::THREADS_FROM;

/// Bytes that ordering a row takes: its word, and the place where that is sorted to.
const ORDER_BYTES: usize = 16;

/// Fewer rows stay in the cache: their columns are not put side by side.
const SIDE_BY_SIDE_FROM: usize = 64 << 10;

/// Rows with their keys, and their order once it is known.
#[derive(Default)]
pub(super) struct Buffer {
    pub(super) batches: Vec<Batch>,
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// A row of a buffer: batch and row within it.
pub(super) type At = (u32, u32);

/// Rows of a buffer in their order.
pub(super) struct Sorted {
    pub(super) words: Vec<u64>,
    places: Places,
    /// The keys that the words tell.
    written: Vec<Written>,
    /// Columns that are no longer in the buffer.
    row_major_payload: Option<RowMajorPayload>,
}

impl Sorted {
    pub(super) fn at(&self, range: Range<usize>) -> impl Iterator<Item = At> + '_ {
        self.words[range].iter().map(|word| self.places.of(*word))
    }

    /// The key in a column, if words tell it.
    fn written(&self, slot: usize) -> Option<&Written> {
        self.written.iter().find(|key| key.slot == slot)
    }
}

impl Buffer {
    pub(super) fn push(&mut self, batch: Batch) {
        self.bytes += needs(&batch);
        self.rows += batch.len();
        self.batches.push(batch);
    }

    /// The rows in key order, at most `limit` of them.
    pub(super) fn order(&self, keys: &KeyColumns, limit: usize, threads: usize) -> Sorted {
        let threads = if self.rows < THREADS_FROM { 1 } else { threads };
        let mut order = Order::new(&self.batches, keys, threads);
        let places = order.places();
        if !order.open.is_empty() {
            let open = std::mem::take(&mut order.open);
            let ties = Ties::new(&self.batches, keys, places, &open);
            // Words of the same keys are in the order of the rows.
            order.for_each_tie(threads, |tied, scratch| ties.settle(tied, scratch));
        }
        order.words.truncate(limit);
        Sorted {
            words: order.words,
            places,
            written: order.written,
            row_major_payload: None,
        }
    }

    /// Puts the columns that words do not tell side by side, where that pays and `memory` has room
    /// for a copy.
    pub(super) fn put_side_by_side(
        &mut self,
        sorted: &mut Sorted,
        memory: &mut Memory,
        threads: usize,
    ) {
        if sorted.words.len() < SIDE_BY_SIDE_FROM {
            return;
        }
        let width = self.batches.first().map_or(0, |b| b.columns().len());
        let told = |slot: &usize| {
            sorted
                .written(*slot)
                .is_some_and(|key| key.column(&[]).is_some())
        };
        let slots = (0..width).filter(|slot| !told(slot));
        let Some(columns) = RowMajorPayload::columns(slots, &self.batches) else {
            return;
        };
        let bytes = RowMajorPayload::bytes(&columns, self.rows);
        if memory.keeps(self.bytes + bytes) {
            sorted.row_major_payload =
                Some(RowMajorPayload::take(&columns, &mut self.batches, threads));
            self.bytes = bytes + self.batches.iter().map(needs).sum::<usize>();
            memory.force(self.bytes);
        }
    }

    /// The rows at these places of their order.
    pub(super) fn gather(&self, sorted: &Sorted, range: Range<usize>) -> Batch {
        let at: Vec<At> = sorted.at(range.clone()).collect();
        let width = self.batches.first().map_or(0, |b| b.columns().len());
        let mut columns: Vec<Option<Column>> = vec![None; width];
        for key in &sorted.written {
            columns[key.slot] = key.column(&sorted.words[range.clone()]);
        }
        if let Some(row_major_payload) = &sorted.row_major_payload {
            for (slot, column) in row_major_payload.gather(&at) {
                columns[slot] = Some(column);
            }
        }
        let columns = columns.into_iter().enumerate().map(|(slot, column)| {
            Arc::new(column.unwrap_or_else(|| {
                let batches = self.batches.iter();
                let parts: Vec<&Column> = batches.map(|it| it.column(slot).as_ref()).collect();
                Column::gather_across(&parts, &at)
            }))
        });
        Batch::new(columns.collect(), at.len())
    }
}

/// Bytes that keeping and ordering the rows of a batch takes.
pub(super) fn needs(batch: &Batch) -> usize {
    batch.heap_bytes() + ORDER_BYTES * batch.len()
}
