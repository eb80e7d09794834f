//! Patterns that hang on nodes of the row: their number of matches, and extremes of their
//! relationships, in place of a row for each match.
//!
//! # How it works
//! Below `count(*)` lie expansions whose ends no operator reads. From the aggregation downwards
//! they are taken out as long as nothing reads them but the expansions taken out before, and become
//! [`CountTree`]s of the nodes that stay: `count(*)` of
//! `(f)-[:HAS_MEMBER]->(p)-[:IS_LOCATED_IN]->(c)` is the sum over `f` of the number of matches that
//! hang on it. The executor computes these numbers once a node, so a tree of patterns costs its
//! relationships, not its matches. `OPTIONAL MATCH` hangs with "at least one".
//!
//! The extreme of a property of a relationship that is taken out is computed with the number, as
//! in `RETURN a.x, count(*), max(k.since)`. What ignores duplicates is computed of the rows that
//! stay.
//!
//! # Invariants
//! * CY-43 A relationship is taken out only if no other of its `MATCH` that is taken out too must
//!   differ from it and it has no condition; then any combination of matches of the branches is a
//!   match.
//! * CY-78 Of a relationship with an extreme the node that it starts from stays in the row, and
//!   nothing hangs on its end: each relationship with such an end is in some row.
//! * CY-79 An aggregate that is no count stays as it is only if it ignores duplicates.
//! * CY-80 A group by a value that differs from row to row, as `rand()`, gets a row for each match.
//! * CY-48 An expansion with conditions on its ends that read other nodes of the row starts at the
//!   row itself, and those nodes stay in it.
//! * CY-66 An optional part is taken out only if no part that was taken out above it reads its
//!   variables. Below it they are not bound; where they are null, such a part has no match.
//! * CY-44 Tests of labels are taken out together with the expansion that produces the node, never
//!   alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::MATCHES;
use crate::plan::expression::{AggregateCall, AggregateFunction as F, BinaryOp, Expr};
use crate::plan::mutant::{self, Mutant};
use crate::plan::variables::is_volatile;
use crate::plan::{
    CountTree, Operator, PlanNode, RelExtreme, RelPattern, VarId, VarKind, Variable,
};

/// One operator that can be taken out.
enum Step {
    /// Labels that a node must have.
    Labels(Vec<(VarId, Vec<Arc<str>>)>),
    Expand {
        from: VarId,
        rel: Option<VarId>,
        to: VarId,
        pattern: RelPattern,
        extremes: Vec<RelExtreme>,
    },
    Optional {
        root: VarId,
        pattern: CountTree,
    },
}

/// Patterns that hang on variables.
#[derive(Default)]
struct Forest {
    hanging: BTreeMap<VarId, Vec<CountTree>>,
    labels: BTreeMap<VarId, Vec<Arc<str>>>,
    /// Nodes and relationships that every counted row has.
    bound: BTreeSet<VarId>,
}

/// What an aggregation asks for.
#[derive(Default)]
struct Wanted {
    /// Variables of which the values are counted.
    counted: BTreeSet<VarId>,
    /// Whether anything is counted.
    counts: bool,
    /// Extremes of relationships; they take the variables of the results.
    extremes: BTreeMap<VarId, Vec<RelExtreme>>,
    /// Variables of the row that are read.
    read: BTreeSet<VarId>,
}

impl Forest {
    fn add(&mut self, step: Step) {
        match step {
            Step::Labels(tests) => {
                for (var, labels) in tests {
                    self.labels.entry(var).or_default().extend(labels);
                }
            }
            Step::Expand {
                from,
                rel,
                to,
                mut pattern,
                extremes,
            } => {
                let mut labels = self.labels.remove(&to).unwrap_or_default();
                labels.append(&mut pattern.ends.labels);
                let pattern = CountTree {
                    pattern,
                    end: to,
                    labels,
                    optional: false,
                    branches: self.hanging.remove(&to).unwrap_or_default(),
                    extremes,
                };
                self.bound.extend(rel.into_iter().chain([to]));
                self.hanging.entry(from).or_default().push(pattern);
            }
            Step::Optional { root, pattern } => {
                self.hanging.entry(root).or_default().push(pattern);
            }
        }
    }

    /// Whether something that was taken out hangs on the variable or tests it.
    fn looks_at(&self, var: VarId) -> bool {
        self.hanging.contains_key(&var) || self.labels.contains_key(&var)
    }

    /// Whether what was taken out so far is whole (CY-44), and gives something that is wanted.
    fn is_whole(&self, wanted: &Wanted) -> bool {
        // Counted nodes must be there in every row, so that counting them is counting rows.
        let is_there = wanted.counted.is_subset(&self.bound)
            || mutant::active(Mutant::AggregatePushDownNullable);
        let gives = match wanted.counts {
            true => !self.hanging.is_empty(),
            false => self.extremes().next().is_some(),
        };
        is_there && gives && self.labels.is_empty()
    }

    fn extremes(&self) -> impl Iterator<Item = &RelExtreme> {
        let trees = self.hanging.values().flatten();
        trees.flat_map(|tree| &tree.extremes)
    }
}

/// Takes patterns out below an aggregation.
pub(super) fn push(node: &mut PlanNode, variables: &mut Vec<Variable>) {
    let Operator::Aggregate {
        input,
        keys,
        aggregates,
    } = &mut node.op
    else {
        return;
    };
    let Some(mut wanted) = Wanted::of(aggregates, variables) else {
        return;
    };
    // A key that differs from row to row is computed for each match.
    let random = keys.iter().any(|(_, key)| is_volatile(key));
    if random && !mutant::active(Mutant::AggregatePushDownRandomKeys) {
        return;
    }
    let of_keys = keys.iter().flat_map(|(_, expr)| expr.variables());
    wanted.read.extend(of_keys);
    let depth = depth_of_whole(input, &wanted);
    if depth == 0 {
        return;
    }
    let mut forest = Forest::default();
    for _ in 0..depth {
        let (step, below) = take_out(input, &wanted);
        forest.add(step);
        **input = below;
    }
    let found: BTreeSet<VarId> = forest.extremes().map(|extreme| extreme.var).collect();
    let count = VarId(u32::try_from(variables.len()).expect("a statement has few variables"));
    variables.push(Variable {
        name: MATCHES.into(),
        kind: VarKind::Value,
    });
    let hanging = std::mem::take(&mut forest.hanging);
    let patterns = (hanging.into_iter())
        .flat_map(|(var, patterns)| patterns.into_iter().map(move |pattern| (var, pattern)))
        .collect();
    let rows = input.estimated_rows;
    input.push(rows, |input| Operator::CountMatches {
        input,
        patterns,
        count,
    });
    for (var, call) in aggregates {
        if is_count(call) {
            *call = AggregateCall::sum(count);
        } else if found.contains(var) {
            call.argument = Some(Expr::Variable(*var));
        }
    }
}

/// Whether it counts rows, or those where a variable is not null.
fn is_count(call: &AggregateCall) -> bool {
    match (call.function, &call.argument) {
        (F::CountStar, _) => true,
        (F::Count, Some(Expr::Variable(_))) => !call.distinct,
        _ => false,
    }
}

impl Wanted {
    /// What the aggregates ask for, if they need no row for each match.
    fn of(aggregates: &[(VarId, AggregateCall)], variables: &[Variable]) -> Option<Self> {
        let mut wanted = Self::default();
        for (var, call) in aggregates {
            if is_count(call) {
                wanted.counts = true;
                if let Some(Expr::Variable(counted)) = call.argument {
                    wanted.counted.insert(counted);
                }
                continue;
            }
            let inputs = || call.argument.iter().chain(&call.parameter);
            let ignores =
                call.ignores_duplicates() || mutant::active(Mutant::AggregatePushDownDuplicates);
            if !ignores || inputs().any(is_volatile) {
                return None;
            }
            match extreme(*var, call, variables) {
                Some((rel, extreme)) => wanted.extremes.entry(rel).or_default().push(extreme),
                None => wanted.read.extend(inputs().flat_map(Expr::variables)),
            }
        }
        (wanted.counts || !wanted.extremes.is_empty()).then_some(wanted)
    }
}

/// The relationship of which the aggregate wants an extreme, as `var`.
fn extreme(
    var: VarId,
    call: &AggregateCall,
    variables: &[Variable],
) -> Option<(VarId, RelExtreme)> {
    let largest = match call.function {
        F::Min => false,
        F::Max => true,
        _ => return None,
    };
    let Some(Expr::Property { base, key, .. }) = &call.argument else {
        return None;
    };
    let Expr::Variable(rel) = **base else {
        return None;
    };
    let key = key.clone();
    let is_rel = variables[rel.0 as usize].kind == VarKind::Relationship;
    is_rel.then_some((rel, RelExtreme { var, largest, key }))
}

/// How many operators from `top` on can be taken out together, 0 if none.
fn depth_of_whole(top: &PlanNode, wanted: &Wanted) -> usize {
    let mut forest = Forest::default();
    let (mut depth, mut whole) = (0, 0);
    let mut node = top;
    let mut read = wanted.read.clone();
    while let Some((step, below)) = step(node, &read, &forest, wanted) {
        stays(&step, node, &mut read);
        forest.add(step);
        depth += 1;
        node = below;
        if forest.is_whole(wanted) {
            whole = depth;
        }
    }
    whole
}

/// Adds the variables that must stay in the row for what is taken out of it.
fn stays(step: &Step, node: &PlanNode, read: &mut BTreeSet<VarId>) {
    match step {
        // What looks at the row hangs on a node of the row, and what it looks at stays there
        // (CY-48).
        Step::Expand {
            from, to, pattern, ..
        } if is_bound_to_row(pattern) && !mutant::active(Mutant::AggregatePushDownLosesRow) => {
            read.insert(*from);
            let mut own = node.op.reads();
            own.remove(to);
            read.extend(own);
        }
        Step::Expand { from, extremes, .. } if !extremes.is_empty() => {
            read.insert(*from);
        }
        Step::Optional { root, pattern } if !pattern.extremes.is_empty() => {
            read.insert(*root);
        }
        _ => {}
    }
}

/// What `node` would become, and the operator below it; `forest` is what was taken out above it.
fn step<'a>(
    node: &'a PlanNode,
    read: &BTreeSet<VarId>,
    forest: &Forest,
    wanted: &Wanted,
) -> Option<(Step, &'a PlanNode)> {
    match &node.op {
        Operator::Filter { input, predicate } => {
            let mut tests = Vec::new();
            label_tests(predicate, &mut tests)?;
            let unread = tests.iter().all(|(var, _)| !read.contains(var));
            unread.then_some((Step::Labels(tests), &**input))
        }
        Operator::Expand {
            input,
            from,
            rel,
            to,
            pattern,
        } if is_free(pattern)
            && !read.contains(to)
            && !rel.is_some_and(|rel| read.contains(&rel)) =>
        {
            let extremes = rel.and_then(|rel| wanted.extremes.get(&rel).cloned());
            let hangs = forest.hanging.contains_key(to)
                && !mutant::active(Mutant::AggregatePushDownExtremeOfBranch);
            if extremes.is_some() && (hangs || is_bound_to_row(pattern)) {
                return None;
            }
            let step = Step::Expand {
                from: *from,
                rel: *rel,
                to: *to,
                pattern: pattern.clone(),
                extremes: extremes.unwrap_or_default(),
            };
            Some((step, &**input))
        }
        Operator::Optional {
            input,
            inner,
            nulls,
        } if nulls.iter().all(|var| !read.contains(var)) => {
            let hangs = nulls.iter().any(|var| forest.looks_at(*var));
            if hangs && !mutant::active(Mutant::AggregatePushDownAcrossOptional) {
                return None;
            }
            let (root, pattern) = whole_pattern(inner, wanted)?;
            let mut made = BTreeSet::new();
            inner.visit(&mut |node| {
                if let Operator::Expand { to, .. } = &node.op {
                    made.insert(*to);
                }
            });
            let step = Step::Optional {
                root,
                pattern: CountTree {
                    optional: true,
                    ..pattern
                },
            };
            (made.is_disjoint(read)).then_some((step, &**input))
        }
        _ => None,
    }
}

/// The pattern that is all of the inner side of an optional one.
fn whole_pattern(inner: &PlanNode, wanted: &Wanted) -> Option<(VarId, CountTree)> {
    let mut read = BTreeSet::new();
    let mut forest = Forest::default();
    let mut node = inner;
    while let Some((step, below)) = step(node, &read, &forest, wanted) {
        if matches!(&step, Step::Expand { pattern, .. } if is_bound_to_row(pattern)) {
            return None;
        }
        stays(&step, node, &mut read);
        forest.add(step);
        node = below;
    }
    let at_the_leaf = matches!(node.op, Operator::Argument { .. });
    let (root, mut patterns) = forest.hanging.pop_first()?;
    let one = patterns.len() == 1 && forest.hanging.is_empty();
    (at_the_leaf && one && forest.labels.is_empty()).then(|| (root, patterns.remove(0)))
}

/// Takes `node` out and gives what was below it.
fn take_out(node: &mut PlanNode, wanted: &Wanted) -> (Step, PlanNode) {
    let step = step(node, &BTreeSet::new(), &Forest::default(), wanted);
    let (step, _) = step.expect("looked at before");
    let below = node.op.children_mut().swap_remove(0).take();
    (step, below)
}

/// Whether relationships are not looked at one by one.
fn is_free(pattern: &RelPattern) -> bool {
    let alone = pattern.distinct_from.is_empty() && pattern.disjoint_from.is_empty();
    pattern.filter.is_none()
        && (alone || mutant::active(Mutant::AggregatePushDownSharedRelationships))
}

/// Whether the ends that count depend on the row.
fn is_bound_to_row(pattern: &RelPattern) -> bool {
    !pattern.distinct_ends.is_empty() || pattern.ends.read_the_row()
}

/// The labels that the predicate asks for, if it asks for nothing else.
fn label_tests(predicate: &Expr, tests: &mut Vec<(VarId, Vec<Arc<str>>)>) -> Option<()> {
    match predicate {
        Expr::HasLabels { base, labels, .. } => match **base {
            Expr::Variable(var) => {
                tests.push((var, labels.clone()));
                Some(())
            }
            _ => None,
        },
        Expr::Binary {
            op: BinaryOp::And,
            left,
            right,
            ..
        } => {
            label_tests(left, tests)?;
            label_tests(right, tests)
        }
        _ => None,
    }
}
