//! `graven bench three-hop`: the three-hop question under lists of cache sizes, threads, policies,
//! I/O modes.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use graven::pagecache::pools::Pools;
use graven::{IoMode, format_bytes};
use graven_lab::measurement::Measurement;
use graven_lab::run_file::RunFile;
use graven_lab::three_hop::{self, Length, Questions, Setting};
use serde::Serialize;

use crate::argument;
use crate::failure::Failure;
use crate::policy_list;

/// Ask how many persons are within three friendships, and measure.
#[derive(Args, Debug)]
#[command(
    after_help = "Every combination of the lists is one run: the database is opened with that \
        memory, \
policy and I/O mode, all starts are asked once to warm up (--warm-up), then measured. Nothing \
keeps an \
answer. Exit code 1 if an answer is wrong.

Example:
  graven bench three-hop social.graven --params three-hop-params.csv --expected \
  three-hop-expected.csv \\
      --cache 2MiB,16MiB --threads 1,2 --policy lru,gclock --json"
)]
pub(crate) struct ThreeHop {
    /// The database file
    db: PathBuf,
    /// Starts: a table with the column personId
    #[arg(long, value_name = "FILE")]
    params: PathBuf,
    /// Answers: a table with the columns personId and count_1_to_3
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// Memory budgets
    #[arg(long, alias = "memory", value_delimiter = ',', value_parser = argument::bytes, default_value = "16MiB")]
    cache: Vec<u64>,
    /// Thread counts
    #[arg(long, value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// Replacement policies, as in lru,gclock:max=7,init=1,random; `all` is every policy
    #[arg(long, default_value = graven::DEFAULT_POLICY, value_parser = policy_list::checked)]
    policy: String,
    /// Fixed pools instead of one budget for pages of all sizes, for comparison
    #[arg(long, value_name = "static:SIZE=PERCENT,...")]
    pools: Option<Pools>,
    /// I/O modes: direct, buffered
    #[arg(long, value_delimiter = ',', default_value = "direct")]
    io: Vec<IoMode>,
    /// Starts asked in one statement
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: u32,
    /// Passes over all starts before measuring
    #[arg(long, value_name = "PASSES", default_value_t = 1)]
    warm_up: u64,
    /// Measure at least one pass and this many seconds
    #[arg(long, default_value_t = 3.0, conflicts_with = "passes")]
    seconds: f64,
    /// Measure exactly this many passes over all starts
    #[arg(long)]
    passes: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// Write a run file into this folder: runs, starts, seed, version, machine; `graven lab rerun`
    /// takes it
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// What a run file holds.
#[derive(Serialize)]
struct Results<'a> {
    /// The starts, in the order of asking.
    starts: &'a [i64],
    /// Seed of policies that draw.
    policy_seed: u64,
    runs: Vec<Measurement>,
}

impl ThreeHop {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let questions = Questions::read(&self.params, self.expected.as_deref())?;
        let length = match self.passes {
            Some(passes) => Length::Passes(passes.max(1)),
            None => Length::AtLeast(
                Duration::try_from_secs_f64(self.seconds)
                    .map_err(|e| Failure::usage(format!("--seconds: {e}")))?,
            ),
        };
        let mut results = Results {
            starts: &questions.starts,
            policy_seed: three_hop::POLICY_SEED,
            runs: Vec::new(),
        };
        let mut wrong = 0;
        let mut head = !self.json;
        for setting in self.settings(length) {
            let run = three_hop::run(&self.db, &questions, &setting)?;
            wrong += run.wrong;
            let mut out = std::io::stdout().lock();
            if self.json {
                let json = serde_json::to_string(&run).map_err(Failure::failed)?;
                writeln!(out, "{json}")?;
            } else {
                if std::mem::take(&mut head) {
                    header(&mut out, &run)?;
                }
                line(&mut out, &run)?;
            }
            out.flush()?;
            drop(out);
            results.runs.push(run);
        }
        if let Some(folder) = &self.out {
            let arguments = std::env::args_os().skip(1);
            let arguments = arguments
                .map(|a| a.to_string_lossy().into_owned())
                .collect();
            let written = RunFile::new(arguments, &results)?.save(folder, "three-hop", &[])?;
            for path in written {
                eprintln!("wrote {}", path.display());
            }
        }
        if wrong > 0 {
            return Err(Failure::failed(format!("{wrong} answers are wrong")));
        }
        Ok(())
    }

    fn settings(&self, length: Length) -> Vec<Setting> {
        let mut settings = Vec::new();
        for io in &self.io {
            for cache_bytes in &self.cache {
                for policy in policy_list::names(&self.policy) {
                    for threads in &self.threads {
                        settings.push(Setting {
                            policy: policy.clone(),
                            pools: self.pools.clone(),
                            cache_bytes: *cache_bytes,
                            cache_share: None,
                            threads: usize::from(*threads),
                            io: *io,
                            batch: self.batch as usize,
                            warm_up_passes: self.warm_up,
                            length,
                        });
                    }
                }
            }
        }
        settings
    }
}

/// The heading of the table of runs.
pub(crate) fn header(out: &mut impl Write, run: &Measurement) -> std::io::Result<()> {
    writeln!(
        out,
        "{} warm-up passes; queue {}; {} starts a statement; latency is that of a statement",
        run.warm_up_passes, run.queue, run.batch
    )?;
    writeln!(
        out,
        "{:28} {:>9} {:>3} {:9} {:>9} {:>8} {:>8} {:>7} {:>9} {:>10} {:>10} {:>6}",
        "policy",
        "cache",
        "thr",
        "reads",
        "q/s",
        "p50 ms",
        "p99 ms",
        "hits",
        "faults/q",
        "device/q",
        "peak rss",
        "wrong"
    )
}

/// One run as a line of the table.
pub(crate) fn line(out: &mut impl Write, run: &Measurement) -> std::io::Result<()> {
    writeln!(
        out,
        "{:28} {:>9} {:>3} {:9} {:>9.1} {:>8.3} {:>8.3} {:>7.4} {:>9.1} {:>10} {:>10} {:>6}",
        run.policy,
        format_bytes(run.cache_bytes),
        run.threads,
        run.io,
        run.throughput_qps,
        run.p50_ms,
        run.p99_ms,
        run.hit_ratio,
        run.faults_per_query,
        format_bytes(run.device_read_bytes / run.queries.max(1)),
        format_bytes(run.rss_peak_bytes),
        if run.checked == 0 {
            "-".to_owned()
        } else {
            format!("{}/{}", run.wrong, run.checked)
        }
    )
}
