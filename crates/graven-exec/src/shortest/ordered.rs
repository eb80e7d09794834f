//! Trails between two nodes in order of length, under any bounds.
//!
//! # How it works
//! A breadth-first search from the end gives every node its distance to it. Partial trails are kept as a tree; the one
//! whose length and remaining distance are least is extended next, by relationships it does not use yet, towards
//! nodes from which the end can be reached within the upper bound. Trails that end where they should come out in
//! ascending length.
//!
//! # Costs
//! 24 bytes a partial trail, 24 bytes a node that reaches the end; all charged.
//!
//! # Source
//! Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum cost paths", 1968.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::Sides;
use crate::error::Result;
use crate::memory::Memory;
use crate::runtime::Runtime;

const NODE_BYTES: usize = 24;
const PARTIAL_BYTES: usize = size_of::<Partial>() + 8;
/// No trail leads here.
const ROOT: u32 = u32::MAX;

/// A trail that may grow: its last relationship and the trail before.
#[derive(Clone, Copy)]
struct Partial {
    node: u64,
    relationship: u64,
    before: u32,
    length: u32,
}

/// See the file header.
pub(crate) struct Ordered {
    end: u64,
    min: u32,
    max: u32,
    /// Relationships from a node to the end.
    distance: HashMap<u64, u32, RandomState>,
    partials: Vec<Partial>,
    /// Partial trails by the least length they can have at the end.
    waiting: BTreeMap<u32, Vec<u32>>,
}

impl Ordered {
    /// Prepares the search from `start` to `end`.
    pub(crate) fn new(
        start: u64,
        end: u64,
        (min, max): (u32, Option<u32>),
        edges: &Sides<'_>,
        memory: &mut Memory,
        rt: &Runtime,
    ) -> Result<Self> {
        let max = max.unwrap_or(u32::MAX);
        let mut search = Self {
            end,
            min,
            max,
            distance: HashMap::default(),
            partials: Vec::new(),
            waiting: BTreeMap::new(),
        };
        search.distance.insert(end, 0);
        let mut frontier = vec![end];
        let mut level = 0;
        while !frontier.is_empty() && level < max {
            level += 1;
            let mut next = Vec::new();
            frontier.sort_unstable();
            for (count, node) in frontier.iter().enumerate() {
                if count % 256 == 0 {
                    rt.check_cancelled()?;
                }
                for (neighbour, _) in edges.relationships(false, *node)? {
                    if let std::collections::hash_map::Entry::Vacant(entry) =
                        search.distance.entry(neighbour)
                    {
                        memory.charge(NODE_BYTES)?;
                        entry.insert(level);
                        next.push(neighbour);
                    }
                }
            }
            frontier = next;
        }
        search.add(
            Partial {
                node: start,
                relationship: u64::MAX,
                before: ROOT,
                length: 0,
            },
            memory,
        )?;
        Ok(search)
    }

    fn add(&mut self, partial: Partial, memory: &mut Memory) -> Result<()> {
        let Some(left) = self.distance.get(&partial.node) else {
            return Ok(());
        };
        let least = partial.length.saturating_add(*left);
        if least <= self.max {
            memory.charge(PARTIAL_BYTES)?;
            let number = u32::try_from(self.partials.len()).unwrap_or(ROOT);
            self.partials.push(partial);
            self.waiting.entry(least).or_default().push(number);
        }
        Ok(())
    }

    /// The relationships of a partial trail, last first.
    fn backwards(&self, mut number: u32) -> impl Iterator<Item = u64> {
        std::iter::from_fn(move || {
            let partial = self.partials.get(number as usize)?;
            number = partial.before;
            (partial.before != ROOT).then_some(partial.relationship)
        })
    }

    /// The relationships of the next trail, in order of travel.
    pub(crate) fn next(
        &mut self,
        edges: &Sides<'_>,
        memory: &mut Memory,
        rt: &Runtime,
    ) -> Result<Option<Vec<u64>>> {
        let mut steps = 0_u32;
        while let Some(mut shortest) = self.waiting.first_entry() {
            let Some(number) = shortest.get_mut().pop() else {
                shortest.remove();
                continue;
            };
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1024) {
                rt.check_cancelled()?;
            }
            let partial = self.partials[number as usize];
            if partial.length < self.max {
                let used: Vec<u64> = self.backwards(number).collect();
                for (node, relationship) in edges.relationships(true, partial.node)? {
                    if !used.contains(&relationship) {
                        let grown = Partial {
                            node,
                            relationship,
                            before: number,
                            length: partial.length + 1,
                        };
                        self.add(grown, memory)?;
                    }
                }
            }
            if partial.node == self.end && partial.length >= self.min {
                let mut trail: Vec<u64> = self.backwards(number).collect();
                trail.reverse();
                return Ok(Some(trail));
            }
        }
        Ok(None)
    }
}
