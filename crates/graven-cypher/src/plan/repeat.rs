//! Quantified patterns that are repeated as a whole to operators.
//!
//! # How it works
//! One repetition is planned like a pattern of its own that hangs on the node where it begins: its
//! entry, or its exit where the pattern is followed from its end. The executor repeats that plan
//! and keeps what the groups want.

use super::builder::{Builder, Partial, node};
use super::{Operator, Repeat, VarId};
use crate::bind::graph::{Edge, Repeated};

impl Builder<'_> {
    /// Puts the repetition on top; `forward`: from the first end; `into`: both ends are bound.
    pub(crate) fn repeat<'g>(
        &mut self,
        partial: &mut Partial,
        edge: &Edge,
        repeated: &Repeated,
        (forward, into): (bool, bool),
        solved: impl Iterator<Item = &'g Edge>,
        rows: f64,
    ) {
        let (from, to) = match forward {
            true => (edge.from, edge.to),
            false => (edge.to, edge.from),
        };
        let (entry, exit) = match forward {
            true => (repeated.entry, repeated.exit),
            false => (repeated.exit, repeated.entry),
        };
        let mut read: Vec<VarId> = vec![entry];
        for condition in repeated.conditions() {
            let outer = self.needs(condition);
            read.extend(outer.into_iter().filter(|var| partial.bound.contains(var)));
        }
        read.sort_unstable();
        read.dedup();
        let mut inner = Partial {
            root: node(Operator::Argument { vars: read.clone() }, 1.0),
            bound: read.into_iter().collect(),
        };
        let graph = repeated.graph.clone();
        self.for_rows(partial.rows(), |own| own.pattern(&mut inner, graph));
        let mut rels = repeated.rels.clone();
        if !forward {
            rels.reverse();
        }
        let (mut distinct_from, mut disjoint_from) = (Vec::new(), Vec::new());
        for other in solved.filter(|other| edge.differs(other)) {
            match other.length {
                None => distinct_from.push(other.rel),
                Some(_) => disjoint_from.push(other.rel),
            }
        }
        let (min, max) = edge.length.unwrap_or((1, Some(1)));
        partial.bound.extend([edge.rel, to]);
        partial
            .bound
            .extend(repeated.groups.iter().map(|(_, list)| *list));
        let repeat = Box::new(Repeat {
            from,
            to,
            into,
            entry,
            exit,
            min,
            max,
            rels,
            path: edge.rel,
            groups: repeated.groups.clone(),
            reversed: !forward,
            distinct_from,
            disjoint_from,
        });
        partial.push(rows, |input| Operator::Repeat {
            input,
            inner: Box::new(inner.root),
            repeat,
        });
    }
}
