//! Ways to find the nodes of a variable that is not bound yet: by index, by id, by label, or all of
//! them.

use crate::plan::candidate::Access;
use crate::plan::candidate::Candidate;
use crate::plan::candidate::Subject;
use crate::plan::candidate::comparison;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::expression::{BinaryOp, Expr, Literal};
use super::mutant::{self, Mutant};
use super::{Inclusion, VarId};
use crate::bind::graph::AccessHint;
use crate::cost::Cost;
use crate::functions;

impl Access {
    /// Whether something known is looked up, be it row by row.
    pub(crate) fn is_seek(&self) -> bool {
        !matches!(self, Access::All | Access::Label(_))
    }
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

/// The ways without scans that a known value makes needless. What is counted of a label may be out
/// of date as soon as the plan is made, and a value is found through its index whatever it was; so
/// a scan stays only where it is surely shorter.
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

/// All ways to find `node`. `conditions` are those of the pattern, `labels` what it is known to
/// have (by condition index), `bound` the variables available.
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
                    let Some(rows) = cost.seek(label, &key, literal(&value)) else {
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

/// The way by labels that an expression gives. It ensures no condition: which label has an index
/// turns out row by row.
fn by_computed_label(
    cost: &Cost<'_>,
    node: VarId,
    conditions: &[Expr],
    bound: &BTreeSet<VarId>,
) -> Option<Candidate> {
    /// Share of all nodes that a label, and then a value, is taken to have.
    const SHARE: f64 = 0.1;
    let ready = |value: &Expr| value.variables().is_subset(bound);
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
            let each = |item: &Expr| cost.seek(&label, &key, literal(item)).unwrap_or(rows);
            let rows = match &value {
                Expr::List(items) => items.iter().map(each).sum(),
                _ => rows * LIST_LENGTH,
            };
            let rows = rows.min(cost.nodes(Some(&label)).max(1.0));
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
