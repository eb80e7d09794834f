//! `graven lab budget`: what an access may cost, given faults and this device.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use graven_lab::budget::{self, FaultTime};
use graven_lab::simulate::{Simulation, Size};
use graven_trace::ReadOptions;

use super::output::Output;
use crate::argument;
use crate::failure::Failure;

/// Say what a policy may cost an access, from the fault ratio and the measured time of a fault.
#[derive(Args, Debug)]
#[command(
    after_help = "With --trace, --size and two policies, both are simulated, and the faults that \
        the first avoids against the second \
become the time it saves and what it may cost an access more.

Examples:
  graven lab budget --fault-ratio 0.1 --fault-time 0.0001
  graven lab budget --trace oltp.u64.zst --size 10% --policy s3fifo --against neo4j
  graven lab budget --accesses 1000000000 --faults-avoided 12500000"
)]
pub(crate) struct Budget {
    /// Share of the accesses that fault, beside the round ones
    #[arg(long, value_name = "0..1")]
    fault_ratio: Option<f64>,
    /// Seconds of a fault [default: measured]
    #[arg(long, value_name = "SECONDS")]
    fault_time: Option<f64>,
    /// Where the file for measuring is written [default: the current folder]
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = ".",
        hide_default_value = true
    )]
    dir: PathBuf,
    /// Size of that file
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "256MiB")]
    file_size: u64,
    /// Reads measured
    #[arg(long, default_value_t = 4_000, value_parser = clap::value_parser!(u32).range(1..))]
    reads: u32,
    /// Bytes of a page
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "8KiB")]
    page_size: u64,
    /// Faults that are avoided
    #[arg(long, requires = "accesses", conflicts_with = "trace")]
    faults_avoided: Option<i64>,
    /// Accesses over which they are avoided
    #[arg(long, requires = "faults_avoided")]
    accesses: Option<u64>,
    /// Trace on which two policies are compared
    #[arg(long, value_name = "FILE", requires_all = ["policy", "size"])]
    trace: Option<PathBuf>,
    /// The policy that is judged
    #[arg(long)]
    policy: Option<String>,
    /// The policy it is judged against
    #[arg(long, default_value = "neo4j")]
    against: String,
    /// Cache size
    #[arg(long)]
    size: Option<Size>,
    /// Seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

impl Budget {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self
            .fault_ratio
            .is_some_and(|ratio| !(0.0..=1.0).contains(&ratio))
        {
            return Err(Failure::usage("--fault-ratio is a share from 0 to 1"));
        }
        let fault = match self.fault_time {
            Some(seconds) if seconds > 0.0 => FaultTime::given(seconds),
            Some(_) => return Err(Failure::usage("--fault-time is above 0")),
            None => {
                eprintln!(
                    "measuring {} reads in a file of {}",
                    self.reads,
                    graven::format_bytes(self.file_size)
                );
                let page = self.page_size as usize;
                FaultTime::measure(
                    &self.dir,
                    self.file_size,
                    page,
                    self.reads as usize,
                    self.seed,
                )?
            }
        };
        let mut result = budget::Budget::new(fault, self.page_size, self.fault_ratio);
        if let (Some(accesses), Some(avoided)) = (self.accesses, self.faults_avoided) {
            result = result.with_saving(accesses, avoided);
        }
        if let (Some(trace), Some(policy), Some(size)) = (&self.trace, &self.policy, self.size) {
            let simulation = Simulation {
                traces: vec![trace.clone()],
                policies: vec![policy.clone(), self.against.clone()],
                sizes: vec![size],
                page_bytes: self.page_size,
                read: ReadOptions::default(),
                accesses: None,
                seed: self.seed,
                threads: 0,
            };
            let runs = simulation.run(&mut |_| ControlFlow::Continue(()))?;
            let avoided = runs[1].faults as i64 - runs[0].faults as i64;
            result = result.with_saving(runs[0].accesses, avoided);
        }
        let figures = || vec![result.figure()];
        self.output
            .deliver("budget", &result, figures, |out| table(out, &result))
    }
}

fn table(out: &mut dyn Write, budget: &budget::Budget) -> std::io::Result<()> {
    let fault = &budget.fault;
    let microseconds = |seconds: f64| seconds * 1e6;
    if fault.reads > 0 {
        writeln!(
            out,
            "a fault of {} takes {:.1} us ({} reads, {}; median {:.1} us, 99th percentile {:.1} \
                us)",
            graven::format_bytes(budget.page_bytes),
            microseconds(fault.mean),
            fault.reads,
            if fault.direct {
                "direct"
            } else {
                "through the kernel's cache"
            },
            microseconds(fault.p50),
            microseconds(fault.p99)
        )?;
    } else {
        writeln!(
            out,
            "a fault takes {:.1} us, as given",
            microseconds(fault.mean)
        )?;
    }
    writeln!(out, "{:>12} {:>22}", "fault ratio", "an access may cost")?;
    for allowance in &budget.allowances {
        writeln!(
            out,
            "{:>11.2}% {:>19.1} ns",
            allowance.fault_ratio * 100.0,
            allowance.seconds_per_access * 1e9
        )?;
    }
    if let Some(saving) = &budget.saving {
        writeln!(
            out,
            "{} faults avoided in {} accesses save {:.3} s: up to {:.1} ns an access more pay for \
                themselves",
            saving.faults_avoided,
            saving.accesses,
            saving.seconds_saved,
            saving.seconds_per_access * 1e9
        )?;
    }
    Ok(())
}
