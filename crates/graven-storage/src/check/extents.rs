//! Pages against free space: every unit of the file belongs to exactly one of them.

use crate::Result;
use crate::free_space::{Extent, FreeSpace};
use crate::superblock::SECOND_UNIT;
use graven_pagecache::{PageRef, Reservation};

/// Units that pages occupy.
pub(super) struct UsedExtents {
    used: Vec<Extent>,
    reservation: Reservation,
}

impl UsedExtents {
    pub(super) fn new(reservation: Reservation) -> UsedExtents {
        let used = Vec::new();
        UsedExtents { used, reservation }
    }

    pub(super) fn with_superblocks(reservation: Reservation) -> UsedExtents {
        let used = [0, SECOND_UNIT].map(|unit| Extent { unit, units: 1 });
        UsedExtents {
            used: used.into(),
            reservation,
        }
    }

    /// Takes the pages of a part.
    pub(super) fn join(&mut self, mut part: UsedExtents) -> Result<()> {
        let bytes = part.reservation.bytes();
        part.reservation.shrink(bytes);
        self.reservation.grow(bytes)?;
        self.used.append(&mut part.used);
        Ok(())
    }

    pub(super) fn add(&mut self, page: PageRef) -> Result<()> {
        self.reservation.grow(size_of::<Extent>() as u64)?;
        self.used.push(Extent {
            unit: page.unit(),
            units: page.class().units(),
        });
        Ok(())
    }

    /// What is used twice, used and free, or neither.
    pub(super) fn compare(&mut self, free: &FreeSpace, file_units: u64) -> Vec<String> {
        self.used.sort_unstable();
        let mut findings = Vec::new();
        let mut all: Vec<(Extent, bool)> =
            self.used.iter().map(|extent| (*extent, false)).collect();
        all.extend(free.extents().map(|extent| (extent, true)));
        all.sort_unstable();
        let mut next = 0;
        for (extent, is_free) in all {
            let what = if is_free { "free space" } else { "a page" };
            if extent.unit < next {
                findings.push(format!(
                    "{what} at unit {} overlaps what ends at {next}",
                    extent.unit
                ));
            } else if extent.unit > next {
                findings.push(format!("units {next}..{} belong to nothing", extent.unit));
            }
            next = next.max(extent.unit + extent.units);
        }
        if next != file_units {
            findings.push(format!(
                "pages and free space end at unit {next}, the file at {file_units}"
            ));
        }
        findings
    }
}
