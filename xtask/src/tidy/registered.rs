//! Things that must be documented where a reader looks for them: every replacement policy has a row
//! in the policies document, every field of the library's configuration one in the configuration
//! document.

use super::SourceFile;

const POLICY_FILE: &str = "crates/graven-policy/src/registry/catalogue.rs";
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
    let registered = policy_names(text(POLICY_FILE));
    if registered.is_empty() {
        findings.push(format!(
            "{POLICY_FILE}: the list of policies was not found there"
        ));
    }
    for name in registered {
        if !has_row(policies, &name) {
            findings.push(format!("{POLICY_DOCUMENT}: no row for policy `{name}`"));
        }
    }
    let config = text(CONFIG_DOCUMENT);
    for field in config_fields(text(CONFIG_FILE)) {
        if !has_row(config, &field) {
            findings.push(format!("{CONFIG_DOCUMENT}: no row for field `{field}`"));
        }
    }
}

/// Names in the registry's list of policies.
fn policy_names(text: &str) -> Vec<String> {
    let list = text
        .split_once("const POLICIES")
        .map_or("", |(_, rest)| rest);
    let list = list.split_once("\n];").map_or("", |(list, _)| list);
    let mut names = Vec::new();
    for (at, mark) in list
        .match_indices("entry(")
        .chain(list.match_indices("Entry {"))
    {
        let quoted = list[at + mark.len()..].split('"').nth(1);
        names.extend(quoted.map(str::to_owned));
    }
    names
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
        let list = "const POLICIES: &[Entry] = &[\n    Entry {\n        name: \"min\",\n    \
            },\n    \
                    entry(\n        \"lru\", \"x\"),\n];";
        assert_eq!(policy_names(list), ["lru", "min"]);
        assert!(has_row("| `memory` | bytes |", "memory"));
        assert!(!has_row("| other | `memory` |", "memory"));
    }
}
