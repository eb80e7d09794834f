//! Which labels every node has: runs of nodes with one label set.
//!
//! # How it works
//! Nodes are numbered by label set at load, so a few runs cover all of them; what was created in
//! turns since is kept in a few bits for every node ([`IdRuns`]). All of it is in memory, charged
//! to the budget; a look-up is a bisection. On disk the runs are segments of the label store.
//!
//! # Invariants
//! * ST-8: runs ascend and do not overlap; an id outside all runs is no node, unless it lies where
//!   a page could not be read. Then the error says that its labels are lost, not that there is no
//!   such node.
//!
//! # On disk
//! Page of kind node column; payload: first id (8), number of runs (4), zero (4), then per run
//! varint gap to the end of the run before, varint length, varint label set.

use crate::bytes::{Decoded, Malformed, Reader, put_varint};
use crate::id_runs::{IdRuns, Run, Runs};
use crate::ids::{LabelId, NodeId};
use crate::{Error, Result};
use graven_pagecache::{Budget, Reservation};
use std::ops::Range;
use std::sync::Arc;

fn lost_error((nodes, why): &(Range<u64>, Arc<str>)) -> Error {
    Error::LabelsLost {
        first: nodes.start,
        end: nodes.end,
        why: why.to_string(),
    }
}

/// Target payload of a segment of runs.
pub(crate) const SEGMENT_BYTES: usize = 16 * 1024 - 64;
/// Most bytes that a run takes on disk.
const RUN_BYTES_MAX: usize = 25;

/// Ranges of nodes that take no more are not charged.
const FEW_BYTES: u64 = 4 << 10;

/// All runs, ascending; their numbers are those of label sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelRuns {
    runs: IdRuns,
    /// Nodes whose labels cannot be read, and why; ascending.
    lost: Vec<(Range<u64>, Arc<str>)>,
}

impl LabelRuns {
    /// Appends nodes behind all others.
    pub(crate) fn push(&mut self, run: Run) {
        assert!(self.runs.end() <= run.first, "ST-8");
        self.runs.push(run);
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.runs.memory_bytes()
    }

    /// Gives back the memory that further runs would need.
    pub(crate) fn finish(&mut self) {
        self.runs.finish();
    }

    /// Behind the last node.
    pub(crate) fn end(&self) -> u64 {
        self.runs.end()
    }

    /// The labels of these nodes, which lie behind all others so far, cannot be read.
    pub(crate) fn push_lost(&mut self, nodes: Range<u64>, why: &Error) {
        self.lost.push((nodes, why.to_string().into()));
    }

    /// The error for asking for the labels of `node`, if they cannot be read.
    pub(crate) fn lost_at(&self, node: NodeId) -> Option<Error> {
        let mut lost = self.lost.iter();
        lost.find(|(nodes, _)| nodes.contains(&node.0))
            .map(lost_error)
    }

    /// What cannot be read, one error for every piece.
    pub(crate) fn all_lost(&self) -> Vec<Error> {
        self.lost.iter().map(lost_error).collect()
    }

    /// The error for asking for all labels, if some cannot be read.
    pub(crate) fn any_lost(&self) -> Option<Error> {
        self.lost.first().map(lost_error)
    }

    /// The error for asking for the nodes whose label set `wanted` accepts, if some of them cannot
    /// be read; `nodes` says for each set how many there are.
    pub(crate) fn lost_among(&self, wanted: impl Fn(u32) -> bool, nodes: &[u64]) -> Option<Error> {
        let first = self.lost.first()?;
        let known = self.runs().filter(|run| wanted(run.number));
        let known: u64 = known.map(|run| run.count).sum();
        let sets = (0u32..).zip(nodes).filter(|(set, _)| wanted(*set));
        (known < sets.map(|(_, nodes)| nodes).sum()).then(|| lost_error(first))
    }

    pub(crate) fn runs(&self) -> Runs<'_> {
        self.runs.runs()
    }

    /// The runs of the nodes from `first` on.
    pub(crate) fn runs_from(&self, first: u64) -> Runs<'_> {
        self.runs.runs_from(first)
    }

    /// Appends the runs of a segment that was read on its own.
    pub(crate) fn append(&mut self, segment: LabelRuns) -> Decoded<()> {
        let first = segment.runs().next();
        if first.is_some_and(|run| run.first < self.runs.end()) {
            return Err(Malformed::new(
                "labels of nodes that the segment before has",
            ));
        }
        segment.runs().for_each(|run| self.push(run));
        Ok(())
    }

    /// The label set of `node`, `None` if there is no such node.
    #[inline]
    pub(crate) fn set_of(&self, node: NodeId) -> Option<u32> {
        self.runs.get(node.0)
    }

    pub(crate) fn set_of_existing(&self, node: NodeId) -> Result<u32> {
        let limit = self.runs.end();
        self.set_of(node).ok_or(Error::NoSuchNode {
            node: node.0,
            limit,
        })
    }

    /// Nodes whose label set `wanted` accepts.
    pub(crate) fn ranges(&self, wanted: impl Fn(u32) -> bool) -> NodeRanges {
        let mut ranges = FoundRanges::default();
        let runs = self.runs().filter(|run| wanted(run.number));
        runs.for_each(|run| ranges.push(run.ids()));
        ranges.finish()
    }

    /// Payloads of segments, each with its first id and the nodes it covers.
    pub(crate) fn encode(&self) -> Vec<(u64, u64, Vec<u8>)> {
        let mut segments = Vec::new();
        let mut runs = self.runs().peekable();
        while let Some(first) = runs.peek().map(|run| run.first) {
            let (mut count, mut nodes, mut behind) = (0u32, 0, first);
            let mut out = first.to_le_bytes().to_vec();
            out.extend_from_slice(&[0; 8]);
            while let Some(run) = runs.next_if(|_| out.len() + RUN_BYTES_MAX <= SEGMENT_BYTES) {
                put_varint(&mut out, run.first - behind);
                put_varint(&mut out, run.count);
                put_varint(&mut out, u64::from(run.number));
                behind = run.end();
                nodes += run.count;
                count += 1;
            }
            out[8..12].copy_from_slice(&count.to_le_bytes());
            segments.push((first, nodes, out));
        }
        segments
    }

    /// Appends the runs of a segment.
    pub(crate) fn decode(&mut self, payload: &[u8], sets: usize) -> Decoded<()> {
        let mut reader = Reader::new(payload);
        let first = reader.u64()?;
        let count = reader.u32()?;
        reader.u32()?;
        let mut behind = first;
        for index in 0..count {
            let (gap, count, set) = (reader.varint()?, reader.varint()?, reader.varint()?);
            let first = behind.checked_add(gap);
            let end = first.and_then(|first| first.checked_add(count));
            let set = u32::try_from(set).ok().filter(|set| (*set as usize) < sets);
            match (first, end, set) {
                (Some(first), Some(end), Some(number)) if count > 0 && self.runs.end() <= first => {
                    behind = end;
                    self.push(Run {
                        first,
                        count,
                        number,
                    });
                }
                _ => {
                    return Err(Malformed(format!(
                        "run {index} of labels is out of order or range"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Ascending disjoint ranges of node ids; cheap to clone. Where they are short and many, as for
/// nodes of two labels in turn, they are a bit for every id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRanges {
    ids: Arc<IdRuns>,
    count: u64,
    /// What they are charged, if that was asked for.
    charge: Charge,
}

/// What all copies of something are charged together; says nothing of what it is.
#[derive(Clone, Debug, Default)]
struct Charge {
    _held: Option<Arc<Reservation>>,
}

impl PartialEq for Charge {
    fn eq(&self, _: &Charge) -> bool {
        true
    }
}

impl Eq for Charge {}

/// Ranges that are being found, ascending.
#[derive(Debug, Default)]
struct FoundRanges {
    ids: IdRuns,
    count: u64,
}

impl FoundRanges {
    fn push(&mut self, range: Range<u64>) {
        let run = Run {
            first: range.start,
            count: range.end.saturating_sub(range.start),
            number: 0,
        };
        if run.count > 0 {
            self.count += run.count;
            self.ids.push(run);
        }
    }

    fn finish(mut self) -> NodeRanges {
        self.ids.finish();
        NodeRanges {
            ids: Arc::new(self.ids),
            count: self.count,
            charge: Charge::default(),
        }
    }
}

impl NodeRanges {
    /// The ranges; none is empty, and none begins where another one ends.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges_from(0)
    }

    /// The ranges of nodes from `first` on.
    pub fn ranges_from(&self, first: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ids.runs_from(first).map(|run| run.ids())
    }

    /// The range that holds `node`, or a part of it that does: of one that is long, all.
    #[must_use]
    #[inline]
    pub fn range_with(&self, node: NodeId) -> Option<Range<u64>> {
        self.ids.run_at(node.0).map(|run| run.ids())
    }

    /// Nodes in all ranges.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.ids.memory_bytes()
    }

    /// These, charged to `budget` until the last copy goes; a few are not worth an entry there.
    pub(crate) fn charged(mut self, budget: &Arc<Budget>) -> Result<NodeRanges> {
        let bytes = self.memory_bytes();
        if bytes > FEW_BYTES {
            let charge = budget.reserve("nodes of labels", bytes)?;
            self.charge = Charge {
                _held: Some(Arc::new(charge)),
            };
        }
        Ok(self)
    }

    /// Whether a range holds `node`.
    #[must_use]
    #[inline]
    pub fn contains(&self, node: NodeId) -> bool {
        self.ids.get(node.0).is_some()
    }

    /// These with the nodes of `changed`, ascending runs, in (`true`) or out.
    pub(crate) fn with_changes(
        &self,
        changed: impl Iterator<Item = (Range<u64>, bool)>,
    ) -> NodeRanges {
        let mut out = FoundRanges::default();
        let mut ranges = self.ranges();
        let mut current = ranges.next();
        for (run, inside) in changed {
            while let Some(range) = current.take_if(|range| range.end <= run.end) {
                out.push(range.start..range.end.min(run.start));
                current = ranges.next();
            }
            if let Some(range) = current.as_mut().filter(|range| range.start < run.end) {
                out.push(range.start..run.start.max(range.start));
                range.start = run.end;
            }
            if inside {
                out.push(run);
            }
        }
        current
            .into_iter()
            .chain(ranges)
            .for_each(|it| out.push(it));
        out.finish()
    }

    /// The nodes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ranges().flatten().map(NodeId)
    }
}

/// Sorts and deduplicates a label set.
pub(crate) fn label_set(labels: &[LabelId]) -> Vec<LabelId> {
    let mut set = labels.to_vec();
    set.sort_unstable();
    set.dedup();
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Goal: runs come back from their segments; look-ups and ranges agree with a list of sets
        /// per node.
        #[test]
        fn runs_agree_with_a_list(steps in proptest::collection::vec((0u64..3, 1u64..5, 0u32..3), 0..2000)) {
            let mut runs = LabelRuns::default();
            let mut model: Vec<Option<u32>> = Vec::new();
            for (gap, count, set) in steps {
                model.extend((0..gap).map(|_| None));
                runs.push(Run { first: model.len() as u64, count, number: set });
                model.extend((0..count).map(|_| Some(set)));
            }
            let mut decoded = LabelRuns::default();
            for (_, _, payload) in runs.encode() {
                decoded.decode(&payload, 3).unwrap();
            }
            prop_assert_eq!(&decoded, &runs);
            for (node, set) in model.iter().enumerate() {
                prop_assert_eq!(runs.set_of(NodeId(node as u64)), *set);
            }
            let ones: Vec<u64> = (0..model.len()).filter(|n| model[*n] == Some(1)).map(|n| n as u64).collect();
            let ranges = runs.ranges(|set| set == 1);
            prop_assert_eq!(ranges.iter().map(|node| node.0).collect::<Vec<_>>(), ones.clone());
            prop_assert_eq!(ranges.count(), ones.len() as u64);
            for node in 0..model.len() as u64 + 2 {
                prop_assert_eq!(ranges.contains(NodeId(node)), ones.contains(&node));
            }
        }

        /// Goal: arbitrary bytes are refused or give valid runs.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = LabelRuns::default().decode(&bytes, 2);
        }
    }

    /// Goal: where the nodes of one of two labels lie takes little, however they were created, also
    /// with changes on top.
    #[test]
    fn nodes_in_turn_take_bits() {
        let mut runs = LabelRuns::default();
        let each = |first: u64| Run {
            first,
            count: 1,
            number: (first % 2) as u32,
        };
        (0..1_000_000).for_each(|node| runs.push(each(node)));
        let odd = runs.ranges(|set| set == 1);
        let changed =
            odd.with_changes((1_000_000..2_000_000).map(|node| (node..node + 1, node % 2 == 1)));
        for (ranges, count) in [(odd, 500_000), (changed, 1_000_000)] {
            assert_eq!(ranges.count(), count);
            assert_eq!(ranges.ranges().count() as u64, count);
            assert!(ranges.memory_bytes() < 600_000, "{}", ranges.memory_bytes());
            assert_eq!(ranges.range_with(NodeId(7)), Some(7..8));
            assert_eq!(ranges.range_with(NodeId(8)), None);
        }
    }

    /// Goal: ranges that take much are charged until their last copy goes, and refused where there
    /// is no room; few are not charged.
    #[test]
    fn ranges_are_charged() {
        let mut runs = LabelRuns::default();
        for first in 0..100_000 {
            runs.push(Run {
                first,
                count: 1,
                number: (first % 2) as u32,
            });
        }
        let odd = || runs.ranges(|set| set == 1);
        let (budget, little) = (Budget::new(1 << 20), Budget::new(1 << 10));
        let charged = odd().charged(&budget).unwrap();
        assert!(budget.used() >= odd().memory_bytes());
        let copy = charged.clone();
        drop(charged);
        assert!(budget.used() >= copy.memory_bytes());
        drop(copy);
        assert_eq!(budget.used(), 0);
        assert!(odd().charged(&little).is_err());
        let all = runs.ranges(|_| true).charged(&little).unwrap();
        assert_eq!((all.count(), little.used()), (100_000, 0));
    }
}
