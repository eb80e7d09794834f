//! Barriers: where a clause could meet the effects of another one on other rows.
//!
//! # How it works
//! In the language a clause is done for all rows before the next one begins; operators work on one
//! batch after the other. The difference shows only where one of two operators writes what the
//! other one reads or writes, rows pass between them in several batches, and nothing in between
//! takes in all rows anyway (sorting, grouping). Only there an [`Operator::Eager`] goes in, below
//! the upper of the two, with the reason as `EXPLAIN` shows it.
//!
//! What may meet what ([`Effects`]):
//! * A created node meets a scan or seek that it would be found by: of all nodes, or of one of its
//!   labels. A created relationship meets an expansion over its type. Neither meets a read of a
//!   property: it is not in the row.
//! * A property write meets reads of that key (of that kind of entity, where the kind is known) and
//!   seeks by it; a map write meets every key.
//! * A label write meets scans and seeks of the label, and conditions on it.
//! * A function reads of the nodes and relationships that it is given what [`read_by_call`] says,
//!   and everything where that is not said.
//! * A deletion meets every scan, seek and expansion, every property or label read, and every other
//!   write.
//! * `MERGE` reads by its inner tree and writes what it creates and sets.
//!
//! Two refinements that keep the common statements free of barriers:
//! * One row: as long as there is at most one row, clause by clause and row by row are the same.
//! * A scan or seek over one row has fixed its nodes before the first row leaves, so nothing meets
//!   it. The variable it binds, and a created one, is *unique*: no two rows hold the same entity,
//!   so reading, changing or deleting that entity cannot meet another row's.
//!
//! # Invariants
//! * CY-71 Row by row within one writing operator is the language's own meaning and needs no
//!   barrier: `UNWIND [1, 1] AS x MERGE (:A {x: x})` creates one node.
//! * CY-72 An inner tree that writes runs once per row; it is judged as one operator with all that
//!   its own read and write.

mod conflict;
mod effects;

use std::collections::BTreeSet;

use crate::plan::expression::Expr;
use crate::plan::{Operator, Plan, PlanNode, VarId, VarKind, Variable};
use effects::Effects;

pub(crate) fn apply(plan: &mut Plan) {
    if !plan.writes() {
        return;
    }
    let mut root = plan.root.take();
    let plain = plain_variables(&root, &plan.variables);
    let rule = Rule {
        variables: &plan.variables,
        plain,
    };
    rule.pipeline(&mut root);
    plan.root = root;
}

struct Rule<'a> {
    variables: &'a [Variable],
    /// Variables that hold no node, relationship or path, nor anything with one in it.
    plain: BTreeSet<VarId>,
}

impl Rule<'_> {
    /// Puts in the barriers below `node`; what its rows still carry.
    fn pipeline(&self, node: &mut PlanNode) -> Effects {
        use Operator as O;
        match &mut node.op {
            O::Unit | O::Argument { .. } => {
                return Effects {
                    single_row: true,
                    ..Effects::default()
                };
            }
            O::Union { inputs } => {
                let mut all = Effects::default();
                for input in inputs {
                    let own = self.pipeline(input);
                    all.reads.extend(own.reads);
                    all.writes.extend(own.writes);
                }
                return all;
            }
            _ => {}
        }
        if let O::InTransactions { input, inner, .. } = &mut node.op {
            // The rows are read before anything is written, from a state that no batch changes, and
            // what stands above begins when all is done.
            self.pipeline(input);
            self.pipeline(inner);
            return Effects::default();
        }
        let mut own = self.own(&node.op);
        let mut children = node.op.children_mut().into_iter();
        let input = children.next().expect("every other operator has an input");
        for inner in children {
            // The rows of an inner tree never leave the operator; what it touches does count.
            self.pipeline(inner);
            inner.visit(&mut |below| {
                let effects = self.own(&below.op);
                own.reads.extend(effects.reads);
                own.writes.extend(effects.writes);
            });
        }
        let mut below = self.pipeline(input);
        if !below.single_row
            && let Some(reason) = self.meeting(&below, &own)
        {
            input.push(input.estimated_rows, |input| O::Eager {
                input,
                reason: reason.into(),
            });
            below.reads.clear();
            below.writes.clear();
        }
        self.passed(&node.op, below, own)
    }

    /// The effects above an operator: what was below, and its own.
    fn passed(&self, op: &Operator, mut below: Effects, own: Effects) -> Effects {
        use Operator as O;
        let one_row = below.single_row;
        match op {
            O::Aggregate { keys, .. } => {
                return Effects {
                    single_row: keys.is_empty(),
                    ..Effects::default()
                };
            }
            O::Sort { .. } | O::TopN { .. } => {
                below.reads.clear();
                below.writes.clear();
                return below;
            }
            O::EmptyResult { .. } => return Effects::default(),
            O::AllNodesScan { var, .. }
            | O::LabelScan { var, .. }
            | O::ComputedLabelScan { var, .. }
            | O::IndexSeek { var, .. }
            | O::IndexRange { var, .. }
            | O::IndexScan { var, .. }
            | O::NodeByIdSeek { var, .. }
            | O::RelationshipByIdSeek { var, .. } => {
                below.single_row = false;
                below.unique.clear();
                if one_row {
                    // It has fixed its nodes before the first row leaves: no write can meet it any
                    // more.
                    below.unique.insert(*var);
                    return below;
                }
            }
            O::Create { creation, .. } => below.unique.extend(creation.variables()),
            O::Merge { .. }
            | O::Expand { .. }
            | O::ExpandInto { .. }
            | O::VarExpand { .. }
            | O::Unwind { .. }
            | O::LoadCsv { .. }
            | O::LoadFrom { .. }
            | O::Procedure { .. }
            | O::HashJoin { .. }
            | O::CartesianProduct { .. }
            | O::Apply { .. }
            | O::Repeat { .. }
            | O::Optional { .. } => {
                below.single_row = false;
                below.unique.clear();
            }
            O::Project { items, .. } => {
                below.unique = items
                    .iter()
                    .filter_map(|(var, expr)| match expr {
                        Expr::Variable(from) if below.unique.contains(from) => Some(*var),
                        _ => None,
                    })
                    .collect();
            }
            _ => {}
        }
        if below.single_row || (one_row && matches!(op, O::Merge { .. })) {
            // One row has passed: all that is done.
            return below;
        }
        below.reads.extend(own.reads);
        below.writes.extend(own.writes);
        below
    }
}

/// Variables that are computed from plain values alone.
fn plain_variables(root: &PlanNode, variables: &[Variable]) -> BTreeSet<VarId> {
    let mut plain = BTreeSet::new();
    let is_plain = |expr: &Expr, plain: &BTreeSet<VarId>| is_plain(expr, plain, variables);
    loop {
        let before = plain.len();
        root.visit(&mut |node| match &node.op {
            Operator::Unwind { list, var, .. } | Operator::Foreach { list, var, .. }
                if is_plain(list, &plain) =>
            {
                plain.insert(*var);
            }
            Operator::LoadFrom { yields, .. } => plain.extend(yields.iter().map(|(_, var)| *var)),
            Operator::LoadCsv {
                var, line, file, ..
            } => {
                plain.extend([var].into_iter().chain(line).chain(file));
            }
            Operator::Project { items, .. } | Operator::Extend { items, .. } => {
                for (var, expr) in items {
                    if is_plain(expr, &plain) {
                        plain.insert(*var);
                    }
                }
            }
            Operator::Aggregate {
                keys, aggregates, ..
            } => {
                for (var, expr) in keys {
                    if is_plain(expr, &plain) {
                        plain.insert(*var);
                    }
                }
                for (var, call) in aggregates {
                    if call.argument.as_ref().is_none_or(|a| is_plain(a, &plain)) {
                        plain.insert(*var);
                    }
                }
            }
            _ => {}
        });
        if plain.len() == before {
            return plain;
        }
    }
}

/// Whether the value surely holds no entity. A parameter is taken as plain: it was computed before
/// the statement.
fn is_plain(expr: &Expr, plain: &BTreeSet<VarId>, variables: &[Variable]) -> bool {
    match expr {
        Expr::Variable(var) => plain.contains(var),
        // What a node or relationship holds is stored, and no entity is.
        Expr::Property { base, .. } | Expr::Index { base, .. } | Expr::HasLabels { base, .. }
            if matches!(**base, Expr::Variable(var)
            if variables.get(var.0 as usize).is_some_and(|v| {
                matches!(v.kind, VarKind::Node | VarKind::Relationship)
            })) =>
        {
            true
        }
        _ => {
            let mut all = true;
            expr.for_each_child(&mut |child| all &= is_plain(child, plain, variables));
            all
        }
    }
}
