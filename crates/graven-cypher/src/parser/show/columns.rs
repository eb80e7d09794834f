//! The columns of a command: what `YIELD`, `WHERE` and `RETURN` make of the call behind it.

use super::FIRST_COLUMNS;
use crate::ast::{
    Clause, ClauseKind, Expr, ExprKind, Name, ProcedureCall, Projection, ProjectionItem, Yields,
};
use crate::parser::{Parser, Result};
use crate::plan::expression::BinaryOp;
use crate::token::Span;

impl Parser<'_> {
    /// The call, and what `YIELD`, `WHERE` and `RETURN` make of it.
    pub(super) fn shown(
        &mut self,
        (name, first): (Name, bool),
        args: Vec<Expr>,
        only: Option<Expr>,
        span: Span,
    ) -> Result<Vec<Clause>> {
        let mut yields = first_columns(&name);
        let mut explicit = false;
        let mut shown = self.named(&yields, span)?;
        let (mut bounds, mut renamed) = (None, None);
        if self.eat_word("YIELD") {
            explicit = true;
            yields = self.yields()?;
            shown = self.named(&yields, span)?;
            let behind = match &yields {
                // The condition reads a column that need not be among those taken, so that they are
                // taken behind it.
                Yields::Items(items) if only.is_some() => {
                    Some((self.taken(items, span)?, Yields::None))
                }
                // Order and condition know a column by both of its names.
                Yields::Items(items) if items.iter().any(|(_, alias)| alias.is_some()) => {
                    Some((self.taken(items, span)?, first_names(items)))
                }
                _ => None,
            };
            bounds = match behind {
                Some((taken, of_call)) => {
                    let written = std::mem::replace(&mut yields, of_call);
                    renamed = only.is_none().then_some(written);
                    let bounded = self.projection_end(taken.clone())?;
                    bounded.or(Some(taken))
                }
                None => self.projection_end(shown.clone())?,
            };
        }
        let mut filter = self.where_clause()?;
        if !first || self.at_command() {
            if !explicit {
                return Err(self.unexpected("`YIELD`, as several commands are one statement"));
            }
            let yields = renamed.unwrap_or(yields);
            return self.composed((name, args, yields), (only, filter, bounds), span);
        }
        let mut before = None;
        match (only, bounds.is_some()) {
            (Some(only), true) => before = Some(only),
            (Some(only), false) => {
                filter = Some(match filter {
                    Some(filter) => self.binary(BinaryOp::And, only, filter)?,
                    None => only,
                });
            }
            (None, _) => {}
        }
        let call = ProcedureCall {
            name,
            args: Some(args),
            yields,
            filter,
            shown: true,
            optional: false,
        };
        let clause = |kind| Clause { kind, span };
        if call.filter.is_some()
            && let Some(projection) = bounds
        {
            // The bounds are for the rows that are yielded; the condition comes after them.
            let filter = call.filter.clone();
            let call = ProcedureCall {
                filter: before,
                ..call
            };
            let with = ClauseKind::With { projection, filter };
            let end = match self.is_word("RETURN") {
                true => self.clause()?,
                false => Some(clause(ClauseKind::Return(shown))),
            };
            return Ok([clause(ClauseKind::Call(call)), clause(with)]
                .into_iter()
                .chain(end)
                .collect());
        }
        let call = ProcedureCall {
            filter: call.filter.or(before),
            ..call
        };
        let mut clauses = vec![clause(ClauseKind::Call(call))];
        if explicit && self.is_word("RETURN") {
            clauses.extend(bounds.map(|projection| {
                clause(ClauseKind::With {
                    projection,
                    filter: None,
                })
            }));
            clauses.extend(self.clause()?);
        } else {
            clauses.extend(bounds.map(|projection| clause(ClauseKind::Return(projection))));
        }
        Ok(clauses)
    }

    /// A command before or behind another one: its columns come to those that are there.
    fn composed(
        &mut self,
        (name, args, yields): (Name, Vec<Expr>, Yields),
        (only, filter, bounds): (Option<Expr>, Option<Expr>, Option<Projection>),
        span: Span,
    ) -> Result<Vec<Clause>> {
        let clause = |kind| Clause { kind, span };
        let mut clauses = vec![clause(ClauseKind::Call(ProcedureCall {
            name,
            args: Some(args),
            yields,
            filter: only,
            shown: true,
            optional: false,
        }))];
        if filter.is_some() || bounds.is_some() {
            let all = Projection::of_all(span);
            let projection = Projection {
                star: all.star,
                items: Vec::new(),
                ..bounds.unwrap_or(all)
            };
            clauses.push(clause(ClauseKind::With { projection, filter }));
        }
        if self.is_word("RETURN") {
            clauses.extend(self.clause()?);
        }
        Ok(clauses)
    }

    /// What is yielded under its new names, in the order in which it is named.
    fn named(&mut self, yields: &Yields, span: Span) -> Result<Projection> {
        let Yields::Items(items) = yields else {
            return Ok(Projection::of_all(span));
        };
        let named = |(column, alias): &(Name, Option<Name>)| {
            let name = alias.as_ref().unwrap_or(column);
            (name.clone(), None)
        };
        let named: Vec<_> = items.iter().map(named).collect();
        self.taken(&named, span)
    }

    /// The columns named behind `YIELD`, as a projection.
    fn taken(&mut self, items: &[(Name, Option<Name>)], span: Span) -> Result<Projection> {
        let mut projection = Projection {
            star: None,
            ..Projection::of_all(span)
        };
        for (column, alias) in items {
            let expr = self.make(ExprKind::Variable(column.clone()), column.span)?;
            let alias = alias.clone();
            projection.items.push(ProjectionItem {
                expr,
                alias,
                spread: None,
            });
        }
        Ok(projection)
    }
}

/// The columns under the names that the command gives them, each once.
fn first_names(items: &[(Name, Option<Name>)]) -> Yields {
    let mut names: Vec<(Name, Option<Name>)> = Vec::new();
    for (column, _) in items {
        if !names.iter().any(|(name, _)| name.text == column.text) {
            names.push((column.clone(), None));
        }
    }
    Yields::Items(names)
}

/// What is yielded where the statement does not say.
fn first_columns(procedure: &Name) -> Yields {
    let mut all = FIRST_COLUMNS.iter();
    match all.find(|(name, _)| *name == &*procedure.text) {
        Some((_, columns)) => {
            let column = |text: &&str| Name {
                text: (*text).into(),
                span: procedure.span,
            };
            Yields::Items(columns.iter().map(|text| (column(text), None)).collect())
        }
        None => Yields::None,
    }
}
