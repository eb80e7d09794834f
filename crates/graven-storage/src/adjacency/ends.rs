//! Where a relationship of the bulk load starts and ends, by its id.
//!
//! # How it works
//! Ids of the bulk load ascend with the forward lists, so the directory leads to the segment. Those
//! of relationships created later are found in columns ([`crate::RelationshipPart`]).

use super::{Adjacency, List};
use crate::Result;
use crate::ids::{NodeId, RelId};
use graven_pagecache::{PageKind, PageRef};

impl Adjacency {
    /// Start and end of a relationship of the bulk load, on the forward direction.
    pub(crate) fn endpoints(&self, id: RelId) -> Result<Option<(NodeId, NodeId)>> {
        let Some(map) = &self.inner.map else {
            return Ok(None);
        };
        let context = self.context();
        let Some(located) = map.floor_by_extra(&context.pages, id.0)? else {
            return Ok(None);
        };
        let pin = context.pages.pin(located.page, PageKind::Adjacency)?;
        let segment = context.checked(located.page, context.segment(&pin))?;
        if segment.is_head() {
            let parts = (0..segment.part_count()).map(|index| segment.part(index));
            let parts: crate::bytes::Decoded<Vec<_>> = parts.collect();
            let parts = context.checked(located.page, parts)?;
            // As loaded, the part follows from the id; after changes it is near.
            let guess = id.0 - located.extra;
            let behind = parts.partition_point(|part| part.before <= guess).max(1);
            let order = (0..behind).rev().chain(behind..parts.len());
            for index in order {
                let ends = self.in_page(parts[index].page, id)?;
                if ends.is_some() {
                    return Ok(ends);
                }
            }
            return Ok(None);
        }
        self.in_page(located.page, id)
    }

    /// The ends of `id` if its forward entry is in `page`.
    fn in_page(&self, page: PageRef, id: RelId) -> Result<Option<(NodeId, NodeId)>> {
        let context = self.context();
        let pin = context.pages.pin(page, PageKind::Adjacency)?;
        let segment = context.checked(page, context.segment(&pin))?;
        let Some(rank) = segment.rank_of_relationship(id.0) else {
            return Ok(None);
        };
        let (start, position) = context.checked(page, segment.node_at_rank(rank))?;
        let Some(list) = List::find(context, page, &segment, start)? else {
            return Ok(None);
        };
        let mut neighbours = Vec::new();
        list.decode_wide(&mut neighbours)?;
        let end = neighbours.get(position as usize);
        Ok(end.map(|end| (NodeId(start), NodeId(*end))))
    }
}
