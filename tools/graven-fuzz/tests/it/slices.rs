//! Generated statements, transactions and noise: a slice of each, and what the slice exercised.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Instant;

use graven_fuzz::{Hunt, Job, functions, noise, plans, print, run, transactions};

pub(crate) fn job(seed: u64) -> Job {
    Job {
        seed,
        threads: 2,
        differences_max: 1,
    }
}

/// Says how long a check took, also to `cargo xtask test`, which prints all of these and the sum.
pub(crate) fn took(what: &str, start: Instant) {
    let line = format!("{:.1} s {what}", start.elapsed().as_secs_f64());
    eprintln!("{line}");
    if let Some(path) = std::env::var_os("GRAVEN_CHECK_TIMES") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| writeln!(file, "{line}"));
        written.expect("the file that GRAVEN_CHECK_TIMES names can be written");
    }
}

#[test]
fn generated_queries_give_what_the_interpreter_says_leave_nothing_out_and_find_every_mutant() {
    const QUERIES: u64 = 30_000;
    let start = Instant::now();
    let hunt = Hunt::new().expect("a build with debug assertions");
    let mut report = run(&job(1), QUERIES, Some(&hunt)).expect("the machine works");
    assert!(
        report.differences.is_empty(),
        "{}",
        report.differences.join("\n")
    );
    // The generator would be worth nothing if its queries found nothing or were given up.
    assert!(report.compared > QUERIES * 2 / 3, "{report:?}");
    assert!(report.with_rows > report.compared / 4, "{report:?}");
    assert!(report.writing > report.compared / 20, "{report:?}");
    took("generated queries", start);
    let start = Instant::now();
    let calls = functions().expect("the machine works");
    assert!(
        calls.differences.is_empty(),
        "{}",
        calls.differences.join("\n")
    );
    took("function calls", start);
    report.coverage.add(calls.coverage);
    let holes = report.coverage.holes();
    assert!(
        holes.is_empty(),
        "too little was done; extend the generators, or say in coverage.rs why nothing can do \
            this:\n{}\n{}",
        holes.join("\n"),
        report.coverage
    );
    let verdicts = hunt.verdicts();
    let missed = verdicts.iter().filter(|verdict| verdict.found.is_none());
    let missed: Vec<String> = missed
        .map(|v| format!("{} of {}, in {} plans", v.mutant, v.rule, v.tried))
        .collect();
    assert!(
        missed.is_empty(),
        "rules of the planner lack a side condition, and no answer told:\n{}",
        missed.join("\n")
    );
}

#[test]
fn transactions_at_once_come_to_what_they_come_to_one_after_the_other() {
    let start = Instant::now();
    let tally = transactions(&job(1_000_000), 1_500).expect("the machine works");
    assert!(
        tally.differences.is_empty(),
        "{}",
        tally.differences.join("\n")
    );
    // It would be worth nothing if transactions did not meet, or only met.
    assert!(tally.committed > tally.transactions / 2, "{tally:?}");
    assert!(tally.replayed > tally.transactions / 10, "{tally:?}");
    assert!(tally.refused > tally.transactions / 40, "{tally:?}");
    assert!(tally.refused < tally.transactions / 4, "{tally:?}");
    took("transactions", start);
}

#[test]
fn damaged_statements_do_not_panic() {
    let start = Instant::now();
    let features = graven_tck::suite::kit().join("features");
    if !features.is_dir() {
        eprintln!(
            "SKIPPED: {} is missing; set GRAVEN_SHARED",
            features.display()
        );
        return;
    }
    let report = noise(&features, 6_000, 7).expect("the kit can be read");
    assert!(report.panics.is_empty(), "{:?}", report.panics);
    assert!(report.planned > report.tried / 20, "{report:?}");
    took("damaged statements", start);
}

#[test]
fn printed_statements_are_the_same_each_time_and_bring_their_graph() {
    let printed = || {
        let mut out = Vec::new();
        print(3, 400, &mut out).expect("memory takes all");
        String::from_utf8(out).expect("lines are text")
    };
    let text = printed();
    assert_eq!(text, printed());
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    let of_graphs = lines.iter().filter(|line| line["id"].is_string()).count();
    assert!((150..=400).contains(&of_graphs), "{of_graphs} statements");
    assert!(lines.len() > of_graphs + 1000, "{} lines", lines.len());
    for line in &lines {
        let setup = line["setup"].as_array().expect("a list of statements");
        assert!(
            setup
                .iter()
                .all(|it| it.as_str().is_some_and(|s| s.starts_with("CREATE ")))
        );
        assert!(line["statement"].as_str().is_some_and(|s| !s.is_empty()));
    }
}

#[test]
fn no_plan_does_more_than_twice_as_much_as_another_one() {
    const LIVES: u64 = 4;
    let start = Instant::now();
    let report = plans(&job(3), LIVES).expect("the machine works");
    assert!(report.bad.is_empty(), "{}", report.bad.join("\n"));
    // It would be worth nothing if all plans did the same, or few ran.
    assert!(report.ran > report.asked * 15, "{report:?}");
    assert!(report.beats > report.asked / 4, "{report:?}");
    took("plans", start);
}
