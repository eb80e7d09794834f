//! Goal: the library and the naive interpreter agree on a slice of the long run (`cargo xtask fuzz`), and damaged
//! statements do not make the parser, the binder or the planner panic.

use graven_fuzz::{Options, noise, run};

#[test]
fn generated_queries_give_what_the_interpreter_says() {
    let options = Options {
        seed: 1_000_000,
        queries: 1_500,
        threads: 2,
        differences_max: 1,
    };
    let report = run(&options).expect("the machine works");
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
