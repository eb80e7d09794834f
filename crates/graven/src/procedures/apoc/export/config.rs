//! What an export is told besides its subject and its file.

use std::sync::Arc;

use graven_exec::{ExecError, Map, Value};
use graven_types::told;

use super::super::super::inner::Call;

/// Which cells of CSV stand in quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    Always,
    IfNeeded,
    Never,
}

/// See the file header.
pub(super) struct Config {
    pub(super) streams: bool,
    /// Parameters of the statement whose rows are exported.
    pub(super) params: Vec<(Arc<str>, Value)>,
    /// JSON: a list of all, not a line for each.
    pub(super) is_array: bool,
    /// JSON: relationships tell the properties of their ends.
    pub(super) has_ends: bool,
    pub(super) delimiter: char,
    pub(super) quotes: Quotes,
    /// GraphML: keys are declared with their types.
    pub(super) has_types: bool,
    /// Cypher: with the commands of Neo4j's shell.
    pub(super) is_for_shell: bool,
}

/// Options whose other values an export does not have, with those that it has.
const FIXED: &[(&str, &[&str])] = &[
    ("bulkImport", &["false"]),
    ("charset", &["\"UTF-8\"", "\"UTF_8\""]),
    ("compression", &["\"NONE\""]),
    ("cypherFormat", &["\"create\"", "\"CREATE\""]),
    ("separateFiles", &["false"]),
    ("sampling", &["false"]),
];

/// Options that change no text here.
const WITHOUT_EFFECT: &[&str] = &[
    "batchSize",
    "defaultRelationshipType",
    "nodesOfRelationships",
    "readLabels",
    "storeNodeIds",
    "streamStatements",
    "timeoutSeconds",
    "useOptimizations",
];

/// All others.
const READ: &[&str] = &[
    "delim",
    "format",
    "jsonFormat",
    "params",
    "quotes",
    "stream",
    "useTypes",
    "writeNodeProperties",
];

impl Config {
    pub(super) fn of(call: &Call<'_>, given: Option<&Value>) -> Result<Self, ExecError> {
        let given = call.config(given)?;
        let map = &*given;
        check(call, map)?;
        let holds = |name: &str, usual: bool| match map.get(name) {
            None | Some(Value::Null) => Ok(usual),
            Some(Value::Boolean(given)) => Ok(*given),
            Some(other) => {
                let told = told!("{name} is true or false, not {other}");
                Err(call.failed(told))
            }
        };
        let one_of = |name: &str, usual: usize, all: &[&str]| match map.get(name) {
            None | Some(Value::Null) => Ok(usual),
            Some(Value::String(text)) if all.iter().any(|own| own.eq_ignore_ascii_case(text)) => {
                let mut all = all.iter();
                Ok(all
                    .position(|own| own.eq_ignore_ascii_case(text))
                    .unwrap_or(usual))
            }
            Some(other) => {
                let told = told!("{name} is one of {}, not {other}", all.join(", "));
                Err(call.failed(told))
            }
        };
        let params = match map.get("params") {
            Some(Value::Map(params)) => params.entries().to_vec(),
            _ => Vec::new(),
        };
        Ok(Config {
            streams: holds("stream", false)?,
            params,
            is_array: one_of("jsonFormat", 0, &["JSON_LINES", "ARRAY_JSON"])? == 1,
            has_ends: holds("writeNodeProperties", true)?,
            delimiter: delimiter(call, map.get("delim"))?,
            quotes: match map.get("quotes") {
                Some(Value::Boolean(true)) => Quotes::Always,
                Some(Value::Boolean(false)) => Quotes::Never,
                _ => match one_of("quotes", 0, &["always", "ifNeeded", "none"])? {
                    0 => Quotes::Always,
                    1 => Quotes::IfNeeded,
                    _ => Quotes::Never,
                },
            },
            has_types: holds("useTypes", false)?,
            is_for_shell: one_of("format", 0, &["cypher-shell", "neo4j-shell", "plain"])? < 2,
        })
    }
}

fn delimiter(call: &Call<'_>, given: Option<&Value>) -> Result<char, ExecError> {
    let text = match given {
        None | Some(Value::Null) => return Ok(','),
        Some(Value::String(text)) => &**text,
        Some(other) => return Err(call.failed(told!("delim is a String, not {other}"))),
    };
    let mut letters = text.chars();
    match (text, letters.next(), letters.next()) {
        ("TAB" | "\\t", ..) => Ok('\t'),
        (_, Some(letter), None) if !matches!(letter, '"' | '\n' | '\r') => Ok(letter),
        _ => Err(call.failed("delim is one character, and no quote or end of a line")),
    }
}

/// Refuses what is not known, and what would change the text and is not there.
fn check(call: &Call<'_>, map: &Map) -> Result<(), ExecError> {
    for (name, value) in map.entries() {
        if let Some((_, there)) = FIXED.iter().find(|(own, _)| **own == **name) {
            let given = value.to_string();
            if !value.is_null() && !there.contains(&&*given) {
                let told = told!("{name}: {given} is not available; there is {}", there[0]);
                return Err(call.failed(told));
            }
            continue;
        }
        let known = [WITHOUT_EFFECT, READ].concat();
        if !known.contains(&&**name) {
            let told = told!("there is no option {name}; there are {}", READ.join(", "));
            return Err(call.failed(told));
        }
    }
    Ok(())
}
