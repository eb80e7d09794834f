//! Hints to the planner behind the patterns of a `MATCH`: what they may name, and which indexes
//! they ask for.
//!
//! # How it works
//! A hint on an index or a scan is refused unless the `MATCH` asks for the label or type, and for
//! the properties, in a place that an access path could use: in the pattern, or in a condition
//! below `AND` and `OR` alone. What a hint says of nodes goes to the planner, which follows it
//! where it can.

use std::sync::Arc;

use crate::ast::{
    Expr, ExprKind, Hint, HintKind, LabelExpr, Name, NodePattern, PathPattern, RelationshipPattern,
};
use crate::bind::graph::{AccessHint, QueryGraph};
use crate::bind::{Binder, Result};
use crate::diagnostic::Code;
use crate::plan::expression::{BinaryOp, UnaryOp};

/// What a `MATCH` asks of one variable, as far as hints go.
#[derive(Default)]
struct Asked<'a> {
    named: bool,
    labels: Vec<&'a Arc<str>>,
    keys: Vec<&'a Arc<str>>,
}

impl<'a> Asked<'a> {
    /// What these patterns and this condition ask of the variable.
    fn of(name: &str, patterns: &'a [PathPattern], filter: Option<&'a Expr>) -> Asked<'a> {
        let mut asked = Asked::default();
        for pattern in patterns {
            let inner = pattern.steps.iter();
            let nodes = std::iter::once(&pattern.first).chain(inner.map(|(_, node)| node));
            for node in nodes {
                asked.node(name, node);
            }
            for (relationship, _) in &pattern.steps {
                asked.relationship(name, relationship);
            }
            asked.condition(name, pattern.filter.as_deref());
        }
        asked.condition(name, filter);
        asked
    }

    fn node(&mut self, name: &str, node: &'a NodePattern) {
        if is(node.name.as_ref(), name) {
            self.pattern(node.labels.as_ref(), node.properties.as_ref());
        }
        self.condition(name, node.filter.as_deref());
    }

    fn relationship(&mut self, name: &str, relationship: &'a RelationshipPattern) {
        if is(relationship.name.as_ref(), name) {
            self.pattern(
                relationship.types.as_ref(),
                relationship.properties.as_ref(),
            );
        }
        self.condition(name, relationship.filter.as_deref());
    }

    fn pattern(&mut self, labels: Option<&'a LabelExpr>, properties: Option<&'a Expr>) {
        self.named = true;
        labels.into_iter().for_each(|labels| self.labels(labels));
        if let Some(ExprKind::Map(entries)) = properties.map(|map| &map.kind) {
            self.keys.extend(entries.iter().map(|(key, _)| &key.text));
        }
    }

    fn labels(&mut self, labels: &'a LabelExpr) {
        match labels {
            LabelExpr::Label(label) => self.labels.push(&label.text),
            LabelExpr::And(all) | LabelExpr::Or(all) => {
                all.iter().for_each(|labels| self.labels(labels));
            }
            LabelExpr::Not(_) | LabelExpr::Any | LabelExpr::Computed { .. } => {}
        }
    }

    fn condition(&mut self, name: &str, condition: Option<&'a Expr>) {
        let Some(condition) = condition else {
            return;
        };
        self.comparison(name, condition);
        match &condition.kind {
            ExprKind::Binary {
                op: BinaryOp::And | BinaryOp::Or,
                left,
                right,
            } => {
                self.condition(name, Some(left));
                self.condition(name, Some(right));
            }
            ExprKind::Labels { base, labels } if is_variable(base, name) => self.labels(labels),
            _ => {}
        }
    }

    /// The properties that a comparison reads; one that is negated counts, too.
    fn comparison(&mut self, name: &str, condition: &'a Expr) {
        use BinaryOp as B;
        match &condition.kind {
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => match &operand.kind {
                ExprKind::Binary {
                    op: B::And | B::Or,
                    left,
                    right,
                } => {
                    self.comparison(name, left);
                    self.comparison(name, right);
                }
                _ => self.comparison(name, operand),
            },
            ExprKind::Unary {
                op: UnaryOp::IsNotNull,
                operand,
            } => self.property(name, operand),
            ExprKind::Binary { op, left, right } => match op {
                B::Equal | B::Less | B::LessOrEqual | B::Greater | B::GreaterOrEqual => {
                    self.compared(name, left);
                    self.compared(name, right);
                }
                B::In | B::StartsWith | B::EndsWith | B::Contains => self.property(name, left),
                _ => {}
            },
            ExprKind::Chain { first, rest } => {
                let others = rest.iter().map(|(_, operand)| operand);
                for operand in std::iter::once(&**first).chain(others) {
                    self.compared(name, operand);
                }
            }
            ExprKind::Call {
                name: function,
                args,
                ..
            } if function.text.eq_ignore_ascii_case("point.withinBBox") => {
                args.iter().for_each(|arg| self.property(name, arg));
            }
            _ => {}
        }
    }

    /// A side of a comparison: a property, or how far a property is away.
    fn compared(&mut self, name: &str, side: &'a Expr) {
        match &side.kind {
            ExprKind::Call {
                name: function,
                args,
                ..
            } if function.text.eq_ignore_ascii_case("point.distance") => {
                args.iter().for_each(|arg| self.property(name, arg));
            }
            _ => self.property(name, side),
        }
    }

    fn property(&mut self, name: &str, expr: &'a Expr) {
        if let ExprKind::Property { base, key } = &expr.kind
            && is_variable(base, name)
        {
            self.keys.push(&key.text);
        }
    }
}

fn is(own: Option<&Name>, name: &str) -> bool {
    own.is_some_and(|own| *own.text == *name)
}

fn is_variable(expr: &Expr, name: &str) -> bool {
    matches!(&expr.kind, ExprKind::Variable(own) if *own.text == *name)
}

impl Binder<'_> {
    /// Refuses hints that nothing in the `MATCH` could follow.
    pub(in crate::bind) fn check_hints(
        &self,
        hints: &[Hint],
        patterns: &[PathPattern],
        filter: Option<&Expr>,
    ) -> Result<()> {
        for hint in hints {
            let no_keys: &[Arc<str>] = &[];
            let (label, keys) = match &hint.kind {
                HintKind::Index { label, keys, .. } => (label, &keys[..]),
                HintKind::Scan { label } => (label, no_keys),
                HintKind::Join => {
                    if let [pattern] = patterns
                        && pattern.steps.is_empty()
                    {
                        let at = hint.variables.first().map_or(pattern.span, |it| it.span);
                        let message = "one node has nothing to join";
                        return Err(self.error(at, Code::UnexpectedSyntax, message));
                    }
                    continue;
                }
            };
            for name in &hint.variables {
                let asked = Asked::of(&name.text, patterns, filter);
                if !asked.named {
                    // That it is none of this MATCH is told where it is bound.
                    continue;
                }
                let missing = match asked.labels.contains(&label) {
                    false => Some((label, "has")),
                    true => {
                        let unread = keys.iter().find(|key| !asked.keys.contains(key));
                        unread.map(|key| (key, "compares"))
                    }
                };
                if let Some((what, asks)) = missing {
                    let message = format!(
                        "nothing in this MATCH says that `{}` {asks} `{what}`, as the hint needs",
                        name.text
                    );
                    let error = self.error(name.span, Code::UnexpectedSyntax, message);
                    return Err(error.with_hint(
                        "write it in the pattern, or in a condition of WHERE that AND and OR join",
                    ));
                }
            }
        }
        Ok(())
    }

    /// A hint on nodes or relationships of this `MATCH`; only what it says of nodes is of use.
    pub(super) fn bind_hint(&mut self, graph: &mut QueryGraph, hint: &Hint) -> Result<()> {
        for name in &hint.variables {
            let (var, _) = self.resolve(name)?;
            let node = graph.nodes.contains(&var);
            if !node && graph.edges.iter().all(|edge| edge.rel != var) {
                let message = format!("`{}` is not of the MATCH that the hint is for", name.text);
                return Err(self.error(name.span, Code::UndefinedVariable, message));
            }
            let (label, key) = match &hint.kind {
                HintKind::Index { label, keys, .. } => (label.clone(), keys.first().cloned()),
                HintKind::Scan { label } => (label.clone(), None),
                HintKind::Join if node => continue,
                HintKind::Join => {
                    let message =
                        format!("a hint on a join names nodes, and `{}` is none", name.text);
                    return Err(self.error(name.span, Code::InvalidArgumentType, message));
                }
            };
            if node {
                graph.hints.push(AccessHint {
                    node: var,
                    label,
                    key,
                });
            }
        }
        Ok(())
    }
}
