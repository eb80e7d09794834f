//! The relationships a search may use for one input row.
//!
//! # How it works
//! Without a condition on relationships the lists are visited as they lie in their pages.
//! Relationships excluded for the row concern the lists of their two ends only: these few nodes
//! take the slow way, which resolves relationship ids. A condition on every relationship sends
//! every node that way.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use graven_storage::{Adjacency, NodeId, NodeSet, Sweep};
use graven_types::told;

use super::node_order::Nodes;
use super::scan_direction;
use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::pattern::{Pattern, PatternPart};
use crate::probe::between;
use crate::query_context::QueryContext;

/// Neighbours of one node, as its list gives them: ascending, parallel relationships repeated.
#[derive(Clone, Copy)]
pub(crate) enum Neighbours<'a> {
    Narrow(&'a [u32]),
    Wide(&'a [u64]),
}

impl Neighbours<'_> {
    /// Entries.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Narrow(ids) => ids.len(),
            Self::Wide(ids) => ids.len(),
        }
    }

    /// Calls `visit` for each neighbour.
    #[inline]
    pub(crate) fn for_each(self, mut visit: impl FnMut(u64)) {
        match self {
            Self::Narrow(ids) => ids.iter().for_each(|id| visit(u64::from(*id))),
            Self::Wide(ids) => ids.iter().for_each(|id| visit(*id)),
        }
    }
}

/// See the file header.
pub(crate) struct FilteredNeighbors<'a> {
    pattern: &'a Pattern,
    batch: &'a Batch,
    row: usize,
    rt: &'a QueryContext,
    /// Ascending nodes whose lists hold an excluded relationship.
    touched: Vec<u64>,
    excludes: bool,
}

impl<'a> FilteredNeighbors<'a> {
    /// Relationships of `pattern` for row `row`, without `excluded`.
    pub(crate) fn new(
        pattern: &'a Pattern,
        excluded: Vec<u64>,
        batch: &'a Batch,
        row: usize,
        rt: &'a QueryContext,
    ) -> Result<Self> {
        let mut touched = Vec::with_capacity(2 * excluded.len());
        for relationship in &excluded {
            let (start, end) = rt.endpoints(*relationship)?;
            touched.extend([start.0, end.0]);
        }
        touched.sort_unstable();
        touched.dedup();
        Ok(Self {
            pattern,
            batch,
            row,
            rt,
            touched,
            excludes: !excluded.is_empty(),
        })
    }

    /// The pattern.
    pub(crate) fn pattern(&self) -> &'a Pattern {
        self.pattern
    }

    /// The running statement.
    pub(crate) fn rt(&self) -> &'a QueryContext {
        self.rt
    }

    /// Whether every relationship of the pattern may be used.
    pub(crate) fn is_plain(&self) -> bool {
        !self.excludes && !self.pattern.has_filter()
    }

    /// Visits the usable relationships of `nodes` (ascending):
    /// `visit(node, skip_loops, neighbours)`, several times a node; with `skip_loops` neighbours
    /// equal to the node are to be left out.
    ///
    /// # Errors
    /// Storage errors, errors of the relationships' condition, cancelled.
    pub(crate) fn visit(
        &self,
        nodes: Nodes<'_>,
        mut visit: impl FnMut(u64, bool, Neighbours<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if self.pattern.has_filter() {
            return self.visit_with_ids(nodes, &mut visit);
        }
        if !self.excludes {
            return self.visit_lists(nodes, &mut visit);
        }
        // The ends of excluded relationships are few: they are left out of the sweep and visited by
        // themselves.
        let mut slow = Vec::new();
        let mut stopped = false;
        self.visit_lists(nodes, &mut |node, skip_loops, ids| {
            if self.touched.binary_search(&node).is_ok() {
                slow.push(node);
                return ControlFlow::Continue(());
            }
            let flow = visit(node, skip_loops, ids);
            stopped |= flow.is_break();
            flow
        })?;
        if stopped {
            return Ok(());
        }
        slow.sort_unstable();
        slow.dedup();
        self.visit_with_ids(Nodes::List(&slow), &mut visit)
    }

    fn visit_lists(
        &self,
        nodes: Nodes<'_>,
        visit: &mut impl FnMut(u64, bool, Neighbours<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        if let Nodes::Bits(set) = nodes
            && let Some(sides) = self.narrow_sides()
        {
            let parts = &self.pattern.parts;
            Adjacency::sweep_set(
                &sides,
                set,
                scan_direction::alternate(),
                |part, node, ids| {
                    let flow = visit(node.0, parts[part].skip_loops, Neighbours::Narrow(ids));
                    self.or_cancelled(flow)
                },
            )?;
            return self.rt.check_cancelled();
        }
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        // Down, the last part comes first: so a level begins with the pages that the one before has
        // used last.
        let (order, parts) = (scan_direction::alternate(), &self.pattern.parts);
        for at in 0..parts.len() {
            let part = match order {
                Sweep::Up => &parts[at],
                Sweep::Down => &parts[parts.len() - 1 - at],
            };
            let fits = part.adjacency.ids_fit_u32();
            let mut stopped = false;
            nodes.sweep(&part.adjacency, order, |node, list| {
                let neighbours = if fits {
                    Neighbours::Narrow(list.decode(&mut narrow)?)
                } else {
                    Neighbours::Wide(list.decode_wide(&mut wide)?)
                };
                let flow = self.or_cancelled(visit(node.0, part.skip_loops, neighbours));
                stopped = flow.is_break();
                Ok(flow)
            })?;
            self.rt.check_cancelled()?;
            if stopped {
                break;
            }
        }
        Ok(())
    }

    /// The adjacencies of all parts, if their ids fit 32 bits.
    fn narrow_sides(&self) -> Option<Vec<&'a Adjacency>> {
        let mut sides = Vec::with_capacity(self.pattern.parts.len());
        for part in &self.pattern.parts {
            if !part.adjacency.ids_fit_u32() {
                return None;
            }
            sides.push(&part.adjacency);
        }
        Some(sides)
    }

    fn visit_with_ids(
        &self,
        nodes: Nodes<'_>,
        visit: &mut impl FnMut(u64, bool, Neighbours<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut ids = Vec::new();
        for node in nodes.iter() {
            self.rt.check_cancelled()?;
            ids.clear();
            ids.extend(self.relationships(node)?.iter().map(|(other, _)| *other));
            if visit(node, false, Neighbours::Wide(&ids)).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Usable relationships of one node: neighbour and relationship id, each once.
    pub(crate) fn relationships(&self, node: u64) -> Result<Vec<(u64, u64)>> {
        let mut found = Vec::new();
        self.pattern.neighbours(node, &mut found)?;
        if self.is_plain() {
            return Ok(found);
        }
        let rows = vec![u32::try_from(self.row).expect("a batch is small"); found.len()];
        let relationships: Vec<u64> = found.iter().map(|(_, r)| *r).collect();
        let kept = self
            .pattern
            .admitted(self.batch, &rows, &relationships, self.rt)?;
        Ok(kept.into_iter().map(|i| found[i as usize]).collect())
    }

    /// Usable relationships from `node` to `other`, in the order of the parts.
    ///
    /// # Errors
    /// As [`FilteredNeighbors::relationships`].
    pub(crate) fn between(&self, node: u64, other: u64) -> Result<Vec<u64>> {
        if self.is_plain() {
            return between(self.pattern, node, other);
        }
        let mut found = self.relationships(node)?;
        found.retain(|(end, _)| *end == other);
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    /// The error of a relationship between two nodes that only one of its two directions has.
    pub(crate) fn contradiction(&self, node: u64, other: u64) -> ExecError {
        let inconsistent = graven_storage::Error::Inconsistent {
            path: self.rt.snapshot.path().to_path_buf(),
            store: "adjacency".to_owned(),
            what: told!(
                "a relationship of nodes {node} and {other} is in the list of one of them only; \
                    run graven check"
            ),
        };
        inconsistent.into()
    }

    /// Calls `reached` with every node of `nodes` from which `part`, seen from its other end, leads
    /// into `targets`; only where [`FilteredNeighbors::is_plain`].
    pub(crate) fn bottom_up(
        &self,
        part: &PatternPart,
        nodes: NodeSet<'_>,
        targets: NodeSet<'_>,
        mut reached: impl FnMut(u64),
    ) -> Result<()> {
        debug_assert!(self.is_plain(), "reversed lists are not filtered");
        let (order, adjacency) = (scan_direction::alternate(), &part.reversed);
        let mut visit = |node: NodeId, met: bool| {
            if met {
                reached(node.0);
            }
            self.or_cancelled(ControlFlow::Continue(()))
        };
        if adjacency.ids_fit_u32() {
            adjacency.probe_set(nodes, targets, order, visit)?;
        } else {
            let mut wide = Vec::new();
            Nodes::Bits(nodes).sweep(adjacency, order, |node, list| {
                let neighbours = list.decode_wide(&mut wide)?;
                let met = neighbours.iter().any(|id| targets.contains(NodeId(*id)));
                Ok(visit(node, met))
            })?;
        }
        self.rt.check_cancelled()
    }

    fn or_cancelled(&self, flow: ControlFlow<()>) -> ControlFlow<()> {
        if self.rt.cancel.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            flow
        }
    }
}
