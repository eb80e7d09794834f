//! `graven salvage`: copies all that can be read of a damaged database.

use std::io::Write;

use clap::Args;
use graven::Database;

use super::copying::Copying;
use crate::failure::Failure;

/// Copy all that can be read of a damaged database to a new file, and list what is lost.
#[derive(Args, Debug)]
pub(crate) struct Salvage {
    #[command(flatten)]
    copying: Copying,
}

impl Salvage {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let copying = &self.copying;
        let report = Database::salvage(&copying.db, &copying.out, copying.config())?;
        let mut out = std::io::stdout().lock();
        for lost in &report.lost {
            match lost.ids {
                0 => writeln!(out, "lost     {}: {}", lost.place, lost.why)?,
                ids => writeln!(out, "lost     {}, {ids} ids: {}", lost.place, lost.why)?,
            }
        }
        copying.tell(&report, &mut out)?;
        match report.lost.len() {
            0 => Ok(()),
            _ => Err(Failure::AlreadyTold),
        }
    }
}
