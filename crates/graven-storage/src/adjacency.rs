//! One direction of one relationship type: lists of neighbours, swept in node order.
//!
//! # How it works
//! [`Adjacency::sweep`] is the kernel of traversals. Nodes arrive sorted; they are gathered into
//! chunks of nodes that share few segments, the pages of a chunk are prefetched while the chunk
//! before it is visited, each page is pinned once, and lists are decoded where the caller asks for
//! them ([`List`]).
//!
//! Forward lists know their relationship ids; for reverse lists [`Adjacency::neighbours`] looks the
//! id up in the forward list of the other end, where parallel relationships stand in the same
//! order.
//!
//! Lists that were changed since the file was written are put together from the file's list and the
//! changes ([`merged`]); an adjacency without changes has no overlay and costs nothing more.
//!
//! # Concurrency
//! Immutable, except that one obtained from a transaction sees its later writes; any number of
//! threads.
//!
//! # Costs
//! Nothing is allocated per list. Memory: the segment map (24 bytes a segment) and two chunks
//! during a sweep.

pub(crate) mod build;
pub(crate) mod decode;
pub(crate) mod encode;
mod ends;
mod id_sweep;
mod list;
mod merged;
mod node_set;
pub(crate) mod order;
pub(crate) mod segment;
mod set_changes;
mod set_probe;
mod set_sweep;
mod span;
mod spread;
mod sweep;
pub(crate) mod writer;

#[cfg(test)]
mod tests;

use crate::bytes::Decoded;
use crate::delta::overlay::{AdjacencyOverlay, Top};
use crate::ids::{Direction, NodeId, RelId, TypeId};
use crate::pages::{Pages, padded_payload};
use crate::segment_map::{Located, SegmentMap};
use crate::{Error, Result};
use graven_pagecache::{PageKind, PagePin, PageRef};
use segment::Segment;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub use list::{IdCursor, List};
pub use node_set::NodeSet;
pub use order::Sweep;

/// Most segments prefetched ahead at once.
const WINDOW_MAX: u64 = 64;

/// A neighbour and the relationship that leads to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Neighbour {
    /// The other node.
    pub node: NodeId,
    /// The relationship.
    pub relationship: RelId,
}

/// What lists need to be read.
#[derive(Debug)]
pub(crate) struct ReadContext {
    pages: Arc<Pages>,
    direction: Direction,
    /// Node ids are below this.
    limit: u64,
    narrow: bool,
}

impl ReadContext {
    fn checked<T>(&self, page: PageRef, decoded: Decoded<T>) -> Result<T> {
        match decoded {
            Ok(value) => Ok(value),
            Err(malformed) => self
                .pages
                .checked(page, PageKind::Adjacency, Err(malformed)),
        }
    }

    #[inline]
    fn segment<'a>(&self, pin: &'a PagePin) -> Decoded<Segment<'a>> {
        Segment::read(padded_payload(pin), pin.len())
    }

    /// Segments that may be prefetched ahead: an eighth of the memory limit.
    fn window(&self) -> usize {
        let segments = self.pages.budget().limit() / 8 / build::SEGMENT_CLASS.bytes() as u64;
        segments.clamp(1, WINDOW_MAX) as usize
    }
}

#[derive(Debug)]
struct Inner {
    context: ReadContext,
    rel_type: TypeId,
    /// `None` if the type has no relationships.
    map: Option<SegmentMap>,
    /// The forward direction, for reverse adjacencies.
    forward: Option<Adjacency>,
    /// See [`Adjacency::node_span`].
    span: OnceLock<Range<u64>>,
}

/// One direction of one relationship type; cheap to clone.
#[derive(Clone, Debug)]
pub struct Adjacency {
    inner: Arc<Inner>,
    /// `None` if nothing was changed since the file was written.
    overlay: Option<Arc<AdjacencyOverlay>>,
    /// Relationships, changes included.
    relationships: u64,
    /// Whether all node ids, those of changes included, fit 32 bits.
    narrow: bool,
}

impl Adjacency {
    pub(crate) fn new(
        pages: Arc<Pages>,
        (rel_type, direction): (TypeId, Direction),
        map: Option<SegmentMap>,
        (node_limit, relationships): (u64, u64),
        forward: Option<Adjacency>,
    ) -> Adjacency {
        let context = ReadContext {
            pages,
            direction,
            limit: node_limit,
            narrow: node_limit <= u64::from(u32::MAX),
        };
        Adjacency {
            inner: Arc::new(Inner {
                context,
                rel_type,
                map,
                forward,
                span: OnceLock::new(),
            }),
            overlay: None,
            relationships,
            narrow: node_limit <= u64::from(u32::MAX),
        }
    }

    /// This with changes on top, which come to `more` relationships; `narrow`: their node ids fit
    /// 32 bits.
    pub(crate) fn with_overlay(
        mut self,
        overlay: AdjacencyOverlay,
        more: i64,
        narrow: bool,
    ) -> Adjacency {
        self.overlay = Some(Arc::new(overlay));
        self.narrow = self.narrow && narrow;
        self.relationships = self.relationships.saturating_add_signed(more);
        self
    }

    /// This with more changes on top of those that it has, as [`Adjacency::with_overlay`].
    pub(crate) fn with_top(
        self,
        of: (TypeId, Direction),
        top: Top,
        more: i64,
        narrow: bool,
    ) -> Adjacency {
        let overlay = AdjacencyOverlay::with_top(self.overlay.as_deref(), of, top);
        self.with_overlay(overlay, more, narrow)
    }

    fn context(&self) -> &ReadContext {
        &self.inner.context
    }

    /// The relationship type.
    #[must_use]
    pub fn rel_type(&self) -> TypeId {
        self.inner.rel_type
    }

    /// The direction.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.inner.context.direction
    }

    /// Whether every node id fits 32 bits, so that [`List::decode`] and [`List::for_each_block`]
    /// work.
    #[must_use]
    pub fn ids_fit_u32(&self) -> bool {
        self.narrow
    }

    /// Relationships in all; those that the transaction at hand changes later are not counted.
    #[must_use]
    pub fn relationship_count(&self) -> u64 {
        self.relationships
    }

    /// Whether nodes around `node` have one neighbour each, as far as the file says: such lists are
    /// read as fast as a column.
    ///
    /// # Errors
    /// What pinning gives; [`Error::Damaged`].
    pub fn seems_sole(&self, node: NodeId) -> Result<bool> {
        let Some(located) = self.locate(node.0)? else {
            return Ok(false);
        };
        let context = self.context();
        let pin = context.pages.pin(located.page, PageKind::Adjacency)?;
        Ok(context
            .checked(located.page, context.segment(&pin))?
            .is_sole())
    }

    /// The segment that would hold the list of `node`.
    fn locate(&self, node: u64) -> Result<Option<Located>> {
        match &self.inner.map {
            None => Ok(None),
            Some(map) => Ok(map.floor(&self.inner.context.pages, node)?.ok()),
        }
    }

    /// Appends the ids of the relationships from each of `starts` (ascending, repeated for parallel
    /// ones) to `end`.
    fn relationships_from(&self, starts: &[u64], end: NodeId, out: &mut Vec<RelId>) -> Result<()> {
        let distinct = starts.chunk_by(|a, b| a == b);
        let mut runs = distinct.map(|run| (run[0], run.len()));
        let firsts = starts.chunk_by(|a, b| a == b).map(|run| NodeId(run[0]));
        self.sweep(firsts, Sweep::Up, |start, list| {
            let positions = list.positions(end)?;
            let parallel = runs
                .next()
                .filter(|run| run.0 == start.0)
                .map_or(0, |run| run.1);
            if positions.len() == parallel {
                list.append_relationships(positions, out)?;
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        if out.len() == starts.len() {
            return Ok(());
        }
        Err(Error::Inconsistent {
            path: self.context().pages.path().to_path_buf(),
            store: format!("adjacency of type {}", self.inner.rel_type),
            what: format!("relationships that end at node {end} are missing at their start nodes"),
        })
    }
}
