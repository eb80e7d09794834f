//! Which nodes there are, and which labels they have.

use super::Snapshot;
use crate::delta::change::NodeChange;
use crate::delta::filter_key::FilterKey;
use crate::ids::{LabelId, NodeId};
use crate::labels::NodeRanges;
use crate::{Error, Result};

impl Snapshot {
    /// Calls `look` with the labels of `node`, `None` if there is no such node.
    #[inline]
    pub(crate) fn with_labels<T>(
        &self,
        node: NodeId,
        look: impl FnOnce(Option<&[LabelId]>) -> T,
    ) -> T {
        if self.nodes_changed() {
            if let Some(write_set) = self.write_set() {
                write_set.read_node(node.0);
            }
            let changed = self.stack().find(FilterKey::Node(node.0), |layer| {
                layer.node(node.0).map(|it| it.labels().cloned())
            });
            if let Some(labels) = changed {
                return look(labels.as_deref());
            }
        }
        let set = self.root().labels.set_of(node);
        look(set.map(|set| &self.root().catalog.label_sets[set]))
    }

    /// The error for a node that no layer and no run has.
    fn unknown(&self, node: NodeId) -> Error {
        let lost = self.root().labels.lost_at(node);
        lost.unwrap_or_else(|| Error::NoSuchNode {
            node: node.0,
            limit: self.node_id_limit(),
        })
    }

    /// Whether there is such a node; also where only its labels would tell and cannot be read.
    #[must_use]
    pub fn node_exists(&self, node: NodeId) -> bool {
        self.with_labels(node, |labels| labels.is_some())
            || self.root().labels.lost_at(node).is_some()
    }

    /// The labels of `node`, ascending.
    ///
    /// # Errors
    /// [`Error::NoSuchNode`].
    pub fn labels_of(&self, node: NodeId) -> Result<Vec<LabelId>> {
        self.with_labels(node, |labels| labels.map(<[LabelId]>::to_vec))
            .ok_or_else(|| self.unknown(node))
    }

    /// Whether `node` exists and has `label`.
    ///
    /// # Errors
    /// [`Error::LabelsLost`].
    #[inline]
    pub fn has_label(&self, node: NodeId, label: LabelId) -> Result<bool> {
        let has = self.with_labels(node, |labels| labels.map(|labels| labels.contains(&label)));
        match has {
            Some(has) => Ok(has),
            None => self.root().labels.lost_at(node).map_or(Ok(false), Err),
        }
    }

    /// The nodes with labels that `wanted` accepts.
    fn ranges(&self, wanted: impl Fn(&[LabelId]) -> bool) -> Result<NodeRanges> {
        let catalog = &self.root().catalog;
        let accepted = |set: u32| wanted(&catalog.label_sets[set]);
        let nodes = &catalog.statistics.label_set_nodes;
        match self.root().labels.lost_among(accepted, nodes) {
            Some(lost) => Err(lost),
            None => self.known_ranges(wanted).charged(self.cache().budget()),
        }
    }

    /// All nodes with readable labels.
    pub(crate) fn known_nodes(&self) -> NodeRanges {
        self.known_ranges(|_| true)
    }

    fn known_ranges(&self, wanted: impl Fn(&[LabelId]) -> bool) -> NodeRanges {
        let sets = &self.root().catalog.label_sets;
        let mut ranges = self.root().labels.ranges(|set| wanted(&sets[set]));
        if !self.nodes_changed() {
            return ranges;
        }
        let accepts = |change: &NodeChange| change.labels().is_some_and(|it| wanted(it));
        self.stack().for_each_merged(|layer| {
            if layer.has_nodes() {
                let runs = layer.node_runs();
                ranges = ranges.with_changes(runs.map(|(run, change)| (run, accepts(change))));
            }
        });
        ranges
    }

    /// The nodes with `label`.
    ///
    /// # Errors
    /// [`Error::LabelsLost`] if some of them are not known.
    pub fn nodes_with_label(&self, label: LabelId) -> Result<NodeRanges> {
        let find = || self.ranges(|labels| labels.contains(&label));
        if let Some(write_set) = self.write_set() {
            write_set.read_label(Some(label));
            return find();
        }
        let (at, count) = (label.0 as usize, self.version.names.labels.list().len());
        let newest = self.version.commit_tail.as_ref();
        let labels = match newest.is_some_and(|commit_tail| commit_tail.has_nodes()) {
            true => &self.version.views.labels,
            false => &self.version.committed_base.views.labels,
        };
        labels.get(at, count, find)
    }

    /// All nodes.
    ///
    /// # Errors
    /// [`Error::LabelsLost`] if some of them are not known.
    pub fn all_nodes(&self) -> Result<NodeRanges> {
        if let Some(write_set) = self.write_set() {
            write_set.read_label(None);
        }
        self.ranges(|_| true)
    }

    /// As [`Snapshot::all_nodes`], for a reader that meets nodes only as ends of relationships that
    /// it reads. Such an end exists as long as its relationship does. So a serialisable transaction
    /// does not record a read of all nodes.
    ///
    /// # Errors
    /// [`Error::LabelsLost`] if some of them are not known.
    pub fn possible_ends(&self) -> Result<NodeRanges> {
        self.ranges(|_| true)
    }
}
