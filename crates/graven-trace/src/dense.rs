//! Sparse page numbers to dense indexes `0..unique`, in order of first appearance.
//!
//! # Costs
//! 8 bytes a page and a table of 8 bytes a slot, at most three quarters full; a probe or two an
//! access.

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
        unique: numbering.unique(),
    }
}

/// A free slot: its low half, all ones, is no number.
const EMPTY: u64 = u64::MAX;

/// Numbers pages as they come.
#[derive(Clone, Debug)]
pub struct Numbering {
    /// Upper half: part of the page's hash; lower half: its number.
    slots: Vec<u64>,
    /// Pages by number.
    pages: Vec<u64>,
    shift: u32,
}

impl Default for Numbering {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn hash(page: u64) -> u64 {
    page.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Numbering {
    /// No page has a number yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            slots: vec![EMPTY; 1 << 10],
            pages: Vec::new(),
            shift: 64 - 10,
        }
    }

    /// Number of pages that have one.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.pages.len()
    }

    /// The number of a page.
    ///
    /// # Panics
    /// On 2^32 - 1 different pages and more.
    #[inline]
    pub fn index_of(&mut self, page: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let hash = hash(page);
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return self.add(at, page);
            }
            // The lower half of the hash is not what chose the slot.
            if (slot >> 32) as u32 == hash as u32 && self.pages[slot as u32 as usize] == page {
                return slot as u32;
            }
            at = (at + 1) & mask;
        }
    }

    fn add(&mut self, at: usize, page: u64) -> u32 {
        let index = self.pages.len() as u32;
        assert!(index != u32::MAX, "a trace has too many different pages");
        self.slots[at] = hash(page) << 32 | u64::from(index);
        self.pages.push(page);
        if 4 * self.pages.len() > 3 * self.slots.len() {
            self.grow();
        }
        index
    }

    #[cold]
    fn grow(&mut self) {
        self.shift -= 1;
        let count = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(count, EMPTY);
        for (index, &page) in self.pages.iter().enumerate() {
            let hash = hash(page);
            let mut at = (hash >> self.shift) as usize;
            while self.slots[at] != EMPTY {
                at = (at + 1) & (count - 1);
            }
            self.slots[at] = hash << 32 | index as u64;
        }
    }
}
