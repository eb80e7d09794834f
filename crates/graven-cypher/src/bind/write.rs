//! Writing clauses: what is created, merged, set, removed and deleted; `FOREACH`.
//!
//! # How it works
//! A pattern of `CREATE` names new nodes and relationships, apart from nodes that stand there bare
//! and are bound already. Properties may read what an earlier part of the same clause creates: the
//! creation is then split there in two. `MERGE` is bound twice, once as a pattern to look for and
//! once as a creation.

use std::collections::BTreeSet;

use super::graph::{BoundQuery, Branch, Merge, QueryGraph, Step};
use super::labels::Labels;
use super::{Binder, Columns, Result};
use crate::ast::{
    self, Clause, ClauseKind, ExprKind, Name, NodePattern, PathPattern, RelationshipPattern,
    RemoveItem,
};
use crate::bind::made::unary;
use crate::diagnostic::Code;
use crate::plan::expression::{Expr, Literal, UnaryOp};
use crate::plan::{
    CreateNode, CreateRelationship, Creation, Direction, RelType, SetItem, VarId, VarKind,
};
use crate::schema_view::TableView;
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// A creation in the making.
#[derive(Default)]
struct Group {
    creation: Creation,
    paths: Vec<(VarId, Vec<VarId>)>,
}

impl Binder<'_> {
    pub(super) fn write_clause(&mut self, clause: &Clause, steps: &mut Vec<Step>) -> Result<()> {
        match &clause.kind {
            ClauseKind::Create { patterns } => self.create(patterns, steps),
            ClauseKind::Merge {
                pattern,
                on_create,
                on_match,
            } => {
                let step = self.merge_step(pattern, on_create, on_match)?;
                steps.push(step);
                Ok(())
            }
            ClauseKind::Set(items) => {
                let from = self.here();
                let items = self.set_items(items)?;
                let once = Expr::Literal(Literal::Boolean(true));
                steps.push(self.setting(items, once, from));
                Ok(())
            }
            ClauseKind::Remove(items) => {
                let from = self.here();
                let items = self.remove_items(items)?;
                let once = Expr::Literal(Literal::Boolean(true));
                steps.push(self.setting(items, once, from));
                Ok(())
            }
            ClauseKind::Delete { detach, targets } => {
                let at = targets.iter().map(|target| target.span);
                let at = at.reduce(Span::to).unwrap_or(clause.span);
                let targets = self.delete_targets(targets)?;
                let detach = *detach;
                steps.push(Step::Delete {
                    targets,
                    detach,
                    at,
                });
                Ok(())
            }
            ClauseKind::Foreach {
                name,
                list,
                clauses,
            } => {
                let step = self.foreach(name, list, clauses)?;
                steps.push(step);
                Ok(())
            }
            _ => unreachable!("only writing clauses"),
        }
    }

    /// What has been used and declared so far.
    fn here(&self) -> (usize, usize) {
        (self.uses.len(), self.variables.len())
    }

    /// Variables from before `from` that were used since.
    fn used_since(&self, from: (usize, usize)) -> Vec<VarId> {
        let mut used = self.uses[from.0..].to_vec();
        used.retain(|var| (var.0 as usize) < from.1);
        used.sort_unstable();
        used.dedup();
        used
    }

    fn has_subquery(&self, items: &[SetItem]) -> bool {
        let mut found = false;
        for item in items {
            item.for_each_expr(&mut |e| {
                found |= e.variables().iter().any(|var| self.is_open_subquery(*var));
            });
        }
        found
    }

    /// Items that are done where the condition holds. Those with subqueries are done row by row and
    /// item by item, as the body of a `FOREACH`, since what a subquery finds is what the rows and
    /// items before it have left.
    fn setting(&mut self, items: Vec<SetItem>, condition: Expr, from: (usize, usize)) -> Step {
        let always = matches!(condition, Expr::Literal(Literal::Boolean(true)));
        if always && !self.has_subquery(&items) {
            return Step::Set(items);
        }
        let mut imports = self.used_since(from);
        for item in &items {
            // Also what was declared since, by the MERGE that these items belong to.
            item.for_each_expr(&mut |e| {
                for var in e.variables() {
                    match self
                        .subqueries
                        .get(&var)
                        .filter(|_| self.is_open_subquery(var))
                    {
                        Some(subquery) => imports.extend(&subquery.imports),
                        None => imports.push(var),
                    }
                }
            });
        }
        // Subqueries that others wait for are computed beside them.
        imports.retain(|var| !self.is_open_subquery(*var));
        imports.sort_unstable();
        imports.dedup();
        let at = items.first().map_or(self.clause_span, SetItem::place);
        let one = Expr::List(vec![Expr::Literal(Literal::Integer(1))]);
        let list = match always {
            true => one,
            false => Expr::Case {
                branches: vec![(condition, one)],
                otherwise: None,
                at,
            },
        };
        let mut steps: Vec<Step> = Vec::new();
        for item in items {
            match steps.last_mut() {
                Some(Step::Set(together)) if together.last().is_some_and(|i| i.is_with(&item)) => {
                    together.push(item);
                }
                _ => steps.push(Step::Set(vec![item])),
            }
        }
        Step::Foreach {
            list,
            var: self.new_variable("  once", VarKind::Value),
            body: Branch {
                steps,
                columns: Vec::new(),
            },
            imports,
            at,
        }
    }

    /// A `MERGE`; one with subqueries is a `CALL {}` that returns what it binds, so that they are
    /// computed when its row has its turn.
    fn merge_step(
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
        let in_items = self.has_subquery(&merge.on_create) || self.has_subquery(&merge.on_match);
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
        Ok(Step::Call {
            query: BoundQuery {
                branches: vec![Branch {
                    steps,
                    columns: columns.iter().map(|(_, var)| *var).collect(),
                }],
                all: true,
                columns,
            },
            copied: Vec::new(),
            imports,
            transactions: None,
            optional: false,
        })
    }

    /// Remembers the keys of a written map.
    fn writes_keys(&mut self, map: &Expr) {
        if let Expr::Map(entries) = map {
            self.written
                .extend(entries.iter().map(|(key, _)| key.clone()));
        }
    }

    fn create(&mut self, patterns: &[PathPattern], steps: &mut Vec<Step>) -> Result<()> {
        // Neighbouring creations are one: nothing can tell them apart.
        let mut group = match steps.pop() {
            Some(Step::Create { creation, paths }) => Group { creation, paths },
            other => {
                steps.extend(other);
                Group::default()
            }
        };
        let later = patterns.iter().flat_map(PathPattern::names);
        self.created_later = later.map(|name| name.text.clone()).collect();
        let created = self.created(patterns, &mut group, steps);
        self.created_later.clear();
        created?;
        steps.push(flushed(&mut group));
        Ok(())
    }

    fn created(
        &mut self,
        patterns: &[PathPattern],
        group: &mut Group,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        for pattern in patterns {
            self.no_shortest(pattern)?;
            self.no_filter(pattern.filter.as_deref())?;
            let alone = pattern.steps.is_empty();
            let mut at = self.create_node(&pattern.first, alone, group, steps)?;
            let mut parts = vec![at];
            for (relationship, node) in &pattern.steps {
                self.new_relationship_name(relationship)?;
                let rel_type = self.single_type(relationship, "CREATE")?;
                if let RelType::Computed(rel_type) = &rel_type {
                    self.split_at(rel_type, group, steps);
                }
                if relationship.direction == Direction::Both {
                    let message = "a relationship is created in one direction";
                    return Err(self
                        .error(
                            relationship.span,
                            Code::RequiresDirectedRelationship,
                            message,
                        )
                        .with_hint("write -[:TYPE]-> or <-[:TYPE]-"));
                }
                let table = match &rel_type {
                    RelType::Named(name) => self.table_of(std::slice::from_ref(name), false),
                    RelType::Computed(_) => None,
                };
                let properties = self.created_properties(
                    (table.as_ref(), relationship.span),
                    relationship.properties.as_ref(),
                    relationship.filter.as_deref(),
                    group,
                    steps,
                )?;
                let to = self.create_node(node, false, group, steps)?;
                let var = match &relationship.name {
                    Some(name) => {
                        self.declare(name, VarKind::Relationship, Type::of(TypeSet::RELATIONSHIP))
                    }
                    None => self.new_variable("  relationship", VarKind::Relationship),
                };
                if let RelType::Named(name) = &rel_type {
                    self.named_by(var, std::slice::from_ref(name));
                }
                let (start, end) = directed(relationship.direction, at, to);
                group.creation.relationships.push(CreateRelationship {
                    var,
                    rel_type,
                    start,
                    end,
                    properties,
                    at: relationship.span,
                });
                parts.extend([var, to]);
                at = to;
            }
            if let Some(name) = &pattern.name {
                self.check_free(name)?;
                let path = self.declare(name, VarKind::Path, Type::of(TypeSet::PATH));
                group.paths.push((path, parts));
            }
        }
        Ok(())
    }

    fn create_node(
        &mut self,
        node: &NodePattern,
        alone: bool,
        group: &mut Group,
        steps: &mut Vec<Step>,
    ) -> Result<VarId> {
        if let Some(var) = self.bound_node(node, alone)? {
            return Ok(var);
        }
        let labels = self.created_labels(node, group, steps)?;
        let (properties, filter) = (node.properties.as_ref(), node.filter.as_deref());
        let table = self.table_of(&labels.names, true);
        let table = (table.as_ref(), node.span);
        let properties = self.created_properties(table, properties, filter, group, steps)?;
        let var = match &node.name {
            Some(name) => self.declare(name, VarKind::Node, Type::of(TypeSet::NODE)),
            None => self.new_variable("  node", VarKind::Node),
        };
        self.named_by(var, &labels.names);
        group.creation.nodes.push(CreateNode {
            var,
            labels: labels.names,
            computed: labels.computed,
            properties,
            at: node.span,
        });
        Ok(var)
    }

    /// Labels of a node to create; splits the creation if they read a part of it.
    fn created_labels(
        &mut self,
        node: &NodePattern,
        group: &mut Group,
        steps: &mut Vec<Step>,
    ) -> Result<Labels> {
        let labels = self.merged_labels(node)?;
        for computed in &labels.computed {
            self.split_at(computed, group, steps);
        }
        Ok(labels)
    }

    /// The node of a pattern of `CREATE` or `MERGE` if it is bound already; it must stand there
    /// bare then.
    fn bound_node(&mut self, node: &NodePattern, alone: bool) -> Result<Option<VarId>> {
        let Some(name) = &node.name else {
            return Ok(None);
        };
        let Some(entry) = self.scope.find(&name.text).cloned() else {
            return Ok(None);
        };
        self.require_kind(name, &entry, TypeSet::NODE, "a node")?;
        let bare = node.labels.is_none() && node.properties.is_none() && node.filter.is_none();
        if alone || !bare {
            let message = format!("variable `{}` is already bound", name.text);
            let error = self.error(name.span, Code::VariableAlreadyBound, message);
            return Err(match alone {
                true => error.with_hint("choose another name for a new node"),
                false => {
                    error.with_hint("labels and properties of a bound node are changed by SET")
                }
            });
        }
        self.uses.push(entry.var);
        Ok(Some(entry.var))
    }

    fn new_relationship_name(&self, relationship: &RelationshipPattern) -> Result<()> {
        match &relationship.name {
            Some(name) if self.scope.find(&name.text).is_some() => {
                let message = format!("variable `{}` is already bound", name.text);
                Err(self
                    .error(name.span, Code::VariableAlreadyBound, message)
                    .with_hint("choose another name for the new relationship"))
            }
            _ => Ok(()),
        }
    }

    fn no_shortest(&self, pattern: &PathPattern) -> Result<()> {
        if pattern.shortest.is_some() {
            let message = "a shortest path can be looked for, not created";
            return Err(self.error(pattern.span, Code::UnexpectedSyntax, message));
        }
        Ok(())
    }

    /// Property map of something to create; splits the creation if it reads a part of it.
    fn created_properties(
        &mut self,
        (table, at): (Option<&TableView>, Span),
        properties: Option<&ast::Expr>,
        filter: Option<&ast::Expr>,
        group: &mut Group,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Expr>> {
        self.no_filter(filter)?;
        let properties = self.cast_properties(table, properties);
        let properties = properties.as_ref();
        let bound = match properties {
            Some(properties) => Some(self.property_map(properties)?),
            None => None,
        };
        let bound = self.with_defaults(table, properties, bound, at)?;
        if let Some(expr) = &bound {
            self.split_at(expr, group, steps);
        }
        Ok(bound)
    }

    /// Ends the creation so far if the expression reads a part of it.
    fn split_at(&self, expr: &Expr, group: &mut Group, steps: &mut Vec<Step>) {
        let mut read = expr.variables();
        if read.is_empty() {
            return;
        }
        let reads_own = {
            let imported: Vec<VarId> = read
                .iter()
                .filter_map(|var| self.subqueries.get(var))
                .flat_map(|s| s.imports.iter().copied())
                .collect();
            read.extend(imported);
            let paths = group.paths.iter().map(|(path, _)| *path);
            let mut own = group.creation.variables().chain(paths);
            own.any(|own| read.contains(&own))
        };
        if reads_own {
            steps.push(flushed(group));
        }
    }

    fn no_filter(&self, filter: Option<&ast::Expr>) -> Result<()> {
        match filter {
            Some(filter) => {
                let message = "a pattern that is created has no WHERE";
                Err(self.error(filter.span, Code::UnexpectedSyntax, message))
            }
            None => Ok(()),
        }
    }

    /// `{...}` or `$parameter` as the properties of something new.
    pub(super) fn property_map(&mut self, properties: &ast::Expr) -> Result<Expr> {
        let (expr, ty) = self.expression(properties)?;
        self.require(ty, TypeSet::MAP, properties.span, "the properties")?;
        self.writes_keys(&expr);
        Ok(expr)
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
        // Bound before the names of the pattern are declared: it cannot read itself.
        let mut bound = vec![self.bound_node(&pattern.first, alone)?];
        let mut maps = vec![self.merged_properties(&pattern.first.properties)?];
        self.no_filter(pattern.first.filter.as_deref())?;
        let mut labels = vec![self.merged_labels(&pattern.first)?];
        let mut types = Vec::new();
        for (relationship, node) in &pattern.steps {
            self.new_relationship_name(relationship)?;
            types.push(self.single_type(relationship, "MERGE")?);
            self.no_filter(relationship.filter.as_deref().or(node.filter.as_deref()))?;
            maps.push(self.merged_properties(&relationship.properties)?);
            bound.push(self.bound_node(node, false)?);
            labels.push(self.merged_labels(node)?);
            maps.push(self.merged_properties(&node.properties)?);
        }
        let mut graph = QueryGraph::default();
        let notices = self.notices.len();
        let declared = self.match_patterns(&mut graph, std::slice::from_ref(pattern), false)?;
        // What the pattern lacks is about to be created.
        self.notices.truncate(notices);
        let declared = &declared[0];
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
    fn merged_labels(&mut self, node: &NodePattern) -> Result<Labels> {
        let labels = self.plain_labels(node.labels.as_ref(), self.clause_span)?;
        self.written.extend(labels.names.iter().cloned());
        Ok(labels)
    }

    fn merged_properties(&mut self, properties: &Option<ast::Expr>) -> Result<Option<Expr>> {
        let Some(properties) = properties else {
            return Ok(None);
        };
        let ExprKind::Map(_) = &properties.kind else {
            let message = "a parameter cannot stand for the properties of a MERGE pattern";
            return Err(self
                .error(properties.span, Code::InvalidParameterUse, message)
                .with_hint("name the keys: `{key: $parameter.key}`"));
        };
        self.property_map(properties).map(Some)
    }

    fn set_items(&mut self, items: &[ast::SetItem]) -> Result<Vec<SetItem>> {
        items.iter().map(|item| self.set_item(item)).collect()
    }

    fn set_item(&mut self, item: &ast::SetItem) -> Result<SetItem> {
        Ok(match item {
            ast::SetItem::Property { target, value } => {
                // A counter may begin with what is not there yet: `n.c = coalesce(n.c, 0) + 1`.
                if let ExprKind::Property { key, .. } = &target.kind {
                    self.written.insert(key.text.clone());
                }
                let at = target.span.to(value.span);
                let value = self.expression(value)?.0;
                self.property_item(target, value, at)?
            }
            ast::SetItem::Replace { name, value } | ast::SetItem::Merge { name, value } => {
                let target = self.entity(name)?;
                let (bound, ty) = self.expression(value)?;
                let wanted = TypeSet::MAP.or(TypeSet::ENTITY);
                self.require(ty, wanted, value.span, "the new properties")?;
                self.writes_keys(&bound);
                SetItem::Properties {
                    target,
                    value: bound,
                    keep: matches!(item, ast::SetItem::Merge { .. }),
                    at: name.span.to(value.span),
                }
            }
            ast::SetItem::Labels { name, labels } => {
                let labels = self.plain_labels(Some(labels), name.span)?;
                self.written.extend(labels.names.iter().cloned());
                SetItem::AddLabels {
                    target: self.labelled(name)?,
                    labels: labels.names,
                    computed: labels.computed,
                    at: name.span,
                }
            }
        })
    }

    fn remove_items(&mut self, items: &[RemoveItem]) -> Result<Vec<SetItem>> {
        items
            .iter()
            .map(|item| match item {
                RemoveItem::Property(target) => {
                    self.property_item(target, Expr::Literal(Literal::Null), target.span)
                }
                RemoveItem::Labels { name, labels } => {
                    let labels = self.plain_labels(Some(labels), name.span)?;
                    Ok(SetItem::RemoveLabels {
                        target: self.labelled(name)?,
                        labels: labels.names,
                        computed: labels.computed,
                        at: name.span,
                    })
                }
            })
            .collect()
    }

    /// `target.key` or `target[key]` as what is set.
    fn property_item(&mut self, target: &ast::Expr, value: Expr, at: Span) -> Result<SetItem> {
        let holder = |binder: &mut Self, base: &ast::Expr| -> Result<Expr> {
            let (bound, ty) = binder.expression(base)?;
            binder.require(ty, TypeSet::ENTITY, base.span, "what has properties to set")?;
            Ok(bound)
        };
        Ok(match &target.kind {
            ExprKind::Property { base, key } => SetItem::Property {
                target: holder(self, base)?,
                key: key.text.clone(),
                value,
                at,
            },
            ExprKind::Index { base, index } => {
                let base = holder(self, base)?;
                let (key, ty) = self.expression(index)?;
                self.require(ty, TypeSet::STRING, index.span, "a property key")?;
                SetItem::Element {
                    target: base,
                    key,
                    value,
                    at,
                }
            }
            _ => unreachable!("the parser lets nothing else through"),
        })
    }

    fn entity(&mut self, name: &Name) -> Result<Expr> {
        let (var, ty) = self.resolve(name)?;
        self.require(ty, TypeSet::ENTITY, name.span, "what has properties to set")?;
        Ok(Expr::Variable(var))
    }

    fn labelled(&mut self, name: &Name) -> Result<Expr> {
        let (var, ty) = self.resolve(name)?;
        self.require(ty, TypeSet::NODE, name.span, "what has labels")?;
        Ok(Expr::Variable(var))
    }

    fn delete_targets(&mut self, targets: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(targets.len());
        for target in targets {
            if matches!(target.kind, ExprKind::Labels { .. }) {
                let message = "DELETE takes nodes, relationships and paths, not labels or types";
                return Err(self
                    .error(target.span, Code::InvalidDelete, message)
                    .with_hint("a label is taken away by `REMOVE n:Label`"));
            }
            let (expr, ty) = self.expression(target)?;
            let wanted = TypeSet::ENTITY.or(TypeSet::PATH);
            self.require(ty, wanted, target.span, "what is deleted")?;
            bound.push(expr);
        }
        Ok(bound)
    }

    fn foreach(&mut self, name: &Name, list: &ast::Expr, clauses: &[Clause]) -> Result<Step> {
        let place = list.span;
        let (list, ty) = self.expression(list)?;
        self.require(ty, TypeSet::LIST, place, "the list of FOREACH")?;
        let element = if ty.set.is(TypeSet::LIST) {
            Type::of(ty.element)
        } else {
            Type::ANY
        };
        let mark = self.enter_subquery();
        let var = self.declare(name, super::kind_of(element), element);
        let mut steps = Vec::new();
        let mut result = Ok(());
        for clause in clauses {
            self.clause_span = clause.span;
            result = self.write_clause(clause, &mut steps);
            if result.is_err() {
                break;
            }
        }
        let imports = self.leave_subquery(mark);
        result?;
        self.uses.extend(imports.iter().copied());
        Ok(Step::Foreach {
            list,
            var,
            body: Branch {
                steps,
                columns: Vec::new(),
            },
            imports,
            at: place,
        })
    }
}

/// Place of the first `EXISTS {}`, `COUNT {}` or `COLLECT {}` in an expression.
fn written_subquery(expr: &ast::Expr) -> Option<Span> {
    if matches!(expr.kind, ExprKind::Subquery { written: true, .. }) {
        return Some(expr.span);
    }
    let mut found = None;
    expr.children(&mut |child| found = found.or_else(|| written_subquery(child)));
    found
}

/// The creation so far as a step; the next one starts empty.
fn flushed(group: &mut Group) -> Step {
    let Group { creation, paths } = std::mem::take(group);
    Step::Create { creation, paths }
}

/// Start and end of a relationship written from `from` to `to`; without an arrow it is created that
/// way.
fn directed(direction: Direction, from: VarId, to: VarId) -> (VarId, VarId) {
    match direction {
        Direction::In => (to, from),
        Direction::Out | Direction::Both => (from, to),
    }
}
