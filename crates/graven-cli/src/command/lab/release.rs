//! `graven lab release`: what giving memory back costs.

use std::io::Write;

use clap::Args;
use graven_lab::release::{self, Released};

use super::output::Output;
use crate::argument;
use crate::failure::Failure;

/// Measure the ways to give memory back to the system: cost of a release, resident set, cost of
/// the next use.
#[derive(Args, Debug)]
#[command(
    after_help = "A region is written, released in pieces of 64 KiB, and written again: with \
        MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT, and as a hole in a memory file. \
Times are processor time a page of 4 KiB, the median of the rounds.

Example:
  graven lab release --size 256MiB --out release"
)]
pub(crate) struct Release {
    /// Bytes of the region, a multiple of 64 KiB
    #[arg(long, value_parser = argument::bytes, default_value = "256MiB")]
    size: u64,
    /// Rounds, all ways in turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    #[command(flatten)]
    output: Output,
}

impl Release {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let released = release::measure(self.size, usize::from(self.rounds))?;
        let figures = || vec![release::figure(&released)];
        self.output
            .deliver("release", &released, figures, |out| table(out, &released))
    }
}

fn table(out: &mut dyn Write, released: &[Released]) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<14} {:>14} {:>14} {:>15} {:>14}",
        "way", "release ns", "resident then", "next use ns", "resident again"
    )?;
    for one in released {
        match &one.refused {
            Some(why) => writeln!(out, "{:<14} refused: {why}", one.way)?,
            None => writeln!(
                out,
                "{:<14} {:>14.0} {:>12.0} % {:>15.0} {:>12.0} %",
                one.way,
                one.release_ns,
                one.resident_after * 100.0,
                one.reuse_ns,
                one.resident_again * 100.0
            )?,
        }
    }
    Ok(())
}
