//! Trees as Cypher text.

use std::fmt::Write as _;

use crate::calendar::iso;
use crate::query::{
    Aggregate, Call, Change, Clause, Direction, Expr, Import, Labels, Length, NodePattern, Op,
    Part, Path, Projection, Quantifier, Query, RelPattern, Shape, Sub,
};
use crate::temporal::duration;
use crate::value::{Properties, V};

pub(crate) fn properties(properties: &Properties) -> String {
    let each = properties.iter().map(|(k, v)| format!("{k}: {}", value(v)));
    format!("{{{}}}", each.collect::<Vec<_>>().join(", "))
}

pub(crate) fn value(v: &V) -> String {
    match v {
        V::Null => "null".to_owned(),
        V::Bool(b) => b.to_string(),
        V::Int(i) => i.to_string(),
        V::Float(f) => format!("{f:?}"),
        V::Str(s) => format!("'{s}'"),
        V::Date(days) => format!("date('{}')", iso(*days)),
        V::Time(t) => t.literal(),
        V::List(items) => format!("[{}]", join(items, value)),
        other => format!("{other:?}"),
    }
}

fn join<T>(items: &[T], each: impl FnMut(&T) -> String) -> String {
    items.iter().map(each).collect::<Vec<_>>().join(", ")
}

pub(crate) fn query(query: &Query) -> String {
    branches(query, "")
}

/// The text with `first` before each branch.
fn branches(query: &Query, first: &str) -> String {
    let glue = if query.all { " UNION ALL " } else { " UNION " };
    let branches = query.branches.iter().map(|clauses| {
        let clauses = clauses.iter().map(clause);
        format!("{first}{}", clauses.collect::<Vec<_>>().join(" "))
    });
    branches.collect::<Vec<_>>().join(glue)
}

fn clause(clause: &Clause) -> String {
    match clause {
        Clause::Match {
            optional,
            paths,
            filter,
        } => {
            let word = if *optional { "OPTIONAL MATCH" } else { "MATCH" };
            format!("{word} {}{}", join(paths, path), wher(filter.as_ref()))
        }
        Clause::Unwind(list, name) => format!("UNWIND {} AS {name}", expr(list)),
        Clause::With(p) => format!("WITH {}{}", projection(p), wher(p.filter.as_ref())),
        Clause::Star => "WITH *".to_owned(),
        Clause::Filter(condition) => format!("FILTER {}", expr(condition)),
        Clause::Return(p) => format!("RETURN {}", projection(p)),
        Clause::Call(inner) => call(inner),
        Clause::Create(paths) => format!("CREATE {}", join(paths, path)),
        Clause::Change(all) => changes(all),
        Clause::Delete { detach, vars } => {
            let word = if *detach { "DETACH DELETE" } else { "DELETE" };
            format!("{word} {}", vars.join(", "))
        }
        Clause::Merge {
            path: pattern,
            on_create,
            on_match,
        } => {
            let mut text = format!("MERGE {}", path(pattern));
            for (when, all) in [("CREATE", on_create), ("MATCH", on_match)] {
                if !all.is_empty() {
                    let _ = write!(text, " ON {when} {}", changes(all));
                }
            }
            text
        }
        Clause::Foreach(name, list, inner) => {
            let inner: Vec<String> = inner.iter().map(self::clause).collect();
            format!("FOREACH ({name} IN {} | {})", expr(list), inner.join(" "))
        }
    }
}

fn call(call: &Call) -> String {
    let word = if call.optional {
        "OPTIONAL CALL"
    } else {
        "CALL"
    };
    let given = call.given.join(", ");
    let body = match call.import {
        Import::Listed => format!("({given}) {{ {} }}", query(&call.query)),
        Import::Star => format!("(*) {{ {} }}", query(&call.query)),
        Import::With if given.is_empty() => format!("{{ {} }}", query(&call.query)),
        Import::With => {
            let first = format!("WITH {given} ");
            format!("{{ {} }}", branches(&call.query, &first))
        }
    };
    let rows = |rows| format!(" IN TRANSACTIONS OF {rows} ROWS");
    format!(
        "{word} {body}{}",
        call.rows_each.map(rows).unwrap_or_default()
    )
}

fn changes(all: &[Change]) -> String {
    let removes = matches!(
        all.first(),
        Some(Change::RemoveLabel(..) | Change::RemoveProperty(..))
    );
    let one = |change: &Change| match change {
        Change::Set(var, key, v) => format!("{var}.{key} = {}", value(v)),
        Change::Add(var, key, v) => format!("{var} += {{{key}: {}}}", value(v)),
        Change::Replace(var, all) => {
            let each = join(all, |(key, v)| format!("{key}: {}", value(v)));
            format!("{var} = {{{each}}}")
        }
        Change::Increase(var, key, by) => format!("{var}.{key} = {var}.{key} + {by}"),
        Change::Compute(var, key, e) => format!("{var}.{key} = {}", expr(e)),
        Change::Label(var, label) | Change::RemoveLabel(var, label) => format!("{var}:{label}"),
        Change::RemoveProperty(var, key) => format!("{var}.{key}"),
    };
    let word = if removes { "REMOVE" } else { "SET" };
    format!("{word} {}", join(all, one))
}

fn projection(p: &Projection) -> String {
    let mut text = String::new();
    if p.distinct {
        text.push_str("DISTINCT ");
    }
    text += &join(&p.items, |item| {
        format!("{} AS {}", expr(&item.expr), item.name)
    });
    if !p.order.is_empty() {
        let by =
            |(e, down): &(Expr, bool)| format!("{}{}", expr(e), if *down { " DESC" } else { "" });
        let _ = write!(text, " ORDER BY {}", join(&p.order, by));
    }
    if let Some(skip) = p.skip {
        let _ = write!(text, " SKIP {skip}");
    }
    if let Some(limit) = p.limit {
        let _ = write!(text, " LIMIT {limit}");
    }
    text
}

fn wher(filter: Option<&Expr>) -> String {
    filter.map_or_else(String::new, |e| format!(" WHERE {}", expr(e)))
}

fn path(p: &Path) -> String {
    let mut text = node(&p.start);
    for (rel, end) in &p.steps {
        text += &relationship(rel);
        text += &node(end);
    }
    match p.shape {
        Shape::Plain => {}
        Shape::Shortest => text = format!("shortestPath({text})"),
        Shape::AllShortest => text = format!("allShortestPaths({text})"),
        Shape::Groups(1) => text = format!("ALL SHORTEST {text}"),
        Shape::Groups(count) => text = format!("SHORTEST {count} GROUPS {text}"),
        Shape::Some(count) => text = format!("SHORTEST {count} {text}"),
    }
    match &p.var {
        Some(var) => format!("{var} = {text}"),
        None => text,
    }
}

fn map(properties: &[(&'static str, Expr)]) -> String {
    match properties.is_empty() {
        true => String::new(),
        false => format!(
            " {{{}}}",
            join(properties, |(k, e)| format!("{k}: {}", expr(e)))
        ),
    }
}

fn node(n: &NodePattern) -> String {
    let labels = match &n.labels {
        Labels::Any => String::new(),
        Labels::All(all) => format!(":{}", all.join(":")),
        Labels::OneOf(all) => format!(":{}", all.join("|")),
        Labels::Not(label) => format!(":!{label}"),
        Labels::Some => ":%".to_owned(),
        Labels::Named(name) => format!(":$({name})"),
    };
    let var = n.var.as_deref().unwrap_or_default();
    format!("({var}{labels}{})", map(&n.properties))
}

fn relationship(r: &RelPattern) -> String {
    if let Length::Group(group) = &r.length {
        let mut text = node(&group.start);
        for (rel, end) in &group.steps {
            text += &relationship(rel);
            text += &node(end);
        }
        let (low, high) = (group.low, group.high);
        return format!("({text}{}){{{low},{high}}}", wher(group.filter.as_ref()));
    }
    let mut text = r.var.clone().unwrap_or_default();
    if !r.types.is_empty() {
        let _ = write!(text, ":{}", r.types.join("|"));
    }
    if let Length::Star(low, high) = r.length {
        let _ = write!(text, "*{low}..{high}");
    }
    text += &map(&r.properties);
    let (left, right) = match r.direction {
        Direction::Out => ("-", "->"),
        Direction::In => ("<-", "-"),
        Direction::Both => ("-", "-"),
    };
    let braces = match r.length {
        Length::Braces(low, high) => format!("{{{low},{high}}}"),
        _ => String::new(),
    };
    format!("{left}[{text}]{right}{braces}")
}

pub(crate) fn expr(e: &Expr) -> String {
    match e {
        Expr::Literal(v) => match v.number() {
            Some(n) if n < 0.0 => format!("({})", value(v)),
            _ => value(v),
        },
        Expr::Var(name) => name.clone(),
        Expr::Property(of, key) => format!("{}.{key}", expr(of)),
        Expr::Binary(op, a, b) => format!("({} {} {})", expr(a), operator(*op), expr(b)),
        Expr::Not(a) => format!("(NOT {})", expr(a)),
        Expr::IsNull(a) => format!("({} IS NULL)", expr(a)),
        Expr::IsNotNull(a) => format!("({} IS NOT NULL)", expr(a)),
        Expr::HasLabel(a, label) => format!("({}:{label})", expr(a)),
        Expr::Call(name, items) => format!("{name}({})", join(items, expr)),
        Expr::List(items) => format!("[{}]", join(items, expr)),
        Expr::Index(list, at) => format!("{}[{}]", expr(list), expr(at)),
        Expr::Slice(list, from, to) => format!("{}[{from}..{to}]", expr(list)),
        Expr::Comprehension(var, list, filter, item) => {
            let item = item.as_deref().map(|e| format!(" | {}", expr(e)));
            let filter = wher(filter.as_deref());
            format!(
                "[{var} IN {}{filter}{}]",
                expr(list),
                item.unwrap_or_default()
            )
        }
        Expr::Quantified(kind, var, list, condition) => {
            let kind = match kind {
                Quantifier::All => "all",
                Quantifier::Any => "any",
                Quantifier::None => "none",
                Quantifier::Single => "single",
            };
            format!("{kind}({var} IN {} WHERE {})", expr(list), expr(condition))
        }
        Expr::Reduce(sum, first, var, list, body) => {
            let (first, list, body) = (expr(first), expr(list), expr(body));
            format!("reduce({sum} = {first}, {var} IN {list} | {body})")
        }
        Expr::Case(condition, then, other) => {
            let (condition, then, other) = (expr(condition), expr(then), expr(other));
            format!("CASE WHEN {condition} THEN {then} ELSE {other} END")
        }
        Expr::Choice(of, value, then, other) => {
            let [of, value, then, other] = [of, value, then, other].map(|e| expr(e));
            format!("CASE {of} WHEN {value} THEN {then} ELSE {other} END")
        }
        Expr::Hidden(of, form) => match form {
            0 => format!("[{}][0]", expr(of)),
            1 => format!("{{k: {}}}.k", expr(of)),
            2 => format!("head([{}])", expr(of)),
            _ => format!("{{k: {}}}['k']", expr(of)),
        },
        Expr::Poison(form) => match form {
            0 => "(1 / 0)".to_owned(),
            1 => "date('x').year".to_owned(),
            _ => "(1 % toInteger('0'))".to_owned(),
        },
        Expr::Random(form) => match form {
            0 => "rand()".to_owned(),
            1 => "randomUUID()".to_owned(),
            _ => "apoc.create.uuid()".to_owned(),
        },
        Expr::Map(entries) => match entries.is_empty() {
            true => "{}".to_owned(),
            false => map(entries).trim_start().to_owned(),
        },
        Expr::MapOf(name, parts) => {
            let parts = join(parts, |part| match part {
                Part::Property(key) => format!(".{key}"),
                Part::Everything => ".*".to_owned(),
                Part::Entry(key, e) => format!("{key}: {}", expr(e)),
            });
            format!("{name} {{{parts}}}")
        }
        Expr::Exists(paths, filter) => {
            format!(
                "EXISTS {{ MATCH {}{} }}",
                join(paths, path),
                wher(filter.as_deref())
            )
        }
        Expr::CountOf(paths, filter) => {
            format!(
                "COUNT {{ MATCH {}{} }}",
                join(paths, path),
                wher(filter.as_deref())
            )
        }
        Expr::CollectOf(paths, filter, item) => {
            let (paths, filter) = (join(paths, path), wher(filter.as_deref()));
            format!("COLLECT {{ MATCH {paths}{filter} RETURN {} }}", expr(item))
        }
        Expr::Sub(kind, inner) => {
            let word = match kind {
                Sub::Exists => "EXISTS",
                Sub::Count => "COUNT",
                Sub::Collect => "COLLECT",
            };
            format!("{word} {{ {} }}", query(inner))
        }
        Expr::Later(date, months, days) => {
            format!(
                "({} + duration({{months: {months}, days: {days}}}))",
                expr(date)
            )
        }
        Expr::Shifted(of, months, days, nanos) => {
            format!("({} + {})", expr(of), duration(*months, *days, *nanos))
        }
        Expr::DaysBetween(a, b) => {
            format!("duration.inDays({}, {}).days", expr(a), expr(b))
        }
        Expr::Pattern(p) => path(p),
        Expr::PatternComprehension(p, filter, item) => {
            format!("[{}{} | {}]", path(p), wher(filter.as_deref()), expr(item))
        }
        Expr::Aggregate(kind, distinct, of) => {
            let kind = match kind {
                Aggregate::Count => "count",
                Aggregate::Sum => "sum",
                Aggregate::Min => "min",
                Aggregate::Max => "max",
                Aggregate::Avg => "avg",
                Aggregate::Collect => "collect",
            };
            let distinct = if *distinct { "DISTINCT " } else { "" };
            let of = of.as_deref().map_or_else(|| "*".to_owned(), expr);
            format!("{kind}({distinct}{of})")
        }
    }
}

fn operator(op: Op) -> &'static str {
    match op {
        Op::And => "AND",
        Op::Or => "OR",
        Op::Xor => "XOR",
        Op::Equal => "=",
        Op::Different => "<>",
        Op::Less => "<",
        Op::LessOrEqual => "<=",
        Op::Greater => ">",
        Op::GreaterOrEqual => ">=",
        Op::Plus => "+",
        Op::Minus => "-",
        Op::Times => "*",
        Op::Divide => "/",
        Op::Modulo => "%",
        Op::In => "IN",
        Op::StartsWith => "STARTS WITH",
        Op::EndsWith => "ENDS WITH",
        Op::Contains => "CONTAINS",
    }
}
