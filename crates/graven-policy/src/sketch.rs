//! Count-min sketch of 4-bit counters that age by halving.
//!
//! # How it works
//! Four rows of counters; a page has one counter in each, its estimate is the smallest. An access raises the
//! smallest ones only up to 15; after ten accesses per counter column all are halved.
//!
//! # Costs
//! 2 bytes a column for all four rows, as many columns as the next power of two above the pages.
//!
//! # Source
//! G. Einziger, R. Friedman, B. Manes, "TinyLFU: a highly efficient cache admission policy", ACM TOS 13(4), 2017.

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
        let columns = (8 * pages).clamp(16, 1 << 28).next_power_of_two() as usize;
        Self {
            words: vec![0; ROWS * columns / 16],
            columns,
            accesses: 0,
            period: 10 * pages.max(1),
        }
    }

    #[inline]
    fn counter(&self, page: PageId, row: usize) -> (usize, u32) {
        const SEEDS: [u64; ROWS] = [
            0xC3A5_C85C_97CB_3127,
            0xB492_B66F_BE98_F273,
            0x9AE1_6A3B_2F90_404F,
            0xCBF2_9CE4_8422_2325,
        ];
        let hash = page.0.wrapping_add(SEEDS[row]).wrapping_mul(SEEDS[row]);
        let column = ((hash ^ (hash >> 32)) as usize) & (self.columns - 1);
        let at = row * self.columns + column;
        (at / 16, (at % 16) as u32 * 4)
    }

    /// How often the page was accessed lately, 0..=15; never too low before a halving.
    #[inline]
    pub(crate) fn estimate(&self, page: PageId) -> u64 {
        let row = |row| {
            let (word, shift) = self.counter(page, row);
            self.words[word] >> shift & MAX
        };
        (0..ROWS).map(row).min().unwrap_or(0)
    }

    /// Counts an access.
    #[inline]
    pub(crate) fn add(&mut self, page: PageId) {
        let estimate = self.estimate(page);
        if estimate < MAX {
            for row in 0..ROWS {
                let (word, shift) = self.counter(page, row);
                if self.words[word] >> shift & MAX == estimate {
                    self.words[word] += 1 << shift;
                }
            }
        }
        self.accesses += 1;
        if self.accesses >= self.period {
            self.accesses = 0;
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
