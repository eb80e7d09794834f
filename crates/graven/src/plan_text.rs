//! A plan as text: the tree of operators for `EXPLAIN`, with what each of them did for `PROFILE`.
//!
//! # How it works
//! The root stands first, what feeds it below. An operator with several inputs indents all but the last, so
//! that the main line of a plan stays straight. Estimates are rounded; page figures name each kind of page
//! with its hits, faults and the time waited.

mod expression;
mod operator;

use std::fmt::Write as _;

use graven_cypher::Plan;
use graven_cypher::plan::PlanNode;
use graven_exec::ProfileTree;
use graven_pagecache::PerKind;

/// One operator as a line of the table.
struct Line {
    cells: Vec<String>,
}

/// The plan with estimates.
pub(crate) fn explain(plan: &Plan) -> String {
    table(plan, None)
}

/// The plan with what its operators did.
pub(crate) fn profile(plan: &Plan, profile: &ProfileTree) -> String {
    let mut text = table(plan, Some(profile));
    let total = profile.total(&plan.root);
    let _ = write!(
        text,
        "\n{} rows, {:.3} ms, {}",
        total.rows,
        total.time.as_secs_f64() * 1e3,
        pages(&total.pages)
    );
    text
}

fn table(plan: &Plan, profile: Option<&ProfileTree>) -> String {
    let mut header = vec!["operator", "details", "estimated rows"];
    if profile.is_some() {
        header.extend(["rows", "ms", "pages"]);
    }
    let mut lines = vec![Line {
        cells: header.into_iter().map(str::to_owned).collect(),
    }];
    walk(plan, &plan.root, "", profile, &mut lines);
    align(&lines)
}

fn walk(
    plan: &Plan,
    node: &PlanNode,
    indent: &str,
    profile: Option<&ProfileTree>,
    lines: &mut Vec<Line>,
) {
    let described = operator::describe(plan, &node.op);
    let mut cells = vec![
        format!("{indent}{}", described.name),
        described.details,
        format!("{:.0}", node.estimated_rows),
    ];
    if let Some(profile) = profile {
        let did = profile.operator(node.id).copied().unwrap_or_default();
        cells.push(did.rows.to_string());
        cells.push(format!("{:.3}", did.time.as_secs_f64() * 1e3));
        cells.push(pages(&did.pages));
    }
    lines.push(Line { cells });
    let inputs = operator::inputs(&node.op);
    let last = inputs.len().saturating_sub(1);
    // The first input is the main line; the others hang beside it and are shown first.
    for input in inputs.iter().skip(1).take(last) {
        walk(plan, input, &format!("{indent}| "), profile, lines);
    }
    if let Some(main) = inputs.first() {
        walk(plan, main, indent, profile, lines);
    }
}

fn pages(pages: &PerKind) -> String {
    let kinds = pages.iter().map(|(kind, did)| {
        let mut text = format!("{kind} {} hits {} faults", did.hits, did.faults);
        if did.wait_ns > 0 {
            let _ = write!(text, " {:.3} ms waited", did.wait_ns as f64 / 1e6);
        }
        if did.evictions() > 0 {
            let _ = write!(text, " {} evicted", did.evictions());
        }
        text
    });
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() {
        "no pages".to_owned()
    } else {
        kinds.join("; ")
    }
}

/// Columns padded to their widest cell, numbers to the right.
fn align(lines: &[Line]) -> String {
    let columns = lines.first().map_or(0, |l| l.cells.len());
    let width = |c: usize| {
        lines
            .iter()
            .map(|l| l.cells[c].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let mut row = String::new();
        for (column, (cell, width)) in line.cells.iter().zip(&widths).enumerate() {
            let number = (2..5).contains(&column);
            let _ = if number {
                write!(row, "{cell:>width$}  ")
            } else {
                write!(row, "{cell:<width$}  ")
            };
        }
        text.push_str(row.trim_end());
    }
    text
}
