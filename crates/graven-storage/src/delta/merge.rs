//! Several sorted streams of changes as one: the net change of layers on top of each other.
//!
//! # How it works
//! A heap orders the streams by their next keys. A stream tells its next key without its value
//! ([`Ascending::next_key`]), so that of many streams with large values one value is decoded at a
//! time. What a stream has decoded is handed through as one where all of it comes before the other
//! streams ([`Ascending::take_ready`]): layers that were filled one after the other hardly overlap.
//!
//! # Costs
//! A heap of one key a stream; a single stream is passed through.

use crate::Result;
use crate::delta::change::RelationshipChange;
use crate::delta::change::{Change, NodeChange};
use graven_types::PropertyValue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;

/// Entries of one map, ascending.
pub(crate) type Entries<'a, K, V> = Box<dyn Iterator<Item = Result<(K, V)>> + Send + 'a>;

/// A map of one layer, ascending.
pub(crate) trait Ascending<K, V>: Iterator<Item = Result<(K, V)>> {
    /// The key of the entry that comes next.
    ///
    /// # Errors
    /// Those of the entry, which is gone then.
    fn next_key(&mut self) -> Result<Option<K>>;

    /// The entries that are decoded already, if there are any and all of them come before `end`.
    fn take_ready(&mut self, _end: Option<&K>) -> Option<std::vec::IntoIter<(K, V)>> {
        None
    }
}

/// The entries of one layer's map.
pub(crate) type LayerEntries<'a, K, V> = Box<dyn Ascending<K, V> + Send + 'a>;

/// Entries that are in memory already.
pub(crate) struct InMemory<I: Iterator>(Peekable<I>);

impl<I: Iterator> InMemory<I> {
    pub(crate) fn new(entries: I) -> Self {
        InMemory(entries.peekable())
    }
}

impl<I: Iterator> Iterator for InMemory<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl<K: Clone, V, I: Iterator<Item = Result<(K, V)>>> Ascending<K, V> for InMemory<I> {
    fn next_key(&mut self) -> Result<Option<K>> {
        if let Some(Err(error)) = self.0.next_if(Result::is_err) {
            return Err(error);
        }
        let next = self.0.peek().and_then(|entry| entry.as_ref().ok());
        Ok(next.map(|(key, _)| key.clone()))
    }
}

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
    streams: Vec<LayerEntries<'a, K, V>>,
    /// The next key of each stream, the oldest stream first among equals.
    next: BinaryHeap<Reverse<(K, usize)>>,
    /// What comes before all of them.
    ready: std::vec::IntoIter<(K, V)>,
    failed: Option<crate::Error>,
}

/// The net entries of `streams`, oldest first.
pub(crate) fn merge<'a, K, V>(mut streams: Vec<LayerEntries<'a, K, V>>) -> Entries<'a, K, V>
where
    K: Ord + Send + 'a,
    V: Over + Send + 'a,
{
    if streams.len() < 2 {
        return match streams.pop() {
            Some(only) => only,
            None => Box::new(std::iter::empty()),
        };
    }
    let mut merge = Merge {
        next: BinaryHeap::with_capacity(streams.len()),
        streams,
        ready: Vec::new().into_iter(),
        failed: None,
    };
    (0..merge.streams.len()).for_each(|at| merge.look(at));
    Box::new(merge)
}

impl<K: Ord, V: Over> Merge<'_, K, V> {
    /// Puts the next key of a stream on the heap.
    fn look(&mut self, at: usize) {
        match self.streams[at].next_key() {
            Ok(Some(key)) => self.next.push(Reverse((key, at))),
            Ok(None) => {}
            Err(error) => self.failed = Some(error),
        }
    }

    /// Makes what the first stream has decoded ready, if no other stream has any of these keys.
    fn take_ready(&mut self) -> Option<(K, V)> {
        let Reverse((_, at)) = self.next.peek()?;
        let at = *at;
        // The others begin with one of the next two entries of the heap.
        let others = self.next.as_slice().iter().skip(1).take(2);
        let end = others.map(|Reverse((key, _))| key).min();
        self.ready = self.streams[at].take_ready(end)?;
        self.next.pop();
        self.look(at);
        self.ready.next()
    }

    fn pop(&mut self) -> Option<(K, V)> {
        let Reverse((_, at)) = self.next.pop()?;
        match self.streams[at].next()? {
            Ok(entry) => {
                self.look(at);
                Some(entry)
            }
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}

impl<K: Ord, V: Over> Iterator for Merge<'_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(entry) = self.ready.next() {
            return Some(Ok(entry));
        }
        loop {
            if let Some(error) = self.failed.take() {
                self.next.clear();
                return Some(Err(error));
            }
            if let Some(entry) = self.take_ready() {
                return Some(Ok(entry));
            }
            let Some((key, value)) = self.pop() else {
                match self.failed {
                    Some(_) => continue,
                    None => return None,
                }
            };
            let mut net = Some(value);
            while self
                .next
                .peek()
                .is_some_and(|Reverse((same, _))| *same == key)
            {
                let Some((_, newer)) = self.pop() else {
                    break;
                };
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Makes its values when they are asked for.
    struct Late {
        keys: Vec<u64>,
        value: Arc<()>,
    }

    struct Held(#[expect(dead_code, reason = "counted while it lives")] Arc<()>);

    impl Over for Held {
        fn over(newer: Held, _older: &Held) -> Option<Held> {
            Some(newer)
        }
    }

    impl Iterator for Late {
        type Item = Result<(u64, Held)>;

        fn next(&mut self) -> Option<Self::Item> {
            let key = self.keys.pop()?;
            Some(Ok((key, Held(self.value.clone()))))
        }
    }

    impl Ascending<u64, Held> for Late {
        fn next_key(&mut self) -> Result<Option<u64>> {
            Ok(self.keys.last().copied())
        }
    }

    /// Goal: of many layers no more than the value that is handed out and the one over it are
    /// there at a time.
    #[test]
    fn one_value_is_decoded_at_a_time() {
        let value = Arc::new(());
        let layer = |from: u64| -> LayerEntries<'static, u64, Held> {
            let keys = (0..10).rev().map(|at| from + 3 * at).collect();
            let value = value.clone();
            Box::new(Late { keys, value })
        };
        let streams: Vec<_> = (0..8).map(layer).collect();
        // The test and each stream hold one.
        let before = Arc::strong_count(&value);
        assert_eq!(before, 9);
        let mut keys = Vec::new();
        for entry in merge(streams) {
            let (key, held) = entry.expect("no stream fails");
            assert!(Arc::strong_count(&value) <= before + 1);
            drop(held);
            keys.push(key);
        }
        let mut all: Vec<u64> = (0..8)
            .flat_map(|from| (0..10).map(move |at| from + 3 * at))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(keys, all);
    }
}
