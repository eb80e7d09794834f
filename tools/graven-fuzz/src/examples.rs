//! The examples of the project's own documents: what they show is a statement, and tables of values
//! hold.
//!
//! # How it works
//! Blocks between fences and code within a line that begin as a statement does are planned; those
//! in a block must have a plan, those in a line, which may speak of variables from elsewhere, must
//! be well-formed. Of the table of types every expression must have the `valueType` that the table
//! says.

use std::path::{Path, PathBuf};

use graven::{Params, Value};

use crate::findings::Findings;
use crate::library::Library;

/// How statements begin.
const BEGINNINGS: &[&str] = &[
    "MATCH ",
    "OPTIONAL MATCH ",
    "UNWIND ",
    "CREATE (",
    "CREATE INDEX ",
    "CREATE CONSTRAINT ",
    "MERGE (",
    "WITH ",
    "RETURN ",
    "CALL ",
    "LOAD CSV ",
    "FOREACH ",
    "SHOW ",
    "EXPLAIN ",
    "PROFILE ",
];

/// Checks the Markdown files below the folder of the repository.
///
/// # Errors
/// A file cannot be read, or a database cannot be made.
pub fn examples(root: &Path) -> Result<Findings, String> {
    let mut files = vec![root.join("README.md")];
    markdown(&root.join("docs"), &mut files)?;
    let library = Library::empty()?;
    let mut findings = Findings::default();
    for file in files {
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let name = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        of_file(&library, &name, &text, &mut findings);
    }
    Ok(findings)
}

fn markdown(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let told = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(told)? {
        let path = entry.map_err(told)?.path();
        if path.is_dir() {
            markdown(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "md") {
            files.push(path);
        }
    }
    Ok(())
}

fn of_file(library: &Library, file: &str, text: &str, findings: &mut Findings) {
    let mut fenced = false;
    let mut block = String::new();
    let mut types = false;
    for line in text.lines().chain(["```"]) {
        if line.trim_start().starts_with("```") {
            for statement in std::mem::take(&mut block).split([';', '\x00']) {
                planned(library, file, statement.trim(), true, findings);
            }
            fenced = !fenced;
            continue;
        }
        if fenced {
            let line = line.trim_start_matches("graven> ");
            if line.trim().is_empty() {
                block.push(';');
            }
            block += line;
            block.push('\n');
            continue;
        }
        if line.starts_with('|') {
            types |= line.contains("| `valueType` |");
            if types {
                of_type(library, file, line, findings);
            }
            continue;
        }
        types = false;
        for (at, span) in line.split('`').enumerate() {
            if at % 2 == 1 {
                planned(library, file, span, false, findings);
            }
        }
    }
}

/// Plans what begins as a statement does and leaves nothing out.
fn planned(library: &Library, file: &str, statement: &str, whole: bool, findings: &mut Findings) {
    let begins = BEGINNINGS.iter().any(|b| statement.starts_with(b));
    let ends = [
        "RETURN",
        "CREATE",
        "SET",
        "MERGE",
        "DELETE",
        "SHOW",
        "INDEX",
        "CONSTRAINT",
    ];
    let complete = ends.iter().any(|word| statement.contains(word));
    if !begins || !complete || statement.contains("...") || statement.contains("[,") {
        return;
    }
    let bare = statement
        .trim_start_matches("EXPLAIN ")
        .trim_start_matches("PROFILE ");
    let mut params = Params::new();
    for part in bare.split('$').skip(1) {
        let end = part.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        params.set(&part[..end.unwrap_or(part.len())], Value::Null);
    }
    findings.tried += 1;
    let explained = library.ask_with(&format!("EXPLAIN {bare}"), &params);
    if let Err(error) = explained
        && (whole || error.contains("UnexpectedSyntax"))
    {
        findings.wrong.push(format!("{file}: {statement}: {error}"));
    }
}

/// A line of the table of types: names, expressions, what `valueType` says of them.
fn of_type(library: &Library, file: &str, line: &str, findings: &mut Findings) {
    let cells: Vec<&str> = line.split('|').collect();
    let (Some(written), Some(types)) = (cells.get(2), cells.get(3)) else {
        return;
    };
    let code = |cell: &str| -> Vec<String> {
        let parts = cell.split('`').enumerate();
        parts
            .filter(|(at, _)| at % 2 == 1)
            .map(|(_, s)| s.to_owned())
            .collect()
    };
    let names = code(types);
    for expression in code(written) {
        findings.tried += 1;
        let asked = library.ask(&format!("RETURN valueType({expression}) AS t"));
        let is = |found: &str| {
            names
                .iter()
                .any(|name| found.starts_with(name.trim_end_matches("...>").trim_end_matches('<')))
        };
        let right = match asked
            .as_ref()
            .map(|rows| rows.first().and_then(|row| row.first()))
        {
            Ok(Some(Value::String(found))) => is(found),
            _ => false,
        };
        if !right {
            findings.wrong.push(format!(
                "{file}: valueType({expression}) is {asked:?}, not one of {names:?}"
            ));
        }
    }
}
