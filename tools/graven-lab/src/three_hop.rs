//! The three-hop benchmark: how many different persons are within three friendships of a start?
//!
//! # How it works
//! A run opens the database with its own budget, policy and I/O mode, asks every question once or
//! more to warm the cache, and then measures: threads take the next start from a shared counter and
//! ask it through the library as any program would, each with a connection of its own. Nothing
//! keeps an answer; every question reads its pages. Counters are differences over the measured
//! part.
//!
//! With a batch of `n` a statement asks `n` starts at once (`UNWIND $ids`); a time is then that of
//! a statement, a throughput still counts starts.

mod questions;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use graven::pagecache::pools::Pools;
use graven::{Config, Connection, Database, IoMode, Params, Value};
use graven_io::{DeviceCounters, device_counters};

use crate::error::LabError;
use crate::machine::{self, processor_seconds};
use crate::measurement::{KindCounts, Measurement, percentile};
pub use questions::Questions;

/// The question, one start a statement.
pub const QUESTION: &str =
    "MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f:Person) RETURN count(DISTINCT f)";

/// The question for many starts in one statement. A start without friends gives no row.
pub const BATCH_QUESTION: &str = "UNWIND $ids AS id \
     MATCH (p:Person {id: id})-[:KNOWS*1..3]-(f:Person) RETURN id, count(DISTINCT f)";

/// Seed of policies that draw: the page cache's own.
pub const POLICY_SEED: u64 = 1;

/// How one run is set up.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Replacement policy with its parameters.
    pub policy: String,
    /// Fixed pools instead of one budget for pages of all sizes.
    pub pools: Option<Pools>,
    /// Budget in bytes.
    pub cache_bytes: u64,
    /// The budget as a share of the bytes touched, if known; copied into the measurement.
    pub cache_share: Option<f64>,
    /// Threads that ask, at least 1.
    pub threads: usize,
    /// How pages are read.
    pub io: IoMode,
    /// Starts in one statement, at least 1.
    pub batch: usize,
    /// Passes over all starts before measuring.
    pub warm_up_passes: u64,
    /// How long to measure.
    pub length: Length,
}

/// How long a run measures.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// So many passes over all starts.
    Passes(u64),
    /// At least one pass, and until this time is over.
    AtLeast(Duration),
}

/// Runs the benchmark once.
///
/// # Errors
/// The database cannot be opened with this setting, or a question fails.
pub fn run(db: &Path, questions: &Questions, setting: &Setting) -> Result<Measurement, LabError> {
    if questions.starts.is_empty() {
        return Err(LabError::Setting("there are no starts to ask for".into()));
    }
    if setting.threads == 0 || setting.batch == 0 {
        return Err(LabError::Setting("threads and batch are at least 1".into()));
    }
    machine::reset_peak_memory();
    let mut config = Config::default();
    config.memory = setting.cache_bytes;
    config.policy.clone_from(&setting.policy);
    config.pools.clone_from(&setting.pools);
    config.io = setting.io;
    config.read_only = true;
    config.attach = false;
    let db = Database::open(db, config)?;
    if setting.warm_up_passes > 0 {
        ask(
            &db,
            questions,
            setting,
            Length::Passes(setting.warm_up_passes),
        )?;
    }
    let before = Counters::take(&db)?;
    let asked = ask(&db, questions, setting, setting.length)?;
    let after = Counters::take(&db)?;
    measurement(&db, setting, asked, &before, &after)
}

/// What the threads saw.
struct Asked {
    latencies_ms: Vec<f64>,
    seconds: f64,
    queries: u64,
    checked: u64,
    wrong: u64,
}

/// Everything that is counted from outside the questions.
struct Counters {
    cache: graven::pagecache::CacheStats,
    device: DeviceCounters,
    processor_seconds: f64,
}

impl Counters {
    fn take(db: &Database) -> Result<Self, LabError> {
        Ok(Counters {
            cache: db.cache()?.stats(),
            // Without the kernel's counters the run is still worth having; zero says that they are
            // missing.
            device: device_counters().unwrap_or_default(),
            processor_seconds: processor_seconds(),
        })
    }
}

/// Asks until the length is reached; threads stop at the first failure.
fn ask(
    db: &Database,
    questions: &Questions,
    setting: &Setting,
    length: Length,
) -> Result<Asked, LabError> {
    let next = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let all = Mutex::new(Asked {
        latencies_ms: Vec::new(),
        seconds: 0.0,
        queries: 0,
        checked: 0,
        wrong: 0,
    });
    let begun = Instant::now();
    let worker = || {
        let connection = db.connect();
        let mut own = Worker {
            questions,
            latencies_ms: Vec::new(),
            queries: 0,
            checked: 0,
            wrong: 0,
        };
        let step = setting.batch as u64;
        let count = questions.starts.len() as u64;
        let result = loop {
            let at = next.fetch_add(step, Ordering::Relaxed);
            let over = match length {
                Length::Passes(passes) => at >= passes * count,
                Length::AtLeast(time) => at >= count && begun.elapsed() >= time,
            };
            if over || failed.load(Ordering::Relaxed) {
                break Ok(());
            }
            if let Err(error) = own.statement(&connection, at, setting.batch) {
                failed.store(true, Ordering::Relaxed);
                break Err(error);
            }
        };
        let mut all = all
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.latencies_ms.append(&mut own.latencies_ms);
        all.queries += own.queries;
        all.checked += own.checked;
        all.wrong += own.wrong;
        result
    };
    let results: Vec<Result<(), LabError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..setting.threads).map(|_| scope.spawn(worker)).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    results.into_iter().collect::<Result<(), LabError>>()?;
    let all = all
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(Asked { seconds, ..all })
}

/// One thread's share.
struct Worker<'a> {
    questions: &'a Questions,
    latencies_ms: Vec<f64>,
    queries: u64,
    checked: u64,
    wrong: u64,
}

impl Worker<'_> {
    /// Asks the `batch` starts from the running number `at` on.
    fn statement(
        &mut self,
        connection: &Connection,
        at: u64,
        batch: usize,
    ) -> Result<(), LabError> {
        let starts = &self.questions.starts;
        let start = |offset: usize| starts[(at as usize + offset) % starts.len()];
        let begun = Instant::now();
        if batch == 1 {
            let id = start(0);
            let mut result = connection.query(QUESTION, &Params::new().with("id", id))?;
            let count = result
                .next_row()?
                .and_then(|row| row.get(0).and_then(Value::as_integer));
            self.latencies_ms.push(begun.elapsed().as_secs_f64() * 1e3);
            self.check(id, count.unwrap_or(-1));
        } else {
            let ids: Vec<i64> = (0..batch).map(start).collect();
            let mut answers: std::collections::HashMap<i64, i64> =
                ids.iter().map(|id| (*id, 0)).collect();
            let mut result =
                connection.query(BATCH_QUESTION, &Params::new().with("ids", ids.clone()))?;
            while let Some(row) = result.next_row()? {
                let cell = |i| row.get(i).and_then(Value::as_integer);
                answers.insert(cell(0).unwrap_or(-1), cell(1).unwrap_or(-1));
            }
            self.latencies_ms.push(begun.elapsed().as_secs_f64() * 1e3);
            for id in ids {
                self.check(id, answers.get(&id).copied().unwrap_or(-1));
            }
        }
        self.queries += batch as u64;
        Ok(())
    }

    fn check(&mut self, start: i64, count: i64) {
        if let Some(expected) = self.questions.expected.get(&start) {
            self.checked += 1;
            self.wrong += u64::from(*expected != count);
        }
    }
}

/// What happened to pages of each kind in between.
fn kinds(before: &Counters, after: &Counters) -> Vec<KindCounts> {
    let pages = after.cache.per_kind.since(&before.cache.per_kind);
    let kinds = pages.iter().map(|(kind, pages)| KindCounts {
        kind: kind.to_string(),
        hits: pages.hits,
        faults: pages.faults,
        blocked: pages.blocked,
        hit_ratio: pages.hit_ratio(),
        waited_ms: pages.wait_ns as f64 / 1e6,
        bytes_read: pages.bytes_read,
    });
    kinds.collect()
}

fn measurement(
    db: &Database,
    setting: &Setting,
    mut asked: Asked,
    before: &Counters,
    after: &Counters,
) -> Result<Measurement, LabError> {
    asked.latencies_ms.sort_by(f64::total_cmp);
    let pages = after.cache.per_kind.since(&before.cache.per_kind).total();
    let reading = db.reading()?;
    Ok(Measurement {
        policy: setting.policy.clone(),
        pools: setting.pools.as_ref().map(Pools::to_string),
        cache_bytes: setting.cache_bytes,
        cache_share: setting.cache_share,
        threads: setting.threads,
        io: reading.mode.to_string(),
        queue: reading.queue,
        batch: setting.batch,
        warm_up_passes: setting.warm_up_passes,
        queries: asked.queries,
        seconds: asked.seconds,
        cpu_seconds: after.processor_seconds - before.processor_seconds,
        throughput_qps: asked.queries as f64 / asked.seconds.max(1e-9),
        p50_ms: percentile(&asked.latencies_ms, 0.50),
        p99_ms: percentile(&asked.latencies_ms, 0.99),
        hit_ratio: pages.hit_ratio(),
        transactional_hit_ratio: pages.transactional_hit_ratio(),
        blocked_per_query: pages.blocked as f64 / asked.queries.max(1) as f64,
        hits: pages.hits,
        faults: pages.faults,
        faults_per_query: pages.faults as f64 / asked.queries.max(1) as f64,
        kinds: kinds(before, after),
        evictions_background: pages.evictions_background,
        evictions_cooperative: pages.evictions_cooperative,
        device_read_bytes: after.device.since(before.device).read_bytes,
        rss_peak_bytes: machine::peak_memory(),
        checked: asked.checked,
        wrong: asked.wrong,
    })
}
