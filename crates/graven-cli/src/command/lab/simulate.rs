//! `graven lab simulate`: hit counts of policies on traces, for lists of cache sizes.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use graven_lab::simulate::{self, Run, Simulation, Size, Spark, Summary};

use super::options::{self, Reading};
use super::output::Output;
use crate::failure::Failure;
use crate::policy_list;

/// Count the hits of policies on traces of page accesses.
#[derive(Args, Debug)]
#[command(
    after_help = "Traces: NAME.u64[.zst] (64-bit page numbers; NAME.flags.u8.zst and \
        NAME.files.tsv are read where they \
are), NAME.gtrace[.zst] (graven lab record), libCacheSim's .oracleGeneral[.bin], .csv and .tsv, \
blkparse's lines (.blkparse), MSR \
tables (.msr.csv), RocksDB's block-cache trace as text (.rocksdb.csv), each also with .zst. A \
folder stands for all traces in it.

--out also writes simulate.html, a page to explore: choose traces, policies and the measure, point \
at a line, download what is shown as CSV.

share of min: hits by those of Belady's optimum. gap: how much of the way from Neo4j's clock to \
that optimum \
the policy goes. accesses/s: the policy loop alone, processor time; total/s: with reading and \
numbering the trace.

Examples:
  graven lab simulate --trace oltp.u64.zst --policy lru,s3fifo,gclock:max=3,init=0 --size \
  1%,10%,4096
  graven lab simulate --trace ../shared/traces --policy all --size 1%,10%,20%,50% --summary"
)]
pub(crate) struct Simulate {
    /// Trace file, or a folder of them; may be repeated
    #[arg(
        long = "trace",
        value_name = "FILE",
        required = true,
        value_delimiter = ',',
        num_args = 1..
    )]
    traces: Vec<PathBuf>,
    /// Policies, as in lru,gclock:max=7,init=1; `all` is every policy that a cache can run; may be
    /// repeated
    #[arg(long = "policy", value_name = "POLICY", required = true, value_parser = policy_list::checked)]
    policies: Vec<String>,
    /// Cache sizes: pages (4096), shares of the trace's pages (1%) or bytes (64MiB); may be
    /// repeated
    #[arg(
        long = "size",
        value_name = "SIZE",
        required = true,
        value_delimiter = ','
    )]
    sizes: Vec<Size>,
    /// At most so many accesses of a trace, its first ones [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    accesses: Option<u64>,
    #[command(flatten)]
    reading: Reading,
    /// Seed of policies that draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that simulate [default: all cores]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// What simulates: threads of this program, or executors of Spark, which give the same numbers
    #[arg(long, value_enum, default_value_t = Engine::Threads)]
    engine: Engine,
    /// With --engine spark: the master, as in local[4] or spark://HOST:7077 [default: what Spark's
    /// configuration says]
    #[arg(long, value_name = "URL")]
    spark_master: Option<String>,
    /// With --engine spark: an interpreter of Python that has graven[spark]
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// One line a policy over all traces and sizes: mean and worst share of the gap closed
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    output: Output,
}

/// What simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Threads of this program
    Threads,
    /// Executors of Spark
    Spark,
}

impl Simulate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.engine == Engine::Threads && self.spark_master.is_some() {
            return Err(Failure::usage(
                "--spark-master says where executors are: add --engine spark",
            ));
        }
        let simulation = Simulation {
            traces: simulate::trace_files(&self.traces)?,
            policies: options::policies(&self.policies),
            sizes: self.sizes,
            page_bytes: self.reading.page_size,
            read: self.reading.options(),
            accesses: self.accesses,
            seed: self.seed,
            threads: self.threads,
        };
        let runs = match self.engine {
            Engine::Threads => options::with_bar(|report| {
                simulation
                    .run(&mut |progress| report(progress.trace, progress.done, progress.total))
            })?,
            Engine::Spark => simulation.run_on(&Spark {
                python: self.python,
                master: self.spark_master,
            })?,
        };
        let figures = || simulate::figures(&runs);
        if self.summary {
            let summaries = simulate::summarize(&runs);
            let table = |out: &mut dyn Write| summary_table(out, &summaries);
            return self.output.deliver("simulate", &summaries, figures, table);
        }
        let table = |out: &mut dyn Write| table(out, &runs);
        self.output.deliver("simulate", &runs, figures, table)?;
        if let Some(folder) = &self.output.out {
            let arguments: Vec<String> = std::env::args_os()
                .skip(1)
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect();
            let page = simulate::page(&runs, &format!("graven {}", arguments.join(" ")))?;
            let path = folder.join("simulate.html");
            std::fs::write(&path, page)
                .map_err(|e| Failure::failed(format!("{}: writing failed: {e}", path.display())))?;
            eprintln!("wrote {}", path.display());
        }
        Ok(())
    }
}

/// One line a policy, best first.
fn summary_table(out: &mut dyn Write, summaries: &[Summary]) -> std::io::Result<()> {
    let width = options::width(summaries.iter().map(|s| s.policy.as_str()));
    writeln!(
        out,
        "{:<width$} {:>5} {:>9} {:>9} {:>12} {:>13}  worst at",
        "policy", "pairs", "mean gap", "worst gap", "below neo4j", "share of min"
    )?;
    for s in summaries {
        writeln!(
            out,
            "{:<width$} {:>5} {:>9.3} {:>9.3} {:>12} {:>13.4}  {}",
            s.policy,
            s.pairs,
            s.mean_gap_closed,
            s.worst_gap_closed,
            s.worse_than_neo4j,
            s.mean_share_of_min,
            s.worst_pair
        )?;
    }
    Ok(())
}

/// One line a run, under a header for every trace.
fn table(out: &mut dyn Write, runs: &[Run]) -> std::io::Result<()> {
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
            "{trace}: {accesses} accesses to {unique} pages; read in {read_seconds:.3} s, numbered \
                in \
             {map_seconds:.3} s"
        )?;
        let width = options::width(of_trace.iter().map(|run| run.policy.as_str()));
        writeln!(
            out,
            "{:<width$} {:>9} {:>11} {:>11} {:>9} {:>12} {:>7} {:>12} {:>11}",
            "policy",
            "pages",
            "hits",
            "faults",
            "hit ratio",
            "share of min",
            "gap",
            "accesses/s",
            "total/s"
        )?;
        for run in of_trace {
            let gap = run
                .gap_closed
                .map_or("-".to_owned(), |gap| format!("{gap:.3}"));
            writeln!(
                out,
                "{:<width$} {:>9} {:>11} {:>11} {:>9.4} {:>12.4} {gap:>7} {:>12.0} {:>11.0}",
                run.policy,
                run.capacity_pages,
                run.hits,
                run.faults,
                run.hit_ratio,
                run.share_of_min,
                run.accesses_per_second,
                run.total_accesses_per_second
            )?;
        }
    }
    Ok(())
}
