//! The changes of relationships of one type and direction, list by list.

use super::Top;
use crate::Result;
use crate::delta::change::list_of;
use crate::delta::change::{Change, EdgeKey};
use crate::delta::committed::CommittedLayers;
use crate::delta::filter_key::FilterKey;
use crate::delta::immutable_delta::{DeltaPart, DeltaView};
use crate::ids::{Direction, RelId, TypeId};
use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// What changed in one list: (neighbour, relationship) with what became of it.
pub(crate) type Changes = BTreeMap<(u64, RelId), Change>;

/// Changes of one direction of one type.
#[derive(Clone, Debug)]
pub(crate) struct AdjacencyOverlay {
    committed_base: Option<Arc<[DeltaPart<EdgeKey, Change>]>>,
    top: Top,
    of: (TypeId, Direction),
}

impl AdjacencyOverlay {
    /// The committed changes, if there are any.
    pub(crate) fn new(
        committed_base: &CommittedLayers,
        of: (TypeId, Direction),
    ) -> Option<AdjacencyOverlay> {
        let committed_base = committed_base.maps(|layer| layer.edges(of.0, of.1));
        committed_base.is_some().then(|| AdjacencyOverlay {
            committed_base,
            top: Top::default(),
            of,
        })
    }

    /// These changes, or none, with others on top.
    pub(crate) fn with_top(
        committed_base: Option<&AdjacencyOverlay>,
        of: (TypeId, Direction),
        top: Top,
    ) -> Self {
        AdjacencyOverlay {
            committed_base: committed_base.and_then(|it| it.committed_base.clone()),
            top,
            of,
        }
    }

    /// The maps as of now, oldest first.
    pub(crate) fn edges(&self) -> Edges {
        let mut maps = self.top.maps(|layer| layer.edges(self.of.0, self.of.1));
        maps.extend(self.committed_base.iter().flat_map(|it| it.iter().cloned()));
        maps.reverse();
        Edges { maps }
    }

    /// Changes of the list of `node` as of now.
    pub(crate) fn list(&self, node: u64) -> Result<Changes> {
        let mut changes = Changes::new();
        let (rel_type, direction) = self.of;
        for map in self.committed_base.iter().flat_map(|it| it.iter().rev()) {
            add_list(map, node, &mut changes)?;
        }
        let about = FilterKey::Node(node);
        let commit_tail = self.top.commit_tail.as_ref().filter(|it| it.touches(about));
        for layer in commit_tail.into_iter().flat_map(|it| it.oldest_first()) {
            if let Some(map) = DeltaView::Memory(layer).edges(rel_type, direction) {
                add_list(&map, node, &mut changes)?;
            }
        }
        let write_set = self.top.own_maps(|layer| layer.edges(rel_type, direction));
        for map in write_set.iter().rev() {
            add_list(map, node, &mut changes)?;
        }
        Ok(changes)
    }

    /// The nodes with changed lists lie in this range.
    pub(crate) fn span(&self) -> Result<Option<Range<u64>>> {
        let edges = self.edges();
        let Some(first) = edges.next(0)? else {
            return Ok(None);
        };
        Ok(edges.previous(u64::MAX)?.map(|last| first..last + 1))
    }

    /// Whether a serialisable transaction wants to know what is read.
    pub(crate) fn records(&self) -> bool {
        self.top
            .write_set
            .as_ref()
            .is_some_and(|write_set| write_set.records())
    }

    /// As [`AdjacencyOverlay::note`] for many nodes.
    pub(crate) fn note_all(&self, nodes: &[u64]) {
        nodes.iter().for_each(|node| self.note(*node));
    }

    /// Tells a serialisable transaction that the list of `node` is read.
    #[inline]
    pub(crate) fn note(&self, node: u64) {
        if let Some(write_set) = &self.top.write_set {
            write_set.read_list(self.of, node);
        }
    }
}

/// Changed entries of lists, fixed for one sweep.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    /// Oldest first.
    pub(in crate::delta) maps: Vec<DeltaPart<EdgeKey, Change>>,
}

impl Edges {
    /// The first node with a changed list that is not below `node`.
    pub(crate) fn next(&self, node: u64) -> Result<Option<u64>> {
        let mut first: Option<u64> = None;
        for map in &self.maps {
            let found = map.next(Bound::Included(&list_of(node).0))?;
            let found = found.map(|(key, _)| key.0);
            first = first.into_iter().chain(found).min();
        }
        Ok(first)
    }

    /// The last node with a changed list that is not above `node`.
    pub(crate) fn previous(&self, node: u64) -> Result<Option<u64>> {
        let mut last: Option<u64> = None;
        for map in &self.maps {
            let found = map.previous(Bound::Included(&list_of(node).1))?;
            let found = found.map(|(key, _)| key.0);
            last = last.max(found);
        }
        Ok(last)
    }

    /// Changes of the list of `node`.
    pub(crate) fn list(&self, node: u64) -> Result<Changes> {
        let mut changes = Changes::new();
        for map in &self.maps {
            add_list(map, node, &mut changes)?;
        }
        Ok(changes)
    }
}

/// Puts what a map says of the list of `node` over what older ones say.
fn add_list(map: &DeltaPart<EdgeKey, Change>, node: u64, changes: &mut Changes) -> Result<()> {
    if !map.may_have_list(node) {
        return Ok(());
    }
    map.visit(Bound::Included(&list_of(node).0), &mut |key, change| {
        let of_node = key.0 == node;
        if of_node {
            put_over(changes, key, *change);
        }
        of_node
    })
}

/// Puts what a newer layer says of an entry of a list over what older ones say.
pub(in crate::delta) fn put_over(changes: &mut Changes, (_, other, id): &EdgeKey, change: Change) {
    let key = (*other, RelId(*id));
    // What one layer adds and a newer one removes is not in the base (TX-4).
    if change == Change::Added || changes.remove(&key).is_none() {
        changes.insert(key, change);
    }
}
