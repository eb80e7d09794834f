//! What the values of a property are like, and where relationships meet, where most of them have
//! come since the newest checkpoint: no catalogue knows them.
//!
//! # How it works
//! Of the nodes or relationships that the layers of changes in memory have made, some are looked
//! at, evenly over all of them. Nothing is read from the file, nor from temporary pages.
//!
//! # Costs
//! Up to [`VISITED_MAX`] entries of each layer are passed, and the property of up to [`SAMPLE_MAX`]
//! is looked up: some ten microseconds. For planners, which then remember it.

use super::Snapshot;
use crate::catalog::value_statistics::sample::{Sample, grown};
use crate::catalog::{TypeStatistics, ValueStatistics};
use crate::delta::change::{Change, ColumnOf, NodeChange};
use crate::delta::filter_key::FilterKey;
use crate::delta::id_map::IdMap;
use crate::delta::immutable_delta::DeltaView;
use crate::ids::{KeyId, LabelId, NodeId, TypeId};
use graven_types::rng::mix;

/// Entries of a layer that are passed.
const VISITED_MAX: u64 = 8192;

/// Values that are looked at.
const SAMPLE_MAX: usize = 1024;

/// What is asked of new nodes or relationships.
struct New<T> {
    found: Vec<T>,
    /// How many there are, about.
    count: u64,
}

impl<T> Default for New<T> {
    fn default() -> Self {
        New {
            found: Vec::new(),
            count: 0,
        }
    }
}

impl<T> New<T> {
    /// Adds those of a layer of which `asked` gives something.
    fn add<V>(&mut self, entries: &IdMap<V>, asked: impl Fn((u64, &V)) -> Option<T>) {
        let stride = (entries.len() as u64).div_ceil(VISITED_MAX).max(1);
        let before = self.found.len();
        for (at, chunk) in entries.chunks().filter(|(at, _)| picked(*at, stride)) {
            self.found
                .extend(IdMap::entries(at, chunk).filter_map(&asked));
        }
        self.count += (self.found.len() - before) as u64 * stride;
    }

    /// Those to be looked at, if all of them are at least half of `all`.
    fn most_of(self, all: u64) -> Option<impl Iterator<Item = T>> {
        let stride = self.found.len().div_ceil(SAMPLE_MAX).max(1) as u64;
        let numbered = (0..).zip(self.found);
        let looked_at = numbered.filter(move |(number, _)| picked(*number, stride));
        let looked_at = looked_at.map(|(_, found)| found);
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
                new.add(&layer.nodes, |(id, change)| match change {
                    NodeChange::Created(labels) => {
                        label.is_none_or(|own| labels.contains(&own)).then_some(id)
                    }
                    NodeChange::Labels(_) | NodeChange::Deleted => None,
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
                new.add(&layer.relationships, |(id, it)| {
                    (it.rel_type == rel_type && it.change == Change::Added).then_some(id)
                });
            }
        });
        let of = ColumnOf::Relationship(rel_type, key);
        self.sampled(new, of, self.type_count(rel_type))
    }

    /// How many nodes the relationships of a type start and end at, and how they are spread over
    /// them, if most of these relationships are new.
    #[must_use]
    pub fn ends_of_new_relationships(&self, rel_type: TypeId) -> Option<TypeStatistics> {
        let mut new = New::default();
        self.stack().for_each(|layer| {
            if let DeltaView::Memory(layer) = layer {
                new.add(&layer.relationships, |(_, it)| {
                    (it.rel_type == rel_type && it.change == Change::Added)
                        .then_some((it.start, it.end))
                });
            }
        });
        let all = self.type_count(rel_type);
        let (starts, ends) = new.most_of(all)?.unzip();
        let [start_nodes, out_degree_max, out_squares] = met(starts, all);
        let [end_nodes, in_degree_max, in_squares] = met(ends, all);
        Some(TypeStatistics {
            relationships: all,
            start_nodes,
            end_nodes,
            out_degree_max,
            in_degree_max,
            out_squares,
            in_squares,
        })
    }

    fn sampled(&self, new: New<u64>, of: ColumnOf, all: u64) -> Option<ValueStatistics> {
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

/// How many nodes are an end of `all` relationships, of how many the most frequent one is, and the
/// sum of the squares of how many each is, if all are like those looked at.
fn met(mut ends: Vec<NodeId>, all: u64) -> [u64; 3] {
    let of = ends.len() as u64;
    ends.sort_unstable();
    let same = ends.chunk_by(|a, b| a == b).map(|run| run.len() as u64);
    let (mut distinct, mut most, mut pairs) = (0, 0, 0);
    for own in same {
        distinct += 1;
        most = own.max(most);
        pairs += u128::from(own) * u128::from(own - 1);
    }
    let nodes = grown(distinct, of, all);
    let scaled = |count: u64| u128::from(count) * u128::from(all) / u128::from(of.max(1));
    let most = (u64::try_from(scaled(most)).unwrap_or(all)).clamp(1, all.max(1));
    // A sample holds a pair of relationships that meet as often as both are in it.
    let share = all as f64 / of.max(1) as f64;
    let squares = pairs as f64 * share * share + all as f64;
    let squares = squares.min(most as f64 * all as f64);
    [nodes, most, squares as u64]
}
