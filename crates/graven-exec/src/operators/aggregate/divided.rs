//! Groups divided among threads by the hash of their keys.
//!
//! # How it works
//! ```text
//! input -> rounds of rows -> hashes (each thread a part of the rows) -> groups (each thread its share of the keys, all rows)
//! ```
//! A thread takes the rows of its share in the order of the input, so that what depends on the order of rows within a group
//! comes out as on one thread. It notes in which row each group appeared first, by which the shares are put together.

use std::sync::Arc;

use super::{Call, Groups, fresh_rows};
use crate::column::Column;
use crate::error::Result;
use crate::spill::row_hashes;
use crate::threads::on_threads;
use crate::value::Value;

/// Rows of a round.
pub(super) const ROUND_ROWS: usize = 128 << 10;
/// Fewer rows in all are grouped on one thread.
pub(super) const SHARED_ROWS: usize = 16 << 10;
/// A round takes this part of the memory limit at most.
pub(super) const ROUND_SHARE: u64 = 64;

/// Rows of the input: keys, and what is aggregated.
pub(super) struct Piece {
    pub(super) keys: Vec<Arc<Column>>,
    pub(super) arguments: Vec<Option<Arc<Column>>>,
    pub(super) rows: usize,
    /// Number of the first row.
    pub(super) first: u64,
    hashes: Vec<u64>,
}

impl Piece {
    pub(super) fn new(
        keys: Vec<Arc<Column>>,
        arguments: Vec<Option<Arc<Column>>>,
        rows: usize,
        first: u64,
    ) -> Self {
        Self {
            keys,
            arguments,
            rows,
            first,
            hashes: Vec::new(),
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        let arguments = self.arguments.iter().flatten();
        let columns = self.keys.iter().chain(arguments);
        columns.map(|column| column.heap_bytes()).sum::<usize>() + 8 * self.rows
    }
}

/// The groups of one thread, and the rows in which they appeared first.
pub(super) struct Share {
    pub(super) groups: Groups,
    pub(super) firsts: Vec<u64>,
    numbers: Vec<u32>,
}

/// The share that a hash belongs to; the upper bits of the hash divide what is written out.
fn share_of(hash: u64, shares: usize) -> usize {
    let lower = u128::from(hash << 32 >> 32);
    usize::try_from((lower * shares as u128) >> 32).expect("one of the shares")
}

impl Share {
    pub(super) fn new(calls: &[Call], parameters: &[Option<Value>]) -> Result<Self> {
        Ok(Self {
            groups: Groups::new(calls, parameters)?,
            firsts: Vec::new(),
            numbers: Vec::new(),
        })
    }

    fn take(&mut self, (own, shares): (usize, usize), pieces: &[Piece]) -> Result<()> {
        let mut rows: Vec<u32> = Vec::new();
        for piece in pieces {
            rows.clear();
            let hashes = (0_u32..).zip(&piece.hashes);
            rows.extend(
                hashes
                    .filter(|(_, hash)| share_of(**hash, shares) == own)
                    .map(|(row, _)| row),
            );
            if rows.is_empty() {
                continue;
            }
            let gather = |column: &Arc<Column>| Arc::new(column.gather(&rows));
            let keys: Vec<Arc<Column>> = piece.keys.iter().map(gather).collect();
            let known = self.groups.count;
            self.groups.numbers(keys, rows.len(), &mut self.numbers);
            let fresh = fresh_rows(&self.numbers, known);
            let firsts = fresh.iter().map(|row| rows[*row as usize]);
            self.firsts
                .extend(firsts.map(|row| piece.first + u64::from(row)));
            let accumulators = self.groups.accumulators.iter_mut();
            for (accumulator, argument) in accumulators.zip(&piece.arguments) {
                let argument = argument.as_ref().map(gather);
                self.groups.bytes += accumulator.add(&self.numbers, argument.as_deref())?;
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.groups.bytes() + 8 * self.firsts.capacity()
    }
}

/// Hashes the keys of all pieces; how many rows each of `shares` shares gets.
pub(super) fn hash(pieces: &mut [Piece], shares: usize) -> Vec<usize> {
    let length = pieces.len().div_ceil(shares).max(1);
    let counts = on_threads(pieces.chunks_mut(length).collect(), |pieces| {
        let mut counts = vec![0; shares];
        for piece in pieces {
            row_hashes(&piece.keys, piece.rows, &mut piece.hashes);
            for hash in &piece.hashes {
                counts[share_of(*hash, shares)] += 1;
            }
        }
        counts
    });
    (0..shares)
        .map(|share| counts.iter().map(|counts: &Vec<usize>| counts[share]).sum())
        .collect()
}

/// Every share takes its rows.
pub(super) fn take(shares: &mut [Share], pieces: &[Piece]) -> Result<()> {
    let count = shares.len();
    let tasks = shares.iter_mut().enumerate().collect();
    let done = on_threads(tasks, |(own, share): (usize, &mut Share)| {
        share.take((own, count), pieces)
    });
    done.into_iter().collect()
}

/// Keys and arguments of a batch.
pub(super) fn bytes_of(pieces: &[Piece]) -> usize {
    pieces.iter().map(Piece::bytes).sum()
}
