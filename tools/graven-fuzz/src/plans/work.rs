//! How much a plan has done, in rows.

use graven::PlanStep;

/// Rows that went into and came out of what reads the graph or joins, in all of the plan.
pub(super) fn of(step: &PlanStep) -> u64 {
    let rows = |step: &PlanStep| step.did.map_or(0, |did| did.rows);
    let own = match step.operator.as_str() {
        "AllNodesScan"
        | "LabelScan"
        | "ComputedLabelScan"
        | "IndexSeek"
        | "IndexRange"
        | "IndexScan"
        | "NodeByIdSeek"
        | "NodeByElementIdSeek"
        | "RelationshipByIdSeek"
        | "RelationshipByElementIdSeek"
        | "Expand"
        | "ExpandInto"
        | "VarExpand"
        | "VarExpandInto"
        | "Repeat"
        | "HashJoin"
        | "CartesianProduct" => rows(step) + step.inputs.iter().map(rows).sum::<u64>(),
        // What these do is the same in every plan, or done by those below.
        _ => 0,
    };
    own + step.inputs.iter().map(of).sum::<u64>()
}
