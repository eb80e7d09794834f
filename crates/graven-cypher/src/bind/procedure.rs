//! `CALL procedure(...) YIELD ...`: arguments and result columns against what the schema knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::graph::Step;
use super::{Binder, Columns, Result, kind_of};
use crate::ast::{self, Name, Yields};
use crate::diagnostic::{Code, closest};
use crate::elsewhere;
use crate::plan::{Expr, VarId};
use crate::schema_view::ProcedureView;
use crate::search;
use crate::types::Type;

impl Binder<'_> {
    pub(super) fn procedure(
        &mut self,
        call: &ast::ProcedureCall,
        standalone: bool,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Columns>> {
        let Some(view) = self.schema.procedure(&call.name.text) else {
            let kind = search::kind_of_procedure(&call.name.text);
            let why = kind.map_or(String::new(), |kind| {
                format!(": {kind} indexes are not available")
            });
            let message = format!("there is no procedure `{}`{why}", call.name.text);
            let error = self.error(call.name.span, Code::ProcedureNotFound, message);
            let known = self.schema.procedures();
            let name = &call.name.text;
            let hint = match (kind, elsewhere::instead_of(name)) {
                (Some(kind), _) => Some(search::instead_of(kind).to_owned()),
                (None, Some(instead)) => Some(instead.to_owned()),
                _ => closest(name, known.iter().map(String::as_str))
                    .map(|near| format!("did you mean `{near}`?")),
            };
            return Err(match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            });
        };
        if call.optional {
            self.check_optional(call, &view)?;
        }
        let from = self.here();
        let args = self.procedure_arguments(call, &view, standalone)?;
        // What a subquery in them finds is what the rows before have left.
        let by_row = view.writes && self.waits_for_subquery(&args);
        let yields = self.procedure_yields(call, &view, standalone)?;
        if call.shown {
            // `*` has the columns of a command in the order in which it gives them.
            self.loaded.extend(yields.iter().map(|(_, var)| *var));
        }
        let filter = call
            .filter
            .as_ref()
            .map(|f| self.condition(f))
            .transpose()?;
        let columns: Columns = yields
            .iter()
            .map(|(_, var)| (self.variables[var.0 as usize].name.clone(), *var))
            .collect();
        self.differing += 1;
        let read = args.iter().chain(&filter).flat_map(Expr::variables);
        let mut read: BTreeSet<VarId> = read.collect();
        read.retain(|var| !yields.iter().any(|(_, own)| own == var));
        let imports = by_row.then(|| self.imports_with(read, from));
        let step = Step::Procedure {
            name: call.name.text.clone(),
            args,
            yields,
            filter,
            writes: view.writes,
            at: call.name.span,
        };
        steps.push(match imports {
            Some(imports) => Step::inner(vec![step], Columns::clone(&columns), imports, false),
            None => step,
        });
        Ok(standalone.then_some(columns))
    }

    /// `OPTIONAL CALL` without names of columns: it changes nothing where there are none.
    fn check_optional(&mut self, call: &ast::ProcedureCall, view: &ProcedureView) -> Result<()> {
        if !view.columns.is_empty() {
            let message = "`OPTIONAL CALL` of a procedure needs `YIELD` with the result columns";
            return Err(self
                .error(call.name.span, Code::UnexpectedSyntax, message)
                .with_hint("add `YIELD name, ...`"));
        }
        let message = format!(
            "OPTIONAL changes nothing here: `{}` returns no columns",
            call.name.text
        );
        self.notice_at(call.name.span, "RedundantOptionalProcedure", &message);
        Ok(())
    }

    pub(super) fn procedure_arguments(
        &mut self,
        call: &ast::ProcedureCall,
        view: &ProcedureView,
        standalone: bool,
    ) -> Result<Vec<Expr>> {
        let Some(given) = &call.args else {
            if !standalone {
                let message = "arguments must be given in parentheses where the call is not the \
                    whole statement";
                return Err(self.error(call.name.span, Code::InvalidArgumentPassingMode, message));
            }
            let mut args = Vec::new();
            let needed = view.arguments.len() - view.optional;
            for (at, (name, _)) in view.arguments.iter().enumerate() {
                if at >= needed && (self.explains || !self.params.allows(name)) {
                    // What may be left out is left out from here on.
                    break;
                }
                if !self.allows_parameter(name) {
                    let message = format!(
                        "parameter `${name}`, an argument of `{}`, was not given",
                        call.name.text
                    );
                    return Err(self.error(call.name.span, Code::MissingParameter, message));
                }
                args.push(Expr::Parameter(name.as_str().into(), call.name.span));
            }
            return Ok(args);
        };
        let most = view.arguments.len();
        if given.len() > most || given.len() + view.optional < most {
            let message = format!(
                "`{}` takes {most} argument(s), got {}",
                call.name.text,
                given.len()
            );
            return Err(self.error(call.name.span, Code::InvalidNumberOfArguments, message));
        }
        let mut args = Vec::new();
        for (arg, (name, wanted)) in given.iter().zip(&view.arguments) {
            let (bound, ty) = self.expression(arg)?;
            let what = format!("argument `{name}` of `{}`", call.name.text);
            self.require_of(arg, ty, *wanted, &what)?;
            args.push(bound);
        }
        Ok(args)
    }

    pub(super) fn procedure_yields(
        &mut self,
        call: &ast::ProcedureCall,
        view: &ProcedureView,
        standalone: bool,
    ) -> Result<Vec<(Arc<str>, VarId)>> {
        let named: Vec<(Name, Name)> = match &call.yields {
            Yields::Items(items) => items
                .iter()
                .map(|(column, alias)| {
                    (
                        column.clone(),
                        alias.clone().unwrap_or_else(|| column.clone()),
                    )
                })
                .collect(),
            Yields::Star(span) if !standalone && !call.shown => {
                let message = "`YIELD *` is allowed only where the call is the whole statement";
                return Err(self.error(*span, Code::UnexpectedSyntax, message));
            }
            Yields::None if !standalone && !call.shown && !view.columns.is_empty() => {
                let message = format!(
                    "`YIELD` names what a query takes from `{}`: the call is not the whole \
                        statement",
                    call.name.text
                );
                return Err(self.error(call.name.span, Code::UnexpectedSyntax, message));
            }
            Yields::Star(_) | Yields::None => {
                let own = |name: &String| Name {
                    text: name.as_str().into(),
                    span: call.name.span,
                };
                view.columns
                    .iter()
                    .map(|(name, _)| (own(name), own(name)))
                    .collect()
            }
        };
        let mut yields = Vec::new();
        for (column, alias) in named {
            let Some((_, set)) = view.columns.iter().find(|(name, _)| **name == *column.text)
            else {
                // A command such as `SHOW INDEXES` is a call of another name.
                let message = format!(
                    "`{}` has no result column `{}`",
                    call.name.span.slice(self.text),
                    column.text
                );
                return Err(self.error(column.span, Code::UndefinedVariable, message));
            };
            self.check_free(&alias)?;
            let ty = Type::of(*set);
            let var = self.declare(&alias, kind_of(ty), ty);
            yields.push((column.text.clone(), var));
        }
        Ok(yields)
    }
}
