//! `graven checkpoint`: merges what was committed into the data file.

use std::io::Write;

use clap::Args;
use graven::format_bytes;

use crate::failure::Failure;
use crate::open::Open;

/// Fold what was committed since the last checkpoint into the data file, so that the log can be
/// cut.
#[derive(Args, Debug)]
pub(crate) struct Checkpoint {
    #[command(flatten)]
    open: Open,
}

impl Checkpoint {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let report = self.open.database()?.checkpoint()?;
        let mut out = std::io::stdout().lock();
        let Some(report) = report else {
            return Ok(writeln!(out, "nothing to do")?);
        };
        writeln!(
            out,
            "checkpoint {}: {} written, {} no longer needed, the file has {}",
            report.checkpoint,
            format_bytes(report.written_bytes),
            format_bytes(report.freed_bytes),
            format_bytes(report.file_bytes)
        )?;
        Ok(())
    }
}
