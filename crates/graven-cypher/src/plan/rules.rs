//! Rewrites of the whole plan, one a file, in a fixed order.

mod adjacent_distinct;
mod column_pruning;
mod column_release;
mod count_matches;
mod distinct_count;
mod eager;
mod index_order;
mod parallel;
mod push_filters_into_expand;
mod reachability;
mod reachable_count;
mod semi_join_reduction;
mod shared_endpoint;
mod top_n;
mod uniqueness_by_endpoints;

use super::trace::Rule;
use super::{Plan, forced, valid};
use crate::schema_view::SchemaView;
use crate::stop;

/// Applies all rules and numbers the operators (CY-2).
pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    let mut rule = |rule: Rule, apply: fn(&mut Plan, &dyn SchemaView)| {
        stop::ask();
        if forced::applies(rule) {
            valid::watched(plan, rule, |plan| apply(plan, schema));
        }
    };
    rule(Rule::TopN, |plan, _| top_n::apply(plan));
    rule(Rule::ColumnPruning, |plan, _| column_pruning::apply(plan));
    rule(Rule::UniquenessByEndpoints, |plan, _| {
        uniqueness_by_endpoints::apply(plan)
    });
    rule(Rule::ColumnPruning, |plan, _| column_pruning::apply(plan));
    rule(Rule::Reachability, |plan, _| reachability::apply(plan));
    rule(Rule::DistinctCount, |plan, _| distinct_count::apply(plan));
    rule(Rule::ReachableCount, reachable_count::apply);
    rule(Rule::ColumnPruning, |plan, _| column_pruning::apply(plan));
    rule(Rule::Eager, |plan, _| eager::apply(plan));
    // Barriers lie between expansions and the writes that they meet; what is taken out lies above
    // them.
    rule(Rule::PushFiltersIntoExpand, |plan, _| {
        push_filters_into_expand::apply(plan)
    });
    rule(Rule::SemiJoinReduction, semi_join_reduction::apply);
    rule(Rule::CountMatches, |plan, _| count_matches::apply(plan));
    rule(Rule::SharedEndpoint, shared_endpoint::apply);
    rule(Rule::IndexOrder, index_order::apply);
    rule(Rule::AdjacentDistinct, |plan, _| {
        adjacent_distinct::apply(plan)
    });
    rule(Rule::ColumnRelease, |plan, _| column_release::apply(plan));
    rule(Rule::Parallel, parallel::apply);
    let mut next = 0;
    number(&mut plan.root, &mut next);
    valid::numbered(plan);
}

/// Applies the rules that make the question smaller for any engine, and numbers the operators
/// (CY-2).
///
pub(crate) fn apply_logical(plan: &mut Plan) {
    let mut rule = |rule: Rule, apply: fn(&mut Plan)| {
        stop::ask();
        valid::watched(plan, rule, apply);
    };
    rule(Rule::ColumnPruning, column_pruning::apply);
    rule(Rule::Reachability, reachability::apply);
    rule(Rule::ColumnPruning, column_pruning::apply);
    let mut next = 0;
    number(&mut plan.root, &mut next);
    valid::numbered(plan);
}

fn number(node: &mut super::PlanNode, next: &mut u32) {
    node.id = *next;
    *next += 1;
    for child in node.op.children_mut() {
        number(child, next);
    }
}
