//! Runs by seed: workload, crash points, checks, and the tally of sites.
//!
//! # How it works
//! A run makes a database ([`bulk_load`]) and lets it live ([`life`]: transactions, checkpoints
//! with commits beside them, spilling statements, a backup) on a disk that calls
//! [`Watch::crash_here`] in front of every operation. There the power is cut in two ways; what each
//! leaves is opened, compared with the history, opened again, killed while it opens, made to work
//! on, or made to repeat what was lost ([`retry`]).
//!
//! # Costs
//! About a millisecond a crash point of a light run. A tenth of the runs are heavy: their log fills
//! many regions and their index splits, and only some of their operations are crash points.

mod bulk_load;
mod life;
mod retry;
mod statements;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graven_io::{Crash, CrashOutcome, Fault, FaultPlan};

use crate::Failure;
use crate::check::{self, Promise};
use crate::disk::{Disk, Images, SURVIVALS};
use crate::fault_injection::FaultInjection;
use crate::model::Graph;
use crate::workload::{History, Stop, Workload};
use graven_types::rng::SplitMix64;

/// Steps of a database that was recovered and works on.
const STEPS_AFTER: u64 = 25;
/// Of the operations of a heavy run one in so many is a crash point.
const HEAVY_POINTS: u64 = 4;

/// How long and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// First seed.
    pub seed: u64,
    /// At least so many crash points.
    pub points: u64,
    /// At least this long.
    pub time: Duration,
    /// A fault put between database and disk.
    pub injection: Option<FaultInjection>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            points: 10_000,
            time: Duration::ZERO,
            injection: None,
        }
    }
}

/// What was tortured.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Report {
    /// Runs, one per seed.
    pub runs: u64,
    /// Crash points checked, by site.
    pub points: BTreeMap<String, u64>,
    /// Runs by the fault injected.
    pub faults: BTreeMap<String, u64>,
    /// Databases that worked on after a crash.
    pub second_lives: u64,
    /// Sum over all operations of all runs: equal for equal seeds.
    pub digest: u64,
}

/// Kinds of crash points, each of which a long enough torture must meet.
pub const SITES: [&str; 12] = [
    "log append",
    "log recycle",
    "log growth",
    "log removal",
    "segment write",
    "index split",
    "superblock",
    "checkpoint",
    "bulk load",
    "spill",
    "backup",
    "recovery",
];

impl Report {
    /// Those of [`SITES`] where the power was never cut.
    #[must_use]
    pub fn missed(&self) -> Vec<&'static str> {
        let missed = |site: &&str| !self.points.keys().any(|found| found.contains(*site));
        SITES.into_iter().filter(missed).collect()
    }

    /// Crash points of all sites.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.points.values().sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} crash points in {} runs, {} second lives, digest {:016x}",
            self.total(),
            self.runs,
            self.second_lives,
            self.digest
        )?;
        for (site, count) in &self.points {
            writeln!(f, "{count:10}  {site}")?;
        }
        for (fault, count) in &self.faults {
            writeln!(f, "{count:10}  runs with {fault}")?;
        }
        Ok(())
    }
}

/// Runs seeds until points and time are reached.
///
/// # Errors
/// The first broken promise, with the seed that shows it again.
pub fn run(options: &Options) -> Result<Report, Failure> {
    let begun = Instant::now();
    let mut report = Report::default();
    let mut seed = options.seed;
    while report.total() < options.points || begun.elapsed() < options.time {
        run_seed(seed, options.injection, &mut report)?;
        seed += 1;
    }
    Ok(report)
}

/// The fault that a seed injects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Injected {
    Nothing,
    SyncError,
    WriteError,
    FullDisk,
    LostWrite,
    MisdirectedWrite,
    ShortRead,
    /// The file for temporary pages is full.
    FullSpill,
}

impl Injected {
    fn of(seed: u64) -> Injected {
        match seed % 10 {
            1 => Injected::SyncError,
            3 => Injected::WriteError,
            5 => Injected::FullDisk,
            6 => Injected::FullSpill,
            7 => Injected::LostWrite,
            8 => Injected::MisdirectedWrite,
            9 => Injected::ShortRead,
            _ => Injected::Nothing,
        }
    }

    /// Whether commits may be refused.
    fn hurts_commits(self) -> bool {
        !matches!(
            self,
            Injected::Nothing | Injected::ShortRead | Injected::FullSpill
        )
    }

    fn promise(self) -> Promise {
        match self {
            Injected::LostWrite | Injected::MisdirectedWrite => Promise::Noticed,
            _ => Promise::Kept,
        }
    }
}

/// A run in progress, as the observer sees it.
struct Watch {
    seed: u64,
    injected: Injected,
    heavy: bool,
    history: History,
    random: SplitMix64,
    points: BTreeMap<String, u64>,
    count: u64,
    second_lives: u64,
    failure: Option<Failure>,
}

/// One run: everything follows from the seed.
///
/// # Errors
/// A broken promise.
pub fn run_seed(
    seed: u64,
    injection: Option<FaultInjection>,
    report: &mut Report,
) -> Result<(), Failure> {
    let injected = Injected::of(seed);
    let heavy = seed % 10 == 4;
    let loads = seed.is_multiple_of(4);
    let (images, graph) = bulk_load::run(seed, loads, injection, &mut report.points)?;
    let disk = Disk::new(
        &images,
        &FaultPlan {
            seed,
            ..FaultPlan::default()
        },
        injection,
    );
    let watch = Arc::new(Mutex::new(Watch {
        seed,
        injected,
        heavy,
        history: History::new(graph),
        random: SplitMix64::new(seed ^ 0x5eed),
        points: BTreeMap::new(),
        count: 0,
        second_lives: 0,
        failure: None,
    }));
    let observed = {
        let (watch, disk) = (Arc::clone(&watch), disk.clone());
        move |site: &str| {
            let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
            watch.crash_here(&disk, site);
        }
    };
    disk.observe(Some(Box::new(observed)));
    let worked = life::work(&disk, &watch, seed);
    disk.observe(None);
    let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
    let broken = match worked {
        Err(what) => Some(watch.broken("work", "", what)),
        Ok(()) => None,
    };
    // And what the last moment leaves.
    watch.crash_here(&disk, "end: nothing in progress");
    report.runs += 1;
    report.second_lives += watch.second_lives;
    report.digest = report.digest.rotate_left(7) ^ disk.digest();
    *report.faults.entry(format!("{injected:?}")).or_default() += 1;
    for (site, count) in &watch.points {
        *report.points.entry(site.clone()).or_default() += count;
    }
    match watch.failure.take().or(broken) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

impl Watch {
    fn broken(&self, site: &str, how: &str, what: String) -> Failure {
        Failure::Broken {
            context: format!(
                "seed {} ({:?}), crash point {} at {site}{how}",
                self.seed, self.injected, self.count
            ),
            what,
        }
    }

    /// The power is cut in front of an operation: what every kind of survival leaves must be right.
    fn crash_here(&mut self, disk: &Disk, site: &str) {
        if self.failure.is_some() {
            return;
        }
        self.count += 1;
        if self.heavy && !site.contains("index split") && !self.random.once_in(HEAVY_POINTS) {
            return;
        }
        if site.starts_with("backup") {
            self.backup_cut_short(disk, site);
        }
        // Two of the four at each point, in turn; a run has points enough for all.
        for turn in 0..2 {
            let survival = SURVIVALS[((self.count + turn * 2) % 4) as usize];
            let crash = Crash {
                seed: self.random.bits(),
                survival,
            };
            let images = disk.images(crash);
            *self.points.entry(site.to_owned()).or_default() += 1;
            if let Err(what) = self.check(&images, survival) {
                self.failure = Some(self.broken(site, &format!(" ({crash:?})"), what));
                return;
            }
        }
    }

    fn check(&mut self, images: &Images, survival: CrashOutcome) -> Result<(), String> {
        let promise = self.injected.promise();
        let least = match (promise, survival) {
            (Promise::Noticed, _) => 0,
            // Everything that reached the system is there: as if only the process had died.
            (_, CrashOutcome::All) => self.history.written.max(self.history.durable),
            _ => self.history.durable,
        };
        let least = match self.injected {
            // The failed sync threw away what had only been written.
            Injected::SyncError | Injected::WriteError => self.history.durable,
            _ => least,
        };
        if self.injected == Injected::ShortRead {
            self.short_reads(images, least)?;
        }
        let Some(found) = check::read(images, promise)? else {
            return Ok(());
        };
        check::compare(&found.graph, &self.history, least)?;
        if self.random.once_in(8) {
            self.crash_in_recovery(images, &found.graph)?;
        }
        // Opened again, the same is there.
        if self.random.once_in(4) {
            drop(found.store);
            let again = found.disk.images(Crash {
                seed: self.random.bits(),
                survival: CrashOutcome::Any,
            });
            let Some(again) = check::read(&again, promise)? else {
                return Err("what opened once does not open again".to_owned());
            };
            return match again.graph.difference(&found.graph) {
                Some(difference) => Err(format!("opened again, it differs: {difference}")),
                None => Ok(()),
            };
        }
        if promise == Promise::Kept && self.random.once_in(8) {
            drop(found);
            return self.retried(images);
        }
        if promise == Promise::Kept && self.random.once_in(6) {
            self.second_life(found)?;
        }
        Ok(())
    }

    /// Opening dies at each of its operations in turn; what it leaves opens to the same.
    fn crash_in_recovery(&mut self, images: &Images, graph: &Graph) -> Result<(), String> {
        for cut in 0..6 {
            let disk = Disk::new(images, &FaultPlan::default(), None);
            let (data, log) = disk.controls();
            data.arm(Fault::PowerOff, cut);
            log.arm(Fault::PowerOff, cut);
            let opened = check::open(&disk);
            let whole = opened.is_ok();
            drop(opened);
            let crash = Crash {
                seed: self.random.bits(),
                survival: CrashOutcome::Any,
            };
            *self.points.entry("recovery".to_owned()).or_default() += 1;
            let left = disk.images(crash);
            let Some(found) = check::read(&left, self.injected.promise())? else {
                return Err("a crash while it was opened has damaged it".to_owned());
            };
            if let Some(difference) = graph.difference(&found.graph) {
                return Err(format!("after a crash while it was opened: {difference}"));
            }
            if whole {
                break;
            }
        }
        Ok(())
    }

    /// Reads that end too early are errors or harmless, never wrong answers.
    fn short_reads(&mut self, images: &Images, least: usize) -> Result<(), String> {
        let plan = FaultPlan {
            seed: self.random.bits(),
            short_read: 0.02,
            ..FaultPlan::default()
        };
        let disk = Disk::new(images, &plan, None);
        let Ok(store) = check::open(&disk) else {
            return Ok(());
        };
        match Graph::read(&store) {
            Ok(Ok(graph)) => check::compare(&graph, &self.history, least),
            Ok(Err(what)) => Err(format!("with short reads: {what}")),
            Err(_) => Ok(()),
        }
    }

    /// The recovered database works on, and its power is cut too.
    fn second_life(&mut self, found: check::Found) -> Result<(), String> {
        let check::Found { disk, store, graph } = found;
        self.second_lives += 1;
        let history = Mutex::new(History::new(graph));
        let with = |change: &mut dyn FnMut(&mut History)| {
            change(&mut history.lock().unwrap_or_else(PoisonError::into_inner));
        };
        let mut workload = Workload::new(store, self.random.bits());
        let steps = self.random.below(STEPS_AFTER);
        for _ in 0..steps {
            match workload.step(&with) {
                Ok(()) => {}
                Err(Stop::Wrong(what)) => return Err(format!("in its second life: {what}")),
                Err(Stop::Refused) => return Err("its second life is refused".to_owned()),
            }
        }
        let crash = Crash {
            seed: self.random.bits(),
            survival: CrashOutcome::Any,
        };
        *self.points.entry("second life".to_owned()).or_default() += 1;
        let images = disk.images(crash);
        // Nothing of it runs any more: what a drop writes comes after the crash.
        drop(workload);
        let history = history.into_inner().unwrap_or_else(PoisonError::into_inner);
        match check::read(&images, Promise::Kept)? {
            Some(found) => {
                check::compare(&found.graph, &history, history.durable).map_err(|what| {
                    let log = found.store.superblock().superblock.log;
                    format!(
                        "after its second life ({} bytes of log, {log:?}, {crash:?}): {what}",
                        images.log.len()
                    )
                })
            }
            None => Ok(()),
        }
    }
}
