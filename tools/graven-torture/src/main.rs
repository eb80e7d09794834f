//! `graven-torture`: the simulation as a program, for `cargo xtask torture`.
//!
//! `graven-torture [--seed S] [--points N] [--minutes M] [--mutants]`

use std::process::ExitCode;
use std::time::Duration;

use graven_torture::{Options, mutants, run};

/// Crash points for a mutant at most: some show at a certain moment only, and one that is caught
/// ends its runs.
const MUTANT_POINTS: u64 = 40_000;

fn main() -> ExitCode {
    match torture(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::from(2)
        }
    }
}

fn torture(mut args: impl Iterator<Item = String>) -> Result<bool, String> {
    let mut options = Options::default();
    let (mut with_mutants, mut points) = (false, None);
    while let Some(name) = args.next() {
        if name == "--mutants" {
            with_mutants = true;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{name} {value}: not a number"))
        };
        match name.as_str() {
            "--seed" => options.seed = number()?,
            "--points" => points = Some(number()?),
            "--minutes" => options.time = Duration::from_secs(number()? * 60),
            _ => return Err(format!("unknown option {name}")),
        }
    }
    if with_mutants {
        return judge(points.unwrap_or(MUTANT_POINTS));
    }
    options.points = points.unwrap_or(options.points);
    match run(&options) {
        Ok(report) => {
            print!("{report}");
            let missed = report.missed();
            // A few seeds do not do everything.
            let enough = options.points >= Options::default().points;
            if enough && !missed.is_empty() {
                println!("NOT HIT {}", missed.join(", "));
            }
            Ok(!enough || missed.is_empty())
        }
        Err(failure) => {
            println!("BROKEN {failure}");
            Ok(false)
        }
    }
}

/// The beginning of `text`, for a list.
fn in_a_line(text: &str) -> String {
    const CHARACTERS: usize = 160;
    let mut short: String = text.chars().take(CHARACTERS).collect();
    if let Some(end) = short.find('\n') {
        short.truncate(end);
    }
    if short.len() < text.trim_end().len() {
        short.push_str(" ...");
    }
    short
}

fn judge(points: u64) -> Result<bool, String> {
    let verdicts = mutants::run_all(points).map_err(|failure| failure.to_string())?;
    for verdict in &verdicts {
        match &verdict.caught {
            Some(how) => println!("caught   {}: {}", verdict.mutant, in_a_line(how)),
            None => println!("MISSED   {}", verdict.mutant),
        }
    }
    Ok(verdicts.iter().all(|verdict| verdict.caught.is_some()))
}
