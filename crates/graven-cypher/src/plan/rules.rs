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

use super::Plan;
use crate::schema_view::SchemaView;

/// Applies all rules and numbers the operators (CY-2).
pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    top_n::apply(plan);
    unused::apply(plan);
    distinct_ends::apply(plan);
    unused::apply(plan);
    reachability::apply(plan);
    distinct_count::apply(plan);
    reachable_count::apply(plan, schema);
    unused::apply(plan);
    eager::apply(plan);
    // Barriers lie between expansions and the writes that they meet; what is taken out lies above them.
    end_conditions::apply(plan);
    far_nodes::apply(plan, schema);
    pattern_count::apply(plan);
    common_ends::apply(plan, schema);
    index_order::apply(plan, schema);
    distinct_runs::apply(plan);
    last_read::apply(plan);
    parallel::apply(plan, schema);
    let mut next = 0;
    number(&mut plan.root, &mut next);
}

fn number(node: &mut super::PlanNode, next: &mut u32) {
    node.id = *next;
    *next += 1;
    for child in node.op.children_mut() {
        number(child, next);
    }
}
