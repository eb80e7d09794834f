//! `graven bench cache`: what a hit, a pin and a miss of the page cache cost.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use graven_io::IoMode;
use graven_lab::bench_cache::{CacheBench, Phase};
use indicatif::ProgressBar;

use crate::argument;
use crate::failure::Failure;

/// Measure what a hit, a pin and a miss of the page cache cost, beside floors of the same run.
#[derive(Args, Debug)]
#[command(
    after_help = "Writes three data files (3 GiB by default) into a folder of its own inside DIR \
        and removes it \
at the end; takes about two minutes. Put DIR on the disk that databases live on."
)]
pub(crate) struct Cache {
    /// Folder in which the data files are written
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Policy whose hits are measured; may be repeated [default: one for each kind of bookkeeping]
    #[arg(long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_value = "1,2,8")]
    threads: Vec<usize>,
    /// Size of each data file and of the larger resident set
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "1GiB")]
    data: u64,
    /// Size of the smaller resident set
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "32MiB")]
    small: u64,
    /// Budget while misses are measured
    #[arg(long, visible_alias = "memory", value_name = "SIZE", value_parser = argument::bytes, default_value = "64MiB")]
    cache: u64,
    /// Reads kept in flight
    #[arg(long, default_value_t = 64)]
    depth: usize,
    /// Rounds of which the median is taken
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds a measurement of misses takes; one of hits takes a tenth
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Measure only one half
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// How the data files are read
    #[arg(long, value_enum, default_value_t = Io::Direct)]
    io: Io,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Half of the measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Only {
    Hits,
    Misses,
}

/// How data files are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Io {
    Direct,
    Buffered,
}

impl Cache {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if !(self.seconds > 0.0 && self.seconds < 3600.0) {
            return Err(Failure::usage("--seconds must be above 0 and below 3600"));
        }
        let mut bench = CacheBench {
            half: match self.only {
                None => Phase::Both,
                Some(Only::Hits) => Phase::Hits,
                Some(Only::Misses) => Phase::Misses,
            },
            directory: self.directory,
            io: match self.io {
                Io::Direct => IoMode::Direct,
                Io::Buffered => IoMode::Buffered,
            },
            threads: self.threads,
            data_bytes: self.data,
            small_bytes: self.small,
            pool_bytes: self.cache,
            depth: self.depth,
            rounds: self.rounds,
            hit_seconds: self.seconds / 10.0,
            miss_seconds: self.seconds,
            ..CacheBench::default()
        };
        if !self.policies.is_empty() {
            bench.policies = self.policies;
        }
        let spinner = ProgressBar::new_spinner();
        let outcome = bench.run(&mut |what| {
            spinner.set_message(what.to_owned());
            spinner.tick();
        });
        spinner.finish_and_clear();
        let report = outcome.map_err(Failure::failed)?;
        let mut out = std::io::stdout().lock();
        if self.json {
            serde_json::to_writer_pretty(&mut out, &report).map_err(Failure::failed)?;
            writeln!(out)?;
        } else {
            write!(out, "{report}")?;
        }
        Ok(())
    }
}
