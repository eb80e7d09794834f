//! Hands out groups in the order in which they appeared, wherever they were computed.

use std::sync::Arc;

use super::Groups;
use super::accumulator::Results;
use crate::batch::{BATCH_ROWS, Batch};
use crate::column::Column;
use crate::error::Result;
use crate::operators::row_key::KeyTable;

/// Groups of several shares are put together so many at a time.
const TOGETHER: usize = 4 * BATCH_ROWS;

/// Behind all rows.
const NO_ROW: u64 = u64::MAX;

/// Groups being handed out.
pub(super) struct Output {
    shares: Vec<Share>,
    /// Key columns.
    width: usize,
}

/// The groups of one share.
struct Share {
    /// Keys in parts, of which the first begins at group `part_start`; none where the table has them as numbers.
    keys: std::collections::VecDeque<Batch>,
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
        // Share and place among the groups taken from it, in order.
        let mut picks: Vec<(u32, u32)> = Vec::with_capacity(TOGETHER);
        let mut taken = vec![0_u32; self.shares.len()];
        let mut heads: Vec<u64> = self.shares.iter().map(|share| share.first(0)).collect();
        while picks.len() < TOGETHER {
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
        if picks.is_empty() {
            return Ok(None);
        }
        let parts = self.shares.iter_mut().zip(&taken);
        let parts = parts.map(|(share, rows)| share.take(*rows as usize, self.width));
        let parts = parts.collect::<Result<Vec<Batch>>>()?;
        let present: Vec<usize> = (0..parts.len()).filter(|at| taken[*at] > 0).collect();
        if let [only] = present.as_slice() {
            return Ok(Some(parts[*only].clone()));
        }
        let mut number_of = vec![0_u32; parts.len()];
        for (number, at) in (0..).zip(&present) {
            number_of[*at] = number;
        }
        for (share, _) in &mut picks {
            *share = number_of[*share as usize];
        }
        let columns = (0..parts[present[0]].columns().len()).map(|slot| {
            let columns: Vec<&Column> = present
                .iter()
                .map(|at| &**parts[*at].column(slot))
                .collect();
            Arc::new(Column::gather_across(&columns, &picks))
        });
        Ok(Some(Batch::new(columns.collect(), picks.len())))
    }
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
