//! Sets of nodes for a search: reached before this level (*old*), reached by this level (*fresh*).
//!
//! # How it works
//! * [`Bytes`]: a byte per node, the fastest to mark; for up to [`Tuning::byte_nodes`] nodes.
//! * [`Bits`]: two bits per node, for larger graphs.
//! * [`Sparse`]: a hash table; large graphs start with it and go over to a dense form when it would
//!   be larger.
//!
//! Marking is unconditional: a node marked fresh that is old already stays old when the level
//! settles.
//!
//! Dense forms cover the ids that the pattern's adjacencies can name ([`VisitedSet::reset`]), not
//! all ids: nodes of one label lie together, so that is often a small part. A start outside of that
//! range has no relationships; it is kept by itself.

mod bits;
mod bytes;
mod sparse;

use std::ops::Range;

use graven_storage::NodeSet;

use super::frontier::Frontier;
use crate::error::Result;
use crate::memory::Memory;
use crate::tuning::Tuning;
use bits::Bits;
use bytes::Bytes;
use sparse::Sparse;
pub(super) use sparse::Stop;

/// Dense or sparse marks that a level works on.
pub(crate) trait Dense {
    /// Marks the node as reached by this level.
    fn mark_fresh(&mut self, node: u64);
    /// Marks the node as reached by the last level, of which only [`VisitedSet::contains`] and its
    /// like are asked.
    fn mark_last(&mut self, node: u64) {
        self.mark_fresh(node);
    }
    /// Whether an earlier level has reached it.
    fn is_old(&self, node: u64) -> bool;
    /// Whether this level has marked it.
    fn is_fresh(&self, node: u64) -> bool;
}

/// See the file header.
pub(crate) struct VisitedSet {
    form: Form,
    /// Ids that dense forms cover; the first is a multiple of 64.
    span: Range<u64>,
    /// A marked node outside of the span: the start of a search.
    outside: Option<u64>,
    tuning: Tuning,
}

/// How marks are kept.
pub(super) enum Form {
    Bytes(Bytes),
    Bits(Bits),
    Sparse(Sparse),
}

impl VisitedSet {
    /// No marks; [`VisitedSet::reset`] comes before all else.
    pub(crate) fn new(tuning: Tuning) -> Self {
        Self {
            form: Form::Sparse(Sparse::default()),
            span: 0..0,
            outside: None,
            tuning,
        }
    }

    /// Ids covered.
    pub(crate) fn node_limit(&self) -> u64 {
        self.span.end - self.span.start
    }

    /// The first id covered.
    pub(super) fn first(&self) -> u64 {
        self.span.start
    }

    /// Of dense marks the nodes that no level has reached yet, written to `words`.
    pub(super) fn unreached<'w>(&self, words: &'w mut Vec<u64>) -> Option<NodeSet<'w>> {
        match &self.form {
            Form::Bytes(b) => Some(b.unreached(words)),
            Form::Bits(b) => Some(b.unreached(words)),
            Form::Sparse(_) => None,
        }
    }

    /// How the marks are kept.
    pub(super) fn form(&mut self) -> &mut Form {
        &mut self.form
    }

    /// Whether every node has its place.
    pub(crate) fn is_dense(&self) -> bool {
        !matches!(self.form, Form::Sparse(_))
    }

    /// Whether a search over `span` cannot go on with the memory of the last one: the caller gives
    /// back everything then, frontiers included.
    pub(super) fn must_start_anew(&self, span: &Range<u64>) -> bool {
        // In a large graph the next start may reach little: begin with the hash table again.
        *span != self.span || self.node_limit() > self.tuning.dense_nodes && self.is_dense()
    }

    /// Clears all marks for a search that meets no ids outside of `span` but its start.
    pub(super) fn reset(&mut self, span: Range<u64>, memory: &mut Memory) -> Result<()> {
        if self.must_start_anew(&span) {
            self.release();
        }
        let nodes = span.end - span.start;
        if self.span != span {
            self.form = self.first_form(&span);
            self.span = span;
        }
        self.outside = None;
        if let Form::Bytes(b) = &self.form
            && at(nodes) > b.len()
            && !self.charge_bytes(nodes, memory)
        {
            // No room for a byte per node: two bits do, more slowly.
            self.form = Form::Bits(self.charged_bits(memory)?);
        }
        match &mut self.form {
            Form::Bytes(b) => b.clear(at(nodes)),
            Form::Bits(b) => b.clear(),
            Form::Sparse(s) => s.clear(memory)?,
        }
        Ok(())
    }

    /// Charges a byte per node, where that may be; whether it may.
    fn charge_bytes(&self, nodes: u64, memory: &mut Memory) -> bool {
        nodes <= self.tuning.byte_nodes
            && memory.is_small(at(nodes))
            && memory.try_charge(at(nodes))
    }

    /// Two bits per node, charged.
    fn charged_bits(&self, memory: &mut Memory) -> Result<Bits> {
        memory.charge(16 * at(self.node_limit().div_ceil(64)))?;
        Ok(Bits::new(&self.span))
    }

    fn first_form(&self, span: &Range<u64>) -> Form {
        let nodes = span.end - span.start;
        if nodes <= self.tuning.dense_nodes {
            Form::Bytes(Bytes::new(span.start))
        } else {
            Form::Sparse(Sparse::new(nodes, self.tuning))
        }
    }

    /// Gives the memory back.
    pub(crate) fn release(&mut self) {
        *self = Self::new(self.tuning);
    }

    /// Goes over from a hash table to a dense form.
    pub(super) fn make_dense(&mut self, memory: &mut Memory) -> Result<()> {
        let Form::Sparse(sparse) = &mut self.form else {
            return Ok(());
        };
        // A larger table may still be far smaller than a dense form.
        if sparse.grow(memory)? {
            return Ok(());
        }
        // The table is dropped as soon as it is copied; its bytes are what the dense form is
        // charged first.
        let (old, fresh) = sparse.take(memory);
        let nodes = self.node_limit();
        if self.charge_bytes(nodes, memory) {
            let mut bytes = Bytes::new(self.span.start);
            bytes.clear(at(nodes));
            old.iter().for_each(|n| bytes.mark_old(*n));
            fresh.iter().for_each(|n| bytes.mark_fresh(*n));
            self.form = Form::Bytes(bytes);
        } else {
            let mut bits = self.charged_bits(memory)?;
            old.iter().for_each(|n| bits.mark_old(*n));
            fresh.iter().for_each(|n| bits.mark_fresh(*n));
            self.form = Form::Bits(bits);
        }
        Ok(())
    }

    /// A node met in a list although no list of its own can exist: the store contradicts itself.
    pub(super) fn stray(&self) -> Option<u64> {
        match &self.form {
            Form::Bytes(b) => b.stray,
            Form::Bits(b) => b.stray,
            Form::Sparse(_) => None,
        }
    }

    /// Takes back what the running level has marked in a hash table.
    pub(super) fn forget_fresh(&mut self) {
        if let Form::Sparse(s) = &mut self.form {
            s.forget_fresh();
        }
    }

    /// Removes every mark of the node.
    pub(super) fn unmark(&mut self, node: u64) {
        if !self.span.contains(&node) {
            self.outside = None;
            return;
        }
        match &mut self.form {
            Form::Bytes(b) => b.unmark(node),
            Form::Bits(b) => b.unmark(node),
            Form::Sparse(s) => s.unmark(node),
        }
    }

    /// Marks the node outside of a level.
    pub(super) fn mark(&mut self, node: u64, memory: &mut Memory) -> Result<()> {
        if !self.span.contains(&node) {
            self.outside = Some(node);
            return Ok(());
        }
        loop {
            match &mut self.form {
                Form::Bytes(b) => b.mark_fresh(node),
                Form::Bits(b) => b.mark_fresh(node),
                Form::Sparse(s) if !s.is_full() => s.mark_fresh(node),
                Form::Sparse(_) => {
                    self.make_dense(memory)?;
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// Ends a level: fresh nodes become old ones and the next frontier.
    pub(super) fn advance_level(
        &mut self,
        frontier: &mut Frontier,
        memory: &mut Memory,
    ) -> Result<()> {
        frontier.begin(self.is_dense().then_some(self.span.start));
        let words = match &self.form {
            Form::Bytes(b) => b.len().div_ceil(64),
            Form::Bits(b) => b.words(),
            Form::Sparse(s) => s.fresh(),
        };
        frontier.reserve(words, memory)?;
        frontier.len = match &mut self.form {
            Form::Bytes(b) => b.advance(&mut frontier.words),
            Form::Bits(b) => b.advance(&mut frontier.words),
            Form::Sparse(s) => s.advance(&mut frontier.words),
        };
        Ok(())
    }

    /// Whether the node is marked.
    pub(crate) fn contains(&self, node: u64) -> bool {
        self.outside == Some(node)
            || self.span.contains(&node)
                && match &self.form {
                    Form::Bytes(b) => b.mark(node) != 0,
                    Form::Bits(b) => b.is_old(node) || b.is_fresh(node),
                    Form::Sparse(s) => s.is_old(node) || s.is_fresh(node),
                }
    }

    /// The marked node outside of the span, if it lies in `from..to`.
    fn outside_in(&self, from: u64, to: u64) -> Option<u64> {
        self.outside.filter(|node| (from..to).contains(node))
    }

    /// Marked nodes in `from..to`.
    pub(crate) fn count(&self, from: u64, to: u64) -> u64 {
        let outside = u64::from(self.outside_in(from, to).is_some());
        let (from, to) = (from.max(self.span.start), to.min(self.span.end));
        if from >= to {
            return outside;
        }
        outside + self.form.count(from, to)
    }

    /// Appends up to `room` marked nodes in `from..to` to `out`, ascending; where to go on, `to` at
    /// the end.
    pub(crate) fn collect(&self, from: u64, to: u64, room: usize, out: &mut Vec<u64>) -> u64 {
        let full = out.len() + room;
        let outside = self.outside_in(from, to);
        let before = outside.filter(|node| *node < self.span.start);
        let behind = outside.filter(|node| *node >= self.span.end);
        if let Some(node) = before {
            if out.len() == full {
                return node;
            }
            out.push(node);
        }
        let inside = from.max(self.span.start)..to.min(self.span.end);
        if inside.start < inside.end {
            let next = self
                .form
                .collect(inside.start, inside.end, full - out.len(), out);
            if next < inside.end {
                return next;
            }
        }
        if let Some(node) = behind {
            if out.len() == full {
                return node;
            }
            out.push(node);
        }
        to
    }
}

impl Form {
    /// Marked nodes in `from..to`, which lies in the span.
    fn count(&self, from: u64, to: u64) -> u64 {
        match self {
            Self::Bytes(b) => b.count(from, to),
            Self::Bits(b) => b.count(from, to),
            Self::Sparse(s) => s.count(from, to),
        }
    }

    /// As [`VisitedSet::collect`] for a range in the span.
    fn collect(&self, from: u64, to: u64, room: usize, out: &mut Vec<u64>) -> u64 {
        let next = match self {
            Self::Bytes(b) => b.collect(from, to, room, out),
            Self::Bits(b) => b.collect(from, to, room, out),
            Self::Sparse(s) => s.collect(from, to, room, out),
        };
        next.unwrap_or(to)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "targets have 64-bit addresses"
)]
#[inline]
fn at(node: u64) -> usize {
    node as usize
}
