//! Miss-ratio curves: how many accesses fault at every cache size, in one reading of the trace.
//!
//! # How it works
//! The trace is read once, access by access. LRU's curve comes from stack distances on the way,
//! exact for every size. For the other policies, accesses are kept for the pages whose hash lies
//! below a threshold; when there are more than fit, the threshold is halved and what lies above it
//! is dropped (SHARDS with a fixed size). A size is then simulated on pages of a share `r` of the
//! hash space in a cache of `r` times the frames. What the sample lacks or has in excess of `r`
//! times all accesses is counted as hits, because it is the few hottest pages that make the
//! difference.
//!
//! Four disjoint samples are simulated for each size. The curve is their mean; the stated error is
//! half the width of the 95 % interval for the mean by Student's t. Where a size is small enough
//! for all accesses kept, the simulation is exact and the error 0.
//!
//! # Costs
//! LRU: some 100 ns and, per different page, 36 bytes. Sampling: 4 bytes an access kept (20 million
//! at most).
//!
//! # Source
//! C. Waldspurger, N. Park, A. Garthwaite, I. Ahmad, "Efficient MRC construction with SHARDS", FAST
//! 2015; C. Waldspurger, T. Saemundsson, I. Ahmad, N. Park, "Cache modeling and optimization using
//! miniature simulations", ATC 2017.

mod exact;
mod figure;
mod kept;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use graven_policy::Policy;
use graven_policy::belady;
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Simulator};
use graven_trace::ReadOptions;
use graven_trace::dense::Numbering;
use serde::Serialize;

use crate::error::LabError;
use crate::parallel;
use exact::Exact;
pub use figure::figure;
use kept::Kept;

/// Accesses that are kept at most.
const KEPT_MAX: usize = 20_000_000;
/// Disjoint samples of a size.
const SAMPLES: u64 = 4;
/// Frames of a simulated sample, where the trace is large enough.
const FRAMES: f64 = 2_048.0;
/// Student's t for 3 degrees of freedom, 95 % two-sided.
const STUDENT_T: f64 = 3.182;
/// Accesses between two reports of progress.
const REPORT_EVERY: u64 = 1 << 20;

/// What curves to make.
#[derive(Clone, Debug)]
pub struct MissRatioCurves {
    /// The trace.
    pub trace: PathBuf,
    /// How it is read.
    pub read: ReadOptions,
    /// Policies; `lru` without a protocol is exact.
    pub policies: Vec<String>,
    /// Points of a curve, spread evenly over the logarithm of the size.
    pub points: usize,
    /// Accesses kept for sampling, at most; fewer are faster and less exact.
    pub keep: usize,
    /// Seed of policies that draw, and of the choice of samples.
    pub seed: u64,
    /// Threads; 0 for all cores.
    pub threads: usize,
}

/// The curve of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Name of the trace.
    pub trace: String,
    /// The policy as asked for.
    pub policy: String,
    /// Accesses of the trace.
    pub accesses: u64,
    /// Different pages of the trace; an estimate where only a sample of them was kept.
    pub unique: u64,
    /// How the curve was made.
    pub method: String,
    /// The points, by ascending size.
    pub points: Vec<Point>,
    /// Seconds of simulating; for a curve made while reading, of reading.
    pub seconds: f64,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Cache size in pages.
    pub capacity_pages: u64,
    /// Share of the accesses that fault.
    pub miss_ratio: f64,
    /// Half the width of the 95 % interval of the miss ratio; 0 where it is exact.
    pub error: f64,
    /// Share of the pages that was simulated.
    pub sampling_rate: f64,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// What is done at the moment.
    pub phase: &'a str,
    /// Accesses read or simulations finished.
    pub done: u64,
    /// All of them; 0 where the number is unknown.
    pub total: u64,
}

/// Most accesses that may be kept.
#[must_use]
pub fn keep_max() -> usize {
    KEPT_MAX
}

/// One simulation to do.
struct Job {
    policy: usize,
    capacity: u64,
    from: f64,
    rate: f64,
}

impl MissRatioCurves {
    /// Makes the curves, in the order of the policies.
    ///
    /// # Errors
    /// Unreadable or empty traces, unknown policies, fewer than two points, or that `progress` said
    /// so.
    pub fn run(
        &self,
        progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Curve>, LabError> {
        if self.points < 2 || self.keep < 1_000 {
            let reason = "a curve has at least 2 points, and at least 1000 accesses are kept";
            return Err(LabError::Setting(reason.to_owned()));
        }
        let specs: Vec<Spec> = self
            .policies
            .iter()
            .map(|policy| Ok(Spec::parse(policy)?))
            .collect::<Result<_, LabError>>()?;
        let is_lru = |spec: &Spec| spec.name == "lru";
        let begun = Instant::now();
        let mut distances = specs.iter().any(is_lru).then(Exact::default);
        let mut kept = Kept {
            pages: Vec::new(),
            hashes: Vec::new(),
            numbering: Numbering::new(),
            threshold: u64::MAX,
            limit: if specs.iter().all(is_lru) {
                0
            } else {
                self.keep
            },
            salt: self.seed,
        };
        let accesses = self.read_trace(&mut distances, &mut kept, progress)?;
        let read_seconds = begun.elapsed().as_secs_f64();
        let unique = match &distances {
            Some(exact) => exact.numbering.unique() as u64,
            None => (kept.unique() as f64 / kept.rate()).round() as u64,
        };
        let sizes = sizes(unique, self.points);
        let mut sampled = self.simulate(&specs, &kept, accesses, &sizes, progress)?;
        let name = graven_trace::name_of(&self.trace);
        let curve = |(at, spec): (usize, &Spec)| {
            let (points, method, seconds) = match &distances {
                Some(exact) if is_lru(spec) => {
                    let method = "exact, one pass of stack distances".to_owned();
                    (exact.points(&sizes, accesses), method, read_seconds)
                }
                _ => std::mem::take(&mut sampled[at]),
            };
            Curve {
                trace: name.clone(),
                policy: self.policies[at].clone(),
                accesses,
                unique,
                method,
                points,
                seconds,
            }
        };
        Ok(specs.iter().enumerate().map(curve).collect())
    }

    fn read_trace(
        &self,
        distances: &mut Option<Exact>,
        kept: &mut Kept,
        progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<u64, LabError> {
        let mut accesses = 0;
        let mut stopped = false;
        graven_trace::stream(&self.trace, &self.read, &mut |page| {
            if stopped {
                return;
            }
            if let Some(exact) = distances {
                exact.push(page);
            }
            if kept.limit > 0 {
                kept.push(page);
            }
            accesses += 1;
            if accesses % REPORT_EVERY == 0 {
                let at = Progress {
                    phase: "reading",
                    done: accesses,
                    total: 0,
                };
                stopped = progress(at).is_break();
            }
        })?;
        if stopped {
            return Err(LabError::Interrupted);
        }
        if accesses == 0 {
            let reason = format!("{}: the trace is empty", self.trace.display());
            return Err(LabError::Setting(reason));
        }
        Ok(accesses)
    }

    /// Points, method and seconds of every policy that is simulated.
    fn simulate(
        &self,
        specs: &[Spec],
        kept: &Kept,
        accesses: u64,
        sizes: &[u64],
        progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<(Vec<Point>, String, f64)>, LabError> {
        let base = kept.rate();
        let mut jobs = Vec::new();
        for (policy, spec) in specs.iter().enumerate() {
            for &capacity in sizes.iter().filter(|_| spec.name != "lru") {
                let rate = (FRAMES / capacity as f64).min(base / SAMPLES as f64);
                let is_whole = base >= 1.0 && capacity as f64 <= FRAMES;
                let samples = if is_whole { 1 } else { SAMPLES };
                let rate = if is_whole { 1.0 } else { rate };
                jobs.extend((0..samples).map(|sample| Job {
                    policy,
                    capacity,
                    from: rate * sample as f64,
                    rate,
                }));
            }
        }
        let total = jobs.len() as u64;
        let mut report = |done| {
            progress(Progress {
                phase: "simulating",
                done,
                total,
            })
        };
        let ratios = parallel::run(&jobs, self.threads, &mut report, |job| {
            let begun = crate::simulate::thread_seconds();
            let (pages, unique) = kept.sample(job.from, job.rate);
            let frames = ((job.capacity as f64 * job.rate).round() as usize).max(1);
            let hits = hits(&specs[job.policy], &pages, unique, frames, self.seed)?;
            let faults = pages.len() as u64 - hits;
            let ratio = (faults as f64 / (accesses as f64 * job.rate)).min(1.0);
            Ok((ratio, crate::simulate::thread_seconds() - begun))
        })?;
        let mut results = vec![(Vec::new(), String::new(), 0.0); specs.len()];
        let done: Vec<(&Job, (f64, f64))> = jobs.iter().zip(ratios).collect();
        for of_size in
            done.chunk_by(|a, b| a.0.policy == b.0.policy && a.0.capacity == b.0.capacity)
        {
            let (points, method, seconds) = &mut results[of_size[0].0.policy];
            let ratios: Vec<f64> = of_size.iter().map(|(_, (ratio, _))| *ratio).collect();
            let (mean, error) = mean_and_error(&ratios);
            points.push(Point {
                capacity_pages: of_size[0].0.capacity,
                miss_ratio: mean,
                error,
                sampling_rate: of_size[0].0.rate * ratios.len() as f64,
            });
            *seconds += of_size.iter().map(|(_, (_, seconds))| seconds).sum::<f64>();
            *method = format!(
                "simulated: sizes up to {FRAMES} pages {}, larger ones on {SAMPLES} samples of the \
                    pages; error is 95 %",
                if base >= 1.0 {
                    "exactly"
                } else {
                    "on samples, too"
                }
            );
        }
        Ok(results)
    }
}

/// Mean, and half the width of its 95 % interval.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, STUDENT_T * (squares / (count - 1.0) / count).sqrt())
}

/// About `points` sizes up to all pages, evenly spread over their logarithm.
fn sizes(unique: u64, points: usize) -> Vec<u64> {
    let low = (unique as f64 / 1_000.0).max(1.0);
    let step = (unique as f64 / low).powf(1.0 / (points - 1) as f64);
    let mut sizes: Vec<u64> = (0..points)
        .map(|at| ((low * step.powi(at as i32)).round() as u64).clamp(1, unique))
        .collect();
    sizes.dedup();
    sizes
}

fn hits(
    spec: &Spec,
    pages: &[u32],
    unique: usize,
    frames: usize,
    seed: u64,
) -> Result<u64, LabError> {
    struct Replay<'a>(&'a [u32], usize, usize);
    impl Visitor<ArrayFrames> for Replay<'_> {
        type Output = u64;
        fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> u64 {
            let mut simulator = Simulator::new(policy, self.1, self.2);
            simulator.replay(self.0);
            simulator.outcome().hits
        }
    }
    if let Some(bypass) = belady::bypass_of(spec) {
        return Ok(belady::hits(pages, unique, frames, bypass));
    }
    Ok(registry::visit(
        spec,
        frames as u64,
        seed,
        Replay(pages, unique, frames),
    )?)
}

#[cfg(test)]
mod tests;
