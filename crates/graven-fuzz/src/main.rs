//! `graven-fuzz`: the comparison as a program, for `cargo xtask fuzz`.

use std::process::ExitCode;
use std::time::Instant;

use graven_fuzz::{Job, noise, run, transactions};

const HELP: &str = "\
Usage: cargo xtask fuzz [OPTIONS]

  --queries N      generated queries to compare with the naive interpreter (100000)
  --transactions N transactions in random begun, several at once (50000)
  --statements N   damaged statements for the parser and the binder (200000)
  --seed S         first seed (1); each graph has its own, counted up from it
  --threads N      threads (all cores)
  --features DIR   statements to damage (the openCypher kit in the shared folder)
";

fn main() -> ExitCode {
    match fuzz(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn fuzz(mut args: impl Iterator<Item = String>) -> Result<bool, String> {
    let mut job = Job {
        seed: 1,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        differences_max: 5,
    };
    let (mut queries, mut statements, mut begun) = (100_000, 200_000, 50_000);
    let mut features = graven_tck::suite::kit().join("features");
    while let Some(name) = args.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            print!("{HELP}");
            return Ok(true);
        }
        let value = args
            .next()
            .ok_or_else(|| format!("{name} needs a value\n{HELP}"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{name} {value}: not a number"))
        };
        match name.as_str() {
            "--queries" => queries = number()?,
            "--statements" => statements = number()?,
            "--transactions" => begun = number()?,
            "--seed" => job.seed = number()?,
            "--threads" => job.threads = number()?.clamp(1, 1024) as usize,
            "--features" => features = value.into(),
            _ => return Err(HELP.to_owned()),
        }
    }
    let seed = job.seed;
    let start = Instant::now();
    let report = run(&job, queries)?;
    for difference in &report.differences {
        println!("DIFFERENT {difference}\n");
    }
    println!(
        "queries from seed {seed}: {} compared ({} wrote, {} gave rows), {} too large for the interpreter, {} differences, {:.0} s",
        report.compared,
        report.writing,
        report.with_rows,
        report.too_large,
        report.differences.len(),
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let tally = transactions(&job, begun)?;
    for difference in &tally.differences {
        println!("DIFFERENT {difference}\n");
    }
    println!(
        "transactions from seed {seed}: {} begun, {} statements, {} committed ({} run again one after the other), {} refused ({} and {} of them \
         for nothing that can be seen, at snapshot isolation and serialisable), {} failed, {} differences, {:.0} s",
        tally.transactions,
        tally.statements,
        tally.committed,
        tally.replayed,
        tally.refused,
        tally.spare_snapshot,
        tally.spare_serialisable,
        tally.failed,
        tally.differences.len(),
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let noise = noise(&features, statements, seed)?;
    for text in &noise.panics {
        println!("PANIC {text:?}");
    }
    println!(
        "damaged statements from seed {seed}: {} tried, {} planned, {} panics, {:.0} s",
        noise.tried,
        noise.planned,
        noise.panics.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(report.differences.is_empty() && tally.differences.is_empty() && noise.panics.is_empty())
}
