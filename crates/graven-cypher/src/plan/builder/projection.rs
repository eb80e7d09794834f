//! `WITH` and `RETURN` to operators: grouping, projection, order and bounds.
//!
//! Inside a subquery every projection carries the variables that it imports on (CY-40).

use std::collections::BTreeSet;

use super::{Builder, Partial, node, taken};
use crate::bind::graph::Projection;
use crate::cost::MOST;
use crate::plan::Literal;
use crate::plan::SortOrder;
use crate::plan::expression::{AggregateCall, Expr};
use crate::plan::share::Owners;
use crate::plan::variables;
use crate::plan::variables::substitute;
use crate::plan::{Operator, VarId};

/// Exponent of the number of rows that gives that of groups, where nothing is known of the keys.
const GROUPS_EXPONENT: f64 = 0.75;

impl Builder<'_> {
    /// Imports that a projection reads after its rows are grouped or projected.
    pub(super) fn carried_within(&self, projection: &Projection, carry: &[VarId]) -> Vec<VarId> {
        let mut read = self.read_above(&projection.order, projection.filter.as_ref());
        if projection.aggregation.is_some() {
            read.extend(projection.items.iter().flat_map(|(_, e)| self.needs(e)));
        }
        carry
            .iter()
            .copied()
            .filter(|var| read.contains(var))
            .collect()
    }

    pub(super) fn projection(
        &mut self,
        partial: &mut Partial,
        projection: Projection,
        carry: &[VarId],
    ) {
        let Projection {
            mut items,
            aggregation,
            distinct,
            mut order,
            skip,
            limit,
            filter,
        } = projection;
        let outputs: Vec<VarId> = items.iter().map(|(var, _)| *var).collect();
        match aggregation {
            Some(aggregation) => {
                self.aggregate(partial, aggregation.keys, aggregation.aggregates, carry);
                self.project(partial, items, carry);
            }
            None if distinct => self.project(partial, items, carry),
            None => {
                early_items(&mut items, &mut order);
                let wanted = self.read_above(&order, filter.as_ref());
                let mut early = Vec::new();
                for (var, expr) in &mut items {
                    let own = Expr::Variable(*var);
                    if wanted.contains(var) && *expr != own {
                        early.push((*var, std::mem::replace(expr, own)));
                    }
                }
                self.extend(partial, early);
                self.sorted(partial, order, skip, limit, filter);
                self.project(partial, items, carry);
                return;
            }
        }
        if distinct {
            let vars: Vec<VarId> = outputs.into_iter().chain(carry.iter().copied()).collect();
            let keys: Vec<Expr> = vars.iter().map(|var| Expr::Variable(*var)).collect();
            let rows = self.groups(partial.rows(), &keys);
            partial.push(rows, |input| Operator::Distinct {
                input,
                vars,
                runs: false,
            });
        }
        self.sorted(partial, order, skip, limit, filter);
    }

    /// How many different values of the keys so many rows have: of as many combinations as there
    /// may be, each row is taken to have any.
    fn groups(&self, rows: f64, keys: &[Expr]) -> f64 {
        let owners = Owners {
            variables: &self.variables,
            labels: &self.labels,
            pattern: None,
        };
        let mut combinations = 1.0_f64;
        for key in keys {
            match owners.domain(&self.cost, key) {
                Some(values) => combinations = (combinations * values.max(1.0)).min(MOST),
                None => return rows.powf(GROUPS_EXPONENT),
            }
        }
        let groups = -combinations * (-rows / combinations).exp_m1();
        groups.clamp(1.0_f64.min(rows), rows)
    }

    fn read_above(&self, order: &[(Expr, SortOrder)], filter: Option<&Expr>) -> BTreeSet<VarId> {
        order
            .iter()
            .map(|(e, _)| e)
            .chain(filter)
            .flat_map(|e| self.needs(e))
            .collect()
    }

    fn aggregate(
        &mut self,
        partial: &mut Partial,
        mut keys: Vec<(VarId, Expr)>,
        mut aggregates: Vec<(VarId, AggregateCall)>,
        carry: &[VarId],
    ) {
        let arguments = aggregates
            .iter_mut()
            .flat_map(|(_, call)| call.argument.iter_mut().chain(&mut call.parameter));
        self.attach(partial, keys.iter_mut().map(|(_, e)| e).chain(arguments));
        let keyless = keys.is_empty();
        if !keyless {
            keys.extend(missing(&keys, carry));
        }
        partial.bound = keys
            .iter()
            .map(|(var, _)| *var)
            .chain(aggregates.iter().map(|(var, _)| *var))
            .collect();
        let rows = if keyless {
            1.0
        } else {
            let exprs: Vec<Expr> = keys.iter().map(|(_, expr)| expr.clone()).collect();
            self.groups(partial.rows(), &exprs)
        };
        partial.push(rows, |input| Operator::Aggregate {
            input,
            keys,
            aggregates,
        });
        if keyless && !carry.is_empty() {
            // One row even without input: the imports are joined to it again from outside, where
            // all that it takes must come from.
            let mut vars = carry.to_vec();
            vars.extend(taken(&partial.root).difference(&carry.iter().copied().collect()));
            let outside = node(Operator::Argument { vars }, 1.0);
            let inner = std::mem::replace(&mut partial.root, outside);
            partial.push(1.0, |input| Operator::Apply {
                input,
                inner: Box::new(inner),
            });
            partial.bound.extend(carry);
        }
    }

    /// Rows with exactly the items (and what is carried); nothing where the row is right already.
    pub(super) fn project(
        &mut self,
        partial: &mut Partial,
        mut items: Vec<(VarId, Expr)>,
        carry: &[VarId],
    ) {
        self.attach(partial, items.iter_mut().map(|(_, e)| e));
        if items
            .iter()
            .all(|(var, expr)| *expr == Expr::Variable(*var))
        {
            return;
        }
        items.extend(missing(&items, carry));
        partial.bound = items.iter().map(|(var, _)| *var).collect();
        let rows = partial.rows();
        partial.push(rows, |input| Operator::Project { input, items });
    }

    pub(super) fn extend(&mut self, partial: &mut Partial, mut items: Vec<(VarId, Expr)>) {
        if items.is_empty() {
            return;
        }
        self.attach(partial, items.iter_mut().map(|(_, e)| e));
        partial.bound.extend(items.iter().map(|(var, _)| *var));
        let rows = partial.rows();
        partial.push(rows, |input| Operator::Extend { input, items });
    }

    fn sorted(
        &mut self,
        partial: &mut Partial,
        mut order: Vec<(Expr, SortOrder)>,
        skip: Option<Expr>,
        limit: Option<Expr>,
        filter: Option<Expr>,
    ) {
        if !order.is_empty() {
            self.attach(partial, order.iter_mut().map(|(e, _)| e));
            let rows = partial.rows();
            partial.push(rows, |input| Operator::Sort { input, keys: order });
        }
        let count_of = |expr: &Expr| match expr {
            Expr::Literal(Literal::Integer(count)) => *count as f64,
            _ => 10.0,
        };
        if let Some(count) = skip {
            let rows = (partial.rows() - count_of(&count)).max(1.0);
            partial.push(rows, |input| Operator::Skip { input, count });
        }
        if let Some(count) = limit {
            let rows = partial.rows().min(count_of(&count));
            partial.push(rows, |input| Operator::Limit { input, count });
        }
        if let Some(filter) = filter {
            let mut conditions = Vec::new();
            variables::conjuncts(filter, &mut conditions);
            for condition in conditions {
                self.filter(partial, condition);
            }
        }
    }
}

/// Carried variables that the items do not contain yet.
fn missing(items: &[(VarId, Expr)], carry: &[VarId]) -> Vec<(VarId, Expr)> {
    carry
        .iter()
        .filter(|var| !items.iter().any(|(known, _)| known == *var))
        .map(|var| (*var, Expr::Variable(*var)))
        .collect()
}

/// Sort keys that are cheap items read the item's expression, so that the item itself is computed
/// only for the rows that remain.
fn early_items(items: &mut [(VarId, Expr)], order: &mut [(Expr, SortOrder)]) {
    for (var, expr) in items.iter() {
        let cheap = match expr {
            Expr::Property { base, .. } => matches!(**base, Expr::Variable(_)),
            Expr::Literal(_) | Expr::Parameter(..) => true,
            _ => false,
        };
        if cheap {
            for (key, _) in order.iter_mut() {
                substitute(key, *var, expr);
            }
        }
    }
}
