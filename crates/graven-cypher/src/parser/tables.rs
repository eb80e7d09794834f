//! Statements of Kuzu about tables.
//!
//! # How it works
//! A table is a label, or a relationship type, with constraints: the key, the type of each
//! property, the ends of relationships ([`TableCommand`]). What Kuzu says by a word of its own and
//! this database has under another name is lowered here; nothing behind the parser knows Kuzu.
//! The texts of types and of defaults are kept as they were written.

use std::sync::Arc;

use super::{Parser, Result};
use crate::ast::{
    ClauseKind, CopyEnd, CopyFrom, CopySource, CreatedTable, ExprKind, LabelExpr, Name,
    ProjectionItem,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::lexer;
use crate::plan::constraint::ConstraintKind;
use crate::plan::schema::SchemaCommand;
use crate::plan::tables::{TableColumn, TableCommand, serial_default};
use crate::token::TokenKind;

/// How many relationships may start and end at a node, by the word of a table.
const LIMITS: &[(&str, bool, bool)] = &[
    ("MANY_MANY", false, false),
    ("MANY_ONE", true, false),
    ("ONE_MANY", false, true),
    ("ONE_ONE", true, true),
];

/// Types whose values are no primary keys, as are lists.
const NO_KEYS: &[&str] = &[
    "BOOL", "BOOLEAN", "INTERVAL", "DURATION", "STRUCT", "MAP", "UNION", "JSON",
];

fn may_be_key(of: &str) -> bool {
    let head = of.split('(').next().unwrap_or(of).trim();
    !of.ends_with([']', '>']) && !NO_KEYS.iter().any(|no| head.eq_ignore_ascii_case(no))
}

/// What stands between the brackets of a table.
#[derive(Default)]
struct Parts {
    columns: Vec<TableColumn>,
    key: Option<Name>,
    pairs: Vec<(Arc<str>, Arc<str>)>,
    limits: (bool, bool),
}

impl Parser<'_> {
    /// A statement about tables, if one begins here.
    pub(super) fn table_statement(&mut self) -> Result<Option<ClauseKind>> {
        let two = |p: &Self, first: &str, second: &str| p.is_word(first) && p.is_word_at(1, second);
        if let Some(command) = self.macro_statement()? {
            return Ok(Some(ClauseKind::Schema(SchemaCommand::Macro(command))));
        }
        if let Some(command) = self.sequence_statement()? {
            let command = SchemaCommand::Sequence(command);
            return Ok(Some(ClauseKind::Schema(command)));
        }
        let command = if two(self, "CREATE", "NODE") && self.is_word_at(2, "TABLE") {
            self.next += 3;
            return self.create_node_table().map(Some);
        } else if two(self, "CREATE", "REL") && self.is_word_at(2, "TABLE") {
            self.next += 3;
            self.eat_word("GROUP");
            return self.create_rel_table().map(Some);
        } else if two(self, "DROP", "TABLE") {
            self.next += 2;
            let lenient = self.if_exists()?;
            let name = self.name("a table")?.text;
            TableCommand::Drop { name, lenient }
        } else if two(self, "ALTER", "TABLE") {
            self.next += 2;
            self.alter_table()?
        } else if two(self, "COMMENT", "ON") && self.is_word_at(2, "TABLE") {
            self.next += 3;
            self.comment()?
        } else if two(self, "CREATE", "TYPE") {
            self.next += 2;
            self.create_type()?
        } else if two(self, "DROP", "TYPE") {
            self.next += 2;
            let lenient = self.if_exists()?;
            let name = self.name("a type")?.text;
            TableCommand::DropType { name, lenient }
        } else {
            return self.extension_statement();
        };
        Ok(Some(ClauseKind::Schema(SchemaCommand::Table(command))))
    }

    pub(super) fn without(&self, what: &str, hint: &str) -> Diagnostic {
        let span = self.token().span.to(self.tokens.list[self.next + 1].span);
        let message = format!("there are no {what} in this build");
        self.error(span, Code::FeatureNotAvailable, message)
            .with_hint(hint)
    }

    /// `name IS 'text'`.
    fn comment(&mut self) -> Result<TableCommand> {
        let table = self.name("a table")?.text;
        self.expect_word("IS")?;
        if self.eat_word("NULL") {
            return Ok(TableCommand::Comment { table, text: None });
        }
        let token = self.expect(TokenKind::String, "the comment in quotes, or `NULL`")?;
        let text = Some(lexer::string(self.text, token.span)?);
        Ok(TableCommand::Comment { table, text })
    }

    /// `name AS type`.
    fn create_type(&mut self) -> Result<TableCommand> {
        let lenient = self.if_not_exists()?;
        let name = self.name("a name for a type")?.text;
        self.expect_word("AS")?;
        let of = self.table_type()?;
        Ok(TableCommand::CreateType { name, of, lenient })
    }

    fn create_node_table(&mut self) -> Result<ClauseKind> {
        let lenient = self.if_not_exists()?;
        let name = self.name("a table")?;
        if self.is_word("AS") {
            let creates = CreatedTable {
                lenient,
                limits: (false, false),
            };
            return self.table_of_query(name, None, creates);
        }
        let parts = self.table_parts(&name)?;
        self.table_options()?;
        let Some(key) = parts.key else {
            let message = format!("the table {} has no primary key", name.text);
            return Err(self
                .error(name.span, Code::UnexpectedSyntax, message)
                .with_hint("write PRIMARY KEY (column) behind the columns"));
        };
        if !parts.pairs.is_empty() {
            let message = "a table of nodes has no FROM and TO";
            return Err(self.error(name.span, Code::UnexpectedSyntax, message));
        }
        let is_key = |column: &&TableColumn| column.key.eq_ignore_ascii_case(&key.text);
        let Some(known) = parts.columns.iter().find(is_key) else {
            let message = format!("the primary key {} is no column of the table", key.text);
            return Err(self.error(key.span, Code::UnexpectedSyntax, message));
        };
        if !may_be_key(&known.of) {
            let message = format!("{} of type {} cannot be a primary key", key.text, known.of);
            return Err(self
                .error(key.span, Code::InvalidArgumentType, message)
                .with_hint("a key is a text, a number, a date or time, a UUID or a BLOB"));
        }
        let key = Name {
            text: known.key.clone(),
            span: key.span,
        };
        let mut columns = parts.columns;
        for column in columns.iter_mut().filter(|column| &*column.of == "SERIAL") {
            if column.key != key.text {
                let message = "a column of type SERIAL is the primary key in this build";
                return Err(self.error(key.span, Code::FeatureNotAvailable, message));
            }
            column.default = Some(serial_default(&name.text, &key.text));
        }
        let command = TableCommand::CreateNodes {
            name: name.text,
            columns,
            key: key.text,
            lenient,
        };
        Ok(ClauseKind::Schema(SchemaCommand::Table(command)))
    }

    fn create_rel_table(&mut self) -> Result<ClauseKind> {
        let lenient = self.if_not_exists()?;
        let name = self.name("a table")?;
        let parts = self.table_parts(&name)?;
        self.table_options()?;
        if parts.pairs.is_empty() || parts.key.is_some() {
            let message = format!("the table {} does not say which nodes it joins", name.text);
            return Err(self
                .error(name.span, Code::UnexpectedSyntax, message)
                .with_hint("write (FROM A TO B, ...); relationships have no primary key"));
        }
        let serial = parts.columns.iter().any(|column| &*column.of == "SERIAL");
        if serial {
            let message = "a column of type SERIAL is the primary key of nodes in this build";
            return Err(self.error(name.span, Code::FeatureNotAvailable, message));
        }
        if self.is_word("AS") {
            let ([pair], []) = (&parts.pairs[..], &parts.columns[..]) else {
                let message = "a table of relationships that is made of a query has one pair of \
                    ends, and no columns but those of the query";
                return Err(self.error(name.span, Code::UnexpectedSyntax, message));
            };
            let end = |label: &Arc<str>| CopyEnd {
                label: label.clone(),
                key: None,
                at: name.span,
            };
            let ends = (end(&pair.0), end(&pair.1));
            let creates = CreatedTable {
                lenient,
                limits: parts.limits,
            };
            return self.table_of_query(name, Some(ends), creates);
        }
        let command = TableCommand::CreateRelationships {
            name: name.text,
            columns: parts.columns,
            ends: ConstraintKind::Ends {
                pairs: parts.pairs,
                one_out: parts.limits.0,
                one_in: parts.limits.1,
            },
            lenient,
        };
        Ok(ClauseKind::Schema(SchemaCommand::Table(command)))
    }

    /// `AS query` behind the name of a new table.
    fn table_of_query(
        &mut self,
        target: Name,
        ends: Option<(CopyEnd, CopyEnd)>,
        creates: CreatedTable,
    ) -> Result<ClauseKind> {
        self.expect_word("AS")?;
        let query = self.with_bar(false, Self::subquery_of_rows)?;
        Ok(ClauseKind::CopyFrom(Box::new(CopyFrom {
            target,
            properties: None,
            source: CopySource::Query(Box::new(query)),
            ends,
            transactions: None,
            creates: Some(creates),
        })))
    }

    /// `(column TYPE [DEFAULT x] [PRIMARY KEY], ..., PRIMARY KEY (column), FROM a TO b, MANY_ONE)`.
    fn table_parts(&mut self, table: &Name) -> Result<Parts> {
        let mut parts = Parts::default();
        self.expect(TokenKind::OpenParen, "`(`")?;
        loop {
            if self.is_word("PRIMARY") && self.is_word_at(1, "KEY") {
                self.next += 2;
                self.expect(TokenKind::OpenParen, "`(`")?;
                parts.key = Some(self.name("a column")?);
                self.expect(TokenKind::CloseParen, "`)`: the key is one column")?;
            } else if self.is_word("FROM") && self.is_word_at(2, "TO") {
                self.pairs(&mut parts)?;
            } else if let Some(limits) = self.limits() {
                parts.limits = limits;
            } else {
                let column = self.table_column()?;
                if self.is_word("PRIMARY") && self.is_word_at(1, "KEY") {
                    self.next += 2;
                    parts.key = Some(Name {
                        text: column.key.clone(),
                        span: self.last_span(),
                    });
                }
                let same = |known: &TableColumn| known.key.eq_ignore_ascii_case(&column.key);
                if parts.columns.iter().any(same) {
                    let message = format!("the column {} is named twice", column.key);
                    return Err(self.error(table.span, Code::UnexpectedSyntax, message));
                }
                parts.columns.push(column);
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        Ok(parts)
    }

    /// `MANY_ONE` and the like: whether at most one relationship starts, and ends, at a node.
    pub(super) fn limits(&mut self) -> Option<(bool, bool)> {
        let mut all = LIMITS.iter();
        let (_, one_out, one_in) = all.find(|(word, ..)| self.is_word(word))?;
        if matches!(self.peek(1), TokenKind::Word) {
            // A column of that name.
            return None;
        }
        self.advance();
        Some((*one_out, *one_in))
    }

    /// `FROM a|b TO c`: each with each.
    fn pairs(&mut self, parts: &mut Parts) -> Result<()> {
        self.expect_word("FROM")?;
        let from = self.tables()?;
        self.expect_word("TO")?;
        let to = self.tables()?;
        for first in &from {
            for last in &to {
                let pair = (first.clone(), last.clone());
                if parts.pairs.contains(&pair) {
                    let message = format!("FROM {first} TO {last} is said twice");
                    return Err(self.error(self.last_span(), Code::UnexpectedSyntax, message));
                }
                parts.pairs.push(pair);
            }
        }
        Ok(())
    }

    fn tables(&mut self) -> Result<Vec<Arc<str>>> {
        let mut names = vec![self.name("a table of nodes")?.text];
        while self.eat(TokenKind::Bar) {
            names.push(self.name("a table of nodes")?.text);
        }
        Ok(names)
    }

    fn table_column(&mut self) -> Result<TableColumn> {
        let key = self.name("a column")?.text;
        let of = self.table_type()?;
        let default = self.default_text()?;
        Ok(TableColumn { key, of, default })
    }

    /// `DEFAULT` and the text of an expression.
    pub(super) fn default_text(&mut self) -> Result<Option<Arc<str>>> {
        if !self.eat_word("DEFAULT") {
            return Ok(None);
        }
        let value = self.expression()?;
        Ok(Some(value.span.slice(self.text).trim().into()))
    }

    /// The text of a type: a name of one or two words, what stands in its brackets, `[]`.
    pub(super) fn table_type(&mut self) -> Result<Arc<str>> {
        let start = self.name("a type, such as INT64 or STRING")?.span;
        let pair = ["DATETIME", "TIME"].iter().any(|word| self.is_word(word));
        if pair {
            self.advance();
        }
        let mut named = start.to(self.last_span());
        let mut open = 0;
        loop {
            match self.kind() {
                TokenKind::OpenParen | TokenKind::Less | TokenKind::OpenBracket => open += 1,
                TokenKind::CloseParen | TokenKind::Greater | TokenKind::CloseBracket
                    if open > 0 =>
                {
                    open -= 1;
                }
                TokenKind::End if open > 0 => return Err(self.unexpected("the rest of a type")),
                _ if open > 0 => {}
                _ => break,
            }
            self.advance();
        }
        let name = named.slice(self.text).to_ascii_uppercase();
        named = start.to(self.last_span());
        let whole = named.slice(self.text);
        Ok(format!("{name}{}", &whole[name.len()..]).into())
    }

    /// `WITH (storage_direction = 'both')` and the like have no meaning here.
    fn table_options(&mut self) -> Result<()> {
        if self.eat_word("WITH") {
            self.expect(TokenKind::OpenParen, "`(`")?;
            loop {
                self.name("an option")?;
                self.expect(TokenKind::Equal, "`=`")?;
                self.expression()?;
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        }
        Ok(())
    }

    fn alter_table(&mut self) -> Result<TableCommand> {
        let table = self.name("a table")?.text;
        if self.eat_word("ADD") {
            let lenient = self.if_not_exists()?;
            if self.is_word("FROM") && self.is_word_at(2, "TO") {
                let pair = self.pair_of_tables()?;
                return Ok(TableCommand::AddEnds {
                    table,
                    pair,
                    lenient,
                });
            }
            let column = self.table_column()?;
            if &*column.of == "SERIAL" {
                let message = "a column of type SERIAL is made with its table";
                return Err(self.error(self.last_span(), Code::FeatureNotAvailable, message));
            }
            return Ok(TableCommand::AddColumn {
                table,
                column,
                lenient,
            });
        }
        if self.eat_word("DROP") {
            let lenient = self.if_exists()?;
            if self.is_word("FROM") && self.is_word_at(2, "TO") {
                let pair = self.pair_of_tables()?;
                return Ok(TableCommand::DropEnds {
                    table,
                    pair,
                    lenient,
                });
            }
            let key = self.name("a column")?.text;
            return Ok(TableCommand::DropColumn {
                table,
                key,
                lenient,
            });
        }
        self.expect_word("RENAME")?;
        if self.eat_word("TO") {
            let to = self.name("the new name")?.text;
            return Ok(TableCommand::Rename { table, to });
        }
        let from = self.name("a column or `TO`")?.text;
        self.expect_word("TO")?;
        let to = self.name("the new name")?.text;
        Ok(TableCommand::RenameColumn { table, from, to })
    }

    /// `FROM a TO b`.
    fn pair_of_tables(&mut self) -> Result<(Arc<str>, Arc<str>)> {
        self.advance();
        let from = self.name("a table of nodes")?.text;
        self.expect_word("TO")?;
        Ok((from, self.name("a table of nodes")?.text))
    }

    pub(super) fn if_exists(&mut self) -> Result<bool> {
        let found = self.is_word("IF") && self.is_word_at(1, "EXISTS");
        if found {
            self.next += 2;
        }
        Ok(found)
    }

    /// `n.*`, where a pattern before says of which label or type `n` is.
    pub(super) fn spread_item(&mut self) -> Result<Option<ProjectionItem>> {
        let spreads = self.peek(1) == TokenKind::Dot && self.peek(2) == TokenKind::Star;
        if !self.at_name() || !spreads {
            return Ok(None);
        }
        let name = self.name("a variable")?;
        self.next += 2;
        let span = name.span.to(self.last_span());
        let Some(label) = self.labelled.get(&name.text).cloned() else {
            let message = format!("no pattern says of which table `{}` is", name.text);
            return Err(self
                .error(span, Code::UnexpectedSyntax, message)
                .with_hint(format!(
                    "write `{} {{.*}}` for a map of its properties",
                    name.text
                )));
        };
        let expr = self.make(ExprKind::Variable(name), span)?;
        Ok(Some(ProjectionItem {
            expr,
            alias: None,
            spread: Some(label),
        }))
    }

    /// Remembers the label or type of a variable.
    pub(super) fn note_label(&mut self, name: Option<&Name>, label: Option<&LabelExpr>) {
        if let (Some(name), Some(LabelExpr::Label(label))) = (name, label) {
            self.labelled.insert(name.text.clone(), label.text.clone());
        }
    }

    /// The rest of `cast(`: `x AS TYPE)` or `x, 'TYPE')`.
    pub(super) fn cast(&mut self) -> Result<ExprKind> {
        let name = self.name("cast")?;
        self.expect(TokenKind::OpenParen, "`(`")?;
        let value = match self.wide_literal()? {
            Some(digits) => digits,
            None => self.with_bar(false, Self::expression)?,
        };
        let wanted = if self.eat_word("AS") {
            let start = self.token().span;
            let of = self.table_type()?;
            self.make(ExprKind::String(of), start.to(self.last_span()))?
        } else {
            self.expect(TokenKind::Comma, "`AS` or `,`")?;
            self.expression()?
        };
        self.expect(TokenKind::CloseParen, "`)`")?;
        Ok(ExprKind::Call {
            name: Name {
                text: "cast".into(),
                span: name.span,
            },
            distinct: false,
            star: false,
            args: vec![value, wanted],
        })
    }
}
