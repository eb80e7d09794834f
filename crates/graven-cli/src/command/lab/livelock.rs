//! `graven lab livelock`: the smallest cache that works, by policy.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use graven_lab::livelock::{self, Limit};

use super::options;
use super::output::Output;
use crate::failure::Failure;
use crate::policy_list;

/// Find the smallest cache that works when threads keep pages pinned, and what a smaller one says.
#[derive(Args, Debug)]
pub(crate) struct Livelock {
    /// Policies; `all` is every policy that a cache can run; may be repeated
    #[arg(long = "policy", value_name = "POLICY", default_value = "all", value_parser = policy_list::checked)]
    policies: Vec<String>,
    /// Threads
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Pages that a thread keeps pinned
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pins: u16,
    /// Accesses of a thread in one try
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..))]
    accesses: u64,
    /// How long a fault waits for a frame, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200)]
    wait: u64,
    /// Seed of accesses and policies
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

impl Livelock {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let request = livelock::Livelock {
            policies: options::policies(&self.policies),
            threads: usize::from(self.threads),
            pins: usize::from(self.pins),
            accesses: self.accesses,
            wait: Duration::from_millis(self.wait),
            seed: self.seed,
        };
        let limits = options::with_bar(|report| request.run(report))?;
        let figures = || vec![livelock::figure(&limits)];
        self.output
            .deliver("livelock", &limits, figures, |out| table(out, &limits))?;
        match limits.iter().find(|limit| !limit.clean) {
            Some(limit) => Err(Failure::failed(format!(
                "{}: below {} frames it fails with {:?}",
                limit.policy, limit.smallest_frames, limit.error_below
            ))),
            None => Ok(()),
        }
    }
}

fn table(out: &mut dyn Write, limits: &[Limit]) -> std::io::Result<()> {
    let width = options::width(limits.iter().map(|limit| limit.policy.as_str()));
    writeln!(
        out,
        "{:<width$} {:>7} {:>9} {:>9} {:>11} {:>9}  below",
        "policy", "pinned", "smallest", "bytes", "accesses/s", "fails in"
    )?;
    for limit in limits {
        writeln!(
            out,
            "{:<width$} {:>7} {:>9} {:>9} {:>11.0} {:>7.2} s  {}",
            limit.policy,
            limit.pinned_frames,
            limit.smallest_frames,
            limit.smallest_bytes,
            limit.accesses_per_second,
            limit.error_after_seconds,
            limit.error_below
        )?;
    }
    Ok(())
}
