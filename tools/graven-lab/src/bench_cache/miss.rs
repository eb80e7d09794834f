//! Cost of a miss: random pages of a file many times the pool, reads kept in flight.
//!
//! # How it works
//! A thread keeps a window of pages it has asked the cache to prefetch. It reads a quarter of them,
//! oldest first, and prefetches as many new ones. Pages the cache happens to hold cost it a hit and
//! are not counted: costs are per page that was really read.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use graven_io::File;
use graven_pagecache::{FileId, PageCache, PageRef, SizeClass};

use super::data::{KIND, content, page_ref};
use super::miss_floor::Floor;
use super::outcome::Outcome;
use super::report::{CacheReport, MissSubject, Samples};
use super::{CacheBench, CacheBenchError, clock};
use graven_types::rng::SplitMix64;

/// Measures pages of one class: floors, the cache with and without verification, several threads,
/// and (smallest class only) every policy.
pub(super) fn measure(
    bench: &CacheBench,
    class: SizeClass,
    file: &Arc<dyn File>,
    report: &mut CacheReport,
    progress: &mut dyn FnMut(&str),
) -> Result<(), CacheBenchError> {
    let pool_frames = bench.pool_bytes as usize / class.bytes();
    let floors = [bench.depth, pool_frames].map(|frames| {
        Floor::new(file.path(), file.mode(), class, bench.depth, frames)
            .map_err(CacheBenchError::NoUring)
    });
    let [near, far] = floors;
    let (near, far) = (near?, far?);
    let before = clock::resident_bytes();
    let plain = Subject::new(bench, class, file, &bench.policies[0], false)?;
    let verified = Subject::new(bench, class, file, &bench.policies[0], true)?;
    let mut samples = <[Samples; 4]>::default();
    for round in 0..bench.rounds {
        progress(&format!(
            "misses of {class} pages, round {} of {}",
            round + 1,
            bench.rounds
        ));
        let seed = round as u64 * 1000;
        samples[0].add(
            &near
                .run(bench.miss_seconds, seed)
                .map_err(CacheBenchError::NoUring)?,
        );
        samples[1].add(
            &far.run(bench.miss_seconds, seed)
                .map_err(CacheBenchError::NoUring)?,
        );
        samples[2].add(&plain.run(bench, 1, seed)?);
        samples[3].add(&verified.run(bench, 1, seed)?);
    }
    // Two caches have been filled; both count.
    let growth = clock::resident_bytes().saturating_sub(before);
    report.memory_row(class, growth, 2 * bench.pool_bytes);
    let first = &bench.policies[0];
    report.miss_row(class, MissSubject::FloorNear, "", 1, &samples[0]);
    report.miss_row(class, MissSubject::FloorPool, "", 1, &samples[1]);
    report.miss_row(class, MissSubject::Plain, first, 1, &samples[2]);
    report.miss_row(class, MissSubject::Verified, first, 1, &samples[3]);
    for &threads in bench.threads.iter().filter(|&&threads| threads > 1) {
        progress(&format!("misses of {class} pages, {threads} threads"));
        let mut samples = Samples::default();
        samples.add(&verified.run(bench, threads, 7)?);
        report.miss_row(class, MissSubject::Verified, first, threads, &samples);
    }
    drop((plain, verified));
    if class == SizeClass::MIN {
        for policy in &bench.policies[1..] {
            progress(&format!("misses of {class} pages, {policy}"));
            let subject = Subject::new(bench, class, file, policy, true)?;
            let mut samples = Samples::default();
            samples.add(&subject.run(bench, 1, 8)?);
            report.miss_row(class, MissSubject::Verified, policy, 1, &samples);
        }
    }
    Ok(())
}

impl Samples {
    fn add(&mut self, outcome: &Outcome) {
        let pages = outcome.pages.max(1) as f64;
        self.cpu.push(outcome.cpu_seconds / pages);
        self.rate.push(pages / outcome.seconds);
    }
}

/// A cache over one file.
struct Subject {
    cache: Arc<PageCache>,
    id: FileId,
    class: SizeClass,
    pages: u64,
}

impl Subject {
    /// A cache filled once, so that every further miss evicts.
    fn new(
        bench: &CacheBench,
        class: SizeClass,
        file: &Arc<dyn File>,
        policy: &str,
        verify: bool,
    ) -> Result<Subject, CacheBenchError> {
        let cache = bench.cache(bench.pool_bytes, policy, verify)?;
        let id = cache.add_file(Arc::clone(file))?;
        let pages = file.len()? / class.bytes() as u64;
        let subject = Subject {
            cache,
            id,
            class,
            pages,
        };
        let frames = bench.pool_bytes / class.bytes() as u64;
        let mut reader = Reader::new(&subject, bench.depth, 99);
        let mut touched = 0;
        while touched < frames + frames / 4 {
            touched += reader.step()?;
        }
        Ok(subject)
    }

    /// Reads random pages with `threads` threads for the time of one measurement.
    fn run(
        &self,
        bench: &CacheBench,
        threads: usize,
        seed: u64,
    ) -> Result<Outcome, CacheBenchError> {
        let depth = (bench.depth / threads).max(4);
        let stop = AtomicBool::new(false);
        let wrong = AtomicU64::new(0);
        let bytes = || self.cache.stats().per_kind.total().bytes_read;
        let (before, start, cpu) = (bytes(), Instant::now(), clock::process_cpu());
        let read = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads as u64)
                .map(|thread| {
                    let (stop, wrong) = (&stop, &wrong);
                    scope.spawn(move || -> Result<u64, CacheBenchError> {
                        let mut reader = Reader::new(self, depth, seed + thread);
                        let mut read = 0;
                        while !stop.load(Ordering::Relaxed) {
                            read += reader.step()?;
                        }
                        wrong.fetch_add(reader.wrong, Ordering::Relaxed);
                        Ok(read)
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_secs_f64(bench.miss_seconds));
            stop.store(true, Ordering::Relaxed);
            let mut read = 0;
            for worker in workers {
                read += worker.join().expect("no reader panics")?;
            }
            Ok::<u64, CacheBenchError>(read)
        })?;
        let (seconds, cpu_seconds) = (start.elapsed().as_secs_f64(), clock::process_cpu() - cpu);
        match wrong.into_inner() {
            0 => {}
            count => return Err(CacheBenchError::Wrong { count, of: read }),
        }
        let pages = (bytes() - before) / self.class.bytes() as u64;
        Ok(Outcome {
            pages,
            seconds,
            cpu_seconds,
        })
    }
}

/// One thread's window of prefetched pages.
struct Reader<'a> {
    subject: &'a Subject,
    random: SplitMix64,
    depth: usize,
    window: VecDeque<u64>,
    batch: Vec<PageRef>,
    wrong: u64,
}

impl<'a> Reader<'a> {
    fn new(subject: &'a Subject, depth: usize, seed: u64) -> Reader<'a> {
        Reader {
            subject,
            random: SplitMix64::new(seed),
            depth,
            window: VecDeque::with_capacity(depth),
            batch: Vec::with_capacity(depth),
            wrong: 0,
        }
    }

    /// Fills the window and reads its oldest quarter; the number of pages read.
    fn step(&mut self) -> Result<u64, CacheBenchError> {
        let Subject {
            cache,
            id,
            class,
            pages,
        } = self.subject;
        self.batch.clear();
        while self.window.len() < self.depth {
            let number = self.random.below(*pages);
            self.window.push_back(number);
            self.batch.push(page_ref(*class, number));
        }
        cache.prefetch(*id, &self.batch, KIND);
        let count = (self.depth / 4).max(1);
        for number in self.window.drain(..count) {
            let page = page_ref(*class, number);
            let found = cache.read(*id, page, KIND, |view| view.u64_at(0))?;
            self.wrong += u64::from(found != content(number));
        }
        Ok(count as u64)
    }
}
