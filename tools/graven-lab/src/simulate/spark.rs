//! Simulation by the executors of Spark: the same jobs, the same numbers, on many machines.
//!
//! # How it works
//! The program reads every trace, to know its sizes, and hands all jobs of all traces to the module
//! `graven.spark.lab` of the package for Python, as JSON on its standard input. The module starts
//! or joins Spark, spreads the jobs, and answers with the counts in the order of the jobs.
//! Executors run the same replay ([`graven_trace::replay`]) and read the traces themselves, so a
//! trace must have the same name where they run.
//!
//! # Costs
//! Each trace is read once here and once by each task that has jobs on it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use graven_trace::replay::Replayed;
use serde::{Deserialize, Serialize};

use super::{Facts, Job, Run, Simulation, load};
use crate::error::LabError;

/// The module of the package for Python that spreads the jobs.
const MODULE: &str = "graven.spark.lab";
/// Lines of what Python said that an error shows.
const LINES: usize = 5;

/// Where Spark is.
#[derive(Clone, Debug)]
pub struct Spark {
    /// An interpreter of Python that has `graven` and `pyspark`.
    pub python: PathBuf,
    /// URL of the master; what Spark's configuration says if none.
    pub master: Option<String>,
}

#[derive(Serialize)]
struct Request<'a> {
    master: Option<&'a str>,
    seed: u64,
    accesses: Option<u64>,
    format: Option<&'static str>,
    column: Option<&'a str>,
    page_bytes: u64,
    jobs: Vec<(&'a Path, String, usize)>,
}

#[derive(Deserialize)]
struct Answer {
    hits: u64,
    evictions: Option<u64>,
    figures: Vec<(String, f64)>,
    seconds: f64,
}

impl Simulation {
    /// As [`Simulation::run`], by executors of Spark.
    ///
    /// # Errors
    /// As [`Simulation::run`]; [`LabError::Setting`] with what Python said where it fails.
    pub fn run_on(&self, spark: &Spark) -> Result<Vec<Run>, LabError> {
        let specs = self.specs()?;
        let mut traces: Vec<(Facts, Vec<Job>)> = Vec::new();
        let mut paths = Vec::new();
        for path in &self.traces {
            let (facts, _) = load(path, &self.read_options(), self.accesses)?;
            let jobs = self.jobs(&facts, &specs)?;
            traces.push((facts, jobs));
            let whole = path.canonicalize();
            paths.push(whole.map_err(LabError::io(path, "opening"))?);
        }
        let jobs = traces.iter().zip(&paths).flat_map(|((_, jobs), path)| {
            let job = |job: &Job| (path.as_path(), job.spec.to_string(), job.capacity);
            jobs.iter().map(job).collect::<Vec<_>>()
        });
        let request = Request {
            master: spark.master.as_deref(),
            seed: self.seed,
            accesses: self.accesses,
            format: self.read.format.map(graven_trace::Format::name),
            column: self.read.column.as_deref(),
            page_bytes: self.page_bytes,
            jobs: jobs.collect(),
        };
        let mut counted = spark.ask(&request)?.into_iter();
        let mut runs = Vec::new();
        for (facts, jobs) in &traces {
            let of_trace: Vec<Replayed> = counted.by_ref().take(jobs.len()).collect();
            runs.extend(self.results(facts, jobs, &of_trace));
        }
        Ok(runs)
    }
}

impl Spark {
    /// Hands the jobs to Python; what they counted, in their order.
    fn ask(&self, request: &Request<'_>) -> Result<Vec<Replayed>, LabError> {
        let python = self.python.display();
        let failed = |what: String| LabError::Setting(format!("{python} -m {MODULE}: {what}"));
        let mut child = Command::new(&self.python)
            .args(["-m", MODULE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| {
                failed(format!(
                    "{e}; --python names an interpreter with graven[spark]"
                ))
            })?;
        let text = serde_json::to_vec(request).map_err(|e| failed(e.to_string()))?;
        if let Some(mut input) = child.stdin.take() {
            // Where Python has ended already, its own words tell why.
            let _ = input.write_all(&text);
        }
        let output = child
            .wait_with_output()
            .map_err(|e| failed(e.to_string()))?;
        if !output.status.success() {
            return Err(failed(last_lines(&output.stderr)));
        }
        let answers: Vec<Answer> = serde_json::from_slice(&output.stdout)
            .map_err(|e| failed(format!("its answer is not the expected one: {e}")))?;
        if answers.len() != request.jobs.len() {
            let (got, wanted) = (answers.len(), request.jobs.len());
            return Err(failed(format!("{got} answers to {wanted} jobs")));
        }
        let replayed = |answer: Answer| Replayed {
            hits: answer.hits,
            evictions: answer.evictions,
            figures: answer.figures,
            seconds: answer.seconds,
        };
        Ok(answers.into_iter().map(replayed).collect())
    }
}

/// The end of what a program said.
fn last_lines(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(LINES);
    lines[from..].join("\n")
}
