//! Rewrites of the whole plan, one a file, in a fixed order.

mod common_ends;
mod distinct_count;
mod distinct_ends;
mod distinct_runs;
mod eager;
mod end_conditions;
mod far_nodes;
mod index_order;
mod last_read;
mod parallel;
mod pattern_count;
mod reachability;
mod reachable_count;
mod top_n;
mod unused;

use super::trace::Rule;
use super::{Plan, valid};
use crate::diagnostic::Diagnostic;
use crate::schema_view::SchemaView;
use crate::stop;

/// Applies all rules and numbers the operators (CY-2).
///
/// # Errors
/// The plan is not wanted any more.
pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) -> Result<(), Diagnostic> {
    let mut rule = |rule: Rule, apply: fn(&mut Plan, &dyn SchemaView)| {
        stop::ask("")?;
        valid::watched(plan, rule, |plan| apply(plan, schema));
        Ok(())
    };
    rule(Rule::TopN, |plan, _| top_n::apply(plan))?;
    rule(Rule::Unused, |plan, _| unused::apply(plan))?;
    rule(Rule::DistinctEnds, |plan, _| distinct_ends::apply(plan))?;
    rule(Rule::Unused, |plan, _| unused::apply(plan))?;
    rule(Rule::Reachability, |plan, _| reachability::apply(plan))?;
    rule(Rule::DistinctCount, |plan, _| distinct_count::apply(plan))?;
    rule(Rule::ReachableCount, reachable_count::apply)?;
    rule(Rule::Unused, |plan, _| unused::apply(plan))?;
    rule(Rule::Eager, |plan, _| eager::apply(plan))?;
    // Barriers lie between expansions and the writes that they meet; what is taken out lies above
    // them.
    rule(Rule::EndConditions, |plan, _| end_conditions::apply(plan))?;
    rule(Rule::FarNodes, far_nodes::apply)?;
    rule(Rule::PatternCount, |plan, _| pattern_count::apply(plan))?;
    rule(Rule::CommonEnds, common_ends::apply)?;
    rule(Rule::IndexOrder, index_order::apply)?;
    rule(Rule::DistinctRuns, |plan, _| distinct_runs::apply(plan))?;
    rule(Rule::LastRead, |plan, _| last_read::apply(plan))?;
    rule(Rule::Parallel, parallel::apply)?;
    let mut next = 0;
    number(&mut plan.root, &mut next);
    valid::numbered(plan);
    Ok(())
}

fn number(node: &mut super::PlanNode, next: &mut u32) {
    node.id = *next;
    *next += 1;
    for child in node.op.children_mut() {
        number(child, next);
    }
}
