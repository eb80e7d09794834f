//! What the values of a property are like, where most of them have come since the newest
//! checkpoint: no catalogue knows them.
//!
//! # How it works
//! Of the nodes or relationships that the layers of changes in memory have made, some are looked
//! at, evenly over all of them. Nothing is read from the file, nor from temporary pages.
//!
//! # Costs
//! Up to [`VISITED_MAX`] entries of each layer are passed, and the property of up to [`SAMPLE_MAX`]
//! is looked up: some ten microseconds. For planners, which then remember it.

use super::Snapshot;
use crate::catalog::ValueStatistics;
use crate::catalog::value_statistics::sample::Sample;
use crate::delta::change::{Change, ColumnOf, NodeChange};
use crate::delta::filter_key::FilterKey;
use crate::delta::id_map::IdMap;
use crate::delta::immutable_delta::DeltaView;
use crate::ids::{KeyId, LabelId, TypeId};
use graven_types::rng::mix;

/// Entries of a layer that are passed.
const VISITED_MAX: u64 = 8192;

/// Values that are looked at.
const SAMPLE_MAX: usize = 1024;

/// New nodes or relationships.
#[derive(Default)]
struct New {
    ids: Vec<u64>,
    /// How many there are, about.
    count: u64,
}

impl New {
    /// Adds those of a layer.
    fn add<V>(&mut self, entries: &IdMap<V>, is_one: impl Fn(&V) -> bool) {
        let stride = (entries.len() as u64).div_ceil(VISITED_MAX).max(1);
        let before = self.ids.len();
        for (at, chunk) in entries.chunks().filter(|(at, _)| picked(*at, stride)) {
            let of_chunk = IdMap::entries(at, chunk);
            self.ids
                .extend(of_chunk.filter(|(_, it)| is_one(it)).map(|(id, _)| id));
        }
        self.count += (self.ids.len() - before) as u64 * stride;
    }

    /// The ids to be looked at, if these are at least half of `all`.
    fn most_of(self, all: u64) -> Option<impl Iterator<Item = u64>> {
        let stride = self.ids.len().div_ceil(SAMPLE_MAX).max(1) as u64;
        let looked_at = self.ids.into_iter().filter(move |id| picked(*id, stride));
        (self.count > 0 && self.count >= all / 2).then_some(looked_at)
    }
}

/// One of so many, at random: values may repeat at any distance.
fn picked(number: u64, stride: u64) -> bool {
    stride == 1 || mix(number).is_multiple_of(stride)
}

impl Snapshot {
    /// What the values of a property of the nodes with a label, or of all nodes, are like, if most
    /// of these nodes are new.
    #[must_use]
    pub fn values_of_new_nodes(
        &self,
        label: Option<LabelId>,
        key: KeyId,
    ) -> Option<ValueStatistics> {
        let mut new = New::default();
        self.stack().for_each(|layer| {
            if let DeltaView::Memory(layer) = layer {
                new.add(&layer.nodes, |change| match change {
                    NodeChange::Created(labels) => label.is_none_or(|own| labels.contains(&own)),
                    NodeChange::Labels(_) | NodeChange::Deleted => false,
                });
            }
        });
        let all = match label {
            Some(label) => self.label_count(label),
            None => self.node_count(),
        };
        self.sampled(new, ColumnOf::Node(key), all)
    }

    /// The same of relationships of a type.
    #[must_use]
    pub fn values_of_new_relationships(
        &self,
        rel_type: TypeId,
        key: KeyId,
    ) -> Option<ValueStatistics> {
        let mut new = New::default();
        self.stack().for_each(|layer| {
            if let DeltaView::Memory(layer) = layer {
                new.add(&layer.relationships, |it| {
                    it.rel_type == rel_type && it.change == Change::Added
                });
            }
        });
        let of = ColumnOf::Relationship(rel_type, key);
        self.sampled(new, of, self.type_count(rel_type))
    }

    fn sampled(&self, new: New, of: ColumnOf, all: u64) -> Option<ValueStatistics> {
        let mut sample = Sample::default();
        for id in new.most_of(all)? {
            let value = self
                .stack()
                .find(FilterKey::owner(of, id), |layer| match layer {
                    DeltaView::Memory(layer) => layer.column(of)?.get(id).cloned(),
                    DeltaView::Spilled(_) => None,
                });
            sample.add(value.as_ref().filter(|value| !value.is_null()));
        }
        sample.finish(all)
    }
}
