//! The friendships in order, sorted by what is known of them: two numbers of persons.
//!
//! # How it works
//! Persons are numbered by id. A friendship goes to the bucket of its smaller number; buckets are
//! ranges of numbers, so they follow each other in the order that is wanted, and one at a time is
//! sorted in memory.
//!
//! # Costs
//! Nine bytes a friendship, written once and read once, in scratch files if there are more than the
//! staging memory takes; what was read is freed. A bucket takes at most about [`BUCKET_BYTES`]
//! while it is read: the first has twice the mean, because small numbers are more often the smaller
//! of two.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::error::ImportError;
use crate::radix;
use crate::scratch::Scratch;
use crate::spool::Spool;

/// Bytes of a bucket, within this part of the memory given.
const BUCKET_BYTES: u64 = 64 << 20;
const BUCKET_BYTES_MIN: u64 = 1 << 20;
const MEMORY_SHARE: u64 = 8;
const BUCKETS_MAX: u64 = 1024;

/// Friendships by the smaller number, in buckets.
#[derive(Debug)]
pub(super) struct Pairs {
    persons: u64,
    buckets: Vec<Spool>,
}

impl Pairs {
    /// Room for about `expected` friendships of `persons` persons.
    pub(super) fn new(persons: u64, expected: u64, memory: u64, scratch: &Arc<Scratch>) -> Self {
        let bytes = expected * size_of::<u64>() as u64;
        let each = (memory / MEMORY_SHARE).clamp(BUCKET_BYTES_MIN, BUCKET_BYTES);
        let buckets = bytes.div_ceil(each).clamp(1, BUCKETS_MAX);
        Self {
            persons: persons.max(1),
            buckets: (0..buckets).map(|_| Spool::new(scratch)).collect(),
        }
    }

    /// Adds a friendship of two person numbers.
    pub(super) fn push(&mut self, a: u32, b: u32) -> Result<(), ImportError> {
        let (small, large) = (u64::from(a.min(b)), u64::from(a.max(b)));
        let bucket = small * self.buckets.len() as u64 / self.persons;
        self.buckets[bucket as usize].push(small, large, &[])
    }

    /// Says that all friendships are there, and that each bucket is read once.
    pub(super) fn complete(&mut self) {
        for bucket in &mut self.buckets {
            bucket.freed_after(1);
        }
    }

    /// The number of friendships.
    pub(super) fn len(&self) -> u64 {
        self.buckets.iter().map(Spool::records).sum()
    }

    /// The number of buckets.
    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// The friendships of a bucket in order: the smaller number in the upper half.
    pub(super) fn bucket(&self, bucket: usize) -> Result<Vec<u64>, ImportError> {
        let spool = &self.buckets[bucket];
        let mut pairs = Vec::with_capacity(spool.records() as usize);
        let mut reader = spool.reader();
        while let Some((small, large, _)) = reader.next()? {
            pairs.push(small << 32 | large);
        }
        radix::sort(&mut pairs, &|pair| *pair, &|_, _| Ordering::Equal);
        Ok(pairs)
    }
}
