//! Which parts of a spill file are in use.
//!
//! # How it works
//! Freed pages wait by class for the next page of their class; otherwise the file grows. When
//! nothing is in use it starts from the beginning again. Operators use one or two classes, so
//! nothing is split or merged.

use crate::page_ref::{PageRef, SizeClass, UNIT_BYTES};

/// See the file header.
pub(crate) struct Space {
    free: [Vec<u64>; SizeClass::COUNT],
    /// First unit that was never used.
    end: u64,
    used: u64,
    limit: u64,
}

impl Space {
    pub(crate) fn new(limit: u64) -> Space {
        Space {
            free: [const { Vec::new() }; SizeClass::COUNT],
            end: 0,
            used: 0,
            limit,
        }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used
    }

    /// Space for a page; `None` at the limit.
    pub(crate) fn take(&mut self, class: SizeClass) -> Option<PageRef> {
        let bytes = class.bytes() as u64;
        let unit = match self.free[usize::from(class.index())].pop() {
            Some(unit) => unit,
            None => {
                let end = self.end + class.units();
                if end * UNIT_BYTES as u64 > self.limit || end > PageRef::UNIT_MAX {
                    return None;
                }
                std::mem::replace(&mut self.end, end)
            }
        };
        self.used += bytes;
        Some(PageRef::new(class, unit))
    }

    pub(crate) fn give(&mut self, page: PageRef) {
        self.used -= page.len_bytes() as u64;
        self.free[usize::from(page.class().index())].push(page.unit());
        if self.used == 0 {
            self.free.iter_mut().for_each(|list| *list = Vec::new());
            self.end = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: pages never overlap, freed ones are used again, the limit holds, an empty file starts
    /// anew.
    #[test]
    fn space_is_reused_and_limited() {
        let mut space = Space::new(256 << 10);
        let first = space.take(SizeClass::KIB_64).unwrap();
        let second = space.take(SizeClass::KIB_64).unwrap();
        assert_eq!(second.unit(), first.end_unit());
        space.give(first);
        assert_eq!(space.take(SizeClass::KIB_64), Some(first));
        let small = space.take(SizeClass::MIN).unwrap();
        assert!(space.take(SizeClass::new(5).unwrap()).is_none(), "limit");
        for page in [first, second, small] {
            space.give(page);
        }
        assert_eq!(space.used_bytes(), 0);
        assert_eq!(space.take(SizeClass::new(6).unwrap()).unwrap().unit(), 0);
    }
}
