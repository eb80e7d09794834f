//! Pipelines that begin with a scan of many nodes, or with some rows that much is to be found from,
//! run on all threads.
//!
//! # How it works
//! From the scan upwards everything that treats rows one by one belongs to the pipeline;
//! [`Operator::Parallel`] is put on top, and gives the rows in the order of the scan. Where an
//! aggregation, a top-n or a `DISTINCT` follows, a copy of it goes into the pipeline, so that each
//! morsel hands out little: counts are added up, extremes and first rows compared again.
//!
//! Rows that come from elsewhere, as those of a node found by its key, or distinct ones, are
//! divided by an [`Operator::Exchange`]: as low as there are some rows to divide, if expansions
//! above are expected to have something to do. Estimates of such statements are far too low as
//! often as too high; so one thread begins alone (see `operators/parallel.rs` of the executor).
//!
//! # Invariants
//! * CY-49 The rows of a parallel pipeline are those of the sequential one in the same order: sums
//!   of floats, averages and lists, which depend on the grouping of the rows, are computed above
//!   it.
//! * CY-50 Statements that write and those below a limit without an order stay on one thread.

use std::sync::Arc;

use crate::plan::expression::{AggregateCall, AggregateFunction, Expr};
use crate::plan::mutant::{self, Mutant};
use crate::plan::rules::aggregate_push_down::MATCHES;
use crate::plan::{CountTree, Direction, Operator, Plan, PlanNode, VarId, VarKind, Variable};
use crate::schema_view::SchemaView;
use crate::token::Span;

/// Rows, estimated over all operators of a pipeline, from which threads pay.
const ROWS_MIN: f64 = 50_000.0;

/// The same above an exchange, and the rows that it divides: statements of less than some
/// milliseconds lose by it.
const EXCHANGE_ROWS_MIN: f64 = 20_000.0;
const DIVIDED_MIN: f64 = 64.0;

/// Rows that counting a list, or visiting it, is worth.
const LIST_ROWS: f64 = 4.0;

pub(crate) fn apply(plan: &mut Plan, schema: &dyn SchemaView) {
    if schema.threads() > 1 && !plan.writes() {
        let variables = &mut plan.variables;
        let least = if schema.divides_always() { 0.0 } else { 1.0 };
        let mut dividing = Dividing {
            variables,
            schema,
            least,
        };
        dividing.rewrite(&mut plan.root);
    }
}

/// What is needed on the way down a plan.
struct Dividing<'a> {
    variables: &'a mut Vec<Variable>,
    schema: &'a dyn SchemaView,
    /// Factor of the rows from which threads pay.
    least: f64,
}

impl Dividing<'_> {
    /// Looks for the pipelines at the bottom of `node`.
    fn rewrite(&mut self, node: &mut PlanNode) {
        use Operator as O;
        if self.divides(node) {
            wrap(node);
            return;
        }
        let rows = node.estimated_rows;
        match &mut node.op {
            O::Aggregate {
                input,
                keys,
                aggregates,
            } => {
                // Few rows at a time, as an exchange divides them, make as many groups.
                let groups_parts = keys.is_empty() || is_pipeline(input);
                if !self.divides(input) {
                    return self.rewrite(input);
                }
                if groups_parts
                    && aggregates
                        .iter()
                        .all(|(_, call)| adds_up(call, self.variables))
                {
                    let below = partial_aggregate(keys, aggregates, self.variables);
                    input.push(rows, below);
                }
                wrap(input);
            }
            O::TopN { input, keys, limit } => {
                if !self.divides(input) {
                    return self.rewrite(input);
                }
                let (keys, limit) = (keys.clone(), limit.clone());
                input.push(rows, |input| O::TopN { input, keys, limit });
                wrap(input);
            }
            O::Distinct { input, vars, runs } => {
                if !self.divides(input) {
                    return self.rewrite(input);
                }
                let (vars, runs) = (vars.clone(), *runs);
                input.push(rows, |input| O::Distinct { input, vars, runs });
                wrap(input);
            }
            O::Limit { .. } | O::Skip { .. } => {
                // A sort or an aggregation below reads everything anyway.
                let mut children = node.op.children_mut();
                if let Some(below) = children.first_mut()
                    && !stops_early(below)
                {
                    self.rewrite(below);
                }
            }
            O::Union { inputs } => inputs.iter_mut().for_each(|input| self.rewrite(input)),
            O::Sort { input, .. }
            | O::Filter { input, .. }
            | O::Project { input, .. }
            | O::Extend { input, .. }
            | O::Expand { input, .. }
            | O::ExpandInto { input, .. }
            | O::VarExpand { input, .. }
            | O::CountMatches { input, .. }
            | O::Unwind { input, .. }
            | O::Apply { input, .. }
            | O::Optional { input, .. }
            | O::SemiApply { input, .. } => self.rewrite(input),
            _ => {}
        }
    }

    /// Whether the operator and all below it are a pipeline with enough to do; with an exchange at
    /// its bottom, if that makes it one.
    fn divides(&mut self, node: &mut PlanNode) -> bool {
        match is_pipeline(node) {
            true => self.pays(node),
            false => self.exchange(node),
        }
    }

    /// Puts an exchange below `node`, as low as there are rows to divide, if enough is to be found
    /// from them.
    fn exchange(&mut self, node: &mut PlanNode) -> bool {
        let (mut depth, mut above) = (0, 0.0);
        let mut place = None;
        let mut at = &*node;
        loop {
            let pays = above > 0.0 && above >= self.least * EXCHANGE_ROWS_MIN;
            if pays && at.estimated_rows >= self.least * DIVIDED_MIN {
                place = Some(depth);
            }
            if gains_by_many_rows(at) {
                break;
            }
            let Some(input) = one_by_one(at) else { break };
            above += self.found_by(at, input);
            at = input;
            depth += 1;
        }
        let Some(place) = place else { return false };
        let mut at = node;
        for _ in 0..place {
            let input = at.op.children_mut().into_iter().next();
            at = input.expect("it was gone through above");
        }
        let rows = at.estimated_rows;
        self.rewrite(at);
        at.push(rows, |input| Operator::Exchange { input });
        true
    }

    /// Whether the pipeline has enough to do.
    fn pays(&self, node: &PlanNode) -> bool {
        self.work(node) >= self.least * ROWS_MIN
    }

    /// What an operator and those below it have to do, in rows.
    fn work(&self, node: &PlanNode) -> f64 {
        match node.op.children().first() {
            None => node.estimated_rows,
            Some(input) => {
                let own = self.found_by(node, input).max(node.estimated_rows);
                own + self.work(input)
            }
        }
    }

    /// What an operator of a pipeline has to do for the rows of its input, in rows; what does not
    /// find anything is not counted.
    fn found_by(&self, node: &PlanNode, input: &PlanNode) -> f64 {
        use Operator as O;
        let rows = input.estimated_rows;
        let lists = match &node.op {
            O::Expand { pattern, .. } | O::ExpandInto { pattern, .. } => {
                1 + pattern.ends.joins.len()
            }
            O::CountMatches { patterns, .. } => {
                let entries = patterns
                    .iter()
                    .map(|(_, hanging)| self.entries(hanging, rows));
                let lists = rows * LIST_ROWS * patterns.len() as f64;
                return node.estimated_rows + lists + entries.sum::<f64>();
            }
            O::VarExpand { .. } | O::ReachableCount { .. } | O::Unwind { .. } => 1,
            O::Apply { inner, .. } | O::Optional { inner, .. } | O::SemiApply { inner, .. } => {
                return node.estimated_rows + rows * self.work(inner);
            }
            _ => return 0.0,
        };
        node.estimated_rows + rows * LIST_ROWS * lists as f64
    }

    /// Entries of lists that are read for what hangs on so many nodes: none for a mere degree, and
    /// no list twice.
    fn entries(&self, hanging: &CountTree, nodes: f64) -> f64 {
        if hanging.branches.is_empty() && hanging.extremes.is_empty() {
            return 0.0;
        }
        let pattern = &hanging.pattern;
        let starts = pattern.direction != Direction::In;
        let types = pattern.types.iter();
        let (all, holders) = match pattern.types.is_empty() {
            true => (self.schema.relationship_count(), self.schema.node_count()),
            false => types.fold((0, 0), |(all, holders), rel_type| {
                let own = self.schema.type_count(rel_type).unwrap_or(0);
                let nodes = self.schema.nodes_with(rel_type, starts);
                (all + own, holders + nodes.unwrap_or(own))
            }),
        };
        let entries = all as f64 * (nodes / holders.max(1) as f64).min(1.0);
        let behind = hanging.branches.iter();
        entries
            + behind
                .map(|branch| self.entries(branch, entries))
                .sum::<f64>()
    }
}

/// Whether the rows come out as they are found.
fn stops_early(node: &PlanNode) -> bool {
    use Operator as O;
    match &node.op {
        O::Aggregate { .. } | O::TopN { .. } | O::Sort { .. } => false,
        O::Project { input, .. } | O::Extend { input, .. } | O::Filter { input, .. } => {
            stops_early(input)
        }
        _ => true,
    }
}

/// Whether the operator and all below it treat rows one by one, down to a scan of nodes.
fn is_pipeline(node: &PlanNode) -> bool {
    use Operator as O;
    match &node.op {
        O::LabelScan { input, .. } | O::AllNodesScan { input, .. } => {
            matches!(input.op, O::Unit)
        }
        _ => one_by_one(node).is_some_and(is_pipeline),
    }
}

/// The input of an operator that treats its rows one by one.
fn one_by_one(node: &PlanNode) -> Option<&PlanNode> {
    use Operator as O;
    match &node.op {
        O::Filter { input, .. }
        | O::Project { input, .. }
        | O::Extend { input, .. }
        | O::Expand { input, .. }
        | O::ExpandInto { input, .. }
        | O::VarExpand { input, .. }
        | O::ReachableCount { input, .. }
        | O::CountMatches { input, .. }
        | O::BuildPath { input, .. }
        | O::Unwind { input, .. } => Some(input),
        O::Apply { input, inner }
        | O::Optional { input, inner, .. }
        | O::SemiApply { input, inner, .. } => Some(&**input).filter(|_| !calls_procedures(inner)),
        _ => None,
    }
}

/// Whether an expansion does for many rows at a time what it would do again for each few: it finds
/// relationships in the lists of the other ends, or asks the ends of a join once for all rows.
fn gains_by_many_rows(node: &PlanNode) -> bool {
    let Operator::Expand { rel, pattern, .. } = &node.op else {
        return false;
    };
    let told_apart = pattern.filter.is_some()
        || !pattern.distinct_from.is_empty()
        || !pattern.disjoint_from.is_empty();
    let decodes_other_ends = (rel.is_some() || told_apart) && pattern.direction != Direction::Out;
    decodes_other_ends || !pattern.ends.joins.is_empty()
}

fn calls_procedures(node: &PlanNode) -> bool {
    let mut calls = false;
    node.visit(&mut |node| {
        calls |= matches!(
            node.op,
            Operator::Procedure { .. }
                | Operator::LoadCsv { .. }
                | Operator::LoadFrom { .. }
                | Operator::CopyTo { .. }
        );
    });
    calls
}

fn wrap(node: &mut PlanNode) {
    let rows = node.estimated_rows;
    node.push(rows, |input| Operator::Parallel { input });
}

/// Whether results over parts of the rows add up to the result over all of them (CY-49).
fn adds_up(call: &AggregateCall, variables: &[Variable]) -> bool {
    match call.function {
        AggregateFunction::CountStar => true,
        AggregateFunction::Count => !call.distinct || mutant::active(Mutant::ParallelAnyAggregate),
        AggregateFunction::Min | AggregateFunction::Max => true,
        // Numbers of matches are integers.
        AggregateFunction::Sum => matches!(
            &call.argument,
            Some(Expr::Variable(var)) if &*variables[var.0 as usize].name == MATCHES
        ),
        _ => mutant::active(Mutant::ParallelAnyAggregate),
    }
}

/// The aggregation over one morsel; the one above becomes that of the parts.
fn partial_aggregate(
    keys: &mut [(VarId, Expr)],
    aggregates: &mut [(VarId, AggregateCall)],
    variables: &mut Vec<Variable>,
) -> impl FnOnce(Box<PlanNode>) -> Operator + use<> {
    let mut part = |name: &str| {
        let var = VarId(u32::try_from(variables.len()).expect("a statement has few variables"));
        variables.push(Variable {
            name: Arc::from(format!("  part of {name}")),
            kind: VarKind::Value,
        });
        var
    };
    let mut own_keys = Vec::with_capacity(keys.len());
    for (var, key) in keys {
        let kept = std::mem::replace(key, Expr::Variable(*var));
        own_keys.push((*var, kept));
    }
    let mut own = Vec::with_capacity(aggregates.len());
    for (_, call) in aggregates {
        let var = part("result");
        let function = match call.function {
            AggregateFunction::CountStar | AggregateFunction::Count => AggregateFunction::Sum,
            same => same,
        };
        let whole = AggregateCall {
            function,
            argument: Some(Expr::Variable(var)),
            parameter: None,
            distinct: false,
            at: Span::default(),
        };
        own.push((var, std::mem::replace(call, whole)));
    }
    move |input| Operator::Aggregate {
        input,
        keys: own_keys,
        aggregates: own,
    }
}
