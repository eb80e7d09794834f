//! `graven bench bi`: thirty-one questions in the style of business intelligence, one after the
//! other in small memory: which complete, how long each takes, and the memory of the process after
//! each.
//!
//! # How it works
//! The questions are those of `queries/founding`, built into the program. For each budget a process
//! of its own opens the database and asks all of them in order: once for the rows and the memory,
//! then as often as told for the mean time. Every row is taken and dropped. So what a budget leaves
//! behind in an allocator is not counted for the next one. The budgets end as one table and, with
//! `--svg`, as one figure.
//!
//! # Source
//! "Integrating a Variable-size Page Buffer Manager in Kuzu", figures 4 to 7, which did the same
//! with the 31 queries of LDBC's business intelligence workload at 32 MB and 512 MB.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args;
use graven::{Config, Database, IoMode, Params, format_bytes};
use graven_lab::figure::{Axis, Figure, Panel, Series, Shape};
use graven_lab::machine;
use serde::{Deserialize, Serialize};

use crate::argument;
use crate::failure::Failure;

/// Text of each question, by number from 1.
macro_rules! questions {
    ($($number:literal)*) => {
        [$(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"), "/../../queries/founding/Q", $number, ".cypher"
        ))),*]
    };
}

const QUESTIONS: [&str; 31] = questions!(
    1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
);

/// Memory of the process beside its budget.
const BASE_BYTES: u64 = 40 << 20;

/// Ask thirty-one questions over a social network, and measure time and memory.
#[derive(Args, Debug)]
#[command(
    after_help = "The questions are in queries/founding; Q25 to Q28 read and order or group a \
        whole table. Each budget has a process of its own.
Exit code 1 if a question does not complete or the peak of physical memory is above the budget and \
40 MiB.

Example:
  graven bench bi social.graven --memory 16MiB,32MiB --svg bi.svg"
)]
pub(crate) struct Bi {
    /// The database file, as `graven import --ldbc` makes it
    db: PathBuf,
    /// Memory budgets
    #[arg(long, alias = "cache", value_delimiter = ',', value_parser = argument::bytes, default_value = "32MiB")]
    memory: Vec<u64>,
    /// Threads that one statement may use
    #[arg(long, value_name = "N", default_value_t = std::num::NonZeroUsize::MIN)]
    threads: std::num::NonZeroUsize,
    /// I/O mode: direct, buffered
    #[arg(long, default_value = "direct")]
    io: IoMode,
    /// Times that each question is asked for its mean time, after the first
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=1000))]
    rounds: u32,
    /// Draw time and memory after every question into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// Set in the process that measures one budget
    #[arg(long, hide = true)]
    alone: bool,
}

/// What became of one question.
#[derive(Debug, Deserialize, Serialize)]
struct Line {
    question: usize,
    memory_bytes: u64,
    /// Why it did not complete.
    error: Option<String>,
    rows: u64,
    first_ms: f64,
    /// Mean of the rounds behind the first time; the first time where there are none.
    mean_ms: f64,
    virtual_bytes: u64,
    physical_bytes: u64,
    physical_peak_bytes: u64,
}

impl Bi {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.alone {
            return self.measure();
        }
        let mut budgets = Vec::new();
        for memory in &self.memory {
            budgets.push(self.budget(*memory)?);
        }
        if !self.json {
            self.print(&budgets)?;
        }
        if let Some(path) = &self.svg {
            let written = std::fs::write(path, figure(&budgets).svg());
            written.map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
        }
        let all = || budgets.iter().flatten();
        let incomplete = all().filter(|line| line.error.is_some()).count();
        let fat = |line: &&Line| line.physical_peak_bytes > line.memory_bytes + BASE_BYTES;
        match (incomplete, all().find(fat)) {
            (0, None) => Ok(()),
            (0, Some(line)) => Err(Failure::failed(format!(
                "{} of physical memory with a budget of {}",
                format_bytes(line.physical_peak_bytes),
                format_bytes(line.memory_bytes)
            ))),
            (count, _) => Err(Failure::failed(format!("{count} do not complete"))),
        }
    }

    /// Has one budget measured by a process of its own.
    fn budget(&self, memory: u64) -> Result<Vec<Line>, Failure> {
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let (io, threads) = (self.io.to_string(), self.threads.to_string());
        let (memory, rounds) = (format!("{}KiB", memory >> 10), self.rounds.to_string());
        let out = Command::new(program)
            .args(["bench", "bi", "--alone", "--memory", &memory, "--io", &io])
            .args(["--threads", &threads, "--rounds", &rounds])
            .arg(&self.db)
            .stderr(Stdio::inherit())
            .output()
            .map_err(Failure::failed)?;
        if !out.status.success() {
            return Err(Failure::failed(format!("{memory}: {}", out.status)));
        }
        let mut lines = Vec::new();
        for text in out.stdout.split(|byte| *byte == b'\n') {
            if text.is_empty() {
                continue;
            }
            if self.json {
                let mut out = std::io::stdout().lock();
                out.write_all(text)?;
                out.write_all(b"\n")?;
            }
            lines.push(serde_json::from_slice(text).map_err(Failure::failed)?);
        }
        Ok(lines)
    }

    /// Asks all questions in this process.
    fn measure(&self) -> Result<(), Failure> {
        let mut config = Config::default();
        config.memory = *self.memory.first().expect("an argument with a default");
        config.io = self.io;
        config.threads = self.threads.get();
        let memory_bytes = config.memory;
        let db = Database::open(&self.db, config)?;
        let mut out = std::io::stdout().lock();
        for (number, text) in QUESTIONS.iter().enumerate() {
            let first = ask(&db, text);
            let process = machine::process_memory();
            let mut total = 0.0;
            let rounds = if first.is_ok() { self.rounds } else { 0 };
            for _ in 0..rounds {
                total += ask(&db, text)?.1;
            }
            let (rows, first_ms, error) = match first {
                Ok((rows, milliseconds)) => (rows, milliseconds, None),
                Err(error) => (0, 0.0, Some(error.to_string())),
            };
            let line = Line {
                question: number + 1,
                memory_bytes,
                error,
                rows,
                first_ms,
                mean_ms: match rounds {
                    0 => first_ms,
                    rounds => total / f64::from(rounds),
                },
                virtual_bytes: process.virtual_bytes,
                physical_bytes: process.physical_bytes,
                physical_peak_bytes: machine::peak_memory(),
            };
            let json = serde_json::to_string(&line).map_err(Failure::failed)?;
            writeln!(out, "{json}")?;
            out.flush()?;
        }
        Ok(())
    }

    /// The completion matrix: a line a question, columns for each budget.
    fn print(&self, budgets: &[Vec<Line>]) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        write!(out, "{:8}{:>9}", "", "rows")?;
        for memory in &self.memory {
            write!(
                out,
                " | {:>10} {:>11} {:>11}",
                format_bytes(*memory),
                "virtual",
                "physical"
            )?;
        }
        writeln!(out)?;
        for at in 0..QUESTIONS.len() {
            let lines: Vec<&Line> = budgets.iter().filter_map(|lines| lines.get(at)).collect();
            let rows = lines.iter().map(|line| line.rows).max().unwrap_or(0);
            write!(out, "{:8}{rows:>9}", format!("Q{}", at + 1))?;
            for line in &lines {
                let time = match line.error {
                    None => format!("{:.1} ms", line.mean_ms),
                    Some(_) => "FAILED".to_owned(),
                };
                let memory = [line.virtual_bytes, line.physical_bytes].map(format_bytes);
                write!(out, " | {time:>10} {:>11} {:>11}", memory[0], memory[1])?;
            }
            writeln!(out)?;
        }
        for lines in budgets {
            let complete = lines.iter().filter(|line| line.error.is_none()).count();
            let peak = lines.iter().map(|line| line.physical_peak_bytes).max();
            let total: f64 = lines.iter().map(|line| line.mean_ms).sum();
            let memory = lines.first().map_or(0, |line| line.memory_bytes);
            writeln!(
                out,
                "{}: {complete} of {} complete in {total:.0} ms together, peak of physical memory \
                    {}",
                format_bytes(memory),
                QUESTIONS.len(),
                format_bytes(peak.unwrap_or(0))
            )?;
            for line in lines {
                if let Some(error) = &line.error {
                    writeln!(out, "  Q{}: {error}", line.question)?;
                }
            }
        }
        Ok(())
    }
}

/// Takes all rows: how many, and how many milliseconds that took.
fn ask(db: &Database, text: &str) -> Result<(u64, f64), graven::Error> {
    let connection = db.connect();
    let start = Instant::now();
    let mut result = connection.query(text, &Params::new())?;
    let mut rows = 0;
    while result.next_row()?.is_some() {
        rows += 1;
    }
    Ok((rows, start.elapsed().as_secs_f64() * 1e3))
}

/// Time, virtual and physical memory of every question, a line for each budget.
fn figure(budgets: &[Vec<Line>]) -> Figure {
    let names: Vec<String> = (1..=QUESTIONS.len()).map(|n| format!("Q{n}")).collect();
    let panel = |title: &str, y: Axis, value: &dyn Fn(&Line) -> f64| Panel {
        title: title.to_owned(),
        x: Axis::categories("question", names.clone()),
        y,
        shape: Shape::Lines,
        series: budgets
            .iter()
            .map(|lines| {
                let name = lines.first().map_or(0, |line| line.memory_bytes);
                let points = lines.iter().enumerate();
                let points = points.map(|(at, line)| (at as f64, value(line)));
                Series::new(format_bytes(name), points.collect())
            })
            .collect(),
    };
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let time = |line: &Line| match line.error {
        None => line.mean_ms.max(0.01),
        Some(_) => f64::NAN,
    };
    Figure {
        name: "bi".to_owned(),
        title: "31 questions: time, and memory of the process after each; a gap does not complete"
            .to_owned(),
        panels: vec![
            panel("time", Axis::log("milliseconds"), &time),
            panel("virtual memory", Axis::from_zero("MiB"), &|line| {
                mib(line.virtual_bytes)
            }),
            panel("physical memory", Axis::from_zero("MiB"), &|line| {
                mib(line.physical_bytes)
            }),
        ],
        columns: 3,
    }
}
