//! `graven lab`: experiments on traces of page accesses, one file each.

mod simulate;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Experiments on traces of page accesses.
#[derive(Args, Debug)]
pub(crate) struct Lab {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Simulate(simulate::Simulate),
}

impl Lab {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.what {
            What::Simulate(command) => command.run(),
        }
    }
}
