//! One operator in words: its name, and its pattern or expressions in the language's own form.

use std::fmt::Write as _;

use graven_cypher::Plan;
use graven_cypher::plan::{Direction, Inclusion, Operator, PlanNode, RelPattern, SortOrder, VarId};

use super::expression::{self, name};

/// Name and details of an operator.
pub(super) struct Described {
    pub(super) name: &'static str,
    pub(super) details: String,
}

/// What feeds an operator: the main input first.
pub(super) fn inputs(op: &Operator) -> Vec<&PlanNode> {
    use Operator as O;
    match op {
        O::Unit | O::Argument { .. } => Vec::new(),
        O::Apply { input, inner }
        | O::Optional { input, inner, .. }
        | O::SemiApply { input, inner, .. }
        | O::CartesianProduct { input, inner } => vec![input, inner],
        O::HashJoin { input, build, .. } => vec![input, build],
        O::Union { inputs } => inputs.iter().collect(),
        O::AllNodesScan { input, .. }
        | O::LabelScan { input, .. }
        | O::IndexSeek { input, .. }
        | O::IndexRange { input, .. }
        | O::NodeByIdSeek { input, .. }
        | O::Expand { input, .. }
        | O::ExpandInto { input, .. }
        | O::VarExpand { input, .. }
        | O::BuildPath { input, .. }
        | O::Filter { input, .. }
        | O::Project { input, .. }
        | O::Extend { input, .. }
        | O::Aggregate { input, .. }
        | O::ReachableCount { input, .. }
        | O::Distinct { input, .. }
        | O::Sort { input, .. }
        | O::TopN { input, .. }
        | O::Skip { input, .. }
        | O::Limit { input, .. }
        | O::Unwind { input, .. }
        | O::Procedure { input, .. } => vec![input],
    }
}

/// The operator in words.
pub(super) fn describe(plan: &Plan, op: &Operator) -> Described {
    use Operator as O;
    let text = |e| expression::text(plan, e);
    let var = |v: &VarId| name(plan, *v);
    let list = |vars: &[VarId]| vars.iter().map(var).collect::<Vec<_>>().join(", ");
    let (name, details) = match op {
        O::Unit => ("Unit", String::new()),
        O::Argument { vars } => ("Argument", list(vars)),
        O::AllNodesScan { var: v, .. } => ("AllNodesScan", format!("({})", var(v))),
        O::LabelScan { var: v, label, .. } => ("LabelScan", format!("({}:{label})", var(v))),
        O::IndexSeek {
            var: v,
            label,
            key,
            value,
            any,
            ..
        } => {
            let sign = if *any { "IN" } else { "=" };
            (
                "IndexSeek",
                format!("({}:{label}) {key} {sign} {}", var(v), text(value)),
            )
        }
        O::IndexRange {
            var: v,
            label,
            key,
            low,
            high,
            ..
        } => {
            let mut details = format!("({}:{label}) {key}", var(v));
            for (sign, bound) in [('>', low), ('<', high)] {
                if let Some((e, inclusion)) = bound {
                    let equal = if *inclusion == Inclusion::Inclusive {
                        "="
                    } else {
                        ""
                    };
                    let _ = write!(details, " {sign}{equal} {}", text(e));
                }
            }
            ("IndexRange", details)
        }
        O::NodeByIdSeek { var: v, value, .. } => {
            ("NodeByIdSeek", format!("id({}) = {}", var(v), text(value)))
        }
        O::Expand {
            from,
            rel,
            to,
            pattern: p,
            ..
        } => ("Expand", arrow(plan, *from, *rel, *to, p, "")),
        O::ExpandInto {
            from,
            rel,
            to,
            pattern: p,
            ..
        } => ("ExpandInto", arrow(plan, *from, *rel, *to, p, "")),
        O::VarExpand {
            from,
            rels,
            to,
            pattern: p,
            min,
            max,
            mode,
            ..
        } => {
            let name = match mode {
                graven_cypher::plan::VarExpandMode::Trails => "Trails",
                graven_cypher::plan::VarExpandMode::Reachable { proven: true } => "Reachable",
                graven_cypher::plan::VarExpandMode::Reachable { proven: false } => "TrailEnds",
            };
            (name, arrow(plan, *from, *rels, *to, p, &bounds(*min, *max)))
        }
        O::ReachableCount {
            from,
            to,
            pattern: p,
            min,
            max,
            end_labels,
            end_filter,
            ..
        } => {
            let mut details = arrow(plan, *from, None, *to, p, &bounds(*min, *max));
            if !end_labels.is_empty() {
                let labels = format!(":{})", end_labels.join(":"));
                details.replace_range(details.len() - 1.., &labels);
            }
            if let Some(filter) = end_filter {
                let _ = write!(details, " where {}", text(filter));
            }
            ("ReachableCount", details)
        }
        O::BuildPath { path, parts, .. } => {
            ("BuildPath", format!("{} = {}", var(path), list(parts)))
        }
        O::Filter { predicate, .. } => ("Filter", text(predicate)),
        O::Project { items, .. } => ("Project", expression::assignments(plan, items)),
        O::Extend { items, .. } => ("Extend", expression::assignments(plan, items)),
        O::Aggregate {
            keys, aggregates, ..
        } => {
            let mut details = expression::assignments(plan, keys);
            for (v, call) in aggregates {
                let comma = if details.is_empty() { "" } else { ", " };
                let call = expression::aggregate(plan, call);
                let _ = write!(details, "{comma}{call} AS {}", var(v));
            }
            ("Aggregate", details)
        }
        O::Distinct { vars, .. } => ("Distinct", list(vars)),
        O::Sort { keys, .. } => ("Sort", order(plan, keys)),
        O::TopN { keys, limit, .. } => (
            "TopN",
            format!("{} LIMIT {}", order(plan, keys), text(limit)),
        ),
        O::Skip { count, .. } => ("Skip", text(count)),
        O::Limit { count, .. } => ("Limit", text(count)),
        O::Unwind { list, var: v, .. } => ("Unwind", format!("{} AS {}", text(list), var(v))),
        O::Apply { .. } => ("Apply", String::new()),
        O::Optional { nulls, .. } => ("Optional", list(nulls)),
        O::SemiApply { anti, .. } => (
            if *anti { "AntiSemiApply" } else { "SemiApply" },
            String::new(),
        ),
        O::HashJoin { on, .. } => ("HashJoin", list(on)),
        O::CartesianProduct { .. } => ("CartesianProduct", String::new()),
        O::Union { .. } => ("Union", String::new()),
        O::Procedure { name, args, .. } => {
            let args: Vec<String> = args.iter().map(text).collect();
            ("Procedure", format!("{name}({})", args.join(", ")))
        }
    };
    Described { name, details }
}

/// `(a)-[r:T*1..3]->(b)`, with its condition.
fn arrow(
    plan: &Plan,
    from: VarId,
    rel: Option<VarId>,
    to: VarId,
    pattern: &RelPattern,
    bounds: &str,
) -> String {
    let types = if pattern.types.is_empty() {
        String::new()
    } else {
        format!(":{}", pattern.types.join("|"))
    };
    let rel = rel.map_or(String::new(), |v| name(plan, v));
    let (left, right) = match pattern.direction {
        Direction::Out => ("-", "->"),
        Direction::In => ("<-", "-"),
        Direction::Both => ("-", "-"),
    };
    let mut text = format!(
        "({}){left}[{rel}{types}{bounds}]{right}({})",
        name(plan, from),
        name(plan, to)
    );
    if let Some(filter) = &pattern.filter {
        text = format!("{text} where {}", expression::text(plan, filter));
    }
    text
}

fn bounds(min: u32, max: Option<u32>) -> String {
    max.map_or_else(|| format!("*{min}.."), |max| format!("*{min}..{max}"))
}

fn order(plan: &Plan, keys: &[(graven_cypher::plan::Expr, SortOrder)]) -> String {
    let keys = keys.iter().map(|(e, order)| {
        let suffix = if *order == SortOrder::Descending {
            " DESC"
        } else {
            ""
        };
        format!("{}{suffix}", expression::text(plan, e))
    });
    keys.collect::<Vec<_>>().join(", ")
}
