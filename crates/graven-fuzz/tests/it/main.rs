//! Goal: the library and the naive interpreter agree on a slice of the long run (`cargo xtask fuzz`), also where several transactions are open at
//! once, and damaged statements do not make the parser, the binder or the planner panic.

use graven_fuzz::{Job, noise, run, transactions};

fn job(seed: u64) -> Job {
    Job {
        seed,
        threads: 2,
        differences_max: 1,
    }
}

#[test]
fn generated_queries_give_what_the_interpreter_says() {
    let report = run(&job(1_000_000), 1_500).expect("the machine works");
    assert!(
        report.differences.is_empty(),
        "{}",
        report.differences.join("\n")
    );
    // The generator would be worth nothing if its queries found nothing or were given up.
    assert!(report.compared > 1_000, "{report:?}");
    assert!(report.with_rows > report.compared / 4, "{report:?}");
    assert!(report.writing > report.compared / 20, "{report:?}");
}

#[test]
fn transactions_at_once_come_to_what_they_come_to_one_after_the_other() {
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
}

#[test]
fn damaged_statements_do_not_panic() {
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
}
