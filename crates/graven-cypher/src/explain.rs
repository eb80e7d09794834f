//! `EXPLAIN`: the operator tree as text, one operator a line, inputs below and indented.
//!
//! # How it works
//! The operator that runs last stands first. A chain of single inputs is not indented further than
//! one step per operator; a second input (of `Apply`, `Optional`, `Union`, ...) gets a branch of
//! its own. `PROFILE` uses the same table with more columns: [`render`] asks for the cells of each
//! operator by its id.

use std::fmt::Write as _;

use crate::plan::forecast::bytes;
use crate::plan::{Plan, PlanNode};

/// Widest description of an operator, in characters.
const DETAIL_CHARS_MAX: usize = 100;

/// The plan with its estimates: rows and, where they were forecast, pages touched and memory kept.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    if plan.forecasts.is_empty() {
        return render(plan, &["estimated rows"], &|node| {
            vec![rows(node.estimated_rows)]
        });
    }
    let of = |node: &PlanNode| {
        let forecast = plan.forecasts.get(node.id as usize);
        forecast.copied().unwrap_or_default()
    };
    let mut text = render(plan, &["estimated rows", "pages", "memory"], &|node| {
        let forecast = of(node);
        let memory = match forecast.memory > 0.0 {
            true => bytes(forecast.memory),
            false => "-".to_owned(),
        };
        let pages = match forecast.pages > 0.0 {
            true => whole(forecast.pages.max(1.0)),
            false => "-".to_owned(),
        };
        vec![rows(node.estimated_rows), pages, memory]
    });
    let pages: f64 = plan.forecasts.iter().map(|f| f.pages).sum();
    let memory: f64 = plan.forecasts.iter().map(|f| f.memory).sum();
    let _ = writeln!(
        text,
        "\nforecast: {} pages touched, {} kept by operators",
        whole(pages),
        bytes(memory)
    );
    text
}

/// The plan as a table: the tree, then a column per heading, filled by `cells` for each operator.
#[must_use]
pub fn render(plan: &Plan, headings: &[&str], cells: &dyn Fn(&PlanNode) -> Vec<String>) -> String {
    let mut lines: Vec<(String, Vec<String>, String)> = Vec::new();
    tree(plan, &plan.root, "", "", cells, &mut lines);
    let heading: Vec<String> = headings.iter().map(|h| (*h).to_owned()).collect();
    lines.insert(0, ("operator".to_owned(), heading, "details".to_owned()));
    let tree_width = lines
        .iter()
        .map(|(tree, _, _)| tree.chars().count())
        .max()
        .unwrap_or(0);
    let widths: Vec<usize> = (0..headings.len())
        .map(|column| {
            lines
                .iter()
                .map(|(_, cells, _)| cells.get(column).map_or(0, |c| c.chars().count()))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut out = String::new();
    for (tree, cells, details) in &lines {
        let _ = write!(out, "{tree:tree_width$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(out, "  {cell:>width$}");
        }
        let line_end = out.len();
        let _ = write!(out, "  {details}");
        let kept = out.trim_end().len().max(line_end.min(out.trim_end().len()));
        out.truncate(kept);
        out.push('\n');
    }
    if !plan.notices.is_empty() {
        out.push('\n');
    }
    for notice in &plan.notices {
        match notice.position {
            Some((line, column)) => {
                let _ = writeln!(
                    out,
                    "notice {}: {} (line {line}, column {column})",
                    notice.code, notice.message
                );
            }
            None => {
                let _ = writeln!(out, "notice {}: {}", notice.code, notice.message);
            }
        }
    }
    out
}

fn tree(
    plan: &Plan,
    node: &PlanNode,
    first: &str,
    rest: &str,
    cells: &dyn Fn(&PlanNode) -> Vec<String>,
    lines: &mut Vec<(String, Vec<String>, String)>,
) {
    let mut details = plan.describe(&node.op);
    if details.chars().count() > DETAIL_CHARS_MAX {
        details = details
            .chars()
            .take(DETAIL_CHARS_MAX - 3)
            .collect::<String>()
            + "...";
    }
    lines.push((format!("{first}{}", node.op.name()), cells(node), details));
    let children = node.op.children();
    let last = children.len().saturating_sub(1);
    for (idx, child) in children.into_iter().enumerate() {
        // The input continues the column of its parent; further inputs branch off above it.
        if idx == last && last == 0 {
            tree(plan, child, rest, rest, cells, lines);
        } else if idx == last {
            tree(
                plan,
                child,
                &format!("{rest}`-"),
                &format!("{rest}  "),
                cells,
                lines,
            );
        } else {
            tree(
                plan,
                child,
                &format!("{rest}|-"),
                &format!("{rest}| "),
                cells,
                lines,
            );
        }
    }
}

/// A number of pages, of which there are no halves.
fn whole(pages: f64) -> String {
    if pages >= 1e6 {
        format!("{pages:.1e}")
    } else {
        format!("{pages:.0}")
    }
}

fn rows(estimate: f64) -> String {
    if estimate >= 1e6 {
        format!("{estimate:.1e}")
    } else if estimate >= 10.0 {
        format!("{estimate:.0}")
    } else {
        format!("{estimate:.1}")
    }
}
