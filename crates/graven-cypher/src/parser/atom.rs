//! Atoms: literals, lists, maps, comprehensions, calls, keyword forms such as `CASE`, and
//! variables.
//!
//! # How it works
//! The first token and at most a few after it decide which form stands here (CY-13). Keywords are
//! no reserved words: `case`, `count`, `any`, `limit` and the like are variables where their form
//! does not follow.

use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::{Expr, ExprKind, MapItem, Name, SubqueryKind};
use crate::diagnostic::Code;
use crate::functions::{BARE_WORDS, NEXT_VALUE, TRIMMED};
use crate::lexer;
use crate::plan::expression::Quantifier;
use crate::stop;
use crate::token::{Span, TokenKind};

impl Parser<'_> {
    pub(super) fn atom(&mut self) -> Result<Expr> {
        stop::tick();
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
            let key = self.key_of_map()?;
            self.expect(TokenKind::Colon, "`:`")?;
            entries.push((key, self.expression()?));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseBrace, "`,` or `}`")?;
        Ok(entries)
    }

    /// A name, or a text as JSON and Kuzu write keys: `{'a': 1}`.
    fn key_of_map(&mut self) -> Result<Name> {
        if self.kind() != TokenKind::String || self.peek(1) != TokenKind::Colon {
            return self.stored_name("a property key");
        }
        let span = self.advance().span;
        let text = lexer::string(self.text, span)?;
        if text.is_empty() || text.contains('\0') {
            let message = "a property key has letters, and no zero character";
            return Err(self.error(span, Code::UnexpectedSyntax, message));
        }
        Ok(Name { text, span })
    }

    /// What starts with `[`: a list, a list comprehension or a pattern comprehension.
    pub(super) fn bracketed(&mut self) -> Result<ExprKind> {
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

    pub(super) fn list_comprehension(&mut self) -> Result<ExprKind> {
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

    pub(super) fn pattern_comprehension(&mut self, open: Span) -> Result<ExprKind> {
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

    /// `shortestPath(...)` as a value: the path, or null; `allShortestPaths(...)`: the list of all.
    fn shortest_path(&mut self) -> Result<ExprKind> {
        let mut pattern = Box::new(self.nested(Self::anonymous_path)?);
        let span = pattern.span;
        let name = Name {
            text: "  path".into(),
            span,
        };
        pattern.name = Some(name.clone());
        let one = matches!(
            pattern.shortest.map(|shortest| shortest.count),
            Some(crate::plan::PathCount::Paths(1))
        );
        let map = Box::new(self.make(ExprKind::Variable(name), span)?);
        let all = ExprKind::PatternComprehension {
            pattern,
            filter: None,
            map,
        };
        if !one {
            return Ok(all);
        }
        let all = self.make(all, span)?;
        Ok(ExprKind::Call {
            name: Name {
                text: "head".into(),
                span,
            },
            distinct: false,
            star: false,
            args: vec![all],
        })
    }

    pub(super) fn optional_filter(&mut self) -> Result<Option<Box<Expr>>> {
        match self.eat_word("WHERE") {
            true => Ok(Some(Box::new(self.expression()?))),
            false => Ok(None),
        }
    }

    /// Expressions separated by commas up to and with `close`.
    pub(super) fn expressions_until(
        &mut self,
        close: TokenKind,
        wanted: &str,
    ) -> Result<Vec<Expr>> {
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
    pub(super) fn word_atom(&mut self) -> Result<ExprKind> {
        let quoted = self.kind() == TokenKind::QuotedName;
        let word = self.token().span.slice(self.text).to_ascii_lowercase();
        let follows = self.peek(1);
        match word.as_str() {
            "null" => return self.constant(ExprKind::Null),
            "true" => return self.constant(ExprKind::Boolean(true)),
            "false" => return self.constant(ExprKind::Boolean(false)),
            "case" if !quoted && self.at_case() => return self.case(),
            "trim" if follows == TokenKind::OpenParen && self.at_trim_specification() => {
                return self.trim_specification();
            }
            "exists" if follows == TokenKind::OpenBrace && self.peek(2) != TokenKind::Dot => {
                return self.subquery(SubqueryKind::Exists);
            }
            "count" if follows == TokenKind::OpenBrace && self.peek(2) != TokenKind::Dot => {
                return self.subquery(SubqueryKind::Count);
            }
            "collect" if follows == TokenKind::OpenBrace && self.peek(2) != TokenKind::Dot => {
                return self.subquery(SubqueryKind::Collect);
            }
            "shortestpath" | "allshortestpaths" if follows == TokenKind::OpenParen => {
                return self.shortest_path();
            }
            "all" | "any" | "none" | "single"
                if follows == TokenKind::OpenParen && self.is_word_at(3, "IN") =>
            {
                return self.quantifier(&word);
            }
            "cast" if follows == TokenKind::OpenParen => return self.cast(),
            "reduce" if follows == TokenKind::OpenParen && self.peek(3) == TokenKind::Equal => {
                return self.with_bar(true, Self::reduce);
            }
            _ => {}
        }
        if !quoted && let Some(form) = self.kuzu_form()? {
            return Ok(form);
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

    /// Whether the word `case` here begins its form: `WHEN` and `END` belong to it, or no variable
    /// could stand here.
    fn at_case(&self) -> bool {
        let begins_operand = matches!(
            self.peek(1),
            TokenKind::Word
                | TokenKind::QuotedName
                | TokenKind::Integer
                | TokenKind::Float
                | TokenKind::String
                | TokenKind::Dollar
        );
        let is_subject = self.next > 0 && self.tokens.closing[self.next - 1] != 0;
        self.is_word_at(1, "WHEN") && !is_subject
            || self.tokens.closing[self.next] != 0
            || begins_operand && !self.is_word_at(1, "END") && !self.follows_operand(1)
    }

    /// Whether the keyword here begins what follows an expression, and the expression is missing:
    /// `RETURN LIMIT 5`.
    fn starts_clause(&self, word: &str) -> bool {
        let is_keyword = |keyword: &&str| keyword.eq_ignore_ascii_case(word);
        let begins_operand = matches!(
            self.peek(1),
            TokenKind::Word
                | TokenKind::QuotedName
                | TokenKind::Integer
                | TokenKind::String
                | TokenKind::Dollar
        );
        let expects = super::JOINING.iter().chain(&["ORDER"]).any(is_keyword);
        // `in IN [1]`, `unwind UNWIND [1] AS x`.
        let joins_list = self.is_joining(1) && self.peek(2) == TokenKind::OpenBracket;
        // `THEN then END`.
        let ends_case = self.is_word_at(1, "END");
        expects && begins_operand && !joins_list && !ends_case && !self.follows_operand(1)
    }

    pub(super) fn constant(&mut self, kind: ExprKind) -> Result<ExprKind> {
        self.advance();
        Ok(kind)
    }

    /// Whether `FROM` stands within the parentheses of `trim(`.
    fn at_trim_specification(&self) -> bool {
        let open = self.next + 1;
        let close = self.tokens.closing[open] as usize;
        let mut at = open + 1;
        // `FROM` alone, before what is trimmed; elsewhere it is a name.
        let begins = matches!(
            self.peek(3),
            TokenKind::String
                | TokenKind::Word
                | TokenKind::QuotedName
                | TokenKind::Dollar
                | TokenKind::OpenParen
        );
        if self.is_word_at(2, "FROM") && begins {
            return true;
        }
        while at < close {
            if at > open + 1 && self.is_word_at(at - self.next, "FROM") {
                return true;
            }
            // What is in brackets is not looked at.
            at = 1 + at.max(self.tokens.closing[at] as usize);
        }
        false
    }

    /// `trim([LEADING|TRAILING|BOTH] [character] FROM text)`, as a call of `lTrim`, `rTrim` or
    /// `bTrim` where no character is named.
    fn trim_specification(&mut self) -> Result<ExprKind> {
        let start = self.advance().span;
        self.expect(TokenKind::OpenParen, "`(`")?;
        let (without, side) = if self.eat_word("LEADING") {
            ("lTrim", "LEADING")
        } else if self.eat_word("TRAILING") {
            ("rTrim", "TRAILING")
        } else {
            self.eat_word("BOTH");
            ("bTrim", "BOTH")
        };
        let character = match self.is_word("FROM") {
            true => None,
            false => Some(self.expression()?),
        };
        self.expect_word("FROM")?;
        let mut args = vec![self.expression()?];
        self.expect(TokenKind::CloseParen, "`)`")?;
        let function = match character {
            None => without,
            Some(character) => {
                let side = self.make(ExprKind::String(side.into()), character.span)?;
                args.extend([character, side]);
                TRIMMED
            }
        };
        Ok(ExprKind::Call {
            name: Name {
                text: function.into(),
                span: start,
            },
            distinct: false,
            star: false,
            args,
        })
    }

    pub(super) fn subquery(&mut self, kind: SubqueryKind) -> Result<ExprKind> {
        self.advance();
        let outer = std::mem::take(&mut self.tallest);
        let query = self.nested(|p| p.braced_subquery(kind))?;
        self.subquery = self.tallest.saturating_add(16);
        self.tallest = self.subquery.max(outer);
        Ok(ExprKind::Subquery {
            kind,
            query: Box::new(query),
            written: true,
        })
    }

    pub(super) fn quantifier(&mut self, word: &str) -> Result<ExprKind> {
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

    pub(super) fn reduce(&mut self) -> Result<ExprKind> {
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
    pub(super) fn at_call(&self) -> bool {
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

    pub(super) fn call(&mut self) -> Result<ExprKind> {
        let mut name = self.dotted_name("a function")?;
        let known = crate::bind::known_function(&name.text);
        if let Some(known) = known {
            // One function has one name, in whatever letters it is written.
            name.text = known.into();
        }
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
        let takes_all =
            self.is_word("ALL") && self.peek(1) != TokenKind::OpenParen && !self.follows_operand(1);
        let distinct = self.at_distinct();
        if takes_all || distinct {
            self.advance();
        }
        let mut args = self.arguments_by_name()?;
        self.bare_words(&name, &mut args)?;
        if let Some(other) = self.apoc_function(&name, distinct, &mut args)? {
            return Ok(other);
        }
        if !distinct && let Some(other) = self.kuzu_function(&name, &mut args)? {
            return Ok(other);
        }
        self.may_advance |= known.is_none_or(|it| it.eq_ignore_ascii_case(NEXT_VALUE));
        Ok(ExprKind::Call {
            name,
            distinct,
            star: false,
            args,
        })
    }

    /// Arguments that are bare words, such as the form in `normalize(text, NFD)`, become texts.
    fn bare_words(&self, function: &Name, args: &mut [Expr]) -> Result<()> {
        let known = BARE_WORDS.iter();
        for it in known.filter(|it| it.function.eq_ignore_ascii_case(&function.text)) {
            let Some(arg) = args.get_mut(it.place) else {
                continue;
            };
            let word = match &arg.kind {
                ExprKind::Variable(name) => (it.read)(&name.text),
                _ => None,
            };
            let Some(word) = word else {
                let place = it.place + 1;
                let message = format!("argument {place} of `{}` must be {}", it.function, it.words);
                let error = self.error(arg.span, Code::InvalidArgumentValue, message);
                return Err(error.with_hint("write the bare word, without quotes"));
            };
            arg.kind = ExprKind::String(word.into());
        }
        Ok(())
    }

    /// Whether `{` opens a map projection: `{.key`, `{.*`, `{key: ...`, `{name`, `{}`.
    pub(super) fn at_map_projection(&self) -> bool {
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

    pub(super) fn map_projection(&mut self, base: Name) -> Result<ExprKind> {
        self.expect(TokenKind::OpenBrace, "`{`")?;
        let mut items = Vec::new();
        if self.eat(TokenKind::CloseBrace) {
            return Ok(ExprKind::MapProjection { base, items });
        }
        loop {
            let item = if self.eat(TokenKind::Dot) {
                match self.eat(TokenKind::Star) {
                    true => MapItem::All,
                    false => MapItem::Property(self.stored_name("a property key")?),
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
}
