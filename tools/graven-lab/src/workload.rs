//! Synthetic page accesses: scans, loops, skewed reads, traversals of a graph, and a mix of them.
//!
//! # How it works
//! A workload is written `kind:key=value,...` and gives accesses without end. The graph of the
//! traversals is not stored: node `v` lies on page `v / 32`, its degree and neighbours are computed
//! from its number. Half of the neighbours are near in number, the others are drawn with a strong
//! preference for low numbers, so the graph has communities and hubs.
//!
//! | kind | keys (default) | accesses |
//! | --- | --- | --- |
//! | `scan` | `pages` (10000) | page after page, every page new to the cache after a turn; with the scan flag |
//! | `loop` | `pages` (10000) | the same without the flag: the worst case of LRU |
//! | `zipf` | `pages`, `alpha` (0.9) | pages by Zipf's law, scattered |
//! | `walk` | `pages`, `length` (8) | random walks |
//! | `bfs` | `pages`, `hops` (3), `order` id, alternating or discovery (id) | breadth-first searches from random nodes |
//! | `mixed` | `pages`, `alpha` (0.9), `scans` (0.1) | point reads by Zipf's law, friend lists, and scans of a stretch of pages that make up a share of the accesses |

mod accesses;
mod figure;
mod graph;
mod skew;

use std::collections::VecDeque;
use std::str::FromStr;

pub use accesses::Accesses;
pub use figure::figure;
use graven_types::rng::{SplitMix64, mix};
use skew::Skew;

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
            random: SplitMix64::new(mix(seed)),
            skew: Skew::new(self.pages(), alpha),
            position: 0,
            query: 0,
            ready: VecDeque::new(),
        }
    }
}

#[cfg(test)]
mod tests;
