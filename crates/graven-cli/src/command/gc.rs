//! `graven gc`: deletes from object storage what no snapshot needs any more.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use graven::{collect_garbage, format_bytes};

use crate::failure::Failure;

/// Delete from object storage what neither the newest snapshot holds nor a reader needed of late.
#[derive(Args, Debug)]
pub(crate) struct Gc {
    /// Where snapshots were published
    url: String,
    /// How long an older snapshot stays after a newer one took its place, and what an interrupted
    /// publish left; readers that are behind for longer fail. Longer than a publish takes; 0s only
    /// where none runs
    #[arg(long, value_parser = grace, value_name = "TIME", default_value = "24h")]
    grace: Duration,
    /// Delete nothing, only tell
    #[arg(long)]
    dry_run: bool,
}

/// A time, or none at all.
fn grace(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        other => crate::argument::time(other),
    }
}

impl Gc {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let done = collect_garbage(&self.url, self.grace, self.dry_run)?;
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}: {} {} snapshots and {} chunks ({}), {} snapshots and {} chunks stay",
            self.url,
            if self.dry_run {
                "would delete"
            } else {
                "deleted"
            },
            done.deleted_snapshots,
            done.deleted_chunks,
            format_bytes(done.deleted_bytes),
            done.kept_snapshots,
            done.kept_chunks
        )?;
        Ok(())
    }
}
