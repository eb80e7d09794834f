//! Hands out groups in the order in which they appeared, wherever they were computed.
//!
//! # How it works
//! The groups of each share are in order already. Where there are several shares, those that
//! appeared first in the next so many rows are taken from all of them and put in place by the
//! numbers of these rows; where they are many, on several threads. The groups of chunks, each of
//! which appeared behind those of the one before, are handed out chunk by chunk, by each thread one
//! at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::Groups;
use super::accumulator::Results;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::{ExecError, Result};
use crate::operators::row_key::GroupTable;
use crate::threads::{cut, on_threads};
use crate::value::Value;

/// Groups of several shares are put together so many at a time, and on several threads so many
/// times that, if they take no more than this part of the memory limit.
const TOGETHER: usize = 4 * BATCH_ROWS;
const TIMES: usize = 16;
const SHARE: u64 = 32;

/// Groups being handed out.
pub(super) struct Output {
    shares: Vec<Share>,
    /// Handed out one after the other.
    chunks: VecDeque<Share>,
    /// Key columns.
    width: usize,
    /// Rows in which groups put together at a time appeared first.
    picked: usize,
    threads: usize,
    /// Put together, to be handed out next.
    ready: VecDeque<Batch>,
}

/// The groups of one share.
struct Share {
    /// Keys in parts, of which the first begins at group `part_start`; none where the table has
    /// them as numbers.
    keys: VecDeque<Batch>,
    part_start: usize,
    table: GroupTable,
    accumulators: Vec<Results>,
    /// The row in which each group appeared first; none if there is one share.
    firsts: Vec<u64>,
    next: usize,
    count: usize,
}

impl Output {
    /// Hands out these groups, which appeared first in rows `firsts`; a single share is in order.
    pub(super) fn new(shares: Vec<(Groups, Vec<u64>)>, width: usize) -> Self {
        let shares = shares.into_iter();
        Self {
            shares: shares
                .map(|(groups, firsts)| Share::new(groups, firsts))
                .collect(),
            chunks: VecDeque::new(),
            width,
            picked: TOGETHER,
            threads: 1,
            ready: VecDeque::new(),
        }
    }

    /// Hands out the groups of each chunk behind those of the chunks before it, on so many threads.
    pub(super) fn of_chunks(chunks: Vec<Groups>, width: usize, threads: usize) -> Self {
        let chunks = chunks.into_iter();
        Self {
            chunks: chunks
                .map(|groups| Share::new(groups, Vec::new()))
                .collect(),
            threads,
            ..Self::new(Vec::new(), width)
        }
    }

    /// The same, which puts many groups together on so many threads, within this memory limit.
    pub(super) fn on_threads(self, threads: usize, limit: u64) -> Self {
        let results = self.shares.first().map_or(0, |s| s.accumulators.len());
        let columns = (self.width + results).max(1);
        let room = limit / SHARE / (2 * columns * size_of::<Value>()) as u64;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let picked = room.clamp(TOGETHER, TIMES * TOGETHER);
        Self {
            picked,
            threads,
            ..self
        }
    }

    /// The next groups.
    pub(super) fn next(&mut self) -> Result<Option<Batch>> {
        if let [only] = self.shares.as_mut_slice() {
            let rows = only.part_rows().min(BATCH_ROWS);
            return Ok(match rows {
                0 => None,
                _ => Some(only.take(rows, self.width)?),
            });
        }
        if self.ready.is_empty() {
            match self.chunks.is_empty() {
                true => self.put_together()?,
                false => self.take_chunks()?,
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Takes the next chunks.
    fn take_chunks(&mut self) -> Result<()> {
        let count = self.chunks.len().min(self.threads.max(1));
        let width = self.width;
        let batches = on_threads(self.chunks.drain(..count).collect(), |mut chunk: Share| {
            let mut batches = Vec::with_capacity(chunk.count / BATCH_ROWS + 1);
            while let rows = chunk.part_rows().min(BATCH_ROWS)
                && rows > 0
            {
                batches.push(chunk.take(rows, width)?);
            }
            Ok::<_, ExecError>(batches)
        });
        for batches in batches {
            self.ready.extend(batches?);
        }
        Ok(())
    }

    /// Takes the next groups of all shares and puts them together.
    fn put_together(&mut self) -> Result<()> {
        let heads = self.shares.iter().filter_map(Share::first);
        let Some(low) = heads.min() else {
            return Ok(());
        };
        let high = low.saturating_add(self.picked as u64);
        let taken: Vec<usize> = self.shares.iter().map(|share| share.before(high)).collect();
        let starts: Vec<usize> = self.shares.iter().map(|share| share.next).collect();
        let many = taken.iter().sum::<usize>() > TOGETHER;
        let threads = if many { self.threads } else { 1 };
        let width = self.width;
        let mut shares: Vec<_> = self.shares.iter_mut().zip(&taken).collect();
        let length = shares.len().div_ceil(threads).max(1);
        let parts = on_threads(shares.chunks_mut(length).collect(), |shares| {
            // Shares without a group among these have columns of no form.
            let present = shares.iter_mut().filter(|(_, groups)| **groups > 0);
            let parts = present.map(|(share, groups)| share.take(**groups, width));
            parts.collect::<Result<Vec<Batch>>>()
        });
        let parts = parts.into_iter().collect::<Result<Vec<Vec<Batch>>>>()?;
        let parts: Vec<&Batch> = parts.iter().flatten().collect();
        let firsts = self.shares.iter().zip(starts).zip(&taken);
        let firsts = firsts.map(|((share, start), groups)| &share.firsts[start..start + groups]);
        let firsts: Vec<&[u64]> = firsts.filter(|firsts| !firsts.is_empty()).collect();
        let window = if many { TOGETHER } else { self.picked };
        let windows: Vec<u64> = (low..high).step_by(window).collect();
        let batches = on_threads(cut(&windows, threads), |windows| {
            let batches = windows.iter().map(|low| {
                let picks = picks(&firsts, *low..high.min(low + window as u64));
                gather(&parts, &picks)
            });
            batches.collect::<Vec<Batch>>()
        });
        let batches = batches.into_iter().flatten();
        self.ready.extend(batches.filter(|batch| !batch.is_empty()));
        Ok(())
    }
}

/// A share that has some of the groups, and the place among its own.
type Pick = (u32, u32);

/// No group appeared first in this row.
const NONE: Pick = (u32::MAX, u32::MAX);

/// The groups that appeared first in these rows, in their order.
fn picks(firsts: &[&[u64]], rows: Range<u64>) -> Vec<Pick> {
    let length = usize::try_from(rows.end - rows.start).expect("some thousand rows");
    let mut places = vec![NONE; length];
    for (share, firsts) in (0..).zip(firsts) {
        let from = firsts.partition_point(|first| *first < rows.start);
        for (group, first) in firsts.iter().enumerate().skip(from) {
            if *first >= rows.end {
                break;
            }
            let group = u32::try_from(group).expect("some thousand groups");
            let place = usize::try_from(first - rows.start).expect("one of the rows");
            places[place] = (share, group);
        }
    }
    places.retain(|pick| *pick != NONE);
    places
}

/// The groups at these places of the parts.
fn gather(parts: &[&Batch], picks: &[Pick]) -> Batch {
    let width = parts.first().map_or(0, |part| part.columns().len());
    let columns = (0..width).map(|slot| {
        let columns: Vec<&Column> = parts.iter().map(|part| &**part.column(slot)).collect();
        Arc::new(Column::gather_across(&columns, picks))
    });
    Batch::new(columns.collect(), picks.len())
}

impl Share {
    fn new(groups: Groups, firsts: Vec<u64>) -> Self {
        let accumulators = groups.accumulators.into_iter();
        Self {
            keys: groups.keys.into(),
            part_start: 0,
            table: groups.table,
            accumulators: accumulators.map(super::Accumulator::finish).collect(),
            firsts,
            next: 0,
            count: groups.count,
        }
    }

    /// The row in which the next group appeared first.
    fn first(&self) -> Option<u64> {
        self.firsts.get(self.next).copied()
    }

    /// Groups that appeared first before this row and are left.
    fn before(&self, row: u64) -> usize {
        self.firsts[self.next..].partition_point(|first| *first < row)
    }

    /// Groups that can be taken without putting parts together.
    fn part_rows(&self) -> usize {
        let part_end = self.keys.front().map(|part| self.part_start + part.len());
        part_end.unwrap_or(self.count) - self.next
    }

    /// The next `rows` groups: keys, then results.
    fn take(&mut self, rows: usize, width: usize) -> Result<Batch> {
        let range = self.next..self.next + rows;
        self.next = range.end;
        let mut columns: Vec<Arc<Column>> = match (width, self.keys.is_empty()) {
            (0, _) => Vec::new(),
            (_, true) => self
                .table
                .columns(range)
                .into_iter()
                .map(Arc::new)
                .collect(),
            (_, false) => {
                let mut pieces = Vec::new();
                let mut from = range.start;
                while from < range.end {
                    let part = &self.keys[0];
                    let to = range.end.min(self.part_start + part.len());
                    pieces.push(part.slice(from - self.part_start, to - self.part_start));
                    from = to;
                    if to == self.part_start + part.len() {
                        self.part_start = to;
                        self.keys.pop_front();
                    }
                }
                Batch::concat(&pieces).columns().to_vec()
            }
        };
        for results in &mut self.accumulators {
            columns.push(Arc::new(results.next(rows)?));
        }
        Ok(Batch::new(columns, rows))
    }
}
