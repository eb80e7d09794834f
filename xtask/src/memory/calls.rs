//! What can be called: the functions and procedures that the program lists, with the types of
//! their arguments.
//!
//! # How it works
//! The program says itself what it has, so that a function that comes is called from then on.

use std::path::Path;
use std::process::Command;

/// A function or a procedure.
#[derive(Clone, Debug)]
pub(super) struct Callable {
    pub(super) name: String,
    /// Types of its arguments, as the program names them.
    pub(super) types: Vec<String>,
    /// The first column of a procedure; none of a function, and of a procedure without columns.
    pub(super) column: Option<String>,
}

/// All of both kinds.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) functions: Vec<Callable>,
    pub(super) procedures: Vec<Callable>,
}

/// Procedures that leave something running, or work on files.
const LEFT_OUT: &[&str] = &[
    "apoc.periodic.countdown",
    "apoc.periodic.repeat",
    "apoc.periodic.submit",
];

/// Asks the program.
pub(super) fn calls(program: &Path, folder: &Path) -> Result<Calls, String> {
    let db = folder.join("calls.graven");
    // A statement that writes makes the database.
    let made = Command::new(program)
        .arg("query")
        .arg(&db)
        .arg("CREATE ()")
        .stderr(std::process::Stdio::null())
        .status();
    made.map_err(|e| format!("{}: {e}", program.display()))?;
    let listed = |what: &str, more: &str| {
        let text = format!(
            "SHOW {what} YIELD name, argumentDescription, returnDescription{more} RETURN name, \
             [a IN argumentDescription | a.type] AS types, returnDescription AS gives"
        );
        let asked = Command::new(program)
            .arg("query")
            .arg(&db)
            .args([&text, "--format", "json"])
            .output();
        let asked = asked.map_err(|e| format!("{}: {e}", program.display()))?;
        if !asked.status.success() {
            let told = String::from_utf8_lossy(&asked.stderr);
            return Err(format!("`{text}`: {told}"));
        }
        let told: serde_json::Value = serde_json::from_slice(&asked.stdout)
            .map_err(|e| format!("`{text}`: the answer cannot be read: {e}"))?;
        let rows = told["rows"].as_array().cloned().unwrap_or_default();
        Ok(rows.iter().filter_map(callable).collect::<Vec<_>>())
    };
    let functions = listed("FUNCTIONS", "")?;
    let of_clients = ", mode WHERE mode <> 'DBMS'";
    let mut procedures = listed("PROCEDURES", of_clients)?;
    procedures.retain(|it| !LEFT_OUT.contains(&it.name.as_str()));
    match functions.is_empty() || procedures.is_empty() {
        true => Err("the program lists no functions and procedures".to_owned()),
        false => Ok(Calls {
            functions,
            procedures,
        }),
    }
}

fn callable(row: &serde_json::Value) -> Option<Callable> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let types = row[1].as_array()?;
    Some(Callable {
        name: text(&row[0])?,
        types: types.iter().filter_map(text).collect(),
        column: text(&row[2][0]["name"]),
    })
}
