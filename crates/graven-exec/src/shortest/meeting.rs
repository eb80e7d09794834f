//! Breadth-first searches from both ends that meet in the middle.
//!
//! # How it works
//! The side with the smaller frontier goes one level further. Every node reached keeps the relationships by which it
//! was reached on its level: the first one, or all. At the first level on which the sides meet, every shortest trail
//! passes exactly one of the nodes met, because no trail is shorter than the sum of the levels. Trails are then
//! read off one by one, like the numbers of an odometer.
//!
//! # Costs
//! A node reached takes about 70 bytes, charged as it is reached; two searches of half the length reach far fewer
//! nodes than one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use super::Sides;
use crate::error::Result;
use crate::memory::Memory;
use crate::runtime::Runtime;

/// Bytes of a node that has been reached, its place in a frontier included.
const NODE_BYTES: usize = 72;

/// How a node was reached: from which node, by which relationship.
type Step = (u64, u64);

struct Reached {
    level: u32,
    first: Step,
    more: Vec<Step>,
}

struct Side {
    forward: bool,
    reached: HashMap<u64, Reached, RandomState>,
    frontier: Vec<u64>,
    level: u32,
}

/// The shortest trails between two different nodes.
pub(crate) struct Meeting {
    sides: [Side; 2],
    /// Nodes on which the sides met and that are not read off yet.
    met: Vec<u64>,
    odometer: Option<Odometer>,
}

/// One trail through `middle`: at each node which of its steps is taken.
struct Odometer {
    middle: u64,
    digits: Vec<Digit>,
}

struct Digit {
    side: usize,
    node: u64,
    step: usize,
}

impl Side {
    fn new(start: u64, forward: bool) -> Self {
        let mut reached = HashMap::default();
        let origin = Reached {
            level: 0,
            first: (start, u64::MAX),
            more: Vec::new(),
        };
        reached.insert(start, origin);
        Self {
            forward,
            reached,
            frontier: vec![start],
            level: 0,
        }
    }

    /// Reaches the next level.
    fn advance(
        &mut self,
        sides: &Sides<'_>,
        all: bool,
        memory: &mut Memory,
        rt: &Runtime,
    ) -> Result<()> {
        self.level += 1;
        let mut next = Vec::new();
        self.frontier.sort_unstable();
        for (count, node) in self.frontier.iter().enumerate() {
            if count % 256 == 0 {
                rt.check_cancelled()?;
            }
            for (neighbour, relationship) in sides.relationships(self.forward, *node)? {
                match self.reached.entry(neighbour) {
                    Entry::Vacant(entry) => {
                        memory.charge(NODE_BYTES)?;
                        entry.insert(Reached {
                            level: self.level,
                            first: (*node, relationship),
                            more: Vec::new(),
                        });
                        next.push(neighbour);
                    }
                    Entry::Occupied(mut entry) if all && entry.get().level == self.level => {
                        memory.charge(2 * size_of::<Step>())?;
                        entry.get_mut().more.push((*node, relationship));
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
        self.frontier = next;
        Ok(())
    }

    fn step(&self, node: u64, step: usize) -> Option<Step> {
        let reached = self.reached.get(&node)?;
        match step {
            0 => Some(reached.first),
            more => reached.more.get(more - 1).copied(),
        }
    }

    fn is_origin(&self, node: u64) -> bool {
        self.reached.get(&node).is_some_and(|r| r.level == 0)
    }
}

impl Meeting {
    /// Searches between `start` and `end`, which differ, for trails of at most `max` relationships.
    pub(crate) fn search(
        (start, end): (u64, u64),
        max: Option<u32>,
        all: bool,
        edges: &Sides<'_>,
        memory: &mut Memory,
        rt: &Runtime,
    ) -> Result<Self> {
        let mut meeting = Self {
            sides: [Side::new(start, true), Side::new(end, false)],
            met: Vec::new(),
            odometer: None,
        };
        loop {
            let [from, to] = &meeting.sides;
            let length = from.level + to.level;
            let is_over = from.frontier.is_empty() || to.frontier.is_empty();
            if is_over || max.is_some_and(|max| length >= max) {
                return Ok(meeting);
            }
            let nearer = usize::from(to.frontier.len() < from.frontier.len());
            meeting.sides[nearer].advance(edges, all, memory, rt)?;
            let (near, far) = (&meeting.sides[nearer], &meeting.sides[1 - nearer]);
            meeting.met = near
                .frontier
                .iter()
                .copied()
                .filter(|node| far.reached.contains_key(node))
                .collect();
            if !meeting.met.is_empty() {
                return Ok(meeting);
            }
        }
    }

    /// The relationships of the next trail, in order of travel.
    pub(crate) fn next(&mut self) -> Option<Vec<u64>> {
        let turned = self.odometer.take().and_then(|o| self.turned(o));
        let odometer = match turned {
            Some(odometer) => odometer,
            None => {
                let middle = self.met.pop()?;
                self.completed(Odometer {
                    middle,
                    digits: Vec::new(),
                })
            }
        };
        let mut back = Vec::new();
        let mut on = Vec::new();
        for digit in &odometer.digits {
            let (_, relationship) = self.sides[digit.side].step(digit.node, digit.step)?;
            if digit.side == 0 {
                back.push(relationship);
            } else {
                on.push(relationship);
            }
        }
        back.reverse();
        back.extend(on);
        self.odometer = Some(odometer);
        Some(back)
    }

    /// The next combination of steps; `None` after the last one.
    fn turned(&self, mut odometer: Odometer) -> Option<Odometer> {
        while let Some(mut digit) = odometer.digits.pop() {
            digit.step += 1;
            if self.sides[digit.side]
                .step(digit.node, digit.step)
                .is_some()
            {
                odometer.digits.push(digit);
                return Some(self.completed(odometer));
            }
        }
        None
    }

    /// Adds first steps until both origins are reached: back to the start, then on to the end.
    fn completed(&self, mut odometer: Odometer) -> Odometer {
        let (mut side, mut node) = match odometer.digits.last() {
            None => (0, odometer.middle),
            Some(last) => {
                let next = self.sides[last.side].step(last.node, last.step);
                (last.side, next.map_or(last.node, |(node, _)| node))
            }
        };
        loop {
            if self.sides[side].is_origin(node) {
                if side == 1 {
                    return odometer;
                }
                (side, node) = (1, odometer.middle);
                continue;
            }
            odometer.digits.push(Digit {
                side,
                node,
                step: 0,
            });
            let Some((next, _)) = self.sides[side].step(node, 0) else {
                return odometer;
            };
            node = next;
        }
    }
}
