//! Operators and expressions as text, for `EXPLAIN` and `PROFILE`.

mod changes;

use std::fmt::Write as _;
use std::sync::Arc;

use super::expression::{AggregateCall, AggregateFunction, BinaryOp, Expr, Literal, UnaryOp};
use super::{
    CountTree, Direction, EndJoin, IdForm, Inclusion, IndexPart, JoinKind, OnError, Operator,
    PathCount, Plan, RelPattern, SetItem, SortOrder, VarExpandMode, VarId,
};

use crate::functions;
use crate::token::written_name;

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
                let patterns = joined(patterns, |(from, pattern)| {
                    let others = self.expand_filter(&pattern.pattern);
                    format!("({}){}{others}", name(from), hanging(pattern))
                });
                format!("{patterns} as {}", name(count))
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

    /// What rules out ends of an expansion, as far as it goes beyond their labels.
    fn expand_filter(&self, pattern: &RelPattern) -> String {
        let name = |var: &VarId| self.variable_name(*var);
        let mut text = String::new();
        if !pattern.distinct_ends.is_empty() {
            let pair =
                |(start, end): &(VarId, VarId)| format!("({})--({})", name(start), name(end));
            let _ = write!(text, " other than {}", joined(&pattern.distinct_ends, pair));
        }
        let ends = &pattern.ends;
        if !ends.not_equal.is_empty() {
            let _ = write!(text, " not to {}", joined(&ends.not_equal, name));
        }
        for join in &ends.joins {
            let kind = match join.kind {
                JoinKind::Inner => "for each",
                JoinKind::Semi => "where",
                JoinKind::Anti => "where not",
            };
            let (types, left, right) = typed_arrow(&join.pattern);
            let others = self.expand_filter(&join.pattern);
            let _ = write!(
                text,
                " {kind} ({}){left}{types}{right}(){others}",
                name(&join.near)
            );
        }
        for group in &ends.semi_join_groups {
            let one = |join: &EndJoin| {
                let (types, left, right) = typed_arrow(&join.pattern);
                format!("({}){left}{types}{right}()", name(&join.near))
            };
            let alternatives: Vec<String> = group.iter().map(one).collect();
            let _ = write!(text, " where {}", alternatives.join(" or "));
        }
        text
    }

    fn arrow(
        &self,
        from: VarId,
        rel: Option<VarId>,
        to: VarId,
        pattern: &RelPattern,
        length: &str,
    ) -> String {
        let (left, right) = match pattern.direction {
            Direction::Out => ("-", "->"),
            Direction::In => ("<-", "-"),
            Direction::Both => ("-", "-"),
        };
        let mut inside = rel.map_or(String::new(), |rel| self.variable_name(rel));
        if !pattern.types.is_empty() {
            let _ = write!(
                inside,
                ":{}",
                pattern
                    .types
                    .iter()
                    .map(quoted)
                    .collect::<Vec<_>>()
                    .join("|")
            );
        }
        inside.push_str(length);
        if let Some(filter) = &pattern.filter {
            let _ = write!(inside, " where {}", self.expression(filter));
        }
        let mut text = format!(
            "({}){left}[{inside}]{right}({}{})",
            self.variable_name(from),
            self.variable_name(to),
            colons(&pattern.ends.labels)
        );
        let others: Vec<VarId> = pattern
            .distinct_from
            .iter()
            .chain(&pattern.disjoint_from)
            .copied()
            .collect();
        if !others.is_empty() {
            let _ = write!(
                text,
                " other than {}",
                joined(&others, |v| self.variable_name(*v))
            );
        }
        text.push_str(&self.expand_filter(pattern));
        text
    }

    fn aggregate(&self, call: &AggregateCall) -> String {
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
                _ => format!("{name}({})", joined(args, text)),
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

fn colons(labels: &[Arc<str>]) -> String {
    labels.iter().map(|l| format!(":{}", quoted(l))).collect()
}

/// Types and direction of a relationship as they would be written.
fn typed_arrow(pattern: &RelPattern) -> (String, &'static str, &'static str) {
    let types = joined_by(&pattern.types, "|", quoted);
    let types = match types.is_empty() {
        true => String::new(),
        false => format!("[:{types}]"),
    };
    let (left, right) = match pattern.direction {
        Direction::Out => ("-", "->"),
        Direction::In => ("<-", "-"),
        Direction::Both => ("-", "-"),
    };
    (types, left, right)
}

/// A hanging pattern as it would be written, branches in brackets, optional ones with a question
/// mark.
fn hanging(pattern: &CountTree) -> String {
    let (types, left, right) = typed_arrow(&pattern.pattern);
    let labels: String = (pattern.labels.iter())
        .map(|label| format!(":{}", quoted(label)))
        .collect();
    let mut text = format!("{left}{types}{right}({labels})");
    match &pattern.branches[..] {
        [] => {}
        [one] => text.push_str(&hanging(one)),
        many => {
            let _ = write!(text, "{{{}}}", joined(many, hanging));
        }
    }
    if pattern.optional {
        text.push('?');
    }
    text
}

fn joined_by<T>(items: &[T], by: &str, text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(by)
}

fn joined<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    joined_by(items, ", ", text)
}

fn bounds(min: u32, max: Option<u32>) -> String {
    match max {
        Some(max) if max == min => format!("*{min}"),
        Some(max) => format!("*{min}..{max}"),
        None => format!("*{min}.."),
    }
}

/// A name as it must be written.
fn quoted(name: &Arc<str>) -> String {
    written_name(name).into_owned()
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

pub(super) fn binary_sign(op: BinaryOp) -> &'static str {
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

/// Which paths are wanted.
fn selection(count: PathCount) -> String {
    match count {
        PathCount::Paths(n) => format!(" shortest {n}"),
        PathCount::Lengths(1) => " all shortest".to_owned(),
        PathCount::Lengths(n) => format!(" shortest {n} groups"),
    }
}
