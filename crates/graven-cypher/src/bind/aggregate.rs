//! Which calls are aggregates, and where they may stand.

use crate::ast;
use crate::ast::ExprKind;
use crate::plan::VarId;
use crate::plan::expression::AggregateCall;
use crate::plan::expression::AggregateFunction;
use crate::types::Type;
use std::sync::Arc;

/// What aggregates and grouping mean for the expression that is being bound.
pub(super) enum Aggregating {
    /// Aggregates may not stand here.
    Refused,
    /// Inside an item with aggregates: calls are collected, other reads must be keys.
    Collected {
        calls: Vec<(VarId, AggregateCall)>,
        keys: Vec<(ast::Expr, VarId, Type)>,
    },
    /// Sorting or filtering by what a projection gives.
    Sorting {
        columns: Vec<(ast::Expr, VarId, Type)>,
        aggregate: bool,
        keys: Vec<ast::Expr>,
        /// Names that were there before, and are not any more.
        lost: Vec<Arc<str>>,
    },
}

/// Whether an aggregate call stands in the expression, subqueries apart.
pub(super) fn contains_aggregate(expr: &ast::Expr) -> bool {
    if let ExprKind::Call { name, star, .. } = &expr.kind
        && aggregate_function(&name.text, *star).is_some()
    {
        return true;
    }
    let mut found = false;
    expr.children(&mut |child| found |= contains_aggregate(child));
    found
}

/// Those that are called by a name.
const AGGREGATES: &[AggregateFunction] = &[
    AggregateFunction::Count,
    AggregateFunction::Sum,
    AggregateFunction::Min,
    AggregateFunction::Max,
    AggregateFunction::Avg,
    AggregateFunction::Collect,
    AggregateFunction::StDev,
    AggregateFunction::StDevP,
    AggregateFunction::PercentileCont,
    AggregateFunction::PercentileDisc,
];

/// The aggregate of that name, if it is one.
pub(super) fn aggregate_function(name: &str, star: bool) -> Option<AggregateFunction> {
    if star {
        return Some(AggregateFunction::CountStar);
    }
    AGGREGATES
        .iter()
        .find(|known| known.name().eq_ignore_ascii_case(name))
        .copied()
}
