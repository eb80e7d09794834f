//! Things that must be documented where a reader looks for them: every replacement policy has a row in the
//! policies document, every field of the library's configuration one in the configuration document.

use super::SourceFile;

const POLICY_FOLDER: &str = "crates/graven-policy/src/";
const POLICY_DOCUMENT: &str = "docs/reference/policies.md";
const CONFIG_FILE: &str = "crates/graven/src/config.rs";
const CONFIG_DOCUMENT: &str = "docs/reference/config.md";

pub(super) fn check(files: &[SourceFile], findings: &mut Vec<String>) {
    let text = |path: &str| {
        files
            .iter()
            .find(|f| f.path == path)
            .map_or("", |f| f.text.as_str())
    };
    let policies = text(POLICY_DOCUMENT);
    for file in files.iter().filter(|f| f.path.starts_with(POLICY_FOLDER)) {
        let Some(name) = policy_name(file) else {
            continue;
        };
        if !has_row(policies, &name) {
            findings.push(format!(
                "{POLICY_DOCUMENT}: no row for policy `{name}` ({})",
                file.path
            ));
        }
    }
    let config = text(CONFIG_DOCUMENT);
    for field in config_fields(text(CONFIG_FILE)) {
        if !has_row(config, &field) {
            findings.push(format!("{CONFIG_DOCUMENT}: no row for field `{field}`"));
        }
    }
}

/// The spec name of the policy a file implements: its file name, if it implements one.
fn policy_name(file: &SourceFile) -> Option<String> {
    let implements = file.text.contains("> Policy<") && file.text.contains("impl<");
    let (_, name) = file.path.rsplit_once('/')?;
    let name = name.strip_suffix(".rs")?;
    let shared = ["lib", "registry", "conformance", "tests"].contains(&name);
    (implements && !shared).then(|| name.to_owned())
}

fn config_fields(text: &str) -> Vec<String> {
    let body = text
        .split_once("pub struct Config {")
        .map_or("", |(_, rest)| rest);
    let body = body.split_once("\n}").map_or("", |(body, _)| body);
    body.lines()
        .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'))
        .map(|(name, _)| name.trim().to_owned())
        .collect()
}

/// A table row whose first cell mentions the name in backticks.
fn has_row(document: &str, name: &str) -> bool {
    document.lines().any(|line| {
        line.strip_prefix('|')
            .and_then(|l| l.split('|').next())
            .is_some_and(|cell| cell.contains(&format!("`{name}`")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_rows() {
        let text =
            "pub struct Config {\n    /// Doc.\n    pub memory: u64,\n    pub(crate) x: u8,\n}\n";
        assert_eq!(config_fields(text), ["memory"]);
        assert!(has_row("| `memory` | bytes |", "memory"));
        assert!(!has_row("| other | `memory` |", "memory"));
    }
}
