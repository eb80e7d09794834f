//! Steps of an order that are found apart, once for all rows, and joined by an equality
//! (`plan/join.rs`).
//!
//! # How it works
//! What is found by itself may begin a part. Its steps cost what they cost once. A part ends where
//! fewer rows go on from the join than from the part, or where a step takes what was there before.
//! Then it is *settled*: if nothing joined it, or the join does not pay, it costs what it would
//! cost row by row, and the same steps without the part are cheaper.
//!
//! A hash table pays if it spares enough rows, as far as they are estimated. Where a single row is
//! expected there may be many: a part whose table is small beside what is read for it is found
//! apart, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Search, State};
use crate::plan::VarId;
use crate::plan::candidate::Candidate;

/// Rows that a join spares at least.
const SPARED_MIN: f64 = 1000.0;

/// Rows that are read for a part at least, where they may be read again and again against all
/// estimates.
const READ_MIN: f64 = 100.0;

/// Rows that may come though only one is expected.
const UNEXPECTED: f64 = 2.0;

/// How often a node is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Once; it begins a part.
    Once,
    /// For each row, though it might begin a part.
    Again,
    /// For each row.
    Unjoined,
}

/// Steps that are found apart.
#[derive(Clone)]
pub(super) struct Part {
    /// What was there before it.
    pub(super) before: Arc<BTreeSet<VarId>>,
    /// Relationships that were.
    edges: Arc<BTreeSet<usize>>,
    /// Rows that would look for it one by one, all in all.
    times: f64,
    /// Its own rows.
    pub(super) rows: f64,
    /// What it does.
    pub(super) work: f64,
    /// An equality joins it.
    pub(super) joined: bool,
}

impl Part {
    /// Whether nothing belongs to it yet.
    pub(super) fn is_new(&self) -> bool {
        self.work == 0.0
    }
}

impl Search<'_> {
    /// Rows that are handed in to the pattern.
    pub(super) fn handed_in(&self) -> f64 {
        self.problem.joinable.map_or(1.0, |it| it.handed_in)
    }

    /// Whether what is found so is always joined.
    pub(super) fn always(&self) -> bool {
        self.problem.joinable.is_some_and(|it| it.always)
    }

    /// Whether a node that is found so may be joined to what is there.
    pub(super) fn may_begin_part(&self, by: &Candidate, before: &BTreeSet<VarId>) -> bool {
        let Some(joinable) = self.problem.joinable else {
            return false;
        };
        let mut equalities = joinable.equalities.iter();
        by.access.reads().is_empty() && equalities.any(|(one, other)| crosses(one, other, before))
    }

    /// Whether an equality of these variables joins a part, behind what is there, with what was
    /// there before it.
    pub(super) fn joins(&self, part: &Part, variables: &BTreeSet<VarId>) -> bool {
        let equalities = self.problem.joinable.iter().flat_map(|it| &it.equalities);
        let mut own = equalities.filter(|(one, other)| *variables == one | other);
        own.any(|(one, other)| crosses(one, other, &part.before))
    }

    /// The part that begins behind a state.
    pub(super) fn begin_part(&self, state: &State, before: &BTreeSet<VarId>) -> Part {
        Part {
            before: Arc::new(before.clone()),
            edges: Arc::new(state.edges.clone()),
            times: state.rows * self.handed_in(),
            rows: 1.0,
            work: 0.0,
            joined: false,
        }
    }

    /// Rows that scan so many nodes one by one; more may come than are expected.
    pub(super) fn scanned(&self, state: &State, nodes: f64) -> f64 {
        let handed_in = self.handed_in();
        nodes * (state.rows * handed_in).max(UNEXPECTED) / handed_in
    }

    /// A relationship is followed from these nodes: the part at hand ends before it where it takes
    /// what was there before, or must differ from it.
    pub(super) fn leave_part(&self, next: &mut State, idx: usize, from: &[VarId]) {
        let edges = &self.problem.graph.edges;
        let reads = |part: &Part| {
            let mut read = edges[idx].filters.iter().flat_map(|it| it.variables());
            read.any(|var| part.before.contains(&var))
                || !self.problem.inside[idx].is_disjoint(&part.before)
        };
        let leaves = |part: &mut Part| {
            from.iter().any(|end| part.before.contains(end))
                || part.edges.iter().any(|e| edges[*e].differs(&edges[idx]))
                || reads(part)
        };
        if let Some(left) = next.part.take_if(leaves) {
            self.settle(next, &left);
        }
    }

    /// Adds what a part costs that is not worth a join.
    pub(super) fn settle(&self, next: &mut State, part: &Part) {
        let spares = part.work * (part.times - 1.0) >= SPARED_MIN;
        // The smaller side becomes the table where nothing is handed in.
        let small = self.problem.bound.is_empty() || part.rows * 2.0 <= part.work;
        let insures = part.work >= READ_MIN && small;
        if !(self.always() || part.joined && (spares || insures)) {
            let times = part.times.max(UNEXPECTED);
            next.cost += part.work * (times - 1.0) / self.handed_in();
        }
    }
}

/// Whether one of these is read of what is there, the other one of what is not.
fn crosses(one: &BTreeSet<VarId>, other: &BTreeSet<VarId>, there: &BTreeSet<VarId>) -> bool {
    let joins = |known: &BTreeSet<VarId>, new: &BTreeSet<VarId>| {
        known.is_subset(there) && new.is_disjoint(there)
    };
    joins(one, other) || joins(other, one)
}
