//! Groups divided among threads by the hash of their keys.
//!
//! # How it works
//! ```text
//! input -> rounds of rows -> hashes, rows divided by share (each thread a part of the rows) -> rows that wait, by share
//! rows that wait, when they are many or the last -> groups (a thread one share after the other)
//! ```
//! There are many more shares than threads, so that the table of a share is small enough for the
//! processor's caches while its rows are grouped. A share takes its rows in the order of the input,
//! so that what depends on the order of rows within a group comes out as on one thread. It notes in
//! which row each group appeared first, by which the shares are put together. Rows that are only
//! counted by a key that lies close together stay on one thread: an array by key is faster than
//! dividing.
//!
//! # Source
//! Manegold, Boncz and Kersten, "Optimizing main-memory join on modern hardware", 2002 (partitions
//! as large as a cache).

use std::sync::{Arc, Mutex, PoisonError};

use super::Call;
use super::groups::{Groups, fresh_rows};
use crate::column::Column;
use crate::error::Result;
use crate::spill::row_hashes;
use crate::threads::{cut, on_threads};
use crate::value::Value;

/// Rows of a round.
pub(super) const ROUND_ROWS: usize = 128 << 10;
/// Fewer rows in all are grouped on one thread.
pub(super) const SHARED_ROWS: usize = 16 << 10;
/// A round takes this part of the memory limit at most, rows that wait this one.
pub(super) const ROUND_SHARE: u64 = 64;
pub(super) const WAITING_SHARE: u64 = 16;
/// Shares where rows do not end with the first round, and rows for each where they do.
const SHARES: usize = 64;
const SHARE_ROWS: usize = 8 << 10;

const _: () = assert!(SHARES <= 1 << u8::BITS, "the share of a row is a byte");

/// How many shares so many rows of a first round are divided into.
pub(super) fn shares_for(rows: usize, threads: usize) -> usize {
    let shares = match rows < ROUND_ROWS {
        true => rows / SHARE_ROWS,
        false => SHARES,
    };
    shares.max(threads).min(SHARES)
}

/// Keys within so many are counted faster by one thread, in an array that fits its cache, than
/// divided.
const CLOSE_KEYS: u64 = 256 << 10;

/// Whether there is one key, an id or an integer, and all of them lie close together.
pub(super) fn keys_lie_close(pieces: &[Piece]) -> bool {
    let (mut least, mut largest) = (i64::MAX, i64::MIN);
    for piece in pieces {
        let [keys] = &piece.keys[..] else {
            return false;
        };
        let bounds = match &**keys {
            Column::Nodes(ids) | Column::Relationships(ids) => {
                let ids = ids.iter().map(|id| id.cast_signed());
                ids.fold((i64::MAX, i64::MIN), |(a, b), id| (a.min(id), b.max(id)))
            }
            Column::Integers(keys) => {
                let keys = keys.iter().copied();
                keys.fold((i64::MAX, i64::MIN), |(a, b), id| (a.min(id), b.max(id)))
            }
            _ => return false,
        };
        (least, largest) = (least.min(bounds.0), largest.max(bounds.1));
    }
    least <= largest && least.abs_diff(largest) < CLOSE_KEYS
}

/// Rows of the input: keys, and what is aggregated.
pub(super) struct Piece {
    pub(super) keys: Vec<Arc<Column>>,
    pub(super) arguments: Vec<Option<Arc<Column>>>,
    pub(super) rows: usize,
    /// Number of the first row.
    pub(super) first: u64,
}

/// Rows that are grouped at a time.
pub(super) struct Round {
    pub(super) pieces: Vec<Piece>,
    pub(super) rows: usize,
    pub(super) bytes: usize,
    /// Number of the row behind them.
    pub(super) end: u64,
}

fn bytes_of(keys: &[Arc<Column>], arguments: &[Option<Arc<Column>>]) -> usize {
    let columns = keys.iter().chain(arguments.iter().flatten());
    columns.map(|column| column.heap_bytes()).sum()
}

impl Piece {
    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        bytes_of(&self.keys, &self.arguments)
    }

    /// Cuts the rows from this one on off.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let part = |column: &Arc<Column>, from, to| Arc::new(column.slice(from, to));
        let of = |from: usize, to: usize| Self {
            keys: self.keys.iter().map(|key| part(key, from, to)).collect(),
            arguments: (self.arguments.iter())
                .map(|argument| argument.as_ref().map(|it| part(it, from, to)))
                .collect(),
            rows: to - from,
            first: self.first + from as u64,
        };
        match at {
            0 => {
                let nothing = of(0, 0);
                std::mem::replace(self, nothing)
            }
            _ => {
                let behind = of(at, self.rows);
                *self = of(0, at);
                behind
            }
        }
    }
}

/// Rows of one share.
struct Part {
    keys: Vec<Arc<Column>>,
    arguments: Vec<Option<Arc<Column>>>,
    /// Numbers of the rows from `first` on, ascending.
    first: u64,
    rows: Vec<u32>,
}

/// The groups of one share of the keys, and the rows in which they appeared first.
pub(super) struct Partition {
    pub(super) groups: Groups,
    pub(super) firsts: Vec<u64>,
    numbers: Vec<u32>,
    waiting: Vec<Part>,
    waiting_rows: usize,
    waiting_bytes: usize,
}

/// The share that a hash belongs to; the upper bits of the hash divide what is written out.
fn share_of(hash: u64, shares: usize) -> usize {
    let lower = hash << 32 >> 32;
    usize::try_from((lower * shares as u64) >> 32).expect("one of the shares")
}

impl Partition {
    pub(super) fn new(calls: &[Call], parameters: &[Option<Value>]) -> Result<Self> {
        Ok(Self {
            groups: Groups::new(calls, parameters)?,
            firsts: Vec::new(),
            numbers: Vec::new(),
            waiting: Vec::new(),
            waiting_rows: 0,
            waiting_bytes: 0,
        })
    }

    fn wait(&mut self, part: Part) {
        if part.rows.is_empty() {
            return;
        }
        self.waiting_rows += part.rows.len();
        self.waiting_bytes += bytes_of(&part.keys, &part.arguments) + 4 * part.rows.len();
        self.waiting.push(part);
    }

    /// Groups the rows that wait; no others come after the `last`. `memory` goes from share to
    /// share.
    fn take(&mut self, last: bool, memory: &mut Vec<u64>) -> Result<()> {
        self.groups
            .expect(self.waiting_rows, std::mem::take(memory));
        self.firsts.reserve(self.waiting_rows);
        for part in std::mem::take(&mut self.waiting) {
            let known = self.groups.count;
            let rows = part.rows.len();
            self.groups.numbers(part.keys, rows, &mut self.numbers);
            let fresh = fresh_rows(&self.numbers, known);
            let firsts = fresh.iter().map(|row| part.rows[*row as usize]);
            self.firsts
                .extend(firsts.map(|row| part.first + u64::from(row)));
            let accumulators = self.groups.accumulators.iter_mut();
            for (accumulator, argument) in accumulators.zip(&part.arguments) {
                self.groups.bytes += accumulator.add(&self.numbers, argument.as_deref())?;
            }
        }
        (self.waiting_rows, self.waiting_bytes) = (0, 0);
        if last {
            *memory = self.groups.table.end();
            self.numbers = Vec::new();
        }
        Ok(())
    }

    /// Bytes held by groups, and by rows that wait.
    pub(super) fn bytes(&self) -> usize {
        self.groups.bytes() + 8 * self.firsts.capacity() + self.waiting_bytes
    }

    /// Bytes held while and after the rows that wait are grouped.
    pub(super) fn bytes_with_waiting(&self, width: usize) -> usize {
        let firsts = 16 * (self.firsts.len() + self.waiting_rows);
        self.groups.bytes_with(self.waiting_rows, width) + firsts + self.waiting_bytes
    }
}

/// Bytes of the rows that wait.
pub(super) fn waiting_bytes(shares: &[Partition]) -> usize {
    shares.iter().map(|share| share.waiting_bytes).sum()
}

/// Divides rows among the shares, where they wait.
pub(super) fn divide(pieces: &[Piece], shares: &mut [Partition], threads: usize) {
    let count = shares.len();
    let divided = on_threads(cut(pieces, threads), |pieces| divide_part(pieces, count));
    for parts in divided {
        for (share, part) in shares.iter_mut().zip(parts) {
            share.wait(part);
        }
    }
}

/// The rows of consecutive pieces, by share.
fn divide_part(pieces: &[Piece], shares: usize) -> Vec<Part> {
    let rows = pieces.iter().map(|piece| piece.rows).sum();
    let mut owners: Vec<u8> = Vec::with_capacity(rows);
    let mut counts = vec![0; shares];
    let mut hashes = Vec::new();
    for piece in pieces {
        row_hashes(&piece.keys, piece.rows, &mut hashes);
        owners.extend(hashes.iter().map(|hash| {
            let share = share_of(*hash, shares);
            counts[share] += 1;
            u8::try_from(share).expect("one of a few shares")
        }));
    }
    let first = pieces.first().map_or(0, |piece| piece.first);
    let part = |count: &usize| Part {
        keys: Vec::new(),
        arguments: Vec::new(),
        first,
        rows: Vec::with_capacity(*count),
    };
    let mut parts: Vec<Part> = counts.iter().map(part).collect();
    for (row, owner) in (0..).zip(&owners) {
        parts[usize::from(*owner)].rows.push(row);
    }
    let Some(sample) = pieces.first() else {
        return parts;
    };
    let divided = |column: &dyn Fn(&Piece) -> Option<Arc<Column>>| {
        let columns: Vec<Arc<Column>> = pieces.iter().filter_map(column).collect();
        let columns: Vec<&Column> = columns.iter().map(|column| &**column).collect();
        let divided = Column::divide(&columns, &owners, &counts);
        divided.into_iter().map(Arc::new).collect::<Vec<_>>()
    };
    for at in 0..sample.keys.len() {
        let columns = divided(&|piece| Some(Arc::clone(&piece.keys[at])));
        for (part, column) in parts.iter_mut().zip(columns) {
            part.keys.push(column);
        }
    }
    for (at, argument) in sample.arguments.iter().enumerate() {
        if argument.is_none() {
            parts.iter_mut().for_each(|part| part.arguments.push(None));
            continue;
        }
        let columns = divided(&|piece| piece.arguments[at].clone());
        for (part, column) in parts.iter_mut().zip(columns) {
            part.arguments.push(Some(column));
        }
    }
    parts
}

/// Every share groups its rows that wait; no others come after the `last`.
pub(super) fn take(shares: &mut [Partition], threads: usize, last: bool) -> Result<()> {
    let left = Mutex::new(shares.iter_mut());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done = on_threads(vec![(); threads.max(1)], |()| {
        let mut memory = Vec::new();
        while let Some(share) = next() {
            share.take(last, &mut memory)?;
        }
        Ok(())
    });
    done.into_iter().collect()
}
