//! `WITH` and `RETURN`: columns, grouping, sorting, limits.
//!
//! # How it works
//! Items without aggregates are the grouping keys when any item has one. In an item with an
//! aggregate, whatever stands outside the aggregate must be a key that is a variable or a property
//! of one, a constant or a parameter; everything else is ambiguous. `ORDER BY`, and `WHERE` behind
//! `WITH`, see the row before the projection and the new columns, which hide older variables of
//! their names; after `DISTINCT` or aggregation only the columns. An expression equal to an item
//! means that column, also where a variable that it reads is hidden.

use crate::bind::aggregate::Aggregating;
use crate::bind::aggregate::contains_aggregate;
use std::collections::HashSet;
use std::sync::Arc;

use super::graph::{Aggregation, Projection};
use super::scope::Entry;
use super::{Binder, Result, kind_of};
use crate::ast::{self, ExprKind};
use crate::bind::aggregate::aggregate_function;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::expression::{Expr, Literal};
use crate::plan::{SortOrder, VarId};
use crate::token::Span;
use crate::types::{Type, TypeSet};

/// Variable, or properties of one.
fn is_simple(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Variable(_) => true,
        ExprKind::Property { base, .. } => is_simple(base),
        _ => false,
    }
}

fn reads(expr: &ast::Expr, name: &str) -> bool {
    if matches!(&expr.kind, ExprKind::Variable(own) if &*own.text == name) {
        return true;
    }
    let mut found = false;
    expr.children(&mut |child| found |= reads(child, name));
    found
}

/// Columns that an expression equal to their own means. Where the row before is still there, those
/// that any other place could compute as well are left out.
fn meant(
    mut columns: Vec<(ast::Expr, VarId, Type)>,
    narrow: bool,
) -> Vec<(ast::Expr, VarId, Type)> {
    let constant = |expr: &ast::Expr| {
        matches!(
            expr.kind,
            ExprKind::Null
                | ExprKind::Boolean(_)
                | ExprKind::Integer(_)
                | ExprKind::Float(_)
                | ExprKind::String(_)
                | ExprKind::Parameter(_)
                | ExprKind::Variable(_)
        )
    };
    columns.retain(|(expr, ..)| narrow || !constant(expr));
    columns
}

impl Binder<'_> {
    /// Binds a projection; afterwards the scope holds its columns.
    pub(super) fn projection(
        &mut self,
        projection: &ast::Projection,
        filter: Option<&ast::Expr>,
        is_return: bool,
    ) -> Result<(Projection, Vec<Entry>)> {
        let spread = self.spread(projection)?;
        let projection = spread.as_ref().unwrap_or(projection);
        let mut items: Vec<(VarId, Expr)> = Vec::new();
        let mut outputs: Vec<Entry> = Vec::new();
        let replaced = self.replaced(projection);
        if let Some(span) = projection.star {
            self.star(span, is_return, &mut items, &mut outputs)?;
            outputs.retain(|entry| !replaced.contains(&entry.name));
            items.retain(|(var, _)| outputs.iter().any(|entry| entry.var == *var));
        }
        let starred = outputs.len();
        let aggregated = projection
            .items
            .iter()
            .any(|item| contains_aggregate(&item.expr));
        let mut missing_alias = None;
        let mut bound = self.items(projection, aggregated, &replaced)?;
        let mut columns: Vec<(ast::Expr, VarId, Type)> = Vec::new();
        let mut names: HashSet<Arc<str>> = outputs.iter().map(|e| e.name.clone()).collect();
        let mut known: HashSet<VarId> = items.iter().map(|(var, _)| *var).collect();
        for (item, (expr, ty)) in projection
            .items
            .iter()
            .zip(std::mem::take(&mut bound.values))
        {
            let name = self.output_name(item);
            let is_named = matches!(
                item.expr.kind,
                ExprKind::Variable(_) | ExprKind::MapProjection { .. }
            );
            if item.alias.is_none() && !is_named && (!is_return || self.scope.needs_names) {
                missing_alias.get_or_insert(item.expr.span);
            }
            let of_star = outputs[..starred].iter().find(|e| e.name == name);
            if let (Some(entry), Expr::Variable(var)) = (of_star, &expr)
                && entry.var == *var
            {
                // `*` has it already.
                continue;
            }
            if let Some(alias) = &item.alias {
                let var = match &expr {
                    Expr::Variable(var) => Some(*var),
                    _ => None,
                };
                self.check_unshadowed(alias, var)?;
                self.notice_shadowing(alias);
            }
            if !names.insert(name.clone()) {
                let span = item.alias.as_ref().map_or(item.expr.span, |a| a.span);
                let message = format!("two columns are called `{name}`");
                return Err(self
                    .error(span, Code::ColumnNameConflict, message)
                    .with_hint("rename one with AS"));
            }
            let var = match &expr {
                Expr::Variable(var) if !self.is_exists(*var) => *var,
                _ => self.new_variable(&name, kind_of(ty)),
            };
            let calls = bound
                .aggregation
                .as_ref()
                .map_or(&[][..], |a| &a.aggregates);
            if calls.iter().any(|(call, _)| *call == var) {
                self.variables[var.0 as usize].name = name.clone();
            }
            self.declares(var, &item.expr);
            columns.push((item.expr.clone(), var, ty));
            outputs.push(Entry { name, var, ty });
            if known.insert(var) {
                items.push((var, expr));
            }
        }
        if let Some(aggregation) = &mut bound.aggregation {
            let star: Vec<VarId> = outputs[..starred].iter().map(|e| e.var).collect();
            aggregation
                .keys
                .extend(star.into_iter().map(|var| (var, Expr::Variable(var))));
        }
        let narrow = aggregated || projection.distinct;
        if narrow {
            self.scope.record = None;
        }
        let order = self.order(projection, aggregated, narrow, &outputs, &columns)?;
        let skip = self.row_count(projection.skip.as_ref(), "SKIP")?;
        let limit = self.row_count(projection.limit.as_ref(), "LIMIT")?;
        if let Some(span) = missing_alias {
            let message = match is_return {
                true => "an expression that `CALL { ... }` returns needs a name",
                false => "an expression in WITH needs a name",
            };
            return Err(self
                .error(span, Code::NoExpressionAlias, message)
                .with_hint("add `AS name`"));
        }
        let before = self.scope.row.iter().map(|e| e.name.clone()).collect();
        if !narrow {
            // WHERE after WITH sees the row before as well, the new names first.
            let wide = self.shadowed(&outputs);
            self.scope.row = wide;
        } else {
            self.scope.row = outputs.clone();
        }
        if let Some(filter) = filter
            && (aggregated || !contains_aggregate(filter))
        {
            self.aggregating = Aggregating::Sorting {
                columns: meant(columns, narrow),
                aggregate: contains_aggregate(filter),
                keys: Vec::new(),
                lost: if narrow { before } else { Vec::new() },
            };
        }
        let filter = filter.map(|f| self.condition(f)).transpose();
        self.aggregating = Aggregating::Refused;
        let filter = filter?;
        self.scope.row = outputs.clone();
        self.scope.record = None;
        let projection = Projection {
            items,
            aggregation: bound.aggregation,
            distinct: projection.distinct,
            order,
            skip,
            limit,
            filter,
        };
        Ok((projection, outputs))
    }

    /// The scope before with the columns in front.
    fn shadowed(&self, outputs: &[Entry]) -> Vec<Entry> {
        let mut wide = self.scope.row.clone();
        wide.extend(outputs.iter().cloned());
        wide
    }

    /// The name of the column of an item.
    fn output_name(&self, item: &ast::ProjectionItem) -> Arc<str> {
        match (&item.alias, &item.expr.kind) {
            (Some(alias), _) => alias.text.clone(),
            (None, ExprKind::Variable(name)) if self.named_number(&item.expr).is_none() => {
                name.text.clone()
            }
            (None, ExprKind::MapProjection { base, .. }) => base.text.clone(),
            (None, _) => item.expr.span.slice(self.text).trim().into(),
        }
    }

    /// Names of variables that are not among those that `*` stands for: an item beside it gives the
    /// name to another value.
    fn replaced(&self, projection: &ast::Projection) -> HashSet<Arc<str>> {
        let mut names = HashSet::new();
        if projection.star.is_none() {
            return names;
        }
        for item in &projection.items {
            let name = self.output_name(item);
            let is_itself = matches!(&item.expr.kind, ExprKind::Variable(of) if of.text == name);
            if !is_itself {
                names.insert(name);
            }
        }
        names
    }

    fn star(
        &mut self,
        span: Span,
        is_return: bool,
        items: &mut Vec<(VarId, Expr)>,
        outputs: &mut Vec<Entry>,
    ) -> Result<()> {
        if self.scope.row.is_empty() && is_return {
            let message = "`*` stands for all variables, and there are none";
            return Err(self.error(span, Code::NoVariablesInScope, message));
        }
        let mut visible = self.scope.row.clone();
        if is_return {
            // Columns of a source stand in its order, before what has none.
            let (loaded, mut others): (Vec<Entry>, Vec<Entry>) = visible
                .into_iter()
                .partition(|e| self.loaded.contains(&e.var));
            others.sort_by(|a, b| a.name.cmp(&b.name));
            visible = loaded.into_iter().chain(others).collect();
        }
        for entry in visible {
            self.uses.push(entry.var);
            if !items.iter().any(|(known, _)| *known == entry.var) {
                items.push((entry.var, Expr::Variable(entry.var)));
            }
            outputs.push(entry);
        }
        Ok(())
    }

    fn items(
        &mut self,
        projection: &ast::Projection,
        aggregated: bool,
        replaced: &HashSet<Arc<str>>,
    ) -> Result<BoundItems> {
        let mut values: Vec<Option<(Expr, Type)>> = vec![None; projection.items.len()];
        if !aggregated {
            for (item, value) in projection.items.iter().zip(&mut values) {
                *value = Some(self.expression(&item.expr)?);
            }
            return Ok(BoundItems {
                values: values.into_iter().flatten().collect(),
                aggregation: None,
            });
        }
        let mut aggregation = Aggregation::default();
        let mut simple = Vec::new();
        for (item, value) in projection.items.iter().zip(&mut values) {
            if contains_aggregate(&item.expr) {
                continue;
            }
            let (expr, ty) = self.expression(&item.expr)?;
            let var = match &expr {
                Expr::Variable(var) if !self.is_exists(*var) => *var,
                _ => {
                    let name = item
                        .alias
                        .as_ref()
                        .map_or(item.expr.span.slice(self.text), |alias| &alias.text);
                    let name: Arc<str> = name.into();
                    self.new_variable(&name, kind_of(ty))
                }
            };
            if is_simple(&item.expr) {
                simple.push((item.expr.clone(), var, ty));
            }
            if !aggregation.keys.iter().any(|(known, _)| *known == var) {
                aggregation.keys.push((var, expr));
            }
            *value = Some((Expr::Variable(var), ty));
        }
        if projection.star.is_some() {
            let mut row = self.scope.row.clone();
            row.retain(|entry| !replaced.contains(&entry.name));
            for entry in row {
                let name = ast::Name {
                    text: entry.name.clone(),
                    span: Span::default(),
                };
                let expr = ast::Expr {
                    kind: ExprKind::Variable(name),
                    span: Span::default(),
                    height: 1,
                };
                simple.push((expr, entry.var, entry.ty));
            }
        }
        self.aggregating = Aggregating::Collected {
            calls: Vec::new(),
            keys: simple,
        };
        for (item, value) in projection.items.iter().zip(&mut values) {
            if value.is_none() {
                match self.expression(&item.expr) {
                    Ok(bound) => *value = Some(bound),
                    Err(error) => {
                        self.aggregating = Aggregating::Refused;
                        return Err(error);
                    }
                }
            }
        }
        if let Aggregating::Collected { calls, .. } =
            std::mem::replace(&mut self.aggregating, Aggregating::Refused)
        {
            aggregation.aggregates = calls;
        }
        Ok(BoundItems {
            values: values.into_iter().flatten().collect(),
            aggregation: Some(aggregation),
        })
    }

    /// What an expression means through grouping: a key, a column, or an error; `None`: nothing
    /// special.
    pub(super) fn grouped(&mut self, expr: &ast::Expr) -> Result<Option<(Expr, Type)>> {
        match &self.aggregating {
            Aggregating::Refused => Ok(None),
            Aggregating::Collected { keys, .. } => {
                if let Some((_, var, ty)) = keys.iter().find(|(key, _, _)| key == expr) {
                    return Ok(Some((Expr::Variable(*var), *ty)));
                }
                let ExprKind::Variable(name) = &expr.kind else {
                    return Ok(None);
                };
                let (var, ty) = self.resolve(name)?;
                if self.scope.is_local(var) || self.scope.is_constant(var) {
                    return Ok(Some((Expr::Variable(var), ty)));
                }
                Err(self.ambiguous(name))
            }
            Aggregating::Sorting {
                columns, aggregate, ..
            } => {
                // A name of a column is that column, also where it was another variable before.
                let is_column = |name: &ast::Name| {
                    let mut columns = self.scope.row.iter();
                    columns.any(|entry| *entry.name == *name.text)
                };
                if matches!(&expr.kind, ExprKind::Variable(name) if is_column(name)) {
                    return Ok(None);
                }
                let locals = &self.scope.locals;
                let found = columns.iter().find(|(column, _, _)| {
                    column == expr
                        && (!aggregate || is_simple(column) || contains_aggregate(column))
                        && !locals.iter().any(|local| reads(expr, &local.name))
                });
                if let Some((_, var, ty)) = found {
                    return Ok(Some((Expr::Variable(*var), *ty)));
                }
                self.sorted_leaf(expr)
            }
        }
    }

    pub(super) fn ambiguous(&self, name: &ast::Name) -> Diagnostic {
        let message = format!(
            "`{}` is used next to an aggregate but is not a grouping key",
            name.text
        );
        self.error(name.span, Code::AmbiguousAggregationExpression, message)
            .with_hint("make it an item of its own, or compute it in an earlier WITH")
    }

    fn lost(&self, name: &ast::Name) -> Diagnostic {
        let message = format!(
            "variable `{}` is not defined here: after DISTINCT or aggregation only the columns are",
            name.text
        );
        self.error(name.span, Code::UndefinedVariable, message)
            .with_hint("make what is asked for a column, or compute and sort in a WITH of its own")
    }

    /// A variable or aggregate in `ORDER BY` that is not a column.
    fn sorted_leaf(&mut self, expr: &ast::Expr) -> Result<Option<(Expr, Type)>> {
        let Aggregating::Sorting {
            aggregate,
            keys,
            lost,
            ..
        } = &self.aggregating
        else {
            return Ok(None);
        };
        match &expr.kind {
            ExprKind::Variable(name) if self.scope.find(&name.text).is_none() => {
                if *aggregate && keys.iter().any(|key| reads(key, &name.text)) {
                    return Err(self.ambiguous(name));
                }
                if lost.contains(&name.text) {
                    return Err(self.lost(name));
                }
                Ok(None)
            }
            ExprKind::Call {
                name, star, args, ..
            } if aggregate_function(&name.text, *star).is_some() => {
                // Inside an aggregate nothing is ambiguous: what is not a column is not there.
                if let Aggregating::Sorting { aggregate, .. } = &mut self.aggregating {
                    *aggregate = false;
                }
                for arg in args {
                    self.expression(arg)?;
                }
                let message = "an aggregate in ORDER BY or WHERE must be one of the columns";
                Err(self.error(expr.span, Code::InvalidAggregation, message))
            }
            _ => Ok(None),
        }
    }

    fn order(
        &mut self,
        projection: &ast::Projection,
        aggregated: bool,
        narrow: bool,
        outputs: &[Entry],
        columns: &[(ast::Expr, VarId, Type)],
    ) -> Result<Vec<(Expr, SortOrder)>> {
        let mut order = Vec::with_capacity(projection.order.len());
        let wide = self.shadowed(outputs);
        let before = std::mem::replace(
            &mut self.scope.row,
            if narrow { outputs.to_vec() } else { wide },
        );
        let keys: Vec<ast::Expr> = columns
            .iter()
            .filter(|(expr, _, _)| !contains_aggregate(expr))
            .map(|(expr, _, _)| expr.clone())
            .collect();
        for (expr, direction) in &projection.order {
            let aggregate = contains_aggregate(expr);
            if aggregate && !aggregated {
                self.scope.row = before;
                let message = "an aggregate in ORDER BY needs aggregation in the same clause";
                return Err(self.error(expr.span, Code::InvalidAggregation, message));
            }
            let lost = before.iter().filter(|_| narrow);
            self.aggregating = Aggregating::Sorting {
                columns: meant(columns.to_vec(), narrow),
                aggregate,
                keys: keys.clone(),
                lost: lost.map(|e| e.name.clone()).collect(),
            };
            let bound = self.expression(expr);
            self.aggregating = Aggregating::Refused;
            match bound {
                Ok((bound, _)) => order.push((self.sort_key(expr, bound), *direction)),
                Err(error) => {
                    self.scope.row = before;
                    return Err(error);
                }
            }
        }
        self.scope.row = before;
        Ok(order)
    }

    /// A time in seconds: constant, a number.
    pub(super) fn seconds(&mut self, expr: &ast::Expr) -> Result<Expr> {
        let before = std::mem::take(&mut self.scope);
        self.constant_only = Some("a time");
        let bound = self.expression(expr);
        self.constant_only = None;
        self.scope = before;
        let (bound, ty) = bound?;
        self.require(ty, TypeSet::NUMBER, expr.span, "a time in seconds")?;
        Ok(bound)
    }

    /// `SKIP`, `LIMIT` and the like: constant, an integer, not negative.
    pub(super) fn row_count(
        &mut self,
        expr: Option<&ast::Expr>,
        what: &'static str,
    ) -> Result<Option<Expr>> {
        let Some(expr) = expr else { return Ok(None) };
        let before = std::mem::take(&mut self.scope);
        self.constant_only = Some(what);
        let bound = self.expression(expr);
        self.constant_only = None;
        self.scope = before;
        let (bound, ty) = bound?;
        self.expect_parameter(expr, TypeSet::INTEGER, what);
        let is_null = matches!(bound, Expr::Literal(Literal::Null));
        if is_null || !ty.set.may_be(TypeSet::INTEGER) {
            let message = format!("{what} needs an integer, this is {}", ty.set);
            return Err(self.error(expr.span, Code::InvalidArgumentType, message));
        }
        if matches!(bound, Expr::Literal(Literal::Integer(count)) if count < 0) {
            let message = format!("{what} cannot be negative");
            return Err(self.error(expr.span, Code::NegativeIntegerArgument, message));
        }
        Ok(Some(bound))
    }
}

struct BoundItems {
    values: Vec<(Expr, Type)>,
    aggregation: Option<Aggregation>,
}
