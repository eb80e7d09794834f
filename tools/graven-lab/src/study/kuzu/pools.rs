//! Queries as a buffer manager sees them, on two pools of fixed sizes and on one cache with size
//! classes.
//!
//! # How it works
//! A query reads pages of 4 KiB in the order of a table, keeps some of them pinned to its end (a
//! sort over the table points into them), and holds pages of 256 KiB with intermediate results.
//! Both buffer managers are page caches of this program with the same policy and the same evictor,
//! which works when a fault finds no frame; they differ in the layout alone: one budget for all
//! sizes, or static pools (`--pools`), three quarters for 4 KiB and the rest for 256 KiB.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graven_io::{IoMode, OpenOptions, open};
use graven_pagecache::{
    Budget, Config, Evictor, FileId, PageCache, PageKind, PagePin, PageRef, SizeClass,
};

use crate::error::LabError;

const SMALL: SizeClass = SizeClass::MIN;
const LARGE_BYTES: u64 = 256 << 10;
const KIND: PageKind = PageKind::Adjacency;
/// Part of a pool that page tables and bookkeeping may take before its frames are filled at the
/// start.
const OVERHEAD: u64 = 16;

/// Queries of the benchmark.
pub(super) const QUERIES: u64 = 31;

/// How memory is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// Two pools of fixed page sizes, 75 to 25.
    TwoPools,
    /// One budget for pages of all sizes.
    SizeClasses,
}

impl Layout {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TwoPools => "two static pools",
            Self::SizeClasses => "size classes",
        }
    }
}

/// What a query asks of a buffer manager.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    /// Table pages of 4 KiB, read in order.
    scanned: u64,
    /// How many of them stay pinned to the end.
    kept: u64,
    /// Intermediate pages of 256 KiB, held to the end.
    intermediates: u64,
}

/// What happened to one query.
#[derive(Clone)]
pub(super) struct Ran {
    pub(super) completed: bool,
    /// Median of the repetitions, or the first time without any.
    pub(super) milliseconds: f64,
    /// Times of the repetitions.
    pub(super) repetitions: Vec<f64>,
    pub(super) virtual_mib: f64,
    pub(super) physical_mib: f64,
}

impl Ran {
    /// The same, memory as growth over `base`.
    pub(super) fn above(mut self, base: (f64, f64)) -> Self {
        self.virtual_mib -= base.0;
        self.physical_mib -= base.1;
        self
    }
}

/// Scale of the data beside the budget: the smaller one is tighter, as SF 0.1 in 32 MB is beside SF
/// 1 in 512 MB.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Tight,
    Roomy,
}

/// The demands of query `number` in a budget of `budget` bytes. Q25 to Q27 order a whole table, Q28
/// aggregates one; Q25 is the smallest of them. Those that should not fit into a pool of three
/// quarters pass it by more than a cache overdraws (1 MiB, or a 64th) when a thread has waited in
/// vain.
pub(super) fn demand(number: u64, budget: u64, scale: Scale) -> Demand {
    let (pages, large) = (budget / SMALL.bytes() as u64, budget / LARGE_BYTES);
    let percent = |of: u64, share: u64| of * share / 100;
    match number {
        25 => Demand {
            scanned: percent(pages, 90),
            kept: percent(pages, if scale == Scale::Tight { 85 } else { 60 }),
            intermediates: percent(large, 4),
        },
        26 | 27 => Demand {
            scanned: percent(pages, 110),
            kept: percent(pages, 60 + number),
            intermediates: percent(large, 4),
        },
        28 => Demand {
            scanned: percent(pages, 110),
            kept: percent(pages, 10),
            intermediates: percent(large, 45),
        },
        _ => Demand {
            scanned: percent(pages, 10 + number * 2),
            kept: 8,
            intermediates: (percent(large, 2) + number % 4).min(large / 8),
        },
    }
}

/// One buffer manager under test.
pub(super) struct Pools {
    cache: Arc<PageCache>,
    /// The same file twice: pages of both sizes lie at the same places of it.
    small_file: FileId,
    large_file: FileId,
    large_class: SizeClass,
}

fn failed(error: impl std::fmt::Display) -> LabError {
    LabError::Setting(error.to_string())
}

fn cache(bytes: u64, layout: Layout) -> Result<Arc<PageCache>, LabError> {
    let mut config = Config::new(Budget::new(bytes));
    if layout == Layout::TwoPools {
        let pools = "static:4KiB=75%,256KiB=25%".parse();
        config.pools = Some(pools.map_err(LabError::Setting)?);
    }
    config.verify = false;
    config.evictor = Evictor::Cooperative;
    config.frame_wait = Duration::from_millis(30);
    PageCache::new(config).map_err(failed)
}

impl Pools {
    /// Opens a buffer manager of `budget` bytes over the pages of `file`.
    pub(super) fn new(budget: u64, layout: Layout, file: &Path) -> Result<Self, LabError> {
        let large_class = SizeClass::for_page_bytes(LARGE_BYTES as usize)
            .ok_or_else(|| LabError::Setting("256 KiB is no page size".to_owned()))?;
        let cache = cache(budget, layout)?;
        let add = || {
            let options = OpenOptions {
                mode: IoMode::Buffered,
                ..OpenOptions::default()
            };
            let opened = open(file, &options).map_err(failed)?;
            cache.add_file(opened).map_err(failed)
        };
        let (small_file, large_file) = (add()?, add()?);
        let pools = Self {
            cache,
            small_file,
            large_file,
            large_class,
        };
        if layout == Layout::TwoPools {
            pools.fill(budget)?;
        }
        Ok(pools)
    }

    /// Allocated up front: every frame is used once.
    fn fill(&self, budget: u64) -> Result<(), LabError> {
        let (small, large) = (budget / 4 * 3, budget / 4);
        for number in 0..(small - small / OVERHEAD) / SMALL.bytes() as u64 {
            drop(self.pin_small(number).map_err(failed)?);
        }
        for number in 0..(large - large / OVERHEAD) / LARGE_BYTES {
            drop(self.pin_large(number).map_err(failed)?);
        }
        Ok(())
    }

    fn pin_small(&self, number: u64) -> Result<PagePin, graven_pagecache::Error> {
        let page = PageRef::new(SMALL, number);
        self.cache.pin(self.small_file, page, KIND)
    }

    fn pin_large(&self, number: u64) -> Result<PagePin, graven_pagecache::Error> {
        let page = PageRef::new(self.large_class, number * self.large_class.units());
        self.cache.pin(self.large_file, page, PageKind::Temporary)
    }

    /// Runs a query; one that finds no frame, because all are pinned, does not complete.
    pub(super) fn run(&self, demand: Demand) -> Result<Ran, LabError> {
        let begun = Instant::now();
        let completed = match self.try_run(demand) {
            Ok(()) => true,
            Err(graven_pagecache::Error::AllPinned { .. }) => false,
            Err(error) => return Err(failed(error)),
        };
        let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
        let (virtual_mib, physical_mib) = memory();
        Ok(Ran {
            completed,
            milliseconds,
            repetitions: Vec::new(),
            virtual_mib,
            physical_mib,
        })
    }

    fn try_run(&self, demand: Demand) -> Result<(), graven_pagecache::Error> {
        let mut held = Vec::new();
        for number in 0..demand.intermediates {
            held.push(self.pin_large(number)?);
        }
        for number in 0..demand.scanned {
            let pin = self.pin_small(number)?;
            // A hole has no payload; that it is there is all that is wanted.
            black_box(pin.len());
            if number < demand.kept {
                held.push(pin);
            }
        }
        Ok(())
    }
}

/// Virtual and physical memory of the process in MiB.
pub(super) fn memory() -> (f64, f64) {
    let process = crate::machine::process_memory();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    (mib(process.virtual_bytes), mib(process.physical_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a sort over most of a budget completes where sizes share it, and not where a quarter
    /// is set apart; both read and evict alike otherwise.
    #[test]
    fn a_fixed_split_fails_where_one_budget_does_not() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let budget = 16 << 20;
        file.as_file().set_len(4 * budget).expect("holes");
        for (layout, expected) in [(Layout::TwoPools, false), (Layout::SizeClasses, true)] {
            let pools = Pools::new(budget, layout, file.path()).expect("a buffer manager");
            for number in [1, 24, 31] {
                let ran = pools
                    .run(demand(number, budget, Scale::Tight))
                    .expect("run");
                assert!(ran.completed, "Q{number} with {}", layout.name());
            }
            for number in 25..=28 {
                let ran = pools
                    .run(demand(number, budget, Scale::Tight))
                    .expect("run");
                assert_eq!(ran.completed, expected, "Q{number} with {}", layout.name());
            }
        }
    }
}
