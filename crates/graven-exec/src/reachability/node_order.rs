//! Nodes in id order, as a list or as a bitmap, to be swept from either end.

use std::ops::ControlFlow;

use graven_storage::{Adjacency, List, NodeId, Sweep};

use crate::error::Result;

/// Nodes, each once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nodes<'a> {
    /// Ascending ids.
    List(&'a [u64]),
    /// Bit `i % 64` of word `i / 64` is node `i`.
    Bits(&'a [u64]),
}

impl<'a> Nodes<'a> {
    /// Visits the lists that `adjacency` has for the nodes; `order` says from which end.
    pub(crate) fn sweep(
        self,
        adjacency: &Adjacency,
        order: Sweep,
        visit: impl FnMut(NodeId, &List<'_>) -> graven_storage::Result<ControlFlow<()>>,
    ) -> Result<()> {
        match (self, order) {
            (Self::List(ids), Sweep::Up) => {
                adjacency.sweep(ids.iter().map(|n| NodeId(*n)), order, visit)?;
            }
            (Self::List(ids), Sweep::Down) => {
                adjacency.sweep(ids.iter().rev().map(|n| NodeId(*n)), order, visit)?;
            }
            (Self::Bits(words), Sweep::Up) => {
                adjacency.sweep(ascending(words).map(NodeId), order, visit)?;
            }
            (Self::Bits(words), Sweep::Down) => {
                adjacency.sweep(descending(words).map(NodeId), order, visit)?;
            }
        }
        Ok(())
    }

    /// The ids, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + 'a {
        let (list, words): (&[u64], &[u64]) = match self {
            Self::List(ids) => (ids, &[]),
            Self::Bits(words) => (&[], words),
        };
        list.iter().copied().chain(ascending(words))
    }
}

/// Bits that are set, ascending.
fn ascending(words: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let mut rest = words.iter().enumerate();
    let (mut word, mut base) = (0, 0);
    std::iter::from_fn(move || {
        while word == 0 {
            let (i, next) = rest.next()?;
            (word, base) = (*next, i as u64 * 64);
        }
        let bit = u64::from(word.trailing_zeros());
        word &= word - 1;
        Some(base + bit)
    })
}

/// Bits that are set, descending.
fn descending(words: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let mut rest = words.iter().enumerate().rev();
    let (mut word, mut base) = (0, 0);
    std::iter::from_fn(move || {
        while word == 0 {
            let (i, next) = rest.next()?;
            (word, base) = (*next, i as u64 * 64);
        }
        let bit = 63 - u64::from(word.leading_zeros());
        word ^= 1 << bit;
        Some(base + bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: both orders give every node once. Method: bitmaps with empty, single, full and last words.
    #[test]
    fn both_orders_give_every_node() {
        let words = [0, 1 << 63, u64::MAX, 0, 0b1010, 1];
        let expected: Vec<u64> = (0..words.len() as u64 * 64)
            .filter(|n| words[(n / 64) as usize] >> (n % 64) & 1 == 1)
            .collect();
        assert_eq!(ascending(&words).collect::<Vec<_>>(), expected);
        let mut reversed: Vec<u64> = descending(&words).collect();
        reversed.reverse();
        assert_eq!(reversed, expected);
        assert_eq!(Nodes::Bits(&words).iter().collect::<Vec<_>>(), expected);
        assert_eq!(Nodes::List(&expected).iter().collect::<Vec<_>>(), expected);
    }
}
