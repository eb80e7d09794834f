//! Ways to find the nodes of a variable that is not bound yet: by index, by id, by label, or all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expression::{BinaryOp, Expr, Literal};
use super::mutant::{self, Mutant};
use super::{IdForm, Inclusion, IndexPart, VarId};
use crate::bind::graph::AccessHint;
use crate::cost::Cost;
use crate::functions;

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
    /// Whether something known is looked up, be it row by row.
    pub(crate) fn is_seek(&self) -> bool {
        !matches!(self, Access::All | Access::Label(_))
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

/// Values reckoned for a list of unknown length.
pub(super) const LIST_LENGTH: f64 = 10.0;

/// The ways that hints on the node ask for; all of them where it has none that can be followed.
pub(crate) fn hinted(found: Vec<Candidate>, node: VarId, hints: &[AccessHint]) -> Vec<Candidate> {
    let follows = |candidate: &Candidate| {
        hints.iter().any(|hint| {
            let (label, key) = match &candidate.access {
                Access::Label(label) => (label, None),
                Access::Index { label, key, .. } | Access::Range { label, key, .. } => {
                    (label, Some(key))
                }
                Access::Scan { label, keys, .. } => (label, keys.first()),
                Access::All | Access::Id { .. } | Access::Computed { .. } => return false,
            };
            hint.node == node && hint.label == *label && hint.key.as_ref() == key
        })
    };
    if !found.iter().any(follows) {
        return worthwhile(found);
    }
    found.into_iter().filter(follows).collect()
}

/// The ways without scans that a known value makes needless. What is counted of a label may be out of date as soon as the plan
/// is made, and a value is found through its index whatever it was; so a scan stays only where it is surely shorter.
fn worthwhile(mut found: Vec<Candidate>) -> Vec<Candidate> {
    /// Nodes that a label has at least where its count is believed beside a value.
    const BELIEVED: f64 = 100.0;
    let mut values = Vec::new();
    for candidate in &found {
        match &candidate.access {
            Access::Id { .. } => values.push((None, candidate.rows)),
            Access::Index { label, .. } => values.push((Some(label.clone()), candidate.rows)),
            Access::Scan { label, equal, .. } if !equal.is_empty() => {
                values.push((Some(label.clone()), candidate.rows));
            }
            _ => {}
        }
    }
    if values.is_empty() {
        return found;
    }
    found.retain(|candidate| match &candidate.access {
        Access::All | Access::Computed { .. } => false,
        Access::Label(label) => values.iter().all(|(of, rows)| {
            let own = of.as_ref().is_none_or(|of| of == label);
            !own && candidate.rows >= BELIEVED && candidate.rows < *rows
        }),
        _ => true,
    });
    found
}

/// All ways to find `node`. `conditions` are those of the pattern, `labels` what it is known to have (by
/// condition index), `bound` the variables available.
pub(crate) fn candidates(
    cost: &Cost<'_>,
    node: VarId,
    conditions: &[Expr],
    labels: &[(usize, Arc<str>)],
    bound: &BTreeSet<VarId>,
) -> Vec<Candidate> {
    let mut found = vec![Candidate {
        access: Access::All,
        rows: cost.nodes(None),
        covers: Vec::new(),
    }];
    for (condition, label) in labels {
        found.push(Candidate {
            access: Access::Label(label.clone()),
            rows: cost.nodes(Some(label)),
            covers: vec![*condition],
        });
    }
    for (idx, condition) in conditions.iter().enumerate() {
        let Some((subject, op, value)) = comparison(condition, node, bound) else {
            continue;
        };
        match subject {
            Subject::Id(form)
                if matches!(op, BinaryOp::Equal | BinaryOp::In)
                    || mutant::active(Mutant::IdSeekAnyComparison) =>
            {
                let any = op == BinaryOp::In;
                let rows = if any { list_length(&value) } else { 1.0 };
                found.push(Candidate {
                    access: Access::Id { form, value, any },
                    rows,
                    covers: vec![idx],
                });
            }
            Subject::Id(_) => {}
            Subject::Key(key) => {
                for (label_condition, label) in labels {
                    let Some(rows) = cost.seek(label, &key) else {
                        continue;
                    };
                    let covers = vec![idx, *label_condition];
                    found.extend(by_index(cost, label, &key, op, &value, rows, covers));
                }
            }
        }
    }
    merge_ranges(cost, &mut found);
    found.extend(by_computed_label(cost, node, conditions, bound));
    found.extend(super::index_access::candidates(
        cost, node, conditions, labels, bound,
    ));
    // Of ways that are expected to give the same the more special one is taken.
    found.sort_by_key(|candidate| match candidate.access {
        Access::All => 2,
        Access::Label(_) => 1,
        _ => 0,
    });
    found
}

/// The way by labels that an expression gives. It ensures no condition: which label has an index turns out row by row.
fn by_computed_label(
    cost: &Cost<'_>,
    node: VarId,
    conditions: &[Expr],
    bound: &BTreeSet<VarId>,
) -> Option<Candidate> {
    /// Share of all nodes that a label, and then a value, is taken to have.
    const SHARE: f64 = 0.1;
    let ready =
        |value: &Expr| value.variables().is_subset(bound) && !super::variables::is_volatile(value);
    let names = conditions.iter().find_map(|condition| match condition {
        Expr::Call { name, args, .. } if **name == *functions::HAS_ALL_LABELS => match &args[..] {
            [Expr::Variable(var), names] if *var == node && ready(names) => Some(names.clone()),
            _ => None,
        },
        _ => None,
    })?;
    let mut compared = Vec::new();
    let mut equal = Vec::new();
    for (idx, condition) in conditions.iter().enumerate() {
        if let Some((Subject::Key(key), BinaryOp::Equal, value)) =
            comparison(condition, node, bound)
        {
            compared.push(idx);
            equal.push((key, value));
        }
    }
    if !mutant::active(Mutant::ComputedLabelsCover) {
        compared.clear();
    }
    let share = if equal.is_empty() {
        SHARE
    } else {
        SHARE * SHARE
    };
    Some(Candidate {
        access: Access::Computed { names, equal },
        rows: cost.nodes(None) * share,
        covers: compared,
    })
}

/// A lower and an upper bound on the same index are one range.
fn merge_ranges(cost: &Cost<'_>, found: &mut Vec<Candidate>) {
    let mut merged = Vec::new();
    for below in found.iter() {
        let Access::Range {
            label,
            key,
            low: Some(low),
            high: None,
        } = &below.access
        else {
            continue;
        };
        for above in found.iter() {
            let Access::Range {
                label: label2,
                key: key2,
                low: None,
                high: Some(high),
            } = &above.access
            else {
                continue;
            };
            let same_key = key == key2 || mutant::active(Mutant::IndexRangeAnyKey);
            if label == label2 && same_key {
                let access = Access::Range {
                    label: label.clone(),
                    key: key.clone(),
                    low: Some(low.clone()),
                    high: Some(high.clone()),
                };
                let covers = below.covers.iter().chain(&above.covers).copied().collect();
                merged.push(Candidate {
                    access,
                    rows: cost.range(label, key, Some(literal(&low.0)), Some(literal(&high.0))),
                    covers,
                });
            }
        }
    }
    found.extend(merged);
}

/// The value where it is written in the statement.
fn literal(value: &Expr) -> Option<&Literal> {
    match value {
        Expr::Literal(value) => Some(value),
        _ => None,
    }
}

fn by_index(
    cost: &Cost<'_>,
    label: &Arc<str>,
    key: &Arc<str>,
    op: BinaryOp,
    value: &Expr,
    rows: f64,
    covers: Vec<usize>,
) -> Option<Candidate> {
    let bound = Some(literal(value));
    let above = cost.range(label, key, bound, None);
    let below = cost.range(label, key, None, bound);
    let (label, key, value) = (label.clone(), key.clone(), value.clone());
    let (access, rows) = match op {
        BinaryOp::Equal => (
            Access::Index {
                label,
                key,
                value,
                any: false,
            },
            rows,
        ),
        BinaryOp::In => {
            let rows = rows * list_length(&value);
            (
                Access::Index {
                    label,
                    key,
                    value,
                    any: true,
                },
                rows,
            )
        }
        BinaryOp::Less => (
            Access::Range {
                label,
                key,
                low: None,
                high: Some((value, Inclusion::Exclusive)),
            },
            below,
        ),
        BinaryOp::LessOrEqual => (
            Access::Range {
                label,
                key,
                low: None,
                high: Some((value, Inclusion::Inclusive)),
            },
            below,
        ),
        BinaryOp::Greater => (
            Access::Range {
                label,
                key,
                low: Some((value, Inclusion::Exclusive)),
                high: None,
            },
            above,
        ),
        BinaryOp::GreaterOrEqual => (
            Access::Range {
                label,
                key,
                low: Some((value, Inclusion::Inclusive)),
                high: None,
            },
            above,
        ),
        _ => return None,
    };
    Some(Candidate {
        access,
        rows,
        covers,
    })
}

pub(super) fn list_length(value: &Expr) -> f64 {
    match value {
        Expr::List(items) => items.len() as f64,
        _ => LIST_LENGTH,
    }
}

#[derive(PartialEq)]
pub(super) enum Subject {
    Key(Arc<str>),
    Id(IdForm),
}

/// A condition as `node.key op value` or `id(node) op value`, the value computable before the node is known; the node may be a
/// relationship. Equalities of one subject joined by `OR` are one `IN`.
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
    let ready =
        |value: &Expr| value.variables().is_subset(bound) && !super::variables::is_volatile(value);
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
