//! `graven lab forecast`: what a larger graph would answer on another machine.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use graven::{IoMode, format_bytes};
use graven_lab::forecast::{self, Answer, Answers, Growth, Questions};

use super::output::Output;
use crate::argument;
use crate::failure::Failure;
use crate::policy_list;

/// Forecast what a graph that is larger than this one would answer with so much memory.
#[derive(Args, Debug)]
#[command(
    after_help = "Questions of one, two and three steps are asked of this graph, with the share of \
        memory that the larger one would have; nodes, pages and faults are then those of a graph \
        with SCALE times as many nodes. In social networks the relationships of a node become more: \
        --degree says how many. --against asks a larger graph, too, \
        and shows how far off the forecast is.

Examples:
  graven lab forecast social.graven --memory 64GiB --scale 1000
  graven lab forecast small.graven --memory 256MiB --against large.graven"
)]
pub(crate) struct Forecast {
    /// The database
    db: PathBuf,
    /// Memory of the larger graph: the whole budget of its database
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes)]
    memory: u64,
    /// How many times as many nodes that graph has
    #[arg(long, required_unless_present = "against", conflicts_with = "against")]
    scale: Option<f64>,
    /// Relationships of a node in that graph, both directions together [default: as many as here]
    #[arg(long, conflicts_with = "against")]
    degree: Option<f64>,
    /// A larger database of the same kind, with which the forecast is compared
    #[arg(long, value_name = "DB")]
    against: Option<PathBuf>,
    /// Label of the nodes
    #[arg(long, default_value = "Person")]
    label: String,
    /// Type of the relationships
    #[arg(long = "type", value_name = "TYPE", default_value = "KNOWS")]
    rel_type: String,
    /// Nodes, drawn from all, from which the questions start
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    starts: u32,
    /// Seed of their draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long each question is asked; at least once from every start
    #[arg(long, value_name = "TIME", value_parser = argument::time, default_value = "3s")]
    time: Duration,
    /// Replacement policy
    #[arg(long, default_value = graven::DEFAULT_POLICY, value_parser = policy_list::checked)]
    policy: String,
    /// How pages are read: direct or buffered
    #[arg(long, default_value_t = IoMode::Direct)]
    io: IoMode,
    #[command(flatten)]
    output: Output,
}

impl Forecast {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let questions = Questions {
            label: self.label,
            rel_type: self.rel_type,
            starts: self.starts as usize,
            seed: self.seed,
            time: self.time,
            policy: self.policy,
            io: self.io,
        };
        let result = match (&self.against, self.scale) {
            (Some(larger), _) => forecast::against(&self.db, larger, &questions, self.memory)?,
            (None, scale) => {
                let growth = Growth {
                    nodes: scale.ok_or_else(|| Failure::usage("--scale is missing"))?,
                    degree: self.degree,
                };
                forecast::forecast(&self.db, &questions, self.memory, growth)?
            }
        };
        let figures = || vec![result.figure()];
        self.output
            .deliver("forecast", &result, figures, |out| table(out, &result))
    }
}

fn table(out: &mut dyn Write, forecast: &forecast::Forecast) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<10} {:>5} {:>12} {:>12} {:>12} {:>12} {:>12} {:>10} {:>10}",
        "", "steps", "reached", "accesses", "faults", "read", "processor", "time", "a second"
    )?;
    let mut group = |name: &str, answers: &Answers| -> std::io::Result<()> {
        writeln!(
            out,
            "{name}: {:.0} nodes of {:.1} relationships, {}, in {}",
            answers.graph.nodes,
            answers.graph.degree,
            format_bytes(answers.graph.file_bytes as u64),
            format_bytes(answers.memory)
        )?;
        answers.answers.iter().try_for_each(|it| row(out, it))
    };
    group("measured here", &forecast.here)?;
    group("forecast", &forecast.there)?;
    let Some(measured) = &forecast.measured else {
        return Ok(());
    };
    group("measured there", measured)?;
    writeln!(out, "forecast / measured")?;
    for (forecast, measured) in forecast.there.answers.iter().zip(&measured.answers) {
        let ratio = |of: fn(&Answer) -> f64| match of(measured) > 0.0 {
            true => format!("{:.2}", of(forecast) / of(measured)),
            false => "-".to_owned(),
        };
        writeln!(
            out,
            "{:<10} {:>5} {:>12} {:>12} {:>12} {:>12} {:>12} {:>10} {:>10}",
            "",
            measured.steps,
            ratio(|it| it.reached),
            ratio(|it| it.accesses),
            ratio(|it| it.faults),
            ratio(|it| it.bytes_read),
            ratio(|it| it.processor_ms),
            ratio(|it| it.ms),
            ratio(Answer::per_second)
        )?;
    }
    Ok(())
}

fn row(out: &mut dyn Write, answer: &Answer) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<10} {:>5} {:>12.1} {:>12.1} {:>12.1} {:>12} {:>9.3} ms {:>7.3} ms {:>10.1}",
        "",
        answer.steps,
        answer.reached,
        answer.accesses,
        answer.faults,
        format_bytes(answer.bytes_read as u64),
        answer.processor_ms,
        answer.ms,
        answer.per_second()
    )
}
