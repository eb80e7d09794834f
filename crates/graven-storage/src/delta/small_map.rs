//! A persistent ordered map that is a shared vector as long as it is small, or is only filled.
//!
//! # How it works
//! What one statement changes is a few properties, lists and entries of indexes. A persistent
//! B-tree (crate `imbl`) keeps room for 64 entries in every node: kilobytes to get, fill and free
//! for each map of each commit. So up to [`FEW`] entries are a sorted vector, which copies of the
//! map share until one of them changes; more are such a tree. A map that has become a tree stays
//! one.
//!
//! A transaction that loads a table enters hundreds of thousands of relationships before anything
//! reads them. So entries beyond [`FEW`] that are [put](SmallMap::put) are appended to a list. The
//! first reader puts the list in order; an entry that comes after that makes a tree of it.
//!
//! # Concurrency
//! Copies share a list; the thread that reads it first puts it in order, others wait for that.
//!
//! # Costs
//! Of a small map: a look-up bisects; the first change of a copy copies all, and needs an
//! allocation, two from [`FIRST`] entries on. Of a list: an entry is appended, and sorted once with
//! the others.

use equivalent::Comparable;
use imbl::OrdMap;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

/// Entries up to which a map is a vector.
const FEW: usize = 16;
/// Entries that lie in the same piece of memory as their count.
const FIRST: usize = 4;

type Few<K, V> = SmallVec<[(K, V); FIRST]>;

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct SmallMap<K: Ord, V>(Entries<K, V>);

#[derive(Clone, Debug)]
enum Entries<K: Ord, V> {
    /// Keys ascend; none: no entries.
    Few(Option<Arc<Few<K, V>>>),
    /// Never empty.
    Listed(Arc<Listed<K, V>>),
    Many(OrdMap<K, V>),
}

/// Entries in the order in which they came, until one is read.
#[derive(Debug)]
struct Listed<K, V> {
    appended: Mutex<Vec<(K, V)>>,
    /// All of them, keys ascending; of a key that came twice, the later value.
    ordered: OnceLock<Vec<(K, V)>>,
}

impl<K: Ord, V> Listed<K, V> {
    fn new(entries: Vec<(K, V)>) -> Self {
        Listed {
            appended: Mutex::new(entries),
            ordered: OnceLock::new(),
        }
    }

    fn ordered(&self) -> &[(K, V)] {
        self.ordered_by(|entries| entries.sort_by(|(a, _), (b, _)| a.cmp(b)))
    }

    /// `sort` leaves equal keys as they come.
    fn ordered_by(&self, sort: impl FnOnce(&mut Vec<(K, V)>)) -> &[(K, V)] {
        self.ordered.get_or_init(|| {
            let mut entries = std::mem::take(&mut *self.appended.lock());
            sort(&mut entries);
            entries.dedup_by(|later, kept| {
                let again = later.0 == kept.0;
                if again {
                    std::mem::swap(later, kept);
                }
                again
            });
            entries
        })
    }

    /// Appends an entry, unless the list is in order already.
    fn append(&mut self, key: K, value: V) -> Result<(), (K, V)> {
        if self.ordered.get().is_some() {
            return Err((key, value));
        }
        self.appended.get_mut().push((key, value));
        Ok(())
    }
}

impl<K: Ord, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        SmallMap(Entries::Few(None))
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        match self.sorted() {
            Ok(sorted) => sorted.len(),
            Err(tree) => tree.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.0 {
            Entries::Few(few) => few.as_ref().is_none_or(|few| few.is_empty()),
            Entries::Listed(_) => false,
            Entries::Many(tree) => tree.is_empty(),
        }
    }

    /// Puts entries that were appended in order by a faster way than comparing all keys, which
    /// leaves equal keys as they come.
    pub(crate) fn put_in_order(&self, sort: impl FnOnce(&mut Vec<(K, V)>)) {
        if let Entries::Listed(listed) = &self.0 {
            listed.ordered_by(sort);
        }
    }

    /// All entries, keys ascending, or the tree that holds them.
    #[inline]
    fn sorted(&self) -> Result<&[(K, V)], &OrdMap<K, V>> {
        match &self.0 {
            Entries::Few(few) => Ok(few.as_ref().map_or(&[][..], |few| few)),
            Entries::Listed(listed) => Ok(listed.ordered()),
            Entries::Many(tree) => Err(tree),
        }
    }
}

/// The place of `key`, or where it would be.
fn place<K: Ord, V>(few: &[(K, V)], key: &K) -> Result<usize, usize> {
    few.binary_search_by(|(known, _)| known.cmp(key))
}

impl<K: Ord, V> SmallMap<K, V> {
    /// The entries from `start` on, keys ascending.
    pub(crate) fn range_from(&self, start: Bound<&K>) -> impl Iterator<Item = (&K, &V)> {
        let (few, many) = match self.sorted() {
            Ok(few) => {
                let at = match start {
                    Bound::Unbounded => 0,
                    Bound::Included(key) => place(few, key).unwrap_or_else(|at| at),
                    Bound::Excluded(key) => place(few, key).map_or_else(|at| at, |at| at + 1),
                };
                (&few[at..], None)
            }
            Err(tree) => (&[][..], Some(tree.range::<_, K>((start, Bound::Unbounded)))),
        };
        let few = few.iter().map(|(key, value)| (key, value));
        few.chain(many.into_iter().flatten())
    }

    /// All entries, keys ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (few, many) = match self.sorted() {
            Ok(few) => (few, None),
            Err(tree) => (&[][..], Some(tree.iter())),
        };
        let few = few.iter().map(|(key, value)| (key, value));
        few.chain(many.into_iter().flatten())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The last entry up to `end`.
    pub(crate) fn last_to(&self, end: Bound<&K>) -> Option<(&K, &V)> {
        match self.sorted() {
            Ok(few) => {
                let count = match end {
                    Bound::Unbounded => few.len(),
                    Bound::Included(key) => place(few, key).map_or_else(|at| at, |at| at + 1),
                    Bound::Excluded(key) => place(few, key).unwrap_or_else(|at| at),
                };
                let (key, value) = few[..count].last()?;
                Some((key, value))
            }
            Err(tree) => tree.range::<_, K>((Bound::Unbounded, end)).next_back(),
        }
    }

    /// The first entry behind `place`, which lies between keys and equals none: the tree looks for
    /// one key, and would pass over some of several that are equal.
    pub(crate) fn first_behind<P: Comparable<K>>(&self, place: &P) -> Option<(&K, &V)> {
        match self.sorted() {
            Ok(few) => {
                let at = few.partition_point(|(known, _)| place.compare(known).is_gt());
                few.get(at).map(|(key, value)| (key, value))
            }
            Err(tree) => {
                let behind = (Bound::Excluded(place), Bound::Unbounded);
                tree.range::<_, P>(behind).next()
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self.sorted() {
            Ok(few) => place(few, key).ok().map(|at| &few[at].1),
            Err(tree) => tree.get(key),
        }
    }
}

impl<K: Ord + Clone, V: Clone> SmallMap<K, V> {
    /// Makes a tree of a list.
    fn plant(&mut self) {
        if let Entries::Listed(listed) = &self.0 {
            self.0 = Entries::Many(listed.ordered().iter().cloned().collect());
        }
    }

    /// Enters a value, whatever the one before was.
    pub(crate) fn put(&mut self, key: K, value: V) {
        let (key, value) = match &mut self.0 {
            Entries::Few(Some(few)) if few.len() >= FEW && place(few, &key).is_err() => {
                let entries = few.iter().cloned().chain([(key, value)]).collect();
                self.0 = Entries::Listed(Arc::new(Listed::new(entries)));
                return;
            }
            // One that a reader has a copy of is not changed.
            Entries::Listed(listed) => match Arc::get_mut(listed) {
                Some(own) => match own.append(key, value) {
                    Ok(()) => return,
                    Err(entry) => entry,
                },
                None => (key, value),
            },
            _ => (key, value),
        };
        self.insert(key, value);
    }

    /// Enters all entries of another map, none of which this one has.
    pub(crate) fn absorb(&mut self, newer: &SmallMap<K, V>) {
        if self.is_empty() {
            self.clone_from(newer);
            return;
        }
        let entries = newer
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()));
        if newer.len() <= FEW || newer.len() < self.len() {
            entries.for_each(|(key, value)| self.put(key, value));
            return;
        }
        // A list of two runs is put in order by one pass, which is less than to enter so many.
        let known = self.iter().map(|(key, value)| (key.clone(), value.clone()));
        self.0 = Entries::Listed(Arc::new(Listed::new(known.chain(entries).collect())));
    }

    /// Enters a value; the one before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.plant();
        let few = match &mut self.0 {
            Entries::Many(tree) => return tree.insert(key, value),
            Entries::Few(few) => few,
            Entries::Listed(_) => unreachable!("planted"),
        };
        let shared = few.get_or_insert_default();
        match place(shared, &key) {
            Ok(at) => {
                let known = &mut Arc::make_mut(shared)[at].1;
                return Some(std::mem::replace(known, value));
            }
            Err(at) if shared.len() < FEW => Arc::make_mut(shared).insert(at, (key, value)),
            Err(_) => {
                let tree = shared.iter().cloned().chain([(key, value)]);
                self.0 = Entries::Many(tree.collect());
            }
        }
        None
    }

    /// The value of `key`, to be changed; a new one if need be.
    pub(crate) fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.plant();
        if let Entries::Few(Some(few)) = &self.0
            && few.len() >= FEW
            && place(few, &key).is_err()
        {
            self.insert(key.clone(), V::default());
        }
        match &mut self.0 {
            Entries::Few(few) => {
                let few = Arc::make_mut(few.get_or_insert_default());
                let at = place(few, &key).unwrap_or_else(|at| {
                    few.insert(at, (key, V::default()));
                    at
                });
                &mut few[at].1
            }
            Entries::Many(tree) => {
                if !tree.contains_key(&key) {
                    tree.insert(key.clone(), V::default());
                }
                tree.get_mut(&key).expect("just inserted")
            }
            Entries::Listed(_) => unreachable!("planted"),
        }
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.plant();
        match &mut self.0 {
            Entries::Few(few) => {
                let few = few.as_mut()?;
                let at = place(few, key).ok()?;
                Some(Arc::make_mut(few).remove(at).1)
            }
            Entries::Many(tree) => tree.remove(key),
            Entries::Listed(_) => unreachable!("planted"),
        }
    }
}

impl<K: Ord, V: PartialEq> PartialEq for SmallMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// Of keys that ascend, or of few.
impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SmallMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SmallMap::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a small map says what a map of the standard library says, small and large, also of
    //! copies. Method: random operations on both.

    use super::*;
    use equivalent::Equivalent;
    use graven_types::rng::SplitMix64;
    use std::cmp::Ordering;
    use std::collections::BTreeMap;

    /// The place just behind a key.
    struct Behind(u64);

    impl Equivalent<u64> for Behind {
        fn equivalent(&self, _: &u64) -> bool {
            false
        }
    }

    impl Comparable<u64> for Behind {
        fn compare(&self, key: &u64) -> Ordering {
            self.0.cmp(key).then(Ordering::Greater)
        }
    }

    fn check(map: &SmallMap<u64, u64>, plain: &BTreeMap<u64, u64>) {
        assert_eq!(map.len(), plain.len());
        assert_eq!(map.is_empty(), plain.is_empty());
        assert!(map.iter().eq(plain.iter()));
        assert!(map.keys().eq(plain.keys()) && map.values().eq(plain.values()));
        for key in 0..60 {
            assert_eq!(map.get(&key), plain.get(&key), "{key}");
            for start in [Bound::Included(&key), Bound::Excluded(&key)] {
                let wanted = plain.range::<u64, _>((start, Bound::Unbounded));
                assert!(map.range_from(start).eq(wanted), "{start:?}");
                let wanted = plain.range::<u64, _>((Bound::Unbounded, start));
                assert_eq!(map.last_to(start), wanted.last(), "{start:?}");
            }
            let behind = plain.range::<u64, _>((Bound::Excluded(&key), Bound::Unbounded));
            assert_eq!(
                map.first_behind(&Behind(key)),
                behind.into_iter().next(),
                "{key}"
            );
        }
        assert!(map.range_from(Bound::Unbounded).eq(plain.iter()));
        assert_eq!(map.last_to(Bound::Unbounded), plain.last_key_value());
        let again: SmallMap<u64, u64> = plain.iter().map(|(k, v)| (*k, *v)).collect();
        assert_eq!(*map, again);
    }

    #[test]
    fn a_small_map_is_a_map() {
        let mut random = SplitMix64::new(11);
        let mut random = move |below| random.below(below);
        let (mut trees, mut lists) = (0, 0);
        for round in 0..300 {
            // Some are only put to for a while.
            let kinds = if round % 3 == 0 { 16 } else { 5 };
            // Some stay small for ever.
            let keys = 3 + round % 50;
            let (mut map, mut plain) = (SmallMap::default(), BTreeMap::new());
            for _ in 0..random(12) {
                let (before, plain_before) = (map.clone(), plain.clone());
                let copied = random(2) == 0;
                let before = copied.then_some(before);
                for _ in 0..random(40) {
                    let (key, value) = (random(keys), random(1000));
                    match random(kinds) {
                        0 => assert_eq!(map.remove(&key), plain.remove(&key)),
                        1 => {
                            *map.entry(key) += value;
                            *plain.entry(key).or_default() += value;
                        }
                        2 => assert_eq!(map.insert(key, value), plain.insert(key, value)),
                        _ => {
                            map.put(key, value);
                            plain.insert(key, value);
                        }
                    }
                }
                lists += u32::from(matches!(map.0, Entries::Listed(_)));
                check(&map, &plain);
                if let Some(before) = before {
                    check(&before, &plain_before);
                    assert_eq!(map == before, plain == plain_before);
                }
            }
            trees += u32::from(matches!(map.0, Entries::Many(_)));
        }
        assert!((30..270).contains(&trees), "{trees} of 300 are trees");
        assert!(lists > 10, "{lists} lists were read");
    }

    #[test]
    fn a_map_absorbs_one_of_other_keys() {
        let mut random = SplitMix64::new(12);
        let mut random = move |below| random.below(below);
        let mut kinds = [0; 3];
        for round in 0..300u64 {
            let mut plain = BTreeMap::new();
            let [mut map, newer] = [0, 1].map(|odd| {
                let mut made = SmallMap::default();
                let most = [2, 20, 60][random(3) as usize];
                for _ in 0..random(most) {
                    let (key, value) = (2 * random(30) + odd, random(1000));
                    plain.insert(key, value);
                    match (round + odd) % 3 {
                        0 => drop(made.insert(key, value)),
                        _ => made.put(key, value),
                    }
                }
                made
            });
            let before = map.clone();
            let known: BTreeMap<u64, u64> = before.iter().map(|(k, v)| (*k, *v)).collect();
            map.absorb(&newer);
            check(&map, &plain);
            check(&before, &known);
            kinds[match map.0 {
                Entries::Few(_) => 0,
                Entries::Listed(_) => 1,
                Entries::Many(_) => 2,
            }] += 1;
            map.put(3, 9);
            plain.insert(3, 9);
            check(&map, &plain);
        }
        assert!(kinds.iter().all(|count| *count > 30), "{kinds:?}");
    }
}
