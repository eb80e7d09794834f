//! `LOAD CSV`, `LOAD FROM` and `COPY`: the columns of a source are variables, and what is copied is
//! what other clauses say.
//!
//! # How it works
//! The schema view says which columns a source has. `COPY name FROM source` is bound as the clauses
//! that do the same: the source, for relationships an `OPTIONAL MATCH` of each end by its key and a
//! condition that says which one was not found, and a `CREATE`; in transactions of its own, the
//! last ones are a subquery in them. With `IGNORE_ERRORS` rows without a node at an end are noted,
//! and nodes of a table are made by a `MERGE` of their key, which notes a row that finds its node.

use std::sync::Arc;

use super::graph::Step;
use super::made::cast_as;
use super::scope::{LINE_NUMBER, Record};
use super::{Binder, Result};
use crate::ast::{
    self, Clause, ClauseKind, CopyEnd, CopyFrom, CopySource, ExprKind, Imports, LabelExpr,
    LoadFrom, Name, NodePattern, PathPattern, Query, RelationshipPattern, SingleQuery,
};
use crate::diagnostic::Code;
use crate::functions::{LEFT_OUT, MISSING_END};
use crate::plan::expression::{Literal, UnaryOp};
use crate::plan::{BinaryOp, ColumnBound, Direction, Expr, FileNames, OptionValue, VarId, VarKind};
use crate::schema_view::{SourceFault, TableView};
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// Variables of the two ends, which no text can name.
const ENDS: [&str; 2] = ["  from", "  to"];

impl Binder<'_> {
    pub(super) fn load_from(&mut self, load: &LoadFrom, steps: &mut Vec<Step>) -> Result<()> {
        let mut source = load.source.clone();
        if let FileNames::Parameter(name) = &source.files {
            let name = Name {
                text: name.clone(),
                span: load.at,
            };
            self.parameter(&name)?;
            if let Some(texts) = self.params.texts(&name.text) {
                source.files = FileNames::Texts(texts.to_vec());
            }
        }
        let view = self.schema.source(&source).map_err(|fault| {
            let (code, message) = match fault {
                SourceFault::Forbidden(message) => (Code::FileForbidden, message),
                SourceFault::Wrong(message) => (Code::InvalidSource, message),
            };
            self.error(load.at, code, message)
        })?;
        let mut yields: Vec<(Arc<str>, VarId)> = Vec::new();
        for (column, set, stated) in view.columns {
            let name = Name {
                text: column.clone(),
                span: load.at,
            };
            self.check_free(&name)?;
            let var = self.declare(&name, VarKind::Value, Type::of(set));
            self.loaded.insert(var);
            let declared = match &source.files {
                FileNames::Parameter(frame) => Some(format!("${frame}.{column}").into()),
                FileNames::Texts(_) => stated,
            };
            self.declared.extend(declared.map(|of| (var, of)));
            yields.push((column, var));
        }
        let filter = self.conditions(load.filter.as_ref())?;
        let bounds = filter
            .iter()
            .filter_map(|condition| bound(condition, &yields));
        steps.push(Step::LoadFrom {
            bounds: bounds.collect(),
            source,
            yields,
            rows: view.rows,
            filter,
            at: load.at,
        });
        Ok(())
    }

    pub(super) fn load_csv(
        &mut self,
        headers: bool,
        url: &ast::Expr,
        name: &Name,
        terminator: Option<&ast::Expr>,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let text = |binder: &mut Self, expr: &ast::Expr, what: &str| -> Result<Expr> {
            let (bound, ty) = binder.expression(expr)?;
            binder.require_of(expr, ty, TypeSet::STRING, what)?;
            Ok(bound)
        };
        let place = url.span;
        let url = text(self, url, "the file of LOAD CSV")?;
        if let Some(written) = terminator
            && matches!(&written.kind, ExprKind::String(text) if text.chars().count() != 1)
        {
            let message = "FIELDTERMINATOR is one character";
            return Err(self.error(written.span, Code::InvalidArgumentValue, message));
        }
        let terminator = terminator
            .map(|t| text(self, t, "FIELDTERMINATOR"))
            .transpose()?;
        self.check_free(name)?;
        let ty = match headers {
            true => Type::of(TypeSet::MAP),
            false => Type::list_of(TypeSet::STRING),
        };
        let var = self.declare(name, VarKind::Value, ty);
        let record = Record {
            line: self.new_variable(LINE_NUMBER, VarKind::Value),
            file: self.new_variable("file()", VarKind::Value),
        };
        self.scope.record = Some(record);
        steps.push(Step::LoadCsv {
            record,
            url,
            headers,
            terminator,
            var,
            at: place,
        });
        Ok(())
    }

    /// `COPY name FROM source`.
    pub(super) fn copy_from(&mut self, copy: &CopyFrom, steps: &mut Vec<Step>) -> Result<()> {
        let called = self.schema.table_called(&copy.target.text);
        if let Some(creates) = &copy.creates {
            let copy = self.with_own_ends(copy);
            return self.table_of_query(&copy, creates, called.is_some(), steps);
        }
        let mut copy = copy.clone();
        let table = called.map(|(name, table)| {
            copy.target.text = name;
            table
        });
        let copy = &copy;
        let declared = match &table {
            Some(table) => Some(self.copy_of_table(copy, table)?),
            None => None,
        };
        let copy = declared.as_ref().unwrap_or(copy);
        match &copy.source {
            CopySource::Files(load) => {
                let mut load = load.clone();
                if load.source.columns.is_none() {
                    // A property holds no map.
                    let kept = OptionValue::One(Literal::Boolean(true));
                    load.source.options.push(("MAPS_AS_TEXT".into(), kept));
                }
                self.load_from(&load, steps)?;
            }
            CopySource::Query(query) => {
                // Its columns are taken by their places.
                self.call_subquery(&Imports::All, query, None, false, false, steps)?;
            }
        }
        let columns: Vec<Arc<str>> = self.scope.row.iter().map(|e| e.name.clone()).collect();
        let clauses = self.copied(copy, &columns, table.as_ref())?;
        let Some(transactions) = &copy.transactions else {
            for clause in &clauses {
                self.clause(clause, false, steps)?;
            }
            return Ok(());
        };
        let query = Query {
            first: SingleQuery { clauses },
            unions: Vec::new(),
        };
        self.call_subquery(
            &Imports::All,
            &query,
            Some(transactions),
            false,
            true,
            steps,
        )
    }

    /// The clauses that create what is copied from these columns.
    pub(super) fn copied(
        &self,
        copy: &CopyFrom,
        columns: &[Arc<str>],
        table: Option<&TableView>,
    ) -> Result<Vec<Clause>> {
        let span = copy.target.span;
        let skipped = if copy.ends.is_some() { 2 } else { 0 };
        if columns.len() < skipped {
            let message = "the first two columns of relationships are the keys of their ends";
            return Err(self.error(span, Code::InvalidSource, message));
        }
        let values = &columns[skipped..];
        let names: Vec<Arc<str>> = match &copy.properties {
            None => match table.map(|table| table.copied_columns().collect::<Vec<_>>()) {
                Some(own) if own.len() == values.len() => {
                    own.iter().map(|column| column.name.clone()).collect()
                }
                _ => values.to_vec(),
            },
            Some(names) if names.len() == values.len() => {
                let own = |name: &Name| {
                    let column = table.and_then(|table| table.column(&name.text));
                    column.map_or_else(|| name.text.clone(), |column| column.name.clone())
                };
                names.iter().map(own).collect()
            }
            Some(names) => {
                let message = format!(
                    "{} properties are named, and the source has {} columns for them",
                    names.len(),
                    values.len()
                );
                return Err(self.error(span, Code::InvalidSource, message));
            }
        };
        // A table that is made of a query holds maps as their texts.
        let is_map = |column: &str| {
            let entry = self.scope.find(column).filter(|_| copy.creates.is_some());
            entry.is_some_and(|entry| entry.ty.set == TypeSet::MAP)
        };
        let value = |column: &str| match is_map(column) {
            true => cast_as(variable(column, span), "STORED TEXT".into()),
            false => variable(column, span),
        };
        let entries = names.iter().zip(values);
        let entries = entries.map(|(name, column)| (named(name, span), value(column)));
        let properties = expr(ExprKind::Map(entries.collect()), span);
        let label = LabelExpr::Label(copy.target.clone());
        let clause = |kind| Clause { kind, span };
        let Some((from, to)) = &copy.ends else {
            let key = self.key_to_skip_by(copy, table);
            if let Some(at) = key.and_then(|key| names.iter().position(|name| *name == key)) {
                return Ok(self.copied_once(copy, table, (at, &names, values)));
            }
            let node = NodePattern {
                name: None,
                labels: Some(label),
                properties: Some(properties),
                filter: None,
                span,
            };
            let patterns = vec![path(node, Vec::new(), span)];
            return Ok(vec![clause(ClauseKind::Create { patterns })]);
        };
        let mut clauses = Vec::new();
        let mut found = None;
        for ((end, name), column) in [from, to].into_iter().zip(ENDS).zip(columns) {
            let key = self.key_of(end)?;
            let this = is_found(copy, name, (end, &key, column));
            found = Some(match found {
                None => this,
                Some(other) => binary(BinaryOp::And, other, this),
            });
            let entry = (named(&key, end.at), variable(column, end.at));
            let node = NodePattern {
                name: Some(named(name, end.at)),
                labels: Some(LabelExpr::Label(named(&end.label, end.at))),
                properties: Some(expr(ExprKind::Map(vec![entry]), end.at)),
                filter: None,
                span: end.at,
            };
            // A key that no node has is an error, not a row less.
            clauses.push(clause(ClauseKind::Match {
                optional: true,
                patterns: vec![path(node, Vec::new(), end.at)],
                hints: Vec::new(),
                filter: None,
            }));
        }
        clauses.push(clause(ClauseKind::With {
            projection: ast::Projection::of_all(span),
            filter: found,
        }));
        let [first, last] = ENDS.map(|name| NodePattern {
            name: Some(named(name, span)),
            labels: None,
            properties: None,
            filter: None,
            span,
        });
        let relationship = RelationshipPattern {
            name: None,
            types: Some(label),
            direction: Direction::Out,
            length: None,
            properties: (!values.is_empty()).then_some(properties),
            filter: None,
            parts: None,
            repeated: None,
            span,
        };
        let patterns = vec![path(first, vec![(relationship, last)], span)];
        clauses.push(clause(ClauseKind::Create { patterns }));
        Ok(clauses)
    }

    /// The key of a table whose nodes are copied with `IGNORE_ERRORS`.
    fn key_to_skip_by(&self, copy: &CopyFrom, table: Option<&TableView>) -> Option<Arc<str>> {
        table.filter(|_| ignores_errors(copy))?.key.clone()
    }

    /// The clauses that create the nodes of a table whose key is new; rows without a key are left
    /// out, rows with one that exists are noted.
    fn copied_once(
        &self,
        copy: &CopyFrom,
        table: Option<&TableView>,
        (key, names, values): (usize, &[Arc<str>], &[Arc<str>]),
    ) -> Vec<Clause> {
        let at = copy.target.span;
        let clause = |kind| Clause { kind, span: at };
        let source = source_of(copy);
        let given = names.iter().zip(values);
        let given = given.map(|(name, column)| {
            let map = ExprKind::Map(vec![(named(name, at), variable(column, at))]);
            let map = self.cast_properties(table, Some(&expr(map, at)));
            let value = match map.map(|map| map.kind) {
                Some(ExprKind::Map(mut entries)) => entries.pop().map(|(_, value)| value),
                _ => None,
            };
            let value = value.unwrap_or_else(|| variable(column, at));
            (named(name, at), value)
        });
        let mut others: Vec<_> = given.collect();
        let (key, key_value) = others.remove(key);
        let is_there = ExprKind::Unary {
            op: UnaryOp::IsNotNull,
            operand: Box::new(key_value.clone()),
        };
        let filtered = ClauseKind::With {
            projection: ast::Projection::of_all(at),
            filter: Some(expr(is_there, at)),
        };
        let node = || named("  copied", at);
        let properties = ExprKind::Map(vec![(key.clone(), key_value.clone())]);
        let pattern = NodePattern {
            name: Some(node()),
            labels: Some(LabelExpr::Label(copy.target.clone())),
            properties: Some(expr(properties, at)),
            filter: None,
            span: at,
        };
        let map = |kind| ast::SetItem::Merge {
            name: node(),
            value: expr(kind, at),
        };
        let text = |value: &str| text(value, at);
        let noted = ExprKind::Call {
            name: named(LEFT_OUT, at),
            distinct: false,
            star: false,
            args: vec![
                text(&source),
                text(&copy.target.text),
                text(&key.text),
                key_value,
            ],
        };
        let merge = ClauseKind::Merge {
            pattern: path(pattern, Vec::new(), at),
            on_create: vec![map(ExprKind::Map(others))],
            on_match: vec![map(noted)],
        };
        vec![clause(filtered), clause(merge)]
    }

    /// The property by which nodes of an end are found: one with an index, or each row would look
    /// at all of them.
    fn key_of(&self, end: &CopyEnd) -> Result<Arc<str>> {
        let label = &end.label;
        let mut own = self.schema.indexes(label).into_iter().filter(|index| {
            let single = index.keys.len() == 1;
            single
                && end
                    .key
                    .as_ref()
                    .map_or(index.unique, |key| index.keys[0] == *key)
        });
        if let Some(index) = own.next() {
            return Ok(index.keys[0].clone());
        }
        let key = end.key.as_deref().unwrap_or("id");
        let message = match &end.key {
            Some(key) => format!("{label} has no index on {key}, by which its nodes are found"),
            None => format!("{label} has no unique property, by which its nodes are found"),
        };
        Err(self
            .error(end.at, Code::InvalidSource, message)
            .with_hint(format!(
                "CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.{key} IS UNIQUE"
            )))
    }

    /// `COPY (query) TO 'file'`.
    pub(super) fn copy_to(
        &mut self,
        query: &Query,
        (file, options): (&Arc<str>, &[(Arc<str>, OptionValue)]),
        at: Span,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let query = self.query(query)?;
        self.scope.row.clear();
        steps.push(Step::CopyTo {
            query,
            file: file.clone(),
            options: options.to_vec(),
            at,
        });
        Ok(())
    }
}

/// Whether rows with errors are noted and left out.
fn ignores_errors(copy: &CopyFrom) -> bool {
    let CopySource::Files(load) = &copy.source else {
        return false;
    };
    let ignores = |(name, value): &(Arc<str>, OptionValue)| {
        name.eq_ignore_ascii_case("IGNORE_ERRORS")
            && *value == OptionValue::One(Literal::Boolean(true))
    };
    load.source.options.iter().any(ignores)
}

/// How faults name what is copied.
fn source_of(copy: &CopyFrom) -> String {
    match &copy.source {
        CopySource::Files(load) => match &load.source.files {
            FileNames::Texts(names) => names.join(", "),
            FileNames::Parameter(name) => format!("${name}"),
        },
        CopySource::Query(_) => "the query".to_owned(),
    }
}

/// Whether the end of this name was found by its key in a column: not found, it is noted or an
/// error.
fn is_found(copy: &CopyFrom, name: &str, (end, key, column): (&CopyEnd, &str, &str)) -> ast::Expr {
    let at = end.at;
    let operand = Box::new(variable(name, at));
    let op = UnaryOp::IsNotNull;
    let missing = ExprKind::Call {
        name: named(MISSING_END, at),
        distinct: false,
        star: false,
        args: vec![
            text(&source_of(copy), at),
            text(column, at),
            text(&end.label, at),
            text(key, at),
            variable(column, at),
            expr(ExprKind::Boolean(ignores_errors(copy)), at),
        ],
    };
    let is_there = expr(ExprKind::Unary { op, operand }, at);
    binary(BinaryOp::Or, is_there, expr(missing, at))
}

/// A condition as a file can use it.
fn bound(condition: &Expr, yields: &[(Arc<str>, VarId)]) -> Option<ColumnBound> {
    let Expr::Binary {
        op, left, right, ..
    } = condition
    else {
        return None;
    };
    let column = |expr: &Expr| match expr {
        Expr::Variable(var) => {
            let found = yields.iter().find(|(_, known)| known == var)?;
            Some(found.0.clone())
        }
        _ => None,
    };
    let constant = |expr: &Expr| matches!(expr, Expr::Literal(_) | Expr::Parameter(..));
    use BinaryOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let turned = match op {
        Equal => Equal,
        Less => Greater,
        LessOrEqual => GreaterOrEqual,
        Greater => Less,
        GreaterOrEqual => LessOrEqual,
        _ => return None,
    };
    let (column, op, value) = match (column(left), column(right)) {
        (Some(column), None) if constant(right) => (column, *op, right),
        (None, Some(column)) if constant(left) => (column, turned, left),
        _ => return None,
    };
    Some(ColumnBound {
        column,
        op,
        value: (**value).clone(),
    })
}

pub(super) fn named(text: &str, span: Span) -> Name {
    Name {
        text: text.into(),
        span,
    }
}

pub(super) fn expr(kind: ExprKind, span: Span) -> ast::Expr {
    ast::Expr {
        kind,
        span,
        height: 2,
    }
}

fn text(value: &str, span: Span) -> ast::Expr {
    expr(ExprKind::String(value.into()), span)
}

fn binary(op: BinaryOp, left: ast::Expr, right: ast::Expr) -> ast::Expr {
    let height = left.height.max(right.height) + 1;
    let span = left.span;
    let kind = ExprKind::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
    };
    ast::Expr { kind, span, height }
}

fn variable(column: &str, span: Span) -> ast::Expr {
    expr(ExprKind::Variable(named(column, span)), span)
}

pub(super) fn path(
    first: NodePattern,
    steps: Vec<(RelationshipPattern, NodePattern)>,
    span: Span,
) -> PathPattern {
    PathPattern {
        name: None,
        shortest: None,
        first,
        steps,
        filter: None,
        span,
    }
}
