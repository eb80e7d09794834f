//! Trails through the nodes on which two searches met, read off one by one.
//!
//! # How it works
//! Every trail passes one of the nodes met. From there steps lead back to the start and on to the
//! end; which of the possible ones is taken at each node are the digits of a number that is counted
//! up. Which relationships steps are is looked up only for trails that are handed out.

use std::ops::ControlFlow;

use super::Sides;
use crate::error::Result;
use crate::memory::Memory;

/// What two searches have reached: side 0 from the start, side 1 from the end.
pub(super) trait Steps {
    /// The nodes of the level before from which the side has reached `node`, ascending, parallel
    /// relationships repeated.
    fn before(&self, side: usize, node: u64, level: u32, edges: &Sides<'_>) -> Result<Vec<u64>>;

    /// The level of the nodes met.
    fn level(&self, side: usize) -> u32;
}

/// See the file header.
#[derive(Default)]
pub(super) struct PathEnumerator {
    digits: Vec<Digit>,
}

/// A node, and which of the steps towards the side's origin is taken there.
struct Digit {
    side: usize,
    node: u64,
    level: u32,
    from: Vec<u64>,
    step: usize,
}

impl Digit {
    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.from)
    }
}

impl PathEnumerator {
    /// The next combination of steps; false after the last one.
    pub(super) fn turn(
        &mut self,
        steps: &impl Steps,
        edges: &Sides<'_>,
        memory: &mut Memory,
    ) -> Result<bool> {
        while let Some(digit) = self.digits.last_mut() {
            digit.step += 1;
            if digit.step < digit.from.len() {
                let (side, node) = (digit.side, digit.from[digit.step]);
                let level = digit.level - 1;
                return self
                    .complete((side, node, level), steps, edges, memory)
                    .map(|()| true);
            }
            memory.release(digit.bytes());
            self.digits.pop();
        }
        Ok(false)
    }

    /// The first combination of steps through `middle`.
    pub(super) fn begin(
        &mut self,
        middle: u64,
        steps: &impl Steps,
        edges: &Sides<'_>,
        memory: &mut Memory,
    ) -> Result<()> {
        self.complete((0, middle, steps.level(0)), steps, edges, memory)
    }

    /// Adds first steps until both origins are reached: back to the start, then on to the end.
    fn complete(
        &mut self,
        (mut side, mut node, mut level): (usize, u64, u32),
        steps: &impl Steps,
        edges: &Sides<'_>,
        memory: &mut Memory,
    ) -> Result<()> {
        loop {
            if level == 0 {
                if side == 1 {
                    return Ok(());
                }
                let first = self.digits.first().filter(|digit| digit.side == 0);
                (side, node, level) = (1, first.map_or(node, |digit| digit.node), steps.level(1));
                continue;
            }
            let digit = Digit {
                side,
                node,
                level,
                from: steps.before(side, node, level, edges)?,
                step: 0,
            };
            memory.charge(digit.bytes())?;
            let Some(before) = digit.from.first() else {
                // It was reached from a node, by the list of that one.
                return Err(edges.edges(true).contradiction(node, node));
            };
            node = *before;
            level -= 1;
            self.digits.push(digit);
        }
    }

    /// The relationships of the trail at hand, in order of travel.
    pub(super) fn trail(&self, edges: &Sides<'_>) -> Result<Vec<u64>> {
        let (mut back, mut on) = (Vec::new(), Vec::new());
        for digit in &self.digits {
            let from = digit.from[digit.step];
            let before = digit.from[..digit.step].iter().rev();
            let parallel = before.take_while(|other| **other == from).count();
            let relationship = edges.between(digit.side == 0, from, digit.node, parallel)?;
            match digit.side {
                0 => back.push(relationship),
                _ => on.push(relationship),
            }
        }
        back.reverse();
        back.extend(on);
        Ok(back)
    }
}

/// Neighbours of a node as the side that it is on comes to it, ascending.
pub(super) fn sources(side: usize, node: u64, edges: &Sides<'_>) -> Result<Vec<u64>> {
    let mut sources = Vec::new();
    let list = [node];
    let nodes = crate::reachability::node_order::Nodes::List(&list);
    edges
        .edges(side == 1)
        .visit(nodes, |node, skip_loops, ids| {
            ids.for_each(|other| {
                if !(skip_loops && other == node) {
                    sources.push(other);
                }
            });
            ControlFlow::Continue(())
        })?;
    sources.sort_unstable();
    Ok(sources)
}
