//! Synthetic page accesses: scans, loops, skewed reads, traversals of a graph, and a mix of them.
//!
//! # How it works
//! A workload is written `kind:key=value,...` and gives accesses without end. The graph of the traversals is not stored:
//! node `v` lies on page `v / 32`, its degree and neighbours are computed from its number. Half of the neighbours are near
//! in number, the others are drawn with a strong preference for low numbers, so the graph has communities and hubs.
//!
//! | kind | keys (default) | accesses |
//! | --- | --- | --- |
//! | `scan` | `pages` (10000) | page after page, every page new to the cache after a turn; with the scan flag |
//! | `loop` | `pages` (10000) | the same without the flag: the worst case of LRU |
//! | `zipf` | `pages`, `alpha` (0.9) | pages by Zipf's law, scattered |
//! | `walk` | `pages`, `length` (8) | random walks |
//! | `bfs` | `pages`, `hops` (3), `order` id, alternating or discovery (id) | breadth-first searches from random nodes |
//! | `mixed` | `pages`, `alpha` (0.9), `scans` (0.1) | point reads by Zipf's law, friend lists, and scans of a stretch of pages that make up a share of the accesses |

use std::collections::VecDeque;
use std::str::FromStr;

use graven_trace::{Access, FLAG_SCAN};

use crate::random::{Random, mix};

const NODES_PER_PAGE: u64 = 32;

/// In which order a search visits a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Ascending node numbers.
    Id,
    /// Ascending and descending in turn, level by level.
    Alternating,
    /// As they were found.
    Discovery,
}

/// A kind of synthetic accesses.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Page after page, flagged as scan.
    Scan {
        /// Pages of the store.
        pages: u64,
    },
    /// Page after page, not flagged.
    Loop {
        /// Pages of the loop.
        pages: u64,
    },
    /// Pages by Zipf's law.
    Zipf {
        /// Pages of the store.
        pages: u64,
        /// Exponent.
        alpha: f64,
    },
    /// Random walks.
    Walk {
        /// Pages of the store.
        pages: u64,
        /// Steps of a walk.
        length: u64,
    },
    /// Breadth-first searches.
    Bfs {
        /// Pages of the store.
        pages: u64,
        /// Levels.
        hops: u64,
        /// How a level is visited.
        order: Order,
    },
    /// Point reads, friend lists and scans.
    Mixed {
        /// Pages of the store.
        pages: u64,
        /// Exponent of the point reads.
        alpha: f64,
        /// Share of accesses that belong to scans.
        scans: f64,
    },
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut values = Values::read(rest)?;
        let pages = values.number("pages", 10_000.0, 1.0, 1e9)? as u64;
        let workload = match kind {
            "scan" => Workload::Scan { pages },
            "loop" => Workload::Loop { pages },
            "zipf" => Workload::Zipf {
                pages,
                alpha: values.number("alpha", 0.9, 0.0, 5.0)?,
            },
            "walk" => Workload::Walk {
                pages,
                length: values.number("length", 8.0, 1.0, 1e6)? as u64,
            },
            "bfs" => Workload::Bfs {
                pages,
                hops: values.number("hops", 3.0, 1.0, 10.0)? as u64,
                order: match values.take("order").as_deref() {
                    None | Some("id") => Order::Id,
                    Some("alternating") => Order::Alternating,
                    Some("discovery") => Order::Discovery,
                    Some(other) => {
                        return Err(format!(
                            "`order={other}`: expected id, alternating or discovery"
                        ));
                    }
                },
            },
            "mixed" => Workload::Mixed {
                pages,
                alpha: values.number("alpha", 0.9, 0.0, 5.0)?,
                scans: values.number("scans", 0.1, 0.0, 0.9)?,
            },
            other => {
                return Err(format!(
                    "`{other}` is no workload; known are scan, loop, zipf, walk, bfs, mixed"
                ));
            }
        };
        values.end(kind)?;
        Ok(workload)
    }
}

/// Keys and values of a specification that are not yet used.
struct Values(Vec<(String, String)>);

impl Values {
    fn read(text: &str) -> Result<Self, String> {
        let pair = |part: &str| match part.split_once('=') {
            Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("`{part}` is not key=value")),
        };
        let parts = text.split(',').filter(|part| !part.trim().is_empty());
        Ok(Self(parts.map(pair).collect::<Result<_, _>>()?))
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1)
    }

    fn number(&mut self, key: &str, default: f64, low: f64, high: f64) -> Result<f64, String> {
        let Some(text) = self.take(key) else {
            return Ok(default);
        };
        let value: f64 = text
            .parse()
            .map_err(|_| format!("`{key}={text}` is no number"))?;
        if (low..=high).contains(&value) {
            Ok(value)
        } else {
            Err(format!("`{key}={text}`: expected {low} to {high}"))
        }
    }

    fn end(self, kind: &str) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((key, _)) => Err(format!("`{kind}` has no `{key}`")),
        }
    }
}

impl Workload {
    /// Pages of the store.
    #[must_use]
    pub fn pages(&self) -> u64 {
        match *self {
            Workload::Scan { pages }
            | Workload::Loop { pages }
            | Workload::Zipf { pages, .. }
            | Workload::Walk { pages, .. }
            | Workload::Bfs { pages, .. }
            | Workload::Mixed { pages, .. } => pages,
        }
    }

    /// The accesses; the same for the same seed.
    #[must_use]
    pub fn accesses(&self, seed: u64) -> Accesses {
        let alpha = match *self {
            Workload::Zipf { alpha, .. } | Workload::Mixed { alpha, .. } => alpha,
            _ => 0.0,
        };
        Accesses {
            workload: self.clone(),
            random: Random(mix(seed)),
            skew: Skew::new(self.pages(), alpha),
            position: 0,
            query: 0,
            ready: VecDeque::new(),
        }
    }
}

/// Accesses of a workload, without end.
#[derive(Clone, Debug)]
pub struct Accesses {
    workload: Workload,
    random: Random,
    skew: Skew,
    position: u64,
    query: u32,
    ready: VecDeque<(u64, u8)>,
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

/// A graph that is computed.
struct Graph {
    nodes: u64,
}

impl Graph {
    /// 4 to 131, most of them small.
    fn degree(&self, node: u64) -> u64 {
        let unit = (mix(node ^ 0xdeca) >> 11) as f64 / (1u64 << 53) as f64;
        4 + (unit.powi(6) * 128.0) as u64
    }

    fn neighbour(&self, node: u64, place: u64) -> u64 {
        let bits = mix(node.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place);
        if bits & 1 == 0 {
            let near = (bits >> 1) % 2_048;
            return (node + self.nodes + near - 1_024.min(self.nodes)) % self.nodes;
        }
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        ((unit * unit * unit * self.nodes as f64) as u64).min(self.nodes - 1)
    }
}

/// Ranks by Zipf's law, by rejection, without a table.
#[derive(Clone, Debug)]
struct Skew {
    pages: u64,
    alpha: f64,
    /// Integral of the density's hat up to the last rank, and at the first.
    bounds: (f64, f64),
}

impl Skew {
    fn new(pages: u64, alpha: f64) -> Self {
        let mut skew = Self {
            pages,
            alpha,
            bounds: (0.0, 0.0),
        };
        skew.bounds = (skew.integral(pages as f64 + 0.5), skew.integral(1.5) - 1.0);
        skew
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.alpha) * log;
        // (e^p - 1) / p, continuous at 0.
        let factor = if power.abs() > 1e-8 {
            power.exp_m1() / power
        } else {
            1.0 + power / 2.0
        };
        log * factor
    }

    fn inverse(&self, y: f64) -> f64 {
        let scaled = (y * (1.0 - self.alpha)).max(-1.0);
        let factor = if scaled.abs() > 1e-8 {
            scaled.ln_1p() / scaled
        } else {
            1.0 - scaled / 2.0
        };
        (y * factor).exp()
    }

    /// A page: a rank, scattered over the store.
    fn draw(&self, random: &mut Random) -> u64 {
        let (high, low) = self.bounds;
        loop {
            let y = high + random.unit() * (low - high);
            let x = self.inverse(y);
            let rank = (x + 0.5).floor().clamp(1.0, self.pages as f64);
            if y >= self.integral(rank + 0.5) - (-self.alpha * rank.ln()).exp() {
                return scatter(rank as u64 - 1, self.pages);
            }
        }
    }
}

/// A permutation of `0..pages`: a Feistel network walked until it lands inside.
fn scatter(rank: u64, pages: u64) -> u64 {
    let half = (64 - (pages - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut at = rank;
    loop {
        let (mut left, mut right) = (at >> half, at & mask);
        for round in 0..3 {
            (left, right) = (right, left ^ (mix(right ^ (round << 40)) & mask));
        }
        at = left << half | right;
        if at < pages {
            return at;
        }
    }
}

/// A figure of some accesses: which page when, and how often each page is wanted.
#[must_use]
pub fn figure(name: &str, accesses: &[u64]) -> crate::figure::Figure {
    use crate::figure::{Axis, Figure, Panel, Series, Shape};
    let every = accesses.len().div_ceil(3_000).max(1);
    let dots = accesses.iter().enumerate().step_by(every);
    let dots = dots.map(|(at, &page)| (at as f64, page as f64)).collect();
    let mut counts = std::collections::HashMap::new();
    accesses
        .iter()
        .for_each(|page| *counts.entry(page).or_insert(0u64) += 1);
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let mut ranks = Vec::new();
    let mut rank = 0;
    while rank < counts.len() {
        ranks.push((rank as f64 + 1.0, counts[rank] as f64));
        rank += (rank / 40).max(1);
    }
    Figure {
        name: "gen".to_owned(),
        title: format!("Accesses of {name}"),
        columns: 2,
        panels: vec![
            Panel {
                title: "which page when".to_owned(),
                x: Axis::from_zero("access"),
                y: Axis::from_zero("page"),
                shape: Shape::Points,
                series: vec![Series::new(String::new(), dots)],
            },
            Panel {
                title: "accesses by rank of the page".to_owned(),
                x: Axis::log("rank"),
                y: Axis::log("accesses"),
                shape: Shape::Curves,
                series: vec![Series::new(String::new(), ranks)],
            },
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(spec: &str, count: usize) -> Vec<Access> {
        spec.parse::<Workload>()
            .expect(spec)
            .accesses(7)
            .take(count)
            .collect()
    }

    /// Goal: every kind stays inside its pages, repeats with its seed, and differs with another.
    #[test]
    fn workloads_stay_inside_their_pages() {
        for spec in [
            "scan",
            "loop:pages=50",
            "zipf:alpha=1",
            "walk:length=3",
            "bfs:pages=300,order=discovery",
            "mixed",
        ] {
            let workload: Workload = spec.parse().expect(spec);
            let first = pages(spec, 20_000);
            assert!(first.iter().all(|a| a.page < workload.pages()), "{spec}");
            assert_eq!(first, pages(spec, 20_000), "{spec}");
        }
        let scanned = pages("mixed:scans=0.2", 400_000)
            .iter()
            .filter(|a| a.flags == FLAG_SCAN)
            .count();
        assert!((60_000..100_000).contains(&scanned), "{scanned}");
    }

    /// Goal: the first rank of Zipf's law has the share that its sum says, and ranks are scattered over all pages.
    #[test]
    fn skewed_pages_follow_the_law() {
        let mut counts = vec![0u32; 1_000];
        pages("zipf:pages=1000,alpha=0.99", 200_000)
            .iter()
            .for_each(|a| counts[a.page as usize] += 1);
        let harmonic: f64 = (1..=1_000).map(|rank| f64::from(rank).powf(-0.99)).sum();
        let share = f64::from(*counts.iter().max().expect("pages")) / 200_000.0;
        assert!(
            (share - 1.0 / harmonic).abs() < 0.006,
            "{share} {}",
            1.0 / harmonic
        );
        let mut all: Vec<u64> = (0..777).map(|rank| scatter(rank, 777)).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..777), "a permutation");
    }

    /// Goal: visiting a level by number touches less than half the pages that visiting as found does.
    #[test]
    fn order_of_visits_matters() {
        let count = |order: &str| {
            let accesses = pages(&format!("bfs:pages=500,order={order}"), 300_000);
            accesses.len() as u32 / accesses.last().expect("some").query
        };
        assert!(
            count("discovery") > 2 * count("id"),
            "{} {}",
            count("discovery"),
            count("id")
        );
    }

    #[test]
    fn bad_workloads_are_named() {
        for (spec, message) in [
            ("zip", "no workload"),
            ("zipf:alpha=x", "no number"),
            ("loop:alpha=1", "has no `alpha`"),
            ("loop:pages=0", "expected 1"),
            ("bfs:order=up", "expected id, alternating"),
        ] {
            assert!(
                spec.parse::<Workload>().expect_err(spec).contains(message),
                "{spec}"
            );
        }
    }
}
