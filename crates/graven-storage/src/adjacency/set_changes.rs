//! Sweeping a set of nodes where some lists are changed: those apart, the others as ever.
//!
//! # How it works
//! Nodes of the set whose list is changed in one of the adjacencies are taken out of a copy of the
//! set, by leapfrogging between set and changes. The copy is swept over the file, then those nodes
//! over file and changes.

use super::Adjacency;
use super::node_set::NodeSet;
use crate::Result;
use crate::adjacency::order::Sweep;
use crate::delta::changed_lists::Cursor;
use crate::delta::overlay::Edges;
use crate::ids::NodeId;
use std::ops::ControlFlow;

/// Nodes of `set` with changes in one of `edges`, ascending.
fn changed_nodes(edges: &[Edges], set: NodeSet<'_>) -> Result<Vec<u64>> {
    let mut changed = Vec::new();
    for edges in edges {
        let mut walk = Cursor::new(edges, Sweep::Up);
        let mut from = 0;
        while let Some(node) = set.next(from)
            && let Some(touched) = walk.next(node)?
        {
            if touched == node {
                changed.push(node);
            }
            from = touched.max(node + 1);
        }
    }
    changed.sort_unstable();
    changed.dedup();
    Ok(changed)
}

/// As [`Adjacency::sweep_set`] where some of `adjacencies` have changes.
pub(super) fn sweep<F>(
    adjacencies: &[&Adjacency],
    nodes: NodeSet<'_>,
    order: Sweep,
    visit: &mut F,
) -> Result<()>
where
    F: FnMut(usize, NodeId, &[u32]) -> ControlFlow<()>,
{
    let overlays = || adjacencies.iter().filter_map(|it| it.overlay.as_deref());
    for overlay in overlays().filter(|overlay| overlay.records()) {
        let mut from = 0;
        while let Some(node) = nodes.next(from) {
            overlay.note(node);
            from = node + 1;
        }
    }
    let edges: Vec<Edges> = overlays().map(|overlay| overlay.edges()).collect();
    let mut changed = changed_nodes(&edges, nodes)?;
    if changed.is_empty() {
        return Adjacency::sweep_stored_set(adjacencies, nodes, order, visit);
    }
    let bytes = (nodes.words().len() + changed.len()) as u64 * 8;
    let budget = adjacencies[0].context().pages.budget();
    let _charged = budget.reserve("changed lists", bytes)?;
    let first = nodes.first().0;
    let mut words = nodes.words().to_vec();
    for node in &changed {
        let at = node - first;
        words[(at / 64) as usize] &= !(1 << (at % 64));
    }
    let mut flow = ControlFlow::Continue(());
    let set = NodeSet::new(nodes.first(), &words);
    Adjacency::sweep_stored_set(adjacencies, set, order, &mut |number, node, list| {
        flow = visit(number, node, list);
        flow
    })?;
    if order == Sweep::Down {
        changed.reverse();
    }
    let mut scratch = Vec::new();
    for (number, adjacency) in adjacencies.iter().enumerate() {
        if flow.is_break() {
            return Ok(());
        }
        adjacency.sweep(changed.iter().copied().map(NodeId), order, |node, list| {
            flow = visit(number, node, list.decode(&mut scratch)?);
            Ok(flow)
        })?;
    }
    Ok(())
}
