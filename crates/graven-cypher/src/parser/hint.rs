//! Planner hints behind the patterns of a `MATCH`: `USING INDEX`, `USING SCAN`, `USING JOIN`; and
//! Kuzu's `HINT`, an order of joins, which is read and changes nothing.

use super::{Parser, Result};
use crate::ast::{Expr, Hint, HintKind};
use crate::plan::schema::IndexKind;
use crate::token::TokenKind;

/// Kinds of index that a hint may name.
const INDEX_KINDS: &[(&str, IndexKind)] = &[
    ("RANGE", IndexKind::Range),
    ("TEXT", IndexKind::Text),
    ("POINT", IndexKind::Point),
];

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
        let mut kind = None;
        if !scan {
            let mut kinds = INDEX_KINDS.iter();
            kind = kinds.find(|(word, _)| self.eat_word(word)).map(|it| it.1);
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
        let mut keys = vec![self.name("a property")?.text];
        while self.eat(TokenKind::Comma) {
            keys.push(self.name("a property")?.text);
        }
        self.expect(TokenKind::CloseParen, "`)`")?;
        let kind = HintKind::Index { kind, label, keys };
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
