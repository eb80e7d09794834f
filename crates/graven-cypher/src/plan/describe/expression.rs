//! Expressions as text.

use std::fmt::Write as _;

use crate::plan::Plan;
use crate::plan::expression::{AggregateCall, AggregateFunction, BinaryOp, Expr, Literal, UnaryOp};

use super::{joined, quoted};
use crate::functions;

impl Plan {
    pub(super) fn aggregate(&self, call: &AggregateCall) -> String {
        let name = call.function.name();
        if call.function == AggregateFunction::CountStar {
            return name.to_owned();
        }
        let distinct = if call.distinct { "distinct " } else { "" };
        let arguments: Vec<&Expr> = call.argument.iter().chain(&call.parameter).collect();
        format!(
            "{name}({distinct}{})",
            joined(&arguments, |e| self.expression(e))
        )
    }

    /// An expression as text close to the language.
    #[must_use]
    pub fn expression(&self, expr: &Expr) -> String {
        let text = |e: &Expr| self.expression(e);
        let operand = |e: &Expr| match e {
            Expr::Binary { .. } | Expr::Chain { .. } => format!("({})", self.expression(e)),
            _ => self.expression(e),
        };
        match expr {
            Expr::Literal(literal) => literal_text(literal),
            Expr::Parameter(name, _) => format!("${name}"),
            Expr::Variable(var) => self.variable_name(*var),
            Expr::Property { base, key, .. } => format!("{}.{}", operand(base), quoted(key)),
            Expr::Index { base, index, .. } => format!("{}[{}]", operand(base), text(index)),
            Expr::Slice { base, from, to, .. } => {
                let side = |e: &Option<Box<Expr>>| e.as_ref().map_or(String::new(), |e| text(e));
                format!("{}[{}..{}]", operand(base), side(from), side(to))
            }
            Expr::List(items) => format!("[{}]", joined(items, text)),
            Expr::Map(entries) => {
                format!(
                    "{{{}}}",
                    joined(entries, |(key, value)| format!(
                        "{}: {}",
                        quoted(key),
                        text(value)
                    ))
                )
            }
            Expr::Unary {
                op, operand: inner, ..
            } => match op {
                UnaryOp::Not => format!("not {}", operand(inner)),
                UnaryOp::Minus => format!("-{}", operand(inner)),
                UnaryOp::Plus => format!("+{}", operand(inner)),
                UnaryOp::IsNull => format!("{} is null", operand(inner)),
                UnaryOp::IsNotNull => format!("{} is not null", operand(inner)),
            },
            Expr::Binary {
                op, left, right, ..
            } => {
                let side = |e: &Expr| match e {
                    Expr::Binary { op: inner, .. }
                        if inner == op && matches!(op, BinaryOp::And | BinaryOp::Or) =>
                    {
                        text(e)
                    }
                    _ => operand(e),
                };
                format!("{} {} {}", side(left), binary_sign(*op), side(right))
            }
            Expr::Chain { first, rest, .. } => {
                let mut chain = operand(first);
                for (op, next) in rest {
                    let _ = write!(chain, " {} {}", binary_sign(*op), operand(next));
                }
                chain
            }
            Expr::HasLabels { base, labels, .. } => {
                let labels: String = labels.iter().map(|l| format!(":{}", quoted(l))).collect();
                format!("{}{labels}", operand(base))
            }
            Expr::Call { name, args, .. } => match (&**name, &args[..]) {
                (functions::IS_LABELED, [base]) => format!("{}:%", text(base)),
                (functions::HAS_ALL_LABELS, [base, names]) => {
                    format!("{}:$({})", text(base), text(names))
                }
                (functions::HAS_ANY_LABEL, [base, names]) => {
                    format!("{}:$any({})", text(base), text(names))
                }
                _ => {
                    let args: Vec<(usize, &Expr)> = args.iter().enumerate().collect();
                    let argument = |(place, arg): &(usize, &Expr)| match arg {
                        Expr::Literal(Literal::String(word))
                            if functions::is_bare_word(name, *place) =>
                        {
                            word.to_string()
                        }
                        other => text(other),
                    };
                    format!("{name}({})", joined(&args, argument))
                }
            },
            Expr::Case {
                branches,
                otherwise,
                ..
            } => {
                let mut case = String::from("case");
                for (when, then) in branches {
                    let _ = write!(case, " when {} then {}", text(when), text(then));
                }
                if let Some(otherwise) = otherwise {
                    let _ = write!(case, " else {}", text(otherwise));
                }
                case + " end"
            }
            Expr::Let { var, value, body } => format!(
                "{} where {} = {}",
                text(body),
                self.variable_name(*var),
                text(value)
            ),
            Expr::ListComprehension {
                var,
                list,
                filter,
                map,
                ..
            } => {
                let mut inside = format!("{} in {}", self.variable_name(*var), text(list));
                if let Some(filter) = filter {
                    let _ = write!(inside, " where {}", text(filter));
                }
                if let Some(map) = map {
                    let _ = write!(inside, " | {}", text(map));
                }
                format!("[{inside}]")
            }
            Expr::Quantifier {
                kind,
                var,
                list,
                predicate,
                ..
            } => {
                format!(
                    "{}({} in {} where {})",
                    kind.name(),
                    self.variable_name(*var),
                    text(list),
                    text(predicate)
                )
            }
            Expr::Reduce {
                accumulator,
                init,
                var,
                list,
                step,
                ..
            } => format!(
                "reduce({} = {}, {} in {} | {})",
                self.variable_name(*accumulator),
                text(init),
                self.variable_name(*var),
                text(list),
                text(step)
            ),
        }
    }
}

fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Null => "null".to_owned(),
        Literal::Boolean(b) => b.to_string(),
        Literal::Integer(i) => i.to_string(),
        Literal::Float(f) => format!("{f:?}"),
        Literal::String(s) => format!("'{}'", s.escape_debug()),
    }
}

pub(in crate::plan) fn binary_sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
        BinaryOp::And => "and",
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
        BinaryOp::In => "in",
        BinaryOp::StartsWith => "starts with",
        BinaryOp::EndsWith => "ends with",
        BinaryOp::Contains => "contains",
        BinaryOp::RegexMatch => "=~",
    }
}
