//! `graven backup`: copies a database, consistent and checked, while it may be used.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven::format_bytes;

use crate::failure::Failure;
use crate::open::Open;

/// Copy a database to a new file, consistent and checked; restoring is opening the copy.
#[derive(Args, Debug)]
pub(crate) struct Backup {
    #[command(flatten)]
    open: Open,
    /// The new file
    out: PathBuf,
}

impl Backup {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let bytes = self.open.database()?.backup(&self.out)?;
        let mut out = std::io::stdout().lock();
        let (to, size) = (self.out.display(), format_bytes(bytes));
        Ok(writeln!(out, "{to}: {size}, checked")?)
    }
}
