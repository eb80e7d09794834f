//! Paths, nodes, relationships and label conditions.
//!
//! # How it works
//! [`Parser::at_pattern`] tells `(a)-[r]->(b)` from `(a) - b` by the matching closing parenthesis
//! and the tokens after it, without trying to parse (CY-13). `(a)--(b)` and `(a)-[..]-` read as
//! patterns.

mod labels;
mod quantified;

use super::{Parser, Result};
use crate::ast::{Length, NodePattern, PathParts, PathPattern, RelationshipPattern, Shortest};
use crate::diagnostic::Code;
use crate::plan::{Direction, PathCount};
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
        if let Some(other) = &path.name {
            let message = format!("this path is called `{}` already", other.text);
            return Err(self.error(name.span, Code::UnexpectedSyntax, message));
        }
        path.span = name.span.to(path.span);
        path.name = Some(name);
        Ok(path)
    }

    /// A path without a name, with what selects among paths, `shortestPath(...)` included.
    pub(super) fn anonymous_path(&mut self) -> Result<PathPattern> {
        let start = self.token().span;
        if let Some(shortest) = self.path_selector()? {
            let mut path = self.nested(Self::unselected_path)?;
            if shortest.is_some() && path.shortest.is_some() {
                let message = "a path has one selection: before it, or by a function around it";
                return Err(self.error(path.span, Code::UnexpectedSyntax, message));
            }
            path.shortest = shortest.or(path.shortest);
            path.span = start.to(path.span);
            return Ok(path);
        }
        self.unselected_path()
    }

    /// A path without a name, before which nothing selects.
    fn unselected_path(&mut self) -> Result<PathPattern> {
        let start = self.token().span;
        let one_function = Shortest {
            count: PathCount::Paths(1),
            closed: false,
            tested: true,
            sharing: [1, 1],
        };
        let shortest = if self.is_word("shortestPath") {
            Some(one_function)
        } else if self.is_word("allShortestPaths") {
            Some(Shortest {
                count: PathCount::Lengths(1),
                ..one_function
            })
        } else {
            None
        };
        if shortest.is_some() && self.peek(1) == TokenKind::OpenParen {
            self.next += 2;
            let mut path = self.nested(Self::unselected_path)?;
            let last = self.expect(TokenKind::CloseParen, "`)`")?;
            self.check_function(&path)?;
            path.shortest = shortest;
            path.span = start.to(last.span);
            return Ok(path);
        }
        // The whole pattern may stand in parentheses, with its name: `((a)-->(b) WHERE ...)`,
        // `(p = (a)-->(b))`.
        let named = self.kind() == TokenKind::OpenParen && self.peek(2) == TokenKind::Equal;
        if self.kind() == TokenKind::OpenParen && (named || self.peek(1) == TokenKind::OpenParen) {
            if !named && self.at_quantified_pattern() {
                return self.steps(None, start);
            }
            self.advance();
            let mut path = self.nested(Self::inner_path)?;
            let filter = self.inline_filter()?;
            path.filter = self.both(path.filter.take(), filter)?;
            self.expect(TokenKind::CloseParen, "`)`")?;
            return Ok(path);
        }
        let first = self.node()?;
        self.steps(Some(first), start)
    }

    /// What may stand in `shortestPath(...)`: its own search knows no least length but 0 and 1.
    fn check_function(&self, path: &PathPattern) -> Result<()> {
        if path.shortest.is_some() {
            let message = "shortestPath() cannot stand within itself";
            return Err(self.error(path.span, Code::UnexpectedSyntax, message));
        }
        let quantified = |r: &RelationshipPattern| {
            r.repeated.is_some() || r.span.slice(self.text).ends_with(['+', '*', '}'])
        };
        if let Some((found, _)) = path.steps.iter().find(|(r, _)| quantified(r)) {
            let message = "shortestPath() and allShortestPaths() take no quantified pattern";
            return Err(self
                .error(found.span, Code::InvalidRelationshipPattern, message)
                .with_hint("write `-[:TYPE*]->`, or `MATCH p = SHORTEST 1 (a)-[:TYPE]->+(b)`"));
        }
        let bounded = |r: &&RelationshipPattern| r.length.is_some_and(|l| l.min > Some(1));
        let mut steps = path.steps.iter().map(|(relationship, _)| relationship);
        let Some(bounded) = steps.find(bounded) else {
            return Ok(());
        };
        let message = "the least length in shortestPath() and allShortestPaths() is 0 or 1";
        Err(self
            .error(bounded.span, Code::InvalidRelationshipPattern, message)
            .with_hint("write `MATCH p = SHORTEST 1 (a)-[:TYPE]-{2,}(b)` or `ALL SHORTEST`"))
    }

    /// `[name =] path` within parentheses, where nothing selects.
    fn inner_path(&mut self) -> Result<PathPattern> {
        let selector = ["SHORTEST", "ANY", "ALL"].iter();
        let selects = |p: &Self| selector.clone().any(|word| p.is_word(word));
        let named = self.at_name() && self.peek(1) == TokenKind::Equal;
        if !named && selects(self) {
            return Err(self.unexpected("a path: its selector comes before it"));
        }
        let path = self.path()?;
        if path.shortest.is_some_and(|shortest| shortest.closed) {
            let message = "a path selector comes before the parentheses";
            return Err(self.error(path.span, Code::UnexpectedSyntax, message));
        }
        Ok(path)
    }

    /// A selection of paths is of the whole `MATCH`: other patterns beside it would have to be
    /// selected with it.
    pub(super) fn check_selected(&self, patterns: &[PathPattern]) -> Result<()> {
        let selects = |path: &&PathPattern| path.shortest.is_some_and(|shortest| shortest.closed);
        match patterns.iter().find(selects) {
            Some(path) if patterns.len() > 1 => {
                let message =
                    "`SHORTEST`, `ANY` and the like stand before the one pattern of a MATCH";
                Err(self
                    .error(path.span, Code::UnexpectedSyntax, message)
                    .with_hint("give each pattern a MATCH of its own"))
            }
            _ => Ok(()),
        }
    }

    /// The relationships and quantified patterns behind the first node.
    fn steps(
        &mut self,
        first: Option<NodePattern>,
        start: crate::token::Span,
    ) -> Result<PathPattern> {
        let mut steps = Vec::new();
        // Between two quantified patterns, and at the ends, the node may be left out.
        let mut written = first.is_some();
        let mut has_node = written;
        loop {
            let (relationship, quantified) = match self.kind() {
                TokenKind::OpenParen if self.peek(1) == TokenKind::OpenParen => {
                    (self.quantified_pattern()?, true)
                }
                TokenKind::Minus if written => (self.relationship()?, false),
                TokenKind::Less if written && self.peek(1) == TokenKind::Minus => {
                    (self.relationship()?, false)
                }
                _ => break,
            };
            written = !quantified
                || self.kind() == TokenKind::OpenParen && self.peek(1) != TokenKind::OpenParen;
            has_node |= written
                || relationship
                    .length
                    .is_none_or(|length| length.min != Some(0));
            let node = match written {
                true => self.node()?,
                false => self.nowhere(relationship.span),
            };
            steps.push((relationship, node));
        }
        if !has_node {
            let message = "a pattern has at least one node: this one may be nothing at all";
            let span = start.to(self.last_span());
            let error = self.error(span, Code::InvalidRelationshipPattern, message);
            return Err(error.with_hint("write a node before it: `()((a)-->(b))*`"));
        }
        let mut path = PathPattern {
            name: None,
            shortest: None,
            first: first.unwrap_or_else(|| self.nowhere(start)),
            steps,
            filter: None,
            span: start.to(self.last_span()),
        };
        self.selected_by(&mut path)?;
        Ok(path)
    }

    /// A node that is not written.
    fn nowhere(&self, span: crate::token::Span) -> NodePattern {
        NodePattern {
            name: None,
            labels: None,
            properties: None,
            filter: None,
            span,
        }
    }

    /// `TRAIL`, which is what every path is, before a path; the other modes are refused.
    fn path_mode(&mut self) -> Result<bool> {
        if self.eat_word("TRAIL") {
            return Ok(true);
        }
        let mut others = ["WALK", "ACYCLIC", "SIMPLE"].iter();
        match others.find(|mode| self.is_word(mode)) {
            Some(mode) => {
                let message = format!("paths of the mode `{mode}` are not available in this build");
                Err(self
                    .error(self.token().span, Code::FeatureNotAvailable, message)
                    .with_hint(
                        "leave it out: a path meets no relationship twice; conditions on \
                        nodes(p) do the rest",
                    ))
            }
            None => Ok(false),
        }
    }

    /// `SHORTEST k`, `ALL SHORTEST`, `ANY` and so on before a path; `None` if there is nothing of
    /// the kind, a selection of nothing for `ALL PATHS` and `TRAIL`.
    fn path_selector(&mut self) -> Result<Option<Option<Shortest>>> {
        let word = ["SHORTEST", "ANY", "ALL"]
            .into_iter()
            .find(|word| self.is_word(word));
        let Some(word) = word else {
            let has_mode = self.path_mode()?;
            let _ = has_mode && (self.eat_word("PATH") || self.eat_word("PATHS"));
            return Ok(has_mode.then_some(None));
        };
        self.advance();
        let shortest = word == "SHORTEST" || self.eat_word("SHORTEST");
        let takes_number = word == "SHORTEST" || word == "ANY" && !shortest;
        let number = match self.kind() {
            TokenKind::Integer if takes_number => Some(self.small_integer()?),
            _ => None,
        };
        if number == Some(0) {
            let message = "so many paths can be looked for only from 1 on";
            return Err(self.error(self.last_span(), Code::InvalidRelationshipPattern, message));
        }
        self.path_mode()?;
        let _ = self.eat_word("PATH") || self.eat_word("PATHS");
        let groups = word == "SHORTEST" && (self.eat_word("GROUP") || self.eat_word("GROUPS"));
        if word == "SHORTEST" && number.is_none() && !groups {
            return Err(self.unexpected("how many paths, as in `SHORTEST 1`"));
        }
        let count = match (word, shortest) {
            ("ALL", false) => return Ok(Some(None)),
            ("ALL", true) => PathCount::Lengths(1),
            _ if groups => PathCount::Lengths(number.unwrap_or(1)),
            _ => PathCount::Paths(number.unwrap_or(1)),
        };
        Ok(Some(Some(Shortest {
            count,
            closed: true,
            tested: false,
            sharing: [1, 1],
        })))
    }

    fn node(&mut self) -> Result<NodePattern> {
        let open = self.expect(TokenKind::OpenParen, "a node pattern such as `(n:Label)`")?;
        let name = match self.at_element_name() {
            true => Some(self.name("a variable")?),
            false => None,
        };
        let labels = match self.kind() == TokenKind::Colon || self.at_is_label() {
            true => Some(self.with_bar(false, Self::label_expression)?),
            false => None,
        };
        self.note_label(name.as_ref(), labels.as_ref());
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
            parts: None,
            repeated: None,
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
        if self.at_quantifier(0) {
            let length = self.path_quantifier()?;
            if pattern.length.replace(length).is_some() {
                let message =
                    "a relationship has one length: within the brackets or after the arrow";
                let span = self.last_span();
                return Err(self.error(span, Code::InvalidRelationshipPattern, message));
            }
        }
        pattern.span = start.to(self.last_span());
        Ok(self.asked_of_each(pattern))
    }

    fn relationship_detail(&mut self, pattern: &mut RelationshipPattern) -> Result<()> {
        if self.at_element_name() {
            pattern.name = Some(self.name("a variable")?);
        }
        if self.kind() == TokenKind::Colon || self.at_is_label() {
            pattern.types = Some(self.with_bar(false, Self::type_expression)?);
            self.note_label(pattern.name.as_ref(), pattern.types.as_ref());
        }
        if self.eat(TokenKind::Star) {
            let mode = self.mode_of_length()?;
            pattern.length = Some(self.length()?);
            pattern.parts = self.path_parts(mode)?.map(Box::new);
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

    /// What the relationship of a path selects, where it does.
    fn selected_by(&mut self, path: &mut PathPattern) -> Result<()> {
        let Some((count, span)) = self.selected.take() else {
            return Ok(());
        };
        let [(relationship, _)] = &path.steps[..] else {
            let message = "`SHORTEST` in a relationship is of a path with this one only";
            return Err(self
                .error(span, Code::FeatureNotAvailable, message)
                .with_hint("give the other relationships a pattern of their own"));
        };
        let bounded = relationship
            .length
            .is_some_and(|length| length.min > Some(1));
        let parts = relationship.parts.as_deref();
        path.shortest = Some(Shortest {
            count,
            closed: bounded || parts.is_some_and(PathParts::asks_nodes),
            tested: false,
            sharing: [1, 1],
        });
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
        let is_word = |idx: usize, word: &str| self.is_word_at(idx - self.next, word);
        let is_label = |idx: usize| is_word(idx, "IS") && !is_word(idx + 1, "NULL");
        let begins_so = matches!(kind(inside), Colon | OpenBrace | Dollar | CloseParen)
            || is_word(inside, "WHERE")
            || is_label(inside)
            || is_label(start + 1);
        if !begins_so {
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
