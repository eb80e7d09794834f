//! How a finished plan runs: which pipelines threads divide, and what searches have in common.
//!
//! # How it works
//! The last phase of planning, behind the rewrites of [`super::rules`]. It rests on no equation:
//! the operators of the plan stay as they are, and estimates say where work is divided or shared.
//! Only the copy of an aggregation that goes into a divided pipeline needs a side condition
//! (CY-49).

mod parallel;
mod shared_endpoint;

use super::trace::Rule;
use super::{Plan, forced, valid};
use crate::schema_view::SchemaView;
use crate::stop;

/// Decides how the plan runs.
pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    stop::ask();
    let mut place = |rule: Rule, apply: fn(&mut Plan, &dyn SchemaView)| {
        if forced::applies(rule) {
            valid::watched(plan, rule, |plan| apply(plan, schema));
        }
    };
    place(Rule::SharedEndpoint, shared_endpoint::apply);
    place(Rule::Parallel, parallel::apply);
}
