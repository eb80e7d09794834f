//! By how much a batch changes the counts of nodes and relationships: by the labels that nodes had
//! before it and have after it.
//!
//! # Costs
//! A look-up of the label set of each end of a relationship, a number; counts are kept by those
//! numbers. New nodes are counted by runs.

use crate::data_file::FileRoot;
use crate::delta::batch::WholeBatch;
use crate::delta::change::{Change, NodeChange};
use crate::delta::counts::Counts;
use crate::ids::{LabelId, NodeId, TypeId};
use crate::snapshot::Snapshot;
use foldhash::HashMap;
use std::sync::Arc;

/// So many patterns are counted before they go into the counts.
const PATTERNS_MAX: usize = 1024;

/// Label sets by numbers: those of the base have theirs.
struct LabelSets<'a> {
    base: &'a FileRoot,
    sets: Vec<Arc<[LabelId]>>,
    /// Numbers of those that were met in changes.
    others: HashMap<Arc<[LabelId]>, u32>,
}

impl<'a> LabelSets<'a> {
    fn new(base: &'a FileRoot) -> LabelSets<'a> {
        let sets = base.catalog.label_sets.list().iter();
        LabelSets {
            base,
            sets: sets.cloned().collect(),
            others: HashMap::default(),
        }
    }

    fn number(&mut self, labels: &[LabelId]) -> u32 {
        if let Some(number) = self.others.get(labels) {
            return *number;
        }
        let (labels, number) = (Arc::<[LabelId]>::from(labels), self.sets.len() as u32);
        self.sets.push(labels.clone());
        self.others.insert(labels, number);
        number
    }

    /// The number of a node's labels, of none if there is no such node. `in_base`: no layer of
    /// `view` knows any node.
    fn of(&mut self, view: &Snapshot, in_base: bool, node: NodeId) -> u32 {
        match self.base.labels.set_of(node).filter(|_| in_base) {
            Some(set) => set,
            None => view.with_labels(node, |labels| self.number(labels.unwrap_or_default())),
        }
    }
}

/// Relationships counted by the labels of their ends.
#[derive(Default)]
struct Patterns {
    counts: HashMap<(u32, TypeId, u32), i64>,
    /// The pattern that was counted last, with what is not in `counts` yet: mostly the next one is
    /// the same.
    last: Option<((u32, TypeId, u32), i64)>,
}

impl Patterns {
    /// Counts `by` relationships; now and then all go to `counts`.
    fn count(
        &mut self,
        pattern: (u32, TypeId, u32),
        by: i64,
        sets: &LabelSets<'_>,
        counts: &mut Counts,
    ) {
        match &mut self.last {
            Some((last, count)) if *last == pattern => *count += by,
            last => {
                if let Some((before, count)) = last.replace((pattern, by)) {
                    *self.counts.entry(before).or_default() += count;
                }
                if self.counts.len() >= PATTERNS_MAX {
                    self.empty_into(sets, counts);
                }
            }
        }
    }

    fn empty_into(&mut self, sets: &LabelSets<'_>, counts: &mut Counts) {
        for ((start, rel_type, end), by) in self.counts.drain().chain(self.last.take()) {
            let [start, end] = [start, end].map(|set| &sets.sets[set as usize]);
            counts.relationships(start, rel_type, end, by);
        }
    }
}

/// By how much `batch`, on top of `before`, changes the counts.
pub(super) fn counts_of(batch: &WholeBatch, before: &Snapshot) -> Counts {
    let mut counts = Counts::default();
    let mut patterns = Patterns::default();
    let mut sets = LabelSets::new(before.root());
    let in_base = !before.nodes_changed();
    for (ids, change) in batch.nodes.runs() {
        if let Some(labels) = change.labels() {
            counts.nodes(labels, (ids.end - ids.start) as i64);
        }
        if matches!(change, NodeChange::Created(_)) {
            continue;
        }
        for node in ids.map(NodeId).filter(|node| before.node_exists(*node)) {
            let number = sets.of(before, in_base, node);
            counts.nodes(&sets.sets[number as usize], -1);
        }
    }
    // The sets of what nodes are changed to, by the number of the change.
    let changes = batch.nodes.changes().iter();
    let labels = changes.map(|change| change.labels().map_or(&[][..], |labels| labels));
    let changed: Vec<u32> = labels.map(|labels| sets.number(labels)).collect();
    batch.relationships.for_each(|(_, it)| {
        let mut labels = |node: NodeId| {
            // A node that went has those that it had, if its relationship goes with it.
            let number = (it.change == Change::Added).then(|| batch.nodes.number(node.0));
            match number.flatten() {
                Some(number) => changed[number as usize],
                None => sets.of(before, in_base, node),
            }
        };
        let pattern = (labels(it.start), it.rel_type, labels(it.end));
        let by = if it.change == Change::Added { 1 } else { -1 };
        patterns.count(pattern, by, &sets, &mut counts);
    });
    patterns.empty_into(&sets, &mut counts);
    counts
}
