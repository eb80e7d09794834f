//! What a transaction did, as the difference of two graphs, applied to what others have committed
//! in between.
//!
//! # How it works
//! A node or relationship that a transaction found has its place in the graph of its beginning;
//! what it made comes after those. Snapshot isolation lets it commit if no other transaction has
//! changed what it changed, deleted an end of a relationship that it made, or made one at a node
//! that it deleted. Then its changes go place by place into the committed graph, and what it made
//! after that.

use crate::graph::{Graph, Rel};

/// A transaction's changes put on the committed graph.
pub(crate) struct Merged {
    pub(crate) graph: Graph,
    /// The transaction changed something.
    pub(crate) changed: bool,
    /// What it may not be committed for.
    pub(crate) conflict: Option<String>,
}

/// Puts what turned `base` into `own` on `committed`, which has grown from the same base.
pub(crate) fn merge(base: &Graph, own: &Graph, committed: &Graph) -> Merged {
    let mut merged = Merged {
        graph: committed.clone(),
        changed: false,
        conflict: None,
    };
    let (nodes, rels) = (base.nodes.len(), base.rels.len());
    for at in 0..nodes {
        if own.nodes[at] == base.nodes[at] {
            continue;
        }
        merged.changed = true;
        if committed.nodes[at] != base.nodes[at] {
            merged.conflict = Some(format!("both changed node {at}"));
        }
        if own.nodes[at].is_none()
            && committed.rels[rels..]
                .iter()
                .flatten()
                .any(|r| ends_at(r, at))
        {
            merged.conflict = Some(format!(
                "node {at} is deleted, another made a relationship there"
            ));
        }
        merged.graph.nodes[at].clone_from(&own.nodes[at]);
    }
    for at in 0..rels {
        if own.rels[at] == base.rels[at] {
            continue;
        }
        merged.changed = true;
        if committed.rels[at] != base.rels[at] {
            merged.conflict = Some(format!("both changed relationship {at}"));
        }
        merged.graph.rels[at].clone_from(&own.rels[at]);
    }
    let moved = |node: usize| match node.checked_sub(nodes) {
        Some(new) => committed.nodes.len() + new,
        None => node,
    };
    let new_nodes = &own.nodes[nodes..];
    merged.changed |= new_nodes.iter().any(Option::is_some);
    merged.graph.nodes.extend(new_nodes.iter().cloned());
    for rel in &own.rels[rels..] {
        merged.changed |= rel.is_some();
        for at in rel.iter().flat_map(|r| [r.start, r.end]) {
            if at < nodes && committed.nodes[at].is_none() {
                merged.conflict = Some(format!("an end of a new relationship, node {at}, is gone"));
            }
        }
        merged.graph.rels.push(rel.clone().map(|rel| Rel {
            start: moved(rel.start),
            end: moved(rel.end),
            ..rel
        }));
    }
    merged
}

fn ends_at(rel: &Rel, node: usize) -> bool {
    rel.start == node || rel.end == node
}
