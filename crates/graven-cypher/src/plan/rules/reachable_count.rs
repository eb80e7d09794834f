//! `count(DISTINCT end)` over a reachability search becomes a count of the reached set itself.
//!
//! # How it works
//! `Aggregate[keys; count(DISTINCT to)]` over (conditions on `to` over) a proven `VarExpand` that
//! binds `to` becomes [`Operator::ReachableCount`], which answers per input row without listing the
//! ends. Conditions may read the row besides `to`; that the end is another node than one of the row
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

use super::push_filters_into_expand::absorb_condition;
use crate::plan::expression::{AggregateCall, AggregateFunction, BinaryOp, Expr, Literal};
use crate::plan::functional_dependencies::FunctionalDependencies;
use crate::plan::mutant::{self, Mutant};
use crate::plan::variables::{conjunction, conjuncts, is_volatile};
use crate::plan::{ExpandFilter, Operator, Plan, PlanNode, VarExpandMode, VarId, Variable};
use crate::schema_view::SchemaView;
use crate::token::Span;

pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    let variables = &plan.variables;
    plan.root.visit_mut(&mut |node| {
        if let Some(matched) = matches(node, schema) {
            rewrite(node, matched, variables);
        }
    });
}

/// What is needed to rewrite an aggregation.
struct Fusion {
    /// Variables that the search and the conditions on its ends read.
    reads: BTreeSet<VarId>,
    single_row: bool,
}

fn matches(node: &PlanNode, schema: &dyn SchemaView) -> Option<Fusion> {
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
    let Some(Expr::Variable(counted)) = &call.argument else {
        return None;
    };
    if !call.distinct || call.function != AggregateFunction::Count {
        return None;
    }
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
    if to != counted || keys_on_end {
        return None;
    }
    let facts = FunctionalDependencies::of(input, schema);
    let mut reads = search.op.reads();
    reads.extend(conditions.iter().flat_map(Expr::variables));
    reads.remove(to);
    let volatile = keys.iter().any(|(_, e)| is_volatile(e));
    let determined = reads.is_subset(&facts.determined_by(keys));
    if volatile || !(determined || mutant::active(Mutant::ReachableCountAnyKeys)) {
        return None;
    }
    Some(Fusion {
        reads,
        single_row: facts.single_row,
    })
}

fn rewrite(node: &mut PlanNode, fusion: Fusion, variables: &[Variable]) {
    let estimated = node.estimated_rows;
    let Operator::Aggregate {
        input,
        keys,
        mut aggregates,
    } = take(node).op
    else {
        return;
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
        .chain(fusion.reads)
        .collect();
    let computed: Vec<(VarId, Expr)> = keys
        .into_iter()
        .filter(|(var, e)| *e != Expr::Variable(*var))
        .collect();
    if !computed.is_empty() {
        below = Box::new(built(
            Operator::Extend {
                input: below,
                items: computed,
            },
            rows,
        ));
    }
    if !fusion.single_row {
        let vars = vars.into_iter().collect();
        below = Box::new(built(
            Operator::Distinct {
                input: below,
                vars,
                runs: false,
            },
            rows,
        ));
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
    let reached = Box::new(built(reached, rows));
    *node = match keyless {
        true => {
            let call = AggregateCall {
                function: AggregateFunction::Sum,
                argument: Some(Expr::Variable(count)),
                parameter: None,
                distinct: false,
                at: Span::default(),
            };
            let aggregates = vec![(count, call)];
            let keys = Vec::new();
            built(
                Operator::Aggregate {
                    input: reached,
                    keys,
                    aggregates,
                },
                1.0,
            )
        }
        false if mutant::active(Mutant::ReachableCountEmptyGroups) => *reached,
        false => {
            let some = Expr::Binary {
                op: BinaryOp::Greater,
                left: Box::new(Expr::Variable(count)),
                right: Box::new(Expr::Literal(Literal::Integer(0))),
                at: Span::default(),
            };
            built(
                Operator::Filter {
                    input: reached,
                    predicate: some,
                },
                estimated.min(rows),
            )
        }
    };
}

fn built(op: Operator, rows: f64) -> PlanNode {
    PlanNode {
        id: 0,
        op,
        estimated_rows: rows,
    }
}

fn take(node: &mut PlanNode) -> PlanNode {
    std::mem::replace(node, built(Operator::Unit, 0.0))
}
