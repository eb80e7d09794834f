//! What is the same in every run of a filter: the pattern, resolved for a layout of rows.

use std::sync::Arc;

use graven_cypher::plan::{Direction, Expr, RelPattern, VarId};
use graven_types::told;

use super::join::{Join, JoinPlan};

use super::NeighborFilter;
use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::operators::neighbor_batch::NeighborBatch;
use crate::pattern::Shape;
use crate::query_context::QueryContext;

/// What is the same in every run.
pub(crate) struct NeighborFilterPlan {
    pattern: Arc<Shape>,
    from: usize,
    labels: Vec<Arc<str>>,
    not_equal: Vec<usize>,
    joins: Vec<JoinPlan>,
    semi_join_groups: Vec<Vec<JoinPlan>>,
    expected: f64,
    condition: Option<Arc<Expr>>,
}

impl NeighborFilterPlan {
    /// Resolves the pattern for rows of `layout`, which does not hold the end, `to`.
    ///
    /// # Errors
    /// A plan that cannot be run.
    pub(crate) fn new(
        pattern: &RelPattern,
        from: usize,
        to: VarId,
        layout: &Layout,
        rt: &QueryContext,
    ) -> Result<Self> {
        let slot = |var: VarId| {
            layout.slot(var).ok_or_else(|| ExecError::Plan {
                message: told!("variable {} is not produced below its use (CY-1)", var.0),
            })
        };
        let joins = pattern.ends.joins.iter();
        let not_equal = pattern.ends.not_equal.iter();
        Ok(Self {
            pattern: Arc::new(Shape::new(pattern, layout, rt)?),
            from,
            labels: pattern.ends.labels.clone(),
            not_equal: not_equal.map(|var| slot(*var)).collect::<Result<_>>()?,
            joins: joins
                .map(|join| JoinPlan::new(join, to, layout, rt))
                .collect::<Result<_>>()?,
            semi_join_groups: (pattern.ends.semi_join_groups.iter())
                .map(|group| {
                    let joins = group.iter();
                    joins
                        .map(|join| JoinPlan::new(join, to, layout, rt))
                        .collect()
                })
                .collect::<Result<_>>()?,
            expected: 0.0,
            condition: None,
        })
    }

    /// For an expansion that hands out no relationships: those of `pattern` are asked for by its
    /// condition alone.
    pub(crate) fn without_relationships(mut self, pattern: &RelPattern) -> Self {
        if self.pattern.filters_alone()
            && !self.pattern.goes_by_ends()
            && self.not_equal.is_empty()
            && self.joins.is_empty()
            && self.semi_join_groups.is_empty()
            && self.pattern.direction() == Direction::In
        {
            self.condition = pattern.filter.clone().map(Arc::new);
        }
        self
    }

    /// For so many rows, as far as one can tell.
    pub(crate) fn expecting(mut self, rows: f64) -> Self {
        self.expected = rows;
        self
    }

    /// Ends must have these labels as well.
    pub(crate) fn with_labels(mut self, labels: &[Arc<str>]) -> Self {
        self.labels.extend(labels.iter().cloned());
        self
    }

    /// The lists of a run, none of them loaded.
    ///
    /// # Errors
    /// What reading gives.
    pub(crate) fn start(&self, rt: &QueryContext) -> Result<NeighborFilter> {
        let started = |joins: &[JoinPlan]| {
            let joins = joins.iter().map(|join| join.start(rt));
            joins.collect::<Result<Vec<Join>>>()
        };
        Ok(NeighborFilter {
            pattern: self.pattern.start(rt)?,
            from: self.from,
            labels: self.labels.clone(),
            labels_are_certain: false,
            ranges: None,
            not_equal: self.not_equal.clone(),
            joins: started(&self.joins)?,
            semi_join_groups: (self.semi_join_groups.iter())
                .map(|group| started(group))
                .collect::<Result<_>>()?,
            lists: NeighborBatch::default(),
            taken: Vec::new(),
            others: Vec::new(),
            expected: self.expected,
            reached: None,
            condition: self.condition.clone(),
            decided: false,
        })
    }
}
