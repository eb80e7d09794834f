//! Hands out groups in the order in which they appeared, wherever they were computed.
//!
//! # How it works
//! The groups of each share are in order already. Where there are several shares, the next groups of all of them are picked by the rows
//! in which they appeared; where these are many, threads take them from the shares and put their columns together.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Groups;
use super::accumulator::Results;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::operators::row_key::KeyTable;
use crate::threads::{cut, on_threads};
use crate::value::Value;

/// Groups of several shares are put together so many at a time, and on several threads so many times that, if they take no more than this
/// part of the memory limit.
const TOGETHER: usize = 4 * BATCH_ROWS;
const TIMES: usize = 16;
const SHARE: u64 = 32;

/// Behind all rows.
const NO_ROW: u64 = u64::MAX;

/// Groups being handed out.
pub(super) struct Output {
    shares: Vec<Share>,
    /// Key columns.
    width: usize,
    /// Groups picked at a time.
    picked: usize,
    /// Put together, to be handed out next.
    ready: VecDeque<Batch>,
}

/// The groups of one share.
struct Share {
    /// Keys in parts, of which the first begins at group `part_start`; none where the table has them as numbers.
    keys: VecDeque<Batch>,
    part_start: usize,
    table: KeyTable,
    accumulators: Vec<Results>,
    /// The row in which each group appeared first; none if there is one share.
    firsts: Vec<u64>,
    next: usize,
    count: usize,
}

impl Output {
    /// Hands out these groups, which appeared first in rows `firsts`; a single share is in order.
    pub(super) fn new(shares: Vec<(Groups, Vec<u64>)>, width: usize) -> Self {
        let shares = shares.into_iter().map(|(groups, firsts)| Share {
            keys: groups.keys.into(),
            part_start: 0,
            table: groups.table,
            accumulators: groups
                .accumulators
                .into_iter()
                .map(super::Accumulator::finish)
                .collect(),
            firsts,
            next: 0,
            count: groups.count,
        });
        Self {
            shares: shares.collect(),
            width,
            picked: TOGETHER,
            ready: VecDeque::new(),
        }
    }

    /// The same, which puts many groups together on a thread for each share, within this memory limit.
    pub(super) fn on_threads(self, limit: u64) -> Self {
        let results = self.shares.first().map_or(0, |s| s.accumulators.len());
        let columns = (self.width + results).max(1);
        let room = limit / SHARE / (2 * columns * size_of::<Value>()) as u64;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let picked = room.clamp(TOGETHER, TIMES * TOGETHER);
        Self { picked, ..self }
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
            self.put_together()?;
        }
        Ok(self.ready.pop_front())
    }

    /// Picks the next groups of all shares and puts them together.
    fn put_together(&mut self) -> Result<()> {
        let (mut picks, taken) = self.picks();
        let threads = match picks.len() > TOGETHER {
            true => self.shares.len(),
            false => 1,
        };
        let width = self.width;
        let mut shares: Vec<_> = self.shares.iter_mut().zip(&taken).collect();
        let length = shares.len().div_ceil(threads).max(1);
        let parts = on_threads(shares.chunks_mut(length).collect(), |shares| {
            let parts = shares.iter_mut();
            let parts = parts.map(|(share, rows)| share.take(**rows as usize, width));
            parts.collect::<Result<Vec<Batch>>>()
        });
        let parts = parts.into_iter().collect::<Result<Vec<Vec<Batch>>>>()?;
        let parts: Vec<Batch> = parts.into_iter().flatten().collect();
        // Shares without a group among these have columns of no form.
        let present: Vec<usize> = (0..parts.len()).filter(|at| taken[*at] > 0).collect();
        let mut number_of = vec![0_u32; parts.len()];
        for (number, at) in (0..).zip(&present) {
            number_of[*at] = number;
        }
        for (share, _) in &mut picks {
            *share = number_of[*share as usize];
        }
        let parts: Vec<&Batch> = present.iter().map(|at| &parts[*at]).collect();
        let pieces: Vec<&[Pick]> = picks.chunks(TOGETHER).collect();
        let batches = on_threads(cut(&pieces, threads), |pieces| {
            let batches = pieces.iter().map(|picks| gather(&parts, picks));
            batches.collect::<Vec<Batch>>()
        });
        self.ready.extend(batches.into_iter().flatten());
        Ok(())
    }

    /// The next groups, and how many of them are of each share.
    fn picks(&self) -> (Vec<Pick>, Vec<u32>) {
        let mut picks: Vec<Pick> = Vec::with_capacity(TOGETHER);
        let mut taken = vec![0_u32; self.shares.len()];
        let mut heads: Vec<u64> = self.shares.iter().map(|share| share.first(0)).collect();
        while picks.len() < self.picked {
            let (mut share, mut first) = (0, NO_ROW);
            for (number, head) in heads.iter().enumerate() {
                if *head < first {
                    (share, first) = (number, *head);
                }
            }
            if first == NO_ROW {
                break;
            }
            picks.push((u32::try_from(share).expect("few threads"), taken[share]));
            taken[share] += 1;
            heads[share] = self.shares[share].first(taken[share] as usize);
        }
        (picks, taken)
    }
}

/// A share, and the place among the groups taken from it.
type Pick = (u32, u32);

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
    /// The row in which the group `ahead` of the next one appeared first, or [`NO_ROW`].
    #[inline]
    fn first(&self, ahead: usize) -> u64 {
        let first = self.firsts.get(self.next + ahead);
        first.copied().unwrap_or(NO_ROW)
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
