//! Sets of nodes for a search: reached before this level (*old*), reached by this level (*fresh*).
//!
//! # How it works
//! * [`Bytes`]: a byte per node, the fastest to mark; for up to [`Tuning::byte_nodes`] nodes.
//! * [`Bits`]: two bits per node, for larger graphs.
//! * [`Sparse`]: a hash table; large graphs start with it and go over to a dense form when it would be larger.
//!
//! Marking is unconditional: a node marked fresh that is old already stays old when the level settles.

use std::collections::HashSet;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::edges::{Edges, Neighbours};
use super::node_order::Nodes;
use crate::error::Result;
use crate::memory::Memory;
use crate::tuning::Tuning;

/// Bytes that an entry of the hash table takes, with slack for its growth.
const SPARSE_ENTRY: u64 = 32;

/// Dense or sparse marks that a level works on.
pub(crate) trait Dense {
    /// Marks the node as reached by this level.
    fn mark_fresh(&mut self, node: u64);
    /// Whether an earlier level has reached it.
    fn is_old(&self, node: u64) -> bool;
    /// Whether this level has marked it.
    fn is_fresh(&self, node: u64) -> bool;
    /// Writes the bitmap of the nodes that no level has reached yet.
    fn unreached(&self, words: &mut Vec<u64>);
}

/// See the file header.
pub(crate) enum Marks {
    Bytes(Bytes),
    Bits(Bits),
    Sparse(Sparse),
}

/// A byte per node.
#[derive(Default)]
pub(crate) struct Bytes {
    marks: Vec<u8>,
    nodes: usize,
    tuning: Tuning,
}

const OLD: u8 = 1;
const FRESH: u8 = 2;

impl Dense for Bytes {
    #[inline]
    fn mark_fresh(&mut self, node: u64) {
        self.marks[at(node)] |= FRESH;
    }

    #[inline]
    fn is_old(&self, node: u64) -> bool {
        self.marks[at(node)] & OLD != 0
    }

    #[inline]
    fn is_fresh(&self, node: u64) -> bool {
        self.marks[at(node)] & FRESH != 0
    }

    fn unreached(&self, words: &mut Vec<u64>) {
        words.clear();
        words.extend(self.marks.chunks(64).map(|chunk| {
            let mut word = 0;
            for (i, mark) in chunk.iter().enumerate() {
                word |= u64::from(*mark == 0) << i;
            }
            word
        }));
    }
}

/// Two bits per node, in two bitmaps.
#[derive(Default)]
pub(crate) struct Bits {
    old: Vec<u64>,
    fresh: Vec<u64>,
    nodes: u64,
    tuning: Tuning,
}

impl Dense for Bits {
    #[inline]
    fn mark_fresh(&mut self, node: u64) {
        self.fresh[at(node / 64)] |= 1 << (node % 64);
    }

    #[inline]
    fn is_old(&self, node: u64) -> bool {
        self.old[at(node / 64)] >> (node % 64) & 1 != 0
    }

    #[inline]
    fn is_fresh(&self, node: u64) -> bool {
        self.fresh[at(node / 64)] >> (node % 64) & 1 != 0
    }

    fn unreached(&self, words: &mut Vec<u64>) {
        words.clear();
        words.extend(
            self.old
                .iter()
                .zip(&self.fresh)
                .map(|(old, fresh)| !(old | fresh)),
        );
        if let (Some(last), used) = (words.last_mut(), self.nodes % 64)
            && used != 0
        {
            *last &= (1 << used) - 1;
        }
    }
}

/// A hash table.
#[derive(Default)]
pub(crate) struct Sparse {
    old: HashSet<u64, RandomState>,
    fresh: HashSet<u64, RandomState>,
    nodes: u64,
    tuning: Tuning,
    /// Entries that are charged for.
    room: usize,
}

impl Dense for Sparse {
    #[inline]
    fn mark_fresh(&mut self, node: u64) {
        if !self.old.contains(&node) {
            self.fresh.insert(node);
        }
    }

    #[inline]
    fn is_old(&self, node: u64) -> bool {
        self.old.contains(&node)
    }

    #[inline]
    fn is_fresh(&self, node: u64) -> bool {
        self.fresh.contains(&node)
    }

    fn unreached(&self, _: &mut Vec<u64>) {
        unreachable!("bottom-up levels run on dense marks")
    }
}

/// How a level on a hash table ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All lists are visited.
    Done,
    /// The table may not grow; lists come part by part, so no prefix of the nodes is certainly done.
    Full,
}

impl Sparse {
    /// Entries from which a dense form is smaller.
    fn limit(&self) -> usize {
        at(self.nodes / self.tuning.sparse_share)
    }

    /// Visits the relationships of `nodes` until the table would pass its limit.
    pub(super) fn expand(
        &mut self,
        edges: &Edges<'_>,
        nodes: Nodes<'_>,
        mut visit: impl FnMut(&mut Self, u64, bool, Neighbours<'_>),
    ) -> Result<Stop> {
        let limit = self.limit().min(self.room);
        let mut full = false;
        edges.visit(nodes, |node, skip_loops, ids| {
            if self.old.len() + self.fresh.len() + ids.len() > limit {
                full = true;
                return ControlFlow::Break(());
            }
            visit(self, node, skip_loops, ids);
            ControlFlow::Continue(())
        })?;
        Ok(if full { Stop::Full } else { Stop::Done })
    }
}

impl Marks {
    /// No marks, for node ids below `node_limit`.
    pub(crate) fn new(node_limit: u64, tuning: Tuning) -> Self {
        if node_limit <= tuning.dense_nodes {
            Self::Bytes(Bytes {
                nodes: at(node_limit),
                tuning,
                ..Bytes::default()
            })
        } else {
            Self::Sparse(Sparse {
                nodes: node_limit,
                tuning,
                ..Sparse::default()
            })
        }
    }

    /// Node ids are below this.
    pub(crate) fn node_limit(&self) -> u64 {
        match self {
            Self::Bytes(b) => b.nodes as u64,
            Self::Bits(b) => b.nodes,
            Self::Sparse(s) => s.nodes,
        }
    }

    fn tuning(&self) -> Tuning {
        match self {
            Self::Bytes(b) => b.tuning,
            Self::Bits(b) => b.tuning,
            Self::Sparse(s) => s.tuning,
        }
    }

    /// Whether every node has its place.
    pub(crate) fn is_dense(&self) -> bool {
        !matches!(self, Self::Sparse(_))
    }

    /// Clears all marks for a new search.
    pub(crate) fn reset(&mut self, memory: &mut Memory) -> Result<()> {
        let nodes = self.node_limit();
        if nodes > self.tuning().dense_nodes && self.is_dense() {
            // The next start may reach little: begin with the hash table again.
            self.release();
            memory.clear();
            *self = Self::new(nodes, self.tuning());
        }
        if let Self::Bytes(b) = self
            && b.marks.len() < b.nodes
            && !(b.tuning.byte_nodes >= nodes
                && memory.is_small(b.nodes)
                && memory.try_charge(b.nodes))
        {
            // No room for a byte per node: two bits do, more slowly.
            let (words, tuning) = (at(nodes.div_ceil(64)), b.tuning);
            memory.charge(16 * words)?;
            *self = Self::Bits(Bits {
                old: vec![0; words],
                fresh: vec![0; words],
                nodes,
                tuning,
            });
        }
        match self {
            Self::Bytes(b) => {
                b.marks.clear();
                b.marks.resize(b.nodes, 0);
            }
            Self::Bits(b) => {
                b.old.fill(0);
                b.fresh.fill(0);
            }
            Self::Sparse(s) => {
                s.old.clear();
                s.fresh.clear();
                if s.room == 0 {
                    let room = s.limit().min(16 << 10);
                    memory.charge(room * at(SPARSE_ENTRY))?;
                    s.room = room;
                }
            }
        }
        Ok(())
    }

    /// Gives the memory back.
    pub(crate) fn release(&mut self) {
        *self = Self::new(self.node_limit(), self.tuning());
    }

    /// Goes over from a hash table to a dense form.
    pub(super) fn make_dense(&mut self, memory: &mut Memory) -> Result<()> {
        let Self::Sparse(sparse) = self else {
            return Ok(());
        };
        // A larger table may still be far smaller than a dense form.
        if sparse.room < sparse.limit() {
            let room = (4 * sparse.room).min(sparse.limit());
            memory.charge((room - sparse.room) * at(SPARSE_ENTRY))?;
            sparse.room = room;
            return Ok(());
        }
        let (nodes, tuning) = (sparse.nodes, sparse.tuning);
        let (old, fresh) = (
            std::mem::take(&mut sparse.old),
            std::mem::take(&mut sparse.fresh),
        );
        // The table is dropped as soon as it is copied; its bytes are what the dense form is charged first.
        memory.release(sparse.room * at(SPARSE_ENTRY));
        sparse.room = 0;
        if nodes <= tuning.byte_nodes && memory.is_small(at(nodes)) && memory.try_charge(at(nodes))
        {
            let mut marks = vec![0; at(nodes)];
            old.iter().for_each(|n| marks[at(*n)] = OLD);
            fresh.iter().for_each(|n| marks[at(*n)] = FRESH);
            *self = Self::Bytes(Bytes {
                marks,
                nodes: at(nodes),
                tuning,
            });
        } else {
            let words = at(nodes.div_ceil(64));
            memory.charge(16 * words)?;
            let mut bits = Bits {
                old: vec![0; words],
                fresh: vec![0; words],
                nodes,
                tuning,
            };
            old.iter()
                .for_each(|n| bits.old[at(*n / 64)] |= 1 << (n % 64));
            fresh.iter().for_each(|n| bits.mark_fresh(*n));
            *self = Self::Bits(bits);
        }
        Ok(())
    }

    /// Takes back what the running level has marked in a hash table.
    pub(super) fn forget_fresh(&mut self) {
        if let Self::Sparse(s) = self {
            s.fresh.clear();
        }
    }

    /// Removes every mark of the node.
    pub(super) fn unmark(&mut self, node: u64) {
        match self {
            Self::Bytes(b) => b.marks[at(node)] = 0,
            Self::Bits(b) => {
                b.fresh[at(node / 64)] &= !(1 << (node % 64));
                b.old[at(node / 64)] &= !(1 << (node % 64));
            }
            Self::Sparse(s) => {
                s.fresh.remove(&node);
                s.old.remove(&node);
            }
        }
    }

    /// Marks the node outside of a level.
    pub(super) fn mark(&mut self, node: u64, memory: &mut Memory) -> Result<()> {
        loop {
            match self {
                Self::Bytes(b) => b.mark_fresh(node),
                Self::Bits(b) => b.mark_fresh(node),
                Self::Sparse(s) if s.old.len() + s.fresh.len() < s.room => s.mark_fresh(node),
                Self::Sparse(_) => {
                    self.make_dense(memory)?;
                    continue;
                }
            }
            return Ok(());
        }
    }

    /// Ends a level: fresh nodes become old ones and the next frontier.
    pub(super) fn settle(&mut self, frontier: &mut Frontier, memory: &mut Memory) -> Result<()> {
        let before = frontier.words.capacity();
        frontier.words.clear();
        frontier.len = 0;
        frontier.is_bitmap = self.is_dense();
        match self {
            Self::Bytes(b) => {
                frontier.reserve(b.marks.len().div_ceil(64), memory)?;
                frontier.len = settle_bytes(&mut b.marks, &mut frontier.words);
            }
            Self::Bits(b) => {
                frontier.reserve(b.old.len(), memory)?;
                for (old, fresh) in b.old.iter_mut().zip(&mut b.fresh) {
                    let new = *fresh & !*old;
                    *old |= new;
                    *fresh = 0;
                    frontier.words.push(new);
                    frontier.len += u64::from(new.count_ones());
                }
            }
            Self::Sparse(s) => {
                frontier.reserve(s.fresh.len(), memory)?;
                frontier.words.extend(s.fresh.drain());
                frontier.words.sort_unstable();
                frontier.len = frontier.words.len() as u64;
                s.old.extend(frontier.words.iter());
            }
        }
        debug_assert!(frontier.words.capacity() >= before);
        Ok(())
    }

    /// Whether the node is marked.
    pub(crate) fn contains(&self, node: u64) -> bool {
        match self {
            Self::Bytes(b) => b.is_old(node) || b.is_fresh(node),
            Self::Bits(b) => b.is_old(node) || b.is_fresh(node),
            Self::Sparse(s) => s.is_old(node) || s.is_fresh(node),
        }
    }

    /// Marked nodes in `from..to`.
    pub(crate) fn count(&self, from: u64, to: u64) -> u64 {
        match self {
            // Partial sums of up to 255 fit a byte, so the loop runs over whole vectors.
            Self::Bytes(b) => b.marks[at(from)..at(to)]
                .chunks(255)
                .map(|part| u64::from(part.iter().map(|mark| u8::from(*mark != 0)).sum::<u8>()))
                .sum(),
            Self::Bits(b) => {
                let mut count = 0;
                for word in at(from / 64)..at(to.div_ceil(64)) {
                    let bits = (b.old[word] | b.fresh[word]) & word_mask(word, from, to);
                    count += u64::from(bits.count_ones());
                }
                count
            }
            Self::Sparse(s) => s
                .old
                .iter()
                .chain(s.fresh.iter().filter(|n| !s.old.contains(n)))
                .filter(|n| (from..to).contains(n))
                .count() as u64,
        }
    }

    /// Appends up to `room` marked nodes in `from..to` to `out`, ascending; where to go on, `to` at the end.
    pub(crate) fn collect(&self, from: u64, to: u64, room: usize, out: &mut Vec<u64>) -> u64 {
        let full = out.len() + room;
        match self {
            Self::Bytes(b) => {
                for node in at(from)..at(to) {
                    if b.marks[node] != 0 {
                        if out.len() == full {
                            return node as u64;
                        }
                        out.push(node as u64);
                    }
                }
            }
            Self::Bits(b) => {
                for word in at(from / 64)..at(to.div_ceil(64)) {
                    let bits = (b.old[word] | b.fresh[word]) & word_mask(word, from, to);
                    push_bits(bits, word, out);
                    if out.len() > full {
                        let next = out[full];
                        out.truncate(full);
                        return next;
                    }
                }
            }
            Self::Sparse(s) => {
                // The table is small: gather what lies in the range and sort it.
                let before = out.len();
                let marked = s
                    .old
                    .iter()
                    .chain(s.fresh.iter().filter(|n| !s.old.contains(n)));
                out.extend(marked.filter(|n| (from..to).contains(n)));
                out[before..].sort_unstable();
                if out.len() > full {
                    let next = out[full];
                    out.truncate(full);
                    return next;
                }
            }
        }
        to
    }
}

/// The nodes reached by the last level.
#[derive(Default)]
pub(crate) struct Frontier {
    /// Ascending ids, or a bitmap.
    words: Vec<u64>,
    is_bitmap: bool,
    len: u64,
}

impl Frontier {
    /// Nothing but the start of a search.
    pub(super) fn start_at(&mut self, start: u64) {
        self.words.clear();
        self.words.push(start);
        self.is_bitmap = false;
        self.len = 1;
    }

    /// Nodes in it.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The nodes.
    pub(super) fn nodes(&self) -> Nodes<'_> {
        if self.is_bitmap {
            Nodes::Bits(&self.words)
        } else {
            Nodes::List(&self.words)
        }
    }

    fn reserve(&mut self, words: usize, memory: &mut Memory) -> Result<()> {
        if words > self.words.capacity() {
            memory.charge(8 * (words - self.words.capacity()))?;
            self.words.reserve_exact(words);
        }
        Ok(())
    }
}

/// Fresh bytes that are not old become old; their bitmap goes to `frontier`, their number is returned.
fn settle_bytes(marks: &mut [u8], frontier: &mut Vec<u64>) -> u64 {
    let mut len = 0;
    for chunk in marks.chunks_mut(64) {
        let mut word = 0;
        for (i, mark) in chunk.iter_mut().enumerate() {
            word |= u64::from(*mark == FRESH) << i;
            *mark = u8::from(*mark != 0);
        }
        frontier.push(word);
        len += u64::from(word.count_ones());
    }
    len
}

/// Appends the numbers of the bits set in word `word` of a bitmap.
fn push_bits(mut bits: u64, word: usize, out: &mut Vec<u64>) {
    while bits != 0 {
        out.push(word as u64 * 64 + u64::from(bits.trailing_zeros()));
        bits &= bits - 1;
    }
}

/// The bits of word `word` that lie in `from..to`.
fn word_mask(word: usize, from: u64, to: u64) -> u64 {
    let first = word as u64 * 64;
    let low = if from > first {
        u64::MAX << (from - first).min(63)
    } else {
        u64::MAX
    };
    let high = if to < first + 64 {
        (1 << (to - first)) - 1
    } else {
        u64::MAX
    };
    low & high
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "targets have 64-bit addresses"
)]
#[inline]
fn at(node: u64) -> usize {
    node as usize
}
