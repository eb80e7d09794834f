//! What may be handed to an inner tree: whole batches, where all in it treat rows one by one and
//! keep their order, or nothing, where a part of it stands alone.

use super::Planner;
use crate::profile::inputs;
use graven_cypher::plan::{Operator as P, PlanNode};

impl Planner<'_> {
    /// Whether the rows of a part of an inner tree are the same whatever is handed in, and whenever
    /// it is run.
    pub(super) fn stands_alone(&self, part: &PlanNode) -> bool {
        let mut alone = !self.writes;
        part.visit(&mut |node| {
            let op = &node.op;
            alone &= !matches!(
                op,
                P::Argument { .. }
                    | P::Procedure { .. }
                    | P::LoadCsv { .. }
                    | P::LoadFrom { .. }
                    | P::CopyTo { .. }
            );
        });
        alone
    }

    /// Whether every operator of an inner tree treats rows one by one and keeps their order.
    pub(super) fn is_row_wise(&self, node: &PlanNode) -> bool {
        match &node.op {
            P::Argument { .. } => true,
            P::Unit
            | P::Aggregate { .. }
            | P::Sort { .. }
            | P::TopN { .. }
            | P::Skip { .. }
            | P::Limit { .. }
            | P::CartesianProduct { .. }
            | P::SelectPaths { .. }
            | P::Create { .. }
            | P::Merge { .. }
            | P::Set { .. }
            | P::Delete { .. }
            | P::Foreach { .. }
            | P::Eager { .. }
            | P::Schema { .. }
            | P::EmptyResult { .. }
            | P::CopyTo { .. }
            | P::Union { .. } => false,
            // Only the input side carries our hidden variable; the inner side has an argument of
            // its own.
            P::HashJoin { input, build, .. } => self.stands_alone(build) && self.is_row_wise(input),
            P::Apply { input, inner } | P::Optional { input, inner, .. } => {
                self.is_row_wise(input) && !inner.writes()
            }
            P::SemiApply { input, .. } | P::Repeat { input, .. } => self.is_row_wise(input),
            op => inputs(op).into_iter().all(|input| self.is_row_wise(input)),
        }
    }
}
