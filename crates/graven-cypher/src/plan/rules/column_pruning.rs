//! Columns that no operator above reads are not produced, and not carried further.
//!
//! # How it works
//! The rule goes from the result down with the variables that are *live*: what is read above. An
//! operator does not produce what is not live, and what it reads becomes live below it.
//!
//! Anonymous relationships get a variable while planning, because a later pattern may have to
//! differ from them. Where none does, the expansion need not find relationship ids at all. The
//! list of an `UNWIND` that is not live above it ends there.
//! `WITH g, collect(x) AS xs UNWIND xs AS x` is how rows are numbered, cut or sorted within groups;
//! a sort of these rows would count, or write out, the list of a group for each of its elements.

use std::collections::BTreeSet;

use crate::plan::mutant::{self, Mutant};
use crate::plan::{Expr, Operator, Plan, PlanNode, VarId};

pub(crate) fn apply(plan: &mut Plan) {
    let live = plan.columns.iter().map(|(_, var)| *var).collect();
    visit(&mut plan.root, live);
}

/// Prunes the operator and those below it; `live` is what is read above it.
fn visit(node: &mut PlanNode, mut live: BTreeSet<VarId>) {
    prune(&mut node.op, &live);
    while let Operator::Extend { items, input } = &mut node.op
        && items.is_empty()
    {
        *node = input.take();
        prune(&mut node.op, &live);
    }
    add_reads(&node.op, &mut live);
    let mut children = node.op.children_mut();
    if let [only] = &mut children[..] {
        return visit(only, live);
    }
    // What an inner tree is handed is live in the rows around it, which come first.
    for at in (0..children.len()).rev() {
        let mut live = live.clone();
        for (other, child) in children.iter().enumerate() {
            if other != at {
                child.visit(&mut |node| add_reads(&node.op, &mut live));
            }
        }
        visit(children[at], live);
    }
}

/// Drops what is not live above the operator.
fn prune(op: &mut Operator, live: &BTreeSet<VarId>) {
    let is_dead = |var: &mut VarId| !live.contains(var);
    match op {
        Operator::Expand { rel, .. }
        | Operator::ExpandInto { rel, .. }
        | Operator::VarExpand { rels: rel, .. } => {
            rel.take_if(is_dead);
        }
        Operator::Optional { nulls, .. } => nulls.retain(|var| live.contains(var)),
        Operator::InTransactions { batches, .. } => {
            batches.columns.retain(|var| live.contains(var));
        }
        Operator::LoadFrom { yields, .. } => yields.retain(|(_, var)| live.contains(var)),
        Operator::Argument { vars } => vars.retain(|var| live.contains(var)),
        Operator::Extend { items, .. } => items.retain(|(var, _)| live.contains(var)),
        Operator::Unwind {
            list: Expr::Variable(list),
            last,
            ..
        } => *last = !live.contains(list) || mutant::active(Mutant::ColumnPruningEndsLists),
        _ => {}
    }
}

fn add_reads(op: &Operator, live: &mut BTreeSet<VarId>) {
    live.extend(op.reads());
    if let Operator::Argument { vars } = op {
        // What is handed in is in the rows around, though nothing may look at it in the end.
        live.extend(vars);
    }
    if !mutant::active(Mutant::ColumnPruningInside) {
        op.reads_inside(live);
    }
}
