//! Goal: the three-hop benchmark gives right answers under every policy at once, and its JSON keeps
//! its keys.

use std::path::{Path, PathBuf};

use crate::program::{graven, network};

fn shared() -> PathBuf {
    std::env::var_os("GRAVEN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    )
}

#[test]
fn runs_are_json_lines_with_stable_keys() {
    let params = network()
        .tables
        .join("three-hop-params.csv")
        .display()
        .to_string();
    let said = graven([
        "bench",
        "three-hop",
        &network().db,
        "--params",
        &params,
        "--cache",
        "1MiB,4MiB",
        "--threads",
        "1,2",
        "--policy",
        "lru,gclock:max=3,init=0",
        "--passes",
        "1",
        "--json",
    ])
    .ok();
    let lines: Vec<serde_json::Value> = said
        .out
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 8);
    for line in &lines {
        for key in [
            "throughput_qps",
            "p50_ms",
            "p99_ms",
            "hit_ratio",
            "faults",
            "device_read_bytes",
            "rss_peak_bytes",
            "wrong",
            "faults_per_query",
            "policy",
            "cache_bytes",
            "threads",
            "io",
        ] {
            assert!(!line[key].is_null(), "{key}: {line}");
        }
        // Promise P1: the budget, and a fixed base for code, stacks, rings and the allocator.
        let (peak, budget) = (
            line["rss_peak_bytes"].as_u64(),
            line["cache_bytes"].as_u64(),
        );
        assert!(peak <= budget.map(|b| b + (40 << 20)), "{line}");
        assert!(
            line["kinds"]
                .as_array()
                .is_some_and(|kinds| !kinds.is_empty())
        );
    }
    let table = graven([
        "bench",
        "three-hop",
        &network().db,
        "--params",
        &params,
        "--batch",
        "8",
        "--passes",
        "1",
    ])
    .ok();
    assert!(table.out.lines().count() == 3, "{}", table.out);
}

#[test]
fn a_wrong_answer_is_exit_code_one() {
    let params = network()
        .tables
        .join("three-hop-params.csv")
        .display()
        .to_string();
    let text = std::fs::read_to_string(&params).expect("made");
    let id = text
        .lines()
        .nth(1)
        .and_then(|l| l.split([',', '|']).nth(1))
        .expect("a start");
    let expected = network().tables.join("wrong.csv");
    std::fs::write(&expected, format!("personId,count_1_to_3\n{id},-5\n")).expect("written");
    let expected = expected.display().to_string();
    let said = graven([
        "bench",
        "three-hop",
        &network().db,
        "--params",
        &params,
        "--expected",
        &expected,
        "--passes",
        "1",
    ]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("1 answers are wrong"), "{}", said.err);
}

#[test]
fn the_demo_goes_from_nothing_to_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("demo").display().to_string();
    let args = [
        "demo",
        "--dir",
        &dir,
        "--scale",
        "0.05",
        "--seconds",
        "1",
        "--threads",
        "1,2",
    ];
    let said = graven(args.iter().chain(&["--policy", "random,lru"])).ok();
    assert!(
        said.out.contains("0 of ") && said.out.contains("report.html"),
        "{}",
        said.out
    );
    let page = std::fs::read_to_string(folder.path().join("demo/report.html")).expect("written");
    assert!(page.contains("Throughput against threads") && !page.contains("NaN"));
    let runs = std::fs::read_to_string(folder.path().join("demo/report.json")).expect("written");
    let runs: serde_json::Value = serde_json::from_str(&runs).expect("JSON");
    // So little data makes one budget, the least: with direct reads and with buffered ones, two
    // policies, two thread counts.
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(8));
    let again = graven(["demo", "--dir", &dir]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("holds a demo already"), "{}", again.err);
}

/// A small part of the matrix of `cargo xtask three-hop`, on a graph whose answers were computed
/// elsewhere.
#[test]
fn expected_answers_hold_under_every_policy() {
    let data = shared().join("data/ldbc-snb-sf0.1-official-partial");
    if !data.is_dir() {
        eprintln!("SKIPPED: {} is not there", data.display());
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let db = folder.path().join("sf0.1.graven").display().to_string();
    graven(["import", &db, "--ldbc", &data.display().to_string()]).ok();
    let file = |name: &str| data.join(name).display().to_string();
    let (params, expected) = (file("three-hop-params.csv"), file("three-hop-expected.csv"));
    for settings in [
        [
            "--cache",
            "1MiB",
            "--threads",
            "3",
            "--policy",
            "all",
            "--io",
            "direct",
        ],
        [
            "--cache",
            "1MiB,64MiB",
            "--threads",
            "1,4",
            "--policy",
            "gclock",
            "--io",
            "direct,buffered",
        ],
    ] {
        let bench = [
            "bench",
            "three-hop",
            &db,
            "--params",
            &params,
            "--expected",
            &expected,
        ];
        let once = ["--warm-up", "0", "--passes", "1", "--json"];
        let said = graven(bench.iter().chain(&settings).chain(&once)).ok();
        for line in said.out.lines() {
            let run: serde_json::Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(run["wrong"], 0, "{run}");
            assert!(run["checked"].as_u64().is_some_and(|n| n > 0), "{run}");
        }
    }
}

/// Goal: the thirty-one questions complete on a small network within 16 MiB and 40 MiB beside, and
/// are drawn.
#[test]
fn thirty_one_questions_complete_in_small_memory() {
    let folder = tempfile::tempdir().expect("folder");
    let figure = folder.path().join("bi.svg").display().to_string();
    let said = graven([
        "bench",
        "bi",
        &network().db,
        "--memory",
        "16MiB,24MiB",
        "--rounds",
        "0",
        "--json",
        "--svg",
        &figure,
    ])
    .ok();
    let lines: Vec<serde_json::Value> = said
        .out
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 62);
    for line in &lines {
        assert!(line["error"].is_null(), "{line}");
        let bytes = |key: &str| {
            line[key]
                .as_u64()
                .unwrap_or_else(|| panic!("{key}: {line}"))
        };
        assert!(
            bytes("physical_bytes") <= bytes("physical_peak_bytes"),
            "{line}"
        );
        assert!(
            bytes("physical_peak_bytes") <= bytes("memory_bytes") + (40 << 20),
            "{line}"
        );
    }
    let figure = std::fs::read_to_string(&figure).expect("drawn");
    assert!(
        figure.starts_with("<svg") && figure.contains("Q31"),
        "{figure}"
    );
    let absent = graven(["bench", "bi", "no-such.graven"]);
    assert_eq!(absent.code, 1, "{}", absent.err);
}
