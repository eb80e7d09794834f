//! Checks that a plan is well formed: every variable read is produced below, ids are dense.

use std::collections::BTreeSet;

use graven_cypher::Plan;
use graven_cypher::plan::{Operator, PlanNode, VarId};

/// CY-1 and CY-2, as a sentence where they fail.
pub(crate) fn well_formed(plan: &Plan) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let mut count = 0;
    plan.root.visit(&mut |node| {
        ids.insert(node.id);
        count += 1;
    });
    if ids.len() != count || ids.last().copied() != Some(count as u32 - 1) {
        return Err(format!("CY-2: {count} operators have ids {ids:?}"));
    }
    let rows = produced(plan, &plan.root, &BTreeSet::new())?;
    for (heading, var) in &plan.columns {
        if !rows.contains(var) {
            return Err(format!("CY-1: column `{heading}` is not produced"));
        }
    }
    Ok(())
}

/// Variables of the rows of an operator; `outer` are those an `Argument` may hand in.
fn produced(
    plan: &Plan,
    node: &PlanNode,
    outer: &BTreeSet<VarId>,
) -> Result<BTreeSet<VarId>, String> {
    use Operator as O;
    let children = node.op.children();
    let mut below = match children.first() {
        Some(input) => produced(plan, input, outer)?,
        None => BTreeSet::new(),
    };
    let reads = node.op.reads();
    if let Some(missing) = reads.iter().find(|var| !below.contains(var)) {
        return Err(format!(
            "CY-1: {} {} reads {:?}, which is not produced below it",
            node.op.name(),
            plan.describe(&node.op),
            plan.variable_name(*missing)
        ));
    }
    match &node.op {
        O::Argument { vars } => {
            if let Some(missing) = vars.iter().find(|var| !outer.contains(var)) {
                return Err(format!(
                    "CY-1: Argument hands in {:?}, which is not there",
                    plan.variable_name(*missing)
                ));
            }
            below.extend(vars);
        }
        O::AllNodesScan { .. }
        | O::LabelScan { .. }
        | O::ComputedLabelScan { .. }
        | O::IndexSeek { .. }
        | O::IndexRange { .. }
        | O::IndexScan { .. }
        | O::NodeByIdSeek { .. }
        | O::Unwind { .. }
        | O::LoadCsv { .. }
        | O::Expand { .. }
        | O::ExpandInto { .. }
        | O::VarExpand { .. }
        | O::BuildPath { .. }
        | O::Extend { .. }
        | O::ReachableCount { .. }
        | O::PatternCount { .. }
        | O::Procedure { .. }
        | O::Create { .. } => below.extend(node.op.binds()),
        O::Project { .. } | O::Aggregate { .. } | O::Distinct { .. } => below = node.op.binds(),
        O::Apply { inner, .. } | O::Optional { inner, .. } => {
            let inner = produced(plan, inner, &below)?;
            if let O::Optional { nulls, .. } = &node.op
                && let Some(missing) = nulls.iter().find(|var| !inner.contains(var))
            {
                return Err(format!(
                    "CY-1: Optional nulls {:?}",
                    plan.variable_name(*missing)
                ));
            }
            below.extend(inner);
        }
        O::InTransactions { inner, batches, .. } => {
            let inner = produced(plan, inner, &below)?;
            if let Some(missing) = batches.columns.iter().find(|var| !inner.contains(var)) {
                return Err(format!(
                    "CY-1: InTransactions returns {:?}",
                    plan.variable_name(*missing)
                ));
            }
            below.extend(node.op.binds());
        }
        O::Repeat { inner, repeat, .. } => {
            let mut row = below.clone();
            row.insert(repeat.entry);
            let inner = produced(plan, inner, &row)?;
            let kept = repeat.groups.iter().map(|(var, _)| var).chain(&repeat.rels);
            if let Some(missing) = kept.chain([&repeat.exit]).find(|var| !inner.contains(var)) {
                return Err(format!(
                    "CY-1: Repeat keeps {:?}",
                    plan.variable_name(*missing)
                ));
            }
            below.extend(node.op.binds());
        }
        O::SemiApply { inner, .. } => {
            produced(plan, inner, &below)?;
        }
        O::Union { inputs } => {
            for input in &inputs[1..] {
                let other = produced(plan, input, outer)?;
                below = below.intersection(&other).copied().collect();
            }
        }
        O::Unit
        | O::Filter { .. }
        | O::Sort { .. }
        | O::TopN { .. }
        | O::Skip { .. }
        | O::Set { .. }
        | O::Delete { .. }
        | O::Eager { .. }
        | O::SelectPaths { .. }
        | O::Parallel { .. }
        | O::Exchange { .. }
        | O::Limit { .. } => {}
        O::EmptyResult { .. } | O::Schema { .. } => below.clear(),
        O::Merge { inner, .. } => below.extend(produced(plan, inner, &below)?),
        O::Foreach { inner, var, .. } => {
            let mut row = below.clone();
            row.insert(*var);
            produced(plan, inner, &row)?;
        }
        O::HashJoin { .. } | O::CartesianProduct { .. } => {
            below.extend(produced(plan, children[1], outer)?);
        }
    }
    Ok(below)
}
