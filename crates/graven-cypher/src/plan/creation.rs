//! What writing operators write: nodes and relationships, items of `SET` and `REMOVE`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expression::Literal;
use super::{Expr, VarId};
use crate::token::Span;

/// Nodes and relationships that one row creates, nodes first, in the order written.
#[derive(Clone, Debug, Default)]
pub struct Creation {
    /// Nodes.
    pub nodes: Vec<CreateNode>,
    /// Relationships between nodes created here or bound before.
    pub relationships: Vec<CreateRelationship>,
}

/// One node to create.
#[derive(Clone, Debug)]
pub struct CreateNode {
    /// The variable it is bound to.
    pub var: VarId,
    /// Its labels.
    pub labels: Vec<Arc<str>>,
    /// Expressions that give names of further labels, each a text or a list of texts.
    pub computed: Vec<Expr>,
    /// A map of its properties; null entries are left out.
    pub properties: Option<Expr>,
    /// Where it stands in the text.
    pub at: Span,
}

/// The type of a relationship to create.
#[derive(Clone, Debug)]
pub enum RelType {
    /// As the text has it.
    Named(Arc<str>),
    /// The text, or the list of one text, that an expression gives.
    Computed(Box<Expr>),
}

/// One relationship to create.
#[derive(Clone, Debug)]
pub struct CreateRelationship {
    /// The variable it is bound to.
    pub var: VarId,
    /// Its type.
    pub rel_type: RelType,
    /// Start node.
    pub start: VarId,
    /// End node.
    pub end: VarId,
    /// A map of its properties; null entries are left out.
    pub properties: Option<Expr>,
    /// Where it stands in the text.
    pub at: Span,
}

/// One item of `SET` or `REMOVE`; a target that is null is passed over.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug)]
pub enum SetItem {
    /// `target.key = value`; null removes the property. `sets` tells `SET` from `REMOVE`, which
    /// counts only what was there.
    Property {
        target: Expr,
        key: Arc<str>,
        value: Expr,
        sets: bool,
        at: Span,
    },
    /// `target[key] = value`, with `sets` as above.
    Element {
        target: Expr,
        key: Expr,
        value: Expr,
        sets: bool,
        at: Span,
    },
    /// `target = value` (all other properties are removed) or, with `keep`, `target += value`; the
    /// value is a map, a node or a relationship.
    Properties {
        target: Expr,
        value: Expr,
        keep: bool,
        at: Span,
    },
    /// `target:A:B`; `computed` as in [`CreateNode`].
    AddLabels {
        target: Expr,
        labels: Vec<Arc<str>>,
        computed: Vec<Expr>,
        at: Span,
    },
    /// `REMOVE target:A:B`.
    RemoveLabels {
        target: Expr,
        labels: Vec<Arc<str>>,
        computed: Vec<Expr>,
        at: Span,
    },
}

impl Creation {
    /// Visits the property maps.
    pub(super) fn for_each_map<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        let nodes = self.nodes.iter().filter_map(|n| n.properties.as_ref());
        let relationships = self
            .relationships
            .iter()
            .filter_map(|r| r.properties.as_ref());
        nodes.chain(relationships).for_each(visit);
    }

    /// Visits the property maps and what computes labels and types.
    pub fn for_each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        self.for_each_map(visit);
        let labels = self.nodes.iter().flat_map(|n| &n.computed);
        labels.for_each(&mut *visit);
        for relationship in &self.relationships {
            if let RelType::Computed(rel_type) = &relationship.rel_type {
                visit(rel_type);
            }
        }
    }

    /// As [`Creation::for_each_expr`], for changing them.
    pub(crate) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let nodes = self
            .nodes
            .iter_mut()
            .flat_map(|n| n.computed.iter_mut().chain(&mut n.properties));
        let relationships = self.relationships.iter_mut().flat_map(|r| {
            let rel_type = match &mut r.rel_type {
                RelType::Computed(rel_type) => Some(&mut **rel_type),
                RelType::Named(_) => None,
            };
            rel_type.into_iter().chain(&mut r.properties)
        });
        nodes.chain(relationships)
    }

    /// Whether names of labels or types are computed.
    pub(super) fn computes_names(&self) -> bool {
        let types = |r: &CreateRelationship| matches!(r.rel_type, RelType::Computed(_));
        self.nodes.iter().any(|n| !n.computed.is_empty()) || self.relationships.iter().any(types)
    }

    /// Variables it binds.
    pub fn variables(&self) -> impl Iterator<Item = VarId> {
        let nodes = self.nodes.iter().map(|n| n.var);
        nodes.chain(self.relationships.iter().map(|r| r.var))
    }

    /// Variables bound before that it needs.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<VarId> {
        let mut read = BTreeSet::new();
        self.for_each_expr(&mut |e| read.extend(e.variables()));
        read.extend(self.relationships.iter().flat_map(|r| [r.start, r.end]));
        for own in self.variables() {
            read.remove(&own);
        }
        read
    }
}

impl SetItem {
    /// What is changed.
    #[must_use]
    pub fn target(&self) -> &Expr {
        match self {
            SetItem::Property { target, .. }
            | SetItem::Element { target, .. }
            | SetItem::Properties { target, .. }
            | SetItem::AddLabels { target, .. }
            | SetItem::RemoveLabels { target, .. } => target,
        }
    }

    /// Where it stands in the text.
    #[must_use]
    pub fn place(&self) -> Span {
        match self {
            SetItem::Property { at, .. }
            | SetItem::Element { at, .. }
            | SetItem::Properties { at, .. }
            | SetItem::AddLabels { at, .. }
            | SetItem::RemoveLabels { at, .. } => *at,
        }
    }

    /// Visits its expressions.
    pub fn for_each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self.target());
        match self {
            SetItem::Property { value, .. } | SetItem::Properties { value, .. } => visit(value),
            SetItem::Element { key, value, .. } => [key, value].into_iter().for_each(visit),
            SetItem::AddLabels { computed, .. } | SetItem::RemoveLabels { computed, .. } => {
                computed.iter().for_each(visit);
            }
        }
    }

    /// As [`SetItem::for_each_expr`], for changing them.
    pub(crate) fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            SetItem::Property { target, value, .. } | SetItem::Properties { target, value, .. } => {
                vec![target, value]
            }
            SetItem::Element {
                target, key, value, ..
            } => vec![target, key, value],
            SetItem::AddLabels {
                target, computed, ..
            }
            | SetItem::RemoveLabels {
                target, computed, ..
            } => std::iter::once(target).chain(computed).collect(),
        }
    }

    /// Whether it is computed together with the item before it: properties of one variable, named
    /// one after the other, are set as one, from what was there before the first.
    #[must_use]
    pub fn is_with(&self, next: &SetItem) -> bool {
        let of = |item: &SetItem| match item {
            SetItem::Property { target, .. } | SetItem::Element { target, .. } => match target {
                Expr::Variable(var) => Some(*var),
                _ => None,
            },
            _ => None,
        };
        of(self).is_some() && of(self) == of(next)
    }

    /// Whether it only takes away, as `REMOVE` does.
    pub(crate) fn removes(&self) -> bool {
        matches!(
            self,
            SetItem::RemoveLabels { .. }
                | SetItem::Property {
                    value: Expr::Literal(Literal::Null),
                    ..
                }
        )
    }
}
