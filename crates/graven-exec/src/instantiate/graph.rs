//! The operators that read the graph: finding nodes, following relationships, counting patterns.

use std::sync::Arc;

use crate::error::{ExecError, Result};
use crate::expression::Compiled;
use crate::layout::Layout;
use crate::operator::BoxedOperator;
use crate::operators::aggregate::{Aggregate, Call};
use crate::operators::argument::ArgumentSlot;
use crate::operators::count_branch::Branch;
use crate::operators::end_lists::EndLists;
use crate::operators::expand::{Expand, ExpandColumns};
use crate::operators::expand_into::ExpandInto;
use crate::operators::index_scan::{IndexScan, Part, Sought};
use crate::operators::known_numbers::SharedNumbers;
use crate::operators::list_aggregate::{ListAggregate, ListCall};
use crate::operators::morsels::MorselSlot;
use crate::operators::parallel::{MakeWorker, Parallel, Slot, Source, Worker};
use crate::operators::pattern_count::{Hanging, PatternCount};
use crate::operators::project::Project;
use crate::operators::reachable_count::{EndCondition, ReachableCount};
use crate::operators::reachable_expand::ReachableExpand;
use crate::operators::row_branch::RowBranch;
use crate::operators::scan::{NodeScan, Nodes};
use crate::operators::seek::{NodeSeek, SeekBy};
use crate::operators::shortest_paths::ShortestPaths;
use crate::operators::sort::threshold::Best;
use crate::operators::trail_expand::{TrailColumns, TrailExpand};
use crate::pattern::{Pattern, adjacencies};
use crate::profile::{ProfileCells, inputs};
use crate::reachability::Bounds;
use crate::runtime::Runtime;
use graven_cypher::Span;
use graven_cypher::plan::{
    AggregateCall, AggregateFunction, Expr, HangingPattern, Inclusion, IndexPart, Operator as P,
    PlanNode, VarExpandMode, VarId,
};
use graven_storage::Adjacency;

use super::{Built, Instantiator, slot};

impl Instantiator<'_> {
    /// Operators that find nodes by themselves.
    pub(super) fn nodes(&mut self, op: &P) -> Result<Built> {
        let (input, var) = match op {
            P::AllNodesScan { input, var }
            | P::LabelScan { input, var, .. }
            | P::IndexSeek { input, var, .. }
            | P::IndexRange { input, var, .. }
            | P::NodeByIdSeek { input, var, .. }
            | P::RelationshipByIdSeek { input, var, .. } => (input, *var),
            _ => unreachable!("only operators that find nodes"),
        };
        let (input, mut layout) = self.node(input)?;
        let rt = self.rt;
        let by = match op {
            P::IndexSeek {
                label,
                key,
                value,
                any,
                ..
            } => Some(SeekBy::Value {
                label: rt.label_id(label),
                key: rt.key_id(key),
                value: self.compile(&layout, value)?,
                any: *any,
            }),
            P::IndexRange {
                label,
                key,
                low,
                high,
                ..
            } => {
                let bound = |side: &Option<(Expr, _)>| match side {
                    Some((e, inclusion)) => Ok(Some((self.compile(&layout, e)?, *inclusion))),
                    None => Ok::<_, ExecError>(None),
                };
                Some(SeekBy::Range {
                    label: rt.label_id(label),
                    key: rt.key_id(key),
                    low: bound(low)?,
                    high: bound(high)?,
                })
            }
            P::NodeByIdSeek {
                form, value, any, ..
            }
            | P::RelationshipByIdSeek {
                form, value, any, ..
            } => Some(SeekBy::Id {
                relationships: matches!(op, P::RelationshipByIdSeek { .. }),
                form: *form,
                value: self.compile(&layout, value)?,
                any: *any,
            }),
            _ => None,
        };
        let slot = layout.slot_or_add(var);
        let operator: BoxedOperator = match (by, op) {
            (Some(by), _) => Box::new(NodeSeek::new(input, slot, by, rt)),
            (None, _) => {
                // Scans of inner trees are whole.
                let morsel = match &self.divided {
                    Some((Slot::Nodes(slot), _)) if self.arguments.is_empty() => Some(slot.clone()),
                    _ => None,
                };
                Box::new(NodeScan::new(input, slot, scanned(op, rt)).within(morsel))
            }
        };
        Ok((operator, layout))
    }

    pub(super) fn index_scan(&mut self, op: &P) -> Result<Built> {
        let P::IndexScan {
            input,
            var,
            label,
            keys,
            equal,
            part,
            order,
        } = op
        else {
            unreachable!("only index scans")
        };
        let (input, mut layout) = self.node(input)?;
        let bound = |side: &Option<(Expr, Inclusion)>| match side {
            Some((e, inclusion)) => Ok(Some((self.compile(&layout, e)?, *inclusion))),
            None => Ok::<_, ExecError>(None),
        };
        let part = match part {
            IndexPart::All => Part::All,
            IndexPart::StartsWith(text) => Part::StartsWith(self.compile(&layout, text)?),
            IndexPart::Contains(text) => Part::Contains(self.compile(&layout, text)?),
            IndexPart::EndsWith(text) => Part::EndsWith(self.compile(&layout, text)?),
            IndexPart::Range { low, high } => Part::Range {
                low: bound(low)?,
                high: bound(high)?,
            },
        };
        let equal = equal.iter().map(|e| self.compile(&layout, e));
        let sought = Sought {
            label: self.rt.label_id(label),
            keys: keys.iter().map(|key| self.rt.key_id(key)).collect(),
            equal: equal.collect::<Result<_>>()?,
            part,
            order: *order,
        };
        let slot = layout.slot_or_add(*var);
        Ok((
            Box::new(IndexScan::new(input, slot, sought, self.rt)),
            layout,
        ))
    }

    pub(super) fn expand(&mut self, op: &P) -> Result<Built> {
        let (P::Expand {
            input,
            from,
            rel,
            to,
            pattern,
        }
        | P::ExpandInto {
            input,
            from,
            rel,
            to,
            pattern,
        }) = op
        else {
            unreachable!("only expansions")
        };
        let threshold = self.threshold.take_if(|(var, _)| Some(*var) == *rel);
        let expected = input.estimated_rows * self.handed_in;
        let (input, mut layout) = self.node(input)?;
        let from = slot(&layout, *from)?;
        let budget = &self.rt.budget;
        let operator: BoxedOperator = if matches!(op, P::ExpandInto { .. }) {
            let pattern = Pattern::new(pattern, &layout, self.rt)?;
            let relationship = rel.map(|r| layout.slot_or_add(r));
            let columns = ExpandColumns {
                from,
                relationship,
                to: slot(&layout, *to)?,
            };
            Box::new(ExpandInto::new(input, pattern, columns, budget))
        } else {
            let mut lists =
                EndLists::new(pattern, from, *to, &layout, self.rt)?.expecting(expected);
            if rel.is_none() {
                lists = lists.without_relationships(pattern);
            }
            let relationship = rel.map(|r| layout.slot_or_add(r));
            let columns = ExpandColumns {
                from,
                relationship,
                to: layout.slot_or_add(*to),
            };
            let threshold = threshold.map(|(_, threshold)| threshold);
            let expand = Expand::new(input, lists, columns, budget).told(threshold);
            Box::new(expand.keeping(self.divided.is_some()))
        };
        Ok((operator, layout))
    }

    /// An aggregation above an expansion that asks of each relationship only to be counted and
    /// compared.
    pub(super) fn aggregate_of_lists(
        &mut self,
        input: &PlanNode,
        keys: &[(VarId, Expr)],
        aggregates: &[(VarId, AggregateCall)],
    ) -> Result<Option<Built>> {
        let mut labels = Vec::new();
        let mut filters = Vec::new();
        let mut below = input;
        while let P::Filter { input, predicate } = &below.op
            && let Expr::HasLabels {
                base, labels: own, ..
            } = predicate
            && let Expr::Variable(var) = **base
        {
            labels.push((var, own));
            filters.push(below.id);
            below = input;
        }
        let P::Expand {
            input: source,
            from,
            rel,
            to,
            pattern,
        } = &below.op
        else {
            return Ok(None);
        };
        let is_plain = pattern.filter.is_none()
            && pattern.distinct_from.is_empty()
            && pattern.distinct_ends.is_empty()
            && pattern.disjoint_from.is_empty()
            && !pattern.ends.read_the_row()
            && self.rt.settled;
        let of_the_row = |expr: &Expr| {
            let read = expr.variables();
            !read.contains(to) && rel.is_none_or(|rel| !read.contains(&rel))
        };
        if !is_plain
            || labels.iter().any(|(var, _)| var != to)
            || !keys.iter().all(|(_, key)| of_the_row(key))
        {
            return Ok(None);
        }
        let calls = aggregates
            .iter()
            .map(|(_, call)| self.list_call(call, *rel, *to));
        let Some(own) = calls.collect::<Option<Vec<ListCall>>>() else {
            return Ok(None);
        };
        let (source, layout) = self.node(source)?;
        let from = slot(&layout, *from)?;
        let lists = EndLists::new(pattern, from, *to, &layout, self.rt)?;
        let labels: Vec<_> = labels
            .iter()
            .flat_map(|(_, own)| own.iter().cloned())
            .collect();
        let lists = lists.with_labels(&labels);
        let whole = (layout.width()..).zip(&own).map(|(slot, call)| Call {
            function: match call {
                ListCall::Count => AggregateFunction::Sum,
                ListCall::Least(_) => AggregateFunction::Min,
                ListCall::Largest(_) => AggregateFunction::Max,
            },
            argument: Some(Compiled::Slot(slot)),
            parameter: None,
            distinct: false,
            at: Span::default(),
        });
        let whole = whole.collect();
        let mut operator: BoxedOperator = Box::new(ListAggregate::new(source, lists, own, self.rt));
        operator = self.profiled(operator, below.id);
        for filter in filters.into_iter().rev() {
            operator = self.profiled(operator, filter);
        }
        let vars = keys.iter().map(|(var, _)| *var);
        let vars = vars.chain(aggregates.iter().map(|(var, _)| *var)).collect();
        let keys = keys.iter().map(|(_, key)| self.compile(&layout, key));
        let keys = keys.collect::<Result<_>>()?;
        let operator = Aggregate::new(operator, keys, whole, self.rt);
        Ok(Some((Box::new(operator), Layout::new(vars))))
    }

    /// An aggregate that whole lists give.
    fn list_call(&self, call: &AggregateCall, rel: Option<VarId>, to: VarId) -> Option<ListCall> {
        let property = || match call.argument.as_ref()? {
            Expr::Property { base, key, .. } => match **base {
                Expr::Variable(var) if Some(var) == rel => Some(self.rt.key_id(key)),
                _ => None,
            },
            _ => None,
        };
        match call.function {
            AggregateFunction::CountStar => Some(ListCall::Count),
            AggregateFunction::Count if !call.distinct => match call.argument.as_ref()? {
                Expr::Variable(var) if *var == to || Some(*var) == rel => Some(ListCall::Count),
                _ => None,
            },
            AggregateFunction::Min => property().map(ListCall::Least),
            AggregateFunction::Max => property().map(ListCall::Largest),
            _ => None,
        }
    }

    pub(super) fn var_expand(&mut self, op: &P) -> Result<Built> {
        match op {
            P::VarExpand {
                input,
                from,
                rels,
                to,
                into,
                pattern,
                min,
                max,
                mode,
            } => {
                let (input, mut layout) = self.node(input)?;
                let pattern = Pattern::new(pattern, &layout, self.rt)?;
                let bounds = Bounds {
                    min: *min,
                    max: *max,
                    proven: *mode == VarExpandMode::Reachable { proven: true },
                };
                let from = slot(&layout, *from)?;
                let relationships = rels.map(|r| layout.slot_or_add(r));
                let to = if *into {
                    slot(&layout, *to)?
                } else {
                    layout.slot_or_add(*to)
                };
                let columns = TrailColumns {
                    from,
                    relationships,
                    to,
                    into: *into,
                };
                let operator: BoxedOperator = match mode {
                    VarExpandMode::Trails => {
                        Box::new(TrailExpand::new(input, pattern, columns, bounds, self.rt))
                    }
                    VarExpandMode::Shortest(wanted) => Box::new(ShortestPaths::new(
                        input, pattern, columns, bounds, *wanted, self.rt,
                    )),
                    VarExpandMode::Reachable { .. } => Box::new(ReachableExpand::new(
                        input, pattern, columns, bounds, self.rt,
                    )),
                };
                Ok((operator, layout))
            }
            P::ReachableCount {
                input,
                from,
                to,
                pattern,
                min,
                max,
                end_labels,
                end_filter,
                count,
            } => {
                let (input, mut layout) = self.node(input)?;
                let unlike = &pattern.ends.unlike;
                let end =
                    self.end_condition(&layout, *to, end_labels, unlike, end_filter.as_ref())?;
                let pattern = Pattern::new(pattern, &layout, self.rt)?;
                let bounds = Bounds {
                    min: *min,
                    max: *max,
                    proven: *min <= 1,
                };
                let from = slot(&layout, *from)?;
                let count = layout.slot_or_add(*count);
                let operator =
                    ReachableCount::new(input, pattern, from, count, bounds, end, self.rt);
                Ok((Box::new(operator), layout))
            }
            _ => unreachable!("only variable-length expansions"),
        }
    }

    /// As many copies of a pipeline as there are threads, each with `computed` on top where there
    /// is any: those columns alone. Of a pipeline over rows that are divided one copy; the others
    /// are made when they are wanted.
    pub(super) fn parallel(
        &mut self,
        input: &PlanNode,
        computed: Option<&[(VarId, Expr)]>,
    ) -> Result<Built> {
        let (mut bottom, mut above) = (input, None);
        while !matches!(bottom.op, P::Exchange { .. })
            && let Some(below) = inputs(&bottom.op).first()
            && !matches!(below.op, P::Unit)
        {
            above = Some(&bottom.op);
            bottom = below;
        }
        let copies = Copies {
            computed: computed.map(<[_]>::to_vec),
            cells: self.cells.cloned(),
            best: Best::default(),
            numbers: SharedNumbers::default(),
        };
        if let P::Exchange { input: source } = &bottom.op {
            let (source, given) = self.node(source)?;
            let plan = self.plan.ok_or_else(|| ExecError::Plan {
                message: "CY-50: a parallel pipeline in a statement that writes".to_owned(),
            })?;
            let (first, layout) = copies.rows(input, &given, self.rt)?;
            let (plan, id) = (Arc::clone(plan), input.id);
            let make: MakeWorker = Box::new(move |rt| {
                let input = find(&plan.root, id).ok_or_else(|| ExecError::Plan {
                    message: format!("operator {id} is not in its plan"),
                })?;
                Ok(copies.rows(input, &given, rt)?.0)
            });
            let source = Source::Rows(source, make);
            return Ok((
                Box::new(Parallel::new(vec![first], source, self.rt)),
                layout,
            ));
        }
        let nodes = scanned(&bottom.op, self.rt);
        let mut workers = Vec::new();
        let mut built = None;
        for _ in 0..self.rt.tuning.threads.max(1) {
            let slot = Slot::Nodes(MorselSlot::default());
            let (worker, layout) = copies.copy(input, slot, Layout::default(), self.rt)?;
            workers.push(worker);
            built = Some(layout);
        }
        let layout = built.expect("at least one worker");
        let visited = above.map_or(Ok(Vec::new()), |above| visited(&bottom.op, above, self.rt));
        let source = Source::Nodes(nodes, visited?);
        Ok((Box::new(Parallel::new(workers, source, self.rt)), layout))
    }

    pub(super) fn pattern_count(
        &mut self,
        input: &PlanNode,
        patterns: &[(VarId, HangingPattern)],
        count: VarId,
    ) -> Result<Built> {
        let expected = input.estimated_rows * self.handed_in;
        let numbers = match &self.numbers {
            Some(numbers) => numbers.of_branch(usize::try_from(input.id).unwrap_or(0)),
            None => SharedNumbers::default(),
        };
        let (input, mut layout) = self.node(input)?;
        let patterns = (0..).zip(patterns).map(|(at, (from, hanging))| {
            let numbers = numbers.of_branch(at);
            let from = slot(&layout, *from)?;
            let pattern = &hanging.pattern;
            if pattern.distinct_ends.is_empty() && !pattern.ends.read_the_row() {
                return Ok(Hanging::Node(
                    from,
                    Branch::new(hanging, &numbers, self.rt)?,
                ));
            }
            let lists = EndLists::new(pattern, from, hanging.end, &layout, self.rt)?;
            let lists = lists.expecting(expected);
            let branch = RowBranch::new(lists, hanging, &numbers, self.rt)?;
            Ok(Hanging::Row(branch))
        });
        let patterns = patterns.collect::<Result<_>>()?;
        let count = layout.slot_or_add(count);
        let keeps = self.divided.is_some();
        let count = PatternCount::new(input, patterns, count, expected, keeps);
        Ok((Box::new(count), layout))
    }

    pub(super) fn end_condition(
        &self,
        layout: &Layout,
        to: VarId,
        labels: &[Arc<str>],
        unlike: &[VarId],
        filter: Option<&Expr>,
    ) -> Result<EndCondition> {
        let mut vars = layout.vars().to_vec();
        vars.push(to);
        let filter = filter
            .map(|f| self.compile(&Layout::new(vars), f))
            .transpose()?;
        let unlike = unlike.iter().map(|var| slot(layout, *var));
        let unlike = unlike.collect::<Result<_>>()?;
        let width = layout.width();
        Ok(EndCondition::new(labels, unlike, filter, width))
    }
}

/// What the copies of a pipeline have in common.
struct Copies {
    computed: Option<Vec<(VarId, Expr)>>,
    cells: Option<ProfileCells>,
    best: Best,
    numbers: SharedNumbers,
}

impl Copies {
    /// A copy of `input` over rows of this layout.
    fn rows(&self, input: &PlanNode, given: &Layout, rt: &Runtime) -> Result<(Worker, Layout)> {
        let slot = Slot::Rows(ArgumentSlot::default());
        self.copy(input, slot, given.clone(), rt)
    }

    /// A copy of `input` over what is left in the slot.
    fn copy(
        &self,
        input: &PlanNode,
        slot: Slot,
        given: Layout,
        rt: &Runtime,
    ) -> Result<(Worker, Layout)> {
        let rt = rt.for_worker();
        let mut copy = Instantiator::new(&rt, self.cells.as_ref());
        copy.divided = Some((slot.clone(), given));
        copy.numbers = Some(self.numbers.clone());
        copy.is_part = matches!(
            input.op,
            P::Aggregate { .. } | P::Distinct { runs: false, .. }
        );
        copy.best = matches!(input.op, P::TopN { .. }).then(|| self.best.clone());
        let (mut root, mut layout) = copy.node(input)?;
        if let Some(items) = &self.computed {
            let exprs = items.iter().map(|(_, item)| copy.compile(&layout, item));
            root = Box::new(Project::new(root, exprs.collect::<Result<_>>()?, &rt));
            layout = Layout::new(items.iter().map(|(var, _)| *var).collect());
        }
        Ok((Worker::new(root, slot, rt), layout))
    }
}

/// The node of a plan with this id.
fn find(node: &PlanNode, id: u32) -> Option<&PlanNode> {
    if node.id == id {
        return Some(node);
    }
    let children = inputs(&node.op).into_iter();
    children.filter_map(|child| find(child, id)).next()
}

/// What a scan finds.
fn scanned(op: &P, rt: &Runtime) -> Nodes {
    match op {
        P::LabelScan { label, .. } => Nodes::Labelled(rt.label_id(label)),
        _ => Nodes::All,
    }
}

/// The adjacencies whose lists of the nodes of a scan the operator above it visits, all of them.
fn visited(scan: &P, above: &P, rt: &Runtime) -> Result<Vec<Adjacency>> {
    let (P::LabelScan { var, .. } | P::AllNodesScan { var, .. }) = scan else {
        return Ok(Vec::new());
    };
    let mut visited = Vec::new();
    match above {
        P::Expand { from, pattern, .. } if from == var => {
            visited.extend(adjacencies(pattern, rt)?);
        }
        P::PatternCount { patterns, .. } => {
            for (from, hanging) in patterns {
                // Degrees are found without visiting lists.
                let reads_lists = !hanging.branches.is_empty() || !hanging.labels.is_empty();
                if from == var && reads_lists {
                    visited.extend(adjacencies(&hanging.pattern, rt)?);
                }
            }
        }
        _ => {}
    }
    Ok(visited)
}
