//! Ids of relationships by their positions in a segment, and positions by ids: its runs.

use super::{RUN_BYTES, Segment, u32_at, u64_at};
use crate::bytes::{Decoded, Malformed};
use std::ops::Range;

impl<'a> Segment<'a> {
    fn run(&self, index: usize) -> (u64, u64) {
        let at = self.runs + index * RUN_BYTES;
        (
            u64::from(u32_at(self.bytes, at)),
            u64_at(self.bytes, at + 4),
        )
    }

    /// Id of the relationship at position `rank`.
    pub(crate) fn relationship_id(&self, rank: u64) -> Decoded<u64> {
        let run = self.runs_up_to(rank).checked_sub(1);
        match run.map(|index| self.run(index)) {
            Some((start, id)) if rank < self.relationships => Ok(id.wrapping_add(rank - start)),
            _ => Err(Malformed(format!("no relationship id at position {rank}"))),
        }
    }

    /// Calls `visit` with position and id where the ids of the relationships at `ranks` stop
    /// counting up.
    pub(crate) fn for_each_run(
        &self,
        ranks: Range<u64>,
        mut visit: impl FnMut(u64, u64),
    ) -> Decoded<()> {
        if ranks.is_empty() {
            return Ok(());
        }
        visit(ranks.start, self.relationship_id(ranks.start)?);
        for index in self.runs_up_to(ranks.start)..self.run_count {
            let (start, id) = self.run(index);
            if start >= ranks.end {
                break;
            }
            visit(start, id);
        }
        Ok(())
    }

    /// The run of ids that holds position `rank`: its first position, the one behind it, its first
    /// id.
    pub(crate) fn run_at(&self, rank: u64) -> Decoded<(u64, u64, u64)> {
        let behind = self.runs_up_to(rank);
        let end = match behind < self.run_count {
            true => self.run(behind).0,
            false => self.relationships,
        };
        match behind.checked_sub(1).map(|index| self.run(index)) {
            Some((start, id)) if rank < end && id.checked_add(end - start).is_some() => {
                Ok((start, end, id))
            }
            _ => Err(Malformed(format!("no relationship id at position {rank}"))),
        }
    }

    /// Runs that start at or before position `rank`.
    fn runs_up_to(&self, rank: u64) -> usize {
        let (mut low, mut high) = (0, self.run_count);
        while low < high {
            let middle = low.midpoint(high);
            if self.run(middle).0 <= rank {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low
    }

    /// The smallest id in `ids` that this segment holds; those of a bulk load ascend in it.
    pub(crate) fn first_id_within(&self, ids: &Range<u64>) -> Option<u64> {
        (0..self.run_count).find_map(|index| {
            let (start, first) = self.run(index);
            let end = match index + 1 < self.run_count {
                true => self.run(index + 1).0,
                false => self.relationships,
            };
            let behind = first.saturating_add(end.saturating_sub(start));
            let from = first.max(ids.start);
            (from < behind.min(ids.end)).then_some(from)
        })
    }

    /// Position of the relationship with `id`, if it is in this segment.
    pub(crate) fn rank_of_relationship(&self, id: u64) -> Option<u64> {
        (0..self.run_count).find_map(|index| {
            let (start, first) = self.run(index);
            let end = if index + 1 < self.run_count {
                self.run(index + 1).0
            } else {
                self.relationships
            };
            let within = id.checked_sub(first)?;
            (within < end.saturating_sub(start)).then_some(start + within)
        })
    }

    /// Runs of relationship ids.
    pub(crate) fn run_count(&self) -> usize {
        self.run_count
    }
}
