//! Goal: a bounded torture in every test run: ten thousand crash points, each seed replaying
//! exactly; mutants are a command of their own (`cargo xtask torture --mutants`).

use graven_torture::{Options, Report, run, simulate};

#[test]
fn ten_thousand_crash_points_break_no_promise() {
    let report = run(&Options::default()).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.total() >= 10_000);
    assert_eq!(report.missed(), Vec::<&str>::new(), "{report}");
    assert!(report.second_lives > 100);
}

#[test]
fn a_seed_replays_exactly() {
    // One of each kind: a failing log, bulk load, heavy, full spill file, backup.
    for seed in [3, 12, 4, 6, 8] {
        let once = || {
            let mut report = Report::default();
            simulate::run_seed(seed, None, &mut report).unwrap();
            (report.digest, report.points)
        };
        assert_eq!(once(), once(), "seed {seed}");
    }
}
