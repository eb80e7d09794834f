//! A map from ids while it is made and nobody reads it: it becomes an [`IdMap`] at once.
//!
//! # How it works
//! Ids are given out one after the other, so what a log says of one store mostly ascends. Its chunks are a vector: what ascends is
//! appended to the last one, what comes late is found by bisecting. A chunk that is missed in between goes to a tree beside it. No path is
//! copied, and no chunk is looked at for whether it is shared. In the end the chunks enter the persistent map in their order.
//!
//! # Costs
//! An entry of ascending ids: a push. Any other: a bisection of a sixteenth of the entries, and for scattered ids one in a tree.

use super::id_map::{Chunk, IdMap, SLOTS};
use std::collections::BTreeMap;

/// See the file header.
#[derive(Debug)]
pub(crate) struct Growing<V> {
    /// Their numbers ascend.
    chunks: Vec<(u64, Chunk<V>)>,
    /// Chunks between those.
    between: BTreeMap<u64, Chunk<V>>,
    len: usize,
}

impl<V> Default for Growing<V> {
    fn default() -> Self {
        Growing {
            chunks: Vec::new(),
            between: BTreeMap::new(),
            len: 0,
        }
    }
}

impl<V: Clone> Growing<V> {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Chunks begun so far.
    pub(crate) fn chunk_count(&self) -> u64 {
        (self.chunks.len() + self.between.len()) as u64
    }

    /// The chunk with number `at`, a new one if need be.
    #[inline]
    fn chunk(&mut self, at: u64) -> &mut Chunk<V> {
        let last = self.chunks.last_mut().map(|(last, chunk)| {
            if *last < at {
                chunk.end();
            }
            *last
        });
        match last {
            Some(last) if last == at => {}
            Some(last) if last > at => return self.late_chunk(at),
            _ => self.chunks.push((at, Chunk::roomy())),
        }
        let (_, chunk) = self.chunks.last_mut().expect("pushed where there was none");
        chunk
    }

    /// One before the last.
    fn late_chunk(&mut self, at: u64) -> &mut Chunk<V> {
        match self.chunks.binary_search_by_key(&at, |(number, _)| *number) {
            Ok(place) => &mut self.chunks[place].1,
            Err(_) => self.between.entry(at).or_insert_with(Chunk::empty),
        }
    }

    /// Enters a value, where there is one already what `over` makes of both; whether it is the first of its id.
    pub(crate) fn put_over(&mut self, id: u64, value: V, over: impl FnOnce(V, &V) -> V) -> bool {
        let (chunk, slot) = (self.chunk(id / SLOTS), id % SLOTS);
        let Some(known) = chunk.get_mut(slot) else {
            chunk.insert(slot, value);
            self.len += 1;
            return true;
        };
        *known = over(value, known);
        false
    }

    /// Enters a value; the one before.
    #[inline]
    pub(crate) fn put(&mut self, id: u64, value: V) -> Option<V> {
        let before = self.chunk(id / SLOTS).insert(id % SLOTS, value);
        self.len += usize::from(before.is_none());
        before
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, id: u64) -> Option<V> {
        let gone = self.chunk(id / SLOTS).remove(id % SLOTS);
        self.len -= usize::from(gone.is_some());
        gone
    }

    /// The same as a persistent map.
    pub(crate) fn finish(mut self) -> IdMap<V> {
        self.chunks.extend(self.between);
        self.chunks.retain(|(_, chunk)| !chunk.values().is_empty());
        self.chunks.sort_unstable_by_key(|(number, _)| *number);
        IdMap::of_chunks(self.chunks)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a map that grew is the one that gets the same entries one after the other, in whatever order they come.

    use super::*;
    use graven_random::SplitMix64;

    #[test]
    fn a_map_that_grew_is_a_map() {
        let mut random = SplitMix64::new(3);
        let mut random = move |below| random.below(below);
        for round in 0..200 {
            let (mut growing, mut plain) = (Growing::default(), IdMap::default());
            let mut next = 0;
            for _ in 0..random(300) {
                let value = random(1000);
                let id = match random(4) {
                    // Ascending with gaps, late by a little, anywhere.
                    0 | 1 => {
                        next += 1 + random(1 + round / 10);
                        next
                    }
                    2 => next.saturating_sub(random(40)),
                    _ => random(2000),
                };
                match random(5) {
                    0 => assert_eq!(growing.remove(id), plain.remove(id)),
                    1 => {
                        let both = plain.get(id).map_or(value, |known| known + 7 * value);
                        let first = growing.put_over(id, value, |new, known| known + 7 * new);
                        assert_eq!(first, plain.insert(id, both).is_none());
                    }
                    _ => assert_eq!(growing.put(id, value), plain.insert(id, value)),
                }
                assert_eq!(growing.is_empty(), plain.is_empty());
            }
            let map = growing.finish();
            assert_eq!(map.len(), plain.len());
            assert!(map.iter().eq(plain.iter()));
            assert_eq!(map.last(), plain.last());
        }
    }
}
