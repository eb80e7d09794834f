//! Paths to query graphs: node and relationship variables, their labels, property maps and lengths.
//!
//! # How it works
//! All names of a `MATCH` are declared first, then its expressions are bound, since a property map
//! may read any variable of the clause. A relationship bound earlier stays an edge, marked as
//! bound; a bound list of relationships becomes a fresh variable-length edge that must equal the
//! list.

mod hints;
mod relationships;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::graph::{Edge, QueryGraph, Step};
use super::scope::Entry;
use super::{Binder, Columns, Result, tables};
use crate::ast::{self, ExprKind, LabelExpr, Name, NodePattern, PathPattern, RelationshipPattern};
use crate::bind::made::{binary, call};
use crate::diagnostic::Code;
use crate::functions;
use crate::plan::expression::{BinaryOp, Expr, Literal, Quantifier};
use crate::plan::variables::conjuncts;
use crate::plan::{PathCount, VarId, VarKind};
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// Whether a path that is selected does not end where it starts: so it is in Kuzu for `SHORTEST`
/// within a relationship. A path that is to have several relationships may lead back.
fn leads_away(pattern: &PathPattern) -> bool {
    let [(relationship, _)] = &pattern.steps[..] else {
        return false;
    };
    let min = relationship.length.and_then(|length| length.min);
    relationship.parts.is_some() && min <= Some(1)
}

/// Whether the shortest paths of a pattern are not those of one relationship alone.
pub(super) fn is_selective(pattern: &PathPattern) -> bool {
    let [(only, _)] = &pattern.steps[..] else {
        return true;
    };
    // What the search leaves out for a path that meets a node twice may be a path that does not.
    // The shortest of all meet none twice, but for those back to the start.
    let shortest_of_all = only.length.is_none_or(|length| length.min <= Some(1))
        && pattern.shortest.is_some_and(|shortest| {
            matches!(shortest.count, PathCount::Paths(1) | PathCount::Lengths(1))
        });
    let asks = |parts: &ast::PathParts| parts.asks_nodes() || parts.acyclic && !shortest_of_all;
    only.repeated.is_some()
        || only.parts.as_deref().is_some_and(asks)
        || pattern
            .filter
            .as_deref()
            .is_some_and(|filter| !is_decided_by_search(filter, pattern, only))
}

/// Whether the search along one relationship can judge what stands within the parentheses:
/// conditions on its ends, which say which searches there are, and `all` and `none` over its
/// relationships, one by one.
fn is_decided_by_search(
    filter: &ast::Expr,
    pattern: &PathPattern,
    only: &RelationshipPattern,
) -> bool {
    match &filter.kind {
        ExprKind::Binary {
            op: BinaryOp::And,
            left,
            right,
        } => [left, right]
            .into_iter()
            .all(|side| is_decided_by_search(side, pattern, only)),
        ExprKind::Quantifier {
            kind: Quantifier::All | Quantifier::None,
            name,
            list,
            predicate,
        } if matches!((&list.kind, &only.name), (ExprKind::Variable(list), Some(rel)) if list.text == rel.text) => {
            predicate.reads_only(&|read| read == &*name.text)
        }
        _ => {
            let inside = [&only.name, &pattern.name];
            filter.reads_only(&|read| {
                inside
                    .iter()
                    .all(|name| name.as_ref().is_none_or(|name| &*name.text != read))
            })
        }
    }
}

/// Largest pattern that another `MATCH` is still added to; larger ones are ordered by themselves.
const MERGED_PARTS_MAX: usize = 24;

/// Most relationships of one `MATCH`; the plan is as deep as they are many.
const EDGES_MAX: usize = 150;

/// Most nodes of one `MATCH`; finding an order for parts that do not hang together takes time with
/// the cube of their number.
const NODES_MAX: usize = 300;

/// Variables of one path as they were declared: nodes, and the index of the edge of each step.
pub(super) struct Declared {
    pub nodes: Vec<VarId>,
    pub edges: Vec<usize>,
}

impl Binder<'_> {
    /// Binds a `MATCH`, adding to the graph of the clauses before. Returns that graph and, where
    /// the new clause uses a relationship of it and must come after it, a graph of its own.
    pub(super) fn match_clause(
        &mut self,
        before: QueryGraph,
        patterns: &[PathPattern],
        hints: &[ast::Hint],
        filter: Option<&ast::Expr>,
    ) -> Result<(QueryGraph, Option<QueryGraph>)> {
        let mut graph = QueryGraph::default();
        self.match_patterns(&mut graph, patterns, false)?;
        for hint in hints {
            self.bind_hint(&mut graph, hint)?;
        }
        graph.predicates.extend(self.conditions(filter)?);
        if before.nodes.is_empty() {
            return Ok((graph, None));
        }
        let reads_relationship = graph.edges.iter().any(|e| e.bound)
            || graph
                .predicates
                .iter()
                .chain(graph.edges.iter().flat_map(|e| &e.filters))
                .any(|p| {
                    let read = p.variables();
                    let mut searched = before.edges.iter().filter(|it| it.shortest.is_some());
                    before.paths.iter().any(|(path, _)| read.contains(path))
                        || searched.any(|edge| edge.made().any(|var| read.contains(&var)))
                });
        let known = before.variables();
        let reads_inside = graph
            .edges
            .iter()
            .filter_map(|e| e.repeated.as_ref())
            .any(|r| {
                let mut inside = r.conditions().flat_map(|condition| self.read_by(condition));
                inside.any(|var| known.contains(&var))
            });
        let reads_relationship = reads_relationship || reads_inside;
        let parts = before.edges.len() + before.nodes.len();
        if reads_relationship || parts > MERGED_PARTS_MAX {
            return Ok((before, Some(graph)));
        }
        let mut merged = before;
        for node in graph.nodes {
            if !merged.nodes.contains(&node) {
                merged.nodes.push(node);
            }
        }
        merged.edges.extend(graph.edges);
        merged.paths.extend(graph.paths);
        merged.predicates.extend(graph.predicates);
        merged.hints.extend(graph.hints);
        Ok((merged, None))
    }

    /// Binds a `MATCH` of one pattern along several relationships of which the shortest paths are
    /// wanted.
    pub(super) fn selective_match(
        &mut self,
        pattern: &PathPattern,
        filter: Option<&ast::Expr>,
    ) -> Result<Step> {
        let mut all = pattern.clone();
        let shortest = all.shortest.take().expect("asked by the caller");
        let mut graph = QueryGraph::default();
        let declared = self.match_patterns(&mut graph, &[all], false)?;
        let nodes = &declared[0].nodes;
        let (from, to) = (nodes[0], nodes[nodes.len() - 1]);
        let lengths = declared[0].edges.iter().map(|edge| graph.edges[*edge].rel);
        let lengths = lengths.collect();
        if leads_away(pattern) {
            let [from, to] = [from, to].map(Expr::Variable);
            let differ = binary(BinaryOp::NotEqual, from, to);
            graph.predicates.push(differ);
        }
        Ok(Step::Select {
            from,
            to,
            lengths,
            count: shortest.count,
            conditions: self.conditions(filter)?,
            graph,
        })
    }

    /// [`Binder::selective_match`] of an `OPTIONAL MATCH`: a subquery of the row.
    pub(super) fn optional_selective_match(
        &mut self,
        pattern: &PathPattern,
        filter: Option<&ast::Expr>,
    ) -> Result<Step> {
        let from = self.here();
        let row = self.scope.row.len();
        let step = self.selective_match(pattern, filter)?;
        let declared = self.scope.row[row..].iter();
        let mut columns: Columns = declared.map(|e| (e.name.clone(), e.var)).collect();
        if let Step::Select { lengths, .. } = &step {
            // A subquery without columns would leave its row as it is, however many it finds.
            columns.extend(lengths.first().map(|rel| ("  selected".into(), *rel)));
        }
        columns.sort_by_key(|(_, var)| *var);
        columns.dedup_by_key(|(_, var)| *var);
        let mut imports = self.used_since(from);
        imports.retain(|var| !self.is_open_subquery(*var));
        Ok(Step::inner(vec![step], columns, imports, true))
    }

    /// A pattern standing alone in an expression; with `predicate` it may not introduce variables.
    pub(super) fn pattern_graph(
        &mut self,
        pattern: &PathPattern,
        filter: Option<&ast::Expr>,
        predicate: bool,
    ) -> Result<QueryGraph> {
        let mut graph = QueryGraph::default();
        self.match_patterns(&mut graph, std::slice::from_ref(pattern), predicate)?;
        graph.predicates.extend(self.conditions(filter)?);
        Ok(graph)
    }

    pub(super) fn match_patterns(
        &mut self,
        graph: &mut QueryGraph,
        patterns: &[PathPattern],
        predicate: bool,
    ) -> Result<Vec<Declared>> {
        self.groups += 1;
        let before = std::mem::replace(&mut self.before_pattern, self.variables.len());
        let earlier = self.scope.row.len();
        let mut declared = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            declared.push(self.declare_path(graph, pattern, predicate, earlier)?);
        }
        // What `shortestPath()` looks for may be a relationship of the pattern beside it.
        for (pattern, declared) in patterns.iter().zip(&declared) {
            if pattern.shortest.is_some_and(|shortest| shortest.tested) {
                self.groups += 1;
                for edge in &declared.edges {
                    graph.edges[*edge].group = self.groups;
                }
            }
        }
        for (pattern, declared) in patterns.iter().zip(&declared) {
            self.bind_node(graph, &pattern.first, declared.nodes[0])?;
            for (step, (relationship, node)) in pattern.steps.iter().enumerate() {
                self.bind_relationship(graph, relationship, declared.edges[step])?;
                self.bind_node(graph, node, declared.nodes[step + 1])?;
            }
            for condition in self.conditions(pattern.filter.as_deref())? {
                if !graph.decided_on_each(&condition, |edge| edge.shortest.is_some()) {
                    graph.predicates.push(condition);
                }
            }
        }
        self.before_pattern = before;
        self.check_order_of_repeated(graph)?;
        Ok(declared)
    }

    pub(super) fn declare_path(
        &mut self,
        graph: &mut QueryGraph,
        pattern: &PathPattern,
        predicate: bool,
        earlier: usize,
    ) -> Result<Declared> {
        if pattern.weighted().is_some() {
            let message = "a path of least cost is looked for by a MATCH";
            return Err(self.error(pattern.span, Code::FeatureNotAvailable, message));
        }
        if pattern.shortest.is_some() && is_selective(pattern) {
            let message =
                "shortest paths along several relationships are looked for by a MATCH of their own";
            return Err(self
                .error(pattern.span, Code::FeatureNotAvailable, message)
                .with_hint("write `MATCH SHORTEST 1 (a)...(b)` with this one pattern"));
        }
        let known = pattern.first.name.as_ref().and_then(|name| {
            let entry = self.scope.find(&name.text)?;
            (!entry.ty.set.is(TypeSet::NODE)).then_some(entry.var)
        });
        let mut nodes = vec![self.declare_node(graph, &pattern.first, predicate)?];
        if let Some(var) = known.filter(|_| pattern.steps.is_empty()) {
            // Nothing is done with it that would tell a node from another value.
            let node = Expr::Literal(Literal::String("NODE".into()));
            let is_node = call(functions::IS_TYPED, vec![Expr::Variable(var), node]);
            graph.predicates.push(is_node);
        }
        if graph.nodes.len() > NODES_MAX {
            let message = format!("a pattern of more than {NODES_MAX} nodes cannot be planned");
            return Err(self
                .error(pattern.first.span, Code::StatementTooLong, message)
                .with_hint("split the MATCH with WITH, or send several statements"));
        }
        let mut edges = Vec::with_capacity(pattern.steps.len());
        for (relationship, node) in &pattern.steps {
            let from = *nodes.last().expect("the first node");
            let edge = graph.edges.len();
            match &relationship.repeated {
                Some(path) => self.declare_repeated(graph, relationship, path, from)?,
                None if pattern.shortest.is_some() && relationship.length.is_none() => {
                    self.declare_single(graph, relationship, from)?;
                }
                None => self.declare_relationship(graph, relationship, from, predicate, earlier)?,
            }
            if edge >= EDGES_MAX {
                let message =
                    format!("a pattern of more than {EDGES_MAX} relationships cannot be planned");
                return Err(self
                    .error(relationship.span, Code::StatementTooLong, message)
                    .with_hint("split the MATCH with WITH"));
            }
            let to = self.declare_node(graph, node, predicate)?;
            graph.edges[edge].to = to;
            if let Some(shortest) = pattern.shortest {
                graph.edges[edge].shortest = Some(shortest);
            }
            nodes.push(to);
            edges.push(edge);
        }
        if let Some(name) = &pattern.name {
            self.check_free(name)?;
            let path = self.declare(name, VarKind::Path, Type::of(TypeSet::PATH));
            let mut parts = vec![nodes[0]];
            for (edge, node) in edges.iter().zip(&nodes[1..]) {
                parts.extend([graph.edges[*edge].rel, *node]);
            }
            graph.paths.push((path, parts));
        }
        Ok(Declared { nodes, edges })
    }

    fn declare_node(
        &mut self,
        graph: &mut QueryGraph,
        node: &NodePattern,
        predicate: bool,
    ) -> Result<VarId> {
        let var = match &node.name {
            None => self.new_variable("  node", VarKind::Node),
            Some(name) => match self.scope.find(&name.text).cloned() {
                Some(entry) => {
                    self.uses.push(entry.var);
                    self.require_kind(name, &entry, TypeSet::NODE, "a node")?;
                    entry.var
                }
                None if predicate => return self.resolve(name).map(|(var, _)| var),
                None => self.declare(name, VarKind::Node, Type::of(TypeSet::NODE)),
            },
        };
        if !graph.nodes.contains(&var) {
            graph.nodes.push(var);
        }
        Ok(var)
    }

    pub(super) fn require_kind(
        &self,
        name: &Name,
        entry: &Entry,
        wanted: TypeSet,
        what: &str,
    ) -> Result<()> {
        if entry.ty.set.may_be(wanted) {
            return Ok(());
        }
        let message = format!(
            "variable `{}` holds {} and cannot be {what}",
            name.text, entry.ty.set
        );
        Err(self
            .error(name.span, Code::VariableTypeConflict, message)
            .with_hint("choose another name"))
    }

    pub(super) fn bind_node(
        &mut self,
        graph: &mut QueryGraph,
        node: &NodePattern,
        var: VarId,
    ) -> Result<()> {
        if let Some(labels) = &node.labels {
            let labels = self.known(labels);
            self.notice_unknown_labels(&labels);
            self.named_by(var, &tables::plain_names(Some(&labels)));
            let condition = self.label_condition(&Expr::Variable(var), &labels)?;
            conjuncts(condition, &mut graph.predicates);
        }
        let conditions = self.property_conditions(node.properties.as_ref(), var)?;
        graph.predicates.extend(conditions);
        let filter = self.conditions(node.filter.as_deref())?;
        graph.predicates.extend(filter);
        Ok(())
    }

    pub(super) fn bind_relationship(
        &mut self,
        graph: &mut QueryGraph,
        pattern: &RelationshipPattern,
        edge: usize,
    ) -> Result<()> {
        if let Some(path) = &pattern.repeated {
            return self.bind_repeated(graph, pattern, path, edge);
        }
        let Edge {
            rel,
            each,
            length,
            bound,
            single,
            ..
        } = graph.edges[edge];
        if length.is_some() {
            self.note_walk(graph, edge);
        }
        let named = single.unwrap_or(rel);
        let subject = if bound || length.is_none() { rel } else { each };
        let mut conditions = Vec::new();
        if let Some(types) = &pattern.types {
            let types = self.known(types);
            self.notice_unknown_types(&types);
            self.notice_types(&types, pattern.span);
            match alternatives(&types) {
                Some(names) => {
                    if length.is_none() {
                        self.named_by(rel, &names);
                    }
                    graph.edges[edge].types = names;
                }
                None => conditions.push(self.label_condition(&Expr::Variable(subject), &types)?),
            }
        }
        // Inside, the name of a list of relationships is each of them.
        let single = Type::of(TypeSet::RELATIONSHIP);
        let outside = length.and_then(|_| self.retype(rel, single));
        let inside = self.inside_conditions(pattern, subject);
        if let Some(list) = outside {
            self.retype(rel, list);
        }
        for mut condition in inside? {
            crate::plan::variables::substitute(&mut condition, named, &Expr::Variable(subject));
            conditions.push(condition);
        }
        if let Some(parts) = &pattern.parts {
            conditions.extend(self.path_part_conditions(graph, parts, edge)?);
        }
        if length.is_some() {
            let of_path = |condition: &Expr| {
                let mut variables = condition.variables().into_iter();
                variables.any(|var| graph.paths.iter().any(|(path, _)| *path == var))
            };
            if conditions.iter().any(of_path) {
                return Err(self.path_read_inside(pattern.span));
            }
            let unready = |condition: &Expr| {
                let mut variables = condition.variables().into_iter();
                variables.any(|var| graph.edges.iter().any(|e| e.made().any(|made| made == var)))
            };
            let (late, early): (Vec<_>, Vec<_>) = conditions.into_iter().partition(unready);
            let asks = |condition: &Expr| {
                let mut variables = condition.variables().into_iter();
                variables.any(|var| self.is_open_subquery(var))
            };
            let searched = !late.is_empty() && graph.edges[edge].shortest.is_some();
            if searched || early.iter().chain(&late).any(asks) {
                let message = "a condition inside a variable-length relationship cannot use \
                    subqueries, nor in a shortest path relationships of the same MATCH, in this \
                    build";
                return Err(self
                    .error(pattern.span, Code::FeatureNotAvailable, message)
                    .with_hint("move the condition to WHERE"));
            }
            graph.edges[edge].filters.extend(early);
            // What looks at other relationships waits until they are there.
            for mut condition in late {
                let one = self.new_variable("  each", VarKind::Relationship);
                crate::plan::variables::substitute(&mut condition, each, &Expr::Variable(one));
                graph.predicates.push(Expr::Quantifier {
                    kind: Quantifier::All,
                    var: one,
                    list: Box::new(Expr::Variable(rel)),
                    predicate: Box::new(condition),
                    at: Span::default(),
                });
            }
        } else {
            graph.predicates.extend(conditions);
        }
        Ok(())
    }

    /// Whether a name is that of the relationships along a pattern of variable length.
    pub(super) fn is_list_of_pattern(&self, name: &str) -> bool {
        let entry = self.scope.find(name);
        entry.is_some_and(|entry| {
            self.variables[entry.var.0 as usize].kind == VarKind::RelationshipList
        })
    }

    /// Changes what a variable of the row is taken for; returns what it was.
    fn retype(&mut self, var: VarId, ty: Type) -> Option<Type> {
        let entry = self.scope.row.iter_mut().find(|e| e.var == var)?;
        Some(std::mem::replace(&mut entry.ty, ty))
    }

    /// What the properties and the `WHERE` within the brackets ask of one relationship.
    fn inside_conditions(
        &mut self,
        pattern: &RelationshipPattern,
        subject: VarId,
    ) -> Result<Vec<Expr>> {
        let mut conditions = self.property_conditions(pattern.properties.as_ref(), subject)?;
        if let Some(filter) = &pattern.filter {
            conjuncts(self.condition(filter)?, &mut conditions);
        }
        Ok(conditions)
    }

    /// `{key: value}` as conditions on `var`.
    fn property_conditions(
        &mut self,
        properties: Option<&ast::Expr>,
        var: VarId,
    ) -> Result<Vec<Expr>> {
        let Some(properties) = properties else {
            return Ok(Vec::new());
        };
        let ExprKind::Map(entries) = &properties.kind else {
            let message = "a parameter cannot stand for the properties of a pattern here";
            return Err(self
                .error(properties.span, Code::InvalidParameterUse, message)
                .with_hint("name the keys: `{key: $parameter.key}`"));
        };
        let mut conditions = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let name = self.key_of_variable(var, &key.text);
            self.notice_unknown_key(&Name {
                text: name.clone(),
                span: key.span,
            });
            let value = self.expression(value)?.0;
            let property = Expr::Property {
                base: Box::new(Expr::Variable(var)),
                key: name,
                at: key.span,
            };
            conditions.push(binary(BinaryOp::Equal, property, value));
        }
        Ok(conditions)
    }
}

/// The types of `:A|B|C`, if it is nothing more; none for `:%`, which is any.
pub(super) fn alternatives(types: &LabelExpr) -> Option<Vec<Arc<str>>> {
    match types {
        LabelExpr::Any => Some(Vec::new()),
        LabelExpr::Label(name) => Some(vec![name.text.clone()]),
        LabelExpr::Or(items) => {
            let mut names: Vec<Arc<str>> = Vec::new();
            let mut known = BTreeSet::new();
            for item in items {
                let LabelExpr::Label(name) = item else {
                    return None;
                };
                if known.insert(&name.text) {
                    names.push(name.text.clone());
                }
            }
            Some(names)
        }
        _ => None,
    }
}
