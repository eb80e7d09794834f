//! Which nodes came, changed or went, and how: few different changes of many nodes.
//!
//! # How it works
//! Nodes mostly come in runs with the same labels. So every different change has a number, and
//! [`IdRuns`] says which number a node has. While a log is read ([`GrowingNodes`]) runs are a list;
//! nodes that come late, as those that are deleted soon after, are put in at the end.
//!
//! # Costs
//! What [`IdRuns`] takes: 32 bytes a run, or a few bits a node.

use super::merge::{Entries, Over};
use crate::Result;
use crate::delta::change::NodeChange;
use crate::id_runs::{IdRuns, Run};
use foldhash::HashMap;
use graven_pagecache::Reservation;
use std::ops::Range;

/// Changed nodes are charged after so many of them.
const CHARGE_EVERY: usize = 4096;

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct ChangedNodes {
    /// Places in `changes`.
    runs: IdRuns,
    changes: Vec<NodeChange>,
}

impl ChangedNodes {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(crate) fn get(&self, node: u64) -> Option<&NodeChange> {
        Some(&self.changes[self.number(node)? as usize])
    }

    /// The number of what happened to `node`.
    #[inline]
    pub(crate) fn number(&self, node: u64) -> Option<u32> {
        self.runs.get(node)
    }

    /// All changes, by number.
    pub(crate) fn changes(&self) -> &[NodeChange] {
        &self.changes
    }

    /// Runs of nodes with the same change, ascending.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<u64>, &NodeChange)> {
        let runs = self.runs.runs();
        runs.map(|run| (run.ids(), &self.changes[run.number as usize]))
    }

    /// Collects changes, ascending.
    pub(crate) fn of(
        entries: Entries<'_, u64, NodeChange>,
        reservation: &mut Reservation,
    ) -> Result<ChangedNodes> {
        let mut nodes = ChangedNodes::default();
        let mut places: HashMap<NodeChange, u32> = HashMap::default();
        // Of the change before, which is mostly the same.
        let (mut number, mut charged) = (0, 0);
        for (at, entry) in entries.enumerate() {
            let (first, change) = entry?;
            if nodes.changes.get(number as usize) != Some(&change) {
                number = *places.entry(change).or_insert_with_key(|change| {
                    nodes.changes.push(change.clone());
                    nodes.changes.len() as u32 - 1
                });
            }
            nodes.runs.push(Run {
                first,
                count: 1,
                number,
            });
            if at % CHARGE_EVERY == 0 {
                nodes.charge(reservation, &mut charged)?;
            }
        }
        nodes.runs.finish();
        reservation.shrink(charged);
        nodes.charge(reservation, &mut 0)?;
        Ok(nodes)
    }

    /// Brings the charge for its memory up to date.
    fn charge(&self, reservation: &mut Reservation, charged: &mut u64) -> Result<()> {
        let more = self.memory_bytes().saturating_sub(*charged);
        reservation.grow(more)?;
        *charged += more;
        Ok(())
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.runs.memory_bytes() + (self.changes.len() * 2 * size_of::<NodeChange>()) as u64
    }
}

/// What a run takes while a log is read, and what it takes afterwards.
const RUN_BYTES: u64 = 2 * size_of::<Run>() as u64 + 8;
/// A node that came late, and room for putting them in order.
const LATE_BYTES: u64 = 2 * size_of::<(u64, u32)>() as u64;

/// Changed nodes while a log is read.
#[derive(Debug, Default)]
pub(crate) struct GrowingNodes {
    /// Ascending, disjoint.
    runs: Vec<Run>,
    /// Nodes that are not behind all others, in the order in which they came.
    late: Vec<(u64, u32)>,
    changes: Vec<NodeChange>,
    /// The numbers of changes, by [`key`].
    numbers: HashMap<Box<[u32]>, u32>,
    /// Of the newest change.
    newest: Vec<u32>,
    newest_number: u32,
}

/// A change as numbers: its kind, its labels.
fn key(change: &NodeChange, out: &mut Vec<u32>) {
    out.clear();
    out.push(kind(change));
    let labels = change.labels().map_or(&[][..], |labels| labels);
    out.extend(labels.iter().map(|label| label.0));
}

fn kind(change: &NodeChange) -> u32 {
    match change {
        NodeChange::Deleted => 0,
        NodeChange::Created(_) => 1,
        NodeChange::Labels(_) => 2,
    }
}

impl GrowingNodes {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.late.is_empty()
    }

    /// Estimated bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.runs.len() as u64 * RUN_BYTES + self.late.len() as u64 * LATE_BYTES
    }

    /// Enters a change that `key` says in numbers, its kind and its labels; `of` makes it.
    pub(crate) fn put(&mut self, node: u64, key: &[u32], of: impl FnOnce() -> NodeChange) {
        if *self.newest != *key {
            self.newest_number = self.number(key, of);
            self.newest.clear();
            self.newest.extend_from_slice(key);
        }
        let number = self.newest_number;
        let end = self.runs.last().map_or(0, Run::end);
        match self.runs.last_mut() {
            _ if node < end => self.late.push((node, number)),
            Some(last) if node == end && last.number == number => last.count += 1,
            _ => self.runs.push(Run {
                first: node,
                count: 1,
                number,
            }),
        }
    }

    fn number(&mut self, key: &[u32], change: impl FnOnce() -> NodeChange) -> u32 {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = self.changes.len() as u32;
        self.changes.push(change());
        self.numbers.insert(key.into(), number);
        number
    }

    /// What it comes to.
    pub(crate) fn finish(mut self) -> ChangedNodes {
        let mut late = std::mem::take(&mut self.late);
        // Those of one node stay in the order in which they came.
        late.sort_by_key(|(node, _)| *node);
        let mut late = late.into_iter().peekable();
        let mut out = IdRuns::default();
        let mut scratch = Vec::new();
        for run in std::mem::take(&mut self.runs) {
            let mut rest = run;
            while let Some((node, mut number)) = late.next_if(|(node, _)| *node < run.end()) {
                let known = (node >= rest.first).then_some(run.number);
                number = self.net(known, number, &mut scratch);
                while let Some((_, newer)) = late.next_if(|(same, _)| *same == node) {
                    number = self.net(Some(number), newer, &mut scratch);
                }
                if known.is_some() {
                    out.push(Run {
                        count: node - rest.first,
                        ..rest
                    });
                    rest = Run {
                        first: node + 1,
                        count: run.end() - node - 1,
                        ..rest
                    };
                }
                out.push(Run {
                    first: node,
                    count: 1,
                    number,
                });
            }
            out.push(rest);
        }
        out.finish();
        ChangedNodes {
            runs: out,
            changes: self.changes,
        }
    }

    /// The number of what `newer` makes of `known`.
    fn net(&mut self, known: Option<u32>, newer: u32, scratch: &mut Vec<u32>) -> u32 {
        let Some(known) = known else {
            return newer;
        };
        let [known, newer] = [known, newer].map(|number| self.changes[number as usize].clone());
        let net = NodeChange::over(newer, &known);
        let net = net.expect("a node's change never comes to nothing");
        key(&net, scratch);
        self.number(scratch, || net)
    }
}
