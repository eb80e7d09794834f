//! `CREATE MACRO name(a, b := 3) AS expression` and `DROP MACRO name`, and arguments by name.
//!
//! # How it works
//! The expression and the defaults are parsed for their errors and kept as text. Names of macros
//! are in lower case, as functions are called in any case.
//!
//! # Cost
//! Linear in the text.

use std::sync::Arc;

use super::kuzu::is_placeable;
use super::{Parser, Result};
use crate::ast::{Expr, ExprKind, Name};
use crate::diagnostic::Code;
use crate::functions;
use crate::plan::macros::{Macro, MacroCommand};
use crate::token::TokenKind;

impl Parser<'_> {
    /// A statement about macros, if one begins here.
    pub(super) fn macro_statement(&mut self) -> Result<Option<MacroCommand>> {
        let creates = self.is_word("CREATE");
        if !(creates || self.is_word("DROP")) || !self.is_word_at(1, "MACRO") {
            return Ok(None);
        }
        self.next += 2;
        if !creates {
            let lenient = self.if_exists()?;
            let name = self.name("a macro")?.text.to_ascii_lowercase().into();
            return Ok(Some(MacroCommand::Drop { name, lenient }));
        }
        let lenient = self.if_not_exists()?;
        let name = self.name("a macro")?;
        // Whether `cost(e)` is a call depends on the paths before it.
        let is_cost = name.text.eq_ignore_ascii_case("cost");
        if is_cost || !crate::is_free_function_name(&name.text) {
            let message = format!("`{}(...)` is something of the language already", name.text);
            return Err(self
                .error(name.span, Code::InvalidArgumentValue, message)
                .with_hint("choose another name for the macro"));
        }
        self.expect(TokenKind::OpenParen, "`(`")?;
        let mut parameters: Vec<(Arc<str>, Option<Arc<str>>)> = Vec::new();
        while self.kind() != TokenKind::CloseParen {
            let parameter = self.name("a parameter or `)`")?;
            let default = match self.eat(TokenKind::Colon) {
                true => {
                    self.expect(TokenKind::Equal, "`:=`")?;
                    let value = self.with_bar(false, Self::expression)?;
                    self.check_macro(&value, &[])?;
                    Some(value.span.slice(self.text).trim().into())
                }
                false => None,
            };
            let wrong = if parameters.iter().any(|(known, _)| *known == parameter.text) {
                Some("is there twice")
            } else if default.is_none() && parameters.last().is_some_and(|(_, it)| it.is_some()) {
                Some("needs a default, since the one before it has one")
            } else {
                None
            };
            if let Some(wrong) = wrong {
                let message = format!("the parameter {} of a macro {wrong}", parameter.text);
                return Err(self.error(parameter.span, Code::UnexpectedSyntax, message));
            }
            parameters.push((parameter.text, default));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        self.expect_word("AS")?;
        let body = self.expression()?;
        if !is_placeable(&body) {
            let message = "a macro holds no pattern, subquery or map projection in this build";
            return Err(self.error(body.span, Code::FeatureNotAvailable, message));
        }
        let names: Vec<Arc<str>> = parameters.iter().map(|(name, _)| name.clone()).collect();
        self.check_macro(&body, &names)?;
        let made = Macro {
            name: name.text.to_ascii_lowercase().into(),
            parameters,
            body: body.span.slice(self.text).trim().into(),
        };
        Ok(Some(MacroCommand::Create { made, lenient }))
    }

    /// The arguments of a call, up to and with `)`; some may have names, as in `m(1, b := 2)`.
    pub(super) fn arguments_by_name(&mut self) -> Result<Vec<Expr>> {
        let mut args = Vec::new();
        if self.eat(TokenKind::CloseParen) {
            return Ok(args);
        }
        loop {
            let named = self.peek(1) == TokenKind::Colon && self.peek(2) == TokenKind::Equal;
            let name = match named && self.at_name() {
                true => Some(self.name("a parameter")?),
                false => None,
            };
            self.next += if name.is_some() { 2 } else { 0 };
            let mut arg = self.with_bar(false, Self::expression)?;
            if let Some(name) = name {
                let (span, value) = (name.span.to(arg.span), Box::new(arg));
                arg = self.make(ExprKind::Named { name, value }, span)?;
            }
            args.push(arg);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        Ok(args)
    }

    /// Refuses what a part of a macro may not hold: names other than these, parameters of
    /// statements and aggregates, which would be those of each call.
    fn check_macro(&self, part: &Expr, names: &[Arc<str>]) -> Result<()> {
        let refused = |name: &Name, message: String| {
            let error = self.error(name.span, Code::InvalidArgumentValue, message);
            Err(error.with_hint("make it a parameter of the macro, and give it with each call"))
        };
        // The names are known within `inner`, and the rest is looked at with those around it.
        let with = |inner: &[&Expr], more: &[&Name], outer: &[&Expr]| {
            let mut all = names.to_vec();
            all.extend(more.iter().map(|name| name.text.clone()));
            outer
                .iter()
                .try_for_each(|it| self.check_macro(it, names))?;
            inner.iter().try_for_each(|it| self.check_macro(it, &all))
        };
        match &part.kind {
            ExprKind::Variable(name) if !names.contains(&name.text) => {
                let message = format!("`{}` is no parameter of the macro", name.text);
                refused(name, message)
            }
            ExprKind::Parameter(name) => {
                let message = format!("a macro cannot read the parameter ${}", name.text);
                refused(name, message)
            }
            ExprKind::ListComprehension {
                name,
                list,
                filter,
                map,
            } => {
                let inner: Vec<&Expr> = filter.iter().chain(map).map(|it| &**it).collect();
                with(&inner, &[name], &[list])
            }
            ExprKind::Quantifier {
                name,
                list,
                predicate,
                ..
            } => with(&[predicate], &[name], &[list]),
            ExprKind::Reduce {
                accumulator,
                init,
                name,
                list,
                step,
            } => with(&[step], &[accumulator, name], &[init, list]),
            ExprKind::Call {
                name, star, args, ..
            } => {
                if *star || functions::aggregate(&name.text).is_some() {
                    let message = format!("a macro holds no aggregate, as `{}`", name.text);
                    return refused(name, message);
                }
                args.iter().try_for_each(|it| self.check_macro(it, names))
            }
            _ => {
                let mut all = Ok(());
                part.children(&mut |child| {
                    if all.is_ok() {
                        all = self.check_macro(child, names);
                    }
                });
                all
            }
        }
    }
}
