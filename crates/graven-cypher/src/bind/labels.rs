//! Labels and types: conditions on them, those of new nodes and relationships, and names that an
//! expression gives.
//!
//! # How it works
//! `$(names)` stands for all labels that the expression gives, `$any(names)` for one of them. Where
//! the names are known before the statement runs, because they are written as texts or are those of
//! a parameter, they take the place of the expression, and the plan is that of a statement with
//! these names in its text; [`Binder::planned_for`] says for which parameters that holds. All
//! others become a call of an internal function, a condition like any other.

use std::sync::Arc;

use super::{Binder, Result};
use crate::ast::{self, ExprKind, LabelExpr, Name, RelationshipPattern};
use crate::bind::made::{Typed, call, unary};
use crate::diagnostic::Code;
use crate::functions;
use crate::plan::RelType;
use crate::plan::expression::{BinaryOp, Expr, UnaryOp};
use crate::plan::variables::joined;
use crate::schema_view::Named;
use crate::stop;
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// Labels of something that is created or changed.
#[derive(Default)]
pub(super) struct Labels {
    /// Names of the text.
    pub names: Vec<Arc<str>>,
    /// Expressions that give more.
    pub computed: Vec<Expr>,
}

impl Binder<'_> {
    pub(super) fn notice_unknown_labels(&mut self, labels: &LabelExpr) {
        each_label(labels, &mut |name| {
            if self.schema.label_count(&name.text).is_none() {
                self.notice_unknown(name, Named::Label);
            }
        });
    }

    pub(super) fn notice_unknown_types(&mut self, types: &LabelExpr) {
        each_label(types, &mut |name| {
            if self.schema.type_count(&name.text).is_none() {
                self.notice_unknown(name, Named::RelationshipType);
            }
        });
    }

    /// `base:A|B` as an expression.
    pub(super) fn has_labels(&mut self, base: &ast::Expr, labels: &LabelExpr) -> Result<Typed> {
        let (bound, ty) = self.expression(base)?;
        self.require_of(base, ty, TypeSet::ENTITY, "what has labels or a type")?;
        let labels = self.known(labels);
        if ty.set.is(TypeSet::RELATIONSHIP) {
            self.notice_unknown_types(&labels);
        } else if ty.set.is(TypeSet::NODE) {
            self.notice_unknown_labels(&labels);
        }
        let condition = self.label_condition(&bound, &labels)?;
        Ok((condition, Type::of(TypeSet::BOOLEAN)))
    }

    /// A label expression as a condition on `base`.
    pub(super) fn label_condition(&mut self, base: &Expr, labels: &LabelExpr) -> Result<Expr> {
        stop::tick();
        let several = |binder: &mut Self, op: BinaryOp, items: &[LabelExpr]| -> Result<Expr> {
            let conditions = items.iter().map(|item| binder.label_condition(base, item));
            let all = joined(op, conditions.collect::<Result<_>>()?);
            Ok(all.expect("at least one label"))
        };
        Ok(match labels {
            LabelExpr::Label(name) => Expr::HasLabels {
                base: Box::new(base.clone()),
                labels: vec![name.text.clone()],
                at: Span::default(),
            },
            LabelExpr::And(items) => several(self, BinaryOp::And, items)?,
            LabelExpr::Or(items) => several(self, BinaryOp::Or, items)?,
            LabelExpr::Not(item) => unary(UnaryOp::Not, self.label_condition(base, item)?),
            LabelExpr::Any => call(functions::IS_LABELED, vec![base.clone()]),
            LabelExpr::Computed { any, names } => {
                let function = match any {
                    true => functions::HAS_ANY_LABEL,
                    false => functions::HAS_ALL_LABELS,
                };
                call(function, vec![base.clone(), self.names(names)?])
            }
        })
    }

    /// The expression that gives names of labels or types.
    fn names(&mut self, names: &ast::Expr) -> Result<Expr> {
        let (bound, ty) = self.expression(names)?;
        let wanted = TypeSet::STRING.or(TypeSet::LIST);
        self.require_of(names, ty, wanted, "the names of labels or types")?;
        if ty.set.is(TypeSet::LIST) {
            let element = Type::of(ty.element);
            self.require(element, TypeSet::STRING, names.span, "a name of a list")?;
        }
        Ok(bound)
    }

    /// The label expression with names in the place of expressions that are known to give them.
    pub(super) fn known(&mut self, labels: &LabelExpr) -> LabelExpr {
        match labels {
            LabelExpr::Label(_) | LabelExpr::Any => labels.clone(),
            LabelExpr::And(items) => {
                LabelExpr::And(items.iter().map(|item| self.known(item)).collect())
            }
            LabelExpr::Or(items) => {
                LabelExpr::Or(items.iter().map(|item| self.known(item)).collect())
            }
            LabelExpr::Not(item) => LabelExpr::Not(Box::new(self.known(item))),
            LabelExpr::Computed { any, names } => {
                let Some(texts) = self.known_texts(names) else {
                    return labels.clone();
                };
                let span = names.span;
                let label = |text| LabelExpr::Label(Name { text, span });
                let mut found: Vec<LabelExpr> = texts.into_iter().map(label).collect();
                match (found.len(), any) {
                    (1, _) => found.remove(0),
                    (_, true) => LabelExpr::Or(found),
                    (_, false) => LabelExpr::And(found),
                }
            }
        }
    }

    /// The texts of an expression that is one, or a list of them, written down or as a parameter;
    /// at least one, none empty.
    fn known_texts(&mut self, names: &ast::Expr) -> Option<Vec<Arc<str>>> {
        let texts = match &names.kind {
            ExprKind::String(text) => vec![text.clone()],
            ExprKind::List(items) => items
                .iter()
                .map(|item| match &item.kind {
                    ExprKind::String(text) => Some(text.clone()),
                    _ => None,
                })
                .collect::<Option<_>>()?,
            ExprKind::Parameter(name) => {
                let texts = self.params.texts(&name.text)?.to_vec();
                self.planned_for.insert(name.text.clone(), texts.clone());
                texts
            }
            _ => return None,
        };
        (!texts.is_empty() && texts.iter().all(|text| !text.is_empty())).then_some(texts)
    }

    /// The type of a relationship to create.
    pub(super) fn single_type(
        &mut self,
        relationship: &RelationshipPattern,
        clause: &str,
    ) -> Result<RelType> {
        if relationship.length.is_some() {
            let message = format!("{clause} cannot make a relationship of variable length");
            return Err(self.error(relationship.span, Code::CreatingVarLength, message));
        }
        let types = relationship.types.as_ref();
        let types = types.filter(|types| !asks_for_any(types));
        match types.map(|types| self.known(types)) {
            Some(LabelExpr::Label(name)) => {
                self.written.insert(name.text.clone());
                Ok(RelType::Named(name.text))
            }
            Some(LabelExpr::Computed { any: false, names }) if !matches!(&names.kind, ExprKind::List(all) if all.len() != 1) => {
                Ok(RelType::Computed(Box::new(self.names(&names)?)))
            }
            _ => {
                let message = "a relationship is created with exactly one type";
                Err(self
                    .error(relationship.span, Code::NoSingleRelationshipType, message)
                    .with_hint("write -[:TYPE]->"))
            }
        }
    }

    /// The labels of a node to create, or to set.
    pub(super) fn plain_labels(
        &mut self,
        labels: Option<&LabelExpr>,
        span: Span,
    ) -> Result<Labels> {
        let mut found = Labels::default();
        let conditional = labels.is_some_and(asks_for_any);
        let labels = labels.map(|labels| self.known(labels));
        let mut open: Vec<&LabelExpr> = labels.iter().collect();
        while let Some(label) = open.pop() {
            match label {
                LabelExpr::Label(name) if !conditional => {
                    if !found.names.contains(&name.text) {
                        found.names.push(name.text.clone());
                    }
                }
                LabelExpr::And(items) => open.extend(items.iter().rev()),
                LabelExpr::Computed { any: false, names } => {
                    let names = self.names(names)?;
                    found.computed.push(names);
                }
                _ => {
                    let message = "a new node has labels, not conditions on labels";
                    return Err(self
                        .error(span, Code::UnexpectedSyntax, message)
                        .with_hint("write (:A:B)"));
                }
            }
        }
        Ok(found)
    }
}

/// Whether `$any(names)` is in it.
fn asks_for_any(labels: &LabelExpr) -> bool {
    match labels {
        LabelExpr::Computed { any, .. } => *any,
        LabelExpr::And(items) | LabelExpr::Or(items) => items.iter().any(asks_for_any),
        LabelExpr::Not(item) => asks_for_any(item),
        LabelExpr::Label(_) | LabelExpr::Any => false,
    }
}

pub(super) fn each_label(labels: &LabelExpr, visit: &mut dyn FnMut(&Name)) {
    match labels {
        LabelExpr::Label(name) => visit(name),
        LabelExpr::And(items) | LabelExpr::Or(items) => {
            items.iter().for_each(|item| each_label(item, visit));
        }
        LabelExpr::Not(item) => each_label(item, visit),
        LabelExpr::Any | LabelExpr::Computed { .. } => {}
    }
}
