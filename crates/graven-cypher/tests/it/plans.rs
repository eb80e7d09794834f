//! Golden plans: every file of `tests/plans` holds statements, each followed by the plan or error
//! it gives.
//!
//! A block is `>` lines (the statement), then the expected text, then an empty line and `---`.
//! `GRAVEN_UPDATE_PLANS=1` rewrites the files; read the difference before committing it.

use std::fmt::Write as _;
use std::path::Path;

use graven_cypher::explain::explain;
use graven_cypher::{ParameterNames, parse_and_plan};

use crate::schema::Social;

fn answer(statement: &str) -> String {
    match parse_and_plan(statement, &Social, &ParameterNames::Any) {
        Ok(plan) => {
            let columns: Vec<String> = plan
                .columns
                .iter()
                .map(|(heading, var)| format!("{heading} = {}", plan.variable_name(*var)))
                .collect();
            format!("columns: {}\n{}", columns.join(", "), explain(&plan))
        }
        Err(diagnostic) => diagnostic.render(),
    }
}

#[test]
fn plans_are_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let update = std::env::var_os("GRAVEN_UPDATE_PLANS").is_some();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("tests/plans")
        .map(|e| e.expect("entry").path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut different = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("readable");
        let mut fresh = String::new();
        for block in text
            .split("\n---\n")
            .map(str::trim)
            .filter(|b| !b.is_empty())
        {
            let comment: String = block
                .lines()
                .filter(|l| l.starts_with('#'))
                .map(|l| format!("{l}\n"))
                .collect();
            let statement: Vec<&str> = block
                .lines()
                .filter_map(|l| l.strip_prefix("> ").or(l.strip_prefix('>')))
                .collect();
            let shown: String = statement.iter().map(|l| format!("> {l}\n")).collect();
            let _ = write!(
                fresh,
                "{comment}{shown}{}\n---\n",
                answer(&statement.join("\n"))
            );
        }
        if fresh != text {
            if update {
                std::fs::write(&file, &fresh).expect("writable");
            } else {
                let changed: Vec<String> = fresh
                    .lines()
                    .zip(text.lines())
                    .filter(|(new, old)| new != old)
                    .take(12)
                    .map(|(new, old)| format!("  was {old}\n  now {new}"))
                    .collect();
                let _ = writeln!(different, "{}:\n{}", file.display(), changed.join("\n"));
            }
        }
    }
    assert!(
        different.is_empty(),
        "plans differ (GRAVEN_UPDATE_PLANS=1 rewrites):\n{different}"
    );
}
