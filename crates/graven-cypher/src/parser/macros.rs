//! `CREATE MACRO name(a, b := 3) AS expression` and `DROP MACRO name`.
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
        let mut aggregates = functions::AGGREGATES.iter();
        if functions::find(&name.text).is_some()
            || aggregates.any(|known| known.eq_ignore_ascii_case(&name.text))
            || super::is_function_name(&name.text)
        {
            let message = format!("`{}` is a function of the language", name.text);
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
        let made = Macro {
            name: name.text.to_ascii_lowercase().into(),
            parameters,
            body: body.span.slice(self.text).trim().into(),
        };
        Ok(Some(MacroCommand::Create { made, lenient }))
    }
}
