//! Functions of APOC that are read as other expressions: aggregates, and those that read the graph.
//!
//! # How it works
//! An aggregate of APOC becomes a function of the list that `collect` makes of its first argument:
//! `apoc.agg.nth(x, 2)` is `graven.agg.nth(collect(x), 2)`. What it may stand in, `DISTINCT`, and
//! what its rows take in memory and on disk are those of `collect`. The other arguments are the
//! same for all rows of a group: where one reads the row, it is the least that the rows give, so
//! that the variables in it need be no keys of the group. A function that reads the graph becomes a
//! `COLLECT` subquery that calls a procedure, so that no plan and no operator knows of either.

use super::{Parser, Result};
use crate::ast::{
    Clause, ClauseKind, Expr, ExprKind, Name, ProcedureCall, Projection, ProjectionItem, Query,
    SingleQuery, SubqueryKind, Yields,
};
use crate::diagnostic::Code;
use crate::functions::{BY_PROCEDURE, OVER_ROWS, aggregate};
use crate::token::Span;

/// Whether an expression, or one within it, is of a sort.
fn has(expr: &Expr, is: &dyn Fn(&Expr) -> bool) -> bool {
    let mut found = is(expr);
    expr.children(&mut |child| found |= has(child, is));
    found
}

/// The column of procedures that stand for functions.
const VALUE: &str = "value";

impl Parser<'_> {
    /// What a call is, if its function is one of these.
    pub(super) fn apoc_function(
        &mut self,
        name: &Name,
        distinct: bool,
        args: &mut Vec<Expr>,
    ) -> Result<Option<ExprKind>> {
        let is = |known: &str| known.eq_ignore_ascii_case(&name.text);
        if let Some(known) = OVER_ROWS.iter().find(|known| is(known.display)) {
            self.check_arity(name, (known.args_min, known.args_max), args.len())?;
            let mut rest = args.split_off(usize::from(known.collected));
            for arg in &mut rest {
                self.once_for_all_rows(arg, name.span)?;
            }
            let mut collected = std::mem::take(args);
            let row = match collected.len() {
                1 => collected.remove(0),
                _ => self.make(ExprKind::List(collected), name.span)?,
            };
            let collect = self.function_call("collect", distinct, vec![row], name.span);
            rest.insert(0, self.make(collect, name.span)?);
            return Ok(Some(self.function_call(
                known.function,
                false,
                rest,
                name.span,
            )));
        }
        let Some(known) = BY_PROCEDURE.iter().find(|known| is(known.display)) else {
            return Ok(None);
        };
        if distinct {
            let message = format!("`{}` is not an aggregate function", known.display);
            return Err(self.error(name.span, Code::InvalidAggregation, message));
        }
        self.check_arity(name, (known.args_min, known.args_max), args.len())?;
        let given = std::mem::take(args);
        let rows = self.rows_of(known.procedure, given, known.is_single, name.span)?;
        Ok(Some(match known.is_single {
            true => self.function_call("head", false, vec![rows], name.span),
            false => rows.kind,
        }))
    }

    /// Makes `min(arg)` of an argument that reads the row, unless it is computed of all rows
    /// already.
    fn once_for_all_rows(&mut self, arg: &mut Expr, span: Span) -> Result<()> {
        let is_variable = |expr: &Expr| matches!(expr.kind, ExprKind::Variable(_));
        let is_aggregate = |expr: &Expr| match &expr.kind {
            ExprKind::Call { name, .. } => aggregate(&name.text).is_some(),
            ExprKind::Subquery { .. } => true,
            _ => false,
        };
        if has(arg, &is_variable) && !has(arg, &is_aggregate) {
            let nothing = self.make(ExprKind::Null, span)?;
            let whole = std::mem::replace(arg, nothing);
            let least = self.function_call("min", false, vec![whole], span);
            *arg = self.make(least, span)?;
        }
        Ok(())
    }

    fn function_call(&self, name: &str, distinct: bool, args: Vec<Expr>, span: Span) -> ExprKind {
        ExprKind::Call {
            name: Name {
                text: name.into(),
                span,
            },
            distinct,
            star: false,
            args,
        }
    }

    fn check_arity(&self, name: &Name, (least, most): (u8, u8), given: usize) -> Result<()> {
        if (usize::from(least)..=usize::from(most)).contains(&given) {
            return Ok(());
        }
        let wanted = match least == most {
            true => format!("{least} argument(s)"),
            false => format!("{least} to {most} arguments"),
        };
        let message = format!("`{}` takes {wanted}, got {given}", name.text);
        Err(self.error(name.span, Code::InvalidNumberOfArguments, message))
    }

    /// `COLLECT { CALL procedure(args) YIELD value RETURN value }`.
    fn rows_of(
        &mut self,
        procedure: &str,
        args: Vec<Expr>,
        is_single: bool,
        span: Span,
    ) -> Result<Expr> {
        let below = args.iter().map(|arg| arg.height).max().unwrap_or(0);
        let own = |text: &str| Name {
            text: text.into(),
            span,
        };
        let mut call = ProcedureCall::of(procedure, args, span);
        call.yields = Yields::Items(vec![(own(VALUE), Some(own("  value")))]);
        let value = self.make(ExprKind::Variable(own("  value")), span)?;
        let limit = match is_single {
            true => Some(self.make(ExprKind::Integer(1), span)?),
            false => None,
        };
        let projection = Projection {
            distinct: false,
            star: None,
            items: vec![ProjectionItem {
                expr: value,
                alias: Some(own("  value")),
                spread: None,
            }],
            order: Vec::new(),
            skip: None,
            limit,
        };
        let clauses = [ClauseKind::Call(call), ClauseKind::Return(projection)];
        let clauses = clauses.map(|kind| Clause { kind, span }).into();
        let query = Box::new(Query {
            first: SingleQuery { clauses },
            unions: Vec::new(),
        });
        self.subquery = below + 1;
        let kind = ExprKind::Subquery {
            kind: SubqueryKind::Collect,
            query,
            written: false,
        };
        self.make(kind, span)
    }
}
