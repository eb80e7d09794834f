//! Quantified patterns: `((a)-[r]->(b)){1,3}`, and what stands behind them.

use crate::ast::{Expr, Length, NodePattern, PathPattern, RelationshipPattern};
use crate::diagnostic::Code;
use crate::parser::{Parser, Result};
use crate::plan::Direction;
use crate::plan::expression::BinaryOp;
use crate::token::TokenKind;

impl Parser<'_> {
    /// Whether the parenthesis that opens here has a quantifier behind its end.
    pub(super) fn at_quantified_pattern(&self) -> bool {
        let mut open = 0_usize;
        for (ahead, token) in self.tokens.list[self.next..].iter().enumerate() {
            match token.kind {
                TokenKind::OpenParen => open += 1,
                TokenKind::CloseParen if open == 1 => return self.at_quantifier(ahead + 1),
                TokenKind::CloseParen => open -= 1,
                _ => {}
            }
        }
        false
    }

    /// Whether a quantifier of a pattern stands `ahead` tokens further on.
    pub(super) fn at_quantifier(&self, ahead: usize) -> bool {
        matches!(
            self.peek(ahead),
            TokenKind::Plus | TokenKind::Star | TokenKind::OpenBrace
        )
    }

    /// `+`, `*`, `{n}`, `{min, max}`.
    pub(super) fn path_quantifier(&mut self) -> Result<Length> {
        let start = self.token().span;
        if self.eat(TokenKind::Plus) {
            return Ok(Length {
                min: Some(1),
                max: None,
            });
        }
        if self.eat(TokenKind::Star) {
            return Ok(Length {
                min: Some(0),
                max: None,
            });
        }
        self.expect(TokenKind::OpenBrace, "`+`, `*` or `{min, max}`")?;
        let number = |p: &mut Self| match p.kind() {
            TokenKind::Integer => p.small_integer().map(Some),
            _ => Ok(None),
        };
        let min = number(self)?;
        if min.is_none() && self.kind() != TokenKind::Comma {
            return Err(self.unexpected("a number or `,`"));
        }
        let max = match self.eat(TokenKind::Comma) {
            true => number(self)?,
            false => min,
        };
        let last = self.expect(TokenKind::CloseBrace, "`}`")?;
        if max == Some(0) || max.is_some_and(|max| min.is_some_and(|min| min > max)) {
            let message = "the bounds of a quantifier begin at 0, end at 1 or more, and ascend";
            let span = start.to(last.span);
            return Err(self.error(span, Code::InvalidRelationshipPattern, message));
        }
        Ok(Length {
            min: Some(min.unwrap_or(0)),
            max,
        })
    }

    /// `((a)-[r]->(b) WHERE ...){1,3}`: one relationship with nodes that are neither named for use
    /// elsewhere nor conditioned is a relationship of variable length; anything else is
    /// repeated as a whole.
    pub(super) fn quantified_pattern(&mut self) -> Result<RelationshipPattern> {
        let open = self.expect(TokenKind::OpenParen, "`(`")?;
        let mut path = self.nested(Self::unselected_path)?;
        let filter = self.inline_filter()?;
        let filter = self.both(path.filter.take(), filter)?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        let length = self.path_quantifier()?;
        let span = open.span.to(self.last_span());
        if let Some((inner, _)) = path.steps.iter().find(|(r, _)| r.length.is_some()) {
            let message = "a quantified pattern cannot hold another one, or a relationship of \
                variable length";
            return Err(self.error(inner.span, Code::InvalidRelationshipPattern, message));
        }
        if path.steps.is_empty() || path.shortest.is_some() {
            let message =
                "a quantified pattern holds at least one relationship, and no selection of paths";
            return Err(self.error(path.span, Code::InvalidRelationshipPattern, message));
        }
        let plain = |node: &NodePattern| {
            let unused = node.name.as_ref().is_none_or(|name| self.is_unused(name));
            unused && node.labels.is_none() && node.properties.is_none() && node.filter.is_none()
        };
        let simple = path.steps.len() == 1 && plain(&path.first) && plain(&path.steps[0].1);
        if !simple {
            return Ok(RelationshipPattern {
                name: None,
                types: None,
                direction: Direction::Both,
                length: Some(length),
                properties: None,
                filter,
                parts: None,
                repeated: Some(Box::new(path)),
                span,
            });
        }
        let mut steps = path.steps;
        let (relationship, _) = steps.pop().expect("one step");
        let filter = self.both(relationship.filter, filter)?;
        Ok(self.asked_of_each(RelationshipPattern {
            length: Some(length),
            filter,
            span,
            ..relationship
        }))
    }

    /// A relationship of variable length is repeated as a whole if its conditions have subqueries.
    pub(super) fn asked_of_each(&self, pattern: RelationshipPattern) -> RelationshipPattern {
        let mut conditions = pattern.filter.iter().map(|filter| &**filter);
        let asks =
            conditions.any(Expr::has_subquery) || pattern.properties.iter().any(Expr::has_subquery);
        let Some(length) = pattern.length.filter(|_| asks && pattern.parts.is_none()) else {
            return pattern;
        };
        let span = pattern.span;
        let one = RelationshipPattern {
            length: None,
            ..pattern
        };
        RelationshipPattern {
            name: None,
            types: None,
            direction: Direction::Both,
            length: Some(Length {
                min: length.min.or(Some(1)),
                ..length
            }),
            properties: None,
            filter: None,
            parts: None,
            repeated: Some(Box::new(PathPattern {
                name: None,
                shortest: None,
                first: self.nowhere(span),
                steps: vec![(one, self.nowhere(span))],
                filter: None,
                span,
            })),
            span,
        }
    }

    /// Two conditions as one.
    pub(super) fn both(
        &mut self,
        inner: Option<Box<Expr>>,
        outer: Option<Box<Expr>>,
    ) -> Result<Option<Box<Expr>>> {
        match (inner, outer) {
            (Some(inner), Some(outer)) => {
                let both = self.binary(BinaryOp::And, *inner, *outer)?;
                Ok(Some(Box::new(both)))
            }
            (inner, outer) => Ok(inner.or(outer)),
        }
    }

    /// Whether a name stands in the statement only once, and nothing takes all names.
    fn is_unused(&self, name: &crate::ast::Name) -> bool {
        let tokens = &self.tokens.list;
        let same = |token: &&crate::token::Token| {
            token.span.slice(self.text) == name.span.slice(self.text)
        };
        let takes_all = tokens.windows(2).any(|pair| {
            let word = pair[0].span.slice(self.text);
            pair[1].kind == TokenKind::Star
                && ["RETURN", "WITH", "DISTINCT"]
                    .iter()
                    .any(|w| w.eq_ignore_ascii_case(word))
        });
        !takes_all && tokens.iter().filter(same).count() == 1
    }
}
