//! Stack distances: the hits of LRU at every cache size, exact, in one pass.
//!
//! # How it works
//! The distance of an access is the number of different pages since the last access to its page, that page
//! included; LRU with `c` pages hits exactly the accesses with distance `c` or less. A Fenwick tree over
//! positions marks the last access of every page, so a distance is a count of marks. Positions are renumbered
//! when the tree is full, so it holds twice the different pages.
//!
//! # Costs
//! Logarithmic work an access in the number of different pages, and 20 bytes a different page.
//!
//! # Source
//! R. Mattson, J. Gecsei, D. Slutz, I. Traiger, "Evaluation techniques for storage hierarchies", IBM Systems
//! Journal 9(2), 1970; trees: F. Olken, LBL-12370, 1981.

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
        let mut marks = Marks::new(2 * unique.max(1));
        let mut last = vec![usize::MAX; unique];
        let mut hits = vec![0; unique + 1];
        let mut position = 0;
        for &page in pages {
            if position == marks.len() {
                position = renumber(&mut last, &mut marks);
            }
            let before = std::mem::replace(&mut last[page as usize], position);
            marks.add(position, 1);
            if before != usize::MAX {
                // Marks after `before`: the other pages used since, and this access.
                hits[marks.count(position) - marks.count(before)] += 1;
                marks.add(before, -1);
            }
            position += 1;
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

/// Gives the last accesses of all pages the positions from 0 on, in order.
fn renumber(last: &mut [usize], marks: &mut Marks) -> usize {
    let mut order: Vec<u32> = (0..last.len() as u32)
        .filter(|&page| last[page as usize] != usize::MAX)
        .collect();
    order.sort_unstable_by_key(|&page| last[page as usize]);
    *marks = Marks::new(marks.len());
    for (position, page) in order.iter().enumerate() {
        last[*page as usize] = position;
        marks.add(position, 1);
    }
    order.len()
}

/// A Fenwick tree of marks.
struct Marks {
    tree: Vec<i32>,
}

impl Marks {
    fn new(positions: usize) -> Self {
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
