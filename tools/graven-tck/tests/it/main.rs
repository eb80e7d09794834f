//! The number of openCypher scenarios that pass never falls.

use graven_tck::run::Reopen;
use graven_tck::suite::{kit, temporary_folder};
use graven_tck::{Settings, feature, run_all};

/// Scenarios of the kit that pass. Raise it when more do.
const PASSED_MIN: usize = 2472;

#[test]
fn as_many_scenarios_pass_as_ever() {
    let kit = kit();
    if !kit.join("features").is_dir() {
        eprintln!("SKIPPED: no openCypher scenarios at {}", kit.display());
        return;
    }
    let scenarios = feature::read_folder(&kit.join("features")).expect("feature files");
    assert_eq!(scenarios.len(), 2472, "scenarios, outlines expanded");
    let folder = temporary_folder().expect("temporary folder");
    let settings = Settings {
        memory: 16 << 20,
        reopen: Reopen::Never,
        graphs: kit.join("graphs"),
    };
    let report = run_all(&scenarios, folder.path(), &settings);
    for (feature, name, reason) in &report.failures {
        println!("FAIL {feature}: {name}\n  {reason}");
    }
    println!("{report}");
    assert!(
        report.passed() >= PASSED_MIN,
        "fewer than {PASSED_MIN} pass"
    );
}
