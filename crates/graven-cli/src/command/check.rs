//! `graven check`: reads and verifies everything a database holds.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;

use crate::failure::Failure;
use crate::open::Open;

/// Read and verify everything a database holds.
#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    open: Open,
}

impl Check {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let db = self.open.database()?;
        let bar = ProgressBar::new_spinner();
        let begun = Instant::now();
        let report = db.check(&mut |store| {
            if begun.elapsed() > Duration::from_secs(1) {
                bar.set_message(store.to_owned());
                bar.tick();
            }
        })?;
        bar.finish_and_clear();
        let mut out = std::io::stdout().lock();
        for (store, entries) in &report.checked {
            writeln!(out, "sound    {store}, {entries} entries")?;
        }
        for problem in &report.problems {
            writeln!(out, "damaged  {problem}")?;
        }
        match report.problems.len() {
            0 => Ok(writeln!(out, "{} is sound", self.open.db.display())?),
            1 => Err(Failure::failed("1 store is damaged")),
            n => Err(Failure::failed(format!("{n} stores are damaged"))),
        }
    }
}
