//! The trace as far as it is kept: accesses to the pages with the lowest hashes.

use graven_trace::dense::Numbering;

use graven_types::rng::mix;

/// The trace as far as it is kept.
pub(super) struct Kept {
    /// Dense page of every access kept.
    pub(super) pages: Vec<u32>,
    /// Hash of every page that was ever kept.
    pub(super) hashes: Vec<u64>,
    pub(super) numbering: Numbering,
    /// Pages with a hash below this are kept.
    pub(super) threshold: u64,
    pub(super) limit: usize,
    pub(super) salt: u64,
}

impl Kept {
    pub(super) fn push(&mut self, page: u64) {
        let hash = mix(page ^ self.salt);
        if hash > self.threshold {
            return;
        }
        let index = self.numbering.index_of(page);
        if index as usize == self.hashes.len() {
            self.hashes.push(hash);
        }
        self.pages.push(index);
        if self.pages.len() > self.limit {
            self.threshold /= 2;
            let (threshold, hashes) = (self.threshold, &self.hashes);
            self.pages
                .retain(|&page| hashes[page as usize] <= threshold);
        }
    }

    pub(super) fn rate(&self) -> f64 {
        self.threshold as f64 / u64::MAX as f64
    }

    pub(super) fn unique(&self) -> usize {
        self.hashes
            .iter()
            .filter(|hash| **hash <= self.threshold)
            .count()
    }

    /// The accesses to pages of a share of the hash space that begins at `from`, numbered anew.
    pub(super) fn sample(&self, from: f64, rate: f64) -> (Vec<u32>, usize) {
        let bound = |share: f64| (share.min(1.0) * u64::MAX as f64) as u64;
        let (low, high) = (bound(from), bound(from + rate));
        let mut numbers = vec![u32::MAX; self.hashes.len()];
        let mut unique = 0;
        let mut pages = Vec::new();
        for &page in &self.pages {
            let hash = self.hashes[page as usize];
            if hash < low || (hash >= high && high != u64::MAX) {
                continue;
            }
            let number = &mut numbers[page as usize];
            if *number == u32::MAX {
                *number = unique;
                unique += 1;
            }
            pages.push(*number);
        }
        (pages, unique as usize)
    }
}
