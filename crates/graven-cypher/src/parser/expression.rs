//! Expressions, by precedence climbing.
//!
//! # How it works
//! From loose to tight: `OR`, `XOR`, `AND`, `NOT`, comparisons (a chain like `a < b <= c` is one
//! expression), `IN`/`STARTS WITH`/`ENDS WITH`/`CONTAINS`/`=~`/`IS NULL`/`IS Label`, operators on
//! bits (`parser/kuzu_bits.rs`), `+ - ||`, `* / %`, `^`, unary sign, postfix (`.key`, `[index]`,
//! `:Label`), atoms (`parser/atom.rs`).
//! Chains of `AND` and `OR` become balanced trees, so a generated condition with thousands of terms
//! stays flat.

use super::{HEIGHT_MAX, Parser, Result};
use crate::ast::{Expr, ExprKind, Name};
use crate::diagnostic::Code;
use crate::lexer;
use crate::plan::expression::{BinaryOp, UnaryOp};
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
            below = self.subquery;
        }
        if below >= HEIGHT_MAX {
            return Err(self.too_deep());
        }
        expr.height = below + 1;
        self.tallest = self.tallest.max(expr.height);
        Ok(expr)
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Result<Expr> {
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
    pub(super) fn balanced(&mut self, op: BinaryOp, mut operands: Vec<Expr>) -> Result<Expr> {
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
        let begins_operand = matches!(
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
        );
        begins_operand && !self.follows_operand(1)
    }

    fn comparison(&mut self) -> Result<Expr> {
        let first = self.predicate()?;
        let mut rest = Vec::new();
        if self.kind() == TokenKind::BangEqual {
            let message = "`!=` is not an operator";
            let error = self.error(self.token().span, Code::UnexpectedSyntax, message);
            return Err(error.with_hint("write `<>` for not equal"));
        }
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
        let mut left = self.bits()?;
        while self.at_is_label() {
            left = self.check(left)?;
        }
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
        } else if self.at_check() {
            return self.check(left);
        } else {
            return Ok(left);
        };
        let right = self.additive()?;
        self.binary(op, left, right)
    }

    /// Whether `IS` and something that can follow it, or `::`, stands here.
    pub(super) fn at_check(&self) -> bool {
        let is_type = self.kind() == TokenKind::Colon && self.peek(1) == TokenKind::Colon;
        let words = ["NULL", "NOT", "TYPED"];
        is_type
            || self.at_is_label()
            || self.is_word("IS")
                && (self.peek(1) == TokenKind::Colon
                    || words.iter().any(|word| self.is_word_at(1, word))
                    || self.is_normal_form(1))
    }

    /// Whether words about the Unicode form of a text stand so many tokens on.
    fn is_normal_form(&self, ahead: usize) -> bool {
        let forms = ["NFC", "NFD", "NFKC", "NFKD"];
        self.is_word_at(ahead, "NORMALIZED")
            || self.is_word_at(ahead + 1, "NORMALIZED")
                && forms.iter().any(|form| self.is_word_at(ahead, form))
    }

    /// `IS [NOT] NULL`, `IS [NOT] :: TYPE`, `IS [NOT] TYPED TYPE`, `:: TYPE`,
    /// `IS [NOT] NFC NORMALIZED`, `IS Label`.
    pub(super) fn check(&mut self, operand: Expr) -> Result<Expr> {
        if self.kind() == TokenKind::Colon {
            return self.type_check(operand, false);
        }
        if self.at_is_label() {
            let span = operand.span;
            let labels = self.label_expression()?;
            let kind = ExprKind::Labels {
                base: Box::new(operand),
                labels,
            };
            return self.make(kind, span.to(self.last_span()));
        }
        self.advance();
        let is_negated = self.eat_word("NOT");
        if self.kind() == TokenKind::Colon || self.is_word("TYPED") {
            return self.type_check(operand, is_negated);
        }
        if self.is_normal_form(0) {
            return self.normal_form_check(operand, is_negated);
        }
        let op = if is_negated {
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

    pub(super) fn additive(&mut self) -> Result<Expr> {
        let mut left = self.multiplicative()?;
        loop {
            let op = match self.kind() {
                TokenKind::Plus => BinaryOp::Add,
                TokenKind::Minus => BinaryOp::Subtract,
                TokenKind::BarBar => {
                    self.advance();
                    let right = self.multiplicative()?;
                    let span = left.span.to(right.span);
                    let kind = ExprKind::Concatenate {
                        left: Box::new(left),
                        right: Box::new(right),
                    };
                    left = self.make(kind, span)?;
                    continue;
                }
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
                TokenKind::Integer | TokenKind::Hexadecimal | TokenKind::Octal | TokenKind::Float
            ) && self.peek(1) != TokenKind::Bang;
            if op == UnaryOp::Minus && literal {
                let token = self.advance();
                let kind = match token.kind {
                    TokenKind::Float => ExprKind::Float(-lexer::float(self.text, token)?),
                    _ => ExprKind::Integer(lexer::integer(self.text, token, true)?),
                };
                let expr = self.make(kind, minus.span.to(token.span))?;
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
                    let key = self.stored_name("a property key")?;
                    ExprKind::Property {
                        base: Box::new(expr),
                        key,
                    }
                }
                TokenKind::OpenBracket => self.subscript(expr)?,
                // The factorial of Kuzu.
                TokenKind::Bang => {
                    let span = self.advance().span;
                    let text = "factorial".into();
                    match self.kuzu_function(&Name { text, span }, &mut vec![expr])? {
                        Some(kind) => kind,
                        None => return Err(self.unexpected("an operator")),
                    }
                }
                TokenKind::Colon
                    if matches!(
                        self.peek(1),
                        TokenKind::Word
                            | TokenKind::QuotedName
                            | TokenKind::Bang
                            | TokenKind::OpenParen
                            | TokenKind::Percent
                            | TokenKind::Dollar
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
        if self.at_kuzu_slice() {
            let from = self.kuzu_slice_start()?;
            return self.kuzu_slice(*base, from);
        }
        if self.eat(TokenKind::DotDot) {
            let dots = self.last_span();
            let Some(to) = self.slice_end()? else {
                let message = "a slice needs its begin or its end";
                return Err(self.error(dots, Code::UnexpectedSyntax, message));
            };
            return Ok(ExprKind::Slice {
                base,
                from: None,
                to: Some(to),
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

pub(super) fn comparison_op(kind: TokenKind) -> Option<BinaryOp> {
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
