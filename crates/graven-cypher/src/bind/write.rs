//! Writing clauses: what is created, merged, set, removed and deleted; `FOREACH`.
//!
//! # How it works
//! Each clause becomes a step: a creation ([`create`]), a merge ([`merge`]), changes of properties
//! and labels ([`set`]), a deletion, or a loop.

mod create;
mod merge;
mod set;

use super::graph::{Branch, Step};
use super::{Binder, Result};
use crate::ast::{self, Clause, ClauseKind, ExprKind, Name};
use crate::diagnostic::Code;
use crate::plan::VarId;
use crate::plan::expression::{Expr, Literal};
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    pub(super) fn write_clause(&mut self, clause: &Clause, steps: &mut Vec<Step>) -> Result<()> {
        match &clause.kind {
            ClauseKind::Create { patterns } => self.create(patterns, steps),
            ClauseKind::Merge {
                pattern,
                on_create,
                on_match,
            } => {
                let step = self.merge_step(pattern, on_create, on_match)?;
                steps.push(step);
                Ok(())
            }
            ClauseKind::Set(items) => {
                let from = self.here();
                let items = self.set_items(items)?;
                let once = Expr::Literal(Literal::Boolean(true));
                steps.push(self.setting(items, once, from));
                Ok(())
            }
            ClauseKind::Remove(items) => {
                let from = self.here();
                let items = self.remove_items(items)?;
                let once = Expr::Literal(Literal::Boolean(true));
                steps.push(self.setting(items, once, from));
                Ok(())
            }
            ClauseKind::Delete { detach, targets } => {
                let at = targets.iter().map(|target| target.span);
                let at = at.reduce(Span::to).unwrap_or(clause.span);
                let targets = self.delete_targets(targets)?;
                let detach = *detach;
                steps.push(Step::Delete {
                    targets,
                    detach,
                    at,
                });
                Ok(())
            }
            ClauseKind::Foreach {
                name,
                list,
                clauses,
            } => {
                let step = self.foreach(name, list, clauses)?;
                steps.push(step);
                Ok(())
            }
            _ => unreachable!("only writing clauses"),
        }
    }

    /// What has been used and declared so far.
    pub(super) fn here(&self) -> (usize, usize) {
        (self.uses.len(), self.variables.len())
    }

    /// Variables from before `from` that were used since.
    pub(super) fn used_since(&self, from: (usize, usize)) -> Vec<VarId> {
        let mut used = self.uses[from.0..].to_vec();
        used.retain(|var| (var.0 as usize) < from.1);
        used.sort_unstable();
        used.dedup();
        used
    }

    /// `{...}` or `$parameter` as the properties of something new.
    pub(super) fn property_map(&mut self, properties: &ast::Expr) -> Result<Expr> {
        let (expr, ty) = self.expression(properties)?;
        self.require_of(properties, ty, TypeSet::MAP, "the properties")?;
        self.writes_keys(&expr);
        Ok(expr)
    }

    fn delete_targets(&mut self, targets: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(targets.len());
        for target in targets {
            if matches!(target.kind, ExprKind::Labels { .. }) {
                let message = "DELETE takes nodes, relationships and paths, not labels or types";
                return Err(self
                    .error(target.span, Code::InvalidDelete, message)
                    .with_hint("a label is taken away by `REMOVE n:Label`"));
            }
            let (expr, ty) = self.expression(target)?;
            let wanted = TypeSet::ENTITY.or(TypeSet::PATH);
            // What is wrong with a map is told when it is to be deleted.
            self.expect_parameter(target, wanted.or(TypeSet::MAP), "what is deleted");
            self.require(ty, wanted, target.span, "what is deleted")?;
            bound.push(expr);
        }
        Ok(bound)
    }

    /// A list with a subquery is computed when its row is due, as the body of another `FOREACH`:
    /// what the subquery finds is what the rows before have left.
    fn foreach(&mut self, name: &Name, list: &ast::Expr, clauses: &[Clause]) -> Result<Step> {
        let place = list.span;
        let from = self.here();
        let (list, ty) = self.expression(list)?;
        let element = if ty.set.is(TypeSet::LIST) {
            Type::of(ty.element)
        } else {
            Type::ANY
        };
        let mark = self.enter_subquery();
        let var = self.declare(name, super::kind_of(element), element);
        let mut steps = Vec::new();
        let mut result = Ok(());
        for clause in clauses {
            self.clause_span = clause.span;
            result = self.write_clause(clause, &mut steps);
            if result.is_err() {
                break;
            }
        }
        let imports = self.leave_subquery(mark);
        result?;
        self.uses.extend(imports.iter().copied());
        let outer =
            (self.waits_for_subquery([&list])).then(|| self.imports_with(list.variables(), from));
        let step = Step::Foreach {
            list,
            var,
            body: Branch {
                steps,
                columns: Vec::new(),
            },
            imports,
            at: place,
        };
        Ok(match outer {
            Some(imports) => self.done_once(vec![step], set::one_item(), imports, place),
            None => step,
        })
    }
}
