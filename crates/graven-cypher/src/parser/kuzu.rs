//! Functions of Kuzu, as expressions of this language.
//!
//! # How it works
//! The text of a row of [`FUNCTIONS`] is read when the function is called, and the arguments take
//! their places, so that no plan and no operator knows of it. Functions with lambdas become
//! comprehensions and the like, those of any number of arguments are made by hand.
//!
//! # Cost
//! The text of one row for each call of such a function in a statement.

use super::kuzu_functions::{FUNCTIONS, OF_MAPS, PARTS, UNIT, WITH_LAMBDA};
use super::{Parser, Result};
use crate::ast::{ClauseKind, Expr, ExprKind, Name};
use crate::diagnostic::Code;
use crate::functions::OPENED;
use crate::plan::expression::Quantifier;
use crate::token::{Span, TokenKind};

/// `concat_ws`: the texts of a list with the separator between them; nulls are left out.
const JOINED: &str = "apoc.text.join([`  x` IN $1 WHERE `  x` IS NOT NULL], $0)";

/// The error of lists of numbers that have no common length.
const DIFFERENT_LENGTH: &str = "$0 IS NULL OR $1 IS NULL THEN NULL \
    WHEN size($0) <> size($1) THEN apoc.util.validatePredicate(true, \
    'the two arrays have %d and %d numbers: give two of the same length', [size($0), size($1)])";

impl Parser<'_> {
    /// A call of a function of Kuzu that is read in a way of its own: lambdas, named values.
    pub(super) fn kuzu_form(&mut self) -> Result<Option<ExprKind>> {
        let word = self.token().span.slice(self.text).to_ascii_lowercase();
        if self.peek(1) != TokenKind::OpenParen {
            return Ok(None);
        }
        if word.starts_with("to_") {
            let (before, span) = (self.next, self.token().span);
            self.next += 2;
            if let Some(digits) = self.wide_literal()?
                && self.eat(TokenKind::CloseParen)
            {
                let text = word.into();
                return self.kuzu_function(&Name { text, span }, &mut vec![digits]);
            }
            self.next = before;
            return Ok(None);
        }
        if WITH_LAMBDA.contains(&word.as_str()) {
            self.next += 2;
            return self.with_bar(false, |p| p.lambda(&word)).map(Some);
        }
        let named = self.peek(3) == TokenKind::Colon && self.peek(4) == TokenKind::Equal;
        if named && matches!(word.as_str(), "struct_pack" | "union_value") {
            let start = self.token().span;
            self.next += 2;
            let mut entries = Vec::new();
            loop {
                let name = self.name("a name")?;
                self.expect(TokenKind::Colon, "`:=`")?;
                self.expect(TokenKind::Equal, "`:=`")?;
                entries.push((name, self.with_bar(false, Self::expression)?));
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
            if word == "struct_pack" {
                return Ok(Some(ExprKind::Map(entries)));
            }
            // A union is the value that it holds.
            return match (entries.pop(), entries.is_empty()) {
                (Some((_, value)), true) => Ok(Some(value.kind)),
                _ => {
                    let message = "a union holds one value";
                    let span = start.to(self.last_span());
                    Err(self.error(span, Code::InvalidNumberOfArguments, message))
                }
            };
        }
        Ok(None)
    }

    /// A whole number of more than 64 bits, as the text of its digits: where a cast follows, it has
    /// a type that holds it.
    pub(super) fn wide_literal(&mut self) -> Result<Option<Expr>> {
        let negative = self.kind() == TokenKind::Minus;
        let ahead = usize::from(negative);
        let Some(token) = self.tokens.list.get(self.next + ahead).copied() else {
            return Ok(None);
        };
        let ends = matches!(
            self.peek(ahead + 1),
            TokenKind::CloseParen | TokenKind::Comma
        ) || self.is_word_at(ahead + 1, "AS");
        let is_wide = || match crate::lexer::integer(self.text, token, negative) {
            Ok(_) => false,
            Err(error) => error.code == Code::IntegerOverflow,
        };
        if token.kind != TokenKind::Integer || !ends || !is_wide() {
            return Ok(None);
        }
        let span = self.token().span.to(token.span);
        let digits = token.span.slice(self.text).replace('_', "");
        let digits = format!("{}{digits}", if negative { "-" } else { "" });
        self.next += ahead + 1;
        self.make(ExprKind::String(digits.into()), span).map(Some)
    }

    /// `list, x -> expression)` or `list, (a, b) -> expression)`.
    fn lambda(&mut self, function: &str) -> Result<ExprKind> {
        let list = Box::new(self.expression()?);
        self.expect(TokenKind::Comma, "`,`")?;
        let mut names = Vec::new();
        if self.eat(TokenKind::OpenParen) {
            names.push(self.name("a variable")?);
            while self.eat(TokenKind::Comma) {
                names.push(self.name("a variable")?);
            }
            self.expect(TokenKind::CloseParen, "`,` or `)`")?;
        } else {
            names.push(self.name("a variable and `->`")?);
        }
        let arrow = self.expect(TokenKind::Minus, "`->`")?.span;
        let arrow = arrow.to(self.expect(TokenKind::Greater, "`->`")?.span);
        let body = Box::new(self.expression()?);
        self.expect(TokenKind::CloseParen, "`)`")?;
        let wanted = if function == "list_reduce" { 2 } else { 1 };
        if names.len() != wanted {
            let message = format!("the lambda of {function} has {wanted} variable(s)");
            return Err(self.error(arrow, Code::InvalidNumberOfArguments, message));
        }
        let name = names.remove(0);
        let quantified = |kind, body: Box<Expr>, list| ExprKind::Quantifier {
            kind,
            name: name.clone(),
            list,
            predicate: body,
        };
        Ok(match function {
            "list_transform" => ExprKind::ListComprehension {
                name,
                list,
                filter: None,
                map: Some(body),
            },
            "list_filter" => ExprKind::ListComprehension {
                name,
                list,
                filter: Some(body),
                map: None,
            },
            "list_all" => quantified(Quantifier::All, body, list),
            "list_any" => quantified(Quantifier::Any, body, list),
            "list_none" => quantified(Quantifier::None, body, list),
            "list_single" => quantified(Quantifier::Single, body, list),
            _ => {
                let of = |p: &mut Self, name: &str| {
                    let args = vec![(*list).clone()];
                    p.called(name, args, arrow)
                };
                ExprKind::Reduce {
                    accumulator: name,
                    init: Box::new(of(self, "head")?),
                    name: names.remove(0),
                    list: Box::new(of(self, "tail")?),
                    step: body,
                }
            }
        })
    }

    pub(super) fn called(&mut self, name: &str, args: Vec<Expr>, span: Span) -> Result<Expr> {
        let call = ExprKind::Call {
            name: Name {
                text: name.into(),
                span,
            },
            distinct: false,
            star: false,
            args,
        };
        self.make(call, span)
    }

    /// What a call is, if its function is one of Kuzu.
    pub(super) fn kuzu_function(
        &mut self,
        name: &Name,
        args: &mut Vec<Expr>,
    ) -> Result<Option<ExprKind>> {
        let lower = name.text.to_ascii_lowercase();
        let fewest = 2 * usize::from(lower == "concat_ws");
        if matches!(&*lower, "concat" | "concat_ws") && args.len() >= fewest {
            let mut texts = Vec::with_capacity(args.len());
            for arg in std::mem::take(args) {
                let wanted = self.make(ExprKind::String("STRING".into()), name.span)?;
                texts.push(self.called("cast", vec![arg, wanted], name.span)?);
            }
            if lower == "concat_ws" {
                let separator = texts.remove(0);
                let joined = self.make(ExprKind::List(texts), name.span)?;
                return self
                    .of_template(JOINED, name.span, &[separator, joined])
                    .map(Some);
            }
            let mut whole: Option<Expr> = None;
            for text in texts {
                let empty = self.make(ExprKind::String("".into()), name.span)?;
                let text = self.called("coalesce", vec![text, empty], name.span)?;
                whole = Some(match whole {
                    None => text,
                    Some(left) => {
                        let (left, right) = (Box::new(left), Box::new(text));
                        self.make(ExprKind::Concatenate { left, right }, name.span)?
                    }
                });
            }
            let whole = whole.map(|whole| whole.kind);
            return Ok(Some(whole.unwrap_or_else(|| ExprKind::String("".into()))));
        }
        if matches!(&*lower, "list_creation" | "list_value" | "array_value") {
            return Ok(Some(ExprKind::List(std::mem::take(args))));
        }
        if let "json_array" | "json_object" = &*lower {
            let made = lower.replacen("json_", "graven.json.", 1);
            let call = self.called(&made, std::mem::take(args), name.span)?;
            return Ok(Some(call.kind));
        }
        if lower == "regexp_replace" && args.len() == 4 {
            let option = args.pop().expect("four arguments");
            if !matches!(&option.kind, ExprKind::String(text) if &**text == "g") {
                let message = "the option of regexp_replace is 'g', for all matches";
                return Err(self.error(option.span, Code::InvalidArgumentValue, message));
            }
            let all = "graven.regexpReplace($0, $1, $2, true)";
            return self.of_template(all, name.span, args).map(Some);
        }
        let is_date_part = matches!(&*lower, "date_part" | "datepart") && args.len() == 2;
        if is_date_part && args.iter().any(|arg| arg.kind == ExprKind::Null) {
            return Ok(Some(ExprKind::Null));
        }
        if is_date_part {
            let ExprKind::String(part) = &args[0].kind else {
                let message = "the part of a date is written as a text here";
                return Err(self.error(args[0].span, Code::FeatureNotAvailable, message));
            };
            let mut parts = PARTS.iter();
            let is = |known: &&str| part.eq_ignore_ascii_case(known);
            let Some((_, template)) = parts.find(|(names, _)| names.iter().any(is)) else {
                let message = format!("there is no part {part} of a date");
                return Err(self.error(args[0].span, Code::InvalidArgumentValue, message));
            };
            return self.of_template(template, name.span, args).map(Some);
        }
        if lower == "struct_extract"
            && let [_, key] = &args[..]
            && let ExprKind::String(text) = &key.kind
        {
            let (text, span) = (text.clone(), key.span);
            let base = Box::new(args.remove(0));
            let key = Name { text, span };
            return Ok(Some(ExprKind::Property { base, key }));
        }
        if matches!(&*lower, "date_trunc" | "datetrunc") && args.len() == 2 {
            let unit = self.of_template(UNIT, name.span, &args[..1])?;
            args[0] = self.make(unit, name.span)?;
        }
        if OF_MAPS.contains(&&*lower) && !args.is_empty() {
            let column = args.remove(0);
            args.insert(0, self.called(OPENED, vec![column], name.span)?);
        }
        let same = |known: &str| {
            let of_list = known.strip_prefix("list_");
            known == lower || of_list.is_some() && of_list == lower.strip_prefix("array_")
        };
        let same = |known: &str| same(known) || known == "date_trunc" && lower == "datetrunc";
        let mut all = FUNCTIONS.iter();
        match all.find(|(known, count, _)| *count == args.len() && same(known)) {
            Some((.., template)) => self.of_template(template, name.span, args).map(Some),
            None => Ok(None),
        }
    }

    /// The expression of a text in which parameters stand for the arguments.
    fn of_template(&mut self, template: &str, at: Span, args: &[Expr]) -> Result<ExprKind> {
        let guarded;
        let template = match template.strip_prefix('?') {
            Some(_) if args.iter().any(|arg| arg.kind == ExprKind::Null) => {
                return Ok(ExprKind::Null);
            }
            Some(value) => {
                let nulls: Vec<String> = (0..args.len())
                    .map(|idx| format!("${idx} IS NULL"))
                    .collect();
                let any_null = nulls.join(" OR ");
                guarded = format!("CASE WHEN {any_null} THEN NULL ELSE {value} END");
                &*guarded
            }
            None => match template.strip_prefix('=') {
                Some(value) => {
                    guarded = format!("CASE WHEN {DIFFERENT_LENGTH} ELSE {value} END");
                    &*guarded
                }
                None => template,
            },
        };
        let statement = super::parse(&format!("RETURN {template}"))?;
        self.may_advance |= statement.may_advance;
        let item = match statement.query.first.clauses.into_iter().next() {
            Some(clause) => match clause.kind {
                ClauseKind::Return(mut projection) => projection.items.pop(),
                _ => None,
            },
            None => None,
        };
        let Some(mut item) = item else {
            let message = format!("`{template}` is no expression");
            return Err(self.error(at, Code::UnexpectedSyntax, message));
        };
        // What stands in several places is evaluated once, and the text does not grow by it.
        let variable = |idx: usize| Name {
            text: format!("  argument {idx}").into(),
            span: at,
        };
        let is_plain = |arg: &Expr| {
            use ExprKind as K;
            matches!(
                arg.kind,
                K::Null
                    | K::Boolean(_)
                    | K::Integer(_)
                    | K::Float(_)
                    | K::Variable(_)
                    | K::Parameter(_)
            )
        };
        let mut given = args.to_vec();
        let mut bound = Vec::new();
        for (idx, arg) in given.iter_mut().enumerate() {
            if template.matches(&format!("${idx}")).count() > 1 && !is_plain(arg) {
                let name = self.make(ExprKind::Variable(variable(idx)), at)?;
                bound.push((idx, std::mem::replace(arg, name)));
            }
        }
        fill(&mut item.expr, at, &given);
        if item.expr.height > super::HEIGHT_MAX {
            return Err(self.too_deep());
        }
        self.tallest = self.tallest.max(item.expr.height);
        let mut body = item.expr;
        for (idx, arg) in bound {
            let all = ExprKind::ListComprehension {
                name: variable(idx),
                list: Box::new(self.make(ExprKind::List(vec![arg]), at)?),
                filter: None,
                map: Some(Box::new(body)),
            };
            let only = ExprKind::Index {
                base: Box::new(self.make(all, at)?),
                index: Box::new(self.make(ExprKind::Integer(0), at)?),
            };
            body = self.make(only, at)?;
        }
        Ok(body.kind)
    }

    /// `list[from:to]` counts from 1 and holds both ends.
    pub(super) fn kuzu_slice(&mut self, base: Expr, from: Option<Expr>) -> Result<ExprKind> {
        let at = self.expect(TokenKind::Colon, "`:`")?.span;
        let from = match from {
            Some(from) => from,
            None => self.make(ExprKind::Integer(1), at)?,
        };
        let to = match self.kind() {
            TokenKind::CloseBracket => self.make(ExprKind::Integer(-1), at)?,
            _ => self.expression()?,
        };
        self.expect(TokenKind::CloseBracket, "`]`")?;
        let name = Name {
            text: "list_slice".into(),
            span: at,
        };
        let mut args = vec![base, from, to];
        let slice = self.kuzu_function(&name, &mut args)?;
        slice.ok_or_else(|| self.unexpected("`..`"))
    }

    /// Whether `[:` or `[1:` begins a slice of Kuzu.
    pub(super) fn at_kuzu_slice(&self) -> bool {
        let ahead = match self.kind() {
            TokenKind::Minus => 1,
            _ => 0,
        };
        match self.peek(ahead) {
            TokenKind::Colon => ahead == 0,
            TokenKind::Integer => self.peek(ahead + 1) == TokenKind::Colon,
            _ => false,
        }
    }

    /// A number before the colon of a slice.
    pub(super) fn kuzu_slice_start(&mut self) -> Result<Option<Expr>> {
        if self.kind() == TokenKind::Colon {
            return Ok(None);
        }
        let negative = self.eat(TokenKind::Minus);
        let token = self.advance();
        let number = crate::lexer::integer(self.text, token, negative)?;
        self.make(ExprKind::Integer(number), token.span).map(Some)
    }
}

/// Whether [`place`] reaches all of an expression.
pub(super) fn is_placeable(expr: &Expr) -> bool {
    use ExprKind as K;
    let beyond = matches!(
        expr.kind,
        K::Labels { .. }
            | K::Pattern(_)
            | K::PatternComprehension { .. }
            | K::Subquery { .. }
            | K::MapProjection { .. }
    );
    let mut all = !beyond;
    expr.children(&mut |child| all = all && is_placeable(child));
    all
}

/// Puts everything at one place of the statement.
pub(crate) fn place(expr: &mut Expr, at: Span) {
    fill(expr, at, &[]);
}

/// Puts the arguments in the place of parameters, and everything at one place of the statement.
fn fill(expr: &mut Expr, at: Span, args: &[Expr]) {
    if let ExprKind::Parameter(name) = &expr.kind
        && let Some(arg) = name.text.parse().ok().and_then(|idx: usize| args.get(idx))
    {
        *expr = arg.clone();
        return;
    }
    expr.span = at;
    let named = |name: &mut Name| name.span = at;
    let inner = |expr: &mut Expr| fill(expr, at, args);
    match &mut expr.kind {
        ExprKind::List(items) => items.iter_mut().for_each(inner),
        ExprKind::Map(entries) => entries.iter_mut().for_each(|(name, value)| {
            named(name);
            inner(value);
        }),
        ExprKind::Property { base, key } => {
            named(key);
            inner(base);
        }
        ExprKind::Index { base, index } => {
            inner(base);
            inner(index);
        }
        ExprKind::Slice { base, from, to } => {
            inner(base);
            from.iter_mut().chain(to).for_each(|it| inner(it));
        }
        ExprKind::Unary { operand, .. } => inner(operand),
        ExprKind::Binary { left, right, .. } | ExprKind::Concatenate { left, right } => {
            inner(left);
            inner(right);
        }
        ExprKind::Chain { first, rest } => {
            inner(first);
            rest.iter_mut().for_each(|(_, it)| inner(it));
        }
        ExprKind::Case {
            subject,
            branches,
            otherwise,
        } => {
            subject.iter_mut().chain(otherwise).for_each(|it| inner(it));
            for (condition, value) in branches {
                inner(condition);
                inner(value);
            }
        }
        ExprKind::Call { name, args, .. } => {
            named(name);
            args.iter_mut().for_each(inner);
        }
        ExprKind::Named { name, value } => {
            named(name);
            inner(value);
        }
        ExprKind::ListComprehension {
            name,
            list,
            filter,
            map,
        } => {
            named(name);
            inner(list);
            filter.iter_mut().chain(map).for_each(|it| inner(it));
        }
        ExprKind::Quantifier {
            name,
            list,
            predicate,
            ..
        } => {
            named(name);
            inner(list);
            inner(predicate);
        }
        ExprKind::Reduce {
            accumulator,
            init,
            name,
            list,
            step,
        } => {
            named(accumulator);
            named(name);
            [init, list, step].into_iter().for_each(|it| inner(it));
        }
        ExprKind::Variable(name) | ExprKind::Parameter(name) => named(name),
        // No row of the table has one of the others, and no macro.
        _ => {}
    }
    // An argument may be higher than the parameter in its place (CY-10).
    let mut below = 0;
    expr.children(&mut |child| below = below.max(child.height));
    expr.height = below.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: every row of the table is an expression whose parameters are the arguments that it
    /// says it has, and no row has a name of the language itself.
    #[test]
    fn every_row_is_an_expression() {
        for (name, count, template) in FUNCTIONS {
            let args: Vec<String> = (0..*count).map(|n| format!("{n}")).collect();
            let text = format!("RETURN {name}({})", args.join(", "));
            let read = super::super::parse(&text);
            assert!(read.is_ok(), "{text}: {template}: {read:?}");
            for n in 0..*count {
                assert!(template.contains(&format!("${n}")), "{name}: ${n}");
            }
            let known = crate::functions::find(name);
            let taken = known.filter(|known| {
                usize::from(known.args_min) <= *count && *count <= usize::from(known.args_max)
            });
            assert!(taken.is_none(), "{name} is a function of the language");
        }
    }

    /// Goal: calls of any number of arguments are read as the same expression, written out.
    #[test]
    fn any_number_of_arguments() {
        let cast = |text: &str| format!("cast({text}, 'STRING')");
        let [a, b, c] = ["1", "x", "null"].map(cast);
        let listed = format!("[{b}, {c}]");
        for (call, same) in [
            (
                "concat(1, x, null)",
                [&a, &b, &c]
                    .map(|it| format!("coalesce({it}, '')"))
                    .join(" || "),
            ),
            (
                "CONCAT_WS(1, x, null)",
                JOINED.replace("$1", &listed).replace("$0", &a),
            ),
        ] {
            let read = |text: &str| {
                let query = format!("WITH 2 AS x RETURN {text} AS it");
                super::super::parse(&query).expect(text).query
            };
            assert_eq!(read(call), read(&same), "{call}");
        }
    }

    /// Goal: what stands for a call counts with all its levels, however deep calls are nested
    /// (CY-12).
    #[test]
    fn nested_calls_are_as_high_as_what_they_stand_for() {
        let nested = |levels: usize| {
            let (calls, ends) = ("concat_ws(',', ".repeat(levels), ", 'b')".repeat(levels));
            super::super::parse(&format!("RETURN {calls}'a'{ends} AS it")).is_ok()
        };
        assert!(nested(20));
        // 120 brackets, and more than 400 levels.
        assert!(!nested(120));
    }
}
