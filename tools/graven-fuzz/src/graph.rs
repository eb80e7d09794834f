//! Small random graphs, kept as plain vectors.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::random::Random;
use crate::temporal::T;
use crate::text;
use crate::value::{Properties, V};

pub(crate) const LABELS: &[&str] = &["A", "B", "C"];
pub(crate) const TYPES: &[&str] = &["R", "S", "T"];

/// Indexes that a graph may have.
pub(crate) const INDEXES: &[&str] = &[
    "CREATE INDEX FOR (n:A) ON (n.a)",
    "CREATE INDEX FOR (n:B) ON (n.s)",
    "CREATE INDEX FOR (n:A) ON (n.m)",
    "CREATE INDEX FOR (n:C) ON (n.uid)",
    "CREATE INDEX FOR (n:B) ON (n.a, n.f)",
    "CREATE INDEX FOR (n:A) ON (n.d)",
    "CREATE INDEX FOR (n:C) ON (n.l)",
    "CREATE INDEX FOR (n:B) ON (n.m)",
    "CREATE INDEX FOR (n:A) ON (n.w)",
    "CREATE INDEX FOR (n:C) ON (n.z)",
    "CREATE INDEX FOR (n:B) ON (n.t)",
    "CREATE INDEX FOR (n:A) ON (n.p)",
    "CREATE TEXT INDEX FOR (n:A) ON (n.s)",
    "CREATE CONSTRAINT FOR (n:B) REQUIRE n.uid IS UNIQUE",
];

/// Properties: integer, float, text, anything, list of integers, date, local and zoned date with
/// time, duration, any temporal type; `uid` is on every node and relationship that was there from
/// the beginning, and unique.
pub(crate) const KEYS: &[&str] = &["a", "f", "s", "m", "l", "d", "w", "z", "p", "t"];

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Node {
    pub(crate) labels: BTreeSet<&'static str>,
    pub(crate) properties: Properties,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rel {
    pub(crate) kind: &'static str,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) properties: Properties,
}

/// A graph; what is deleted leaves a hole, so that places stay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Option<Node>>,
    pub(crate) rels: Vec<Option<Rel>>,
    /// Statements that make indexes.
    pub(crate) indexes: Vec<&'static str>,
}

/// A random value for a property, if it is to have one.
pub(crate) fn property(random: &mut Random, key: &str) -> Option<V> {
    const WORDS: &[&str] = &["", "a", "ab", "abc", "b", "Ba", "x y"];
    if random.chance(25) {
        return None;
    }
    let int = |random: &mut Random| V::Int(random.between(-2, 5));
    Some(match key {
        "a" | "uid" => int(random),
        "f" => V::Float(random.between(-4, 8) as f64 + 0.25),
        "s" => V::Str((*random.pick(WORDS)).to_owned()),
        "l" => V::List((0..random.below(4)).map(|_| int(random)).collect()),
        "d" => date(random),
        "w" => local(random),
        "z" => zoned(random),
        "p" => span(random),
        "t" => temporal(random),
        _ => match random.below(7) {
            6 => temporal(random),
            5 => date(random),
            0 => V::Bool(random.chance(50)),
            1 => V::Str((*random.pick(WORDS)).to_owned()),
            2 => V::Float(random.between(-2, 3) as f64 + 0.5),
            3 => V::List(vec![int(random)]),
            _ => int(random),
        },
    })
}

/// Around the end of a February with 29 days.
fn date(random: &mut Random) -> V {
    V::Date(18_290 + random.between(-40, 40))
}

/// Nanoseconds of a day: few, so that some are equal.
fn clock(random: &mut Random) -> i64 {
    const SECOND: i64 = 1_000_000_000;
    let hours = *random.pick(&[0, 1, 2, 12, 23]) * 3600 * SECOND;
    let rest = [0, 60 * SECOND, 3_599_500_000_000, 15 * SECOND + 120_000_001];
    hours + *random.pick(&rest)
}

fn offset(random: &mut Random) -> i64 {
    *random.pick(&[0, 3600, -5400, 7200])
}

/// Around the end of the same February.
fn moment(random: &mut Random) -> i64 {
    (18_320 + random.between(-2, 2)) * 86_400_000_000_000 + clock(random)
}

fn local(random: &mut Random) -> V {
    V::Time(T::Local(moment(random)))
}

fn zoned(random: &mut Random) -> V {
    let utc = moment(random);
    V::Time(T::Zoned(utc, offset(random)))
}

/// Some are of the same length, by the average month, though they differ.
fn span(random: &mut Random) -> V {
    V::Time(T::Span {
        months: random.between(-1, 1),
        days: *random.pick(&[0, 0, 1, -1, 30]),
        nanos: *random.pick(&[0, 0, 37_746_000_000_000, -1_500_000_000, 86_400_000_000_000]),
    })
}

fn temporal(random: &mut Random) -> V {
    match random.below(6) {
        0 => date(random),
        1 => local(random),
        2 => zoned(random),
        3 => span(random),
        4 => V::Time(T::Clock(clock(random))),
        _ => {
            let nanos = clock(random);
            V::Time(T::ZonedClock(nanos, offset(random)))
        }
    }
}

fn properties(random: &mut Random, uid: usize) -> Properties {
    let mut all: Properties = [("uid", V::Int(uid as i64))].into();
    for key in KEYS {
        if random.chance(60)
            && let Some(value) = property(random, key)
        {
            all.insert(key, value);
        }
    }
    all
}

impl Graph {
    pub(crate) fn random(random: &mut Random) -> Graph {
        let mut graph = Graph::default();
        // Now and then a larger one, where joins and indexes pay.
        let count = match random.chance(10) {
            true => 24 + random.below(20),
            false => random.below(9),
        };
        for uid in 0..count {
            let labels = LABELS.iter().filter(|_| random.chance(45)).copied();
            let labels = labels.collect();
            let properties = properties(random, uid);
            graph.nodes.push(Some(Node { labels, properties }));
        }
        let nodes = graph.nodes.len();
        let rels = random.below(2 * nodes + 1);
        for uid in 0..rels {
            let start = random.below(nodes);
            let end = match random.chance(12) {
                true => start,
                false => random.below(nodes),
            };
            graph.rels.push(Some(Rel {
                kind: random.pick::<&str>(TYPES),
                start,
                end,
                properties: properties(random, 100 + uid),
            }));
        }
        graph.indexes = INDEXES
            .iter()
            .filter(|_| random.chance(40))
            .copied()
            .collect();
        graph
    }

    /// Labels and the properties that an index holds for them.
    pub(crate) fn indexed(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        let of = |statement: &&'static str| {
            let (_, rest) = statement.split_once("(n:")?;
            let label = LABELS.iter().find(|label| rest.starts_with(**label))?;
            let mut words = rest.split(|c: char| !c.is_alphanumeric() && c != '.');
            let keys = words.by_ref().filter_map(|word| word.strip_prefix("n."));
            Some((*label, keys.collect()))
        };
        self.indexes.iter().filter_map(of).collect()
    }

    pub(crate) fn node_places(&self) -> impl Iterator<Item = usize> {
        (0..self.nodes.len()).filter(|at| self.nodes[*at].is_some())
    }

    pub(crate) fn rel_places(&self) -> impl Iterator<Item = usize> {
        (0..self.rels.len()).filter(|at| self.rels[*at].is_some())
    }

    /// The statement that makes the graph; none where there is nothing to make.
    pub(crate) fn creation(&self) -> Option<String> {
        let mut parts = Vec::new();
        for at in self.node_places() {
            let node = self.nodes[at].as_ref().expect("a place that is taken");
            let mut part = format!("(n{at}");
            for label in &node.labels {
                let _ = write!(part, ":{label}");
            }
            let _ = write!(part, " {})", text::properties(&node.properties));
            parts.push(part);
        }
        for at in self.rel_places() {
            let rel = self.rels[at].as_ref().expect("a place that is taken");
            let map = text::properties(&rel.properties);
            let (start, kind, end) = (rel.start, rel.kind, rel.end);
            parts.push(format!("(n{start})-[:{kind} {map}]->(n{end})"));
        }
        (!parts.is_empty()).then(|| format!("CREATE {}", parts.join(", ")))
    }

    /// Whether `uid` tells all apart.
    pub(crate) fn all_have_uid(&self) -> bool {
        let nodes = self.nodes.iter().flatten().map(|n| &n.properties);
        let rels = self.rels.iter().flatten().map(|r| &r.properties);
        nodes.chain(rels).all(|p| p.contains_key("uid"))
    }

    /// Removes a node with its relationships.
    pub(crate) fn remove_node(&mut self, at: usize) {
        self.nodes[at] = None;
        for rel in &mut self.rels {
            if rel.as_ref().is_some_and(|r| r.start == at || r.end == at) {
                *rel = None;
            }
        }
    }

    /// Property of a node or relationship; null of null.
    pub(crate) fn property(&self, of: &V, key: &str) -> V {
        let value = self.properties(of).and_then(|p| p.get(key));
        value.cloned().unwrap_or(V::Null)
    }

    /// All properties of a node or relationship that is there.
    pub(crate) fn properties(&self, of: &V) -> Option<&Properties> {
        match of {
            V::Node(at) => self.nodes[*at].as_ref().map(|n| &n.properties),
            V::Rel(at) => self.rels[*at].as_ref().map(|r| &r.properties),
            _ => None,
        }
    }
}
