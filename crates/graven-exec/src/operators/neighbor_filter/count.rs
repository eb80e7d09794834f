//! How many ends a row has, where that takes no choosing.
//!
//! # How it works
//! The entries of the row's lists are counted, and those that are no ends taken off. With a join
//! the entries are looked up in its list, as long as both are short.

use graven_cypher::plan::JoinKind;

use super::NeighborFilter;
use crate::batch::Batch;

/// Lists up to this length are searched entry by entry, instead of being marked.
const SHORT: usize = 8;

impl NeighborFilter {
    /// How many ends a row has, where that takes no choosing: without joins, or with one that is
    /// looked up in short lists.
    ///
    /// `None`: they must be chosen.
    pub(crate) fn number(
        &mut self,
        batch: &Batch,
        row: usize,
        place: usize,
        out: &mut Vec<(u64, u64)>,
    ) -> Option<u64> {
        let plain = self.semi_join_groups.is_empty() && self.joins.len() <= 1;
        if !plain || self.joins.iter().any(|join| join.kind == JoinKind::Inner) {
            return None;
        }
        if !self.left_out(batch, row, place, out) {
            return Some(0);
        }
        let entries: usize = self.lists.parts.iter().map(|p| p.list(place).len()).sum();
        let probe_node = match self.joins.first() {
            None => None,
            Some(join) => match (join.lists.place(row), join.kind) {
                // Nothing is joined to null.
                (None, JoinKind::Anti) => None,
                (None, _) => return Some(0),
                (Some(probe_node), _) => {
                    let lists = join
                        .lists
                        .parts
                        .iter()
                        .map(|part| part.list(probe_node).len());
                    if entries * lists.sum::<usize>().min(SHORT) > SHORT * SHORT {
                        return None;
                    }
                    Some((join, probe_node))
                }
            },
        };
        let counts = |node: u64| match probe_node {
            None => true,
            Some((join, probe_node)) => {
                let mut lists = join.lists.parts.iter().map(|part| part.list(probe_node));
                let joined = lists.any(|list| match list.len() > SHORT {
                    true => list.binary_search(&node).is_ok(),
                    false => list.contains(&node),
                });
                joined == (join.kind == JoinKind::Semi)
            }
        };
        let mut number = entries;
        if probe_node.is_some() {
            let entries = self.lists.parts.iter().flat_map(|part| part.ends(place));
            number = entries.filter(|node| counts(*node)).count();
        }
        let gone = out.iter().filter(|(node, _)| counts(*node));
        let gone: u64 = gone.map(|(_, times)| times).sum();
        Some(number as u64 - gone)
    }

    /// Entries in the lists at `place` that are no ends of a row whatever the joins say, each node
    /// with how many; `false` if no entry is an end.
    pub(crate) fn left_out(
        &mut self,
        batch: &Batch,
        row: usize,
        place: usize,
        out: &mut Vec<(u64, u64)>,
    ) -> bool {
        out.clear();
        for slot in &self.not_equal {
            // No end is unlike null.
            let Some(other) = batch.column(*slot).node(row) else {
                return false;
            };
            if !out.iter().any(|(node, _)| *node == other) {
                out.push((other, self.occurrences(place, other)));
            }
        }
        if self.pattern.goes_by_ends() {
            let not_equal = out.len();
            let node = self.lists.node(place);
            self.pattern.taken_ends(batch, row, node, &mut self.taken);
            for node in &self.taken {
                if out[..not_equal].iter().any(|(other, _)| other == node) {
                    continue;
                }
                let most = self.occurrences(place, *node);
                match out[not_equal..].iter_mut().find(|(other, _)| other == node) {
                    Some((_, times)) => *times = most.min(*times + 1),
                    None => out.push((*node, most.min(1))),
                }
            }
        }
        true
    }

    /// How often a node stands in the lists at a place.
    fn occurrences(&self, place: usize, node: u64) -> u64 {
        let lists = self.lists.parts.iter().map(|part| part.list(place));
        let counts = lists.map(|list| match list.len() > SHORT {
            true => {
                let from = list.partition_point(|other| *other < node);
                let equal = list[from..].iter().take_while(|other| **other == node);
                equal.count() as u64
            }
            // Without a branch to guess.
            false => list.iter().map(|other| u64::from(*other == node)).sum(),
        });
        counts.sum()
    }
}
