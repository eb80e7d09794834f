//! Stack distances: the hits of LRU at every cache size, exact, in one pass.
//!
//! # How it works
//! The distance of an access is the number of different pages since the last access to its page,
//! that page included; LRU with `c` pages hits exactly the accesses with distance `c` or less. A
//! Fenwick tree over positions marks the last access of every page, so a distance is a count of
//! marks. Positions are renumbered when the tree is full; it then has room for as many accesses
//! again as there are pages.
//!
//! # Costs
//! Logarithmic work an access in the number of different pages, and 20 bytes a different page.
//!
//! # Source
//! R. Mattson, J. Gecsei, D. Slutz, I. Traiger, "Evaluation techniques for storage hierarchies",
//! IBM Systems Journal 9(2), 1970; trees: F. Olken, LBL-12370, 1981.

/// Hits of LRU by cache size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LruCurve {
    /// `hits[c]` is the number of hits with `c` pages; the last entry is for all pages.
    pub hits: Vec<u64>,
    /// Accesses of the trace.
    pub accesses: u64,
}

impl LruCurve {
    /// The curve of a trace of pages `0..unique`.
    #[must_use]
    pub fn of(pages: &[u32], unique: usize) -> Self {
        let mut distances = StackDistances::default();
        let mut hits = vec![0; unique + 1];
        for &page in pages {
            if let Some(distance) = distances.access(page) {
                hits[distance] += 1;
            }
        }
        let mut sum = 0;
        for hits in &mut hits {
            sum += *hits;
            *hits = sum;
        }
        Self {
            hits,
            accesses: pages.len() as u64,
        }
    }
}

/// Never used.
const NEVER: u32 = u32::MAX;
const ROOM: usize = 1 << 10;

/// Measures distances access by access; pages are dense and may grow.
#[derive(Debug)]
pub struct StackDistances {
    /// Position of the last access to every page.
    last: Vec<u32>,
    marks: Marks,
    position: usize,
    used: usize,
}

impl Default for StackDistances {
    fn default() -> Self {
        Self {
            last: Vec::new(),
            marks: Marks::new(ROOM),
            position: 0,
            used: 0,
        }
    }
}

impl StackDistances {
    /// The distance of an access to `page`; none for its first.
    pub fn access(&mut self, page: u32) -> Option<usize> {
        let at = page as usize;
        if at >= self.last.len() {
            self.last.resize(at + 1, NEVER);
        }
        if self.position == self.marks.len() {
            self.renumber();
        }
        let before = std::mem::replace(&mut self.last[at], self.position as u32);
        self.marks.add(self.position, 1);
        self.position += 1;
        if before == NEVER {
            self.used += 1;
            return None;
        }
        // Marks from `before` on: the page itself before, the other pages used since, and this
        // access.
        let distance = self.used + 1 - self.marks.count(before as usize);
        self.marks.add(before as usize, -1);
        Some(distance)
    }

    /// Gives the last accesses of all pages the positions from 0 on, in order.
    fn renumber(&mut self) {
        let mut order: Vec<u32> = (0..self.last.len() as u32)
            .filter(|&page| self.last[page as usize] != NEVER)
            .collect();
        order.sort_unstable_by_key(|&page| self.last[page as usize]);
        self.marks = Marks::new((2 * order.len()).max(ROOM));
        for (position, page) in order.iter().enumerate() {
            self.last[*page as usize] = position as u32;
            self.marks.add(position, 1);
        }
        self.position = order.len();
    }
}

/// A Fenwick tree of marks.
#[derive(Debug)]
struct Marks {
    tree: Vec<i32>,
}

impl Marks {
    fn new(positions: usize) -> Self {
        assert!(positions < NEVER as usize, "too many positions");
        Self {
            tree: vec![0; positions + 1],
        }
    }

    fn len(&self) -> usize {
        self.tree.len() - 1
    }

    fn add(&mut self, position: usize, by: i32) {
        let mut at = position + 1;
        while at < self.tree.len() {
            self.tree[at] += by;
            at += at & at.wrapping_neg();
        }
    }

    /// Marks at positions up to and with `position`.
    fn count(&self, position: usize) -> usize {
        let mut at = position + 1;
        let mut sum = 0;
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum as usize
    }
}
