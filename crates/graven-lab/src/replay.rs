//! Replay: a trace or a synthetic workload on the real cache, with threads and real reads.
//!
//! # How it works
//! Pages are numbered densely and written, sealed, into a file; so the cache reads and verifies them as it would a
//! database's. Threads take the next 64 accesses of the list from a shared counter, pin each page and look at a word of
//! it. A part of the accesses warms the cache; then counters start, and the rest is played, over and over if need be, until
//! the time is up. Every sixteenth access is timed.
//!
//! The simulated hit ratio stands beside the measured one: the same policy, one thread, in as many frames as the budget has
//! pages of memory. The default cache keeps some frames free and pays for its tables from the budget, so it has a little
//! less; in its synchronous mode (`evictor: synchronous`) with one thread the two are equal, hit for hit.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use graven_io::{AlignedBuffer, IoMode, OpenOptions, device_counters, open};
use graven_pagecache::{
    Budget, Config, Evictor, FileId, PageCache, PageKind, PageRef, SizeClass, page,
};
use graven_policy::Policy;
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Simulator};
use graven_trace::ReadOptions;
use graven_trace::dense::{self, Dense};
use serde::Serialize;

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::machine::processor_seconds;
use crate::measurement::percentile;
use crate::workload::Workload;

const KIND: PageKind = PageKind::Adjacency;
/// Accesses that a thread takes at once.
const STRETCH: u64 = 64;
/// One access of so many is timed.
const TIMED: u64 = 16;
const WRITE_BYTES: usize = 4 << 20;

/// Where accesses come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A trace file.
    Trace(PathBuf, ReadOptions),
    /// A synthetic workload, so many accesses of it.
    Workload(Workload, usize, u64),
}

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

/// Accesses with the file of their pages.
pub struct Stage {
    name: String,
    dense: Dense,
    class: SizeClass,
    _folder: tempfile::TempDir,
    path: PathBuf,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Policy with parameters and protocol.
    pub policy: String,
    /// Cache size in pages.
    pub cache_pages: u64,
    /// Threads.
    pub threads: usize,
    /// How pages are read.
    pub io: IoMode,
    /// How the cache evicts.
    pub evictor: EvictorChoice,
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
    /// Recorded hits that were dropped because the lock was taken (protocols `batched` and `combining`).
    pub hits_dropped: u64,
    /// Seconds that threads waited for pages, all together.
    pub wait_seconds: f64,
    /// Bytes the cache read.
    pub read_bytes: u64,
    /// Bytes the device read for this process.
    pub device_read_bytes: u64,
    /// Pages in the cache at the end.
    pub resident_pages: u64,
}

impl Stage {
    /// Reads or generates the accesses and writes their pages, `page_bytes` each, to a file in `folder` that goes with the
    /// stage. `limit` accesses are kept at most.
    ///
    /// # Errors
    /// Unreadable or empty traces, page sizes that no cache has, files that cannot be written.
    pub fn new(
        source: &Source,
        page_bytes: u64,
        limit: usize,
        folder: &Path,
    ) -> Result<Self, LabError> {
        let class = (0..SizeClass::COUNT)
            .filter_map(|index| SizeClass::new(index as u8))
            .find(|class| class.bytes() as u64 == page_bytes)
            .ok_or_else(|| {
                LabError::Setting(format!(
                    "pages of {page_bytes} bytes: a cache has 4 KiB to 4 MiB, in doublings"
                ))
            })?;
        let (name, pages) = match source {
            Source::Trace(path, options) => {
                let mut pages = graven_trace::read_with(path, options)?.pages;
                pages.truncate(limit);
                (graven_trace::name_of(path), pages)
            }
            Source::Workload(workload, accesses, seed) => {
                let accesses = workload.accesses(*seed).take((*accesses).min(limit));
                (
                    format!("{workload:?}"),
                    accesses.map(|access| access.page).collect(),
                )
            }
        };
        if pages.is_empty() {
            return Err(LabError::Setting(format!("{name}: there are no accesses")));
        }
        let dense = dense::map(&pages);
        let directory =
            tempfile::tempdir_in(folder).map_err(LabError::io(folder, "making a file"))?;
        let path = directory.path().join("pages");
        write_pages(&path, class, dense.unique as u64)?;
        Ok(Self {
            name,
            dense,
            class,
            _folder: directory,
            path,
        })
    }

    /// Different pages.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.dense.unique
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.class.bytes() as u64
    }

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
        let count = self.dense.pages.len() as u64;
        let warm = (count as f64 * setting.warm_up) as u64;
        self.threads(&cache, id, setting, 0, warm, None)
            .map_err(failed)?;
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
            simulated_hit_ratio: self.simulated(setting, warm, played.taken),
            p50_us: percentile(&played.microseconds, 0.5),
            p99_us: percentile(&played.microseconds, 0.99),
            lock_waits: stats.policy_lock_waits - before.0.policy_lock_waits,
            hits_dropped: stats.policy_hits_dropped - before.0.policy_hits_dropped,
            wait_seconds: pages.wait_ns as f64 / 1e9,
            read_bytes: pages.bytes_read,
            device_read_bytes: device.since(before.1).read_bytes,
            resident_pages: stats.resident_pages,
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
        config.evictor = evictor;
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
                    let number = self.dense.pages[(from + place % length) as usize];
                    let reference =
                        PageRef::new(self.class, u64::from(number) * self.class.units());
                    let timed = place % TIMED == 0;
                    let begun = timed.then(Instant::now);
                    match cache.pin(id, reference, KIND) {
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

    /// Hit ratio of the simulator on the accesses measured, after the same warm-up.
    fn simulated(&self, setting: &Setting, warm: u64, taken: u64) -> Option<f64> {
        let spec = Spec::parse(&setting.policy).ok()?;
        let length = self.dense.pages.len() as u64 - warm;
        // A replay in turns is compared with one turn, or the part of it that was played.
        let end = (warm + taken.min(length)) as usize;
        let pages = &self.dense.pages[..end];
        let capacity = setting.cache_pages;
        let visitor = Simulation {
            pages,
            warm: warm as usize,
            unique: self.dense.unique,
            capacity: capacity as usize,
        };
        registry::visit(&spec, capacity, setting.seed, visitor).ok()
    }
}

#[derive(Default)]
struct Played {
    microseconds: Vec<f64>,
    taken: u64,
}

struct Simulation<'a> {
    pages: &'a [u32],
    warm: usize,
    unique: usize,
    capacity: usize,
}

impl Visitor<ArrayFrames> for Simulation<'_> {
    type Output = f64;

    fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> f64 {
        let mut simulator = Simulator::new(policy, self.unique, self.capacity);
        simulator.replay(&self.pages[..self.warm]);
        let before = simulator.outcome();
        simulator.replay(&self.pages[self.warm..]);
        let after = simulator.outcome();
        (after.hits - before.hits) as f64 / (after.accesses - before.accesses).max(1) as f64
    }
}

/// Writes `count` sealed pages.
fn write_pages(path: &Path, class: SizeClass, count: u64) -> Result<(), LabError> {
    let failed = |e: graven_io::Error| LabError::Setting(e.to_string());
    let options = OpenOptions {
        mode: IoMode::Buffered,
        create: true,
        ..OpenOptions::default()
    };
    let file = open(path, &options).map_err(failed)?;
    let mut batch = AlignedBuffer::zeroed(WRITE_BYTES);
    let per_batch = (WRITE_BYTES / class.bytes()) as u64;
    for first in (0..count).step_by(per_batch as usize) {
        let used = (count - first).min(per_batch) as usize * class.bytes();
        for (bytes, number) in batch[..used].chunks_exact_mut(class.bytes()).zip(first..) {
            let payload = &mut bytes[page::HEADER_BYTES..];
            payload[..8].copy_from_slice(&number.to_le_bytes());
            page::seal(
                bytes,
                PageRef::new(class, number * class.units()),
                KIND,
                0,
                class.payload_bytes(),
            );
        }
        file.write_all_at(&batch[..used], first * class.bytes() as u64)
            .map_err(failed)?;
    }
    file.sync_data().map_err(failed)
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
            return Err(LabError::Setting(
                "the experiment was interrupted".to_owned(),
            ));
        }
        results.push(stage.play(setting)?);
    }
    Ok(results)
}

/// Throughput and hit ratio against threads, a row of panels for each cache size and I/O mode.
#[must_use]
pub fn figure(name: &str, runs: &[Replayed]) -> Figure {
    let mut panels = Vec::new();
    for of_size in group(runs, |run| (run.cache_pages, run.io.clone())) {
        let threads: Vec<String> = group(&of_size, |run| run.threads)
            .iter()
            .map(|of| of[0].threads.to_string())
            .collect();
        let place = |run: &Replayed| {
            threads
                .iter()
                .position(|t| *t == run.threads.to_string())
                .unwrap_or(0) as f64
        };
        let series = |value: fn(&Replayed) -> f64| -> Vec<Series> {
            let by_policy = group(&of_size, |run| run.policy.clone());
            let line = |of: &Vec<Replayed>| {
                Series::new(
                    of[0].policy.clone(),
                    of.iter().map(|run| (place(run), value(run))).collect(),
                )
            };
            by_policy.iter().map(line).collect()
        };
        let first = &of_size[0];
        let title = format!("{}, {}", graven::format_bytes(first.cache_bytes), first.io);
        let panel = |what: &str, y: Axis, series| Panel {
            title: format!("{what}: {title}"),
            x: Axis::categories("threads", threads.clone()),
            y,
            shape: Shape::Lines,
            series,
        };
        panels.push(panel(
            "throughput",
            Axis::from_zero("thousand accesses a second"),
            series(|run| run.accesses_per_second / 1e3),
        ));
        panels.push(panel(
            "hit ratio",
            Axis::linear("hit ratio"),
            series(|run| run.hit_ratio),
        ));
    }
    Figure {
        name: name.to_owned(),
        title: format!(
            "Replay of {}",
            runs.first().map_or("", |run| run.trace.as_str())
        ),
        panels,
        columns: 2,
    }
}

/// Runs by a key, groups and members in order of appearance.
pub(crate) fn group<K: PartialEq>(
    runs: &[Replayed],
    key: impl Fn(&Replayed) -> K,
) -> Vec<Vec<Replayed>> {
    let mut groups: Vec<(K, Vec<Replayed>)> = Vec::new();
    for run in runs {
        let this = key(run);
        match groups.iter_mut().find(|(known, _)| *known == this) {
            Some((_, members)) => members.push(run.clone()),
            None => groups.push((this, vec![run.clone()])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(spec: &str, accesses: usize) -> Stage {
        let folder = std::env::temp_dir();
        let source = Source::Workload(spec.parse().expect(spec), accesses, 1);
        Stage::new(&source, 4096, usize::MAX, &folder).expect("a stage")
    }

    fn setting(policy: &str) -> Setting {
        Setting {
            policy: policy.into(),
            cache_pages: 300,
            threads: 1,
            io: IoMode::Buffered,
            evictor: EvictorChoice::Synchronous,
            warm_up: 0.25,
            time: None,
            verify: true,
            seed: 1,
        }
    }

    /// Goal: one thread on the synchronous cache hits exactly when the simulator does, for every live policy.
    #[test]
    fn the_synchronous_cache_equals_the_simulator() {
        let stage = stage("mixed:pages=900", 12_000);
        for policy in crate::live_policies() {
            let run = stage.play(&setting(&policy)).expect("played");
            assert_eq!(run.accesses, 9_000);
            let simulated = run.simulated_hit_ratio.expect("simulated");
            assert!(
                (run.hit_ratio - simulated).abs() < 1e-12,
                "{policy}: {} {simulated}",
                run.hit_ratio
            );
        }
    }

    /// Goal: the default cache with threads plays everything and comes near the simulation.
    #[test]
    fn threads_play_every_access() {
        let stage = stage("zipf:pages=2000,alpha=0.9", 40_000);
        let settings: Vec<Setting> = [1, 4]
            .map(|threads| Setting {
                threads,
                evictor: EvictorChoice::Background,
                cache_pages: 600,
                ..setting("lru:protocol=locked")
            })
            .to_vec();
        let runs =
            play_all(&stage, &settings, &mut |_, _, _| ControlFlow::Continue(())).expect("played");
        for run in &runs {
            assert_eq!(run.accesses, 30_000);
            assert!(
                (run.hit_ratio - run.simulated_hit_ratio.expect("simulated")).abs() < 0.2,
                "{run:?}"
            );
        }
        assert!(figure("replay", &runs).svg().contains("threads"));
        let timed = Setting {
            time: Some(Duration::from_millis(50)),
            ..settings[0].clone()
        };
        assert!(stage.play(&timed).expect("played").accesses > 0);
        assert!(
            Stage::new(
                &Source::Workload("loop".parse().expect("known"), 10, 1),
                5000,
                10,
                Path::new("/tmp")
            )
            .is_err()
        );
    }
}
