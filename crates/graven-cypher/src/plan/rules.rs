//! Rewrites of the whole plan, one a file, in a fixed order. Each rests on an equation, with a side
//! condition that `plan/mutant.rs` can leave out.

pub(super) mod aggregate_push_down;
mod column_pruning;
mod eager;
mod interesting_orders;
mod push_filters_into_expand;
mod reachability;
mod semi_join_reduction;
mod uniqueness_by_endpoints;

use super::trace::Rule;
use super::{Plan, forced, valid};
use crate::schema_view::SchemaView;
use crate::stop;

/// Applies all rules.
pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    let mut rule = |rule: Rule, apply: fn(&mut Plan, &dyn SchemaView)| {
        stop::ask();
        if forced::applies(rule) {
            valid::watched(plan, rule, |plan| apply(plan, schema));
        }
    };
    rule(Rule::ColumnPruning, |plan, _| column_pruning::apply(plan));
    rule(Rule::UniquenessByEndpoints, |plan, _| {
        uniqueness_by_endpoints::apply(plan)
    });
    rule(Rule::ColumnPruning, |plan, _| column_pruning::apply(plan));
    rule(Rule::Reachability, |plan, _| reachability::apply(plan));
    rule(Rule::ColumnPruning, |plan, _| column_pruning::apply(plan));
    rule(Rule::Eager, |plan, _| eager::apply(plan));
    // Barriers lie between expansions and the writes that they meet; what is taken out lies above
    // them.
    rule(Rule::PushFiltersIntoExpand, |plan, _| {
        push_filters_into_expand::apply(plan)
    });
    rule(Rule::SemiJoinReduction, semi_join_reduction::apply);
    rule(Rule::AggregatePushDown, aggregate_push_down::apply);
    rule(Rule::InterestingOrders, interesting_orders::apply);
    rule(Rule::ColumnPruning, |plan, _| column_pruning::apply(plan));
}

/// Applies the rules that make the question smaller for any engine.
pub(crate) fn apply_logical(plan: &mut Plan) {
    let mut rule = |rule: Rule, apply: fn(&mut Plan)| {
        stop::ask();
        valid::watched(plan, rule, apply);
    };
    rule(Rule::ColumnPruning, column_pruning::apply);
    rule(Rule::Reachability, reachability::apply);
    rule(Rule::ColumnPruning, column_pruning::apply);
}
