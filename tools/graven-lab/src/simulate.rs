//! Simulation: hit counts of policies on traces of page accesses, for lists of cache sizes.
//!
//! # How it works
//! Traces are read one after the other; within a trace every combination of policy and size is a
//! job, and jobs are shared among threads by a counter. A job replays the whole trace in an empty
//! cache with the very policy code of the page cache ([`graven_policy::simulator`]). Two policies
//! are simulated for every size besides those asked for: Belady's optimum and Neo4j's clock,
//! against which the others are put.
//!
//! # Costs
//! Times of a job are processor times of its thread: the policy loop alone. Reading the trace and
//! numbering its pages are measured apart.

mod charts;
mod explore;
mod size;
mod stack_distance;
mod summary;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use graven_policy::belady::{self, Bypass};
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Simulator, TransactionAccess};
use graven_policy::{Hint, Policy, PolicyError};
use graven_trace::dense::{self, Dense};
use graven_trace::{Detail, FLAG_PREFETCH, FLAG_SCAN, ReadOptions};
use serde::Serialize;

use crate::error::LabError;
use crate::parallel;
pub use charts::figures;
pub use explore::page;
pub use size::Size;
pub use stack_distance::{LruCurve, StackDistances};
pub use summary::{Summary, summarize};

/// The yardstick below: what Neo4j does.
const BASELINE: &str = "neo4j";

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Trace files, in any format that [`graven_trace::read`] knows.
    pub traces: Vec<PathBuf>,
    /// Policies with their parameters, as the registry reads them.
    pub policies: Vec<String>,
    /// Cache sizes.
    pub sizes: Vec<Size>,
    /// Bytes of a page, for sizes in bytes and for traces of byte ranges.
    pub page_bytes: u64,
    /// How traces are read; its page size is not used.
    pub read: ReadOptions,
    /// At most so many accesses of a trace, its first ones.
    pub accesses: Option<u64>,
    /// Seed of policies that draw.
    pub seed: u64,
    /// Threads that simulate; 0 for all cores.
    pub threads: usize,
}

/// Hits of one policy on one trace at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Name of the trace.
    pub trace: String,
    /// The policy as it was asked for.
    pub policy: String,
    /// The policy with all parameters.
    pub spec: String,
    /// Seed of policies that draw.
    pub seed: u64,
    /// Frames of the cache.
    pub capacity_pages: u64,
    /// The same in bytes, at [`Run::page_bytes`] each.
    pub capacity_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Accesses of the trace.
    pub accesses: u64,
    /// Different pages of the trace.
    pub unique: u64,
    /// Accesses for writing, where the trace says.
    pub writes: Option<u64>,
    /// Accesses that found their page.
    pub hits: u64,
    /// Accesses that did not.
    pub faults: u64,
    /// Pages evicted; the optimum does not count them.
    pub evictions: Option<u64>,
    /// Hits by accesses, 0 to 1.
    pub hit_ratio: f64,
    /// Hits by those of Belady's optimum.
    pub share_of_min: f64,
    /// The optimum's hit ratio less that of Neo4j's clock.
    pub gap: f64,
    /// Share of the gap between Neo4j's clock and Belady's optimum that the policy closes; below 0
    /// if it is worse than Neo4j's clock, absent if there is no gap.
    pub gap_closed: Option<f64>,
    /// Processor seconds of the policy loop.
    pub seconds: f64,
    /// Accesses by [`Run::seconds`].
    pub accesses_per_second: f64,
    /// Accesses by the seconds of reading, numbering and the policy loop together.
    pub total_accesses_per_second: f64,
    /// Processor seconds spent reading the trace, once for all runs on it.
    pub read_seconds: f64,
    /// Processor seconds spent numbering its pages, once for all runs on it.
    pub map_seconds: f64,
    /// What the policy tells about itself at the end.
    pub figures: Vec<Figure>,
}

/// One figure a policy tells about itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// How much it is.
    pub value: f64,
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The trace that is simulated.
    pub trace: &'a str,
    /// Jobs of this trace that are finished.
    pub done: u64,
    /// Jobs of this trace.
    pub total: u64,
}

/// A trace in memory with what reading it took.
struct Loaded {
    name: String,
    dense: Dense,
    /// Hint of every access, where the trace has any.
    hints: Option<Vec<Hint>>,
    /// The transaction of every access and whether it is its last, where the trace names queries.
    transactions: Option<Vec<(u32, bool)>>,
    writes: Option<u64>,
    read_seconds: f64,
    map_seconds: f64,
}

/// One replay to do.
struct Job {
    /// What was asked for, or the name of a yardstick.
    policy: String,
    spec: Spec,
    capacity: usize,
}

/// What a replay counted.
struct Counted {
    hits: u64,
    evictions: Option<u64>,
    seconds: f64,
    figures: Vec<Figure>,
}

impl Simulation {
    /// Simulates everything; results come in the order traces, sizes, policies. `progress` may end
    /// it.
    ///
    /// # Errors
    /// Unreadable traces, unknown policies, sizes that are no size of a trace, or that `progress`
    /// said so.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Run>, LabError> {
        let specs = self.specs()?;
        let mut runs = Vec::new();
        for path in &self.traces {
            let trace = load(path, &self.read_options(), self.accesses)?;
            let jobs = self.jobs(&trace, &specs)?;
            let counted = self.replay_all(&trace, &jobs, progress)?;
            let per_size = specs.len() + 2;
            for (jobs, counted) in jobs.chunks(per_size).zip(counted.chunks(per_size)) {
                let bounds = (counted[0].hits, counted[1].hits);
                let asked = jobs.iter().zip(counted).skip(2);
                runs.extend(asked.map(|(job, counted)| self.result(&trace, job, counted, bounds)));
            }
        }
        Ok(runs)
    }

    fn read_options(&self) -> ReadOptions {
        ReadOptions {
            page_bytes: self.page_bytes,
            ..self.read.clone()
        }
    }

    fn specs(&self) -> Result<Vec<(String, Spec)>, LabError> {
        if self.page_bytes == 0 {
            return Err(LabError::Setting(
                "a page of 0 bytes cannot be simulated".to_owned(),
            ));
        }
        let parse = |text: &String| Ok((text.clone(), Spec::parse(text)?));
        self.policies.iter().map(parse).collect()
    }

    /// Yardsticks first, then the policies asked for, size by size.
    fn jobs(&self, trace: &Loaded, specs: &[(String, Spec)]) -> Result<Vec<Job>, LabError> {
        let yardstick = |name: &str| Ok::<_, PolicyError>((name.to_owned(), Spec::parse(name)?));
        let yardsticks = [yardstick("min")?, yardstick(BASELINE)?];
        let mut jobs = Vec::new();
        for size in &self.sizes {
            let capacity = size.pages(trace.dense.unique, self.page_bytes)?;
            let all = yardsticks.iter().chain(specs);
            jobs.extend(all.map(|(policy, spec)| Job {
                policy: policy.clone(),
                spec: spec.clone(),
                capacity,
            }));
        }
        Ok(jobs)
    }

    fn replay_all(
        &self,
        trace: &Loaded,
        jobs: &[Job],
        progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Counted>, LabError> {
        let total = jobs.len() as u64;
        let mut report = |done| {
            progress(Progress {
                trace: &trace.name,
                done,
                total,
            })
        };
        parallel::run(jobs, self.threads, &mut report, |job| {
            replay(trace, job, self.seed)
        })
    }

    fn result(&self, trace: &Loaded, job: &Job, counted: &Counted, bounds: (u64, u64)) -> Run {
        let accesses = trace.dense.pages.len() as u64;
        let (best, baseline) = (bounds.0 as f64, bounds.1 as f64);
        let hits = counted.hits as f64;
        Run {
            trace: trace.name.clone(),
            policy: job.policy.clone(),
            spec: job.spec.to_string(),
            seed: self.seed,
            capacity_pages: job.capacity as u64,
            capacity_bytes: job.capacity as u64 * self.page_bytes,
            page_bytes: self.page_bytes,
            accesses,
            unique: trace.dense.unique as u64,
            writes: trace.writes,
            hits: counted.hits,
            faults: accesses - counted.hits,
            evictions: counted.evictions,
            hit_ratio: ratio(hits, accesses as f64),
            share_of_min: ratio(hits, best),
            gap: ratio(best - baseline, accesses as f64),
            gap_closed: (best > baseline).then(|| (hits - baseline) / (best - baseline)),
            seconds: counted.seconds,
            accesses_per_second: ratio(accesses as f64, counted.seconds),
            total_accesses_per_second: ratio(
                accesses as f64,
                counted.seconds + trace.read_seconds + trace.map_seconds,
            ),
            read_seconds: trace.read_seconds,
            map_seconds: trace.map_seconds,
            figures: counted.figures.clone(),
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The traces that `paths` name: files as they are, folders by the traces in them, by name.
///
/// # Errors
/// Folders that cannot be listed or hold no trace.
pub fn trace_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, LabError> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(LabError::io(path, "listing"))? {
            let file = entry.map_err(LabError::io(path, "listing"))?.path();
            let is_companion = file.to_string_lossy().ends_with(".files.tsv");
            if !is_companion && graven_trace::Format::of(&file).is_ok() {
                found.push(file);
            }
        }
        if found.is_empty() {
            let reason = format!("{}: no trace is in this folder", path.display());
            return Err(LabError::Setting(reason));
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

fn load(path: &Path, options: &ReadOptions, accesses: Option<u64>) -> Result<Loaded, LabError> {
    let started = thread_seconds();
    let mut trace = graven_trace::read_with(path, options)?;
    let most = accesses.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    });
    trace.pages.truncate(most);
    if let Some(flags) = &mut trace.flags {
        flags.truncate(most);
    }
    if let Some(details) = &mut trace.details {
        details.truncate(most);
    }
    let read = thread_seconds();
    if trace.pages.is_empty() {
        return Err(LabError::Setting(format!(
            "{}: the trace is empty",
            path.display()
        )));
    }
    let dense = dense::map(&trace.pages);
    Ok(Loaded {
        name: graven_trace::name_of(path),
        dense,
        hints: trace.flags.as_deref().and_then(hints),
        transactions: trace.details.as_deref().and_then(transactions),
        writes: trace.writes(),
        read_seconds: read - started,
        map_seconds: thread_seconds() - read,
    })
}

/// The hints in a trace's flags; none where every access is an ordinary one.
fn hints(flags: &[u8]) -> Option<Vec<Hint>> {
    let hint = |flags: u8| match flags {
        f if f & FLAG_PREFETCH != 0 => Hint::Prefetch,
        f if f & FLAG_SCAN != 0 => Hint::Scan,
        _ => Hint::Normal,
    };
    let any = flags.iter().any(|&flags| hint(flags) != Hint::Normal);
    any.then(|| flags.iter().map(|&flags| hint(flags)).collect())
}

/// Queries as transactions: each runs from its first access to its last one; none where the trace
/// names no query.
fn transactions(details: &[Detail]) -> Option<Vec<(u32, bool)>> {
    let mut numbering = dense::Numbering::new();
    // Access 0 is that of no query, which is transaction 0.
    numbering.index_of(0);
    let mut all: Vec<(u32, bool)> = details
        .iter()
        .map(|detail| (numbering.index_of(u64::from(detail.query)), false))
        .collect();
    let mut is_seen = vec![false; numbering.unique()];
    for (transaction, ends) in all.iter_mut().rev() {
        *ends = !std::mem::replace(&mut is_seen[*transaction as usize], true);
    }
    (numbering.unique() > 1).then_some(all)
}

fn replay(trace: &Loaded, job: &Job, seed: u64) -> Result<Counted, LabError> {
    if job.spec.running.is_some() && trace.transactions.is_none() {
        return Err(LabError::Setting(format!(
            "{}: policy {} scores pages of running transactions, and this trace does not say which \
                query an access is of; `graven lab record` writes one that does",
            trace.name, job.spec
        )));
    }
    if let Some(bypass) = belady::bypass_of(&job.spec) {
        return Ok(optimum(&trace.dense, job.capacity, bypass));
    }
    // What no page of the trace can fill need not be made; the smallest part that a policy divides
    // its cache into is a hundredth.
    let unique = trace.dense.unique.max(1);
    let replay = Replay {
        trace,
        capacity: job.capacity.min(unique),
        transactions: trace
            .transactions
            .as_deref()
            .filter(|_| job.spec.running.is_some()),
    };
    Ok(registry::visit(
        &job.spec,
        job.capacity.min(unique.saturating_mul(128)) as u64,
        seed,
        replay,
    )?)
}

fn optimum(trace: &Dense, capacity: usize, bypass: Bypass) -> Counted {
    let started = thread_seconds();
    let hits = belady::hits(&trace.pages, trace.unique, capacity, bypass);
    let seconds = thread_seconds() - started;
    Counted {
        hits,
        evictions: None,
        seconds,
        figures: Vec::new(),
    }
}

/// Replays a trace against a policy of whatever type.
struct Replay<'a> {
    trace: &'a Loaded,
    capacity: usize,
    transactions: Option<&'a [(u32, bool)]>,
}

impl Replay<'_> {
    /// Every access with its transaction.
    fn accesses<'a>(
        &'a self,
        transactions: &'a [(u32, bool)],
    ) -> impl Iterator<Item = TransactionAccess> + 'a {
        let hint = |at: usize| {
            let hints = self.trace.hints.as_ref();
            hints.map_or(Hint::Normal, |hints| hints[at])
        };
        let pages = self.trace.dense.pages.iter().zip(transactions).enumerate();
        pages.map(move |(at, (page, (transaction, ends)))| TransactionAccess {
            page: *page,
            hint: hint(at),
            transaction: *transaction,
            ends: *ends,
        })
    }
}

impl Visitor<ArrayFrames> for Replay<'_> {
    type Output = Counted;

    fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> Counted {
        let started = thread_seconds();
        let Dense { pages, unique } = &self.trace.dense;
        let mut simulator = Simulator::new(policy, *unique, self.capacity);
        match (&self.trace.hints, self.transactions) {
            (_, Some(transactions)) => {
                simulator.replay_transactions(self.accesses(transactions));
            }
            (None, None) => simulator.replay(pages),
            (Some(hints), None) => {
                simulator.replay_hinted(pages.iter().copied().zip(hints.iter().copied()))
            }
        }
        let seconds = thread_seconds() - started;
        let outcome = simulator.outcome();
        let figures = simulator.figures().into_iter();
        Counted {
            hits: outcome.hits,
            evictions: Some(outcome.evictions),
            seconds,
            figures: figures
                .map(|(name, value)| Figure {
                    name: name.to_owned(),
                    value,
                })
                .collect(),
        }
    }
}

/// Processor seconds of the calling thread.
pub(crate) fn thread_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec that the call fills; it has no other effect.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(
        status, 0,
        "the clock of the thread's processor time cannot be read"
    );
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests;
