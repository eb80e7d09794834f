//! A profiled plan as text: the tree of operators with what each of them did.
//!
//! # How it works
//! The table is that of `EXPLAIN` with more columns: rows, time, page accesses with those that had
//! to wait (blocked), and bytes written to the temporary file. A second table divides the accesses
//! of each operator by kind of page.

use std::fmt::Write as _;

use graven_cypher::Plan;
use graven_cypher::explain::Step;
use graven_exec::{OperatorProfile, ProfileTree};

/// The plan with what its operators did.
pub(crate) fn profile(plan: &Plan, steps: &Step, profile: &ProfileTree) -> String {
    let did = |step: &Step| profile.operator(step.id).copied().unwrap_or_default();
    let headings = [
        "estimated rows",
        "rows",
        "ms",
        "hits",
        "faults",
        "blocked",
        "waited ms",
        "spilled",
    ];
    let mut text = graven_cypher::explain::render(plan, steps, &headings, &|step| {
        let did = did(step);
        let pages = did.pages.total();
        vec![
            format!("{:.0}", step.estimated_rows),
            did.rows.to_string(),
            format!("{:.3}", did.time.as_secs_f64() * 1e3),
            pages.hits.to_string(),
            pages.faults.to_string(),
            pages.blocked.to_string(),
            format!("{:.3}", pages.wait_ns as f64 / 1e6),
            did.spilled.to_string(),
        ]
    });
    let mut rows = Vec::new();
    by_kind(steps, &did, &mut rows);
    let total = profile.total();
    add("all", &total, &mut rows);
    let _ = write!(text, "\n{}", align(&rows));
    let ms = total.time.as_secs_f64() * 1e3;
    let plural = if total.rows == 1 { "" } else { "s" };
    let _ = write!(text, "\n{} row{plural} in {ms:.3} ms", total.rows);
    text
}

fn by_kind(step: &Step, did: &dyn Fn(&Step) -> OperatorProfile, rows: &mut Vec<[String; 7]>) {
    add(step.operator, &did(step), rows);
    for input in &step.inputs {
        by_kind(input, did, rows);
    }
}

fn add(name: &str, did: &OperatorProfile, rows: &mut Vec<[String; 7]>) {
    for (kind, pages) in did.pages.iter() {
        rows.push([
            name.to_owned(),
            kind.to_string(),
            pages.hits.to_string(),
            pages.faults.to_string(),
            pages.blocked.to_string(),
            format!("{:.3}", pages.wait_ns as f64 / 1e6),
            pages.evictions().to_string(),
        ]);
    }
}

/// Names to the left, numbers to the right, under a heading.
fn align(rows: &[[String; 7]]) -> String {
    let heading = [
        "operator",
        "kind of page",
        "hits",
        "faults",
        "blocked",
        "waited ms",
        "evicted",
    ];
    let width = |c: usize| {
        let cells = rows.iter().map(|row| row[c].chars().count());
        cells.chain([heading[c].len()]).max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let heading = heading.map(str::to_owned);
    let mut text = String::new();
    for row in std::iter::once(&heading).chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let _ = if column < 2 {
                write!(line, "{cell:<width$}  ")
            } else {
                write!(line, "{cell:>width$}  ")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
