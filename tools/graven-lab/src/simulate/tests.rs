//! Goal: simulated results are the known ones, in order and complete; bad settings are errors with
//! advice.

use super::*;
use graven_trace::{FLAG_SCAN, dense};
use graven_types::rng::SplitMix64;

fn trace(folder: &Path, name: &str, pages: Vec<u64>) -> PathBuf {
    let path = folder.join(format!("{name}.u64.zst"));
    let trace = graven_trace::Trace {
        pages,
        ..graven_trace::Trace::default()
    };
    graven_trace::raw::write(&path, &trace).unwrap();
    path
}

/// A loop of 10 pages with a hot page in between.
fn pages() -> Vec<u64> {
    (0..400u64)
        .map(|i| if i % 4 == 0 { 99 << 48 } else { i % 10 })
        .collect()
}

fn simulation(folder: &Path) -> Simulation {
    Simulation {
        traces: vec![trace(folder, "loop", pages())],
        policies: ["lru", "min", "count-to-2", "clock"]
            .map(str::to_owned)
            .to_vec(),
        sizes: vec![Size::Pages(4), Size::Share(1.0), Size::Bytes(3 * 8192 + 1)],
        page_bytes: 8192,
        read: ReadOptions::default(),
        accesses: None,
        seed: 1,
        threads: 2,
    }
}

#[test]
fn results_are_complete_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let runs = simulation(folder.path())
        .run(&mut |progress| {
            seen.push((progress.done, progress.total));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(seen.last(), Some(&(18, 18)));
    let keys: Vec<_> = runs
        .iter()
        .map(|r| (r.capacity_pages, r.policy.as_str()))
        .collect();
    let policies = ["lru", "min", "count-to-2", "clock"];
    let expected: Vec<_> = [4, 11, 3]
        .iter()
        .flat_map(|&c| policies.iter().map(move |&p| (c, p)))
        .collect();
    assert_eq!(keys, expected);
    for run in &runs {
        assert_eq!(
            (run.trace.as_str(), run.accesses, run.unique),
            ("loop", 400, 11)
        );
        assert_eq!(run.hits + run.faults, 400);
        assert!(run.share_of_min <= 1.0 && run.hit_ratio < 1.0);
    }
    assert!(
        runs[4..8]
            .iter()
            .all(|run| run.hits == 400 - 11 && run.gap_closed.is_none())
    );
    assert_eq!(runs[2].hits, runs[3].hits);
    assert_eq!(runs[2].spec, "neo4j:count=2,arm=global");
    assert_eq!(runs[1].gap_closed, Some(1.0));
    let json = serde_json::to_value(&runs).unwrap();
    for key in [
        "trace",
        "policy",
        "capacity_pages",
        "accesses",
        "unique",
        "hits",
    ] {
        assert!(!json[0][key].is_null(), "{key}");
    }
}

#[test]
fn lru_curve_equals_lru_at_every_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut simulation = simulation(folder.path());
    simulation.policies = vec!["lru".to_owned()];
    simulation.sizes = (1..=11).map(Size::Pages).collect();
    let runs = simulation.run(&mut |_| ControlFlow::Continue(())).unwrap();
    let dense = dense::map(&pages());
    let curve = LruCurve::of(&dense.pages, dense.unique);
    let hits: Vec<u64> = runs.iter().map(|run| run.hits).collect();
    assert_eq!(hits, curve.hits[1..]);
    assert_eq!(curve.hits[0], 0);
}

#[test]
fn bad_settings_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let message = |change: &dyn Fn(&mut Simulation)| {
        let mut simulation = simulation(folder.path());
        change(&mut simulation);
        simulation
            .run(&mut |_| ControlFlow::Continue(()))
            .unwrap_err()
            .to_string()
    };
    assert!(message(&|s| s.policies.push("clok".into())).contains("did you mean \"clock\""));
    assert!(message(&|s| s.sizes = vec![Size::Bytes(100)]).contains("less than one page"));
    assert!(message(&|s| s.traces.push("none.u64".into())).contains("opening failed"));
    assert!(message(&|s| s.traces = vec![trace(folder.path(), "empty", vec![])]).contains("empty"));
    let stopped = simulation(folder.path()).run(&mut |_| ControlFlow::Break(()));
    assert!(stopped.unwrap_err().to_string().contains("interrupted"));
}

#[test]
fn sizes_are_read() {
    let size = |text: &str| text.parse::<Size>();
    assert_eq!(size("4096"), Ok(Size::Pages(4096)));
    assert_eq!(size("0.5%"), Ok(Size::Share(0.005)));
    assert_eq!(size("64MiB"), Ok(Size::Bytes(64 << 20)));
    for bad in ["0", "0%", "101%", "many", "-1", ""] {
        assert!(
            size(bad).unwrap_err().contains("write pages (4096)"),
            "{bad}"
        );
    }
    assert_eq!(Size::Share(0.001).pages(10, 1).unwrap(), 1);
    assert_eq!(Size::Share(0.25).pages(10, 1).unwrap(), 3);
}

/// Goal: distances stay right when positions are renumbered and pages keep appearing.
#[test]
fn stack_distances_survive_renumbering() {
    let mut stack: Vec<u32> = Vec::new();
    let mut distances = StackDistances::default();
    let mut random = SplitMix64::new(1);
    for i in 0..20_000u32 {
        let page = random.below(u64::from(1 + i / 20)) as u32;
        let naive = stack.iter().rev().position(|&p| p == page);
        if let Some(depth) = naive {
            stack.remove(stack.len() - 1 - depth);
        }
        stack.push(page);
        assert_eq!(
            distances.access(page),
            naive.map(|depth| depth + 1),
            "access {i}"
        );
    }
}

/// Goal: a scan's pages do not push out what a policy that heeds the hint keeps; without hints they
/// do.
#[test]
fn scan_hints_are_heeded() {
    let folder = tempfile::tempdir().unwrap();
    let hot = |i: u64| i % 20;
    let pages: Vec<u64> = (0..4_000)
        .map(|i| if i % 2 == 0 { hot(i / 2) } else { 1_000 + i })
        .collect();
    let flags = pages
        .iter()
        .map(|&p| if p >= 1_000 { FLAG_SCAN } else { 0 })
        .collect();
    let with = graven_trace::Trace {
        pages: pages.clone(),
        flags: Some(flags),
        ..Default::default()
    };
    let path = folder.path().join("scan.u64.zst");
    graven_trace::raw::write(&path, &with).unwrap();
    let run = |trace: PathBuf| {
        let simulation = Simulation {
            traces: vec![trace],
            policies: vec!["lru".into()],
            sizes: vec![Size::Pages(25)],
            ..simulation(folder.path())
        };
        simulation.run(&mut |_| ControlFlow::Continue(())).unwrap()[0].hits
    };
    assert_eq!(run(trace(folder.path(), "plain", pages)), 0);
    assert_eq!(run(path), 2_000 - 20);
}

#[test]
fn summaries_are_means_over_pairs_with_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let runs = simulation(folder.path())
        .run(&mut |_| ControlFlow::Continue(()))
        .unwrap();
    let summaries = summarize(&runs);
    let min = summaries.iter().find(|s| s.policy == "min").unwrap();
    assert_eq!(
        (min.pairs, min.mean_gap_closed),
        (2, 1.0),
        "the size of all pages has no gap"
    );
    assert_eq!(summaries[0].policy, "min");
    assert!(figures(&runs)[0].svg().contains("miss ratio"));
}

/// A program that keeps what it is asked in `request`, says `said` and ends with `code`.
fn interpreter(folder: &Path, said: &str, code: u8) -> Spark {
    use std::os::unix::fs::PermissionsExt;
    let [python, answer, request] = ["python", "answer", "request"].map(|name| folder.join(name));
    std::fs::write(&answer, said).unwrap();
    let text = format!(
        "#!/bin/sh\ncat > '{}'\necho 'no such master' >&2\ncat '{}'\nexit {code}\n",
        request.display(),
        answer.display()
    );
    std::fs::write(&python, text).unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    Spark {
        python,
        master: Some("local[2]".to_owned()),
    }
}

#[test]
fn what_executors_count_makes_the_same_runs() {
    let folder = tempfile::tempdir().unwrap();
    let simulation = Simulation {
        policies: vec!["lru".into(), "clock".into()],
        sizes: vec![Size::Pages(4), Size::Share(0.5)],
        ..simulation(folder.path())
    };
    let mut expected = simulation.run(&mut |_| ControlFlow::Continue(())).unwrap();
    // The program answers what a replay of the jobs counts: two yardsticks and two policies a size.
    let trace = graven_trace::read(&simulation.traces[0]).unwrap();
    let trace = ReplayTrace::new(&trace);
    let mut answers = Vec::new();
    for pages in [4, trace.unique() / 2 + trace.unique() % 2] {
        for policy in ["min", BASELINE, "lru", "clock"] {
            let spec = Spec::parse(policy).unwrap();
            let counted = trace.replay(&spec, pages, 1, || 0.0).unwrap();
            answers.push(serde_json::json!({
                "hits": counted.hits,
                "evictions": counted.evictions,
                "figures": counted.figures,
                "seconds": 0.5,
            }));
        }
    }
    let said = serde_json::to_string(&answers).unwrap();
    let found = simulation
        .run_on(&interpreter(folder.path(), &said, 0))
        .unwrap();
    for (run, found) in expected.iter_mut().zip(&found) {
        // Times are those of the executors.
        run.seconds = 0.5;
        run.accesses_per_second = 800.0;
        run.total_accesses_per_second = found.total_accesses_per_second;
        (run.read_seconds, run.map_seconds) = (found.read_seconds, found.map_seconds);
    }
    assert_eq!(expected, found);
    let request = std::fs::read(folder.path().join("request")).unwrap();
    let request: serde_json::Value = serde_json::from_slice(&request).unwrap();
    assert_eq!(request["master"], "local[2]");
    assert_eq!(request["jobs"].as_array().unwrap().len(), 8);
    let last = request["jobs"][7][1].as_str().unwrap();
    assert!(last.starts_with("clock:"), "{last}: with all parameters");
}

#[test]
fn what_python_says_is_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let simulation = simulation(folder.path());
    let told = |spark: &Spark| simulation.run_on(spark).unwrap_err().to_string();
    assert!(told(&interpreter(folder.path(), "", 1)).contains("no such master"));
    assert!(told(&interpreter(folder.path(), "[]", 0)).contains("0 answers to 18 jobs"));
    assert!(told(&interpreter(folder.path(), "yes", 0)).contains("not the expected one"));
    let missing = Spark {
        python: folder.path().join("none"),
        master: None,
    };
    assert!(told(&missing).contains("--python names an interpreter"));
}
