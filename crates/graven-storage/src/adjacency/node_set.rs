//! A set of nodes as a bitmap over a range of ids.

use crate::ids::NodeId;

/// Nodes, each once: bit `i % 64` of word `i / 64` is node `first + i`.
#[derive(Clone, Copy, Debug)]
pub struct NodeSet<'a> {
    first: u64,
    words: &'a [u64],
}

impl<'a> NodeSet<'a> {
    /// The nodes from `first` on whose bits are set in `words`.
    #[must_use]
    pub fn new(first: NodeId, words: &'a [u64]) -> NodeSet<'a> {
        NodeSet {
            first: first.0,
            words,
        }
    }

    /// The node of the first bit.
    #[must_use]
    pub fn first(&self) -> NodeId {
        NodeId(self.first)
    }

    /// The bitmap.
    #[must_use]
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// Whether `node` is in the set.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.window(node.0) & 1 != 0
    }

    /// As [`NodeSet::contains`], with a word looked up once: for inner loops.
    #[inline(always)]
    pub(crate) fn has(&self, node: u64) -> bool {
        let at = node.wrapping_sub(self.first);
        self.words
            .get((at / 64) as usize)
            .is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// The smallest node in the set from `from` on.
    #[inline]
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        let at = from.saturating_sub(self.first);
        let mut word = usize::try_from(at / 64).ok()?;
        let mut bits = *self.words.get(word)? & u64::MAX << (at % 64);
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some(self.first + word as u64 * 64 + u64::from(bits.trailing_zeros()))
    }

    /// The 64 nodes from `from` on: bit i is node `from + i`.
    #[inline]
    pub(crate) fn window(&self, from: u64) -> u64 {
        if from < self.first {
            let behind = self.first - from;
            return if behind < 64 {
                self.words.first().copied().unwrap_or(0) << behind
            } else {
                0
            };
        }
        let at = from - self.first;
        let word = |index: u64| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            self.words.get(index).copied().unwrap_or(0)
        };
        let (index, shift) = (at / 64, at % 64);
        if shift == 0 {
            return word(index);
        }
        word(index) >> shift | word(index + 1) << (64 - shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: windows and successors agree with looking at every bit, at every alignment and beyond
    /// both ends.
    #[test]
    fn windows_and_successors_agree_with_bits() {
        let words = [0x8000_0000_0000_0001, 0, u64::MAX, 0b1010];
        let first = 37;
        let set = NodeSet::new(NodeId(first), &words);
        let has = |node: u64| {
            node >= first
                && node - first < 256
                && words[((node - first) / 64) as usize] >> ((node - first) % 64) & 1 == 1
        };
        for from in 0..400 {
            let window: u64 = (0..64).map(|i| u64::from(has(from + i)) << i).sum();
            assert_eq!(set.window(from), window, "{from}");
            assert_eq!(
                set.next(from),
                (from..400).find(|node| has(*node)),
                "{from}"
            );
            assert_eq!(set.contains(NodeId(from)), has(from));
            assert_eq!(set.has(from), has(from));
        }
        assert_eq!(set.next(u64::MAX), None);
    }
}
