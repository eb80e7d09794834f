//! `graven bench`: measurements, one file each.

mod cache;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Measure parts of Graven on this machine.
#[derive(Args, Debug)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Cache(cache::Cache),
}

impl Bench {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.what {
            What::Cache(cache) => cache.run(),
        }
    }
}
