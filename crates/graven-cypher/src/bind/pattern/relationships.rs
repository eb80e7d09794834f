//! Relationships of a pattern: their variables and lengths declared, and whether their names are
//! bound before.

use crate::ast::{PathPattern, RelationshipPattern};
use crate::bind::graph::{Edge, QueryGraph};
use crate::bind::made::binary;
use crate::bind::{Binder, Result};
use crate::diagnostic::Code;
use crate::plan::expression::{BinaryOp, Expr};
use crate::plan::{VarId, VarKind};
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    pub(super) fn declare_relationship(
        &mut self,
        graph: &mut QueryGraph,
        pattern: &RelationshipPattern,
        from: VarId,
        predicate: bool,
        earlier: usize,
    ) -> Result<()> {
        let length = pattern
            .length
            .map(|length| (length.min.unwrap_or(1), length.max));
        let kind = if length.is_some() {
            VarKind::RelationshipList
        } else {
            VarKind::Relationship
        };
        let mut bound = false;
        let mut must_equal = None;
        let rel = match &pattern.name {
            None => self.new_variable("  relationship", kind),
            Some(name) => match self.scope.find(&name.text).cloned() {
                Some(entry) => {
                    self.uses.push(entry.var);
                    let set = if length.is_some() {
                        TypeSet::LIST
                    } else {
                        TypeSet::RELATIONSHIP
                    };
                    let what = if length.is_some() {
                        "a list of relationships"
                    } else {
                        "a relationship"
                    };
                    self.require_kind(name, &entry, set, what)?;
                    if length.is_some() && !entry.ty.element.may_be(TypeSet::RELATIONSHIP) {
                        let message =
                            format!("`{}` is a list, but none of relationships", name.text);
                        return Err(self.error(name.span, Code::VariableTypeConflict, message));
                    }
                    let own = self
                        .scope
                        .row
                        .iter()
                        .position(|e| e.var == entry.var)
                        .is_some_and(|idx| idx >= earlier);
                    let again = |edge: &Edge| edge.rel == entry.var && edge.group == self.groups;
                    let again = graph.edges.iter().any(again);
                    // Two names of one relationship are no mistake in the text, they only never
                    // match.
                    let names = self.scope.row.iter().filter(|e| e.var == entry.var);
                    let aliased = again && names.count() > 1;
                    if own || again && !aliased {
                        let message =
                            format!("relationship `{}` is used twice in one pattern", name.text);
                        return Err(self
                            .error(name.span, Code::RelationshipUniquenessViolation, message)
                            .with_hint(
                                "within one MATCH all relationships differ, so this can \
                                never match",
                            ));
                    }
                    if length.is_some() || aliased {
                        must_equal = Some(entry.var);
                        self.new_variable("  relationships", kind)
                    } else {
                        bound = true;
                        entry.var
                    }
                }
                None if predicate => return self.resolve(name).map(|_| ()),
                None => {
                    let ty = match length {
                        Some(_) => Type::list_of(TypeSet::RELATIONSHIP),
                        None => Type::of(TypeSet::RELATIONSHIP),
                    };
                    self.declare(name, kind, ty)
                }
            },
        };
        if let Some(known) = must_equal {
            graph.predicates.push(binary(
                BinaryOp::Equal,
                Expr::Variable(rel),
                Expr::Variable(known),
            ));
        }
        let each = self.new_variable("  each", VarKind::Relationship);
        graph.edges.push(Edge {
            direction: pattern.direction,
            length,
            bound,
            ..Edge::from(from, rel, each, self.groups)
        });
        Ok(())
    }

    /// Whether the one relationship of a pattern has the name of one that is bound before.
    pub(in crate::bind) fn names_bound_relationship(&self, pattern: &PathPattern) -> bool {
        let named = pattern
            .steps
            .iter()
            .filter_map(|(rel, _)| match rel.length {
                None => rel.name.as_ref(),
                Some(_) => None,
            });
        named
            .into_iter()
            .any(|name| self.scope.find(&name.text).is_some())
    }

    /// One relationship of which shortest paths are wanted: searched for as a list of one, while
    /// its name is the relationship itself.
    pub(super) fn declare_single(
        &mut self,
        graph: &mut QueryGraph,
        pattern: &RelationshipPattern,
        from: VarId,
    ) -> Result<()> {
        let single = match &pattern.name {
            None => None,
            Some(name) if self.scope.find(&name.text).is_some() => {
                let message = format!(
                    "relationship `{}` is bound before, and a shortest path looks for its own",
                    name.text
                );
                return Err(self
                    .error(name.span, Code::VariableAlreadyBound, message)
                    .with_hint("choose another name and compare the two in WHERE"));
            }
            Some(name) => {
                let ty = Type::of(TypeSet::RELATIONSHIP);
                Some(self.declare(name, VarKind::Relationship, ty))
            }
        };
        let rel = self.new_variable("  relationships", VarKind::RelationshipList);
        let each = self.new_variable("  each", VarKind::Relationship);
        graph.edges.push(Edge {
            direction: pattern.direction,
            length: Some((1, Some(1))),
            single,
            ..Edge::from(from, rel, each, self.groups)
        });
        Ok(())
    }
}
