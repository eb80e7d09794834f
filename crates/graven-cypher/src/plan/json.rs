//! A plan as JSON, for engines that make operators of their own of it.
//!
//! # How it works
//! An operator is an object: `op`, its name in `EXPLAIN`; `input`, `inner` or `inputs`, where its
//! rows come from; and its fields, under the names that [`Operator`] has for them. An expression is
//! an object with `is` (`literal`, `property`, `binary`, ...). Variables are numbers, places in the
//! list `variables`.
//!
//! # Invariants
//! * SK-2 An operator is written out whole, or has nothing but `op` and `details`. A reader knows
//!   the first ones and refuses the others by name.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::describe::binary_sign;
use super::expression::{AggregateCall, Expr, Literal, UnaryOp};
use super::{
    Direction, IdForm, Operator, PathCount, Plan, PlanNode, RelPattern, SortOrder, VarExpandMode,
    VarId, VarKind,
};

/// Goes up with each change that a reader must know.
const FORMAT: u32 = 1;

impl Plan {
    /// The plan as JSON, in one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let variables = self.variables.iter().enumerate().map(|(at, variable)| {
            let name = self.variable_name(VarId(u32::try_from(at).unwrap_or(u32::MAX)));
            json!({"name": name, "kind": kind(variable.kind)})
        });
        let columns = self.columns.iter();
        let columns = columns.map(|(name, var)| json!({"name": &**name, "var": var.0}));
        json!({
            "format": FORMAT,
            "variables": variables.collect::<Vec<_>>(),
            "columns": columns.collect::<Vec<_>>(),
            "root": self.node_json(&self.root),
        })
        .to_string()
    }

    fn node_json(&self, node: &PlanNode) -> Value {
        let mut written = Map::new();
        written.insert("op".to_owned(), node.op.name().into());
        match fields(&node.op) {
            Some(Value::Object(fields)) => written.extend(fields),
            _ => {
                written.insert("details".to_owned(), self.describe(&node.op).into());
                return Value::Object(written);
            }
        }
        match (&node.op, &node.op.children()[..]) {
            (Operator::Union { inputs }, _) => {
                let inputs = inputs.iter().map(|input| self.node_json(input));
                written.insert("inputs".to_owned(), inputs.collect());
            }
            (_, children) => {
                for (name, child) in ["input", "inner"].into_iter().zip(children) {
                    written.insert(name.to_owned(), self.node_json(child));
                }
            }
        }
        Value::Object(written)
    }
}

fn kind(kind: VarKind) -> &'static str {
    match kind {
        VarKind::Node => "node",
        VarKind::Relationship => "relationship",
        VarKind::RelationshipList => "relationships",
        VarKind::Path => "path",
        VarKind::Value => "value",
    }
}

/// What an operator says beside its inputs; none for one that is only named (SK-2).
fn fields(op: &Operator) -> Option<Value> {
    Some(match op {
        Operator::Unit
        | Operator::Apply { .. }
        | Operator::CartesianProduct { .. }
        | Operator::Union { .. } => json!({}),
        Operator::Argument { vars } | Operator::Distinct { vars, .. } => {
            json!({"vars": numbers(vars)})
        }
        Operator::AllNodesScan { var, .. } => json!({"var": var.0}),
        Operator::LabelScan { var, label, .. } => json!({"var": var.0, "label": &**label}),
        Operator::NodeByIdSeek {
            var,
            form: IdForm::Number,
            value,
            any,
            ..
        } => json!({"var": var.0, "value": expr(value), "any": any}),
        Operator::Expand {
            from,
            rel,
            to,
            pattern,
            ..
        }
        | Operator::ExpandInto {
            from,
            rel,
            to,
            pattern,
            ..
        } => json!({
            "from": from.0,
            "rel": rel.map(|var| var.0),
            "to": to.0,
            "pattern": rel_pattern(pattern)?,
        }),
        Operator::VarExpand {
            from,
            rels,
            to,
            into,
            pattern,
            min,
            max,
            mode,
            ..
        } => json!({
            "from": from.0,
            "rels": rels.map(|var| var.0),
            "to": to.0,
            "into": into,
            "pattern": rel_pattern(pattern)?,
            "min": min,
            "max": max,
            "mode": expand_mode(mode),
        }),
        Operator::BuildPath { path, parts, .. } => {
            json!({"path": path.0, "parts": numbers(parts)})
        }
        Operator::Filter { predicate, .. } => json!({"predicate": expr(predicate)}),
        Operator::Project { items, .. } | Operator::Extend { items, .. } => {
            json!({"items": named(items)})
        }
        Operator::Aggregate {
            keys, aggregates, ..
        } => {
            let calls = aggregates.iter().map(|(var, call)| aggregate(*var, call));
            json!({"keys": named(keys), "aggregates": calls.collect::<Vec<_>>()})
        }
        Operator::Sort { keys, .. } => json!({"keys": sort_keys(keys)}),
        Operator::TopN { keys, limit, .. } => {
            json!({"keys": sort_keys(keys), "limit": expr(limit)})
        }
        Operator::Skip { count, .. } | Operator::Limit { count, .. } => {
            json!({"count": expr(count)})
        }
        Operator::Unwind { list, var, .. } => json!({"list": expr(list), "var": var.0}),
        Operator::Optional { nulls, .. } => json!({"nulls": numbers(nulls)}),
        Operator::SemiApply { anti, .. } => json!({"anti": anti}),
        Operator::HashJoin { on, .. } => json!({"on": numbers(on)}),
        _ => return None,
    })
}

fn numbers(vars: &[VarId]) -> Value {
    vars.iter().map(|var| Value::from(var.0)).collect()
}

fn texts(names: &[Arc<str>]) -> Value {
    names.iter().map(|name| Value::from(&**name)).collect()
}

fn named(items: &[(VarId, Expr)]) -> Value {
    let items = items.iter();
    items
        .map(|(var, value)| json!({"var": var.0, "value": expr(value)}))
        .collect()
}

fn sort_keys(keys: &[(Expr, SortOrder)]) -> Value {
    let keys = keys.iter();
    keys.map(
        |(key, order)| json!({"value": expr(key), "descending": *order == SortOrder::Descending}),
    )
    .collect()
}

/// None where something about the far end is decided on the way (SK-1: in no logical plan).
fn rel_pattern(pattern: &RelPattern) -> Option<Value> {
    let of_ends = !pattern.distinct_ends.is_empty()
        || !pattern.ends.labels.is_empty()
        || pattern.ends.read_the_row();
    (!of_ends).then(|| {
        json!({
            "types": texts(&pattern.types),
            "direction": match pattern.direction {
                Direction::Out => "out",
                Direction::In => "in",
                Direction::Both => "both",
            },
            "filter": pattern.filter.as_ref().map(expr),
            "each": pattern.each.map(|var| var.0),
            "distinct_from": numbers(&pattern.distinct_from),
            "disjoint_from": numbers(&pattern.disjoint_from),
        })
    })
}

fn expand_mode(mode: &VarExpandMode) -> Value {
    match mode {
        VarExpandMode::Trails => json!({"is": "trails"}),
        VarExpandMode::Reachable { proven } => json!({"is": "reachable", "proven": proven}),
        VarExpandMode::Shortest(wanted) => {
            let (of, count) = match wanted.count {
                PathCount::Paths(count) => ("paths", count),
                PathCount::Lengths(count) => ("lengths", count),
                PathCount::All => ("all", 0),
            };
            json!({"is": "shortest", "of": of, "count": count, "closed": wanted.closed})
        }
    }
}

fn aggregate(var: VarId, call: &AggregateCall) -> Value {
    json!({
        "var": var.0,
        "function": call.function.name(),
        "argument": call.argument.as_ref().map(expr),
        "parameter": call.parameter.as_ref().map(expr),
        "distinct": call.distinct,
    })
}

fn literal(literal: &Literal) -> Value {
    let (of, value) = match literal {
        Literal::Null => ("null", Value::Null),
        Literal::Boolean(value) => ("boolean", (*value).into()),
        Literal::Integer(value) => ("integer", (*value).into()),
        // JSON has no infinity, and readers may round what it has.
        Literal::Float(value) => ("float", format!("{value:?}").into()),
        Literal::String(value) => ("string", (&**value).into()),
    };
    json!({"is": "literal", "type": of, "value": value})
}

fn expr(of: &Expr) -> Value {
    let optional = |of: &Option<Box<Expr>>| of.as_ref().map(|of| expr(of));
    let list = |items: &[Expr]| items.iter().map(expr).collect::<Value>();
    match of {
        Expr::Literal(value) => literal(value),
        Expr::Parameter(name, _) => json!({"is": "parameter", "name": &**name}),
        Expr::Variable(var) => json!({"is": "variable", "var": var.0}),
        Expr::Property { base, key, .. } => {
            json!({"is": "property", "base": expr(base), "key": &**key})
        }
        Expr::Index { base, index, .. } => {
            json!({"is": "index", "base": expr(base), "index": expr(index)})
        }
        Expr::Slice { base, from, to, .. } => json!({
            "is": "slice", "base": expr(base), "from": optional(from), "to": optional(to),
        }),
        Expr::List(items) => json!({"is": "list", "items": list(items)}),
        Expr::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, of)| json!({"key": &**key, "value": expr(of)}));
            json!({"is": "map", "entries": entries.collect::<Vec<_>>()})
        }
        Expr::Unary { op, operand, .. } => {
            json!({"is": "unary", "op": unary(*op), "operand": expr(operand)})
        }
        Expr::Binary {
            op, left, right, ..
        } => {
            json!({"is": "binary", "op": binary_sign(*op), "left": expr(left), "right": expr(right)})
        }
        Expr::Chain { first, rest, .. } => {
            let rest = rest.iter();
            let rest = rest.map(|(op, of)| json!({"op": binary_sign(*op), "value": expr(of)}));
            json!({"is": "chain", "first": expr(first), "rest": rest.collect::<Vec<_>>()})
        }
        Expr::HasLabels { base, labels, .. } => {
            json!({"is": "has_labels", "base": expr(base), "labels": texts(labels)})
        }
        Expr::Call { name, args, .. } => {
            json!({"is": "call", "name": &**name, "args": list(args)})
        }
        Expr::Case {
            branches,
            otherwise,
            ..
        } => {
            let branches = branches.iter();
            let branches = branches.map(|(on, of)| json!({"when": expr(on), "then": expr(of)}));
            json!({
                "is": "case",
                "branches": branches.collect::<Vec<_>>(),
                "otherwise": optional(otherwise),
            })
        }
        Expr::Let { var, value, body } => {
            json!({"is": "let", "var": var.0, "value": expr(value), "body": expr(body)})
        }
        Expr::ListComprehension {
            var,
            list,
            filter,
            map,
            ..
        } => json!({
            "is": "list_comprehension", "var": var.0, "list": expr(list),
            "filter": optional(filter), "map": optional(map),
        }),
        Expr::Quantifier {
            kind,
            var,
            list,
            predicate,
            ..
        } => json!({
            "is": "quantifier",
            "kind": kind.name(),
            "var": var.0, "list": expr(list), "predicate": expr(predicate),
        }),
        Expr::Reduce {
            accumulator,
            init,
            var,
            list,
            step,
            ..
        } => json!({
            "is": "reduce", "accumulator": accumulator.0, "init": expr(init),
            "var": var.0, "list": expr(list), "step": expr(step),
        }),
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Not => "not",
        UnaryOp::Minus => "-",
        UnaryOp::Plus => "+",
        UnaryOp::IsNull => "is null",
        UnaryOp::IsNotNull => "is not null",
    }
}
