//! What a step of an order leaves: rows, cost, and conditions that are decided.
//!
//! # How it works
//! A condition without a subquery is decided as soon as its variables are there. One with a
//! subquery costs what the subquery does, for each row. It is decided at once, before the rows are
//! multiplied, or waits until conditions of later steps have thinned them out: both are tried, and
//! what they come to tells which is cheaper. Those that are decided by one step follow each other
//! by their cost.
//!
//! # Source
//! Hellerstein and Stonebraker, "Predicate Migration: Optimizing Queries with Expensive
//! Predicates", SIGMOD 1993, place such conditions by rank among joins; here the search tries them
//! late.

use std::collections::BTreeSet;

use super::part::Part;
use super::{OrderStep, Ordered, Search, State};
use crate::plan::VarId;
use crate::stop;

/// So many numbers of conditions that are decided before the others wait are tried.
const DEFERRING_MAX: usize = 3;

impl Search<'_> {
    /// The states after a step, which have the rows of the one before it: these become `rows`, by
    /// so much `work`, before conditions are applied that the step does not cover.
    pub(super) fn finish(
        &self,
        next: State,
        (step, covered): (OrderStep, &[usize]),
        (rows, work): (f64, f64),
        before: &BTreeSet<VarId>,
        out: &mut Vec<State>,
    ) {
        stop::ask();
        let after = self.available(&next);
        let waiting = self.problem.waiting.iter().enumerate();
        let decidable = waiting.filter(|(idx, waiting)| {
            let is_new = !waiting.variables.is_subset(before) || next.deferred.contains(idx);
            is_new && waiting.variables.is_subset(&after) && !covered.contains(idx)
        });
        let (asking, plain): (Vec<usize>, Vec<usize>) = decidable
            .map(|(idx, _)| idx)
            .partition(|idx| self.problem.waiting[*idx].work > 0.0);
        let is_last = next.nodes.len() + next.edges.len() == self.goal;
        let decided = |first: &[usize]| [&plain[..], first].concat();
        let defers = self.defers && !is_last;
        // The cheaper ones are decided, the others wait.
        let tried = if defers {
            asking.len().min(DEFERRING_MAX)
        } else {
            0
        };
        for first in 0..tried {
            let (first, deferred) = asking.split_at(first);
            let mut later = next.clone();
            later.deferred = deferred.iter().copied().collect();
            out.push(self.finished(later, step.clone(), (rows, work), &decided(first)));
        }
        let mut now = next;
        now.deferred.clear();
        out.push(self.finished(now, step, (rows, work), &decided(&asking)));
    }

    /// The state after a step behind which these conditions are decided, in this order.
    fn finished(
        &self,
        mut next: State,
        step: OrderStep,
        (rows, work): (f64, f64),
        decided: &[usize],
    ) -> State {
        let came = next.rows;
        let handed_in = self.handed_in();
        let begins_part = next.part.as_ref().is_some_and(Part::is_new);
        let alone = next.part.as_ref().map_or(1.0, |part| {
            // As many times less as it is done.
            part.rows / came / handed_in
        });
        let mut done = work * alone;
        // Of the part itself, and of what it is joined to.
        let (mut own, mut share) = (1.0, 1.0);
        let mut joined = false;
        for idx in decided {
            let waiting = &self.problem.waiting[*idx];
            let asked = rows * own * share * waiting.work;
            let crosses = |part: &&Part| !waiting.variables.is_disjoint(&part.before);
            if let Some(part) = next.part.as_ref().filter(crosses) {
                next.cost += asked;
                share *= waiting.share;
                joined |= self.joins(part, &waiting.variables);
            } else {
                done += asked * alone;
                own *= waiting.share;
            }
        }
        next.cost += done;
        next.rows = (rows * own * share).max(1e-3);
        let mut of_part = None;
        if let Some(part) = &mut next.part {
            let found = part.rows * (rows / came);
            part.rows = (found * own).max(1e-3);
            of_part = Some((found, part.rows));
            part.joined |= joined;
            part.work += done * handed_in;
            if joined {
                next.cost += next.rows;
            }
        }
        let is_last = next.nodes.len() + next.edges.len() == self.goal;
        let fewer = |part: &mut Part| part.joined && next.rows * handed_in < part.rows;
        let ended = next.part.take_if(|part| fewer(part) || is_last);
        let ends_part = ended.is_some();
        if let Some(ended) = ended {
            self.settle(&mut next, &ended);
        }
        next.way.push(Ordered {
            step,
            rows,
            left: next.rows,
            begins_part,
            alone: of_part,
            ends_part,
            deferred: next.deferred.clone(),
        });
        next
    }
}
