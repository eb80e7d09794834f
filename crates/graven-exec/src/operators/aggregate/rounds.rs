//! Rows grouped on several threads, round by round.
//!
//! # How it works
//! A round is read, its keys and arguments computed. Few rows, and rows that are only counted by
//! keys that lie close together, go to one thread; rows that come in runs to [`super::clustered`].
//! All others are divided among the shares ([`super::partitioned`]), which take what waits for them
//! once it is much. Where the groups of all shares have no room, all are written into partitions.

use graven_cypher::plan::AggregateFunction;

use super::clustered::Grouped as InRuns;
use super::groups::Groups;
use super::output::Output;
use super::partitioned::{
    Partition, Piece, ROUND_ROWS, ROUND_SHARE, Round, SHARED_ROWS, WAITING_SHARE,
};
use super::{Aggregate, clustered, inputs, partitioned};
use crate::batch::Batch;
use crate::error::Result;
use crate::operators::portions::in_portions;
use crate::query_context::QueryContext;
use crate::spill::Partitions;

impl Aggregate {
    /// Groups the rows of the input on several threads.
    pub(super) fn consume_divided(&mut self, rt: &QueryContext) -> Result<Output> {
        let mut next = self.input.next(rt)?;
        self.set_parameters(next.as_ref(), rt)?;
        let mut round = self.read_round(Vec::new(), 0, &mut next, rt)?;
        let few = next.is_none() && round.rows < SHARED_ROWS;
        if few || self.counts_only() && partitioned::keys_lie_close(&round.pieces) {
            let groups = Groups::new(&self.calls, &self.parameters)?;
            return self.consume(groups, None, round.pieces, next, rt);
        }
        if clustered::is_clustered(&round.pieces) {
            match self.consume_in_runs(round, next, rt)? {
                InRuns::All(output) => return Ok(output),
                InRuns::Nothing(rows, after) => (round, next) = (rows, after),
            }
        }
        let count = partitioned::shares_for(round.rows, self.threads);
        let fresh = (0..count).map(|_| Partition::new(&self.calls, &self.parameters));
        let mut shares: Vec<Partition> = fresh.collect::<Result<_>>()?;
        let mut partitions = None;
        loop {
            // What is divided is there twice for a moment.
            self.memory
                .force(2 * round.bytes + shares.iter().map(Partition::bytes).sum::<usize>());
            partitioned::divide(&round.pieces, &mut shares, self.threads);
            round.pieces.clear();
            self.round(&mut shares, &mut partitions, next.is_none(), rt)?;
            if next.is_none() {
                break;
            }
            round = self.read_round(round.pieces, round.end, &mut next, rt)?;
        }
        if partitions.is_some() {
            self.flush_shares(&mut shares, &mut partitions)?;
            let groups = Groups::new(&self.calls, &self.parameters)?;
            return self.end(groups, partitions, 0);
        }
        let shares = shares.into_iter().map(|share| (share.groups, share.firsts));
        let output = Output::new(shares.collect(), self.keys.len());
        Ok(output.on_threads(self.threads, rt.budget.limit()))
    }

    /// Reads the next rows behind these, which end before number `end`.
    pub(super) fn read_round(
        &mut self,
        pieces: Vec<Piece>,
        end: u64,
        next: &mut Option<Batch>,
        rt: &QueryContext,
    ) -> Result<Round> {
        let bytes_max = usize::try_from(rt.budget.limit() / ROUND_SHARE).unwrap_or(usize::MAX);
        let mut round = Round {
            rows: pieces.iter().map(|piece| piece.rows).sum(),
            bytes: pieces.iter().map(Piece::bytes).sum(),
            pieces,
            end,
        };
        let before = self.memory.used().saturating_sub(round.bytes);
        while let Some(batch) = next.take() {
            rt.check_cancelled()?;
            let (own_keys, calls) = (&self.keys, &self.calls);
            in_portions(
                &batch,
                rt,
                |rows, held| inputs(own_keys, calls, rows, held, rt),
                |rows, (keys, arguments)| {
                    let piece = Piece {
                        keys,
                        arguments,
                        rows: rows.len(),
                        first: round.end,
                    };
                    round.rows += piece.rows;
                    round.bytes += piece.bytes();
                    round.end += piece.rows as u64;
                    round.pieces.push(piece);
                    self.memory.force(before + round.bytes);
                    Ok(())
                },
            )?;
            drop(batch);
            *next = self.input.next(rt)?;
            if round.rows >= ROUND_ROWS || round.bytes >= bytes_max {
                break;
            }
        }
        Ok(round)
    }

    /// The shares take the rows that wait, where these are many or the last.
    fn round(
        &mut self,
        shares: &mut [Partition],
        partitions: &mut Option<Partitions>,
        last: bool,
        rt: &QueryContext,
    ) -> Result<()> {
        let held = shares.iter().map(Partition::bytes).sum();
        let waiting = partitioned::waiting_bytes(shares) as u64;
        if !last && waiting < rt.budget.limit() / WAITING_SHARE && self.memory.keeps(held) {
            return Ok(());
        }
        let width = self.keys.len();
        let wanted = |shares: &[Partition]| {
            let each = shares.iter().map(|share| share.bytes_with_waiting(width));
            each.sum::<usize>()
        };
        if !self.memory.keeps(wanted(shares)) {
            if self.spill.is_some() {
                if shares.iter().any(|share| share.groups.count > 1) {
                    self.flush_shares(shares, partitions)?;
                }
                // The rows that wait are there; what they become is written out if it is too much.
                self.memory.force(wanted(shares));
            } else {
                self.memory.set(wanted(shares))?;
            }
        }
        partitioned::take(shares, self.threads, last)?;
        // What values hold besides themselves is known only now.
        let bytes = shares.iter().map(Partition::bytes).sum();
        if self.memory.keeps(bytes) {
            return Ok(());
        }
        if self.spill.is_some() {
            self.memory.force(bytes);
            return self.flush_shares(shares, partitions);
        }
        self.memory.set(bytes)
    }

    /// Writes all groups into partitions.
    fn flush_shares(
        &mut self,
        shares: &mut [Partition],
        partitions: &mut Option<Partitions>,
    ) -> Result<()> {
        for share in shares {
            share.firsts = Vec::new();
            self.flush(&mut share.groups, partitions, 0)?;
        }
        Ok(())
    }

    /// Whether a row takes no more than to be counted.
    fn counts_only(&self) -> bool {
        self.calls.iter().all(|call| {
            let function = &call.function;
            let counts = [AggregateFunction::CountStar, AggregateFunction::Count];
            !call.distinct && counts.contains(function)
        })
    }
}
