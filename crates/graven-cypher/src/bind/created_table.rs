//! `CREATE NODE TABLE name AS query`: a table of what a query gives.
//!
//! # How it works
//! What the query gives is created first, and then the table with its constraints, which check what
//! is there. A column has the type that the binder knows, else that of its values, which the
//! executor looks at. `a.name` becomes the column `name`. The first column is the primary key; of
//! relationships the first two are the keys of the ends.

use std::sync::Arc;

use super::graph::Step;
use super::{Binder, Result};
use crate::ast::{CopyFrom, CopySource, CreatedTable, Imports, Name};
use crate::diagnostic::Code;
use crate::plan::VarKind;
use crate::plan::constraint::ConstraintKind;
use crate::plan::schema::SchemaCommand;
use crate::plan::tables::{TableColumn, TableCommand};

impl Binder<'_> {
    /// Binds the statement; `is_there`: whether there is a table of that name.
    pub(super) fn table_of_query(
        &mut self,
        copy: &CopyFrom,
        creates: &CreatedTable,
        is_there: bool,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let (name, at) = (&copy.target.text, copy.target.span);
        if is_there {
            if creates.lenient {
                return Ok(());
            }
            let message = format!("there is a table {name} already");
            return Err(self
                .error(at, Code::InvalidSource, message)
                .with_hint("write IF NOT EXISTS, or drop that table first"));
        }
        let CopySource::Query(query) = &copy.source else {
            unreachable!("the parser makes it with a query");
        };
        self.call_subquery(&Imports::All, query, None, false, false, steps)?;
        let skipped = if copy.ends.is_some() { 2 } else { 0 };
        let mut columns: Vec<TableColumn> = Vec::new();
        for entry in self.scope.row.iter().skip(skipped) {
            if self.variables[entry.var.0 as usize].kind != VarKind::Value {
                let message = format!("the column `{}` holds no value of a property", entry.name);
                let hint = "return parts of it: `n.name`";
                return Err(self.error(at, Code::InvalidSource, message).with_hint(hint));
            }
            let key = column_name(&entry.name);
            if columns.iter().any(|known| known.key == key) {
                let message = format!("two columns of the query are called {key}");
                let hint = "name them with AS";
                return Err(self.error(at, Code::InvalidSource, message).with_hint(hint));
            }
            let declared = self.declared.get(&entry.var);
            let declared = declared.filter(|of| !of.starts_with('$'));
            columns.push(TableColumn {
                key,
                of: declared.cloned().unwrap_or_default(),
                default: None,
            });
        }
        let given: Vec<Arc<str>> = self.scope.row.iter().map(|it| it.name.clone()).collect();
        let named = |column: &TableColumn| Name {
            text: column.key.clone(),
            span: at,
        };
        let copy = CopyFrom {
            properties: Some(columns.iter().map(named).collect()),
            ..copy.clone()
        };
        for clause in &self.copied(&copy, &given, None)? {
            self.clause(clause, false, steps)?;
        }
        self.scope.row.clear();
        let (name, lenient) = (name.clone(), false);
        let command = match &copy.ends {
            Some((from, to)) => TableCommand::CreateRelationships {
                name,
                columns,
                ends: ConstraintKind::Ends {
                    pairs: vec![(from.label.clone(), to.label.clone())],
                    one_out: creates.limits.0,
                    one_in: creates.limits.1,
                },
                lenient,
            },
            None => {
                let Some(key) = columns.first().map(|column| column.key.clone()) else {
                    let message = "the query of a table has at least one column: the primary key";
                    return Err(self.error(at, Code::InvalidSource, message));
                };
                TableCommand::CreateNodes {
                    name,
                    columns,
                    key,
                    lenient,
                }
            }
        };
        steps.push(Step::Schema(SchemaCommand::Table(command)));
        Ok(())
    }
}

/// `name` of `a.name`; what is more than that keeps its heading.
fn column_name(of: &Arc<str>) -> Arc<str> {
    let is_name = |text: &str| {
        let mut letters = text.chars();
        letters
            .next()
            .is_some_and(|it| it.is_alphabetic() || it == '_')
            && letters.all(|it| it.is_alphanumeric() || it == '_')
    };
    match of.split_once('.') {
        Some((variable, key)) if is_name(variable) && is_name(key) => key.into(),
        _ => of.clone(),
    }
}
