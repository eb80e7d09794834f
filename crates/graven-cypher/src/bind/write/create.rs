//! Patterns of `CREATE`: new nodes and relationships.
//!
//! # How it works
//! A pattern names new nodes and relationships, apart from nodes that stand there bare and are
//! bound already. Properties may read what an earlier part of the same clause creates: the creation
//! is then split there in two.

use std::collections::BTreeMap;

use crate::ast::{self, NodePattern, PathPattern, RelationshipPattern};
use crate::bind::graph::Step;
use crate::bind::labels::Labels;
use crate::bind::{Binder, Result};
use crate::diagnostic::Code;
use crate::plan::expression::Expr;
use crate::plan::{CreateNode, CreateRelationship, Creation, Direction, RelType, VarId, VarKind};
use crate::schema_view::TableView;
use crate::stop;
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// A creation in the making.
#[derive(Default)]
struct Group {
    creation: Creation,
    paths: Vec<(VarId, Vec<VarId>)>,
    /// Variables from this one on are those of the clause.
    first: usize,
}

/// The creation so far as a step; the next one starts empty.
fn flushed(group: &mut Group) -> Step {
    let creation = std::mem::take(&mut group.creation);
    let paths = std::mem::take(&mut group.paths);
    Step::Create { creation, paths }
}

/// Start and end of a relationship written from `from` to `to`; without an arrow it is created that
/// way.
pub(super) fn directed(direction: Direction, from: VarId, to: VarId) -> (VarId, VarId) {
    match direction {
        Direction::In => (to, from),
        Direction::Out | Direction::Both => (from, to),
    }
}

impl Binder<'_> {
    pub(super) fn create(&mut self, patterns: &[PathPattern], steps: &mut Vec<Step>) -> Result<()> {
        // Neighbouring creations are one: nothing can tell them apart.
        let mut group = Group {
            first: self.variables.len(),
            ..Group::default()
        };
        match steps.pop() {
            Some(Step::Create { creation, paths }) => {
                (group.creation, group.paths) = (creation, paths)
            }
            other => steps.extend(other),
        }
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
        let typed = self.with_types_of_tables(patterns)?;
        let patterns = typed.as_deref().unwrap_or(patterns);
        // Where each name stands last.
        let mut last = BTreeMap::new();
        for (number, pattern) in patterns.iter().enumerate() {
            last.extend(pattern.names().map(|name| (name.text.clone(), number)));
        }
        self.created_later = last.keys().cloned().collect();
        for (number, pattern) in patterns.iter().enumerate() {
            stop::ask();
            for name in pattern.names() {
                if last.get(&name.text) == Some(&number) {
                    self.created_later.remove(&name.text);
                }
            }
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
                // Its end may have taken the name.
                self.new_relationship_name(relationship)?;
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
    pub(super) fn bound_node(&mut self, node: &NodePattern, alone: bool) -> Result<Option<VarId>> {
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

    pub(super) fn new_relationship_name(&self, relationship: &RelationshipPattern) -> Result<()> {
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

    pub(super) fn no_shortest(&self, pattern: &PathPattern) -> Result<()> {
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

    /// Ends the creation so far if the expression reads a part of it; tells of it where that part
    /// is of the same clause.
    fn split_at(&mut self, expr: &Expr, group: &mut Group, steps: &mut Vec<Step>) {
        let read = self.read_by(expr);
        if read.is_empty() {
            return;
        }
        let mut named = self.scope.row.iter();
        if named.any(|it| it.var.0 as usize >= group.first && read.contains(&it.var)) {
            let message = "this CREATE reads what it creates: Neo4j is about to drop that";
            self.notice_at(self.clause_span, "DeprecatedReferenceInCreate", message);
        }
        let paths = group.paths.iter().map(|(path, _)| *path);
        let reads_own = (group.creation.variables().chain(paths)).any(|own| read.contains(&own));
        if reads_own {
            steps.push(flushed(group));
        }
    }

    pub(super) fn no_filter(&self, filter: Option<&ast::Expr>) -> Result<()> {
        match filter {
            Some(filter) => {
                let message = "a pattern that is created has no WHERE";
                Err(self.error(filter.span, Code::UnexpectedSyntax, message))
            }
            None => Ok(()),
        }
    }

    /// Remembers the keys of a written map.
    pub(super) fn writes_keys(&mut self, map: &Expr) {
        if let Expr::Map(entries) = map {
            self.written
                .extend(entries.iter().map(|(key, _)| key.clone()));
        }
    }
}
