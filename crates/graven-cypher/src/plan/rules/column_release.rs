//! A list that no operator reads after its `UNWIND` is dropped there.
//!
//! # How it works
//! `WITH g, collect(x) AS xs UNWIND xs AS x` is how rows are numbered, cut or sorted within groups.
//! Each row after it would carry the list it comes from. A sort of these rows counts the list of a
//! group once for each of its elements, and writes it out as often where the rows do not fit. The
//! rule goes from the result down and gathers what is read above each operator.

use std::collections::BTreeSet;

use crate::plan::mutant::{self, Mutant};
use crate::plan::{Expr, Operator, Plan, PlanNode, VarId};

pub(crate) fn apply(plan: &mut Plan) {
    let of_variable = |op: &Operator| {
        matches!(
            op,
            Operator::Unwind {
                list: Expr::Variable(_),
                ..
            }
        )
    };
    if plan.root.any(&of_variable) {
        let read = plan.columns.iter().map(|(_, var)| *var).collect();
        mark(&mut plan.root, read);
    }
}

/// Marks the operator and those below it; `read` is what is read above it.
fn mark(node: &mut PlanNode, mut read: BTreeSet<VarId>) {
    if let Operator::Unwind {
        list: Expr::Variable(list),
        last,
        ..
    } = &mut node.op
    {
        *last = !read.contains(list) || mutant::active(Mutant::ColumnReleaseAlways);
    }
    add_reads(node, &mut read);
    let mut children = node.op.children_mut();
    if let [only] = &mut children[..] {
        return mark(only, read);
    }
    for at in 0..children.len() {
        let mut above = read.clone();
        for (other, child) in children.iter_mut().enumerate() {
            if other != at {
                child.visit_mut(&mut |node| add_reads(node, &mut above));
            }
        }
        mark(children[at], above);
    }
}

fn add_reads(node: &PlanNode, read: &mut BTreeSet<VarId>) {
    read.extend(node.op.reads());
    if let Operator::Argument { vars } = &node.op {
        // What is handed in is in the rows around, though nothing may look at it in the end.
        read.extend(vars);
    }
    if let Operator::Optional { nulls, .. } = &node.op {
        // Its rows have these columns, though nothing may look at them in the end.
        read.extend(nulls);
    }
    node.op.reads_inside(read);
}
