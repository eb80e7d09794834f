//! `graven torture`: processes that commit are killed, and what they acknowledged must be there.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use graven_torture::process::{ProcessTorture, commit_forever};

use super::write_test::print;
use crate::argument;
use crate::failure::Failure;

/// Kill processes while they commit, on your own disk, and check that nothing acknowledged is lost.
#[derive(Args, Debug)]
#[command(
    after_help = "Makes DIR/torture.graven, which stays there if something is wrong. A kill tests log and recovery on this file \
system; the disk's own cache is only tested by cutting the power."
)]
pub(crate) struct Torture {
    /// Folder on the disk to be tested
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Processes to kill
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Stop after this many seconds
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Seed of the times of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Memory budget of the database
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "64MiB")]
    memory: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Be the process that commits, in this round
    #[arg(long, hide = true, value_name = "ROUND")]
    child: Option<u64>,
}

impl Torture {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let memory = self.memory;
        if let Some(round) = self.child {
            return commit_forever(&self.directory, round, memory).map_err(Failure::failed);
        }
        if !self.seconds.is_finite() || self.seconds <= 0.0 {
            return Err(Failure::usage("--seconds is more than 0"));
        }
        let program = std::env::current_exe().map_err(Failure::failed)?;
        let torture = ProcessTorture {
            directory: self.directory,
            rounds: self.rounds,
            time: Duration::from_secs_f64(self.seconds),
            seed: self.seed,
            memory,
        };
        let report = torture.run(&|path, round| {
            let mut command = Command::new(&program);
            command
                .arg("torture")
                .arg(path)
                .args(["--child", &round.to_string()])
                .args(["--memory", &memory.to_string()]);
            command
        });
        print(self.json, &report.map_err(Failure::failed)?)
    }
}
