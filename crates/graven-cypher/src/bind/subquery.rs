//! Subqueries of expressions: `EXISTS {}`, `COUNT {}`, `COLLECT {}`, patterns as conditions and
//! comprehensions.
//!
//! # How it works
//! Each becomes a variable of the expression around it (CY-21); what it reads from there is
//! recorded while it is bound. One that reads a variable of a comprehension around it is refused:
//! it would have to run once per element.

use super::graph::{BoundQuery, Branch, QueryGraph, Step, Subquery, SubqueryValue};
use super::{Binder, Result};
use crate::ast::{self, ClauseKind, ExprKind, SubqueryKind};
use crate::bind::aggregate::Aggregating;
use crate::bind::made::Typed;
use crate::diagnostic::Code;
use crate::plan::expression::Expr;
use crate::plan::variables::{conjunction, is_volatile};
use crate::plan::{VarId, VarKind};
use crate::token::Span;
use crate::types::{Type, TypeSet};

impl Binder<'_> {
    pub(super) fn subquery(
        &mut self,
        kind: SubqueryKind,
        query: &ast::Query,
        written: bool,
    ) -> Result<Typed> {
        let before = self.differing;
        let mark = self.enter_subquery();
        self.scope.keeps_outer = written;
        let result = self.query(query);
        let imports = self.leave_subquery(mark);
        let returns_all = query.first.clauses.last().is_some_and(
            |last| matches!(&last.kind, ClauseKind::Return(all) if all.star.is_some()),
        );
        let query = result?;
        let (value, ty) = match kind {
            SubqueryKind::Exists => (SubqueryValue::Exists, Type::of(TypeSet::BOOLEAN)),
            SubqueryKind::Count => (SubqueryValue::Count, Type::of(TypeSet::INTEGER)),
            SubqueryKind::Collect => {
                let (false, [(_, var)]) = (returns_all, &query.columns[..]) else {
                    let message = "a COLLECT subquery returns exactly one column, which it names";
                    return Err(self.error(Span::default(), Code::UnexpectedSyntax, message));
                };
                let var = *var;
                (
                    SubqueryValue::Collect(Expr::Variable(var)),
                    Type::of(TypeSet::LIST),
                )
            }
        };
        let var = self.register(value, query, imports, before)?;
        Ok((Expr::Variable(var), ty))
    }

    pub(super) fn pattern_predicate(&mut self, pattern: &ast::PathPattern) -> Result<Expr> {
        let before = self.differing;
        let mark = self.enter_subquery();
        let result = self.pattern_graph(pattern, None, true);
        let imports = self.leave_subquery(mark);
        let query = single_match(result?);
        let var = self.register(SubqueryValue::Exists, query, imports, before)?;
        Ok(Expr::Variable(var))
    }

    pub(super) fn pattern_comprehension(
        &mut self,
        pattern: &ast::PathPattern,
        filter: Option<&ast::Expr>,
        map: &ast::Expr,
    ) -> Result<Typed> {
        self.bound_ends(pattern)?;
        self.notice_shortest(pattern, None);
        let before = self.differing;
        let mark = self.enter_subquery();
        let result = self
            .pattern_graph(pattern, filter, false)
            .and_then(|graph| Ok((graph, self.expression(map)?)));
        let imports = self.leave_subquery(mark);
        let (graph, (value, ty)) = result?;
        let query = single_match(graph);
        let var = self.register(SubqueryValue::Collect(value), query, imports, before)?;
        Ok((Expr::Variable(var), Type::list_of(ty.set)))
    }

    /// The ends of `shortestPath(...)` as a value are nodes that are known: it looks for one path,
    /// not for nodes.
    fn bound_ends(&self, pattern: &ast::PathPattern) -> Result<()> {
        if pattern.shortest.is_none_or(|shortest| shortest.closed) {
            return Ok(());
        }
        let last = pattern.steps.last().map(|(_, node)| node);
        for node in last.into_iter().chain([&pattern.first]) {
            let known = node
                .name
                .as_ref()
                .is_some_and(|name| self.scope.find(&name.text).is_some());
            if !known {
                let (span, what) = match &node.name {
                    Some(name) => (name.span, format!("`{}`", name.text)),
                    None => (pattern.span, "one of them without a name".to_owned()),
                };
                let message = format!(
                    "both ends of a shortest path outside of MATCH are bound before, {what} is not"
                );
                return Err(self
                    .error(span, Code::UndefinedVariable, message)
                    .with_hint("write `MATCH p = shortestPath(...)`, which looks for its ends"));
            }
        }
        Ok(())
    }

    /// Whether a variable stands for an `EXISTS`, which a condition turns into a semi-join: a
    /// column has a variable of its own, since the semi-join computes none.
    pub(super) fn is_exists(&self, var: VarId) -> bool {
        let subquery = self.subqueries.get(&var);
        subquery.is_some_and(|s| matches!(s.kind, SubqueryValue::Exists))
    }

    /// Whether a variable stands for a subquery of the running clause; one that a clause before
    /// made a column of is a value of the row, or of a row around it.
    pub(super) fn is_open_subquery(&self, var: VarId) -> bool {
        let columns = || self.scope.row.iter().chain(&self.scope.outer);
        self.subqueries.contains_key(&var) && columns().all(|entry| entry.var != var)
    }

    /// The variable of a subquery; `before` it there were so many calls that differ each time.
    fn register(
        &mut self,
        kind: SubqueryValue,
        query: BoundQuery,
        mut imports: Vec<VarId>,
        before: usize,
    ) -> Result<VarId> {
        if let Some(local) = imports.iter().find(|var| self.scope.is_local(**var)) {
            let name = &self.variables[local.0 as usize].name;
            let message = format!(
                "a subquery that reads `{name}`, a variable of the comprehension around it, is not \
                    available in this build"
            );
            return Err(self
                .error(self.clause_span, Code::FeatureNotAvailable, message)
                .with_hint("UNWIND the list and use the subquery in a clause of its own"));
        }
        let keys = match &self.aggregating {
            Aggregating::Collected { keys, .. } => Some(keys),
            _ => None,
        };
        let kept = |var: &VarId| {
            keys.is_none_or(|keys| {
                self.scope.is_constant(*var)
                    || keys
                        .iter()
                        .any(|(key, known, _)| is_variable(key) && known == var)
            })
        };
        // A guard that cannot be judged where the subquery runs is none.
        let judged = |guard: &&Expr| {
            let mut reads = guard.variables().into_iter();
            !is_volatile(guard) && reads.all(|var| kept(&var) && !self.scope.is_local(var))
        };
        let guards: Vec<Expr> = self.guards.iter().filter(judged).cloned().collect();
        self.guarded += guards.iter().map(parts).sum::<usize>();
        if self.guarded > GUARDS_MAX {
            let message = "the statement has too many subqueries of which each depends on those \
                before it";
            return Err(self
                .error(self.clause_span, Code::StatementTooLong, message)
                .with_hint("test a list with any() or all(), or send several statements"));
        }
        let guard = conjunction(guards);
        if let Some(lost) = imports.iter().find(|var| !kept(var)) {
            let name = &self.variables[lost.0 as usize].name;
            let message = format!(
                "a subquery next to an aggregate reads `{name}`, which is not a grouping key"
            );
            let code = Code::AmbiguousAggregationExpression;
            return Err(self
                .error(self.clause_span, code, message)
                .with_hint("compute the subquery in an earlier WITH"));
        }
        for read in guard.iter().flat_map(Expr::variables) {
            imports.push(read);
            // What is a column by now needs nothing of what it was computed from.
            let open = self.is_open_subquery(read);
            if let Some(other) = self.subqueries.get(&read).filter(|_| open) {
                imports.extend(&other.imports);
            }
        }
        imports.sort_unstable();
        imports.dedup();
        // A chain of subqueries names those before it again and again.
        imports.shrink_to_fit();
        let mut of_others = imports.iter().filter_map(|var| self.subqueries.get(var));
        let differs = self.differing > before || of_others.any(|it| it.differs);
        let var = self.new_variable("  subquery", VarKind::Value);
        self.uses.extend(imports.iter().copied());
        self.subqueries.insert(
            var,
            Subquery {
                kind,
                query,
                imports,
                guard,
                differs,
            },
        );
        Ok(var)
    }
}

/// Parts of guards that a statement may have: that of a subquery has all conditions before it.
const GUARDS_MAX: usize = 1 << 16;

/// How many parts an expression has.
fn parts(expr: &Expr) -> usize {
    let mut all = 1;
    expr.for_each_child(&mut |child| all += parts(child));
    all
}

fn single_match(graph: QueryGraph) -> BoundQuery {
    BoundQuery {
        branches: vec![Branch {
            steps: vec![Step::Match(graph)],
            columns: Vec::new(),
        }],
        all: true,
        columns: Vec::new(),
    }
}

fn is_variable(expr: &ast::Expr) -> bool {
    matches!(expr.kind, ExprKind::Variable(_))
}
