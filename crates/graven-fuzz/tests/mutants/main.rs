//! Goal: the comparison finds every rule of the planner that lacks a side condition, within what continuous integration spends on it.
//!
//! A program of its own: what a mutant breaks fails assertions, and their messages are kept silent for the whole process.

use std::time::Instant;

use graven_fuzz::{Grammar, Job, mutants};

/// Statements for each of them; most are found by a few hundred.
const STATEMENTS: u64 = 20_000;

#[test]
fn rules_without_a_side_condition_are_found() {
    let start = Instant::now();
    let job = Job {
        seed: 1,
        threads: 2,
        grammar: Grammar::Whole,
        differences_max: 1,
    };
    let verdicts = mutants(&job, STATEMENTS, &|_| {}).expect("the machine works");
    let missed = verdicts.iter().filter(|verdict| verdict.found.is_none());
    let missed: Vec<String> = missed
        .map(|v| format!("{} ({})", v.mutant, v.rule))
        .collect();
    assert!(missed.is_empty(), "not found: {}", missed.join(", "));
    assert!(!verdicts.is_empty(), "there are no mutants");
    eprintln!(
        "{} mutants of planner rules: {:.1} s",
        verdicts.len(),
        start.elapsed().as_secs_f64()
    );
}
