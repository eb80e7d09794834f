//! Operators whose rows have other variables than their input's: projections, groups, distinct
//! rows.

use std::sync::Arc;

use super::{Made, Node, Planner, is_hidden, project, slot, sorting};
use crate::error::Result;
use crate::expression::Compiled;
use crate::layout::Layout;
use crate::operators::adjacent_distinct::AdjacentDistinct;
use crate::operators::aggregate::{Aggregate, Call};
use crate::operators::distinct::Distinct;
use graven_cypher::plan::{AggregateCall, Expr, Operator as P, PlanNode, VarId};

impl Planner<'_> {
    /// Operators whose rows have other variables than their input's.
    pub(super) fn reshape(&mut self, node: &PlanNode) -> Result<Made> {
        match &node.op {
            P::Project { input, items } => {
                if let Some(made) = self.projected_sort(input, items)? {
                    return Ok(made);
                }
                let input = self.node(input)?;
                let layout = &input.layout;
                let mut vars: Vec<VarId> = items.iter().map(|(v, _)| *v).collect();
                let mut exprs = items
                    .iter()
                    .map(|(_, e)| self.compiled(layout, e))
                    .collect::<Result<Vec<_>>>()?;
                for (at, var) in layout
                    .vars()
                    .iter()
                    .enumerate()
                    .filter(|(_, v)| is_hidden(**v))
                {
                    vars.push(*var);
                    exprs.push(Compiled::Slot(at));
                }
                Ok(project(input, exprs.into(), Layout::new(vars)))
            }
            P::Distinct { input, vars, runs } => {
                let is_parallel = matches!(input.op, P::Parallel { .. });
                let is_part = std::mem::take(&mut self.is_part);
                let input = self.node(input)?;
                let mut vars = vars.clone();
                vars.extend(input.layout.vars().iter().filter(|v| is_hidden(**v)));
                let slots: Arc<[usize]> = vars
                    .iter()
                    .map(|v| slot(&input.layout, *v))
                    .collect::<Result<_>>()?;
                let owners = vars.iter().position(|var| is_hidden(*var));
                let layout = Layout::new(vars);
                if *runs {
                    return Ok(Made::new([input], layout, move |node, start| {
                        let input = node.input(0, start)?;
                        Ok(Box::new(AdjacentDistinct::new(input, Arc::clone(&slots))))
                    }));
                }
                if is_parallel || is_part {
                    return Ok(distinct_groups(input, slots, layout, is_parallel));
                }
                Ok(Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let distinct = Distinct::new(input, Arc::clone(&slots), start.rt);
                    Ok(Box::new(distinct.for_each(owners)))
                }))
            }
            P::Aggregate {
                input,
                keys,
                aggregates,
            } => {
                // An aggregation in a pipeline of several threads is the last of it; those of inner
                // trees are no parts.
                let is_part = std::mem::take(&mut self.is_part);
                let is_parallel = matches!(input.op, P::Parallel { .. });
                let rows = input.estimated_rows;
                let vars = keys.iter().map(|(v, _)| *v);
                let vars = vars.chain(aggregates.iter().map(|(v, _)| *v)).collect();
                let (input, keys, mut calls) = self.grouped(input, keys, aggregates)?;
                let input = self.distinct_first((input, rows), &keys, &mut calls, is_parallel);
                let calls: Arc<[Call]> = calls.into();
                let made = Made::new([input], Layout::new(vars), move |node, start| {
                    let input = node.input(0, start)?;
                    let (keys, calls) = (Arc::clone(&keys), Arc::clone(&calls));
                    let aggregate = Aggregate::new(input, keys, calls, start.rt);
                    Ok(Box::new(match (is_parallel, is_part) {
                        (true, _) => aggregate.divided(start.rt),
                        (false, true) => aggregate.part(),
                        (false, false) => aggregate,
                    }))
                });
                Ok(made.choosing(is_part && !is_parallel, "a part for each thread"))
            }
            _ => unreachable!("only operators that reshape rows"),
        }
    }

    /// The input of an aggregation, its keys and its calls. Above a parallel pipeline that does not
    /// aggregate itself threads compute what is grouped and aggregated.
    fn grouped(
        &mut self,
        input: &PlanNode,
        keys: &[(VarId, Expr)],
        aggregates: &[(VarId, AggregateCall)],
    ) -> Result<(Node, Arc<[Compiled]>, Vec<Call>)> {
        let mut keys: Vec<Expr> = keys.iter().map(|(_, key)| key.clone()).collect();
        let mut calls: Vec<AggregateCall> =
            aggregates.iter().map(|(_, call)| call.clone()).collect();
        let reads_rows = |call: &AggregateCall| {
            let mut parameters = call.parameter.iter();
            parameters.any(|parameter| !parameter.variables().is_empty())
        };
        let input = match &input.op {
            P::Parallel { input: below }
                if !matches!(below.op, P::Aggregate { .. }) && !calls.iter().any(reads_rows) =>
            {
                let arguments = calls.iter_mut().filter_map(|call| call.argument.as_mut());
                let computed = sorting::computed(keys.iter_mut().chain(arguments));
                let made = self.parallel(below, Some(&computed))?;
                self.finish(made, input)
            }
            _ => self.node(input)?,
        };
        let keys = self.compile_all(&input.layout, &keys)?;
        let calls = calls.iter().map(|call| self.call(&input.layout, call));
        let calls = calls.collect::<Result<_>>()?;
        Ok((input, keys, calls))
    }

    fn call(&self, layout: &Layout, call: &AggregateCall) -> Result<Call> {
        let compile = |e: &Expr| self.compiled(layout, e);
        Ok(Call {
            function: call.function,
            argument: call.argument.as_ref().map(compile).transpose()?,
            parameter: call.parameter.as_ref().map(compile).transpose()?,
            distinct: call.distinct,
            at: call.at,
        })
    }

    /// One aggregate over distinct values without groups becomes one over the rows that a distinct
    /// operator lets through: that can spill, one set of values cannot. Not where a parameter reads
    /// the row.
    fn distinct_first(
        &mut self,
        (input, rows): (Node, f64),
        keys: &[Compiled],
        calls: &mut [Call],
        is_parallel: bool,
    ) -> Node {
        let [call] = calls else { return input };
        if !keys.is_empty() || !call.distinct || !call.parameter_is_constant() {
            return input;
        }
        let Some(argument) = call.argument.replace(Compiled::Slot(0)) else {
            return input;
        };
        call.distinct = false;
        let layout = Layout::new(vec![VarId(sorting::COMPUTED)]);
        let values = project(input, [argument].into(), layout.clone());
        let values = self.added(values, "Project", rows);
        let slots: Arc<[usize]> = [0].into();
        let distinct = match is_parallel {
            true => distinct_groups(values, slots, layout, true),
            false => Made::new([values], layout, move |node, start| {
                let input = node.input(0, start)?;
                Ok(Box::new(Distinct::new(input, Arc::clone(&slots), start.rt)))
            }),
        };
        self.added(distinct, "Distinct", rows)
    }
}

/// Distinct rows as groups: divided among threads above a parallel pipeline, else as a part in one.
fn distinct_groups(input: Node, slots: Arc<[usize]>, layout: Layout, is_parallel: bool) -> Made {
    let made = Made::new([input], layout, move |node, start| {
        let input = node.input(0, start)?;
        let groups = Aggregate::distinct(input, &slots, start.rt);
        Ok(Box::new(match is_parallel {
            true => groups.divided(start.rt),
            false => groups.part(),
        }))
    });
    made.choosing(!is_parallel, "a part for each thread")
}
