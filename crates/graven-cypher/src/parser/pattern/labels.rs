//! Conditions on labels and types: `:A&!B|$(name)`.

use crate::ast::{Expr, ExprKind, LabelExpr};
use crate::diagnostic::Code;
use crate::parser::{Parser, Result};
use crate::token::TokenKind;

impl Parser<'_> {
    /// Whether `IS` and a label stand here, which is the same as a colon and a label.
    pub(in crate::parser) fn at_is_label(&self) -> bool {
        self.is_label_from(0)
    }

    /// As [`Parser::at_is_label`], `ahead` tokens further on.
    fn is_label_from(&self, ahead: usize) -> bool {
        let follows = match self.peek(ahead + 1) {
            // What else can stand behind `IS`, or behind a variable of that name.
            TokenKind::Word => {
                let others = ["NULL", "NOT", "TYPED", "NORMALIZED", "WHERE", "THEN"];
                !others.iter().any(|word| self.is_word_at(ahead + 1, word))
                    && !self.is_word_at(ahead + 2, "NORMALIZED")
            }
            TokenKind::QuotedName | TokenKind::Bang | TokenKind::Percent | TokenKind::OpenParen => {
                true
            }
            TokenKind::Dollar => {
                self.peek(ahead + 2) == TokenKind::OpenParen
                    || self.peek(ahead + 3) == TokenKind::OpenParen
            }
            _ => false,
        };
        follows && self.is_word_at(ahead, "IS")
    }

    /// Whether a node or relationship has a name here, whatever keyword that may be elsewhere:
    /// `(is IS A)`, `(where WHERE where.i = 1)`.
    pub(super) fn at_element_name(&self) -> bool {
        if !self.at_name() {
            return false;
        }
        let begins_filter = |ahead| {
            self.is_word_at(ahead, "WHERE") && {
                let ends = [
                    TokenKind::CloseParen,
                    TokenKind::CloseBracket,
                    TokenKind::Colon,
                    TokenKind::OpenBrace,
                    TokenKind::Star,
                ];
                !ends.contains(&self.peek(ahead + 1))
            }
        };
        let is_name = match self.peek(1) {
            TokenKind::Word => {
                // `(WHERE is IS NULL)` has a variable `is`.
                let names_label =
                    self.is_label_from(1) && !(self.is_word("WHERE") && self.follows_operand(2));
                names_label || begins_filter(1) && !self.follows_operand(2)
            }
            _ => false,
        };
        is_name || !begins_filter(0) && !self.at_is_label()
    }

    /// `$(names)`, `$all(names)`, `$any(names)` in the place of a label or type.
    fn computed_label(&mut self) -> Result<LabelExpr> {
        let start = self.expect(TokenKind::Dollar, "`$`")?.span;
        let any = self.is_word("ANY");
        if self.peek(1) == TokenKind::OpenParen && (any || self.is_word("ALL")) {
            self.advance();
        }
        if self.kind() != TokenKind::OpenParen {
            let message = "a parameter does not stand for a label or type by itself";
            let name = self.token().span.slice(self.text);
            let hint = format!("write the parameter in parentheses: `$(${name})`");
            return Err(self
                .error(start, Code::UnexpectedSyntax, message)
                .with_hint(hint));
        }
        self.advance();
        let names = self.with_bar(false, Self::expression)?;
        self.expect(TokenKind::CloseParen, "`)`")?;
        let is_none = |name: &Expr| match &name.kind {
            ExprKind::String(text) => text.is_empty(),
            kind => matches!(kind, ExprKind::Null),
        };
        let has_none = match &names.kind {
            ExprKind::List(items) => items.iter().any(is_none),
            _ => is_none(&names),
        };
        if has_none {
            return Err(self.no_name(names.span));
        }
        Ok(LabelExpr::Computed {
            any,
            names: Box::new(names),
        })
    }

    /// `:A:B`, or `IS A`, without conditions: the labels that are set or removed.
    pub(in crate::parser) fn plain_labels(&mut self) -> Result<LabelExpr> {
        let mut labels = Vec::new();
        let is = self.eat_word("IS");
        while is && labels.is_empty() || self.eat(TokenKind::Colon) {
            if is && !labels.is_empty() {
                let message = "`IS` is followed by one label";
                let error = self.error(self.last_span(), Code::UnexpectedSyntax, message);
                return Err(error.with_hint("write `n:A:B`, or `n IS A, n IS B`"));
            }
            labels.push(match self.kind() {
                TokenKind::Dollar if self.peek(1) != TokenKind::OpenParen => {
                    return Err(self.unexpected("a label, or `$(names)`"));
                }
                TokenKind::Dollar => self.nested(Self::computed_label)?,
                _ => LabelExpr::Label(self.stored_name("a label")?),
            });
        }
        Ok(one_or(labels, LabelExpr::And))
    }

    /// `:A:B`, `:A|B`, `:A&!B`, `:(A|B)`; the colon, or `IS`, is still to be read.
    pub(in crate::parser) fn label_expression(&mut self) -> Result<LabelExpr> {
        let start = self.token().span;
        let mut all = Vec::new();
        let is = self.eat_word("IS");
        if is {
            all.push(self.label_or()?);
        }
        while self.eat(TokenKind::Colon) {
            all.push(self.label_or()?);
        }
        let plain = |it: &LabelExpr| matches!(it, LabelExpr::Label(_) | LabelExpr::Computed { .. });
        if all.len() > 1 && (is || !all.iter().all(plain)) {
            let message = "colons between labels do not go with `IS`, `|`, `&`, `!` and `%`";
            let error = self.error(start.to(self.last_span()), Code::UnexpectedSyntax, message);
            return Err(error.with_hint("write `&` for each colon but the first: `:A&(B|C)`"));
        }
        Ok(one_or(all, LabelExpr::And))
    }

    /// The types of a relationship, as [`Parser::label_expression`]; it has one type alone.
    pub(in crate::parser) fn type_expression(&mut self) -> Result<LabelExpr> {
        let start = self.token().span;
        if !self.eat_word("IS") {
            self.expect(TokenKind::Colon, "`:`")?;
        }
        let types = self.label_or()?;
        if self.kind() == TokenKind::Colon {
            let message = "a relationship has one type, so types are not joined by colons";
            let error = self.error(start.to(self.token().span), Code::UnexpectedSyntax, message);
            return Err(error.with_hint("write `|` between the types that may be followed"));
        }
        Ok(types)
    }

    fn label_or(&mut self) -> Result<LabelExpr> {
        let mut any = vec![self.label_and()?];
        while self.kind() == TokenKind::Bar && (!self.bar_closes || self.is_alternative()) {
            self.advance();
            // `:A|:B` is the older form of `:A|B`.
            self.eat(TokenKind::Colon);
            any.push(self.label_and()?);
        }
        Ok(one_or(any, LabelExpr::Or))
    }

    /// Whether the bar here, in a condition that a bar ends, is one between labels: a label stands
    /// behind it, and the one that ends the condition is still to come.
    fn is_alternative(&self) -> bool {
        let colon = usize::from(self.peek(1) == TokenKind::Colon);
        let is_name = matches!(
            self.peek(1 + colon),
            TokenKind::Word | TokenKind::QuotedName
        );
        if is_name
            && matches!(
                self.peek(2 + colon),
                TokenKind::Dot
                    | TokenKind::OpenParen
                    | TokenKind::OpenBracket
                    | TokenKind::OpenBrace
            )
        {
            return false;
        }
        let mut at = self.next + 1;
        while let Some(token) = self.tokens.list.get(at) {
            match token.kind {
                TokenKind::Bar => return true,
                TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace => break,
                _ => at = at.max(self.tokens.closing[at] as usize) + 1,
            }
        }
        false
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
            TokenKind::Dollar => p.computed_label(),
            _ => Ok(LabelExpr::Label(p.stored_name("a label or type")?)),
        })
    }
}

fn one_or(mut items: Vec<LabelExpr>, join: impl FnOnce(Vec<LabelExpr>) -> LabelExpr) -> LabelExpr {
    match items.len() {
        1 => items.pop().expect("one element"),
        _ => join(items),
    }
}
