//! Nodes in id order, as a list or as a bitmap, to be swept from either end.

use std::ops::ControlFlow;

use graven_storage::{Adjacency, List, NodeId, NodeSet, Sweep};

use crate::error::Result;

/// Nodes, each once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nodes<'a> {
    /// Ascending ids.
    List(&'a [u64]),
    /// A bitmap.
    Bits(NodeSet<'a>),
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
            (Self::Bits(set), Sweep::Up) => {
                adjacency.sweep(ascending(set).map(NodeId), order, visit)?;
            }
            (Self::Bits(set), Sweep::Down) => {
                adjacency.sweep(descending(set).map(NodeId), order, visit)?;
            }
        }
        Ok(())
    }

    /// The ids, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + 'a {
        let (list, set): (&[u64], NodeSet<'_>) = match self {
            Self::List(ids) => (ids, NodeSet::new(NodeId(0), &[])),
            Self::Bits(set) => (&[], set),
        };
        list.iter().copied().chain(ascending(set))
    }
}

/// Bits that are set, ascending.
fn ascending(set: NodeSet<'_>) -> impl Iterator<Item = u64> + '_ {
    let first = set.first().0;
    let mut rest = set.words().iter().enumerate();
    let (mut word, mut base) = (0, 0);
    std::iter::from_fn(move || {
        while word == 0 {
            let (i, next) = rest.next()?;
            (word, base) = (*next, first + i as u64 * 64);
        }
        let bit = u64::from(word.trailing_zeros());
        word &= word - 1;
        Some(base + bit)
    })
}

/// Bits that are set, descending.
fn descending(set: NodeSet<'_>) -> impl Iterator<Item = u64> + '_ {
    let first = set.first().0;
    let mut rest = set.words().iter().enumerate().rev();
    let (mut word, mut base) = (0, 0);
    std::iter::from_fn(move || {
        while word == 0 {
            let (i, next) = rest.next()?;
            (word, base) = (*next, first + i as u64 * 64);
        }
        let bit = 63 - u64::from(word.leading_zeros());
        word ^= 1 << bit;
        Some(base + bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: both orders give every node once. Method: bitmaps with empty, single, full and last
    /// words.
    #[test]
    fn both_orders_give_every_node() {
        let words = [0, 1 << 63, u64::MAX, 0, 0b1010, 1];
        let set = NodeSet::new(NodeId(100), &words);
        let expected: Vec<u64> = (0..words.len() as u64 * 64)
            .filter(|n| words[(n / 64) as usize] >> (n % 64) & 1 == 1)
            .map(|n| n + 100)
            .collect();
        assert_eq!(ascending(set).collect::<Vec<_>>(), expected);
        let mut reversed: Vec<u64> = descending(set).collect();
        reversed.reverse();
        assert_eq!(reversed, expected);
        assert_eq!(Nodes::Bits(set).iter().collect::<Vec<_>>(), expected);
        assert_eq!(Nodes::List(&expected).iter().collect::<Vec<_>>(), expected);
    }
}
