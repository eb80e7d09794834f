//! Quantified patterns that are repeated as a whole: what is inside is a pattern of its own.
//!
//! # How it works
//! Inside, the names are single nodes and relationships; outside they are lists over all
//! repetitions. So they are declared twice: the inner variables are put in the place of the outer
//! ones while the conditions inside are bound. The relationships inside belong to the same `MATCH`
//! as those around and must all differ.

use std::collections::BTreeSet;

use super::graph::{Edge, QueryGraph, Repeated};
use super::scope::Entry;
use super::{Binder, Result};
use crate::ast::{Name, PathPattern, RelationshipPattern};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Expr, VarId, VarKind};
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// Names inside a path.
fn names(path: &PathPattern) -> impl Iterator<Item = &Name> {
    let nodes = path
        .steps
        .iter()
        .flat_map(|(relationship, node)| relationship.name.iter().chain(&node.name));
    path.first.name.iter().chain(nodes)
}

impl Binder<'_> {
    /// Declares what is inside, and the lists of it that are seen outside.
    pub(super) fn declare_repeated(
        &mut self,
        graph: &mut QueryGraph,
        pattern: &RelationshipPattern,
        path: &PathPattern,
        from: VarId,
    ) -> Result<()> {
        for name in names(path) {
            self.check_free(name)?;
            if self.scope.find(&name.text).is_some() {
                let message = format!(
                    "variable `{}` is bound outside of the quantified pattern",
                    name.text
                );
                return Err(self
                    .error(name.span, Code::VariableAlreadyBound, message)
                    .with_hint("choose another name"));
            }
        }
        let row = self.scope.row.len();
        let mut inner = QueryGraph::default();
        let declared = self.declare_path(&mut inner, path, false, row)?;
        let own: Vec<Entry> = self.scope.row.drain(row..).collect();
        let mut groups = Vec::with_capacity(own.len());
        for entry in own {
            let name = Name {
                text: entry.name.clone(),
                span: pattern.span,
            };
            let (kind, ty) = match entry.ty.set.is(TypeSet::NODE) {
                true => (VarKind::Value, Type::list_of(TypeSet::NODE)),
                false => (
                    VarKind::RelationshipList,
                    Type::list_of(TypeSet::RELATIONSHIP),
                ),
            };
            groups.push((entry.var, self.declare(&name, kind, ty)));
        }
        let rels: Vec<VarId> = declared
            .edges
            .iter()
            .map(|edge| inner.edges[*edge].rel)
            .collect();
        let length = pattern
            .length
            .map_or((1, Some(1)), |l| (l.min.unwrap_or(0), l.max));
        let rel = self.new_variable("  repeated", VarKind::RelationshipList);
        let each = self.new_variable("  each", VarKind::Relationship);
        graph.edges.push(Edge {
            length: Some(length),
            repeated: Some(Box::new(Repeated {
                entry: declared.nodes[0],
                exit: *declared.nodes.last().expect("the first node"),
                graph: inner,
                rels,
                groups,
            })),
            ..Edge::from(from, rel, each, self.groups)
        });
        Ok(())
    }

    /// Binds the conditions inside.
    pub(super) fn bind_repeated(
        &mut self,
        graph: &mut QueryGraph,
        pattern: &RelationshipPattern,
        path: &PathPattern,
        edge: usize,
    ) -> Result<()> {
        let mut repeated = graph.edges[edge].repeated.take().expect("declared so");
        let before = self.scope.row.clone();
        for (inner, list) in &repeated.groups {
            let kind = self.variables[inner.0 as usize].kind;
            let set = match kind {
                VarKind::Node => TypeSet::NODE,
                _ => TypeSet::RELATIONSHIP,
            };
            for entry in self.scope.row.iter_mut().filter(|e| e.var == *list) {
                entry.var = *inner;
                entry.ty = Type::of(set);
            }
        }
        let outcome = self.bind_inside(&mut repeated, pattern, path);
        self.scope.row = before;
        outcome?;
        self.check_read_inside(graph, edge, &repeated, pattern)?;
        let inner = &repeated.graph;
        let mut types = Vec::new();
        let all = inner.edges.iter().all(|e| !e.types.is_empty());
        if all {
            types.extend(inner.edges.iter().flat_map(|e| e.types.iter().cloned()));
        }
        graph.edges[edge].types = types;
        graph.edges[edge].repeated = Some(repeated);
        Ok(())
    }

    /// What the conditions inside read of the same `MATCH` must be there when a repetition begins:
    /// its nodes, relationships and lists of them can be found before, its paths and the lists of
    /// `own`, the pattern itself, cannot.
    fn check_read_inside(
        &self,
        graph: &QueryGraph,
        own: usize,
        repeated: &Repeated,
        pattern: &RelationshipPattern,
    ) -> Result<()> {
        let inner = &repeated.graph;
        let mut found = inner.variables();
        found.extend(inner.edges.iter().map(|edge| edge.each));
        found.extend(&graph.nodes);
        let others = graph.edges.iter().enumerate().filter(|(at, _)| *at != own);
        let plain = others.filter(|(_, edge)| edge.shortest.is_none());
        found.extend(plain.flat_map(|(_, edge)| edge.made()));
        for condition in repeated.conditions() {
            for var in self.read_by(condition) {
                if !found.contains(&var) && var.0 as usize >= self.before_pattern {
                    return Err(self.path_read_inside(pattern.span));
                }
            }
        }
        Ok(())
    }

    /// A condition inside of what is repeated reads a path of the same `MATCH`.
    pub(super) fn path_read_inside(&self, span: Span) -> Diagnostic {
        let message = "a condition inside a quantified pattern cannot use a path of the same MATCH";
        self.error(span, Code::UndefinedVariable, message)
            .with_hint("move the condition to WHERE, or the path to a MATCH before")
    }

    /// Of quantified patterns that read lists of each other one must be found first.
    pub(super) fn check_order_of_repeated(&self, graph: &QueryGraph) -> Result<()> {
        let waits_for = |edge: &Edge| -> BTreeSet<VarId> {
            let repeated = edge.repeated.iter();
            let conditions = repeated.flat_map(|repeated| repeated.conditions());
            conditions
                .flat_map(|condition| self.read_by(condition))
                .collect()
        };
        let mut open: Vec<(&Edge, BTreeSet<VarId>)> = graph
            .edges
            .iter()
            .filter(|edge| edge.repeated.is_some())
            .map(|edge| (edge, waits_for(edge)))
            .collect();
        while !open.is_empty() {
            let made: BTreeSet<VarId> = open.iter().flat_map(|(edge, _)| edge.made()).collect();
            let before = open.len();
            open.retain(|(_, reads)| !reads.is_disjoint(&made));
            if open.len() == before {
                let message = "the conditions inside quantified patterns read lists of each other";
                return Err(self
                    .error(self.clause_span, Code::UndefinedVariable, message)
                    .with_hint("move one of the conditions to WHERE"));
            }
        }
        Ok(())
    }

    /// Variables that a condition reads, in place of its subqueries what those take from the row.
    pub(in crate::bind) fn read_by(&self, condition: &Expr) -> BTreeSet<VarId> {
        let mut read = BTreeSet::new();
        let mut open: Vec<VarId> = condition.variables().into_iter().collect();
        while let Some(var) = open.pop() {
            match self.subqueries.get(&var) {
                Some(subquery) => open.extend(&subquery.imports),
                None => {
                    read.insert(var);
                }
            }
        }
        read
    }

    fn bind_inside(
        &mut self,
        repeated: &mut Repeated,
        pattern: &RelationshipPattern,
        path: &PathPattern,
    ) -> Result<()> {
        // Nodes in the order of the path: the graph names each variable once.
        let mut nodes = vec![repeated.entry];
        let inner = &mut repeated.graph;
        nodes.extend(inner.edges.iter().map(|e| e.to));
        self.bind_node(inner, &path.first, nodes[0])?;
        for (step, (relationship, node)) in path.steps.iter().enumerate() {
            self.bind_relationship(inner, relationship, step)?;
            self.bind_node(inner, node, nodes[step + 1])?;
        }
        let conditions = self.conditions(pattern.filter.as_deref())?;
        inner.predicates.extend(conditions);
        Ok(())
    }
}
