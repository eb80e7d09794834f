//! `graven bench cache`: what a hit, a pin and a miss of the page cache cost on this machine,
//! beside the floors measured in the same run.
//!
//! # How it works
//! Files of sealed pages are written beside each other, one for each page size. Then, in several
//! rounds so that disturbance by other programs hits all subjects alike:
//! * hits: Zipfian accesses to resident 8 KiB pages, once on a set that exceeds the processor's
//!   caches and once on one that does not. Floors: the same pages in huge-page memory read without
//!   any translation, and through the barest array of page words, optimistically and with a pin.
//! * misses: uniform accesses to a file many times the pool, kept `depth` reads ahead. The floor is
//!   a bare io_uring loop reading into recycled huge-page frames.
//!
//! Hits are given as CPU time of the threads that access, misses as CPU time of the whole process
//! (evictor and kernel included) per page that was read. Figures are medians over the rounds; the
//! best round is kept beside them.
//!
//! # Deviations
//! The floor of a miss is given twice: reading into `depth` frames only, which stay in the
//! processor's caches, and cycling over as many frames as the cache has. Aims are judged against
//! the first.

mod clock;
mod data;
mod hit;
mod hit_floor;
pub(crate) mod huge_slab;
mod miss;
mod miss_floor;
mod outcome;
mod report;
mod zipf;

pub use report::{CacheReport, HitRow, MissRow, Target};

use std::path::PathBuf;
use std::sync::Arc;

use graven_io::IoMode;
use graven_pagecache::{Budget, Config, PageCache, SizeClass};

/// Size class of the pages that hits are measured on.
const HIT_CLASS: u8 = 1;
/// Size classes that misses are measured on.
const MISS_CLASSES: [u8; 3] = [0, 1, 4];

/// Which half to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Phase {
    /// Hits and misses.
    #[default]
    Both,
    /// Hits only.
    Hits,
    /// Misses only.
    Misses,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct CacheBench {
    /// Which half.
    pub half: Phase,
    /// Folder for the data files; they are removed at the end.
    pub directory: PathBuf,
    /// Direct or buffered.
    pub io: IoMode,
    /// Policies whose hits are measured.
    pub policies: Vec<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Bytes of each data file, and of the larger set of resident pages.
    pub data_bytes: u64,
    /// Bytes of the smaller set of resident pages.
    pub small_bytes: u64,
    /// Budget while misses are measured.
    pub pool_bytes: u64,
    /// Reads kept in flight, all threads together.
    pub depth: usize,
    /// Rounds.
    pub rounds: usize,
    /// Seconds one measurement of hits takes.
    pub hit_seconds: f64,
    /// Seconds one measurement of misses takes.
    pub miss_seconds: f64,
}

impl Default for CacheBench {
    fn default() -> CacheBench {
        CacheBench {
            half: Phase::Both,
            directory: PathBuf::from("."),
            io: IoMode::Direct,
            policies: DEFAULT_POLICIES
                .iter()
                .map(|&policy| policy.to_owned())
                .collect(),
            threads: vec![1, 2, 8],
            data_bytes: 1 << 30,
            small_bytes: 32 << 20,
            pool_bytes: 64 << 20,
            depth: 64,
            rounds: 3,
            hit_seconds: 0.1,
            miss_seconds: 1.0,
        }
    }
}

/// What is measured when no policy is named: every way in which a policy hears of a hit.
const DEFAULT_POLICIES: &[&str] = &[
    "random",
    "fifo",
    "clock",
    "gclock:max=3",
    "gclock:max=7",
    "neo4j",
    "muninn:mode=batch",
    "lru:protocol=batched",
    "lru:protocol=sampled",
    "lru:protocol=locked",
    "eviction-queue",
];

/// What can go wrong while measuring.
#[derive(thiserror::Error, Debug)]
#[non_exhaustive]
pub enum CacheBenchError {
    /// The page cache failed.
    #[error(transparent)]
    Cache(#[from] graven_pagecache::Error),
    /// A data file failed.
    #[error(transparent)]
    Io(#[from] graven_io::Error),
    /// The folder for the data files cannot be used.
    #[error("cannot use {} for data files: {source}", path.display())]
    Directory {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// io_uring is not to be had, so there is no floor to compare with.
    #[error("the floor of a miss (a bare io_uring loop) fails: {0}")]
    NoUring(std::io::Error),
    /// The floors of a hit find no memory.
    #[error("no memory for the floors of a hit: {0}")]
    NoMemory(std::io::Error),
    /// A page did not hold what was written to it.
    #[error("{count} of {of} pages read held something else than was written")]
    Wrong {
        /// Wrong pages.
        count: u64,
        /// Pages read.
        of: u64,
    },
    /// The settings make no sense together.
    #[error("{0}")]
    Settings(String),
}

impl CacheBench {
    /// Measures everything; `progress` is told what is being measured.
    ///
    /// # Errors
    /// A data file cannot be written, the page cache fails, or a page held something wrong.
    pub fn run(&self, progress: &mut dyn FnMut(&str)) -> Result<CacheReport, CacheBenchError> {
        self.check()?;
        let folder = data::Folder::create(&self.directory)?;
        let mut report = CacheReport::new(self, &folder);
        // Misses first: the growth of resident memory is only visible while the process is small.
        let misses = if self.half == Phase::Hits {
            &[][..]
        } else {
            &MISS_CLASSES
        };
        for class in misses.iter().copied().map(class) {
            progress(&format!("writing a file of {class} pages"));
            let file = folder.file(class, self.data_bytes, self.io)?;
            report.io = file.mode().to_string();
            miss::measure(self, class, &file, &mut report, progress)?;
        }
        if self.half != Phase::Misses {
            self.run_hits(&folder, &mut report, progress)?;
        }
        report.judge();
        Ok(report)
    }

    fn run_hits(
        &self,
        folder: &data::Folder,
        report: &mut CacheReport,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), CacheBenchError> {
        let file = folder.file(class(HIT_CLASS), self.data_bytes, self.io)?;
        report.io = file.mode().to_string();
        for (set, bytes) in [("large", self.data_bytes), ("small", self.small_bytes)] {
            hit::measure(self, set, bytes, &file, report, progress)?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), CacheBenchError> {
        let wrong = |text: &str| Err(CacheBenchError::Settings(text.to_owned()));
        if self.policies.is_empty() || self.threads.is_empty() || self.threads.contains(&0) {
            return wrong("name at least one policy and one positive number of threads");
        }
        if self.rounds == 0 || self.depth == 0 {
            return wrong("rounds and depth must be positive");
        }
        if self.small_bytes > self.data_bytes || self.small_bytes < 1 << 20 {
            return wrong("the small set must be at least 1 MiB and no larger than the data");
        }
        if self.pool_bytes < 1 << 20 || self.pool_bytes > self.data_bytes / 2 {
            return wrong("the pool must be at least 1 MiB and at most half of the data");
        }
        Ok(())
    }

    /// A cache of `bytes` with the first policy.
    fn cache(
        &self,
        bytes: u64,
        policy: &str,
        verify: bool,
    ) -> Result<Arc<PageCache>, CacheBenchError> {
        let mut config = Config::new(Budget::new(bytes));
        config.verify = verify;
        policy.clone_into(&mut config.policy);
        Ok(PageCache::new(config)?)
    }
}

fn class(index: u8) -> SizeClass {
    SizeClass::new(index).expect("the constants above name classes that exist")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a small run measures every subject, finds the right bytes in every page, and removes
    /// its files.
    #[test]
    fn a_small_run_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let bench = CacheBench {
            directory: directory.path().to_path_buf(),
            policies: vec!["random".to_owned(), "clock".to_owned()],
            threads: vec![1, 2],
            data_bytes: 8 << 20,
            small_bytes: 1 << 20,
            pool_bytes: 2 << 20,
            depth: 8,
            rounds: 1,
            hit_seconds: 0.01,
            miss_seconds: 0.02,
            ..CacheBench::default()
        };
        let report = match bench.run(&mut |_| {}) {
            Err(CacheBenchError::NoUring(error)) => {
                eprintln!("SKIPPED: no io_uring: {error}");
                return;
            }
            outcome => outcome.unwrap(),
        };
        // Two sets, two numbers of threads: three floors, and read and pin for two policies.
        assert_eq!(report.hits.len(), 2 * 2 * (3 + 2 * 2));
        assert!(report.hits.iter().all(|row| row.cpu_ns > 0.0));
        assert!(report.misses.iter().all(|row| row.pages_per_second > 0.0));
        assert!(!report.aims.is_empty());
        assert!(report.to_string().contains("misses"));
        assert!(serde_json::to_string(&report).unwrap().contains("\"aims\""));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    /// Goal: settings that cannot be measured are refused in words.
    #[test]
    fn impossible_settings_are_refused() {
        let bench = CacheBench {
            pool_bytes: 1 << 30,
            ..CacheBench::default()
        };
        let error = bench.run(&mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("half of the data"), "{error}");
    }
}
