//! Aggregates are computed of the parts of a pattern, before the parts are joined.
//!
//! # How it works
//! An aggregation over `R x F`, rows and what is found from each of them, needs no row of `F` if
//! the aggregate of each row's `F` is enough: a sum of counts is the count, the largest of extremes
//! is the extreme. Two operators give such results. [`trees`] takes out patterns that are counted,
//! and relationships that are compared, and puts `CountMatches` below the aggregation; [`searches`]
//! takes out a search of which the distinct ends are counted, and puts `ReachableCount` there.
//!
//! # Source
//! Yannakakis, "Algorithms for Acyclic Database Schemes", VLDB 1981; Yan and Larson, "Eager
//! Aggregation and Lazy Aggregation", VLDB 1995.

mod searches;
mod trees;

use crate::plan::Plan;
use crate::schema_view::SchemaView;

/// Name of the variables that hold numbers of matches.
pub(crate) const MATCHES: &str = "  matches";

pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    let variables = &mut plan.variables;
    plan.root.visit_mut(&mut |node| {
        searches::push(node, variables, schema);
        trees::push(node, variables);
    });
}
