//! What is certain about the rows of an operator: which variables determine which others.
//!
//! # How it works
//! A dependency `inputs -> output` says that two rows equal in the inputs are equal in the output.
//! Unique indexes, node ids and computed values give such dependencies.
//! [`FunctionalDependencies::closure`] collects everything that a set of variables determines.
//!
//! # Invariants
//! * CY-41 Only what holds for every graph and parameter is recorded; statistics never are.
//! * CY-42 "Equal" is what grouping means by it, so 1 equals 1.0. Only expressions that give equal
//!   results for equal values count: reading a variable, a property, an element; not arithmetic or
//!   functions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Expr, Operator, PlanNode, VarId};
use crate::schema_view::SchemaView;

/// Certainties about the rows of one operator.
#[derive(Debug, Default)]
pub(crate) struct FunctionalDependencies {
    dependencies: Vec<(BTreeSet<VarId>, VarId)>,
    /// `(node, key)`: the property determines the node among the rows, and is not null.
    unique_keys: Vec<(VarId, Arc<str>)>,
    /// There is at most one row.
    pub single_row: bool,
}

impl FunctionalDependencies {
    /// What is certain about the output of `node`.
    pub(crate) fn of(node: &PlanNode, schema: &dyn SchemaView) -> FunctionalDependencies {
        use Operator as O;
        let below = |input: &PlanNode| FunctionalDependencies::of(input, schema);
        match &node.op {
            O::Unit => FunctionalDependencies {
                single_row: true,
                ..FunctionalDependencies::default()
            },
            O::Argument { vars } => {
                let dependencies = vars.iter().map(|var| (BTreeSet::new(), *var)).collect();
                FunctionalDependencies {
                    dependencies,
                    single_row: true,
                    ..FunctionalDependencies::default()
                }
            }
            O::IndexSeek {
                input,
                var,
                label,
                key,
                value,
                any,
            } => {
                let mut facts = below(input);
                let unique = schema.index(label, key).is_some_and(|index| index.unique);
                if unique {
                    facts.unique_keys.push((*var, key.clone()));
                }
                if unique && !any {
                    facts.depends(value, *var);
                }
                facts.single_row &= unique && !any;
                facts
            }
            O::NodeByIdSeek {
                input,
                var,
                value,
                any,
                ..
            }
            | O::RelationshipByIdSeek {
                input,
                var,
                value,
                any,
                ..
            } => {
                let mut facts = below(input);
                if !any {
                    facts.depends(value, *var);
                }
                facts.single_row &= !any;
                facts
            }
            O::Project { input, items } | O::Extend { input, items } => {
                let mut facts = below(input);
                for (var, expr) in items {
                    facts.depends(expr, *var);
                    if let Expr::Variable(from) = expr {
                        facts.dependencies.push((BTreeSet::from([*var]), *from));
                    }
                }
                facts
            }
            O::Aggregate {
                input,
                keys,
                aggregates,
            } => {
                let mut facts = below(input);
                let all: BTreeSet<VarId> = keys.iter().map(|(var, _)| *var).collect();
                for (var, expr) in keys {
                    facts.depends(expr, *var);
                }
                facts
                    .dependencies
                    .extend(aggregates.iter().map(|(var, _)| (all.clone(), *var)));
                facts.single_row |= keys.is_empty();
                facts
            }
            O::ReachableCount { input, .. } | O::CountMatches { input, .. } => {
                let mut facts = below(input);
                let read = node.op.reads();
                let found = node.op.binds().into_iter();
                facts
                    .dependencies
                    .extend(found.map(|var| (read.clone(), var)));
                facts
            }
            O::Filter { input, .. }
            | O::Sort { input, .. }
            | O::TopN { input, .. }
            | O::Skip { input, .. }
            | O::Limit { input, .. }
            | O::BuildPath { input, .. }
            | O::SelectPaths { input, .. }
            | O::SemiApply { input, .. }
            | O::Create { input, .. }
            | O::Set { input, .. }
            | O::Delete { input, .. }
            | O::Foreach { input, .. }
            | O::Eager { input, .. }
            | O::EmptyResult { input }
            | O::CopyTo { input, .. }
            | O::Parallel { input }
            | O::Exchange { input }
            | O::Schema { input, .. }
            | O::Distinct { input, .. } => below(input),
            O::Union { .. } => FunctionalDependencies::default(),
            O::AllNodesScan { input, .. }
            | O::LabelScan { input, .. }
            | O::ComputedLabelScan { input, .. }
            | O::IndexRange { input, .. }
            | O::IndexScan { input, .. }
            | O::Expand { input, .. }
            | O::ExpandInto { input, .. }
            | O::VarExpand { input, .. }
            | O::Unwind { input, .. }
            | O::Apply { input, .. }
            | O::InTransactions { input, .. }
            | O::Repeat { input, .. }
            | O::Optional { input, .. }
            | O::HashJoin { input, .. }
            | O::CartesianProduct { input, .. }
            | O::Merge { input, .. }
            | O::LoadCsv { input, .. }
            | O::LoadFrom { input, .. }
            | O::Procedure { input, .. } => {
                let mut facts = below(input);
                facts.single_row = false;
                facts
            }
        }
    }

    fn depends(&mut self, expr: &Expr, var: VarId) {
        if keeps_equality(expr) {
            self.dependencies.push((expr.variables(), var));
        }
    }

    /// Everything that `start` determines.
    pub(crate) fn closure(&self, mut start: BTreeSet<VarId>) -> BTreeSet<VarId> {
        loop {
            let before = start.len();
            for (inputs, output) in &self.dependencies {
                if inputs.is_subset(&start) {
                    start.insert(*output);
                }
            }
            if start.len() == before {
                return start;
            }
        }
    }

    /// Variables determined by the values of grouping keys.
    pub(crate) fn determined_by(&self, keys: &[(VarId, Expr)]) -> BTreeSet<VarId> {
        let mut start = BTreeSet::new();
        for (_, expr) in keys {
            match expr {
                Expr::Variable(var) => {
                    start.insert(*var);
                }
                Expr::Property { base, key, .. } => {
                    if let Expr::Variable(var) = **base
                        && self
                            .unique_keys
                            .iter()
                            .any(|(node, unique)| *node == var && unique == key)
                    {
                        start.insert(var);
                    }
                }
                _ => {}
            }
        }
        self.closure(start)
    }
}

/// Whether the expression gives equal results for equal values (CY-42).
fn keeps_equality(expr: &Expr) -> bool {
    let simple = matches!(
        expr,
        Expr::Literal(_)
            | Expr::Parameter(..)
            | Expr::Variable(_)
            | Expr::Property { .. }
            | Expr::Index { .. }
            | Expr::List(_)
            | Expr::Map(_)
    );
    let mut all = simple;
    expr.for_each_child(&mut |child| all &= keeps_equality(child));
    all
}
