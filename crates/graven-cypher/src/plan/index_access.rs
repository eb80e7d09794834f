//! Ways to find nodes by an index over several properties, and by what a text begins with, contains
//! or ends with.
//!
//! # How it works
//! An index is of use where the first of its properties must equal something known and the next one
//! lies in a range, begins with a text, or need only be there. What a text contains or ends with is
//! tested of all texts behind the equal values, which takes the pages of the index and none of the
//! nodes. A node without one of the properties
//! is not in the index, so each of them must be in a condition that null does not meet. Conditions
//! on properties behind the range stay.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expression::{BinaryOp, Expr, UnaryOp};
use super::mutant::{self, Mutant};
use super::{Inclusion, IndexPart, VarId};
use crate::cost::Cost;
use crate::plan::candidate::{Access, Candidate, Subject, comparison};
use crate::schema_view::LabelIndex;

/// Share of the nodes within one bound, of those with a beginning, and of those whose text contains
/// something.
const BOUND_SHARE: f64 = 0.3;
const BEGINNING_SHARE: f64 = 0.02;
const CONTAINING_SHARE: f64 = 0.05;

/// A condition on a property: its place, what it says, and what with.
type Compared = (usize, BinaryOp, Expr);

/// All ways to find `node` by such an index; arguments as for [`super::access::candidates`].
pub(super) fn candidates(
    cost: &Cost<'_>,
    node: VarId,
    conditions: &[Expr],
    labels: &[(usize, Arc<str>)],
    bound: &BTreeSet<VarId>,
) -> Vec<Candidate> {
    let mut compared: Vec<(Arc<str>, Compared)> = Vec::new();
    let mut present: Vec<Arc<str>> = Vec::new();
    for (idx, condition) in conditions.iter().enumerate() {
        if let Some((Subject::Key(key), op, value)) = comparison(condition, node, bound) {
            if op != BinaryOp::NotEqual {
                present.push(key.clone());
            }
            compared.push((key, (idx, op, value)));
        }
        if let Expr::Unary {
            op: UnaryOp::IsNotNull,
            operand,
            ..
        } = condition
            && let Expr::Property { base, key, .. } = &**operand
            && **base == Expr::Variable(node)
        {
            present.push(key.clone());
        }
    }
    if compared.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (label_condition, label) in labels {
        for index in cost.schema.indexes(label) {
            let nodes = cost.nodes(Some(label));
            let way = Way {
                index: &index,
                compared: &compared,
                present: &present,
            };
            found.extend(way.candidate(*label_condition, label, nodes));
        }
    }
    found
}

/// One index and what is known of the properties.
struct Way<'a> {
    index: &'a LabelIndex,
    compared: &'a [(Arc<str>, Compared)],
    present: &'a [Arc<str>],
}

impl Way<'_> {
    fn candidate(&self, label_condition: usize, label: &Arc<str>, nodes: f64) -> Option<Candidate> {
        let keys = &self.index.keys;
        let mut covers = vec![label_condition];
        let mut equal = Vec::new();
        for key in keys {
            let Some((idx, value)) = self.first(key, |op| op == BinaryOp::Equal) else {
                break;
            };
            covers.push(idx);
            equal.push(value);
        }
        let (part, share) = match keys.get(equal.len()) {
            Some(key) => self.part(key, &mut covers),
            None => (IndexPart::All, 1.0),
        };
        let alone = keys.len() == 1;
        let of_use = match part {
            IndexPart::StartsWith(_) | IndexPart::Contains(_) | IndexPart::EndsWith(_) => true,
            IndexPart::Range { .. } => !alone,
            IndexPart::All => !alone && !equal.is_empty(),
        };
        let all_there = keys[equal.len()..]
            .iter()
            .all(|key| self.present.contains(key))
            || mutant::active(Mutant::IndexScanMissingKeys);
        if !of_use || !all_there {
            return None;
        }
        let distinct = self.index.distinct.max(1) as f64;
        let exponent = equal.len() as f64 / keys.len() as f64;
        let rows = match self.index.unique && equal.len() == keys.len() {
            true => 1.0,
            false => nodes / distinct.powf(exponent) * share,
        };
        let access = Access::Scan {
            label: label.clone(),
            keys: keys.clone(),
            equal,
            part,
        };
        Some(Candidate {
            access,
            rows,
            covers,
        })
    }

    fn first(&self, key: &Arc<str>, wanted: impl Fn(BinaryOp) -> bool) -> Option<(usize, Expr)> {
        let mut own = self.compared.iter().filter(|(known, _)| known == key);
        let (_, (idx, _, value)) = own.find(|(_, (_, op, _))| wanted(*op))?;
        Some((*idx, value.clone()))
    }

    /// What is demanded of the property behind those that equal something, and the share of nodes
    /// that meet it.
    fn part(&self, key: &Arc<str>, covers: &mut Vec<usize>) -> (IndexPart, f64) {
        if let Some((idx, text)) = self.first(key, |op| op == BinaryOp::StartsWith) {
            covers.push(idx);
            return (IndexPart::StartsWith(text), BEGINNING_SHARE);
        }
        let mut bound = |inclusive: BinaryOp, exclusive: BinaryOp| {
            let found = self.first(key, |op| op == inclusive);
            let found = found.map(|found| (found, Inclusion::Inclusive));
            let found = found.or_else(|| {
                let found = self.first(key, |op| op == exclusive)?;
                Some((found, Inclusion::Exclusive))
            });
            let ((idx, value), inclusion) = found?;
            covers.push(idx);
            Some((value, inclusion))
        };
        let low = bound(BinaryOp::GreaterOrEqual, BinaryOp::Greater);
        let high = bound(BinaryOp::LessOrEqual, BinaryOp::Less);
        let share = match (&low, &high) {
            (None, None) => return self.inner_text(key, covers),
            (Some(_), Some(_)) => BOUND_SHARE * BOUND_SHARE,
            _ => BOUND_SHARE,
        };
        (IndexPart::Range { low, high }, share)
    }

    /// What the text must contain or end with, if anything.
    fn inner_text(&self, key: &Arc<str>, covers: &mut Vec<usize>) -> (IndexPart, f64) {
        let parts = [
            (BinaryOp::Contains, IndexPart::Contains as fn(Expr) -> _),
            (BinaryOp::EndsWith, IndexPart::EndsWith),
        ];
        for (wanted, part) in parts {
            if let Some((idx, text)) = self.first(key, |op| op == wanted) {
                covers.push(idx);
                return (part(text), CONTAINING_SHARE);
            }
        }
        (IndexPart::All, 1.0)
    }
}
