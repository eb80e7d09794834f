//! Sparse page numbers to dense indexes `0..unique`, in order of first appearance.
//!
//! # Costs
//! A table of 12 bytes a slot, at most half full; one probe or two an access.

/// A trace with dense pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dense {
    /// Index of every access.
    pub pages: Vec<u32>,
    /// Number of different pages.
    pub unique: usize,
}

/// Numbers the pages of a trace.
///
/// # Panics
/// On 2^32 - 1 different pages and more.
#[must_use]
pub fn map(pages: &[u64]) -> Dense {
    let mut numbering = Numbering::new();
    let pages = pages.iter().map(|&page| numbering.index_of(page)).collect();
    Dense {
        pages,
        unique: numbering.unique,
    }
}

const EMPTY: u32 = u32::MAX;

/// Numbers pages as they come.
#[derive(Clone, Debug)]
pub struct Numbering {
    slots: Vec<(u64, u32)>,
    shift: u32,
    unique: usize,
}

impl Default for Numbering {
    fn default() -> Self {
        Self::new()
    }
}

impl Numbering {
    /// No page has a number yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            slots: vec![(0, EMPTY); 1 << 10],
            shift: 64 - 10,
            unique: 0,
        }
    }

    /// Number of pages that have one.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.unique
    }

    /// The number of a page.
    ///
    /// # Panics
    /// On 2^32 - 1 different pages and more.
    #[inline]
    pub fn index_of(&mut self, page: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = (page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
        loop {
            let (key, index) = self.slots[at];
            if index == EMPTY {
                return self.add(at, page);
            }
            if key == page {
                return index;
            }
            at = (at + 1) & mask;
        }
    }

    fn add(&mut self, at: usize, page: u64) -> u32 {
        let index = self.unique as u32;
        assert!(index != EMPTY, "a trace has too many different pages");
        self.slots[at] = (page, index);
        self.unique += 1;
        if 2 * self.unique > self.slots.len() {
            self.grow();
        }
        index
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![(0, EMPTY); 2 * old.len()];
        self.shift -= 1;
        let mask = self.slots.len() - 1;
        for (page, index) in old.into_iter().filter(|(_, index)| *index != EMPTY) {
            let mut at = (page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize;
            while self.slots[at].1 != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = (page, index);
        }
    }
}
