//! Paths, nodes, relationships and label conditions.
//!
//! # How it works
//! [`Parser::at_pattern`] tells `(a)-[r]->(b)` from `(a) - b` by the matching closing parenthesis and the
//! tokens after it, without trying to parse (CY-13). `(a)--(b)` and `(a)-[..]-` read as patterns.

use super::{Parser, Result};
use crate::ast::{LabelExpr, Length, NodePattern, PathPattern, RelationshipPattern, Shortest};
use crate::diagnostic::Code;
use crate::plan::Direction;
use crate::token::TokenKind;

impl Parser<'_> {
    /// Patterns separated by commas.
    pub(super) fn patterns(&mut self) -> Result<Vec<PathPattern>> {
        let mut patterns = vec![self.path()?];
        while self.eat(TokenKind::Comma) {
            patterns.push(self.path()?);
        }
        Ok(patterns)
    }

    /// `[name =] path`.
    pub(super) fn path(&mut self) -> Result<PathPattern> {
        let named = self.at_name() && self.peek(1) == TokenKind::Equal;
        if !named {
            return self.anonymous_path();
        }
        let name = self.name("a variable")?;
        self.advance();
        let mut path = self.anonymous_path()?;
        path.span = name.span.to(path.span);
        path.name = Some(name);
        Ok(path)
    }

    /// A path without a name, `shortestPath(...)` included.
    pub(super) fn anonymous_path(&mut self) -> Result<PathPattern> {
        let shortest = if self.is_word("shortestPath") {
            Some(Shortest::One)
        } else if self.is_word("allShortestPaths") {
            Some(Shortest::All)
        } else {
            None
        };
        let start = self.token().span;
        if shortest.is_some() && self.peek(1) == TokenKind::OpenParen {
            self.next += 2;
            let mut path = self.nested(Self::anonymous_path)?;
            let last = self.expect(TokenKind::CloseParen, "`)`")?;
            path.shortest = shortest;
            path.span = start.to(last.span);
            return Ok(path);
        }
        // The whole pattern may stand in parentheses: `((a)-->(b))`.
        if self.kind() == TokenKind::OpenParen && self.peek(1) == TokenKind::OpenParen {
            self.advance();
            let path = self.nested(Self::anonymous_path)?;
            self.expect(TokenKind::CloseParen, "`)`")?;
            return Ok(path);
        }
        let first = self.node()?;
        let mut steps = Vec::new();
        while self.kind() == TokenKind::Minus
            || (self.kind() == TokenKind::Less && self.peek(1) == TokenKind::Minus)
        {
            let relationship = self.relationship()?;
            steps.push((relationship, self.node()?));
        }
        Ok(PathPattern {
            name: None,
            shortest: None,
            first,
            steps,
            span: start.to(self.last_span()),
        })
    }

    fn node(&mut self) -> Result<NodePattern> {
        let open = self.expect(TokenKind::OpenParen, "a node pattern such as `(n:Label)`")?;
        let name = match self.at_name() && !self.is_inline_filter() {
            true => Some(self.name("a variable")?),
            false => None,
        };
        let labels = match self.kind() {
            TokenKind::Colon => Some(self.with_bar(false, Self::label_expression)?),
            _ => None,
        };
        let properties = self.pattern_properties()?;
        let filter = self.inline_filter()?;
        let last = self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(NodePattern {
            name,
            labels,
            properties,
            filter,
            span: open.span.to(last.span),
        })
    }

    /// `WHERE` inside a node or relationship pattern, and not a variable of that name.
    fn is_inline_filter(&self) -> bool {
        self.is_word("WHERE")
            && !matches!(
                self.peek(1),
                TokenKind::CloseParen
                    | TokenKind::CloseBracket
                    | TokenKind::Colon
                    | TokenKind::OpenBrace
            )
    }

    fn inline_filter(&mut self) -> Result<Option<Box<crate::ast::Expr>>> {
        match self.eat_word("WHERE") {
            true => Ok(Some(Box::new(self.with_bar(false, Self::expression)?))),
            false => Ok(None),
        }
    }

    /// The property map, or a parameter in its place (judged by the binder).
    fn pattern_properties(&mut self) -> Result<Option<crate::ast::Expr>> {
        let start = self.token().span;
        let kind = match self.kind() {
            TokenKind::OpenBrace => {
                crate::ast::ExprKind::Map(self.with_bar(false, |p| p.nested(Self::map_entries))?)
            }
            TokenKind::Dollar => crate::ast::ExprKind::Parameter(self.parameter()?),
            _ => return Ok(None),
        };
        let span = start.to(self.last_span());
        self.make(kind, span).map(Some)
    }

    fn relationship(&mut self) -> Result<RelationshipPattern> {
        let start = self.token().span;
        let left = self.eat(TokenKind::Less);
        self.expect(TokenKind::Minus, "`-`")?;
        let mut pattern = RelationshipPattern {
            name: None,
            types: None,
            direction: Direction::Both,
            length: None,
            properties: None,
            filter: None,
            span: start,
        };
        if self.eat(TokenKind::OpenBracket) {
            self.relationship_detail(&mut pattern)?;
        }
        self.expect(TokenKind::Minus, "`-`")?;
        let right = self.eat(TokenKind::Greater);
        pattern.direction = match (left, right) {
            (true, false) => Direction::In,
            (false, true) => Direction::Out,
            _ => Direction::Both,
        };
        pattern.span = start.to(self.last_span());
        Ok(pattern)
    }

    fn relationship_detail(&mut self, pattern: &mut RelationshipPattern) -> Result<()> {
        if self.at_name() && !self.is_inline_filter() {
            pattern.name = Some(self.name("a variable")?);
        }
        if self.kind() == TokenKind::Colon {
            pattern.types = Some(self.with_bar(false, Self::label_expression)?);
        }
        if self.eat(TokenKind::Star) {
            pattern.length = Some(self.length()?);
        } else if matches!(self.kind(), TokenKind::DotDot | TokenKind::Integer) {
            let message = "a variable-length relationship needs `*` before its bounds";
            return Err(self
                .error(self.token().span, Code::InvalidRelationshipPattern, message)
                .with_hint("write `*1..3`, `*..3` or `*`"));
        }
        pattern.properties = self.pattern_properties()?;
        pattern.filter = self.inline_filter()?;
        self.expect(TokenKind::CloseBracket, "`]`")?;
        Ok(())
    }

    fn length(&mut self) -> Result<Length> {
        if self.kind() == TokenKind::Minus {
            let message = "the bounds of a variable-length relationship cannot be negative";
            return Err(self.error(self.token().span, Code::InvalidRelationshipPattern, message));
        }
        let number = |p: &mut Self| match p.kind() {
            TokenKind::Integer => p.small_integer().map(Some),
            _ => Ok(None),
        };
        let min = number(self)?;
        if self.eat(TokenKind::DotDot) {
            if self.kind() == TokenKind::Minus {
                return self.length();
            }
            return Ok(Length {
                min,
                max: number(self)?,
            });
        }
        Ok(Length { min, max: min })
    }

    /// `:A:B`, `:A|B`, `:A&!B`, `:(A|B)`; the colon is still to be read.
    pub(super) fn label_expression(&mut self) -> Result<LabelExpr> {
        let mut all = Vec::new();
        while self.eat(TokenKind::Colon) {
            all.push(self.label_or()?);
        }
        Ok(one_or(all, LabelExpr::And))
    }

    fn label_or(&mut self) -> Result<LabelExpr> {
        let mut any = vec![self.label_and()?];
        while self.kind() == TokenKind::Bar && !self.bar_closes {
            self.advance();
            // `:A|:B` is the older form of `:A|B`.
            self.eat(TokenKind::Colon);
            any.push(self.label_and()?);
        }
        Ok(one_or(any, LabelExpr::Or))
    }

    fn label_and(&mut self) -> Result<LabelExpr> {
        let mut all = vec![self.label_not()?];
        while self.eat(TokenKind::Ampersand) {
            all.push(self.label_not()?);
        }
        Ok(one_or(all, LabelExpr::And))
    }

    fn label_not(&mut self) -> Result<LabelExpr> {
        self.nested(|p| match p.kind() {
            TokenKind::Bang => {
                p.advance();
                Ok(LabelExpr::Not(Box::new(p.label_not()?)))
            }
            TokenKind::OpenParen => {
                p.advance();
                let inner = p.with_bar(false, Self::label_or)?;
                p.expect(TokenKind::CloseParen, "`)`")?;
                Ok(inner)
            }
            TokenKind::Percent => {
                p.advance();
                Ok(LabelExpr::Any)
            }
            _ => Ok(LabelExpr::Label(p.name("a label or type")?)),
        })
    }

    /// Whether a path of at least one relationship starts at the parenthesis here.
    pub(super) fn at_pattern(&self) -> bool {
        self.at_pattern_from(0)
    }

    /// As [`Parser::at_pattern`], `ahead` tokens further on.
    pub(super) fn at_pattern_from(&self, ahead: usize) -> bool {
        use TokenKind::{
            CloseParen, Colon, Dollar, Greater, Less, Minus, OpenBrace, OpenBracket, OpenParen,
            QuotedName, Word,
        };
        let start = self.next + ahead;
        if self.tokens.list.get(start).map(|t| t.kind) != Some(OpenParen)
            || self.tokens.closing[start] == 0
        {
            return false;
        }
        let kind = |idx: usize| self.tokens.list.get(idx).map_or(TokenKind::End, |t| t.kind);
        let mut inside = start + 1;
        if matches!(kind(inside), Word | QuotedName) {
            inside += 1;
        }
        if !matches!(kind(inside), Colon | OpenBrace | Dollar | CloseParen)
            && !self.is_word_at(inside - self.next, "WHERE")
        {
            return false;
        }
        let mut after = self.tokens.closing[start] as usize + 1;
        if kind(after) == Less {
            after += 1;
        }
        if kind(after) != Minus {
            return false;
        }
        after += 1;
        if kind(after) == OpenBracket {
            let close = self.tokens.closing[after] as usize;
            return close != 0 && kind(close + 1) == Minus;
        }
        if kind(after) != Minus {
            return false;
        }
        after += 1;
        if kind(after) == Greater {
            after += 1;
        }
        kind(after) == OpenParen
    }

    /// Whether `[` is followed by a path and then `WHERE` or `|`: a pattern comprehension.
    pub(super) fn at_pattern_comprehension(&self) -> bool {
        if !self.at_pattern() {
            return false;
        }
        let kind = |idx: usize| self.tokens.list.get(idx).map_or(TokenKind::End, |t| t.kind);
        let mut idx = self.next;
        loop {
            match kind(idx) {
                TokenKind::OpenParen | TokenKind::OpenBracket => {
                    let close = self.tokens.closing[idx] as usize;
                    if close == 0 {
                        return false;
                    }
                    idx = close + 1;
                }
                TokenKind::Less | TokenKind::Minus | TokenKind::Greater => idx += 1,
                TokenKind::Bar => return true,
                TokenKind::Word => return self.is_word_at(idx - self.next, "WHERE"),
                _ => return false,
            }
        }
    }
}

fn one_or(mut items: Vec<LabelExpr>, join: impl FnOnce(Vec<LabelExpr>) -> LabelExpr) -> LabelExpr {
    match items.len() {
        1 => items.pop().expect("one element"),
        _ => join(items),
    }
}
