//! A plan as a tree of steps, for programs that draw it.
//!
//! # How it works
//! A step has the names that its rows have: those of its inputs and its own, or its own alone where
//! it makes rows anew.

use std::collections::BTreeSet;
use std::time::Duration;

use graven_cypher::Plan;
use graven_cypher::explain::Step;
use graven_cypher::plan::{Operator, VarId};
use graven_exec::ProfileTree;

/// One operator of a plan, with those that give it rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanStep {
    /// The operator, for example `LabelScan`.
    pub operator: String,
    /// What it works on, as `EXPLAIN` shows it.
    pub details: String,
    /// Names of the variables that its rows have; those that the statement does not name are left
    /// out.
    pub variables: Vec<String>,
    /// How many rows it was expected to give.
    pub estimated_rows: f64,
    /// What it did; none if the statement was not profiled.
    pub did: Option<StepDid>,
    /// Where its rows come from.
    pub inputs: Vec<PlanStep>,
}

/// What an operator did, without those below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepDid {
    /// Rows that it gave.
    pub rows: u64,
    /// Time that it took.
    pub time: Duration,
    /// Pages that were in memory when it asked for them.
    pub hits: u64,
    /// Pages that had to be read for it.
    pub faults: u64,
}

/// The steps of a physical plan, and what they did if that is known.
pub(crate) fn steps(plan: &Plan, shown: &Step, profile: Option<&ProfileTree>) -> PlanStep {
    step(plan, shown, profile).0
}

fn makes_rows(op: &Operator) -> bool {
    matches!(op, Operator::Project { .. } | Operator::Aggregate { .. })
}

fn step(plan: &Plan, shown: &Step, profile: Option<&ProfileTree>) -> (PlanStep, BTreeSet<VarId>) {
    // An operator by another name stands for the node without its variables.
    let node = shown.node.and_then(|id| plan.root.find(id));
    let op = node.map(|node| &node.op);
    let op = op.filter(|op| op.name() == shown.operator);
    let mut known = op.map_or_else(BTreeSet::new, Operator::binds);
    let mut inputs = Vec::new();
    for child in &shown.inputs {
        let (input, variables) = step(plan, child, profile);
        inputs.push(input);
        if !op.is_some_and(makes_rows) {
            known.extend(variables);
        }
    }
    let named = known.iter().filter_map(|var| {
        let variable = plan.variables.get(var.0 as usize)?;
        // Others have names that begin with spaces.
        (!variable.name.starts_with(' ')).then(|| variable.name.to_string())
    });
    let did = profile.map(|profile| {
        let did = profile.operator(shown.id).copied().unwrap_or_default();
        let pages = did.pages.total();
        StepDid {
            rows: did.rows,
            time: did.time,
            hits: pages.hits,
            faults: pages.faults,
        }
    });
    let step = PlanStep {
        operator: shown.operator.to_owned(),
        details: shown.described(),
        variables: named.collect(),
        estimated_rows: shown.estimated_rows,
        did,
        inputs,
    };
    (step, known)
}
