//! The free units of the file: extents, allocation, coalescing.
//!
//! # How it works
//! Free extents are kept sorted by position, neighbours merged, and listed by the power of two that
//! fits them. [`FreeSpace::allocate`] takes the lowest extent that fits, so that a file fills from
//! its start and its tail becomes free; with none, the file grows. Stored as a chain of pages at
//! each checkpoint.
//!
//! # Deviations
//! Extents of any number of units instead of buddies: pages need no alignment beyond 4 KiB, so a
//! page of class `c` does not have to start at a multiple of its size and nothing is lost to
//! padding.
//!
//! # Invariants
//! * ST-4: extents ascend, do not touch, are not empty and lie within the file.
//!
//! # On disk
//! varint count, then per extent varint gap to the end of the one before and varint length, in
//! units. Behind it, if there are any, in the same form the extents that become free with the next
//! checkpoint: only the older superblock reaches them.

use crate::bytes::{Decoded, Malformed, Reader, put_varint};
use crate::superblock::SECOND_UNIT;
use graven_pagecache::{PageRef, SizeClass};
use std::collections::{BTreeMap, BTreeSet};

/// Two entries of 16 bytes with the slack of their leaves, and what is above those.
const EXTENT_BYTES: u64 = 56;

/// A run of units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Extent {
    /// First unit.
    pub unit: u64,
    /// Number of units.
    pub units: u64,
}

impl Extent {
    /// The units of a page.
    #[must_use]
    pub fn of(page: PageRef) -> Extent {
        Extent {
            unit: page.unit(),
            units: page.class().units(),
        }
    }

    /// First unit behind it.
    #[must_use]
    pub fn end(self) -> u64 {
        self.unit + self.units
    }
}

/// The free extents of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FreeSpace {
    by_unit: BTreeMap<u64, u64>,
    /// (n, unit) of the extents of 2^n to 2^(n+1) - 1 units.
    by_power: BTreeSet<(u32, u64)>,
    end: u64,
}

impl FreeSpace {
    /// A file of `end` units, none free.
    #[must_use]
    pub fn new(end: u64) -> FreeSpace {
        FreeSpace {
            end,
            ..FreeSpace::default()
        }
    }

    /// Length of the file in units.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Free units.
    #[must_use]
    pub fn free_units(&self) -> u64 {
        self.by_unit.values().sum()
    }

    /// Estimated bytes of memory: an entry in either tree for every extent.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.by_unit.len() as u64 * EXTENT_BYTES
    }

    /// The free extents, ascending.
    pub fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        self.by_unit.iter().map(|(unit, units)| Extent {
            unit: *unit,
            units: *units,
        })
    }

    /// Takes room for a page of `class` as low as possible, growing the file if no extent fits; the
    /// first unit.
    pub fn allocate(&mut self, class: SizeClass) -> u64 {
        self.allocate_below(class, u64::MAX).unwrap_or_else(|| {
            let unit = self.end;
            self.end += class.units();
            unit
        })
    }

    /// Takes room for a page of `class` from a free extent that starts below `limit`.
    pub fn allocate_below(&mut self, class: SizeClass, limit: u64) -> Option<u64> {
        let wanted = class.units();
        let powers = wanted.ilog2()..u64::BITS;
        let lowest = powers.filter_map(|power| {
            let first = self.by_power.range((power, 0)..).next();
            first.filter(|found| found.0 == power).map(|found| found.1)
        });
        let unit = lowest.min().filter(|unit| *unit < limit)?;
        let units = self.by_unit[&unit];
        self.remove(unit, units);
        if units > wanted {
            self.insert(unit + wanted, units - wanted);
        }
        Some(unit)
    }

    /// The file grew to `end` units, none of the new ones free.
    pub(crate) fn grow_to(&mut self, end: u64) {
        self.end = self.end.max(end);
    }

    /// Cuts free units off the end of the file.
    pub fn trim(&mut self) {
        if let Some((&unit, &units)) = self.by_unit.last_key_value()
            && unit + units == self.end
        {
            self.remove(unit, units);
            self.end = unit;
        }
    }

    /// Whether any unit of `extent` is free or outside the file.
    #[must_use]
    pub fn meets(&self, extent: Extent) -> bool {
        let before = self.by_unit.range(..extent.end()).next_back();
        extent.end() > self.end || before.is_some_and(|(unit, units)| unit + units > extent.unit)
    }

    /// Gives an extent back.
    ///
    /// # Panics
    /// ST-4: if part of it is free already or lies behind the end of the file.
    pub fn free(&mut self, extent: Extent) {
        let Extent {
            mut unit,
            mut units,
        } = extent;
        assert!(
            units > 0 && unit + units <= self.end,
            "ST-4: {extent:?} within {} units",
            self.end
        );
        if let Some((&before, &length)) = self.by_unit.range(..=unit).next_back() {
            assert!(before + length <= unit, "ST-4: {extent:?} is free already");
            if before + length == unit {
                self.remove(before, length);
                (unit, units) = (before, length + units);
            }
        }
        if let Some((&after, &length)) = self.by_unit.range(unit..).next() {
            assert!(unit + units <= after, "ST-4: {extent:?} is free already");
            if unit + units == after {
                self.remove(after, length);
                units += length;
            }
        }
        self.insert(unit, units);
    }

    fn insert(&mut self, unit: u64, units: u64) {
        self.by_unit.insert(unit, units);
        self.by_power.insert((units.ilog2(), unit));
    }

    fn remove(&mut self, unit: u64, units: u64) {
        self.by_unit.remove(&unit);
        self.by_power.remove(&(units.ilog2(), unit));
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.by_unit.len() as u64);
        let mut behind = 0;
        for extent in self.extents() {
            put_varint(&mut out, extent.unit - behind);
            put_varint(&mut out, extent.units);
            behind = extent.unit + extent.units;
        }
        out
    }

    /// The free extents, and those that the next checkpoint frees.
    pub(crate) fn decode_both(bytes: &[u8], end: u64) -> Decoded<(FreeSpace, Vec<Extent>)> {
        let mut reader = Reader::new(bytes);
        let space = FreeSpace::read(&mut reader, end)?;
        let later = match reader.remaining() {
            0 => Vec::new(),
            _ => FreeSpace::read(&mut reader, end)?.extents().collect(),
        };
        if let Some(both) = later.iter().find(|extent| space.meets(**extent)) {
            return Err(Malformed(format!("{both:?} is free now and later")));
        }
        match reader.remaining() {
            0 => Ok((space, later)),
            left => Err(Malformed(format!("{left} bytes behind the free extents"))),
        }
    }

    fn read(reader: &mut Reader<'_>, end: u64) -> Decoded<FreeSpace> {
        let mut space = FreeSpace::new(end);
        let mut behind = 0u64;
        for index in 0..reader.varint()? {
            let (gap, units) = (reader.varint()?, reader.varint()?);
            let unit = behind.checked_add(gap);
            let next = unit
                .and_then(|unit| unit.checked_add(units))
                .filter(|next| *next <= end);
            match (unit, next) {
                (Some(unit), Some(next))
                    if units > 0 && (gap > 0 || index == 0) && !holds_superblock(unit, next) =>
                {
                    space.insert(unit, units);
                    behind = next;
                }
                _ => {
                    return Err(Malformed(format!(
                        "free extent {index} is out of order or range"
                    )));
                }
            }
        }
        Ok(space)
    }
}

/// Whether one of the superblocks lies there: neither is ever free.
fn holds_superblock(unit: u64, end: u64) -> bool {
    unit == 0 || (unit..end).contains(&SECOND_UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Goal: allocation and freeing agree with a map of units, and the stored form comes back.
        #[test]
        fn agrees_with_a_map_of_units(steps in proptest::collection::vec((any::<bool>(), 0u8..5, any::<prop::sample::Index>()), 1..120)) {
            let mut space = FreeSpace::new(17);
            let mut used: Vec<Extent> = Vec::new();
            for (allocate, class, which) in steps {
                if allocate || used.is_empty() {
                    let class = SizeClass::new(class).unwrap();
                    let extent = Extent { unit: space.allocate(class), units: class.units() };
                    for other in &used {
                        prop_assert!(extent.unit + extent.units <= other.unit || other.unit + other.units <= extent.unit);
                    }
                    used.push(extent);
                } else {
                    space.free(used.swap_remove(which.index(used.len())));
                }
                let free: Vec<Extent> = space.extents().collect();
                prop_assert!(free.windows(2).all(|pair| pair[0].unit + pair[0].units < pair[1].unit), "ST-4");
                let used_units: u64 = used.iter().map(|extent| extent.units).sum();
                prop_assert_eq!(used_units + space.free_units() + 17, space.end());
                prop_assert_eq!(FreeSpace::decode_both(&space.encode(), space.end()), Ok((space.clone(), Vec::new())));
            }
        }

        /// Goal: damaged bytes are refused or describe valid extents.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, end: u64) {
            let _ = FreeSpace::decode_both(&bytes, end);
        }
    }
}
