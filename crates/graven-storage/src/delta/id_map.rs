//! A persistent map from ids to what changed of them.
//!
//! # How it works
//! Ids are given out one after the other, so what one transaction creates are runs. The map is a
//! persistent B-tree (crate `imbl`) of *chunks*: the entries of [`SLOTS`] neighbouring ids, a bit
//! mask and a vector. A copy of the map shares everything; a change copies the path to its chunk
//! and the chunk, if they are shared. Putting a large map on top of another ([`IdMap::chunks`],
//! [`IdMap::merge_chunk`]) takes over whole chunks where the other has none.
//!
//! What a small transaction changes is in one chunk: a map of one has no tree, and to make it, read
//! it and put it on another takes no allocations for one.
//!
//! # Costs
//! A look-up is one in a tree of a sixteenth of the entries, and a bit count. An entry of a full
//! chunk takes its own size and 4 bytes, one that is alone in its chunk [`CHUNK_BYTES`] more.

use imbl::OrdMap;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Ids of a chunk.
pub(super) const SLOTS: u64 = 16;
/// What a chunk takes beside its entries: header, mask, vector, its place in the tree, the
/// allocator's, room for a second entry.
pub(crate) const CHUNK_BYTES: u64 = 112;

/// The entries of [`SLOTS`] neighbouring ids.
#[derive(Clone, Debug)]
pub(crate) struct Chunk<V> {
    /// Which of the ids have one.
    mask: u16,
    /// In their order. What a statement creates or changes has mostly a neighbour: two take no
    /// memory of their own.
    values: SmallVec<[V; 2]>,
}

impl<V> Chunk<V> {
    /// Entries before that of `slot`.
    fn rank(&self, slot: u64) -> usize {
        (self.mask & ((1 << slot) - 1)).count_ones() as usize
    }

    fn has(&self, slot: u64) -> bool {
        self.mask >> slot & 1 == 1
    }

    /// The values, by id ascending.
    pub(crate) fn values(&self) -> &[V] {
        &self.values
    }

    /// Enters a value; the one before.
    pub(super) fn insert(&mut self, slot: u64, value: V) -> Option<V> {
        let rank = self.rank(slot);
        if self.has(slot) {
            return Some(std::mem::replace(&mut self.values[rank], value));
        }
        self.mask |= 1 << slot;
        self.values.insert(rank, value);
        None
    }

    /// Takes a value out, if there is one.
    pub(super) fn remove(&mut self, slot: u64) -> Option<V> {
        self.has(slot).then(|| {
            let value = self.values.remove(self.rank(slot));
            self.mask &= !(1 << slot);
            value
        })
    }

    pub(super) fn get_mut(&mut self, slot: u64) -> Option<&mut V> {
        let rank = self.rank(slot);
        self.has(slot).then(|| &mut self.values[rank])
    }

    /// An empty one with room for all its ids: they will come one after the other.
    pub(super) fn roomy() -> Chunk<V> {
        Chunk {
            mask: 0,
            values: SmallVec::with_capacity(SLOTS as usize),
        }
    }

    /// Gives room back, if much was left over.
    pub(super) fn end(&mut self) {
        if self.values.len() < SLOTS as usize / 2 {
            self.values.shrink_to_fit();
        }
    }
}

/// The ids of a chunk that a mask names, ascending.
fn ids(at: u64, mask: u16) -> impl Iterator<Item = u64> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let slot = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
        left &= left - 1;
        Some(at * SLOTS + slot)
    })
}

/// Chunks by their numbers.
#[derive(Clone, Debug)]
enum Chunks<V> {
    One(Option<(u64, Arc<Chunk<V>>)>),
    Many(OrdMap<u64, Arc<Chunk<V>>>),
}

impl<V> Chunks<V> {
    #[inline]
    fn get(&self, at: u64) -> Option<&Arc<Chunk<V>>> {
        match self {
            Chunks::One(one) => one.as_ref().filter(|one| one.0 == at).map(|one| &one.1),
            Chunks::Many(tree) => tree.get(&at),
        }
    }

    fn get_mut(&mut self, at: u64) -> Option<&mut Arc<Chunk<V>>> {
        match self {
            Chunks::One(one) => one.as_mut().filter(|one| one.0 == at).map(|one| &mut one.1),
            Chunks::Many(tree) => tree.get_mut(&at),
        }
    }

    fn insert(&mut self, at: u64, chunk: Arc<Chunk<V>>) {
        match self {
            Chunks::One(one) if one.as_ref().is_none_or(|one| one.0 == at) => {
                *one = Some((at, chunk));
            }
            Chunks::One(one) => {
                let both = one.take().into_iter().chain([(at, chunk)]);
                *self = Chunks::Many(both.collect());
            }
            Chunks::Many(tree) => {
                tree.insert(at, chunk);
            }
        }
    }

    fn remove(&mut self, at: u64) {
        match self {
            Chunks::One(one) => {
                one.take_if(|one| one.0 == at);
            }
            Chunks::Many(tree) => {
                tree.remove(&at);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Chunks::One(one) => usize::from(one.is_some()),
            Chunks::Many(tree) => tree.len(),
        }
    }

    /// By number, ascending.
    fn iter(&self) -> impl Iterator<Item = (u64, &Arc<Chunk<V>>)> {
        let (few, many) = match self {
            Chunks::One(one) => (one.as_ref(), None),
            Chunks::Many(tree) => (None, Some(tree)),
        };
        let few = few.into_iter().map(|(at, chunk)| (*at, chunk));
        let many = many.into_iter().flatten().map(|(at, chunk)| (*at, chunk));
        few.chain(many)
    }

    /// Whether there is one from `low` to `high`.
    fn any(&self, low: u64, high: u64) -> bool {
        match self {
            Chunks::One(one) => one
                .as_ref()
                .is_some_and(|one| (low..=high).contains(&one.0)),
            Chunks::Many(tree) => tree.range(low..=high).next().is_some(),
        }
    }
}

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct IdMap<V> {
    chunks: Chunks<V>,
    len: usize,
}

impl<V> Default for IdMap<V> {
    fn default() -> Self {
        IdMap {
            chunks: Chunks::One(None),
            len: 0,
        }
    }
}

impl<V> IdMap<V> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<&V> {
        let chunk = self.chunks.get(id / SLOTS)?;
        let slot = id % SLOTS;
        chunk.has(slot).then(|| &chunk.values[chunk.rank(slot)])
    }

    /// Whether there may be entries of ids from `low` to `high`: some in the same chunks.
    pub(crate) fn may_have(&self, low: u64, high: u64) -> bool {
        low <= high && self.chunks.any(low / SLOTS, high / SLOTS)
    }

    /// Whether it has an entry of an id that a chunk of another map has one of, too.
    pub(crate) fn meets<T>(&self, at: u64, other: &Chunk<T>) -> bool {
        (self.chunks.get(at)).is_some_and(|chunk| chunk.mask & other.mask != 0)
    }

    /// All entries, ids ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        let chunks = self.chunks.iter();
        chunks.flat_map(|(at, chunk)| Self::entries(at, chunk))
    }

    pub(crate) fn chunk_count(&self) -> u64 {
        self.chunks.len() as u64
    }

    /// All ids, ascending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        self.iter().map(|(id, _)| id)
    }

    /// All chunks with their numbers, ascending.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (u64, &Arc<Chunk<V>>)> {
        self.chunks.iter()
    }

    /// The ids that another map has no entries of, ascending.
    pub(crate) fn ids_beside<'a, T>(
        &'a self,
        other: &'a IdMap<T>,
    ) -> impl Iterator<Item = u64> + 'a {
        self.chunks().flat_map(|(at, chunk)| {
            let known = other.chunks.get(at).map_or(0, |known| known.mask);
            ids(at, chunk.mask & !known)
        })
    }

    /// The entries of a chunk.
    pub(crate) fn entries(at: u64, chunk: &Chunk<V>) -> impl Iterator<Item = (u64, &V)> {
        ids(at, chunk.mask).zip(chunk.values.iter())
    }
}

impl<V: Clone> IdMap<V> {
    /// Enters a value; the one before.
    pub(crate) fn insert(&mut self, id: u64, value: V) -> Option<V> {
        let (at, slot) = (id / SLOTS, id % SLOTS);
        let Some(chunk) = self.chunks.get_mut(at) else {
            let chunk = Chunk {
                mask: 1 << slot,
                values: smallvec![value],
            };
            self.chunks.insert(at, Arc::new(chunk));
            self.len += 1;
            return None;
        };
        let before = Arc::make_mut(chunk).insert(slot, value);
        self.len += usize::from(before.is_none());
        before
    }

    /// For entering values of ascending ids: cheaper than one insertion each.
    pub(crate) fn filler(&mut self) -> Filler<'_, V> {
        Filler {
            map: self,
            open: None,
        }
    }

    /// Puts a chunk of a newer map on top: takes it over where this one has no entry of it, else
    /// enters what `over` makes of each value and the one that is known. Whether it was taken over.
    pub(crate) fn merge_chunk(
        &mut self,
        at: u64,
        newer: &Arc<Chunk<V>>,
        mut over: impl FnMut(&V, Option<&V>) -> V,
    ) -> bool {
        let Some(own) = self.chunks.get_mut(at) else {
            self.len += newer.values.len();
            self.chunks.insert(at, Arc::clone(newer));
            return true;
        };
        let own = Arc::make_mut(own);
        let before = own.values.len();
        for (id, value) in Self::entries(at, newer) {
            let slot = id % SLOTS;
            match own.get_mut(slot) {
                Some(known) => *known = over(value, Some(known)),
                None => {
                    own.insert(slot, over(value, None));
                }
            }
        }
        self.len += own.values.len() - before;
        false
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, id: u64) -> Option<V> {
        let (at, slot) = (id / SLOTS, id % SLOTS);
        self.get(id)?;
        let chunk = Arc::make_mut(self.chunks.get_mut(at)?);
        let value = chunk.remove(slot);
        if chunk.mask == 0 {
            self.chunks.remove(at);
        }
        self.len -= 1;
        value
    }

    /// A map of these entries, whose ids ascend.
    pub(super) fn of_ascending(entries: impl Iterator<Item = (u64, V)>) -> IdMap<V> {
        let mut chunks: Vec<(u64, Chunk<V>)> = Vec::new();
        let mut len = 0;
        for (id, value) in entries {
            let at = id / SLOTS;
            if chunks.last().is_none_or(|(last, _)| *last != at) {
                if let Some((_, full)) = chunks.last_mut() {
                    full.end();
                }
                chunks.push((at, Chunk::roomy()));
            }
            let (_, chunk) = chunks.last_mut().expect("pushed where there was none");
            chunk.insert(id % SLOTS, value);
            len += 1;
        }
        if let Some((_, last)) = chunks.last_mut() {
            last.end();
        }
        let shared = |(at, chunk)| (at, Arc::new(chunk));
        let chunks = match chunks.len() {
            0 | 1 => Chunks::One(chunks.pop().map(shared)),
            _ => Chunks::Many(chunks.into_iter().map(shared).collect()),
        };
        IdMap { chunks, len }
    }
}

/// Enters values chunk by chunk; see [`IdMap::filler`].
pub(crate) struct Filler<'a, V: Clone> {
    map: &'a mut IdMap<V>,
    /// A new chunk, which is not in the tree yet.
    open: Option<(u64, Chunk<V>)>,
}

impl<V: Clone> Filler<'_, V> {
    /// Enters a value; the one before. Any order is right, ascending ids are fast.
    pub(crate) fn put(&mut self, id: u64, value: V) -> Option<V> {
        let (at, slot) = (id / SLOTS, id % SLOTS);
        let chunk = match &mut self.open {
            Some((open, chunk)) if *open == at => chunk,
            _ => {
                self.put_back();
                if let Some(chunk) = self.map.chunks.get_mut(at) {
                    // There are at most so many more of it.
                    let before = Arc::make_mut(chunk).insert(slot, value);
                    self.map.len += usize::from(before.is_none());
                    return before;
                }
                &mut self.open.insert((at, Chunk::roomy())).1
            }
        };
        chunk.insert(slot, value)
    }

    fn put_back(&mut self) {
        if let Some((at, mut chunk)) = self.open.take() {
            chunk.end();
            self.map.len += chunk.values.len();
            self.map.chunks.insert(at, Arc::new(chunk));
        }
    }
}

impl<V: Clone> Drop for Filler<'_, V> {
    fn drop(&mut self) {
        self.put_back();
    }
}

#[cfg(test)]
mod tests {
    //! Goal: an id map says what a map of the standard library says, also of copies, and of maps
    //! put together. Method: random operations on both.

    use super::*;
    use graven_types::rng::SplitMix64;
    use std::collections::BTreeMap;

    fn check(map: &IdMap<u64>, plain: &BTreeMap<u64, u64>) {
        assert_eq!(map.len(), plain.len());
        assert_eq!(map.is_empty(), plain.is_empty());
        let entries: Vec<(u64, u64)> = map.iter().map(|(id, value)| (id, *value)).collect();
        let wanted: Vec<(u64, u64)> = plain.iter().map(|(id, value)| (*id, *value)).collect();
        assert_eq!(entries, wanted);
        for id in 0..200 {
            assert_eq!(map.get(id), plain.get(&id), "{id}");
            let high = id + id % 40;
            assert!(map.may_have(id, high) || plain.range(id..=high).next().is_none());
            assert!(!map.may_have(id + 1, id));
        }
        assert!(!map.may_have(100_000, u64::MAX));
    }

    #[test]
    fn a_map_of_ids_is_a_map() {
        let mut random = SplitMix64::new(7);
        let mut random = move |below| random.below(below);
        let (mut map, mut plain) = (IdMap::default(), BTreeMap::new());
        for round in 0..400 {
            let (before, plain_before) = (map.clone(), plain.clone());
            for _ in 0..random(20) {
                let (id, value) = (random(150), random(1000));
                if random(3) == 0 {
                    assert_eq!(map.remove(id), plain.remove(&id));
                    continue;
                }
                assert_eq!(map.insert(id, value), plain.insert(id, value));
            }
            check(&map, &plain);
            check(&before, &plain_before);
            for (at, chunk) in before.chunks() {
                let of_chunk = IdMap::entries(at, chunk);
                let meets = of_chunk.map(|(id, _)| id).any(|id| plain.contains_key(&id));
                assert_eq!(map.meets(at, chunk), meets, "{at}");
            }
            let beside = plain_before.keys().filter(|id| !plain.contains_key(id));
            assert!(before.ids_beside(&map).eq(beside.copied()));
            if round % 10 == 0 {
                let first = plain.last_key_value().map_or(0, |(id, _)| id + 1);
                let values: Vec<Option<u64>> = (0..random(40))
                    .map(|_| (random(4) > 0).then(|| random(1000)))
                    .collect();
                let mut filler = map.filler();
                // Behind what is there, and once over the beginning.
                for (id, value) in (first..).zip(&values).chain((0..).zip(&values)) {
                    if let Some(value) = *value {
                        assert_eq!(filler.put(id, value), plain.insert(id, value));
                    }
                }
                drop(filler);
                check(&map, &plain);
                let mut other = IdMap::default();
                for (at, chunk) in map.chunks() {
                    assert!(other.merge_chunk(at, chunk, |_, _| unreachable!("it is taken over")));
                    let known = |new: &u64, old: Option<&u64>| new + old.map_or(1, |old| old - new);
                    assert!(!other.merge_chunk(at, chunk, known));
                }
                check(&other, &plain);
                // On top of another map, whose entries count where it has some.
                let mut sum = before.clone();
                for (at, chunk) in map.chunks() {
                    sum.merge_chunk(at, chunk, |new, old| new + old.copied().unwrap_or(0));
                }
                let mut wanted = plain_before.clone();
                for (id, value) in &plain {
                    let chunk = id / SLOTS;
                    let taken_over = plain_before.keys().all(|known| known / SLOTS != chunk);
                    let known = wanted.entry(*id).or_default();
                    *known = if taken_over { *value } else { *known + value };
                }
                check(&sum, &wanted);
                for id in 150..220 {
                    assert_eq!(map.remove(id), plain.remove(&id));
                }
            }
        }
    }
}
