//! Shortest paths whose rows all begin, or all end, at the same node: the search says so.
//!
//! # How it works
//! If the rows below determine one end without anything else (`plan/functional_dependencies.rs`)
//! and the other one not, that end is the same in all of them, and as many rows as are expected
//! share what is found from there. Only outside of inner trees, where rows of many outer ones come
//! together.
//!
//! # Source
//! Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal", VLDB 2014 (searches
//! share what they visit).

use std::collections::BTreeSet;

use crate::plan::functional_dependencies::FunctionalDependencies;
use crate::plan::{Operator, Plan, VarExpandMode};
use crate::schema_view::SchemaView;

/// More rows are not reckoned with: an estimate may be wrong.
const ROWS_MAX: f64 = 64.0;

pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    plan.root.visit_mut(&mut |node| {
        let Operator::VarExpand {
            input,
            from,
            to,
            mode: VarExpandMode::Shortest(wanted),
            ..
        } = &mut node.op
        else {
            return;
        };
        let mut is_inner = false;
        input.visit(&mut |below| is_inner |= matches!(below.op, Operator::Argument { .. }));
        if is_inner {
            return;
        }
        let common = FunctionalDependencies::of(input, schema).closure(BTreeSet::new());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number"
        )]
        let rows = input.estimated_rows.clamp(1.0, ROWS_MAX).ceil() as u32;
        let from_is_common = common.contains(from);
        wanted.sharing = match (from_is_common, common.contains(to)) {
            (true, false) => [rows.max(2), 1],
            (false, true) => [1, rows.max(2)],
            _ => [1, 1],
        };
    });
}
