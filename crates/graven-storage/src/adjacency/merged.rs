//! Lists with changes on top of the file's: how a touched list is put together, and single lists of
//! one node.

use super::list::{Body, List, Merged};
use super::segment::Segment;
use super::{Adjacency, Neighbour, ReadContext};
use crate::Result;
use crate::delta::change::Change;
use crate::delta::overlay::Changes;
use crate::ids::{Direction, NodeId};
use graven_pagecache::{PageKind, PageRef, SizeClass};

/// Lists longer than this count against the memory limit while they are put together.
const CHARGED_FROM: usize = 4096;

impl Merged {
    /// Becomes `base` with `changes`.
    pub(super) fn fill(
        &mut self,
        context: &ReadContext,
        base: Option<&List<'_>>,
        changes: &Changes,
    ) -> Result<()> {
        self.nodes.clear();
        self.relationships.clear();
        self.base_nodes.clear();
        self.base_relationships.clear();
        let longest = base.map_or(0, List::len) + changes.len();
        if longest > CHARGED_FROM {
            let budget = context.pages.budget();
            let charged = self
                .charged
                .get_or_insert_with(|| budget.empty_reservation("changed lists"));
            // Neighbours and ids, before and after.
            charged.resize(charged.bytes().max(longest as u64 * 32))?;
        }
        if let Some(list) = base {
            list.decode_wide(&mut self.base_nodes)?;
            if context.direction == Direction::Out {
                list.append_relationships(0..self.base_nodes.len(), &mut self.base_relationships)?;
            }
        }
        match context.direction {
            Direction::Out => self.merge_forward(changes),
            Direction::In => self.merge_reverse(changes),
        }
        Ok(())
    }

    fn merge_forward(&mut self, changes: &Changes) {
        let mut push = |node, relationship| {
            self.nodes.push(node);
            self.relationships.push(relationship);
        };
        let mut changes = changes.iter().peekable();
        for (node, id) in self.base_nodes.iter().zip(&self.base_relationships) {
            let mut gone = false;
            while let Some((key, change)) = changes.next_if(|(key, _)| **key <= (*node, *id)) {
                match change {
                    Change::Added => push(key.0, key.1),
                    Change::Removed => gone |= *key == (*node, *id),
                }
            }
            if !gone {
                push(*node, *id);
            }
        }
        for (key, change) in changes {
            if *change == Change::Added {
                push(key.0, key.1);
            }
        }
    }

    /// Reverse lists hold no ids: of equal neighbours as many go as were removed (TX-4: those are
    /// in the base).
    fn merge_reverse(&mut self, changes: &Changes) {
        let mut changes = changes.iter().peekable();
        let mut going: (u64, usize) = (0, 0);
        for node in &self.base_nodes {
            if going.0 != *node {
                going = (*node, 0);
            }
            while let Some(((other, _), change)) = changes.next_if(|(key, _)| key.0 <= *node) {
                match change {
                    Change::Added => self.nodes.push(*other),
                    Change::Removed if *other == *node => going.1 += 1,
                    Change::Removed => {}
                }
            }
            if going.1 > 0 {
                going.1 -= 1;
            } else {
                self.nodes.push(*node);
            }
        }
        for ((other, _), change) in changes {
            if *change == Change::Added {
                self.nodes.push(*other);
            }
        }
    }

    /// This as the list of `node`.
    pub(super) fn list<'a>(&'a self, context: &'a ReadContext, node: u64) -> List<'a> {
        List {
            context,
            page: PageRef::new(SizeClass::MIN, 0),
            segment: Segment::NONE,
            node,
            body: Body::Merged(self),
        }
    }
}

impl Adjacency {
    /// The changes of the list of `node`, if there are any.
    fn changes_of(&self, node: NodeId) -> Result<Option<Changes>> {
        let Some(overlay) = &self.overlay else {
            return Ok(None);
        };
        overlay.note(node.0);
        let changes = overlay.list(node.0)?;
        Ok((!changes.is_empty()).then_some(changes))
    }

    /// Calls `visit` with the list of `node` if it has one.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`]; what `visit` returns.
    pub fn with_list<T>(
        &self,
        node: NodeId,
        visit: impl FnOnce(&List<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(changes) = self.changes_of(node)? else {
            return self.with_base_list(node, visit);
        };
        let mut merged = Merged::default();
        let context = self.context();
        let filled =
            self.with_base_list(node, |base| merged.fill(context, Some(base), &changes))?;
        if filled.is_none() {
            merged.fill(context, None, &changes)?;
        }
        if merged.nodes.is_empty() {
            return Ok(None);
        }
        visit(&merged.list(context, node.0)).map(Some)
    }

    /// As [`Adjacency::with_list`] for what the file says.
    fn with_base_list<T>(
        &self,
        node: NodeId,
        visit: impl FnOnce(&List<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(located) = self.locate(node.0)? else {
            return Ok(None);
        };
        let context = self.context();
        let pin = context.pages.pin(located.page, PageKind::Adjacency)?;
        let segment = context.checked(located.page, context.segment(&pin))?;
        List::find(context, located.page, &segment, node.0)?
            .map(|list| visit(&list))
            .transpose()
    }

    /// Number of relationships of `node` in this direction.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`].
    pub fn degree(&self, node: NodeId) -> Result<u64> {
        let base = self.with_base_list(node, |list| Ok(list.len() as u64))?;
        let mut degree = base.unwrap_or(0);
        for change in self.changes_of(node)?.unwrap_or_default().values() {
            match change {
                Change::Added => degree += 1,
                Change::Removed => degree = degree.saturating_sub(1),
            }
        }
        Ok(degree)
    }

    /// Appends the neighbours of `node`, ascending, with the ids of the relationships.
    ///
    /// # Errors
    /// What pinning gives; [`crate::Error::Damaged`]; [`crate::Error::Inconsistent`] if the
    /// directions disagree.
    pub fn neighbours(&self, node: NodeId, out: &mut Vec<Neighbour>) -> Result<()> {
        let Some(changes) = self.changes_of(node)? else {
            return self.base_neighbours(node, out);
        };
        let start = out.len();
        self.base_neighbours(node, out)?;
        let mut list = out.split_off(start);
        list.retain(|it| changes.get(&(it.node.0, it.relationship)) != Some(&Change::Removed));
        let added = changes
            .iter()
            .filter(|(_, change)| **change == Change::Added);
        list.extend(added.map(|((node, relationship), _)| Neighbour {
            node: NodeId(*node),
            relationship: *relationship,
        }));
        list.sort_unstable();
        out.append(&mut list);
        Ok(())
    }

    fn base_neighbours(&self, node: NodeId, out: &mut Vec<Neighbour>) -> Result<()> {
        let mut nodes = Vec::new();
        let mut ids = Vec::new();
        let found = self.with_base_list(node, |list| {
            list.decode_wide(&mut nodes)?;
            if self.direction() == Direction::Out {
                list.append_relationships(0..nodes.len(), &mut ids)?;
            }
            Ok(())
        })?;
        if found.is_none() {
            return Ok(());
        }
        if let Some(forward) = &self.inner.forward {
            forward.relationships_from(&nodes, node, &mut ids)?;
        }
        out.extend(nodes.iter().zip(ids).map(|(node, relationship)| Neighbour {
            node: NodeId(*node),
            relationship,
        }));
        Ok(())
    }
}
