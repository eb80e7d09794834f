//! Bound expressions in the form of the language, for plans.

use graven_cypher::Plan;
use graven_cypher::plan::expression::Quantifier;
use graven_cypher::plan::{AggregateCall, BinaryOp, Expr, Literal, UnaryOp, VarId};

/// Longest expression shown.
const CHARS_MAX: usize = 120;

/// Name of a variable; anonymous ones are numbered.
pub(super) fn name(plan: &Plan, var: VarId) -> String {
    match plan.variables.get(var.0 as usize) {
        Some(variable) if !variable.name.starts_with("  ") => variable.name.to_string(),
        _ => format!("_{}", var.0),
    }
}

/// `expression AS name` for each, the name alone where the expression is just that.
pub(super) fn assignments(plan: &Plan, items: &[(VarId, Expr)]) -> String {
    let items = items.iter().map(|(var, e)| {
        let (text, name) = (text(plan, e), name(plan, *var));
        if text == name {
            name
        } else {
            format!("{text} AS {name}")
        }
    });
    items.collect::<Vec<_>>().join(", ")
}

/// An aggregate call.
pub(super) fn aggregate(plan: &Plan, call: &AggregateCall) -> String {
    let function = format!("{:?}", call.function);
    let mut initial = function.chars();
    let function: String = initial
        .next()
        .into_iter()
        .flat_map(char::to_lowercase)
        .chain(initial)
        .collect();
    let argument = call
        .argument
        .as_ref()
        .map_or("*".to_owned(), |e| text(plan, e));
    let distinct = if call.distinct { "DISTINCT " } else { "" };
    format!(
        "{}({distinct}{argument})",
        function.trim_end_matches("Star")
    )
}

/// The expression, cut where it is very long.
pub(super) fn text(plan: &Plan, e: &Expr) -> String {
    let full = write(plan, e);
    if full.chars().count() <= CHARS_MAX {
        return full;
    }
    full.chars().take(CHARS_MAX).chain("...".chars()).collect()
}

fn write(plan: &Plan, e: &Expr) -> String {
    let w = |e: &Expr| write(plan, e);
    let list = |items: &[Expr]| items.iter().map(w).collect::<Vec<_>>().join(", ");
    match e {
        Expr::Literal(literal) => self::literal(literal),
        Expr::Parameter(name) => format!("${name}"),
        Expr::Variable(var) => name(plan, *var),
        Expr::Property { base, key } => format!("{}.{key}", w(base)),
        Expr::Index { base, index } => format!("{}[{}]", w(base), w(index)),
        Expr::Slice { base, from, to } => {
            let end = |e: &Option<Box<Expr>>| e.as_ref().map_or(String::new(), |e| w(e));
            format!("{}[{}..{}]", w(base), end(from), end(to))
        }
        Expr::List(items) => format!("[{}]", list(items)),
        Expr::Map(entries) => {
            let entries = entries.iter().map(|(k, v)| format!("{k}: {}", w(v)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Expr::Unary { op, operand } => match op {
            UnaryOp::Not => format!("NOT {}", w(operand)),
            UnaryOp::Minus => format!("-{}", w(operand)),
            UnaryOp::Plus => w(operand),
            UnaryOp::IsNull => format!("{} IS NULL", w(operand)),
            UnaryOp::IsNotNull => format!("{} IS NOT NULL", w(operand)),
        },
        Expr::Binary { op, left, right } => {
            let inside = |e: &Expr| match e {
                Expr::Binary { .. } => format!("({})", w(e)),
                _ => w(e),
            };
            format!("{} {} {}", inside(left), sign(*op), inside(right))
        }
        Expr::Chain { first, rest } => {
            let rest = rest
                .iter()
                .map(|(op, e)| format!(" {} {}", sign(*op), w(e)));
            w(first) + &rest.collect::<String>()
        }
        Expr::HasLabels { base, labels } => format!("{}:{}", w(base), labels.join(":")),
        Expr::Call { name, args } => format!("{name}({})", list(args)),
        Expr::Case {
            branches,
            otherwise,
        } => {
            let branches = branches
                .iter()
                .map(|(c, v)| format!(" WHEN {} THEN {}", w(c), w(v)));
            let otherwise = otherwise
                .as_ref()
                .map_or(String::new(), |e| format!(" ELSE {}", w(e)));
            format!("CASE{}{otherwise} END", branches.collect::<String>())
        }
        Expr::ListComprehension {
            var,
            list,
            filter,
            map,
        } => {
            let filter = filter
                .as_ref()
                .map_or(String::new(), |e| format!(" WHERE {}", w(e)));
            let map = map
                .as_ref()
                .map_or(String::new(), |e| format!(" | {}", w(e)));
            format!("[{} IN {}{filter}{map}]", name(plan, *var), w(list))
        }
        Expr::Quantifier {
            kind,
            var,
            list,
            predicate,
        } => {
            let kind = match kind {
                Quantifier::All => "all",
                Quantifier::Any => "any",
                Quantifier::None => "none",
                Quantifier::Single => "single",
            };
            format!(
                "{kind}({} IN {} WHERE {})",
                name(plan, *var),
                w(list),
                w(predicate)
            )
        }
        Expr::Reduce {
            accumulator,
            init,
            var,
            list,
            step,
        } => format!(
            "reduce({} = {}, {} IN {} | {})",
            name(plan, *accumulator),
            w(init),
            name(plan, *var),
            w(list),
            w(step)
        ),
    }
}

fn literal(literal: &Literal) -> String {
    match literal {
        Literal::Null => "null".to_owned(),
        Literal::Boolean(b) => b.to_string(),
        Literal::Integer(i) => i.to_string(),
        Literal::Float(x) => format!("{x:?}"),
        Literal::String(s) => format!("'{}'", s.escape_default()),
    }
}

fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "OR",
        BinaryOp::Xor => "XOR",
        BinaryOp::And => "AND",
        BinaryOp::Equal => "=",
        BinaryOp::NotEqual => "<>",
        BinaryOp::Less => "<",
        BinaryOp::LessOrEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterOrEqual => ">=",
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::Power => "^",
        BinaryOp::In => "IN",
        BinaryOp::StartsWith => "STARTS WITH",
        BinaryOp::EndsWith => "ENDS WITH",
        BinaryOp::Contains => "CONTAINS",
        BinaryOp::RegexMatch => "=~",
    }
}
