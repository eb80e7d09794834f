//! Feature files: lines into scenarios, outlines expanded, steps understood.
//!
//! # How it works
//! A file is read line by line. A step keeps the text block or the table that follows it. `<name>`
//! in the steps of an outline is replaced by the cell of each row of its examples.

use std::path::{Path, PathBuf};

/// A table of cells; the first row is often a heading.
pub type Table = Vec<Vec<String>>;

/// One scenario, ready to play.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    /// The file, relative to the folder of features.
    pub feature: String,
    /// Its title; rows of an outline carry their number.
    pub name: String,
    /// What to do and expect, in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An empty database, or any.
    EmptyGraph,
    /// A graph of the folder `graphs`.
    NamedGraph(String),
    /// A statement that prepares the graph.
    Executed(String),
    /// Parameters: name, literal.
    Parameters(Table),
    /// A stub procedure: signature, table of arguments and results with a heading.
    Procedure(String, Table),
    /// The statement under test.
    Query(String),
    /// A second statement, whose result is checked by the steps that follow.
    Control(String),
    /// What the result is.
    Result {
        /// Heading and rows.
        table: Table,
        /// Whether rows come in this order.
        ordered: Ordered,
        /// Whether lists compare as bags.
        lists: Ordered,
    },
    /// The result has no rows.
    Empty,
    /// An error: type, phase, detail.
    Error {
        /// For example `SyntaxError`.
        kind: String,
        /// When it is raised.
        phase: Phase,
        /// For example `UndefinedVariable`; `*` for any.
        detail: String,
    },
    /// Changes of the graph: name such as `+nodes`, number. Those not named are 0.
    Effects(Vec<(String, u64)>),
    /// Text that is no known step.
    Unknown(String),
}

/// Whether an order counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ordered {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// When an error is raised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Before anything runs.
    Compile,
    /// While the statement runs.
    Run,
    /// Either.
    Any,
}

/// All scenarios under `folder`, by file name.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn read_folder(folder: &Path) -> Result<Vec<Scenario>, String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut scenarios = Vec::new();
    for file in files {
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file
            .strip_prefix(folder)
            .unwrap_or(&file)
            .with_extension("");
        scenarios.extend(read(&name.to_string_lossy(), &text));
    }
    Ok(scenarios)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "feature") {
            files.push(path);
        }
    }
    Ok(())
}

/// A step as written: text, block of text, table.
#[derive(Clone, Debug, Default)]
struct RawStep {
    text: String,
    block: Option<String>,
    table: Table,
}

/// A scenario or outline as written.
#[derive(Default)]
struct RawScenario {
    name: String,
    steps: Vec<RawStep>,
    examples: Vec<Table>,
    is_outline: bool,
}

/// The scenarios of one file.
#[must_use]
pub fn read(feature: &str, text: &str) -> Vec<Scenario> {
    let mut background: Vec<RawStep> = Vec::new();
    let mut scenarios: Vec<RawScenario> = Vec::new();
    let mut in_background = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', '@']) || trimmed.starts_with("Feature:")
        {
            continue;
        }
        if trimmed.starts_with("Background:") {
            in_background = true;
            continue;
        }
        if let Some((title, is_outline)) = title(trimmed) {
            in_background = false;
            scenarios.push(RawScenario {
                name: title.to_owned(),
                steps: background.clone(),
                is_outline,
                ..RawScenario::default()
            });
            continue;
        }
        let current = scenarios.last_mut();
        if trimmed.starts_with("Examples:") {
            if let Some(scenario) = current {
                scenario.examples.push(Table::new());
            }
            continue;
        }
        let steps = match current {
            _ if in_background => &mut background,
            Some(scenario) => {
                if trimmed.starts_with('|')
                    && let Some(examples) = scenario.examples.last_mut()
                {
                    examples.push(cells(trimmed));
                    continue;
                }
                &mut scenario.steps
            }
            None => continue,
        };
        if trimmed == "\"\"\"" {
            let indent = line.len() - line.trim_start().len();
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|l| l.trim() != "\"\"\"")
                .map(|l| l.get(indent..).unwrap_or_else(|| l.trim_start()))
                .collect();
            if let Some(step) = steps.last_mut() {
                step.block = Some(block.join("\n"));
            }
        } else if trimmed.starts_with('|') {
            if let Some(step) = steps.last_mut() {
                step.table.push(cells(trimmed));
            }
        } else {
            steps.push(RawStep {
                text: trimmed.to_owned(),
                ..RawStep::default()
            });
        }
    }
    scenarios
        .iter()
        .flat_map(|scenario| expand(feature, scenario))
        .collect()
}

fn title(line: &str) -> Option<(&str, bool)> {
    if let Some(title) = line.strip_prefix("Scenario Outline:") {
        return Some((title.trim(), true));
    }
    line.strip_prefix("Scenario:")
        .map(|title| (title.trim(), false))
}

/// One scenario, or one per row of the examples.
fn expand(feature: &str, raw: &RawScenario) -> Vec<Scenario> {
    let make = |number: Option<usize>, values: &[(String, &String)]| {
        let fill = |text: &str| {
            values.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(name, value)
            })
        };
        let steps = raw.steps.iter().map(|step| {
            understand(&RawStep {
                text: fill(&step.text),
                block: step.block.as_deref().map(fill),
                table: step
                    .table
                    .iter()
                    .map(|row| row.iter().map(|cell| fill(cell)).collect())
                    .collect(),
            })
        });
        Scenario {
            feature: feature.to_owned(),
            name: match number {
                Some(number) => format!("{} #{number}", raw.name),
                None => raw.name.clone(),
            },
            steps: steps.collect(),
        }
    };
    if !raw.is_outline {
        return vec![make(None, &[])];
    }
    let mut scenarios = Vec::new();
    for table in &raw.examples {
        let Some((heading, rows)) = table.split_first() else {
            continue;
        };
        for row in rows {
            let values: Vec<_> = heading.iter().map(|h| format!("<{h}>")).zip(row).collect();
            scenarios.push(make(Some(scenarios.len() + 1), &values));
        }
    }
    scenarios
}

/// The cells of a row: `\|`, `\\` and `\n` are escapes.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = line.trim().trim_start_matches('|').chars();
    while let Some(c) = chars.next() {
        let at = cells.len() - 1;
        match c {
            '\\' => match chars.next() {
                Some('n') => cells[at].push('\n'),
                Some(c @ ('|' | '\\')) => cells[at].push(c),
                other => {
                    cells[at].push('\\');
                    cells[at].extend(other);
                }
            },
            '|' => cells.push(String::new()),
            c => cells[at].push(c),
        }
    }
    cells.pop();
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn understand(raw: &RawStep) -> Step {
    let unknown = || Step::Unknown(raw.text.clone());
    let text = ["Given ", "When ", "Then ", "And ", "But "]
        .iter()
        .find_map(|word| raw.text.strip_prefix(word))
        .unwrap_or(&raw.text)
        .trim();
    let block = || raw.block.clone().unwrap_or_default();
    match text {
        "an empty graph" | "any graph" => Step::EmptyGraph,
        "having executed:" => Step::Executed(block()),
        "parameters are:" => Step::Parameters(raw.table.clone()),
        "executing query:" => Step::Query(block()),
        "executing control query:" => Step::Control(block()),
        "the result should be empty" => Step::Empty,
        "no side effects" => Step::Effects(Vec::new()),
        "the side effects should be:" => effects(&raw.table).map_or_else(unknown, Step::Effects),
        _ => {
            if let Some(graph) = text
                .strip_prefix("the ")
                .and_then(|t| t.strip_suffix(" graph"))
            {
                return Step::NamedGraph(graph.to_owned());
            }
            if let Some(signature) = text.strip_prefix("there exists a procedure ") {
                let signature = signature.trim_end_matches(':');
                return Step::Procedure(signature.to_owned(), raw.table.clone());
            }
            if let Some(how) = text.strip_prefix("the result should be") {
                return Step::Result {
                    table: raw.table.clone(),
                    ordered: yes_if(how.contains("in order")),
                    lists: yes_if(!how.contains("ignoring element order")),
                };
            }
            error(text).unwrap_or_else(unknown)
        }
    }
}

fn yes_if(condition: bool) -> Ordered {
    if condition { Ordered::Yes } else { Ordered::No }
}

fn effects(table: &Table) -> Option<Vec<(String, u64)>> {
    let pair = |row: &Vec<String>| match row.as_slice() {
        [name, number] => Some((name.clone(), number.parse().ok()?)),
        _ => None,
    };
    table.iter().map(pair).collect()
}

/// `a SyntaxError should be raised at compile time: UndefinedVariable`.
fn error(text: &str) -> Option<Step> {
    let (subject, rest) = text.split_once(" should be raised at ")?;
    let (phase, detail) = rest.split_once(':')?;
    Some(Step::Error {
        kind: subject.rsplit(' ').next()?.to_owned(),
        phase: match phase.trim() {
            "compile time" => Phase::Compile,
            "runtime" => Phase::Run,
            "any time" => Phase::Any,
            _ => return None,
        },
        detail: detail.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
Feature: Sample

  Background:
    Given an empty graph

  Scenario Outline: [1] Sums
    When executing query:
      """
      RETURN <a> + 1
        AS sum
      """
    Then the result should be, in order:
      | sum   |
      | <sum> |
    And no side effects

    Examples:
      | a    | sum |
      | 1    | 2   |
      | '\|' | '\|1' |

  @tag
  Scenario: [2] Wrong
    # a comment
    When executing query:
      """
      RETURN x
      """
    Then a SyntaxError should be raised at compile time: UndefinedVariable
"#;

    #[test]
    fn outlines_are_expanded_and_steps_understood() {
        let scenarios = read("sample", TEXT);
        assert_eq!(scenarios.len(), 3);
        assert_eq!(scenarios[1].name, "[1] Sums #2");
        assert_eq!(scenarios[1].steps[0], Step::EmptyGraph);
        assert_eq!(
            scenarios[1].steps[1],
            Step::Query("RETURN '|' + 1\n  AS sum".into())
        );
        let table = vec![vec!["sum".to_owned()], vec!["'|1'".to_owned()]];
        assert_eq!(
            scenarios[1].steps[2],
            Step::Result {
                table,
                ordered: Ordered::Yes,
                lists: Ordered::Yes
            }
        );
        assert_eq!(scenarios[1].steps[3], Step::Effects(Vec::new()));
        let Step::Error {
            kind,
            phase,
            detail,
        } = &scenarios[2].steps[2]
        else {
            panic!("{:?}", scenarios[2]);
        };
        assert_eq!((kind.as_str(), *phase), ("SyntaxError", Phase::Compile));
        assert_eq!(detail, "UndefinedVariable");
    }
}
