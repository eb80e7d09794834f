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

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};

use foldhash::fast::RandomState;
use graven_storage::{NodeId, NodeSet};

use super::filtered_neighbors::{FilteredNeighbors, Neighbours};
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

/// A byte per node.
#[derive(Default)]
pub(crate) struct Bytes {
    base: u64,
    marks: Vec<u8>,
    stray: Option<u64>,
}

const OLD: u8 = 1;
const FRESH: u8 = 2;

impl Bytes {
    #[inline]
    fn mark(&self, node: u64) -> u8 {
        let place = self.marks.get(at(node.wrapping_sub(self.base)));
        place.copied().unwrap_or(0)
    }

    /// The nodes that no level has reached yet, written to `words`.
    fn unreached<'w>(&self, words: &'w mut Vec<u64>) -> NodeSet<'w> {
        words.clear();
        words.extend(self.marks.chunks(64).map(unmarked));
        NodeSet::new(NodeId(self.base), words)
    }
}

impl Dense for Bytes {
    #[inline]
    fn mark_fresh(&mut self, node: u64) {
        match self.marks.get_mut(at(node.wrapping_sub(self.base))) {
            Some(mark) => *mark |= FRESH,
            None => self.stray = Some(node),
        }
    }

    #[inline]
    fn mark_last(&mut self, node: u64) {
        // Stores without looking: the level that reached the node is never read.
        match self.marks.get_mut(at(node.wrapping_sub(self.base))) {
            Some(mark) => *mark = FRESH,
            None => self.stray = Some(node),
        }
    }

    #[inline]
    fn is_old(&self, node: u64) -> bool {
        self.mark(node) & OLD != 0
    }

    #[inline]
    fn is_fresh(&self, node: u64) -> bool {
        self.mark(node) & FRESH != 0
    }
}

/// Two bits per node, in two bitmaps.
#[derive(Default)]
pub(crate) struct Bits {
    base: u64,
    nodes: u64,
    old: Vec<u64>,
    fresh: Vec<u64>,
    stray: Option<u64>,
}

impl Bits {
    fn new(span: &Range<u64>) -> Self {
        let nodes = span.end - span.start;
        let words = at(nodes.div_ceil(64));
        Self {
            base: span.start,
            nodes,
            old: vec![0; words],
            fresh: vec![0; words],
            stray: None,
        }
    }

    #[inline]
    fn bit(words: &[u64], place: u64) -> bool {
        words
            .get(at(place / 64))
            .is_some_and(|word| word >> (place % 64) & 1 != 0)
    }

    /// The nodes that no level has reached yet, written to `words`.
    fn unreached<'w>(&self, words: &'w mut Vec<u64>) -> NodeSet<'w> {
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
        NodeSet::new(NodeId(self.base), words)
    }
}

impl Dense for Bits {
    #[inline]
    fn mark_fresh(&mut self, node: u64) {
        let place = node.wrapping_sub(self.base);
        match self.fresh.get_mut(at(place / 64)) {
            Some(word) => *word |= 1 << (place % 64),
            None => self.stray = Some(node),
        }
    }

    #[inline]
    fn is_old(&self, node: u64) -> bool {
        Self::bit(&self.old, node.wrapping_sub(self.base))
    }

    #[inline]
    fn is_fresh(&self, node: u64) -> bool {
        Self::bit(&self.fresh, node.wrapping_sub(self.base))
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
}

/// How a level on a hash table ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All lists are visited.
    Done,
    /// The table may not grow; lists come part by part, so no prefix of the nodes is certainly
    /// done.
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
        edges: &FilteredNeighbors<'_>,
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
            && at(nodes) > b.marks.len()
            && !(self.tuning.byte_nodes >= nodes
                && memory.is_small(at(nodes))
                && memory.try_charge(at(nodes)))
        {
            // No room for a byte per node: two bits do, more slowly.
            memory.charge(16 * at(nodes.div_ceil(64)))?;
            self.form = Form::Bits(Bits::new(&self.span));
        }
        match &mut self.form {
            Form::Bytes(b) => {
                b.marks.clear();
                b.marks.resize(at(nodes), 0);
            }
            Form::Bits(b) => {
                b.old.fill(0);
                b.fresh.fill(0);
            }
            Form::Sparse(s) => {
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

    fn first_form(&self, span: &Range<u64>) -> Form {
        let nodes = span.end - span.start;
        if nodes <= self.tuning.dense_nodes {
            Form::Bytes(Bytes {
                base: span.start,
                ..Bytes::default()
            })
        } else {
            Form::Sparse(Sparse {
                nodes,
                tuning: self.tuning,
                ..Sparse::default()
            })
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
        if sparse.room < sparse.limit() {
            let room = (4 * sparse.room).min(sparse.limit());
            memory.charge((room - sparse.room) * at(SPARSE_ENTRY))?;
            sparse.room = room;
            return Ok(());
        }
        let nodes = self.span.end - self.span.start;
        let base = self.span.start;
        let (old, fresh) = (
            std::mem::take(&mut sparse.old),
            std::mem::take(&mut sparse.fresh),
        );
        // The table is dropped as soon as it is copied; its bytes are what the dense form is
        // charged first.
        memory.release(sparse.room * at(SPARSE_ENTRY));
        sparse.room = 0;
        let places = |nodes: &HashSet<u64, RandomState>| -> Vec<u64> {
            nodes.iter().map(|node| node.wrapping_sub(base)).collect()
        };
        if nodes <= self.tuning.byte_nodes
            && memory.is_small(at(nodes))
            && memory.try_charge(at(nodes))
        {
            let mut bytes = Bytes {
                base,
                marks: vec![0; at(nodes)],
                stray: None,
            };
            for place in places(&old) {
                match bytes.marks.get_mut(at(place)) {
                    Some(mark) => *mark = OLD,
                    None => bytes.stray = Some(place.wrapping_add(base)),
                }
            }
            fresh.iter().for_each(|n| bytes.mark_fresh(*n));
            self.form = Form::Bytes(bytes);
        } else {
            memory.charge(16 * at(nodes.div_ceil(64)))?;
            let mut bits = Bits::new(&self.span);
            for place in places(&old) {
                match bits.old.get_mut(at(place / 64)) {
                    Some(word) => *word |= 1 << (place % 64),
                    None => bits.stray = Some(place.wrapping_add(base)),
                }
            }
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
            s.fresh.clear();
        }
    }

    /// Removes every mark of the node.
    pub(super) fn unmark(&mut self, node: u64) {
        if !self.span.contains(&node) {
            self.outside = None;
            return;
        }
        match &mut self.form {
            Form::Bytes(b) => b.marks[at(node - b.base)] = 0,
            Form::Bits(b) => {
                let place = node - b.base;
                b.fresh[at(place / 64)] &= !(1 << (place % 64));
                b.old[at(place / 64)] &= !(1 << (place % 64));
            }
            Form::Sparse(s) => {
                s.fresh.remove(&node);
                s.old.remove(&node);
            }
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
                Form::Sparse(s) if s.old.len() + s.fresh.len() < s.room => s.mark_fresh(node),
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
        let before = frontier.words.capacity();
        frontier.words.clear();
        frontier.len = 0;
        frontier.bitmap_from = self.is_dense().then_some(self.span.start);
        match &mut self.form {
            Form::Bytes(b) => {
                frontier.reserve(b.marks.len().div_ceil(64), memory)?;
                frontier.len = settle_bytes(&mut b.marks, &mut frontier.words);
            }
            Form::Bits(b) => {
                frontier.reserve(b.old.len(), memory)?;
                for (old, fresh) in b.old.iter_mut().zip(&mut b.fresh) {
                    let new = *fresh & !*old;
                    *old |= new;
                    *fresh = 0;
                    frontier.words.push(new);
                    frontier.len += u64::from(new.count_ones());
                }
            }
            Form::Sparse(s) => {
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
            // Partial sums of up to 255 fit a byte, so the loop runs over whole vectors.
            Self::Bytes(b) => b.marks[at(from - b.base)..at(to - b.base)]
                .chunks(255)
                .map(|part| u64::from(part.iter().map(|mark| u8::from(*mark != 0)).sum::<u8>()))
                .sum(),
            Self::Bits(b) => {
                let (from, to) = (from - b.base, to - b.base);
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

    /// As [`VisitedSet::collect`] for a range in the span.
    fn collect(&self, from: u64, to: u64, room: usize, out: &mut Vec<u64>) -> u64 {
        let full = out.len() + room;
        match self {
            Self::Bytes(b) => {
                for (node, mark) in (from..to).zip(&b.marks[at(from - b.base)..at(to - b.base)]) {
                    if *mark != 0 {
                        if out.len() == full {
                            return node;
                        }
                        out.push(node);
                    }
                }
            }
            Self::Bits(b) => {
                let (from, to) = (from - b.base, to - b.base);
                for word in at(from / 64)..at(to.div_ceil(64)) {
                    let bits = (b.old[word] | b.fresh[word]) & word_mask(word, from, to);
                    push_bits(bits, b.base + word as u64 * 64, out);
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
    /// The node of the bitmap's first bit, if it is one.
    bitmap_from: Option<u64>,
    len: u64,
}

impl Frontier {
    /// Nothing but the start of a search.
    pub(super) fn start_at(&mut self, start: u64) {
        self.words.clear();
        self.words.push(start);
        self.bitmap_from = None;
        self.len = 1;
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

    fn reserve(&mut self, words: usize, memory: &mut Memory) -> Result<()> {
        if words > self.words.capacity() {
            memory.charge(8 * (words - self.words.capacity()))?;
            self.words.reserve_exact(words);
        }
        Ok(())
    }
}

/// Bit `i` is set where mark `i` (of up to 64) is neither old nor fresh.
#[inline]
fn unmarked(marks: &[u8]) -> u64 {
    debug_assert!(marks.len() <= 64);
    let (eights, rest) = marks.as_chunks::<8>();
    let mut word = 0;
    for (i, eight) in eights.iter().enumerate() {
        let marks = u64::from_le_bytes(*eight);
        word |= gather(!(marks | marks >> 1) & LOWEST) << (8 * i);
    }
    for (i, mark) in rest.iter().enumerate() {
        word |= u64::from(*mark == 0) << (8 * eights.len() + i);
    }
    word
}

/// Bit `i` is set where mark `i` (of up to 64) is fresh and not old.
#[inline]
fn only_fresh(marks: &[u8]) -> u64 {
    debug_assert!(marks.len() <= 64);
    let (eights, rest) = marks.as_chunks::<8>();
    let mut word = 0;
    for (i, eight) in eights.iter().enumerate() {
        let marks = u64::from_le_bytes(*eight);
        word |= gather(marks >> 1 & !marks & LOWEST) << (8 * i);
    }
    for (i, mark) in rest.iter().enumerate() {
        word |= u64::from(*mark == FRESH) << (8 * eights.len() + i);
    }
    word
}

/// The lowest bit of each of eight bytes.
const LOWEST: u64 = 0x0101_0101_0101_0101;

/// Eight bytes of 0 or 1 as eight bits: the product has byte `i`, and nothing else, at bit
/// `56 + i`.
#[inline]
fn gather(bytes: u64) -> u64 {
    bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Fresh bytes that are not old become old; their bitmap goes to `frontier`, their number is
/// returned.
fn settle_bytes(marks: &mut [u8], frontier: &mut Vec<u64>) -> u64 {
    let mut len = 0;
    for chunk in marks.chunks_mut(64) {
        let word = only_fresh(chunk);
        for mark in chunk {
            *mark = u8::from(*mark != 0);
        }
        frontier.push(word);
        len += u64::from(word.count_ones());
    }
    len
}

/// Appends the nodes of the bits set in a word whose first bit is `first`.
fn push_bits(mut bits: u64, first: u64, out: &mut Vec<u64>) {
    while bits != 0 {
        out.push(first + u64::from(bits.trailing_zeros()));
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

#[cfg(test)]
mod tests {
    use graven_types::rng::SplitMix64;

    use super::*;

    /// Goal: the bit tricks agree with looking at every mark, for every length and mixture of
    /// marks.
    #[test]
    fn bits_of_marks_agree_with_the_marks() {
        let mut random = SplitMix64::new(7);
        for len in 0..=64 {
            for _ in 0..20 {
                let marks: Vec<u8> = (0..len)
                    .map(|_| random.bits() as u8 & (OLD | FRESH))
                    .collect();
                let bits = |is: fn(u8) -> bool| -> u64 {
                    let marks = marks.iter().enumerate();
                    marks.map(|(i, mark)| u64::from(is(*mark)) << i).sum()
                };
                assert_eq!(unmarked(&marks), bits(|mark| mark == 0));
                assert_eq!(only_fresh(&marks), bits(|mark| mark == FRESH));
            }
        }
    }
}
