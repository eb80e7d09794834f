//! `graven lab`: experiments with replacement policies, one file each.

mod budget;
mod compare;
mod forecast;
mod founding;
mod generate;
mod livelock;
mod mrc;
mod options;
mod output;
mod policies;
mod record;
mod release;
mod replay;
mod report;
mod rerun;
mod simulate;
mod transactions;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Experiments with replacement policies: on traces, and on the cache itself.
#[derive(Args, Debug)]
pub(crate) struct Lab {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Simulate(simulate::Simulate),
    Transactions(transactions::Transactions),
    Mrc(mrc::Mrc),
    Livelock(livelock::Livelock),
    Budget(budget::Budget),
    Forecast(forecast::Forecast),
    Policies(policies::Policies),
    Founding(founding::Founding),
    Gen(generate::Generate),
    Record(record::Record),
    Release(release::Release),
    Replay(replay::Replay),
    Report(report::Report),
    Compare(compare::Compare),
    Rerun(rerun::Rerun),
}

impl Lab {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.what {
            What::Simulate(command) => command.run(),
            What::Transactions(command) => command.run(),
            What::Mrc(command) => command.run(),
            What::Livelock(command) => command.run(),
            What::Budget(command) => command.run(),
            What::Forecast(command) => command.run(),
            What::Policies(command) => command.run(),
            What::Founding(command) => command.run(),
            What::Gen(command) => command.run(),
            What::Record(command) => command.run(),
            What::Release(command) => command.run(),
            What::Replay(command) => command.run(),
            What::Report(command) => command.run(),
            What::Compare(command) => command.run(),
            What::Rerun(command) => command.run(),
        }
    }
}
