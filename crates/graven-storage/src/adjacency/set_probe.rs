//! Which nodes of a set have a neighbour in another set: the step of a search from its unreached
//! side.
//!
//! # How it works
//! Pages are visited as [`super::set_sweep`] does. A list is read only until a neighbour lies in
//! the other set; its first neighbour, the smallest id, needs no decoding. Where hubs have the
//! smallest ids most lists end there.

use super::Adjacency;
use super::list::List;
use super::node_set::NodeSet;
use super::set_changes;
use super::set_sweep::PageVisitor;
use crate::Result;
use crate::adjacency::order::Sweep;
use crate::bitpack::run::{Item, Source, Stop, probe_run};
use crate::ids::NodeId;
use std::ops::ControlFlow;

/// Looks for neighbours in `targets`.
struct Probing<'a, F> {
    targets: NodeSet<'a>,
    visit: &'a mut F,
}

impl<F> PageVisitor for Probing<'_, F>
where
    F: FnMut(NodeId, bool) -> ControlFlow<()>,
{
    #[inline]
    fn run(
        &mut self,
        _: usize,
        first: u64,
        source: Source<'_>,
        items: &[Item],
        from: usize,
    ) -> Stop {
        let (targets, visit) = (self.targets, &mut self.visit);
        let wanted = |neighbour: u32| targets.has(u64::from(neighbour));
        probe_run(source, items, from, wanted, &mut |name, met| {
            visit(NodeId(first + u64::from(name)), met).is_continue()
        })
    }

    fn list(&mut self, _: usize, list: &List<'_>) -> Result<ControlFlow<()>> {
        let flow = list.for_each_block(|block| {
            if meets(self.targets, block) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok((self.visit)(list.node(), flow.is_break()))
    }
}

fn meets(targets: NodeSet<'_>, list: &[u32]) -> bool {
    list.iter()
        .any(|neighbour| targets.has(u64::from(*neighbour)))
}

impl Adjacency {
    /// Calls `visit` with every node of `nodes` that has a list, and whether one of its neighbours
    /// is in `targets`, until it breaks. The order is that of [`Adjacency::sweep_set`].
    ///
    /// # Errors
    /// As [`Adjacency::sweep_set`].
    #[inline]
    pub fn probe_set<F>(
        &self,
        nodes: NodeSet<'_>,
        targets: NodeSet<'_>,
        order: Sweep,
        mut visit: F,
    ) -> Result<()>
    where
        F: FnMut(NodeId, bool) -> ControlFlow<()>,
    {
        if self.overlay.is_some() {
            return set_changes::sweep(&[self], nodes, order, &mut |_, node, list| {
                visit(node, meets(targets, list))
            });
        }
        let mut work = Probing {
            targets,
            visit: &mut visit,
        };
        Adjacency::work_through(&[self], nodes, order, &mut work)
    }
}
