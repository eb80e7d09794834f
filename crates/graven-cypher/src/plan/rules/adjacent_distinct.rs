//! Where equal rows follow each other, `DISTINCT` compares neighbours and keeps nothing.
//!
//! # How it works
//! An expansion hands out the rows of one input row together, ends ascending. So if its input has
//! no two rows with the same values in the wanted variables, equal rows can only be parallel
//! relationships of one input row, and these are neighbours. What drops rows or computes others
//! from them one by one changes nothing about that.
//!
//! # Invariants
//! * CY-63 `runs` stands only where rows that are equal in the variables follow each other,
//!   whatever the graph holds.

use std::collections::BTreeSet;

use crate::plan::expression::Expr;
use crate::plan::mutant::{self, Mutant};
use crate::plan::{Direction, Operator, Plan, PlanNode, VarExpandMode, VarId};

pub(crate) fn apply(plan: &mut Plan) {
    plan.root.visit_mut(&mut |node| {
        if let Operator::Distinct { input, vars, runs } = &mut node.op {
            *runs = come_in_runs(input, vars.iter().copied().collect())
                || mutant::active(Mutant::AdjacentDistinctAnywhere);
        }
    });
}

/// Whether rows that are equal in `vars` follow each other.
fn come_in_runs(node: &PlanNode, mut vars: BTreeSet<VarId>) -> bool {
    use Operator as O;
    match &node.op {
        O::Filter { input, .. } | O::SemiApply { input, .. } => come_in_runs(input, vars),
        O::Extend { input, items } => {
            items.iter().all(|(var, _)| !vars.contains(var)) && come_in_runs(input, vars)
        }
        O::Project { input, items } => {
            sources(items, &vars).is_some_and(|vars| come_in_runs(input, vars))
        }
        O::Expand {
            input,
            rel,
            to,
            pattern,
            ..
        } => {
            let one_list = pattern.types.len() == 1 && pattern.direction != Direction::Both;
            let reads_ends = vars.remove(to) | rel.is_some_and(|rel| vars.remove(&rel));
            (one_list || !reads_ends) && has_no_equal(input, &vars)
        }
        _ => has_no_equal(node, &vars),
    }
}

/// Whether no two rows are equal in `vars`.
fn has_no_equal(node: &PlanNode, vars: &BTreeSet<VarId>) -> bool {
    use Operator as O;
    match &node.op {
        O::Unit => true,
        O::Filter { input, .. } | O::SemiApply { input, .. } | O::Extend { input, .. } => {
            has_no_equal(input, vars)
        }
        O::Project { input, items } => {
            let kept = items.iter().filter(|(var, _)| vars.contains(var));
            let kept = kept.filter_map(|(_, item)| match item {
                Expr::Variable(var) => Some(*var),
                _ => None,
            });
            has_no_equal(input, &kept.collect())
        }
        // Each node once for each row of the input.
        O::AllNodesScan { input, var }
        | O::LabelScan { input, var, .. }
        | O::IndexSeek { input, var, .. }
        | O::IndexRange { input, var, .. }
        | O::IndexScan { input, var, .. }
        | O::NodeByIdSeek { input, var, .. }
        | O::RelationshipByIdSeek { input, var, .. } => {
            vars.contains(var) && has_no_equal(input, vars)
        }
        O::VarExpand {
            input,
            to,
            into: false,
            mode: VarExpandMode::Reachable { .. },
            ..
        } => vars.contains(to) && has_no_equal(input, vars),
        O::Distinct { vars: keys, .. } => keys.iter().all(|key| vars.contains(key)),
        O::Aggregate { keys, .. } => keys.iter().all(|(key, _)| vars.contains(key)),
        _ => false,
    }
}

/// The variables that `vars` of a projection are taken from; none if some are computed.
fn sources(items: &[(VarId, Expr)], vars: &BTreeSet<VarId>) -> Option<BTreeSet<VarId>> {
    let wanted = items.iter().filter(|(var, _)| vars.contains(var));
    let sources = wanted.map(|(_, item)| match item {
        Expr::Variable(var) => Some(*var),
        _ => None,
    });
    sources.collect()
}
