//! Names of types behind `IS ::`: many spellings, brought into one.

use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::{Expr, ExprKind, Name};
use crate::diagnostic::Code;
use crate::functions::{IS_NORMALIZED, IS_TYPED};
use crate::plan::expression::UnaryOp;
use crate::token::TokenKind;
use graven_types::vector::VectorType;

/// Spellings of a type, longest first, and its name.
const SPELLINGS: &[(&[&str], &str)] = &[
    (&["TIMESTAMP", "WITHOUT", "TIMEZONE"], "LOCAL DATETIME"),
    (&["TIMESTAMP", "WITHOUT", "TIME", "ZONE"], "LOCAL DATETIME"),
    (&["TIMESTAMP", "WITH", "TIMEZONE"], "ZONED DATETIME"),
    (&["TIMESTAMP", "WITH", "TIME", "ZONE"], "ZONED DATETIME"),
    (&["TIME", "WITHOUT", "TIMEZONE"], "LOCAL TIME"),
    (&["TIME", "WITHOUT", "TIME", "ZONE"], "LOCAL TIME"),
    (&["TIME", "WITH", "TIMEZONE"], "ZONED TIME"),
    (&["TIME", "WITH", "TIME", "ZONE"], "ZONED TIME"),
    (&["LOCAL", "DATETIME"], "LOCAL DATETIME"),
    (&["ZONED", "DATETIME"], "ZONED DATETIME"),
    (&["LOCAL", "TIME"], "LOCAL TIME"),
    (&["ZONED", "TIME"], "ZONED TIME"),
    (&["PROPERTY", "VALUE"], "PROPERTY VALUE"),
    (&["SIGNED", "INTEGER"], "INTEGER"),
    (&["ANY", "PROPERTY", "VALUE"], "PROPERTY VALUE"),
    (&["ANY", "NODE"], "NODE"),
    (&["ANY", "VERTEX"], "NODE"),
    (&["ANY", "RELATIONSHIP"], "RELATIONSHIP"),
    (&["ANY", "EDGE"], "RELATIONSHIP"),
    (&["ANY", "MAP"], "MAP"),
    (&["ANY", "VALUE"], "ANY"),
    (&["ANY"], "ANY"),
    (&["BOOLEAN"], "BOOLEAN"),
    (&["BOOL"], "BOOLEAN"),
    (&["INTEGER"], "INTEGER"),
    (&["INT"], "INTEGER"),
    (&["FLOAT"], "FLOAT"),
    (&["STRING"], "STRING"),
    (&["VARCHAR"], "STRING"),
    (&["BYTES"], "BYTES"),
    (&["DATE"], "DATE"),
    (&["DURATION"], "DURATION"),
    (&["POINT"], "POINT"),
    (&["NODE"], "NODE"),
    (&["VERTEX"], "NODE"),
    (&["RELATIONSHIP"], "RELATIONSHIP"),
    (&["EDGE"], "RELATIONSHIP"),
    (&["PATH"], "PATH"),
    (&["PATHS"], "PATH"),
    (&["MAP"], "MAP"),
    (&["NULL"], "NULL"),
    (&["NOTHING"], "NOTHING"),
];

/// Types whose values no property holds.
const NOT_STORED: &[&str] = &[
    "NODE",
    "RELATIONSHIP",
    "PATH",
    "MAP",
    "NULL",
    "NOTHING",
    "ANY",
    "PROPERTY VALUE",
];

impl Parser<'_> {
    /// The rest of `REQUIRE n.key IS :: TYPE`: the text of a type that properties have.
    pub(super) fn property_type(&mut self) -> Result<Arc<str>> {
        if !self.eat_word("TYPED") {
            self.expect(TokenKind::Colon, "`::`")?;
            self.expect(TokenKind::Colon, "`::`")?;
        }
        let start = self.token().span;
        let outer = std::mem::replace(&mut self.of_property, true);
        let name = self.nested(Self::type_name);
        self.of_property = outer;
        let name = name?;
        let mut words = name.split(['<', '>', '|']).map(|word| {
            let word = word.trim();
            word.strip_suffix("NOT NULL").unwrap_or(word).trim()
        });
        if let Some(word) = words.find(|word| NOT_STORED.contains(word)) {
            let message = format!("no property holds a value of type {word}");
            let span = start.to(self.last_span());
            return Err(self.error(span, Code::UnexpectedSyntax, message));
        }
        // Alternatives hold null together.
        Ok(match name.contains(" | ") && name.ends_with(" NOT NULL") {
            true => format!(
                "{} NOT NULL",
                name.replace(" NOT NULL |", " |")
                    .trim_end_matches(" NOT NULL")
            )
            .into(),
            false => name.into(),
        })
    }

    /// The rest of `x IS [NOT] :: TYPE`, as a call.
    pub(super) fn type_check(&mut self, operand: Expr, is_negated: bool) -> Result<Expr> {
        if !self.eat_word("TYPED") {
            self.expect(TokenKind::Colon, "`::`")?;
            self.expect(TokenKind::Colon, "`::`")?;
        }
        let start = self.token().span;
        let name = self.nested(Self::type_name)?;
        let span = start.to(self.last_span());
        let wanted = self.make(ExprKind::String(name.as_str().into()), span)?;
        self.checked_by(IS_TYPED, operand, wanted, is_negated)
    }

    /// The rest of `x IS [NOT] NFC NORMALIZED`, as a call.
    pub(super) fn normal_form_check(&mut self, operand: Expr, is_negated: bool) -> Result<Expr> {
        let start = self.token().span;
        let form = match self.eat_word("NORMALIZED") {
            true => "NFC".to_owned(),
            false => {
                let form = self.advance().span.slice(self.text).to_ascii_uppercase();
                self.expect_word("NORMALIZED")?;
                form
            }
        };
        let span = start.to(self.last_span());
        let form = self.make(ExprKind::String(form.as_str().into()), span)?;
        self.checked_by(IS_NORMALIZED, operand, form, is_negated)
    }

    /// A function of the operand and what it is held against, or its negation.
    fn checked_by(
        &mut self,
        function: &str,
        operand: Expr,
        wanted: Expr,
        is_negated: bool,
    ) -> Result<Expr> {
        let span = operand.span.to(wanted.span);
        let call = ExprKind::Call {
            name: Name {
                text: function.into(),
                span,
            },
            distinct: false,
            star: false,
            args: vec![operand, wanted],
        };
        let call = self.make(call, span)?;
        if !is_negated {
            return Ok(call);
        }
        let operand = Box::new(call);
        self.make(
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            },
            span,
        )
    }

    /// Alternatives between `|`.
    fn type_name(&mut self) -> Result<String> {
        let start = self.token().span;
        let mut name = self.one_type()?;
        // `NOTHING` has no values at all, and so is of either kind.
        let without_null = |name: &str| (name != "NOTHING").then(|| name.ends_with(" NOT NULL"));
        let mut first = without_null(&name);
        while !self.bar_closes && self.eat(TokenKind::Bar) {
            let other = self.one_type()?;
            let own = without_null(&other);
            if !self.of_property && first.is_some() && own.is_some() && own != first {
                let message = format!(
                    "all alternatives of a type hold null or none does, which `{name} | {other}` \
                        leaves open"
                );
                let span = start.to(self.last_span());
                return Err(self
                    .error(span, Code::UnexpectedSyntax, message)
                    .with_hint("write `NOT NULL` behind each alternative or behind none"));
            }
            first = first.or(own);
            name.push_str(" | ");
            name.push_str(&other);
        }
        Ok(name)
    }

    fn one_type(&mut self) -> Result<String> {
        let is_list =
            (self.is_word("LIST") || self.is_word("ARRAY")) && self.peek(1) == TokenKind::Less;
        let mut name = if is_list {
            self.next += 2;
            let element = self.with_bar(false, |p| p.nested(Self::type_name))?;
            self.expect(TokenKind::Greater, "`>`")?;
            format!("LIST<{element}>")
        } else if let Some(words) = self.words_of_closed_union() {
            self.next += words + 1;
            let alternatives = self.with_bar(false, |p| p.nested(Self::type_name))?;
            self.expect(TokenKind::Greater, "`>`")?;
            if self.is_word("NOT") || self.kind() == TokenKind::Bang {
                let message = "alternatives in `<` and `>` cannot be `NOT NULL` together";
                let error = self.error(self.token().span, Code::UnexpectedSyntax, message);
                return Err(error.with_hint("write `NOT NULL` behind each of them"));
            }
            alternatives
        } else if self.is_word("VECTOR") {
            self.vector_type()?
        } else if self.of_property && (self.spelled().is_none() || self.at_map_of_types()) {
            self.table_type()?.to_string()
        } else {
            self.plain_type()?.to_owned()
        };
        loop {
            if self.is_word("NOT") && self.is_word_at(1, "NULL") {
                self.next += 2;
                name.push_str(" NOT NULL");
            } else if self.eat(TokenKind::Bang) {
                name.push_str(" NOT NULL");
            } else if self.is_word("LIST") || self.is_word("ARRAY") {
                self.advance();
                name = format!("LIST<{name}>");
            } else if self.of_property && self.eat(TokenKind::OpenBracket) {
                let length = match self.kind() {
                    TokenKind::Integer => self.advance().span.slice(self.text),
                    _ => "",
                };
                self.expect(TokenKind::CloseBracket, "`]`")?;
                name = format!("{name}[{length}]");
            } else {
                return Ok(name);
            }
        }
    }

    /// `VECTOR<FLOAT32>(3)`; what stands in brackets may be left out.
    fn vector_type(&mut self) -> Result<String> {
        let start = self.advance().span;
        if self.eat(TokenKind::Less) {
            while self.kind() != TokenKind::Greater && self.kind() != TokenKind::End {
                self.advance();
            }
            self.expect(TokenKind::Greater, "`>`")?;
        }
        if self.eat(TokenKind::OpenParen) {
            self.expect(TokenKind::Integer, "a number of coordinates")?;
            self.expect(TokenKind::CloseParen, "`)`")?;
        }
        let span = start.to(self.last_span());
        let words = span.slice(self.text).split_whitespace();
        let text: Vec<&str> = words.collect();
        let found = VectorType::parse(&text.join(" "));
        found.map(|it| it.to_string()).ok_or_else(|| {
            let message = "a vector has 1 to 4096 coordinates of one type: INTEGER8, INTEGER16, \
                INTEGER32, INTEGER, FLOAT32 or FLOAT";
            let error = self.error(span, Code::UnexpectedSyntax, message);
            error.with_hint("write `VECTOR<FLOAT32>(3)`")
        })
    }

    /// The words before `<` where `ANY<...>` or `ANY VALUE<...>` stands here.
    fn words_of_closed_union(&self) -> Option<usize> {
        let words = 1 + usize::from(self.is_word_at(1, "VALUE"));
        (self.is_word("ANY") && self.peek(words) == TokenKind::Less).then_some(words)
    }

    /// The spelling of a type that stands here.
    fn spelled(&self) -> Option<&'static (&'static [&'static str], &'static str)> {
        let matches = |words: &[&str]| {
            let mut words = words.iter().enumerate();
            words.all(|(n, word)| self.is_word_at(n, word))
        };
        SPELLINGS.iter().find(|(words, _)| matches(words))
    }

    /// Whether a type of tables stands here that says what its keys and values are: a property
    /// holds the text of such a map.
    fn at_map_of_types(&self) -> bool {
        self.is_word("MAP") && self.peek(1) == TokenKind::OpenParen
    }

    fn plain_type(&mut self) -> Result<&'static str> {
        if let Some((words, name)) = self.spelled() {
            self.next += words.len();
            return Ok(name);
        }
        let message = "a type is missing, such as INTEGER or LIST<STRING>";
        Err(self.error(self.token().span, Code::UnexpectedSyntax, message))
    }
}
