//! `graven lab transactions`: policies that score pages of running transactions up.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven::format_bytes;
use graven_lab::figure::{Axis, Figure, Panel, Series, Shape};
use graven_lab::transactions::{self, Scored};

use super::options;
use super::output::Output;
use crate::argument;
use crate::failure::Failure;
use crate::policy_list;

/// Apply the update streams of an LDBC data set under policies as they are and with pages of
/// running transactions scored up (`running=N`), live and simulated.
#[derive(Args, Debug)]
#[command(
    after_help = "Every operation of the streams is one transaction; several threads write, others \
        read. \
`calm` is the share of transactions that waited for no read: the transactional hit ratio. The \
accesses of the first policy are recorded and simulated under all; those hits are the same each \
time for the same record.

Example:
  graven lab transactions sf0.1 --policy lru,gclock:max=3,sieve --memory 16MiB,32MiB"
)]
pub(crate) struct Transactions {
    /// An LDBC data set with update streams
    data: PathBuf,
    /// Policies; each runs without and with the score
    #[arg(long = "policy", value_name = "POLICY", default_value = graven::DEFAULT_POLICY, value_parser = policy_list::checked)]
    policies: Vec<String>,
    /// How many pages of running transactions an eviction passes over
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65535))]
    running: u32,
    /// Memory budgets
    #[arg(long, value_delimiter = ',', value_parser = argument::bytes, default_value = "16MiB,32MiB")]
    memory: Vec<u64>,
    /// Threads that write
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    writers: u16,
    /// Threads that read
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=64))]
    readers: u16,
    /// Folder for databases and record
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = ".",
        hide_default_value = true
    )]
    dir: PathBuf,
    #[command(flatten)]
    output: Output,
}

impl Transactions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let request = transactions::Transactions {
            data: self.data,
            memory: self.memory,
            policies: options::policies(&self.policies),
            running: self.running,
            writers: usize::from(self.writers),
            readers: usize::from(self.readers),
            scratch: self.dir,
        };
        let scored = options::with_bar(|report| request.run(report))?;
        let figures = || vec![figure(&scored)];
        self.output
            .deliver("transactions", &scored, figures, |out| table(out, &scored))
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64 * 100.0
}

fn table(out: &mut dyn Write, scored: &[Scored]) -> std::io::Result<()> {
    let name = options::width(scored.iter().map(|one| one.policy.as_str()));
    writeln!(
        out,
        "{:<name$}  {:>8}  {:>10}  {:>8}  {:>8}  {:>8}  {:>12}  {:>9}",
        "policy", "memory", "accesses", "hits", "blocked", "calm", "simulated", "hits"
    )?;
    for one in scored {
        writeln!(
            out,
            "{:<name$}  {:>8}  {:>10}  {:>6.2} %  {:>8}  {:>6.2} %  {:>12}  {:>7.2} %",
            one.policy,
            format_bytes(one.memory_bytes),
            one.accesses,
            percent(one.hits, one.accesses),
            one.blocked,
            percent(one.calm, one.transactions),
            one.simulated_accesses,
            percent(one.simulated_hits, one.simulated_accesses),
        )?;
    }
    Ok(())
}

fn figure(scored: &[Scored]) -> Figure {
    let mut policies: Vec<&str> = scored.iter().map(|one| one.policy.as_str()).collect();
    policies.truncate(
        scored
            .iter()
            .filter(|one| one.memory_bytes == scored[0].memory_bytes)
            .count(),
    );
    let lines = |share: fn(&Scored) -> f64| {
        let of = policies.iter().map(|policy| {
            let points = scored.iter().filter(|one| one.policy == *policy);
            let points =
                points.map(|one| (one.memory_bytes as f64 / f64::from(1 << 20), share(one)));
            Series::new((*policy).to_owned(), points.collect())
        });
        of.collect::<Vec<_>>()
    };
    let panel = |title: &str, share| Panel {
        title: title.to_owned(),
        x: Axis::linear("memory in MiB"),
        y: Axis::linear("share in percent"),
        shape: Shape::Lines,
        series: lines(share),
    };
    Figure {
        name: "transactions".to_owned(),
        title: "Pages of running transactions scored up".to_owned(),
        columns: 0,
        panels: vec![
            panel("transactions that waited for no read", |one| {
                percent(one.calm, one.transactions)
            }),
            panel("hits of the live cache", |one| {
                percent(one.hits, one.accesses)
            }),
            panel("hits simulated on one record", |one| {
                percent(one.simulated_hits, one.simulated_accesses)
            }),
        ],
    }
}
