//! Conditions on the parts of a variable-length relationship, in Kuzu's form `(r, n | WHERE ...)`,
//! and `ACYCLIC`.
//!
//! # How it works
//! Each condition is about the relationships or about the nodes between the ends. One about the
//! relationships is like one within the brackets: it is decided while the walk goes on. One about
//! the nodes is asked of the nodes of the path, without its ends, once the path is there. `ACYCLIC`
//! is asked then, too: of all nodes of the path, ends included.
//!
//! # Invariants
//! * CY-74: the names are seen by these conditions alone, and hide what is called so around them.
//!
//! # Cost
//! Of conditions on nodes, and of `ACYCLIC`: all paths that the other conditions leave.

use std::sync::Arc;

use super::graph::QueryGraph;
use super::load::{expr, named};
use super::made::{Typed, binary, call};
use super::scope::Entry;
use super::{Binder, Result};
use crate::ast::{self, ExprKind, PathParts};
use crate::diagnostic::Code;
use crate::plan::expression::{BinaryOp, Expr, Literal, Quantifier};
use crate::plan::variables::conjuncts;
use crate::plan::{Direction, VarId, VarKind};
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// What is known of a list of the relationships of a walk.
#[derive(Default)]
pub(super) struct Walk {
    /// The property that says what a relationship costs, of a path of least cost.
    pub(super) weight: Option<Arc<str>>,
    /// The function that gives the end of a relationship that the one before it leads to.
    begin: Option<&'static str>,
}

impl Binder<'_> {
    /// Notes in which direction `edge`, a relationship of variable length, is walked.
    pub(super) fn note_walk(&mut self, graph: &QueryGraph, edge: usize) {
        let edge = &graph.edges[edge];
        self.walks.entry(edge.rel).or_default().begin = match edge.direction {
            Direction::Out => Some("startNode"),
            Direction::In => Some("endNode"),
            Direction::Both => None,
        };
    }

    /// The nodes between the ends of a walk, of the list of its relationships; none if they cannot
    /// be told from that alone.
    pub(super) fn inner_nodes(&mut self, walk: &ast::Expr) -> Result<Option<Typed>> {
        let ExprKind::Variable(name) = &walk.kind else {
            return Ok(None);
        };
        let entry = self.scope.find(&name.text);
        let known = entry.and_then(|entry| self.walks.get(&entry.var));
        let Some(begin) = known.and_then(|walk| walk.begin) else {
            return Ok(None);
        };
        let at = walk.span;
        let each = named("  x", at);
        let boxed = |kind| Box::new(expr(kind, at));
        let later = ExprKind::Slice {
            base: Box::new(walk.clone()),
            from: Some(boxed(ExprKind::Integer(1))),
            to: None,
        };
        let node = ExprKind::Call {
            name: named(begin, at),
            distinct: false,
            star: false,
            args: vec![expr(ExprKind::Variable(each.clone()), at)],
        };
        let inner = ExprKind::ListComprehension {
            name: each,
            list: boxed(later),
            filter: None,
            map: Some(boxed(node)),
        };
        self.expression(&expr(inner, at)).map(Some)
    }

    /// Binds the conditions of the relationship of variable length `edge`: returns those on each of
    /// its relationships, adds those on nodes to the graph.
    pub(super) fn path_part_conditions(
        &mut self,
        graph: &mut QueryGraph,
        parts: &PathParts,
        edge: usize,
    ) -> Result<Vec<Expr>> {
        let name = parts
            .node
            .as_ref()
            .map_or("  inner node", |node| &node.text);
        let inner = self.new_variable(name, VarKind::Value);
        let local = |name: &crate::ast::Name, var, set| Entry {
            name: name.text.clone(),
            var,
            ty: Type::of(set),
        };
        let each = graph.edges[edge].each;
        let locals = self.scope.locals.len();
        let relationship = local(&parts.relationship, each, TypeSet::RELATIONSHIP);
        self.scope.locals.push(relationship);
        if let Some(node) = &parts.node {
            self.scope.locals.push(local(node, inner, TypeSet::NODE));
        }
        let bound = self.path_part_expressions(parts);
        self.scope.locals.truncate(locals);
        let mut on_nodes = Vec::new();
        let mut on_each = Vec::new();
        for condition in bound? {
            let read = condition.variables();
            if !read.contains(&inner) {
                on_each.push(condition);
                continue;
            }
            if read.contains(&each) {
                let message = "a condition on the parts of a path is about its relationships or \
                    about its nodes, not about both";
                let span = parts
                    .filter
                    .as_ref()
                    .map_or(parts.relationship.span, |f| f.span);
                return Err(self
                    .error(span, Code::FeatureNotAvailable, message)
                    .with_hint("join them by AND, or write ((x)-[r:TYPE]->(n) WHERE ...){1,3}"));
            }
            on_nodes.push(condition);
        }
        if !on_nodes.is_empty() {
            self.ask_inner_nodes(graph, edge, inner, on_nodes);
        }
        if parts.acyclic {
            self.ask_each_node_once(graph, edge);
        }
        Ok(on_each)
    }

    /// The conditions; what is only shown is bound for its errors.
    fn path_part_expressions(&mut self, parts: &PathParts) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        if let Some(filter) = &parts.filter {
            conjuncts(self.condition(filter)?, &mut conditions);
        }
        for shown in &parts.shown {
            self.expression(shown)?;
        }
        Ok(conditions)
    }

    /// A variable for the path along `edge`.
    fn path_along(&mut self, graph: &mut QueryGraph, edge: usize) -> VarId {
        let path = self.new_variable("  path", VarKind::Path);
        let walk = &graph.edges[edge];
        graph.paths.push((path, vec![walk.from, walk.rel, walk.to]));
        path
    }

    /// `size(nodes(path)) = size(apoc.coll.toSet(nodes(path)))` over the nodes along `edge`.
    fn ask_each_node_once(&mut self, graph: &mut QueryGraph, edge: usize) {
        let path = self.path_along(graph, edge);
        let nodes = || call("nodes", vec![Expr::Variable(path)]);
        let size = |of| call("size", vec![of]);
        let once = size(call("apoc.coll.toset", vec![nodes()]));
        let condition = binary(BinaryOp::Equal, size(nodes()), once);
        graph.predicates.push(condition);
    }

    /// `all(n IN nodes(path)[1..-1] WHERE ...)` over the nodes along `edge`.
    fn ask_inner_nodes(
        &mut self,
        graph: &mut QueryGraph,
        edge: usize,
        inner: VarId,
        conditions: Vec<Expr>,
    ) {
        let path = self.path_along(graph, edge);
        let number = |number| Some(Box::new(Expr::Literal(Literal::Integer(number))));
        let nodes = Expr::Slice {
            base: Box::new(call("nodes", vec![Expr::Variable(path)])),
            from: number(1),
            to: number(-1),
            at: Span::default(),
        };
        let both = |left, right| binary(BinaryOp::And, left, right);
        let Some(predicate) = conditions.into_iter().reduce(both) else {
            return;
        };
        graph.predicates.push(Expr::Quantifier {
            kind: Quantifier::All,
            var: inner,
            list: Box::new(nodes),
            predicate: Box::new(predicate),
            at: Span::default(),
        });
    }
}
