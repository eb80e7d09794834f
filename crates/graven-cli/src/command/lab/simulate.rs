//! `graven lab simulate`: hit counts of policies on traces, for lists of cache sizes.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven_import::{Progress, Unit};
use graven_lab::simulate::{Run, Simulation, Size};

use crate::argument;
use crate::failure::Failure;
use crate::progress::Phases;

/// Count the hits of policies on traces of page accesses.
#[derive(Args, Debug)]
#[command(
    after_help = "Traces: NAME.u64 or NAME.u64.zst (64-bit page numbers; NAME.flags.u8.zst and NAME.files.tsv are \
read where they are), libCacheSim's .oracleGeneral[.bin], .csv and .tsv, each also with .zst.

share of min: hits by those of Belady's optimum. gap: how much of the way from Neo4j's clock to that optimum \
the policy goes.

Example:
  graven lab simulate --trace oltp.u64.zst --policy lru,s3fifo,gclock:max=3,init=0 --size 1%,10%,4096"
)]
pub(crate) struct Simulate {
    /// Trace file; may be repeated
    #[arg(
        long = "trace",
        value_name = "FILE",
        required = true,
        value_delimiter = ','
    )]
    traces: Vec<PathBuf>,
    /// Policies, as in lru,gclock:max=7,init=1; `all` is every policy that a cache can run; may be repeated
    #[arg(long = "policy", value_name = "POLICY", required = true)]
    policies: Vec<String>,
    /// Cache sizes: pages (4096), shares of the trace's pages (1%) or bytes (64MiB); may be repeated
    #[arg(
        long = "size",
        value_name = "SIZE",
        required = true,
        value_delimiter = ','
    )]
    sizes: Vec<Size>,
    /// Bytes of a page, for sizes in bytes
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "8KiB")]
    page_size: u64,
    /// Seed of policies that draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that simulate [default: all cores]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Print a list in JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Simulate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let json = self.json;
        let simulation = Simulation {
            traces: self.traces,
            policies: self
                .policies
                .iter()
                .flat_map(|list| argument::policies(list))
                .collect(),
            sizes: self.sizes,
            page_bytes: self.page_size,
            seed: self.seed,
            threads: self.threads,
        };
        let mut phases = Phases::new();
        let outcome = simulation.run(&mut |progress| {
            phases.show(Progress {
                phase: progress.trace,
                done: progress.done,
                total: progress.total,
                unit: Unit::Values,
            })
        });
        phases.finish();
        let runs = outcome?;
        let mut out = std::io::stdout().lock();
        if json {
            let text = serde_json::to_string_pretty(&runs).map_err(Failure::failed)?;
            writeln!(out, "{text}")?;
        } else {
            table(&mut out, &runs)?;
        }
        out.flush()?;
        Ok(())
    }
}

/// One line a run, under a header for every trace.
fn table(out: &mut impl Write, runs: &[Run]) -> std::io::Result<()> {
    for of_trace in runs.chunk_by(|a, b| a.trace == b.trace) {
        let Some(first) = of_trace.first() else {
            continue;
        };
        let Run {
            trace,
            accesses,
            unique,
            read_seconds,
            map_seconds,
            ..
        } = first;
        writeln!(
            out,
            "{trace}: {accesses} accesses to {unique} pages; read in {read_seconds:.3} s, numbered in \
             {map_seconds:.3} s"
        )?;
        let width = of_trace
            .iter()
            .map(|run| run.policy.len())
            .max()
            .unwrap_or(0)
            .max(6);
        writeln!(
            out,
            "{:<width$} {:>9} {:>11} {:>11} {:>9} {:>12} {:>7} {:>12}",
            "policy", "pages", "hits", "faults", "hit ratio", "share of min", "gap", "accesses/s"
        )?;
        for run in of_trace {
            let gap = run
                .gap_closed
                .map_or("-".to_owned(), |gap| format!("{gap:.3}"));
            writeln!(
                out,
                "{:<width$} {:>9} {:>11} {:>11} {:>9.4} {:>12.4} {gap:>7} {:>12.0}",
                run.policy,
                run.capacity_pages,
                run.hits,
                run.faults,
                run.hit_ratio,
                run.share_of_min,
                run.accesses_per_second
            )?;
        }
    }
    Ok(())
}
