//! Writing clauses: `CREATE`, `MERGE`, `SET`, `REMOVE`, `DELETE`, `FOREACH`.

use super::writes;
use crate::ast::{ClauseKind, Expr, ExprKind, LabelExpr, RemoveItem, SetItem};
use crate::diagnostic::Code;
use crate::parser::{Parser, Result};
use crate::token::{Span, Token, TokenKind};

impl Parser<'_> {
    pub(super) fn writing_clause(&mut self, word: &str) -> Result<ClauseKind> {
        self.advance();
        Ok(match word {
            "CREATE" => ClauseKind::Create {
                patterns: self.patterns()?,
            },
            "INSERT" => self.insert()?,
            "MERGE" => self.merge()?,
            "SET" => ClauseKind::Set(self.set_items()?),
            "REMOVE" => ClauseKind::Remove(self.remove_items()?),
            "FOREACH" => self.foreach()?,
            _ => {
                let detach = word == "DETACH";
                if detach || word == "NODETACH" {
                    self.expect_word("DELETE")?;
                }
                let mut targets = vec![self.expression()?];
                while self.eat(TokenKind::Comma) {
                    targets.push(self.expression()?);
                }
                ClauseKind::Delete { detach, targets }
            }
        })
    }

    /// `INSERT`, which has fewer forms than `CREATE`: no named paths, no computed labels, and
    /// labels are joined by `&`.
    fn insert(&mut self) -> Result<ClauseKind> {
        let start = self.next;
        let patterns = self.patterns()?;
        let named = patterns.iter().find_map(|pattern| pattern.name.as_ref());
        let parameter = patterns.iter().find_map(|pattern| {
            let steps = pattern.steps.iter();
            let steps = steps.flat_map(|(step, node)| [&step.properties, &node.properties]);
            let maps = std::iter::once(&pattern.first.properties).chain(steps);
            let mut maps = maps.flatten();
            let found = maps.find(|map| matches!(map.kind, ExprKind::Parameter(_)));
            found.map(|map| map.span)
        });
        let mut labels = patterns.iter().flat_map(|pattern| {
            let nodes = pattern.steps.iter().map(|(_, node)| node);
            let nodes = std::iter::once(&pattern.first).chain(nodes);
            let types = pattern.steps.iter().map(|(step, _)| step.types.as_ref());
            nodes
                .map(|node| node.labels.as_ref())
                .chain(types)
                .flatten()
        });
        let tokens = &self.tokens.list[start..self.next];
        let other = labels.find_map(|all| beyond_insert(all, tokens));
        match named.map(|name| name.span).or(other).or(parameter) {
            Some(span) => {
                let message = "INSERT has no named paths, no colons between labels, and no \
                    computed ones, nor parameters for properties";
                Err(self
                    .error(span, Code::UnexpectedSyntax, message)
                    .with_hint("write CREATE"))
            }
            None => Ok(ClauseKind::Create { patterns }),
        }
    }

    fn merge(&mut self) -> Result<ClauseKind> {
        let pattern = self.path()?;
        if self.kind() == TokenKind::Comma {
            let message = "`MERGE` takes one pattern";
            return Err(self
                .error(self.token().span, Code::UnexpectedSyntax, message)
                .with_hint("write a `MERGE` for each: all of them are one transaction"));
        }
        let (mut on_create, mut on_match) = (Vec::new(), Vec::new());
        while self.eat_word("ON") {
            let target = if self.eat_word("CREATE") {
                &mut on_create
            } else {
                self.expect_word("MATCH")?;
                &mut on_match
            };
            self.expect_word("SET")?;
            target.extend(self.set_items()?);
        }
        Ok(ClauseKind::Merge {
            pattern,
            on_create,
            on_match,
        })
    }

    fn set_items(&mut self) -> Result<Vec<SetItem>> {
        let mut items = vec![self.set_item()?];
        while self.eat(TokenKind::Comma) {
            items.push(self.set_item()?);
        }
        Ok(items)
    }

    fn set_item(&mut self) -> Result<SetItem> {
        if self.at_name() && (self.peek(1) == TokenKind::Colon || self.is_word_at(1, "IS")) {
            let name = self.name("a variable")?;
            return Ok(SetItem::Labels {
                name,
                labels: self.plain_labels()?,
            });
        }
        if self.at_name() && matches!(self.peek(1), TokenKind::Equal | TokenKind::PlusEqual) {
            let name = self.name("a variable")?;
            let merge = self.advance().kind == TokenKind::PlusEqual;
            let value = self.expression()?;
            return Ok(match merge {
                true => SetItem::Merge { name, value },
                false => SetItem::Replace { name, value },
            });
        }
        let target = self.property_target()?;
        self.expect(TokenKind::Equal, "`=`")?;
        Ok(SetItem::Property {
            target,
            value: self.expression()?,
        })
    }

    /// `variable.key`, `(expression).key` or `function(...).key`.
    fn property_target(&mut self) -> Result<Expr> {
        let start = self.token().span;
        let is_part = matches!(self.peek(1), TokenKind::Dot | TokenKind::OpenBracket);
        let is_value = match self.kind() {
            TokenKind::Dollar | TokenKind::OpenBracket | TokenKind::OpenBrace => true,
            _ => self.at_call() || self.is_word("NULL") || self.is_word("CASE") && !is_part,
        };
        let mut target = if self.eat(TokenKind::OpenParen) {
            let inner = self.expression()?;
            self.expect(TokenKind::CloseParen, "`)`")?;
            inner
        } else if is_value {
            self.atom()?
        } else {
            let name = self.name("a property such as `n.key`")?;
            let span = name.span;
            self.make(ExprKind::Variable(name), span)?
        };
        let mut steps = 0;
        loop {
            if self.eat(TokenKind::OpenBracket) {
                let index = self.expression()?;
                let end = self.expect(TokenKind::CloseBracket, "`]`")?;
                let (base, index) = (Box::new(target), Box::new(index));
                target = self.make(ExprKind::Index { base, index }, start.to(end.span))?;
            } else if steps == 0 || self.kind() == TokenKind::Dot {
                self.expect(TokenKind::Dot, "`.`")?;
                let key = self.stored_name("a property key")?;
                let span = start.to(key.span);
                let base = Box::new(target);
                target = self.make(ExprKind::Property { base, key }, span)?;
            } else {
                return Ok(target);
            }
            steps += 1;
        }
    }

    fn remove_items(&mut self) -> Result<Vec<RemoveItem>> {
        let mut items = Vec::new();
        loop {
            if self.at_name() && (self.peek(1) == TokenKind::Colon || self.is_word_at(1, "IS")) {
                let name = self.name("a variable")?;
                items.push(RemoveItem::Labels {
                    name,
                    labels: self.plain_labels()?,
                });
            } else {
                items.push(RemoveItem::Property(self.property_target()?));
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(items);
            }
        }
    }

    fn foreach(&mut self) -> Result<ClauseKind> {
        self.expect(TokenKind::OpenParen, "`(`")?;
        let name = self.name("a variable")?;
        self.expect_word("IN")?;
        let list = self.with_bar(true, Self::expression)?;
        self.expect(TokenKind::Bar, "`|`")?;
        let clauses = self.nested(|p| {
            let mut clauses = Vec::new();
            while p.kind() != TokenKind::CloseParen {
                match p.clause()? {
                    Some(clause) if writes(&clause.kind) => clauses.push(clause),
                    Some(clause) => {
                        let message = "only writing clauses can stand in `FOREACH`";
                        return Err(p.error(clause.span, Code::InvalidClauseComposition, message));
                    }
                    None => break,
                }
            }
            Ok(clauses)
        })?;
        if clauses.is_empty() {
            return Err(self.unexpected("a writing clause such as `SET`"));
        }
        self.expect(TokenKind::CloseParen, "a writing clause or `)`")?;
        Ok(ClauseKind::Foreach {
            name,
            list,
            clauses,
        })
    }
}

/// Where labels, or a type, are computed or joined by colons, which `INSERT` does not have.
fn beyond_insert(labels: &LabelExpr, tokens: &[Token]) -> Option<Span> {
    let items = match labels {
        LabelExpr::Computed { names, .. } => return Some(names.span),
        LabelExpr::And(items) => items,
        _ => return None,
    };
    let pairs = items.windows(2).find_map(|pair| match pair {
        [LabelExpr::Label(left), LabelExpr::Label(right)] => {
            let between = left.span.end..right.span.start;
            let colon =
                |it: &&Token| it.kind == TokenKind::Colon && between.contains(&it.span.start);
            tokens.iter().find(colon).map(|_| left.span.to(right.span))
        }
        _ => None,
    });
    pairs.or_else(|| items.iter().find_map(|item| beyond_insert(item, tokens)))
}
