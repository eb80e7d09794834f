//! Counting rows made distinct is counting distinct values.
//!
//! # How it works
//! `WITH DISTINCT k, f RETURN k, count(f)` (or `count(*)`) is `count(DISTINCT f)` grouped by `k`,
//! if `f` is never null: the form that [`super::reachable_count`] knows. It is rewritten where `f`
//! is the end of a reachability search, which never is null.

use std::collections::BTreeSet;

use crate::plan::expression::{AggregateFunction, Expr};
use crate::plan::mutant::{self, Mutant};
use crate::plan::{Operator, Plan, PlanNode, VarExpandMode, VarId};

pub(crate) fn apply(plan: &mut Plan) {
    plan.root.visit_mut(&mut |node| {
        let Some(end) = matched(node) else { return };
        let Operator::Aggregate {
            input, aggregates, ..
        } = &mut node.op
        else {
            return;
        };
        let call = &mut aggregates[0].1;
        call.function = AggregateFunction::Count;
        call.argument = Some(Expr::Variable(end));
        call.distinct = true;
        let unit = PlanNode {
            id: 0,
            op: Operator::Unit,
            estimated_rows: 0.0,
        };
        let distinct = std::mem::replace(&mut **input, unit);
        if let Operator::Distinct { input: below, .. } = distinct.op {
            **input = *below;
        }
    });
}

/// The counted variable, if the operator is such a count.
fn matched(node: &PlanNode) -> Option<VarId> {
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
    let Operator::Distinct {
        input: below, vars, ..
    } = &input.op
    else {
        return None;
    };
    let search = match &below.op {
        Operator::Filter { input, .. } => &input.op,
        other => other,
    };
    let Operator::VarExpand {
        to,
        into: false,
        mode: VarExpandMode::Reachable { .. },
        ..
    } = search
    else {
        return None;
    };
    let counts = match (&call.function, &call.argument) {
        (AggregateFunction::CountStar, _) => true,
        (AggregateFunction::Count, Some(argument)) => *argument == Expr::Variable(*to),
        _ => false,
    };
    let mut grouped: BTreeSet<VarId> = BTreeSet::from([*to]);
    for (_, key) in keys {
        let Expr::Variable(var) = key else {
            return None;
        };
        grouped.insert(*var);
    }
    let distinct: BTreeSet<VarId> = vars.iter().copied().collect();
    let on_end = keys.iter().any(|(_, key)| *key == Expr::Variable(*to));
    let same = grouped == distinct || mutant::active(Mutant::DistinctCountOtherVariables);
    (counts && !on_end && same).then_some(*to)
}
