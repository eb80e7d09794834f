//! Turns plan nodes into operators, once per statement: columns are assigned, names resolved,
//! expressions compiled, nothing is chosen.
//!
//! # How it works
//! Each operator gets the layout of its input and returns its own. The inner trees of apply,
//! optional and semi-apply are *row-wise* if every operator in them treats rows one by one in
//! order; such a tree is given whole batches and carries a hidden variable, the number of the input
//! row (see [`crate::operators::apply`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::error::{ExecError, Result};
use crate::expression::{Compiled, Compiler};
use crate::layout::Layout;
use crate::operator::BoxedOperator;
use crate::operators::aggregate::{Aggregate, Call};
use crate::operators::apply::{Apply, Inner, Mode};
use crate::operators::argument::{Argument, ArgumentSlot};
use crate::operators::build_path::BuildPath;
use crate::operators::cartesian_product::CartesianProduct;
use crate::operators::computed_label_scan::ComputedLabelScan;
use crate::operators::create::Create;
use crate::operators::creation::Creation;
use crate::operators::delete::Delete;
use crate::operators::distinct::Distinct;
use crate::operators::distinct_runs::DistinctRuns;
use crate::operators::eager::{Eager, EmptyResult};
use crate::operators::filter::Filter;
use crate::operators::foreach::Foreach;
use crate::operators::hash_join::{HashJoin, JoinColumns};
use crate::operators::known_numbers::SharedNumbers;
use crate::operators::limit::{Limit, Skip};
use crate::operators::load_csv::{LoadCsv, Slots, Source};
use crate::operators::merge::{Merge, MergeParts};
use crate::operators::parallel::Slot;
use crate::operators::procedure::Procedure;
use crate::operators::project::{Extend, Project};
use crate::operators::repeat::{Ends, Repeat, Repetition};
use crate::operators::repeated_rows::{RepeatedRows, gives_one_number};
use crate::operators::schema::Schema;
use crate::operators::select_paths::{SelectPaths, Selection};
use crate::operators::set::{Items, Set};
use crate::operators::sort::threshold::{Best, Threshold};
use crate::operators::union::Union;
use crate::operators::unit::Unit;
use crate::operators::unwind::Unwind;
use crate::profile::{ProfileCells, Profiled, inputs};
use crate::runtime::Runtime;
use graven_cypher::plan::{
    AggregateCall, Expr, Operator as P, Plan, PlanNode, Repeat as PlanRepeat, VarId,
};

mod files;
mod graph;
mod row_wise;
mod sorting;

/// The operator tree of a plan and the layout of its rows.
///
/// # Errors
/// A plan that cannot be run; a missing parameter.
pub(crate) fn instantiate(
    plan: &Arc<Plan>,
    rt: &Runtime,
    cells: Option<&ProfileCells>,
) -> Result<(BoxedOperator, Layout)> {
    let mut instantiator = Instantiator::new(rt, cells);
    instantiator.plan = Some(plan);
    instantiator.node(&plan.root)
}

/// As [`instantiate`] where the node with this id has run already and left these rows.
pub(crate) fn instantiate_above(
    root: &PlanNode,
    rt: &Runtime,
    cells: Option<&ProfileCells>,
    ready: Option<(u32, Built)>,
) -> Result<Built> {
    let mut instantiator = Instantiator::new(rt, cells);
    instantiator.ready = ready;
    instantiator.node(root)
}

/// An inner tree that runs once for each row that is left in the slot.
pub(crate) fn instantiate_inner(
    root: &PlanNode,
    rt: &Runtime,
    cells: Option<&ProfileCells>,
    row: Layout,
) -> Result<(ArgumentSlot, Built)> {
    Instantiator::new(rt, cells).per_row(root, row)
}

struct Instantiator<'a> {
    rt: &'a Runtime,
    cells: Option<&'a ProfileCells>,
    /// What copies of pipelines are made from while the statement runs.
    plan: Option<&'a Arc<Plan>>,
    /// Enclosing applies, innermost last: where they leave rows, and the layout of these.
    arguments: Vec<(ArgumentSlot, Layout)>,
    /// Columns of these that inner trees read, by how many applies enclose the tree.
    asked: BTreeSet<(usize, usize)>,
    /// Rows that enclosing applies are expected to hand in, all in all.
    handed_in: f64,
    /// Rows of a subquery in transactions that has run, by the id of its node.
    ready: Option<(u32, Built)>,
    /// Of a copy of a parallel pipeline: where its bottom is told its morsel, and the layout of the
    /// rows that are divided.
    divided: Option<(Slot, Layout)>,
    /// Whether the root is one of several parts of an aggregation.
    is_part: bool,
    /// What a top-n at the root shares with those of other copies.
    best: Option<Best>,
    /// Numbers of matches that copies of a parallel pipeline share.
    numbers: Option<SharedNumbers>,
    /// What a top-n above wants of the relationships in this variable.
    threshold: Option<(VarId, Threshold)>,
}

/// Variables from here on are hidden row numbers.
const HIDDEN: u32 = u32::MAX - 1024;

fn is_hidden(var: VarId) -> bool {
    var.0 >= HIDDEN
}

pub(crate) type Built = (BoxedOperator, Layout);

impl<'a> Instantiator<'a> {
    fn new(rt: &'a Runtime, cells: Option<&'a ProfileCells>) -> Self {
        Self {
            rt,
            cells,
            plan: None,
            arguments: Vec::new(),
            asked: BTreeSet::new(),
            handed_in: 1.0,
            ready: None,
            divided: None,
            is_part: false,
            best: None,
            numbers: None,
            threshold: None,
        }
    }

    fn node(&mut self, node: &PlanNode) -> Result<Built> {
        if let Some((_, ready)) = self.ready.take_if(|(id, _)| *id == node.id) {
            return Ok(ready);
        }
        let (operator, layout) = self.operator(&node.op)?;
        Ok((self.profiled(operator, node.id), layout))
    }

    /// The operator of the node with this id, measured if the statement is.
    fn profiled(&self, operator: BoxedOperator, id: u32) -> BoxedOperator {
        match self.cells {
            Some(cells) => Box::new(Profiled::new(operator, cells.clone(), id)),
            None => operator,
        }
    }

    fn operator(&mut self, op: &P) -> Result<Built> {
        match op {
            P::Unit => Ok((Box::new(Unit::default()), Layout::default())),
            P::Argument { vars } => self.argument(vars),
            P::AllNodesScan { .. }
            | P::LabelScan { .. }
            | P::IndexSeek { .. }
            | P::IndexRange { .. }
            | P::NodeByIdSeek { .. }
            | P::RelationshipByIdSeek { .. } => self.nodes(op),
            P::IndexScan { .. } => self.index_scan(op),
            P::ComputedLabelScan {
                input,
                var,
                names,
                equal,
            } => {
                let (input, mut layout) = self.node(input)?;
                let names = self.compile(&layout, names)?;
                let mut values = Vec::with_capacity(equal.len());
                for (key, value) in equal {
                    values.push((key.clone(), self.compile(&layout, value)?));
                }
                let slot = layout.slot_or_add(*var);
                let scan = ComputedLabelScan::new(input, slot, names, values, self.rt);
                Ok((Box::new(scan), layout))
            }
            P::Repeat {
                input,
                inner,
                repeat,
            } => self.repeat(input, inner, repeat),
            P::Expand { .. } | P::ExpandInto { .. } => self.expand(op),
            P::VarExpand { .. } | P::ReachableCount { .. } => self.var_expand(op),
            P::PatternCount {
                input,
                patterns,
                count,
            } => self.pattern_count(input, patterns, *count),
            P::Apply { input, inner } => self.apply(input, inner, Mode::Apply),
            P::Optional { input, inner, .. } => self.apply(input, inner, Mode::Optional),
            P::SemiApply { input, inner, anti } => {
                let mode = if *anti { Mode::Anti } else { Mode::Semi };
                self.apply(input, inner, mode)
            }
            P::Parallel { input } => self.parallel(input, None),
            P::Exchange { input } => match &self.divided {
                Some((Slot::Rows(slot), given)) => {
                    let argument = Argument::new(slot.clone(), (0..given.width()).collect());
                    Ok((Box::new(argument), given.clone()))
                }
                _ => self.node(input),
            },
            P::HashJoin { input, build, on } => self.hash_join(input, build, on),
            P::CartesianProduct { input, inner } => self.cartesian_product(input, inner),
            P::Union { inputs } => self.union(inputs),
            P::Project { .. } | P::Aggregate { .. } | P::Distinct { .. } => self.reshape(op),
            P::Merge { .. } => self.merge(op),
            P::Schema { input, command } => {
                let (input, _) = self.node(input)?;
                Ok((
                    Box::new(Schema::new(input, command.clone())),
                    Layout::default(),
                ))
            }
            P::Foreach {
                input,
                inner,
                list,
                var,
                ..
            } => self.foreach(input, inner, list, *var),
            _ => self.row_by_row(op),
        }
    }

    fn argument(&mut self, vars: &[VarId]) -> Result<Built> {
        let (slot, given) = self.arguments.last().ok_or_else(|| ExecError::Plan {
            message: "an Argument outside of any Apply".to_owned(),
        })?;
        let mut vars = vars.to_vec();
        // The number of the input row comes last, if this Apply hands it in.
        vars.extend(given.vars().last().filter(|v| is_hidden(**v)));
        let columns = vars
            .iter()
            .map(|v| self::slot(given, *v))
            .collect::<Result<Vec<_>>>()?;
        let depth = self.arguments.len();
        self.asked
            .extend(columns.iter().map(|column| (depth, *column)));
        let argument = Argument::new(slot.clone(), columns);
        Ok((Box::new(argument), Layout::new(vars)))
    }

    fn compile(&self, layout: &Layout, expr: &Expr) -> Result<Compiled> {
        Compiler::new(layout, self.rt).compile(expr)
    }

    fn apply(&mut self, input: &PlanNode, inner: &PlanNode, mode: Mode) -> Result<Built> {
        let handed_in = self.handed_in;
        let rows = input.estimated_rows.max(1.0);
        let (input, mut layout) = self.node(input)?;
        let slot = ArgumentSlot::default();
        let depth = u32::try_from(self.arguments.len()).unwrap_or(u32::MAX);
        let hidden = self.is_row_wise(inner).then(|| VarId(u32::MAX - depth));
        let mut handed = layout.vars().to_vec();
        handed.extend(hidden);
        self.arguments.push((slot.clone(), Layout::new(handed)));
        self.handed_in *= rows;
        let within = self.arguments.len();
        self.asked.split_off(&(within, 0));
        let built = self.node(inner);
        let reads = self.asked.split_off(&(within, 0));
        self.handed_in = handed_in;
        self.arguments.pop();
        let (root, inner_layout) = built?;
        let ordinal = hidden.map(|h| self::slot(&inner_layout, h)).transpose()?;
        let mut added = Vec::new();
        if matches!(mode, Mode::Apply | Mode::Optional) {
            added = add_columns(&mut layout, &inner_layout);
        }
        let repeats = mode == Mode::Apply && self.rt.settled && gives_one_number(inner);
        let repeated = repeats.then(|| {
            let own = reads.into_iter().filter(|(depth, _)| *depth == within);
            RepeatedRows::new(
                own.map(|(_, column)| column).collect(),
                added.len(),
                self.rt,
            )
        });
        let inner = Inner {
            root,
            slot,
            ordinal,
            added,
            repeated,
        };
        Ok((Box::new(Apply::new(input, inner, mode)), layout))
    }

    fn repeat(&mut self, input: &PlanNode, inner: &PlanNode, repeat: &PlanRepeat) -> Result<Built> {
        let (input, mut layout) = self.node(input)?;
        let place = ArgumentSlot::default();
        let depth = u32::try_from(self.arguments.len()).unwrap_or(u32::MAX);
        let hidden = self.is_row_wise(inner).then(|| VarId(u32::MAX - depth));
        let mut handed = layout.vars().to_vec();
        handed.push(repeat.entry);
        handed.extend(hidden);
        self.arguments.push((place.clone(), Layout::new(handed)));
        let built = self.node(inner);
        self.arguments.pop();
        let (root, own) = built?;
        let slots = |vars: &mut dyn Iterator<Item = VarId>, layout: &Layout| {
            vars.map(|var| slot(layout, var))
                .collect::<Result<Vec<usize>>>()
        };
        let repetition = Repetition {
            root,
            slot: place,
            ordinal: hidden.map(|h| slot(&own, h)).transpose()?,
            exit: slot(&own, repeat.exit)?,
            rels: slots(&mut repeat.rels.iter().copied(), &own)?,
            groups: slots(&mut repeat.groups.iter().map(|(inner, _)| *inner), &own)?,
        };
        let apart = repeat.distinct_from.iter().chain(&repeat.disjoint_from);
        let lists = repeat.groups.iter().map(|(_, list)| *list);
        let ends = Ends {
            from: slot(&layout, repeat.from)?,
            apart: slots(&mut apart.copied(), &layout)?,
            to: match repeat.into {
                true => slot(&layout, repeat.to)?,
                false => layout.slot_or_add(repeat.to),
            },
            into: repeat.into,
            min: repeat.min,
            max: repeat.max,
            path: layout.slot_or_add(repeat.path),
            lists: lists.map(|list| layout.slot_or_add(list)).collect(),
            reversed: repeat.reversed,
        };
        let operator = Repeat::new(input, repetition, ends, self.rt);
        Ok((Box::new(operator), layout))
    }

    /// The tree of an operator that runs it once per row.
    fn per_row(&mut self, inner: &PlanNode, row: Layout) -> Result<(ArgumentSlot, Built)> {
        let slot = ArgumentSlot::default();
        self.arguments.push((slot.clone(), row));
        let built = self.node(inner);
        self.arguments.pop();
        Ok((slot, built?))
    }

    fn merge(&mut self, op: &P) -> Result<Built> {
        let P::Merge {
            input,
            inner,
            creation,
            on_create,
            on_match,
            created: flag,
        } = op
        else {
            unreachable!("only merges")
        };
        let (input, mut layout) = self.node(input)?;
        let (slot, (inner, inner_layout)) = self.per_row(inner, layout.clone())?;
        let creation = Creation::new(creation, &layout, self.rt)?;
        // What the search has computed besides stays there.
        let (mut added, mut created) = (Vec::new(), Vec::new());
        for (at, var) in inner_layout.vars().iter().enumerate() {
            let own = creation.variables().position(|v| v == *var);
            if let Some(own) = own.filter(|_| layout.slot(*var).is_none()) {
                layout.slot_or_add(*var);
                added.push(at);
                created.push(own);
            }
        }
        if let Some(flag) = flag {
            layout.slot_or_add(*flag);
        }
        let parts = MergeParts {
            inner,
            slot,
            added,
            creation,
            created,
            tells: flag.is_some(),
            on_create: Items::new(on_create, &layout, self.rt)?,
            on_match: Items::new(on_match, &layout, self.rt)?,
        };
        Ok((Box::new(Merge::new(input, parts)), layout))
    }

    fn foreach(
        &mut self,
        input: &PlanNode,
        inner: &PlanNode,
        list: &Expr,
        var: VarId,
    ) -> Result<Built> {
        let (input, layout) = self.node(input)?;
        let list = self.compile(&layout, list)?;
        let mut row = layout.vars().to_vec();
        row.push(var);
        let (slot, (inner, _)) = self.per_row(inner, Layout::new(row))?;
        Ok((Box::new(Foreach::new(input, inner, slot, list)), layout))
    }

    fn hash_join(
        &mut self,
        input: &PlanNode,
        build_plan: &PlanNode,
        on: &[VarId],
    ) -> Result<Built> {
        let (input, mut layout) = self.node(input)?;
        let (build, build_layout) = self.node(build_plan)?;
        let slots = |layout: &Layout| on.iter().map(|v| slot(layout, *v)).collect::<Result<_>>();
        let mut columns = JoinColumns {
            input_keys: slots(&layout)?,
            build_keys: slots(&build_layout)?,
            width: layout.width(),
            added: Vec::new(),
        };
        columns.added = add_columns(&mut layout, &build_layout);
        let alone = !self.arguments.is_empty() && self.stands_alone(build_plan);
        let operator = HashJoin::new(input, build, columns, self.rt).keeping(alone);
        Ok((Box::new(operator), layout))
    }

    fn cartesian_product(&mut self, input: &PlanNode, inner: &PlanNode) -> Result<Built> {
        let (input, mut layout) = self.node(input)?;
        let (inner, inner_layout) = self.node(inner)?;
        let added = add_columns(&mut layout, &inner_layout);
        let operator = CartesianProduct::new(input, inner, added, &self.rt.budget);
        Ok((Box::new(operator), layout))
    }

    fn union(&mut self, inputs: &[PlanNode]) -> Result<Built> {
        let mut built = Vec::with_capacity(inputs.len());
        let mut layout: Option<Layout> = None;
        for input in inputs {
            let (operator, own) = self.node(input)?;
            let layout = layout.get_or_insert_with(|| own.clone());
            let slots = layout
                .vars()
                .iter()
                .map(|v| slot(&own, *v))
                .collect::<Result<_>>()?;
            built.push((operator, slots));
        }
        Ok((Box::new(Union::new(built)), layout.unwrap_or_default()))
    }

    /// Operators whose rows have other variables than their input's.
    fn reshape(&mut self, op: &P) -> Result<Built> {
        match op {
            P::Project { input, items } => {
                if let Some(built) = self.projected_sort(input, items)? {
                    return Ok(built);
                }
                let (input, layout) = self.node(input)?;
                let mut vars: Vec<VarId> = items.iter().map(|(v, _)| *v).collect();
                let mut exprs = items
                    .iter()
                    .map(|(_, e)| self.compile(&layout, e))
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
                Ok((
                    Box::new(Project::new(input, exprs, self.rt)),
                    Layout::new(vars),
                ))
            }
            P::Distinct { input, vars, runs } => {
                let is_parallel = matches!(input.op, P::Parallel { .. });
                let is_part = std::mem::take(&mut self.is_part);
                let (input, layout) = self.node(input)?;
                let mut vars = vars.clone();
                vars.extend(layout.vars().iter().filter(|v| is_hidden(**v)));
                let slots: Vec<usize> = vars
                    .iter()
                    .map(|v| slot(&layout, *v))
                    .collect::<Result<_>>()?;
                let operator: BoxedOperator = match runs {
                    true => Box::new(DistinctRuns::new(input, slots)),
                    false if is_parallel => {
                        Box::new(Aggregate::distinct(input, slots, self.rt).divided(self.rt))
                    }
                    false if is_part => Box::new(Aggregate::distinct(input, slots, self.rt).part()),
                    false => {
                        let owners = vars.iter().position(|var| is_hidden(*var));
                        Box::new(Distinct::new(input, slots, self.rt).for_each(owners))
                    }
                };
                Ok((operator, Layout::new(vars)))
            }
            P::Aggregate {
                input,
                keys,
                aggregates,
            } => {
                // An aggregation in a pipeline of several threads is the last of it; those of inner
                // trees are no parts.
                let is_part = std::mem::take(&mut self.is_part);
                if let Some(built) = self.aggregate_of_lists(input, keys, aggregates)? {
                    return Ok(built);
                }
                let is_parallel = matches!(input.op, P::Parallel { .. });
                let vars = keys.iter().map(|(v, _)| *v);
                let vars = vars.chain(aggregates.iter().map(|(v, _)| *v)).collect();
                let (input, keys, mut calls) = self.grouped(input, keys, aggregates)?;
                let input = distinct_first(input, &keys, &mut calls, is_parallel, self.rt);
                let mut operator = Aggregate::new(input, keys, calls, self.rt);
                if is_parallel {
                    operator = operator.divided(self.rt);
                } else if is_part {
                    operator = operator.part();
                }
                Ok((Box::new(operator), Layout::new(vars)))
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
    ) -> Result<(BoxedOperator, Vec<Compiled>, Vec<Call>)> {
        let mut keys: Vec<Expr> = keys.iter().map(|(_, key)| key.clone()).collect();
        let mut calls: Vec<AggregateCall> =
            aggregates.iter().map(|(_, call)| call.clone()).collect();
        let reads_rows = |call: &AggregateCall| {
            let mut parameters = call.parameter.iter();
            parameters.any(|parameter| !parameter.variables().is_empty())
        };
        let (input, layout) = match &input.op {
            P::Parallel { input: below }
                if !matches!(below.op, P::Aggregate { .. }) && !calls.iter().any(reads_rows) =>
            {
                let arguments = calls.iter_mut().filter_map(|call| call.argument.as_mut());
                let computed = sorting::computed(keys.iter_mut().chain(arguments));
                let (operator, layout) = self.parallel(below, Some(&computed))?;
                (self.profiled(operator, input.id), layout)
            }
            _ => self.node(input)?,
        };
        let keys = keys.iter().map(|key| self.compile(&layout, key));
        let keys = keys.collect::<Result<_>>()?;
        let calls = calls.iter().map(|call| self.call(&layout, call));
        Ok((input, keys, calls.collect::<Result<_>>()?))
    }

    fn call(&self, layout: &Layout, call: &AggregateCall) -> Result<Call> {
        let compile = |e: &Expr| self.compile(layout, e);
        Ok(Call {
            function: call.function,
            argument: call.argument.as_ref().map(compile).transpose()?,
            parameter: call.parameter.as_ref().map(compile).transpose()?,
            distinct: call.distinct,
            at: call.at,
        })
    }

    /// Operators that keep the variables of their input and may add some.
    fn row_by_row(&mut self, op: &P) -> Result<Built> {
        let below = inputs(op);
        let [input] = below.as_slice() else {
            return Err(ExecError::Plan {
                message: format!("no operator for {op:?}"),
            });
        };
        let threshold = match op {
            P::TopN { input, keys, .. } => self.tell(input, keys),
            _ => None,
        };
        let best = match op {
            P::TopN { .. } => self.best.take(),
            _ => None,
        };
        let (input, mut layout) = self.node(input)?;
        let operator: BoxedOperator = match op {
            P::Filter { predicate, .. } => {
                Box::new(Filter::new(input, self.compile(&layout, predicate)?))
            }
            P::Extend { items, .. } => {
                let compiled = items
                    .iter()
                    .map(|(v, e)| Ok((*v, self.compile(&layout, e)?)))
                    .collect::<Result<Vec<_>>>()?;
                let items = compiled
                    .into_iter()
                    .map(|(v, e)| (layout.slot_or_add(v), e))
                    .collect();
                Box::new(Extend::new(input, items, self.rt))
            }
            P::Sort { keys, .. } => Box::new(self.sort(input, &layout, keys, None)?),
            P::TopN { keys, limit, .. } => {
                let top = self.sort(input, &layout, keys, Some(limit))?;
                let top = top.telling(threshold).sharing(best);
                Box::new(match below[0].writes() {
                    true => top.exhaustive(),
                    false => top,
                })
            }
            P::Skip { count, .. } => Box::new(Skip::new(input, self.compile(&layout, count)?)),
            P::Limit { count, .. } => {
                let count = self.compile(&layout, count)?;
                Box::new(match below[0].writes() {
                    true => Limit::exhaustive(input, count),
                    false => Limit::new(input, count),
                })
            }
            P::Create { creation, .. } => {
                let creation = Creation::new(creation, &layout, self.rt)?;
                let slots = creation.variables().map(|v| layout.slot_or_add(v));
                let slots = slots.collect();
                Box::new(Create::new(input, creation, slots))
            }
            P::Set { items, .. } => Box::new(Set::new(input, Items::new(items, &layout, self.rt)?)),
            P::Delete {
                targets,
                detach,
                at,
                ..
            } => {
                let targets = targets
                    .iter()
                    .map(|e| self.compile(&layout, e))
                    .collect::<Result<_>>()?;
                Box::new(Delete::new(input, targets, *detach, *at))
            }
            P::Eager { .. } => Box::new(Eager::new(input, self.rt)),
            P::EmptyResult { .. } => Box::new(EmptyResult::new(input)),
            P::LoadCsv {
                url,
                headers,
                terminator,
                var,
                line,
                file,
                at,
                ..
            } => {
                let terminator = terminator.as_ref();
                let source = Source {
                    url: self.compile(&layout, url)?,
                    headers: *headers,
                    at: *at,
                    terminator: terminator.map(|t| self.compile(&layout, t)).transpose()?,
                };
                Box::new({
                    let mut slot = |var: &VarId| layout.slot_or_add(*var);
                    let slots = Slots {
                        record: slot(var),
                        line: line.as_ref().map(&mut slot),
                        file: file.as_ref().map(slot),
                    };
                    LoadCsv::new(input, source, slots, self.rt)
                })
            }
            P::LoadFrom { .. } => self.load_from(op, input, &mut layout)?,
            P::CopyTo { .. } => self.copy_to(op, input, &layout)?,
            P::Unwind {
                list, var, last, ..
            } => {
                let gone = match list {
                    Expr::Variable(list) if *last => Some(slot(&layout, *list)?),
                    _ => None,
                };
                let list = self.compile(&layout, list)?;
                let slot = layout.slot_or_add(*var);
                Box::new(Unwind::new(input, list, (slot, gone), self.rt))
            }
            P::SelectPaths {
                from,
                to,
                lengths,
                count,
                ..
            } => {
                let selection = Selection {
                    from: slot(&layout, *from)?,
                    to: slot(&layout, *to)?,
                    lengths: lengths
                        .iter()
                        .map(|v| slot(&layout, *v))
                        .collect::<Result<_>>()?,
                    count: *count,
                };
                Box::new(SelectPaths::new(input, selection, self.rt))
            }
            P::BuildPath { path, parts, .. } => {
                let parts = parts
                    .iter()
                    .map(|v| slot(&layout, *v))
                    .collect::<Result<_>>()?;
                Box::new(BuildPath::new(input, parts, layout.slot_or_add(*path)))
            }
            P::Procedure {
                name,
                args,
                yields,
                writes,
                at,
                ..
            } => {
                let args = args
                    .iter()
                    .map(|e| self.compile(&layout, e))
                    .collect::<Result<_>>()?;
                let yields = yields
                    .iter()
                    .map(|(column, v)| (column.clone(), layout.slot_or_add(*v)))
                    .collect();
                Box::new(Procedure::new(
                    input,
                    (name.clone(), *at),
                    args,
                    yields,
                    *writes,
                ))
            }
            other => {
                return Err(ExecError::Plan {
                    message: format!("no operator for {other:?}"),
                });
            }
        };
        Ok((operator, layout))
    }
}

/// One aggregate over distinct values without groups becomes one over the rows that a distinct
/// operator lets through: that can spill, one set of values cannot. Not where a parameter reads the
/// row.
fn distinct_first(
    input: BoxedOperator,
    keys: &[Compiled],
    calls: &mut [Call],
    is_parallel: bool,
    rt: &Runtime,
) -> BoxedOperator {
    match calls {
        [call] if keys.is_empty() && call.distinct && call.parameter_is_constant() => {
            let Some(argument) = call.argument.replace(Compiled::Slot(0)) else {
                return input;
            };
            call.distinct = false;
            let values: BoxedOperator = Box::new(Project::new(input, vec![argument], rt));
            match is_parallel {
                true => Box::new(Aggregate::distinct(values, vec![0], rt).divided(rt)),
                false => Box::new(Distinct::new(values, vec![0], rt)),
            }
        }
        _ => input,
    }
}

fn slot(layout: &Layout, var: VarId) -> Result<usize> {
    layout.slot(var).ok_or_else(|| ExecError::Plan {
        message: format!("variable {} is not produced below its use (CY-1)", var.0),
    })
}

/// Adds the variables of `other` that `layout` lacks; their columns in `other`.
fn add_columns(layout: &mut Layout, other: &Layout) -> Vec<usize> {
    let mut added = Vec::new();
    for (at, var) in other.vars().iter().enumerate() {
        if !is_hidden(*var) && layout.slot(*var).is_none() {
            layout.slot_or_add(*var);
            added.push(at);
        }
    }
    added
}
