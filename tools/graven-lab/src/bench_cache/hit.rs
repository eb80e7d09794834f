//! Cost of a hit and of a pin, beside a plain read of the same pages.

use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graven_io::File;
use graven_pagecache::{FileId, PageCache, page::HEADER_BYTES};

use super::data::{KIND, content, page_ref};
use super::hit_floor::Floors;
use super::report::{Access, CacheReport, Samples};
use super::{CacheBench, CacheBenchError, HIT_CLASS, class, clock, zipf};

/// Accesses in the trace of one thread.
const TRACE_LENGTH: usize = 1 << 20;
/// Most uses of a page that a policy counts.
const USES_COUNTED: usize = 7;
/// Accesses between two looks at the clock's flag.
const STRIDE: usize = 4096;

/// Result of one measurement.
struct Outcome {
    accesses: u64,
    seconds: f64,
    cpu_seconds: f64,
    wrong: u64,
}

/// Measures one set of resident pages with every policy and number of threads.
pub(super) fn measure(
    bench: &CacheBench,
    set: &str,
    bytes: u64,
    file: &Arc<dyn File>,
    report: &mut CacheReport,
    progress: &mut dyn FnMut(&str),
) -> Result<(), CacheBenchError> {
    let class = class(HIT_CLASS);
    let pages = bytes / class.bytes() as u64;
    let threads_max = bench.threads.iter().copied().max().unwrap_or(1);
    let traces = zipf::traces(
        pages as u32,
        threads_max,
        TRACE_LENGTH.min(pages as usize * 64),
    );
    // Room for every page besides the evictor's free frames, tables and bookkeeping.
    let cache = bench.cache(bytes + bytes / 4 + (16 << 20), &bench.policies[0], false)?;
    let id = cache.add_file(Arc::clone(file))?;
    for number in 0..pages {
        drop(cache.pin(id, page_ref(class, number), KIND)?);
    }
    let floor = Floors::new(pages, class.bytes()).map_err(CacheBenchError::NoMemory)?;
    let subject = Subject { cache: &cache, id };
    let floor = &floor;

    for &threads in &bench.threads {
        progress(&format!("hits, {set} set, {threads} threads"));
        let traces = &traces[..threads];
        let mut floors = <[Samples; 3]>::default();
        let mut samples: Vec<_> = bench
            .policies
            .iter()
            .map(|_| <[Samples; 2]>::default())
            .collect();
        let faults_before = cache.stats().per_kind.total().faults;
        for _ in 0..bench.rounds {
            floors[0].push(&time(bench, traces, move |n| (floor.plain(n), 0)))?;
            floors[1].push(&time(bench, traces, move |n| (floor.array(n), 0)))?;
            floors[2].push(&time(bench, traces, move |n| (floor.pin(n), 0)))?;
            for (policy, [reads, pins]) in bench.policies.iter().zip(&mut samples) {
                cache.set_policy(policy)?;
                subject.use_often(pages as u32);
                reads.push(&time(bench, traces, move |number| {
                    (subject.read(number), content(number.into()))
                }))?;
                pins.push(&time(bench, traces, move |number| {
                    (subject.pin(number), content(number.into()))
                }))?;
            }
        }
        let faults = cache.stats().per_kind.total().faults - faults_before;
        let kinds = [Access::Floor, Access::FloorArray, Access::FloorPin];
        for (access, samples) in kinds.into_iter().zip(&floors) {
            report.hit_row(set, bytes, access, "", threads, samples, 0);
        }
        for (policy, [reads, pins]) in bench.policies.iter().zip(&samples) {
            report.hit_row(set, bytes, Access::Read, policy, threads, reads, faults);
            report.hit_row(set, bytes, Access::Pin, policy, threads, pins, faults);
        }
    }
    Ok(())
}

/// The page cache as the threads use it.
#[derive(Clone, Copy)]
struct Subject<'a> {
    cache: &'a PageCache,
    id: FileId,
}

impl Subject<'_> {
    /// Uses every page as often as any policy counts. So what is measured is the hit of a page in
    /// use, whatever was measured before and however many threads' traces are about to run.
    fn use_often(&self, pages: u32) {
        for _ in 0..USES_COUNTED {
            (0..pages).for_each(|number| _ = std::hint::black_box(self.pin(number)));
        }
    }

    /// One optimistic read; 0, which no page holds, if it fails.
    #[inline]
    fn read(&self, number: u32) -> u64 {
        let page = page_ref(class(HIT_CLASS), u64::from(number));
        self.cache
            .read(self.id, page, KIND, |view| view.u64_at(0))
            .unwrap_or(0)
    }

    /// One pin, a read through it, and its release.
    #[inline]
    fn pin(&self, number: u32) -> u64 {
        let page = page_ref(class(HIT_CLASS), u64::from(number));
        let Ok(pin) = self.cache.pin(self.id, page, KIND) else {
            return 0;
        };
        // Through the whole page: the payload's length would touch another cache line than the
        // floors do.
        pin.page()[HEADER_BYTES..]
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

impl Samples {
    fn push(&mut self, outcome: &Outcome) -> Result<(), CacheBenchError> {
        if outcome.wrong > 0 {
            let (count, of) = (outcome.wrong, outcome.accesses);
            return Err(CacheBenchError::Wrong { count, of });
        }
        let accesses = outcome.accesses as f64;
        self.cpu.push(outcome.cpu_seconds / accesses);
        self.rate.push(accesses / outcome.seconds);
        Ok(())
    }
}

/// Lets every thread run through its trace over and over for the time of one measurement. `access`
/// gives what it read and what it should have read.
fn time(
    bench: &CacheBench,
    traces: &[Vec<u32>],
    access: impl Fn(u32) -> (u64, u64) + Copy + Send,
) -> Outcome {
    let stop = AtomicBool::new(false);
    let barrier = Barrier::new(traces.len() + 1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = traces
            .iter()
            .map(|trace| {
                let (stop, barrier) = (&stop, &barrier);
                scope.spawn(move || {
                    // Whole, so that the processor's caches hold what this trace wants.
                    let mut wrong = differing(trace, access);
                    barrier.wait();
                    let (start, mut accesses) = (clock::thread_cpu(), 0);
                    'time: loop {
                        for stretch in trace.chunks(STRIDE) {
                            wrong += differing(stretch, access);
                            accesses += stretch.len() as u64;
                            if stop.load(Ordering::Relaxed) {
                                break 'time;
                            }
                        }
                    }
                    (accesses, clock::thread_cpu() - start, wrong)
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs_f64(bench.hit_seconds));
        stop.store(true, Ordering::Relaxed);
        let mut outcome = Outcome {
            accesses: 0,
            seconds: 0.0,
            cpu_seconds: 0.0,
            wrong: 0,
        };
        for worker in workers {
            let (accesses, cpu_seconds, wrong) = worker.join().expect("no access panics");
            outcome.accesses += accesses;
            outcome.cpu_seconds += cpu_seconds;
            outcome.wrong += wrong;
        }
        outcome.seconds = start.elapsed().as_secs_f64();
        outcome
    })
}

/// How many accesses of `stretch` read something else than they should.
///
/// A function of its own so that `access` has one place to be inlined into, as in an operator's
/// loop; taken by value, so that cache and file stay in registers.
#[inline(never)]
fn differing(stretch: &[u32], access: impl Fn(u32) -> (u64, u64)) -> u64 {
    let mut wrong = 0;
    for &number in stretch {
        let (read, expected) = access(number);
        wrong += u64::from(read != expected);
    }
    wrong
}
