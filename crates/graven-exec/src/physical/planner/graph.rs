//! The operators that read the graph: finding nodes, following relationships, counting patterns.

use std::sync::Arc;

use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::operators::correlated_count::CorrelatedCountPlan;
use crate::operators::count_branch::BranchPlan;
use crate::operators::count_cache::SharedCounts;
use crate::operators::count_matches::extremes::ExtremesPlan;
use crate::operators::count_matches::{CountMatches, CountTreeRootPlan};
use crate::operators::expand::{Expand, ExpandColumns};
use crate::operators::expand_into::ExpandInto;
use crate::operators::index_scan::{IndexCondition, IndexScan, Sought};
use crate::operators::neighbor_filter::NeighborFilterPlan;
use crate::operators::parallel::Slot;
use crate::operators::reachable_count::{EndCondition, ReachableCount};
use crate::operators::reachable_expand::ReachableExpand;
use crate::operators::scan::{NodeScan, Nodes};
use crate::operators::seek::{NodeSeek, SeekBy};
use crate::operators::shortest_paths::ShortestPaths;
use crate::operators::trail_expand::{TrailColumns, TrailExpand};
use crate::pattern::Shape;
use crate::query_context::QueryContext;
use crate::reachability::Bounds;
use graven_cypher::plan::{
    CountTree, Expr, Inclusion, IndexPart, Operator as P, PlanNode, VarExpandMode, VarId,
};

use super::{Made, Planner, slot};

impl Planner<'_> {
    /// Operators that find nodes by themselves.
    pub(super) fn nodes(&mut self, op: &P) -> Result<Made> {
        let (input, var) = match op {
            P::AllNodesScan { input, var }
            | P::LabelScan { input, var, .. }
            | P::IndexSeek { input, var, .. }
            | P::IndexRange { input, var, .. }
            | P::NodeByIdSeek { input, var, .. }
            | P::RelationshipByIdSeek { input, var, .. } => (input, *var),
            _ => unreachable!("only operators that find nodes"),
        };
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
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
                value: self.compiled(&layout, value)?,
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
                    Some((e, inclusion)) => Ok(Some((self.compiled(&layout, e)?, *inclusion))),
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
                value: self.compiled(&layout, value)?,
                any: *any,
            }),
            _ => None,
        };
        let slot = layout.slot_or_add(var);
        let Some(by) = by.map(Arc::new) else {
            // Scans of inner trees are whole.
            let is_part = self.arguments.is_empty();
            let which = scanned(op, rt);
            return Ok(Made::new([input], layout, move |node, start| {
                let input = node.input(0, start)?;
                let morsel = match &start.divided {
                    Some(Slot::Nodes(slot)) if is_part => Some(slot.clone()),
                    _ => None,
                };
                Ok(Box::new(NodeScan::new(input, slot, which).within(morsel)))
            }));
        };
        Ok(Made::new([input], layout, move |node, start| {
            let input = node.input(0, start)?;
            Ok(Box::new(NodeSeek::new(
                input,
                slot,
                Arc::clone(&by),
                start.rt,
            )))
        }))
    }

    pub(super) fn index_scan(&mut self, op: &P) -> Result<Made> {
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
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
        let bound = |side: &Option<(Expr, Inclusion)>| match side {
            Some((e, inclusion)) => Ok(Some((self.compiled(&layout, e)?, *inclusion))),
            None => Ok::<_, ExecError>(None),
        };
        let part = match part {
            IndexPart::All => IndexCondition::All,
            IndexPart::StartsWith(text) => {
                IndexCondition::StartsWith(self.compiled(&layout, text)?)
            }
            IndexPart::Contains(text) => IndexCondition::Contains(self.compiled(&layout, text)?),
            IndexPart::EndsWith(text) => IndexCondition::EndsWith(self.compiled(&layout, text)?),
            IndexPart::Range { low, high } => IndexCondition::Range {
                low: bound(low)?,
                high: bound(high)?,
            },
        };
        let equal = equal.iter().map(|e| self.compiled(&layout, e));
        let sought = Arc::new(Sought {
            label: self.rt.label_id(label),
            keys: keys.iter().map(|key| self.rt.key_id(key)).collect(),
            equal: equal.collect::<Result<_>>()?,
            part,
            order: *order,
        });
        let slot = layout.slot_or_add(*var);
        Ok(Made::new([input], layout, move |node, start| {
            let input = node.input(0, start)?;
            let scan = IndexScan::new(input, slot, Arc::clone(&sought), start.rt);
            Ok(Box::new(scan))
        }))
    }

    pub(super) fn expand(&mut self, op: &P) -> Result<Made> {
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
        let told = self.told.take_if(|var| Some(*var) == *rel).is_some();
        let expected = input.estimated_rows * self.handed_in;
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
        let from = slot(&layout, *from)?;
        if matches!(op, P::ExpandInto { .. }) {
            let shape = Arc::new(Shape::new(pattern, &layout, self.rt)?);
            let relationship = rel.map(|r| layout.slot_or_add(r));
            let columns = ExpandColumns {
                from,
                relationship,
                to: slot(&layout, *to)?,
            };
            return Ok(Made::new([input], layout, move |node, start| {
                let input = node.input(0, start)?;
                let pattern = shape.start(start.rt)?;
                let expand = ExpandInto::new(input, pattern, columns, &start.rt.budget);
                Ok(Box::new(expand))
            }));
        }
        let mut lists =
            NeighborFilterPlan::new(pattern, from, *to, &layout, self.rt)?.expecting(expected);
        if rel.is_none() {
            lists = lists.without_relationships(pattern);
        }
        let relationship = rel.map(|r| layout.slot_or_add(r));
        let columns = ExpandColumns {
            from,
            relationship,
            to: layout.slot_or_add(*to),
        };
        let keeps = self.divided.is_some();
        let made = Made::new([input], layout, move |node, start| {
            let threshold = start.threshold.take().filter(|_| told);
            let input = node.input(0, start)?;
            let lists = lists.start(start.rt)?;
            let expand = Expand::new(input, lists, columns, &start.rt.budget);
            Ok(Box::new(expand.with_bound(threshold).keeping(keeps)))
        });
        Ok(made.choosing(told, "within the bound of TopN"))
    }

    pub(super) fn var_expand(&mut self, op: &P) -> Result<Made> {
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
                let input = self.node(input)?;
                let mut layout = input.layout.clone();
                let shape = Arc::new(Shape::new(pattern, &layout, self.rt)?);
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
                let mode = mode.clone();
                Ok(Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let pattern = shape.start(start.rt)?;
                    let rt = start.rt;
                    Ok(match &mode {
                        VarExpandMode::Trails => {
                            Box::new(TrailExpand::new(input, pattern, columns, bounds, rt))
                        }
                        VarExpandMode::Shortest(wanted) => {
                            let paths =
                                ShortestPaths::new(input, pattern, columns, bounds, *wanted, rt);
                            Box::new(paths)
                        }
                        VarExpandMode::Reachable { .. } => {
                            Box::new(ReachableExpand::new(input, pattern, columns, bounds, rt))
                        }
                    })
                }))
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
                let input = self.node(input)?;
                let mut layout = input.layout.clone();
                let not_equal = &pattern.ends.not_equal;
                let end =
                    self.end_condition(&layout, *to, end_labels, not_equal, end_filter.as_ref())?;
                let shape = Arc::new(Shape::new(pattern, &layout, self.rt)?);
                let bounds = Bounds {
                    min: *min,
                    max: *max,
                    proven: *min <= 1,
                };
                let from = slot(&layout, *from)?;
                let count = layout.slot_or_add(*count);
                Ok(Made::new([input], layout, move |node, start| {
                    let input = node.input(0, start)?;
                    let pattern = shape.start(start.rt)?;
                    let end = end.clone();
                    let counted =
                        ReachableCount::new(input, pattern, from, count, bounds, end, start.rt);
                    Ok(Box::new(counted))
                }))
            }
            _ => unreachable!("only variable-length expansions"),
        }
    }

    pub(super) fn pattern_count(
        &mut self,
        input: &PlanNode,
        patterns: &[(VarId, CountTree)],
        count: VarId,
    ) -> Result<Made> {
        let expected = input.estimated_rows * self.handed_in;
        // Threads share numbers by the place of the operator in the plan.
        let place = usize::try_from(input.id).unwrap_or(0);
        let input = self.node(input)?;
        let mut layout = input.layout.clone();
        let patterns = patterns.iter().map(|(from, hanging)| {
            let from = slot(&layout, *from)?;
            let pattern = &hanging.pattern;
            let is_plain = pattern.distinct_ends.is_empty() && !pattern.ends.read_the_row();
            if is_plain && hanging.extremes.is_empty() {
                let branch = BranchPlan::new(hanging, self.rt)?;
                return Ok(CountTreeRootPlan::Node(from, branch));
            }
            let lists = NeighborFilterPlan::new(pattern, from, hanging.end, &layout, self.rt)?;
            if !hanging.extremes.is_empty() {
                let slots = hanging.extremes.iter().map(|it| layout.slot_or_add(it.var));
                let extremes = ExtremesPlan::new(lists, hanging, slots.collect(), self.rt);
                return Ok(CountTreeRootPlan::Extremes(extremes));
            }
            let lists = lists.expecting(expected);
            Ok(CountTreeRootPlan::Row(CorrelatedCountPlan::new(
                lists, hanging, self.rt,
            )?))
        });
        let patterns: Vec<CountTreeRootPlan> = patterns.collect::<Result<_>>()?;
        let count = layout.slot_or_add(count);
        let keeps = self.divided.is_some();
        let by_row = patterns
            .iter()
            .any(|it| matches!(it, CountTreeRootPlan::Row(_)));
        let made = Made::new([input], layout, move |node, start| {
            let input = node.input(0, start)?;
            let numbers = match &start.numbers {
                Some(numbers) => numbers.of_branch(place),
                None => SharedCounts::default(),
            };
            let hanging = (0..).zip(&patterns);
            let hanging = hanging.map(|(at, it)| it.start(&numbers.of_branch(at), start.rt));
            let hanging = hanging.collect::<Result<_>>()?;
            let counted = CountMatches::new(input, hanging, count, expected, keeps);
            Ok(Box::new(counted))
        });
        Ok(made.choosing(by_row, "ends chosen row by row"))
    }

    pub(super) fn end_condition(
        &self,
        layout: &Layout,
        to: VarId,
        labels: &[Arc<str>],
        not_equal: &[VarId],
        filter: Option<&Expr>,
    ) -> Result<EndCondition> {
        let mut vars = layout.vars().to_vec();
        vars.push(to);
        let filter = filter
            .map(|f| self.compile(&Layout::new(vars), f))
            .transpose()?;
        let not_equal = not_equal.iter().map(|var| slot(layout, *var));
        let not_equal = not_equal.collect::<Result<_>>()?;
        let width = layout.width();
        Ok(EndCondition::new(labels, not_equal, filter, width))
    }
}

/// What a scan finds.
pub(super) fn scanned(op: &P, rt: &QueryContext) -> Nodes {
    match op {
        P::LabelScan { label, .. } => Nodes::Labelled(rt.label_id(label)),
        _ => Nodes::All,
    }
}
