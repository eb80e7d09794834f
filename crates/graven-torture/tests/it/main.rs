//! Goal: a bounded torture in every test run: ten thousand crash points, each seed replaying exactly; mutants
//! are a command of their own (`cargo xtask torture --mutants`).

use graven_torture::{Options, Report, run, simulate};

#[test]
fn ten_thousand_crash_points_break_no_promise() {
    let report = run(&Options::default()).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.total() >= 10_000);
    let sites = [
        "log append",
        "log recycle",
        "log growth",
        "log sync",
        "superblock",
        "data sync",
    ];
    for site in sites {
        let hit = report.points.keys().any(|found| found.ends_with(site));
        assert!(hit, "no crash at {site}:\n{report}");
    }
    assert!(report.points.contains_key("recovery") && report.second_lives > 100);
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 12] {
        let once = || {
            let mut report = Report::default();
            simulate::run_seed(seed, None, &mut report).unwrap();
            (report.digest, report.points)
        };
        assert_eq!(once(), once(), "seed {seed}");
    }
}
