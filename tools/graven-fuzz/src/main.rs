//! `graven-fuzz`: the comparison as a program, for `cargo xtask fuzz`.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use graven_fuzz::{
    Hunt, Job, PER_GRAPH, crafted, damage, examples, functions, keywords, noise, plans, print, run,
    transactions,
};

const HELP: &str = "\
Usage: cargo xtask fuzz [OPTIONS]

  --queries N      generated queries to compare with the naive interpreter (100000)
  --transactions N transactions in random begun, several at once (50000)
  --statements N   damaged statements for the parser and the binder (200000)
  --crafted N      files with valid checksums and crafted content (100000)
  --coverage       print what the queries exercised; a cell at zero is a failure
  --mutants        instead: rules of the planner without a side condition, all to be found by
                   --queries N (20000) statements
  --plans N        instead: N databases with labels that are filled, grow and shrink; no plan may do
                   more than twice as much as one that chance makes
  --print          instead: --queries N statements and all function calls as lines of JSON, with
                   what makes their graphs, for bench/neo4j/compare.py
  --seed S         first seed (1); each graph has its own, counted up from it
  --differences N  stop after so many (5)
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
    let mut files = 100_000;
    let mut lives = None;
    let (mut coverage, mut hunts, mut prints, mut budget) = (false, false, false, 20_000);
    let mut features = graven_tck::suite::kit().join("features");
    while let Some(name) = args.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            print!("{HELP}");
            return Ok(true);
        }
        match name.as_str() {
            "--coverage" => {
                coverage = true;
                continue;
            }
            "--mutants" => {
                hunts = true;
                continue;
            }
            "--print" => {
                prints = true;
                continue;
            }
            _ => {}
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
            "--queries" => (queries, budget) = (number()?, number()?),
            "--statements" => statements = number()?,
            "--plans" => lives = Some(number()?),
            "--crafted" => files = number()?,
            "--transactions" => begun = number()?,
            "--differences" => job.differences_max = number()?.max(1) as usize,
            "--seed" => job.seed = number()?,
            "--threads" => job.threads = number()?.clamp(1, 1024) as usize,
            "--features" => features = value.into(),
            _ => return Err(HELP.to_owned()),
        }
    }
    if let Some(lives) = lives {
        return judge(&job, lives);
    }
    if hunts {
        return hunt(&job, budget);
    }
    if prints {
        let mut out = BufWriter::new(io::stdout().lock());
        let done = print(job.seed, queries, &mut out).and_then(|()| out.flush());
        return done.map(|()| true).map_err(|e| format!("statements: {e}"));
    }
    let seed = job.seed;
    let start = Instant::now();
    let mut report = run(&job, queries, None)?;
    for difference in &report.differences {
        println!("DIFFERENT {difference}\n");
    }
    println!(
        "queries from seed {seed}: {} compared ({} wrote, {} gave rows), {} too large for the \
            interpreter, {} differences, {:.0} s",
        report.compared,
        report.writing,
        report.with_rows,
        report.too_large,
        report.differences.len(),
        start.elapsed().as_secs_f64()
    );
    let start = Instant::now();
    let calls = functions()?;
    for difference in &calls.differences {
        println!("DIFFERENT {difference}");
    }
    println!(
        "functions: {} calls in several forms, {} differences, {:.0} s",
        calls.compared,
        calls.differences.len(),
        start.elapsed().as_secs_f64()
    );
    report.coverage.add(calls.coverage);
    let mut forms = true;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lists = [
        ("words as names", keywords()?),
        ("damaged texts and fields of maps", damage()?),
        ("examples of the documents", examples(&root)?),
    ];
    for (what, findings) in &lists {
        for wrong in &findings.wrong {
            println!("WRONG {wrong}");
        }
        println!(
            "{what}: {} tried, {} wrong",
            findings.tried,
            findings.wrong.len()
        );
        forms &= findings.wrong.is_empty();
    }
    let mut holes = Vec::new();
    if coverage {
        print!("{}", report.coverage);
        holes = report.coverage.holes();
        for hole in &holes {
            println!("AT ZERO {hole}");
        }
    }
    let start = Instant::now();
    let tally = transactions(&job, begun)?;
    for difference in &tally.differences {
        println!("DIFFERENT {difference}\n");
    }
    println!(
        "transactions from seed {seed}: {} begun, {} statements, {} committed ({} run again one \
            after the other), {} refused ({} and {} of them \
         for nothing that can be seen, at snapshot isolation and serialisable), {} failed, {} \
         differences, {:.0} s",
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
    let start = Instant::now();
    let crafted = crafted(files, seed)?;
    for panic in &crafted.panics {
        println!("PANIC {panic}");
    }
    println!(
        "crafted files from seed {seed}: {} tried, {} opened, {} sound, {} panics, {:.0} s",
        crafted.tried,
        crafted.opened,
        crafted.sound,
        crafted.panics.len(),
        start.elapsed().as_secs_f64()
    );
    let panics = noise.panics.is_empty() && crafted.panics.is_empty();
    Ok(report.differences.is_empty()
        && calls.differences.is_empty()
        && holes.is_empty()
        && forms
        && tally.differences.is_empty()
        && panics)
}

/// Compares plans with others for the same statements.
fn judge(job: &Job, lives: u64) -> Result<bool, String> {
    let start = Instant::now();
    let report = plans(job, lives)?;
    for bad in &report.bad {
        println!("BAD {bad}\n");
    }
    println!(
        "plans from seed {}: {} statements, {} plans; another one does less for {} statements, and \
            more than twice as much for {}; {} bad, {:.0} s",
        job.seed,
        report.asked,
        report.ran,
        report.beaten,
        report.beats,
        report.bad.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(report.bad.is_empty())
}

/// Looks for all mutants, by some statements after the others until all are found.
fn hunt(job: &Job, statements: u64) -> Result<bool, String> {
    const AT_A_TIME: u64 = 2_000;
    let start = Instant::now();
    let hunt = Hunt::new()?;
    let mut done = 0;
    let mut job = job.clone();
    while done < statements && !hunt.is_over() {
        let report = run(&job, AT_A_TIME, Some(&hunt))?;
        for difference in &report.differences {
            println!("DIFFERENT {difference}\n");
        }
        job.seed += AT_A_TIME / PER_GRAPH;
        done += AT_A_TIME;
    }
    let verdicts = hunt.verdicts();
    for verdict in &verdicts {
        let (rule, mutant, tried) = (verdict.rule, &verdict.mutant, verdict.tried);
        let line = verdict.how.lines().last().unwrap_or_default();
        let line: String = line.chars().take(160).collect();
        match verdict.found {
            Some((seed, number)) => println!(
                "found  {rule:22} {mutant:32} seed {seed}, statement {number}, {tried} tried: \
                    {line}"
            ),
            None => println!("MISSED {rule:22} {mutant:32} {tried} tried: {line}"),
        }
    }
    let found = verdicts.iter().filter(|v| v.found.is_some()).count();
    println!(
        "{found} of {} mutants found by {done} statements, {:.0} s",
        verdicts.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(found == verdicts.len())
}
