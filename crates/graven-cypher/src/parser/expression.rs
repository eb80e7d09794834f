//! Expressions, by precedence climbing.
//!
//! # How it works
//! From loose to tight: `OR`, `XOR`, `AND`, `NOT`, comparisons (a chain like `a < b <= c` is one
//! expression), `IN`/`STARTS WITH`/`ENDS WITH`/`CONTAINS`/`=~`/`IS NULL`, `+ -`, `* / %`, `^`, unary sign,
//! postfix (`.key`, `[index]`, `:Label`), atoms. Chains of `AND` and `OR` become balanced trees, so a
//! generated condition with thousands of terms stays flat.

use std::sync::Arc;

use super::{HEIGHT_MAX, Parser, Result};
use crate::ast::{Expr, ExprKind, MapItem, Name, SubqueryKind};
use crate::diagnostic::Code;
use crate::lexer;
use crate::plan::expression::{BinaryOp, Quantifier, UnaryOp};
use crate::token::{Span, TokenKind};

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.nested(Self::or)
    }

    /// An expression node; its height is checked here (CY-10).
    pub(super) fn make(&mut self, kind: ExprKind, span: Span) -> Result<Expr> {
        let mut expr = Expr {
            kind,
            span,
            height: 0,
        };
        let mut below = 0;
        expr.children(&mut |child| below = below.max(child.height));
        if let ExprKind::Subquery { .. } = expr.kind {
            below = self.tallest;
        }
        if below >= HEIGHT_MAX {
            return Err(self.too_deep());
        }
        expr.height = below + 1;
        self.tallest = self.tallest.max(expr.height);
        Ok(expr)
    }

    fn binary(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Result<Expr> {
        let span = left.span.to(right.span);
        self.make(
            ExprKind::Binary {
                op,
                left: Box::new(left),
                right: Box::new(right),
            },
            span,
        )
    }

    /// Joins operands of an associative operator into a tree of logarithmic height.
    fn balanced(&mut self, op: BinaryOp, mut operands: Vec<Expr>) -> Result<Expr> {
        while operands.len() > 1 {
            let mut joined = Vec::with_capacity(operands.len().div_ceil(2));
            let mut rest = operands.into_iter();
            while let Some(left) = rest.next() {
                joined.push(match rest.next() {
                    Some(right) => self.binary(op, left, right)?,
                    None => left,
                });
            }
            operands = joined;
        }
        Ok(operands.pop().expect("at least one operand"))
    }

    fn or(&mut self) -> Result<Expr> {
        let mut operands = vec![self.xor()?];
        while self.eat_word("OR") {
            operands.push(self.xor()?);
        }
        self.balanced(BinaryOp::Or, operands)
    }

    fn xor(&mut self) -> Result<Expr> {
        let mut operands = vec![self.and()?];
        while self.eat_word("XOR") {
            operands.push(self.and()?);
        }
        self.balanced(BinaryOp::Xor, operands)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut operands = vec![self.not()?];
        while self.eat_word("AND") {
            operands.push(self.not()?);
        }
        self.balanced(BinaryOp::And, operands)
    }

    fn not(&mut self) -> Result<Expr> {
        let mut signs = Vec::new();
        while self.is_word("NOT") && self.starts_operand_after_not() {
            signs.push(self.advance().span);
        }
        let mut expr = self.comparison()?;
        while let Some(sign) = signs.pop() {
            let span = sign.to(expr.span);
            expr = self.make(
                ExprKind::Unary {
                    op: UnaryOp::Not,
                    operand: Box::new(expr),
                },
                span,
            )?;
        }
        Ok(expr)
    }

    /// `not` alone may also be a variable: it is the operator when an operand can follow.
    fn starts_operand_after_not(&self) -> bool {
        use TokenKind::*;
        matches!(
            self.peek(1),
            Word | QuotedName
                | Integer
                | Hexadecimal
                | Octal
                | Float
                | String
                | Dollar
                | OpenParen
                | OpenBracket
                | OpenBrace
                | Minus
                | Plus
        )
    }

    fn comparison(&mut self) -> Result<Expr> {
        let first = self.predicate()?;
        let mut rest = Vec::new();
        while let Some(op) = comparison_op(self.kind()) {
            self.advance();
            rest.push((op, self.predicate()?));
        }
        match rest.len() {
            0 => Ok(first),
            1 => {
                let (op, right) = rest.pop().expect("one element");
                self.binary(op, first, right)
            }
            _ => {
                let span = first.span.to(self.last_span());
                self.make(
                    ExprKind::Chain {
                        first: Box::new(first),
                        rest,
                    },
                    span,
                )
            }
        }
    }

    fn predicate(&mut self) -> Result<Expr> {
        let mut left = self.additive()?;
        loop {
            let op = if self.kind() == TokenKind::Matches {
                self.advance();
                BinaryOp::RegexMatch
            } else if self.is_word("IN") {
                self.advance();
                BinaryOp::In
            } else if self.is_word("CONTAINS") {
                self.advance();
                BinaryOp::Contains
            } else if self.is_word("STARTS") && self.is_word_at(1, "WITH") {
                self.next += 2;
                BinaryOp::StartsWith
            } else if self.is_word("ENDS") && self.is_word_at(1, "WITH") {
                self.next += 2;
                BinaryOp::EndsWith
            } else if self.is_word("IS")
                && (self.is_word_at(1, "NULL") || self.is_word_at(1, "NOT"))
            {
                left = self.null_check(left)?;
                continue;
            } else {
                return Ok(left);
            };
            let right = self.additive()?;
            left = self.binary(op, left, right)?;
        }
    }

    fn null_check(&mut self, operand: Expr) -> Result<Expr> {
        self.advance();
        let op = if self.eat_word("NOT") {
            UnaryOp::IsNotNull
        } else {
            UnaryOp::IsNull
        };
        let last = self.expect_word("NULL")?;
        let span = operand.span.to(last.span);
        self.make(
            ExprKind::Unary {
                op,
                operand: Box::new(operand),
            },
            span,
        )
    }

    fn additive(&mut self) -> Result<Expr> {
        let mut left = self.multiplicative()?;
        loop {
            let op = match self.kind() {
                TokenKind::Plus => BinaryOp::Add,
                TokenKind::Minus => BinaryOp::Subtract,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.multiplicative()?;
            left = self.binary(op, left, right)?;
        }
    }

    fn multiplicative(&mut self) -> Result<Expr> {
        let mut left = self.power()?;
        loop {
            let op = match self.kind() {
                TokenKind::Star => BinaryOp::Multiply,
                TokenKind::Slash => BinaryOp::Divide,
                TokenKind::Percent => BinaryOp::Modulo,
                _ => return Ok(left),
            };
            self.advance();
            let right = self.power()?;
            left = self.binary(op, left, right)?;
        }
    }

    fn power(&mut self) -> Result<Expr> {
        let mut left = self.sign()?;
        while self.eat(TokenKind::Caret) {
            let right = self.sign()?;
            left = self.binary(BinaryOp::Power, left, right)?;
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Expr> {
        let mut signs = Vec::new();
        loop {
            let op = match self.kind() {
                TokenKind::Minus => UnaryOp::Minus,
                TokenKind::Plus => UnaryOp::Plus,
                _ => break,
            };
            let minus = self.advance();
            let literal = matches!(
                self.kind(),
                TokenKind::Integer | TokenKind::Hexadecimal | TokenKind::Octal
            );
            if op == UnaryOp::Minus && literal {
                let token = self.advance();
                let value = lexer::integer(self.text, token, true)?;
                let expr = self.make(ExprKind::Integer(value), minus.span.to(token.span))?;
                let expr = self.postfix(expr)?;
                return self.signed(signs, expr);
            }
            signs.push((op, minus.span));
        }
        let atom = self.atom()?;
        let expr = self.postfix(atom)?;
        self.signed(signs, expr)
    }

    fn signed(&mut self, signs: Vec<(UnaryOp, Span)>, mut expr: Expr) -> Result<Expr> {
        for (op, sign) in signs.into_iter().rev() {
            let span = sign.to(expr.span);
            expr = self.make(
                ExprKind::Unary {
                    op,
                    operand: Box::new(expr),
                },
                span,
            )?;
        }
        Ok(expr)
    }

    fn postfix(&mut self, mut expr: Expr) -> Result<Expr> {
        loop {
            let start = expr.span;
            let kind = match self.kind() {
                TokenKind::Dot => {
                    self.advance();
                    let key = self.name("a property key")?;
                    ExprKind::Property {
                        base: Box::new(expr),
                        key,
                    }
                }
                TokenKind::OpenBracket => self.subscript(expr)?,
                TokenKind::Colon
                    if matches!(
                        self.peek(1),
                        TokenKind::Word
                            | TokenKind::QuotedName
                            | TokenKind::Bang
                            | TokenKind::OpenParen
                            | TokenKind::Percent
                    ) =>
                {
                    let labels = self.label_expression()?;
                    ExprKind::Labels {
                        base: Box::new(expr),
                        labels,
                    }
                }
                _ => return Ok(expr),
            };
            expr = self.make(kind, start.to(self.last_span()))?;
        }
    }

    fn subscript(&mut self, base: Expr) -> Result<ExprKind> {
        self.expect(TokenKind::OpenBracket, "`[`")?;
        let base = Box::new(base);
        if self.eat(TokenKind::DotDot) {
            let to = self.slice_end()?;
            return Ok(ExprKind::Slice {
                base,
                from: None,
                to,
            });
        }
        let index = Box::new(self.expression()?);
        if self.eat(TokenKind::DotDot) {
            let to = self.slice_end()?;
            return Ok(ExprKind::Slice {
                base,
                from: Some(index),
                to,
            });
        }
        self.expect(TokenKind::CloseBracket, "`]`")?;
        Ok(ExprKind::Index { base, index })
    }

    fn slice_end(&mut self) -> Result<Option<Box<Expr>>> {
        if self.eat(TokenKind::CloseBracket) {
            return Ok(None);
        }
        let to = self.expression()?;
        self.expect(TokenKind::CloseBracket, "`]`")?;
        Ok(Some(Box::new(to)))
    }

    fn atom(&mut self) -> Result<Expr> {
        let token = self.token();
        let kind = match token.kind {
            TokenKind::Integer | TokenKind::Hexadecimal | TokenKind::Octal => {
                self.advance();
                ExprKind::Integer(lexer::integer(self.text, token, false)?)
            }
            TokenKind::Float => {
                self.advance();
                ExprKind::Float(lexer::float(self.text, token)?)
            }
            TokenKind::String => {
                self.advance();
                ExprKind::String(lexer::string(self.text, token.span)?)
            }
            TokenKind::Dollar => ExprKind::Parameter(self.parameter()?),
            TokenKind::OpenParen if self.at_pattern() => {
                let pattern = self.nested(Self::anonymous_path)?;
                ExprKind::Pattern(Box::new(pattern))
            }
            TokenKind::OpenParen => {
                self.advance();
                let mut inner = self.with_bar(false, Self::expression)?;
                let last = self.expect(TokenKind::CloseParen, "`)`")?;
                inner.span = token.span.to(last.span);
                return Ok(inner);
            }
            TokenKind::OpenBracket => self.bracketed()?,
            TokenKind::OpenBrace => ExprKind::Map(self.map_entries()?),
            TokenKind::QuotedName => self.word_atom()?,
            TokenKind::Word => self.word_atom()?,
            _ => return Err(self.unexpected("an expression")),
        };
        self.make(kind, token.span.to(self.last_span()))
    }

    /// `$name`, `$0` or `` $`name` ``.
    pub(super) fn parameter(&mut self) -> Result<Name> {
        let dollar = self.expect(TokenKind::Dollar, "`$`")?;
        let mut name = match self.kind() {
            TokenKind::Integer | TokenKind::BadNumber => {
                let token = self.advance();
                Name {
                    text: token.span.slice(self.text).into(),
                    span: token.span,
                }
            }
            _ => self.name("the name of a parameter")?,
        };
        name.span = dollar.span.to(name.span);
        Ok(name)
    }

    /// `{key: value, ...}`.
    pub(super) fn map_entries(&mut self) -> Result<Vec<(Name, Expr)>> {
        self.expect(TokenKind::OpenBrace, "`{`")?;
        let mut entries = Vec::new();
        if self.eat(TokenKind::CloseBrace) {
            return Ok(entries);
        }
        loop {
            let key = self.name("a property key")?;
            self.expect(TokenKind::Colon, "`:`")?;
            entries.push((key, self.expression()?));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseBrace, "`,` or `}`")?;
        Ok(entries)
    }

    /// What starts with `[`: a list, a list comprehension or a pattern comprehension.
    fn bracketed(&mut self) -> Result<ExprKind> {
        let open = self.expect(TokenKind::OpenBracket, "`[`")?;
        if self.at_name() && self.is_word_at(1, "IN") {
            return self.with_bar(true, Self::list_comprehension);
        }
        let named = self.at_name() && self.peek(1) == TokenKind::Equal && self.at_pattern_from(2);
        if named || self.at_pattern_comprehension() {
            return self.with_bar(true, |p| p.pattern_comprehension(open.span));
        }
        let items = self.expressions_until(TokenKind::CloseBracket, "`,` or `]`")?;
        Ok(ExprKind::List(items))
    }

    fn list_comprehension(&mut self) -> Result<ExprKind> {
        let name = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = Box::new(self.expression()?);
        let filter = self.optional_filter()?;
        let map = match self.eat(TokenKind::Bar) {
            true => Some(Box::new(self.expression()?)),
            false => None,
        };
        self.expect(TokenKind::CloseBracket, "`WHERE`, `|` or `]`")?;
        Ok(ExprKind::ListComprehension {
            name,
            list,
            filter,
            map,
        })
    }

    fn pattern_comprehension(&mut self, open: Span) -> Result<ExprKind> {
        let name = match self.peek(1) == TokenKind::Equal {
            true => {
                let name = self.name("a variable")?;
                self.advance();
                Some(name)
            }
            false => None,
        };
        let mut pattern = Box::new(self.nested(Self::anonymous_path)?);
        pattern.name = name;
        pattern.span = open.to(pattern.span);
        let filter = self.optional_filter()?;
        self.expect(TokenKind::Bar, "`WHERE` or `|`")?;
        let map = Box::new(self.expression()?);
        self.expect(TokenKind::CloseBracket, "`]`")?;
        Ok(ExprKind::PatternComprehension {
            pattern,
            filter,
            map,
        })
    }

    fn optional_filter(&mut self) -> Result<Option<Box<Expr>>> {
        match self.eat_word("WHERE") {
            true => Ok(Some(Box::new(self.expression()?))),
            false => Ok(None),
        }
    }

    /// Expressions separated by commas up to and with `close`.
    fn expressions_until(&mut self, close: TokenKind, wanted: &str) -> Result<Vec<Expr>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(self.with_bar(false, Self::expression)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(close, wanted)?;
        Ok(items)
    }

    /// What starts with a word: keyword forms, calls, map projections, variables.
    fn word_atom(&mut self) -> Result<ExprKind> {
        let quoted = self.kind() == TokenKind::QuotedName;
        let word = self.token().span.slice(self.text).to_ascii_lowercase();
        let follows = self.peek(1);
        match word.as_str() {
            "null" => return self.constant(ExprKind::Null),
            "true" => return self.constant(ExprKind::Boolean(true)),
            "false" => return self.constant(ExprKind::Boolean(false)),
            "case"
                if !matches!(
                    follows,
                    TokenKind::Dot | TokenKind::Comma | TokenKind::CloseParen | TokenKind::End
                ) =>
            {
                return self.case();
            }
            "exists" if follows == TokenKind::OpenBrace => {
                return self.subquery(SubqueryKind::Exists);
            }
            "count" if follows == TokenKind::OpenBrace => {
                return self.subquery(SubqueryKind::Count);
            }
            "collect" if follows == TokenKind::OpenBrace => {
                return self.subquery(SubqueryKind::Collect);
            }
            "shortestpath" | "allshortestpaths" if follows == TokenKind::OpenParen => {
                return Ok(ExprKind::Pattern(Box::new(
                    self.nested(Self::anonymous_path)?,
                )));
            }
            "all" | "any" | "none" | "single"
                if follows == TokenKind::OpenParen && self.is_word_at(3, "IN") =>
            {
                return self.quantifier(&word);
            }
            "reduce" if follows == TokenKind::OpenParen && self.peek(3) == TokenKind::Equal => {
                return self.with_bar(true, Self::reduce);
            }
            _ => {}
        }
        if self.at_call() {
            return self.call();
        }
        if !quoted && self.starts_clause(&word) {
            return Err(self.unexpected("an expression"));
        }
        let name = self.name("an expression")?;
        if self.kind() == TokenKind::OpenBrace && self.at_map_projection() {
            return self.map_projection(name);
        }
        Ok(ExprKind::Variable(name))
    }

    /// Words that begin what follows an expression: `RETURN` without items, say.
    fn starts_clause(&self, word: &str) -> bool {
        let next_is_operand = matches!(
            self.peek(1),
            TokenKind::Word
                | TokenKind::QuotedName
                | TokenKind::OpenParen
                | TokenKind::Integer
                | TokenKind::Star
        );
        next_is_operand
            && matches!(
                word,
                "match"
                    | "optional"
                    | "where"
                    | "return"
                    | "unwind"
                    | "union"
                    | "order"
                    | "skip"
                    | "limit"
                    | "create"
                    | "merge"
                    | "delete"
                    | "detach"
                    | "remove"
                    | "then"
                    | "when"
            )
    }

    fn constant(&mut self, kind: ExprKind) -> Result<ExprKind> {
        self.advance();
        Ok(kind)
    }

    fn case(&mut self) -> Result<ExprKind> {
        self.expect_word("CASE")?;
        let subject = match self.is_word("WHEN") {
            true => None,
            false => Some(Box::new(self.expression()?)),
        };
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let when = self.expression()?;
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

    fn subquery(&mut self, kind: SubqueryKind) -> Result<ExprKind> {
        self.advance();
        let outer = std::mem::take(&mut self.tallest);
        let query = self.nested(|p| p.braced_subquery(kind))?;
        self.tallest = self.tallest.saturating_add(16).max(outer);
        Ok(ExprKind::Subquery {
            kind,
            query: Box::new(query),
        })
    }

    fn quantifier(&mut self, word: &str) -> Result<ExprKind> {
        self.next += 2;
        let kind = match word {
            "all" => Quantifier::All,
            "any" => Quantifier::Any,
            "none" => Quantifier::None,
            _ => Quantifier::Single,
        };
        let name = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = Box::new(self.expression()?);
        let predicate = match self.eat_word("WHERE") {
            true => self.expression()?,
            false => {
                let variable = ExprKind::Variable(name.clone());
                self.make(variable, name.span)?
            }
        };
        self.expect(TokenKind::CloseParen, "`WHERE` or `)`")?;
        Ok(ExprKind::Quantifier {
            kind,
            name,
            list,
            predicate: Box::new(predicate),
        })
    }

    fn reduce(&mut self) -> Result<ExprKind> {
        self.next += 2;
        let accumulator = self.name("a variable")?;
        self.expect(TokenKind::Equal, "`=`")?;
        let init = Box::new(self.expression()?);
        self.expect(TokenKind::Comma, "`,`")?;
        let name = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = Box::new(self.expression()?);
        self.expect(TokenKind::Bar, "`|`")?;
        let step = Box::new(self.expression()?);
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(ExprKind::Reduce {
            accumulator,
            init,
            name,
            list,
            step,
        })
    }

    /// Whether `name(` or `space.name(` stands here.
    fn at_call(&self) -> bool {
        let mut ahead = 0;
        loop {
            if !matches!(self.peek(ahead), TokenKind::Word | TokenKind::QuotedName) {
                return false;
            }
            match self.peek(ahead + 1) {
                TokenKind::OpenParen => return true,
                TokenKind::Dot if ahead < 16 => ahead += 2,
                _ => return false,
            }
        }
    }

    /// `name` or `space.name`, dots included.
    pub(super) fn dotted_name(&mut self, what: &str) -> Result<Name> {
        let mut name = self.name(what)?;
        while self.eat(TokenKind::Dot) {
            let part = self.name(what)?;
            name.text = Arc::from(format!("{}.{}", name.text, part.text));
            name.span = name.span.to(part.span);
        }
        Ok(name)
    }

    fn call(&mut self) -> Result<ExprKind> {
        let name = self.dotted_name("a function")?;
        self.expect(TokenKind::OpenParen, "`(`")?;
        if self.kind() == TokenKind::Star && name.text.eq_ignore_ascii_case("count") {
            self.advance();
            self.expect(TokenKind::CloseParen, "`)`")?;
            return Ok(ExprKind::Call {
                name,
                distinct: false,
                star: true,
                args: Vec::new(),
            });
        }
        let operand_follows = !matches!(
            self.peek(1),
            TokenKind::CloseParen | TokenKind::Comma | TokenKind::Dot
        );
        let distinct = self.is_word("DISTINCT") && operand_follows && self.eat_word("DISTINCT");
        let args = self.expressions_until(TokenKind::CloseParen, "`,` or `)`")?;
        Ok(ExprKind::Call {
            name,
            distinct,
            star: false,
            args,
        })
    }

    /// Whether `{` opens a map projection: `{.key`, `{.*`, `{key: ...`, `{name`, `{}`.
    fn at_map_projection(&self) -> bool {
        match self.peek(1) {
            TokenKind::Dot | TokenKind::CloseBrace => true,
            TokenKind::Word | TokenKind::QuotedName => {
                matches!(
                    self.peek(2),
                    TokenKind::Colon | TokenKind::Comma | TokenKind::CloseBrace
                )
            }
            _ => false,
        }
    }

    fn map_projection(&mut self, base: Name) -> Result<ExprKind> {
        self.expect(TokenKind::OpenBrace, "`{`")?;
        let mut items = Vec::new();
        if self.eat(TokenKind::CloseBrace) {
            return Ok(ExprKind::MapProjection { base, items });
        }
        loop {
            let item = if self.eat(TokenKind::Dot) {
                match self.eat(TokenKind::Star) {
                    true => MapItem::All,
                    false => MapItem::Property(self.name("a property key")?),
                }
            } else {
                let name = self.name("a property key or a variable")?;
                match self.eat(TokenKind::Colon) {
                    true => MapItem::Entry(name, self.expression()?),
                    false => MapItem::Variable(name),
                }
            };
            items.push(item);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseBrace, "`,` or `}`")?;
        Ok(ExprKind::MapProjection { base, items })
    }

    /// A literal that must be an integer of 32 bits, as in pattern lengths.
    pub(super) fn small_integer(&mut self) -> Result<u32> {
        let token = self.advance();
        let value = lexer::integer(self.text, token, false)?;
        u32::try_from(value).map_err(|_| {
            let message = format!("a pattern length of {value} is too large");
            self.error(token.span, Code::InvalidRelationshipPattern, message)
        })
    }
}

fn comparison_op(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::Equal => BinaryOp::Equal,
        TokenKind::NotEqual => BinaryOp::NotEqual,
        TokenKind::Less => BinaryOp::Less,
        TokenKind::LessOrEqual => BinaryOp::LessOrEqual,
        TokenKind::Greater => BinaryOp::Greater,
        TokenKind::GreaterOrEqual => BinaryOp::GreaterOrEqual,
        _ => return None,
    })
}
