//! How a page cache is set up.

use crate::budget::Budget;
use crate::page_ref::SizeClass;
use crate::pools::Pools;
use std::sync::Arc;
use std::time::Duration;

/// When pages are evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Evictor {
    /// A background thread keeps some frames free; a thread that finds none evicts a batch itself.
    #[default]
    Background,
    /// No thread: faults evict in batches.
    Cooperative,
    /// One size class and a fixed number of frames; a fault evicts what it needs and nothing else,
    /// prefetching does nothing. The order of events is that of the simulator, so hits can be
    /// compared one for one.
    Synchronous {
        /// The only class that may be read.
        class: SizeClass,
        /// Number of frames.
        frames: u32,
    },
}

/// When the background evictor starts and ends, as shares of the bytes of all frames that are free;
/// what makes no sense is taken as the nearest that does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reserve {
    /// A fault that leaves less free than this calls the evictor.
    pub low: f64,
    /// It evicts until so much is free.
    pub high: f64,
}

impl Default for Reserve {
    /// 1/128 and 1/48 of the frames.
    fn default() -> Reserve {
        Reserve {
            low: 1.0 / 128.0,
            high: 1.0 / 48.0,
        }
    }
}

impl Reserve {
    /// The largest share that may be kept free.
    pub const HIGH_MAX: f64 = 0.5;

    /// The nearest shares that evictor and faults can live with: `low <= high <=`
    /// [`Reserve::HIGH_MAX`].
    pub(crate) fn clamped(self) -> Reserve {
        let high = self.high.clamp(0.0, Reserve::HIGH_MAX);
        Reserve {
            low: self.low.clamp(0.0, high),
            high,
        }
    }
}

/// Whether frames may lie in huge pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum HugePages {
    /// From a budget of 2 MiB on; page tables from 64 MiB on.
    #[default]
    Auto,
    /// Never.
    Never,
}

/// Settings of a page cache.
#[derive(Clone, Debug)]
pub struct Config {
    /// The budget that frames, tables and policy state count against.
    pub budget: Arc<Budget>,
    /// Replacement policy with its parameters, as `graven_policy::registry` reads it.
    pub policy: String,
    /// Fixed pools instead of one budget for pages of all sizes, for comparison; not with
    /// [`Evictor::Synchronous`].
    pub pools: Option<Pools>,
    /// When pages are evicted.
    pub evictor: Evictor,
    /// How much the background evictor keeps free.
    pub reserve: Reserve,
    /// Whether every page is verified when it is read. Off only for benches and foreign files.
    pub verify: bool,
    /// Whether frames may lie in huge pages.
    pub huge_pages: HugePages,
    /// How long a fault waits for a frame when everything is pinned before it fails.
    pub frame_wait: Duration,
    /// Seed of the policy's random choices.
    pub seed: u64,
}

impl Config {
    /// The usual settings over `budget`.
    #[must_use]
    pub fn new(budget: Arc<Budget>) -> Config {
        Config {
            budget,
            policy: DEFAULT_POLICY.to_owned(),
            pools: None,
            evictor: Evictor::default(),
            reserve: Reserve::default(),
            verify: true,
            huge_pages: HugePages::default(),
            frame_wait: Duration::from_secs(2),
            seed: 1,
        }
    }
}

/// The policy used when none is named.
pub const DEFAULT_POLICY: &str = "gclock:max=3";

/// The smallest budget a page cache opens with.
pub const BUDGET_BYTES_MIN: u64 = 1 << 20;
