//! Constraints, and whether a graph keeps them.

use std::collections::BTreeSet;

use crate::graph::Graph;
use crate::value::key;

/// What is demanded of the nodes with a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rule {
    /// No two have the same value of the property.
    Unique(&'static str, &'static str),
    /// All have the property.
    Present(&'static str, &'static str),
}

impl Rule {
    pub(crate) const ALL: &[Rule] = &[
        Rule::Unique("A", "a"),
        Rule::Unique("B", "a"),
        Rule::Unique("C", "s"),
        Rule::Present("B", "a"),
        Rule::Present("C", "m"),
    ];

    /// The statement that makes it.
    pub(crate) fn text(self) -> String {
        match self {
            Rule::Unique(label, key) => {
                format!("CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.{key} IS UNIQUE")
            }
            Rule::Present(label, key) => {
                format!("CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.{key} IS NOT NULL")
            }
        }
    }

    /// The statement of the index that it makes needless and impossible.
    pub(crate) fn replaces(self, index: &str) -> bool {
        match self {
            Rule::Unique(label, key) => {
                index == format!("CREATE INDEX FOR (n:{label}) ON (n.{key})")
            }
            Rule::Present(..) => false,
        }
    }

    pub(crate) fn is_unique(self) -> bool {
        matches!(self, Rule::Unique(..))
    }

    pub(crate) fn holds(self, graph: &Graph) -> bool {
        let (Rule::Unique(label, _) | Rule::Present(label, _)) = self;
        let mut nodes = graph.nodes.iter().flatten();
        let mut seen = BTreeSet::new();
        nodes.all(|node| {
            !node.labels.contains(label)
                || match self {
                    Rule::Unique(_, name) => {
                        let value = node.properties.get(name);
                        value.is_none_or(|value| seen.insert(key(value)))
                    }
                    Rule::Present(_, name) => node.properties.contains_key(name),
                }
        })
    }
}
