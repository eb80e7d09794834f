//! Whether a plan can be run, asked after the builder and after every rule: so the rule is named
//! that broke it.
//!
//! # How it works
//! From the leaves up the variables of the rows are gathered, as the executor lays them out. An
//! operator must find what it reads in the rows of its input, an [`Operator::Argument`] what it
//! hands in in the row of the operator around it. Builds with debug assertions, and those with the
//! feature `mutants`, ask; a plan that is wrong is a fault of the planner, and they panic.
//!
//! # Invariants
//! * CY-67 What an operator reads (CY-1) is there; no operator binds a variable that its rows hold
//!   already; both sides of a join, and all of a union, agree in their variables; a variable that
//!   is used as a node, relationship or path is none of the others.

use super::Plan;
use super::trace::Rule;

/// Applies a rule, and looks at the plan before it and after it where such checks are wanted.
#[cfg(any(debug_assertions, feature = "mutants"))]
pub(super) fn watched(plan: &mut Plan, rule: Rule, apply: impl FnOnce(&mut Plan)) {
    let before = super::trace::is_on().then(|| plan.root.clone());
    apply(plan);
    assert_valid(plan, rule.name());
    if let Some(before) = before {
        super::trace::rewritten(rule, &before, plan);
    }
}

#[cfg(not(any(debug_assertions, feature = "mutants")))]
pub(super) fn watched(plan: &mut Plan, _rule: Rule, apply: impl FnOnce(&mut Plan)) {
    apply(plan);
}

/// What the builder made.
pub(crate) fn built(plan: &Plan) {
    #[cfg(any(debug_assertions, feature = "mutants"))]
    {
        assert_valid(plan, "the builder");
        if super::trace::is_on() {
            super::trace::chosen(plan);
        }
    }
    #[cfg(not(any(debug_assertions, feature = "mutants")))]
    let _ = plan;
}

/// CY-2.
pub(crate) fn numbered(plan: &Plan) {
    if cfg!(any(debug_assertions, feature = "mutants")) {
        let mut next = 0;
        plan.root.visit(&mut |node| {
            assert_eq!(node.id, next, "CY-2: ids are dense, parents first");
            next += 1;
        });
    }
    #[cfg(any(debug_assertions, feature = "mutants"))]
    super::trace::planned(plan);
}

#[cfg(any(debug_assertions, feature = "mutants"))]
fn assert_valid(plan: &Plan, by: &str) {
    if let Err(fault) = check::check(plan) {
        panic!(
            "CY-67: {by} made a plan that is not executable: {fault}\n{}",
            crate::explain::explain(plan)
        );
    }
}

#[cfg(any(debug_assertions, feature = "mutants"))]
mod check {
    use std::collections::BTreeSet;

    use crate::plan::{Expr, Operator, Plan, PlanNode, VarId, VarKind};

    type Vars = BTreeSet<VarId>;

    /// What is wrong with the plan, if anything is.
    pub(super) fn check(plan: &Plan) -> Result<(), String> {
        let checker = Checker { plan };
        let produced = checker.rows(&plan.root, None)?;
        if matches!(plan.root.op, Operator::EmptyResult { .. }) {
            return Ok(());
        }
        let wanted = plan.columns.iter().map(|(_, var)| *var).collect();
        checker.subset(&wanted, &produced, "the result")
    }

    /// What comes out of an inner tree as it was handed in; trees inside of it are handed something
    /// else.
    fn handed_back(tree: &PlanNode, back: &mut Vars) {
        match &tree.op {
            Operator::Argument { vars } => back.extend(vars),
            Operator::Union { inputs } => inputs.iter().for_each(|side| handed_back(side, back)),
            Operator::HashJoin { input, build, .. } => {
                handed_back(input, back);
                handed_back(build, back);
            }
            op => op
                .children()
                .first()
                .map_or((), |input| handed_back(input, back)),
        }
    }

    struct Checker<'p> {
        plan: &'p Plan,
    }

    impl Checker<'_> {
        fn subset(&self, wanted: &Vars, there: &Vars, what: &str) -> Result<(), String> {
            match wanted.difference(there).next() {
                None => Ok(()),
                Some(var) => Err(format!(
                    "{what} reads `{}` (variable {}), which nothing below it produces",
                    self.plan.variable_name(*var),
                    var.0
                )),
            }
        }

        /// The variables of the rows that `node` hands out; `row` are those of the row around it.
        fn rows(&self, node: &PlanNode, row: Option<&Vars>) -> Result<Vars, String> {
            use Operator as O;
            let name = node.op.name();
            match &node.op {
                O::Unit => return Ok(Vars::new()),
                O::Argument { vars } => {
                    let vars: Vars = vars.iter().copied().collect();
                    let Some(row) = row else {
                        return Err("an Argument stands in no inner tree".to_owned());
                    };
                    self.subset(&vars, row, name)?;
                    return Ok(vars);
                }
                O::Union { inputs } => return self.union(inputs, row),
                _ => {}
            }
            self.kinds(&node.op)?;
            let children = node.op.children();
            let input = self.rows(children[0], row)?;
            self.subset(&self.reads(&node.op), &input, name)?;
            let added = match children.get(1) {
                Some(inner) => self.inner(&node.op, inner, &input, row)?,
                None => self.added(&node.op),
            };
            match &node.op {
                O::Project { .. } | O::Aggregate { .. } | O::Distinct { .. } => return Ok(added),
                O::EmptyResult { .. } | O::Schema { .. } | O::CopyTo { .. } => {
                    return Ok(Vars::new());
                }
                _ => {}
            }
            if let Some(twice) = added.intersection(&input).next() {
                return Err(format!(
                    "{name} binds `{}` (variable {}), which its rows hold already",
                    self.plan.variable_name(*twice),
                    twice.0
                ));
            }
            let mut rows = input;
            rows.extend(added);
            if let O::Unwind {
                list: Expr::Variable(list),
                last: true,
                ..
            } = &node.op
            {
                rows.remove(list);
            }
            Ok(rows)
        }

        fn union(&self, inputs: &[PlanNode], row: Option<&Vars>) -> Result<Vars, String> {
            let mut sides = inputs.iter().map(|input| self.rows(input, row));
            let first = sides.next().ok_or("a Union has no inputs")??;
            for side in sides {
                if side? != first {
                    return Err("the sides of a Union have different variables".to_owned());
                }
            }
            Ok(first)
        }

        /// What the operator reads of the rows of its input.
        fn reads(&self, op: &Operator) -> Vars {
            let mut reads = op.reads();
            if let Operator::Merge { .. } = op {
                return reads;
            }
            // What stands for one relationship, or for the far end, is no variable of the row.
            if let Operator::Expand { to, .. } | Operator::ReachableCount { to, .. } = op {
                reads.remove(to);
            }
            reads
        }

        /// What an operator of one input adds to its rows.
        fn added(&self, op: &Operator) -> Vars {
            let mut added = op.binds();
            match op {
                Operator::ExpandInto { to, .. } | Operator::VarExpand { to, into: true, .. } => {
                    added.remove(to);
                }
                _ => {}
            }
            added
        }

        /// What an operator with an inner tree, or a second input, adds to its rows.
        fn inner(
            &self,
            op: &Operator,
            inner: &PlanNode,
            input: &Vars,
            row: Option<&Vars>,
        ) -> Result<Vars, String> {
            use Operator as O;
            let name = op.name();
            let mut handed = input.clone();
            match op {
                O::Repeat { repeat, .. } => handed.extend([repeat.entry]),
                O::Foreach { var, .. } => handed.extend([*var]),
                _ => {}
            }
            let given = match op {
                // Both inputs stand side by side.
                O::HashJoin { .. } | O::CartesianProduct { .. } => row,
                _ => Some(&handed),
            };
            let found = self.rows(inner, given)?;
            // What the inner tree hands back as it was given.
            let mut back = Vars::new();
            handed_back(inner, &mut back);
            let own: Vars = found.difference(&back).copied().collect();
            Ok(match op {
                O::Optional { nulls, .. } => {
                    self.subset(&nulls.iter().copied().collect(), &found, name)?;
                    own
                }
                O::SemiApply { .. } | O::Foreach { .. } => Vars::new(),
                O::HashJoin { on, .. } => {
                    let on: Vars = on.iter().copied().collect();
                    self.subset(&on, &found, name)?;
                    found.difference(&on).copied().collect()
                }
                O::InTransactions { batches, .. } => {
                    let columns = batches.columns.iter().copied().collect();
                    self.subset(&columns, &found, name)?;
                    op.binds()
                }
                O::Repeat { repeat, .. } => {
                    let groups = repeat.groups.iter().map(|(inner, _)| *inner);
                    let kept = repeat.rels.iter().copied().chain(groups);
                    self.subset(&kept.chain([repeat.exit]).collect(), &found, name)?;
                    let mut added = op.binds();
                    if repeat.into {
                        added.remove(&repeat.to);
                    }
                    added
                }
                O::Merge { created, .. } => {
                    let mut inside = Vars::new();
                    op.reads_inside(&mut inside);
                    let mut there = found.clone();
                    there.extend(input);
                    self.subset(&inside, &there, name)?;
                    let found = op.binds().intersection(&found).copied().collect::<Vars>();
                    found.into_iter().chain(*created).collect()
                }
                _ => own,
            })
        }

        /// Whether the variables of a pattern are of the right kinds.
        fn kinds(&self, op: &Operator) -> Result<(), String> {
            use Operator as O;
            let name = op.name();
            let is = |var: VarId, kind: VarKind| {
                let known = self.plan.variables.get(var.0 as usize).map(|v| v.kind);
                match known {
                    Some(known) if known == kind || known == VarKind::Value => Ok(()),
                    known => Err(format!(
                        "{name} takes `{}` (variable {}) as {kind:?}, and it is {known:?}",
                        self.plan.variable_name(var),
                        var.0
                    )),
                }
            };
            match op {
                O::Expand { from, rel, to, .. } | O::ExpandInto { from, rel, to, .. } => {
                    is(*from, VarKind::Node)?;
                    is(*to, VarKind::Node)?;
                    rel.map_or(Ok(()), |rel| is(rel, VarKind::Relationship))
                }
                O::VarExpand { from, rels, to, .. } => {
                    is(*from, VarKind::Node)?;
                    is(*to, VarKind::Node)?;
                    rels.map_or(Ok(()), |rels| is(rels, VarKind::RelationshipList))
                }
                O::ReachableCount { from, to, .. } => {
                    is(*from, VarKind::Node)?;
                    is(*to, VarKind::Node)
                }
                O::CountMatches { patterns, .. } => {
                    let mut roots = patterns.iter().map(|(root, _)| *root);
                    roots.try_for_each(|root| is(root, VarKind::Node))
                }
                O::BuildPath { path, .. } => is(*path, VarKind::Path),
                op if op.finds_nodes() => {
                    let mut found = op.binds().into_iter();
                    found.try_for_each(|var| is(var, VarKind::Node))
                }
                _ => Ok(()),
            }
        }
    }
}
