//! Several sorted streams of changes as one: the net change of layers on top of each other.
//!
//! # Costs
//! A heap of one key a stream; a single stream is passed through.

use crate::Result;
use crate::delta::change::RelationshipChange;
use crate::delta::change::{Change, NodeChange};
use graven_types::PropertyValue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entries of one map, ascending.
pub(crate) type Entries<'a, K, V> = Box<dyn Iterator<Item = Result<(K, V)>> + Send + 'a>;

/// What an entry and a newer one of the same key come to; `None`: to nothing.
pub(crate) trait Over: Sized {
    fn over(newer: Self, older: &Self) -> Option<Self>;
}

impl Over for Change {
    /// TX-4: what one layer adds and the next takes away was never there, and the other way round.
    fn over(newer: Change, older: &Change) -> Option<Change> {
        (newer == *older).then_some(newer)
    }
}

impl Over for RelationshipChange {
    fn over(newer: Self, older: &Self) -> Option<Self> {
        (newer.change == older.change).then_some(newer)
    }
}

impl Over for PropertyValue {
    fn over(newer: PropertyValue, _older: &PropertyValue) -> Option<PropertyValue> {
        Some(newer)
    }
}

impl Over for NodeChange {
    /// What was created stays created, whatever its labels become.
    fn over(newer: NodeChange, older: &NodeChange) -> Option<NodeChange> {
        Some(match (older, newer) {
            (NodeChange::Created(_), NodeChange::Labels(labels)) => NodeChange::Created(labels),
            (_, newer) => newer,
        })
    }
}

/// See [`merge`].
struct Merge<'a, K, V> {
    streams: Vec<Entries<'a, K, V>>,
    /// The next key of each stream, the oldest stream first among equals.
    next: BinaryHeap<Reverse<(K, usize)>>,
    values: Vec<Option<V>>,
    failed: Option<crate::Error>,
}

/// The net entries of `streams`, oldest first.
pub(crate) fn merge<'a, K, V>(mut streams: Vec<Entries<'a, K, V>>) -> Entries<'a, K, V>
where
    K: Ord + Send + 'a,
    V: Over + Send + 'a,
{
    if streams.len() < 2 {
        return streams
            .pop()
            .unwrap_or_else(|| Box::new(std::iter::empty()));
    }
    let mut merge = Merge {
        next: BinaryHeap::with_capacity(streams.len()),
        values: streams.iter().map(|_| None).collect(),
        streams,
        failed: None,
    };
    (0..merge.streams.len()).for_each(|at| merge.fetch(at));
    Box::new(merge)
}

impl<K: Ord, V: Over> Merge<'_, K, V> {
    fn fetch(&mut self, at: usize) {
        match self.streams[at].next() {
            Some(Ok((key, value))) => {
                self.next.push(Reverse((key, at)));
                self.values[at] = Some(value);
            }
            Some(Err(error)) => self.failed = Some(error),
            None => {}
        }
    }

    fn pop(&mut self) -> Option<(K, V)> {
        let Reverse((key, at)) = self.next.pop()?;
        let value = self.values[at].take()?;
        self.fetch(at);
        Some((key, value))
    }
}

impl<K: Ord, V: Over> Iterator for Merge<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(error) = self.failed.take() {
                self.next.clear();
                return Some(Err(error));
            }
            let (key, value) = self.pop()?;
            let mut net = Some(value);
            while self
                .next
                .peek()
                .is_some_and(|Reverse((same, _))| *same == key)
            {
                let (_, newer) = self.pop()?;
                net = match net {
                    None => Some(newer),
                    Some(older) => V::over(newer, &older),
                };
            }
            if self.failed.is_none()
                && let Some(value) = net
            {
                return Some(Ok((key, value)));
            }
        }
    }
}
