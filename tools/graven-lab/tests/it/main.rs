//! Goal: the update streams of the smallest LDBC graph, applied by four threads beside readers,
//! leave what a bulk load of the end state holds: all nodes, relationships and properties.

use std::path::PathBuf;

use graven::{Durability, TransactionOptions};
use graven_lab::updates::{Settings, run};

fn shared() -> PathBuf {
    std::env::var_os("GRAVEN_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    )
}

#[test]
fn update_streams_leave_what_a_bulk_load_holds() {
    let data = shared().join("data/ldbc-snb-tiny");
    if !data.is_dir() {
        eprintln!("SKIPPED: {} is missing; set GRAVEN_SHARED", data.display());
        return;
    }
    let work = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        writers: 4,
        readers: 2,
        memory: 32 << 20,
        options: TransactionOptions::default().durability(Durability::Off),
    };
    let report = run(&data, work.path(), &settings).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report.operations, 6_920);
    assert!(report.compared > 100_000, "{report:?}");
    assert!(
        report.differences.is_empty(),
        "{}",
        report.differences.join("\n")
    );
}

#[path = "../../examples/my_policy.rs"]
#[expect(dead_code, reason = "the example's main")]
mod my_policy;

/// Goal: a policy from outside the workspace's crates is taken by its name by simulator, live cache
/// and database, and the first two count the same.
#[test]
fn a_policy_of_ones_own_is_taken_by_name() {
    let lines = my_policy::run().unwrap_or_else(|e| panic!("{e}"));
    let ratio = |line: &String| {
        let number = line.split(' ').nth(1).expect("a number");
        number.parse::<f64>().expect("a number")
    };
    let [min, lru, simulated, live, database] = &lines[..] else {
        panic!("five lines, not {lines:?}");
    };
    assert!(lru.starts_with("lru: 0.0 %") && database.ends_with("runs under it"));
    assert_eq!(ratio(simulated), ratio(live));
    assert!(
        ratio(simulated) > 40.0 && ratio(simulated) <= ratio(min),
        "{lines:?}"
    );
    assert!(graven_lab::live_policies().contains(&"lifo".to_owned()));
}
