//! Sorts: what they compute once with the projection above, on the threads below, and tell the
//! expansion below.

use std::collections::BTreeSet;

use super::{Built, HIDDEN, Instantiator, is_hidden, slot};
use crate::error::Result;
use crate::expression::Compiled;
use crate::layout::Layout;
use crate::operator::BoxedOperator;
use crate::operators::project::Project;
use crate::operators::sort::threshold::Threshold;
use crate::operators::sort::{Sort, SortedColumn};
use graven_cypher::plan::{Expr, Operator as P, PlanNode, SortOrder, VarId};

/// Variables from here on, below the hidden ones, were computed below.
const COMPUTED: u32 = HIDDEN - 1024;

/// These expressions as items of a projection below, which variables stand for from now on.
pub(super) fn computed<'e>(exprs: impl Iterator<Item = &'e mut Expr>) -> Vec<(VarId, Expr)> {
    let items = (COMPUTED..).zip(exprs);
    let items = items.map(|(var, expr)| {
        let var = VarId(var);
        (var, std::mem::replace(expr, Expr::Variable(var)))
    });
    items.collect()
}

impl Instantiator<'_> {
    /// A sort that hands out the rows of its input.
    pub(super) fn sort(
        &self,
        input: BoxedOperator,
        layout: &Layout,
        keys: &[(Expr, SortOrder)],
        limit: Option<&Expr>,
    ) -> Result<Sort> {
        let columns: Vec<SortedColumn> = (0..layout.width()).map(SortedColumn::Slot).collect();
        self.sort_of(input, layout, (keys, limit), &columns)
    }

    /// A sort that hands out `columns`.
    fn sort_of(
        &self,
        input: BoxedOperator,
        layout: &Layout,
        (keys, limit): (&[(Expr, SortOrder)], Option<&Expr>),
        columns: &[SortedColumn],
    ) -> Result<Sort> {
        let keys = keys
            .iter()
            .map(|(e, order)| Ok((self.compile(layout, e)?, *order)))
            .collect::<Result<_>>()?;
        let limit = limit.map(|e| self.compile(layout, e)).transpose()?;
        Ok(Sort::new(input, keys, columns, limit, self.rt))
    }

    /// Where a top-n over `input` tells the expansion below what it wants, if that makes the
    /// relationships of its first key.
    pub(super) fn tell(
        &mut self,
        input: &PlanNode,
        keys: &[(Expr, SortOrder)],
    ) -> Option<Threshold> {
        let (Expr::Property { base, key, .. }, direction) = keys.first()? else {
            return None;
        };
        let Expr::Variable(var) = **base else {
            return None;
        };
        let mut below = input;
        while let P::Filter { input, predicate } = &below.op
            && matches!(predicate, Expr::HasLabels { base, .. } if matches!(**base, Expr::Variable(_)))
        {
            below = input;
        }
        match &below.op {
            P::Expand { rel: Some(rel), .. } if *rel == var => {
                let threshold = Threshold::new(self.rt.key_id(key), *direction);
                self.threshold = Some((var, threshold.clone()));
                Some(threshold)
            }
            _ => None,
        }
    }

    /// A projection above a sort: what both compute is computed once, and only what the projection
    /// reads is kept.
    pub(super) fn projected_sort(
        &mut self,
        sort: &PlanNode,
        items: &[(VarId, Expr)],
    ) -> Result<Option<Built>> {
        let (below, keys, limit) = match &sort.op {
            P::Sort { input, keys } => (input, keys, None),
            P::TopN { input, keys, limit } => (input, keys, Some(limit)),
            _ => return Ok(None),
        };
        if self.ready.as_ref().is_some_and(|(id, _)| *id == sort.id) {
            return Ok(None);
        }
        let threshold = limit.and_then(|_| self.tell(below, keys));
        let key_of = |item: &Expr| keys.iter().position(|(key, _)| key == item);
        let mut by = keys.clone();
        let (input, layout) = match &below.op {
            P::Parallel { input } if limit.is_none() => {
                // Threads compute the keys as well, and hand out nothing but what is read.
                let mut computed = computed(by.iter_mut().map(|(key, _)| key));
                let others = items.iter().filter(|(_, item)| key_of(item).is_none());
                let read: BTreeSet<VarId> = others.flat_map(|(_, item)| item.variables()).collect();
                computed.extend(read.iter().map(|var| (*var, Expr::Variable(*var))));
                let (operator, layout) = self.parallel(input, Some(&computed))?;
                (self.profiled(operator, below.id), layout)
            }
            _ => self.node(below)?,
        };
        let mut read = Vec::new();
        for (_, item) in items.iter().filter(|(_, item)| key_of(item).is_none()) {
            for var in item.variables() {
                let at = slot(&layout, var)?;
                if !read.contains(&at) {
                    read.push(at);
                }
            }
        }
        let hidden = layout.vars().iter().enumerate();
        let hidden = hidden.filter(|(_, var)| is_hidden(**var));
        for (at, _) in hidden {
            if !read.contains(&at) {
                read.push(at);
            }
        }
        let mut own: Vec<VarId> = read.iter().map(|slot| layout.vars()[*slot]).collect();
        let mut columns: Vec<SortedColumn> = read.into_iter().map(SortedColumn::Slot).collect();
        let keys_from = own.len();
        for (var, item) in items {
            if let Some(key) = key_of(item) {
                own.push(*var);
                columns.push(SortedColumn::Key(key));
            }
        }
        let sorted = Layout::new(own);
        let mut next_key = keys_from;
        let mut exprs = Vec::with_capacity(items.len());
        for (_, item) in items {
            if key_of(item).is_some() {
                exprs.push(Compiled::Slot(next_key));
                next_key += 1;
            } else {
                exprs.push(self.compile(&sorted, item)?);
            }
        }
        let mut vars: Vec<VarId> = items.iter().map(|(v, _)| *v).collect();
        for (at, var) in sorted.vars()[..keys_from].iter().enumerate() {
            if is_hidden(*var) {
                vars.push(*var);
                exprs.push(Compiled::Slot(at));
            }
        }
        let by = (by.as_slice(), limit);
        let mut operator = self.sort_of(input, &layout, by, &columns)?;
        operator = operator.telling(threshold);
        if below.writes() && limit.is_some() {
            operator = operator.exhaustive();
        }
        let operator = self.profiled(Box::new(operator), sort.id);
        let project = Project::new(operator, exprs, self.rt);
        Ok(Some((Box::new(project), Layout::new(vars))))
    }
}
