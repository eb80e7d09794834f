//! The smallest cache that works, by policy: what happens when threads pin nearly everything.
//!
//! # How it works
//! `threads` threads read pages of a file in memory, each keeping its last `pins` pages pinned, in
//! a cache of a fixed number of frames. Every thread has pages of its own, and pins its share of
//! them before a barrier that all reach with their pins in hand. Then each goes on, letting one
//! page go and pinning another. With fewer than `threads * pins` frames all are pinned before the
//! barrier, whatever the order in which threads run, and one thread wants one more. The cache must
//! then say so, naming the holders, instead of waiting for ever. The number of frames is halved in
//! on until the smallest that works is found; the next smaller one must fail, with that error,
//! soon. So the result does not depend on the order in which threads run, and is the same every
//! time.
//!
//! # Source
//! The thesis, section 3.2: shrink the cache until no thread can evict for a set time.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use graven_io::MemoryFile;
use graven_pagecache::{
    Budget, Config, Error, Evictor, PageCache, PageKind, PageRef, SizeClass, page,
};
use serde::Serialize;

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use graven_types::rng::SplitMix64;

const KIND: PageKind = PageKind::Adjacency;
const CLASS: SizeClass = SizeClass::MIN;
/// Pages of the file, by frames that are needed.
const FILE_FACTOR: u64 = 8;

/// What to try.
#[derive(Clone, Debug)]
pub struct Livelock {
    /// Policies that a cache can run.
    pub policies: Vec<String>,
    /// Threads, at least 1.
    pub threads: usize,
    /// Pages that a thread keeps pinned, at least 1.
    pub pins: usize,
    /// Accesses of a thread in one try.
    pub accesses: u64,
    /// How long a fault waits for a frame before it gives up.
    pub wait: Duration,
    /// Seed of accesses and policies.
    pub seed: u64,
}

/// What one policy needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The policy.
    pub policy: String,
    /// Threads.
    pub threads: usize,
    /// Pages a thread keeps pinned.
    pub pins: usize,
    /// Frames that can be pinned at once.
    pub pinned_frames: u64,
    /// The smallest number of frames that works.
    pub smallest_frames: u64,
    /// The same in bytes.
    pub smallest_bytes: u64,
    /// What a cache with one frame less says; empty where even one frame is enough.
    pub error_below: String,
    /// Seconds until it said so.
    pub error_after_seconds: f64,
    /// Whether that error is the one that names the holders of pins.
    pub clean: bool,
    /// Accesses a second of the smallest cache that works.
    pub accesses_per_second: f64,
}

/// How one try ended.
struct Try {
    error: Option<Error>,
    seconds: f64,
}

impl Livelock {
    /// Finds the limits, in the order of the policies.
    ///
    /// # Errors
    /// Unknown policies, no threads or pins, a cache that cannot be made, or that `progress` said
    /// so.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(&str, u64, u64) -> ControlFlow<()>,
    ) -> Result<Vec<Limit>, LabError> {
        if self.threads == 0 || self.pins == 0 || self.accesses == 0 {
            let reason = "threads, pins and accesses are at least 1";
            return Err(LabError::Setting(reason.to_owned()));
        }
        let total = self.policies.len() as u64;
        let mut limits = Vec::new();
        for (done, policy) in self.policies.iter().enumerate() {
            if progress(policy, done as u64, total).is_break() {
                return Err(LabError::Interrupted);
            }
            limits.push(self.limit(policy)?);
        }
        Ok(limits)
    }

    fn limit(&self, policy: &str) -> Result<Limit, LabError> {
        let needed = (self.threads * self.pins) as u64;
        let (mut fails, mut works) = (0, 2 * needed + 2);
        let mut last_error = None;
        let mut best = self.attempt(policy, works)?;
        if let Some(error) = best.error {
            let reason =
                format!("{policy}: {works} frames for {needed} pins are not enough: {error}");
            return Err(LabError::Setting(reason));
        }
        while works - fails > 1 {
            let frames = u64::midpoint(fails, works);
            let attempt = self.attempt(policy, frames)?;
            match attempt.error {
                Some(error) => {
                    fails = frames;
                    last_error = Some((error, attempt.seconds));
                }
                None => {
                    works = frames;
                    best = attempt;
                }
            }
        }
        let (error_below, after, clean) = match last_error {
            Some((error, seconds)) => {
                let clean = matches!(error, Error::AllPinned { .. });
                (error.to_string(), seconds, clean)
            }
            None => (String::new(), 0.0, true),
        };
        Ok(Limit {
            policy: policy.to_owned(),
            threads: self.threads,
            pins: self.pins,
            pinned_frames: needed,
            smallest_frames: works,
            smallest_bytes: works * CLASS.bytes() as u64,
            error_below,
            error_after_seconds: after,
            clean,
            accesses_per_second: (self.accesses * self.threads as u64) as f64
                / best.seconds.max(1e-9),
        })
    }

    /// Plays the accesses in a cache of `frames`.
    fn attempt(&self, policy: &str, frames: u64) -> Result<Try, LabError> {
        let pages = FILE_FACTOR * (self.threads * self.pins) as u64;
        let cache = self.cache(policy, frames)?;
        let failed = |e: Error| LabError::Setting(format!("{policy}: {e}"));
        let file = cache.add_file(file_of(pages)).map_err(failed)?;
        let barrier = Barrier::new(self.threads);
        let begun = Instant::now();
        let results: Vec<Result<(), Error>> = thread::scope(|scope| {
            let worker = |number: usize| {
                let (cache, barrier) = (&cache, &barrier);
                move || {
                    let mut random = SplitMix64::new(self.seed + number as u64);
                    let own = pages / self.threads as u64;
                    let first = own * number as u64;
                    let pin = |at: u64| cache.pin(file, PageRef::new(CLASS, first + at), KIND);
                    // One that fails keeps what it has pinned until all have tried.
                    let mut pinned = VecDeque::new();
                    let held: Result<(), Error> = (0..self.pins as u64).try_for_each(|at| {
                        pinned.push_back(pin(at)?);
                        Ok(())
                    });
                    barrier.wait();
                    held?;
                    for _ in 0..self.accesses {
                        pinned.pop_front();
                        pinned.push_back(pin(random.below(own))?);
                    }
                    Ok(())
                }
            };
            let threads: Vec<_> = (0..self.threads)
                .map(|number| scope.spawn(worker(number)))
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Result<(), Error>>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        cache.check().map_err(LabError::Setting)?;
        Ok(Try {
            error: results.into_iter().find_map(Result::err),
            seconds,
        })
    }

    fn cache(&self, policy: &str, frames: u64) -> Result<Arc<PageCache>, LabError> {
        let frames = u32::try_from(frames)
            .map_err(|_| LabError::Setting(format!("{frames} frames are too many")))?;
        let bytes = u64::from(frames) * CLASS.bytes() as u64;
        let mut config = Config::new(Budget::new(2 * bytes + (4 << 20)));
        config.policy = policy.to_owned();
        config.evictor = Evictor::Synchronous {
            class: CLASS,
            frames,
        };
        config.frame_wait = self.wait;
        config.seed = self.seed;
        PageCache::new(config).map_err(|e| LabError::Setting(e.to_string()))
    }
}

/// A file in memory of sealed pages.
fn file_of(pages: u64) -> Arc<MemoryFile> {
    let mut bytes = vec![0; pages as usize * CLASS.bytes()];
    for (number, bytes) in bytes.chunks_exact_mut(CLASS.bytes()).enumerate() {
        let reference = PageRef::new(CLASS, number as u64 * CLASS.units());
        page::seal(bytes, reference, KIND, 0, CLASS.payload_bytes());
    }
    Arc::new(MemoryFile::with_bytes("livelock", &bytes))
}

/// Smallest caches by policy.
#[must_use]
pub fn figure(limits: &[Limit]) -> Figure {
    let bar = |limit: &Limit| {
        Series::new(
            limit.policy.clone(),
            vec![(0.0, limit.smallest_frames as f64)],
        )
    };
    let pinned = limits.first().map_or(0, |limit| limit.pinned_frames);
    Figure {
        name: "livelock".to_owned(),
        title: format!("Smallest cache that works with {pinned} frames pinned"),
        columns: 1,
        panels: vec![Panel {
            x: Axis::from_zero("frames"),
            shape: Shape::Bars,
            series: limits.iter().map(bar).collect(),
            ..Panel::default()
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: a cache works with as many frames as are pinned, says cleanly that all are pinned
    /// below that, and five runs agree.
    #[test]
    fn the_limit_is_what_is_pinned_every_time() {
        let livelock = Livelock {
            policies: vec!["neo4j".into(), "lru".into(), "graven".into()],
            threads: 3,
            pins: 4,
            accesses: 100,
            wait: Duration::from_millis(50),
            seed: 1,
        };
        for _ in 0..5 {
            let limits = livelock
                .run(&mut |_, _, _| ControlFlow::Continue(()))
                .expect("limits");
            for limit in &limits {
                assert_eq!(limit.smallest_frames, 12, "{limit:?}");
                assert!(
                    limit.clean && limit.error_below.contains("pinned"),
                    "{limit:?}"
                );
            }
            assert!(figure(&limits).svg().contains("graven"));
        }
    }
}
