//! `cargo xtask answers`: the queries in `queries/` against every published answer, through the
//! released program as a user would run it, with the memory each run took.
//!
//! # How it works
//! Each case is one run of `graven query DB --file Q --params JSON --format json --memory SIZE`.
//! Rows are compared in order; the lists in [`SETS`] are compared as sets, as the data's
//! description says. The peak of resident memory comes from the kernel when the process ends and
//! must stay within the budget and a fixed base of 40 MiB.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::graphs::{imported, released_program, shared, target};
use crate::run::root;

/// Graphs with cases of LDBC Interactive; the cases lie beside the data.
const INTERACTIVE: &[&str] = &["ldbc-snb-tiny", "ldbc-snb-sf0.1"];

/// Graph of the BI queries; their answers were computed by `queries/bi/reference.py`.
const BI: &str = "ldbc-snb-sf0.003-bi";

/// Graphs with counts of LSQB: folder, table of counts, name in the table (none: the table has one
/// graph).
const SUBGRAPHS: &[(&str, &str, Option<&str>)] = &[
    ("lsqb/example", "lsqb/expected.csv", Some("example")),
    ("lsqb/sf0.003", "lsqb/expected.csv", Some("0.003")),
    (
        "lsqb/sf0.1-partial",
        "lsqb/expected.csv",
        Some("0.1-partial"),
    ),
    ("ldbc-snb-sf0.1", "ldbc-snb-sf0.1/lsqb-expected.csv", None),
];

/// Columns whose lists have no order.
const SETS: &[&str] = &[
    "friendEmails",
    "friendLanguages",
    "friendUniversities",
    "friendCompanies",
    "tagNames",
];

/// Memory of the process beside its budget.
const BASE_BYTES: u64 = 40 << 20;

/// What the runs of one query on one graph came to.
#[derive(Default)]
struct Tally {
    right: u32,
    wrong: Vec<String>,
    slowest: Duration,
    peak_bytes: u64,
}

/// Runs every case.
///
/// # Errors
/// A wrong option, missing data, a wrong answer, a run that fails or takes more memory than it may.
pub(crate) fn compare(args: &[String]) -> Result<(), String> {
    let (mut memory, mut program) = ("16MiB", None);
    for option in args.chunks(2) {
        match option {
            [name, size] if name == "--memory" => memory = size,
            [name, path] if name == "--program" => program = Some(PathBuf::from(path)),
            _ => {
                return Err(
                    "the options are --memory SIZE, as in 16MiB, and --program FILE".into(),
                );
            }
        }
    }
    let budget = bytes(memory).ok_or_else(|| format!("{memory}: a size is a number and MiB"))?;
    let program = program.map_or_else(released_program, Ok)?;
    let folder = target().join("answers");
    let mut failures = 0;
    for graph in INTERACTIVE {
        let db = imported(&program, &folder, graph)?;
        let cases = shared().join("data").join(graph);
        let cases = read(&cases.join("interactive-expected.jsonl.zst"))?;
        failures += print(
            graph,
            budget,
            &answered(&program, &db, "ldbc", &cases, memory)?,
        );
    }
    let db = imported(&program, &folder, BI)?;
    let cases = read(&root().join("queries/bi/expected.jsonl"))?;
    failures += print(BI, budget, &answered(&program, &db, "bi", &cases, memory)?);
    for (graph, table, name) in SUBGRAPHS {
        let db = imported(&program, &folder, graph)?;
        failures += print(
            graph,
            budget,
            &subgraphs(&program, &db, table, *name, memory)?,
        );
    }
    match failures {
        0 => Ok(()),
        failures => Err(format!("{failures} cases failed")),
    }
}

/// The content of a file of cases, unpacked.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let named = |e: std::io::Error| format!("{}: {e}", path.display());
    let bytes = std::fs::read(path).map_err(named)?;
    if path.extension().is_some_and(|kind| kind == "zst") {
        return zstd::decode_all(&*bytes).map_err(named);
    }
    Ok(bytes)
}

/// Runs the cases of a file, one JSON object a line, with the queries of a folder.
fn answered(
    program: &Path,
    db: &Path,
    queries: &str,
    cases: &[u8],
    memory: &str,
) -> Result<BTreeMap<String, Tally>, String> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let lines = cases.split(|byte| *byte == b'\n');
    for (number, line) in lines.filter(|line| !line.is_empty()).enumerate() {
        let case: Value =
            serde_json::from_slice(line).map_err(|e| format!("case {number}: {e}"))?;
        let query = case["query"].as_str().unwrap_or_default().to_owned();
        let file = root().join(format!("queries/{queries}/{query}.cypher"));
        let tally = tallies.entry(query).or_default();
        let params = case["params"].to_string();
        let answer = tally.run(program, db, &file, &params, memory);
        let verdict = answer.and_then(|answer| compared(&table(&answer), &table(&case)));
        tally.note(&format!("case {number} {params}"), verdict);
    }
    Ok(tallies)
}

fn subgraphs(
    program: &Path,
    db: &Path,
    expected: &str,
    name: Option<&str>,
    memory: &str,
) -> Result<BTreeMap<String, Tally>, String> {
    let path = shared().join("data").join(expected);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut tallies = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        if name.is_some() && fields.next() != name {
            continue;
        }
        let (Some(query), Some(count)) = (fields.next(), fields.next()) else {
            return Err(format!("{}: `{line}` is no count", path.display()));
        };
        let count: Value = serde_json::from_str(count).map_err(|e| format!("`{line}`: {e}"))?;
        let file = root().join(format!("queries/lsqb/{query}.cypher"));
        let mut tally = Tally::default();
        let verdict = tally
            .run(program, db, &file, "{}", memory)
            .and_then(|answer| {
                let got = &answer["rows"][0][0];
                if *got == count {
                    Ok(())
                } else {
                    Err(format!("got {got}, expected {count}"))
                }
            });
        tally.note(query, verdict);
        tallies.insert(query.to_owned(), tally);
    }
    Ok(tallies)
}

impl Tally {
    /// The program's answer to the query in `file`.
    fn run(
        &mut self,
        program: &Path,
        db: &Path,
        file: &PathBuf,
        params: &str,
        memory: &str,
    ) -> Result<Value, String> {
        let start = Instant::now();
        let mut child = Command::new(program)
            .arg("query")
            .arg(db)
            .arg("--file")
            .arg(file)
            .args(["--params", params, "--format", "json", "--memory", memory])
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let mut out = Vec::new();
        if let Some(mut pipe) = child.stdout.take() {
            std::io::Read::read_to_end(&mut pipe, &mut out).map_err(|e| e.to_string())?;
        }
        let (succeeded, peak) = wait_with_peak(&child)?;
        self.slowest = self.slowest.max(start.elapsed());
        self.peak_bytes = self.peak_bytes.max(peak);
        if !succeeded {
            return Err("the program failed".to_owned());
        }
        serde_json::from_slice(&out).map_err(|e| e.to_string())
    }

    fn note(&mut self, case: &str, verdict: Result<(), String>) {
        match verdict {
            Ok(()) => self.right += 1,
            Err(why) => self.wrong.push(format!("{case}: {why}")),
        }
    }
}

/// Waits for the end of `child`: whether it succeeded, and its peak of resident memory in bytes.
fn wait_with_peak(child: &std::process::Child) -> Result<(bool, u64), String> {
    let pid = i32::try_from(child.id()).map_err(|e| e.to_string())?;
    let mut status = 0;
    // SAFETY: `rusage` is plain old data, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals; the child has not been waited for before.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    if waited != pid {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let peak = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    Ok((
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        peak,
    ))
}

/// Columns and rows with unordered lists sorted.
fn table(answer: &Value) -> Table {
    let columns = answer["columns"].as_array().cloned().unwrap_or_default();
    let rows = answer["rows"].as_array().cloned().unwrap_or_default();
    let rows = rows.iter().map(|row| {
        let values = row.as_array().cloned().unwrap_or_default();
        let named = values.into_iter().zip(&columns);
        let sorted = named.map(|(value, column)| match value {
            Value::Array(mut items) if column.as_str().is_some_and(|c| SETS.contains(&c)) => {
                items.sort_by_key(ToString::to_string);
                Value::Array(items)
            }
            other => other,
        });
        sorted.collect()
    });
    let rows = rows.collect();
    (columns, rows)
}

type Table = (Vec<Value>, Vec<Vec<Value>>);

fn compared((columns, rows): &Table, (wanted_columns, wanted): &Table) -> Result<(), String> {
    if columns != wanted_columns {
        return Err(format!("columns {columns:?}, expected {wanted_columns:?}"));
    }
    let equal = |at: usize| match (rows.get(at), wanted.get(at)) {
        (Some(row), Some(wanted)) => {
            row.len() == wanted.len() && row.iter().zip(wanted).all(|(a, b)| same(a, b))
        }
        _ => false,
    };
    let Some(at) = (0..rows.len().max(wanted.len())).find(|at| !equal(*at)) else {
        return Ok(());
    };
    let shown = |rows: &[Vec<Value>]| {
        let row = rows.get(at).cloned();
        row.map_or_else(|| "missing".to_owned(), |row| Value::Array(row).to_string())
    };
    Err(format!(
        "row {at} is {}, expected {}",
        shown(rows),
        shown(wanted)
    ))
}

/// Equal; floats up to what the order of additions changes.
fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) if a.is_f64() || b.is_f64() => (x - y).abs() <= 1e-9 * x.abs().max(1.0),
        _ => a == b,
    }
}

/// Prints a line a query and returns how many cases failed; too much memory is a failure of its
/// own.
fn print(graph: &str, budget: u64, tallies: &BTreeMap<String, Tally>) -> usize {
    let mut failures = 0;
    println!("{graph}");
    for (query, tally) in tallies {
        let fat = tally.peak_bytes > budget + BASE_BYTES;
        failures += tally.wrong.len() + usize::from(fat);
        println!(
            "  {query:5} {} right, {} wrong, slowest {:.3} s, peak {:.1} MiB{}",
            tally.right,
            tally.wrong.len(),
            tally.slowest.as_secs_f64(),
            mebibytes(tally.peak_bytes),
            if fat { ": TOO MUCH" } else { "" }
        );
        for wrong in &tally.wrong {
            println!("        {wrong}");
        }
    }
    failures
}

#[expect(clippy::cast_precision_loss, reason = "printed with one digit")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn bytes(size: &str) -> Option<u64> {
    let mebibytes: u64 = size.strip_suffix("MiB")?.parse().ok()?;
    Some(mebibytes << 20)
}
