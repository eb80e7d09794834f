//! Notices that the text of a statement gives cause for, as Neo4j has them: parts of a pattern that
//! nothing connects, shortest paths without a bound, hints on indexes that are not there, and forms
//! that Neo4j is about to drop.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Binder;
use super::labels::each_label;
use crate::ast::{
    ClauseKind, Expr, ExprKind, Hint, HintKind, LabelExpr, Name, PathPattern, Query, SingleQuery,
};
use crate::diagnostic::{self, Notice, closest};
use crate::plan::expression::{BinaryOp, Quantifier};
use crate::plan::schema::SchemaSubject;
use crate::schema_view::Named;
use crate::stop;
use crate::token::Span;

/// Most notices of a statement. An unknown name is compared with all names of the schema.
const NOTICES_MAX: usize = 100;

/// Functions of APOC 5 that are about to be dropped, and what takes their place.
const REPLACED: &[(&str, &str)] = &[
    ("apoc.create.uuid", "randomUUID"),
    ("apoc.map.setEntry", "apoc.map.setKey"),
    ("apoc.text.levenshteinDistance", "apoc.text.distance"),
    ("apoc.text.regreplace", "apoc.text.replace"),
];

/// Patterns of a `MATCH` that are looked at for parts that nothing connects.
const PATTERNS_MAX: usize = 100;

/// Parts of a `MATCH` that share no name, each with its names; those of the first pattern first.
fn components(patterns: &[PathPattern]) -> Vec<BTreeSet<&str>> {
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for pattern in patterns {
        let own: BTreeSet<&str> = pattern.names().map(|name| &*name.text).collect();
        let mut joined = own;
        let mut place = None;
        let mut at = 0;
        while at < found.len() {
            if found[at].is_disjoint(&joined) {
                at += 1;
                continue;
            }
            joined.extend(found.remove(at));
            place.get_or_insert(at);
        }
        found.insert(place.unwrap_or(found.len()), joined);
    }
    found
}

/// Whether a condition, or a part of one that `AND` joins, is of these names and cannot be judged
/// relationship by relationship or node by node.
fn is_of_whole(condition: &Expr, names: &[&Name]) -> bool {
    match &condition.kind {
        ExprKind::Binary {
            op: BinaryOp::And,
            left,
            right,
        } => is_of_whole(left, names) || is_of_whole(right, names),
        ExprKind::Quantifier {
            kind: Quantifier::All | Quantifier::None,
            ..
        } => false,
        _ => reads(condition, names),
    }
}

fn reads(expr: &Expr, names: &[&Name]) -> bool {
    if let ExprKind::Variable(own) = &expr.kind {
        return names.iter().any(|name| name.text == own.text);
    }
    let mut found = false;
    expr.children(&mut |child| found |= reads(child, names));
    found
}

/// The variables that the first `WITH` of a part of a subquery names.
fn named_first(part: &SingleQuery) -> impl Iterator<Item = &str> {
    let items = match part.clauses.first().map(|clause| &clause.kind) {
        Some(ClauseKind::With { projection, .. }) => &projection.items[..],
        _ => &[],
    };
    items.iter().filter_map(|item| match &item.expr.kind {
        ExprKind::Variable(name) if item.alias.is_none() => Some(&*name.text),
        _ => None,
    })
}

/// Whether a relationship with this type only passes; none where that is computed.
fn has_type(types: &LabelExpr, only: &str) -> Option<bool> {
    let each = |items: &[LabelExpr], decides: bool| {
        let mut all = Some(!decides);
        for item in items {
            match has_type(item, only) {
                Some(found) if found == decides => return Some(decides),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    };
    match types {
        LabelExpr::Label(name) => Some(*name.text == *only),
        LabelExpr::Any => Some(true),
        LabelExpr::Not(item) => has_type(item, only).map(|has| !has),
        LabelExpr::And(items) => each(items, false),
        LabelExpr::Or(items) => each(items, true),
        LabelExpr::Computed { .. } => None,
    }
}

impl Binder<'_> {
    /// What the patterns of a `MATCH` give cause for.
    pub(super) fn notice_patterns(&mut self, patterns: &[PathPattern], filter: Option<&Expr>) {
        let few = &patterns[..patterns.len().min(PATTERNS_MAX)];
        for names in components(few).into_iter().skip(1) {
            let names: Vec<&str> = names.into_iter().collect();
            let message = format!(
                "parts of the pattern are not connected: every row of one is combined with every \
                    row of the other ({})",
                names.join(", ")
            );
            self.notice_at(self.clause_span, "CartesianProduct", &message);
        }
        for pattern in patterns {
            self.notice_shortest(pattern, filter);
        }
    }

    /// What `shortestPath(...)` gives cause for.
    pub(super) fn notice_shortest(&mut self, pattern: &PathPattern, filter: Option<&Expr>) {
        if let ([(only, _)], Some(shortest)) = (&pattern.steps[..], pattern.shortest)
            && !shortest.closed
        {
            if only.length.as_ref().is_some_and(|it| it.max.is_none()) {
                let message = "this search for shortest paths has no upper bound; `[*..15]` is one";
                self.notice_at(only.span, "UnboundedShortestPath", message);
            }
            let own = [&pattern.name, &only.name].into_iter().flatten();
            let own: Vec<&Name> = own.collect();
            if filter.is_some_and(|filter| is_of_whole(filter, &own)) {
                let message = "the condition is of whole paths: all of them may have to be looked \
                    at";
                self.notice_at(self.clause_span, "ExhaustiveShortestPath", message);
            }
        }
    }

    /// Types that no relationship has, and the older form of alternatives.
    pub(super) fn notice_types(&mut self, types: &LabelExpr, span: Span) {
        let mut names = Vec::new();
        each_label(types, &mut |name| names.push(name.clone()));
        let other = "".into();
        let all = names.iter().map(|name| &name.text).chain([&other]);
        if all
            .into_iter()
            .all(|only| has_type(types, only) == Some(false))
        {
            let message = "a relationship has one type, so that none passes this";
            self.notice_at(span, "UnsatisfiableRelationshipType", message);
        }
        let LabelExpr::Or(items) = types else { return };
        let older = items.windows(2).any(|pair| match pair {
            [LabelExpr::Label(left), LabelExpr::Label(right)] => {
                let between = Span::new(left.span.end, right.span.start.max(left.span.end));
                between.slice(self.text).contains(':')
            }
            _ => false,
        });
        if older {
            let message = "Neo4j is about to drop the colon behind the bar: write `:A|B`";
            self.notice_at(span, "DeprecatedTypeColon", message);
        }
    }

    /// A name within a subquery that is another variable around it.
    pub(super) fn notice_shadowing(&mut self, name: &Name) {
        if self.scope.withheld.contains(&name.text) {
            let message = format!(
                "`{}` is also a variable around the subquery, which is not taken into it",
                name.text
            );
            self.notice_at(name.span, "SubqueryVariableShadowing", &message);
        }
    }

    /// Tells of hints on indexes that are not there.
    pub(super) fn notice_hints(&mut self, hints: &[Hint], patterns: &[PathPattern]) {
        for hint in hints {
            let HintKind::Index { kind, label, keys } = &hint.kind else {
                continue;
            };
            let relationships = patterns.iter().flat_map(|pattern| &pattern.steps);
            let of = |name: &Name| {
                let mut names = relationships.clone().filter_map(|(it, _)| it.name.as_ref());
                names.any(|own| own.text == name.text)
            };
            let subject = match hint.variables.first().is_some_and(of) {
                true => SchemaSubject::Type(label.clone()),
                false => SchemaSubject::Label(label.clone()),
            };
            if !self.schema.has_index(&subject, keys, *kind) {
                let message = format!("there is no index for {subject} on {}", keys.join(", "));
                self.notice_without_place("HintedIndexNotFound", message);
            }
        }
    }

    /// `CALL { ... }` that names what it takes by its first `WITH`.
    pub(super) fn notice_unscoped(&mut self, query: &Query, optional: bool) {
        let mut taken: Vec<&str> = Vec::new();
        let parts = std::iter::once(&query.first).chain(query.unions.iter().map(|it| &it.query));
        for part in parts {
            taken.extend(named_first(part));
        }
        let optional = if optional { "OPTIONAL " } else { "" };
        let message = format!(
            "Neo4j is about to drop this form: write {optional}CALL ({}) {{ ... }}",
            taken.join(", ")
        );
        self.notice_at(self.clause_span, "DeprecatedSubqueryScope", &message);
    }

    /// `id()` and functions of APOC that are about to be dropped.
    pub(super) fn notice_function(&mut self, name: &str, span: Span) {
        if name.eq_ignore_ascii_case("id") {
            let message = "Neo4j is about to drop the function `id`; elementId() stays";
            self.notice_at(span, "DeprecatedFunction", message);
        }
        let mut replaced = REPLACED.iter();
        if let Some((old, new)) = replaced.find(|(old, _)| name.eq_ignore_ascii_case(old)) {
            let message = format!("APOC is about to drop the function `{old}`: call `{new}`");
            self.notice_at(span, "DeprecatedFunctionReplaced", &message);
        }
    }

    /// Parameters that `EXPLAIN` has done without.
    pub(super) fn notice_missing_parameters(&mut self) {
        let missing: Vec<&str> = self.missing.iter().map(|name| &**name).collect();
        if !missing.is_empty() {
            let message = format!("parameters were not given: {}", missing.join(", "));
            self.notice_without_place("ParameterNotProvided", message);
        }
    }

    pub(super) fn notice_at(&mut self, span: Span, code: &'static str, message: &str) {
        if self.notices.len() >= NOTICES_MAX {
            return;
        }
        let notice = diagnostic::notice(self.text, span, code, message.to_owned());
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    pub(super) fn notice_unknown_key(&mut self, key: &Name) {
        if !self.schema.knows_key(&key.text) {
            self.notice_unknown(key, Named::PropertyKey);
        }
    }

    pub(super) fn notice_unknown(&mut self, name: &Name, of: Named) {
        if self.notices.len() >= NOTICES_MAX || self.written.contains(&name.text) {
            return;
        }
        stop::ask();
        if !self.names.iter().any(|(known, _)| *known == of) {
            self.names.push((of, self.schema.names(of)));
        }
        let names = self.names.iter().filter(|(known, _)| *known == of);
        let names = names.flat_map(|(_, names)| names);
        let mut message = format!("no {} `{}` in this database", of.word(), name.text);
        if let Some(near) = closest(&name.text, names.map(String::as_str)) {
            message.push_str(&format!("; did you mean `{near}`?"));
        }
        let notice = diagnostic::notice(self.text, name.span, of.unknown(), message);
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    fn notice_without_place(&mut self, code: &'static str, message: String) {
        let notice = Notice {
            code,
            message,
            position: None,
        };
        if self.notices.len() < NOTICES_MAX && !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Remembers a parameter that `EXPLAIN` does without.
    pub(super) fn does_without(&mut self, name: &Arc<str>) {
        if self.explains && !self.params.allows(name) {
            self.missing.insert(name.clone());
        }
    }
}
