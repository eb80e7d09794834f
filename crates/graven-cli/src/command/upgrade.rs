//! `graven upgrade`: a copy of a database of the format before, in this one.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven::{Config, Database};

use crate::argument;
use crate::failure::Failure;

/// Copy a database of an older file format to a new file that this build reads.
#[derive(Args, Debug)]
pub(crate) struct Upgrade {
    /// The older file; it is not changed
    db: PathBuf,
    /// The new file
    out: PathBuf,
    /// The whole memory budget [default: a quarter of the memory there is]
    #[arg(long, value_parser = argument::bytes, value_name = "SIZE")]
    memory: Option<u64>,
}

impl Upgrade {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut config = Config::default();
        if let Some(memory) = self.memory {
            config.memory = memory;
        }
        let report = Database::upgrade(&self.db, &self.out, config)?;
        let mut out = std::io::stdout().lock();
        Ok(writeln!(
            out,
            "copied   {} nodes, {} relationships, {} values, {} indexes, {} constraints to {}",
            report.nodes,
            report.relationships,
            report.values,
            report.indexes,
            report.constraints,
            self.out.display()
        )?)
    }
}
