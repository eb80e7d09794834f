//! Shortest paths that must pass conditions: `MATCH p = shortestPath(...) WHERE ...`.
//!
//! # How it works
//! A condition on the path is decided before the shortest path is chosen. What is said of each
//! relationship is decided while the search runs, and so is what `all` and `none` say of each node,
//! which is the start or the end of a relationship. Bounds of the length become those of the
//! search. What is left tests whole trails: they are made for each pair of ends, shorter ones
//! first, until one has passed, or all of its length have been tested.
//!
//! # Invariants
//! * CY-77 A condition that reads the list or the path of a `shortestPath()` is decided before
//!   paths are selected, one of a later clause afterwards.
//!
//! # Costs
//! Where no short trail passes, all trails between the ends are tested.
//!
//! # Source
//! The manual of Neo4j, "Shortest paths: predicates": fast search for `all` and `none`, else an
//! exhaustive one.

use crate::bind::graph::{Edge, QueryGraph};
use crate::bind::{call, unary};
use crate::plan::builder::{Builder, Partial};
use crate::plan::expression::{BinaryOp, Expr, Literal, Quantifier, UnaryOp};
use crate::plan::variables::{is_volatile, substitute};
use crate::plan::{Operator, PathCount, ShortestPaths, VarId};
use std::collections::BTreeSet;

/// Paths between two ends that are found before.
pub(super) struct Tested {
    graph: QueryGraph,
    from: VarId,
    to: VarId,
    list: VarId,
    count: PathCount,
}

/// What a condition reads, in its subqueries, too.
type Needs<'a> = &'a dyn Fn(&Expr) -> BTreeSet<VarId>;

/// Takes the shortest paths out of the graph that have to pass conditions which the search itself
/// cannot decide.
pub(super) fn take(graph: &mut QueryGraph, needs: Needs<'_>) -> Vec<Tested> {
    let mut tested = Vec::new();
    let mut at = 0;
    while at < graph.edges.len() {
        let found = is_searched(&graph.edges[at]).then(|| taken(graph, at, needs));
        match found.flatten() {
            Some(found) => tested.push(found),
            None => at += 1,
        }
    }
    tested
}

/// Whether it is a `shortestPath()` whose conditions have not been looked at.
fn is_searched(edge: &Edge) -> bool {
    edge.shortest.is_some_and(|wanted| wanted.tested)
}

/// The list of a search, its one relationship where that has a name, and its path.
fn own_variables(graph: &QueryGraph, edge: &Edge) -> BTreeSet<VarId> {
    let paths = graph.paths.iter();
    let paths = paths.filter(|(_, parts)| parts.contains(&edge.rel));
    let paths = paths.map(|(path, _)| *path);
    paths.chain([edge.rel]).chain(edge.single).collect()
}

fn taken(graph: &mut QueryGraph, at: usize, needs: Needs<'_>) -> Option<Tested> {
    let own = own_variables(graph, &graph.edges[at]);
    let later = graph.edges[at + 1..]
        .iter()
        .filter(|edge| is_searched(edge));
    let later: BTreeSet<VarId> = later.flat_map(|edge| own_variables(graph, edge)).collect();
    own_conditions(graph, at, &own);
    let is_own = |condition: &Expr| {
        let read = needs(condition);
        // What reads a path that is found after this one waits for that.
        !read.is_disjoint(&own) && read.is_disjoint(&later)
    };
    if !graph.predicates.iter().any(is_own) {
        return None;
    }
    let mut edge = graph.edges.remove(at);
    let (from, to, list, shortest) = (edge.from, edge.to, edge.rel, edge.shortest?);
    edge.shortest = Some(ShortestPaths {
        count: PathCount::All,
        tested: false,
        ..shortest
    });
    let inside = |(_, parts): &mut (VarId, Vec<VarId>)| parts.contains(&list);
    let paths = graph.paths.extract_if(.., inside).collect();
    let predicates = graph.predicates.extract_if(.., |it| is_own(it)).collect();
    Some(Tested {
        graph: QueryGraph {
            nodes: if from == to {
                vec![from]
            } else {
                vec![from, to]
            },
            edges: vec![edge],
            paths,
            predicates,
            hints: Vec::new(),
        },
        from,
        to,
        list,
        count: shortest.count,
    })
}

/// Makes of conditions on the path what the search decides.
fn own_conditions(graph: &mut QueryGraph, at: usize, own: &BTreeSet<VarId>) {
    let mut kept = Vec::new();
    for condition in std::mem::take(&mut graph.predicates) {
        let decided = bounds_length(&mut graph.edges[at], &condition, own)
            || on_each_node(graph, at, &condition, own, &mut kept);
        if !decided {
            kept.push(condition);
        }
    }
    graph.predicates.extend(kept);
}

/// `length(p)` or `size(r)` against a number bounds the search. Whether the condition does.
fn bounds_length(edge: &mut Edge, condition: &Expr, own: &BTreeSet<VarId>) -> bool {
    let Expr::Binary {
        op, left, right, ..
    } = condition
    else {
        return false;
    };
    let is_length = |expr: &Expr| match expr {
        Expr::Call { name, args, .. } => {
            let of_path = matches!(&args[..], [Expr::Variable(var)] if own.contains(var));
            let of_list = matches!(&args[..], [Expr::Call { name, args, .. }]
                if &**name == "relationships"
                    && matches!(&args[..], [Expr::Variable(var)] if own.contains(var)));
            matches!(&**name, "length" | "size") && of_path || &**name == "size" && of_list
        }
        _ => false,
    };
    let number = |expr: &Expr| match expr {
        Expr::Literal(Literal::Integer(number)) => Some(*number),
        _ => None,
    };
    let (op, number) = match (number(left), number(right)) {
        (None, Some(number)) if is_length(left) => (*op, number),
        (Some(number), None) if is_length(right) => match op {
            BinaryOp::Less => (BinaryOp::Greater, number),
            BinaryOp::LessOrEqual => (BinaryOp::GreaterOrEqual, number),
            BinaryOp::Greater => (BinaryOp::Less, number),
            BinaryOp::GreaterOrEqual => (BinaryOp::LessOrEqual, number),
            other => (*other, number),
        },
        _ => return false,
    };
    let (least, most) = match op {
        BinaryOp::Equal => (Some(number), Some(number)),
        BinaryOp::Less => (None, number.checked_sub(1)),
        BinaryOp::LessOrEqual => (None, Some(number)),
        BinaryOp::Greater => (number.checked_add(1), None),
        BinaryOp::GreaterOrEqual => (Some(number), None),
        _ => return false,
    };
    let fits = |bound: Option<i64>| bound.map(u32::try_from).transpose();
    let (Some((min, max)), Ok(least), Ok(most)) = (edge.length, fits(least), fits(most)) else {
        return false;
    };
    let most = max.into_iter().chain(most).min();
    edge.length = Some((min.max(least.unwrap_or(0)), most));
    true
}

/// `all(n IN nodes(p) WHERE ...)` and `none(...)` become conditions on the ends and on both nodes
/// of each relationship. Whether the condition has.
fn on_each_node(
    graph: &mut QueryGraph,
    at: usize,
    condition: &Expr,
    own: &BTreeSet<VarId>,
    kept: &mut Vec<Expr>,
) -> bool {
    let Expr::Quantifier {
        kind: kind @ (Quantifier::All | Quantifier::None),
        var,
        list,
        predicate,
        ..
    } = condition
    else {
        return false;
    };
    let of_path = matches!(&**list, Expr::Call { name, args, .. } if &**name == "nodes"
        && matches!(&args[..], [Expr::Variable(path)] if own.contains(path)));
    // What differs each time would be decided once for each node.
    if !of_path || is_volatile(predicate) || predicate.variables().iter().any(|read| read != var) {
        return false;
    }
    let asked = match kind {
        Quantifier::All => (**predicate).clone(),
        _ => unary(UnaryOp::Not, (**predicate).clone()),
    };
    let of = |node: Expr| {
        let mut asked = asked.clone();
        substitute(&mut asked, *var, &node);
        asked
    };
    let edge = &mut graph.edges[at];
    kept.extend([edge.from, edge.to].map(|end| of(Expr::Variable(end))));
    for end in ["startnode", "endnode"] {
        let node = call(end, vec![Expr::Variable(edge.each)]);
        edge.filters.push(of(node));
    }
    true
}

impl Builder<'_> {
    /// Puts paths that pass their conditions on top.
    pub(super) fn tested(&mut self, partial: &mut Partial, tested: Tested) {
        let Tested {
            graph,
            from,
            to,
            list,
            count,
        } = tested;
        self.selected(partial, graph, |input| Operator::SelectPaths {
            input,
            from,
            to,
            lengths: vec![list],
            count,
            ordered: true,
        });
    }
}
