//! Functions of Kuzu, as expressions of this language.
//!
//! # How it works
//! A row of the table gives a function by what says the same here: a text in which `$0`, `$1`
//! stand for the arguments. It is read when the function is called, and the arguments take their
//! places, so that no plan and no operator knows of it. Names that openCypher has, too, are not in
//! the table. Functions with lambdas become comprehensions and the like, those of any number of
//! arguments are made by hand.
//!
//! # Cost
//! The text of one row for each call of such a function in a statement.

use super::{Parser, Result};
use crate::ast::{ClauseKind, Expr, ExprKind, Name};
use crate::diagnostic::Code;
use crate::plan::expression::Quantifier;
use crate::token::{Span, TokenKind};

/// Name in lower case, number of arguments, and what it is. `list_` stands for `array_`, too.
const FUNCTIONS: &[(&str, usize, &str)] = &[
    // Lists.
    ("list_len", 1, "size($0)"),
    ("len", 1, "size($0)"),
    (
        "list_extract",
        2,
        "CASE WHEN $1 > 0 THEN $0[$1 - 1] ELSE $0[$1] END",
    ),
    (
        "list_element",
        2,
        "CASE WHEN $1 > 0 THEN $0[$1 - 1] ELSE $0[$1] END",
    ),
    ("list_concat", 2, "$0 + $1"),
    ("list_cat", 2, "$0 + $1"),
    ("list_append", 2, "$0 || [$1]"),
    ("list_push_back", 2, "$0 || [$1]"),
    ("list_prepend", 2, "[$1] || $0"),
    ("list_push_front", 2, "[$1] || $0"),
    ("list_position", 2, "apoc.coll.indexOf($0, $1) + 1"),
    ("list_indexof", 2, "apoc.coll.indexOf($0, $1) + 1"),
    ("list_contains", 2, "$1 IN $0"),
    ("list_has", 2, "$1 IN $0"),
    ("list_has_all", 2, "all(`  x` IN $1 WHERE `  x` IN $0)"),
    (
        "list_slice",
        3,
        "$0[CASE WHEN $1 > 0 THEN $1 - 1 WHEN $1 = 0 OR -$1 > size($0) THEN 0 \
            ELSE size($0) + $1 END..CASE WHEN $2 > 0 THEN $2 ELSE size($0) + $2 + 1 END]",
    ),
    ("list_sort", 1, "graven.sort($0, 'ASC', 'NULLS FIRST')"),
    ("list_sort", 2, "graven.sort($0, $1, 'NULLS FIRST')"),
    ("list_sort", 3, "graven.sort($0, $1, $2)"),
    (
        "list_reverse_sort",
        1,
        "graven.sort($0, 'DESC', 'NULLS FIRST')",
    ),
    ("list_reverse_sort", 2, "graven.sort($0, 'DESC', $1)"),
    ("list_reverse", 1, "reverse($0)"),
    (
        "list_sum",
        1,
        "reduce(`  s` = 0, `  x` IN $0 | `  s` + coalesce(`  x`, 0))",
    ),
    (
        "list_product",
        1,
        "reduce(`  s` = 1, `  x` IN $0 | `  s` * coalesce(`  x`, 1))",
    ),
    (
        "list_distinct",
        1,
        "apoc.coll.toSet([`  x` IN $0 WHERE `  x` IS NOT NULL])",
    ),
    (
        "list_unique",
        1,
        "size(apoc.coll.toSet([`  x` IN $0 WHERE `  x` IS NOT NULL]))",
    ),
    (
        "list_any_value",
        1,
        "head([`  x` IN $0 WHERE `  x` IS NOT NULL])",
    ),
    (
        "list_to_string",
        2,
        "reduce(`  s` = '', `  i` IN range(0, size($1) - 1) | `  s` || \
            CASE `  i` WHEN 0 THEN '' ELSE $0 END || coalesce(cast($1[`  i`], 'STRING'), ''))",
    ),
    // Vectors.
    (
        "array_inner_product",
        2,
        "reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | `  s` + $0[`  i`] * $1[`  i`])",
    ),
    (
        "array_dot_product",
        2,
        "reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | `  s` + $0[`  i`] * $1[`  i`])",
    ),
    (
        "array_squared_distance",
        2,
        "reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | \
            `  s` + ($0[`  i`] - $1[`  i`]) ^ 2)",
    ),
    (
        "array_distance",
        2,
        "sqrt(reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | \
            `  s` + ($0[`  i`] - $1[`  i`]) ^ 2))",
    ),
    (
        "array_cosine_similarity",
        2,
        "2 * vector.similarity.cosine($0, $1) - 1",
    ),
    // Texts.
    ("contains", 2, "$0 CONTAINS $1"),
    ("starts_with", 2, "$0 STARTS WITH $1"),
    ("prefix", 2, "$0 STARTS WITH $1"),
    ("ends_with", 2, "$0 ENDS WITH $1"),
    ("suffix", 2, "$0 ENDS WITH $1"),
    ("ucase", 1, "toUpper($0)"),
    ("lcase", 1, "toLower($0)"),
    ("substr", 3, "substring($0, $1 - 1, $2)"),
    ("lpad", 3, "left(apoc.text.lpad($0, $1, $2), $1)"),
    ("rpad", 3, "left(apoc.text.rpad($0, $1, $2), $1)"),
    ("repeat", 2, "apoc.text.repeat($0, $1)"),
    ("initcap", 1, "apoc.text.capitalizeAll(toLower($0))"),
    ("levenshtein", 2, "apoc.text.levenshteinDistance($0, $1)"),
    ("string_split", 2, "split($0, $1)"),
    ("str_split", 2, "split($0, $1)"),
    ("string_to_array", 2, "split($0, $1)"),
    (
        "split_part",
        3,
        "CASE WHEN $2 > 0 THEN coalesce(split($0, $1)[$2 - 1], '') ELSE '' END",
    ),
    ("regexp_full_match", 2, "$0 =~ $1"),
    ("regexp_matches", 2, "$0 =~ ('(?s).*?(?:' || $1 || ').*')"),
    ("string", 1, "cast($0, 'STRING')"),
    // Values.
    ("ifnull", 2, "coalesce($0, $1)"),
    (
        "constant_or_null",
        2,
        "CASE WHEN $1 IS NULL THEN NULL ELSE $0 END",
    ),
    ("count_if", 1, "sum(CASE WHEN $0 THEN 1 ELSE 0 END)"),
    ("uuid", 0, "randomUUID()"),
    ("gen_random_uuid", 0, "randomUUID()"),
    ("uuid", 1, "cast($0, 'UUID')"),
    ("blob", 1, "cast($0, 'BLOB')"),
    ("to_int64", 1, "cast($0, 'INT64')"),
    ("to_int32", 1, "cast($0, 'INT32')"),
    ("to_int16", 1, "cast($0, 'INT16')"),
    ("to_int8", 1, "cast($0, 'INT8')"),
    ("to_int128", 1, "cast($0, 'INT128')"),
    ("to_uint64", 1, "cast($0, 'UINT64')"),
    ("to_uint32", 1, "cast($0, 'UINT32')"),
    ("to_uint16", 1, "cast($0, 'UINT16')"),
    ("to_uint8", 1, "cast($0, 'UINT8')"),
    ("to_float", 1, "cast($0, 'FLOAT')"),
    ("to_double", 1, "cast($0, 'DOUBLE')"),
    ("to_bool", 1, "cast($0, 'BOOL')"),
    ("to_date", 1, "cast($0, 'DATE')"),
    // Maps.
    ("struct_extract", 2, "$0[$1]"),
    ("map", 0, "{}"),
    (
        "map",
        2,
        "apoc.map.fromLists([`  x` IN $0 | cast(`  x`, 'STRING')], $1)",
    ),
    (
        "map_extract",
        2,
        "CASE WHEN cast($1, 'STRING') IN keys($0) THEN [$0[cast($1, 'STRING')]] ELSE [] END",
    ),
    (
        "element_at",
        2,
        "CASE WHEN cast($1, 'STRING') IN keys($0) THEN [$0[cast($1, 'STRING')]] ELSE [] END",
    ),
    ("map_keys", 1, "keys($0)"),
    ("map_values", 1, "[`  x` IN keys($0) | $0[`  x`]]"),
    ("cardinality", 1, "size(keys($0))"),
    // Graphs.
    ("label", 1, "graven.label($0)"),
    ("offset", 1, "$0"),
    ("rels", 1, "relationships($0)"),
    ("properties", 2, "[`  x` IN $0 | `  x`[$1]]"),
    (
        "is_trail",
        1,
        "size(relationships($0)) = size(apoc.coll.toSet(relationships($0)))",
    ),
    (
        "is_acyclic",
        1,
        "size(nodes($0)) = size(apoc.coll.toSet(nodes($0)))",
    ),
    // Dates and times.
    ("timestamp", 1, "cast($0, 'TIMESTAMP')"),
    ("interval", 1, "cast($0, 'INTERVAL')"),
    ("current_date", 0, "date()"),
    ("current_timestamp", 0, "datetime()"),
    ("make_date", 3, "date({year: $0, month: $1, day: $2})"),
    (
        "last_day",
        1,
        "date.truncate('month', $0) + duration({months: 1}) - duration({days: 1})",
    ),
    (
        "dayname",
        1,
        "['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']\
            [$0.dayOfWeek - 1]",
    ),
    (
        "monthname",
        1,
        "['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', \
            'September', 'October', 'November', 'December'][$0.month - 1]",
    ),
    ("century", 1, "cast(ceil($0.year / 100.0), 'INT64')"),
    ("epoch_ms", 1, "localdatetime(datetime.fromEpochMillis($0))"),
    (
        "to_timestamp",
        1,
        "localdatetime(datetime.fromEpoch($0, 0))",
    ),
    ("to_years", 1, "duration({years: $0})"),
    ("to_months", 1, "duration({months: $0})"),
    ("to_days", 1, "duration({days: $0})"),
    ("to_hours", 1, "duration({hours: $0})"),
    ("to_minutes", 1, "duration({minutes: $0})"),
    ("to_seconds", 1, "duration({seconds: $0})"),
    ("to_milliseconds", 1, "duration({milliseconds: $0})"),
    ("to_microseconds", 1, "duration({microseconds: $0})"),
    (
        "date_trunc",
        2,
        "CASE WHEN $1 IS :: DATE THEN date.truncate(toLower($0), $1) WHEN $1 IS :: ZONED DATETIME \
            THEN datetime.truncate(toLower($0), $1) ELSE localdatetime.truncate(toLower($0), $1) END",
    ),
    // Numbers.
    ("pow", 2, "$0 ^ $1"),
    ("power", 2, "$0 ^ $1"),
    ("ceiling", 1, "ceil($0)"),
    ("ln", 1, "log($0)"),
    ("log2", 1, "log($0) / log(2.0)"),
    ("cbrt", 1, "sign($0) * abs($0) ^ (1.0 / 3)"),
    ("negate", 1, "-$0"),
    (
        "greatest",
        2,
        "CASE WHEN $0 >= $1 THEN $0 WHEN $0 < $1 THEN $1 END",
    ),
    (
        "least",
        2,
        "CASE WHEN $0 <= $1 THEN $0 WHEN $0 > $1 THEN $1 END",
    ),
    (
        "factorial",
        1,
        "reduce(`  s` = 1, `  x` IN range(1, $0) | `  s` * `  x`)",
    ),
];

/// Parts of dates, times and durations, and the components that they are here.
const PARTS: &[(&str, &str)] = &[
    (
        "year",
        "CASE WHEN $1 IS :: DURATION THEN $1.years ELSE $1.year END",
    ),
    (
        "years",
        "CASE WHEN $1 IS :: DURATION THEN $1.years ELSE $1.year END",
    ),
    (
        "y",
        "CASE WHEN $1 IS :: DURATION THEN $1.years ELSE $1.year END",
    ),
    (
        "month",
        "CASE WHEN $1 IS :: DURATION THEN $1.monthsOfYear ELSE $1.month END",
    ),
    (
        "months",
        "CASE WHEN $1 IS :: DURATION THEN $1.monthsOfYear ELSE $1.month END",
    ),
    (
        "day",
        "CASE WHEN $1 IS :: DURATION THEN $1.days ELSE $1.day END",
    ),
    (
        "days",
        "CASE WHEN $1 IS :: DURATION THEN $1.days ELSE $1.day END",
    ),
    (
        "d",
        "CASE WHEN $1 IS :: DURATION THEN $1.days ELSE $1.day END",
    ),
    ("decade", "$1.year / 10"),
    ("decades", "$1.year / 10"),
    ("century", "($1.year - 1) / 100 + 1"),
    ("centuries", "($1.year - 1) / 100 + 1"),
    ("millennium", "($1.year - 1) / 1000 + 1"),
    ("millenniums", "($1.year - 1) / 1000 + 1"),
    ("quarter", "$1.quarter"),
    ("quarters", "$1.quarter"),
    ("week", "$1.week"),
    ("weeks", "$1.week"),
    (
        "hour",
        "CASE WHEN $1 IS :: DURATION THEN $1.hours ELSE $1.hour END",
    ),
    (
        "hours",
        "CASE WHEN $1 IS :: DURATION THEN $1.hours ELSE $1.hour END",
    ),
    (
        "h",
        "CASE WHEN $1 IS :: DURATION THEN $1.hours ELSE $1.hour END",
    ),
    (
        "minute",
        "CASE WHEN $1 IS :: DURATION THEN $1.minutesOfHour ELSE $1.minute END",
    ),
    (
        "minutes",
        "CASE WHEN $1 IS :: DURATION THEN $1.minutesOfHour ELSE $1.minute END",
    ),
    (
        "m",
        "CASE WHEN $1 IS :: DURATION THEN $1.minutesOfHour ELSE $1.minute END",
    ),
    ("second", "$1.second"),
    ("seconds", "$1.second"),
    ("s", "$1.second"),
    ("millisecond", "$1.second * 1000 + $1.millisecond"),
    ("milliseconds", "$1.second * 1000 + $1.millisecond"),
    ("microsecond", "$1.second * 1000000 + $1.microsecond"),
    ("microseconds", "$1.second * 1000000 + $1.microsecond"),
];

/// Functions that take a lambda as their last argument.
const WITH_LAMBDA: &[&str] = &[
    "list_transform",
    "list_filter",
    "list_reduce",
    "list_all",
    "list_any",
    "list_none",
    "list_single",
];

/// Names, in lower case, that are read in a way of their own where they are called: by the parser,
/// or by the binder.
const OTHER_NAMES: &[&str] = &[
    "all",
    "any",
    "none",
    "single",
    "reduce",
    "cast",
    "shortestpath",
    "allshortestpaths",
    "struct_pack",
    "union_value",
    "concat",
    "list_creation",
    "list_value",
    "array_value",
    "date_part",
    "datepart",
    "datetrunc",
    "linenumber",
    "file",
];

/// Whether a call of that name is read as another expression, with some number of arguments.
pub(crate) fn is_function_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let of_list = match lower.strip_prefix("array_") {
        Some(rest) => format!("list_{rest}"),
        None => lower.clone(),
    };
    let is_known = |known: &str| known == lower || known == of_list;
    FUNCTIONS.iter().any(|(known, ..)| is_known(known))
        || WITH_LAMBDA
            .iter()
            .chain(OTHER_NAMES)
            .any(|known| is_known(known))
}

impl Parser<'_> {
    /// A call of a function of Kuzu that is read in a way of its own: lambdas, named values.
    pub(super) fn kuzu_form(&mut self) -> Result<Option<ExprKind>> {
        let word = self.token().span.slice(self.text).to_ascii_lowercase();
        if self.peek(1) != TokenKind::OpenParen {
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

    fn called(&mut self, name: &str, args: Vec<Expr>, span: Span) -> Result<Expr> {
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
        if lower == "concat" && args.len() > 1 {
            let mut args = std::mem::take(args).into_iter();
            let mut whole: Option<Expr> = None;
            for arg in args.by_ref() {
                let wanted = self.make(ExprKind::String("STRING".into()), name.span)?;
                let text = self.called("cast", vec![arg, wanted], name.span)?;
                whole = Some(match whole {
                    None => text,
                    Some(left) => {
                        let (left, right) = (Box::new(left), Box::new(text));
                        self.make(ExprKind::Concatenate { left, right }, name.span)?
                    }
                });
            }
            return Ok(whole.map(|whole| whole.kind));
        }
        if matches!(&*lower, "list_creation" | "list_value" | "array_value") && !args.is_empty() {
            return Ok(Some(ExprKind::List(std::mem::take(args))));
        }
        if matches!(&*lower, "date_part" | "datepart") && args.len() == 2 {
            let ExprKind::String(part) = &args[0].kind else {
                let message = "the part of a date is written as a text here";
                return Err(self.error(args[0].span, Code::FeatureNotAvailable, message));
            };
            let mut parts = PARTS.iter();
            let Some((_, template)) = parts.find(|(known, _)| part.eq_ignore_ascii_case(known))
            else {
                let message = format!("there is no part {part} of a date");
                return Err(self.error(args[0].span, Code::InvalidArgumentValue, message));
            };
            return self.of_template(template, name.span, args).map(Some);
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
        let statement = super::parse(&format!("RETURN {template}"))?;
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
        let tallest = args.iter().map(|arg| arg.height).max().unwrap_or(0);
        let height = tallest.saturating_add(item.expr.height);
        if height > super::HEIGHT_MAX {
            return Err(self.too_deep());
        }
        item.expr.height = height;
        self.tallest = self.tallest.max(height);
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
        // No row of the table has one of the others.
        _ => {}
    }
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
}
