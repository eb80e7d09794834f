//! `graven bench`: measurements, one file each.

mod bi;
mod cache;
mod commit;
mod reads;
mod statements;
pub(crate) mod three_hop;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Measure Graven on this machine.
#[derive(Args, Debug)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    ThreeHop(three_hop::ThreeHop),
    Bi(bi::Bi),
    Cache(cache::Cache),
    Commit(commit::Commit),
    Reads(reads::Reads),
    Statements(statements::Statements),
}

impl Bench {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.what {
            What::ThreeHop(command) => command.run(),
            What::Bi(command) => command.run(),
            What::Cache(command) => command.run(),
            What::Commit(command) => command.run(),
            What::Reads(command) => command.run(),
            What::Statements(command) => command.run(),
        }
    }
}
