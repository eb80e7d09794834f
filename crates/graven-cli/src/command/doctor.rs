//! `graven doctor`: what commits cost on this machine, why, and what may be changed at which risk.

use std::path::PathBuf;

use clap::Args;
use graven_lab::doctor::{Report, measure::Effort};

use super::write_test::print;
use crate::failure::Failure;

/// Examine this machine: what commits and reads cost here, why, and what may be changed at which
/// risk.
#[derive(Args, Debug)]
#[command(
    after_help = "Writes a few megabytes into a file of its own in DIR and removes it. Exit code 1 \
        if anything is worse than a note."
)]
pub(crate) struct Doctor {
    /// Folder that databases live in
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Also measure sequential writes (half a gigabyte)
    #[arg(long)]
    measure: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let effort = match self.measure {
            true => Effort::Long,
            false => Effort::Short,
        };
        let report = Report::examine(&self.directory, effort).map_err(Failure::failed)?;
        print(self.json, &report)?;
        match report.healthy() {
            true => Ok(()),
            false => Err(Failure::AlreadyTold),
        }
    }
}
