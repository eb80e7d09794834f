//! Planner hints behind the patterns of a `MATCH`: `USING INDEX`, `USING SCAN`, `USING JOIN`; and
//! Kuzu's `HINT`, an order of joins, which is read and changes nothing.

use super::{Parser, Result};
use crate::ast::{Expr, Hint, HintKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// All hints that follow.
    pub(super) fn hints(&mut self) -> Result<Vec<Hint>> {
        let mut hints = Vec::new();
        while self.eat_word("USING") {
            hints.push(self.hint()?);
        }
        Ok(hints)
    }

    fn hint(&mut self) -> Result<Hint> {
        if self.eat_word("JOIN") {
            self.expect_word("ON")?;
            let mut variables = vec![self.name("a variable")?];
            while self.eat(TokenKind::Comma) {
                variables.push(self.name("a variable")?);
            }
            let kind = HintKind::Join;
            return Ok(Hint { variables, kind });
        }
        let scan = self.eat_word("SCAN");
        if !scan {
            let _ = ["BTREE", "RANGE", "TEXT", "POINT"]
                .iter()
                .any(|kind| self.eat_word(kind));
            self.expect_word("INDEX")?;
            // `SEEK` may be left out, and a variable may be called so.
            if self.is_word("SEEK") && self.peek(1) != TokenKind::Colon {
                self.advance();
            }
        }
        let variables = vec![self.name("a variable")?];
        self.expect(TokenKind::Colon, "`:` and a label")?;
        let label = self.name("a label")?.text;
        if scan {
            let kind = HintKind::Scan { label };
            return Ok(Hint { variables, kind });
        }
        self.expect(TokenKind::OpenParen, "`(` and the properties of the index")?;
        let key = self.name("a property")?.text;
        while self.eat(TokenKind::Comma) {
            self.name("a property")?;
        }
        self.expect(TokenKind::CloseParen, "`)`")?;
        let kind = HintKind::Index { label, key };
        Ok(Hint { variables, kind })
    }

    /// The condition of a `MATCH`, and Kuzu's `HINT (a JOIN e) JOIN b` behind it.
    pub(super) fn condition_and_hint(&mut self) -> Result<Option<Expr>> {
        let condition = self.where_clause()?;
        if self.eat_word("HINT") {
            self.joined()?;
        }
        Ok(condition)
    }

    fn joined(&mut self) -> Result<()> {
        loop {
            if self.eat(TokenKind::OpenParen) {
                self.nested(Self::joined)?;
                self.expect(TokenKind::CloseParen, "`JOIN` or `)`")?;
            } else {
                self.name("a variable of the pattern")?;
            }
            if !self.eat_word("JOIN") && !self.eat_word("MULTI_JOIN") {
                return Ok(());
            }
        }
    }
}
