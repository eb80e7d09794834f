//! `graven lab mrc`: miss-ratio curves of policies on a trace.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven_lab::mrc::{self, Curve, MissRatioCurves};

use super::options::{self, Reading};
use super::output::Output;
use crate::failure::Failure;
use crate::policy_list;

/// Draw the whole curve of the miss ratio by cache size, in one reading of the trace.
#[derive(Args, Debug)]
#[command(
    after_help = "lru is exact at every size, by stack distances. Other policies are simulated: \
        small sizes exactly, larger ones \
on four samples of the pages each, with half the width of the 95 % interval as error. Traces may \
be larger than memory.

Example:
  graven lab mrc --trace oltp.u64.zst --policy lru,s3fifo,min --out curves"
)]
pub(crate) struct Mrc {
    /// Trace file, in any format that `graven lab simulate` reads
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// Policies; may be repeated
    #[arg(long = "policy", value_name = "POLICY", default_value = "lru", value_parser = policy_list::checked)]
    policies: Vec<String>,
    /// Points of a curve
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(2..=1000))]
    points: u16,
    /// Keep at most this many accesses for sampling
    #[arg(long, default_value_t = mrc::keep_max())]
    keep: usize,
    #[command(flatten)]
    reading: Reading,
    /// Seed of policies that draw, and of the samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads that simulate [default: all cores]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    #[command(flatten)]
    output: Output,
}

impl Mrc {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let request = MissRatioCurves {
            trace: self.trace,
            read: self.reading.options(),
            policies: options::policies(&self.policies),
            points: usize::from(self.points),
            keep: self.keep,
            seed: self.seed,
            threads: self.threads,
        };
        let curves = options::with_bar(|report| {
            request.run(&mut |progress| report(progress.phase, progress.done, progress.total))
        })?;
        let figures = || vec![mrc::figure(&curves)];
        self.output
            .deliver("mrc", &curves, figures, |out| table(out, &curves))
    }
}

fn table(out: &mut dyn Write, curves: &[Curve]) -> std::io::Result<()> {
    for curve in curves {
        writeln!(
            out,
            "{}, {}: {} accesses to {} pages; {}; {:.3} s",
            curve.policy, curve.trace, curve.accesses, curve.unique, curve.method, curve.seconds
        )?;
        writeln!(
            out,
            "{:>12} {:>11} {:>9} {:>9}",
            "pages", "miss ratio", "+-", "sampled"
        )?;
        for point in &curve.points {
            writeln!(
                out,
                "{:>12} {:>11.5} {:>9.5} {:>9.5}",
                point.capacity_pages, point.miss_ratio, point.error, point.sampling_rate
            )?;
        }
    }
    Ok(())
}
