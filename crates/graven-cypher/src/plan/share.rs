//! What share of the rows a condition leaves, from what is known of the variables it reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::access::LIST_LENGTH;
use super::expression::{BinaryOp, Expr, Literal};
use super::{VarId, VarKind, Variable};
use crate::bind::graph::{Edge, QueryGraph};
use crate::cost::{Cost, Owner};
use crate::stop;

/// What variables are, as far as shares depend on it.
pub(crate) struct Owners<'a> {
    pub variables: &'a [Variable],
    /// Labels that nodes are known to have.
    pub labels: &'a BTreeMap<VarId, Vec<Arc<str>>>,
    /// The pattern at hand.
    pub pattern: Option<Pattern<'a>>,
}

/// What a pattern says of its variables.
pub(crate) struct Pattern<'a> {
    /// The first label of each test of a node.
    tested: BTreeMap<VarId, Vec<&'a str>>,
    edges: &'a [Edge],
}

impl<'a> Pattern<'a> {
    pub(crate) fn of(graph: &'a QueryGraph) -> Pattern<'a> {
        let mut tested: BTreeMap<VarId, Vec<&str>> = BTreeMap::new();
        for condition in &graph.predicates {
            if let Expr::HasLabels { base, labels, .. } = condition
                && let Expr::Variable(var) = **base
                && let Some(label) = labels.first()
            {
                tested.entry(var).or_default().push(label);
            }
        }
        Pattern {
            tested,
            edges: &graph.edges,
        }
    }
}

impl Owners<'_> {
    fn of<'o>(&'o self, cost: &Cost<'_>, var: VarId) -> Option<Owner<'o>> {
        match self.variables.get(var.0 as usize)?.kind {
            VarKind::Node => {
                let known = self.labels.get(&var).into_iter().flatten();
                let known = known.map(|label| &**label);
                let tested = self.pattern.as_ref().and_then(|it| it.tested.get(&var));
                let tested = tested.into_iter().flatten().copied();
                Some(Owner::Node(cost.rarest(known.chain(tested))))
            }
            VarKind::Relationship => {
                let edge = self.pattern.as_ref()?.edges.iter().find(|edge| {
                    [Some(edge.rel), Some(edge.each), edge.single].contains(&Some(var))
                })?;
                match &edge.types[..] {
                    [only] => Some(Owner::Relationship(only)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// How many different values an expression has, if that is known.
    pub(crate) fn domain(&self, cost: &Cost<'_>, expr: &Expr) -> Option<f64> {
        match expr {
            Expr::Variable(var) => match self.of(cost, *var)? {
                Owner::Node(label) => Some(cost.nodes(label)),
                Owner::Relationship(rel_type) => cost.relationships(rel_type),
            },
            Expr::Property { base, key, .. } => {
                let Expr::Variable(var) = **base else {
                    return None;
                };
                cost.property_values(self.of(cost, var)?, key)
            }
            Expr::Literal(_) | Expr::Parameter(..) => Some(1.0),
            _ => None,
        }
    }

    /// Share of rows that a comparison with a property leaves, if anything is known of the
    /// property.
    fn compared(&self, cost: &Cost<'_>, op: BinaryOp, left: &Expr, right: &Expr) -> Option<f64> {
        let (var, key, op, value) = match (left, right) {
            (Expr::Property { base, key, .. }, value) => (base, key, op, value),
            (value, Expr::Property { base, key, .. }) => (base, key, turned(op)?, value),
            _ => return None,
        };
        let Expr::Variable(var) = **var else {
            return None;
        };
        let value = match value {
            Expr::Literal(value) => Some(value),
            // Neither side is known.
            Expr::Property { .. } if op != BinaryOp::Equal => return None,
            _ => None,
        };
        let owner = self.of(cost, var)?;
        if let (
            Expr::Property { .. },
            Expr::Property {
                base, key: other, ..
            },
        ) = (left, right)
            && let Expr::Variable(of_other) = **base
        {
            // Of two properties that are equal the one with more values says how often they are.
            let own = cost.property_share(owner, key, op, None);
            let others = self.of(cost, of_other);
            let others = others.and_then(|of| cost.property_share(of, other, op, None));
            return match own.zip(others) {
                Some((own, others)) => Some(own.min(others)),
                None => own.or(others),
            };
        }
        if op == BinaryOp::In {
            let one = |value| cost.property_share(owner, key, BinaryOp::Equal, value);
            let share = match right {
                Expr::List(items) => {
                    let shares = items.iter().map(|item| match item {
                        Expr::Literal(value) => one(Some(value)),
                        _ => one(None),
                    });
                    shares.sum::<Option<f64>>()?
                }
                _ => one(None)? * LIST_LENGTH,
            };
            return Some(share.min(1.0));
        }
        cost.property_share(owner, key, op, value)
    }
}

/// The comparison seen from the other side.
fn turned(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Equal | BinaryOp::NotEqual => op,
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        _ => return None,
    })
}

/// Share of rows a condition leaves.
pub(crate) fn share(cost: &Cost<'_>, owners: &Owners<'_>, condition: &Expr) -> f64 {
    stop::tick();
    if let Expr::Binary {
        op, left, right, ..
    } = condition
        && let Some(share) = owners.compared(cost, *op, left, right)
    {
        return share;
    }
    let share = |condition: &Expr| share(cost, owners, condition);
    match condition {
        Expr::HasLabels { labels, .. } => labels.iter().map(|l| cost.label_share(l)).product(),
        Expr::Binary {
            op, left, right, ..
        } => match op {
            BinaryOp::Equal => 0.1,
            BinaryOp::In => 0.2,
            BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual => 0.3,
            BinaryOp::NotEqual => 0.9,
            BinaryOp::StartsWith
            | BinaryOp::EndsWith
            | BinaryOp::Contains
            | BinaryOp::RegexMatch => 0.1,
            BinaryOp::And => share(left) * share(right),
            BinaryOp::Or => (share(left) + share(right)).min(1.0),
            _ => 0.5,
        },
        _ => 0.5,
    }
}

/// Shares of rows that conditions leave, each after those before it: two bounds of one property are
/// one range, and else they are taken as independent.
pub(crate) fn shares(cost: &Cost<'_>, owners: &Owners<'_>, conditions: &[Expr]) -> Vec<f64> {
    let each = conditions
        .iter()
        .map(|condition| share(cost, owners, condition));
    let mut shares: Vec<f64> = each.collect();
    let bounds: Vec<Option<Bounded<'_>>> = conditions.iter().map(bounded).collect();
    for (at, second) in bounds.iter().enumerate() {
        let Some(second) = second else { continue };
        for (before, first) in bounds[..at].iter().enumerate() {
            let Some(first) = first.as_ref().filter(|first| first.closes(second)) else {
                continue;
            };
            let (low, high) = match first.is_low {
                true => (first.value, second.value),
                false => (second.value, first.value),
            };
            let owner = owners.of(cost, first.var);
            let both = owner.and_then(|owner| cost.range_share(owner, first.key, low, high));
            if let Some(both) = both {
                shares[at] = (both / shares[before].max(f64::MIN_POSITIVE)).min(1.0);
            }
        }
    }
    shares
}

/// One bound of a property.
struct Bounded<'e> {
    var: VarId,
    key: &'e str,
    is_low: bool,
    /// Where it is written in the statement.
    value: Option<&'e Literal>,
}

impl Bounded<'_> {
    /// Whether the other one is the other end of a range.
    fn closes(&self, other: &Bounded<'_>) -> bool {
        self.var == other.var && self.key == other.key && self.is_low != other.is_low
    }
}

fn bounded(condition: &Expr) -> Option<Bounded<'_>> {
    let Expr::Binary {
        op, left, right, ..
    } = condition
    else {
        return None;
    };
    let (property, op, value) = match (&**left, &**right) {
        (Expr::Property { .. }, Expr::Property { .. }) => return None,
        (property @ Expr::Property { .. }, value) => (property, *op, value),
        (value, property @ Expr::Property { .. }) => (property, turned(*op)?, value),
        _ => return None,
    };
    let Expr::Property { base, key, .. } = property else {
        return None;
    };
    let Expr::Variable(var) = **base else {
        return None;
    };
    let is_low = match op {
        BinaryOp::Greater | BinaryOp::GreaterOrEqual => true,
        BinaryOp::Less | BinaryOp::LessOrEqual => false,
        _ => return None,
    };
    let value = match value {
        Expr::Literal(value) => Some(value),
        _ => None,
    };
    Some(Bounded {
        var,
        key,
        is_low,
        value,
    })
}
