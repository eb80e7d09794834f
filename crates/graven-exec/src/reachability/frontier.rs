//! The nodes that the last level of a search has reached: ascending ids, or a bitmap.

use graven_storage::{NodeId, NodeSet};

use super::node_order::Nodes;
use crate::error::Result;
use crate::memory::Memory;

/// The nodes reached by the last level.
#[derive(Default)]
pub(crate) struct Frontier {
    /// Ascending ids, or a bitmap.
    pub(super) words: Vec<u64>,
    /// The node of the bitmap's first bit, if it is one.
    bitmap_from: Option<u64>,
    pub(super) len: u64,
}

impl Frontier {
    /// Nothing but the start of a search.
    pub(super) fn start_at(&mut self, start: u64) {
        self.words.clear();
        self.words.push(start);
        self.bitmap_from = None;
        self.len = 1;
    }

    /// Nothing; the nodes that follow are words of a bitmap from this node on, or ids.
    pub(super) fn begin(&mut self, bitmap_from: Option<u64>) {
        self.words.clear();
        self.bitmap_from = bitmap_from;
        self.len = 0;
    }

    /// Nodes in it.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The bitmap of dense marks' frontiers.
    pub(super) fn bitmap(&self) -> Option<NodeSet<'_>> {
        let first = self.bitmap_from?;
        Some(NodeSet::new(NodeId(first), &self.words))
    }

    /// The nodes in words of a bitmap from number `from` on: at least `wanted` if there are as
    /// many, how many, and where the next portion begins.
    pub(super) fn portion(&self, from: usize, wanted: u64) -> Option<(NodeSet<'_>, u64, usize)> {
        let first = self.bitmap_from? + from as u64 * 64;
        let (mut taken, mut end) = (0, from);
        while taken < wanted && end < self.words.len() {
            taken += u64::from(self.words[end].count_ones());
            end += 1;
        }
        let set = NodeSet::new(NodeId(first), &self.words[from..end]);
        Some((set, taken, end))
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> Nodes<'_> {
        match self.bitmap_from {
            Some(first) => Nodes::Bits(NodeSet::new(NodeId(first), &self.words)),
            None => Nodes::List(&self.words),
        }
    }

    /// Room for so many words.
    pub(super) fn reserve(&mut self, words: usize, memory: &mut Memory) -> Result<()> {
        if words > self.words.capacity() {
            memory.charge(8 * (words - self.words.capacity()))?;
            self.words.reserve_exact(words);
        }
        Ok(())
    }
}
