//! `EXPLAIN`: the operator tree as text, one operator a line, inputs below and indented.
//!
//! # How it works
//! The operator that runs last stands first. A chain of single inputs is not indented further than
//! one step per operator; a second input (of `Apply`, `Optional`, `Union`, ...) gets a branch of
//! its own. The tree of [`Step`]s is that of the logical plan ([`Step::of`]), or the one that runs,
//! which the executor gives. `PROFILE` uses the same table with more columns: [`render`] asks for
//! the cells of each step.

use std::fmt::Write as _;

use crate::plan::resource_estimate::bytes;
use crate::plan::{Plan, PlanNode};

/// Widest description of an operator, in characters.
const DETAIL_CHARS_MAX: usize = 100;

/// An operator as it is shown, with its inputs.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its number in the tree of steps.
    pub id: u32,
    /// The node of the logical plan that it stands for; none if it was added.
    pub node: Option<u32>,
    /// Its name.
    pub operator: &'static str,
    /// What it works on.
    pub details: String,
    /// What was chosen beside the logical plan.
    pub choices: Vec<&'static str>,
    /// Rows that it is expected to give.
    pub estimated_rows: f64,
    /// Where its rows come from.
    pub inputs: Vec<Step>,
}

impl Step {
    /// The steps of the logical plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self::of_node(plan, &plan.root)
    }

    fn of_node(plan: &Plan, node: &PlanNode) -> Self {
        let inputs = node.op.children().into_iter();
        Self {
            id: node.id,
            node: Some(node.id),
            operator: node.op.name(),
            details: plan.describe(&node.op),
            choices: Vec::new(),
            estimated_rows: node.estimated_rows,
            inputs: inputs.map(|input| Self::of_node(plan, input)).collect(),
        }
    }

    /// What it works on, and how.
    #[must_use]
    pub fn described(&self) -> String {
        with_choices(self.details.clone(), &self.choices)
    }

    /// Names of all operators, each before its inputs.
    #[must_use]
    pub fn operators(&self) -> Vec<&'static str> {
        let inputs = self.inputs.iter().flat_map(Step::operators);
        std::iter::once(self.operator).chain(inputs).collect()
    }
}

/// The logical plan with its estimates, as [`explain_steps`].
#[must_use]
pub fn explain(plan: &Plan) -> String {
    explain_steps(plan, &Step::of(plan))
}

/// The steps of a plan with its estimates: rows and, where they were forecast, pages touched and
/// memory kept.
#[must_use]
pub fn explain_steps(plan: &Plan, steps: &Step) -> String {
    if plan.estimates.is_empty() {
        return render(plan, steps, &["estimated rows"], &|step| {
            vec![rows(step.estimated_rows)]
        });
    }
    let of = |step: &Step| {
        let forecast = step.node.and_then(|id| plan.estimates.get(id as usize));
        forecast.copied().unwrap_or_default()
    };
    let headings = ["estimated rows", "pages", "memory"];
    let mut text = render(plan, steps, &headings, &|step| {
        let forecast = of(step);
        let memory = match forecast.memory > 0.0 {
            true => bytes(forecast.memory),
            false => "-".to_owned(),
        };
        let pages = match forecast.pages > 0.0 {
            true => whole(forecast.pages.max(1.0)),
            false => "-".to_owned(),
        };
        vec![rows(step.estimated_rows), pages, memory]
    });
    let pages: f64 = plan.estimates.iter().map(|f| f.pages).sum();
    let memory: f64 = plan.estimates.iter().map(|f| f.memory).sum();
    let _ = writeln!(
        text,
        "\nforecast: {} pages touched, {} kept by operators",
        whole(pages),
        bytes(memory)
    );
    text
}

/// The steps as a table: the tree, then a column per heading, filled by `cells` for each step; then
/// the notices of the plan.
#[must_use]
pub fn render(
    plan: &Plan,
    steps: &Step,
    headings: &[&str],
    cells: &dyn Fn(&Step) -> Vec<String>,
) -> String {
    let mut lines: Vec<(String, Vec<String>, String)> = Vec::new();
    tree(steps, "", "", cells, &mut lines);
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

fn with_choices(mut details: String, choices: &[&str]) -> String {
    for choice in choices {
        if !details.is_empty() {
            details.push_str("; ");
        }
        details.push_str(choice);
    }
    details
}

fn tree(
    step: &Step,
    first: &str,
    rest: &str,
    cells: &dyn Fn(&Step) -> Vec<String>,
    lines: &mut Vec<(String, Vec<String>, String)>,
) {
    let mut details = step.details.clone();
    if details.chars().count() > DETAIL_CHARS_MAX {
        details = details
            .chars()
            .take(DETAIL_CHARS_MAX - 3)
            .collect::<String>()
            + "...";
    }
    let details = with_choices(details, &step.choices);
    lines.push((format!("{first}{}", step.operator), cells(step), details));
    let last = step.inputs.len().saturating_sub(1);
    for (idx, input) in step.inputs.iter().enumerate() {
        // The input continues the column of its parent; further inputs branch off above it.
        if idx == last && last == 0 {
            tree(input, rest, rest, cells, lines);
        } else if idx == last {
            let (first, rest) = (format!("{rest}`-"), format!("{rest}  "));
            tree(input, &first, &rest, cells, lines);
        } else {
            let (first, rest) = (format!("{rest}|-"), format!("{rest}| "));
            tree(input, &first, &rest, cells, lines);
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
