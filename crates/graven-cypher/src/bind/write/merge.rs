//! `MERGE`: bound twice, once as a pattern to look for and once as a creation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::create::directed;
use super::set::written_subquery;
use crate::ast::{self, ExprKind, NodePattern, PathPattern};
use crate::bind::graph::{Merge, QueryGraph, Step};
use crate::bind::labels::Labels;
use crate::bind::made::unary;
use crate::bind::{Binder, Columns, Result};
use crate::diagnostic::Code;
use crate::plan::expression::{Expr, Literal, UnaryOp};
use crate::plan::variables::is_volatile;
use crate::plan::{CreateNode, CreateRelationship, Creation, RelType, SetItem, VarId, VarKind};
use crate::token::Span;

impl Binder<'_> {
    /// A `MERGE`; one with subqueries, or with items that read its path, is a `CALL {}` that
    /// returns what it binds, so that they are computed when its row has its turn.
    pub(super) fn merge_step(
        &mut self,
        pattern: &PathPattern,
        on_create: &[ast::SetItem],
        on_match: &[ast::SetItem],
    ) -> Result<Step> {
        let mut written = None;
        let mut find = |expr: &ast::Expr| written = written.or_else(|| written_subquery(expr));
        pattern.expressions(&mut find);
        for item in on_create.iter().chain(on_match) {
            item.expressions(&mut find);
        }
        if let Some(span) = written {
            let message = "EXISTS, COUNT and COLLECT subqueries cannot stand in MERGE";
            return Err(self
                .error(span, Code::InvalidClauseComposition, message)
                .with_hint("compute the value in an earlier WITH"));
        }
        let from = self.here();
        let row = self.scope.row.len();
        let mut merge = self.merge(pattern, on_create, on_match)?;
        let mut reads = BTreeSet::new();
        merge
            .creation
            .for_each_expr(&mut |e| reads.extend(e.variables()));
        let in_pattern = reads.iter().any(|var| self.is_open_subquery(*var));
        let is_late =
            |items: &[SetItem]| self.has_subquery(items) || reads_path(items, &merge.paths);
        let in_items = is_late(&merge.on_create) || is_late(&merge.on_match);
        if !in_pattern && !in_items {
            return Ok(Step::Merge(Box::new(merge)));
        }
        // What it creates is there behind it, with a name or without.
        let nodes = merge.creation.nodes.iter().map(|node| node.var);
        let relationships = merge.creation.relationships.iter().map(|rel| rel.var);
        let some = nodes.chain(relationships).next();
        let mut after = Vec::new();
        if in_items {
            let created = self.new_variable("  created", VarKind::Value);
            merge.created = Some(created);
            let on_create = std::mem::take(&mut merge.on_create);
            let on_match = std::mem::take(&mut merge.on_match);
            let is_new = Expr::Variable(created);
            let is_old = unary(UnaryOp::Not, is_new.clone());
            for (items, condition) in [(on_create, is_new), (on_match, is_old)] {
                if !items.is_empty() {
                    after.push(self.setting(items, condition, from));
                }
            }
        }
        let mut steps = vec![Step::Merge(Box::new(merge))];
        steps.extend(after);
        let declared = self.scope.row[row..].iter();
        let mut columns: Columns = declared.map(|e| (e.name.clone(), e.var)).collect();
        if columns.is_empty() {
            // A subquery without columns leaves its row as it is; this one gives a row for each
            // match.
            columns.extend(some.map(|var| ("  merged".into(), var)));
        }
        let imports = self.used_since(from);
        Ok(Step::inner(steps, columns, imports, false))
    }

    fn merge(
        &mut self,
        pattern: &PathPattern,
        on_create: &[ast::SetItem],
        on_match: &[ast::SetItem],
    ) -> Result<Merge> {
        self.no_shortest(pattern)?;
        self.no_filter(pattern.filter.as_deref())?;
        let pattern = &pattern.cast_by(self);
        let alone = pattern.steps.is_empty();
        let mut bound = vec![self.bound_node(&pattern.first, alone)?];
        self.no_parameter(pattern.first.properties.as_ref())?;
        self.no_filter(pattern.first.filter.as_deref())?;
        let mut labels = vec![self.merged_labels(&pattern.first)?];
        let mut types = Vec::new();
        for (relationship, node) in &pattern.steps {
            self.new_relationship_name(relationship)?;
            types.push(self.single_type(relationship, "MERGE")?);
            self.no_filter(relationship.filter.as_deref().or(node.filter.as_deref()))?;
            self.no_parameter(relationship.properties.as_ref())?;
            bound.push(self.bound_node(node, false)?);
            labels.push(self.merged_labels(node)?);
            self.no_parameter(node.properties.as_ref())?;
        }
        let mut graph = QueryGraph::default();
        let notices = self.notices.len();
        let declared = self.match_patterns(&mut graph, std::slice::from_ref(pattern), false)?;
        // What the pattern lacks is about to be created.
        self.notices.truncate(notices);
        let declared = &declared[0];
        let parts = pattern.steps.iter();
        let parts =
            parts.flat_map(|(relationship, node)| [&relationship.properties, &node.properties]);
        let mut maps = Vec::new();
        for properties in std::iter::once(&pattern.first.properties).chain(parts) {
            let map = properties.as_ref().map(|map| self.property_map(map));
            maps.push(map.transpose()?);
        }
        let mut creation = Creation::default();
        let (mut maps, mut labels) = (maps.into_iter(), labels.into_iter());
        let mut relationship_maps = Vec::new();
        for (idx, var) in declared.nodes.iter().enumerate() {
            if idx > 0 {
                relationship_maps.push(maps.next().flatten());
            }
            let properties = maps.next().flatten();
            let labels = labels.next().unwrap_or_default();
            let known = creation.nodes.iter().any(|n| n.var == *var);
            if bound[idx].is_none() && !known {
                let node = match idx {
                    0 => &pattern.first,
                    _ => &pattern.steps[idx - 1].1,
                };
                let table = self.table_of(&labels.names, true);
                let given = node.properties.as_ref();
                let properties =
                    self.with_defaults(table.as_ref(), given, properties, node.span)?;
                creation.nodes.push(CreateNode {
                    var: *var,
                    labels: labels.names,
                    computed: labels.computed,
                    properties,
                    at: pattern.span,
                });
            }
        }
        for (((idx, rel_type), properties), (pattern, _)) in declared
            .edges
            .iter()
            .zip(types)
            .zip(relationship_maps)
            .zip(&pattern.steps)
        {
            let table = match &rel_type {
                RelType::Named(name) => self.table_of(std::slice::from_ref(name), false),
                RelType::Computed(_) => None,
            };
            let given = pattern.properties.as_ref();
            let properties = self.with_defaults(table.as_ref(), given, properties, pattern.span)?;
            let edge = &graph.edges[*idx];
            let (start, end) = directed(pattern.direction, edge.from, edge.to);
            creation.relationships.push(CreateRelationship {
                var: edge.rel,
                rel_type,
                start,
                end,
                properties,
                at: pattern.span,
            });
        }
        self.give_own(&mut creation, &graph.paths, pattern.span)?;
        let on_create = self.set_items(on_create)?;
        let on_match = self.set_items(on_match)?;
        Ok(Merge {
            paths: std::mem::take(&mut graph.paths),
            graph,
            creation,
            on_create,
            on_match,
            created: None,
        })
    }

    /// Labels of a node that may be created.
    pub(super) fn merged_labels(&mut self, node: &NodePattern) -> Result<Labels> {
        let labels = self.plain_labels(node.labels.as_ref(), self.clause_span)?;
        self.written.extend(labels.names.iter().cloned());
        Ok(labels)
    }

    fn no_parameter(&self, properties: Option<&ast::Expr>) -> Result<()> {
        let Some(properties) = properties.filter(|map| !matches!(map.kind, ExprKind::Map(_)))
        else {
            return Ok(());
        };
        let message = "a parameter cannot stand for the properties of a MERGE pattern";
        Err(self
            .error(properties.span, Code::InvalidParameterUse, message)
            .with_hint("name the keys: `{key: $parameter.key}`"))
    }

    /// A property of what the pattern creates is, within it, the value that the pattern gives it.
    fn give_own(
        &mut self,
        creation: &mut Creation,
        paths: &[(VarId, Vec<VarId>)],
        at: Span,
    ) -> Result<()> {
        let reads_own = |binder: &Self, creation: &Creation| {
            let mut read = BTreeSet::new();
            creation.for_each_expr(&mut |expr| read.extend(binder.read_by(expr)));
            let paths = paths.iter().map(|(path, _)| *path);
            creation
                .variables()
                .chain(paths)
                .any(|own| read.contains(&own))
        };
        if !reads_own(self, creation) {
            return Ok(());
        }
        let mut own = Own {
            given: creation.variables().map(|var| (var, Vec::new())).collect(),
            open: Vec::new(),
            left: GIVEN_MAX,
        };
        let nodes = creation.nodes.iter().map(|n| (n.var, &n.properties));
        let relationships = creation.relationships.iter();
        for (var, map) in nodes.chain(relationships.map(|r| (r.var, &r.properties))) {
            if let Some(Expr::Map(entries)) = map {
                own.given.insert(var, entries.clone());
            }
        }
        for node in &mut creation.nodes {
            let exprs = node.computed.iter_mut().chain(&mut node.properties);
            own.give_all(node.var, exprs);
        }
        for relationship in &mut creation.relationships {
            let computed = match &mut relationship.rel_type {
                RelType::Computed(computed) => Some(&mut **computed),
                RelType::Named(_) => None,
            };
            let exprs = computed.into_iter().chain(&mut relationship.properties);
            own.give_all(relationship.var, exprs);
        }
        if own.left == 0 || reads_own(self, creation) {
            let message = "a MERGE pattern can read properties of what it creates, and nothing \
                else of it";
            let error = self.error(at, Code::InvalidClauseComposition, message);
            return Err(error.with_hint("name the value in a WITH before"));
        }
        let message = "a property of what this MERGE creates is read within its pattern";
        self.notice_at(at, "DeprecatedReferenceInCreate", message);
        Ok(())
    }
}

/// How many reads within one pattern are replaced.
const GIVEN_MAX: usize = 1000;

/// What a pattern gives the nodes and relationships that it creates.
struct Own {
    given: BTreeMap<VarId, Vec<(Arc<str>, Expr)>>,
    /// What is being made: of itself it reads null.
    open: Vec<VarId>,
    left: usize,
}

impl Own {
    fn give_all<'a>(&mut self, to: VarId, exprs: impl Iterator<Item = &'a mut Expr>) {
        self.open.push(to);
        exprs.for_each(|expr| self.give(expr));
        self.open.pop();
    }

    fn give(&mut self, expr: &mut Expr) {
        let read = match expr {
            Expr::Property { base, key, .. } => match **base {
                Expr::Variable(var) if self.given.contains_key(&var) => Some((var, key.clone())),
                _ => None,
            },
            _ => None,
        };
        let Some(read) = read else {
            return expr.for_each_child_mut(&mut |child| self.give(child));
        };
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let mut entries = self.given[&read.0].iter().rev();
        let value = entries.find(|(key, _)| *key == read.1);
        let value = value.filter(|_| !self.open.contains(&read.0));
        if value.is_some_and(|(_, value)| is_volatile(value)) {
            // Its copy would have another value.
            self.left = 0;
            return;
        }
        *expr = value.map_or(Expr::Literal(Literal::Null), |(_, value)| value.clone());
        self.open.push(read.0);
        self.give(expr);
        self.open.pop();
    }
}

/// Whether an item reads one of the paths, which are built when the pattern is there.
fn reads_path(items: &[SetItem], paths: &[(VarId, Vec<VarId>)]) -> bool {
    let mut reads = false;
    for item in items {
        item.for_each_expr(&mut |expr| {
            let read = expr.variables();
            reads |= paths.iter().any(|(path, _)| read.contains(path));
        });
    }
    reads
}
