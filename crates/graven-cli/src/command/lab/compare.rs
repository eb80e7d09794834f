//! `graven lab compare`: the verdicts of two runs of a report.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven_lab::run_file::RunFile;
use graven_lab::study;

use crate::failure::Failure;

/// Compare the verdicts of two run files of `graven lab report`.
#[derive(Args, Debug)]
#[command(
    after_help = "Ends with 1 if one run confirms what the other refutes. Undecided contradicts \
        nothing."
)]
pub(crate) struct Compare {
    /// Run file of one run
    first: PathBuf,
    /// Run file of another
    second: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Compare {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (first, second) = (RunFile::read(&self.first)?, RunFile::read(&self.second)?);
        let compared = study::compare(&first.results, &second.results)?;
        let mut out = std::io::stdout().lock();
        if self.json {
            let text = serde_json::to_string_pretty(&compared).map_err(Failure::failed)?;
            writeln!(out, "{text}")?;
        } else {
            for one in &compared {
                let mark = match (one.contradicts(), one.first == one.second) {
                    (true, _) => "CONTRADICTS",
                    (_, true) => "same",
                    _ => "one undecided",
                };
                writeln!(
                    out,
                    "{mark}: {} / {}: {}: {}",
                    one.first, one.second, one.report, one.claim
                )?;
            }
        }
        let contradicting = compared.iter().filter(|one| one.contradicts()).count();
        let same = compared
            .iter()
            .filter(|one| one.first == one.second)
            .count();
        eprintln!(
            "{} claims in both, {same} the same, {contradicting} contradict each other",
            compared.len()
        );
        match contradicting {
            0 => Ok(()),
            _ => Err(Failure::AlreadyTold),
        }
    }
}
