//! Count-min sketch of 4-bit counters that age by halving.
//!
//! # How it works
//! Four rows of counters; a page has one counter in each, its estimate is the smallest. An access
//! raises all four, up to 15. After ten accesses a page of the capacity all counters are halved,
//! and so is the number of accesses that the next halving waits for: what was halved still stands
//! for that many.
//!
//! # Costs
//! 2 bytes a column for all four rows; columns are four times the pages, as a power of two: 8 to 16
//! bytes a page.
//!
//! # Source
//! G. Einziger, R. Friedman, B. Manes, "TinyLFU: a highly efficient cache admission policy", ACM
//! TOS 13(4), 2017; sizes and the raising of all rows after the sketch of Caffeine, by the same
//! authors.

use graven_types::rng::SplitMix64;

use crate::PageId;

const ROWS: usize = 4;
const MAX: u64 = 15;

/// The sketch.
#[derive(Debug)]
pub(crate) struct Sketch {
    /// Row after row; 16 counters a word.
    words: Vec<u64>,
    columns: usize,
    accesses: u64,
    period: u64,
}

impl Sketch {
    /// A sketch for about `pages` pages, halved every `10 * pages` accesses.
    pub(crate) fn new(pages: u64) -> Self {
        let columns = (4 * pages).clamp(16, 1 << 28).next_power_of_two() as usize;
        Self {
            words: vec![0; ROWS * columns / 16],
            columns,
            accesses: 0,
            period: 10 * pages.max(1),
        }
    }

    /// Word and shift of the page's counter in each row: 16 bits of one hash choose the column.
    #[inline]
    fn counters(&self, page: PageId) -> [(usize, u32); ROWS] {
        let hash = SplitMix64::new(page.0).bits();
        std::array::from_fn(|row| {
            let column = hash.rotate_right(16 * row as u32) as usize & (self.columns - 1);
            let at = row * self.columns + column;
            (at / 16, (at % 16) as u32 * 4)
        })
    }

    /// How often the page was accessed lately, 0..=15; never too low before a halving.
    #[inline]
    pub(crate) fn estimate(&self, page: PageId) -> u64 {
        let counter = |(word, shift): (usize, u32)| self.words[word] >> shift & MAX;
        self.counters(page)
            .into_iter()
            .map(counter)
            .min()
            .unwrap_or(0)
    }

    /// Counts an access.
    #[inline]
    pub(crate) fn add(&mut self, page: PageId) {
        for (word, shift) in self.counters(page) {
            if self.words[word] >> shift & MAX < MAX {
                self.words[word] += 1 << shift;
            }
        }
        self.accesses += 1;
        if self.accesses >= self.period {
            self.accesses /= 2;
            self.words
                .iter_mut()
                .for_each(|word| *word = *word >> 1 & 0x7777_7777_7777_7777);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: estimates are never too low before a halving, saturate, and halve.
    #[test]
    fn estimates_bound_counts_from_above() {
        let mut sketch = Sketch::new(1 << 12);
        for page in 0..200 {
            for _ in 0..page % 20 {
                sketch.add(PageId(page << 20));
            }
        }
        for page in 0..200 {
            let count = (page % 20).min(15);
            assert!(sketch.estimate(PageId(page << 20)) >= count);
        }
        for _ in 0..10 * (1 << 12) {
            sketch.add(PageId(7));
        }
        assert!(sketch.estimate(PageId(7)) >= 7);
        assert!(sketch.estimate(PageId(19 << 20)) <= 8);
    }
}
