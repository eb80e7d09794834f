//! Variable-length patterns whose rows are deduplicated anyway become reachability searches.
//!
//! # How it works
//! From the root down the rule carries whether repeated rows matter. They do not below `DISTINCT`,
//! below an aggregation whose aggregates all ignore duplicates (`count(DISTINCT ..)`, `min`, `max`,
//! ...), and inside `EXISTS`. There a [`Operator::VarExpand`] whose relationship list is never read
//! gives each end once per input row ([`VarExpandMode::Reachable`]).
//!
//! # Invariants
//! Why a breadth-first search finds the same ends as listing trails (no relationship twice):
//! * CY-73 The relationships that count form a fixed subgraph per input row: types, direction and
//!   the condition on each relationship depend on the relationship and the input row only, and
//!   `distinct_from`/`disjoint_from` name relationships bound before, which are excluded from it.
//!   So the claims below are about walks and trails of one graph.
//! * CY-51 A shortest walk from the start to another node repeats no node, hence no relationship:
//!   it is a trail. So with a lower bound of 0 or 1 a node other than the start is an end exactly
//!   when its distance is at most the upper bound.
//! * CY-52 The start itself: with lower bound 0 it is an end (the empty trail). With lower bound 1
//!   it is an end exactly when a closed trail of at most `max` relationships leads back to it. A
//!   shortest closed trail through the start is a cycle: a loop (length 1), two parallel or,
//!   followed without direction, two different relationships to one neighbour (length 2), or a
//!   longer cycle. The executor looks for the shortest one; going back over the relationship just
//!   used is a walk but no trail and must not count.
//! * CY-53 With a lower bound of 2 or more a near node may or may not be the end of a longer trail;
//!   that is not decided by distance, so the mode says `proven: false` and the executor enumerates
//!   trails, deduplicating ends.
//! * CY-54 What comes after may filter, expand, project or join: each is a function of the row,
//!   applied to equal rows with equal results, so removing repeated rows before it removes only
//!   repeated rows after it. `LIMIT`, `SKIP`, procedures, random values and whatever writes are not
//!   such functions, nor inner trees with them; below them rows keep their number. A later pattern
//!   of the same `MATCH` that must not touch the list reads the list (`disjoint_from`), which keeps
//!   the trails.

use std::collections::BTreeSet;

use crate::plan::expression::AggregateCall;
use crate::plan::mutant::{self, Mutant};
use crate::plan::variables::is_volatile;
use crate::plan::{Operator, Plan, PlanNode, VarExpandMode, VarId};

/// Whether repeated rows of an operator change the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duplicates {
    Matter,
    DoNotMatter,
}

pub(crate) fn apply(plan: &mut Plan) {
    let read = plan.read_variables();
    visit(&mut plan.root, Duplicates::Matter, &read);
}

fn visit(node: &mut PlanNode, above: Duplicates, read: &BTreeSet<VarId>) {
    let random = {
        let mut random = false;
        node.op
            .for_each_expr(&mut |expr| random |= is_volatile(expr));
        random && !mutant::active(Mutant::ReachabilityRandom)
    };
    let above = if random { Duplicates::Matter } else { above };
    let below = match &node.op {
        Operator::Distinct { .. } => Duplicates::DoNotMatter,
        Operator::Aggregate { aggregates, .. } => {
            match !random && aggregates.iter().all(|(_, c)| ignores_duplicates(c)) {
                true => Duplicates::DoNotMatter,
                false => Duplicates::Matter,
            }
        }
        Operator::Limit { .. } | Operator::Skip { .. } | Operator::TopN { .. }
            if mutant::active(Mutant::ReachabilityBelowLimit) =>
        {
            above
        }
        Operator::Limit { .. }
        | Operator::Skip { .. }
        | Operator::TopN { .. }
        | Operator::Procedure { .. }
        | Operator::CopyTo { .. }
        | Operator::ReachableCount { .. } => Duplicates::Matter,
        Operator::Apply { inner, .. }
        | Operator::Optional { inner, .. }
        | Operator::CartesianProduct { inner, .. }
        | Operator::Foreach { inner, .. }
        | Operator::InTransactions { inner, .. }
        | Operator::Repeat { inner, .. }
        | Operator::SemiApply { inner, .. }
            if !inner.is_repeatable() =>
        {
            Duplicates::Matter
        }
        op if op.writes() => Duplicates::Matter,
        _ => above,
    };
    if let Operator::VarExpand {
        rels, min, mode, ..
    } = &mut node.op
    {
        let unread = rels.is_none_or(|var| !read.contains(&var));
        let enumerates = *mode == VarExpandMode::Trails;
        if unread && enumerates && above == Duplicates::DoNotMatter {
            *rels = None;
            let proven = *min <= 1 || mutant::active(Mutant::ReachabilityAlwaysProven);
            *mode = VarExpandMode::Reachable { proven };
        }
    }
    if let Operator::SemiApply { input, inner, .. } = &mut node.op {
        visit(input, below, read);
        visit(inner, Duplicates::DoNotMatter, read);
        return;
    }
    for child in node.op.children_mut() {
        visit(child, below, read);
    }
}

fn ignores_duplicates(call: &AggregateCall) -> bool {
    call.ignores_duplicates() || mutant::active(Mutant::ReachabilityDuplicates)
}
