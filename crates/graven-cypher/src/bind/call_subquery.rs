//! `CALL { ... }`: what it takes from outside and gives, and its transactions.

use super::graph::Step;
use super::scope::Entry;
use super::{Binder, Result};
use crate::ast::{self, Clause, ClauseKind, Imports, Name};
use crate::diagnostic::Code;
use crate::plan::expression::Literal;
use crate::plan::{Expr, InTransactions, VarId, VarKind};
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    /// A subquery may start with `WITH a, b` naming what it takes from outside; those stay the
    /// outer variables, nothing is projected. Returns how many clauses that took.
    pub(super) fn importing_with(&mut self, query: &ast::SingleQuery) -> Result<usize> {
        let Some(Clause {
            kind: ClauseKind::With { projection, filter },
            span,
        }) = query.clauses.first()
        else {
            return Ok(0);
        };
        let plain = filter.is_none()
            && !projection.distinct
            && projection.order.is_empty()
            && projection.skip.is_none()
            && projection.limit.is_none()
            && projection.items.iter().all(|item| {
                matches!(&item.expr.kind, ast::ExprKind::Variable(name)
                    if item.alias.as_ref().is_none_or(|alias| alias.text == name.text)
                        && self.scope.outer.iter().any(|e| e.name == name.text))
            });
        if !plain && self.scope.imports_by_with && projection.star.is_some() {
            let message = "the `WITH` that takes variables into a subquery has nothing beside them";
            let error = self.error(*span, Code::InvalidClauseComposition, message);
            return Err(error.with_hint("write `CALL (*) { ... }`, or `WITH * WITH *, ...`"));
        }
        Ok(usize::from(plain))
    }

    /// `needs_names`: its columns become variables of the row by their names.
    pub(super) fn call_subquery(
        &mut self,
        imports: &Imports,
        query: &ast::Query,
        transactions: Option<&ast::InTransactions>,
        optional: bool,
        needs_names: bool,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        if let Imports::Names(names) = imports {
            for name in names {
                self.resolve(name)?;
            }
        }
        let mark = self.enter_subquery();
        self.scope.keeps_outer = *imports != Imports::ByWith;
        self.scope.needs_names = needs_names;
        match imports {
            Imports::Names(names) => self
                .scope
                .withhold(|e| names.iter().any(|n| n.text == e.name)),
            Imports::ByWith => self.scope.imports_by_with = true,
            Imports::All => {}
        }
        let result = self.query(query);
        let inner: Vec<Type> = match &result {
            Ok(query) => self.column_types(&query.columns),
            Err(_) => Vec::new(),
        };
        let outer = mark.variables;
        let imports = self.leave_subquery(mark);
        let mut query = result?;
        // A column that is a variable of the row would become null with the others where there are
        // no rows, or where a transaction failed.
        let nulls = optional || transactions.is_some();
        let mut copied = Vec::new();
        for (name, var) in &mut query.columns {
            if nulls && (var.0 as usize) < outer {
                let kind = self.variables[var.0 as usize].kind;
                let copy = self.new_variable(name, kind);
                copied.push((copy, Expr::Variable(std::mem::replace(var, copy))));
            }
        }
        for ((name, var), ty) in query.columns.iter().zip(inner) {
            self.check_free(&Name {
                text: name.clone(),
                span: self.clause_span,
            })?;
            self.scope.row.push(Entry {
                name: name.clone(),
                var: *var,
                ty,
            });
        }
        if optional && query.columns.is_empty() {
            let message = "OPTIONAL changes nothing here: the subquery returns no columns";
            self.notice_at(self.clause_span, "RedundantOptionalSubquery", message);
        }
        self.uses.extend(imports.iter().copied());
        let transactions = transactions.map(|t| self.in_transactions(t)).transpose()?;
        steps.push(Step::Call {
            query,
            copied,
            imports,
            transactions,
            optional,
        });
        Ok(())
    }

    /// A name that `WITH`, `UNWIND` and the like give cannot be one of the surrounding query.
    pub(super) fn check_unshadowed(&self, name: &Name, var: Option<VarId>) -> Result<()> {
        let hidden = |e: &Entry| e.name == name.text && Some(e.var) != var;
        if !self.scope.keeps_outer || !self.scope.outer.iter().any(hidden) {
            return Ok(());
        }
        let message = format!("`{}` is a variable around the subquery", name.text);
        Err(self
            .error(name.span, Code::VariableAlreadyBound, message)
            .with_hint("choose another name within the subquery"))
    }

    fn at_least_one(
        &mut self,
        expr: Option<&ast::Expr>,
        what: &'static str,
    ) -> Result<Option<Expr>> {
        let count = self.row_count(expr, what)?;
        match (&count, expr) {
            (Some(Expr::Literal(Literal::Integer(0))), Some(expr)) => {
                let message = format!("{what} needs one or more");
                Err(self.error(expr.span, Code::NegativeIntegerArgument, message))
            }
            _ => Ok(count),
        }
    }

    /// The counts, which are constant, and the status variable of `IN TRANSACTIONS`.
    fn in_transactions(&mut self, parts: &ast::InTransactions) -> Result<InTransactions> {
        let rows = self.at_least_one(parts.rows.as_ref(), "OF ... ROWS")?;
        // Batches run one after the other, which is one of the ways to run so many at once.
        self.at_least_one(parts.concurrency.as_ref(), "CONCURRENT TRANSACTIONS")?;
        let retry = match &parts.retry {
            None => None,
            Some(None) => Some(Expr::Literal(Literal::Integer(
                InTransactions::RETRY_SECONDS,
            ))),
            Some(Some(seconds)) => Some(self.seconds(seconds)?),
        };
        let retry_at = match &parts.retry {
            Some(Some(seconds)) => seconds.span,
            _ => Span::default(),
        };
        let status = match &parts.status {
            Some(name) => {
                self.check_free(name)?;
                Some(self.declare(name, VarKind::Value, Type::of(TypeSet::MAP)))
            }
            None => None,
        };
        Ok(InTransactions {
            rows,
            on_error: parts.on_error.unwrap_or_default(),
            retry,
            retry_at,
            status,
            columns: Vec::new(),
            optional: false,
        })
    }
}
