//! Operators on bits, as Kuzu has them: `|`, `&`, `<<`, `>>`.
//!
//! # How it works
//! They stand between comparisons and `+`, in this order, and become calls of `apoc.bitwise.op`.
//! Where `|` ends a condition, as in a comprehension, it is no operator; brackets make it one.
//!
//! # Cost
//! Linear in the text.

use super::{Parser, Result};
use crate::ast::{Expr, ExprKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// An operand of a comparison.
    pub(super) fn bits(&mut self) -> Result<Expr> {
        let mut left = self.bits_of_both()?;
        while self.kind() == TokenKind::Bar && !self.bar_closes {
            self.advance();
            let right = self.bits_of_both()?;
            left = self.on_bits("|", left, right)?;
        }
        Ok(left)
    }

    fn bits_of_both(&mut self) -> Result<Expr> {
        let mut left = self.shifted()?;
        while self.kind() == TokenKind::Ampersand {
            self.advance();
            let right = self.shifted()?;
            left = self.on_bits("&", left, right)?;
        }
        Ok(left)
    }

    fn shifted(&mut self) -> Result<Expr> {
        let mut left = self.additive()?;
        while let Some(op) = self.shift() {
            self.next += 2;
            let right = self.additive()?;
            left = self.on_bits(op, left, right)?;
        }
        Ok(left)
    }

    /// The shift that stands here: two tokens without a space between them.
    fn shift(&self) -> Option<&'static str> {
        let op = match (self.kind(), self.peek(1)) {
            (TokenKind::Less, TokenKind::Less) => "<<",
            (TokenKind::Greater, TokenKind::Greater) => ">>",
            _ => return None,
        };
        let second = self.tokens.list.get(self.next + 1)?;
        (self.token().span.end == second.span.start).then_some(op)
    }

    fn on_bits(&mut self, op: &str, left: Expr, right: Expr) -> Result<Expr> {
        let span = left.span.to(right.span);
        let op = self.make(ExprKind::String(op.into()), span)?;
        self.called("apoc.bitwise.op", vec![left, op, right], span)
    }
}
