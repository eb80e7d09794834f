//! Statements that cost more or less by their plan.
//!
//! # How it works
//! One or two chains of nodes along the relationships that there are, with conditions on any node:
//! by key, category, measure or text, with a value, a list, a range, a parameter or what a row
//! gives; two chains are joined by an equality or share a node. Before them may stand rows, behind
//! them an `OPTIONAL MATCH`, an existence test or a `MERGE`. A property with unevenly spread
//! values is compared with what is written in the text: a plan serves all values of a parameter.

use std::fmt::Write as _;

use graven::{Params, Value};

use super::workload::{self, Extent, LABELS, TYPES, Workload};
use crate::random::Random;

/// A statement with its parameters.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) params: Params,
}

/// A statement in the making.
struct Draft<'a> {
    random: &'a mut Random,
    extents: &'a [Extent],
    params: Params,
    /// Nodes of the pattern: their names are `n0` and so on, these are their labels.
    nodes: Vec<usize>,
    conditions: Vec<String>,
    /// Properties of nodes that a condition is about: two of them may contradict each other.
    asked: Vec<(usize, &'static str)>,
    /// There is a row with a number `x`.
    rows: bool,
}

impl Statement {
    pub(super) fn random(random: &mut Random, workload: &Workload) -> Statement {
        let mut draft = Draft {
            random,
            extents: &workload.extents,
            params: Params::new(),
            nodes: Vec::new(),
            conditions: Vec::new(),
            asked: Vec::new(),
            rows: false,
        };
        let text = draft.text();
        Statement {
            text,
            params: draft.params,
        }
    }
}

impl Draft<'_> {
    fn text(&mut self) -> String {
        let mut text = String::new();
        if self.random.chance(30) {
            self.rows = true;
            let count = self.random.between(1, 20);
            let numbers = (0..count).map(|_| Value::from(self.number()));
            let numbers: Vec<Value> = numbers.collect();
            self.params.set("rows", Value::from(numbers));
            text.push_str("UNWIND $rows AS x ");
        }
        if self.random.chance(12) {
            return self.merge(text);
        }
        let first = self.chain(None);
        let mut patterns = vec![first];
        if self.random.chance(35) {
            patterns.push(self.second());
        }
        for _ in 0..self.random.between(1, 3) {
            let node = self.random.below(self.nodes.len());
            let condition = self.condition(node);
            self.conditions.extend(condition);
        }
        let apart = self.random.chance(30);
        let between = if apart { " MATCH " } else { ", " };
        let _ = write!(text, "MATCH {}", patterns.join(between));
        // Those of an existence test are not seen outside of it.
        let seen = self.nodes.len();
        let exists = self.random.chance(15).then(|| self.exists());
        self.conditions.extend(exists);
        let conditions = match self.conditions.is_empty() {
            true => "true".to_owned(),
            false => self.conditions.join(" AND "),
        };
        let _ = write!(text, " WHERE {conditions}");
        let mut counted = "n0".to_owned();
        if self.random.chance(25) {
            let (optional, last) = self.optional(seen);
            text.push_str(&optional);
            counted = last;
        }
        let _ = write!(
            text,
            " RETURN count(*) AS rows, sum({counted}.i) AS sum, max(n0.r) AS most"
        );
        text
    }

    /// A number of a node, mostly one of the first.
    fn number(&mut self) -> i64 {
        let most = *self.random.pick(&[10, 60, 600]);
        self.random.between(0, most)
    }

    fn node(&mut self, label: usize) -> String {
        self.nodes.push(label);
        let at = self.nodes.len() - 1;
        match self.random.chance(88) {
            true => format!("(n{at}:{})", LABELS[label]),
            false => format!("(n{at})"),
        }
    }

    /// A chain of nodes that begins at a new node, or one that is there.
    fn chain(&mut self, from: Option<usize>) -> String {
        let mut label = match from {
            Some(node) => self.nodes[node],
            None => self.random.below(LABELS.len()),
        };
        let mut text = match from {
            Some(node) => format!("(n{node})"),
            None => self.node(label),
        };
        let least = i64::from(from.is_some());
        for _ in 0..self.random.between(least, 3) {
            let fits: Vec<(&str, usize, bool)> = TYPES
                .iter()
                .flat_map(|(of, start, end)| {
                    [(*of, *start, *end, true), (*of, *end, *start, false)]
                })
                .filter(|(_, near, ..)| *near == label)
                .map(|(of, _, far, out)| (of, far, out))
                .collect();
            let (of, far, out) = *self.random.pick(&fits);
            let node = self.node(far);
            let _ = match out {
                true => write!(text, "-[:{of}]->{node}"),
                false => write!(text, "<-[:{of}]-{node}"),
            };
            label = far;
        }
        text
    }

    /// A second chain: it hangs on a node of the first one, or an equality joins it.
    fn second(&mut self) -> String {
        let before = self.nodes.len();
        if self.random.chance(35) {
            let node = self.random.below(before);
            return self.chain(Some(node));
        }
        let text = self.chain(None);
        let one = self.random.below(before);
        let other = before + self.random.below(self.nodes.len() - before);
        let keys = [("k", "i"), ("i", "k"), ("i", "i"), ("k", "k"), ("r", "i")];
        let (left, right) = *self.random.pick(&keys);
        self.conditions
            .push(format!("n{one}.{left} = n{other}.{right}"));
        text
    }

    /// A value: written, or a parameter.
    fn value(&mut self, value: i64, written: bool) -> String {
        if written || self.random.chance(60) {
            return value.to_string();
        }
        let name = format!("p{}", self.params.iter().len());
        self.params.set(name.as_str(), value);
        format!("${name}")
    }

    /// A condition on a property of the node that none is about yet.
    fn condition(&mut self, node: usize) -> Option<String> {
        let extent = &self.extents[self.nodes[node]];
        let (skewed, bent, categories) = (extent.skewed, extent.bent, extent.categories);
        let name = format!("n{node}");
        let kind = self.random.below(10);
        let key = ["i", "i", "i", "i", "k", "k", "t", "r", "r", "r"][kind];
        if self.asked.contains(&(node, key)) {
            return None;
        }
        self.asked.push((node, key));
        Some(match kind {
            0..3 if self.rows => format!("{name}.i = x"),
            0..3 => {
                let number = self.number();
                format!("{name}.i = {}", self.value(number, false))
            }
            3 => {
                let count = self.random.between(1, 6);
                let numbers: Vec<String> = (0..count).map(|_| self.number().to_string()).collect();
                format!("{name}.i IN [{}]", numbers.join(", "))
            }
            4..6 => {
                // That of a node which is there as soon as the label has a few.
                let of = self.random.between(0, 40);
                let category = workload::category(of, categories, skewed);
                format!("{name}.k = {}", self.value(category, skewed))
            }
            6 => {
                let text = self.random.below(40);
                format!("{name}.t = 't{text}'")
            }
            7 => {
                let low = self.random.between(0, 1000);
                let high = low + *self.random.pick(&[3, 30, 300]);
                let (low, high) = (self.value(low, true), self.value(high, true));
                format!("{name}.r >= {low} AND {name}.r < {high}")
            }
            _ => {
                let bound = *self.random.pick(&[5, 50, 500, 950]);
                let sign = *self.random.pick(&["<", ">="]);
                format!(
                    "{name}.r {sign} {}",
                    self.value(bound, bent || bound != 500)
                )
            }
        })
    }

    /// A pattern that must be there.
    fn exists(&mut self) -> String {
        let node = self.random.below(self.nodes.len());
        let chain = self.chain(Some(node));
        let last = self.nodes.len() - 1;
        let condition = self.condition(last).unwrap_or_else(|| "true".to_owned());
        format!("EXISTS {{ MATCH {chain} WHERE {condition} }}")
    }

    /// A pattern that may be there, and its last node; `seen` nodes are there before it.
    fn optional(&mut self, seen: usize) -> (String, String) {
        let node = self.random.below(seen);
        let chain = match self.random.chance(70) {
            true => self.chain(Some(node)),
            false => self.chain(None),
        };
        let last = self.nodes.len() - 1;
        let mut conditions = Vec::new();
        conditions.extend(self.condition(last));
        if self.random.chance(40) {
            conditions.push(format!("n{last}.k = n{node}.k"));
        }
        if conditions.is_empty() {
            conditions.push("true".to_owned());
        }
        let text = format!(" OPTIONAL MATCH {chain} WHERE {}", conditions.join(" AND "));
        (text, format!("n{last}"))
    }

    /// Nodes or relationships that are made where they are missing.
    fn merge(&mut self, mut text: String) -> String {
        let (of, from, to) = *self.random.pick(&TYPES);
        let (from, to) = (LABELS[from], LABELS[to]);
        let key = match self.rows {
            true => "x".to_owned(),
            false => {
                let number = self.number();
                self.value(number, false)
            }
        };
        let other = self.number();
        let other = self.value(other, false);
        let _ = match self.random.below(3) {
            0 => write!(text, "MERGE (n0:{from} {{i: {key}}})"),
            1 => write!(
                text,
                "MATCH (n0:{from} {{i: {key}}}), (n1:{to} {{i: {other}}}) MERGE (n0)-[:{of}]->(n1)"
            ),
            _ => write!(
                text,
                "MATCH (n0:{from} {{i: {key}}}) MERGE (n0)-[:{of}]->(:{to} {{i: {other}}})"
            ),
        };
        text.push_str(" RETURN count(*) AS rows");
        text
    }
}
