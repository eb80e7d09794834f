//! Two bits per node, in two bitmaps.

use std::ops::Range;

use graven_storage::{NodeId, NodeSet};

use super::{Dense, at};

/// Two bits per node, in two bitmaps.
#[derive(Default)]
pub(crate) struct Bits {
    base: u64,
    nodes: u64,
    old: Vec<u64>,
    fresh: Vec<u64>,
    /// See [`super::VisitedSet::stray`].
    pub(super) stray: Option<u64>,
}

impl Bits {
    /// No marks, for the ids of `span`.
    pub(super) fn new(span: &Range<u64>) -> Self {
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

    /// Words of each bitmap.
    pub(super) fn words(&self) -> usize {
        self.old.len()
    }

    /// Forgets all marks.
    pub(super) fn clear(&mut self) {
        self.old.fill(0);
        self.fresh.fill(0);
    }

    /// Marks the node as reached by an earlier level.
    pub(super) fn mark_old(&mut self, node: u64) {
        let place = node.wrapping_sub(self.base);
        match self.old.get_mut(at(place / 64)) {
            Some(word) => *word |= 1 << (place % 64),
            None => self.stray = Some(node),
        }
    }

    /// Removes every mark of a node that has its place.
    pub(super) fn unmark(&mut self, node: u64) {
        let place = node - self.base;
        self.fresh[at(place / 64)] &= !(1 << (place % 64));
        self.old[at(place / 64)] &= !(1 << (place % 64));
    }

    /// Fresh nodes become old ones; those that were not old go to `frontier`, their number is
    /// returned.
    pub(super) fn advance(&mut self, frontier: &mut Vec<u64>) -> u64 {
        let mut len = 0;
        for (old, fresh) in self.old.iter_mut().zip(&mut self.fresh) {
            let new = *fresh & !*old;
            *old |= new;
            *fresh = 0;
            frontier.push(new);
            len += u64::from(new.count_ones());
        }
        len
    }

    /// Marked nodes in `from..to`, which have their places.
    pub(super) fn count(&self, from: u64, to: u64) -> u64 {
        let words = self.marked_words(from, to);
        words.map(|(_, bits)| u64::from(bits.count_ones())).sum()
    }

    /// Appends up to `room` marked nodes in `from..to`, ascending; where to go on, if there are
    /// more.
    pub(super) fn collect(
        &self,
        from: u64,
        to: u64,
        room: usize,
        out: &mut Vec<u64>,
    ) -> Option<u64> {
        let full = out.len() + room;
        for (first, bits) in self.marked_words(from, to) {
            push_bits(bits, first, out);
            if out.len() > full {
                let next = out[full];
                out.truncate(full);
                return Some(next);
            }
        }
        None
    }

    /// The words that hold marks of the nodes in `from..to`, each with the node of its first bit;
    /// bits outside are not set.
    fn marked_words(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> {
        let (from, to) = (from - self.base, to - self.base);
        (at(from / 64)..at(to.div_ceil(64))).map(move |word| {
            let bits = (self.old[word] | self.fresh[word]) & word_mask(word, from, to);
            (self.base + word as u64 * 64, bits)
        })
    }

    #[inline]
    fn bit(words: &[u64], place: u64) -> bool {
        words
            .get(at(place / 64))
            .is_some_and(|word| word >> (place % 64) & 1 != 0)
    }

    /// The nodes that no level has reached yet, written to `words`.
    pub(super) fn unreached<'w>(&self, words: &'w mut Vec<u64>) -> NodeSet<'w> {
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

/// Appends the nodes of the bits set in a word that begins with node `first`.
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
