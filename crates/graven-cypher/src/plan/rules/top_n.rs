//! `ORDER BY` with `LIMIT` keeps only as many rows as are wanted.
//!
//! # How it works
//! `Limit(Sort)` becomes `TopN`; `Limit(Skip(Sort))` becomes `Limit(Skip(TopN(skip + limit)))`, the
//! outer two staying, since they also judge their counts.

use crate::plan::expression::{BinaryOp, Expr};
use crate::plan::mutant::{self, Mutant};
use crate::plan::{Operator, Plan, PlanNode};
use crate::token::Span;

pub(crate) fn apply(plan: &mut Plan) {
    plan.root.visit_mut(&mut |node| {
        if let Operator::Limit { input, count } = &mut node.op {
            let count = count.clone();
            match &mut input.op {
                Operator::Sort { .. } => {
                    top(input, count);
                    let below = take(input);
                    node.op = below.op;
                }
                Operator::Skip {
                    input: sorted,
                    count: skip,
                } if matches!(sorted.op, Operator::Sort { .. }) => {
                    let both = Expr::Binary {
                        op: BinaryOp::Add,
                        left: Box::new(skip.clone()),
                        right: Box::new(count.clone()),
                        at: Span::default(),
                    };
                    let without_skip = mutant::active(Mutant::TopNWithoutSkip);
                    top(sorted, if without_skip { count } else { both });
                    sorted.estimated_rows = node
                        .estimated_rows
                        .max(input.estimated_rows.min(sorted.estimated_rows));
                }
                _ => {}
            }
        }
    });
}

/// Makes a sort a top-n.
fn top(node: &mut PlanNode, limit: Expr) {
    let op = std::mem::replace(&mut node.op, Operator::Unit);
    node.op = match op {
        Operator::Sort { input, keys } => Operator::TopN { input, keys, limit },
        other => other,
    };
}

fn take(node: &mut PlanNode) -> PlanNode {
    std::mem::replace(
        node,
        PlanNode {
            id: 0,
            op: Operator::Unit,
            estimated_rows: 0.0,
        },
    )
}
