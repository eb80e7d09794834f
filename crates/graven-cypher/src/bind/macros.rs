//! Calls of macros: the expression of the macro over the arguments.
//!
//! # How it works
//! A call becomes nested comprehensions over lists of one element, so that each argument is
//! evaluated once, and the names within the macro and around the call do not meet. The outermost
//! one has all arguments: it alone may have aggregates.
//!
//! # Cost
//! The text of the macro for each call in a statement, up to a bound. The heights of macros within
//! each other are bounded in sum, for each is bound on the stack of those around it.

use std::sync::Arc;

use super::load::{expr, named};
use super::{Binder, Result};
use crate::ast::{self, ClauseKind, ExprKind, Name};
use crate::bind::made::Typed;
use crate::diagnostic::Code;
use crate::parser::{self, HEIGHT_MAX};
use crate::plan::macros::Macro;
use crate::token::Span;

/// Most bytes that the texts of macros written out in a statement may have.
const TEXT_MAX: usize = 1 << 20;
/// Bytes that a call counts beside the text of its macro.
const CALL_BYTES: usize = 64;
/// Stands for the list of all arguments.
const ARGUMENTS: &str = "  arguments";

impl Binder<'_> {
    /// A call of a macro.
    pub(super) fn macro_call(
        &mut self,
        called: &Macro,
        name: &Name,
        args: &[ast::Expr],
    ) -> Result<Typed> {
        let at = name.span;
        let most = called.parameters.len();
        let given = self.macro_arguments(called, at, args)?;
        let absent = called.parameters.iter().zip(&given);
        let defaults = absent.filter_map(|((_, text), given)| match given {
            None => text.as_ref(),
            Some(_) => None,
        });
        let bytes = CALL_BYTES + called.body.len() + defaults.map(|it| it.len()).sum::<usize>();
        self.macro_bytes = self.macro_bytes.saturating_add(bytes);
        if self.macro_bytes > TEXT_MAX {
            let message = format!(
                "the macros of this statement written out, down to `{}`, are longer than {} KiB",
                called.name,
                TEXT_MAX >> 10
            );
            return Err(self
                .error(at, Code::NestingTooDeep, message)
                .with_hint("call fewer macros, or macros that call fewer others"));
        }
        let all = called.parameters.iter().zip(given);
        let given = all.map(|((_, default), given)| match given {
            Some(given) => Ok(given),
            None => self.part_of_macro(default.as_deref().unwrap_or("NULL"), called, at),
        });
        let given: Vec<ast::Expr> = given.collect::<Result<_>>()?;
        let mut whole = self.part_of_macro(&called.body, called, at)?;
        let heights = given.iter().map(|arg| arg.height).max().unwrap_or(0);
        let levels = 3 * (u16::try_from(most).unwrap_or(u16::MAX).saturating_add(1));
        let own = whole.height.saturating_add(levels);
        let around = self.macro_heights;
        let height = heights.saturating_add(own);
        if around.saturating_add(height) > HEIGHT_MAX {
            let message = format!(
                "macros are nested too deeply, down to a call of `{}`",
                called.name
            );
            return Err(self.error(at, Code::NestingTooDeep, message).with_hint(
                "a macro cannot call itself, and long chains of macros must be shorter",
            ));
        }
        if most > 0 {
            for (idx, (parameter, _)) in called.parameters.iter().enumerate().rev() {
                let all = Box::new(expr(ExprKind::Variable(named(ARGUMENTS, at)), at));
                let number = expr(ExprKind::Integer(idx as i64), at);
                let value = ExprKind::Index {
                    base: all,
                    index: Box::new(number),
                };
                whole = with_value(parameter, expr(value, at), whole, at);
            }
            whole = with_value(ARGUMENTS, expr(ExprKind::List(given), at), whole, at);
        }
        whole.height = height;
        self.macro_heights = around.saturating_add(own);
        let bound = self.expression(&whole);
        self.macro_heights = around;
        bound
    }

    /// The arguments in the order of the parameters; none where the default is taken.
    fn macro_arguments(
        &self,
        called: &Macro,
        at: Span,
        args: &[ast::Expr],
    ) -> Result<Vec<Option<ast::Expr>>> {
        let (name, parameters) = (&called.name, &called.parameters);
        let most = parameters.len();
        let least = parameters.iter().filter(|(_, it)| it.is_none()).count();
        let wrong = |span, message| Err(self.error(span, Code::InvalidNumberOfArguments, message));
        if args.len() < least || args.len() > most {
            let wanted = match least == most {
                true => format!("{most}"),
                false => format!("{least} to {most}"),
            };
            let got = args.len();
            let message = format!("the macro `{name}` takes {wanted} argument(s), got {got}");
            return wrong(at, message);
        }
        let mut given: Vec<Option<ast::Expr>> = vec![None; most];
        let mut by_name = false;
        for (place, arg) in args.iter().enumerate() {
            let (place, value) = match &arg.kind {
                ExprKind::Named { name: of, value } => {
                    by_name = true;
                    let mut known = parameters.iter();
                    let Some(place) = known.position(|(known, _)| *known == of.text) else {
                        let message = format!("the macro `{name}` has no parameter `{}`", of.text);
                        return wrong(of.span, message);
                    };
                    (place, &**value)
                }
                _ if by_name => {
                    let message = "an argument without a name stands before those that have one";
                    return wrong(arg.span, message.to_owned());
                }
                _ => (place, arg),
            };
            if given[place].replace(value.clone()).is_some() {
                let of = &parameters[place].0;
                let message = format!("the parameter `{of}` of the macro `{name}` is given twice");
                return wrong(arg.span, message);
            }
        }
        let mut absent = parameters.iter().zip(&given);
        match absent.find(|((_, default), given)| default.is_none() && given.is_none()) {
            Some(((of, _), _)) => {
                let message = format!("the macro `{name}` needs its parameter `{of}`");
                wrong(at, message)
            }
            None => Ok(given),
        }
    }

    /// The expression of a text of the macro; its errors are those of the call.
    fn part_of_macro(&self, text: &str, called: &Macro, at: Span) -> Result<ast::Expr> {
        let told = |what: &str| {
            let message = format!("the macro `{}`, {text}: {what}", called.name);
            self.error(at, Code::UnexpectedSyntax, message)
        };
        let statement = parser::parse(&format!("RETURN ({text}) AS x"));
        let statement = statement.map_err(|error| told(&error.message))?;
        let clause = statement.query.first.clauses.into_iter().next();
        let item = match clause.map(|clause| clause.kind) {
            Some(ClauseKind::Return(mut projection)) => projection.items.pop(),
            _ => None,
        };
        item.map(|mut item| {
            parser::place(&mut item.expr, at);
            item.expr
        })
        .ok_or_else(|| told("it is no expression"))
    }
}

/// `[name IN [value] | body][0]`.
fn with_value(name: &str, value: ast::Expr, body: ast::Expr, at: Span) -> ast::Expr {
    let all = ExprKind::ListComprehension {
        name: Name {
            text: Arc::from(name),
            span: at,
        },
        list: Box::new(expr(ExprKind::List(vec![value]), at)),
        filter: None,
        map: Some(Box::new(body)),
    };
    let only = ExprKind::Index {
        base: Box::new(expr(all, at)),
        index: Box::new(expr(ExprKind::Integer(0), at)),
    };
    expr(only, at)
}
