//! `graven lab record`: the page accesses of a live database.

use std::path::PathBuf;

use clap::Args;
use graven::{Config, IoMode, Params};
use graven_lab::figure::{Axis, Figure, Panel, Series, Shape};
use graven_lab::record::{self, Recorded};
use graven_lab::three_hop::{QUESTION, Questions};

use super::options;
use super::output::Output;
use crate::argument;
use crate::failure::Failure;

/// Record the page accesses of a database while it answers questions, and say what recording costs.
#[derive(Args, Debug)]
#[command(
    after_help = "Questions are asked once to warm up, then in rounds without and with recording; \
        the last recorded round is the trace. \
Each access keeps its page, kind, thread, question, and whether it had to be read.

Examples:
  graven lab record social.graven hops.gtrace.zst --params three-hop-params.csv --memory 4MiB
  graven lab record social.graven reads.gtrace --query 'MATCH (p:Person) RETURN count(*)' --sample \
  16"
)]
pub(crate) struct Record {
    /// The database file
    db: PathBuf,
    /// The trace to write: NAME.gtrace, NAME.gtrace.zst, or as text NAME.gtrace.csv
    trace: PathBuf,
    /// A question in Cypher; may be repeated
    #[arg(
        long = "query",
        value_name = "TEXT",
        required_unless_present = "params"
    )]
    queries: Vec<String>,
    /// Ask the three-hop question for the starts of a table with the column personId
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// Starts taken from that table
    #[arg(long, default_value_t = 64)]
    starts: usize,
    /// Record one page in so many
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// Memory budget
    #[arg(long, value_parser = argument::bytes, default_value = "16MiB")]
    memory: u64,
    /// Replacement policy
    #[arg(long, default_value = graven::DEFAULT_POLICY)]
    policy: String,
    /// I/O mode: direct, buffered
    #[arg(long, default_value = "direct")]
    io: IoMode,
    /// Threads that ask
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Pairs of rounds for the overhead
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Accesses recorded at most
    #[arg(long, default_value_t = 50_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    #[command(flatten)]
    output: Output,
}

impl Record {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let name = self.trace.to_string_lossy().into_owned();
        let is_known = name.ends_with(".gtrace")
            || name.ends_with(".gtrace.zst")
            || graven_trace::text::is_text(&self.trace);
        if !is_known {
            let message = format!("`{name}` ends in none of .gtrace, .gtrace.zst and .gtrace.csv");
            return Err(Failure::usage(message));
        }
        let mut questions: Vec<(String, Params)> = self
            .queries
            .iter()
            .map(|text| (text.clone(), Params::new()))
            .collect();
        if let Some(params) = &self.params {
            let table = Questions::read(params, None)?;
            let starts = table.starts.iter().take(self.starts);
            questions.extend(starts.map(|id| (QUESTION.to_owned(), Params::new().with("id", *id))));
        }
        let mut config = Config::default();
        config.memory = self.memory;
        config.policy.clone_from(&self.policy);
        config.io = self.io;
        config.read_only = true;
        let request = record::Record {
            database: self.db,
            config,
            questions,
            threads: usize::from(self.threads),
            one_in: self.sample,
            rounds: usize::from(self.rounds),
            trace: self.trace,
            limit: usize::try_from(self.limit).unwrap_or(usize::MAX),
        };
        let recorded = options::with_bar(|report| {
            request.run(&mut |done, total| report("rounds", done as u64, total as u64))
        })?;
        self.output.deliver("record", &recorded, || vec![figure(&recorded)], |out| {
            writeln!(
                out,
                "{}: {} accesses to {} pages ({} of them had to read), one page in {}, {} \
                    questions",
                recorded.trace, recorded.accesses, recorded.unique, recorded.faulted, recorded.one_in, recorded.questions
            )?;
            let interval = recorded.overhead_interval.map_or("no interval: fewer than three \
                rounds".to_owned(), |(low, high)| {
                format!("{:.1} to {:.1} %", low * 100.0, high * 100.0)
            });
            writeln!(
                out,
                "recording costs {:.1} % ({interval}): a round takes {:.4} s without, {:.4} s with \
                    it",
                recorded.overhead * 100.0,
                recorded.plain_cpu_seconds,
                recorded.recorded_cpu_seconds
            )?;
            recorded.kinds.iter().try_for_each(|(kind, count)| writeln!(out, "{kind:<20} {count:>12}"))
        })
    }
}

fn figure(recorded: &Recorded) -> Figure {
    let bar = |(kind, count): &(String, u64)| Series::new(kind.clone(), vec![(0.0, *count as f64)]);
    Figure {
        name: "record".to_owned(),
        title: format!(
            "Page accesses of {} questions by kind of page",
            recorded.questions
        ),
        columns: 1,
        panels: vec![Panel {
            x: Axis::from_zero("accesses"),
            shape: Shape::Bars,
            series: recorded.kinds.iter().map(bar).collect(),
            ..Panel::default()
        }],
    }
}
