//! Operators and expressions as text, for `EXPLAIN` and `PROFILE`.

mod changes;
mod expression;
mod pattern;

use std::fmt::Write as _;
use std::sync::Arc;

use super::expression::Expr;
use super::{
    IdForm, Inclusion, IndexPart, OnError, Operator, Plan, SetItem, SortOrder, VarExpandMode, VarId,
};

use crate::token::written_name;
pub(super) use expression::binary_sign;
use pattern::{bounds, colons, extreme, hanging, selection};

impl Operator {
    /// The operator's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Operator::Unit => "Unit",
            Operator::Argument { .. } => "Argument",
            Operator::AllNodesScan { .. } => "AllNodesScan",
            Operator::LabelScan { .. } => "LabelScan",
            Operator::ComputedLabelScan { .. } => "ComputedLabelScan",
            Operator::IndexSeek { .. } => "IndexSeek",
            Operator::IndexRange { .. } => "IndexRange",
            Operator::IndexScan { .. } => "IndexScan",
            Operator::NodeByIdSeek { form, .. } => match form {
                IdForm::Number => "NodeByIdSeek",
                IdForm::Element => "NodeByElementIdSeek",
            },
            Operator::RelationshipByIdSeek { form, .. } => match form {
                IdForm::Number => "RelationshipByIdSeek",
                IdForm::Element => "RelationshipByElementIdSeek",
            },
            Operator::Expand { .. } => "Expand",
            Operator::ExpandInto { .. } => "ExpandInto",
            Operator::VarExpand { into: true, .. } => "VarExpandInto",
            Operator::VarExpand { .. } => "VarExpand",
            Operator::Repeat { .. } => "Repeat",
            Operator::SelectPaths { .. } => "SelectPaths",
            Operator::BuildPath { .. } => "BuildPath",
            Operator::Filter { .. } => "Filter",
            Operator::Project { .. } => "Project",
            Operator::Extend { .. } => "Extend",
            Operator::Aggregate { .. } => "Aggregate",
            Operator::ReachableCount { .. } => "ReachableCount",
            Operator::CountMatches { .. } => "CountMatches",
            Operator::Distinct { .. } => "Distinct",
            Operator::Sort { .. } => "Sort",
            Operator::TopN { .. } => "TopN",
            Operator::Skip { .. } => "Skip",
            Operator::Limit { .. } => "Limit",
            Operator::Unwind { .. } => "Unwind",
            Operator::Apply { .. } => "Apply",
            Operator::Optional { .. } => "Optional",
            Operator::InTransactions { .. } => "InTransactions",
            Operator::SemiApply { anti: true, .. } => "AntiSemiApply",
            Operator::SemiApply { .. } => "SemiApply",
            Operator::HashJoin { .. } => "HashJoin",
            Operator::CartesianProduct { .. } => "CartesianProduct",
            Operator::Union { .. } => "Union",
            Operator::Procedure { .. } => "Procedure",
            Operator::Create { .. } => "Create",
            Operator::Merge { .. } => "Merge",
            Operator::Set { items, .. } if items.iter().all(SetItem::removes) => "Remove",
            Operator::Set { .. } => "Set",
            Operator::Delete { detach: true, .. } => "DetachDelete",
            Operator::Delete { .. } => "Delete",
            Operator::Foreach { .. } => "Foreach",
            Operator::Eager { .. } => "Eager",
            Operator::EmptyResult { .. } => "EmptyResult",
            Operator::Parallel { .. } => "Parallel",
            Operator::Exchange { .. } => "Exchange",
            Operator::LoadCsv { .. } => "LoadCsv",
            Operator::LoadFrom { .. } => "LoadFrom",
            Operator::CopyTo { .. } => "CopyTo",
            Operator::Schema { .. } => "Schema",
        }
    }
}

impl Plan {
    /// Name of a variable for reading; anonymous ones are told apart by their number.
    #[must_use]
    pub fn variable_name(&self, var: VarId) -> String {
        match self.variables.get(var.0 as usize) {
            Some(variable) => match variable.name.strip_prefix("  ") {
                Some(anonymous) => format!("_{}{}", anonymous.replace(' ', "_"), var.0),
                None => variable.name.to_string(),
            },
            None => format!("_{}", var.0),
        }
    }

    /// What the operator does, beyond its name, in one line.
    #[must_use]
    pub fn describe(&self, op: &Operator) -> String {
        let name = |var: &VarId| self.variable_name(*var);
        let expr = |e: &Expr| self.expression(e);
        match op {
            Operator::Unit
            | Operator::Apply { .. }
            | Operator::SemiApply { .. }
            | Operator::CartesianProduct { .. }
            | Operator::EmptyResult { .. }
            | Operator::Parallel { .. }
            | Operator::Exchange { .. }
            | Operator::Union { .. } => String::new(),
            Operator::Argument { vars } => joined(vars, name),
            Operator::Distinct { vars, runs, .. } => {
                let runs = if *runs { ", side by side" } else { "" };
                format!("{}{runs}", joined(vars, name))
            }
            Operator::HashJoin { on, .. } => joined(on, name),
            Operator::AllNodesScan { var, .. } => format!("({})", name(var)),
            Operator::LabelScan { var, label, .. } => format!("({}:{})", name(var), quoted(label)),
            Operator::ComputedLabelScan {
                var, names, equal, ..
            } => self.computed_scan(*var, names, equal),
            Operator::IndexSeek {
                var,
                label,
                key,
                value,
                any,
                ..
            } => {
                let relation = if *any { "IN" } else { "=" };
                format!(
                    "({}:{}) {} {relation} {}",
                    name(var),
                    quoted(label),
                    quoted(key),
                    expr(value)
                )
            }
            Operator::IndexRange {
                var,
                label,
                key,
                low,
                high,
                ..
            } => {
                let mut text = format!("({}:{})", name(var), quoted(label));
                let part = IndexPart::Range {
                    low: low.clone(),
                    high: high.clone(),
                };
                text.push_str(&self.index_part(key, &part));
                text
            }
            Operator::IndexScan {
                var,
                label,
                keys,
                equal,
                part,
                order,
                ..
            } => {
                let mut text = format!("({}:{})", name(var), quoted(label));
                for (key, value) in keys.iter().zip(equal) {
                    let _ = write!(text, " {} = {}", quoted(key), expr(value));
                }
                let next = keys.get(equal.len());
                if let Some(key) = next {
                    text.push_str(&self.index_part(key, part));
                }
                let _ = write!(text, " by index on {}", keys.join(", "));
                if let Some(order) = order {
                    let descending = order.direction == super::SortOrder::Descending;
                    let way = if descending {
                        ", descending"
                    } else {
                        ", ascending"
                    };
                    text.push_str(way);
                }
                text
            }
            Operator::NodeByIdSeek {
                var,
                form,
                value,
                any,
                ..
            }
            | Operator::RelationshipByIdSeek {
                var,
                form,
                value,
                any,
                ..
            } => {
                let relation = if *any { "IN" } else { "=" };
                let of = match form {
                    IdForm::Number => "id",
                    IdForm::Element => "elementId",
                };
                format!("{of}({}) {relation} {}", name(var), expr(value))
            }
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
            } => self.arrow(*from, *rel, *to, pattern, ""),
            Operator::VarExpand {
                from,
                rels,
                to,
                pattern,
                min,
                max,
                mode,
                ..
            } => {
                let mut text = self.arrow(*from, *rels, *to, pattern, &bounds(*min, *max));
                match mode {
                    VarExpandMode::Trails => text.push_str(" trails"),
                    VarExpandMode::Reachable { proven: true } => text.push_str(" reachable"),
                    VarExpandMode::Reachable { proven: false } => {
                        text.push_str(" reachable, by trails")
                    }
                    VarExpandMode::Shortest(wanted) => text.push_str(&selection(wanted.count)),
                }
                text
            }
            Operator::ReachableCount {
                from,
                to,
                pattern,
                min,
                max,
                end_labels,
                end_filter,
                count,
                ..
            } => {
                let mut text = self.arrow(*from, None, *to, pattern, &bounds(*min, *max));
                if !end_labels.is_empty() {
                    let labels: String = end_labels
                        .iter()
                        .map(|l| format!(":{}", quoted(l)))
                        .collect();
                    let _ = write!(text, " where {}{labels}", name(to));
                }
                if let Some(filter) = end_filter {
                    let _ = write!(text, " where {}", expr(filter));
                }
                let _ = write!(text, " as {}", name(count));
                text
            }
            Operator::CountMatches {
                patterns, count, ..
            } => {
                let extremes = patterns.iter().flat_map(|(_, pattern)| {
                    let extremes = pattern.extremes.iter();
                    extremes.map(|it| format!(", {} as {}", extreme(pattern, it), name(&it.var)))
                });
                let extremes: String = extremes.collect();
                let patterns = joined(patterns, |(from, pattern)| {
                    let others = self.expand_filter(&pattern.pattern);
                    format!("({}){}{others}", name(from), hanging(pattern))
                });
                format!("{patterns} as {}{extremes}", name(count))
            }
            Operator::SelectPaths {
                from, to, count, ..
            } => format!("from {} to {}{}", name(from), name(to), selection(*count)),
            Operator::Repeat { repeat, .. } => {
                let lists = joined(&repeat.groups, |(_, list)| name(list));
                let bounds = bounds(repeat.min, repeat.max);
                let back = if repeat.reversed { " backwards" } else { "" };
                let into = if repeat.into { " into" } else { " to" };
                format!(
                    "from {}{into} {} {bounds}{back} [{lists}]",
                    name(&repeat.from),
                    name(&repeat.to)
                )
            }
            Operator::BuildPath { path, parts, .. } => {
                format!("{} = {}", name(path), joined(parts, name))
            }
            Operator::Filter { predicate, .. } => expr(predicate),
            Operator::Project { items, .. } | Operator::Extend { items, .. } => self.items(items),
            Operator::Aggregate {
                keys, aggregates, ..
            } => {
                let calls = joined(aggregates, |(var, call)| {
                    format!("{} as {}", self.aggregate(call), name(var))
                });
                match keys.is_empty() {
                    true => calls,
                    false => format!("{} by {}", calls, self.items(keys)),
                }
            }
            Operator::Sort { keys, .. } => self.sort_keys(keys),
            Operator::TopN { keys, limit, .. } => {
                format!("{} limit {}", self.sort_keys(keys), expr(limit))
            }
            Operator::Skip { count, .. } | Operator::Limit { count, .. } => expr(count),
            Operator::Unwind { list, var, .. } => format!("{} as {}", expr(list), name(var)),
            Operator::Optional { nulls, .. } => joined(nulls, name),
            Operator::Procedure {
                name: called,
                args,
                yields,
                ..
            } => {
                let yields = joined(yields, |(column, var)| format!("{column} as {}", name(var)));
                format!("{called}({}) yield {yields}", joined(args, expr))
            }
            Operator::Create { creation, .. } => self.creation(creation),
            Operator::Merge {
                creation,
                on_create,
                on_match,
                ..
            } => {
                let mut text = self.creation(creation);
                for (event, items) in [("create", on_create), ("match", on_match)] {
                    if !items.is_empty() {
                        let _ = write!(text, " on {event} {}", self.set_items(items));
                    }
                }
                text
            }
            Operator::Set { items, .. } => self.set_items(items),
            Operator::Delete { targets, .. } => joined(targets, expr),
            Operator::Foreach { list, var, .. } => format!("{} in {}", name(var), expr(list)),
            Operator::InTransactions { batches, .. } => {
                let rows = batches.rows.as_ref();
                let rows = rows.map_or(super::InTransactions::ROWS.to_string(), expr);
                let on_error = match batches.on_error {
                    OnError::Fail => "",
                    OnError::Break => ", on error break",
                    OnError::Continue => ", on error continue",
                };
                let status = batches.status.as_ref();
                let status = status.map_or(String::new(), |s| format!(", status as {}", name(s)));
                let retry = batches.retry.as_ref();
                let retry = retry.map_or(String::new(), |s| format!(", again for {} s", expr(s)));
                format!("of {rows} rows{retry}{on_error}{status}")
            }
            Operator::Eager { reason, .. } => reason.to_string(),
            Operator::Schema { command, .. } => command.to_string(),
            Operator::LoadFrom {
                source,
                yields,
                bounds,
                ..
            } => {
                let columns = joined(yields, |(column, _)| column.to_string());
                let mut text = format!("{source} columns {columns}");
                for bound in bounds {
                    let op = binary_sign(bound.op);
                    let _ = write!(text, " where {} {op} {}", bound.column, expr(&bound.value));
                }
                text
            }
            Operator::CopyTo { columns, file, .. } => {
                let columns = joined(columns, |(column, var)| {
                    format!("{} as {column}", name(var))
                });
                format!("{columns} to '{file}'")
            }
            Operator::LoadCsv {
                url,
                headers,
                terminator,
                var,
                ..
            } => {
                let with = if *headers { " with headers" } else { "" };
                let by = terminator
                    .as_ref()
                    .map_or(String::new(), |t| format!(" by {}", expr(t)));
                format!("{} as {}{with}{by}", expr(url), name(var))
            }
        }
    }

    /// What an index demands of one property.
    fn index_part(&self, key: &Arc<str>, part: &IndexPart) -> String {
        match part {
            IndexPart::Range { low, high } => {
                let mut text = String::new();
                let sides = low.iter().map(|b| ('>', b));
                for (sign, (value, inclusion)) in sides.chain(high.iter().map(|b| ('<', b))) {
                    let equal = match inclusion {
                        Inclusion::Inclusive => "=",
                        Inclusion::Exclusive => "",
                    };
                    let value = self.expression(value);
                    let _ = write!(text, " {} {sign}{equal} {value}", quoted(key));
                }
                text
            }
            _ => part.text().map_or(String::new(), |(how, text)| {
                format!(" {} {how} {}", quoted(key), self.expression(text))
            }),
        }
    }

    fn items(&self, items: &[(VarId, Expr)]) -> String {
        joined(items, |(var, value)| match value {
            Expr::Variable(same) if same == var => self.variable_name(*var),
            _ => {
                let (text, name) = (self.expression(value), self.variable_name(*var));
                if text == name {
                    text
                } else {
                    format!("{text} as {name}")
                }
            }
        })
    }

    fn sort_keys(&self, keys: &[(Expr, SortOrder)]) -> String {
        joined(keys, |(key, order)| match order {
            SortOrder::Ascending => self.expression(key),
            SortOrder::Descending => format!("{} desc", self.expression(key)),
        })
    }
}

fn joined_by<T>(items: &[T], by: &str, text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(by)
}

fn joined<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    joined_by(items, ", ", text)
}

/// A name as it must be written.
fn quoted(name: &Arc<str>) -> String {
    written_name(name).into_owned()
}
