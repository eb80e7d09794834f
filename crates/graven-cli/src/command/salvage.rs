//! `graven salvage`: copies all that can be read of a damaged database.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven::{Config, Database};

use crate::argument;
use crate::failure::Failure;

/// Copy all that can be read of a damaged database to a new file, and list what is lost.
#[derive(Args, Debug)]
pub(crate) struct Salvage {
    /// The damaged file; it is not changed
    db: PathBuf,
    /// The new file
    out: PathBuf,
    /// The whole memory budget [default: a quarter of the memory there is]
    #[arg(long, value_parser = argument::bytes, value_name = "SIZE")]
    memory: Option<u64>,
}

impl Salvage {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut config = Config::default();
        if let Some(memory) = self.memory {
            config.memory = memory;
        }
        let report = Database::salvage(&self.db, &self.out, config)?;
        let mut out = std::io::stdout().lock();
        for lost in &report.lost {
            match lost.ids {
                0 => writeln!(out, "lost     {}: {}", lost.place, lost.why)?,
                ids => writeln!(out, "lost     {}, {ids} ids: {}", lost.place, lost.why)?,
            }
        }
        writeln!(
            out,
            "copied   {} nodes, {} relationships, {} values, {} indexes, {} constraints to {}",
            report.nodes,
            report.relationships,
            report.values,
            report.indexes,
            report.constraints,
            self.out.display()
        )?;
        match report.lost.len() {
            0 => Ok(()),
            _ => Err(Failure::AlreadyTold),
        }
    }
}
