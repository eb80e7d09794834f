//! Groups of pairs that come in runs of the same first part, chunk by chunk on several threads.
//!
//! # How it works
//! ```text
//! input -> rounds of rows -> chunks, cut where a run begins -> groups of each chunk (a thread one chunk) -> first parts: known?
//! ```
//! What an expansion finds comes list by list, so that rows with the same first key lie side by
//! side. A chunk of whole runs has all rows of its groups then: what two chunks have grouped never
//! meets, nothing is hashed over all of it, divided or merged, and the groups appeared in the order
//! of the chunks. That no run comes back is seen from the first parts of the runs, which one thread
//! looks up. The last run of a round may go on in the next one and waits for it.
//!
//! Where a run comes back, runs are short, a round is a single run or there is no room for the
//! groups of one, the chunks so far are put together and one thread goes on; if one of the first
//! two is seen in the first round, rows are divided by hash ([`super::partitioned`]).
//!
//! # Invariants
//! * EX-64 No two chunks have pairs with the same first part, and all pairs are of one kind.

use std::mem;

use super::output::Output;
use super::partitioned::{Piece, Round};
use super::{Aggregate, Call, Groups};
use crate::batch::Batch;
use crate::error::Result;
use crate::operators::row_key::{ClusterKeys, GroupTable};
use crate::query_context::QueryContext;
use crate::spill::Partitions;
use crate::threads::on_threads;
use crate::value::Value;

/// Whether it is worth to try, as far as the first rows tell.
pub(super) fn is_clustered(pieces: &[Piece]) -> bool {
    (pieces.first()).is_some_and(|piece| GroupTable::come_in_runs(&piece.keys))
}

/// What became of the input.
pub(super) enum Grouped {
    All(Output),
    /// Nothing was grouped: these rows and those after them do not come in runs.
    Nothing(Round, Option<Batch>),
}

/// Groups, still empty, and the rows for them.
type Work<'a> = Vec<(Groups, &'a [Piece])>;

/// The chunks in memory.
#[derive(Default)]
struct Chunks {
    groups: Vec<Groups>,
    firsts: ClusterKeys,
}

impl Chunks {
    fn bytes(&self) -> usize {
        self.groups.iter().map(Groups::bytes).sum::<usize>() + self.firsts.bytes()
    }

    /// Takes further ones, if they keep EX-64.
    fn add(&mut self, mut groups: Vec<Groups>) -> bool {
        let apart = (groups.iter()).all(|groups| self.firsts.add(&groups.table));
        if apart {
            groups.iter_mut().for_each(|groups| {
                groups.table.end();
            });
            self.groups.append(&mut groups);
        }
        apart
    }

    /// All groups as those of one table; `None` without chunks.
    fn put_together(self) -> Option<Groups> {
        let mut chunks = self.groups.into_iter();
        let mut all = chunks.next()?;
        let mut tables = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let accumulators = all.accumulators.iter_mut();
            for (own, more) in accumulators.zip(chunk.accumulators) {
                own.append(more);
            }
            all.count += chunk.count;
            all.bytes += chunk.bytes;
            tables.push(chunk.table);
        }
        all.table.append(tables.into_iter());
        Some(all)
    }
}

impl Aggregate {
    /// Groups a round of rows and those after it.
    pub(super) fn consume_in_runs(
        &mut self,
        mut round: Round,
        mut next: Option<Batch>,
        rt: &QueryContext,
    ) -> Result<Grouped> {
        let mut chunks = Chunks::default();
        let mut partitions = None;
        loop {
            let size = round.rows.div_ceil(self.threads).max(1);
            let (parts, tail) = cut(mem::take(&mut round.pieces), size, next.is_none());
            let work = match parts.is_empty() {
                true => None,
                false => self.begin_parts(&parts, round.bytes, &mut chunks, &mut partitions)?,
            };
            let tried = work.is_some();
            let done = on_threads(work.unwrap_or_default(), |(groups, pieces)| {
                groups.group(pieces)
            });
            let grouped = done.into_iter().collect::<Result<Option<Vec<_>>>>()?;
            if !(tried && grouped.is_some_and(|groups| chunks.add(groups))) {
                let pieces = parts.into_iter().flatten().chain(tail).collect();
                // Without room, or in one run, one thread goes on, batch by batch.
                if tried && chunks.groups.is_empty() && partitions.is_none() {
                    return Ok(Grouped::Nothing(Round { pieces, ..round }, next));
                }
                let groups = match chunks.put_together() {
                    Some(groups) => groups,
                    None => Groups::new(&self.calls, &self.parameters)?,
                };
                let output = self.consume(groups, partitions, pieces, next, rt)?;
                return Ok(Grouped::All(output));
            }
            drop(parts);
            // What values hold besides themselves is known only now.
            let bytes = chunks.bytes();
            if !self.memory.keeps(bytes) {
                if self.spill.is_some() {
                    self.memory.force(bytes);
                    self.flush_chunks(&mut chunks, &mut partitions)?;
                } else {
                    self.memory.set(bytes)?;
                }
            }
            if next.is_none() {
                break;
            }
            round = self.read_round(tail, round.end, &mut next, rt)?;
        }
        if partitions.is_some() {
            self.flush_chunks(&mut chunks, &mut partitions)?;
            let groups = Groups::new(&self.calls, &self.parameters)?;
            return Ok(Grouped::All(self.end(groups, partitions, 0)?));
        }
        let width = self.keys.len();
        let output = Output::of_chunks(chunks.groups, width, self.threads);
        Ok(Grouped::All(output))
    }

    /// Groups for each part, whose rows hold so many bytes, still empty; `None` if there is no room
    /// for all of them at once.
    fn begin_parts<'a>(
        &mut self,
        parts: &'a [Vec<Piece>],
        bytes: usize,
        chunks: &mut Chunks,
        partitions: &mut Option<Partitions>,
    ) -> Result<Option<Work<'a>>> {
        let mut work = Vec::with_capacity(parts.len());
        let mut wanted = bytes;
        for pieces in parts {
            let rows = rows_of(pieces);
            let groups = Groups::of_pairs(&self.calls, &self.parameters, rows)?;
            wanted += groups.bytes_with(rows, self.keys.len());
            work.push((groups, &pieces[..]));
        }
        if !self.memory.keeps(wanted + chunks.bytes()) {
            if self.spill.is_none() {
                self.memory.set(wanted + chunks.bytes())?;
            } else if chunks.groups.is_empty() {
                return Ok(None);
            } else {
                self.flush_chunks(chunks, partitions)?;
                self.memory.force(wanted);
            }
        }
        Ok(Some(work))
    }

    /// Writes all groups into partitions.
    fn flush_chunks(
        &mut self,
        chunks: &mut Chunks,
        partitions: &mut Option<Partitions>,
    ) -> Result<()> {
        for mut groups in mem::take(chunks).groups {
            self.flush(&mut groups, partitions, 0)?;
        }
        Ok(())
    }
}

impl Groups {
    /// Without groups, with memory for so many pairs.
    fn of_pairs(calls: &[Call], parameters: &[Option<Value>], pairs: usize) -> Result<Self> {
        Ok(Self {
            table: GroupTable::of_pairs(pairs),
            ..Self::new(calls, parameters)?
        })
    }

    /// The groups of these rows; `None` if they do not come in runs.
    fn group(mut self, pieces: &[Piece]) -> Result<Option<Self>> {
        let rows = rows_of(pieces);
        let accumulators = self.accumulators.iter_mut();
        accumulators.for_each(|accumulator| accumulator.reserve(rows));
        let mut numbers = Vec::new();
        for piece in pieces {
            self.numbers(piece.keys.clone(), piece.rows, &mut numbers);
            if !self.table.has_runs() {
                return Ok(None);
            }
            for (accumulator, argument) in self.accumulators.iter_mut().zip(&piece.arguments) {
                self.bytes += accumulator.add(&numbers, argument.as_deref())?;
            }
        }
        Ok(Some(self))
    }
}

fn rows_of(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.rows).sum()
}

/// Parts of whole runs of at least so many rows each, and the last run, which may go on unless
/// these rows are the `last`.
fn cut(pieces: Vec<Piece>, size: usize, last: bool) -> (Vec<Vec<Piece>>, Vec<Piece>) {
    let (mut parts, mut part, mut held) = (Vec::new(), Vec::new(), 0);
    for mut piece in pieces {
        while held + piece.rows >= size {
            let from = size.saturating_sub(held);
            let mut rows = from..piece.rows;
            let Some(at) = rows.find(|at| begins_run(part.last(), &piece, *at)) else {
                break;
            };
            let behind = piece.split_off(at);
            part.extend((piece.rows > 0).then_some(piece));
            parts.push(mem::take(&mut part));
            (piece, held) = (behind, 0);
        }
        held += piece.rows;
        part.push(piece);
    }
    if last {
        parts.extend((!part.is_empty()).then_some(part));
        return (parts, Vec::new());
    }
    // From the end back to where the last run begins.
    let mut tail = Vec::new();
    while let Some(mut piece) = part.pop() {
        let begins = |at: &usize| begins_run(part.last(), &piece, *at);
        let at = (0..piece.rows).rev().find(begins);
        tail.insert(0, piece.split_off(at.unwrap_or(0)));
        if at.is_some() {
            part.extend((piece.rows > 0).then_some(piece));
            parts.push(part);
            break;
        }
    }
    (parts, tail)
}

/// Whether a row has another first key than the one before it, which may be the last one of the
/// piece before.
fn begins_run(before: Option<&Piece>, piece: &Piece, at: usize) -> bool {
    let key = |piece: &Piece, row: usize| piece.keys.first().map(|key| key.value(row));
    match (at, before) {
        (0, None) => false,
        (0, Some(before)) => key(before, before.rows - 1) != key(piece, 0),
        _ => key(piece, at - 1) != key(piece, at),
    }
}

#[cfg(test)]
mod tests {
    //! Parts are whole runs, in order, none of them short, and nothing is lost.

    use std::sync::Arc;

    use graven_types::rng::SplitMix64;

    use super::*;
    use crate::column::Column;

    fn rows(pieces: &[Piece]) -> Vec<(i64, u64)> {
        let of = |piece: &Piece| {
            let (Column::Integers(keys), first) = (&*piece.keys[0], piece.first) else {
                panic!("integers");
            };
            assert_eq!(keys.len(), piece.rows);
            keys.iter().copied().zip(first..).collect::<Vec<_>>()
        };
        pieces.iter().flat_map(of).collect()
    }

    #[test]
    fn parts_are_whole_runs() {
        let mut random = SplitMix64::new(3);
        for round in 0..500 {
            let longest = [1, 3, 40, 1000][round % 4];
            let (mut all, mut key) = (Vec::new(), 0);
            while all.len() < 600 {
                let length = 1 + random.below(longest);
                all.extend((0..length).map(|_| key));
                key += 1;
            }
            let (mut pieces, mut from) = (Vec::new(), 0);
            while from < all.len() {
                let to = all.len().min(from + 1 + random.below(90) as usize);
                pieces.push(Piece {
                    keys: vec![Arc::new(Column::Integers(all[from..to].to_vec()))],
                    arguments: vec![None],
                    rows: to - from,
                    first: from as u64,
                });
                from = to;
            }
            let (size, last) = (1 + random.below(400) as usize, round % 3 == 0);
            let (parts, tail) = cut(pieces, size, last);
            let parts: Vec<_> = parts.iter().map(|part| rows(part)).collect();
            let tail = rows(&tail);
            let wanted: Vec<_> = all.iter().copied().zip(0..).collect();
            assert_eq!(
                [parts.concat(), tail.clone()].concat(),
                wanted,
                "round {round}"
            );
            let all_parts = parts.iter().chain((!tail.is_empty()).then_some(&tail));
            let all_parts: Vec<_> = all_parts.collect();
            for two in all_parts.windows(2) {
                let ends = [two[0].last(), two[1].first()].map(|row| row.map(|row| row.0));
                assert_ne!(ends[0], ends[1], "round {round}");
            }
            let (_, whole) = parts.split_last().unwrap_or((&tail, &[]));
            assert!(whole.iter().all(|part| part.len() >= size), "round {round}");
            let one_run = tail.windows(2).all(|two| two[0].0 == two[1].0);
            assert!(one_run && tail.is_empty() == last, "round {round}");
        }
    }
}
