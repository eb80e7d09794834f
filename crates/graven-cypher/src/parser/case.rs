//! `CASE`, searched and simple, and the simple one with lists of values and partial conditions.
//!
//! # How it works
//! In `CASE x WHEN 1, > 5, IS NULL THEN ...` each alternative becomes a whole condition on the
//! subject, which stands there as [`ExprKind::CaseSubject`], and the alternatives are joined by
//! `OR`. The subject itself is written once.

use super::expression::comparison_op;
use super::{Parser, Result};
use crate::ast::{Expr, ExprKind};
use crate::plan::expression::BinaryOp;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn case(&mut self) -> Result<ExprKind> {
        self.expect_word("CASE")?;
        let subject = match self.is_word("WHEN") {
            true => None,
            false => Some(Box::new(self.expression()?)),
        };
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let when = match subject {
                Some(_) => self.nested(Self::alternatives)?,
                None => self.expression()?,
            };
            self.expect_word("THEN")?;
            branches.push((when, self.expression()?));
        }
        if branches.is_empty() {
            return Err(self.unexpected("`WHEN`"));
        }
        let otherwise = match self.eat_word("ELSE") {
            true => Some(Box::new(self.expression()?)),
            false => None,
        };
        self.expect_word("END")?;
        Ok(ExprKind::Case {
            subject,
            branches,
            otherwise,
        })
    }

    /// What stands behind `WHEN` where there is a subject.
    fn alternatives(&mut self) -> Result<Expr> {
        let mut any = vec![self.alternative()?];
        while self.eat(TokenKind::Comma) {
            any.push(self.alternative()?);
        }
        self.balanced(BinaryOp::Or, any)
    }

    /// A value, or a condition without its left side.
    fn alternative(&mut self) -> Result<Expr> {
        let subject = self.make(ExprKind::CaseSubject, self.token().span)?;
        let word_pair = |first| self.is_word(first) && self.is_word_at(1, "WITH");
        let op = if let Some(op) = comparison_op(self.kind()) {
            self.advance();
            op
        } else if self.kind() == TokenKind::Matches {
            self.advance();
            BinaryOp::RegexMatch
        } else if word_pair("STARTS") {
            self.next += 2;
            BinaryOp::StartsWith
        } else if word_pair("ENDS") {
            self.next += 2;
            BinaryOp::EndsWith
        } else if self.at_check() {
            return self.check(subject);
        } else {
            let value = self.expression()?;
            return self.binary(BinaryOp::Equal, subject, value);
        };
        let right = self.additive()?;
        self.binary(op, subject, right)
    }
}
