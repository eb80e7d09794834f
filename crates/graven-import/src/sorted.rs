//! Sorted records, in whichever way they were sorted.

use crate::distribute::{Ranges, SortedRange};
use crate::error::ImportError;
use crate::sort::{self, Key};

/// Sorted records, read once.
#[derive(Debug)]
pub(crate) enum Sorted {
    /// By any keys.
    BySorter(sort::Sorted),
    /// By nodes.
    InRanges(Box<Ranges>),
}

impl Sorted {
    /// The next record in order.
    pub(crate) fn next(&mut self) -> Result<Option<(Key, &[u8])>, ImportError> {
        match self {
            Self::BySorter(sorted) => sorted.next(),
            Self::InRanges(ranges) => ranges.next(),
        }
    }

    /// The next records together, where they lie together and none of them was read.
    pub(crate) fn take_range(&mut self) -> Result<Option<SortedRange>, ImportError> {
        match self {
            Self::BySorter(_) => Ok(None),
            Self::InRanges(ranges) => ranges.take_range(),
        }
    }
}

impl From<sort::Sorted> for Sorted {
    fn from(sorted: sort::Sorted) -> Self {
        Self::BySorter(sorted)
    }
}

impl From<Ranges> for Sorted {
    fn from(ranges: Ranges) -> Self {
        Self::InRanges(Box::new(ranges))
    }
}
