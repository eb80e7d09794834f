//! Levels of a breadth-first search of which only marks are in memory: the nodes of each lie in
//! temporary pages.
//!
//! # How it works
//! One bit per node says what has been reached, one what the level at hand reaches; which node lies
//! on which level is asked of the ids written ([`IdRun`]). From where a node was reached is not
//! kept: its own list says so, and the level before.
//!
//! # Costs
//! Two bits per node that has relationships of the pattern, some bytes per page written; all
//! charged.

use std::ops::{ControlFlow, Range};

use super::SearchContext;
use crate::error::Result;
use crate::memory::Memory;
use crate::reachability::filtered_neighbors::FilteredNeighbors;
use crate::reachability::node_order::Nodes;
use crate::spill::{IdRun, Spill};

/// See the file header.
pub(super) struct Levels {
    origin: u64,
    /// The node of the first bit.
    first: u64,
    reached: Vec<u64>,
    levels: Vec<IdRun>,
}

/// What a level reaches; searches that take turns need one.
pub(super) struct Fresh(Vec<u64>);

impl Fresh {
    /// For searches over nodes of `span`.
    pub(super) fn new(span: &Range<u64>, memory: &mut Memory) -> Result<Self> {
        let words = words(span);
        memory.charge(words * size_of::<u64>())?;
        Ok(Self(vec![0; words]))
    }
}

fn words(span: &Range<u64>) -> usize {
    usize::try_from((span.end - span.start).div_ceil(64)).unwrap_or(usize::MAX)
}

/// The word and the bit of a place.
fn bit(place: u64) -> (usize, u64) {
    (
        usize::try_from(place / 64).unwrap_or(usize::MAX),
        1 << (place % 64),
    )
}

impl Levels {
    /// The first level: `origin`. All other nodes lie in `span`, which begins at a multiple of 64.
    pub(super) fn new(
        origin: u64,
        span: &Range<u64>,
        spill: &Spill,
        memory: &mut Memory,
    ) -> Result<Self> {
        let words = words(span);
        memory.charge(words * size_of::<u64>() + spill.buffer_bytes())?;
        let mut reached = vec![0; words];
        if span.contains(&origin) {
            let (word, bit) = bit(origin - span.start);
            reached[word] |= bit;
        }
        let mut ids = spill.ids();
        ids.push(origin)?;
        Ok(Self {
            origin,
            first: span.start,
            reached,
            levels: vec![ids.finish()?],
        })
    }

    /// The last level.
    pub(super) fn last(&self) -> u32 {
        u32::try_from(self.levels.len() - 1).unwrap_or(u32::MAX)
    }

    /// The nodes of the last level.
    pub(super) fn frontier(&self) -> &IdRun {
        self.levels.last().expect("the first level is always there")
    }

    /// Whether any level has the node.
    pub(super) fn has_reached(&self, node: u64) -> bool {
        let (word, bit) = bit(node.wrapping_sub(self.first));
        node == self.origin || self.reached.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether this level has the node.
    pub(super) fn contains(&self, level: u32, node: u64) -> Result<bool> {
        match self.levels.get(level as usize) {
            Some(ids) => ids.contains(node),
            None => Ok(false),
        }
    }

    /// Adds a level: what `edges` lead to from the last one.
    pub(super) fn advance(
        &mut self,
        edges: &FilteredNeighbors<'_>,
        fresh: &mut Fresh,
        means: &mut SearchContext<'_>,
    ) -> Result<()> {
        let (first, fresh) = (self.first, &mut fresh.0);
        let (mut from, mut to, mut stray) = (usize::MAX, 0, None);
        let frontier = self.frontier();
        let mut nodes = Vec::new();
        for part in 0..frontier.parts() {
            means.rt.check_cancelled()?;
            frontier.read(part, &mut nodes)?;
            edges.visit(Nodes::List(&nodes), |node, skip_loops, ids| {
                ids.for_each(|neighbour| {
                    let (word, bit) = bit(neighbour.wrapping_sub(first));
                    match fresh.get_mut(word) {
                        _ if skip_loops && neighbour == node => {}
                        Some(bits) => {
                            *bits |= bit;
                            (from, to) = (from.min(word), to.max(word + 1));
                        }
                        None => stray = Some(neighbour),
                    }
                });
                ControlFlow::Continue(())
            })?;
        }
        if let Some(stray) = stray {
            return Err(edges.pattern().stray(stray));
        }
        let mut ids = means.spill.expect("levels are written").ids();
        let from = from.min(to);
        let words = fresh[from..to].iter_mut().zip(&mut self.reached[from..to]);
        for (base, (fresh, reached)) in (first + from as u64 * 64..).step_by(64).zip(words) {
            let mut new = std::mem::take(fresh) & !*reached;
            *reached |= new;
            while new != 0 {
                ids.push(base + u64::from(new.trailing_zeros()))?;
                new &= new - 1;
            }
        }
        let level = ids.finish()?;
        means
            .memory
            .charge(size_of::<IdRun>() + level.heap_bytes())?;
        self.levels.push(level);
        Ok(())
    }
}
