//! Walking a plan: inputs, expressions, variables read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::mutant::{self, Mutant};
use super::variables::is_volatile;
use super::{
    CountTree, ExpandFilter, Expr, IndexPart, Operator, Plan, PlanNode, RelPattern, VarId,
};

/// Inputs of an operator in order, the outer one first; `$each` says how those of a union are
/// borrowed.
macro_rules! inputs {
    ($operator:expr, $each:ident) => {{
        use Operator as O;
        match $operator {
            O::Unit | O::Argument { .. } => Vec::new(),
            O::Union { inputs } => inputs.$each().collect(),
            O::Apply { input, inner }
            | O::Optional { input, inner, .. }
            | O::SemiApply { input, inner, .. }
            | O::InTransactions { input, inner, .. }
            | O::Repeat { input, inner, .. }
            | O::Merge { input, inner, .. }
            | O::Foreach { input, inner, .. }
            | O::CartesianProduct { input, inner }
            | O::HashJoin {
                input,
                build: inner,
                ..
            } => vec![input, inner],
            O::AllNodesScan { input, .. }
            | O::LabelScan { input, .. }
            | O::ComputedLabelScan { input, .. }
            | O::IndexSeek { input, .. }
            | O::IndexRange { input, .. }
            | O::IndexScan { input, .. }
            | O::NodeByIdSeek { input, .. }
            | O::RelationshipByIdSeek { input, .. }
            | O::Expand { input, .. }
            | O::ExpandInto { input, .. }
            | O::VarExpand { input, .. }
            | O::BuildPath { input, .. }
            | O::SelectPaths { input, .. }
            | O::Filter { input, .. }
            | O::Project { input, .. }
            | O::Extend { input, .. }
            | O::Aggregate { input, .. }
            | O::ReachableCount { input, .. }
            | O::CountMatches { input, .. }
            | O::Distinct { input, .. }
            | O::Sort { input, .. }
            | O::TopN { input, .. }
            | O::Skip { input, .. }
            | O::Limit { input, .. }
            | O::Unwind { input, .. }
            | O::Procedure { input, .. }
            | O::Create { input, .. }
            | O::Set { input, .. }
            | O::Delete { input, .. }
            | O::Eager { input, .. }
            | O::EmptyResult { input }
            | O::Parallel { input }
            | O::Exchange { input }
            | O::Schema { input, .. }
            | O::LoadFrom { input, .. }
            | O::CopyTo { input, .. }
            | O::LoadCsv { input, .. } => vec![input],
        }
    }};
}

impl Operator {
    /// Inputs in order: the outer one first.
    #[must_use]
    pub fn children(&self) -> Vec<&PlanNode> {
        inputs!(self, iter)
    }

    /// As [`Operator::children`], for changing them.
    pub fn children_mut(&mut self) -> Vec<&mut PlanNode> {
        inputs!(self, iter_mut)
    }

    /// Visits the expressions of this operator alone.
    pub fn for_each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        use Operator as O;
        match self {
            O::IndexSeek { value, .. }
            | O::NodeByIdSeek { value, .. }
            | O::RelationshipByIdSeek { value, .. } => visit(value),
            O::ComputedLabelScan { names, equal, .. } => {
                visit(names);
                equal.iter().for_each(|(_, value)| visit(value));
            }
            O::IndexScan { equal, part, .. } => {
                equal.iter().for_each(&mut *visit);
                match part {
                    IndexPart::All => {}
                    IndexPart::Range { low, high } => {
                        low.iter().chain(high).for_each(|(e, _)| visit(e));
                    }
                    IndexPart::StartsWith(text)
                    | IndexPart::Contains(text)
                    | IndexPart::EndsWith(text) => visit(text),
                }
            }
            O::IndexRange { low, high, .. } => low.iter().chain(high).for_each(|(e, _)| visit(e)),
            O::Expand { pattern, .. }
            | O::ExpandInto { pattern, .. }
            | O::VarExpand { pattern, .. } => {
                pattern.filter.iter().for_each(visit);
            }
            O::ReachableCount {
                pattern,
                end_filter,
                ..
            } => {
                pattern.filter.iter().chain(end_filter).for_each(visit);
            }
            O::Filter { predicate, .. } => visit(predicate),
            O::Project { items, .. } | O::Extend { items, .. } => {
                items.iter().for_each(|(_, e)| visit(e))
            }
            O::Aggregate {
                keys, aggregates, ..
            } => {
                keys.iter().for_each(|(_, e)| visit(e));
                for (_, call) in aggregates {
                    call.argument
                        .iter()
                        .chain(&call.parameter)
                        .for_each(&mut *visit);
                }
            }
            O::Sort { keys, .. } => keys.iter().for_each(|(e, _)| visit(e)),
            O::TopN { keys, limit, .. } => {
                keys.iter().for_each(|(e, _)| visit(e));
                visit(limit);
            }
            O::Skip { count, .. } | O::Limit { count, .. } => visit(count),
            O::Unwind { list, .. } => visit(list),
            O::Procedure { args, .. } => args.iter().for_each(visit),
            O::Create { creation, .. } => creation.for_each_expr(visit),
            O::Merge {
                creation,
                on_create,
                on_match,
                ..
            } => {
                creation.for_each_expr(visit);
                for item in on_create.iter().chain(on_match) {
                    item.for_each_expr(visit);
                }
            }
            O::Set { items, .. } => items.iter().for_each(|item| item.for_each_expr(visit)),
            O::Delete { targets, .. } => targets.iter().for_each(visit),
            O::Foreach { list, .. } => visit(list),
            O::InTransactions { batches, .. } => {
                batches.rows.iter().chain(&batches.retry).for_each(visit);
            }
            O::LoadFrom { bounds, .. } => bounds.iter().for_each(|bound| visit(&bound.value)),
            O::LoadCsv {
                url, terminator, ..
            } => std::iter::once(url).chain(terminator).for_each(visit),
            _ => {}
        }
    }

    /// The relationship pattern, where there is one.
    #[must_use]
    pub fn rel_pattern(&self) -> Option<&RelPattern> {
        match self {
            Operator::Expand { pattern, .. }
            | Operator::ExpandInto { pattern, .. }
            | Operator::VarExpand { pattern, .. }
            | Operator::ReachableCount { pattern, .. } => Some(pattern),
            _ => None,
        }
    }

    /// Visits every relationship pattern of the operator, of counted and joined ones each within
    /// the others, with the labels that it asks of the other end.
    pub fn for_each_rel_pattern(&self, visit: &mut dyn FnMut(&RelPattern, &[Arc<str>])) {
        match self {
            Operator::CountMatches { patterns, .. } => {
                let trees = patterns.iter().map(|(_, tree)| tree);
                trees.for_each(|tree| tree.for_each_rel_pattern(visit));
            }
            Operator::ReachableCount {
                pattern,
                end_labels,
                ..
            } => pattern.and_joined(end_labels, visit),
            op => {
                let own = op.rel_pattern().into_iter();
                own.for_each(|pattern| pattern.and_joined(&[], visit));
            }
        }
    }

    /// Variables that this operator itself adds to the rows of its inputs, or, where it makes rows
    /// of its own (such as [`Operator::Project`]), all that they consist of.
    #[must_use]
    pub fn binds(&self) -> BTreeSet<VarId> {
        use Operator as O;
        match self {
            O::AllNodesScan { var, .. }
            | O::LabelScan { var, .. }
            | O::ComputedLabelScan { var, .. }
            | O::IndexSeek { var, .. }
            | O::IndexRange { var, .. }
            | O::IndexScan { var, .. }
            | O::NodeByIdSeek { var, .. }
            | O::RelationshipByIdSeek { var, .. }
            | O::Unwind { var, .. } => BTreeSet::from([*var]),
            O::LoadCsv {
                var, line, file, ..
            } => [var].into_iter().chain(line).chain(file).copied().collect(),
            O::Expand { rel, to, .. } | O::ExpandInto { rel, to, .. } => {
                rel.iter().chain([to]).copied().collect()
            }
            O::VarExpand { rels, to, .. } => rels.iter().chain([to]).copied().collect(),
            O::BuildPath { path, .. } => BTreeSet::from([*path]),
            O::ReachableCount { count, .. } => BTreeSet::from([*count]),
            O::CountMatches {
                patterns, count, ..
            } => {
                let extremes = patterns.iter().flat_map(|(_, hanging)| &hanging.extremes);
                extremes
                    .map(|extreme| extreme.var)
                    .chain([*count])
                    .collect()
            }
            O::Extend { items, .. } | O::Project { items, .. } => {
                items.iter().map(|(var, _)| *var).collect()
            }
            O::Aggregate {
                keys, aggregates, ..
            } => {
                let keys = keys.iter().map(|(var, _)| *var);
                keys.chain(aggregates.iter().map(|(var, _)| *var)).collect()
            }
            O::Distinct { vars, .. } | O::Argument { vars } => vars.iter().copied().collect(),
            O::Procedure { yields, .. } | O::LoadFrom { yields, .. } => {
                yields.iter().map(|(_, var)| *var).collect()
            }
            O::InTransactions { batches, .. } => {
                let columns = batches.columns.iter().chain(&batches.status);
                columns.copied().collect()
            }
            O::Repeat { repeat, .. } => {
                let lists = repeat.groups.iter().map(|(_, list)| *list);
                lists.chain([repeat.to, repeat.path]).collect()
            }
            O::Create { creation, .. } => creation.variables().collect(),
            O::Merge {
                creation, created, ..
            } => creation.variables().chain(*created).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// Whether it is a scan or a seek of nodes.
    #[cfg(any(debug_assertions, feature = "mutants"))]
    #[must_use]
    pub(crate) fn finds_nodes(&self) -> bool {
        use Operator as O;
        matches!(
            self,
            O::AllNodesScan { .. }
                | O::LabelScan { .. }
                | O::ComputedLabelScan { .. }
                | O::IndexSeek { .. }
                | O::IndexRange { .. }
                | O::IndexScan { .. }
                | O::NodeByIdSeek { .. }
        )
    }

    /// Variables this operator alone reads from its input rows.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<VarId> {
        use Operator as O;
        let mut read = BTreeSet::new();
        self.for_each_expr(&mut |expr| read.extend(expr.variables()));
        if let Some(pattern) = self.rel_pattern() {
            read.extend(pattern.distinct_from.iter().chain(&pattern.disjoint_from));
            read.extend(
                pattern
                    .distinct_ends
                    .iter()
                    .flat_map(|(start, end)| [*start, *end]),
            );
            pattern.ends.reads(&mut read);
            pattern.each.iter().for_each(|each| {
                read.remove(each);
            });
        }
        match self {
            O::Expand { from, to, .. } => {
                read.insert(*from);
                read.remove(to);
            }
            O::ReachableCount { from, to, .. } => {
                read.insert(*from);
                read.remove(to);
            }
            O::ExpandInto { from, to, .. }
            | O::VarExpand {
                from,
                to,
                into: true,
                ..
            } => read.extend([*from, *to]),
            O::VarExpand { from, .. } => {
                read.insert(*from);
            }
            O::CountMatches { patterns, .. } => {
                for (var, hanging) in patterns {
                    read.insert(*var);
                    read.extend(hanging.reads());
                }
            }
            O::BuildPath { parts, .. } => read.extend(parts),
            O::SelectPaths {
                from, to, lengths, ..
            } => read.extend([from, to].into_iter().chain(lengths)),
            O::Repeat { repeat, .. } => {
                read.insert(repeat.from);
                read.extend(repeat.into.then_some(repeat.to));
                read.extend(repeat.distinct_from.iter().chain(&repeat.disjoint_from));
            }
            O::Distinct { vars, .. } => read.extend(vars),
            O::CopyTo { columns, .. } => read.extend(columns.iter().map(|(_, var)| *var)),
            O::HashJoin { on, .. } => read.extend(on),
            O::Create { creation, .. } => read = creation.reads(),
            O::Merge { creation, .. } => {
                read.extend(creation.reads());
                for own in creation.variables() {
                    read.remove(&own);
                }
            }
            _ => {}
        }
        read
    }
}

impl Operator {
    /// Adds the variables that this operator reads from the rows of its inner tree.
    pub(crate) fn reads_inside(&self, read: &mut BTreeSet<VarId>) {
        if let Operator::Repeat { repeat, .. } = self {
            // What it keeps of each repetition comes from there.
            read.insert(repeat.exit);
            read.extend(&repeat.rels);
            read.extend(repeat.groups.iter().map(|(inner, _)| *inner));
        }
        if matches!(self, Operator::Merge { .. }) {
            // What its items read may come from its own pattern.
            self.for_each_expr(&mut |e| read.extend(e.variables()));
        }
    }
}

impl ExpandFilter {
    /// Adds the variables that the conditions look at; the far end may be among them.
    fn reads(&self, read: &mut BTreeSet<VarId>) {
        read.extend(&self.not_equal);
        for join in &self.joins {
            read.insert(join.near);
            let pairs = join.pattern.distinct_ends.iter();
            read.extend(pairs.flat_map(|(start, end)| [*start, *end]));
        }
        read.extend(self.semi_join_groups.iter().flatten().map(|join| join.near));
    }
}

impl RelPattern {
    /// Visits it and the patterns that its ends are joined with.
    fn and_joined(&self, labels: &[Arc<str>], visit: &mut dyn FnMut(&RelPattern, &[Arc<str>])) {
        visit(self, labels);
        let groups = self.ends.semi_join_groups.iter().flatten();
        let joined = self.ends.joins.iter().chain(groups);
        joined.for_each(|join| join.pattern.and_joined(&[], visit));
    }
}

impl CountTree {
    fn for_each_rel_pattern(&self, visit: &mut dyn FnMut(&RelPattern, &[Arc<str>])) {
        self.pattern.and_joined(&self.labels, visit);
        let branches = self.branches.iter();
        branches.for_each(|branch| branch.for_each_rel_pattern(visit));
    }

    /// Variables of the row that the pattern looks at besides the node it hangs on.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<VarId> {
        let mut read = BTreeSet::new();
        self.pattern.ends.reads(&mut read);
        let pairs = self.pattern.distinct_ends.iter();
        read.extend(pairs.flat_map(|(start, end)| [*start, *end]));
        read.remove(&self.end);
        read
    }
}

impl PlanNode {
    /// An operator that has no number yet.
    pub(crate) fn new(op: Operator, estimated_rows: f64) -> Self {
        Self {
            id: 0,
            op,
            estimated_rows,
        }
    }

    /// Takes it out of its place, where a unit is left.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(Operator::Unit, 0.0))
    }

    /// Puts an operator on top of it, in its place.
    pub(crate) fn push(&mut self, rows: f64, op: impl FnOnce(Box<Self>) -> Operator) {
        let below = self.take();
        *self = Self::new(op(Box::new(below)), rows);
    }

    fn number(&mut self, next: &mut u32) {
        self.id = *next;
        *next += 1;
        for child in self.op.children_mut() {
            child.number(next);
        }
    }

    /// Whether it gives the same rows again for the same row: it changes nothing, reads nothing
    /// outside the graph and computes nothing volatile.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        let mut repeatable = !self.writes();
        self.visit(&mut |node| {
            let asks = matches!(
                node.op,
                Operator::Procedure { .. }
                    | Operator::LoadCsv { .. }
                    | Operator::LoadFrom { .. }
                    | Operator::CopyTo { .. }
            );
            repeatable &= !asks;
            node.op
                .for_each_expr(&mut |expr| repeatable &= !is_volatile(expr));
        });
        repeatable
    }

    /// Visits this node and everything below it, parents first.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a PlanNode)) {
        visit(self);
        for child in self.op.children() {
            child.visit(visit);
        }
    }

    /// As [`PlanNode::visit`], children first.
    pub(crate) fn visit_upwards<'a>(&'a self, visit: &mut dyn FnMut(&'a PlanNode)) {
        for child in self.op.children() {
            child.visit_upwards(visit);
        }
        visit(self);
    }

    /// As [`PlanNode::visit_upwards`], for changing them.
    pub fn visit_mut(&mut self, visit: &mut dyn FnMut(&mut PlanNode)) {
        for child in self.op.children_mut() {
            child.visit_mut(visit);
        }
        visit(self);
    }
}

impl Plan {
    /// Numbers the operators (CY-2).
    pub(crate) fn number(&mut self) {
        self.root.number(&mut 0);
    }

    /// Variables that some operator or the result reads.
    pub(crate) fn read_variables(&self) -> BTreeSet<VarId> {
        let mut read: BTreeSet<VarId> = self.columns.iter().map(|(_, var)| *var).collect();
        self.root.visit(&mut |node| {
            read.extend(node.op.reads());
            if !mutant::active(Mutant::ColumnPruningInside) {
                node.op.reads_inside(&mut read);
            }
        });
        read
    }
}
