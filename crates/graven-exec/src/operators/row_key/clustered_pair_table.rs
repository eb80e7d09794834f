//! A hash table from pairs of 64-bit numbers to dense numbers in order of first appearance, for
//! pairs that come in runs.
//!
//! # How it works
//! What an expansion finds comes list by list: pairs of something of the start and something of the
//! end are runs of the same first part, each with a first part of its own. Whether a pair is new is
//! known within its run then: a small table of the second parts of the run at hand, which lies in
//! the nearest cache, takes the place of slots for all pairs, which are visited at random. First
//! parts are looked up once a run. When one of them comes back, or runs are short, slots for all
//! pairs are made, and pairs are looked up there from then on.
//!
//! # Invariants
//! * EX-61 As long as there are runs the pairs of no first part but the last one can come again.
//!
//! # Costs
//! Of the slots, where they have to be made after all, what filling them takes.

use super::number_table::{NumberTable, hash_of};

/// Runs are worth looking for as long as they have so many pairs on average, which fewer pairs in
/// all say nothing of.
const RUN_PAIRS: usize = 2;
const JUDGED_PAIRS: usize = 256;
/// Places of the smallest table of a run.
const PLACES_MIN: usize = 16;
/// A free place.
const FREE: u32 = u32::MAX;

/// See the file header.
#[derive(Default)]
pub(super) struct ClusteredPairTable {
    /// The pairs; without slots as long as there are runs.
    pairs: NumberTable<2>,
    runs: Runs,
}

/// What is known of runs.
#[derive(Default)]
enum Runs {
    /// There are no pairs yet.
    #[default]
    Unknown,
    Some(Run),
    /// Pairs are found by slots.
    None,
}

/// The run at hand.
#[derive(Default)]
struct Run {
    /// First parts of this run and of those before.
    firsts: NumberTable<1>,
    first: u64,
    /// Number of its first pair.
    start: usize,
    /// By hash of the second part the number of a pair, from `start` on; a power of two of them.
    places: Vec<u32>,
}

impl ClusteredPairTable {
    /// One that has slots from the beginning.
    pub(super) fn in_slots() -> Self {
        Self {
            runs: Runs::None,
            ..Self::default()
        }
    }

    /// Whether all pairs so far came in runs.
    pub(super) fn has_runs(&self) -> bool {
        matches!(self.runs, Runs::Some(_))
    }

    /// The first parts of the runs, as long as there are runs.
    pub(super) fn firsts(&self) -> Option<&[[u64; 1]]> {
        match &self.runs {
            Runs::Some(run) => Some(run.firsts.keys()),
            _ => None,
        }
    }

    /// Adds the pairs of other tables, none of which is known; pairs are found by slots from now
    /// on.
    pub(super) fn append(&mut self, others: impl Iterator<Item = Self>) {
        self.runs = Runs::None;
        others.for_each(|other| self.pairs.append(other.keys()));
        self.pairs.make_slots();
    }

    /// Distinct pairs.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// All pairs by their numbers.
    pub(super) fn keys(&self) -> &[[u64; 2]] {
        self.pairs.keys()
    }

    /// Bytes of the table.
    pub(super) fn bytes(&self) -> usize {
        let run = match &self.runs {
            Runs::Some(run) => run.firsts.bytes() + run.places.capacity() * 4,
            _ => 0,
        };
        self.pairs.bytes() + run
    }

    /// Bytes of the table while and after `rows` more pairs are added.
    pub(super) fn bytes_with(&self, rows: usize) -> usize {
        let run = match &self.runs {
            Runs::Unknown => NumberTable::<1>::default().bytes_with(rows) + 4 * places_for(rows),
            Runs::Some(run) => {
                let places = places_for(self.pairs.len() - run.start + rows);
                run.firsts.bytes_with(rows) + 4 * (places + run.places.capacity())
            }
            Runs::None => 0,
        };
        self.pairs.bytes_with(rows) + run
    }

    /// As [`NumberTable::end`].
    pub(super) fn end(&mut self) -> Vec<u64> {
        self.runs = Runs::None;
        self.pairs.end()
    }

    /// Memory for so many pairs more.
    pub(super) fn reserve(&mut self, more: usize) {
        self.pairs.reserve(more);
    }

    /// As [`NumberTable::expect`].
    pub(super) fn expect(&mut self, rows: usize, slots: Vec<u64>) {
        self.leave_runs();
        self.pairs.expect(rows, slots);
    }

    /// The number of each pair, unknown pairs added.
    pub(super) fn insert(&mut self, pairs: &[[u64; 2]], out: &mut Vec<u32>) {
        out.clear();
        if self.are_short(pairs) {
            self.leave_runs();
        }
        let Some(taken) = self.insert_runs(pairs, out) else {
            self.pairs.insert(pairs, out);
            return;
        };
        if taken < pairs.len() {
            self.leave_runs();
            let mut rest = Vec::new();
            self.pairs.insert(&pairs[taken..], &mut rest);
            out.append(&mut rest);
        }
    }

    /// Whether runs are short, those of these pairs among them.
    fn are_short(&self, pairs: &[[u64; 2]]) -> bool {
        let before = match &self.runs {
            Runs::Unknown => 0,
            Runs::Some(run) => run.firsts.len(),
            Runs::None => return false,
        };
        let breaks = pairs.windows(2).filter(|pair| pair[0][0] != pair[1][0]);
        let (runs, all) = (before + 1 + breaks.count(), self.len() + pairs.len());
        all >= JUDGED_PAIRS && runs * RUN_PAIRS > all
    }

    /// Takes pairs until a first part comes back (EX-61); how many it took. `None` without runs.
    fn insert_runs(&mut self, pairs: &[[u64; 2]], out: &mut Vec<u32>) -> Option<usize> {
        if matches!(self.runs, Runs::Unknown) {
            self.runs = Runs::Some(Run::default());
        }
        let Runs::Some(run) = &mut self.runs else {
            return None;
        };
        self.pairs.reserve(pairs.len());
        let mut taken = 0;
        let mut number = Vec::new();
        for own in pairs.chunk_by(|a, b| a[0] == b[0]) {
            let first = own[0][0];
            if run.first != first || self.pairs.len() == 0 {
                let before = run.firsts.len();
                run.firsts.insert(&[[first]], &mut number);
                if run.firsts.len() == before {
                    return Some(taken);
                }
                (run.first, run.start) = (first, self.pairs.len());
                run.places.clear();
            }
            run.make_room(own.len(), &self.pairs);
            out.extend(
                own.iter()
                    .map(|pair| run.find_or_add(pair, &mut self.pairs)),
            );
            taken += own.len();
        }
        Some(taken)
    }

    /// Finds pairs by slots from now on.
    fn leave_runs(&mut self) {
        if let Runs::Some(_) = std::mem::replace(&mut self.runs, Runs::None) {
            self.pairs.make_slots();
        }
    }

    /// The number of a pair; `None` if it is unknown. Where pairs are to be found, slots are wanted
    /// from the beginning ([`ClusteredPairTable::in_slots`]).
    pub(super) fn find(&self, pair: &[u64; 2]) -> Option<u32> {
        match &self.runs {
            Runs::None => self.pairs.find(pair),
            _ => (0..)
                .zip(self.keys())
                .find_map(|(number, known)| (known == pair).then_some(number)),
        }
    }
}

/// Places for so many pairs of a run.
fn places_for(pairs: usize) -> usize {
    (2 * pairs).next_power_of_two().max(PLACES_MIN)
}

impl Run {
    /// Makes sure that so many more pairs have places.
    fn make_room(&mut self, more: usize, pairs: &NumberTable<2>) {
        let known = &pairs.keys()[self.start..];
        let places = places_for(known.len() + more);
        if places <= self.places.len() {
            return;
        }
        self.places.clear();
        self.places.resize(places, FREE);
        for (pair, number) in known.iter().zip(0..) {
            let mut at = self.home(pair);
            while self.places[at] != FREE {
                at = (at + 1) & (places - 1);
            }
            self.places[at] = number;
        }
    }

    /// Where the search for a pair begins.
    fn home(&self, pair: &[u64; 2]) -> usize {
        let bits = self.places.len().trailing_zeros();
        (hash_of(self.firsts.seed(), pair[1]) >> (32 - bits)) as usize
    }

    #[inline]
    fn find_or_add(&mut self, pair: &[u64; 2], pairs: &mut NumberTable<2>) -> u32 {
        let mask = self.places.len() - 1;
        let mut at = self.home(pair);
        loop {
            let place = self.places[at];
            let number = match place {
                FREE => pairs.len(),
                _ => self.start + place as usize,
            };
            if place == FREE {
                self.places[at] = u32::try_from(number - self.start).expect("fewer than 2^32 keys");
                return pairs.push(*pair);
            }
            if pairs.keys()[number][1] == pair[1] {
                return u32::try_from(number).expect("fewer than 2^32 keys");
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Numbers of pairs against a map, over many batches: runs of all lengths, runs that go on in
    //! the next batch, pairs that repeat, first parts that come back sooner or later, and pairs in
    //! no order at all.

    use std::collections::HashMap;

    use graven_types::rng::SplitMix64;

    use super::*;

    /// Inserts `pairs`, so many at a time, and compares; whether there are runs at the end.
    fn check(pairs: &[[u64; 2]], at_once: usize) -> bool {
        let mut table = ClusteredPairTable::default();
        let mut model: HashMap<[u64; 2], u32> = HashMap::new();
        let mut out = Vec::new();
        for batch in pairs.chunks(at_once) {
            let bound = table.bytes_with(batch.len());
            table.insert(batch, &mut out);
            assert!(table.bytes() <= bound, "{} of {bound}", table.bytes());
            assert_eq!(out.len(), batch.len());
            for (pair, number) in batch.iter().zip(&out) {
                let next = u32::try_from(model.len()).unwrap();
                assert_eq!(*model.entry(*pair).or_insert(next), *number, "{pair:?}");
                assert_eq!(table.keys()[*number as usize], *pair);
            }
            assert_eq!(table.len(), model.len());
        }
        for pair in pairs.iter().step_by(pairs.len() / 50 + 1) {
            assert_eq!(table.find(pair), model.get(pair).copied());
        }
        assert_eq!(table.find(&[u64::MAX, 1 << 60]), None);
        let has_runs = table.has_runs();
        table.end();
        assert_eq!(table.len(), model.len());
        has_runs
    }

    /// Runs of up to `longest` pairs with second parts below `seconds`; from run `back` on first
    /// parts come back.
    fn runs(random: &mut SplitMix64, longest: u64, seconds: u64, back: u64) -> Vec<[u64; 2]> {
        let mut pairs = Vec::new();
        for run in 0..400 {
            let first = match run < back {
                true => run << 33,
                false => random.below(back.max(1)) << 33,
            };
            let length = 1 + random.below(longest);
            pairs.extend((0..length).map(|_| [first, random.below(seconds) << 40]));
        }
        pairs
    }

    #[test]
    fn pairs_are_numbered_in_order_of_first_appearance() {
        let mut random = SplitMix64::new(0x7a17);
        for at_once in [1, 7, 100, 2048] {
            for longest in [1, 3, 40, 300] {
                for seconds in [2, 50, 1 << 20] {
                    for back in [2, 30, 390, 1000] {
                        let pairs = runs(&mut random, longest, seconds, back);
                        let has_runs = check(&pairs, at_once);
                        assert!(!has_runs || back == 1000, "{longest} {seconds} {back}");
                        if longest >= 40 && seconds > 2 && back == 1000 {
                            assert!(has_runs, "{at_once} {longest} {seconds}");
                        }
                    }
                }
            }
            assert!(check(&runs(&mut random, 40, 50, 0), at_once), "one run");
            let drawn = |_| [random.below(90), random.below(90)];
            assert!(!check(&(0..5000).map(drawn).collect::<Vec<_>>(), at_once));
        }
    }
}
