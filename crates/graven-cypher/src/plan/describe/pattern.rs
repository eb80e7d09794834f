//! Patterns as text: arrows, and what is asked of their ends.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::plan::{
    CountTree, Direction, EndJoin, JoinKind, PathCount, Plan, RelExtreme, RelPattern, VarId,
};

use super::{joined, joined_by, quoted};

impl Plan {
    /// What rules out ends of an expansion, as far as it goes beyond their labels.
    pub(super) fn expand_filter(&self, pattern: &RelPattern) -> String {
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

    pub(super) fn arrow(
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
}

/// Types and direction of a relationship as they would be written.
pub(super) fn typed_arrow(pattern: &RelPattern) -> (String, &'static str, &'static str) {
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
pub(super) fn hanging(pattern: &CountTree) -> String {
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

/// An extreme of the relationships of a hanging pattern.
pub(super) fn extreme(pattern: &CountTree, extreme: &RelExtreme) -> String {
    let function = if extreme.largest { "max" } else { "min" };
    let (types, ..) = typed_arrow(&pattern.pattern);
    let types = if types.is_empty() { "[]" } else { &types };
    format!("{function}({types}.{})", quoted(&extreme.key))
}

pub(super) fn bounds(min: u32, max: Option<u32>) -> String {
    match max {
        Some(max) if max == min => format!("*{min}"),
        Some(max) => format!("*{min}..{max}"),
        None => format!("*{min}.."),
    }
}

/// Which paths are wanted.
pub(super) fn selection(count: PathCount) -> String {
    match count {
        PathCount::Paths(n) => format!(" shortest {n}"),
        PathCount::Lengths(1) => " all shortest".to_owned(),
        PathCount::Lengths(n) => format!(" shortest {n} groups"),
        PathCount::All => " shortest first".to_owned(),
    }
}

pub(super) fn colons(labels: &[Arc<str>]) -> String {
    labels.iter().map(|l| format!(":{}", quoted(l))).collect()
}
