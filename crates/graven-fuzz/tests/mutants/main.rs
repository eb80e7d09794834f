//! Goal: the comparison finds rules of the planner that lack a side condition, within what continuous integration spends on it.
//!
//! A program of its own: what a mutant breaks fails assertions, and their messages are kept silent for the whole process.

use std::time::Instant;

use graven_fuzz::{Grammar, Job, mutants};

/// Those that a few hundred statements find; `cargo xtask fuzz --mutants` looks for all.
const QUICKLY_FOUND: &[&str] = &[
    "UnusedInside",
    "TopNWithoutSkip",
    "DistinctEndsAnyPattern",
    "DistinctEndsRead",
];

/// Statements for each of them.
const STATEMENTS: u64 = 2_000;

#[test]
fn rules_without_a_side_condition_are_found() {
    let start = Instant::now();
    let job = Job {
        seed: 1,
        threads: 2,
        grammar: Grammar::Whole,
        differences_max: 1,
    };
    let wanted = |name: &str| QUICKLY_FOUND.contains(&name);
    let verdicts = mutants(&job, STATEMENTS, &wanted, &|_| {}).expect("the machine works");
    let missed = verdicts.iter().filter(|verdict| verdict.found.is_none());
    let missed: Vec<String> = missed
        .map(|v| format!("{} ({})", v.mutant, v.rule))
        .collect();
    assert!(missed.is_empty(), "not found: {}", missed.join(", "));
    assert_eq!(verdicts.len(), QUICKLY_FOUND.len());
    eprintln!(
        "{} mutants of planner rules: {:.1} s",
        verdicts.len(),
        start.elapsed().as_secs_f64()
    );
}
