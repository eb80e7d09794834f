//! Index from page ids to node numbers of an array that the caller owns.
//!
//! # How it works
//! Open addressing with linear probing over 4-byte node numbers; the page of a node is asked from
//! the owner of the nodes. Deletion shifts later entries back, so there are no tombstones. At most
//! half full.
//!
//! # Costs
//! 8 to 16 bytes an entry; one or two probes a look-up.

use crate::PageId;

const EMPTY: u32 = u32::MAX;

/// The index; all calls take `page_of`, which tells the page of a node that is in the index.
#[derive(Debug)]
pub(crate) struct PageIndex {
    slots: Vec<u32>,
    len: usize,
    shift: u32,
}

impl PageIndex {
    /// An empty index.
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![EMPTY; 16],
            len: 0,
            shift: 64 - 4,
        }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn home(&self, page: PageId) -> usize {
        (page.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[inline]
    fn slot_of(&self, page: PageId, page_of: impl Fn(u32) -> u64) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(page);
        loop {
            let node = self.slots[at];
            if node == EMPTY {
                return None;
            }
            if page_of(node) == page.0 {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// The node of `page`.
    #[inline]
    pub(crate) fn find(&self, page: PageId, page_of: impl Fn(u32) -> u64) -> Option<u32> {
        self.slot_of(page, page_of).map(|slot| self.slots[slot])
    }

    /// Adds `node` under `page`, which must not be there.
    #[inline]
    pub(crate) fn insert(&mut self, page: PageId, node: u32, page_of: impl Fn(u32) -> u64) {
        debug_assert!(
            self.find(page, &page_of).is_none(),
            "page {} is indexed twice",
            page.0
        );
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow(page_of);
        }
        self.place(page, node);
        self.len += 1;
    }

    #[inline]
    fn place(&mut self, page: PageId, node: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.home(page);
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = node;
    }

    #[cold]
    fn grow(&mut self, page_of: impl Fn(u32) -> u64) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![EMPTY; old.len() * 2];
        self.shift -= 1;
        for node in old.into_iter().filter(|&node| node != EMPTY) {
            self.place(PageId(page_of(node)), node);
        }
    }

    /// Takes `page` out and returns its node.
    #[inline]
    pub(crate) fn remove(&mut self, page: PageId, page_of: impl Fn(u32) -> u64) -> Option<u32> {
        let mut hole = self.slot_of(page, &page_of)?;
        let node = self.slots[hole];
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let next = self.slots[at];
            if next == EMPTY {
                break;
            }
            let home = self.home(PageId(page_of(next)));
            // Move `next` into the hole unless its home lies after the hole.
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = next;
                hole = at;
            }
        }
        self.slots[hole] = EMPTY;
        self.len -= 1;
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use graven_types::rng::SplitMix64;

    /// Goal: equals a hash map over random insertions and removals, across growth.
    #[test]
    fn equals_a_map() {
        let mut rng = SplitMix64::new(3);
        let mut pages: Vec<u64> = Vec::new();
        let mut index = PageIndex::new();
        let mut model: HashMap<u64, u32> = HashMap::new();
        for _ in 0..20_000 {
            let page = rng.place(700) as u64 * 0x1_0000_0001;
            let of = |node: u32| pages[node as usize];
            assert_eq!(index.find(PageId(page), of), model.get(&page).copied());
            if rng.place(2) == 0 {
                assert_eq!(index.remove(PageId(page), of), model.remove(&page));
            } else if let std::collections::hash_map::Entry::Vacant(entry) = model.entry(page) {
                let node = pages.len() as u32;
                pages.push(page);
                index.insert(PageId(page), node, |node| pages[node as usize]);
                entry.insert(node);
            }
            assert_eq!(index.len(), model.len());
        }
    }
}
