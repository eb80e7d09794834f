//! Relationship variables and computed values that nothing reads are not produced.
//!
//! # How it works
//! Anonymous relationships get a variable while planning, because a later pattern may have to
//! differ from them. Where none does, the expansion need not find relationship ids at all.

use std::collections::BTreeSet;

use crate::plan::{Operator, Plan, PlanNode, VarId};

pub(crate) fn apply(plan: &mut Plan) {
    // Taking one computed value away may make another unused.
    loop {
        let read = plan.read_variables();
        let mut changed = false;
        plan.root
            .visit_mut(&mut |node| changed |= prune(node, &read));
        if !changed {
            return;
        }
    }
}

/// Drops what is unread in one operator; whether another round may find more.
fn prune(node: &mut PlanNode, read: &BTreeSet<VarId>) -> bool {
    let mut changed = false;
    let drop_unread = |var: &mut Option<VarId>| {
        if var.is_some_and(|v| !read.contains(&v)) {
            *var = None;
        }
    };
    match &mut node.op {
        Operator::Expand { rel, .. } | Operator::ExpandInto { rel, .. } => drop_unread(rel),
        Operator::VarExpand { rels, .. } => drop_unread(rels),
        Operator::Optional { nulls, .. } => nulls.retain(|var| read.contains(var)),
        Operator::InTransactions { batches, .. } => {
            batches.columns.retain(|var| read.contains(var))
        }
        Operator::LoadFrom { yields, .. } => yields.retain(|(_, var)| read.contains(var)),
        Operator::Argument { vars } => vars.retain(|var| read.contains(var)),
        Operator::Extend { items, .. } => {
            let before = items.len();
            items.retain(|(var, _)| read.contains(var));
            changed = items.len() != before;
        }
        _ => {}
    }
    if let Operator::Extend { items, input } = &mut node.op
        && items.is_empty()
    {
        let below = std::mem::replace(
            &mut **input,
            PlanNode {
                id: 0,
                op: Operator::Unit,
                estimated_rows: 0.0,
            },
        );
        *node = below;
    }
    changed
}
