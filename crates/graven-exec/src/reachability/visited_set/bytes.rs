//! A byte per node, the fastest to mark.

use graven_storage::{NodeId, NodeSet};

use super::{Dense, at};

/// A byte per node.
#[derive(Default)]
pub(crate) struct Bytes {
    base: u64,
    marks: Vec<u8>,
    /// See [`super::VisitedSet::stray`].
    pub(super) stray: Option<u64>,
}

const OLD: u8 = 1;
const FRESH: u8 = 2;

impl Bytes {
    /// For ids from `base` on; [`Bytes::clear`] comes before all else.
    pub(super) fn new(base: u64) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// Nodes that have their place.
    pub(super) fn len(&self) -> usize {
        self.marks.len()
    }

    /// No marks, for so many nodes.
    pub(super) fn clear(&mut self, nodes: usize) {
        self.marks.clear();
        self.marks.resize(nodes, 0);
    }

    /// Marks the node as reached by an earlier level.
    pub(super) fn mark_old(&mut self, node: u64) {
        match self.marks.get_mut(at(node.wrapping_sub(self.base))) {
            Some(mark) => *mark = OLD,
            None => self.stray = Some(node),
        }
    }

    /// Removes every mark of a node that has its place.
    pub(super) fn unmark(&mut self, node: u64) {
        self.marks[at(node - self.base)] = 0;
    }

    /// Fresh nodes become old ones; those that were not old go to `frontier`, their number is
    /// returned.
    pub(super) fn advance(&mut self, frontier: &mut Vec<u64>) -> u64 {
        let mut len = 0;
        for chunk in self.marks.chunks_mut(64) {
            let word = only_fresh(chunk);
            for mark in chunk {
                *mark = u8::from(*mark != 0);
            }
            frontier.push(word);
            len += u64::from(word.count_ones());
        }
        len
    }

    /// Marked nodes in `from..to`, which have their places.
    pub(super) fn count(&self, from: u64, to: u64) -> u64 {
        // Partial sums of up to 255 fit a byte, so the loop runs over whole vectors.
        self.marks[at(from - self.base)..at(to - self.base)]
            .chunks(255)
            .map(|part| u64::from(part.iter().map(|mark| u8::from(*mark != 0)).sum::<u8>()))
            .sum()
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
        for (node, mark) in (from..to).zip(&self.marks[at(from - self.base)..at(to - self.base)]) {
            if *mark != 0 {
                if out.len() == full {
                    return Some(node);
                }
                out.push(node);
            }
        }
        None
    }

    #[inline]
    pub(super) fn mark(&self, node: u64) -> u8 {
        let place = self.marks.get(at(node.wrapping_sub(self.base)));
        place.copied().unwrap_or(0)
    }

    /// The nodes that no level has reached yet, written to `words`.
    pub(super) fn unreached<'w>(&self, words: &'w mut Vec<u64>) -> NodeSet<'w> {
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
