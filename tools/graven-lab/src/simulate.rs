//! Simulation: hit counts of policies on traces of page accesses, for lists of cache sizes.
//!
//! # How it works
//! Traces are read one after the other; within a trace every combination of policy and size is a
//! job, and jobs are shared among threads by a counter, or among the executors of Spark
//! ([`spark`]). A job replays the whole trace in an empty cache with the very policy code of the
//! page cache ([`graven_trace::replay`]). Two policies are simulated for every size besides those
//! asked for: Belady's optimum and Neo4j's clock, against which the others are put.
//!
//! # Costs
//! Times of a job are processor times of its thread: the policy loop alone. Reading the trace and
//! numbering its pages are measured apart.

mod charts;
mod explore;
mod size;
mod spark;
mod stack_distance;
mod summary;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use graven_policy::PolicyError;
use graven_policy::registry::Spec;
use graven_trace::ReadOptions;
use graven_trace::replay::{ReplayTrace, Replayed};
use serde::Serialize;

use crate::error::LabError;
use crate::parallel;
pub use charts::figures;
pub use explore::page;
pub use size::Size;
pub use spark::Spark;
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

impl Figure {
    fn of((name, value): &(String, f64)) -> Self {
        let (name, value) = (name.clone(), *value);
        Self { name, value }
    }
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

/// What is known of a trace, and what reading it took.
struct Facts {
    name: String,
    accesses: usize,
    unique: usize,
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
            let (facts, trace) = load(path, &self.read_options(), self.accesses)?;
            let jobs = self.jobs(&facts, &specs)?;
            let counted = self.replay_all((&facts.name, &trace), &jobs, progress)?;
            runs.extend(self.results(&facts, &jobs, &counted));
        }
        Ok(runs)
    }

    /// The runs asked for, each put against the two yardsticks of its size.
    fn results(&self, facts: &Facts, jobs: &[Job], counted: &[Replayed]) -> Vec<Run> {
        let per_size = self.policies.len() + 2;
        let mut runs = Vec::new();
        for (jobs, counted) in jobs.chunks(per_size).zip(counted.chunks(per_size)) {
            let bounds = (counted[0].hits, counted[1].hits);
            let asked = jobs.iter().zip(counted).skip(2);
            runs.extend(asked.map(|(job, counted)| self.result(facts, job, counted, bounds)));
        }
        runs
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
    fn jobs(&self, facts: &Facts, specs: &[(String, Spec)]) -> Result<Vec<Job>, LabError> {
        let yardstick = |name: &str| Ok::<_, PolicyError>((name.to_owned(), Spec::parse(name)?));
        let yardsticks = [yardstick("min")?, yardstick(BASELINE)?];
        let mut jobs = Vec::new();
        for size in &self.sizes {
            let capacity = size.pages(facts.unique, self.page_bytes)?;
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
        (name, trace): (&str, &ReplayTrace),
        jobs: &[Job],
        progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Replayed>, LabError> {
        let total = jobs.len() as u64;
        let mut report = |done| {
            progress(Progress {
                trace: name,
                done,
                total,
            })
        };
        parallel::run(jobs, self.threads, &mut report, |job| {
            let Job { spec, capacity, .. } = job;
            let replayed = trace.replay(spec, *capacity, self.seed, thread_seconds);
            replayed.map_err(|error| LabError::Setting(format!("{name}: {error}")))
        })
    }

    fn result(&self, facts: &Facts, job: &Job, counted: &Replayed, bounds: (u64, u64)) -> Run {
        let accesses = facts.accesses as u64;
        let (best, baseline) = (bounds.0 as f64, bounds.1 as f64);
        let hits = counted.hits as f64;
        Run {
            trace: facts.name.clone(),
            policy: job.policy.clone(),
            spec: job.spec.to_string(),
            seed: self.seed,
            capacity_pages: job.capacity as u64,
            capacity_bytes: job.capacity as u64 * self.page_bytes,
            page_bytes: self.page_bytes,
            accesses,
            unique: facts.unique as u64,
            writes: facts.writes,
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
                counted.seconds + facts.read_seconds + facts.map_seconds,
            ),
            read_seconds: facts.read_seconds,
            map_seconds: facts.map_seconds,
            figures: counted.figures.iter().map(Figure::of).collect(),
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

/// Reads the first `accesses` accesses of a trace.
fn load(
    path: &Path,
    options: &ReadOptions,
    accesses: Option<u64>,
) -> Result<(Facts, ReplayTrace), LabError> {
    let started = thread_seconds();
    let mut trace = graven_trace::read_with(path, options)?;
    if let Some(most) = accesses {
        trace.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    let read = thread_seconds();
    if trace.pages.is_empty() {
        return Err(LabError::Setting(format!(
            "{}: the trace is empty",
            path.display()
        )));
    }
    let replayed = ReplayTrace::new(&trace);
    let facts = Facts {
        name: graven_trace::name_of(path),
        accesses: replayed.accesses(),
        unique: replayed.unique(),
        writes: trace.writes(),
        read_seconds: read - started,
        map_seconds: thread_seconds() - read,
    };
    Ok((facts, replayed))
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
