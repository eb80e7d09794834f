//! The accesses of a workload, one question after the other.

use std::collections::VecDeque;

use graven_trace::{Access, FLAG_SCAN};

use super::graph::Graph;
use super::skew::Skew;
use super::{Order, Workload};
use graven_types::rng::SplitMix64;

const NODES_PER_PAGE: u64 = 32;

/// Accesses of a workload, without end.
#[derive(Clone, Debug)]
pub struct Accesses {
    pub(super) workload: Workload,
    pub(super) random: SplitMix64,
    pub(super) skew: Skew,
    pub(super) position: u64,
    pub(super) query: u32,
    pub(super) ready: VecDeque<(u64, u8)>,
}

impl Iterator for Accesses {
    type Item = Access;

    fn next(&mut self) -> Option<Access> {
        while self.ready.is_empty() {
            self.query = self.query.wrapping_add(1);
            self.question();
        }
        let (page, flags) = self.ready.pop_front()?;
        Some(Access {
            page,
            flags,
            query: self.query,
            ..Access::default()
        })
    }
}

impl Accesses {
    /// Fills `ready` with the accesses of one question.
    fn question(&mut self) {
        match self.workload.clone() {
            Workload::Scan { pages } => self.turn(pages, FLAG_SCAN),
            Workload::Loop { pages } => self.turn(pages, 0),
            Workload::Zipf { .. } => {
                let page = self.skew.draw(&mut self.random);
                self.ready.push_back((page, 0));
            }
            Workload::Walk { pages, length } => self.walk(pages, length),
            Workload::Bfs { pages, hops, order } => self.search(pages, hops, order),
            Workload::Mixed { pages, scans, .. } => self.mixed(pages, scans),
        }
    }

    fn turn(&mut self, pages: u64, flags: u8) {
        self.ready.push_back((self.position % pages, flags));
        self.position += 1;
    }

    fn walk(&mut self, pages: u64, length: u64) {
        let graph = Graph {
            nodes: pages * NODES_PER_PAGE,
        };
        let mut node = self.random.below(graph.nodes);
        for _ in 0..=length {
            self.ready.push_back((node / NODES_PER_PAGE, 0));
            node = graph.neighbour(node, self.random.below(graph.degree(node)));
        }
    }

    fn search(&mut self, pages: u64, hops: u64, order: Order) {
        let graph = Graph {
            nodes: pages * NODES_PER_PAGE,
        };
        let start = self.random.below(graph.nodes);
        let mut seen = vec![false; graph.nodes as usize];
        seen[start as usize] = true;
        let mut level = vec![start];
        for hop in 0..hops {
            match order {
                Order::Id => level.sort_unstable(),
                Order::Alternating if (hop + u64::from(self.query)).is_multiple_of(2) => {
                    level.sort_unstable()
                }
                Order::Alternating => level.sort_unstable_by(|a, b| b.cmp(a)),
                Order::Discovery => {}
            }
            let mut next = Vec::new();
            let mut last = u64::MAX;
            for &node in &level {
                // Nodes that follow each other on a page are one access.
                let page = node / NODES_PER_PAGE;
                if page != last {
                    self.ready.push_back((page, 0));
                    last = page;
                }
                for place in 0..graph.degree(node) {
                    let found = graph.neighbour(node, place);
                    if !std::mem::replace(&mut seen[found as usize], true) {
                        next.push(found);
                    }
                }
            }
            level = next;
        }
    }

    fn mixed(&mut self, pages: u64, scans: f64) {
        let stretch = (pages / 10).clamp(1, 1_000);
        let others = 4.0;
        // A scan of `stretch` pages for every so many other questions of `others` accesses.
        let chance = scans * others / (stretch as f64 * (1.0 - scans) + scans * others);
        let draw = self.random.unit();
        if draw < chance {
            let first = self.random.below(pages);
            let scanned = (0..stretch).map(|at| ((first + at) % pages, FLAG_SCAN));
            self.ready.extend(scanned);
        } else if draw < 0.5 {
            self.walk(pages, 3);
        } else {
            for _ in 0..4 {
                let page = self.skew.draw(&mut self.random);
                self.ready.push_back((page, 0));
            }
        }
    }
}
