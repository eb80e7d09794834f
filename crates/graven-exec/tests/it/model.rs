//! Random small multigraphs, and the naive answers to questions about them.

use std::collections::BTreeSet;
use std::sync::Arc;

use graven_cypher::plan::Direction;
use graven_storage::GraphBuilder;
use graven_storage::{PropertyValue, Store, Uniqueness};
use graven_types::rng::SplitMix64;

/// Random numbers as the tests ask for them.
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.0.place(from.len())].clone()
    }
}

/// One relationship; its position in [`Model::rels`] is its id.
#[derive(Clone, Debug)]
pub(crate) struct Rel {
    pub(crate) start: u64,
    pub(crate) kind: &'static str,
    pub(crate) end: u64,
    pub(crate) weight: i64,
}

/// A graph as plain vectors.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// Per node: whether it is labelled `B` besides `A`, and property `x` (absent if negative).
    pub(crate) nodes: Vec<(bool, i64)>,
    pub(crate) rels: Vec<Rel>,
}

pub(crate) const TYPES: [&str; 3] = ["R", "S", "T"];

impl Model {
    /// A multigraph with loops and parallel relationships.
    pub(crate) fn random(random: &mut Random, nodes_max: u64, rels_max: u64) -> Self {
        let count = 1 + random.below(nodes_max);
        let nodes = (0..count)
            .map(|_| {
                (
                    random.below(2) == 0,
                    i64::try_from(random.below(6)).unwrap() - 1,
                )
            })
            .collect();
        let mut rels: Vec<Rel> = (0..random.below(rels_max + 1))
            .map(|_| Rel {
                start: random.below(count),
                kind: random.pick(&TYPES),
                end: random.below(count),
                weight: i64::try_from(random.below(4)).unwrap(),
            })
            .collect();
        // The order in which the store assigns ids, types being declared in the order of `TYPES`.
        rels.sort_by_key(|r| (TYPES.iter().position(|t| *t == r.kind), r.start, r.end));
        Self { nodes, rels }
    }

    /// The same graph with nodes of its kind, but without relationships, before and behind the
    /// others.
    pub(crate) fn among_isolated(mut self, before: u64, behind: u64) -> Self {
        let isolated = |count| (0..count).map(|n| (n % 3 == 0, -1));
        let nodes = isolated(before).chain(self.nodes).chain(isolated(behind));
        self.nodes = nodes.collect();
        for rel in &mut self.rels {
            rel.start += before;
            rel.end += before;
        }
        self
    }

    /// The same graph as a store in memory.
    pub(crate) fn store(&self) -> Arc<Store> {
        let mut builder = GraphBuilder::new();
        let ids: Vec<_> = self
            .nodes
            .iter()
            .map(|(b, x)| {
                let labels: &[&str] = if *b { &["A", "B"] } else { &["A"] };
                let x = if *x < 0 {
                    PropertyValue::Null
                } else {
                    PropertyValue::Integer(*x)
                };
                builder.node(labels, &[("x", x)])
            })
            .collect();
        for rel in &self.rels {
            let (start, end) = (
                ids[usize::try_from(rel.start).unwrap()],
                ids[usize::try_from(rel.end).unwrap()],
            );
            let weight = PropertyValue::Integer(rel.weight);
            builder.relationship(start, rel.kind, end, &[("w", weight)]);
        }
        builder.index("A", "x", Uniqueness::Any);
        builder.open(4 << 20).expect("a small graph opens")
    }

    /// Usable relationships of `node`: neighbour and id, each once.
    pub(crate) fn around(&self, node: u64, wanted: &Wanted) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        for (id, rel) in (0..).zip(&self.rels) {
            let usable = (wanted.types.is_empty() || wanted.types.contains(&rel.kind))
                && wanted.below.is_none_or(|limit| rel.weight < limit)
                && !wanted.excluded.contains(&id);
            if !usable {
                continue;
            }
            if wanted.direction != Direction::In && rel.start == node {
                found.push((rel.end, id));
            } else if wanted.direction != Direction::Out && rel.end == node {
                found.push((rel.start, id));
            }
        }
        found
    }

    /// Every node with the number of nodes within `wanted.max` steps, itself included: a search
    /// from each.
    pub(crate) fn distances(&self, wanted: &Wanted) -> impl Iterator<Item = (u64, usize)> {
        let around: Vec<Vec<(u64, u64)>> = (0..self.nodes.len() as u64)
            .map(|node| self.around(node, wanted))
            .collect();
        let max = wanted.max;
        (0..self.nodes.len() as u64).map(move |start| {
            let mut seen = BTreeSet::from([start]);
            let mut frontier = vec![start];
            for _ in 0..max {
                let around = frontier.iter().flat_map(|node| &around[*node as usize]);
                frontier = around
                    .filter_map(|(end, _)| seen.insert(*end).then_some(*end))
                    .collect();
            }
            (start, seen.len())
        })
    }

    /// Whether no node has more than `limit` trails, counted without regard to the lower bound.
    pub(crate) fn has_few_trails(&self, wanted: &Wanted, limit: usize) -> bool {
        (0..self.nodes.len() as u64).all(|start| {
            let mut open = vec![(start, Vec::new())];
            let mut met = 0;
            while let Some((end, rels)) = open.pop() {
                met += 1;
                if met > limit {
                    return false;
                }
                if rels.len() < wanted.max {
                    for (next, rel) in self.around(end, wanted) {
                        if !rels.contains(&rel) {
                            let mut longer: Vec<u64> = rels.clone();
                            longer.push(rel);
                            open.push((next, longer));
                        }
                    }
                }
            }
            true
        })
    }

    /// All trails from `start`: end and relationships.
    pub(crate) fn trails(&self, start: u64, wanted: &Wanted) -> Vec<(u64, Vec<u64>)> {
        let mut trails = Vec::new();
        let mut open = vec![(start, Vec::new())];
        while let Some((end, rels)) = open.pop() {
            if rels.len() < wanted.max {
                for (next, rel) in self.around(end, wanted) {
                    if !rels.contains(&rel) {
                        let mut longer = rels.clone();
                        longer.push(rel);
                        open.push((next, longer));
                    }
                }
            }
            if rels.len() >= wanted.min {
                trails.push((end, rels));
            }
        }
        trails.sort();
        trails
    }

    /// Distinct ends of the trails.
    pub(crate) fn ends(&self, start: u64, wanted: &Wanted) -> BTreeSet<u64> {
        self.trails(start, wanted)
            .into_iter()
            .map(|(end, _)| end)
            .collect()
    }
}

/// What a pattern asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) types: Vec<&'static str>,
    pub(crate) direction: Direction,
    pub(crate) below: Option<i64>,
    pub(crate) excluded: Vec<u64>,
    pub(crate) min: usize,
    pub(crate) max: usize,
}
