//! `(r, n | WHERE condition | {r.a}, {n.b})` of Kuzu behind the bounds of a variable length, and
//! the words before them: `SHORTEST`, `WSHORTEST(cost)`, `TRAIL`, `ACYCLIC`.
//!
//! # How it works
//! The names stand for each relationship and for each node between the ends. The condition and the
//! maps are each optional. The maps say which properties Kuzu gives with the parts; they are read
//! and checked, and the parts have all of their properties.
//!
//! # Cost
//! Linear in the text.

use super::{Parser, Result};
use crate::ast::{Expr, ExprKind, Name, PathParts, Weight};
use crate::diagnostic::Code;
use crate::plan::PathCount;
use crate::token::TokenKind;

/// Which of the paths of a variable length are wanted.
#[derive(Default)]
pub(super) struct PathMode {
    /// Those without a node twice.
    pub acyclic: bool,
    /// Those of least cost.
    pub weight: Option<Weight>,
}

impl Parser<'_> {
    /// Words of Kuzu behind the star: which of the paths are wanted.
    pub(super) fn mode_of_length(&mut self) -> Result<PathMode> {
        let start = self.token().span;
        let all = self.is_word("ALL");
        if self.is_word_at(usize::from(all), "WSHORTEST") {
            self.next += 1 + usize::from(all);
            self.expect(
                TokenKind::OpenParen,
                "`(` and the property that is the cost",
            )?;
            let key = self.name("the property that is the cost")?;
            self.expect(TokenKind::CloseParen, "`)`")?;
            let span = start.to(self.last_span());
            return Ok(PathMode {
                weight: Some(Weight { key, all, span }),
                ..PathMode::default()
            });
        }
        if self.is_word("WALK") {
            let message = "a path has no relationship twice in this build: there are no walks";
            return Err(self
                .error(start, Code::FeatureNotAvailable, message)
                .with_hint("leave the word out, or write `TRAIL` or `ACYCLIC`"));
        }
        if self.eat_word("TRAIL") {
            return Ok(PathMode::default());
        }
        if self.eat_word("ACYCLIC") {
            return Ok(PathMode {
                acyclic: true,
                ..PathMode::default()
            });
        }
        let all = all && self.is_word_at(1, "SHORTEST");
        if all {
            self.advance();
        }
        if self.eat_word("SHORTEST") {
            let count = match all {
                true => PathCount::Lengths(1),
                false => PathCount::Paths(1),
            };
            self.selected = Some((count, start.to(self.last_span())));
        }
        Ok(PathMode::default())
    }

    /// What follows the bounds, if it is of that form, or if a word before them asks for more.
    pub(super) fn path_parts(&mut self, mode: PathMode) -> Result<Option<PathParts>> {
        let PathMode { acyclic, weight } = mode;
        if !self.eat(TokenKind::OpenParen) {
            let relationship = Name {
                text: "  relationship".into(),
                span: self.last_span(),
            };
            let asks = acyclic || weight.is_some();
            return Ok(asks.then_some(PathParts {
                relationship,
                node: None,
                filter: None,
                shown: Vec::new(),
                acyclic,
                weight,
            }));
        }
        if let Some(weight) = &weight {
            let message = "a path of least cost takes no conditions on its parts in this build";
            return Err(self
                .error(weight.span, Code::FeatureNotAvailable, message)
                .with_hint("give the relationships that may be followed a type of their own"));
        }
        let relationship = self.name("a name for each relationship")?;
        let node = match self.eat(TokenKind::Comma) {
            true => Some(self.name("a name for each node between the ends")?),
            false => None,
        };
        let mut parts = PathParts {
            relationship,
            node,
            filter: None,
            shown: Vec::new(),
            acyclic,
            weight,
        };
        if let Some(node) = parts.node.as_ref()
            && node.text == parts.relationship.text
        {
            let message = format!(
                "`{}` cannot stand for the relationships and for the nodes of a path",
                node.text
            );
            return Err(self
                .error(node.span, Code::VariableAlreadyBound, message)
                .with_hint("choose another name for one of them"));
        }
        if self.eat(TokenKind::Bar) {
            let filtered = self.eat_word("WHERE");
            if filtered {
                parts.filter = Some(self.with_bar(true, Self::expression)?);
            }
            if !filtered || self.eat(TokenKind::Bar) {
                self.shown_properties(&parts.relationship, &mut parts.shown)?;
                if let Some(node) = &parts.node {
                    self.expect(TokenKind::Comma, "`,` and the properties of the nodes")?;
                    self.shown_properties(node, &mut parts.shown)?;
                }
            }
        }
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(Some(parts))
    }

    /// `{r.a, r.b}`: properties of the part that is called so.
    fn shown_properties(&mut self, of: &Name, shown: &mut Vec<Expr>) -> Result<()> {
        self.expect(TokenKind::OpenBrace, "`WHERE` or `{`")?;
        while self.kind() != TokenKind::CloseBrace {
            let property = self.with_bar(false, Self::expression)?;
            let of_part = matches!(&property.kind, ExprKind::Property { base, .. }
                if matches!(&base.kind, ExprKind::Variable(name) if name.text == of.text));
            if !of_part {
                let message = format!("here stand properties of `{0}`, such as `{0}.key`", of.text);
                return Err(self.error(property.span, Code::UnexpectedSyntax, message));
            }
            shown.push(property);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseBrace, "`,` or `}`")?;
        Ok(())
    }
}
