//! What tables say of what is new: defaults, types of columns, ends of relationships.
//!
//! # How it works
//! A table is a label or a type whose properties were declared, each with a default, which may be
//! `NULL`. A new node or relationship with such a name gets the defaults of what a statement does
//! not give, and values of other types are cast as the columns want them. A `COPY` takes the
//! columns of a table in their order. `SET` casts likewise, where a pattern of the statement names
//! the table of its variable. What no statement gives a value by name, as a parameter for all
//! properties, is not cast: the constraint judges it.

use std::sync::Arc;

use super::graph::Step;
use super::load::{expr, named, path};
use super::{Binder, Result};
use crate::ast::{
    self, Clause, ClauseKind, CopyEnd, CopyFrom, CopySource, ExprKind, LabelExpr, NodePattern,
    PathPattern, RelationshipPattern, SetItem,
};
use crate::bind::made::{call, cast_as};
use crate::diagnostic::Code;
use crate::functions::MERGE_MAPS;
use crate::parser;
use crate::plan::expression::Expr;
use crate::plan::tables::{TableColumn, TableCommand, expanded};
use crate::plan::{Direction, FileNames, OptionValue, VarId};
use crate::schema_view::{ColumnView, TableView};
use crate::token::Span;
use graven_types::told;
use graven_types::vector::VectorType;

/// Endings of files whose columns have no names of their own.
const BY_PLACE: &[&str] = &[".csv", ".tsv", ".txt"];

impl Binder<'_> {
    /// A projection with the columns of tables in the place of `n.*`; none if it has no such item.
    pub(super) fn spread(&self, of: &ast::Projection) -> Result<Option<ast::Projection>> {
        if of.items.iter().all(|item| item.spread.is_none()) {
            return Ok(None);
        }
        let mut items = Vec::new();
        for item in &of.items {
            let (Some(label), ExprKind::Variable(base)) = (&item.spread, &item.expr.kind) else {
                items.push(item.clone());
                continue;
            };
            let at = item.expr.span;
            let Some(table) = self.schema.table(label) else {
                let message = format!("{label} is no table, so `{}.*` has no columns", base.text);
                let hint = format!("write `{} {{.*}}` for a map of its properties", base.text);
                return Err(self
                    .error(at, Code::FeatureNotAvailable, message)
                    .with_hint(hint));
            };
            items.extend(table.columns.iter().map(|column| ast::ProjectionItem {
                expr: expr(
                    ExprKind::Property {
                        base: Box::new(expr(ExprKind::Variable(base.clone()), at)),
                        key: named(&column.name, at),
                    },
                    at,
                ),
                alias: Some(named(&format!("{}.{}", base.text, column.name), at)),
                spread: None,
            }));
        }
        Ok(Some(ast::Projection {
            items,
            ..of.clone()
        }))
    }

    /// The table of the first of these names that has one.
    pub(super) fn table_of(&self, names: &[Arc<str>], of_nodes: bool) -> Option<TableView> {
        let mut tables = names.iter().filter_map(|name| self.schema.table(name));
        tables.find(|table| table.of_nodes == of_nodes)
    }

    /// The properties written for something of a table, cast as its columns want them.
    pub(super) fn cast_properties(
        &self,
        table: Option<&TableView>,
        properties: Option<&ast::Expr>,
    ) -> Option<ast::Expr> {
        let mut given = properties?.clone();
        if let (Some(table), ExprKind::Map(entries)) = (table, &mut given.kind) {
            for (name, value) in entries {
                let column = table.column(&name.text);
                if let Some(column) = column {
                    name.text = column.name.clone();
                }
                if let Some(column) = column.filter(|column| !fits(&value.kind, &column.of)) {
                    *value = cast(value.clone(), &column.of);
                }
            }
        }
        Some(given)
    }

    /// The table whose label or type a pattern gives the variable.
    pub(super) fn table_of_variable(&self, name: &str) -> Option<TableView> {
        let var = self.scope.find(name)?.var;
        self.schema.table(self.tables.get(&var)?)
    }

    /// The name of a property of a variable: that of the column of its table, which may be written
    /// in another case.
    pub(super) fn key_of_variable(&self, var: VarId, key: &Arc<str>) -> Arc<str> {
        let table = self
            .tables
            .get(&var)
            .and_then(|table| self.schema.table(table));
        let column = table.as_ref().and_then(|table| table.column(key));
        column.map_or_else(|| key.clone(), |column| column.name.clone())
    }

    /// The name of a property of what an expression gives.
    pub(super) fn key_behind(&self, base: &ast::Expr, key: &Arc<str>) -> Arc<str> {
        let ExprKind::Variable(name) = &base.kind else {
            return key.clone();
        };
        match self.scope.find(&name.text) {
            Some(entry) => self.key_of_variable(entry.var, key),
            None => key.clone(),
        }
    }

    /// What `SET` gives a property, cast as its column wants it.
    pub(super) fn cast_to_column(&self, target: &ast::Expr, value: &ast::Expr) -> ast::Expr {
        let (base, key) = match &target.kind {
            ExprKind::Property { base, key } => (base, &key.text),
            ExprKind::Index { base, index } => match &index.kind {
                ExprKind::String(key) => (base, key),
                _ => return value.clone(),
            },
            _ => return value.clone(),
        };
        let table = match &base.kind {
            ExprKind::Variable(name) => self.table_of_variable(&name.text),
            _ => None,
        };
        match table.as_ref().and_then(|table| table.column(key)) {
            Some(column) if !fits(&value.kind, &column.of) => cast(value.clone(), &column.of),
            _ => value.clone(),
        }
    }

    /// The properties of something new with the defaults of its table.
    pub(super) fn with_defaults(
        &mut self,
        table: Option<&TableView>,
        given: Option<&ast::Expr>,
        bound: Option<Expr>,
        at: Span,
    ) -> Result<Option<Expr>> {
        let Some(table) = table else {
            return Ok(bound);
        };
        let is_given = |name: &str| match given.map(|given| &given.kind) {
            Some(ExprKind::Map(entries)) => entries.iter().any(|(key, _)| *key.text == *name),
            _ => false,
        };
        let mut entries = Vec::new();
        for column in &table.columns {
            if let Some(default) = &column.default
                && !is_given(&column.name)
            {
                let value = cast(self.default_value(default, at)?, &column.of);
                entries.push((named(&column.name, at), value));
            }
        }
        if entries.is_empty() {
            return Ok(bound);
        }
        let defaults = self.property_map(&expr(ExprKind::Map(entries), at))?;
        Ok(Some(match bound {
            None => defaults,
            Some(bound) => call(MERGE_MAPS, vec![defaults, bound]),
        }))
    }

    /// The expression of a default, with the place of what it is used for.
    fn default_value(&self, text: &str, at: Span) -> Result<ast::Expr> {
        let statement = parser::parse(&format!("RETURN {text}"))?;
        let item = match statement.query.first.clauses.first().map(|it| &it.kind) {
            Some(ClauseKind::Return(projection)) => projection.items.first(),
            _ => None,
        };
        item.and_then(|item| placed(&item.expr, at)).ok_or_else(|| {
            let message = format!("`{text}` is no default: literals, lists and calls of them are");
            self.error(at, Code::FeatureNotAvailable, message)
        })
    }

    /// Whether a default can be computed.
    pub(super) fn check_default(&mut self, text: &str, at: Span) -> Result<()> {
        let outer = self.constant_only.replace("a default");
        let value = self.default_value(text, at);
        let bound = value.and_then(|value| self.expression(&value));
        self.constant_only = outer;
        bound.map(|_| ())
    }

    /// What a command about a table needs besides itself: defaults that can be computed, and values
    /// for what is there already.
    pub(super) fn table_command(
        &mut self,
        command: &TableCommand,
        at: Span,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let columns: &[TableColumn] = match command {
            TableCommand::CreateNodes { columns, .. }
            | TableCommand::CreateRelationships { columns, .. } => columns,
            TableCommand::AddColumn { column, .. } => std::slice::from_ref(column),
            _ => &[],
        };
        for default in columns.iter().filter_map(|it| it.default.as_ref()) {
            self.check_default(default, at)?;
        }
        let TableCommand::AddColumn {
            table,
            column,
            lenient,
        } = command
        else {
            return Ok(());
        };
        let Some((table, known)) = self.schema.table_called(table) else {
            return Ok(());
        };
        let is_there = known.column(&column.key).is_some();
        let Some(default) = column.default.as_ref().filter(|_| !(is_there && *lenient)) else {
            return Ok(());
        };
        let value = cast(self.default_value(default, at)?, &self.meant(&column.of));
        let var = || named("  row", at);
        let node = |name, labels| NodePattern {
            name,
            labels,
            properties: None,
            filter: None,
            span: at,
        };
        let label = LabelExpr::Label(named(&table, at));
        let pattern = match known.of_nodes {
            true => path(node(Some(var()), Some(label)), Vec::new(), at),
            false => {
                let relationship = RelationshipPattern {
                    name: Some(var()),
                    types: Some(label),
                    direction: Direction::Out,
                    length: None,
                    properties: None,
                    filter: None,
                    parts: None,
                    repeated: None,
                    span: at,
                };
                path(node(None, None), vec![(relationship, node(None, None))], at)
            }
        };
        let base = Box::new(expr(ExprKind::Variable(var()), at));
        let key = named(&column.key, at);
        let target = expr(ExprKind::Property { base, key }, at);
        let found = ClauseKind::Match {
            optional: false,
            patterns: vec![pattern],
            hints: Vec::new(),
            filter: None,
        };
        // What is there already stays.
        let value = ExprKind::Call {
            name: named("coalesce", at),
            distinct: false,
            star: false,
            args: vec![target.clone(), value],
        };
        let value = expr(value, at);
        let set = ClauseKind::Set(vec![SetItem::Property { target, value }]);
        for kind in [found, set] {
            self.clause(&Clause { kind, span: at }, false, steps)?;
        }
        self.scope.row.clear();
        Ok(())
    }

    /// The type that a text says.
    pub(super) fn meant(&self, of: &Arc<str>) -> Arc<str> {
        let meant = expanded(of, |name| self.schema.type_called(name));
        meant.unwrap_or_else(|| of.clone())
    }

    /// A `COPY` whose ends have the names that the tables have.
    pub(super) fn with_own_ends(&self, copy: &CopyFrom) -> CopyFrom {
        let mut copy = copy.clone();
        if let Some((from, to)) = &mut copy.ends {
            for end in [from, to] {
                if let Some((name, _)) = self.schema.table_called(&end.label) {
                    end.label = name;
                }
            }
        }
        copy
    }

    /// A `COPY` into a table with what the table says of it: the ends of relationships and, for
    /// files whose columns have no types, those of the columns.
    pub(super) fn copy_of_table(&self, copy: &CopyFrom, table: &TableView) -> Result<CopyFrom> {
        let mut copy = self.with_own_ends(copy);
        let at = copy.target.span;
        let mut named = copy.properties.iter().flatten();
        if let Some(unknown) = named.find(|name| table.column(&name.text).is_none()) {
            let names: Vec<&str> = table.columns.iter().map(|it| &*it.name).collect();
            let message = told!(
                "the table {} has no column {}; it has {}",
                copy.target.text,
                unknown.text,
                names.join(", ")
            );
            let hint = "name columns of the table, or add one with ALTER TABLE";
            let error = self.error(unknown.span, Code::InvalidSource, message);
            return Err(error.with_hint(hint));
        }
        if !table.of_nodes && copy.ends.is_none() {
            let [(from, to)] = &table.ends[..] else {
                let message = format!(
                    "{} joins several pairs of tables: which ones does the source join?",
                    copy.target.text
                );
                return Err(self
                    .error(at, Code::InvalidSource, message)
                    .with_hint("write (from = 'Label', to = 'Label') behind the source"));
            };
            let end = |label: &Arc<str>| CopyEnd {
                label: label.clone(),
                key: None,
                at,
            };
            copy.ends = Some((end(from), end(to)));
        }
        let types = self.copied_types(&copy, table);
        if let CopySource::Files(load) = &mut copy.source
            && load.source.columns.is_none()
            && is_by_place(load)
        {
            load.source.columns = types;
        }
        Ok(copy)
    }

    /// Names and types of the columns of a file for a table.
    fn copied_types(
        &self,
        copy: &CopyFrom,
        table: &TableView,
    ) -> Option<Vec<(Arc<str>, Arc<str>)>> {
        let mut columns = Vec::new();
        if let Some((from, to)) = &copy.ends {
            for (end, name) in [(from, "from"), (to, "to")] {
                let known = self.schema.table(&end.label)?;
                let key = end.key.clone().or(known.key.clone())?;
                let column = known.column(&key)?;
                columns.push((name.into(), kind_of_file(&column.of)));
            }
        }
        let wanted: Vec<&ColumnView> = match &copy.properties {
            Some(names) => {
                let column = |name: &ast::Name| table.column(&name.text);
                names.iter().map(column).collect::<Option<_>>()?
            }
            None => table.copied_columns().collect(),
        };
        columns.extend(wanted.into_iter().map(|column| {
            let is_taken = matches!(&*column.name, "from" | "to") && copy.ends.is_some();
            let name = match is_taken {
                true => format!("{}  ", column.name).into(),
                false => column.name.clone(),
            };
            (name, kind_of_file(&column.of))
        }));
        Some(columns)
    }
}

/// Whether the columns of these files are known by their place.
fn is_by_place(load: &ast::LoadFrom) -> bool {
    let mut options = load.source.options.iter();
    if let Some((_, OptionValue::One(format))) =
        options.find(|(name, _)| name.eq_ignore_ascii_case("FORMAT"))
    {
        return matches!(format, crate::plan::Literal::String(text) if text.eq_ignore_ascii_case("CSV"));
    }
    let FileNames::Texts(files) = &load.source.files else {
        return false;
    };
    files.iter().all(|file| {
        let name = file.to_ascii_lowercase();
        let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst"));
        let plain = plain.unwrap_or(&name);
        BY_PLACE.iter().any(|ending| plain.ends_with(ending))
    })
}

/// The type by which a column of a file is read: structs, maps and unions stay text, whole numbers
/// that no 64 bits hold are looked at, and a vector of any type or dimension is a literal.
fn kind_of_file(of: &str) -> Arc<str> {
    let upper = of.to_ascii_uppercase();
    let opens = |word: &str| upper.contains(&format!("{word}("));
    if opens("STRUCT") || opens("MAP") || opens("UNION") || upper == "JSON" {
        return "STRING".into();
    }
    plain_kind(&upper).into()
}

fn plain_kind(name: &str) -> String {
    let name = name.trim();
    let name = name.strip_suffix("NOT NULL").unwrap_or(name).trim_end();
    if let Some((element, _)) = name.strip_suffix(']').and_then(|it| it.rsplit_once('[')) {
        return format!("{}[]", plain_kind(element));
    }
    if let Some(element) = name
        .strip_prefix("LIST<")
        .and_then(|it| it.strip_suffix('>'))
    {
        return format!("{}[]", plain_kind(element));
    }
    if let Some(of) = VectorType::parse(name) {
        return match of.of.is_some() && of.dimension.is_some() {
            true => of.to_string(),
            false => "CYPHER".to_owned(),
        };
    }
    let head = name
        .split_once('(')
        .map_or(name, |(head, _)| head.trim_end());
    match head {
        "DECIMAL" | "NUMERIC" | "DEC" => name,
        "INT128" | "HUGEINT" | "UINT64" => "ANY",
        other => other,
    }
    .to_owned()
}

/// Whether a literal is of the type already.
fn fits(value: &ExprKind, of: &str) -> bool {
    match value {
        ExprKind::Null => true,
        ExprKind::Integer(_) => matches!(of, "INT64" | "INT" | "INTEGER" | "SERIAL"),
        ExprKind::Float(_) => matches!(of, "DOUBLE" | "FLOAT"),
        ExprKind::String(_) => of == "STRING",
        ExprKind::Boolean(_) => matches!(of, "BOOL" | "BOOLEAN"),
        _ => false,
    }
}

/// A property holds no structs, maps and unions: it holds their text, as files do.
fn stored_type(of: &str) -> Arc<str> {
    let lists = of.bytes().rev();
    let lists = lists.take_while(|b| b"[] 0123456789".contains(b)).count();
    let (element, lists) = of.split_at(of.len() - lists);
    let upper = element.to_ascii_uppercase();
    let opens = |word: &str| {
        let rest = upper.strip_prefix(word);
        rest.is_some_and(|rest| rest.trim_start().starts_with('('))
    };
    match ["STRUCT", "MAP", "UNION"].into_iter().any(opens) {
        true => format!("STORED TEXT{lists}").into(),
        false => of.into(),
    }
}

fn cast(value: ast::Expr, of: &str) -> ast::Expr {
    cast_as(value, stored_type(of))
}

/// An expression of literals and calls as if it stood at `at`; none if there is more in it.
fn placed(of: &ast::Expr, at: Span) -> Option<ast::Expr> {
    let one = |inner: &ast::Expr| placed(inner, at).map(Box::new);
    let all = |list: &[ast::Expr]| {
        list.iter()
            .map(|item| placed(item, at))
            .collect::<Option<_>>()
    };
    let kind = match &of.kind {
        kind @ (ExprKind::Null
        | ExprKind::Boolean(_)
        | ExprKind::Integer(_)
        | ExprKind::Float(_)
        | ExprKind::String(_)) => kind.clone(),
        ExprKind::List(items) => ExprKind::List(all(items)?),
        // A variable that no text can name is one of a comprehension around it.
        ExprKind::Variable(name) if name.text.starts_with("  ") => {
            ExprKind::Variable(named(&name.text, at))
        }
        ExprKind::ListComprehension {
            name,
            list,
            filter,
            map,
        } => {
            let some = |inner: &Option<Box<ast::Expr>>| match inner {
                Some(inner) => one(inner).map(Some),
                None => Some(None),
            };
            ExprKind::ListComprehension {
                name: named(&name.text, at),
                list: one(list)?,
                filter: some(filter)?,
                map: some(map)?,
            }
        }
        ExprKind::Map(entries) => {
            let entry = |(name, value): &(ast::Name, ast::Expr)| {
                Some((named(&name.text, at), placed(value, at)?))
            };
            ExprKind::Map(entries.iter().map(entry).collect::<Option<_>>()?)
        }
        ExprKind::Unary { op, operand } => ExprKind::Unary {
            op: *op,
            operand: one(operand)?,
        },
        ExprKind::Binary { op, left, right } => ExprKind::Binary {
            op: *op,
            left: one(left)?,
            right: one(right)?,
        },
        ExprKind::Call {
            name,
            distinct: false,
            star: false,
            args,
        } => ExprKind::Call {
            name: named(&name.text, at),
            distinct: false,
            star: false,
            args: all(args)?,
        },
        _ => return None,
    };
    Some(ast::Expr {
        kind,
        span: at,
        height: of.height,
    })
}

impl PathPattern {
    /// The pattern with its written properties cast as the tables of its parts want them.
    pub(super) fn cast_by(&self, binder: &Binder<'_>) -> PathPattern {
        let mut pattern = self.clone();
        binder.cast_node(&mut pattern.first);
        for (relationship, node) in &mut pattern.steps {
            let names = plain_names(relationship.types.as_ref());
            let table = binder.table_of(&names, false);
            let properties = relationship.properties.as_ref();
            relationship.properties = binder.cast_properties(table.as_ref(), properties);
            binder.cast_node(node);
        }
        pattern
    }
}

impl Binder<'_> {
    fn cast_node(&self, node: &mut NodePattern) {
        let table = self.table_of(&plain_names(node.labels.as_ref()), true);
        node.properties = self.cast_properties(table.as_ref(), node.properties.as_ref());
    }
}

/// The one label or type that is written.
pub(super) fn plain_names(labels: Option<&LabelExpr>) -> Vec<Arc<str>> {
    match labels {
        Some(LabelExpr::Label(name)) => vec![name.text.clone()],
        _ => Vec::new(),
    }
}
