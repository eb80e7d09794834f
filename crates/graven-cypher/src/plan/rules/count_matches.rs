//! Rows that are only counted need not be made: the number of matches of a pattern that hangs on a
//! node is enough.
//!
//! # How it works
//! Below `count(*)` lie expansions whose ends no operator reads. From the aggregation downwards
//! they are taken out as long as nothing reads them but the expansions taken out before, and become
//! [`CountTree`]s of the nodes that stay: `count(*)` of
//! `(f)-[:HAS_MEMBER]->(p)-[:IS_LOCATED_IN]->(c)` is the sum over `f` of the number of matches that
//! hang on it. The executor computes these numbers once a node, so a tree of patterns costs its
//! relationships, not its matches. `OPTIONAL MATCH` hangs with "at least one".
//!
//! # Invariants
//! * CY-43 A relationship is taken out only if no other of its `MATCH` that is taken out too must
//!   differ from it and it has no condition; then any combination of matches of the branches is a
//!   match.
//! * CY-48 An expansion with conditions on its ends that read other nodes of the row starts at the
//!   row itself, and those nodes stay in it.
//! * CY-66 An optional part is taken out only if no part that was taken out above it reads its
//!   variables. Below it they are not bound; where they are null, such a part has no match.
//! * CY-44 Tests of labels are taken out together with the expansion that produces the node, never
//!   alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::plan::expression::{AggregateCall, AggregateFunction, BinaryOp, Expr};
use crate::plan::mutant::{self, Mutant};
use crate::plan::{CountTree, Operator, Plan, PlanNode, RelPattern, VarId, VarKind, Variable};
use crate::token::Span;

/// Name of the variables that hold numbers of matches.
pub(super) const MATCHES: &str = "  matches";

pub(crate) fn apply(plan: &mut Plan) {
    let variables = &mut plan.variables;
    plan.root.visit_mut(&mut |node| rewrite(node, variables));
}

/// One operator that can be taken out.
enum Step {
    /// Labels that a node must have.
    Labels(Vec<(VarId, Vec<Arc<str>>)>),
    Expand {
        from: VarId,
        to: VarId,
        pattern: RelPattern,
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
    /// Nodes that every counted row has.
    ends: BTreeSet<VarId>,
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
                to,
                mut pattern,
            } => {
                let mut labels = self.labels.remove(&to).unwrap_or_default();
                labels.append(&mut pattern.ends.labels);
                let pattern = CountTree {
                    pattern,
                    end: to,
                    labels,
                    optional: false,
                    branches: self.hanging.remove(&to).unwrap_or_default(),
                };
                self.ends.insert(to);
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

    /// Whether what was taken out so far is whole (CY-44).
    fn is_whole(&self) -> bool {
        self.labels.is_empty()
    }
}

fn rewrite(node: &mut PlanNode, variables: &mut Vec<Variable>) {
    let Operator::Aggregate {
        input,
        keys,
        aggregates,
    } = &mut node.op
    else {
        return;
    };
    let Some(counted) = counted(aggregates) else {
        return;
    };
    let read = keys.iter().flat_map(|(_, expr)| expr.variables()).collect();
    let depth = depth_of_whole(input, &read, &counted);
    if depth == 0 {
        return;
    }
    let mut forest = Forest::default();
    for _ in 0..depth {
        let (step, below) = take_out(input);
        forest.add(step);
        **input = below;
    }
    let count = VarId(u32::try_from(variables.len()).expect("a statement has few variables"));
    variables.push(Variable {
        name: MATCHES.into(),
        kind: VarKind::Value,
    });
    let hanging = std::mem::take(&mut forest.hanging);
    let patterns = (hanging.into_iter())
        .flat_map(|(var, patterns)| patterns.into_iter().map(move |pattern| (var, pattern)))
        .collect();
    let below = std::mem::replace(&mut **input, unit());
    **input = PlanNode {
        id: 0,
        estimated_rows: below.estimated_rows,
        op: Operator::CountMatches {
            input: Box::new(below),
            patterns,
            count,
        },
    };
    for (_, call) in aggregates {
        *call = AggregateCall {
            function: AggregateFunction::Sum,
            argument: Some(Expr::Variable(count)),
            parameter: None,
            distinct: false,
            at: Span::default(),
        };
    }
}

/// The variables that the aggregates count, if they only count rows.
fn counted(aggregates: &[(VarId, AggregateCall)]) -> Option<BTreeSet<VarId>> {
    let mut counted = BTreeSet::new();
    for (_, call) in aggregates {
        match (&call.function, &call.argument) {
            (AggregateFunction::CountStar, _) => {}
            (AggregateFunction::Count, Some(Expr::Variable(var))) if !call.distinct => {
                counted.insert(*var);
            }
            _ => return None,
        }
    }
    (!aggregates.is_empty()).then_some(counted)
}

/// How many operators from `top` on can be taken out together, 0 if none.
fn depth_of_whole(top: &PlanNode, read: &BTreeSet<VarId>, counted: &BTreeSet<VarId>) -> usize {
    let mut forest = Forest::default();
    let (mut depth, mut whole) = (0, 0);
    let mut node = top;
    let mut read = read.clone();
    while let Some((step, below)) = step(node, &read, &forest) {
        // What looks at the row hangs on a node of the row, and what it looks at stays there
        // (CY-48).
        if let Step::Expand { from, to, pattern } = &step
            && is_bound_to_row(pattern)
            && !mutant::active(Mutant::CountMatchesLosesRow)
        {
            read.insert(*from);
            let mut own = node.op.reads();
            own.remove(to);
            read.extend(own);
        }
        forest.add(step);
        depth += 1;
        node = below;
        // Counted nodes must be there in every row, so that counting them is counting rows.
        let is_there =
            counted.is_subset(&forest.ends) || mutant::active(Mutant::CountMatchesNullable);
        if forest.is_whole() && is_there && !forest.hanging.is_empty() {
            whole = depth;
        }
    }
    whole
}

/// What `node` would become, and the operator below it; `forest` is what was taken out above it.
fn step<'a>(
    node: &'a PlanNode,
    read: &BTreeSet<VarId>,
    forest: &Forest,
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
            rel: None,
            to,
            pattern,
        } if !read.contains(to) && is_free(pattern) => {
            let step = Step::Expand {
                from: *from,
                to: *to,
                pattern: pattern.clone(),
            };
            Some((step, &**input))
        }
        Operator::Optional {
            input,
            inner,
            nulls,
        } if nulls.iter().all(|var| !read.contains(var)) => {
            let hangs = nulls.iter().any(|var| forest.looks_at(*var));
            if hangs && !mutant::active(Mutant::CountMatchesAcrossOptional) {
                return None;
            }
            let (root, pattern) = whole_pattern(inner)?;
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
fn whole_pattern(inner: &PlanNode) -> Option<(VarId, CountTree)> {
    let nothing = BTreeSet::new();
    let mut forest = Forest::default();
    let mut node = inner;
    while let Some((step, below)) = step(node, &nothing, &forest) {
        if matches!(&step, Step::Expand { pattern, .. } if is_bound_to_row(pattern)) {
            return None;
        }
        forest.add(step);
        node = below;
    }
    let at_the_leaf = matches!(node.op, Operator::Argument { .. });
    let (root, mut patterns) = forest.hanging.pop_first()?;
    let one = patterns.len() == 1 && forest.hanging.is_empty();
    (at_the_leaf && one && forest.labels.is_empty()).then(|| (root, patterns.remove(0)))
}

/// Takes `node` out and gives what was below it.
fn take_out(node: &mut PlanNode) -> (Step, PlanNode) {
    let (step, _) = step(node, &BTreeSet::new(), &Forest::default()).expect("looked at before");
    let mut children = node.op.children_mut();
    let below = std::mem::replace(&mut *children[0], unit());
    (step, below)
}

/// Whether relationships are not looked at one by one.
fn is_free(pattern: &RelPattern) -> bool {
    let alone = pattern.distinct_from.is_empty() && pattern.disjoint_from.is_empty();
    pattern.filter.is_none() && (alone || mutant::active(Mutant::CountMatchesSharedRelationships))
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

fn unit() -> PlanNode {
    PlanNode {
        id: 0,
        op: Operator::Unit,
        estimated_rows: 0.0,
    }
}
