//! Sorts: what they compute once with the projection above, on the threads below, and tell the
//! expansion below.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{HIDDEN, Made, Node, Planner, is_hidden, project, slot};
use crate::error::Result;
use crate::expression::Compiled;
use crate::layout::Layout;
use crate::operators::sort::top_n_bound::TopNBound;
use crate::operators::sort::{Sort, SortPlan, SortedColumn};
use graven_storage::KeyId;

use graven_cypher::plan::{Expr, Operator as P, PlanNode, SortOrder, VarId};

/// Variables from here on, below the hidden ones, were computed below.
pub(super) const COMPUTED: u32 = HIDDEN - 1024;

/// These expressions as items of a projection below, which variables stand for from now on.
pub(super) fn computed<'e>(exprs: impl Iterator<Item = &'e mut Expr>) -> Vec<(VarId, Expr)> {
    let items = (COMPUTED..).zip(exprs);
    let items = items.map(|(var, expr)| {
        let var = VarId(var);
        (var, std::mem::replace(expr, Expr::Variable(var)))
    });
    items.collect()
}

/// The property of a relationship that a top-n tells the expansion below it, and which way it is
/// sorted.
pub(super) type Tells = Option<(Option<KeyId>, SortOrder)>;

/// A top-n: what it tells the expansion below, whether it shares what it knows with those of other
/// threads, and whether it runs its input to the end.
pub(super) fn top_n(
    input: Node,
    layout: Layout,
    plan: Arc<SortPlan>,
    (tells, shares, exhaustive): (Tells, bool, bool),
) -> Made {
    let made = Made::new([input], layout, move |node, start| {
        let best = start.best.take().filter(|_| shares);
        let threshold = tells.map(|(key, direction)| TopNBound::new(key, direction));
        start.threshold.clone_from(&threshold);
        let input = node.input(0, start)?;
        let top = Sort::new(input, Arc::clone(&plan), start.rt);
        let top = top.with_bound(threshold).sharing(best);
        Ok(Box::new(match exhaustive {
            true => top.exhaustive(),
            false => top,
        }))
    });
    made.choosing(tells.is_some(), "tells the expansion its bound")
        .choosing(shares, "threads share its bound")
        .choosing(exhaustive, "runs its input to the end")
}

impl Planner<'_> {
    /// A sort that hands out the rows of its input.
    pub(super) fn sort(
        &self,
        layout: &Layout,
        keys: &[(Expr, SortOrder)],
        limit: Option<&Expr>,
    ) -> Result<SortPlan> {
        let columns: Vec<SortedColumn> = (0..layout.width()).map(SortedColumn::Slot).collect();
        self.sort_of(layout, (keys, limit), &columns)
    }

    /// A sort that hands out `columns`.
    fn sort_of(
        &self,
        layout: &Layout,
        (keys, limit): (&[(Expr, SortOrder)], Option<&Expr>),
        columns: &[SortedColumn],
    ) -> Result<SortPlan> {
        let keys = keys
            .iter()
            .map(|(e, order)| Ok((self.compiled(layout, e)?, *order)))
            .collect::<Result<_>>()?;
        let limit = limit.map(|e| self.compiled(layout, e)).transpose()?;
        Ok(SortPlan::new(keys, columns, limit))
    }

    /// What a top-n over `input` tells the expansion below, if that makes the relationships of its
    /// first key.
    pub(super) fn tell(&mut self, input: &PlanNode, keys: &[(Expr, SortOrder)]) -> Tells {
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
                self.told = Some(var);
                Some((self.rt.key_id(key), *direction))
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
    ) -> Result<Option<Made>> {
        let (below, keys, limit) = match &sort.op {
            P::Sort { input, keys } => (input, keys, None),
            P::TopN { input, keys, limit } => (input, keys, Some(limit)),
            _ => return Ok(None),
        };
        let tells = limit.and_then(|_| self.tell(below, keys));
        let key_of = |item: &Expr| keys.iter().position(|(key, _)| key == item);
        let mut by = keys.clone();
        let input = match &below.op {
            P::Parallel { input } if limit.is_none() => {
                // Threads compute the keys as well, and hand out nothing but what is read.
                let mut computed = computed(by.iter_mut().map(|(key, _)| key));
                let others = items.iter().filter(|(_, item)| key_of(item).is_none());
                let read: BTreeSet<VarId> = others.flat_map(|(_, item)| item.variables()).collect();
                computed.extend(read.iter().map(|var| (*var, Expr::Variable(*var))));
                let made = self.parallel(input, Some(&computed))?;
                self.finish(made, below)
            }
            _ => self.node(below)?,
        };
        let layout = &input.layout;
        let mut read = Vec::new();
        for (_, item) in items.iter().filter(|(_, item)| key_of(item).is_none()) {
            for var in item.variables() {
                let at = slot(layout, var)?;
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
                exprs.push(self.compiled(&sorted, item)?);
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
        let plan = Arc::new(self.sort_of(layout, by, &columns)?);
        let exhaustive = below.writes() && limit.is_some();
        let sorting = match limit {
            Some(_) => top_n(input, sorted, plan, (tells, false, exhaustive)),
            None => Made::new([input], sorted, move |node, start| {
                let input = node.input(0, start)?;
                Ok(Box::new(Sort::new(input, Arc::clone(&plan), start.rt)))
            }),
        };
        let node = self.finish(sorting, sort);
        Ok(Some(project(node, exprs.into(), Layout::new(vars))))
    }
}
