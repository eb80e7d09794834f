//! Distinct ends of a reachability search: the size of the reached set, in place of a row for each
//! end.
//!
//! # How it works
//! `Aggregate[keys; count(DISTINCT to)]` over (conditions on `to` over) a proven `VarExpand` that
//! binds `to` becomes [`Operator::ReachableCount`], which answers per input row without listing the
//! ends. `WITH DISTINCT k, to RETURN k, count(to)`, or `count(*)`, is the same: an end is never
//! null. Conditions may read the row besides `to`; that the end is another node than one of the row
//! goes into the pattern (`ExpandFilter::not_equal`).
//!
//! # Invariants
//! * CY-60 The grouping keys determine everything the search reads
//!   (`plan/functional_dependencies.rs`): two input rows of one group reach the same set. Before
//!   the search keys are computed and rows made distinct in the keys and the variables read. Since
//!   the former determine the latter, each group is then one row and its count the group's; equal
//!   values listed twice by `UNWIND` cost one search.
//! * CY-61 A group without any end has no row in the original: such counts are dropped above when
//!   there are keys. Without keys the original gives one row always: the sum over at most one row
//!   is that row's count, or 0.

use std::collections::BTreeSet;

use crate::plan::expression::{AggregateCall, AggregateFunction as F, BinaryOp, Expr, Literal};
use crate::plan::functional_dependencies::FunctionalDependencies;
use crate::plan::mutant::{self, Mutant};
use crate::plan::rules::push_filters_into_expand::absorb_condition;
use crate::plan::variables::{conjunction, conjuncts, is_volatile};
use crate::plan::{ExpandFilter, Operator, PlanNode, VarExpandMode, VarId, Variable};
use crate::schema_view::SchemaView;
use crate::token::Span;

/// Replaces an aggregation and the search below it by the count of the search.
pub(super) fn push(node: &mut PlanNode, variables: &[Variable], schema: &dyn SchemaView) {
    if let Some(reached) = matches(node, schema) {
        rewrite(node, reached, variables);
    }
}

/// What is needed to rewrite an aggregation.
struct Reached {
    /// Variables that the search and the conditions on its ends read.
    reads: BTreeSet<VarId>,
    single_row: bool,
}

fn matches(node: &PlanNode, schema: &dyn SchemaView) -> Option<Reached> {
    let Operator::Aggregate {
        input,
        keys,
        aggregates,
    } = &node.op
    else {
        return None;
    };
    let [(_, call)] = &aggregates[..] else {
        return None;
    };
    let (distinct, input) = match &input.op {
        Operator::Distinct { input, vars, .. } => (Some(vars), input),
        _ => (None, input),
    };
    let mut conditions = Vec::new();
    let search = match &input.op {
        Operator::Filter { input, predicate } => {
            conjuncts(predicate.clone(), &mut conditions);
            input
        }
        _ => input,
    };
    let Operator::VarExpand {
        input,
        to,
        into: false,
        mode: VarExpandMode::Reachable { proven: true },
        ..
    } = &search.op
    else {
        return None;
    };
    let keys_on_end = keys.iter().any(|(_, e)| e.variables().contains(to));
    let counts_ends = match distinct {
        Some(vars) => counts_rows_of(call, *to) && tells_apart(keys, *to, vars),
        None => {
            call.distinct && call.function == F::Count && call.argument == Some(Expr::Variable(*to))
        }
    };
    if keys_on_end || !counts_ends {
        return None;
    }
    let facts = FunctionalDependencies::of(input, schema);
    let mut reads = search.op.reads();
    reads.extend(conditions.iter().flat_map(Expr::variables));
    reads.remove(to);
    let volatile = keys.iter().any(|(_, e)| is_volatile(e))
        && !mutant::active(Mutant::AggregatePushDownRandomKeys);
    let determined = reads.is_subset(&facts.determined_by(keys));
    if volatile || !(determined || mutant::active(Mutant::AggregatePushDownAnyKeys)) {
        return None;
    }
    Some(Reached {
        reads,
        single_row: facts.single_row,
    })
}

/// Whether it is the number of rows that hold the end, which is never null.
fn counts_rows_of(call: &AggregateCall, to: VarId) -> bool {
    match (call.function, &call.argument) {
        (F::CountStar, _) => true,
        (F::Count, Some(argument)) => *argument == Expr::Variable(to),
        _ => false,
    }
}

/// Whether distinct rows over `vars` are, within a group, distinct ends.
fn tells_apart(keys: &[(VarId, Expr)], to: VarId, vars: &[VarId]) -> bool {
    let mut grouped = BTreeSet::from([to]);
    for (_, key) in keys {
        let Expr::Variable(var) = key else {
            return false;
        };
        grouped.insert(*var);
    }
    let distinct: BTreeSet<VarId> = vars.iter().copied().collect();
    grouped == distinct || mutant::active(Mutant::AggregatePushDownOtherVariables)
}

fn rewrite(node: &mut PlanNode, reached: Reached, variables: &[Variable]) {
    let estimated = node.estimated_rows;
    let Operator::Aggregate {
        input,
        keys,
        mut aggregates,
    } = node.take().op
    else {
        return;
    };
    let input = match input.op {
        Operator::Distinct { input, .. } => input,
        _ => input,
    };
    let mut conditions = Vec::new();
    let search = match input.op {
        Operator::Filter { input, predicate } => {
            conjuncts(predicate, &mut conditions);
            input
        }
        _ => input,
    };
    let Operator::VarExpand {
        input,
        from,
        to,
        mut pattern,
        min,
        max,
        ..
    } = search.op
    else {
        return;
    };
    let mut ends = ExpandFilter::default();
    conditions.retain(|condition| !absorb_condition(condition, to, &mut ends, variables));
    let ExpandFilter {
        labels: end_labels,
        not_equal,
        ..
    } = ends;
    pattern.ends.not_equal = not_equal;
    let (count, _) = aggregates.pop().expect("one aggregate");
    let rows = input.estimated_rows;
    let mut below = input;
    let keyless = keys.is_empty();
    let vars: BTreeSet<VarId> = keys
        .iter()
        .map(|(var, _)| *var)
        .chain(reached.reads)
        .collect();
    let computed: Vec<(VarId, Expr)> = keys
        .into_iter()
        .filter(|(var, e)| *e != Expr::Variable(*var))
        .collect();
    if !computed.is_empty() {
        below.push(rows, |input| Operator::Extend {
            input,
            items: computed,
        });
    }
    if !reached.single_row {
        let vars = vars.into_iter().collect();
        below.push(rows, |input| Operator::Distinct {
            input,
            vars,
            runs: false,
        });
    }
    let reached = Operator::ReachableCount {
        input: below,
        from,
        to,
        pattern,
        min,
        max,
        end_labels,
        end_filter: conjunction(conditions),
        count,
    };
    *node = PlanNode::new(reached, rows);
    if keyless {
        node.push(1.0, |input| Operator::Aggregate {
            input,
            keys: Vec::new(),
            aggregates: vec![(count, AggregateCall::sum(count))],
        });
    } else if !mutant::active(Mutant::AggregatePushDownEmptyGroups) {
        let predicate = Expr::Binary {
            op: BinaryOp::Greater,
            left: Box::new(Expr::Variable(count)),
            right: Box::new(Expr::Literal(Literal::Integer(0))),
            at: Span::default(),
        };
        node.push(estimated.min(rows), |input| Operator::Filter {
            input,
            predicate,
        });
    }
}
