//! Where nodes lie: all of them, those of a label, those that may be ends of relationships.

use std::sync::PoisonError;

use graven_storage::{LabelId, NodeRanges};

use super::QueryContext;
use crate::error::Result;

impl QueryContext {
    /// Where the nodes with this label lie; `None` in a transaction, which may change it, and where
    /// only asking for each node tells.
    pub(crate) fn extents_of(&self, label: LabelId) -> Option<NodeRanges> {
        self.is_snapshot_stable
            .then(|| self.found_extents(label))
            .flatten()
    }

    /// As [`QueryContext::extents_of`] for a statement that writes nothing.
    fn found_extents(&self, label: LabelId) -> Option<NodeRanges> {
        let extents = self.shared.extents.lock();
        let mut extents = extents.unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = extents.iter().find(|(known, _)| *known == label) {
            return known.clone();
        }
        let ranges = self.snapshot.nodes_with_label(label).ok();
        extents.push((label, ranges.clone()));
        ranges
    }

    /// [`QueryContext::label_ranges`] as far as they lie in `from..to`. Where the statement only
    /// reads, they are found once for all callers: there may be as many as nodes.
    pub(crate) fn label_ranges_within(
        &self,
        label: LabelId,
        (from, to): (u64, u64),
    ) -> Result<Vec<(u64, u64)>> {
        let known = match self.writer {
            None => self.found_extents(label),
            Some(_) => None,
        };
        let known = match known {
            Some(known) => known,
            None => self.snapshot.nodes_with_label(label)?,
        };
        let ranges = known.ranges_from(from);
        let within = ranges.take_while(|range| range.start < to);
        Ok(within
            .map(|range| (range.start, range.end.min(to)))
            .collect())
    }

    /// The nodes with this label, in the little memory that tells them.
    pub(crate) fn labelled(&self, label: LabelId) -> Result<NodeRanges> {
        Ok(self.snapshot.nodes_with_label(label)?)
    }

    /// All nodes.
    pub(crate) fn all_nodes(&self) -> Result<NodeRanges> {
        Ok(self.snapshot.all_nodes()?)
    }

    /// Ascending disjoint id ranges `from..to` of the nodes with this label.
    pub(crate) fn label_ranges(&self, label: LabelId) -> Result<Vec<(u64, u64)>> {
        Ok(pairs(&self.labelled(label)?))
    }

    /// As [`QueryContext::all_node_ranges`] for operators that meet nodes as ends of relationships
    /// alone.
    pub(crate) fn possible_ends(&self) -> Result<Vec<(u64, u64)>> {
        Ok(pairs(&self.snapshot.possible_ends()?))
    }

    /// Ascending disjoint id ranges of all nodes.
    pub(crate) fn all_node_ranges(&self) -> Result<Vec<(u64, u64)>> {
        Ok(pairs(&self.all_nodes()?))
    }

    /// Node ids are below this.
    pub(crate) fn node_id_limit(&self) -> u64 {
        self.snapshot.node_id_limit()
    }
}

/// Where the nodes of some labels lie; `None` where that cannot be told.
pub(crate) type Extents = Vec<(LabelId, Option<NodeRanges>)>;

fn pairs(ranges: &NodeRanges) -> Vec<(u64, u64)> {
    ranges.ranges().map(|r| (r.start, r.end)).collect()
}
