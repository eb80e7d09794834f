//! Ways in which a pattern can begin at a node, and what they cost.

use crate::plan::Expr;
use crate::plan::IdForm;
use crate::plan::Inclusion;
use crate::plan::IndexPart;
use crate::plan::VarId;
use crate::plan::expression::BinaryOp;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a start node is found.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    All,
    Label(Arc<str>),
    Index {
        label: Arc<str>,
        key: Arc<str>,
        value: Expr,
        any: bool,
    },
    Range {
        label: Arc<str>,
        key: Arc<str>,
        low: Option<(Expr, Inclusion)>,
        high: Option<(Expr, Inclusion)>,
    },
    /// By an index over several properties, or by the beginning of a text.
    Scan {
        label: Arc<str>,
        keys: Vec<Arc<str>>,
        equal: Vec<Expr>,
        part: IndexPart,
    },
    Id {
        form: IdForm,
        value: Expr,
        any: bool,
    },
    /// By labels that are known row by row, and values that are.
    Computed {
        names: Expr,
        equal: Vec<(Arc<str>, Expr)>,
    },
}

impl Access {
    /// What it reads of the rows that it is looked for with.
    pub(crate) fn reads(&self) -> BTreeSet<VarId> {
        let mut exprs: Vec<&Expr> = Vec::new();
        match self {
            Access::All | Access::Label(_) => {}
            Access::Index { value, .. } | Access::Id { value, .. } => exprs.push(value),
            Access::Range { low, high, .. } => {
                exprs.extend(low.iter().chain(high).map(|(bound, _)| bound));
            }
            Access::Scan { equal, part, .. } => {
                exprs.extend(equal);
                match part {
                    IndexPart::All => {}
                    IndexPart::Range { low, high } => {
                        exprs.extend(low.iter().chain(high).map(|(bound, _)| bound));
                    }
                    IndexPart::StartsWith(text)
                    | IndexPart::Contains(text)
                    | IndexPart::EndsWith(text) => exprs.push(text),
                }
            }
            Access::Computed { names, equal } => {
                exprs.push(names);
                exprs.extend(equal.iter().map(|(_, value)| value));
            }
        }
        exprs.into_iter().flat_map(Expr::variables).collect()
    }
}

/// An access path with what it costs and which conditions it already ensures.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub access: Access,
    pub rows: f64,
    /// Indexes into the list of conditions.
    pub covers: Vec<usize>,
}

#[derive(PartialEq)]
pub(super) enum Subject {
    Key(Arc<str>),
    Id(IdForm),
}

/// A condition as `node.key op value` or `id(node) op value`, the value computable before the node
/// is known; the node may be a relationship. Equalities of one subject joined by `OR` are one `IN`.
pub(super) fn comparison(
    condition: &Expr,
    node: VarId,
    bound: &BTreeSet<VarId>,
) -> Option<(Subject, BinaryOp, Expr)> {
    let Expr::Binary {
        op, left, right, ..
    } = condition
    else {
        return None;
    };
    if *op == BinaryOp::Or {
        let mut values = Vec::new();
        let subject = one_of(condition, node, bound, &mut values)?;
        return Some((subject, BinaryOp::In, Expr::List(values)));
    }
    let subject = |side: &Expr| match side {
        Expr::Property { base, key, .. } if **base == Expr::Variable(node) => {
            Some(Subject::Key(key.clone()))
        }
        Expr::Call { name, args, .. } if args[..] == [Expr::Variable(node)] => match &**name {
            "id" => Some(Subject::Id(IdForm::Number)),
            "elementid" => Some(Subject::Id(IdForm::Element)),
            _ => None,
        },
        _ => None,
    };
    let ready = |value: &Expr| value.variables().is_subset(bound);
    if let Some(found) = subject(left)
        && ready(right)
    {
        return Some((found, *op, (**right).clone()));
    }
    let swapped = match op {
        BinaryOp::Equal => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        _ => return None,
    };
    let found = subject(right)?;
    ready(left).then(|| (found, swapped, (**left).clone()))
}

/// What an `OR` of equalities is about, if they are all about the same; the values are added.
fn one_of(
    condition: &Expr,
    node: VarId,
    bound: &BTreeSet<VarId>,
    values: &mut Vec<Expr>,
) -> Option<Subject> {
    if let Expr::Binary {
        op: BinaryOp::Or,
        left,
        right,
        ..
    } = condition
    {
        let subject = one_of(left, node, bound, values)?;
        return one_of(right, node, bound, values).filter(|other| *other == subject);
    }
    match comparison(condition, node, bound)? {
        (subject, BinaryOp::Equal, value) => {
            values.push(value);
            Some(subject)
        }
        (subject, BinaryOp::In, Expr::List(items)) => {
            values.extend(items);
            Some(subject)
        }
        _ => None,
    }
}
