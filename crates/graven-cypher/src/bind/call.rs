//! Calls: scalar functions against the table, aggregates taken out of their expression.
//!
//! # How it works
//! A function must be known, available and called with as many arguments as it takes; where its
//! first argument can never be of the right kind the statement is refused. An aggregate is allowed
//! only in an item of a projection ([`Aggregating`]); its call is collected there and a variable
//! stands in its place.

use super::comprehension::needs_graph;
use super::scope::{LINE_NUMBER, Record};
use super::{Binder, Result};
use crate::ast::{self, ExprKind, Name};
use crate::bind::aggregate::aggregate_function;
use crate::bind::aggregate::{Aggregating, contains_aggregate};
use crate::bind::declared::is_text;
use crate::bind::fixed::held;
use crate::bind::made::{Typed, call, unary};
use crate::diagnostic::{Code, closest};
use crate::elsewhere;
use crate::functions::{self, Availability};
use crate::plan::expression::{AggregateCall, AggregateFunction, Expr, Literal, UnaryOp};
use crate::plan::{VarId, VarKind};
use crate::schema_view::FunctionView;
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    pub(super) fn call(
        &mut self,
        whole: &ast::Expr,
        name: &Name,
        distinct: bool,
        star: bool,
        args: &[ast::Expr],
    ) -> Result<Typed> {
        if let [value, wanted] = args
            && name.text.eq_ignore_ascii_case("cast")
            && let ExprKind::String(text) = &wanted.kind
            && let meant = self.meant(text)
            && meant != *text
        {
            let kind = ExprKind::String(meant);
            let wanted = ast::Expr {
                kind,
                ..wanted.clone()
            };
            return self.call(whole, name, distinct, star, &[value.clone(), wanted]);
        }
        if let [value, wanted] = args
            && name.text.eq_ignore_ascii_case("cast")
            && matches!(&wanted.kind, ExprKind::String(of) if is_text(of))
            && self.decimal_scale(value).is_some()
        {
            return self.as_text(value);
        }
        if let Some(wide) = self.wide_aggregate(name, distinct, args) {
            return self.expression(&wide);
        }
        if let Some(function) = aggregate_function(&name.text, star) {
            return self.aggregate(whole, function, distinct, args);
        }
        if let Some(wanted) = of_record(&name.text)
            && args.is_empty()
            && !distinct
        {
            return self.of_record(name, wanted);
        }
        if !distinct && let Some(cost) = self.cost_of_path(name, args)? {
            return Ok(cost);
        }
        let Some(function) =
            functions::find(&name.text).filter(|f| f.availability != Availability::Internal)
        else {
            if let Some(function) = self.schema.function(&name.text) {
                return self.user_function(whole, &function, (distinct, star), args);
            }
            let called = self.schema.macro_named(&name.text.to_ascii_lowercase());
            if let Some(called) = called.filter(|_| !distinct && !star) {
                return self.macro_call(&called, name, args);
            }
            let error = self.error(
                name.span,
                Code::UnknownFunction,
                format!("unknown function `{}`", name.text),
            );
            if let Some((known, hint)) = NOT_AVAILABLE
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(&name.text))
            {
                let message = format!("`{known}()` is not available in this build");
                return Err(self
                    .error(name.span, Code::FeatureNotAvailable, message)
                    .with_hint(*hint));
            }
            let gone = GONE.iter();
            if let Some((_, hint)) = gone
                .into_iter()
                .find(|(n, _)| n.eq_ignore_ascii_case(&name.text))
            {
                return Err(error.with_hint(*hint));
            }
            if let Some(instead) = elsewhere::instead_of(&name.text) {
                return Err(error.with_hint(instead));
            }
            let known = functions::FUNCTIONS
                .iter()
                .map(|f| f.display)
                .chain(functions::AGGREGATES.iter().copied())
                .chain(functions::BY_PROCEDURE.iter().map(|f| f.display));
            return Err(match closest(&name.text, known) {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error,
            });
        };
        self.notice_function(function.name, whole.span);
        if distinct {
            let message = format!(
                "`DISTINCT` needs an aggregate function, `{}` is not one",
                function.display
            );
            return Err(self.error(whole.span, Code::InvalidAggregation, message));
        }
        if args.len() < usize::from(function.args_min)
            || args.len() > usize::from(function.args_max)
        {
            let message = format!(
                "`{}` takes {}, got {}",
                function.display,
                arity(function),
                args.len()
            );
            return Err(self.error(whole.span, Code::InvalidNumberOfArguments, message));
        }
        if function.name == "exists" {
            return self.exists_function(&args[0]);
        }
        if function.name == functions::TYPE_OF
            && let Some(of) = self.type_of(&args[0])?
        {
            let of = Expr::Literal(Literal::String(of));
            return Ok((of, Type::of(TypeSet::STRING)));
        }
        if function.name == functions::OPENED
            && let Some(opened) = self.opened(&args[0])?
        {
            return Ok(opened);
        }
        if function.name == functions::UNION_OF && args.len() < 3 {
            return self.union_of(name, args);
        }
        if function.name == "abs"
            && let Some(wide) = self.wide_abs(&args[0])?
        {
            return Ok(wide);
        }
        if let Some(made) = self.json_call(whole, function.name, args)? {
            return Ok(made);
        }
        let of_walk = matches!(args, [ast::Expr { kind: ExprKind::Variable(name), .. }]
            if self.is_list_of_pattern(&name.text));
        if of_walk && function.name == "relationships" {
            return self.expression(&args[0]);
        }
        if of_walk
            && function.name == "nodes"
            && let Some(inner) = self.inner_nodes(&args[0])?
        {
            return Ok(inner);
        }
        let size = (of_walk && function.name == "length").then(|| functions::find("size"));
        let function = size.flatten().unwrap_or(function);
        let mut bound = Vec::with_capacity(args.len());
        let mut ty = Type {
            set: function.returns,
            element: function.element,
        };
        let lazy = function.name == "coalesce" && args.iter().any(needs_graph);
        let guards = self.guards.len();
        for (idx, arg) in args.iter().enumerate() {
            // Kuzu takes any value for a text where it knows its type.
            let (expr, arg_ty) = match self.is_read_as_text(function.argument(idx), arg) {
                true => self.as_text(arg)?,
                false => self.expression(arg)?,
            };
            let what = match args.len() {
                1 => format!("the argument of `{}`", function.display),
                _ => format!("argument {} of `{}`", idx + 1, function.display),
            };
            let wanted = match arg.kind {
                ExprKind::Parameter(_) => function.parameter(idx),
                _ => function.argument(idx),
            };
            self.require_of(arg, arg_ty, wanted, &what)?;
            if arg_ty.set.is(TypeSet::LIST) {
                let elements = Type::of(arg_ty.element);
                let what = format!("an element of {what}");
                self.require(elements, function.elements_of(idx), arg.span, &what)?;
            }
            if idx == 0 {
                if function.name == "point" {
                    self.check_point(arg)?;
                }
                let is_list = arg_ty.set.is(TypeSet::LIST);
                if matches!(function.name, "head" | "last" | "graven.element") && is_list {
                    ty = Type::of(arg_ty.element);
                } else if matches!(function.name, "tail" | "reverse" | "graven.slice") && is_list {
                    ty = Type::list_of(arg_ty.element);
                }
            }
            if function.name == "coalesce" {
                ty = match idx {
                    0 => arg_ty,
                    _ => Type::of(ty.set.beside(arg_ty.set)),
                };
            }
            if lazy {
                self.guards.push(unary(UnaryOp::IsNull, expr.clone()));
            }
            bound.push(expr);
        }
        self.guards.truncate(guards);
        self.differing += usize::from(!function.deterministic);
        let of = match function.name {
            one @ ("abs" | "floor" | "ceil") => self.declared_of_one(one, &args[0]),
            _ => None,
        };
        Ok(held(of, (call(function.name, bound), ty)))
    }

    /// A call of a function that the program has added.
    fn user_function(
        &mut self,
        whole: &ast::Expr,
        function: &FunctionView,
        (distinct, star): (bool, bool),
        args: &[ast::Expr],
    ) -> Result<Typed> {
        let name = &function.name;
        if distinct || star {
            let message = format!("`{name}` is a function of the program, not an aggregate");
            return Err(self.error(whole.span, Code::InvalidAggregation, message));
        }
        let wanted = function.arguments.len();
        if args.len() != wanted {
            let message = format!("`{name}` takes {wanted} argument(s), got {}", args.len());
            return Err(self.error(whole.span, Code::InvalidNumberOfArguments, message));
        }
        let mut bound = Vec::with_capacity(args.len());
        for (idx, (arg, wanted)) in args.iter().zip(&function.arguments).enumerate() {
            let (expr, ty) = self.expression(arg)?;
            let what = format!("argument {} of `{name}`", idx + 1);
            self.require(ty, *wanted, arg.span, &what)?;
            bound.push(expr);
        }
        self.differing += 1;
        Ok((call(name, bound), Type::of(function.returns)))
    }

    /// Refuses a share of a percentile, written as a number, that is not between 0 and 1.
    fn check_share(&self, share: &Expr, span: Span) -> Result<()> {
        let fits = match share {
            Expr::Literal(Literal::Integer(share)) => AggregateFunction::takes_share(*share as f64),
            Expr::Literal(Literal::Float(share)) => AggregateFunction::takes_share(*share),
            Expr::Literal(Literal::Null) => false,
            _ => true,
        };
        if fits {
            return Ok(());
        }
        let message = "the share of a percentile must be between 0.0 and 1.0";
        Err(self.error(span, Code::InvalidArgumentValue, message))
    }

    /// The map of a point written in the text has a pair of coordinates.
    fn check_point(&self, arg: &ast::Expr) -> Result<()> {
        let ExprKind::Map(entries) = &arg.kind else {
            return Ok(());
        };
        let has = |key: &str| entries.iter().any(|(name, _)| &*name.text == key);
        if has("x") && has("y") || has("latitude") && has("longitude") {
            return Ok(());
        }
        let message = "a point needs x and y, or longitude and latitude";
        Err(self.error(arg.span, Code::InvalidArgumentValue, message))
    }

    /// `linenumber()`, `file()`.
    fn of_record(&mut self, name: &Name, wanted: OfRecord) -> Result<Typed> {
        let Some(record) = self.scope.record else {
            if self.variables.iter().all(|v| &*v.name != LINE_NUMBER) {
                return Ok((Expr::Literal(Literal::Null), Type::of(TypeSet::NULL)));
            }
            let message = format!("no `LOAD CSV` has read what `{}()` asks for", name.text);
            return Err(self
                .error(name.span, Code::FeatureNotAvailable, message)
                .with_hint(
                    "it stands between LOAD CSV and the next WITH, LET, FILTER or RETURN, which \
                     may name it",
                ));
        };
        if matches!(self.aggregating, Aggregating::Collected { .. }) {
            return Err(self.ambiguous(name));
        }
        let var = wanted.0(record);
        self.known_columns.insert(var);
        self.uses.push(var);
        Ok((Expr::Variable(var), Type::of(wanted.1)))
    }

    /// `exists(pattern)`.
    pub(super) fn exists_function(&mut self, arg: &ast::Expr) -> Result<Typed> {
        let bound = match &arg.kind {
            ExprKind::Pattern(pattern) => self.pattern_predicate(pattern)?,
            ExprKind::Property { .. } | ExprKind::Index { .. } => {
                let message = "`exists` takes a pattern, this is a property";
                let property = arg.span.slice(self.text);
                return Err(self
                    .error(arg.span, Code::InvalidArgumentType, message)
                    .with_hint(format!("write `{property} IS NOT NULL`")));
            }
            _ => {
                let message = "`exists` takes a pattern";
                return Err(self.error(arg.span, Code::InvalidArgumentType, message));
            }
        };
        Ok((bound, Type::of(TypeSet::BOOLEAN)))
    }

    pub(super) fn aggregate(
        &mut self,
        whole: &ast::Expr,
        function: AggregateFunction,
        distinct: bool,
        args: &[ast::Expr],
    ) -> Result<Typed> {
        let percentile = matches!(
            function,
            AggregateFunction::PercentileCont | AggregateFunction::PercentileDisc
        );
        let wanted = match function {
            AggregateFunction::CountStar => 0,
            _ if percentile => 2,
            _ => 1,
        };
        if args.len() != wanted {
            let message = format!(
                "this aggregate takes {wanted} argument(s), got {}",
                args.len()
            );
            return Err(self.error(whole.span, Code::InvalidNumberOfArguments, message));
        }
        if args.iter().any(contains_aggregate) {
            let message = "an aggregate cannot stand inside another one";
            return Err(self
                .error(whole.span, Code::NestedAggregation, message)
                .with_hint("compute the inner one in an earlier WITH"));
        }
        if matches!(self.aggregating, Aggregating::Refused) || !self.scope.locals.is_empty() {
            let message = "an aggregate cannot be used here";
            return Err(self
                .error(whole.span, Code::InvalidAggregation, message)
                .with_hint("compute it in an earlier WITH"));
        }
        let outer = std::mem::replace(&mut self.aggregating, Aggregating::Refused);
        let result = self.aggregate_arguments(whole, function, distinct, args);
        self.aggregating = outer;
        let (call, ty) = result?;
        let Aggregating::Collected { calls, .. } = &mut self.aggregating else {
            unreachable!("checked above");
        };
        if let Some((var, _)) = calls.iter().find(|(_, known)| *known == call) {
            return Ok((Expr::Variable(*var), ty));
        }
        let name = whole.span.slice(self.text);
        let var = VarId(self.variables.len() as u32);
        calls.push((var, call));
        self.variables.push(crate::plan::Variable {
            name: name.into(),
            kind: VarKind::Value,
        });
        Ok((Expr::Variable(var), ty))
    }

    pub(super) fn aggregate_arguments(
        &mut self,
        whole: &ast::Expr,
        function: AggregateFunction,
        distinct: bool,
        args: &[ast::Expr],
    ) -> Result<(AggregateCall, Type)> {
        let mut bound = Vec::new();
        let mut first = Type::ANY;
        for (idx, arg) in args.iter().enumerate() {
            let (expr, ty) = self.expression(arg)?;
            let what = format!("argument {} of `{}`", idx + 1, function.name());
            self.require_of(arg, ty, taken_by(function), &what)?;
            if idx == 1 {
                self.check_share(&expr, arg.span)?;
            }
            if idx == 0 {
                first = ty;
            }
            if crate::plan::variables::is_random(&expr) {
                let message = "an aggregate cannot be taken over a random value";
                return Err(self.error(whole.span, Code::NonConstantExpression, message));
            }
            bound.push(expr);
        }
        let mut bound = bound.into_iter();
        let call = AggregateCall {
            function,
            argument: bound.next(),
            parameter: bound.next(),
            distinct,
            at: whole.span,
        };
        let ty = match function {
            AggregateFunction::CountStar | AggregateFunction::Count => Type::of(TypeSet::INTEGER),
            AggregateFunction::Collect => Type::list_of(first.set),
            AggregateFunction::Min | AggregateFunction::Max => first,
            AggregateFunction::Sum => Type::of(TypeSet::NUMBER.or(TypeSet::DURATION)),
            _ => Type::of(TypeSet::NUMBER.or(TypeSet::DURATION)),
        };
        Ok((call, ty))
    }
}

/// What an aggregate takes.
fn taken_by(function: AggregateFunction) -> TypeSet {
    use AggregateFunction as F;
    match function {
        F::Sum | F::Avg => TypeSet::NUMBER.or(TypeSet::DURATION),
        F::StDev | F::StDevP | F::PercentileCont | F::PercentileDisc => TypeSet::NUMBER,
        F::CountStar | F::Count | F::Min | F::Max | F::Collect => TypeSet::ANY,
    }
}

/// Functions of Neo4j 5 and Kuzu that are known by name only, and what to do instead.
const NOT_AVAILABLE: &[(&str, &str)] = &[
    ("graph.byName", "a file holds one database"),
    ("graph.byElementId", "a file holds one database"),
    ("graph.names", "a file holds one database"),
    (
        "internal_id",
        "an id is an integer: write `id(n) = 1`, or take the ids of nodes that are found",
    ),
    ("graph.propertiesByName", "a file holds one database"),
];

/// Functions that were or will be elsewhere, and what to write instead.
const GONE: &[(&str, &str)] = &[
    ("sinh", "write `(exp(x) - exp(-x)) / 2`"),
    ("cosh", "write `(exp(x) + exp(-x)) / 2`"),
    ("tanh", "write `1 - 2 / (exp(2 * x) + 1)`"),
    (
        "cost",
        "write `cost(e)` of the `e` of `[e:TYPE* WSHORTEST(key)]`",
    ),
    ("coth", "write `1 + 2 / (exp(2 * x) - 1)`"),
    ("distance", "write `point.distance(a, b)`"),
    ("rels", "write `relationships(path)`"),
    ("filter", "write `[x IN list WHERE condition]`"),
    ("extract", "write `[x IN list | value]`"),
    ("toInt", "write `toInteger(value)`"),
];

/// The variable that a function stands for, and its type.
type OfRecord = (fn(Record) -> VarId, TypeSet);

/// What a function asks of the record that `LOAD CSV` has read.
fn of_record(name: &str) -> Option<OfRecord> {
    if name.eq_ignore_ascii_case("linenumber") {
        return Some((|record| record.line, TypeSet::INTEGER));
    }
    let is_file = name.eq_ignore_ascii_case("file");
    is_file.then_some((|record| record.file, TypeSet::STRING))
}

/// The name of a function or aggregate, as the reference writes it.
pub(crate) fn known_function(name: &str) -> Option<&'static str> {
    functions::aggregate(name).or_else(|| functions::find(name).map(|function| function.display))
}

fn arity(function: &functions::Function) -> String {
    match (function.args_min, function.args_max) {
        (min, 255) => format!("at least {min} argument(s)"),
        (min, max) if min == max => format!("{min} argument(s)"),
        (min, max) => format!("{min} to {max} arguments"),
    }
}
