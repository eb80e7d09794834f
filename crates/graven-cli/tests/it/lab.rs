//! Goal: what `graven lab` promises from outside: JSON keys, sizes, figures and run files, errors
//! with advice.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{Said, graven};

/// A trace of text: a loop of ten pages with a hot one in between.
fn trace(folder: &Path) -> String {
    let pages = (0..400).map(|i| if i % 4 == 0 { 99 } else { i % 10 });
    let lines: Vec<String> = pages.map(|page| page.to_string()).collect();
    write(folder, "loop.csv", &lines.join("\n"))
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

pub(crate) fn lab(arguments: &[&str]) -> Said {
    graven(["lab"].iter().chain(arguments))
}

pub(crate) fn json(said: Said) -> Value {
    let said = said.ok();
    serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {}", said.out))
}

/// Whether the folder holds the run file and figures of a command.
fn has_files(folder: &Path, name: &str) {
    for ending in ["json", "svg", "png"] {
        let path: PathBuf = folder.join(format!("{name}.{ending}"));
        assert!(
            path.metadata().is_ok_and(|m| m.len() > 100),
            "{}",
            path.display()
        );
    }
}

#[test]
fn simulate_prints_hits_by_policy_and_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(folder.path());
    let arguments = [
        "simulate",
        "--trace",
        &trace,
        "--policy",
        "lru,graven",
        "--policy",
        "neo4j",
        "--size",
        "4,50%,32KiB",
    ];
    let runs = json(lab(&[&arguments[..], &["--json"]].concat()));
    let runs = runs.as_array().expect("a list");
    let pages: Vec<u64> = runs
        .iter()
        .map(|r| r["capacity_pages"].as_u64().expect("pages"))
        .collect();
    assert_eq!(
        pages,
        [4, 4, 4, 6, 6, 6, 4, 4, 4],
        "50 % of 11 pages is 6, 32 KiB are 4 pages of 8 KiB"
    );
    assert_eq!(runs[0]["trace"], "loop");
    assert_eq!(runs[1]["policy"], "graven");
    assert_eq!(
        (&runs[0]["accesses"], &runs[0]["unique"], &runs[0]["hits"]),
        (&400.into(), &11.into(), &99.into())
    );
    for run in runs {
        let count = |key: &str| run[key].as_u64().expect(key);
        assert_eq!(count("hits") + count("faults"), 400);
        for key in [
            "hit_ratio",
            "share_of_min",
            "gap_closed",
            "accesses_per_second",
        ] {
            assert!(run[key].is_f64(), "{key} in {run}");
        }
    }
    let table = lab(&arguments).ok().out;
    assert!(
        table.contains("loop: 400 accesses to 11 pages") && table.contains("share of min"),
        "{table}"
    );
    let summary = json(lab(&[
        "simulate",
        "--trace",
        &trace,
        "--policy",
        "lru,min",
        "--size",
        "4",
        "--summary",
        "--json",
    ]));
    assert_eq!(summary[0]["policy"], "min");
}

#[test]
fn simulate_leaves_a_run_file_that_can_be_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let trace = trace(folder.path());
    let out_text = out.display().to_string();
    let first = lab(&[
        "simulate",
        "--trace",
        &trace,
        "--policy",
        "lru,random",
        "--size",
        "3,5",
        "--json",
        "--out",
        &out_text,
    ]);
    let first = json(first);
    has_files(&out, "simulate");
    let again = json(lab(&[
        "rerun",
        &out.join("simulate.json").display().to_string(),
    ]));
    let hits = |runs: &Value| -> Vec<u64> {
        runs.as_array()
            .expect("runs")
            .iter()
            .map(|r| r["hits"].as_u64().expect("hits"))
            .collect()
    };
    assert_eq!(hits(&first), hits(&again));
    let said = lab(&["rerun", &trace]);
    assert!(
        said.code == 1 && said.err.contains("no run file"),
        "{said:?}"
    );
}

#[test]
fn simulate_reads_block_traces_and_names_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = write(
        folder.path(),
        "disk.csv",
        "1,hm,0,Read,0,16384,5\n2,hm,0,Write,8192,8192,5\n",
    );
    let runs = json(lab(&[
        "simulate", "--trace", &disk, "--policy", "fifo", "--size", "2", "--json",
    ]));
    assert_eq!(
        (&runs[0]["hits"], &runs[0]["accesses"], &runs[0]["writes"]),
        (&1.into(), &3.into(), &1.into())
    );
    let small = [
        "simulate",
        "--trace",
        &disk,
        "--policy",
        "fifo",
        "--size",
        "2",
        "--page-size",
        "4096",
        "--json",
    ];
    assert_eq!(json(lab(&small))[0]["accesses"], 6);
    let first = [&small[..], &["--accesses", "5"]].concat();
    let first = json(lab(&first));
    assert_eq!(
        (
            &first[0]["accesses"],
            &first[0]["unique"],
            &first[0]["writes"]
        ),
        (&5.into(), &4.into(), &1.into()),
        "the fifth access is the first of the second request"
    );
    let other = write(folder.path(), "x.parquet", "PAR1");
    for (arguments, code, advice) in [
        (
            vec!["--trace", "none.u64", "--policy", "lru", "--size", "4"],
            1,
            "none.u64: opening failed",
        ),
        (
            vec!["--trace", &disk, "--policy", "lur", "--size", "4"],
            1,
            "did you mean",
        ),
        (
            vec!["--trace", &disk, "--policy", "lru", "--size", "some"],
            2,
            "write pages (4096)",
        ),
        (
            vec!["--trace", &disk, "--policy", "lru", "--size", "1KiB"],
            1,
            "less than one page",
        ),
        (
            vec!["--trace", &other, "--policy", "lru", "--size", "4"],
            1,
            "unknown trace format",
        ),
        (
            vec!["--trace", "nofile", "--policy", "lru", "--size", "4"],
            1,
            "nofile: opening failed",
        ),
    ] {
        let said = lab(&[&["simulate"], &arguments[..]].concat());
        assert!(
            said.code == code && said.err.contains(advice),
            "{arguments:?}: {said:?}"
        );
    }
}

#[test]
fn gen_writes_traces_that_mrc_and_simulate_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let out = folder.path().join("out");
    let out_text = out.display().to_string();
    for name in ["a.gtrace.zst", "a.gtrace", "a.u64.zst"] {
        let file = path(name);
        let arguments = [
            "gen",
            "mixed:pages=500",
            &file,
            "--accesses",
            "20000",
            "--json",
            "--out",
            &out_text,
        ];
        let written = json(lab(&arguments));
        assert_eq!(written["accesses"], 20_000);
        assert!(
            written["scanned"].as_u64().expect("scanned") > 0,
            "{written}"
        );
        let runs = json(lab(&[
            "simulate",
            "--trace",
            &file,
            "--policy",
            "clock,lru",
            "--size",
            "10%",
            "--json",
        ]));
        assert_eq!(
            (&runs[0]["accesses"], &runs[0]["unique"]),
            (&20_000.into(), &500.into()),
            "{name}"
        );
    }
    has_files(&out, "gen");
    let curves = json(lab(&[
        "mrc",
        "--trace",
        &path("a.gtrace"),
        "--policy",
        "lru,s3fifo,min",
        "--points",
        "6",
        "--json",
        "--out",
        &out_text,
    ]));
    has_files(&out, "mrc");
    for curve in curves.as_array().expect("curves") {
        let points = curve["points"].as_array().expect("points");
        assert!(
            points.len() >= 5 && points.iter().all(|p| p["error"] == 0.0),
            "{curve}"
        );
        let last = points.last().expect("points");
        assert!(
            (last["miss_ratio"].as_f64().expect("ratio") - 500.0 / 20_000.0).abs() < 1e-9,
            "{curve}"
        );
    }
    let table = lab(&["mrc", "--trace", &path("a.gtrace"), "--points", "3"])
        .ok()
        .out;
    assert!(table.contains("exact, one pass"), "{table}");
    for (arguments, code, advice) in [
        (vec!["gen", "zip", "x.gtrace"], 2, "no workload"),
        (vec!["gen", "zipf", "x.txt"], 2, "ends in none of"),
        (vec!["mrc", "--trace", "none.u64"], 1, "opening failed"),
    ] {
        let said = lab(&arguments);
        assert!(said.code == code && said.err.contains(advice), "{said:?}");
    }
}

#[test]
fn livelock_names_the_smallest_cache_and_what_a_smaller_one_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let limits = json(lab(&[
        "livelock",
        "--policy",
        "gclock,graven",
        "--threads",
        "2",
        "--pins",
        "3",
        "--accesses",
        "300",
        "--wait",
        "40",
        "--json",
        "--out",
        &out,
    ]));
    has_files(folder.path(), "livelock");
    for limit in limits.as_array().expect("limits") {
        assert!(
            limit["smallest_frames"].as_u64().expect("frames") <= 6,
            "{limit}"
        );
        assert!(
            limit["clean"] == true
                && limit["error_below"]
                    .as_str()
                    .expect("text")
                    .contains("pinned")
        );
    }
    let said = lab(&["livelock", "--policy", "min", "--threads", "1"]);
    assert!(said.code == 1 && !said.err.is_empty(), "{said:?}");
}

#[test]
fn budget_does_the_sums_of_the_thesis() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    let given = json(lab(&[
        "budget",
        "--fault-time",
        "0.0001",
        "--accesses",
        "1000000000",
        "--faults-avoided",
        "12500000",
        "--json",
        "--out",
        &out,
    ]));
    assert!((given["saving"]["seconds_saved"].as_f64().expect("seconds") - 1250.0).abs() < 1e-6);
    has_files(&folder.path().join("out"), "budget");
    let trace = trace(folder.path());
    let dir = folder.path().display().to_string();
    let said = lab(&[
        "budget",
        "--dir",
        &dir,
        "--file-size",
        "4MiB",
        "--reads",
        "50",
        "--trace",
        &trace,
        "--size",
        "4",
        "--policy",
        "min",
    ]);
    let said = said.ok().out;
    assert!(
        said.contains("50 reads") && said.contains("97 faults avoided in 400 accesses"),
        "{said}"
    );
    assert_eq!(lab(&["budget", "--fault-time", "0"]).code, 2);
}

#[test]
fn replay_equals_the_simulator_and_record_names_its_cost() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().display().to_string();
    let out = folder.path().join("out").display().to_string();
    let runs = json(lab(&[
        "replay",
        "--workload",
        "zipf:pages=800",
        "--accesses",
        "8000",
        "--size",
        "300",
        "--page-size",
        "4KiB",
        "--policy",
        "graven,lru",
        "--evictor",
        "synchronous",
        "--io",
        "buffered",
        "--dir",
        &dir,
        "--json",
        "--out",
        &out,
    ]));
    has_files(&folder.path().join("out"), "replay");
    for run in runs.as_array().expect("runs") {
        let ratio = |key: &str| run[key].as_f64().expect(key);
        assert!(
            (ratio("hit_ratio") - ratio("simulated_hit_ratio")).abs() < 1e-12,
            "{run}"
        );
    }
    let network = crate::program::network();
    let trace = folder.path().join("r.gtrace.zst").display().to_string();
    let recorded = json(lab(&[
        "record",
        &network.db,
        &trace,
        "--query",
        "MATCH (p:Person) RETURN count(p.firstName)",
        "--rounds",
        "1",
        "--memory",
        "4MiB",
        "--json",
    ]));
    assert!(
        recorded["accesses"].as_u64().expect("accesses") > 0 && recorded["overhead"].is_f64(),
        "{recorded}"
    );
    let runs = json(lab(&[
        "simulate", "--trace", &trace, "--policy", "lru", "--size", "4", "--json",
    ]));
    assert_eq!(runs[0]["accesses"], recorded["accesses"]);
    let said = lab(&[
        "replay",
        "--workload",
        "loop",
        "--size",
        "10",
        "--page-size",
        "5000",
    ]);
    assert!(
        said.code == 1 && said.err.contains("4 KiB to 128 MiB"),
        "{said:?}"
    );
}

#[test]
fn nothing_to_do_is_a_mistake() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let trace = trace(folder.path());
    for arguments in [
        &[
            "lab", "simulate", "--trace", &trace, "--policy", "", "--size", "4",
        ][..],
        &["lab", "mrc", "--trace", &trace, "--policy", ","],
        &[
            "lab",
            "record",
            &at("no.graven"),
            &at("t.gtrace"),
            "--query",
            "RETURN 1",
            "--limit",
            "0",
        ],
        &["lab", "report", "thesis", "--dir", &at("nosuch")],
        &["torture", &at(""), "--rounds", "0"],
        &["torture", &at(""), "--seconds", "0"],
        &["torture", &at(""), "--memory", "1"],
        &["torture", &at(""), "--full-disk-mib", "0"],
        &["bench", "commit", &at(""), "--recovery=0"],
        &[
            "write-test",
            &at("s"),
            &at("l"),
            "33",
            "1",
            "2",
            "0",
            "--prepare",
            "--size",
            "1MiB",
        ],
    ] {
        let said = graven(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {said:?}");
        assert!(
            said.err.starts_with("error: "),
            "{arguments:?}: {}",
            said.err
        );
    }
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("a name").file_name())
        .filter(|name| name.to_string_lossy().starts_with("torture"))
        .collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}
