//! Replay: a trace or a synthetic workload on the real cache, with threads and real reads.
//!
//! # How it works
//! Pages are numbered densely and written, sealed, into a file; so the cache reads and verifies
//! them as it would a database's (`stage.rs`). Threads take the next 64 accesses of the list from a
//! shared counter, pin each page and look at a word of it. A part of the accesses warms the cache;
//! then counters start, and the rest is played, over and over if need be, until the time is up.
//! Every sixteenth access is timed.
//!
//! The simulated hit ratio stands beside the measured one: the same policy, one thread, in as many
//! frames as the budget has pages of memory. The default cache keeps some frames free and pays for
//! its tables from the budget, so it has a little less; in its synchronous mode
//! (`evictor: synchronous`) with one thread the two are equal, hit for hit.

mod figure;
mod stage;

use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use graven_io::{IoMode, OpenOptions, device_counters, open};
use graven_pagecache::pools::Pools;
use graven_pagecache::{Budget, Config, Evictor, FileId, PageCache};
use serde::Serialize;

use crate::error::LabError;
use crate::machine::processor_seconds;
use crate::measurement::percentile;
use crate::statistics::{self, Interval};

pub use figure::figure;
pub use graven_pagecache::Reserve;
use stage::KIND;
pub use stage::{Source, Stage};

/// Accesses that a thread takes at once.
const STRETCH: u64 = 64;
/// One access of so many is timed.
const TIMED: u64 = 16;

/// How the cache evicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EvictorChoice {
    /// By a thread in the background, as a database's.
    #[default]
    Background,
    /// By the faults themselves, in batches.
    Cooperative,
    /// One victim a fault, as the simulator.
    Synchronous,
}

impl FromStr for EvictorChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "background" => Ok(Self::Background),
            "cooperative" => Ok(Self::Cooperative),
            "synchronous" => Ok(Self::Synchronous),
            _ => Err(format!(
                "`{text}`: expected background, cooperative or synchronous"
            )),
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Policy with parameters and protocol.
    pub policy: String,
    /// Fixed pools instead of one budget for pages of all sizes.
    pub pools: Option<Pools>,
    /// Cache size in pages.
    pub cache_pages: u64,
    /// Threads.
    pub threads: usize,
    /// How pages are read.
    pub io: IoMode,
    /// How the cache evicts.
    pub evictor: EvictorChoice,
    /// How much the background evictor keeps free.
    pub reserve: Reserve,
    /// Share of the accesses that warm the cache.
    pub warm_up: f64,
    /// Stop after this time; none to play every access once.
    pub time: Option<Duration>,
    /// Whether pages are verified when they are read.
    pub verify: bool,
    /// Seed of policies that draw.
    pub seed: u64,
}

/// What a run measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replayed {
    /// Name of the trace or workload.
    pub trace: String,
    /// The policy.
    pub policy: String,
    /// Fixed pools instead of one budget for pages of all sizes, where there were any.
    pub pools: Option<String>,
    /// Cache size in pages.
    pub cache_pages: u64,
    /// The same in bytes.
    pub cache_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Threads.
    pub threads: usize,
    /// How pages were read, after any fallback.
    pub io: String,
    /// Accesses measured.
    pub accesses: u64,
    /// Seconds they took.
    pub seconds: f64,
    /// Processor seconds of the whole process meanwhile.
    pub cpu_seconds: f64,
    /// Accesses a second, all threads together.
    pub accesses_per_second: f64,
    /// Accesses that found their page.
    pub hits: u64,
    /// Accesses that did not.
    pub faults: u64,
    /// Hits by accesses.
    pub hit_ratio: f64,
    /// Hit ratio of a simulation of the same accesses, one thread, as many frames.
    pub simulated_hit_ratio: Option<f64>,
    /// Median time of an access in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Hits that waited for the policy's lock (protocol `locked`).
    pub lock_waits: u64,
    /// Recorded hits that were dropped because the lock was taken (protocols `batched` and
    /// `combining`).
    pub hits_dropped: u64,
    /// Seconds that threads waited for pages, all together.
    pub wait_seconds: f64,
    /// Bytes the cache read.
    pub read_bytes: u64,
    /// Bytes the device read for this process.
    pub device_read_bytes: u64,
    /// Pages in the cache at the end.
    pub resident_pages: u64,
    /// Frames emptied by the background evictor.
    pub evictions_background: u64,
    /// Frames emptied by a thread that needed one.
    pub evictions_cooperative: u64,
    /// Seconds of the warm-up before what is measured.
    pub warm_up_seconds: f64,
    /// Accesses of the warm-up.
    pub warm_up_accesses: u64,
    /// The cache as a share of the bytes of all pages played.
    pub cache_share: f64,
    /// Seed of policies that draw.
    pub seed: u64,
    /// Accesses a second of every round, where several were made in turn with other settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<f64>,
    /// Hit ratios of the same rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hit_ratios: Vec<f64>,
    /// The factor by which one setting differed from itself in those rounds, if that was measured.
    pub noise_band: Option<f64>,
}

impl Replayed {
    /// Accesses a second: the mean of the rounds and half the width of its interval; without
    /// rounds, what was measured and 0.
    #[must_use]
    pub fn speed(&self) -> (f64, f64) {
        of_rounds(&self.rounds, self.accesses_per_second)
    }

    /// Hit ratio, in the same way.
    #[must_use]
    pub fn ratio(&self) -> (f64, f64) {
        of_rounds(&self.hit_ratios, self.hit_ratio)
    }
}

/// Mean of some rounds and half the width of its interval; without rounds, `single` and 0.
fn of_rounds(rounds: &[f64], single: f64) -> (f64, f64) {
    statistics::mean(rounds).map_or((single, 0.0), |interval| {
        let Interval { low, mean, high } = interval;
        (mean, (high - mean).max(mean - low))
    })
}

impl Stage {
    /// Plays the accesses on a new cache.
    ///
    /// # Errors
    /// Settings that make no cache, and failing reads.
    pub fn play(&self, setting: &Setting) -> Result<Replayed, LabError> {
        if setting.threads == 0 || !(0.0..1.0).contains(&setting.warm_up) {
            let reason = "threads are at least 1, the share that warms up is below 1";
            return Err(LabError::Setting(reason.to_owned()));
        }
        let options = OpenOptions {
            mode: setting.io,
            ..OpenOptions::default()
        };
        let file = open(&self.path, &options).map_err(|e| LabError::Setting(e.to_string()))?;
        let io = file.mode().to_string();
        let cache = self.cache(setting)?;
        let failed =
            |e: graven_pagecache::Error| LabError::Setting(format!("{}: {e}", setting.policy));
        let id = cache.add_file(file).map_err(failed)?;
        let count = self.len();
        let warm = (count as f64 * setting.warm_up) as u64;
        let warming = Instant::now();
        self.threads(&cache, id, setting, 0, warm, None)
            .map_err(failed)?;
        let warm_up_seconds = warming.elapsed().as_secs_f64();
        let before = (
            cache.stats(),
            device_counters().unwrap_or_default(),
            processor_seconds(),
        );
        let begun = Instant::now();
        let deadline = setting.time.map(|time| begun + time);
        let mut played = self
            .threads(&cache, id, setting, warm, count, deadline)
            .map_err(failed)?;
        let seconds = begun.elapsed().as_secs_f64();
        let (stats, device) = (cache.stats(), device_counters().unwrap_or_default());
        let pages = stats.per_kind.since(&before.0.per_kind).total();
        played.microseconds.sort_by(f64::total_cmp);
        let accesses = pages.hits + pages.faults;
        Ok(Replayed {
            trace: self.name.clone(),
            policy: setting.policy.clone(),
            pools: setting.pools.as_ref().map(Pools::to_string),
            cache_pages: setting.cache_pages,
            cache_bytes: setting.cache_pages * self.page_bytes(),
            page_bytes: self.page_bytes(),
            threads: setting.threads,
            io,
            accesses,
            seconds,
            cpu_seconds: processor_seconds() - before.2,
            accesses_per_second: accesses as f64 / seconds.max(1e-9),
            hits: pages.hits,
            faults: pages.faults,
            hit_ratio: pages.hit_ratio(),
            simulated_hit_ratio: self.simulate_part(
                &setting.policy,
                setting.cache_pages,
                setting.seed,
                warm,
                // A replay in turns is compared with one turn, or the part of it that was played.
                warm + played.taken.min(count - warm),
            ),
            p50_us: percentile(&played.microseconds, 0.5),
            p99_us: percentile(&played.microseconds, 0.99),
            lock_waits: stats.policy_lock_waits - before.0.policy_lock_waits,
            hits_dropped: stats.policy_hits_dropped - before.0.policy_hits_dropped,
            wait_seconds: pages.wait_ns as f64 / 1e9,
            read_bytes: pages.bytes_read,
            device_read_bytes: device.since(before.1).read_bytes,
            resident_pages: stats.resident_pages,
            evictions_background: pages.evictions_background,
            evictions_cooperative: pages.evictions_cooperative,
            warm_up_seconds,
            warm_up_accesses: warm,
            cache_share: setting.cache_pages as f64 / self.unique().max(1) as f64,
            seed: setting.seed,
            rounds: Vec::new(),
            hit_ratios: Vec::new(),
            noise_band: None,
        })
    }

    fn cache(&self, setting: &Setting) -> Result<Arc<PageCache>, LabError> {
        let bytes = setting.cache_pages * self.page_bytes();
        let frames = u32::try_from(setting.cache_pages).map_err(|_| {
            LabError::Setting(format!("{} frames are too many", setting.cache_pages))
        })?;
        let (budget, evictor) = match setting.evictor {
            EvictorChoice::Background => (bytes, Evictor::Background),
            EvictorChoice::Cooperative => (bytes, Evictor::Cooperative),
            EvictorChoice::Synchronous => {
                let evictor = Evictor::Synchronous {
                    class: self.class,
                    frames,
                };
                (2 * bytes + (16 << 20), evictor)
            }
        };
        let mut config = Config::new(Budget::new(budget));
        config.policy.clone_from(&setting.policy);
        config.pools.clone_from(&setting.pools);
        config.evictor = evictor;
        config.reserve = setting.reserve;
        config.verify = setting.verify;
        config.seed = setting.seed;
        PageCache::new(config).map_err(|e| LabError::Setting(e.to_string()))
    }

    /// Plays the accesses from `from` to `to`, in turns until `deadline` if there is one.
    fn threads(
        &self,
        cache: &Arc<PageCache>,
        id: FileId,
        setting: &Setting,
        from: u64,
        to: u64,
        deadline: Option<Instant>,
    ) -> Result<Played, graven_pagecache::Error> {
        let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
        let length = to.saturating_sub(from);
        if length == 0 {
            return Ok(Played::default());
        }
        let worker = || {
            let mut microseconds = Vec::new();
            loop {
                let at = next.fetch_add(STRETCH, Ordering::Relaxed);
                let over = match deadline {
                    None => at >= length,
                    Some(deadline) => at > 0 && Instant::now() >= deadline,
                };
                if over || failed.load(Ordering::Relaxed) {
                    return Ok(microseconds);
                }
                let end = if deadline.is_some() {
                    at + STRETCH
                } else {
                    (at + STRETCH).min(length)
                };
                for place in at..end {
                    let (page, is_scan) = self.access(from + place % length);
                    let timed = place % TIMED == 0;
                    let begun = timed.then(Instant::now);
                    let pin = if is_scan {
                        cache.pin_scanned(id, page, KIND)
                    } else {
                        cache.pin(id, page, KIND)
                    };
                    match pin {
                        Ok(pin) => std::hint::black_box(pin[0]),
                        Err(error) => {
                            failed.store(true, Ordering::Relaxed);
                            return Err(error);
                        }
                    };
                    if let Some(begun) = begun {
                        microseconds.push(begun.elapsed().as_secs_f64() * 1e6);
                    }
                }
            }
        };
        let results: Vec<Result<Vec<f64>, graven_pagecache::Error>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..setting.threads).map(|_| scope.spawn(worker)).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let mut played = Played::default();
        for result in results {
            played.microseconds.append(&mut result?);
        }
        played.taken = next.load(Ordering::Relaxed).min(match deadline {
            None => length,
            Some(_) => u64::MAX,
        });
        Ok(played)
    }
}

#[derive(Default)]
struct Played {
    microseconds: Vec<f64>,
    taken: u64,
}

/// Plays every setting; `progress` is told of each before it begins and may end it.
///
/// # Errors
/// As [`Stage::play`], or that `progress` said so.
pub fn play_all(
    stage: &Stage,
    settings: &[Setting],
    progress: &mut dyn FnMut(&str, u64, u64) -> ControlFlow<()>,
) -> Result<Vec<Replayed>, LabError> {
    let mut results = Vec::new();
    for (done, setting) in settings.iter().enumerate() {
        if progress(&setting.policy, done as u64, settings.len() as u64).is_break() {
            return Err(LabError::Interrupted);
        }
        results.push(stage.play(setting)?);
    }
    Ok(results)
}

#[cfg(test)]
mod tests;
