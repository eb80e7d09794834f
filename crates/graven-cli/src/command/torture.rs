//! `graven torture`: processes that commit and make checkpoints are killed, the disk gets full, and
//! what was acknowledged must be there.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::Args;
use graven_torture::process::child::{self, Task};
use graven_torture::process::{MEMORY_MIN, ProcessTorture};

use super::write_test::print;
use crate::argument;
use crate::failure::Failure;

/// Kill processes while they commit and make checkpoints, fill the disk, and check that nothing
/// acknowledged is lost.
#[derive(Args, Debug)]
#[command(
    after_help = "Makes DIR/torture.graven and DIR/torture-full.graven, which stay there if \
        something is wrong. In every second round a \
process makes checkpoints beside the writers and is killed too. A kill tests log, recovery and \
checkpoints on this file system; \
the disk's own cache is only tested by cutting the power."
)]
pub(crate) struct Torture {
    /// Folder on the disk to be tested
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Rounds of kills
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// No new round of kills after this many seconds
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Seed of the times of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Memory budget of the database
    #[arg(long, value_name = "SIZE", value_parser = argument::bytes, default_value = "64MiB")]
    memory: u64,
    /// The disk counts as full when a file has grown by so many MiB; a disk with less room than
    /// that is filled itself
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    full_disk_mib: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Be the process that does this
    #[arg(long, hide = true, value_name = "TASK")]
    child: Option<Task>,
}

impl Torture {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let memory = self.memory;
        if let Some(task) = self.child {
            return child::run(&self.directory, task, memory).map_err(Failure::failed);
        }
        if memory < MEMORY_MIN {
            return Err(Failure::usage(format!(
                "--memory is at least {}",
                graven::format_bytes(MEMORY_MIN)
            )));
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
            full_disk_bytes: self.full_disk_mib << 20,
            free_bytes: graven_lab::doctor::free_bytes,
        };
        let report = torture.run(&|path, task| {
            let mut command = Command::new(&program);
            command
                .arg("torture")
                .arg(path)
                .args(["--child", &task.to_string()])
                .args(["--memory", &memory.to_string()]);
            command
        });
        print(self.json, &report.map_err(Failure::failed)?)
    }
}
