//! By how much a layer changes the counts of nodes and relationships.
//!
//! # How it works
//! Counts of nodes are exact, and those of relationships, of one type or all. Relationships are
//! also counted per (labels of the start, type, labels of the end) as these were when the
//! relationship came or went; labels that change later are not followed, which is good enough for a
//! planner. The next checkpoint starts anew.

use super::small_map::SmallMap;
use crate::catalog::{Catalog, TypeStatistics};
use crate::ids::{LabelId, TypeId};
use std::sync::Arc;

type Labels = Arc<[LabelId]>;

/// Differences of counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) nodes: i64,
    pub(crate) relationships: i64,
    sets: SmallMap<Labels, i64>,
    patterns: SmallMap<(Labels, TypeId, Labels), i64>,
    /// The sums of the patterns of each type.
    types: SmallMap<TypeId, i64>,
}

/// What comes to nothing is left out: a node that gets its labels one by one leaves no trace of
/// those it had in between.
fn bump<K: Ord + Clone>(map: &mut SmallMap<K, i64>, key: K, by: i64) {
    match map.get(&key).copied().unwrap_or(0) + by {
        0 => _ = map.remove(&key),
        now => _ = map.insert(key, now),
    }
}

impl Counts {
    /// Counts `by` nodes with these labels.
    pub(crate) fn nodes(&mut self, labels: &Labels, by: i64) {
        self.nodes += by;
        bump(&mut self.sets, labels.clone(), by);
    }

    /// Counts `by` relationships between nodes with these labels.
    pub(crate) fn relationships(
        &mut self,
        start: &Labels,
        rel_type: TypeId,
        end: &Labels,
        by: i64,
    ) {
        self.relationships += by;
        bump(&mut self.types, rel_type, by);
        bump(
            &mut self.patterns,
            (start.clone(), rel_type, end.clone()),
            by,
        );
    }

    /// By how many nodes with one label there are more.
    pub(crate) fn nodes_with(&self, label: LabelId) -> i64 {
        let sets = self.sets.iter().filter(|(set, _)| set.contains(&label));
        sets.map(|(_, by)| by).sum()
    }

    /// By how many relationships of one type there are more.
    pub(crate) fn relationships_of(&self, rel_type: TypeId) -> i64 {
        self.types.get(&rel_type).copied().unwrap_or(0)
    }

    /// By how many relationships of one type there are more, by the labels of their ends.
    pub(crate) fn patterns_of(
        &self,
        rel_type: TypeId,
    ) -> impl Iterator<Item = (&[LabelId], &[LabelId], i64)> {
        let patterns = self.patterns.iter();
        let patterns = patterns.filter(move |((_, of, _), _)| *of == rel_type);
        patterns.map(|((start, _, end), by)| (&**start, &**end, *by))
    }

    /// Adds the differences of a newer layer.
    pub(crate) fn add(&mut self, newer: &Counts) {
        self.nodes += newer.nodes;
        self.relationships += newer.relationships;
        for (labels, by) in newer.sets.iter() {
            bump(&mut self.sets, labels.clone(), *by);
        }
        for (pattern, by) in newer.patterns.iter() {
            bump(&mut self.patterns, pattern.clone(), *by);
        }
        for (rel_type, by) in newer.types.iter() {
            bump(&mut self.types, *rel_type, *by);
        }
    }

    /// Changes the statistics of `catalog`, which gets the label sets that it lacks.
    pub(crate) fn apply(&self, catalog: &mut Catalog) {
        let statistics = &mut catalog.statistics;
        statistics.nodes = statistics.nodes.saturating_add_signed(self.nodes);
        statistics.relationships = statistics
            .relationships
            .saturating_add_signed(self.relationships);
        let types = catalog.types.list().len();
        statistics.types.resize(types, TypeStatistics::default());
        for (labels, by) in self.sets.iter() {
            let set = catalog.intern_set(labels) as usize;
            let count = &mut catalog.statistics.label_set_nodes[set];
            *count = count.saturating_add_signed(*by);
        }
        for ((start, rel_type, end), by) in self.patterns.iter() {
            let pattern = (
                catalog.intern_set(start),
                *rel_type,
                catalog.intern_set(end),
            );
            let statistics = &mut catalog.statistics;
            let count = statistics.patterns.entry(pattern).or_default();
            *count = count.saturating_add_signed(*by);
        }
        // Of a type they are exact: what went under other labels than it came is taken off all the
        // same.
        for (rel_type, by) in self.types.iter() {
            let types = &mut catalog.statistics.types;
            if let Some(of_type) = types.get_mut(rel_type.0 as usize) {
                let before = of_type.relationships;
                let now = before.saturating_add_signed(*by);
                // Nodes have as many as before on average; of a new type, one.
                let grown = |nodes: u64| match before {
                    0 => now,
                    _ => {
                        let grown = u128::from(nodes) * u128::from(now) / u128::from(before);
                        u64::try_from(grown).map_or(now, |grown| grown.clamp(now.min(1), now))
                    }
                };
                let scaled = |squares: u64| {
                    let scaled = u128::from(squares) * u128::from(now) / u128::from(before.max(1));
                    u64::try_from(scaled).unwrap_or(u64::MAX)
                };
                of_type.out_squares = scaled(of_type.out_squares);
                of_type.in_squares = scaled(of_type.in_squares);
                of_type.start_nodes = grown(of_type.start_nodes);
                of_type.end_nodes = grown(of_type.end_nodes);
                // The node with the most keeps its share; of a new type none is known.
                if before > 0 {
                    of_type.out_degree_max = grown(of_type.out_degree_max);
                    of_type.in_degree_max = grown(of_type.in_degree_max);
                }
                of_type.relationships = now;
            }
        }
        catalog.statistics.patterns.retain(|_, count| *count > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: labels that come one by one leave what there was before and what there is then.
    #[test]
    fn what_comes_to_nothing_is_left_out() {
        let mut counts = Counts::default();
        let mut before: Labels = Arc::from([]);
        for most in 0..100 {
            let after: Labels = (0..=most).map(LabelId).collect();
            counts.nodes(&before, -1);
            counts.nodes(&after, 1);
            before = after;
        }
        assert_eq!(counts.nodes, 0);
        assert_eq!(counts.sets.len(), 2);
        counts.relationships(&before, TypeId(1), &before, 1);
        counts.relationships(&before, TypeId(1), &before, -1);
        assert_eq!(counts.patterns.len() + counts.types.len(), 0);
    }
}
