//! `graven lab mrc`: miss-ratio curves of policies on a trace.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven_import::{Progress, Unit};
use graven_lab::mrc::{self, Curve, MissRatioCurves};
use graven_trace::{Format, ReadOptions};

use super::output::Output;
use crate::argument;
use crate::failure::Failure;
use crate::progress::Phases;

/// Draw the whole curve of the miss ratio by cache size, in one reading of the trace.
#[derive(Args, Debug)]
#[command(
    after_help = "lru is exact at every size, by stack distances. Other policies are simulated: small sizes exactly, larger ones \
on four samples of the pages each, with half the width of the 95 % interval as error. Traces may be larger than memory.

Example:
  graven lab mrc --trace oltp.u64.zst --policy lru,s3fifo,min --out curves"
)]
pub(crate) struct Mrc {
    /// Trace file, in any format that `graven lab simulate` reads
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    /// Policies; may be repeated
    #[arg(long = "policy", value_name = "POLICY", default_value = "lru")]
    policies: Vec<String>,
    /// Points of a curve
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u16).range(2..=1000))]
    points: u16,
    /// Keep at most this many accesses for sampling
    #[arg(long, default_value_t = mrc::keep_max())]
    keep: usize,
    /// Bytes of a page, for traces of byte ranges
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "8KiB")]
    page_size: u64,
    /// Format of the trace [default: by name]
    #[arg(long)]
    format: Option<Format>,
    /// The column of page numbers, for text traces with several
    #[arg(long)]
    column: Option<String>,
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
            read: ReadOptions {
                format: self.format,
                page_bytes: self.page_size,
                column: self.column,
            },
            policies: self
                .policies
                .iter()
                .flat_map(|list| argument::policies(list))
                .collect(),
            points: usize::from(self.points),
            keep: self.keep,
            seed: self.seed,
            threads: self.threads,
        };
        let mut phases = Phases::new();
        let outcome = request.run(&mut |progress| {
            phases.show(Progress {
                phase: progress.phase,
                done: progress.done,
                total: progress.total,
                unit: Unit::Values,
            })
        });
        phases.finish();
        let curves = outcome?;
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
