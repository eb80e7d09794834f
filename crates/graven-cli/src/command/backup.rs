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
    /// An earlier backup of the same database: only what changed since is copied; may be OUT
    /// itself, which is replaced when the new one is complete
    #[arg(long, value_name = "BACKUP")]
    since: Option<PathBuf>,
}

impl Backup {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let db = self.open.database()?;
        let mut out = std::io::stdout().lock();
        let to = self.out.display();
        match &self.since {
            None => {
                let size = format_bytes(db.backup(&self.out)?);
                writeln!(out, "{to}: {size}, checked")?;
            }
            Some(since) => {
                let (bytes, changed) = db.backup_since(&self.out, since)?;
                let (size, changed) = (format_bytes(bytes), format_bytes(changed));
                writeln!(out, "{to}: {size}, of which {changed} changed, checked")?;
            }
        }
        Ok(())
    }
}
