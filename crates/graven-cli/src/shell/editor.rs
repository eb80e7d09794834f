//! The line editor: history, lines collected until a statement is complete, completion of names.
//!
//! # How it works
//! Completion looks at the character before the word: after a colon come labels and relationship
//! types, after a dot property keys, elsewhere keywords and functions. Keywords follow the case of
//! what was typed.

use std::path::PathBuf;

use graven::{Names, statement};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor as LineEditor, Helper, Highlighter, Hinter};

use crate::failure::Failure;

const PROMPT: &str = "graven> ";

const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BY",
    "CALL",
    "CASE",
    "CONTAINS",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "ENDS WITH",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "IN",
    "IS NOT NULL",
    "IS NULL",
    "LIMIT",
    "MATCH",
    "NONE",
    "NOT",
    "NULL",
    "OPTIONAL MATCH",
    "OR",
    "ORDER BY",
    "PROFILE",
    "RETURN",
    "SINGLE",
    "SKIP",
    "STARTS WITH",
    "THEN",
    "TRUE",
    "UNION",
    "UNWIND",
    "WHEN",
    "WHERE",
    "WITH",
    "XOR",
    "YIELD",
    "avg(",
    "coalesce(",
    "collect(",
    "count(",
    "endNode(",
    "head(",
    "id(",
    "keys(",
    "labels(",
    "last(",
    "length(",
    "max(",
    "min(",
    "nodes(",
    "properties(",
    "range(",
    "relationships(",
    "size(",
    "startNode(",
    "sum(",
    "tail(",
    "toInteger(",
    "toString(",
    "type(",
];

/// What was typed.
pub(crate) enum Input {
    /// A complete statement or a command.
    Text(String),
    /// Control-C: the line is dropped.
    Abandoned,
    /// Control-D.
    End,
}

/// The editor.
pub(crate) struct Editor {
    lines: LineEditor<Knowing, DefaultHistory>,
    history: Option<PathBuf>,
}

/// Opens the editor with these names for completion.
pub(crate) fn open(names: Names) -> Result<Editor, Failure> {
    let failed = |e: ReadlineError| Failure::failed(format!("the line editor cannot start: {e}"));
    let mut lines = LineEditor::new().map_err(failed)?;
    lines.set_helper(Some(Knowing(names)));
    let history = history_file();
    if let Some(path) = &history {
        // There is none the first time.
        let _ = lines.load_history(path);
    }
    Ok(Editor { lines, history })
}

impl Editor {
    /// The next input.
    pub(crate) fn next(&mut self) -> Result<Input, Failure> {
        match self.lines.readline(PROMPT) {
            Ok(text) => {
                if !text.trim().is_empty() {
                    let _ = self.lines.add_history_entry(text.as_str());
                }
                Ok(Input::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Input::Abandoned),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(Failure::failed(format!(
                "the terminal cannot be read: {error}"
            ))),
        }
    }

    /// Keeps the history for the next time.
    pub(crate) fn close(mut self) {
        if let Some(path) = self.history.take() {
            let kept = path
                .parent()
                .is_some_and(|folder| std::fs::create_dir_all(folder).is_ok())
                && self.lines.save_history(&path).is_ok();
            if !kept {
                eprintln!("note: the history could not be kept in {}", path.display());
            }
        }
    }
}

/// `$XDG_STATE_HOME/graven/history`, or below the home folder.
fn history_file() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("graven/history"))
}

/// Knows the names of the database while lines are edited.
#[derive(Helper, Highlighter, Hinter)]
struct Knowing(Names);

impl Validator for Knowing {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let complete =
            text.trim_start().starts_with(':') || statement::is_blank(statement::split(text).rest);
        Ok(if complete {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Completer for Knowing {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(candidates(&self.0, &line[..at]))
    }
}

/// Where the word under the cursor begins, and what it may become.
fn candidates(names: &Names, before: &str) -> (usize, Vec<String>) {
    let start = before
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
    let word = &before[start..];
    let fits = |name: &str| name.to_lowercase().starts_with(&word.to_lowercase());
    let known =
        |list: &[String]| -> Vec<String> { list.iter().filter(|n| fits(n)).cloned().collect() };
    let found = match before[..start].chars().next_back() {
        Some(':' | '|') => [known(&names.labels), known(&names.types)].concat(),
        Some('.') => known(&names.keys),
        _ if word.is_empty() => Vec::new(),
        _ => {
            let lower = word.chars().all(char::is_lowercase);
            let cased = |k: &str| {
                if lower {
                    k.to_lowercase()
                } else {
                    k.to_owned()
                }
            };
            KEYWORDS
                .iter()
                .filter(|k| fits(k))
                .map(|k| {
                    if k.ends_with('(') {
                        (*k).to_owned()
                    } else {
                        cased(k)
                    }
                })
                .collect()
        }
    };
    (start, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(before: &str) -> Vec<String> {
        let text = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        let names = Names {
            labels: text(&["Person", "Post"]),
            types: text(&["KNOWS"]),
            keys: text(&["firstName"]),
        };
        candidates(&names, before).1
    }

    #[test]
    fn the_character_before_the_word_decides() {
        assert_eq!(complete("MATCH (p:Pe"), ["Person"]);
        assert_eq!(complete("MATCH (p)-[:kn"), ["KNOWS"]);
        assert_eq!(complete("RETURN p.f"), ["firstName"]);
        assert_eq!(complete("mat"), ["match"]);
        assert_eq!(complete("RET"), ["RETURN"]);
        assert!(complete("MATCH (p) ").is_empty());
    }
}
