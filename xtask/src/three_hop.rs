//! `cargo xtask three-hop [--quick] [--out FILE] [--program FILE]`: every expected three-hop answer
//! under every cache size, thread count, policy and I/O mode, through the released program as a
//! user would run it.
//!
//! # How it works
//! Builds the program, imports each graph below into the target folder once, and asks
//! `graven bench three-hop`, one setting a run, every question once, starting with an empty cache.
//! The whole product of settings would take a day. Run are: every cache with every number of
//! threads and both I/O modes under the default policy; and every policy with every cache in both
//! modes, the number of threads going round, so that every pair of values of any two of the four
//! settings occurs. The first wrong answer or failure ends it. Figures are printed by cache and
//! mode and written to FILE, by default `docs/runs/three-hop-matrix.json` for the whole matrix and
//! nowhere for `--quick`. The graphs are read from the folder `shared` beside the repository (or
//! `GRAVEN_SHARED`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use graven_policy::registry;
use serde_json::{Value, json};

use crate::graphs::{imported, released_program, shared, target};
use crate::run::{output, root};

/// Graphs with expected answers.
const GRAPHS: &[&str] = &[
    "ldbc-snb-sf10-knows",
    "ldbc-snb-sf1-core",
    "ldbc-snb-sf0.1-official-partial",
];

/// One matrix: values of the bench command's lists.
struct Matrix {
    caches: &'static [&'static str],
    threads: &'static [usize],
    io: &'static [&'static str],
}

const FULL: Matrix = Matrix {
    caches: &["1MiB", "2MiB", "4MiB", "8MiB", "16MiB", "1GiB"],
    threads: &[1, 2, 3, 4, 5, 6, 7, 8],
    io: &["direct", "buffered"],
};

const QUICK: Matrix = Matrix {
    caches: &["1MiB", "16MiB"],
    threads: &[1, 3],
    io: &["direct"],
};

/// One run of the bench command.
struct Setting {
    cache: &'static str,
    threads: usize,
    io: &'static str,
    /// `None`: the default.
    policy: Option<&'static str>,
}

impl Matrix {
    fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for &cache in self.caches {
            for &io in self.io {
                settings.extend(self.threads.iter().map(|&threads| Setting {
                    cache,
                    threads,
                    io,
                    policy: None,
                }));
            }
        }
        let live = registry::list().iter().filter(|entry| entry.live);
        for (p, entry) in live.enumerate() {
            for (c, &cache) in self.caches.iter().enumerate() {
                for (i, &io) in self.io.iter().enumerate() {
                    let turn = p + c * self.io.len() + i;
                    settings.push(Setting {
                        cache,
                        threads: self.threads[turn % self.threads.len()],
                        io,
                        policy: Some(entry.name),
                    });
                }
            }
        }
        settings
    }
}

/// Runs the matrix on every graph.
///
/// # Errors
/// A wrong option, data that is missing, a run that fails or gives a wrong answer.
pub(crate) fn matrix(args: &[String]) -> Result<(), String> {
    let mut matrix = FULL;
    let mut out = Some(root().join("docs/runs/three-hop-matrix.json"));
    let mut program = None;
    let mut rest = args.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match (argument, rest.len()) {
            ("--quick", _) => (matrix, out) = (QUICK, None),
            ("--out", 1..) => out = rest.next().map(PathBuf::from),
            ("--program", 1..) => program = rest.next().map(PathBuf::from),
            _ => return Err("the options are --quick, --out FILE and --program FILE".into()),
        }
    }
    let program = program.map_or_else(released_program, Ok)?;
    let folder = target().join("three-hop");
    let begun = Instant::now();
    let mut graphs = Vec::new();
    for graph in GRAPHS {
        let db = imported(&program, &folder, graph)?;
        graphs.push(one_graph(&program, &db, graph, &matrix)?);
    }
    let seconds = begun.elapsed().as_secs();
    println!("all answers right, {seconds} seconds");
    let Some(out) = out else { return Ok(()) };
    let summary =
        json!({ "command": "cargo xtask three-hop", "seconds": seconds, "graphs": graphs });
    let text = serde_json::to_string_pretty(&summary).map_err(|e| e.to_string())?;
    std::fs::write(&out, text + "\n").map_err(|e| format!("{}: {e}", out.display()))
}

/// Questions a second and faults a question of runs with one cache size and mode.
#[derive(Default)]
struct Figures {
    throughput: Vec<f64>,
    faults: Vec<f64>,
}

fn one_graph(program: &Path, db: &Path, graph: &str, matrix: &Matrix) -> Result<Value, String> {
    let data = shared().join("data").join(graph);
    let settings = matrix.settings();
    let mut groups: BTreeMap<(usize, &str), Figures> = BTreeMap::new();
    let (mut checked, mut seconds) = (0, 0.0);
    for (number, setting) in settings.iter().enumerate() {
        let line = output(&mut bench(program, db, &data, setting))?;
        let run: Value = serde_json::from_str(line.trim()).map_err(|e| format!("`{line}`: {e}"))?;
        let figure = |key: &str| {
            run[key]
                .as_f64()
                .ok_or_else(|| format!("no {key} in `{line}`"))
        };
        checked += run["checked"].as_u64().unwrap_or(0);
        seconds += figure("seconds")?;
        let cache = matrix
            .caches
            .iter()
            .position(|cache| *cache == setting.cache);
        let group = groups.entry((cache.unwrap_or(0), setting.io)).or_default();
        group.throughput.push(figure("throughput_qps")?);
        group.faults.push(figure("faults_per_query")?);
        if number % 50 == 49 {
            eprintln!("{graph}: {} of {} settings", number + 1, settings.len());
        }
    }
    if checked == 0 {
        return Err(format!("{graph}: no answer was compared"));
    }
    println!(
        "{graph}: {} settings, {checked} answers compared, none wrong",
        settings.len()
    );
    let rows: Vec<Value> = groups
        .iter_mut()
        .map(|((cache, io), figures)| {
            let cache = matrix.caches[*cache];
            let (qps, faults) = (median(&mut figures.throughput), median(&mut figures.faults));
            println!("  {cache:>6} {io:<8} {qps:>9.1} questions/s, {faults:>7.1} faults a question \
                (medians)");
            json!({ "cache": cache, "io": io, "runs": figures.faults.len(), "median_qps": qps, "median_faults_per_query": faults })
        })
        .collect();
    Ok(
        json!({ "graph": graph, "settings": settings.len(), "checked": checked, "wrong": 0, "measured_seconds": seconds, "by_cache": rows }),
    )
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn bench(program: &Path, db: &Path, data: &Path, setting: &Setting) -> Command {
    let mut command = Command::new(program);
    command.args(["bench", "three-hop"]).arg(db);
    command
        .arg("--params")
        .arg(data.join("three-hop-params.csv"));
    command
        .arg("--expected")
        .arg(data.join("three-hop-expected.csv"));
    command.args(["--cache", setting.cache, "--io", setting.io]);
    command.args(["--threads", &setting.threads.to_string()]);
    if let Some(policy) = setting.policy {
        command.args(["--policy", policy]);
    }
    command.args(["--warm-up", "0", "--passes", "1", "--json"]);
    command
}
