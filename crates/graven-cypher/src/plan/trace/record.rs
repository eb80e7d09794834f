//! Recording which rules fire: see [`super`].

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::{Context, Fired, Rule};
use crate::plan::{Operator, Plan, PlanNode, VarId};

thread_local! {
    static FIRED: RefCell<Option<Fired>> = const { RefCell::new(None) };
    static PLANS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Begins to record the plans of this thread; what was recorded before is forgotten.
pub fn start() {
    FIRED.with_borrow_mut(|fired| *fired = Some(Fired::new()));
}

/// What fired since [`start`]; recording ends.
#[must_use]
pub fn take() -> Fired {
    FIRED.with_borrow_mut(Option::take).unwrap_or_default()
}

/// The operators of the plans that this thread made while it recorded, in words, since the last
/// call.
#[must_use]
pub fn plans() -> String {
    PLANS.with_borrow_mut(std::mem::take)
}

/// Records what a plan has become.
pub(crate) fn planned(plan: &Plan) {
    if is_on() {
        PLANS.with_borrow_mut(|plans| plans.push_str(&text(&plan.root)));
    }
}

/// Whether this thread records.
pub(crate) fn is_on() -> bool {
    FIRED.with_borrow(Option::is_some)
}

fn add(rule: Rule, context: Context) {
    FIRED.with_borrow_mut(|fired| {
        if let Some(fired) = fired {
            *fired.entry((rule, context)).or_default() += 1;
        }
    });
}

/// What lies around an operator.
#[derive(Clone, Copy, Default)]
struct Around {
    optional: bool,
    subquery: bool,
    writes: bool,
}

impl Around {
    /// The surroundings of the child at `place` of `op`.
    fn below(self, op: &Operator, place: usize) -> Around {
        let inner = place > 0;
        let subquery = matches!(
            op,
            Operator::Apply { .. } | Operator::SemiApply { .. } | Operator::InTransactions { .. }
        );
        Around {
            optional: self.optional || (inner && matches!(op, Operator::Optional { .. })),
            subquery: self.subquery || (inner && subquery),
            ..self
        }
    }
}

/// Records where a rewrite changed the plan.
pub(crate) fn rewritten(rule: Rule, before: &PlanNode, after: &Plan) {
    let around = Around {
        writes: after.writes(),
        ..Around::default()
    };
    differences(rule, before, &after.root, around);
}

/// Records the choices of the builder that the finished plan holds.
pub(crate) fn chosen(plan: &Plan) {
    let around = Around {
        writes: plan.writes(),
        ..Around::default()
    };
    choices(&plan.root, around);
}

fn differences(rule: Rule, before: &PlanNode, after: &PlanNode, around: Around) {
    if text(before) == text(after) {
        return;
    }
    let (own, others) = (before.op.children(), after.op.children());
    if own.len() == others.len() && !own.is_empty() {
        // The operator itself is the same if it is so above the same inputs.
        let mut moved = before.clone();
        for (place, other) in moved.op.children_mut().into_iter().zip(&others) {
            place.clone_from(other);
        }
        if text(&moved) == text(after) {
            for (place, (own, other)) in own.into_iter().zip(others).enumerate() {
                differences(rule, own, other, around.below(&before.op, place));
            }
            return;
        }
    }
    let mut read = BTreeSet::new();
    before.visit(&mut |node| read.extend(node.op.reads()));
    fired(rule, before, &read, around);
}

/// The operator and all below it, for comparing; numbers that are not equal to themselves are, as
/// text.
fn text(node: &PlanNode) -> String {
    format!("{:?}", node.op)
}

fn choices(node: &PlanNode, around: Around) {
    let mut read: BTreeSet<VarId> = node.op.reads().into_iter().collect();
    match &node.op {
        Operator::SemiApply { inner, .. } => inner.visit(&mut |below| {
            if let Operator::Argument { vars } = &below.op {
                read.extend(vars);
            }
        }),
        // What it joins on is computed below it.
        Operator::HashJoin { .. } => node.visit(&mut |below| read.extend(below.op.reads())),
        _ => {}
    }
    let chosen = match &node.op {
        Operator::NodeByIdSeek { .. } => Some(Rule::IdSeek),
        Operator::RelationshipByIdSeek { .. } => Some(Rule::RelationshipSeek),
        Operator::IndexSeek { .. } => Some(Rule::IndexSeek),
        Operator::IndexRange { .. } => Some(Rule::IndexRange),
        Operator::IndexScan { .. } => Some(Rule::IndexScan),
        Operator::ComputedLabelScan { .. } => Some(Rule::ComputedLabels),
        Operator::HashJoin { .. } => Some(Rule::HashJoin),
        Operator::SemiApply { .. } => Some(Rule::SemiApply),
        op if op.rel_pattern().is_some_and(|p| p.filter.is_some()) => {
            Some(Rule::RelationshipConditions)
        }
        _ => None,
    };
    if let Some(rule) = chosen {
        fired(rule, node, &read, around);
    }
    for (place, child) in node.op.children().into_iter().enumerate() {
        choices(child, around.below(&node.op, place));
    }
}

/// Counts one firing at `node`, where `read` is what is looked at.
fn fired(rule: Rule, node: &PlanNode, read: &BTreeSet<VarId>, around: Around) {
    let (mut optional, mut correlated) = (false, false);
    node.visit(&mut |below| match &below.op {
        Operator::Optional { nulls, .. } => {
            optional |= nulls.iter().any(|var| read.contains(var));
        }
        Operator::Argument { vars } => correlated |= vars.iter().any(|var| read.contains(var)),
        _ => {}
    });
    let contexts = [
        (Context::Anywhere, true),
        (Context::InOptional, around.optional),
        (Context::OnOptional, optional),
        (Context::InSubquery, around.subquery),
        (
            Context::Correlated,
            correlated && (around.optional || around.subquery),
        ),
        (Context::BesideWrite, around.writes),
    ];
    for (context, holds) in contexts {
        if holds {
            add(rule, context);
        }
    }
}
