//! Distances of nodes from an origin, as far as they were asked for.
//!
//! # How it works
//! A breadth-first search that goes one level further when told to. Distances are kept by place
//! where the pattern has few nodes, in a table where few are reached. Where that is more than an
//! operator should have, levels are written to temporary pages ([`Levels`]).
//!
//! # Costs
//! 20 bytes a node by place, 40 bytes a node reached, or as [`super::levels`] says; all charged.

use std::collections::HashMap;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::levels::{Fresh, Levels};
use super::{SearchContext, Sides};
use crate::error::Result;
use crate::reachability::node_order::Nodes;

/// A node by place, those of two frontiers included.
const PLACE_BYTES: usize = size_of::<u32>() + 2 * size_of::<u64>();
/// A node in the table, its place in a frontier included.
const ENTRY_BYTES: usize = 40;
/// Not reached.
const UNKNOWN: u32 = u32::MAX;

/// See the file header.
pub(crate) struct Distances {
    origin: u64,
    forward: bool,
    form: Form,
    /// Nodes of the last level, if it is not written.
    frontier: Vec<u64>,
    /// All nodes up to this distance are known.
    depth: u32,
    bytes: usize,
    /// What has been done for want of distances, in lists read.
    wanting: usize,
}

enum Form {
    ByPlace { first: u64, distances: Vec<u32> },
    Table(HashMap<u64, u32, RandomState>),
    Written(Box<(Levels, Fresh)>),
}

impl Form {
    /// What is known of a node.
    fn get(&self, node: u64) -> Option<u32> {
        match self {
            Self::ByPlace { first, distances } => {
                let place = usize::try_from(node.wrapping_sub(*first)).ok()?;
                distances.get(place).copied().filter(|d| *d != UNKNOWN)
            }
            Self::Table(distances) => distances.get(&node).copied(),
            Self::Written(_) => None,
        }
    }
}

impl Distances {
    /// From `origin`, along the relationships forwards or against them.
    pub(crate) fn new(
        origin: u64,
        forward: bool,
        edges: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<Self> {
        let span = edges.forward.pattern().span()?;
        let nodes = span.end - span.start;
        let bytes = usize::try_from(nodes)
            .unwrap_or(usize::MAX)
            .saturating_mul(PLACE_BYTES);
        let is_dense = nodes <= means.rt.tuning.dense_nodes && means.memory.is_small(bytes);
        let mut distances = Self {
            origin,
            forward,
            form: Form::Table(HashMap::default()),
            frontier: vec![origin],
            depth: 0,
            bytes: 0,
            wanting: 0,
        };
        if is_dense && means.memory.keeps_more(bytes) {
            distances.bytes = bytes;
            distances.form = Form::ByPlace {
                first: span.start,
                distances: vec![UNKNOWN; bytes / PLACE_BYTES],
            };
        }
        Ok(distances)
    }

    /// Whether it searches from this end, forwards from a start.
    pub(crate) fn is_from(&self, origin: u64, forward: bool) -> bool {
        self.origin == origin && self.forward == forward
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The node distances are from.
    pub(super) fn origin(&self) -> u64 {
        self.origin
    }

    /// Nodes of the last level.
    fn frontier_len(&self) -> usize {
        match &self.form {
            Form::Written(written) => written.0.frontier().len(),
            _ => self.frontier.len(),
        }
    }

    /// Whether the distance of the node is known, or that there is none.
    pub(super) fn knows(&self, node: u64) -> bool {
        let is_reached = match &self.form {
            Form::Written(written) => written.0.has_reached(node),
            form => node == self.origin || form.get(node).is_some(),
        };
        is_reached || self.frontier_len() == 0
    }

    /// The distance of a node, or something less but more than `most` where it is more than `most`,
    /// or than is known; `None` if the origin does not lead there.
    pub(super) fn least(&self, node: u64, most: u32) -> Result<Option<u32>> {
        if node == self.origin {
            return Ok(Some(0));
        }
        let beyond = (self.frontier_len() > 0).then_some(self.depth + 1);
        let Form::Written(written) = &self.form else {
            return Ok(self.form.get(node).or(beyond));
        };
        let levels = &written.0;
        if !levels.has_reached(node) {
            return Ok(beyond);
        }
        for level in 1..=most.min(self.depth) {
            if levels.contains(level, node)? {
                return Ok(Some(level));
            }
        }
        Ok(Some(most.saturating_add(1)))
    }

    /// Notes that a list was read for want of distances; a level more is found as soon as that
    /// costs no more than has been done without, divided among the `rows` that profit.
    pub(super) fn miss(
        &mut self,
        rows: usize,
        edges: &Sides<'_>,
        means: &mut SearchContext<'_>,
    ) -> Result<()> {
        self.wanting += 1;
        let size = self.frontier_len();
        if size > 0 && self.wanting.saturating_mul(rows) >= size {
            self.wanting = 0;
            self.advance(edges, means)?;
        }
        Ok(())
    }

    /// Goes one level further.
    fn advance(&mut self, edges: &Sides<'_>, means: &mut SearchContext<'_>) -> Result<()> {
        means.rt.check_cancelled()?;
        if let Form::Written(written) = &mut self.form {
            let (levels, fresh) = &mut **written;
            let before = means.memory.used();
            levels.advance(edges.edges(self.forward), fresh, means)?;
            self.bytes += means.memory.used() - before;
            self.depth += 1;
            return Ok(());
        }
        let depth = self.depth + 1;
        let (mut next, mut refused) = (Vec::new(), None);
        let mut taken = 0;
        self.frontier.sort_unstable();
        let (origin, form) = (self.origin, &mut self.form);
        let nodes = Nodes::List(&self.frontier);
        edges.edges(self.forward).visit(nodes, |_, _, ids| {
            ids.for_each(|node| {
                if node == origin || refused.is_some() || form.get(node).is_some() {
                    return;
                }
                match form {
                    Form::ByPlace { first, distances } => {
                        let place = usize::try_from(node.wrapping_sub(*first)).ok();
                        match place.and_then(|place| distances.get_mut(place)) {
                            Some(distance) => *distance = depth,
                            None => refused = Some(Some(edges.forward.pattern().stray(node))),
                        }
                    }
                    Form::Table(distances) => match means.take(ENTRY_BYTES) {
                        Ok(()) => {
                            taken += ENTRY_BYTES;
                            distances.insert(node, depth);
                        }
                        Err(refusal) => refused = Some(refusal),
                    },
                    Form::Written(_) => unreachable!("goes on by itself"),
                }
                next.push(node);
            });
            match refused {
                None => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
            }
        })?;
        self.bytes += taken;
        match refused {
            Some(Some(error)) => return Err(error),
            Some(None) => {
                self.write(edges, means)?;
                return self.advance(edges, means);
            }
            None => {}
        }
        self.depth = depth;
        self.frontier = next;
        Ok(())
    }

    /// Finds all levels again, in temporary pages.
    fn write(&mut self, edges: &Sides<'_>, means: &mut SearchContext<'_>) -> Result<()> {
        self.form = Form::Table(HashMap::default());
        self.frontier = Vec::new();
        means.memory.release(self.bytes);
        let before = means.memory.used();
        let span = edges.forward.pattern().span()?;
        let spill = means.spill.expect("levels are written");
        let mut fresh = Fresh::new(&span, means.memory)?;
        let mut levels = Levels::new(self.origin, &span, spill, means.memory)?;
        for _ in 0..self.depth {
            levels.advance(edges.edges(self.forward), &mut fresh, means)?;
        }
        self.bytes = means.memory.used() - before;
        self.form = Form::Written(Box::new((levels, fresh)));
        Ok(())
    }
}
