//! From a bound statement to its plan: the tree, its checks, the rules, the forecasts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bind::graph::Bound;
use crate::cost::Cost;
use crate::diagnostic::Diagnostic;
use crate::plan::builder::Builder;
use crate::plan::{self, Operator, Plan, PlanMode, VarId};
use crate::schema_view::SchemaView;

/// Plans a bound statement.
///
/// # Errors
/// It has more steps than a plan may have.
pub(crate) fn plan(bound: Bound, schema: &dyn SchemaView) -> Result<Plan, Diagnostic> {
    let mut plan = built(bound, schema)?;
    plan::rules::apply(&mut plan, schema);
    plan::placement::apply(&mut plan, schema);
    plan.number();
    plan::valid::numbered(&plan);
    plan.root = plan::depth::checked(plan.root)?;
    if plan.mode != PlanMode::Execute {
        plan.estimates = plan::resource_estimate::estimate(&plan, schema);
    }
    Ok(plan)
}

/// Plans a bound statement for another engine (`logical.rs`).
///
/// # Errors
/// As [`plan`].
pub(crate) fn plan_logical(bound: Bound, schema: &dyn SchemaView) -> Result<Plan, Diagnostic> {
    let mut plan = built(bound, schema)?;
    plan::rules::apply_logical(&mut plan);
    plan.number();
    plan::valid::numbered(&plan);
    Ok(plan)
}

/// The tree before any rule.
fn built(bound: Bound, schema: &dyn SchemaView) -> Result<Plan, Diagnostic> {
    let Bound {
        mode,
        query,
        variables,
        subqueries,
        notices,
        planned_for,
        expected,
        known_columns,
        declared,
    } = bound;
    let columns: Vec<(Arc<str>, VarId)> = query.columns.clone();
    let mut builder = Builder {
        cost: Cost { schema },
        variables,
        subqueries,
        known_columns,
        notices,
        labels: BTreeMap::new(),
        followed: Vec::new(),
        handed_in: 1.0,
        is_inner: false,
        writes: query.writes(),
    };
    let mut root = builder.query(query, &[]);
    if columns.is_empty() {
        root.push(0.0, |input| Operator::EmptyResult { input });
    }
    let root = plan::depth::checked(root.root)?;
    let plan = Plan {
        root,
        variables: builder.variables,
        columns,
        declared,
        mode,
        notices: builder.notices,
        planned_for,
        expected,
        estimates: Vec::new(),
    };
    plan::valid::built(&plan);
    Ok(plan)
}
