//! The disk gets full: commits are refused by name, reads go on, and with room writes do.
//!
//! # How it works
//! Two lives of a child that writes until there is no room. The first is killed while it is
//! refused; what it was told must be there and what was refused must not. The second makes room
//! itself, must then be able to commit, and ends.
//!
//! No rights are needed: on a disk with much room the child may not make a file larger
//! (`RLIMIT_FSIZE`, of itself alone). On one with little room a file takes half of what is free;
//! the child removes it to make room.

use std::path::Path;
use std::time::Duration;

use graven_types::rng::SplitMix64;

use super::child::{Fill, Task};
use super::child_log::ChildProcess;
use super::{Ledger, MakeChild, ProcessReport, ProcessTorture, child};
use crate::Failure;

pub(super) const NAME: &str = "torture-full.graven";
/// A disk is small that has room for fewer times the limit of the size of files.
const FILES: u64 = 4;
/// Commits refused before the first child is killed.
const REFUSED: usize = 5;

impl ProcessTorture {
    /// Fills the disk twice; counts it.
    pub(super) fn fill(
        &self,
        child: &MakeChild<'_>,
        path: &Path,
        random: &mut SplitMix64,
        report: &mut ProcessReport,
    ) -> Result<(), Failure> {
        let mut ledger = Ledger::default();
        for life in 0..2 {
            let free = (self.free_bytes)(&self.directory).unwrap_or(u64::MAX);
            let ballast = child::ballast(path);
            let small = free < FILES * self.full_disk_bytes;
            if small {
                std::fs::write(&ballast, vec![1; (free / 2) as usize]).map_err(|error| {
                    Failure::Setup(format!("{} cannot be written: {error}", ballast.display()))
                })?;
            }
            let task = Task::Fill(Fill {
                round: life,
                bytes: (!small).then_some(self.full_disk_bytes),
                killed: life == 0,
            });
            let told = self.life(child, path, task, random);
            // Gone already where the child has made room.
            let _ = std::fs::remove_file(&ballast);
            ledger.note(told?, report);
            report.full_disks += 1;
            self.compare(path, life, &mut ledger, report)?;
        }
        ledger.settle(report);
        Ok(())
    }

    fn life(
        &self,
        child: &MakeChild<'_>,
        path: &Path,
        task: Task,
        random: &mut SplitMix64,
    ) -> Result<super::child_log::ChildLog, Failure> {
        let mut living = ChildProcess::start(child, path, task)?;
        match task {
            Task::Fill(Fill { killed: false, .. }) => living.finish(),
            _ => {
                living.wait_until_refused(REFUSED)?;
                std::thread::sleep(Duration::from_millis(random.below(200)));
                living.kill()
            }
        }
    }
}
