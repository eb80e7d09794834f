//! What the commands share that copy a database to a new file.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use graven::{Config, SalvageReport};

use crate::argument;

/// From where, to where, and with how much memory.
#[derive(Args, Debug)]
pub(super) struct Copying {
    /// The file to copy; it is not changed
    pub(super) db: PathBuf,
    /// The new file
    pub(super) out: PathBuf,
    /// The whole memory budget [default: a quarter of the memory there is]
    #[arg(long, value_parser = argument::bytes, value_name = "SIZE")]
    memory: Option<u64>,
}

impl Copying {
    pub(super) fn config(&self) -> Config {
        let mut config = Config::default();
        if let Some(memory) = self.memory {
            config.memory = memory;
        }
        config
    }

    /// Says what was copied.
    pub(super) fn tell(&self, report: &SalvageReport, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "copied   {} nodes, {} relationships, {} values, {} indexes, {} constraints to {}",
            report.nodes,
            report.relationships,
            report.values,
            report.indexes,
            report.constraints,
            self.out.display()
        )
    }
}
